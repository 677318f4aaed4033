/* Linear layers on quantised activations in registers of 256 bits: four weight rows against up to INT_TOKENS tokens. Included once per level,
 * which defines before:
 *   INT_TOKENS                  tokens of a full tile
 *   INT_NAME(kind)              names of the three kernels
 *   INT_NO_BLOCKS               if the kernel of int4 in blocks is elsewhere
 *   INT_ZERO_SHIFT              what act_load adds to activations before they meet an int8 weight (0, or 128 to make them unsigned)
 *   bytes, BYTES                a register of int8 weights, or of int32 sums of their products, and its size: 32 or 64 bytes
 *   bytes_zero(), bytes_load(p, n), bytes_fold(v)
 *                               zero; the first n bytes of p, then zeros; the same sums in eight int32
 *   act, act_load(p)            BYTES activations, as dot_int8 wants them
 *   dot_int8(acc, act, w)       acc + products in int32, exact (on AVX2: unless w is -128)
 *   dot_int8_min(acc, act, w)   the same with any w, perhaps slower
 *   dot_u4_step(mid, u, q), dot_u4_flush(acc, mid)
 *                               u unsigned below 16; up to INT4_STEPS steps into mid before it is added to the int32 of acc
 *   step_w, STEP_W_BYTES        32 weights of a block, unpacked into that many bytes each
 *   step_unpack(p)              from nibbles
 *   step_a, step_load(q, zp)    32 activations, less their zero point
 *   step_dot(a, w)              their products, four by four: eight integers, as floats */
#include "cpu/c/linear_c.h"
#include "cpu/f16.h"
#include "cpu/x86/lanes_avx2.h"
#include "cpu/x86/linear_x86.h"

enum {
    ROWS = 4,
    STEP = 32,      /* elements */
    INT4_STEPS = 8, /* 8 * 2 * 15 * 128 < 2^15 */
    WIDE_K = 4096,  /* longest rows of int4 that are widened once for many tokens, on the stack */
    WIDE_MIN_TOKENS = 2 * INT_TOKENS
};

#ifdef INT_NO_BLOCKS
enum { STEP_W_BYTES = 1 };
#endif

/* A group of up to ROWS weight rows. */
typedef struct rows {
    const unsigned char *w; /* first row */
    size_t stride;          /* bytes */
    uint32_t k;
    bool wide;                 /* int4 that has been widened to bytes, padded to STEP */
    const float *block_scales; /* QB4: [ROWS][steps] */
    uint32_t steps;
} rows;

/* Thirty-two nibbles from 16 bytes as bytes 0 .. 15, value + 8, in order. */
LINEAR_INLINE __m256i unpack_u4(__m128i packed)
{
    const __m256i words = _mm256_cvtepu8_epi16(packed);
    const __m256i nibbles = _mm256_and_si256(_mm256_or_si256(words, _mm256_slli_epi16(words, 4)), _mm256_set1_epi8(15));
    return _mm256_xor_si256(nibbles, _mm256_set1_epi8(8));
}

/* The `count` <= 32 elements of an int4 row from `i` on; value + 8, zeros' 8 beyond. */
LINEAR_INLINE __m256i load_u4(const unsigned char *row, uint32_t i, uint32_t count)
{
    if (count >= STEP)
        return unpack_u4(_mm_loadu_si128((const __m128i *)(const void *)(row + i / 2)));
    return unpack_u4(_mm256_castsi256_si128(bytes_load_part_avx2(row + i / 2, count / 2)));
}

LINEAR_INLINE __m256i load_bytes(const unsigned char *p, uint32_t count)
{
    return count >= STEP ? _mm256_loadu_si256((const __m256i *)(const void *)p) : bytes_load_part_avx2(p, count);
}

LINEAR_INLINE __m256i load_q(const int8_t *q)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)q);
}

