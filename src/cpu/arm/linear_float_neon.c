/* Linears on float activations and embedding rows on NEON: four registers hold the sixteen lanes, worked on one after the other where
 * several tokens share a weight. */
#include "cpu/arm/lanes_neon.h"
#include "cpu/arm/linear_arm.h"
#include "cpu/c/linear_c.h"
#include "cpu/f16.h"

enum {
    ROWS = 4,
    TILE_ROWS = 2, /* of a tile of TILE_TOKENS tokens: 24 registers of sums */
    TILE_TOKENS = 3,
    STEP = 16
};

static inline size_t element_offset(linear_kind kind, size_t i)
{
    return kind == LINEAR_F32 ? 4 * i : kind == LINEAR_F16 ? 2 * i : kind == LINEAR_WO8 ? i : i / 2;
}

static inline lanes widen16(int8x16_t v)
{
    const int16x8_t lo = vmovl_s8(vget_low_s8(v)), hi = vmovl_s8(vget_high_s8(v));
    return (lanes){{vcvtq_f32_s32(vmovl_s16(vget_low_s16(lo))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(lo))),
                    vcvtq_f32_s32(vmovl_s16(vget_low_s16(hi))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(hi)))}};
}

/* Sixteen weights as floats. Nothing is assumed of the alignment. */
LINEAR_INLINE lanes load_weights(linear_kind kind, const unsigned char *p)
{
    lanes v;
    switch (kind) {
    case LINEAR_F16:
        for (int i = 0; i < 4; i++)
            v.r[i] = vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p + 8 * i)));
        return v;
    case LINEAR_WO8:
        return widen16(vreinterpretq_s8_u8(vld1q_u8(p)));
    case LINEAR_WO4: {
        const int8x8_t packed = vreinterpret_s8_u8(vld1_u8(p));
        const int8x8_t low = vshr_n_s8(vshl_n_s8(packed, 4), 4), high = vshr_n_s8(packed, 4);
        return widen16(vcombine_s8(vzip1_s8(low, high), vzip2_s8(low, high)));
    }
    default:
        for (int i = 0; i < 4; i++)
            v.r[i] = vreinterpretq_f32_u8(vld1q_u8(p + 16 * i));
        return v;
    }
}

/* The last, fewer than sixteen weights of a row, zeros after them. */
LINEAR_INLINE lanes load_tail(linear_kind kind, const unsigned char *row, uint32_t i, uint32_t k)
{
    unsigned char bytes[STEP * sizeof(float)] = {0};
    memcpy(bytes, row + element_offset(kind, i), element_offset(kind, k - i));
    return load_weights(kind, bytes);
}

/* n_rows x n_tokens sums, [token][row]. */
LINEAR_INLINE void tile_sums(linear_kind kind, const unsigned char *w, size_t stride, uint32_t k, const float *x,
                             size_t x_stride, uint32_t n_rows, uint32_t n_tokens, float *sums)
{
    lanes acc[TILE_TOKENS * TILE_ROWS];
    for (uint32_t i = 0; i < n_tokens * n_rows; i++)
        acc[i] = lanes_zero();
    const uint32_t whole = k & ~(uint32_t)(STEP - 1);
    for (uint32_t i = 0; i < whole; i += STEP)
        for (uint32_t r = 0; r < n_rows; r++) {
            const lanes weights = load_weights(kind, w + r * stride + element_offset(kind, i));
            for (uint32_t t = 0; t < n_tokens; t++)
                acc[t * n_rows + r] = lanes_fma(lanes_load(x + t * x_stride + i), weights, acc[t * n_rows + r]);
        }
    for (uint32_t r = 0; whole < k && r < n_rows; r++) {
        const lanes weights = load_tail(kind, w + r * stride, whole, k);
        for (uint32_t t = 0; t < n_tokens; t++)
            acc[t * n_rows + r] =
                lanes_fma(lanes_load_part(x + t * x_stride + whole, k - whole), weights, acc[t * n_rows + r]);
    }
    for (uint32_t i = 0; i < n_tokens * n_rows; i++)
        sums[i] = lanes_join_neon(acc[i]);
}

