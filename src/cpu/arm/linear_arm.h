/* The linear kernels of the Arm levels. */
#ifndef LITHE_CPU_ARM_LINEAR_ARM_H
#define LITHE_CPU_ARM_LINEAR_ARM_H

#include "cpu/linear.h"

typedef void linear_run(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0,
                        uint32_t n1);

linear_run linear_f32_neon, linear_f16_neon, linear_wo8_neon, linear_wo4_neon;
linear_run linear_qc8_neon, linear_qc4_neon, linear_qb4_neon;
linear_run linear_qc8_dotprod, linear_qc4_dotprod, linear_qb4_dotprod;
linear_run linear_qc8_i8mm, linear_qc4_i8mm;

int32_t linear_sum_row_neon(const linear_weights *w, uint32_t row, bool *has_min);
void linear_quantize_row_neon(const float *x, uint32_t k, int8_t *q, linear_qrow *row);
void linear_embedding_row_neon(const linear_weights *w, uint32_t id, float *out);

/* Tokens that are taken together while the weights pass by once: their activations should stay in the second-level cache. */
enum { LINEAR_ACTIVATION_BYTES = 128 * 1024 };
static inline uint32_t linear_token_block(size_t row_bytes, uint32_t tile)
{
    const size_t tokens = row_bytes ? LINEAR_ACTIVATION_BYTES / row_bytes : LINEAR_ACTIVATION_BYTES;
    return tokens < 2 * tile ? 2 * tile : (uint32_t)(tokens - tokens % tile);
}

#if defined(__GNUC__)
#define LINEAR_INLINE static inline __attribute__((always_inline))
#else
#define LINEAR_INLINE static inline
#endif

#endif
