/* Linear layers on quantised activations: four weight rows against up to INT_TOKENS tokens. Included once per level, which defines before:
 *   INT_NAME(kind)              names of the kernels
 *   INT_TOKENS                  tokens of a full tile
 *   dot16(acc, q, w, any)       acc + products of sixteen int8, in int32, exact; w may be -128 only if `any`
 *   dot_fours(q, w)             sums of four products each, w below 16 in size: four integers
 * and INT_PAIRS, with dot_pairs(acc, q, w), where two tokens meet two rows in one instruction: then blocks are left to another level. */
#include "cpu/arm/lanes_neon.h"
#include "cpu/arm/linear_arm.h"
#include "cpu/c/linear_c.h"
#include "cpu/f16.h"

enum {
    ROWS = 4,
    STEP = 32,     /* elements */
    WIDE_K = 4096, /* longest rows of int4 that are unpacked once for many tokens, on the stack */
    WIDE_MIN_TOKENS = 2 * INT_TOKENS
};

/* A group of up to ROWS weight rows. */
typedef struct rows {
    const unsigned char *w; /* first row */
    size_t stride;          /* bytes */
    uint32_t k;
} rows;

/* `count` elements of a row from `i` on, zeros after them. */
LINEAR_INLINE int8x16x2_t load_step(bool int4, const unsigned char *row, uint32_t i, uint32_t count)
{
    const unsigned char *p = row + (int4 ? i / 2 : i);
    unsigned char tail[STEP] = {0};
    if (count < STEP) {
        memcpy(tail, p, int4 ? count / 2 : count);
        p = tail;
    }
    if (int4)
        return unpack_int4(p);
    return (int8x16x2_t){{vreinterpretq_s8_u8(vld1q_u8(p)), vreinterpretq_s8_u8(vld1q_u8(p + 16))}};
}

/* One step of all rows; a pair of rows takes turns every eight elements where INT_PAIRS says so. */
LINEAR_INLINE void load_rows(bool int4, const rows *g, uint32_t i, uint32_t n_rows, bool pairs, int8x16x2_t w[ROWS])
{
    for (uint32_t r = 0; r < n_rows; r++)
        w[r] = load_step(int4, g->w + r * g->stride, i, g->k - i);
#ifdef INT_PAIRS
    for (uint32_t r = 0; pairs && r < n_rows; r += 2)
        for (int h = 0; h < 2; h++) {
            const int64x2_t a = vreinterpretq_s64_s8(w[r].val[h]), b = vreinterpretq_s64_s8(w[r + 1].val[h]);
            w[r].val[h] = vreinterpretq_s8_s64(vzip1q_s64(a, b));
            w[r + 1].val[h] = vreinterpretq_s8_s64(vzip2q_s64(a, b));
        }
#else
    (void)pairs;
#endif
}

/* n_rows x n_tokens sums of q * w. */
LINEAR_INLINE void tile_sums(bool int4, const rows *g, const int8_t *q, size_t q_stride, uint32_t n_rows,
                             uint32_t n_tokens, bool any, int32_t sums[INT_TOKENS][ROWS])
{
    int32x4_t acc[INT_TOKENS][ROWS];
    for (uint32_t t = 0; t < n_tokens; t++)
        for (uint32_t r = 0; r < n_rows; r++)
            acc[t][r] = vdupq_n_s32(0);
    for (uint32_t i = 0; i < g->k; i += STEP) {
        int8x16x2_t w[ROWS];
        load_rows(int4, g, i, n_rows, false, w);
        for (uint32_t t = 0; t < n_tokens; t++)
            for (int h = 0; h < 2; h++) {
                const int8x16_t a = vld1q_s8(q + t * q_stride + i + 16 * h);
                for (uint32_t r = 0; r < n_rows; r++)
                    acc[t][r] = dot16(acc[t][r], a, w[r].val[h], any);
            }
    }
    for (uint32_t t = 0; t < n_tokens; t++)
        for (uint32_t r = 0; r < n_rows; r++)
            sums[t][r] = vaddvq_s32(acc[t][r]);
}

