/* mathf.h on four floats: mathf_exp_neon(float32x4_t) and so on, bit-equal to the scalar functions (all NaN count as equal). */
#ifndef LITHE_CPU_ARM_MATHF_NEON_H
#define LITHE_CPU_ARM_MATHF_NEON_H

#include "cpu/mathf.h"

#include <arm_neon.h>

/* vminq and vmaxq would give NaN for either operand: the definition wants comparisons. */
#define F                float32x4_t
#define I                int32x4_t
#define B                uint32x4_t
#define MATHF(name)      mathf_##name##_neon
#define F_SET(c)         vdupq_n_f32(c)
#define F_ADD(a, b)      vaddq_f32(a, b)
#define F_SUB(a, b)      vsubq_f32(a, b)
#define F_MUL(a, b)      vmulq_f32(a, b)
#define F_DIV(a, b)      vdivq_f32(a, b)
#define F_FMA(a, b, c)   vfmaq_f32(c, a, b)
#define F_MIN(a, b)      vbslq_f32(vcltq_f32(a, b), a, b)
#define F_MAX(a, b)      vbslq_f32(vcgtq_f32(a, b), a, b)
#define F_ABS(a)         vabsq_f32(a)
#define F_NEG(a)         vnegq_f32(a)
#define F_COPYSIGN(a, b) vbslq_f32(vdupq_n_u32(0x80000000u), b, a)
#define F_LT(a, b)       vcltq_f32(a, b)
#define F_EQ(a, b)       vceqq_f32(a, b)
#define F_SEL(m, a, b)   vbslq_f32(m, a, b)
#define F_BITS(a)        vreinterpretq_s32_f32(a)
#define I_SET(c)         vdupq_n_s32(c)
#define I_ADD(a, b)      vaddq_s32(a, b)
#define I_SUB(a, b)      vsubq_s32(a, b)
#define I_AND(a, b)      vandq_s32(a, b)
#define I_XOR(a, b)      veorq_s32(a, b)
#define I_SHL(a, n)      vshlq_n_s32(a, n)
#define I_SRA(a, n)      vshrq_n_s32(a, n)
#define I_CVT(a)         vcvtq_f32_s32(a)
#define I_FLOAT(a)       vreinterpretq_f32_s32(a)
#define I_MASK(a)        vreinterpretq_u32_s32(vshrq_n_s32(a, 31))
#include "cpu/mathf_body.h"
#include "cpu/mathf_undef.h"

static inline float32x4_t mathf_trig_neon(float32x4_t x, int quadrant)
{
    int32x4_t n;
    const float32x4_t r = mathf_trig_reduce_neon(x, &n);
    float32x4_t y = mathf_trig_core_neon(r, vaddq_s32(n, vdupq_n_s32(quadrant)));
    if (vminvq_u32(vcleq_f32(x, vdupq_n_f32(MATHF_TRIG_LIMIT))) == 0) {
        float a[4];
        vst1q_f32(a, x);
        for (int i = 0; i < 4; i++)
            a[i] = mathf_trig(a[i], (uint32_t)quadrant);
        y = vld1q_f32(a);
    }
    return y;
}

static inline float32x4_t mathf_cos_neon(float32x4_t x)
{
    return mathf_trig_neon(vabsq_f32(x), 1);
}

static inline float32x4_t mathf_sin_neon(float32x4_t x)
{
    const uint32x4_t sign = vandq_u32(vreinterpretq_u32_f32(x), vdupq_n_u32(0x80000000u));
    return vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(mathf_trig_neon(vabsq_f32(x), 0)), sign));
}

/* NaN if either is; -0 below +0. */
static inline float32x4_t mathf_max_neon(float32x4_t a, float32x4_t b)
{
    const uint32x4_t bits = vandq_u32(vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b));
    const float32x4_t m = vbslq_f32(vceqq_f32(a, b), vreinterpretq_f32_u32(bits), vaddq_f32(a, b));
    return vbslq_f32(vcgtq_f32(a, b), a, vbslq_f32(vcltq_f32(a, b), b, m));
}

static inline float32x4_t mathf_min_neon(float32x4_t a, float32x4_t b)
{
    const uint32x4_t bits = vorrq_u32(vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b));
    const float32x4_t m = vbslq_f32(vceqq_f32(a, b), vreinterpretq_f32_u32(bits), vaddq_f32(a, b));
    return vbslq_f32(vcltq_f32(a, b), a, vbslq_f32(vcgtq_f32(a, b), b, m));
}

#endif