/* Sums of the four registers' eight lanes. */
LINEAR_INLINE __m128i join_rows(const __m256i acc[ROWS])
{
    const __m256i s = _mm256_hadd_epi32(_mm256_hadd_epi32(acc[0], acc[1]), _mm256_hadd_epi32(acc[2], acc[3]));
    return _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
}

/* n_rows x n_tokens sums of q * w (plus INT_ZERO_SHIFT * w), over whole steps and a rest. */
LINEAR_INLINE void tile_int8(const rows *g, const int8_t *q, size_t q_stride, uint32_t n_rows, uint32_t n_tokens,
                             bool has_min, __m256i sums[INT_TOKENS][ROWS])
{
    bytes acc[INT_TOKENS][ROWS];
    for (uint32_t t = 0; t < n_tokens; t++)
        for (uint32_t r = 0; r < ROWS; r++)
            acc[t][r] = bytes_zero();
    const uint32_t whole = g->k & ~(uint32_t)(BYTES - 1);
    for (uint32_t i = 0; i < whole; i += BYTES) {
        bytes w[ROWS];
        for (uint32_t r = 0; r < n_rows; r++)
            w[r] = bytes_load(g->w + r * g->stride + i, BYTES);
        if (n_tokens == 1)
            for (uint32_t r = 0; r < n_rows; r++)
                _mm_prefetch((const char *)(g->w + (r + ROWS) * g->stride + i), _MM_HINT_T0);
        for (uint32_t t = 0; t < n_tokens; t++) {
            const act a = act_load(q + t * q_stride + i);
            for (uint32_t r = 0; r < n_rows; r++)
                acc[t][r] = has_min ? dot_int8_min(acc[t][r], a, w[r]) : dot_int8(acc[t][r], a, w[r]);
        }
    }
    if (whole < g->k)
        for (uint32_t r = 0; r < n_rows; r++) {
            const bytes w = bytes_load(g->w + r * g->stride + whole, g->k - whole);
            for (uint32_t t = 0; t < n_tokens; t++)
                acc[t][r] = dot_int8_min(acc[t][r], act_load(q + t * q_stride + whole), w);
        }
    for (uint32_t t = 0; t < n_tokens; t++)
        for (uint32_t r = 0; r < ROWS; r++)
            sums[t][r] = bytes_fold(acc[t][r]);
}

/* Sums of q * (w + 8). Rows hold nibbles or, widened, bytes. */
LINEAR_INLINE void tile_int4(const rows *g, const int8_t *q, size_t q_stride, uint32_t n_rows, uint32_t n_tokens,
                             bool wide, __m256i acc[INT_TOKENS][ROWS])
{
    for (uint32_t t = 0; t < n_tokens; t++)
        for (uint32_t r = 0; r < ROWS; r++)
            acc[t][r] = _mm256_setzero_si256();
    for (uint32_t start = 0; start < g->k; start += INT4_STEPS * STEP) {
        const uint32_t end = g->k - start < INT4_STEPS * STEP ? g->k : start + INT4_STEPS * STEP;
        __m256i mid[INT_TOKENS][ROWS];
        for (uint32_t t = 0; t < n_tokens; t++)
            for (uint32_t r = 0; r < n_rows; r++)
                mid[t][r] = _mm256_setzero_si256();
        for (uint32_t i = start; i < end; i += STEP) {
            __m256i u[ROWS];
            for (uint32_t r = 0; r < n_rows; r++)
                u[r] = wide ? load_bytes(g->w + r * g->stride + i, STEP) : load_u4(g->w + r * g->stride, i, g->k - i);
            if (n_tokens == 1 && !wide)
                for (uint32_t r = 0; r < n_rows; r++)
                    _mm_prefetch((const char *)(g->w + (r + ROWS) * g->stride + i / 2), _MM_HINT_T0);
            for (uint32_t t = 0; t < n_tokens; t++) {
                const __m256i a = load_q(q + t * q_stride + i);
                for (uint32_t r = 0; r < n_rows; r++)
                    mid[t][r] = dot_u4_step(mid[t][r], u[r], a);
            }
        }
        for (uint32_t t = 0; t < n_tokens; t++)
            for (uint32_t r = 0; r < n_rows; r++)
                acc[t][r] = dot_u4_flush(acc[t][r], mid[t][r]);
    }
}

