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

static inline lanes lanes_mul(lanes a, lanes b)
{
    return _mm512_mul_ps(a, b);
}

static inline lanes lanes_set1(float v)
{
    return _mm512_set1_ps(v);
}

enum { LANES_PARTS = 1, LANES_PER_PART = 16 };
typedef __m512 lanes_part;

static inline lanes_part part_zero(void)
{
    return _mm512_setzero_ps();
}

static inline lanes_part part_load(const void *p)
{
    return _mm512_loadu_ps(p);
}

static inline lanes_part part_fma(lanes_part a, lanes_part b, lanes_part c)
{
    return _mm512_fmadd_ps(a, b, c);
}

static inline __m256 part_halves(const lanes_part parts[LANES_PARTS])
{
    return lanes_halves(parts[0]);
}

static inline lanes_part part_load_f16(const void *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

static inline lanes_part part_load_i8(const void *p)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}

/* Sixteen nibbles, eight from each half of 8 bytes, spread as in lanes16_avx2.h. */
static inline lanes_part part_load_i4(const void *p)
{
    const __m512i shift = _mm512_setr_epi32(28, 24, 20, 16, 12, 8, 4, 0, 28, 24, 20, 16, 12, 8, 4, 0);
    const __m512i which = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    const __m512i packed = _mm512_permutexvar_epi32(which, _mm512_castsi128_si512(_mm_loadl_epi64((const __m128i *)p)));
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_sllv_epi32(packed, shift), 28));
}

#endif
