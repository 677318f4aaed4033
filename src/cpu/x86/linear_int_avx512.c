/* Linears on int8 and int4 per channel with AVX-512 VNNI: eight weight rows against up to three tokens, 64 elements at a time. Of the two
 * factors one must be unsigned: for int8 weights the activations become q + 128, for int4 the weights w + 8. */
#include "cpu/c/linear_c.h"
#include "cpu/x86/lanes_avx2.h"
#include "cpu/x86/linear_x86.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize(                                                                                                  \
    "no-tree-pre") /* it takes the first step out of the loop, and then the sums do not fit into the registers */
#endif

enum {
    ROWS = 8,
    TOKENS = 3,    /* of a full tile */
    STEP = 64,     /* elements */
    WIDE_K = 4096, /* longest rows of int4 that are widened once for many tokens, on the stack */
    WIDE_MIN_TOKENS = 2 * TOKENS
};

typedef enum weights { INT8, INT4, INT4_WIDE } weights;

/* A group of ROWS weight rows, or one. */
typedef struct rows {
    const unsigned char *w; /* first row */
    size_t stride;          /* bytes */
    uint32_t k;
} rows;

/* Which of the elements from i on exist. */
LINEAR_INLINE __mmask64 step_mask(uint32_t i, uint32_t k)
{
    return k - i < STEP ? ((__mmask64)1 << (k - i)) - 1 : ~(__mmask64)0;
}

/* The elements from i on that exist, zeros behind; of int4 value + 8. Masked loads, of whole steps too: others would become an operand of
 * each instruction that uses the register, and be loaded as often. */
LINEAR_INLINE __m512i load_weights(weights kind, const unsigned char *row, uint32_t i, __mmask64 mask, __mmask32 half)
{
    if (kind != INT4)
        return _mm512_maskz_loadu_epi8(mask, row + i);
    const __m512i words = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(half, row + i / 2));
    const __m512i nibbles = _mm512_and_si512(_mm512_or_si512(words, _mm512_slli_epi16(words, 4)), _mm512_set1_epi8(15));
    return _mm512_xor_si512(nibbles, _mm512_set1_epi8(8));
}

/* The same for the bytes of int4. */
LINEAR_INLINE __mmask32 step_half(uint32_t i, uint32_t k)
{
    return k - i < STEP ? ((__mmask32)1 << (k - i) / 2) - 1 : ~(__mmask32)0;
}

LINEAR_INLINE __m512i load_activations(weights kind, const int8_t *q)
{
    const __m512i a = _mm512_loadu_si512(q);
    return kind == INT8 ? _mm512_xor_si512(a, _mm512_set1_epi8((char)-128)) : a;
}

LINEAR_INLINE void tile_sums(weights kind, const rows *g, const int8_t *q, size_t q_stride, uint32_t n_rows,
                             uint32_t n_tokens, __m512i acc[TOKENS][ROWS])
{
    LINEAR_UNROLL
    for (uint32_t t = 0; t < n_tokens; t++)
        LINEAR_UNROLL
    for (uint32_t r = 0; r < ROWS; r++)
        acc[t][r] = _mm512_setzero_si512();
    for (uint32_t i = 0; i < g->k; i += STEP) {
        const __mmask64 mask = step_mask(i, g->k);
        const __mmask32 half = step_half(i, g->k);
        __m512i a[TOKENS];
        LINEAR_UNROLL
        for (uint32_t t = 0; t < n_tokens; t++)
            a[t] = load_activations(kind, q + t * q_stride + i);
        LINEAR_UNROLL
        for (uint32_t r = 0; r < n_rows; r++) {
            const __m512i w = load_weights(kind, g->w + r * g->stride, i, mask, half);
            LINEAR_UNROLL
            for (uint32_t t = 0; t < n_tokens; t++)
                acc[t][r] =
                    kind == INT8 ? _mm512_dpbusd_epi32(acc[t][r], a[t], w) : _mm512_dpbusd_epi32(acc[t][r], w, a[t]);
        }
        if (n_tokens == 1 && kind != INT4_WIDE && (kind == INT8 || i % (2 * STEP) == 0))
            LINEAR_UNROLL
        for (uint32_t r = 0; r < n_rows; r++)
            _mm_prefetch((const char *)(g->w + (r + ROWS) * g->stride + (kind == INT8 ? i : i / 2)), _MM_HINT_T0);
    }
}

/* Quarter j: the sums of quarter j of the four, { a, b, c, d }. */
LINEAR_INLINE __m512i join_quarters(__m512i a, __m512i b, __m512i c, __m512i d)
{
    const __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    const __m512i cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    return _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
}

LINEAR_INLINE __m256i join_rows(const __m512i acc[ROWS])
{
    const __m512i lo = join_quarters(acc[0], acc[1], acc[2], acc[3]),
                  hi = join_quarters(acc[4], acc[5], acc[6], acc[7]);
    const __m512i halves = _mm512_add_epi32(_mm512_shuffle_i32x4(lo, hi, 0x88), _mm512_shuffle_i32x4(lo, hi, 0xdd));
    return _mm512_castsi512_si256(
        _mm512_add_epi32(_mm512_shuffle_i32x4(halves, halves, 0x08), _mm512_shuffle_i32x4(halves, halves, 0x0d)));
}

/* What ROWS outputs of all tokens share. */
typedef struct outputs {
    __m256i row_sums;
    __m256 scales, bias;
    bool has_bias;
    __mmask8 mask;
} outputs;

