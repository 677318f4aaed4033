/* Quantised linears on AVX2: pairs of bytes are multiplied and added exactly in 16 bits, pairs of those in 32. */
#include "cpu/x86/linear_bytes_256.h"

#define INT_NAME(kind) linear_##kind##_avx2
#define INT_TOKENS     2
#define INT_ZERO_SHIFT 0

/* |q| <= 128 as unsigned times w with q's sign: 2 * 128 * 127 < 2^15. */
typedef struct act {
    __m256i q, magnitude;
} act;

static inline act act_load(const int8_t *p)
{
    const __m256i q = _mm256_loadu_si256((const __m256i *)(const void *)p);
    return (act){q, _mm256_abs_epi8(q)};
}

static inline __m256i dot_int8(__m256i acc, act a, __m256i w)
{
    const __m256i pairs = _mm256_maddubs_epi16(a.magnitude, _mm256_sign_epi8(w, a.q));
    return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

static inline __m256i dot_int8_min(__m256i acc, act a, __m256i w)
{
    const __m256i q_lo = _mm256_cvtepi8_epi16(_mm256_castsi256_si128(a.q));
    const __m256i q_hi = _mm256_cvtepi8_epi16(_mm256_extracti128_si256(a.q, 1));
    const __m256i w_lo = _mm256_cvtepi8_epi16(_mm256_castsi256_si128(w));
    const __m256i w_hi = _mm256_cvtepi8_epi16(_mm256_extracti128_si256(w, 1));
    acc = _mm256_add_epi32(acc, _mm256_madd_epi16(q_lo, w_lo));
    return _mm256_add_epi32(acc, _mm256_madd_epi16(q_hi, w_hi));
}

static inline __m256i dot_u4_step(__m256i mid, __m256i u, __m256i q)
{
    return _mm256_add_epi16(mid, _mm256_maddubs_epi16(u, q));
}

static inline __m256i dot_u4_flush(__m256i acc, __m256i mid)
{
    return _mm256_add_epi32(acc, _mm256_madd_epi16(mid, _mm256_set1_epi16(1)));
}

/* Blocks: elements of even and of odd number as int16, so that a pair of both is one lane's four. */
typedef struct step16 {
    __m256i even, odd;
} step16;
typedef step16 step_w, step_a;
enum { STEP_W_BYTES = 2 };

static inline step_w step_unpack(const unsigned char *p)
{
    const __m256i words = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
    return (step_w){_mm256_srai_epi16(_mm256_slli_epi16(words, 12), 12),
                    _mm256_srai_epi16(_mm256_slli_epi16(words, 8), 12)};
}

static inline step_a step_load(__m256i q, int32_t zero_point)
{
    const __m256i zero = _mm256_set1_epi16((short)zero_point);
    return (step_a){_mm256_sub_epi16(_mm256_srai_epi16(_mm256_slli_epi16(q, 8), 8), zero),
                    _mm256_sub_epi16(_mm256_srai_epi16(q, 8), zero)};
}

static inline __m256 step_dot(step_a a, step_w w)
{
    return _mm256_cvtepi32_ps(_mm256_add_epi32(_mm256_madd_epi16(a.even, w.even), _mm256_madd_epi16(a.odd, w.odd)));
}

#include "cpu/x86/linear_int_256.h"
