/* The linear kernels in C: what docs/numerics.md says, written down as code. They are the reference of the kernel harness and the
 * fallback of every instruction set, and reading weights one by one is shared with its slow paths. */
#ifndef LITHE_CPU_C_LINEAR_C_H
#define LITHE_CPU_C_LINEAR_C_H

#include "cpu/linear.h"

/* Element i of an int4 row: two's complement, the low nibble first. */
static inline int32_t linear_int4(const void *row, size_t i)
{
    const unsigned byte = ((const unsigned char *)row)[i / 2];
    return (int32_t)(((i & 1 ? byte >> 4 : byte & 15u) ^ 8u)) - 8;
}

static inline const void *linear_row(const linear_weights *w, uint32_t n)
{
    return (const unsigned char *)w->w + (size_t)n * w->row_bytes;
}

static inline float linear_scale(const linear_weights *w, uint32_t n)
{
    return w->scales ? w->scales[w->n_scales == 1 ? 0 : n] : 1.0f;
}

int32_t linear_sum_row_c(const linear_weights *w, uint32_t row, bool *has_min);
void linear_quantize_row_c(const float *x, uint32_t k, int8_t *q, linear_qrow *row);
void linear_f32_c(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1);
void linear_f16_c(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1);
void linear_wo8_c(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1);
void linear_wo4_c(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1);
void linear_qc8_c(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1);
void linear_qc4_c(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1);
void linear_qb4_c(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1);
void linear_embedding_row_c(const linear_weights *w, uint32_t id, float *out);

#endif
