/* The linear kernels of the x86 levels, and how they walk over rows and tokens. */
#ifndef LITHE_CPU_X86_LINEAR_X86_H
#define LITHE_CPU_X86_LINEAR_X86_H

#include "cpu/linear.h"

typedef void linear_run(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0,
                        uint32_t n1);

linear_run linear_f32_avx2, linear_f16_avx2, linear_wo8_avx2, linear_wo4_avx2;
linear_run linear_f32_avx512, linear_f16_avx512, linear_wo8_avx512, linear_wo4_avx512;
linear_run linear_qc8_avx2, linear_qc4_avx2, linear_qb4_avx2;
linear_run linear_qc8_avxvnni, linear_qc4_avxvnni, linear_qb4_avxvnni;
linear_run linear_qc8_avx512, linear_qc4_avx512, linear_qb4_avx512;

int32_t linear_sum_row_avx2(const linear_weights *w, uint32_t row, bool *has_min);
void linear_quantize_row_avx2(const float *x, uint32_t k, int8_t *q, linear_qrow *row);
void linear_embedding_row_avx2(const linear_weights *w, uint32_t id, float *out);

/* Tokens that are taken together while the weights pass by once: their activations should stay in the second-level cache. */
enum { LINEAR_ACTIVATION_BYTES = 256 * 1024 };
static inline uint32_t linear_token_block(size_t row_bytes, uint32_t tile)
{
    const size_t tokens = row_bytes ? LINEAR_ACTIVATION_BYTES / row_bytes : LINEAR_ACTIVATION_BYTES;
    return tokens < 2 * tile ? 2 * tile : (uint32_t)(tokens - tokens % tile);
}

#if defined(__GNUC__)
#define LINEAR_INLINE   static inline __attribute__((always_inline))
#define LINEAR_NOINLINE static __attribute__((noinline)) /* registers are handed out better in a function of its own */
#define LINEAR_UNROLL   _Pragma("GCC unroll 8")          /* wholly, early enough for arrays to become registers */
#else
#define LINEAR_UNROLL
#define LINEAR_INLINE   static inline
#define LINEAR_NOINLINE static
#endif

#endif
