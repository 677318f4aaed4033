/* The kernel harness of linear layers: every kind on every instruction set that this machine has must give the bits that C gives, and C the
 * numbers that docs/numerics.md allows. With --bench it prints speeds instead. */
#include "kernels_check.h"

#include "base/thread.h"
#include "cpu/f16.h"
#include "cpu/linear.h"

typedef enum fill { FILL_PLAIN, FILL_EXTREME, FILL_TINY, FILL_NOT_FINITE, FILL_COUNT } fill;

/* One linear layer with activations, all in memory that ends where it ends. */
typedef struct fixture {
    linear_weights w;
    linear_input in;
    check_memory weights, scales, bias, x, q;
    linear_qrow *qrows;
} fixture;

static float weight_value(check_rng *r, fill f)
{
    const uint32_t dice = check_random(r) % 16;
    if (f == FILL_EXTREME)
        return dice < 4 ? 0.0f : dice < 8 ? 65504.0f : dice < 12 ? -65504.0f : -0.0f;
    if (f == FILL_TINY)
        return check_uniform(r) * 0x1p-20f;
    return f == FILL_NOT_FINITE && check_random(r) % 256 == 0 ? INFINITY : check_uniform(r);
}

/* The half-precision number nearest towards zero, for normal values and zero. */
static uint16_t to_half(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000u, exponent = bits >> 23 & 255u;
    if (exponent < 103)
        return (uint16_t)sign;
    if (exponent < 113) /* subnormal */
        return (uint16_t)(sign | ((bits & 0x7fffffu) | 0x800000u) >> (126 - exponent));
    return (uint16_t)(sign | (exponent > 142 ? 0x7c00u : (exponent - 112) << 10 | (bits >> 13 & 0x3ffu)));
}

static void fill_weights(linear_weights *w, void *p, check_rng *r, fill f)
{
    unsigned char *bytes = p;
    const size_t total = (size_t)w->n * w->row_bytes;
    for (size_t i = 0; w->kind == LINEAR_F32 && i < total / 4; i++) {
        const float v = weight_value(r, f);
        memcpy(bytes + 4 * i, &v, 4);
    }
    for (size_t i = 0; w->kind == LINEAR_F16 && i < total / 2; i++) {
        const uint16_t v = to_half(weight_value(r, f));
        memcpy(bytes + 2 * i, &v, 2);
    }
    for (size_t i = 0; w->kind != LINEAR_F32 && w->kind != LINEAR_F16 && i < total; i++) {
        const uint32_t dice = check_random(r);
        if (f == FILL_EXTREME)
            bytes[i] = (unsigned char[]){0x80, 0x7f, 0x81, 0x88}[dice % 4];
        else
            bytes[i] = (unsigned char)(w->kind == LINEAR_WO8 || w->kind == LINEAR_QC8 ? (int)(dice % 255) - 127
                                                                                      : (int)(dice & 255));
    }
}

static float activation(check_rng *r, fill f, uint32_t row)
{
    const uint32_t dice = check_random(r) % 64;
    switch (f) {
    case FILL_EXTREME:
        return row % 3 == 0 ? 1.0f + check_uniform(r) : dice < 20 ? 3.0e4f : dice < 40 ? -3.0e4f : 0.0f;
    case FILL_TINY:
        return row % 4 == 0 ? 0.0f
                            : check_uniform(r) * (row % 4 == 1   ? 0x1p-126f
                                                  : row % 4 == 2 ? 0x1p-140f
                                                                 : 0x1p-60f);
    case FILL_NOT_FINITE:
        return row % 2 && dice == 0 ? NAN : row % 4 == 2 && dice == 1 ? -INFINITY : check_uniform(r);
    default:
        return check_uniform(r) * (row % 2 ? 4.0f : 0.3f) + (row % 5 == 4 ? 5.0f : 0.0f);
    }
}

