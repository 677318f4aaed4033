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
    WIDE_K = 4096,         /* longest rows that are widened to floats once for many tokens, on the stack */
    WIDE_MIN_TOKENS = 4 * FLT_TOKENS
};

static inline size_t element_offset(linear_kind kind, size_t i)
{
    return kind == LINEAR_F32 ? 4 * i : kind == LINEAR_F16 ? 2 * i : kind == LINEAR_WO8 ? i : i / 2;
}

/* Sixteen nibbles from 8 bytes as int8. */
LINEAR_INLINE __m128i unpack_i4(__m128i packed)
{
    const __m128i words = _mm_cvtepu8_epi16(packed), eight = _mm_set1_epi8(8);
    const __m128i nibbles = _mm_and_si128(_mm_or_si128(words, _mm_slli_epi16(words, 4)), _mm_set1_epi8(15));
    return _mm_sub_epi8(_mm_xor_si128(nibbles, eight), eight);
}

LINEAR_INLINE lanes load_weights(linear_kind kind, const unsigned char *p)
{
    switch (kind) {
    case LINEAR_F16:
        return lanes_from_f16(_mm256_loadu_si256((const __m256i *)(const void *)p));
    case LINEAR_WO8:
        return lanes_from_i8(_mm_loadu_si128((const __m128i *)(const void *)p));
    case LINEAR_WO4:
        return lanes_from_i8(unpack_i4(_mm_loadl_epi64((const __m128i *)(const void *)p)));
    default:
        return lanes_load(p);
    }
}

/* The last count < 16 elements of a row: nothing behind them is read, zeros follow. */
LINEAR_INLINE lanes load_weights_part(linear_kind kind, const unsigned char *p, uint32_t count)
{
    unsigned char tail[STEP * sizeof(float)] = {0};
    memcpy(tail, p, element_offset(kind, count));
    return load_weights(kind, tail);
}

/* n_rows x n_tokens sums, [token][row]. */
LINEAR_INLINE void tile_sums(linear_kind kind, const unsigned char *w, size_t stride, uint32_t k, const float *x, size_t x_stride,
                             uint32_t n_rows, uint32_t n_tokens, float *sums)
{
    lanes acc[FLT_TOKENS * ROWS];
    for (uint32_t i = 0; i < n_tokens * n_rows; i++)
        acc[i] = lanes_zero();
    const uint32_t whole = k & ~(uint32_t)(STEP - 1);
    for (uint32_t i = 0; i < whole; i += STEP) {
        lanes v[FLT_TOKENS];
        for (uint32_t t = 0; t < n_tokens; t++)
            v[t] = lanes_load(x + t * x_stride + i);
        for (uint32_t r = 0; r < n_rows; r++) {
            const unsigned char *p = w + r * stride + element_offset(kind, i);
            const lanes row = load_weights(kind, p);
            if (n_tokens == 1)
                _mm_prefetch((const char *)(p + 1024), _MM_HINT_T0);
            for (uint32_t t = 0; t < n_tokens; t++)
                acc[t * n_rows + r] = lanes_fma(v[t], row, acc[t * n_rows + r]);
        }
    }
    if (whole < k)
        for (uint32_t r = 0; r < n_rows; r++) {
            const lanes row = load_weights_part(kind, w + r * stride + element_offset(kind, whole), k - whole);
            for (uint32_t t = 0; t < n_tokens; t++)
                acc[t * n_rows + r] = lanes_fma(lanes_load_part(x + t * x_stride + whole, k - whole), row, acc[t * n_rows + r]);
        }
    for (uint32_t i = 0; i < n_tokens * n_rows; i += 4) {
        __m256 half[4];
        for (uint32_t j = 0; j < 4; j++)
            half[j] = i + j < n_tokens * n_rows ? lanes_halves(acc[i + j]) : _mm256_setzero_ps();
        _mm_storeu_ps(sums + i, lanes_join8x4_avx2(half[0], half[1], half[2], half[3]));
    }
}

LINEAR_INLINE void tile(linear_kind kind, const unsigned char *rows, size_t stride, const linear_weights *w, const linear_input *in,
                        uint32_t t0, uint32_t n, uint32_t n_rows, uint32_t n_tokens, float *y, size_t y_stride)
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
LINEAR_INLINE void group(linear_kind kind, const unsigned char *rows, size_t stride, const linear_weights *w, const linear_input *in,
                         uint32_t t0, uint32_t t1, uint32_t n, uint32_t n_rows, float *y, size_t y_stride)
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

LINEAR_INLINE void widen_row(linear_kind kind, const unsigned char *row, uint32_t k, float *out)
{
    uint32_t i = 0;
    for (; i + STEP <= k; i += STEP)
        lanes_store(out + i, load_weights(kind, row + element_offset(kind, i)));
    if (i < k) {
        float tail[STEP];
        lanes_store(tail, load_weights_part(kind, row + element_offset(kind, i), k - i));
        memcpy(out + i, tail, (k - i) * sizeof *out);
    }
}

/* wide: [ROWS][WIDE_K], or NULL to convert in place always */
LINEAR_INLINE void run(linear_kind kind, const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0,
                       uint32_t n1, float *wide)
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
                group(LINEAR_F32, (const unsigned char *)wide, (size_t)w->k * sizeof(float), w, in, t0, t1, n, n_rows, y, y_stride);
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
