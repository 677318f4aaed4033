/* Around the quantised linears on AVX2: activations of a row to int8, row sums of weights, rows of embedding tables. */
#include "cpu/c/linear_c.h"
#include "cpu/x86/lanes_avx2.h"
#include "cpu/x86/linear_x86.h"

#include <float.h>
#include <math.h>

typedef struct range {
    float min, max;
    bool nan;
} range;

static range find_range(const float *x, uint32_t k)
{
    __m256 min = _mm256_setzero_ps(), max = min, nan = min;
    for (uint32_t i = 0; i < k; i += 8) {
        const __m256 v = k - i < 8 ? lanes_load_part_avx2(x + i, k - i) : _mm256_loadu_ps(x + i);
        min = _mm256_min_ps(v, min);
        max = _mm256_max_ps(v, max);
        nan = _mm256_or_ps(nan, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    }
    float lo[8], hi[8];
    range r = {0.0f, 0.0f, _mm256_movemask_ps(nan) != 0};
    _mm256_storeu_ps(lo, min);
    _mm256_storeu_ps(hi, max);
    for (int i = 0; i < 8; i++) {
        r.min = lo[i] < r.min ? lo[i] : r.min;
        r.max = hi[i] > r.max ? hi[i] : r.max;
    }
    return r;
}

static __m256i quantize8(__m256 v, __m256 inv, __m256 zero_point)
{
    const __m256 rounded = _mm256_round_ps(_mm256_mul_ps(v, inv), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256 q = _mm256_add_ps(rounded, zero_point);
    return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(q, _mm256_set1_ps(-128.0f)), _mm256_set1_ps(127.0f)));
}

static int32_t sum8(__m256i v)
{
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

static void quantize_values(const float *x, uint32_t k, float inv, float zero_point, int8_t *q, linear_qrow *row)
{
    const __m256 inv8 = _mm256_set1_ps(inv), zero8 = _mm256_set1_ps(zero_point);
    __m256i sum = _mm256_setzero_si256();
    for (uint32_t i = 0; i < k; i += 8) {
        const uint32_t count = k - i < 8 ? k - i : 8;
        const __m256 v = count < 8 ? lanes_load_part_avx2(x + i, count) : _mm256_loadu_ps(x + i);
        const __m256i q8 = _mm256_and_si256(quantize8(v, inv8, zero8), lanes_mask_avx2(count));
        sum = _mm256_add_epi32(sum, q8);
        __m128i bytes = _mm_packs_epi32(_mm256_castsi256_si128(q8), _mm256_extracti128_si256(q8, 1));
        bytes = _mm_packs_epi16(bytes, bytes);
        _mm_storel_epi64((__m128i *)(void *)(q + i), bytes);
    }
    row->sum = sum8(sum);
}

void linear_quantize_row_avx2(const float *x, uint32_t k, int8_t *q, linear_qrow *row)
{
    const range r = find_range(x, k);
    const float scale = (r.max - r.min) / 255.0f;
    const float inv = 1.0f / scale;
    *row = (linear_qrow){.scale = 1.0f};
    if (r.nan || scale > FLT_MAX || inv > FLT_MAX) {
        if (r.nan || scale > FLT_MAX)
            row->scale = NAN;
        memset(q, 0, linear_q_stride(k));
        return;
    }
    const uint32_t whole = k & ~63u;
    memset(q + whole, 0, linear_q_stride(k) - whole);
    float zero_point = rintf(-128.0f - r.min * inv);
    zero_point = zero_point < -128.0f ? -128.0f : zero_point > 127.0f ? 127.0f : zero_point;
    row->scale = scale;
    row->zero_point = (int32_t)zero_point;
    quantize_values(x, k, inv, zero_point, q, row);
}

/* Sums of bytes come eight at a time, unsigned: int8 plus 128, nibbles plus 8. */
static int32_t sum_int8(const int8_t *row, uint32_t k, bool *has_min)
{
    const __m256i bias = _mm256_set1_epi8((char)-128);
    __m256i sum = _mm256_setzero_si256(), found = sum;
    uint32_t i = 0;
    for (; i + 32 <= k; i += 32) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(row + i));
        found = _mm256_or_si256(found, _mm256_cmpeq_epi8(v, bias));
        sum = _mm256_add_epi32(sum, _mm256_sad_epu8(_mm256_xor_si256(v, bias), _mm256_setzero_si256()));
    }
    int32_t total = sum8(sum) - 128 * (int32_t)i;
    *has_min |= _mm256_movemask_epi8(found) != 0;
    for (; i < k; i++) {
        total += row[i];
        *has_min |= row[i] == INT8_MIN;
    }
    return total;
}

static int32_t sum_int4(const unsigned char *row, uint32_t k)
{
    const __m256i low = _mm256_set1_epi8(15);
    __m256i sum = _mm256_setzero_si256();
    uint32_t i = 0;
    for (; i + 64 <= k; i += 64) {
        const __m256i v = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)(row + i / 2)),
                                           _mm256_set1_epi8((char)0x88));
        const __m256i both = _mm256_add_epi8(_mm256_and_si256(v, low), _mm256_and_si256(_mm256_srli_epi16(v, 4), low));
        sum = _mm256_add_epi32(sum, _mm256_sad_epu8(both, _mm256_setzero_si256()));
    }
    int32_t total = sum8(sum) - 8 * (int32_t)i;
    for (; i < k; i++)
        total += linear_int4(row, i);
    return total;
}

int32_t linear_sum_row_avx2(const linear_weights *w, uint32_t row, bool *has_min)
{
    const void *p = linear_row(w, row);
    return w->kind == LINEAR_QC4 ? sum_int4(p, w->k) : sum_int8(p, w->k, has_min);
}