static void setup(fixture *t, linear_kind kind, uint32_t m, uint32_t n, uint32_t k, fill f, uint32_t seed)
{
    check_rng r = {seed * 977u + k};
    const bool int4 = kind == LINEAR_WO4 || kind == LINEAR_QC4 || kind == LINEAR_QB4;
    memset(t, 0, sizeof *t);
    t->w = (linear_weights){.kind = kind, .n = n, .k = k};
    t->w.row_bytes = kind == LINEAR_F32 ? 4 * (size_t)k : kind == LINEAR_F16 ? 2 * (size_t)k : int4 ? k / 2 : k;
    t->weights = check_alloc(n * t->w.row_bytes);
    t->w.w = t->weights.p;
    fill_weights(&t->w, t->weights.p, &r, f);
    if (kind == LINEAR_QB4) {
        t->w.block = seed % 2 && k % 64 == 0 ? 64 : 32;
        const size_t n_scales = (size_t)n * (k / t->w.block);
        t->scales = check_alloc(n_scales * 2);
        t->w.block_scales = t->scales.p;
        for (size_t i = 0; i < n_scales; i++)
            ((uint16_t *)t->scales.p)[i] = to_half((check_uniform(&r) + 1.5f) * 0.01f);
    } else if (kind != LINEAR_F32 && kind != LINEAR_F16) {
        t->w.n_scales = seed % 3 == 1 ? 1 : n;
        t->scales = check_alloc(t->w.n_scales * sizeof(float));
        t->w.scales = seed % 7 == 6 ? NULL : t->scales.p;
        for (uint32_t i = 0; i < t->w.n_scales; i++)
            ((float *)t->scales.p)[i] = (check_uniform(&r) + 1.5f) * 0.01f;
    }
    if (seed % 2) {
        t->bias = check_alloc(n * sizeof(float));
        for (uint32_t i = 0; i < n; i++)
            ((float *)t->bias.p)[i] = check_uniform(&r);
        t->w.bias = t->bias.p;
    }
    const size_t stride = k + seed % 2 * 3;
    t->x = check_alloc(((m - 1) * stride + k) * sizeof(float));
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < k; j++)
            ((float *)t->x.p)[i * stride + j] = activation(&r, f, i);
    t->in = (linear_input){.m = m, .x = t->x.p, .x_stride = stride};
    assert_true(linear_weights_init(&t->w));
}

static void quantize(fixture *t, const linear_kernels *k)
{
    const size_t stride = linear_q_stride(t->w.k);
    t->q = check_alloc(t->in.m * stride);
    t->qrows = calloc(t->in.m, sizeof *t->qrows);
    for (uint32_t i = 0; i < t->in.m; i++)
        k->quantize_row(t->in.x + i * t->in.x_stride, t->w.k, (int8_t *)t->q.p + i * stride, &t->qrows[i]);
    t->in.q = t->q.p;
    t->in.q_stride = stride;
    t->in.qrows = t->qrows;
}

static void teardown(fixture *t)
{
    linear_weights_fini(&t->w);
    check_memory *all[] = {&t->weights, &t->scales, &t->bias, &t->x, &t->q};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->map)
            check_free(all[i]);
    free(t->qrows);
}

static linear_kernels kernels_for(uint32_t features)
{
    linear_kernels k;
    linear_kernels_init_c(&k);
#if defined(__x86_64__)
    linear_kernels_init_x86(&k, features);
#elif defined(__aarch64__)
    linear_kernels_init_arm(&k, features);
#else
    (void)features;
#endif
    return k;
}

/* Rows n0 .. n1-1 for the first m tokens must equal `want`, and nothing else may be written. */
static void compare(fixture *t, const linear_kernels *k, uint32_t features, uint32_t m, uint32_t n0, uint32_t n1,
                    const float *want)
{
    const uint32_t n = t->w.n;
    linear_input in = t->in;
    in.m = m;
    float *got = malloc((size_t)m * n * sizeof *got);
    for (size_t i = 0; i < (size_t)m * n; i++)
        got[i] = -12345.0f;
    for (size_t i = 0; t->w.chunk_state && i < (n + LINEAR_SUM_CHUNK - 1) / LINEAR_SUM_CHUNK; i++)
        atomic_store(&t->w.chunk_state[i], 0);
    k->run[t->w.kind](&t->w, &in, got, n, n0, n1);
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < n; j++) {
            const float expected = j >= n0 && j < n1 ? want[(size_t)i * n + j] : -12345.0f;
            if (!check_same(got[(size_t)i * n + j], expected))
                fail_msg("%s on %s: m %u n %u k %u, rows %u to %u: y[%u][%u] is %a, expected %a",
                         linear_kind_name(t->w.kind), check_isa_name(features), m, n, t->w.k, n0, n1, i, j,
                         (double)got[(size_t)i * n + j], (double)expected);
        }
    free(got);
}

