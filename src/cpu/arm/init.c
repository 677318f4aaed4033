/* Arm: no kernels of its own yet, the C ones stay in the table. Their loops over sixteen lanes are what compilers turn into NEON. */
#include "cpu/kernels.h"

void linear_kernels_init_arm(linear_kernels *k, uint32_t features)
{
    (void)k;
    (void)features;
}

void attention_kernels_init_arm(attention_kernels *k, uint32_t features)
{
    (void)k;
    (void)features;
}

void vec_kernels_init_arm(vec_kernels *k, uint32_t features)
{
    (void)k;
    (void)features;
}
