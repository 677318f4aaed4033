/* Linear layers on float activations: weights in f32, f16, int8 or int4, converted element by element into sixteen lanes. */
#include "cpu/c/linear_c.h"
#include "cpu/f16.h"
#include "cpu/lanes.h"

#include <string.h>

/* Widens elements i .. i + count - 1 of a row. */
typedef void (*widen)(const void *row, size_t i, size_t count, float *out);

static void widen_f32(const void *row, size_t i, size_t count, float *out)
{
    memcpy(out, (const unsigned char *)row + i * sizeof(float), count * sizeof(float));
}

static void widen_f16(const void *row, size_t i, size_t count, float *out)
{
    for (size_t j = 0; j < count; j++)
        out[j] = f16_load((const unsigned char *)row + 2 * (i + j));
}

static void widen_int8(const void *row, size_t i, size_t count, float *out)
{
    for (size_t j = 0; j < count; j++)
        out[j] = (float)((const int8_t *)row)[i + j];
}

static void widen_int4(const void *row, size_t i, size_t count, float *out)
{
    for (size_t j = 0; j < count; j++)
        out[j] = (float)linear_int4(row, i + j);
}

static float dot(const float *x, const void *row, uint32_t k, widen load)
{
    float lanes[LANES] = {0};
    for (size_t i = 0; i < k; i += LANES) {
        const size_t count = k - i < LANES ? k - i : LANES;
        float weights[LANES] = {0}, values[LANES] = {0};
        load(row, i, count, weights);
        memcpy(values, x + i, count * sizeof *x);
        for (size_t j = 0; j < LANES; j++)
            lanes[j] = fmaf(values[j], weights[j], lanes[j]);
    }
    return lanes_join(lanes);
}

static void run(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1,
                widen load)
{
    for (uint32_t n = n0; n < n1; n++) {
        const float scale = linear_scale(w, n), bias = w->bias ? w->bias[n] : 0.0f;
        for (uint32_t r = 0; r < in->m; r++) {
            float sum = dot(in->x + r * in->x_stride, linear_row(w, n), w->k, load);
            if (w->scales)
                sum *= scale;
            y[r * y_stride + n] = w->bias ? sum + bias : sum;
        }
    }
}

void linear_f32_c(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1)
{
    run(w, in, y, y_stride, n0, n1, widen_f32);
}

void linear_f16_c(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1)
{
    run(w, in, y, y_stride, n0, n1, widen_f16);
}

void linear_wo8_c(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1)
{
    run(w, in, y, y_stride, n0, n1, widen_int8);
}

void linear_wo4_c(const linear_weights *w, const linear_input *in, float *y, size_t y_stride, uint32_t n0, uint32_t n1)
{
    run(w, in, y, y_stride, n0, n1, widen_int4);
}

void linear_embedding_row_c(const linear_weights *w, uint32_t id, float *out)
{
    static const widen widens[LINEAR_KIND_COUNT] = {
        [LINEAR_F32] = widen_f32,  [LINEAR_F16] = widen_f16,  [LINEAR_WO8] = widen_int8, [LINEAR_WO4] = widen_int4,
        [LINEAR_QC8] = widen_int8, [LINEAR_QC4] = widen_int4, [LINEAR_QB4] = widen_int4,
    };
    widens[w->kind](linear_row(w, id), 0, w->k, out);
    if (w->kind == LINEAR_QB4) {
        const uint32_t n_blocks = w->k / w->block;
        for (uint32_t i = 0; i < w->k; i++)
            out[i] *= f16_load(w->block_scales + (size_t)id * n_blocks + i / w->block);
    } else if (w->scales) {
        const float scale = linear_scale(w, id);
        for (uint32_t i = 0; i < w->k; i++)
            out[i] *= scale;
    }
}
