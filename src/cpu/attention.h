/* Attention over state blocks. Keys and values of a layer live in blocks of 64 positions counted from position 0:
 *   key block:   float [n_kv_heads][64][head_dim]
 *   value block: float [n_kv_heads][64][value_dim]
 * A query at position p sees positions max(0, p - window + 1) .. p (window 0: 0 .. p), nothing else is read.
 *
 * Result (docs/numerics.md): per block b, over its visible positions in order: s_i = q . k_i (16 virtual lanes, tree) * scale, soft-capped if asked;
 * m_b = max s_i; e_i = exp(s_i - m_b); l_b = sum e_i in index order of 16 lanes by position mod 16, tree; o_b[d] = sum_i e_i * v_i[d] in position
 * order, fused, from +0. Blocks are joined in block order: m' = max(m, m_b), a = exp(m - m'), c = exp(m_b - m'), l = l * a + l_b * c,
 * o = o * a + o_b * c (the last two: first product rounded, second fused). Output o[d] / l. The same for any split of rows, blocks or threads. */
#ifndef LITHE_CPU_ATTENTION_H
#define LITHE_CPU_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

enum {
    ATTENTION_BLOCK = 64,
    ATTENTION_TILE = 8 /* queries that kernels take together at most */
};

typedef struct attention_shape {
    uint32_t n_kv_heads, group; /* query heads = n_kv_heads * group, query head h uses key head h / group */
    uint32_t head_dim, value_dim;
    uint32_t window;       /* 0: none */
    float scale, soft_cap; /* 1 and 0: none */
} attention_shape;

typedef struct attention_call {
    attention_shape shape;
    float *const *key_blocks; /* [ceil((position + n) / 64)] pointers, written by attention_store before */
    float *const *value_blocks;
    const float *q; /* row r: [n_kv_heads][group][head_dim], q_stride floats apart */
    size_t q_stride;
    float *out; /* row r: [n_kv_heads][group][value_dim] */
    size_t out_stride;
    uint32_t position; /* of row 0 */
    uint32_t n;        /* rows */
} attention_call;

typedef struct attention_kernels {
    const char *name;
    /* Whole rows: attends rows r0 .. r1-1 for key head kv and writes out. scratch: attention_scratch_bytes. */
    void (*rows)(const attention_call *c, uint32_t kv, uint32_t r0, uint32_t r1, void *scratch);
    /* One block for one row, for splitting a long decode over threads: part[g] = { m_b, l_b, o_b[value_dim] } of block b. */
    void (*block)(const attention_call *c, uint32_t kv, uint32_t row, uint32_t b, float *part, void *scratch);
    /* Joins the parts of blocks b0 .. b1-1 (parts[(b - b0) * group + g], each 2 + value_dim floats) in order and writes out for (kv, row). */
    void (*join)(const attention_call *c, uint32_t kv, uint32_t row, uint32_t n_blocks, const float *parts);
} attention_kernels;

void attention_kernels_init_c(attention_kernels *k);
void attention_kernels_init_x86(attention_kernels *k, uint32_t features);
void attention_kernels_init_arm(attention_kernels *k, uint32_t features);

size_t attention_scratch_bytes(const attention_shape *s);
/* First block that the query at `position` sees. */
static inline uint32_t attention_first_block(const attention_shape *s, uint32_t position)
{
    return s->window && position >= s->window ? (position - s->window + 1) / ATTENTION_BLOCK : 0;
}
/* Copies one row's new keys (values) [n_heads][dim] into its blocks at `position`. */
void attention_store(float *const *blocks, uint32_t n_heads, uint32_t dim, uint32_t position, const float *row);

#endif
