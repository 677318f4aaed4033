/* The sixteen lanes of cpu/lanes.h in two registers, and loads of row ends. For files compiled for AVX2 and up. */
#ifndef LITHE_CPU_X86_LANES_AVX2_H
#define LITHE_CPU_X86_LANES_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline float lanes_join4_sse(__m128 s)
{
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

static inline float lanes_join8_avx2(__m256 s)
{
    return lanes_join4_sse(_mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1)));
}

/* lo: lanes 0 .. 7, hi: lanes 8 .. 15 */
static inline float lanes_join_avx2(__m256 lo, __m256 hi)
{
    return lanes_join8_avx2(_mm256_add_ps(lo, hi));
}

/* Four sums of eight lanes each, joined together: { a, b, c, d }. */
static inline __m128 lanes_join8x4_avx2(__m256 a, __m256 b, __m256 c, __m256 d)
{
    const __m256 ab = _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
    const __m256 cd = _mm256_add_ps(_mm256_permute2f128_ps(c, d, 0x20), _mm256_permute2f128_ps(c, d, 0x31));
    /* { a0 a1 c0 c1 | b0 b1 d0 d1 } */
    const __m256 s = _mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xee));
    const __m256 t = _mm256_hadd_ps(s, s);
    return _mm_unpacklo_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1));
}

/* All ones in the first n of 8 elements, n <= 8. */
static inline __m256i lanes_mask_avx2(size_t n)
{
    const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), index);
}

/* The first n <= 8 floats of p, zeros after them; nothing beyond is read. */
static inline __m256 lanes_load_part_avx2(const float *p, size_t n)
{
    return _mm256_maskload_ps(p, lanes_mask_avx2(n));
}

/* Lanes lo (0 .. 7) and hi (8 .. 15) of a step whose first n <= 16 elements exist. */
static inline void lanes_load_tail_avx2(const float *p, size_t n, __m256 *lo, __m256 *hi)
{
    *lo = lanes_load_part_avx2(p, n < 8 ? n : 8);
    *hi = n > 8 ? lanes_load_part_avx2(p + 8, n - 8) : _mm256_setzero_ps();
}

/* The first n <= 32 bytes of p, zeros after them. */
static inline __m256i bytes_load_part_avx2(const void *p, size_t n)
{
    unsigned char tail[32] = {0};
    memcpy(tail, p, n);
    return _mm256_loadu_si256((const __m256i *)(const void *)tail);
}

#endif
