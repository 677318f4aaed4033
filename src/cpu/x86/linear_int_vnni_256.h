/* The steps of linear_int_256.h where bytes are multiplied and added to 32 bits by one instruction, DPBUSD(acc, unsigned, signed). */
#include <stdint.h>

#define INT_TOKENS 3
#define INT_ZERO_SHIFT 128

typedef __m256i act; /* q + 128 */

static inline act act_load(const int8_t *p)
{
    return _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)p), _mm256_set1_epi8((char)-128));
}

static inline __m256i dot_int8(__m256i acc, act a, __m256i w)
{
    return DPBUSD(acc, a, w);
}

static inline __m256i dot_int8_min(__m256i acc, act a, __m256i w)
{
    return DPBUSD(acc, a, w);
}

static inline __m256i dot_u4_step(__m256i mid, __m256i u, __m256i q)
{
    return DPBUSD(mid, u, q);
}

static inline __m256i dot_u4_flush(__m256i acc, __m256i mid)
{
    return _mm256_add_epi32(acc, mid);
}

static inline __m256i dot_quads(__m256i u, __m256i s)
{
    return DPBUSD(_mm256_setzero_si256(), u, s);
}

#include "cpu/x86/linear_int_256.h"