/* One shape on all instruction sets: an output depends neither on m nor on the range of rows, so C runs once for many calls. */
static void check_shape(linear_kind kind, uint32_t m, uint32_t n, uint32_t k, fill f, uint32_t seed)
{
    static const uint32_t ms[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 33};
    uint32_t isas[8];
    const size_t n_isas = check_isas(isas);
    const linear_kernels c = kernels_for(0);
    fixture t;
    setup(&t, kind, m, n, k, f, seed);
    quantize(&t, &c);
    float *want = malloc((size_t)m * n * sizeof *want);
    c.run[kind](&t.w, &t.in, want, n, 0, n);
    for (size_t i = 0; i < n_isas; i++) {
        const linear_kernels simd = kernels_for(isas[i]);
        for (size_t j = 0; j < sizeof ms / sizeof *ms && ms[j] <= m; j++)
            compare(&t, &simd, isas[i], ms[j], 0, n, want);
        compare(&t, &simd, isas[i], m, 0, n, want);
        if (n > LINEAR_SUM_CHUNK) {
            compare(&t, &simd, isas[i], m < 3 ? m : 3, LINEAR_SUM_CHUNK, n, want);
            compare(&t, &simd, isas[i], m, 0, LINEAR_SUM_CHUNK, want);
        }
    }
    free(want);
    teardown(&t);
}

static bool legal(linear_kind kind, uint32_t k)
{
    return kind == LINEAR_QB4 ? k % 32 == 0 : kind == LINEAR_WO4 || kind == LINEAR_QC4 ? k % 2 == 0 : true;
}

static void check_kind(linear_kind kind)
{
    static const uint32_t large[] = {320, 416, 1024, 4096, 4160, 5002};
    uint32_t seed = 0;
    for (uint32_t k = 1; k <= 200; k += k < 70 ? 1 : 7)
        if (legal(kind, k))
            check_shape(kind, 1 + seed % 17, 1 + seed * 5 % 70, k, (fill)(seed % FILL_COUNT), seed + 1), seed++;
    for (uint32_t k = 32; k <= 224; k += 32)
        check_shape(kind, 33, 130, k, (fill)(k / 32 % FILL_COUNT), k + seed);
    for (uint32_t n = 1; n <= 70; n++)
        check_shape(kind, 5, n, 64, (fill)(n % FILL_COUNT), n);
    for (uint32_t f = 0; f < FILL_COUNT; f++)
        check_shape(kind, 16, 67, 192, (fill)f, f + 20);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        if (legal(kind, large[i]))
            check_shape(kind, 33, large[i] > 2000 ? 6 : 66, large[i], i % 2 ? FILL_EXTREME : FILL_PLAIN,
                        (uint32_t)i + 6);
}

static void test_f32(void **state)
{
    (void)state;
    check_kind(LINEAR_F32);
}
static void test_f16(void **state)
{
    (void)state;
    check_kind(LINEAR_F16);
}
static void test_wo8(void **state)
{
    (void)state;
    check_kind(LINEAR_WO8);
}
static void test_wo4(void **state)
{
    (void)state;
    check_kind(LINEAR_WO4);
}
static void test_qc8(void **state)
{
    (void)state;
    check_kind(LINEAR_QC8);
}
static void test_qc4(void **state)
{
    (void)state;
    check_kind(LINEAR_QC4);
}
static void test_qb4(void **state)
{
    (void)state;
    check_kind(LINEAR_QB4);
}

/* The largest sums that fit: every product of the largest k has the same sign and size. */
static void check_largest(linear_kind kind, int weight, unsigned char byte)
{
    uint32_t isas[8];
    const size_t n_isas = check_isas(isas);
    fixture t;
    setup(&t, kind, 4, 5, LINEAR_MAX_K, FILL_PLAIN, 3);
    memset(t.weights.p, byte, t.w.n * t.w.row_bytes);
    for (uint32_t i = 0; i < t.w.k; i++) {
        ((float *)t.x.p)[i] = 1.0f;                  /* q - zp = 255 everywhere */
        ((float *)t.x.p)[t.in.x_stride + i] = -1.0f; /* -255 */
    }
    const linear_kernels c = kernels_for(0);
    quantize(&t, &c);
    float want[20];
    c.run[kind](&t.w, &t.in, want, 5, 0, 5);
    const float sum = (float)(255.0 * weight * LINEAR_MAX_K) * t.qrows[0].scale;
    if (kind != LINEAR_QB4) {
        assert_true(check_same(want[0], sum * t.w.scales[0] + t.w.bias[0]));
        assert_true(check_same(want[5], -sum * t.w.scales[0] + t.w.bias[0]));
    }
    for (size_t i = 0; i < n_isas; i++) {
        const linear_kernels simd = kernels_for(isas[i]);
        compare(&t, &simd, isas[i], 4, 0, 5, want);
    }
    teardown(&t);
}

