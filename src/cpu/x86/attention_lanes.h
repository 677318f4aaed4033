/* Attention over the sixteen lanes of lanes16_*.h, eight queries at a time: while a block's keys and values are in cache, all of the tile's
 * queries (those of a group, and of neighbouring rows) meet them. Included once per level, which defines before:
 *   ATT_NAME(what)     names of the three kernels
 *   ATT_QUERIES, ATT_KEYS   the tile of scores in registers; both divide 8
 *   ATT_STRIPS         strips of 16 values in registers for four queries */
#include "cpu/c/attention_c.h"
#include "cpu/lanes.h"
#include "cpu/mathf.h"
#include "cpu/x86/lanes_avx2.h"
#include "cpu/x86/mathf_avx2.h"

#include <stdbool.h>

#if defined(__GNUC__)
#define ATT_INLINE static inline __attribute__((always_inline))
#else
#define ATT_INLINE static inline
#endif

enum { TILE = ATTENTION_TILE, VALUE_QUERIES = 4 };

/* Queries 0 .. n-1 of a tile; the rest repeat the last one, so that scores may be made for whole register tiles. */
typedef struct tile {
    uint32_t n;
    uint32_t row[TILE];
    const float *q[TILE];
    attention_span span[TILE]; /* in the current block */
    float *weights[TILE];      /* [64]: scores, then their exponentials, 0 where not visible */
    float *part[TILE];         /* [value_dim rounded up to 16]: o of the current block */
    float *sum[TILE];          /* the same: o so far */
    float part_max[TILE], part_sum[TILE];
    float m[TILE], l[TILE];
} tile;

static size_t padded(const attention_shape *s)
{
    return ((size_t)s->value_dim + 15) & ~(size_t)15;
}

static void tile_init(tile *t, const attention_call *c, uint32_t kv, uint32_t row0, uint32_t first, uint32_t n,
                      void *scratch)
{
    float *p = (float *)(void *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63);
    const size_t strip = padded(&c->shape);
    t->n = n;
    for (uint32_t i = 0; i < TILE; i++) {
        const uint32_t query = first + (i < n ? i : n - 1);
        t->row[i] = row0 + query / c->shape.group;
        t->q[i] = attention_query(c, kv, t->row[i], query % c->shape.group);
        t->weights[i] = p;
        t->part[i] = p + ATTENTION_BLOCK;
        t->sum[i] = t->part[i] + strip;
        p = t->sum[i] + strip;
    }
}

/* q . k for ATT_QUERIES queries and ATT_KEYS keys. */
ATT_INLINE void score_tile(const float *const q[ATT_QUERIES], const float *const key[ATT_KEYS], uint32_t dim,
                           float *const out[ATT_QUERIES], uint32_t first)
{
    lanes acc[ATT_QUERIES * ATT_KEYS];
    for (int i = 0; i < ATT_QUERIES * ATT_KEYS; i++)
        acc[i] = lanes_zero();
    uint32_t d = 0;
    for (; d + LANES <= dim; d += LANES) {
        lanes k[ATT_KEYS];
        for (int j = 0; j < ATT_KEYS; j++)
            k[j] = lanes_load(key[j] + d);
        for (int i = 0; i < ATT_QUERIES; i++) {
            const lanes v = lanes_load(q[i] + d);
            for (int j = 0; j < ATT_KEYS; j++)
                acc[i * ATT_KEYS + j] = lanes_fma(v, k[j], acc[i * ATT_KEYS + j]);
        }
    }
    if (d < dim)
        for (int i = 0; i < ATT_QUERIES; i++)
            for (int j = 0; j < ATT_KEYS; j++)
                acc[i * ATT_KEYS + j] = lanes_fma(lanes_load_part(q[i] + d, dim - d),
                                                  lanes_load_part(key[j] + d, dim - d), acc[i * ATT_KEYS + j]);
    float sums[ATT_QUERIES * ATT_KEYS];
    for (int i = 0; i < ATT_QUERIES * ATT_KEYS; i += 4)
        _mm_storeu_ps(sums + i, lanes_join8x4_avx2(lanes_halves(acc[i]), lanes_halves(acc[i + 1]),
                                                   lanes_halves(acc[i + 2]), lanes_halves(acc[i + 3])));
    for (int i = 0; i < ATT_QUERIES; i++)
        memcpy(out[i] + first, sums + i * ATT_KEYS, ATT_KEYS * sizeof *sums);
}

