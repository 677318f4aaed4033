/* Attention on NEON, one query at a time: four keys together while scores are made, strips of 32 values in registers while they are
 * added up. A part is { m, l, o[value_dim] }. */
#include "cpu/arm/attention_arm.h"
#include "cpu/arm/lanes_neon.h"
#include "cpu/arm/mathf_neon.h"
#include "cpu/c/attention_c.h"

#if defined(__GNUC__)
#define ATT_INLINE static inline __attribute__((always_inline))
#else
#define ATT_INLINE static inline
#endif

enum { PART_MAX, PART_SUM, PART_VALUES };
enum { KEYS = 4, STRIP = 32 };

/* q . k for n keys. */
ATT_INLINE void score_keys(const float *q, const float *keys, uint32_t dim, uint32_t n, float *out)
{
    lanes acc[KEYS];
    for (uint32_t j = 0; j < n; j++)
        acc[j] = lanes_zero();
    uint32_t d = 0;
    for (; d + 16 <= dim; d += 16) {
        const lanes v = lanes_load(q + d);
        for (uint32_t j = 0; j < n; j++)
            acc[j] = lanes_fma(v, lanes_load(keys + (size_t)j * dim + d), acc[j]);
    }
    if (d < dim) {
        const lanes v = lanes_load_part(q + d, dim - d);
        for (uint32_t j = 0; j < n; j++)
            acc[j] = lanes_fma(v, lanes_load_part(keys + (size_t)j * dim + d, dim - d), acc[j]);
    }
    for (uint32_t j = 0; j < n; j++)
        out[j] = lanes_join_neon(acc[j]);
}

/* Ones where lo <= i + lane < hi. */
static uint32x4_t visible(attention_span s, uint32_t i)
{
    static const uint32_t index[4] = {0, 1, 2, 3};
    const uint32x4_t at = vaddq_u32(vdupq_n_u32(i), vld1q_u32(index));
    return vandq_u32(vcgeq_u32(at, vdupq_n_u32(s.lo)), vcltq_u32(at, vdupq_n_u32(s.hi)));
}

/* Scales the scores, takes their maximum, exponentials and the sum of those. Scores outside the span are zero before and after. A NaN
 * is no maximum, but its exponential is NaN. */
static void weigh(const attention_shape *s, float *weights, attention_span span, float *max_out, float *sum_out)
{
    const float32x4_t scale = vdupq_n_f32(s->scale), cap = vdupq_n_f32(s->soft_cap);
    float32x4_t max = vdupq_n_f32(-INFINITY);
    for (uint32_t i = span.lo & ~3u; i < span.hi; i += 4) {
        float32x4_t v = vmulq_f32(vld1q_f32(weights + i), scale);
        if (s->soft_cap != 0.0f)
            v = vmulq_f32(mathf_tanh_neon(vdivq_f32(v, cap)), cap);
        vst1q_f32(weights + i, v);
        max = vbslq_f32(vandq_u32(vcgtq_f32(v, max), visible(span, i)), v, max);
    }
    *max_out = vmaxvq_f32(max);
    const float32x4_t subtract = vdupq_n_f32(*max_out);
    for (uint32_t i = span.lo & ~3u; i < span.hi; i += 4) {
        const float32x4_t e = mathf_exp_neon(vsubq_f32(vld1q_f32(weights + i), subtract));
        vst1q_f32(weights + i, vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(e), visible(span, i))));
    }
    lanes sum = lanes_zero();
    for (uint32_t i = 0; i < ATTENTION_BLOCK; i += 16)
        sum = lanes_add(sum, lanes_load(weights + i));
    *sum_out = lanes_join_neon(sum);
}

/* o[d] .. of n registers, the last with `last` of 4 values: e * v over the span's positions in order. */
ATT_INLINE void value_strip(const float *weights, const float *values, uint32_t dim, attention_span span, uint32_t n,
                            uint32_t last, float *o)
{
    float32x4_t acc[STRIP / 4];
    for (uint32_t j = 0; j < n; j++)
        acc[j] = vdupq_n_f32(0.0f);
    for (uint32_t i = span.lo; i < span.hi; i++) {
        const float32x4_t e = vdupq_n_f32(weights[i]);
        for (uint32_t j = 0; j < n; j++)
            acc[j] = vfmaq_f32(acc[j], e, load_n(values + (size_t)i * dim + 4 * j, j == n - 1 ? last : 4));
    }
    for (uint32_t j = 0; j < n; j++)
        store_n(o + 4 * j, j == n - 1 ? last : 4, acc[j]);
}

