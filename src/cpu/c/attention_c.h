/* What attention kernels of every instruction set look at in the same way. */
#ifndef LITHE_CPU_C_ATTENTION_C_H
#define LITHE_CPU_C_ATTENTION_C_H

#include "cpu/attention.h"

/* Positions lo .. hi-1 of a block, counted from its start; none if lo >= hi. */
typedef struct attention_span {
    uint32_t lo, hi;
} attention_span;

static inline attention_span attention_visible(const attention_call *c, uint32_t row, uint32_t b)
{
    const uint32_t position = c->position + row, start = b * ATTENTION_BLOCK, window = c->shape.window;
    const uint32_t first = window && position >= window ? position - window + 1 : 0;
    attention_span s = {0, 0};
    if (position < start || first >= start + ATTENTION_BLOCK)
        return s;
    s.lo = first > start ? first - start : 0;
    s.hi = position - start < ATTENTION_BLOCK - 1 ? position - start + 1 : ATTENTION_BLOCK;
    return s;
}

static inline const float *attention_query(const attention_call *c, uint32_t kv, uint32_t row, uint32_t g)
{
    return c->q + row * c->q_stride + ((size_t)kv * c->shape.group + g) * c->shape.head_dim;
}

static inline float *attention_output(const attention_call *c, uint32_t kv, uint32_t row, uint32_t g)
{
    return c->out + row * c->out_stride + ((size_t)kv * c->shape.group + g) * c->shape.value_dim;
}

/* [64][head_dim] of key head kv */
static inline const float *attention_keys(const attention_call *c, uint32_t kv, uint32_t b)
{
    return c->key_blocks[b] + (size_t)kv * ATTENTION_BLOCK * c->shape.head_dim;
}

static inline const float *attention_values(const attention_call *c, uint32_t kv, uint32_t b)
{
    return c->value_blocks[b] + (size_t)kv * ATTENTION_BLOCK * c->shape.value_dim;
}

#endif
