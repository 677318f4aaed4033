/* The kernel harness of attention: every instruction set must give the bits that C gives, in whole rows and block by block, and C must agree
 * with attention computed in double over all positions at once. With --bench it prints speeds instead. */
#include "kernels_check.h"

#include "cpu/attention.h"

enum { MAX_BLOCKS = 40 };

/* Keys and values of `positions` positions, each block at the end of readable memory; positions never written are NaN, so that a kernel that
 * reads them shows. */
typedef struct fixture {
    attention_call call;
    check_memory memory[2 * MAX_BLOCKS + 2];
    float *keys[MAX_BLOCKS], *values[MAX_BLOCKS];
    uint32_t n_memory, positions;
} fixture;

static float *take(fixture *t, size_t n)
{
    check_memory *m = &t->memory[t->n_memory++];
    *m = check_alloc(n * sizeof(float));
    for (size_t i = 0; i < n; i++)
        ((float *)m->p)[i] = NAN;
    return m->p;
}

static void setup(fixture *t, attention_shape shape, uint32_t position, uint32_t n, uint32_t seed)
{
    check_rng r = {seed};
    memset(t, 0, sizeof *t);
    t->positions = position + n;
    const uint32_t n_blocks = (t->positions + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK;
    for (uint32_t b = 0; b < n_blocks; b++) {
        t->keys[b] = take(t, (size_t)shape.n_kv_heads * ATTENTION_BLOCK * shape.head_dim);
        t->values[b] = take(t, (size_t)shape.n_kv_heads * ATTENTION_BLOCK * shape.value_dim);
    }
    const size_t n_row =
        (size_t)shape.n_kv_heads * (shape.head_dim > shape.value_dim ? shape.head_dim : shape.value_dim);
    float *row = malloc(n_row * sizeof *row);
    for (uint32_t p = shape.window && position >= shape.window ? position - shape.window + 1 : 0; p < t->positions;
         p++) {
        for (size_t i = 0; i < n_row; i++)
            row[i] = check_uniform(&r) * 3.0f;
        attention_store(t->keys, shape.n_kv_heads, shape.head_dim, p, row);
        for (size_t i = 0; i < n_row; i++)
            row[i] = check_uniform(&r);
        attention_store(t->values, shape.n_kv_heads, shape.value_dim, p, row);
    }
    free(row);
    const size_t heads = (size_t)shape.n_kv_heads * shape.group, q_stride = heads * shape.head_dim + seed % 3;
    float *q = take(t, (n - 1) * q_stride + heads * shape.head_dim);
    for (size_t i = 0; i < (n - 1) * q_stride + heads * shape.head_dim; i++)
        q[i] = check_uniform(&r) * 2.0f;
    t->call = (attention_call){.shape = shape,
                               .key_blocks = t->keys,
                               .value_blocks = t->values,
                               .q = q,
                               .q_stride = q_stride,
                               .out_stride = heads * shape.value_dim + seed % 2,
                               .position = position,
                               .n = n};
    t->call.out = take(t, (n - 1) * t->call.out_stride + heads * shape.value_dim);
}

static void teardown(fixture *t)
{
    for (uint32_t i = 0; i < t->n_memory; i++)
        check_free(&t->memory[i]);
}

static attention_kernels kernels_for(uint32_t features)
{
    attention_kernels k;
    attention_kernels_init_c(&k);
#if defined(__x86_64__)
    attention_kernels_init_x86(&k, features);
#elif defined(__aarch64__)
    attention_kernels_init_arm(&k, features);
#else
    (void)features;
#endif
    return k;
}

static size_t out_floats(const attention_call *c)
{
    return (c->n - 1) * c->out_stride + (size_t)c->shape.n_kv_heads * c->shape.group * c->shape.value_dim;
}

/* All rows, `step` at a time; scratch ends at forbidden memory and starts anywhere. */
static float *run_rows(const fixture *t, const attention_kernels *k, uint32_t step)
{
    attention_call c = t->call;
    c.out = malloc(out_floats(&c) * sizeof(float));
    memset(c.out, 0xff, out_floats(&c) * sizeof(float));
    check_memory scratch = check_alloc(attention_scratch_bytes(&c.shape));
    for (uint32_t kv = 0; kv < c.shape.n_kv_heads; kv++)
        for (uint32_t r = 0; r < c.n; r += step)
            k->rows(&c, kv, r, c.n - r < step ? c.n : r + step, scratch.p);
    check_free(&scratch);
    return c.out;
}

static float *run_blocks(const fixture *t, const attention_kernels *k)
{
    attention_call c = t->call;
    const uint32_t group = c.shape.group;
    const size_t part = 2 + (size_t)c.shape.value_dim;
    c.out = malloc(out_floats(&c) * sizeof(float));
    memset(c.out, 0xff, out_floats(&c) * sizeof(float));
    check_memory scratch = check_alloc(attention_scratch_bytes(&c.shape));
    for (uint32_t row = 0; row < c.n; row++)
        for (uint32_t kv = 0; kv < c.shape.n_kv_heads; kv++) {
            const uint32_t first = attention_first_block(&c.shape, c.position + row),
                           last = (c.position + row) / ATTENTION_BLOCK;
            check_memory parts = check_alloc((last - first + 1) * group * part * sizeof(float));
            for (uint32_t b = last + 1; b-- > first;)
                k->block(&c, kv, row, b, (float *)parts.p + (b - first) * group * part, scratch.p);
            k->join(&c, kv, row, last - first + 1, parts.p);
            check_free(&parts);
        }
    check_free(&scratch);
    return c.out;
}

static void compare(const fixture *t, const char *what, const char *isa, const float *want, float *got)
{
    const attention_call *c = &t->call;
    for (size_t i = 0; i < out_floats(c); i++)
        if (!check_same(got[i], want[i]))
            fail_msg("attention %s on %s: heads %u x %u, dims %u and %u, window %u, cap %g, position %u, n %u: "
                     "out[%zu] is %a, expected %a",
                     what, isa, c->shape.n_kv_heads, c->shape.group, c->shape.head_dim, c->shape.value_dim,
                     c->shape.window, (double)c->shape.soft_cap, c->position, c->n, i, (double)got[i], (double)want[i]);
    free(got);
}

static void check_shape(attention_shape shape, uint32_t position, uint32_t n, uint32_t seed)
{
    uint32_t isas[8];
    const size_t n_isas = check_isas(isas);
    const attention_kernels c = kernels_for(0);
    fixture t;
    setup(&t, shape, position, n, seed);
    float *want = run_rows(&t, &c, n);
    compare(&t, "row by row", "c", want, run_rows(&t, &c, 1));
    compare(&t, "by blocks", "c", want, run_blocks(&t, &c));
    for (size_t i = 0; i < n_isas; i++) {
        const attention_kernels k = kernels_for(isas[i]);
        compare(&t, "rows", check_isa_name(isas[i]), want, run_rows(&t, &k, n));
        compare(&t, "rows, some", check_isa_name(isas[i]), want, run_rows(&t, &k, 1 + seed % 7));
        compare(&t, "by blocks", check_isa_name(isas[i]), want, run_blocks(&t, &k));
    }
    free(want);
    teardown(&t);
}

static void test_dims(void **state)
{
    (void)state;
    for (uint32_t d = 1; d <= 70; d++)
        check_shape((attention_shape){2, 1 + d % 4, d, 1 + d * 7 % 70, d % 3 ? 0 : 20, 0.3f, d % 5 ? 0.0f : 5.0f},
                    d * 3 % 80, 1 + d % 6, d);
    check_shape((attention_shape){1, 4, 256, 256, 512, 0.0625f, 0.0f}, 700, 3, 5);
    check_shape((attention_shape){3, 3, 64, 64, 0, 0.125f, 0.0f}, 190, 5, 6);
    check_shape((attention_shape){1, 1, 80, 128, 0, 0.1f, 30.0f}, 0, 70, 7);
}

static void test_positions(void **state)
{
    (void)state;
    static const uint32_t windows[] = {0, 1, 2, 63, 64, 65, 100, 128};
    uint32_t seed = 0;
    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
        for (uint32_t position = 0; position < 200; position += position < 70 ? 7 : 13)
            check_shape((attention_shape){1, 1 + seed % 11, 16, 16, windows[w], 0.5f, 0.0f}, position,
                        1 + seed * 5 % 12, seed),
                seed++;
    for (uint32_t n = 1; n < 40; n++)
        check_shape((attention_shape){1, 2, 8, 24, n % 2 ? 30 : 0, 0.5f, 0.0f}, 50, n, n);
    check_shape((attention_shape){1, 2, 8, 8, 40, 0.5f, 0.0f}, 20, 150, 3);
}

/* Large scores: exponentials underflow, maxima move from block to block. */
static void test_large_scores(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 12; i++)
        check_shape((attention_shape){1, 3, 32, 32, 0, i % 2 ? 10.0f : 200.0f, i % 3 ? 0.0f : 50.0f}, 60 * i, 5, i);
}