#ifdef INT_PAIRS
/* The same for INT_TOKENS tokens and ROWS rows; an accumulator holds { t r, t r+1, t+1 r, t+1 r+1 }. */
LINEAR_INLINE void tile_pairs(bool int4, const rows *g, const int8_t *q, size_t q_stride,
                              int32_t sums[INT_TOKENS][ROWS])
{
    int32x4_t acc[INT_TOKENS / 2][ROWS / 2];
    for (uint32_t t = 0; t < INT_TOKENS / 2; t++)
        acc[t][0] = acc[t][1] = vdupq_n_s32(0);
    for (uint32_t i = 0; i < g->k; i += STEP) {
        int8x16x2_t w[ROWS];
        load_rows(int4, g, i, ROWS, true, w);
        for (uint32_t t = 0; t < INT_TOKENS; t += 2)
            for (int h = 0; h < 2; h++) {
                const int64x2_t a = vreinterpretq_s64_s8(vld1q_s8(q + t * q_stride + i + 16 * h));
                const int64x2_t b = vreinterpretq_s64_s8(vld1q_s8(q + (t + 1) * q_stride + i + 16 * h));
                const int8x16_t first = vreinterpretq_s8_s64(vzip1q_s64(a, b)),
                                second = vreinterpretq_s8_s64(vzip2q_s64(a, b));
                for (uint32_t r = 0; r < ROWS; r += 2) {
                    acc[t / 2][r / 2] = dot_pairs(acc[t / 2][r / 2], first, w[r].val[h]);
                    acc[t / 2][r / 2] = dot_pairs(acc[t / 2][r / 2], second, w[r + 1].val[h]);
                }
            }
    }
    for (uint32_t t = 0; t < INT_TOKENS; t += 2)
        for (uint32_t r = 0; r < ROWS; r += 2) {
            vst1_s32(&sums[t][r], vget_low_s32(acc[t / 2][r / 2]));
            vst1_s32(&sums[t + 1][r], vget_high_s32(acc[t / 2][r / 2]));
        }
}
#endif

LINEAR_INLINE void tile(bool int4, const linear_weights *w, const rows *g, const linear_input *in, uint32_t t0,
                        uint32_t n_tokens, const int32_t *row_sums, uint32_t n, uint32_t n_rows, bool any, float *y,
                        size_t y_stride)
{
    int32_t sums[INT_TOKENS][ROWS];
    const int8_t *q = in->q + t0 * in->q_stride;
#ifdef INT_PAIRS
    if (n_rows == ROWS && n_tokens == INT_TOKENS)
        tile_pairs(int4, g, q, in->q_stride, sums);
    else
#endif
        tile_sums(int4, g, q, in->q_stride, n_rows, n_tokens, any, sums);
    for (uint32_t t = 0; t < n_tokens; t++) {
        const linear_qrow *a = &in->qrows[t0 + t];
        for (uint32_t r = 0; r < n_rows; r++) {
            const int32_t acc = (int32_t)((int64_t)sums[t][r] - (int64_t)a->zero_point * row_sums[r]);
            const float value = (float)acc * a->scale * linear_scale(w, n + r);
            y[(t0 + t) * y_stride + n + r] = w->bias ? value + w->bias[n + r] : value;
        }
    }
}

LINEAR_INLINE void group(bool int4, const linear_weights *w, const rows *g, const linear_input *in, uint32_t t0,
                         uint32_t t1, const int32_t *row_sums, uint32_t n, uint32_t n_rows, bool any, float *y,
                         size_t y_stride)
{
    uint32_t t = t0;
    for (; n_rows == ROWS && t + INT_TOKENS <= t1; t += INT_TOKENS)
        tile(int4, w, g, in, t, INT_TOKENS, row_sums, n, ROWS, any, y, y_stride);
    for (; t < t1; t++)
        tile(int4, w, g, in, t, 1, row_sums, n, n_rows, any, y, y_stride);
}

/* Four rows or one at a time. */
LINEAR_INLINE void group_rows(bool int4, const linear_weights *w, const rows *g, const linear_input *in, uint32_t t0,
                              uint32_t t1, const int32_t *row_sums, uint32_t n, uint32_t n_rows, bool any, float *y,
                              size_t y_stride)
{
    if (n_rows == ROWS)
        group(int4, w, g, in, t0, t1, row_sums, n, ROWS, any, y, y_stride);
    else
        group(int4, w, g, in, t0, t1, row_sums, n, 1, any, y, y_stride);
}

static void widen_rows(const rows *g, uint32_t n_rows, int8_t *out)
{
    for (uint32_t r = 0; r < n_rows; r++)
        for (uint32_t i = 0; i < g->k; i += STEP) {
            const int8x16x2_t v = load_step(true, g->w + r * g->stride, i, g->k - i);
            vst1q_s8(out + r * WIDE_K + i, v.val[0]);
            vst1q_s8(out + r * WIDE_K + i + 16, v.val[1]);
        }
}