static void block_part(const attention_shape *s, const float *q, const float *keys, const float *values,
                       attention_span span, float *part)
{
    float weights[ATTENTION_BLOCK] = {0};
    uint32_t i = span.lo;
    for (; i + KEYS <= span.hi; i += KEYS)
        score_keys(q, keys + (size_t)i * s->head_dim, s->head_dim, KEYS, weights + i);
    for (; i < span.hi; i++)
        score_keys(q, keys + (size_t)i * s->head_dim, s->head_dim, 1, weights + i);
    weigh(s, weights, span, &part[PART_MAX], &part[PART_SUM]);
    float *o = part + PART_VALUES;
    const uint32_t dim = s->value_dim;
    uint32_t d = 0;
    for (; d + STRIP <= dim; d += STRIP)
        value_strip(weights, values + d, dim, span, STRIP / 4, 4, o + d);
    for (; d < dim; d += 4)
        value_strip(weights, values + d, dim, span, 1, dim - d, o + d);
}

/* m, l and o of the blocks so far, joined with the next one's part. */
static void join_part(float *m, float *l, float *o, const float *part, uint32_t value_dim)
{
    const float max = part[PART_MAX] > *m ? part[PART_MAX] : *m;
    const float a = mathf_exp(*m - max), b = mathf_exp(part[PART_MAX] - max);
    const float32x4_t a4 = vdupq_n_f32(a), b4 = vdupq_n_f32(b);
    *m = max;
    *l = fmaf(part[PART_SUM], b, *l * a);
    for (uint32_t d = 0; d < value_dim; d += 4) {
        const uint32_t n = value_dim - d;
        store_n(o + d, n, vfmaq_f32(vmulq_f32(load_n(o + d, n), a4), load_n(part + PART_VALUES + d, n), b4));
    }
}

static void divide(float *o, float l, uint32_t value_dim)
{
    const float32x4_t l4 = vdupq_n_f32(l);
    for (uint32_t d = 0; d < value_dim; d += 4)
        store_n(o + d, value_dim - d, vdivq_f32(load_n(o + d, value_dim - d), l4));
}

static void query(const attention_call *c, uint32_t kv, uint32_t row, uint32_t g, float *part)
{
    const attention_shape *s = &c->shape;
    const uint32_t first = attention_first_block(s, c->position + row), last = (c->position + row) / ATTENTION_BLOCK;
    float *out = attention_output(c, kv, row, g);
    float m = 0.0f, l = 0.0f;
    for (uint32_t b = first; b <= last; b++) {
        block_part(s, attention_query(c, kv, row, g), attention_keys(c, kv, b), attention_values(c, kv, b),
                   attention_visible(c, row, b), part);
        if (b == first) {
            m = part[PART_MAX];
            l = part[PART_SUM];
            memcpy(out, part + PART_VALUES, s->value_dim * sizeof *out);
        } else {
            join_part(&m, &l, out, part, s->value_dim);
        }
    }
    divide(out, l, s->value_dim);
}

void attention_rows_neon(const attention_call *c, uint32_t kv, uint32_t r0, uint32_t r1, void *scratch)
{
    for (uint32_t row = r0; row < r1; row++)
        for (uint32_t g = 0; g < c->shape.group; g++)
            query(c, kv, row, g, scratch);
}

void attention_block_neon(const attention_call *c, uint32_t kv, uint32_t row, uint32_t b, float *part, void *scratch)
{
    (void)scratch;
    for (uint32_t g = 0; g < c->shape.group; g++)
        block_part(&c->shape, attention_query(c, kv, row, g), attention_keys(c, kv, b), attention_values(c, kv, b),
                   attention_visible(c, row, b), part + (size_t)g * (PART_VALUES + c->shape.value_dim));
}

void attention_join_neon(const attention_call *c, uint32_t kv, uint32_t row, uint32_t n_blocks, const float *parts)
{
    const attention_shape *s = &c->shape;
    const size_t part_floats = PART_VALUES + s->value_dim;
    for (uint32_t g = 0; g < s->group; g++) {
        float *out = attention_output(c, kv, row, g);
        const float *part = parts + g * part_floats;
        float m = part[PART_MAX], l = part[PART_SUM];
        memcpy(out, part + PART_VALUES, s->value_dim * sizeof *out);
        for (uint32_t b = 1; b < n_blocks; b++)
            join_part(&m, &l, out, part + b * s->group * part_floats, s->value_dim);
        divide(out, l, s->value_dim);
    }
}
