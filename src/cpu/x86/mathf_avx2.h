/* mathf.h on eight floats: mathf_exp_avx2(__m256) and so on, bit-equal to the scalar functions (all NaN count as equal). */
#ifndef LITHE_CPU_X86_MATHF_AVX2_H
#define LITHE_CPU_X86_MATHF_AVX2_H

#include "cpu/mathf.h"

#include <immintrin.h>

#define F                __m256
#define I                __m256i
#define B                __m256
#define MATHF(name)      mathf_##name##_avx2
#define F_SET(c)         _mm256_set1_ps(c)
#define F_ADD(a, b)      _mm256_add_ps(a, b)
#define F_SUB(a, b)      _mm256_sub_ps(a, b)
#define F_MUL(a, b)      _mm256_mul_ps(a, b)
#define F_DIV(a, b)      _mm256_div_ps(a, b)
#define F_FMA(a, b, c)   _mm256_fmadd_ps(a, b, c)
#define F_MIN(a, b)      _mm256_min_ps(a, b)
#define F_MAX(a, b)      _mm256_max_ps(a, b)
#define F_ABS(a)         _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a)
#define F_NEG(a)         _mm256_xor_ps(_mm256_set1_ps(-0.0f), a)
#define F_COPYSIGN(a, b) _mm256_or_ps(a, _mm256_and_ps(_mm256_set1_ps(-0.0f), b))
#define F_LT(a, b)       _mm256_cmp_ps(a, b, _CMP_LT_OQ)
#define F_EQ(a, b)       _mm256_cmp_ps(a, b, _CMP_EQ_OQ)
#define F_SEL(m, a, b)   _mm256_blendv_ps(b, a, m)
#define F_BITS(a)        _mm256_castps_si256(a)
#define I_SET(c)         _mm256_set1_epi32(c)
#define I_ADD(a, b)      _mm256_add_epi32(a, b)
#define I_SUB(a, b)      _mm256_sub_epi32(a, b)
#define I_AND(a, b)      _mm256_and_si256(a, b)
#define I_XOR(a, b)      _mm256_xor_si256(a, b)
#define I_SHL(a, n)      _mm256_slli_epi32(a, n)
#define I_SRA(a, n)      _mm256_srai_epi32(a, n)
#define I_CVT(a)         _mm256_cvtepi32_ps(a)
#define I_FLOAT(a)       _mm256_castsi256_ps(a)
#define I_MASK(a)        _mm256_castsi256_ps(a)
#include "cpu/mathf_body.h"
#include "cpu/mathf_undef.h"

static inline __m256 mathf_trig_avx2(__m256 x, int quadrant)
{
    __m256i n;
    const __m256 r = mathf_trig_reduce_avx2(x, &n);
    __m256 y = mathf_trig_core_avx2(r, _mm256_add_epi32(n, _mm256_set1_epi32(quadrant)));
    if (_mm256_movemask_ps(_mm256_cmp_ps(x, _mm256_set1_ps(MATHF_TRIG_LIMIT), _CMP_LE_OQ)) != 0xff) {
        float a[8];
        _mm256_storeu_ps(a, x);
        for (int i = 0; i < 8; i++)
            a[i] = mathf_trig(a[i], (uint32_t)quadrant);
        y = _mm256_loadu_ps(a);
    }
    return y;
}

static inline __m256 mathf_cos_avx2(__m256 x)
{
    return mathf_trig_avx2(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), x), 1);
}

static inline __m256 mathf_sin_avx2(__m256 x)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return _mm256_xor_ps(mathf_trig_avx2(_mm256_andnot_ps(sign, x), 0), _mm256_and_ps(sign, x));
}

/* NaN if either is; -0 below +0 */
static inline __m256 mathf_max_avx2(__m256 a, __m256 b)
{
    const __m256 m = _mm256_blendv_ps(_mm256_max_ps(a, b), _mm256_and_ps(a, b), _mm256_cmp_ps(a, b, _CMP_EQ_OQ));
    return _mm256_blendv_ps(m, _mm256_add_ps(a, b), _mm256_cmp_ps(a, b, _CMP_UNORD_Q));
}

static inline __m256 mathf_min_avx2(__m256 a, __m256 b)
{
    const __m256 m = _mm256_blendv_ps(_mm256_min_ps(a, b), _mm256_or_ps(a, b), _mm256_cmp_ps(a, b, _CMP_EQ_OQ));
    return _mm256_blendv_ps(m, _mm256_add_ps(a, b), _mm256_cmp_ps(a, b, _CMP_UNORD_Q));
}

#endif
