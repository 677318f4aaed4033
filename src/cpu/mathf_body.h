/* The transcendental functions, written once over an abstract vector of floats: mathf.h includes this file with one float, x86/mathf_avx2.h
 * with eight, so that every width does the same operations in the same order and gives the same bits. No include guard: the includer
 * defines the types F (floats), I (int32), B (mask) and the operations below, and MATHF(name) for the names of the functions.
 *
 * F_MIN(a, b) is a < b ? a : b and F_MAX(a, b) is a > b ? a : b: with a constant as a they keep a NaN in b.
 * Errors are in docs/numerics.md and checked by tests/cpu/mathf_test.c. Polynomials: minimax fits of our own, coefficients rounded to float
 * one after the other from the lowest power, the rest fitted again after each. */

/* e^r - 1 for |r| <= ln(2) / 2 */
static inline F MATHF(expm1_core)(F r)
{
    F q = F_SET(0x1.6a4f54p-10f);
    q = F_FMA(q, r, F_SET(0x1.12397ep-7f));
    q = F_FMA(q, r, F_SET(0x1.5558aep-5f));
    q = F_FMA(q, r, F_SET(0x1.555492p-3f));
    q = F_FMA(q, r, F_SET(0x1.fffffcp-2f));
    return F_FMA(q, F_MUL(r, r), r);
}

/* e^x. Results below the smallest normal are rounded to denormals once; beyond the range 0 and infinity. */
static inline F MATHF(exp)(F x)
{
    x = F_MIN(F_SET(89.0f), x);
    x = F_MAX(F_SET(-104.0f), x);
    const F z = F_FMA(x, F_SET(0x1.715476p+0f), F_SET(0x1.8p+23f)); /* its low bits are x / ln(2) as an integer */
    const F n = F_SUB(z, F_SET(0x1.8p+23f));
    F r = F_FMA(n, F_SET(-0x1.62e430p-1f), x);
    r = F_FMA(n, F_SET(0x1.05c610p-29f), r);
    const F p = F_ADD(F_SET(1.0f), MATHF(expm1_core)(r));
    /* 2^n in two factors: n from -150 to 128 */
    const I e = I_SUB(F_BITS(z), I_SET(0x4b400000)), e1 = I_SRA(e, 1);
    const F s1 = I_FLOAT(I_SHL(I_ADD(e1, I_SET(127)), 23));
    const F s2 = I_FLOAT(I_SHL(I_ADD(I_SUB(e, e1), I_SET(127)), 23));
    return F_MUL(F_MUL(p, s1), s2);
}

/* 1 / (1 + e^-x), from e^-|x| */
static inline F MATHF(logistic)(F x)
{
    const F z = MATHF(exp)(F_NEG(F_ABS(x)));
    return F_DIV(F_SEL(F_LT(x, F_SET(0.0f)), z, F_SET(1.0f)), F_ADD(F_SET(1.0f), z));
}

static inline F MATHF(tanh)(F x)
{
    const F a = F_ABS(x), t = F_MUL(a, a);
    F p = F_SET(-0x1.75734ap-8f);
    p = F_FMA(p, t, F_SET(0x1.520beap-6f));
    p = F_FMA(p, t, F_SET(-0x1.b837dcp-5f));
    p = F_FMA(p, t, F_SET(0x1.110700p-3f));
    p = F_FMA(p, t, F_SET(-0x1.555532p-2f));
    p = F_FMA(F_MUL(a, t), p, a);
    const F e = MATHF(exp)(F_ADD(a, a));
    const F q = F_SUB(F_SET(1.0f), F_DIV(F_SET(2.0f), F_ADD(e, F_SET(1.0f))));
    return F_COPYSIGN(F_SEL(F_LT(a, F_SET(0.625f)), p, q), x);
}

/* Natural logarithm; -inf at 0, NaN below. */
static inline F MATHF(log)(F x)
{
    const B tiny = F_LT(x, F_SET(0x1p-126f));
    const I bits = I_SUB(F_BITS(F_SEL(tiny, F_MUL(x, F_SET(0x1p+23f)), x)), I_SET(0x3f3504f3)); /* sqrt(1/2) */
    const F e = F_ADD(I_CVT(I_SRA(bits, 23)), F_SEL(tiny, F_SET(-23.0f), F_SET(0.0f)));
    const F f = F_SUB(I_FLOAT(I_ADD(I_AND(bits, I_SET(0x7fffff)), I_SET(0x3f3504f3))), F_SET(1.0f));
    F p = F_SET(-0x1.38ceb4p-4f);
    p = F_FMA(p, f, F_SET(0x1.056016p-3f));
    p = F_FMA(p, f, F_SET(-0x1.0d81f6p-3f));
    p = F_FMA(p, f, F_SET(0x1.22d8fap-3f));
    p = F_FMA(p, f, F_SET(-0x1.54728cp-3f));
    p = F_FMA(p, f, F_SET(0x1.99a01ep-3f));
    p = F_FMA(p, f, F_SET(-0x1.000226p-2f));
    p = F_FMA(p, f, F_SET(0x1.555554p-2f));
    p = F_FMA(p, f, F_SET(-0.5f));
    F y = F_FMA(e, F_SET(-0x1.05c610p-29f), F_MUL(F_MUL(f, f), p));
    y = F_FMA(e, F_SET(0x1.62e430p-1f), F_ADD(f, y));
    y = F_SEL(F_EQ(x, F_SET(INFINITY)), x, y);
    y = F_SEL(F_EQ(x, F_SET(0.0f)), F_SET(-INFINITY), y);
    y = F_SEL(F_LT(x, F_SET(0.0f)), F_SET(NAN), y);
    return F_SEL(F_EQ(x, x), y, x);
}