/* Scores of queries i0 .. i0 + ATT_QUERIES-1 at the positions that any of them sees; others are not read. */
static void score_queries(tile *t, uint32_t i0, const float *keys, uint32_t dim)
{
    attention_span any = {ATTENTION_BLOCK, 0};
    for (uint32_t i = i0; i < i0 + ATT_QUERIES; i++)
        if (t->span[i].lo < t->span[i].hi) {
            any.lo = t->span[i].lo < any.lo ? t->span[i].lo : any.lo;
            any.hi = t->span[i].hi > any.hi ? t->span[i].hi : any.hi;
        }
    for (uint32_t i = any.lo & ~(uint32_t)(ATT_KEYS - 1); i < any.hi; i += ATT_KEYS) {
        const float *key[ATT_KEYS];
        for (uint32_t j = 0; j < ATT_KEYS; j++) {
            const uint32_t at = i + j < any.lo ? any.lo : i + j >= any.hi ? any.hi - 1 : i + j;
            key[j] = keys + (size_t)at * dim;
        }
        score_tile((const float *const *)t->q + i0, key, dim, t->weights + i0, i);
    }
}

/* Ones where lo <= i + lane < hi. */
static __m256 visible(attention_span s, uint32_t i)
{
    const __m256i at = _mm256_add_epi32(_mm256_set1_epi32((int)i), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    const __m256i low = _mm256_cmpgt_epi32(at, _mm256_set1_epi32((int)s.lo - 1));
    return _mm256_castsi256_ps(_mm256_and_si256(low, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)s.hi), at)));
}

/* Scales a query's scores, takes their maximum, exponentials and the sum of those. */
static void weigh(const attention_shape *s, float *weights, attention_span span, float *max_out, float *sum_out)
{
    const __m256 scale = _mm256_set1_ps(s->scale), cap = _mm256_set1_ps(s->soft_cap), none = _mm256_set1_ps(-INFINITY);
    __m256 max = none;
    for (uint32_t i = 0; i < ATTENTION_BLOCK; i += 8) {
        if (i + 8 <= span.lo || i >= span.hi)
            continue;
        __m256 v = _mm256_mul_ps(_mm256_loadu_ps(weights + i), scale);
        if (s->soft_cap != 0.0f)
            v = _mm256_mul_ps(mathf_tanh_avx2(_mm256_div_ps(v, cap)), cap);
        _mm256_storeu_ps(weights + i, v);
        max = _mm256_max_ps(max, _mm256_blendv_ps(none, v, visible(span, i)));
    }
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(max), _mm256_extractf128_ps(max, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    *max_out = _mm_cvtss_f32(_mm_max_ss(m, _mm_shuffle_ps(m, m, 1)));
    const __m256 subtract = _mm256_set1_ps(*max_out);
    __m256 lo = _mm256_setzero_ps(), hi = lo;
    for (uint32_t i = 0; i < ATTENTION_BLOCK; i += 8) {
        __m256 e = _mm256_setzero_ps();
        if (i + 8 > span.lo && i < span.hi)
            e = _mm256_and_ps(mathf_exp_avx2(_mm256_sub_ps(_mm256_loadu_ps(weights + i), subtract)), visible(span, i));
        _mm256_storeu_ps(weights + i, e);
        if (i % 16)
            hi = _mm256_add_ps(hi, e);
        else
            lo = _mm256_add_ps(lo, e);
    }
    *sum_out = lanes_join_avx2(lo, hi);
}

/* o += e * v over positions lo .. hi-1 for n queries, strips of 16 values from d on. */
ATT_INLINE void value_tile(tile *t, uint32_t i0, uint32_t n, uint32_t strips, const float *values, uint32_t dim,
                           uint32_t d, attention_span span, bool partial)
{
    lanes acc[VALUE_QUERIES][ATT_STRIPS];
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < strips; j++)
            acc[i][j] = lanes_load(t->part[i0 + i] + d + 16 * j);
    for (uint32_t p = span.lo; p < span.hi; p++) {
        const float *value = values + (size_t)p * dim + d;
        lanes v[ATT_STRIPS];
        for (uint32_t j = 0; j < strips; j++)
            v[j] = partial ? lanes_load_part(value, dim - d) : lanes_load(value + 16 * j);
        for (uint32_t i = 0; i < n; i++) {
            const lanes e = lanes_set1(t->weights[i0 + i][p]);
            for (uint32_t j = 0; j < strips; j++)
                acc[i][j] = lanes_fma(e, v[j], acc[i][j]);
        }
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < strips; j++)
            lanes_store(t->part[i0 + i] + d + 16 * j, acc[i][j]);
}

