/* Sixteen lanes as one value, for kernels that are written once for AVX2 and AVX-512: here two registers. */
#ifndef LITHE_CPU_X86_LANES16_AVX2_H
#define LITHE_CPU_X86_LANES16_AVX2_H

#include "cpu/x86/lanes_avx2.h"

typedef struct lanes {
    __m256 lo, hi;
} lanes;

static inline lanes lanes_zero(void)
{
    return (lanes){_mm256_setzero_ps(), _mm256_setzero_ps()};
}

static inline lanes lanes_load(const void *p)
{
    const unsigned char *bytes = p;
    return (lanes){_mm256_loadu_ps((const float *)(const void *)bytes), _mm256_loadu_ps((const float *)(const void *)(bytes + 32))};
}

static inline lanes lanes_load_part(const float *p, uint32_t n)
{
    lanes v;
    lanes_load_tail_avx2(p, n, &v.lo, &v.hi);
    return v;
}

static inline void lanes_store(float *p, lanes v)
{
    _mm256_storeu_ps(p, v.lo);
    _mm256_storeu_ps(p + 8, v.hi);
}

static inline lanes lanes_fma(lanes a, lanes b, lanes c)
{
    return (lanes){_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}

static inline __m256 lanes_halves(lanes v)
{
    return _mm256_add_ps(v.lo, v.hi);
}

static inline lanes lanes_from_f16(__m256i v)
{
    return (lanes){_mm256_cvtph_ps(_mm256_castsi256_si128(v)), _mm256_cvtph_ps(_mm256_extracti128_si256(v, 1))};
}

static inline lanes lanes_from_i8(__m128i v)
{
    return (lanes){_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(v)), _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(v, 8)))};
}

static inline lanes lanes_mul(lanes a, lanes b)
{
    return (lanes){_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}

static inline lanes lanes_set1(float v)
{
    return (lanes){_mm256_set1_ps(v), _mm256_set1_ps(v)};
}

#endif
