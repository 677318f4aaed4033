/* Every instruction set's vector kernels against C, bit for bit (any NaN equals any NaN), over sizes 0 to 100, at odd addresses, on random
 * values and special ones. `--bench` prints nanoseconds per element instead. */
#include "base/cpuinfo.h"
#include "cpu/mathf.h"
#include "cpu/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_N = 100, ROWS = 24, GUARD = 16, SPACE = ROWS * MAX_N + 2 * GUARD };

static const vec_kernels *c_kernels, *isa_kernels;

static uint32_t random_bits(void)
{
    static uint64_t state = 0x9e3779b97f4a7c15u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

/* kind 0: of order one, 1: any finite magnitude or NaN, 2: special values among ordinary ones */
static void fill(float *x, size_t n, int kind)
{
    static const float special[] = {0.0f,  -0.0f,  INFINITY, -INFINITY, NAN,     0x1p-149f,       -0x1p-130f,
                                    1.0f,  -1.0f,  88.8f,    -88.0f,    -104.5f, 131072.0f,       131073.0f,
                                    1e30f, -1e30f, 0.625f,   0.95f,     4.5f,    0x1.fffffep+127f};
    for (size_t i = 0; i < n; i++) {
        const uint32_t r = random_bits();
        x[i] = ((float)(int32_t)r * 0x1p-31f) * 8.0f;
        if (kind == 1)
            x[i] = mathf_float(r);
        else if (kind == 2 && r % 3 == 0)
            x[i] = special[(r >> 8) % (sizeof special / sizeof special[0])];
    }
}

static void expect_equal(const char *what, size_t n, int kind, const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (mathf_bits(a[i]) != mathf_bits(b[i]) && !(isnan(a[i]) && isnan(b[i]))) {
            print_error("%s, n = %zu, values of kind %d: element %zu is %a in C, %a in %s\n", what, n, kind, i,
                        (double)a[i], (double)b[i], isa_kernels->name);
            fail();
        }
}

typedef struct buffers {
    float a[SPACE], b[SPACE], w[SPACE], x[SPACE], y[SPACE];
} buffers;

static buffers bufs;

/* Both outputs hold the same numbers before, so that writes beyond the end show. */
static void fill_all(int kind)
{
    fill(bufs.a, SPACE, kind);
    fill(bufs.b, SPACE, kind);
    fill(bufs.w, SPACE, kind);
    fill(bufs.x, SPACE, kind == 1 ? 0 : kind);
    memcpy(bufs.y, bufs.x, sizeof bufs.x);
}

#define COMPARE(what, call)                                                                                            \
    do {                                                                                                               \
        fill_all(kind);                                                                                                \
        const vec_kernels *k = c_kernels;                                                                              \
        float *out = bufs.x + 3;                                                                                       \
        call;                                                                                                          \
        k = isa_kernels;                                                                                               \
        out = bufs.y + 3;                                                                                              \
        call;                                                                                                          \
        expect_equal(what, n, kind, bufs.x, bufs.y, SPACE);                                                            \
    } while (0)

static void compare_elementwise(size_t n, int kind)
{
    static const char *const binary[] = {"add", "sub", "mul", "div", "min", "max"};
    static const char *const unary[] = {"neg", "abs",  "sqrt",     "rsqrt",     "square",   "exp",  "log", "sin",
                                        "cos", "tanh", "logistic", "gelu_tanh", "gelu_erf", "silu", "relu"};
    const float *a = bufs.a + 1, *b = bufs.b + 2;
    for (int op = 0; op < VEC_BINARY_COUNT; op++)
        for (int one = 0; one < 3; one++)
            COMPARE(binary[op], k->binary[op](a, b, out, n, one == 1, one == 2));
    for (int op = 0; op < VEC_UNARY_COUNT; op++)
        COMPARE(unary[op], k->unary[op](a, out, n));
    for (uint32_t gate = 0; gate < 3; gate++)
        COMPARE("gated", k->gated(gate, a, b, out, n));
    COMPARE("mul_add", k->mul_add(a, b, out, n));
    COMPARE("f16_to_f32", k->f16_to_f32((const uint16_t *)(const void *)a, out, n));
}

static void compare_rows(size_t n, int kind)
{
    const float *a = bufs.a + 1, *b = bufs.b + 2, *w = bufs.w + 3;
    COMPARE("rms_norm", k->rms_norm(a, w, 1e-6f, out, n));
    COMPARE("rms_norm without weight", k->rms_norm(a, NULL, 1e-6f, out, n));
    COMPARE("rope", k->rope(a, b, w, out, n & ~(size_t)1));
    COMPARE("softmax", k->softmax(a, 1.0f, out, n));
    COMPARE("softmax, beta", k->softmax(a, 0.7f, out, n));
    COMPARE("sum", *out = k->sum(a, n));
    COMPARE("dot", *out = k->dot(a, b, n));
    COMPARE("max", *out = k->max(a, n));
    COMPARE("vec_mat", k->vec_mat(a, 3, b, MAX_N, ROWS - 1, out, n));
    COMPARE("delta_step", k->delta_step(a, b, w, 0.5f, 0.9f, out, MAX_N, ROWS - 1, n, out + (ROWS - 1) * MAX_N));
    COMPARE("add in place", (memcpy(out, a, n * sizeof(float)), k->binary[VEC_ADD](out, b, out, n, 0, 0)));
}

static void test_equal(void **state)
{
    (void)state;
    if (!isa_kernels)
        skip();
    for (size_t n = 0; n <= MAX_N; n++)
        for (int kind = 0; kind < 3; kind++) {
            compare_elementwise(n, kind);
            compare_rows(n, kind);
        }
}

/* The transcendental functions over all magnitudes. */
static void test_equal_dense(void **state)
{
    (void)state;
    if (!isa_kernels)
        skip();
    static float x[4096], y[4096], z[4096];
    uint32_t bits = 0;
    for (int block = 0; block < 256; block++) {
        for (size_t i = 0; i < 4096; i++, bits += 4093)
            x[i] = mathf_float(bits);
        for (int op = VEC_EXP; op <= VEC_SILU; op++) {
            c_kernels->unary[op](x, y, 4096);
            isa_kernels->unary[op](x, z, 4096);
            expect_equal("unary", (size_t)op, 1, y, z, 4096);
        }
    }
}

/* What the definitions say, computed plainly. */
static void test_definitions(void **state)
{
    (void)state;
    const vec_kernels *k = c_kernels;
    float x[37], y[37], out[37], lanes[16] = {0};
    fill(x, 37, 0);
    fill(y, 37, 0);
    for (size_t i = 0; i < 37; i++)
        lanes[i % 16] = fmaf(x[i], y[i], lanes[i % 16]);
    for (size_t step = 8; step; step /= 2)
        for (size_t i = 0; i < step; i++)
            lanes[i] += lanes[i + step];
    assert_true(k->dot(x, y, 37) == lanes[0]);
    const float r = 1.0f / sqrtf(k->dot(x, x, 37) / 37.0f + 0.5f);
    k->rms_norm(x, y, 0.5f, out, 37);
    for (size_t i = 0; i < 37; i++)
        assert_true(out[i] == x[i] * r * y[i]);
    assert_true(k->max((const float[]){1.0f, NAN, 3.0f}, 3) != k->max((const float[]){1.0f, NAN, 3.0f}, 3));
    assert_true(k->max((const float[]){-5.0f, -2.0f, -3.0f}, 3) == -2.0f);
    assert_true(k->sum(x, 0) == 0.0f && k->max(x, 0) == -INFINITY);
    k->softmax((const float[]){1.0f, 2.0f, -INFINITY}, 1.0f, out, 3);
    assert_true(out[2] == 0.0f && fabsf(out[0] - 0.26894142f) < 1e-7f && fabsf(out[0] + out[1] - 1.0f) < 1e-6f);
    k->rope((const float[]){1, 2, 3, 4}, (const float[]){1, 1, 1, 1}, (const float[]){10, 100, 10, 100}, out, 4);
    assert_true(out[0] == -29.0f && out[1] == -398.0f && out[2] == 13.0f && out[3] == 204.0f);
    /* S = [1 2], k = q = 1, decay 1, beta 1, v = [3 5]: m = S, S' = v, out = v */
    float state_row[2] = {1, 2};
    const float one = 1.0f;
    k->delta_step(&one, &one, (const float[]){3, 5}, 1.0f, 1.0f, state_row, 2, 1, 2, out);
    assert_true(out[0] == 3.0f && out[1] == 5.0f && state_row[0] == 3.0f && state_row[1] == 5.0f);
}

static double seconds(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define BENCH(what, call)                                                                                              \
    do {                                                                                                               \
        const double t0 = seconds();                                                                                   \
        for (int rep = 0; rep < 2000; rep++)                                                                           \
            call;                                                                                                      \
        printf("%-6s %-10s %7.3f ns/element\n", k->name, what, (seconds() - t0) / 2000.0 / 2048.0 * 1e9);              \
    } while (0)

static void bench(const vec_kernels *k)
{
    static float x[2048], y[2048], out[2048], state[64 * 64];
    fill(x, 2048, 0);
    fill(y, 2048, 0);
    fill(state, 64 * 64, 0);
    volatile float sink;
    BENCH("mul", k->binary[VEC_MUL](x, y, out, 2048, 0, 0));
    BENCH("max", k->binary[VEC_MAX](x, y, out, 2048, 0, 0));
    BENCH("exp", k->unary[VEC_EXP](x, out, 2048));
    BENCH("log", k->unary[VEC_LOG](x, out, 2048));
    BENCH("sin", k->unary[VEC_SIN](x, out, 2048));
    BENCH("tanh", k->unary[VEC_TANH](x, out, 2048));
    BENCH("logistic", k->unary[VEC_LOGISTIC](x, out, 2048));
    BENCH("gated", k->gated(0, x, y, out, 2048));
    BENCH("rms_norm", k->rms_norm(x, y, 1e-6f, out, 2048));
    BENCH("rope", k->rope(x, y, y, out, 2048));
    BENCH("softmax", k->softmax(x, 1.0f, out, 2048));
    BENCH("dot", sink = k->dot(x, y, 2048));
    BENCH("sum", sink = k->sum(x, 2048));
    BENCH("vec_mat/2", k->vec_mat(x, 1, state, 64, 64, out, 64));
    BENCH("delta/2", k->delta_step(x, y, x, 0.01f, 0.9f, state, 64, 64, 64, out));
    (void)sink;
}

int main(int argc, char **argv)
{
    static vec_kernels c, isa;
    const uint32_t seen = cpu_features_seen();
    vec_kernels_init_c(&c);
    c_kernels = &c;
    isa = c;
#if defined(__x86_64__)
    vec_kernels_init_x86(&isa, seen);
#elif defined(__aarch64__)
    vec_kernels_init_arm(&isa, seen);
#endif
    if (strcmp(isa.name, c.name) != 0)
        isa_kernels = &isa;
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        bench(&c);
        if (isa_kernels)
            bench(&isa);
        return 0;
    }
    (void)seen;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_definitions), cmocka_unit_test(test_equal),
                                       cmocka_unit_test(test_equal_dense)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