ATT_INLINE void value_span(tile *t, uint32_t i0, uint32_t n, const float *values, uint32_t dim, attention_span span)
{
    if (span.lo >= span.hi)
        return;
    uint32_t d = 0;
    for (; d + 16 * ATT_STRIPS <= dim; d += 16 * ATT_STRIPS)
        value_tile(t, i0, n, ATT_STRIPS, values, dim, d, span, false);
    for (; d + 16 <= dim; d += 16)
        value_tile(t, i0, n, 1, values, dim, d, span, false);
    if (d < dim)
        value_tile(t, i0, n, 1, values, dim, d, span, true);
}

/* Value sums of up to VALUE_QUERIES queries: positions that all see are taken together, those before and after one query at a time. */
static void value_queries(tile *t, uint32_t i0, uint32_t n, const float *values, uint32_t dim)
{
    attention_span all = t->span[i0];
    for (uint32_t i = i0 + 1; i < i0 + n; i++) {
        all.lo = t->span[i].lo > all.lo ? t->span[i].lo : all.lo;
        all.hi = t->span[i].hi < all.hi ? t->span[i].hi : all.hi;
    }
    if (n < VALUE_QUERIES || all.lo >= all.hi) {
        for (uint32_t i = i0; i < i0 + n; i++)
            value_span(t, i, 1, values, dim, t->span[i]);
        return;
    }
    for (uint32_t i = i0; i < i0 + n; i++)
        value_span(t, i, 1, values, dim, (attention_span){t->span[i].lo, all.lo});
    value_span(t, i0, VALUE_QUERIES, values, dim, all);
    for (uint32_t i = i0; i < i0 + n; i++)
        value_span(t, i, 1, values, dim, (attention_span){all.hi, t->span[i].hi});
}

/* Parts of block b for the tile's queries; those that do not see the block have an empty span. */
static void tile_block(tile *t, const attention_call *c, uint32_t kv, uint32_t b)
{
    const attention_shape *s = &c->shape;
    for (uint32_t i = 0; i < TILE; i++)
        t->span[i] = attention_visible(c, t->row[i], b);
    for (uint32_t i = 0; i < t->n; i += ATT_QUERIES)
        score_queries(t, i, attention_keys(c, kv, b), s->head_dim);
    for (uint32_t i = 0; i < t->n; i++) {
        memset(t->part[i], 0, padded(s) * sizeof(float));
        if (t->span[i].lo < t->span[i].hi)
            weigh(s, t->weights[i], t->span[i], &t->part_max[i], &t->part_sum[i]);
    }
    for (uint32_t i = 0; i < t->n; i += VALUE_QUERIES)
        value_queries(t, i, t->n - i < VALUE_QUERIES ? t->n - i : VALUE_QUERIES, attention_values(c, kv, b),
                      s->value_dim);
}

