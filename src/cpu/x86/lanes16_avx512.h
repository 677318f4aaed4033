/* Sixteen lanes as one value (see lanes16_avx2.h): here one register. */
#ifndef LITHE_CPU_X86_LANES16_AVX512_H
#define LITHE_CPU_X86_LANES16_AVX512_H

#include "cpu/x86/lanes_avx2.h"

typedef __m512 lanes;

static inline lanes lanes_zero(void)
{
    return _mm512_setzero_ps();
}

static inline lanes lanes_load(const void *p)
{
    return _mm512_loadu_ps(p);
}

static inline lanes lanes_load_part(const float *p, uint32_t n)
{
    return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
}

static inline void lanes_store(float *p, lanes v)
{
    _mm512_storeu_ps(p, v);
}

static inline lanes lanes_fma(lanes a, lanes b, lanes c)
{
    return _mm512_fmadd_ps(a, b, c);
}

static inline __m256 lanes_halves(lanes v)
{
    return _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
}

static inline lanes lanes_from_f16(__m256i v)
{
    return _mm512_cvtph_ps(v);
}

static inline lanes lanes_from_i8(__m128i v)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(v));
}

static inline lanes lanes_mul(lanes a, lanes b)
{
    return _mm512_mul_ps(a, b);
}

static inline lanes lanes_set1(float v)
{
    return _mm512_set1_ps(v);
}

#endif