/* wide: [ROWS][WIDE_K] for int4 */
LINEAR_INLINE void run(bool int4, const linear_weights *w, const linear_input *in, float *y, size_t y_stride,
                       uint32_t n0, uint32_t n1, int8_t *wide)
{
    const uint32_t block = linear_token_block(w->k, INT_TOKENS);
    int32_t local[LINEAR_SUM_CHUNK];
    linear_sums sums = {0};
    for (uint32_t t0 = 0; t0 < in->m; t0 += block) {
        const uint32_t t1 = in->m - t0 < block ? in->m : t0 + block;
        uint32_t n_rows;
        for (uint32_t n = n0; n < n1; n += n_rows) {
            if (n == n0 || n % LINEAR_SUM_CHUNK == 0)
                sums = linear_chunk_sums(w, n / LINEAR_SUM_CHUNK, linear_sum_row_neon, local);
            n_rows = n1 - n < ROWS || n % ROWS ? 1 : ROWS; /* a group lies in one chunk */
            const int32_t *row_sums = sums.sum + n % LINEAR_SUM_CHUNK;
            rows g = {linear_row(w, n), w->row_bytes, w->k};
            if (int4 && t1 - t0 >= WIDE_MIN_TOKENS && w->k <= WIDE_K) {
                widen_rows(&g, n_rows, wide);
                g = (rows){(const unsigned char *)wide, WIDE_K, (w->k + STEP - 1) & ~(uint32_t)(STEP - 1)};
                group_rows(false, w, &g, in, t0, t1, row_sums, n, n_rows, false, y, y_stride);
            } else if (!int4 && sums.has_min) {
                group_rows(int4, w, &g, in, t0, t1, row_sums, n, n_rows, true, y, y_stride);
            } else {
                group_rows(int4, w, &g, in, t0, t1, row_sums, n, n_rows, false, y, y_stride);
            }
        }
    }
}

void INT_NAME(qc8)(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1)
{
    run(false, w, in, y, y_stride, n0, n1, NULL);
}

void INT_NAME(qc4)(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1)
{
    int8_t wide[ROWS * WIDE_K];
    run(true, w, in, y, y_stride, n0, n1, wide);
}

#ifndef INT_PAIRS
/* Blockwise, one row: the zero point's share of each sum is found once for all tokens. acc are the eight float lanes. */
LINEAR_INLINE void tile_blocks(const linear_weights *w, const linear_input *in, uint32_t t0, uint32_t n_tokens,
                               uint32_t n, float *y, size_t y_stride)
{
    const unsigned char *row = linear_row(w, n),
                        *scales = (const unsigned char *)w->block_scales + 2 * (size_t)n * (w->k / w->block);
    float32x4_t acc[INT_TOKENS][2];
    float scale = 0.0f;
    for (uint32_t t = 0; t < n_tokens; t++)
        acc[t][0] = acc[t][1] = vdupq_n_f32(0.0f);
    for (uint32_t i = 0; i < w->k; i += STEP) {
        if (i % w->block == 0)
            scale = f16_load_scale(scales + 2 * (size_t)(i / w->block));
        const int8x16x2_t v = unpack_int4(row + i / 2);
        for (int h = 0; h < 2; h++) {
            const int32x4_t fours = dot_fours(vdupq_n_s8(1), v.val[h]);
            for (uint32_t t = 0; t < n_tokens; t++) {
                const int32x4_t products = dot_fours(vld1q_s8(in->q + (t0 + t) * in->q_stride + i + 16 * h), v.val[h]);
                const int32x4_t sums = vmlsq_n_s32(products, fours, in->qrows[t0 + t].zero_point);
                acc[t][h] = vfmaq_n_f32(acc[t][h], vcvtq_f32_s32(sums), scale);
            }
        }
    }
    for (uint32_t t = 0; t < n_tokens; t++) {
        const float value = lanes_join4_neon(vaddq_f32(acc[t][0], acc[t][1])) * in->qrows[t0 + t].scale;
        y[(t0 + t) * y_stride + n] = w->bias ? value + w->bias[n] : value;
    }
}

void INT_NAME(qb4)(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1)
{
    for (uint32_t n = n0; n < n1; n++) {
        uint32_t t = 0;
        for (; t + INT_TOKENS <= in->m; t += INT_TOKENS)
            tile_blocks(w, in, t, INT_TOKENS, n, y, y_stride);
        for (; t < in->m; t++)
            tile_blocks(w, in, t, 1, n, y, y_stride);
    }
}
#endif
