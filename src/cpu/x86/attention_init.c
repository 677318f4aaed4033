/* The attention table of x86. */
#include "base/cpuinfo.h"
#include "cpu/x86/attention_x86.h"

void attention_kernels_init_x86(attention_kernels *k, uint32_t features)
{
    if (!(features & CPU_AVX2))
        return;
    *k = (attention_kernels){
        .name = "avx2", .rows = attention_rows_avx2, .block = attention_block_avx2, .join = attention_join_avx2};
    if (features & CPU_AVX512VNNI)
        *k = (attention_kernels){.name = "avx512",
                                 .rows = attention_rows_avx512,
                                 .block = attention_block_avx512,
                                 .join = attention_join_avx512};
}