static void test_error(void **state)
{
    (void)state;
    const attention_kernels k = kernels_for(0);
    for (uint32_t i = 0; i < 6; i++) {
        const attention_shape s = {2, 2, 48, 40, i % 2 ? 90 : 0, 0.2f, i % 3 ? 0.0f : 6.0f};
        fixture t;
        setup(&t, s, 60 * i, 4, i);
        float *out = run_rows(&t, &k, 4);
        for (uint32_t row = 0; row < 4; row++)
            for (uint32_t h = 0; h < 4; h++) {
                const uint32_t last = t.call.position + row,
                               first = s.window && last >= s.window ? last - s.window + 1 : 0;
                double sum = 0, o[40] = {0};
                for (uint32_t p = first; p <= last; p++) {
                    const float *key = t.keys[p / 64] + (h / 2 * 64 + p % 64) * 48,
                                *v = t.values[p / 64] + (h / 2 * 64 + p % 64) * 40;
                    const float *q = t.call.q + row * t.call.q_stride + h * 48;
                    double score = 0;
                    for (int d = 0; d < 48; d++)
                        score += (double)q[d] * (double)key[d];
                    score *= (double)s.scale;
                    score = s.soft_cap != 0.0f ? tanh(score / (double)s.soft_cap) * (double)s.soft_cap : score;
                    sum += exp(score);
                    for (int d = 0; d < 40; d++)
                        o[d] += exp(score) * (double)v[d];
                }
                for (int d = 0; d < 40; d++)
                    assert_true(fabs(o[d] / sum - (double)out[row * t.call.out_stride + h * 40 + (uint32_t)d]) < 4e-6);
            }
        free(out);
        teardown(&t);
    }
}

