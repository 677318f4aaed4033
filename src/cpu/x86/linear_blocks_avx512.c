/* Linears on int4 in blocks with AVX-512 VNNI: a register holds the eight lanes of one weight row and, in its upper half, those of the next,
 * so that both take their steps in order. The zero point is taken off as a float: the sums of a step are integers below 2^24, exact in
 * either type. */
#include "cpu/c/linear_c.h"
#include "cpu/f16.h"
#include "cpu/x86/lanes_avx2.h"
#include "cpu/x86/linear_x86.h"

enum {
    PAIRS = 4, /* of weight rows in a group */
    ROWS = 2 * PAIRS,
    TOKENS = 4, /* of a full tile */
    STEP = 32,  /* elements, in 16 bytes */
    STEP_BYTES = STEP / 2,
    WIDE_K = 4096, /* longest rows that are unpacked once for many tokens, on the stack */
    WIDE_MIN_TOKENS = 2 * TOKENS
};

/* A group's rows unpacked: [step][pair]. */
typedef struct wide_step {
    int8_t w[PAIRS][64];   /* of two rows */
    float sums[PAIRS][16]; /* of the four elements of a lane */
} wide_step;

/* Up to ROWS weight rows. */
typedef struct rows {
    const unsigned char *w; /* first row */
    size_t stride;          /* bytes from row to row */
    const float *scales;    /* [rows][steps] */
    uint32_t steps;
    uint32_t n;            /* rows; of an odd number the last is taken twice */
    const wide_step *wide; /* or NULL: unpack where they lie */
} rows;

LINEAR_INLINE __m512i both_halves(const void *p)
{
    return _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)p));
}

/* Step s of rows 2 pair and 2 pair + 1: nibbles as bytes, value + 8. */
LINEAR_INLINE __m512i load_u4(const rows *g, uint32_t pair, uint32_t s)
{
    const unsigned char *p = g->w + 2 * pair * g->stride + (size_t)s * STEP_BYTES;
    const unsigned char *next = g->n > 2 * pair + 1 ? p + g->stride : p;
    const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)p),
                  high = _mm_loadu_si128((const __m128i *)(const void *)next);
    const __m512i words = _mm512_cvtepu8_epi16(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1));
    const __m512i nibbles = _mm512_and_si512(_mm512_or_si512(words, _mm512_slli_epi16(words, 4)), _mm512_set1_epi8(15));
    return _mm512_xor_si512(nibbles, _mm512_set1_epi8(8));
}

LINEAR_INLINE __m512 load_scales(const rows *g, uint32_t pair, uint32_t s)
{
    const float *low = g->scales + (size_t)2 * pair * g->steps + s;
    const float *high = g->n > 2 * pair + 1 ? low + g->steps : low;
    return _mm512_mask_blend_ps(0xff00, _mm512_set1_ps(*low), _mm512_set1_ps(*high));
}

LINEAR_INLINE __m512 lane_sums(__m512i w)
{
    return _mm512_cvtepi32_ps(_mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi8(1), w));
}

/* The lanes of n_tokens tokens and n_pairs pairs: sum (q + 128) w, less (zero point + 128) sum w, is sum (q - zero point) w. */
LINEAR_INLINE void tile_lanes(const rows *g, bool wide, const int8_t *q, size_t q_stride, const linear_qrow *qrows,
                              uint32_t n_pairs, uint32_t n_tokens, __m512 acc[TOKENS][PAIRS])
{
    __m512 shift[TOKENS];
    for (uint32_t t = 0; t < n_tokens; t++) {
        shift[t] = _mm512_set1_ps((float)(-128 - qrows[t].zero_point));
        for (uint32_t p = 0; p < n_pairs; p++)
            acc[t][p] = _mm512_setzero_ps();
    }
    for (uint32_t s = 0; s < g->steps; s++) {
        __m512i a[TOKENS];
        for (uint32_t t = 0; t < n_tokens; t++)
            a[t] = _mm512_xor_si512(both_halves(q + t * q_stride + (size_t)s * STEP), _mm512_set1_epi8((char)-128));
        for (uint32_t p = 0; p < n_pairs; p++) {
            const __m512i w =
                wide ? _mm512_load_si512(g->wide[s].w[p]) : _mm512_sub_epi8(load_u4(g, p, s), _mm512_set1_epi8(8));
            const __m512 sums = wide ? _mm512_load_ps(g->wide[s].sums[p]) : lane_sums(w), scale = load_scales(g, p, s);
            for (uint32_t t = 0; t < n_tokens; t++) {
                const __m512 biased = _mm512_cvtepi32_ps(_mm512_dpbusd_epi32(_mm512_setzero_si512(), a[t], w));
                acc[t][p] = _mm512_fmadd_ps(_mm512_fmadd_ps(shift[t], sums, biased), scale, acc[t][p]);
            }
        }
    }
}

