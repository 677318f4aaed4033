/* Attention in C, one query at a time: the definition of docs/numerics.md as code. A part is { m, l, o[value_dim] }. */
#include "cpu/c/attention_c.h"
#include "cpu/lanes.h"
#include "cpu/mathf.h"

#include <string.h>

enum { PART_MAX, PART_SUM, PART_VALUES };

static float score(const attention_shape *s, const float *q, const float *key)
{
    const float scaled = lanes_dot(q, key, s->head_dim) * s->scale;
    return s->soft_cap != 0.0f ? mathf_tanh(scaled / s->soft_cap) * s->soft_cap : scaled;
}

static void block_part(const attention_shape *s, const float *q, const float *keys, const float *values,
                       attention_span span, float *part)
{
    float weights[ATTENTION_BLOCK] = {0};
    float max = -INFINITY;
    for (uint32_t i = span.lo; i < span.hi; i++) {
        weights[i] = score(s, q, keys + (size_t)i * s->head_dim);
        max = weights[i] > max ? weights[i] : max;
    }
    float *o = part + PART_VALUES;
    memset(o, 0, s->value_dim * sizeof *o);
    for (uint32_t i = span.lo; i < span.hi; i++) {
        weights[i] = mathf_exp(weights[i] - max);
        const float *v = values + (size_t)i * s->value_dim;
        for (uint32_t d = 0; d < s->value_dim; d++)
            o[d] = fmaf(weights[i], v[d], o[d]);
    }
    part[PART_MAX] = max;
    part[PART_SUM] = lanes_sum(weights, ATTENTION_BLOCK);
}

/* m, l and o of the blocks so far, joined with the next one's part. */
static void join_part(float *m, float *l, float *o, const float *part, uint32_t value_dim)
{
    const float max = part[PART_MAX] > *m ? part[PART_MAX] : *m;
    const float a = mathf_exp(*m - max), b = mathf_exp(part[PART_MAX] - max);
    *m = max;
    *l = fmaf(part[PART_SUM], b, *l * a);
    for (uint32_t d = 0; d < value_dim; d++)
        o[d] = fmaf(part[PART_VALUES + d], b, o[d] * a);
}

static void divide(float *o, float l, uint32_t value_dim)
{
    for (uint32_t d = 0; d < value_dim; d++)
        o[d] /= l;
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

static void attention_rows_c(const attention_call *c, uint32_t kv, uint32_t r0, uint32_t r1, void *scratch)
{
    for (uint32_t row = r0; row < r1; row++)
        for (uint32_t g = 0; g < c->shape.group; g++)
            query(c, kv, row, g, scratch);
}

static void attention_block_c(const attention_call *c, uint32_t kv, uint32_t row, uint32_t b, float *part,
                              void *scratch)
{
    (void)scratch;
    for (uint32_t g = 0; g < c->shape.group; g++)
        block_part(&c->shape, attention_query(c, kv, row, g), attention_keys(c, kv, b), attention_values(c, kv, b),
                   attention_visible(c, row, b), part + (size_t)g * (PART_VALUES + c->shape.value_dim));
}

static void attention_join_c(const attention_call *c, uint32_t kv, uint32_t row, uint32_t n_blocks, const float *parts)
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

void attention_kernels_init_c(attention_kernels *k)
{
    *k = (attention_kernels){
        .name = "c", .rows = attention_rows_c, .block = attention_block_c, .join = attention_join_c};
}
