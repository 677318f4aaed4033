/* Scalar functions that have no vector form: powers (in double arithmetic) and rounding to half floats. */
#include "cpu/mathf.h"

/* ln(a) for a positive finite float, to about 1e-15 */
static double log_double(float a)
{
    int e = 0;
    if (a < 0x1p-126f) {
        a *= 0x1p+23f;
        e = -23;
    }
    const int32_t bits = (int32_t)(mathf_bits(a) - 0x3f3504f3u);
    e += bits >> 23;
    const double m = mathf_float(((uint32_t)bits & 0x7fffffu) + 0x3f3504f3u), s = (m - 1.0) / (m + 1.0), t = s * s;
    double p = 1.0 / 19;
    for (int k = 17; k >= 1; k -= 2)
        p = p * t + 1.0 / k;
    return (double)e * 0x1.62e42fefa39efp-1 + 2.0 * s * p;
}

/* e^x for |x| < 700, to about 1e-15 */
static double exp_double(double x)
{
    const double n = (x * 0x1.71547652b82fep+0 + 0x1.8p+52) - 0x1.8p+52;
    const double r = (x - n * 0x1.62e42fep-1) - n * 0x1.f473de6af278fp-30;
    double p = 1.0;
    for (int k = 14; k >= 1; k--)
        p = p * r / k + 1.0;
    return ldexp(p, (int)n);
}

float mathf_pow(float x, float y)
{
    if (y == 0.0f || x == 1.0f)
        return 1.0f;
    if (x != x || y != y)
        return x + y;
    const float a = fabsf(x);
    const int integer = fabsf(y) >= 0x1p+24f || floorf(y) == y;
    const int odd = integer && fabsf(y) < 0x1p+24f && ((int32_t)y & 1);
    const float sign = x < 0.0f || mathf_bits(x) >> 31 ? (odd ? -1.0f : 1.0f) : 1.0f;
    if (a == 0.0f || a == INFINITY)
        return (a == 0.0f) == (y > 0.0f) ? sign * 0.0f : sign * INFINITY;
    if (fabsf(y) == INFINITY)
        return a == 1.0f ? 1.0f : (a > 1.0f) == (y > 0.0f) ? INFINITY : 0.0f;
    if (x < 0.0f && !integer)
        return NAN;
    double z = (double)y * log_double(a);
    z = z > 200.0 ? 200.0 : z < -200.0 ? -200.0 : z;
    return sign * (float)exp_double(z);
}

uint16_t mathf_to_f16(float x)
{
    const uint32_t bits = mathf_bits(x), sign = bits >> 16 & 0x8000u, a = bits & 0x7fffffffu;
    if (a > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (a >= 0x477ff000u) /* 65520 rounds up to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (a < 0x38800000u) /* below 2^-14: the sum's low bits are the denormal, rounded by the addition */
        return (uint16_t)(sign | ((mathf_bits(mathf_float(a) + 0.5f) - 0x3f000000u) & 0xffffu));
    return (uint16_t)(sign | ((a + 0xfffu + (a >> 13 & 1u) - 0x38000000u) >> 13));
}