#ifndef INT_NO_BLOCKS
/* Blockwise: acc are the eight float lanes. */
LINEAR_INLINE void tile_block4(const rows *g, const int8_t *q, size_t q_stride, const linear_qrow *qrows,
                               uint32_t n_rows, uint32_t n_tokens, bool wide, __m256 acc[INT_TOKENS][ROWS])
{
    for (uint32_t t = 0; t < n_tokens; t++)
        for (uint32_t r = 0; r < ROWS; r++)
            acc[t][r] = _mm256_setzero_ps();
    for (uint32_t s = 0; s < g->steps; s++) {
        step_w w[ROWS];
        for (uint32_t r = 0; r < n_rows; r++)
            w[r] = wide ? ((const step_w *)(const void *)(g->w + r * g->stride))[s]
                        : step_unpack(g->w + r * g->stride + s * (STEP / 2));
        if (n_tokens == 1 && !wide && s % 4 == 0)
            for (uint32_t r = 0; r < n_rows; r++)
                _mm_prefetch((const char *)(g->w + (r + ROWS) * g->stride + s * (STEP / 2)), _MM_HINT_T0);
        for (uint32_t t = 0; t < n_tokens; t++) {
            const step_a a = step_load(load_q(q + t * q_stride + s * STEP), qrows[t].zero_point);
            for (uint32_t r = 0; r < n_rows; r++)
                acc[t][r] = _mm256_fmadd_ps(step_dot(a, w[r]), _mm256_broadcast_ss(g->block_scales + r * g->steps + s),
                                            acc[t][r]);
        }
    }
}
#endif

/* Zero point, scales and bias of one token's ROWS sums; n_rows of them are stored. */
LINEAR_INLINE void finish_int(const linear_weights *w, const linear_qrow *a, __m128i acc, const int32_t *sums,
                              int32_t zero_shift, uint32_t n, uint32_t n_rows, float *y)
{
    __m128i row_sums;
    __m128 scales, bias = _mm_setzero_ps();
    if (n_rows == ROWS) {
        row_sums = _mm_loadu_si128((const __m128i *)(const void *)sums);
        scales = w->scales && w->n_scales != 1 ? _mm_loadu_ps(w->scales + n) : _mm_set1_ps(linear_scale(w, 0));
        if (w->bias)
            bias = _mm_loadu_ps(w->bias + n);
    } else {
        row_sums = _mm_cvtsi32_si128(sums[0]);
        scales = _mm_set_ss(linear_scale(w, n));
        if (w->bias)
            bias = _mm_set_ss(w->bias[n]);
    }
    acc = _mm_sub_epi32(acc, _mm_mullo_epi32(row_sums, _mm_set1_epi32(a->zero_point + zero_shift)));
    __m128 value = _mm_mul_ps(_mm_mul_ps(_mm_cvtepi32_ps(acc), _mm_set1_ps(a->scale)), scales);
    if (w->bias)
        value = _mm_add_ps(value, bias);
    if (n_rows == ROWS)
        _mm_storeu_ps(y, value);
    else
        _mm_store_ss(y, value);
}