/* One token: sum q (w + 8) - zp sum (w + 8) - 8 sum (q - zp), the last per step and lane in `eights`; zp > -128. */
LINEAR_INLINE void row_lanes(const rows *g, const int8_t *q, int32_t zero_point, const int32_t *eights,
                             uint32_t n_pairs, __m512 acc[PAIRS])
{
    const __m512i zero = _mm512_set1_epi8((char)-zero_point);
    for (uint32_t p = 0; p < n_pairs; p++)
        acc[p] = _mm512_setzero_ps();
    for (uint32_t s = 0; s < g->steps; s++) {
        const __m512i a = both_halves(q + (size_t)s * STEP), start = both_halves(eights + (size_t)s * 8);
        for (uint32_t p = 0; p < n_pairs; p++) {
            const __m512i u = load_u4(g, p, s);
            const __m512i sums = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(start, u, a), u, zero);
            acc[p] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), load_scales(g, p, s), acc[p]);
        }
        if (s % 4 == 0)
            for (uint32_t r = 0; r < 2 * n_pairs; r++)
                _mm_prefetch((const char *)(g->w + (r + ROWS) * g->stride + (size_t)s * STEP_BYTES), _MM_HINT_T0);
    }
}

/* -8 sum (q - zp) of each four elements. */
static void make_eights(const int8_t *q, int32_t zero_point, uint32_t k, int32_t *out)
{
    const __m256i zero = _mm256_set1_epi32(32 * zero_point);
    for (uint32_t i = 0; i < k; i += STEP) {
        const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(q + i));
        const __m256i sums = _mm256_dpbusd_epi32(_mm256_setzero_si256(), _mm256_set1_epi8(8), a);
        _mm256_storeu_si256((__m256i *)(void *)(out + i / 4), _mm256_sub_epi32(zero, sums));
    }
}

LINEAR_INLINE __m128 join_pairs(__m512 a, __m512 b)
{
    return lanes_join8x4_avx2(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1), _mm512_castps512_ps256(b),
                              _mm512_extractf32x8_ps(b, 1));
}

/* One token's joined lanes, scaled: rows n .. n + g->n - 1. */
LINEAR_INLINE void finish(const linear_weights *w, const rows *g, float scale, const __m512 acc[PAIRS],
                          uint32_t n_pairs, uint32_t n, float *y)
{
    for (uint32_t p = 0; p < n_pairs; p += 2) {
        const __m128 lanes = join_pairs(acc[p], p + 1 < n_pairs ? acc[p + 1] : _mm512_setzero_ps());
        const __m128 value = _mm_mul_ps(lanes, _mm_set1_ps(scale));
        const uint32_t left = g->n - 2 * p;
        const __mmask8 mask = left < 4 ? (__mmask8)((1u << left) - 1) : 15;
        const __m128 sum = w->bias ? _mm_add_ps(value, _mm_maskz_loadu_ps(mask, w->bias + n + 2 * p)) : value;
        _mm_mask_storeu_ps(y + n + 2 * p, mask, sum);
    }
}

LINEAR_INLINE void tile(const linear_weights *w, const rows *g, bool wide, const linear_input *in, uint32_t t0,
                        uint32_t n_tokens, uint32_t n_pairs, uint32_t n, float *y, size_t y_stride)
{
    __m512 acc[TOKENS][PAIRS];
    tile_lanes(g, wide, in->q + t0 * in->q_stride, in->q_stride, in->qrows + t0, n_pairs, n_tokens, acc);
    for (uint32_t t = 0; t < n_tokens; t++)
        finish(w, g, in->qrows[t0 + t].scale, acc[t], n_pairs, n, y + (t0 + t) * y_stride);
}

LINEAR_INLINE void group(const linear_weights *w, const rows *g, bool wide, const linear_input *in, uint32_t t0,
                         uint32_t t1, uint32_t n_pairs, uint32_t n, float *y, size_t y_stride)
{
    for (; t0 + TOKENS <= t1; t0 += TOKENS)
        tile(w, g, wide, in, t0, TOKENS, n_pairs, n, y, y_stride);
    for (; t0 < t1; t0++)
        tile(w, g, wide, in, t0, 1, n_pairs, n, y, y_stride);
}

