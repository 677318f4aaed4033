/* Linear layers on float activations, over an abstract register set of sixteen lanes. Included once per level, which defines before:
 *   FLT_ROWS, FLT_TOKENS        a full tile (FLT_ROWS divides 4)
 *   FLT_NAME(kind)              names of the four kernels
 * and includes its lanes16 header. */
#include "cpu/c/linear_c.h"
#include "cpu/x86/lanes_avx2.h"
#include "cpu/x86/linear_x86.h"

enum {
    ROWS = 4,
    STEP = 16,
    WIDE_K = 4096, /* longest rows that are widened to floats once for many tokens, on the stack */
    WIDE_MIN_TOKENS = 4 * FLT_TOKENS
};

static inline size_t element_offset(linear_kind kind, size_t i)
{
    return kind == LINEAR_F32 ? 4 * i : kind == LINEAR_F16 ? 2 * i : kind == LINEAR_WO8 ? i : i / 2;
}

LINEAR_INLINE lanes_part load_weights(linear_kind kind, const unsigned char *p)
{
    switch (kind) {
    case LINEAR_F16:
        return part_load_f16(p);
    case LINEAR_WO8:
        return part_load_i8(p);
    case LINEAR_WO4:
        return part_load_i4(p);
    default:
        return part_load(p);
    }
}

/* The end of a row from element i on, zeros behind it. */
typedef struct tail {
    _Alignas(64) unsigned char bytes[STEP * sizeof(float)];
} tail;

static inline tail copy_tail(linear_kind kind, const void *row, uint32_t i, uint32_t k)
{
    tail t = {{0}};
    memcpy(t.bytes, (const unsigned char *)row + element_offset(kind, i), element_offset(kind, k - i));
    return t;
}

/* The fewer than 16 last elements. */
LINEAR_INLINE void tile_tail(linear_kind kind, const unsigned char *w, size_t stride, uint32_t whole, uint32_t k,
                             const float *x, size_t x_stride, uint32_t n_rows, uint32_t n_tokens,
                             lanes_part acc[FLT_TOKENS * ROWS][LANES_PARTS])
{
    for (uint32_t r = 0; r < n_rows; r++) {
        const tail row = copy_tail(kind, w + r * stride, whole, k);
        for (uint32_t t = 0; t < n_tokens; t++) {
            const tail values = copy_tail(LINEAR_F32, x + t * x_stride, whole, k);
            for (uint32_t h = 0; h < LANES_PARTS; h++)
                acc[t * n_rows + r][h] = part_fma(
                    part_load(values.bytes + h * LANES_PER_PART * sizeof(float)),
                    load_weights(kind, row.bytes + element_offset(kind, h * LANES_PER_PART)), acc[t * n_rows + r][h]);
        }
    }
}

/* n_rows x n_tokens sums, [token][row]. */
LINEAR_INLINE void tile_sums(linear_kind kind, const unsigned char *w, size_t stride, uint32_t k, const float *x,
                             size_t x_stride, uint32_t n_rows, uint32_t n_tokens, float *sums)
{
    lanes_part acc[FLT_TOKENS * ROWS][LANES_PARTS];
    for (uint32_t i = 0; i < n_tokens * n_rows; i++)
        for (uint32_t h = 0; h < LANES_PARTS; h++)
            acc[i][h] = part_zero();
    const uint32_t whole = k & ~(uint32_t)(STEP - 1);
    for (uint32_t i = 0; i < whole; i += STEP) {
        for (uint32_t h = 0; h < LANES_PARTS; h++) {
            const uint32_t at = i + h * LANES_PER_PART;
            lanes_part v[FLT_TOKENS];
            for (uint32_t t = 0; t < n_tokens; t++)
                v[t] = part_load(x + t * x_stride + at);
            for (uint32_t r = 0; r < n_rows; r++) {
                const lanes_part row = load_weights(kind, w + r * stride + element_offset(kind, at));
                for (uint32_t t = 0; t < n_tokens; t++)
                    acc[t * n_rows + r][h] = part_fma(v[t], row, acc[t * n_rows + r][h]);
            }
        }
        if (n_tokens == 1)
            for (uint32_t r = 0; r < n_rows; r++)
                _mm_prefetch((const char *)(w + (r + ROWS) * stride + element_offset(kind, i)), _MM_HINT_T0);
    }
    if (whole < k)
        tile_tail(kind, w, stride, whole, k, x, x_stride, n_rows, n_tokens, acc);
    for (uint32_t i = 0; i < n_tokens * n_rows; i += 4) {
        __m256 half[4];
        for (uint32_t j = 0; j < 4; j++)
            half[j] = i + j < n_tokens * n_rows ? part_halves(acc[i + j]) : _mm256_setzero_ps();
        _mm_storeu_ps(sums + i, lanes_join8x4_avx2(half[0], half[1], half[2], half[3]));
    }
}

