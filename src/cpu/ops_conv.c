/* Convolutions, pools and image resizing on [batch, height, width, channels]. An item is one pixel of the output. */
#include "cpu/mathf.h"
#include "cpu/ops_impl.h"

#include <string.h>

enum { PATCHES = 16 }; /* pixels gathered for one call of the linear kernel */

typedef struct pixel {
    uint64_t batch;
    int64_t y, x; /* of the filter's first tap in the input; may be in the padding */
} pixel;

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static uint64_t items_pixels(const op_call *c)
{
    const graph_tensor *y = c->outputs[0].tensor;
    return op_product(y, 0, 3);
}

static pixel locate(const op_call *c, uint64_t item)
{
    const graph_tensor *y = c->outputs[0].tensor;
    const graph_attrs *a = &c->node->a;
    const uint64_t h = (uint64_t)y->dims[1], w = (uint64_t)y->dims[2];
    return (pixel){.batch = item / (h * w),
                   .y = (int64_t)(item / w % h) * a->stride_h - a->pad_top,
                   .x = (int64_t)(item % w) * a->stride_w - a->pad_left};
}

/* The input's channels under tap (i, j), NULL in the padding. */
static const float *tap(const op_call *c, const float *in, pixel p, int32_t i, int32_t j)
{
    const graph_tensor *x = c->inputs[0].tensor;
    const int64_t y = p.y + (int64_t)i * c->node->a.dilation_h, column = p.x + (int64_t)j * c->node->a.dilation_w;
    if (y < 0 || y >= x->dims[1] || column < 0 || column >= x->dims[2])
        return NULL;
    return in + (((int64_t)p.batch * x->dims[1] + y) * x->dims[2] + column) * x->dims[3];
}

static lithe_status check_images(const op_call *c, lithe_error *err)
{
    const graph_tensor *x = c->inputs[0].tensor, *y = c->outputs[0].tensor;
    if (x->rank != 4 || y->rank != 4 || x->elements == 0)
        return op_refuse(c, err, "images must have rank 4");
    if ((c->node->op == OP_CONV_2D || c->node->op == OP_DEPTHWISE_CONV_2D) &&
        (!op_in_tensor(c, 1) || c->inputs[1].tensor->rank != 4))
        return op_refuse(c, err, "weights must have rank 4");
    if (c->node->op == OP_CONV_2D && c->inputs[1].tensor->dims[3] != x->dims[3])
        return op_refuse(c, err, "grouped convolution");
    return op_all_f32(c, err);
}

static uint64_t patch_size(const op_call *c)
{
    const graph_tensor *w = c->inputs[1].tensor;
    return op_product(w, 1, 4);
}

static double cost_conv(const op_call *c)
{
    return (double)c->inputs[1].tensor->elements * 0.25;
}
static size_t scratch_conv(const op_call *c)
{
    return PATCHES * (size_t)patch_size(c) * sizeof(float);
}

/* Everything under the filter, zeros in the padding, in the order of the weights. */
static void gather_patch(const op_call *c, const float *in, pixel p, float *patch)
{
    const size_t channels = (size_t)c->inputs[0].tensor->dims[3];
    for (int32_t i = 0; i < c->node->a.filter_h; i++)
        for (int32_t j = 0; j < c->node->a.filter_w; j++, patch += channels) {
            const float *from = tap(c, in, p, i, j);
            if (from)
                memcpy(patch, from, channels * sizeof *patch);
            else
                memset(patch, 0, channels * sizeof *patch);
        }
}

/* A linear layer over patches. */
static void run_conv(const op_call *c, op_iter *it, void *scratch)
{
    const uint64_t k = patch_size(c), n = op_last_dim(c->outputs[0].tensor);
    float *patches = scratch; /* [PATCHES][k] */
    while (op_next(it)) {
        const float *in = op_input(c, 0, it->row);
        float *out = op_output(c, 0, it->row);
        const linear_weights w = {.kind = LINEAR_F32,
                                  .n = (uint32_t)n,
                                  .k = (uint32_t)k,
                                  .w = op_input(c, 1, it->row),
                                  .row_bytes = k * sizeof(float),
                                  .bias = op_in_tensor(c, 2) ? op_input(c, 2, it->row) : NULL};
        for (uint64_t i = it->i0; i < it->i1; i += PATCHES) {
            const uint64_t count = it->i1 - i < PATCHES ? it->i1 - i : PATCHES;
            for (uint64_t j = 0; j < count; j++)
                gather_patch(c, in, locate(c, i + j), patches + j * k);
            const linear_input input = {.m = (uint32_t)count, .x = patches, .x_stride = k};
            c->kernels->linear.run[LINEAR_F32](&w, &input, out + i * n, n, 0, (uint32_t)n);
        }
        op_activate(c, out + it->i0 * n, (it->i1 - it->i0) * n);
    }
}

const op_kernel op_kernel_conv = {check_images, items_pixels, cost_conv, run_conv, scratch_conv};

static double cost_depthwise(const op_call *c)
{
    return 1 + (double)c->inputs[1].tensor->elements;
}

/* Taps in row-major order, fused, those in the padding left out; then the bias. */
static void depthwise_pixel(const op_call *c, const float *in, const float *weights, const float *bias, pixel p,
                            float *out)
{
    const vec_kernels *v = &c->kernels->vec;
    const size_t channels = (size_t)c->inputs[0].tensor->dims[3], n = (size_t)c->outputs[0].tensor->dims[3];
    memset(out, 0, n * sizeof *out);
    for (int32_t i = 0; i < c->node->a.filter_h; i++)
        for (int32_t j = 0; j < c->node->a.filter_w; j++, weights += n) {
            const float *from = tap(c, in, p, i, j);
            if (from && n == channels)
                v->mul_add(from, weights, out, n);
            else if (from)
                for (size_t k = 0; k < n; k++)
                    out[k] = fmaf(from[k / (n / channels)], weights[k], out[k]);
        }
    if (bias)
        v->binary[VEC_ADD](out, bias, out, n, 0, 0);
    op_activate(c, out, n);
}

