/* Transcendental functions on floats, our own: the same bits on every machine and in every vector width (mathf_body.h). Valid for all
 * inputs; NaN gives NaN (its payload is not defined). Errors in ulp are stated in docs/numerics.md.
 *
 *     mathf_exp  mathf_log  mathf_tanh  mathf_logistic  mathf_erf  mathf_sin  mathf_cos  mathf_silu  mathf_gelu_tanh  mathf_gelu_erf
 *     mathf_expm1  mathf_pow  mathf_min  mathf_max  mathf_to_f16 */
#ifndef LITHE_CPU_MATHF_H
#define LITHE_CPU_MATHF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define MATHF_TRIG_LIMIT 131072.0f /* above it sin and cos reduce their argument with integers */

static inline uint32_t mathf_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float mathf_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

#define F                float
#define I                uint32_t
#define B                int
#define MATHF(name)      mathf_##name
#define F_SET(c)         (c)
#define F_ADD(a, b)      ((a) + (b))
#define F_SUB(a, b)      ((a) - (b))
#define F_MUL(a, b)      ((a) * (b))
#define F_DIV(a, b)      ((a) / (b))
#define F_FMA(a, b, c)   fmaf(a, b, c)
#define F_MIN(a, b)      ((a) < (b) ? (a) : (b))
#define F_MAX(a, b)      ((a) > (b) ? (a) : (b))
#define F_ABS(a)         mathf_float(mathf_bits(a) & 0x7fffffffu)
#define F_NEG(a)         (-(a))
#define F_COPYSIGN(a, b) mathf_float(mathf_bits(a) | (mathf_bits(b) & 0x80000000u))
#define F_LT(a, b)       ((a) < (b))
#define F_EQ(a, b)       ((a) == (b))
#define F_SEL(m, a, b)   ((m) ? (a) : (b))
#define F_BITS(a)        mathf_bits(a)
#define I_SET(c)         ((uint32_t)(c))
#define I_ADD(a, b)      ((a) + (b))
#define I_SUB(a, b)      ((a) - (b))
#define I_AND(a, b)      ((a) & (b))
#define I_XOR(a, b)      ((a) ^ (b))
#define I_SHL(a, n)      ((a) << (n))
#define I_SRA(a, n)      ((uint32_t)((int32_t)(a) >> (n)))
#define I_CVT(a)         ((float)(int32_t)(a))
#define I_FLOAT(a)       mathf_float(a)
#define I_MASK(a)        ((a) >> 31)
#include "cpu/mathf_body.h"
#include "cpu/mathf_undef.h"

/* |a| * 2 / pi mod 4 with integers, for any finite a > 1: the 96 bits of 2 / pi that matter are multiplied with the 24 of the number
 * (Payne and Hanek's method). Returns the remainder times pi / 2, *n the multiple. */
static inline float mathf_trig_reduce_large(float a, uint32_t *n)
{
    static const uint32_t two_over_pi[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                           0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};
    const uint32_t bits = mathf_bits(a);
    const uint64_t m = (bits & 0x7fffffu) | 0x800000u;
    const uint32_t at = (bits >> 23) - 150 +
                        30; /* a = m * 2^(at - 30); the window starts where a bit weighs 2^(2 - 1) times m's unit */
    const uint32_t w = at / 32, s = at % 32;
    const uint64_t f2 = (uint32_t)(((uint64_t)two_over_pi[w] << 32 | two_over_pi[w + 1]) >> (32 - s));
    const uint64_t f1 = (uint32_t)(((uint64_t)two_over_pi[w + 1] << 32 | two_over_pi[w + 2]) >> (32 - s));
    const uint64_t f0 = (uint32_t)(((uint64_t)two_over_pi[w + 2] << 32 | two_over_pi[w + 3]) >> (32 - s));
    const uint64_t q = (m * f2 << 32) + m * f1 + (m * f0 >> 32); /* quadrant in two bits, 62 of fraction */
    const int64_t fraction = (int64_t)(q << 2);                  /* in units of 2^-64, nearest quadrant: [-1/2, 1/2) */
    *n = (uint32_t)(q >> 62) + (fraction < 0);
    return (float)((double)fraction * 0x1.921fb54442d18p-64);
}

static inline float mathf_trig(float x, uint32_t quadrant)
{
    uint32_t n;
    if (!(x < INFINITY))
        return x - x;
    const float r = x <= MATHF_TRIG_LIMIT ? mathf_trig_reduce(x, &n) : mathf_trig_reduce_large(x, &n);
    return mathf_trig_core(r, n + quadrant);
}

static inline float mathf_cos(float x)
{
    return mathf_trig(fabsf(x), 1);
}

static inline float mathf_sin(float x)
{
    return mathf_float(mathf_bits(mathf_trig(fabsf(x), 0)) ^ (mathf_bits(x) & 0x80000000u));
}

static inline float mathf_expm1(float x)
{
    if (!(fabsf(x) < 20.0f))
        return mathf_exp(x) - 1.0f;
    const float z = fmaf(x, 0x1.715476p+0f, 0x1.8p+23f), n = z - 0x1.8p+23f;
    const float r = fmaf(n, 0x1.05c610p-29f, fmaf(n, -0x1.62e430p-1f, x));
    const float s = mathf_float((mathf_bits(z) - 0x4b400000u + 127u) << 23);
    return s == 1.0f ? mathf_expm1_core(r) : fmaf(s, mathf_expm1_core(r), s - 1.0f);
}

/* NaN if either is; -0 below +0 */
static inline float mathf_max(float a, float b)
{
    return a > b ? a : a < b ? b : a == b ? mathf_float(mathf_bits(a) & mathf_bits(b)) : a + b;
}

static inline float mathf_min(float a, float b)
{
    return a < b ? a : a > b ? b : a == b ? mathf_float(mathf_bits(a) | mathf_bits(b)) : a + b;
}

float mathf_pow(float x, float y);
/* Rounded to nearest even. */
uint16_t mathf_to_f16(float x);

#endif