LINEAR_INLINE void tile(linear_kind kind, const linear_weights *w, const linear_input *in, uint32_t t0, uint32_t n,
                        uint32_t n_rows, uint32_t n_tokens, float *y, size_t y_stride)
{
    float sums[ROWS * TILE_TOKENS];
    tile_sums(kind, linear_row(w, n), w->row_bytes, w->k, in->x + t0 * in->x_stride, in->x_stride, n_rows, n_tokens,
              sums);
    for (uint32_t r = 0; r < n_rows; r++) {
        const float scale = linear_scale(w, n + r), bias = w->bias ? w->bias[n + r] : 0.0f;
        for (uint32_t t = 0; t < n_tokens; t++) {
            float value = sums[t * n_rows + r];
            if (w->scales)
                value *= scale;
            y[(t0 + t) * y_stride + n + r] = w->bias ? value + bias : value;
        }
    }
}

/* Tokens t0 .. t1-1 against n_rows rows: tiles of TILE_TOKENS, single tokens after them. */
LINEAR_INLINE void group(linear_kind kind, const linear_weights *w, const linear_input *in, uint32_t t0, uint32_t t1,
                         uint32_t n, uint32_t n_rows, float *y, size_t y_stride)
{
    uint32_t t = t0;
    for (; t + TILE_TOKENS <= t1; t += TILE_TOKENS)
        tile(kind, w, in, t, n, n_rows, TILE_TOKENS, y, y_stride);
    for (; t < t1; t++)
        tile(kind, w, in, t, n, n_rows, 1, y, y_stride);
}

LINEAR_INLINE void run(linear_kind kind, const linear_weights *w, const linear_input *in, float *y, size_t y_stride,
                       uint32_t n0, uint32_t n1)
{
    const uint32_t block = linear_token_block((size_t)w->k * sizeof(float), TILE_TOKENS);
    for (uint32_t t0 = 0; t0 < in->m; t0 += block) {
        const uint32_t t1 = in->m - t0 < block ? in->m : t0 + block;
        uint32_t n = n0;
        for (; n + TILE_ROWS <= n1; n += TILE_ROWS)
            group(kind, w, in, t0, t1, n, TILE_ROWS, y, y_stride);
        for (; n < n1; n++)
            group(kind, w, in, t0, t1, n, 1, y, y_stride);
    }
}

void linear_f32_neon(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0,
                     uint32_t n1)
{
    run(LINEAR_F32, w, in, y, y_stride, n0, n1);
}

void linear_f16_neon(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0,
                     uint32_t n1)
{
    run(LINEAR_F16, w, in, y, y_stride, n0, n1);
}

void linear_wo8_neon(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0,
                     uint32_t n1)
{
    run(LINEAR_WO8, w, in, y, y_stride, n0, n1);
}

void linear_wo4_neon(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0,
                     uint32_t n1)
{
    run(LINEAR_WO4, w, in, y, y_stride, n0, n1);
}

LINEAR_INLINE void widen_row(linear_kind kind, const unsigned char *row, uint32_t k, float *out)
{
    for (uint32_t i = 0; i < k; i += STEP) {
        const lanes v = k - i < STEP ? load_tail(kind, row, i, k) : load_weights(kind, row + element_offset(kind, i));
        for (uint32_t j = 0; j < 4 && i + 4 * j < k; j++)
            store_n(out + i + 4 * j, k - i - 4 * j, v.r[j]);
    }
}

static void scale_values(float *x, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= scale;
}

void linear_embedding_row_neon(const linear_weights *w, uint32_t id, float *out)
{
    const unsigned char *row = linear_row(w, id);
    switch (w->kind) {
    case LINEAR_F32:
        widen_row(LINEAR_F32, row, w->k, out);
        return;
    case LINEAR_F16:
        widen_row(LINEAR_F16, row, w->k, out);
        return;
    case LINEAR_WO8:
    case LINEAR_QC8:
        widen_row(LINEAR_WO8, row, w->k, out);
        break;
    default:
        widen_row(LINEAR_WO4, row, w->k, out);
    }
    if (w->kind == LINEAR_QB4) {
        const unsigned char *scales = (const unsigned char *)w->block_scales + (size_t)id * (w->k / w->block) * 2;
        for (uint32_t i = 0; i < w->k / w->block; i++)
            scale_values(out + (size_t)i * w->block, w->block, f16_load(scales + 2 * (size_t)i));
    } else if (w->scales) {
        scale_values(out, w->k, linear_scale(w, id));
    }
}