/* special: rows that are widened (int4), or that have -128 (int8). */
LINEAR_INLINE void tile(const linear_weights *w, linear_kind kind, const rows *g, const linear_input *in, uint32_t t0,
                        uint32_t n_tokens, const linear_sums *sums, uint32_t n, uint32_t n_rows, bool special, float *y,
                        size_t y_stride)
{
    const int8_t *q = in->q + t0 * in->q_stride;
    const linear_qrow *qrows = in->qrows + t0;
    y += t0 * y_stride + n;
#ifndef INT_NO_BLOCKS
    if (kind == LINEAR_QB4) {
        __m256 acc[INT_TOKENS][ROWS];
        tile_block4(g, q, in->q_stride, qrows, n_rows, n_tokens, special, acc);
        for (uint32_t t = 0; t < n_tokens; t++)
            for (uint32_t r = 0; r < n_rows; r++) {
                const float value = lanes_join8_avx2(acc[t][r]) * qrows[t].scale;
                y[t * y_stride + r] = w->bias ? value + w->bias[n + r] : value;
            }
        return;
    }
#endif
    __m256i acc[INT_TOKENS][ROWS];
    const int32_t *row_sums = sums->sum + n % LINEAR_SUM_CHUNK;
    if (kind == LINEAR_QC8) {
        tile_int8(g, q, in->q_stride, n_rows, n_tokens, special, acc);
        for (uint32_t t = 0; t < n_tokens; t++)
            finish_int(w, &qrows[t], join_rows(acc[t]), row_sums, INT_ZERO_SHIFT, n, n_rows, y + t * y_stride);
        return;
    }
    tile_int4(g, q, in->q_stride, n_rows, n_tokens, special, acc);
    for (uint32_t t = 0; t < n_tokens; t++) {
        const __m128i eights = _mm_set1_epi32(8 * qrows[t].sum);
        finish_int(w, &qrows[t], _mm_sub_epi32(join_rows(acc[t]), eights), row_sums, 0, n, n_rows, y + t * y_stride);
    }
}

/* Tokens t0 .. t1-1 against a group of ROWS rows, or of one. */
LINEAR_INLINE void group(const linear_weights *w, linear_kind kind, const rows *g, const linear_input *in, uint32_t t0,
                         uint32_t t1, const linear_sums *sums, uint32_t n, uint32_t n_rows, bool special, float *y,
                         size_t y_stride)
{
    uint32_t t = t0;
    if (n_rows == ROWS) {
        for (; t + INT_TOKENS <= t1; t += INT_TOKENS)
            tile(w, kind, g, in, t, INT_TOKENS, sums, n, ROWS, special, y, y_stride);
#if INT_TOKENS > 2
        for (; t + 2 <= t1; t += 2)
            tile(w, kind, g, in, t, 2, sums, n, ROWS, special, y, y_stride);
#endif
        for (; t < t1; t++)
            tile(w, kind, g, in, t, 1, sums, n, ROWS, special, y, y_stride);
    } else {
        for (; t < t1; t++)
            tile(w, kind, g, in, t, 1, sums, n, 1, special, y, y_stride);
    }
}

LINEAR_INLINE void widen_rows(linear_kind kind, const rows *g, uint32_t n_rows, unsigned char *out, size_t out_stride)
{
#ifndef INT_NO_BLOCKS
    for (uint32_t r = 0; kind == LINEAR_QB4 && r < n_rows; r++)
        for (uint32_t s = 0; s < g->steps; s++)
            ((step_w *)(void *)(out + r * out_stride))[s] = step_unpack(g->w + r * g->stride + s * (STEP / 2));
    if (kind == LINEAR_QB4)
        return;
#else
    (void)kind;
#endif
    for (uint32_t r = 0; r < n_rows; r++)
        for (uint32_t i = 0; i < g->k; i += STEP)
            _mm256_storeu_si256((__m256i *)(void *)(out + r * out_stride + i),
                                load_u4(g->w + r * g->stride, i, g->k - i));
}

/* As f16_load_scale, eight at a time. */
LINEAR_INLINE __m256 load_scales(const void *p)
{
    const __m256i bits = _mm256_castps_si256(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)));
    const __m256i exponent = _mm256_set1_epi32(0x7f800000);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i rounded = _mm256_and_si256(up, _mm256_set1_epi32((int)0xffff0000u));
    const __m256i special = _mm256_cmpeq_epi32(_mm256_and_si256(bits, exponent), exponent);
    return _mm256_castsi256_ps(_mm256_blendv_epi8(rounded, bits, special));
}

