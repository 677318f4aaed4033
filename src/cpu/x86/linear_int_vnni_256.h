/* The steps of linear_int_256.h where bytes are multiplied and added to 32 bits by one instruction: DPBUSD(acc, unsigned, signed), and
 * DPBUSD_BYTES for registers of int8 weights. bytes_flip adds 128. */
#define INT_ZERO_SHIFT 128

typedef bytes act; /* q + 128 */

static inline act act_load(const int8_t *p)
{
    return bytes_flip(bytes_load((const unsigned char *)p, BYTES));
}

static inline bytes dot_int8(bytes acc, act a, bytes w)
{
    return DPBUSD_BYTES(acc, a, w);
}

static inline bytes dot_int8_min(bytes acc, act a, bytes w)
{
    return DPBUSD_BYTES(acc, a, w);
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