static inline F MATHF(erf)(F x)
{
    const F a = F_ABS(x), t = F_MUL(a, a);
    F p = F_SET(0x1.4f0472p-14f);
    p = F_FMA(p, t, F_SET(-0x1.a5ea9ep-11f));
    p = F_FMA(p, t, F_SET(0x1.5446b2p-8f));
    p = F_FMA(p, t, F_SET(-0x1.b800d0p-6f));
    p = F_FMA(p, t, F_SET(0x1.ce2d62p-4f));
    p = F_FMA(p, t, F_SET(-0x1.812740p-2f));
    p = F_FMA(p, t, F_SET(0x1.06eba8p-3f));
    p = F_FMA(p, a, a);
    /* 1 - e^R, R = ln(erfc(a)) */
    const F b = F_MIN(F_SET(4.0f), a);
    F r = F_SET(-0x1.65d478p-16f);
    r = F_FMA(r, b, F_SET(0x1.ca6ab0p-12f));
    r = F_FMA(r, b, F_SET(-0x1.123978p-8f));
    r = F_FMA(r, b, F_SET(0x1.9c223ap-6f));
    r = F_FMA(r, b, F_SET(-0x1.bbbd72p-4f));
    r = F_FMA(r, b, F_SET(-0x1.443f76p-1f));
    r = F_FMA(r, b, F_SET(-0x1.212988p+0f));
    r = F_FMA(r, b, F_SET(0x1.795632p-13f));
    const F q = F_SUB(F_SET(1.0f), MATHF(exp)(r));
    return F_COPYSIGN(F_SEL(F_LT(a, F_SET(0.95f)), p, q), x);
}

/* sin(r + n * pi / 2) for |r| <= pi / 4 */
static inline F MATHF(trig_core)(F r, I n)
{
    const F t = F_MUL(r, r);
    F s = F_SET(-0x1.995408p-13f);
    s = F_FMA(s, t, F_SET(0x1.110778p-7f));
    s = F_FMA(s, t, F_SET(-0x1.555546p-3f));
    s = F_FMA(F_MUL(r, t), s, r);
    F c = F_SET(0x1.99e912p-16f);
    c = F_FMA(c, t, F_SET(-0x1.6c0c2ap-10f));
    c = F_FMA(c, t, F_SET(0x1.55554ap-5f));
    c = F_FMA(c, t, F_SET(-0.5f));
    c = F_FMA(c, t, F_SET(1.0f));
    const F v = F_SEL(I_MASK(I_SHL(n, 31)), c, s);
    return I_FLOAT(I_XOR(F_BITS(v), I_SHL(I_AND(n, I_SET(2)), 30)));
}

/* a - n * pi / 2 for 0 <= a <= MATHF_TRIG_LIMIT, pi / 2 in three parts; the first difference is exact */
static inline F MATHF(trig_reduce)(F a, I *n)
{
    const F z = F_FMA(a, F_SET(0x1.45f306p-1f), F_SET(0x1.8p+23f));
    const F k = F_SUB(z, F_SET(0x1.8p+23f));
    *n = I_SUB(F_BITS(z), I_SET(0x4b400000));
    F r = F_FMA(k, F_SET(-0x1.921fb6p+0f), a);
    r = F_FMA(k, F_SET(0x1.777a5cp-25f), r);
    return F_FMA(k, F_SET(0x1.ee59dap-50f), r);
}

/* x * logistic(x), each operation rounded */
static inline F MATHF(silu)(F x)
{
    return F_MUL(x, MATHF(logistic)(x));
}

/* 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) is x * logistic of twice that argument */
static inline F MATHF(gelu_tanh)(F x)
{
    const F t = F_FMA(F_MUL(x, x), F_SET(0x1.2444f2p-4f), F_SET(0x1.988454p+0f));
    return F_MUL(x, MATHF(logistic)(F_MUL(x, t)));
}

static inline F MATHF(gelu_erf)(F x)
{
    return F_MUL(F_MUL(F_SET(0.5f), x), F_ADD(F_SET(1.0f), MATHF(erf)(F_MUL(x, F_SET(0x1.6a09e6p-1f)))));
}
