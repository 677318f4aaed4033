/* The kernel tables of Arm: each level puts what it has over the one below. */
#include "base/cpuinfo.h"
#include "cpu/arm/attention_arm.h"
#include "cpu/arm/linear_arm.h"
#include "cpu/vec.h"

void vec_kernels_init_neon(vec_kernels *k);

static void put(linear_kernels *k, linear_kind kind, linear_run *run, const char *name)
{
    k->run[kind] = run;
    k->name[kind] = name;
}

void linear_kernels_init_arm(linear_kernels *k, uint32_t features)
{
    if (!(features & CPU_NEON))
        return;
    k->quantize_row = linear_quantize_row_neon;
    k->embedding_row = linear_embedding_row_neon;
    put(k, LINEAR_F32, linear_f32_neon, "neon");
    put(k, LINEAR_F16, linear_f16_neon, "neon");
    put(k, LINEAR_WO8, linear_wo8_neon, "neon");
    put(k, LINEAR_WO4, linear_wo4_neon, "neon");
    put(k, LINEAR_QC8, linear_qc8_neon, "neon");
    put(k, LINEAR_QC4, linear_qc4_neon, "neon");
    put(k, LINEAR_QB4, linear_qb4_neon, "neon");
    if (!(features & CPU_DOTPROD))
        return;
    put(k, LINEAR_QC8, linear_qc8_dotprod, "dotprod");
    put(k, LINEAR_QC4, linear_qc4_dotprod, "dotprod");
    put(k, LINEAR_QB4, linear_qb4_dotprod, "dotprod");
    if (features & CPU_I8MM) {
        put(k, LINEAR_QC8, linear_qc8_i8mm, "i8mm");
        put(k, LINEAR_QC4, linear_qc4_i8mm, "i8mm");
    }
}

void attention_kernels_init_arm(attention_kernels *k, uint32_t features)
{
    if (features & CPU_NEON)
        *k = (attention_kernels){
            .name = "neon", .rows = attention_rows_neon, .block = attention_block_neon, .join = attention_join_neon};
}

void vec_kernels_init_arm(vec_kernels *k, uint32_t features)
{
    if (features & CPU_NEON)
        vec_kernels_init_neon(k);
}