/* m, l and o joined with the next block's; o and part have n floats, both padded to 16 or neither. */
static void join_part(float *m, float *l, float *o, float part_max, float part_sum, const float *part, size_t n)
{
    const float max = part_max > *m ? part_max : *m;
    const float a = mathf_exp(*m - max), b = mathf_exp(part_max - max);
    *m = max;
    *l = fmaf(part_sum, b, *l * a);
    size_t d = 0;
    for (; d + 16 <= n; d += 16)
        lanes_store(o + d, lanes_fma(lanes_load(part + d), lanes_set1(b), lanes_mul(lanes_load(o + d), lanes_set1(a))));
    for (; d < n; d++)
        o[d] = fmaf(part[d], b, o[d] * a);
}

static void divide(float *out, const float *o, float l, size_t n)
{
    for (size_t d = 0; d < n; d++)
        out[d] = o[d] / l;
}

static void tile_rows(const attention_call *c, uint32_t kv, uint32_t r0, uint32_t first, uint32_t n, void *scratch)
{
    const size_t strip = padded(&c->shape);
    tile t;
    tile_init(&t, c, kv, r0, first, n, scratch);
    const uint32_t last = (c->position + t.row[n - 1]) / ATTENTION_BLOCK;
    for (uint32_t b = attention_first_block(&c->shape, c->position + t.row[0]); b <= last; b++) {
        tile_block(&t, c, kv, b);
        for (uint32_t i = 0; i < n; i++) {
            if (t.span[i].lo >= t.span[i].hi)
                continue;
            if (b == attention_first_block(&c->shape, c->position + t.row[i])) {
                t.m[i] = t.part_max[i];
                t.l[i] = t.part_sum[i];
                memcpy(t.sum[i], t.part[i], strip * sizeof(float));
            } else {
                join_part(&t.m[i], &t.l[i], t.sum[i], t.part_max[i], t.part_sum[i], t.part[i], strip);
            }
        }
    }
    for (uint32_t i = 0; i < n; i++)
        divide(attention_output(c, kv, t.row[i], (first + i) % c->shape.group), t.sum[i], t.l[i], c->shape.value_dim);
}

void ATT_NAME(rows)(const attention_call *c, uint32_t kv, uint32_t r0, uint32_t r1, void *scratch)
{
    const uint32_t n = (r1 - r0) * c->shape.group;
    for (uint32_t i = 0; i < n; i += TILE)
        tile_rows(c, kv, r0, i, n - i < TILE ? n - i : TILE, scratch);
}

void ATT_NAME(block)(const attention_call *c, uint32_t kv, uint32_t row, uint32_t b, float *part, void *scratch)
{
    const size_t part_floats = 2 + (size_t)c->shape.value_dim;
    for (uint32_t g = 0; g < c->shape.group; g += TILE) {
        tile t;
        tile_init(&t, c, kv, row, g, c->shape.group - g < TILE ? c->shape.group - g : TILE, scratch);
        tile_block(&t, c, kv, b);
        for (uint32_t i = 0; i < t.n; i++) {
            float *out = part + (g + i) * part_floats;
            out[0] = t.part_max[i];
            out[1] = t.part_sum[i];
            memcpy(out + 2, t.part[i], c->shape.value_dim * sizeof *out);
        }
    }
}

void ATT_NAME(join)(const attention_call *c, uint32_t kv, uint32_t row, uint32_t n_blocks, const float *parts)
{
    const size_t dim = c->shape.value_dim, stride = c->shape.group * (2 + dim);
    for (uint32_t g = 0; g < c->shape.group; g++) {
        float *out = attention_output(c, kv, row, g);
        const float *part = parts + g * (2 + dim);
        float m = part[0], l = part[1];
        memcpy(out, part + 2, dim * sizeof *out);
        for (uint32_t b = 1; b < n_blocks; b++) {
            part += stride;
            join_part(&m, &l, out, part[0], part[1], part + 2, dim);
        }
        divide(out, out, l, dim);
    }
}
