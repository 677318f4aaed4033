/* Stands in for the compiler's immintrin.h where the AVX-512 and AVX-VNNI kernels are compiled for AVX2: SIMDe, and what its version
 * here lacks. Up to AVX2 the compiler's own intrinsics are used. */
#ifndef LITHE_TESTS_SIMDE_X86_IMMINTRIN_H
#define LITHE_TESTS_SIMDE_X86_IMMINTRIN_H

#include_next <immintrin.h>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#include <stdint.h>
#include <string.h>

#define SHIM(type) static inline __attribute__((always_inline)) type

#undef _mm256_dpbusd_avx_epi32
#define _mm256_dpbusd_avx_epi32 simde_mm256_dpbusd_epi32

/* Masked loads and stores of n elements of T: what the mask leaves out is not touched. */
#define SHIM_MASKED(name, vector, element, n)                                                                          \
    SHIM(vector) shim_maskz_load_##name(uint64_t mask, const void *p)                                                  \
    {                                                                                                                  \
        element x[n];                                                                                                  \
        vector v;                                                                                                      \
        for (int i = 0; i < (n); i++) {                                                                                \
            x[i] = 0;                                                                                                  \
            if (mask >> i & 1)                                                                                         \
                memcpy(&x[i], (const element *)p + i, sizeof x[i]);                                                    \
        }                                                                                                              \
        memcpy(&v, x, sizeof v);                                                                                       \
        return v;                                                                                                      \
    }                                                                                                                  \
    SHIM(void) shim_mask_store_##name(void *p, uint64_t mask, vector v)                                                \
    {                                                                                                                  \
        element x[n];                                                                                                  \
        memcpy(x, &v, sizeof v);                                                                                       \
        for (int i = 0; i < (n); i++)                                                                                  \
            if (mask >> i & 1)                                                                                         \
                memcpy((element *)p + i, &x[i], sizeof x[i]);                                                          \
    }

SHIM_MASKED(ps_128, __m128, float, 4)
SHIM_MASKED(ps_256, __m256, float, 8)
SHIM_MASKED(ps_512, simde__m512, float, 16)
SHIM_MASKED(epi32_256, __m256i, int32_t, 8)
SHIM_MASKED(epi8_256, __m256i, int8_t, 32)
SHIM_MASKED(epi8_512, simde__m512i, int8_t, 64)
#undef _mm_maskz_loadu_ps
#undef _mm256_maskz_loadu_ps
#undef _mm512_maskz_loadu_ps
#undef _mm256_maskz_loadu_epi32
#undef _mm256_maskz_loadu_epi8
#undef _mm512_maskz_loadu_epi8
#undef _mm_mask_storeu_ps
#undef _mm256_mask_storeu_ps
#define _mm_maskz_loadu_ps       shim_maskz_load_ps_128
#define _mm256_maskz_loadu_ps    shim_maskz_load_ps_256
#define _mm512_maskz_loadu_ps    shim_maskz_load_ps_512
#define _mm256_maskz_loadu_epi32 shim_maskz_load_epi32_256
#define _mm256_maskz_loadu_epi8  shim_maskz_load_epi8_256
#define _mm512_maskz_loadu_epi8  shim_maskz_load_epi8_512
#define _mm_mask_storeu_ps       shim_mask_store_ps_128
#define _mm256_mask_storeu_ps    shim_mask_store_ps_256

/* Halves of 512 bits. */
#define SHIM_JOIN(vector, half, a, b)                                                                                  \
    half h[2] = {a, b};                                                                                                \
    vector v;                                                                                                          \
    memcpy(&v, h, sizeof v);                                                                                           \
    return v

SHIM(__m256i) shim_half_i(simde__m512i v, int i)
{
    __m256i h[2];
    memcpy(h, &v, sizeof v);
    return h[i];
}

SHIM(__m256) shim_half(simde__m512 v, int i)
{
    __m256 h[2];
    memcpy(h, &v, sizeof v);
    return h[i];
}

SHIM(simde__m512) shim_cvtepi32_ps(simde__m512i x)
{
    SHIM_JOIN(simde__m512, __m256, _mm256_cvtepi32_ps(shim_half_i(x, 0)), _mm256_cvtepi32_ps(shim_half_i(x, 1)));
}

SHIM(simde__m512i) shim_cvtepi8_epi32(__m128i x)
{
    SHIM_JOIN(simde__m512i, __m256i, _mm256_cvtepi8_epi32(x), _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(x, x)));
}

SHIM(simde__m512i) shim_cvtepu8_epi16(__m256i x)
{
    SHIM_JOIN(simde__m512i, __m256i, _mm256_cvtepu8_epi16(_mm256_castsi256_si128(x)),
              _mm256_cvtepu8_epi16(_mm256_extracti128_si256(x, 1)));
}

SHIM(simde__m512) shim_cvtph_ps(__m256i x)
{
    SHIM_JOIN(simde__m512, __m256, _mm256_cvtph_ps(_mm256_castsi256_si128(x)),
              _mm256_cvtph_ps(_mm256_extracti128_si256(x, 1)));
}

SHIM(simde__m512i) shim_srai_epi32(simde__m512i x, int n)
{
    SHIM_JOIN(simde__m512i, __m256i, _mm256_srai_epi32(shim_half_i(x, 0), n), _mm256_srai_epi32(shim_half_i(x, 1), n));
}

SHIM(uint16_t) shim_cmplt_epu32(simde__m512i a, simde__m512i b)
{
    uint32_t x[16], y[16], mask = 0;
    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
    for (int i = 0; i < 16; i++)
        mask |= (uint32_t)(x[i] < y[i]) << i;
    return (uint16_t)mask;
}

#undef _mm512_cvtepi32_ps
#undef _mm512_cvtepi8_epi32
#undef _mm512_cvtepu8_epi16
#undef _mm512_cvtph_ps
#undef _mm512_srai_epi32
#undef _mm512_extractf32x8_ps
#undef _mm512_cmplt_epu32_mask
#define _mm512_cvtepi32_ps      shim_cvtepi32_ps
#define _mm512_cvtepi8_epi32    shim_cvtepi8_epi32
#define _mm512_cvtepu8_epi16    shim_cvtepu8_epi16
#define _mm512_cvtph_ps         shim_cvtph_ps
#define _mm512_srai_epi32       shim_srai_epi32
#define _mm512_extractf32x8_ps  shim_half
#define _mm512_cmplt_epu32_mask shim_cmplt_epu32

#endif