LINEAR_NOINLINE void group_wide(const linear_weights *w, const rows *g, const linear_input *in, uint32_t t0,
                                uint32_t t1, uint32_t n, float *y, size_t y_stride)
{
    group(w, g, true, in, t0, t1, PAIRS, n, y, y_stride);
}

LINEAR_NOINLINE void group_packed(const linear_weights *w, const rows *g, const linear_input *in, uint32_t t0,
                                  uint32_t t1, uint32_t n, float *y, size_t y_stride)
{
    if (g->n == ROWS)
        group(w, g, false, in, t0, t1, PAIRS, n, y, y_stride);
    else
        group(w, g, false, in, t0, t1, 1, n, y, y_stride);
}

LINEAR_NOINLINE void group_one(const linear_weights *w, const rows *g, const linear_input *in, const int32_t *eights,
                               uint32_t n, float *y)
{
    __m512 acc[PAIRS];
    const linear_qrow *a = in->qrows;
    if (g->n == ROWS) {
        row_lanes(g, in->q, a->zero_point, eights, PAIRS, acc);
        finish(w, g, a->scale, acc, PAIRS, n, y);
    } else {
        row_lanes(g, in->q, a->zero_point, eights, 1, acc);
        finish(w, g, a->scale, acc, 1, n, y);
    }
}

static void widen_rows(const rows *g, wide_step *out)
{
    for (uint32_t s = 0; s < g->steps; s++)
        for (uint32_t p = 0; p < PAIRS; p++) {
            const __m512i w = _mm512_sub_epi8(load_u4(g, p, s), _mm512_set1_epi8(8));
            _mm512_store_si512(out[s].w[p], w);
            _mm512_store_ps(out[s].sums[p], lane_sums(w));
        }
}

/* As f16_load_scale, sixteen at a time. */
LINEAR_INLINE __m512 round_scales(__m256i halves)
{
    const __m512i bits = _mm512_castps_si512(_mm512_cvtph_ps(halves)), exponent = _mm512_set1_epi32(0x7f800000);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff));
    const __mmask16 finite = _mm512_cmplt_epu32_mask(_mm512_and_si512(bits, exponent), exponent);
    return _mm512_castsi512_ps(_mm512_mask_and_epi32(bits, finite, up, _mm512_set1_epi32((int)0xffff0000u)));
}

/* Scales of n_rows rows, one float per step. */
static void widen_scales(const linear_weights *w, uint32_t n, uint32_t n_rows, float *out)
{
    const uint32_t per_block = w->block / STEP, n_steps = n_rows * (w->k / STEP);
    const unsigned char *scales = (const unsigned char *)w->block_scales + (size_t)n * (w->k / w->block) * 2;
    uint32_t s = 0;
    for (; per_block == 1 && s + 16 <= n_steps; s += 16)
        _mm512_storeu_ps(out + s, round_scales(_mm256_loadu_si256((const __m256i *)(const void *)(scales + 2 * s))));
    for (; s < n_steps; s++)
        out[s] = f16_load_scale(scales + 2 * (s / per_block));
}

void linear_qb4_avx512(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0,
                       uint32_t n1)
{
    float scales[ROWS * LINEAR_MAX_K / STEP];
    _Alignas(64) wide_step wide[WIDE_K / STEP];
    int32_t eights[WIDE_K / 4];
    const uint32_t block = linear_token_block(in->q_stride, TOKENS);
    const bool fits = w->k <= WIDE_K, one = in->m == 1 && fits && in->qrows->zero_point > -128;
    if (one)
        make_eights(in->q, in->qrows->zero_point, w->k, eights);
    for (uint32_t t0 = 0; t0 < in->m; t0 += block) {
        const uint32_t t1 = in->m - t0 < block ? in->m : t0 + block;
        rows g = {.stride = w->row_bytes, .scales = scales, .steps = w->k / STEP};
        for (uint32_t n = n0; n < n1; n += g.n) {
            g.n = n1 - n >= ROWS ? ROWS : n1 - n >= 2 ? 2 : 1;
            g.w = linear_row(w, n);
            widen_scales(w, n, g.n, scales);
            if (one) {
                group_one(w, &g, in, eights, n, y);
            } else if (fits && g.n == ROWS && t1 - t0 >= WIDE_MIN_TOKENS) {
                widen_rows(&g, wide);
                g.wide = wide;
                group_wide(w, &g, in, t0, t1, n, y, y_stride);
            } else {
                group_packed(w, &g, in, t0, t1, n, y, y_stride);
            }
        }
    }
}