static void bench_one(uint32_t features, attention_shape s, uint32_t position, uint32_t n)
{
    fixture t;
    setup(&t, s, position, n, 2);
    const attention_kernels k = kernels_for(features);
    void *scratch = malloc(attention_scratch_bytes(&s));
    double best = 1e9;
    const double until = check_seconds() + 0.3;
    do {
        const double start = check_seconds();
        for (uint32_t kv = 0; kv < s.n_kv_heads; kv++)
            k.rows(&t.call, kv, 0, n, scratch);
        const double took = check_seconds() - start;
        best = took < best ? took : best;
    } while (check_seconds() < until);
    double positions = 0;
    for (uint32_t r = 0; r < n; r++)
        positions += s.window && position + r >= s.window ? s.window : position + r + 1;
    const double macs = positions * s.n_kv_heads * s.group * (s.head_dim + s.value_dim);
    printf("attention %-8s heads %u x %u dim %3u window %4u position %4u n %4u %8.1f GMAC/s %7.1f GB/s\n", k.name,
           s.n_kv_heads, s.group, s.head_dim, s.window, position, n, 1e-9 * macs / best, 4e-9 * macs / s.group / best);
    fflush(stdout);
    free(scratch);
    teardown(&t);
}

static int bench(void)
{
    uint32_t isas[8];
    const size_t n_isas = check_isas(isas);
    const attention_shape gemma = {1, 4, 256, 256, 512, 0.0625f, 0.0f}, smol = {3, 3, 64, 64, 0, 0.125f, 0.0f};
    for (size_t i = 0; i < n_isas; i++) {
        if (i && strcmp(kernels_for(isas[i]).name, kernels_for(isas[i - 1]).name) == 0)
            continue;
        bench_one(isas[i], gemma, 1000, 1);
        bench_one(isas[i], smol, 1000, 1);
        bench_one(isas[i], gemma, 0, 1024);
        bench_one(isas[i], smol, 0, 1024);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--bench") == 0)
        return bench();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_dims),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_large_scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
