/* The linear table of x86: each level puts what it has over the one below. */
#include "base/cpuinfo.h"
#include "cpu/x86/linear_x86.h"

static void put(linear_kernels *k, linear_kind kind, linear_run *run, const char *name)
{
    k->run[kind] = run;
    k->name[kind] = name;
}

void linear_kernels_init_x86(linear_kernels *k, uint32_t features)
{
    if (!(features & CPU_AVX2))
        return;
    k->quantize_row = linear_quantize_row_avx2;
    k->embedding_row = linear_embedding_row_avx2;
    put(k, LINEAR_F32, linear_f32_avx2, "avx2");
    put(k, LINEAR_F16, linear_f16_avx2, "avx2");
    put(k, LINEAR_WO8, linear_wo8_avx2, "avx2");
    put(k, LINEAR_WO4, linear_wo4_avx2, "avx2");
    put(k, LINEAR_QC8, linear_qc8_avx2, "avx2");
    put(k, LINEAR_QC4, linear_qc4_avx2, "avx2");
    put(k, LINEAR_QB4, linear_qb4_avx2, "avx2");
    if (features & CPU_AVXVNNI) {
        put(k, LINEAR_QC8, linear_qc8_avxvnni, "avxvnni");
        put(k, LINEAR_QC4, linear_qc4_avxvnni, "avxvnni");
        put(k, LINEAR_QB4, linear_qb4_avxvnni, "avxvnni");
    }
    if (features & CPU_AVX512VNNI) {
        put(k, LINEAR_F32, linear_f32_avx512, "avx512");
        put(k, LINEAR_F16, linear_f16_avx512, "avx512");
        put(k, LINEAR_WO8, linear_wo8_avx512, "avx512");
        put(k, LINEAR_WO4, linear_wo4_avx512, "avx512");
        put(k, LINEAR_QC8, linear_qc8_avx512, "avx512");
        put(k, LINEAR_QC4, linear_qc4_avx512, "avx512");
        put(k, LINEAR_QB4, linear_qb4_avx512, "avx512");
    }
}
