#include "toys/weights.h"

#include <string.h>

static uint64_t next_u64(toy_random *r)
{
    uint64_t z = r->state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

float toy_normal(toy_random *r, float deviation)
{
    uint64_t sum = 0; /* of twelve numbers below 2^32: deviation 2^32 */
    for (int i = 0; i < 12; i++) {
        sum += next_u64(r) >> 32;
    }
    double centred = (double)(int64_t)(sum - 6 * (UINT64_C(1) << 32));
    return (float)(centred / 4294967296.0) * deviation;
}

float *toy_normals(toy_random *r, arena *a, size_t n, float mean, float deviation)
{
    float *v = toy_alloc(a, n, sizeof *v);
    for (size_t i = 0; i < n; i++) {
        v[i] = mean + toy_normal(r, deviation);
    }
    return v;
}

/* float to half, nearest even; the toys' values are all in the normal range or small. */
static uint16_t to_half(float f)
{
    uint32_t x;
    memcpy(&x, &f, sizeof x);
    uint32_t sign = x >> 16 & 0x8000, mantissa = x & 0x7FFFFF;
    int32_t e = (int32_t)(x >> 23 & 255) - 112;
    if (e <= 0) {
        if (e < -10) {
            return (uint16_t)sign;
        }
        mantissa |= 0x800000;
        uint32_t shift = (uint32_t)(14 - e), half = 1u << (shift - 1), rest = mantissa & ((1u << shift) - 1);
        uint32_t m = mantissa >> shift;
        m += rest > half || (rest == half && (m & 1));
        return (uint16_t)(sign | m);
    }
    uint32_t h = sign | (uint32_t)e << 10 | mantissa >> 13, rest = mantissa & 0x1FFF;
    return (uint16_t)(h + (rest > 0x1000 || (rest == 0x1000 && (h & 1))));
}

static float from_half(uint16_t h) /* normal numbers only: scales */
{
    uint32_t x = (uint32_t)(h & 0x8000) << 16 | ((uint32_t)(h & 0x7FFF) + (112u << 10)) << 13;
    float f;
    memcpy(&f, &x, sizeof f);
    return f;
}

static float largest(const float *v, int32_t n)
{
    float m = 0;
    for (int32_t i = 0; i < n; i++) {
        float a = v[i] < 0 ? -v[i] : v[i];
        m = a > m ? a : m;
    }
    return m;
}

static int32_t quantised(float v, float scale, int32_t limit)
{
    float q = v / scale;
    int32_t i = (int32_t)(q < 0 ? q - 0.5f : q + 0.5f);
    return i > limit ? limit : i < -limit ? -limit : i;
}

static void put_int4(uint8_t *data, size_t i, int32_t q)
{
    data[i / 2] = (uint8_t)(data[i / 2] | (uint32_t)(q & 15) << (i % 2 ? 4 : 0));
}

static void store_halves(toy_weight *w, arena *a, const float *v, size_t n)
{
    uint16_t *h = toy_alloc(a, n, sizeof *h);
    for (size_t i = 0; i < n; i++) {
        h[i] = to_half(v[i]);
    }
    w->data = h;
    w->bytes = n * 2;
}

/* One scale a row; int8 or int4. */
static void store_rows(toy_weight *w, arena *a, const float *v, bool four)
{
    float *scales = toy_alloc(a, (size_t)w->rows, sizeof *scales);
    size_t n = (size_t)w->rows * (size_t)w->cols;
    uint8_t *data = toy_alloc(a, n, 1);
    int32_t limit = four ? 7 : 127;
    for (int32_t r = 0; r < w->rows; r++) {
        scales[r] = largest(v + r * w->cols, w->cols) / (float)limit;
        for (int32_t c = 0; c < w->cols; c++) {
            size_t i = (size_t)(r * w->cols + c);
            int32_t q = quantised(v[i], scales[r], limit);
            if (four) {
                put_int4(data, i, q);
            } else {
                data[i] = (uint8_t)(int8_t)q;
            }
        }
    }
    w->scales = scales;
    w->data = data;
    w->bytes = four ? n / 2 : n;
}

static void store_blocks(toy_weight *w, arena *a, const float *v)
{
    size_t n = (size_t)w->rows * (size_t)w->cols;
    uint16_t *scales = toy_alloc(a, n / 32, sizeof *scales);
    uint8_t *data = toy_alloc(a, n / 2, 1);
    for (size_t b = 0; b < n / 32; b++) {
        /* A bfloat16's mantissa, as the converter writes scales: the reference rounds others to it. */
        scales[b] = (uint16_t)((to_half(largest(v + 32 * b, 32) / 7.0f) + 4u) & ~7u);
        for (size_t i = 32 * b; i < 32 * b + 32; i++) {
            put_int4(data, i, quantised(v[i], from_half(scales[b]), 7));
        }
    }
    w->block_scales = scales;
    w->data = data;
    w->bytes = n / 2;
}

toy_weight *toy_new_weight(toy_random *r, arena *a, toy_kind kind, int32_t rows, int32_t cols, float deviation)
{
    toy_weight *w = toy_alloc(a, 1, sizeof *w);
    size_t n = (size_t)rows * (size_t)cols;
    float *v = toy_normals(r, a, n, 0.0f, deviation);
    *w = (toy_weight){.rows = rows, .cols = cols, .kind = kind, .data = v, .bytes = n * 4};
    switch (kind) {
    case KIND_FP32:
        break;
    case KIND_FP16:
        store_halves(w, a, v, n);
        break;
    case KIND_WO8:
    case KIND_INT8:
        store_rows(w, a, v, false);
        break;
    case KIND_INT4C:
        store_rows(w, a, v, true);
        break;
    case KIND_INT4B32:
        store_blocks(w, a, v);
        break;
    }
    return w;
}

typedef struct toy_use {
    const toy_weight *weight;
    int32_t tensor;
    struct toy_use *next;
} toy_use;

static tflite_tensor stored(const toy_weight *w)
{
    static const uint32_t types[] = {
        [KIND_FP32] = TFLITE_FLOAT32, [KIND_FP16] = TFLITE_FLOAT16, [KIND_WO8] = TFLITE_INT8,
        [KIND_INT8] = TFLITE_INT8,    [KIND_INT4C] = TFLITE_INT4,   [KIND_INT4B32] = TFLITE_INT4};
    return (tflite_tensor){.type = types[w->kind],
                           .rank = 2,
                           .dims = {w->rows, w->cols},
                           .data = {w->data, w->bytes},
                           .n_scales = w->scales ? (uint32_t)w->rows : 0,
                           .scales = w->scales,
                           .block_zero_points_tensor = -1};
}

int32_t toy_use_weight(toy_graph *g, const toy_weight *w)
{
    for (const toy_use *u = g->uses; u; u = u->next) {
        if (u->weight == w) {
            return u->tensor;
        }
    }
    tflite_tensor t = stored(w);
    if (w->block_scales) {
        tflite_tensor s = {.type = TFLITE_FLOAT16,
                           .rank = 2,
                           .dims = {w->rows, w->cols / 32},
                           .data = {(const uint8_t *)w->block_scales, (size_t)w->rows * (size_t)w->cols / 16},
                           .block_zero_points_tensor = -1};
        t.block_scales_tensor = (uint32_t)toy_tensor(g, s);
        t.block_size = 32;
    }
    int32_t tensor = toy_tensor(g, t);
    if (w->kind == KIND_FP16 || w->kind == KIND_WO8) {
        tensor = toy_op(g, OP_DEQUANTIZE, TFLITE_FLOAT32, SHAPE(w->rows, w->cols), &tensor, 1);
    }
    toy_use *u = toy_alloc(g->arena, 1, sizeof *u);
    *u = (toy_use){w, tensor, g->uses};
    g->uses = u;
    return tensor;
}

int32_t toy_linear(toy_graph *g, int32_t x, const toy_weight *w, int32_t bias)
{
    enum { OPT_FULLY_CONNECTED = 8, KEEP_NUM_DIMS = 2 };
    toy_shape s = toy_shape_of(g, x);
    s.d[s.rank - 1] = w->rows;
    int32_t in[] = {x, toy_use_weight(g, w), bias};
    tflite_source_field keep = {KEEP_NUM_DIMS, 'b', 1, NULL, 0};
    return toy_op_with(g, OP_FULLY_CONNECTED, TFLITE_FLOAT32, s, in, 3, OPT_FULLY_CONNECTED, &keep, 1);
}
