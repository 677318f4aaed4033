/* Around the quantised linears on NEON: activations of a row to int8, row sums of weights. */
#include "cpu/arm/lanes_neon.h"
#include "cpu/arm/linear_arm.h"
#include "cpu/c/linear_c.h"

#include <float.h>
#include <math.h>

typedef struct range {
    float min, max;
    bool nan;
} range;

/* With a NaN min and max do not matter. */
static range find_range(const float *x, uint32_t k)
{
    float32x4_t min = vdupq_n_f32(0.0f), max = min;
    uint32x4_t number = vdupq_n_u32(0xffffffffu);
    for (uint32_t i = 0; i < k; i += 4) {
        const float32x4_t v = load_n(x + i, k - i);
        min = vminq_f32(v, min);
        max = vmaxq_f32(v, max);
        number = vandq_u32(number, vceqq_f32(v, v));
    }
    return (range){vminvq_f32(min), vmaxvq_f32(max), vminvq_u32(number) == 0};
}

static int32x4_t quantize4(float32x4_t v, float32x4_t inv, float32x4_t zero_point)
{
    const float32x4_t q = vaddq_f32(vrndnq_f32(vmulq_f32(v, inv)), zero_point);
    return vcvtq_s32_f32(vminq_f32(vmaxq_f32(q, vdupq_n_f32(-128.0f)), vdupq_n_f32(127.0f)));
}

static void quantize_values(const float *x, uint32_t k, float inv, float zero_point, int8_t *q, linear_qrow *row)
{
    const float32x4_t inv4 = vdupq_n_f32(inv), zero4 = vdupq_n_f32(zero_point);
    int32x4_t sum = vdupq_n_s32(0);
    uint32_t i = 0;
    for (; i + 8 <= k; i += 8) {
        const int32x4_t a = quantize4(vld1q_f32(x + i), inv4, zero4), b = quantize4(vld1q_f32(x + i + 4), inv4, zero4);
        sum = vaddq_s32(sum, vaddq_s32(a, b));
        vst1_s8(q + i, vmovn_s16(vcombine_s16(vmovn_s32(a), vmovn_s32(b))));
    }
    row->sum = vaddvq_s32(sum);
    for (; i < k; i += 4) {
        int32_t values[4];
        vst1q_s32(values, quantize4(load_n(x + i, k - i), inv4, zero4));
        for (uint32_t j = 0; j < 4 && i + j < k; j++) {
            q[i + j] = (int8_t)values[j];
            row->sum += values[j];
        }
    }
}

void linear_quantize_row_neon(const float *x, uint32_t k, int8_t *q, linear_qrow *row)
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

int32_t linear_sum_row_neon(const linear_weights *w, uint32_t row, bool *has_min)
{
    const int8_t *p = linear_row(w, row);
    int32x4_t sum = vdupq_n_s32(0);
    int32_t total;
    uint32_t i = 0;
    if (w->kind == LINEAR_QC4) {
        for (; i + 32 <= w->k; i += 32) {
            const int8x16x2_t v = unpack_int4(p + i / 2);
            sum = vpadalq_s16(sum, vpaddlq_s8(vaddq_s8(v.val[0], v.val[1])));
        }
        for (total = vaddvq_s32(sum); i < w->k; i++)
            total += linear_int4(p, i);
        return total;
    }
    int8x16_t min = vdupq_n_s8(0);
    for (; i + 16 <= w->k; i += 16) {
        const int8x16_t v = vld1q_s8(p + i);
        min = vminq_s8(min, v);
        sum = vpadalq_s16(sum, vpaddlq_s8(v));
    }
    *has_min |= vminvq_s8(min) == INT8_MIN;
    for (total = vaddvq_s32(sum); i < w->k; i++) {
        total += p[i];
        *has_min |= p[i] == INT8_MIN;
    }
    return total;
}