static void test_largest_k(void **state)
{
    (void)state;
    check_largest(LINEAR_QC8, -128, 0x80);
    check_largest(LINEAR_QC8, 127, 0x7f);
    check_largest(LINEAR_QC8, -127, 0x81);
    check_largest(LINEAR_QC4, 7, 0x77);
    check_largest(LINEAR_QC4, -8, 0x88);
    check_largest(LINEAR_QB4, 7, 0x77);
    linear_weights too_long = {.kind = LINEAR_QC4, .n = 1, .k = LINEAR_MAX_K + 2};
    assert_false(linear_weights_init(&too_long));
}

static double weight_at(const linear_weights *w, uint32_t row, uint32_t i)
{
    const unsigned char *p = (const unsigned char *)w->w + row * w->row_bytes;
    float v;
    switch (w->kind) {
    case LINEAR_F32:
        memcpy(&v, p + 4 * i, 4);
        return v;
    case LINEAR_F16:
        return f16_load(p + 2 * i);
    case LINEAR_WO8:
    case LINEAR_QC8:
        return ((const int8_t *)p)[i];
    default: {
        const int nibble = i % 2 ? p[i / 2] >> 4 : p[i / 2] & 15;
        return nibble < 8 ? nibble : nibble - 16;
    }
    }
}

/* C against sums in double: at most 2e-6 of the sum of the products' sizes. */
static void test_error(void **state)
{
    (void)state;
    static const uint32_t ks[] = {32, 96, 640, 2048, 4096};
    const linear_kernels c = kernels_for(0);
    for (uint32_t kind = 0; kind < LINEAR_KIND_COUNT; kind++)
        for (size_t s = 0; s < 2 * sizeof ks / sizeof *ks; s++) {
            fixture t;
            setup(&t, (linear_kind)kind, 5, 3, ks[s / 2], FILL_PLAIN, (uint32_t)(2 * s));
            quantize(&t, &c);
            float y[15];
            c.run[kind](&t.w, &t.in, y, 3, 0, 3);
            for (uint32_t i = 0; i < 15; i++) {
                const uint32_t row = i / 3, col = i % 3;
                double sum = 0, size = 0;
                for (uint32_t j = 0; j < t.w.k; j++) {
                    double a = (double)t.in.x[row * t.in.x_stride + j], b = weight_at(&t.w, col, j);
                    if (linear_is_dynamic((linear_kind)kind))
                        a = (double)t.qrows[row].scale * (t.in.q[row * t.in.q_stride + j] - t.qrows[row].zero_point);
                    if (t.w.block_scales)
                        b *= (double)f16_load_scale(&t.w.block_scales[col * (t.w.k / t.w.block) + j / t.w.block]);
                    if (t.w.scales)
                        b *= (double)t.w.scales[t.w.n_scales == 1 ? 0 : col];
                    sum += a * b;
                    size += fabs(a * b);
                }
                if (!(fabs(sum - (double)y[i]) <= 2e-6 * size))
                    fail_msg("%s k %u: %g is off by %g of %g", linear_kind_name((linear_kind)kind), t.w.k, (double)y[i],
                             fabs(sum - (double)y[i]), size);
            }
            teardown(&t);
        }
}

