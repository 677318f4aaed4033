/* The errors that docs/numerics.md states, against the C library in double precision, over floats at even steps of their bits (all of
 * them with --all). */
#include "cpu/f16.h"
#include "cpu/mathf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t step = 509; /* prime: all low bits come up */

typedef struct range_case {
    const char *name;
    float (*f)(float);
    double (*ref)(double);
    double max_ulp;
    float lo, hi;    /* of the magnitude; both signs are tried */
    float abs_floor; /* errors below this are not counted (denormal results) */
} range_case;

static double logistic_ref(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double silu_ref(double x)
{
    return x / (1.0 + exp(-x));
}

static double gelu_tanh_ref(double x)
{
    return x / (1.0 + exp(-2.0 * 0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

/* Distance in units of the last place of the exact result (2^-149 at the least). */
static double ulps(float got, double want)
{
    if (want != want)
        return got != got ? 0.0 : INFINITY;
    if (fabs(want) >= 0x1.ffffffp+127)
        return isinf(got) && (got > 0) == (want > 0) ? 0.0 : INFINITY;
    int e;
    (void)frexp(want, &e);
    const double ulp = ldexp(1.0, e - 24 < -149 ? -149 : e - 24);
    return fabs((double)got - want) / ulp;
}

static void check_range(const range_case *c)
{
    double worst = 0.0;
    float at = 0.0f;
    for (uint64_t b = mathf_bits(c->lo); b <= mathf_bits(c->hi); b += step)
        for (int sign = 0; sign < 2; sign++) {
            const float x = mathf_float((uint32_t)b | (uint32_t)sign << 31), y = c->f(x);
            const double want = c->ref(x);
            if (fabs((double)y - want) <= c->abs_floor)
                continue;
            const double u = ulps(y, want);
            if (!(u <= worst)) {
                worst = u;
                at = x;
            }
        }
    if (!(worst <= c->max_ulp)) {
        print_error("%s(%a): off by %.3f ulp, allowed %.2f\n", c->name, (double)at, worst, c->max_ulp);
        fail();
    }
    print_message("%-12s %.3f ulp at %a\n", c->name, worst, (double)at);
}

static void test_errors(void **state)
{
    (void)state;
    const range_case cases[] = {
        {"exp", mathf_exp, exp, 1.05, 0.0f, INFINITY, 0.0f},
        {"expm1", mathf_expm1, expm1, 1.5, 0.0f, INFINITY, 0.0f},
        {"log", mathf_log, log, 1.0, 0.0f, INFINITY, 0.0f},
        {"tanh", mathf_tanh, tanh, 1.5, 0.0f, INFINITY, 0.0f},
        {"logistic", mathf_logistic, logistic_ref, 2.5, 0.0f, INFINITY, 0.0f},
        {"erf", mathf_erf, erf, 1.2, 0.0f, INFINITY, 0.0f},
        {"sin", mathf_sin, sin, 1.6, 0.0f, INFINITY, 0.0f},
        {"cos", mathf_cos, cos, 1.6, 0.0f, INFINITY, 0.0f},
        {"silu", mathf_silu, silu_ref, 3.5, 0.0f, 0x1p+100f, 0x1p-126f},
        {"gelu_tanh", mathf_gelu_tanh, gelu_tanh_ref, 40.0, 0.0f, 5.0f, 0.0f},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_range(&cases[i]);
}

static void test_specials(void **state)
{
    (void)state;
    assert_true(mathf_exp(-INFINITY) == 0.0f && mathf_exp(INFINITY) == INFINITY && isnan(mathf_exp(NAN)) &&
                mathf_exp(0.0f) == 1.0f);
    assert_true(mathf_exp(-0x1.9d1dap+6f) == 0x1p-149f); /* ln(2^-149): gradual underflow */
    assert_true(mathf_log(0.0f) == -INFINITY && mathf_log(-0.0f) == -INFINITY && isnan(mathf_log(-1.0f)) &&
                isnan(mathf_log(NAN)));
    assert_true(mathf_log(1.0f) == 0.0f && mathf_log(INFINITY) == INFINITY);
    assert_true(isnan(mathf_sin(INFINITY)) && isnan(mathf_cos(-INFINITY)) && isnan(mathf_sin(NAN)) &&
                isnan(mathf_cos(NAN)));
    assert_int_equal(mathf_bits(mathf_sin(-0.0f)), 0x80000000u);
    assert_int_equal(mathf_bits(mathf_tanh(-0.0f)), 0x80000000u);
    assert_int_equal(mathf_bits(mathf_erf(-0.0f)), 0x80000000u);
    assert_true(mathf_tanh(INFINITY) == 1.0f && mathf_tanh(-INFINITY) == -1.0f && isnan(mathf_tanh(NAN)));
    assert_true(mathf_logistic(-INFINITY) == 0.0f && mathf_logistic(INFINITY) == 1.0f && isnan(mathf_logistic(NAN)));
    assert_true(mathf_erf(INFINITY) == 1.0f && mathf_erf(-INFINITY) == -1.0f && isnan(mathf_erf(NAN)));
}

static void test_min_max(void **state)
{
    (void)state;
    assert_int_equal(mathf_bits(mathf_max(-0.0f, 0.0f)), 0);
    assert_int_equal(mathf_bits(mathf_max(0.0f, -0.0f)), 0);
    assert_int_equal(mathf_bits(mathf_min(-0.0f, 0.0f)), 0x80000000u);
    assert_int_equal(mathf_bits(mathf_min(0.0f, -0.0f)), 0x80000000u);
    assert_true(isnan(mathf_max(NAN, 1.0f)) && isnan(mathf_max(1.0f, NAN)) && isnan(mathf_min(NAN, 1.0f)) &&
                isnan(mathf_min(1.0f, NAN)));
    assert_true(mathf_max(-1.0f, 2.0f) == 2.0f && mathf_min(-1.0f, 2.0f) == -1.0f &&
                mathf_max(INFINITY, -INFINITY) == INFINITY);
}

static void test_half(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        const float x = f16_to_float((uint16_t)h);
        const uint32_t e = h >> 10 & 31, m = h & 1023;
        if (e == 31) {
            assert_true(m ? isnan(x) : isinf(x));
            if (m)
                continue;
        } else {
            const double want = e ? ldexp(1024 + m, (int)e - 25) : ldexp(m, -24);
            assert_true((double)x == (h >> 15 ? -want : want));
        }
        assert_int_equal(mathf_to_f16(x), h);
    }
    /* Between neighbours: to nearest, the even one in the middle. */
    for (uint32_t h = 0; h < 0x7bff; h++) {
        const float a = f16_to_float((uint16_t)h), b = f16_to_float((uint16_t)(h + 1)), mid = 0.5f * (a + b);
        assert_int_equal(mathf_to_f16(mid), h + (h & 1));
        assert_int_equal(mathf_to_f16(nextafterf(mid, 0.0f)), h);
        assert_int_equal(mathf_to_f16(nextafterf(mid, INFINITY)), h + 1);
    }
    assert_int_equal(mathf_to_f16(65519.996f), 0x7bff);
    assert_int_equal(mathf_to_f16(65520.0f), 0x7c00);
    assert_int_equal(mathf_to_f16(-1e-30f), 0x8000);
}

static void test_pow(void **state)
{
    (void)state;
    const float special[] = {0.0f,  -0.0f,     1.0f,        -1.0f,       0.5f,   -0.5f,    2.0f,
                             -2.0f, 3.0f,      -3.0f,       1e10f,       -1e10f, INFINITY, -INFINITY,
                             NAN,   0x1p-140f, 16777216.0f, 33554434.0f, 2.5f,   -2.5f};
    const size_t n = sizeof special / sizeof special[0];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const float got = mathf_pow(special[i], special[j]);
            const double want = pow(special[i], special[j]);
            if (!(ulps(got, want) <= 0.51) || (want == 0.0 && !signbit(got) != !signbit(want))) {
                print_error("pow(%a, %a) = %a, not %a\n", (double)special[i], (double)special[j], (double)got, want);
                fail();
            }
        }
    uint32_t seed = 1;
    for (int i = 0; i < 200000; i++) {
        seed = seed * 1664525u + 1013904223u;
        const float x = mathf_float((seed >> 2 & 0x0fffffffu) + 0x38000000u);
        seed = seed * 1664525u + 1013904223u;
        const float y = (float)(int32_t)seed * 0x1p-27f;
        const double u = ulps(mathf_pow(x, y), pow(x, y));
        if (!(u <= 0.501)) {
            print_error("pow(%a, %a): %.3f ulp\n", (double)x, (double)y, u);
            fail();
        }
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--all") == 0)
        step = 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors), cmocka_unit_test(test_specials), cmocka_unit_test(test_min_max),
        cmocka_unit_test(test_half),   cmocka_unit_test(test_pow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
