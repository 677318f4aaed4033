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

#ifndef INT_NO_BLOCKS
/* q - zp needs nine bits: its magnitude in eight, its sign by a saturating difference. */
typedef struct step_a {
    __m256i magnitude, sign;
} step_a;
typedef __m256i step_w;
enum { STEP_W_BYTES = 1 };

static inline step_w step_unpack(const unsigned char *p)
{
    const __m256i words = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
    const __m256i nibbles = _mm256_and_si256(_mm256_or_si256(words, _mm256_slli_epi16(words, 4)), _mm256_set1_epi8(15));
    return _mm256_sub_epi8(_mm256_xor_si256(nibbles, _mm256_set1_epi8(8)), _mm256_set1_epi8(8));
}

static inline step_a step_load(__m256i q, int32_t zero_point)
{
    const __m256i zero = _mm256_set1_epi8((char)zero_point);
    return (step_a){_mm256_sub_epi8(_mm256_max_epi8(q, zero), _mm256_min_epi8(q, zero)), _mm256_subs_epi8(q, zero)};
}

/* The sum starts at the bits of 1.5 * 2^23, whose last place is 1: read as a float it is that plus the sum. */
static inline __m256 step_dot(step_a a, step_w w)
{
    const __m256 base = _mm256_set1_ps(12582912.0f);
    const __m256i sums = DPBUSD(_mm256_castps_si256(base), a.magnitude, _mm256_sign_epi8(w, a.sign));
    return _mm256_sub_ps(_mm256_castsi256_ps(sums), base);
}
#endif

#include "cpu/x86/linear_int_256.h"