static void test_quantize(void **state)
{
    (void)state;
    uint32_t isas[8];
    const size_t n_isas = check_isas(isas);
    const linear_kernels c = kernels_for(0);
    for (uint32_t k = 1; k < 300; k++) {
        fixture t;
        setup(&t, LINEAR_F32, 8, 1, k, (fill)(k % FILL_COUNT), k);
        quantize(&t, &c);
        for (size_t i = 0; i < n_isas; i++) {
            const linear_kernels simd = kernels_for(isas[i]);
            check_memory q = check_alloc(linear_q_stride(k));
            for (uint32_t row = 0; row < 8; row++) {
                linear_qrow got;
                memset(q.p, 0x55, linear_q_stride(k));
                simd.quantize_row(t.in.x + row * t.in.x_stride, k, q.p, &got);
                if (!check_same(got.scale, t.qrows[row].scale) || got.zero_point != t.qrows[row].zero_point ||
                    got.sum != t.qrows[row].sum || memcmp(q.p, t.in.q + row * t.in.q_stride, linear_q_stride(k)) != 0)
                    fail_msg("quantize_row on %s: k %u, row %u of fill %u", check_isa_name(isas[i]), k, row,
                             k % FILL_COUNT);
            }
            check_free(&q);
        }
        teardown(&t);
    }
}

/* The rule on numbers whose result is known. */
static void test_quantize_rule(void **state)
{
    (void)state;
    const linear_kernels c = kernels_for(0);
    int8_t q[64];
    linear_qrow row;
    c.quantize_row((const float[]){-1.0f, 0.0f, 1.55f, 0.005f, 0.015f}, 5, q, &row);
    assert_true(row.scale == 2.55f / 255.0f);
    assert_int_equal(row.zero_point, -28);
    assert_int_equal(q[0], -128);
    assert_int_equal(q[1], -28);
    assert_int_equal(q[2], 127);
    assert_int_equal(q[5], 0);
    c.quantize_row((const float[]){0.0f, 254.5f, 255.0f, 2.5f, 3.5f}, 5, q, &row); /* ties go to even */
    assert_int_equal(row.zero_point, -128);
    assert_int_equal(q[1], 126);
    assert_int_equal(q[3], -126);
    assert_int_equal(q[4], -124);
    assert_int_equal(row.sum, -128 + 126 + 127 - 126 - 124);
    c.quantize_row((const float[]){0.0f, -0.0f}, 2, q, &row);
    assert_true(row.scale == 1.0f && row.zero_point == 0 && q[0] == 0 && row.sum == 0);
    c.quantize_row((const float[]){0.0f, NAN}, 2, q, &row);
    assert_true(row.scale != row.scale && q[1] == 0);
    c.quantize_row((const float[]){3.0e38f, -3.0e38f}, 2, q, &row);
    assert_true(row.scale != row.scale);
}

static void test_embedding(void **state)
{
    (void)state;
    uint32_t isas[8];
    const size_t n_isas = check_isas(isas);
    const linear_kernels c = kernels_for(0);
    for (uint32_t kind = 0; kind < LINEAR_KIND_COUNT; kind++)
        for (uint32_t k = 1; k < 140; k++) {
            if (!legal((linear_kind)kind, k))
                continue;
            fixture t;
            setup(&t, (linear_kind)kind, 1, 3, k, (fill)(k % FILL_COUNT), k);
            float want[140];
            for (uint32_t id = 0; id < 3; id++) {
                c.embedding_row(&t.w, id, want);
                double scale = t.w.scales ? (double)t.w.scales[t.w.n_scales == 1 ? 0 : id] : 1.0;
                if (t.w.block_scales)
                    scale = (double)f16_to_float(t.w.block_scales[(id + 1) * (k / t.w.block) - 1]);
                assert_true(check_same(want[k - 1], (float)(weight_at(&t.w, id, k - 1) * scale)));
                for (size_t i = 0; i < n_isas; i++) {
                    check_memory out = check_alloc(k * sizeof(float));
                    kernels_for(isas[i]).embedding_row(&t.w, id, out.p);
                    for (uint32_t j = 0; j < k; j++)
                        if (!check_same(((float *)out.p)[j], want[j]))
                            fail_msg("embedding %s on %s: k %u, row %u, element %u",
                                     linear_kind_name((linear_kind)kind), check_isa_name(isas[i]), k, id, j);
                    check_free(&out);
                }
            }
            teardown(&t);
        }
}

static void test_f16_values(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        const int exponent = (int)(h >> 10 & 31u);
        const double fraction = h & 1023u;
        double value = exponent == 31 ? (h & 1023u ? NAN : INFINITY)
                       : exponent     ? ldexp(1024.0 + fraction, exponent - 25)
                                      : ldexp(fraction, -24);
        value = h & 0x8000u ? -value : value;
        assert_true(check_same(f16_to_float((uint16_t)h), (float)value));
        if (value == value && fabs(value) <= 65504.0)
            assert_int_equal(to_half((float)value), h);
    }
}