static void run_depthwise(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const uint64_t n = op_last_dim(c->outputs[0].tensor);
    while (op_next(it)) {
        const float *in = op_input(c, 0, it->row), *w = op_input(c, 1, it->row);
        const float *bias = op_in_tensor(c, 2) ? op_input(c, 2, it->row) : NULL;
        float *out = op_output(c, 0, it->row);
        for (uint64_t i = it->i0; i < it->i1; i++)
            depthwise_pixel(c, in, w, bias, locate(c, i), out + i * n);
    }
}

const op_kernel op_kernel_depthwise = {check_images, items_pixels, cost_depthwise, run_depthwise, NULL};

static double cost_pool(const op_call *c)
{
    return (double)c->node->a.filter_h * c->node->a.filter_w * (double)op_last_dim(c->outputs[0].tensor);
}

/* Taps inside the input in row-major order; the mean is their sum over their number. A filter may be far larger than the input (only
 * a file's word for it, no weights): taps in the padding are not walked through. */
static void pool_pixel(const op_call *c, const float *in, pixel p, bool average, float *out, size_t n)
{
    const vec_kernels *v = &c->kernels->vec;
    const graph_tensor *x = c->inputs[0].tensor;
    const int64_t i0 = p.y < 0 ? -p.y : 0, i1 = min_i64(c->node->a.filter_h, x->dims[1] - p.y);
    const int64_t j0 = p.x < 0 ? -p.x : 0, j1 = min_i64(c->node->a.filter_w, x->dims[2] - p.x);
    uint64_t count = 0;
    for (int64_t i = i0; i < i1; i++)
        for (int64_t j = j0; j < j1; j++) {
            const float *from = tap(c, in, p, (int32_t)i, (int32_t)j);
            if (count++ == 0)
                memcpy(out, from, n * sizeof *out);
            else
                v->binary[average ? VEC_ADD : VEC_MAX](out, from, out, n, 0, 0);
        }
    const float divisor = (float)count;
    if (count == 0)
        memset(out, 0, n * sizeof *out);
    else if (average)
        v->binary[VEC_DIV](out, &divisor, out, n, 0, 1);
    op_activate(c, out, n);
}

static void run_pool(const op_call *c, op_iter *it, bool average)
{
    const uint64_t n = op_last_dim(c->outputs[0].tensor);
    while (op_next(it)) {
        const float *in = op_input(c, 0, it->row);
        float *out = op_output(c, 0, it->row);
        for (uint64_t i = it->i0; i < it->i1; i++)
            pool_pixel(c, in, locate(c, i), average, out + i * n, n);
    }
}

static void run_average_pool(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    run_pool(c, it, true);
}

static void run_max_pool(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    run_pool(c, it, false);
}

const op_kernel op_kernel_average_pool = {check_images, items_pixels, cost_pool, run_average_pool, NULL};
const op_kernel op_kernel_max_pool = {check_images, items_pixels, cost_pool, run_max_pool, NULL};

/* Where output coordinate `at` lies between two input coordinates. */
typedef struct between {
    int64_t low, high;
    float share; /* of high */
} between;

static between interpolate(const graph_attrs *a, uint64_t at, int32_t in, int32_t out)
{
    const float scale = a->align_corners && out > 1 ? (float)(in - 1) / (float)(out - 1) : (float)in / (float)out;
    const float v = a->half_pixel_centers ? ((float)at + 0.5f) * scale - 0.5f : (float)at * scale;
    const int64_t low = (int64_t)floorf(v), high = (int64_t)ceilf(v);
    const between b = {low < 0 ? 0 : low > in - 1 ? in - 1 : low, high < 0 ? 0 : high > in - 1 ? in - 1 : high, 0};
    return (between){b.low, b.high, v - (float)b.low};
}

static double cost_resize(const op_call *c)
{
    return 8 * op_cost_row(c);
}

static void run_resize(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_tensor *x = c->inputs[0].tensor, *y = c->outputs[0].tensor;
    const uint64_t n = op_last_dim(y), h = (uint64_t)y->dims[1], w = (uint64_t)y->dims[2];
    const int64_t row = (int64_t)x->dims[2] * x->dims[3];
    while (op_next(it)) {
        const float *in = op_input(c, 0, it->row);
        float *out = op_output(c, 0, it->row);
        for (uint64_t i = it->i0; i < it->i1; i++) {
            const between v = interpolate(&c->node->a, i / w % h, x->dims[1], y->dims[1]);
            const between u = interpolate(&c->node->a, i % w, x->dims[2], y->dims[2]);
            const float *image = in + (int64_t)(i / (h * w)) * x->dims[1] * row;
            const float *p = image + v.low * row, *q = image + v.high * row;
            const int64_t l = u.low * x->dims[3], r = u.high * x->dims[3];
            for (uint64_t k = 0; k < n; k++) {
                const float top = p[l + (int64_t)k] * (1.0f - u.share) + p[r + (int64_t)k] * u.share;
                const float bottom = q[l + (int64_t)k] * (1.0f - u.share) + q[r + (int64_t)k] * u.share;
                out[i * n + k] = top * (1.0f - v.share) + bottom * v.share;
            }
        }
    }
}

const op_kernel op_kernel_resize = {check_images, items_pixels, cost_resize, run_resize, NULL};