/* Scales of a group's blocks, one float per step. */
static void widen_scales(const linear_weights *w, uint32_t n, uint32_t n_rows, float *out)
{
    const uint32_t per_block = w->block / STEP, n_steps = n_rows * (w->k / STEP);
    const unsigned char *scales = (const unsigned char *)w->block_scales + (size_t)n * (w->k / w->block) * 2;
    uint32_t s = 0;
    for (; per_block == 1 && s + 8 <= n_steps; s += 8)
        _mm256_storeu_ps(out + s, load_scales(scales + 2 * s));
    for (; s < n_steps; s++)
        out[s] = f16_load_scale(scales + 2 * (s / per_block));
}

/* wide: [ROWS * WIDE_K] for int4; scales: [ROWS * LINEAR_MAX_K / STEP] for blocks */
LINEAR_INLINE void run(const linear_weights *w, linear_kind kind, const linear_input *in, float *y, size_t y_stride,
                       uint32_t n0, uint32_t n1, unsigned char *wide, float *scales)
{
    const uint32_t block = linear_token_block(in->q_stride, INT_TOKENS);
    int32_t local[LINEAR_SUM_CHUNK];
    for (uint32_t t0 = 0; t0 < in->m; t0 += block) {
        const uint32_t t1 = in->m - t0 < block ? in->m : t0 + block;
        linear_sums sums = {0};
        uint32_t n_rows;
        for (uint32_t n = n0; n < n1; n += n_rows) {
            n_rows = n1 - n < ROWS || n % ROWS ? 1 : ROWS;
            if (kind != LINEAR_QB4 && (n == n0 || n % LINEAR_SUM_CHUNK == 0))
                sums = linear_chunk_sums(w, n / LINEAR_SUM_CHUNK, linear_sum_row_avx2, local);
            rows g = {
                .w = linear_row(w, n), .stride = w->row_bytes, .k = w->k, .block_scales = scales, .steps = w->k / STEP};
            if (kind == LINEAR_QB4)
                widen_scales(w, n, n_rows, scales);
            if (kind != LINEAR_QC8 && t1 - t0 >= WIDE_MIN_TOKENS && w->k <= WIDE_K) {
                const size_t stride =
                    (((size_t)w->k + STEP - 1) & ~(size_t)(STEP - 1)) * (kind == LINEAR_QB4 ? STEP_W_BYTES : 1);
                widen_rows(kind, &g, n_rows, wide, stride);
                g.w = wide;
                g.stride = stride;
                group(w, kind, &g, in, t0, t1, &sums, n, n_rows, true, y, y_stride);
                continue;
            }
            if (kind == LINEAR_QC8 && sums.has_min)
                group(w, kind, &g, in, t0, t1, &sums, n, n_rows, true, y, y_stride);
            else
                group(w, kind, &g, in, t0, t1, &sums, n, n_rows, false, y, y_stride);
        }
    }
}

void INT_NAME(qc8)(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1)
{
    run(w, LINEAR_QC8, in, y, y_stride, n0, n1, NULL, NULL);
}

void INT_NAME(qc4)(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1)
{
    unsigned char wide[ROWS * WIDE_K];
    run(w, LINEAR_QC4, in, y, y_stride, n0, n1, wide, NULL);
}

#ifndef INT_NO_BLOCKS
void INT_NAME(qb4)(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1)
{
    _Alignas(32) unsigned char wide[ROWS * WIDE_K * STEP_W_BYTES];
    float scales[ROWS * LINEAR_MAX_K / STEP];
    run(w, LINEAR_QB4, in, y, y_stride, n0, n1, wide, scales);
}
#endif