typedef struct race {
    fixture t;
    linear_kernels k;
    float y[4][200];
} race;

static void race_job(void *user, uint32_t thread, uint32_t n_threads)
{
    (void)n_threads;
    race *r = user;
    r->k.run[LINEAR_QC8](&r->t.w, &r->t.in, r->y[thread], 200, 0, 200);
}

/* Four threads use the same fresh rows: all see whole sums. ThreadSanitizer runs this too. */
static void test_first_use_race(void **state)
{
    (void)state;
    lithe_error err = {0};
    thread_pool *pool;
    assert_int_equal(thread_pool_create(&pool, 4, &err), LITHE_OK);
    for (uint32_t i = 0; i < 40; i++) {
        race *r = calloc(1, sizeof *r);
        r->k = kernels_for(i % 2 ? cpu_features_seen() : 0);
        setup(&r->t, LINEAR_QC8, 1, 200, 128, FILL_PLAIN, 2 * i);
        quantize(&r->t, &r->k);
        thread_pool_run(pool, race_job, r);
        for (int j = 1; j < 4; j++)
            assert_memory_equal(r->y[0], r->y[j], sizeof r->y[0]);
        teardown(&r->t);
        free(r);
    }
    thread_pool_destroy(pool);
}

typedef struct bench_shape {
    const char *what;
    uint32_t m, n, k;
} bench_shape;

static void bench_one(linear_kind kind, uint32_t features, const bench_shape *s)
{
    fixture t;
    setup(&t, kind, s->m, s->n, s->k, FILL_PLAIN, 2);
    const linear_kernels k = kernels_for(features);
    quantize(&t, &k);
    float *y = malloc((size_t)s->m * s->n * sizeof *y);
    double best = 1e9;
    const double until = check_seconds() + 0.3;
    int runs = 0;
    do {
        const double start = check_seconds();
        k.run[kind](&t.w, &t.in, y, s->n, 0, s->n);
        const double took = check_seconds() - start;
        best = took < best ? took : best;
    } while (++runs < 3 || check_seconds() < until);
    const double macs = (double)s->m * s->n * s->k;
    printf("%-4s %-8s %-8s m %4u n %6u k %4u %8.1f GMAC/s %7.1f GB/s\n", linear_kind_name(kind), k.name[kind], s->what,
           s->m, s->n, s->k, 1e-9 * macs / best, 1e-9 * (double)s->n * (double)t.w.row_bytes / best);
    fflush(stdout);
    free(y);
    teardown(&t);
}

static int bench(const char *only)
{
    static const bench_shape shapes[] = {
        {"decode", 1, 262144 / 4, 640}, {"decode", 1, 2048, 640},    {"decode", 1, 576, 1536},
        {"prefill", 256, 2048, 640},    {"prefill", 256, 640, 2048}, {"prefill", 256, 576, 1536},
        {"short", 16, 2048, 640},
    };
    uint32_t isas[8];
    const size_t n_isas = check_isas(isas);
    for (uint32_t kind = 0; kind < LINEAR_KIND_COUNT; kind++)
        for (size_t i = 0; i < n_isas && (!only || strcmp(only, linear_kind_name((linear_kind)kind)) == 0); i++) {
            if (i && strcmp(kernels_for(isas[i]).name[kind], kernels_for(isas[i - 1]).name[kind]) == 0)
                continue;
            for (size_t j = 0; j < sizeof shapes / sizeof *shapes; j++)
                bench_one((linear_kind)kind, isas[i], &shapes[j]);
        }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--bench") == 0)
        return bench(argc > 2 ? argv[2] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f16_values), cmocka_unit_test(test_quantize_rule),
        cmocka_unit_test(test_quantize),   cmocka_unit_test(test_embedding),
        cmocka_unit_test(test_error),      cmocka_unit_test(test_largest_k),
        cmocka_unit_test(test_f32),        cmocka_unit_test(test_f16),
        cmocka_unit_test(test_wo8),        cmocka_unit_test(test_wo4),
        cmocka_unit_test(test_qc8),        cmocka_unit_test(test_qc4),
        cmocka_unit_test(test_qb4),        cmocka_unit_test(test_first_use_race),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
