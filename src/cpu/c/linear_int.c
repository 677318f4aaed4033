/* Linear layers on dynamically quantised activations: integer sums are exact, floats come in where docs/numerics.md says so. */
#include "cpu/c/linear_c.h"
#include "cpu/f16.h"
#include "cpu/lanes.h"

#include <float.h>
#include <string.h>

static float clamp_q(float v)
{
    return v < -128.0f ? -128.0f : v > 127.0f ? 127.0f : v;
}

void linear_quantize_row_c(const float *x, uint32_t k, int8_t *q, linear_qrow *row)
{
    float min = 0.0f, max = 0.0f;
    bool nan = false;
    for (uint32_t i = 0; i < k; i++) {
        min = x[i] < min ? x[i] : min;
        max = x[i] > max ? x[i] : max;
        nan |= x[i] != x[i];
    }
    const float scale = (max - min) / 255.0f;
    const float inv = 1.0f / scale;
    *row = (linear_qrow){.scale = 1.0f};
    memset(q, 0, linear_q_stride(k));
    if (nan || scale > FLT_MAX) {
        row->scale = NAN;
        return;
    }
    if (inv > FLT_MAX)
        return;
    const float zero_point = clamp_q(rintf(-128.0f - min * inv));
    row->scale = scale;
    row->zero_point = (int32_t)zero_point;
    for (uint32_t i = 0; i < k; i++) {
        q[i] = (int8_t)clamp_q(rintf(x[i] * inv) + zero_point);
        row->sum += q[i];
    }
}

int32_t linear_sum_row_c(const linear_weights *w, uint32_t row, bool *has_min)
{
    const void *p = linear_row(w, row);
    int32_t sum = 0;
    for (uint32_t i = 0; i < w->k; i++) {
        const int32_t value = w->kind == LINEAR_QC4 ? linear_int4(p, i) : ((const int8_t *)p)[i];
        sum += value;
        *has_min |= value == INT8_MIN;
    }
    return sum;
}

/* Both sums stay below 2^31 for k <= LINEAR_MAX_K, and so does the difference: |q - zp| <= 255, |w| <= 128. */
static int32_t dot_int8(const int8_t *q, const void *row, uint32_t k)
{
    const int8_t *weights = row;
    int32_t sum = 0;
    for (uint32_t i = 0; i < k; i++)
        sum += q[i] * weights[i];
    return sum;
}

static int32_t dot_int4(const int8_t *q, const void *row, uint32_t k)
{
    int32_t sum = 0;
    for (uint32_t i = 0; i < k; i++)
        sum += q[i] * linear_int4(row, i);
    return sum;
}

static void run(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1,
                int32_t (*dot)(const int8_t *q, const void *row, uint32_t k))
{
    int32_t local[LINEAR_SUM_CHUNK];
    linear_sums sums = {0};
    for (uint32_t n = n0; n < n1; n++) {
        if (n == n0 || n % LINEAR_SUM_CHUNK == 0)
            sums = linear_chunk_sums(w, n / LINEAR_SUM_CHUNK, linear_sum_row_c, local);
        for (uint32_t r = 0; r < in->m; r++) {
            const linear_qrow *a = &in->qrows[r];
            const int32_t acc = (int32_t)((int64_t)dot(in->q + r * in->q_stride, linear_row(w, n), w->k) -
                                          (int64_t)a->zero_point * sums.sum[n % LINEAR_SUM_CHUNK]);
            const float value = (float)acc * a->scale * linear_scale(w, n);
            y[r * y_stride + n] = w->bias ? value + w->bias[n] : value;
        }
    }
}

void linear_qc8_c(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1)
{
    run(w, in, y, y_stride, n0, n1, dot_int8);
}

void linear_qc4_c(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1)
{
    run(w, in, y, y_stride, n0, n1, dot_int4);
}

/* One output of the blockwise kind before the activation's scale. */
static float dot_blocks(const linear_weights *w, uint32_t n, const int8_t *q, int32_t zero_point)
{
    const void *row = linear_row(w, n);
    const uint16_t *scales = w->block_scales + (size_t)n * (w->k / w->block);
    float lanes[8] = {0};
    for (uint32_t i = 0; i < w->k; i += 32) {
        const float scale = f16_load_scale(scales + i / w->block);
        for (uint32_t j = 0; j < 8; j++) {
            int32_t sum = 0;
            for (uint32_t e = i + 4 * j; e < i + 4 * j + 4; e++)
                sum += (q[e] - zero_point) * linear_int4(row, e);
            lanes[j] = fmaf((float)sum, scale, lanes[j]);
        }
    }
    return lanes_join8(lanes);
}

void linear_qb4_c(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1)
{
    for (uint32_t n = n0; n < n1; n++)
        for (uint32_t r = 0; r < in->m; r++) {
            const linear_qrow *a = &in->qrows[r];
            const float value = dot_blocks(w, n, in->q + r * in->q_stride, a->zero_point) * a->scale;
            y[r * y_stride + n] = w->bias ? value + w->bias[n] : value;
        }
}
