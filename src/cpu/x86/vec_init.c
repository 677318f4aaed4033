/* Chooses the vector kernels for the x86 features in use. */
#include "base/cpuinfo.h"
#include "cpu/vec.h"

void vec_kernels_init_avx2(vec_kernels *k);

void vec_kernels_init_x86(vec_kernels *k, uint32_t features)
{
    if (features & CPU_AVX2)
        vec_kernels_init_avx2(k);
}
