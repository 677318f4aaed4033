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
    return (lanes){_mm256_loadu_ps((const float *)(const void *)bytes),
                   _mm256_loadu_ps((const float *)(const void *)(bytes + 32))};
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

static inline lanes lanes_mul(lanes a, lanes b)
{
    return (lanes){_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}

static inline lanes lanes_set1(float v)
{
    return (lanes){_mm256_set1_ps(v), _mm256_set1_ps(v)};
}

/* The same in parts, for loops that keep fewer of them alive at a time. */
enum { LANES_PARTS = 2, LANES_PER_PART = 8 };
typedef __m256 lanes_part;

static inline lanes_part part_zero(void)
{
    return _mm256_setzero_ps();
}

static inline lanes_part part_load(const void *p)
{
    return _mm256_loadu_ps(p);
}

static inline lanes_part part_fma(lanes_part a, lanes_part b, lanes_part c)
{
    return _mm256_fmadd_ps(a, b, c);
}

static inline __m256 part_halves(const lanes_part parts[LANES_PARTS])
{
    return _mm256_add_ps(parts[0], parts[1]);
}

static inline lanes_part part_load_f16(const void *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}

static inline lanes_part part_load_i8(const void *p)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}

/* Eight nibbles: each is moved to the top of its own int32, the arithmetic shift back extends its sign. */
static inline lanes_part part_load_i4(const void *p)
{
    int32_t packed;
    memcpy(&packed, p, sizeof packed);
    const __m256i up = _mm256_sllv_epi32(_mm256_set1_epi32(packed), _mm256_setr_epi32(28, 24, 20, 16, 12, 8, 4, 0));
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(up, 28));
}

#endif