LINEAR_INLINE outputs load_outputs(const linear_weights *w, const linear_sums *sums, uint32_t n, uint32_t n_rows)
{
    outputs o = {.has_bias = w->bias != NULL, .mask = (__mmask8)((1u << n_rows) - 1)};
    o.row_sums = _mm256_maskz_loadu_epi32(o.mask, sums->sum + n % LINEAR_SUM_CHUNK);
    o.scales = w->scales && w->n_scales != 1 ? _mm256_maskz_loadu_ps(o.mask, w->scales + n)
                                             : _mm256_set1_ps(linear_scale(w, 0));
    o.bias = w->bias ? _mm256_maskz_loadu_ps(o.mask, w->bias + n) : _mm256_setzero_ps();
    return o;
}

LINEAR_INLINE void finish(weights kind, const outputs *o, const linear_qrow *a, const __m512i acc[ROWS], float *y)
{
    __m256i sum = join_rows(acc);
    if (kind != INT8)
        sum = _mm256_sub_epi32(sum, _mm256_set1_epi32(8 * a->sum));
    sum = _mm256_sub_epi32(
        sum, _mm256_mullo_epi32(o->row_sums, _mm256_set1_epi32(a->zero_point + (kind == INT8 ? 128 : 0))));
    __m256 value = _mm256_mul_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(a->scale)), o->scales);
    if (o->has_bias)
        value = _mm256_add_ps(value, o->bias);
    _mm256_mask_storeu_ps(y, o->mask, value);
}

LINEAR_INLINE void tile(weights kind, const rows *g, const outputs *o, const linear_input *in, uint32_t t0,
                        uint32_t n_tokens, uint32_t n_rows, float *y, size_t y_stride)
{
    __m512i acc[TOKENS][ROWS];
    tile_sums(kind, g, in->q + t0 * in->q_stride, in->q_stride, n_rows, n_tokens, acc);
    LINEAR_UNROLL
    for (uint32_t t = 0; t < n_tokens; t++)
        finish(kind, o, &in->qrows[t0 + t], acc[t], y + (t0 + t) * y_stride);
}

/* Full tiles, in functions of their own: the sums just fit into the registers. */
LINEAR_NOINLINE void tile_int8(const rows *g, const outputs *o, const linear_input *in, uint32_t t0, float *y,
                               size_t y_stride)
{
    tile(INT8, g, o, in, t0, TOKENS, ROWS, y, y_stride);
}

LINEAR_NOINLINE void tile_int4(const rows *g, const outputs *o, const linear_input *in, uint32_t t0, float *y,
                               size_t y_stride)
{
    tile(INT4, g, o, in, t0, TOKENS, ROWS, y, y_stride);
}

LINEAR_NOINLINE void tile_wide(const rows *g, const outputs *o, const linear_input *in, uint32_t t0, float *y,
                               size_t y_stride)
{
    tile(INT4_WIDE, g, o, in, t0, TOKENS, ROWS, y, y_stride);
}

/* Tokens t0 .. t1-1 against a group of rows; y points to its first column. */
LINEAR_INLINE void group(weights kind, const rows *g, const outputs *o, const linear_input *in, uint32_t t0,
                         uint32_t t1, uint32_t n_rows, float *y, size_t y_stride)
{
    for (; n_rows == ROWS && t0 + TOKENS <= t1; t0 += TOKENS)
        (kind == INT8 ? tile_int8 : kind == INT4 ? tile_int4 : tile_wide)(g, o, in, t0, y, y_stride);
    for (; t0 < t1; t0++)
        tile(kind, g, o, in, t0, 1, n_rows, y, y_stride);
}

static void widen_rows(rows *g, unsigned char *out)
{
    const size_t stride = linear_q_stride(g->k);
    for (uint32_t r = 0; r < ROWS; r++)
        for (uint32_t i = 0; i < g->k; i += STEP)
            _mm512_storeu_si512(out + r * stride + i,
                                load_weights(INT4, g->w + r * g->stride, i, step_mask(i, g->k), step_half(i, g->k)));
    g->w = out;
    g->stride = stride;
}

/* wide: [ROWS * WIDE_K] for int4 */
LINEAR_INLINE void run(const linear_weights *w, weights kind, const linear_input *in, float *y, size_t y_stride,
                       uint32_t n0, uint32_t n1, unsigned char *wide)
{
    const uint32_t block = linear_token_block(in->q_stride, TOKENS);
    int32_t local[LINEAR_SUM_CHUNK];
    for (uint32_t t0 = 0; t0 < in->m; t0 += block) {
        const uint32_t t1 = in->m - t0 < block ? in->m : t0 + block;
        linear_sums sums = {0};
        uint32_t n_rows;
        for (uint32_t n = n0; n < n1; n += n_rows) {
            n_rows = n1 - n < ROWS || n % ROWS ? 1 : ROWS;
            if (n == n0 || n % LINEAR_SUM_CHUNK == 0)
                sums = linear_chunk_sums(w, n / LINEAR_SUM_CHUNK, linear_sum_row_avx2, local);
            rows g = {.w = linear_row(w, n), .stride = w->row_bytes, .k = w->k};
            const outputs o = load_outputs(w, &sums, n, n_rows);
            if (n_rows == 1) {
                group(kind, &g, &o, in, t0, t1, 1, y + n, y_stride);
            } else if (kind == INT4 && t1 - t0 >= WIDE_MIN_TOKENS && w->k <= WIDE_K) {
                widen_rows(&g, wide);
                group(INT4_WIDE, &g, &o, in, t0, t1, ROWS, y + n, y_stride);
            } else {
                group(kind, &g, &o, in, t0, t1, ROWS, y + n, y_stride);
            }
        }
    }
}

void linear_qc8_avx512(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0,
                       uint32_t n1)
{
    run(w, INT8, in, y, y_stride, n0, n1, NULL);
}

void linear_qc4_avx512(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0,
                       uint32_t n1)
{
    unsigned char wide[ROWS * WIDE_K];
    run(w, INT4, in, y, y_stride, n0, n1, wide);
}