LINEAR_INLINE void tile(linear_kind kind, const unsigned char *rows, size_t stride, const linear_weights *w,
                        const linear_input *in, uint32_t t0, uint32_t n, uint32_t n_rows, uint32_t n_tokens, float *y,
                        size_t y_stride)
{
    float sums[(FLT_TOKENS * ROWS + 3) & ~3];
    tile_sums(kind, rows, stride, w->k, in->x + t0 * in->x_stride, in->x_stride, n_rows, n_tokens, sums);
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

/* Tokens t0 .. t1-1 against ROWS rows, or one. */
LINEAR_INLINE void group(linear_kind kind, const unsigned char *rows, size_t stride, const linear_weights *w,
                         const linear_input *in, uint32_t t0, uint32_t t1, uint32_t n, uint32_t n_rows, float *y,
                         size_t y_stride)
{
    uint32_t t = t0;
    if (n_rows == ROWS) {
        for (; t + FLT_TOKENS <= t1; t += FLT_TOKENS)
            for (uint32_t r = 0; r < ROWS; r += FLT_ROWS)
                tile(kind, rows + r * stride, stride, w, in, t, n + r, FLT_ROWS, FLT_TOKENS, y, y_stride);
        for (; t < t1; t++)
            tile(kind, rows, stride, w, in, t, n, ROWS, 1, y, y_stride);
    } else {
        for (; t < t1; t++)
            tile(kind, rows, stride, w, in, t, n, 1, 1, y, y_stride);
    }
}

LINEAR_NOINLINE void group_f32(const void *rows, size_t stride, const linear_weights *w, const linear_input *in,
                               uint32_t t0, uint32_t t1, uint32_t n, uint32_t n_rows, float *y, size_t y_stride)
{
    group(LINEAR_F32, rows, stride, w, in, t0, t1, n, n_rows, y, y_stride);
}

static inline void part_store(float *p, lanes_part v)
{
    memcpy(p, &v, sizeof v);
}

LINEAR_INLINE void widen_row(linear_kind kind, const unsigned char *row, uint32_t k, float *out)
{
    uint32_t i = 0;
    for (; i + LANES_PER_PART <= k; i += LANES_PER_PART)
        part_store(out + i, load_weights(kind, row + element_offset(kind, i)));
    if (i < k) {
        const tail end = copy_tail(kind, row, i, k);
        float values[LANES_PER_PART];
        part_store(values, load_weights(kind, end.bytes));
        memcpy(out + i, values, (k - i) * sizeof *out);
    }
}

/* wide: [ROWS][WIDE_K], or NULL to convert in place always */
LINEAR_INLINE void run(linear_kind kind, const linear_weights *w, const linear_input *in, float *y, size_t y_stride,
                       uint32_t n0, uint32_t n1, float *wide)
{
    const uint32_t block = linear_token_block((size_t)w->k * sizeof(float), FLT_TOKENS);
    for (uint32_t t0 = 0; t0 < in->m; t0 += block) {
        const uint32_t t1 = in->m - t0 < block ? in->m : t0 + block;
        uint32_t n_rows;
        for (uint32_t n = n0; n < n1; n += n_rows) {
            const unsigned char *rows = linear_row(w, n);
            n_rows = n1 - n < ROWS ? 1 : ROWS;
            if (wide && t1 - t0 >= WIDE_MIN_TOKENS && w->k <= WIDE_K) {
                for (uint32_t r = 0; r < n_rows; r++)
                    widen_row(kind, rows + r * w->row_bytes, w->k, wide + (size_t)r * w->k);
                group_f32(wide, (size_t)w->k * sizeof(float), w, in, t0, t1, n, n_rows, y, y_stride);
            } else if (kind == LINEAR_F32) {
                group_f32(rows, w->row_bytes, w, in, t0, t1, n, n_rows, y, y_stride);
            } else {
                group(kind, rows, w->row_bytes, w, in, t0, t1, n, n_rows, y, y_stride);
            }
        }
    }
}

void FLT_NAME(f32)(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1)
{
    run(LINEAR_F32, w, in, y, y_stride, n0, n1, NULL);
}

void FLT_NAME(f16)(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1)
{
    float wide[ROWS * WIDE_K];
    run(LINEAR_F16, w, in, y, y_stride, n0, n1, wide);
}

void FLT_NAME(wo8)(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1)
{
    float wide[ROWS * WIDE_K];
    run(LINEAR_WO8, w, in, y, y_stride, n0, n1, wide);
}

void FLT_NAME(wo4)(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1)
{
    float wide[ROWS * WIDE_K];
    run(LINEAR_WO4, w, in, y, y_stride, n0, n1, wide);
}
