/* The linear table in C. */
#include "cpu/c/linear_c.h"

void linear_kernels_init_c(linear_kernels *k)
{
    *k = (linear_kernels){
        .quantize_row = linear_quantize_row_c,
        .run = {[LINEAR_F32] = linear_f32_c,
                [LINEAR_F16] = linear_f16_c,
                [LINEAR_WO8] = linear_wo8_c,
                [LINEAR_WO4] = linear_wo4_c,
                [LINEAR_QC8] = linear_qc8_c,
                [LINEAR_QC4] = linear_qc4_c,
                [LINEAR_QB4] = linear_qb4_c},
        .embedding_row = linear_embedding_row_c,
    };
    for (int i = 0; i < LINEAR_KIND_COUNT; i++)
        k->name[i] = "c";
}
