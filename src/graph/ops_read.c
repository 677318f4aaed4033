/* Attribute readers: options (FlatBuffers tables of the TFLite schema, fields by slot) and constant parameter inputs of a file's op become
 * graph_attrs. Parameter inputs are dropped; one that is not constant is refused by name. */
#include "graph/op_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static uint8_t option_u8(const op_build *b, unsigned slot)
{
    return fb_u8(&b->file->options, slot, 0);
}
static bool option_bool(const op_build *b, unsigned slot)
{
    return fb_u8(&b->file->options, slot, 0) != 0;
}
static int32_t option_i32(const op_build *b, unsigned slot, int32_t def)
{
    return fb_i32(&b->file->options, slot, def);
}

static lithe_status read_activation(op_build *b, unsigned slot)
{
    uint8_t act = option_u8(b, slot);
    if (act > GRAPH_ACT_TANH) {
        return op_fail(b, LITHE_E_UNSUPPORTED, "fused activation %u is not supported", act);
    }
    b->a.activation = (graph_activation)act;
    return LITHE_OK;
}

/* Drops input i. */
static void drop_input(op_build *b, uint32_t i)
{
    memmove(&b->in[i], &b->in[i + 1], ((size_t)b->n_in - i - 1) * sizeof *b->in);
    b->n_in--;
}

/* Reads and drops input i: at most `max` whole numbers. */
static lithe_status take_numbers(op_build *b, uint32_t i, const char *what, uint32_t max, int64_t *out, uint32_t *n)
{
    *n = 0;
    memset(out, 0, max * sizeof *out);
    uint32_t t = i < b->n_in ? b->in[i] : GRAPH_NONE;
    const graph_tensor *p = op_in(b, i);
    if (!p) {
        return op_fail(b, LITHE_E_MODEL, "the input that gives %s is missing", what);
    }
    if (!p->data) {
        return op_fail_tensor(b, LITHE_E_UNSUPPORTED, t, "%s must be constant, but tensor '%s' is computed", what,
                              p->name);
    }
    if ((p->type != GRAPH_I32 && p->type != GRAPH_I64) || p->rank > 2 || p->elements > max) {
        char shape[GRAPH_SHAPE_TEXT];
        return op_fail_tensor(b, LITHE_E_MODEL, t, "%s must be at most %u integers, but tensor '%s' is %s %s", what,
                              max, p->name, graph_type_name(p->type), graph_shape_text(shape, p->rank, p->dims));
    }
    *n = (uint32_t)p->elements;
    for (uint32_t j = 0; j < *n; j++) {
        graph_const_i64(b->g, t, j, &out[j]);
    }
    drop_input(b, i);
    return LITHE_OK;
}

/* The same with an exact count, at most two for each axis. */
static lithe_status take_exactly(op_build *b, uint32_t i, const char *what, uint32_t count, int64_t *out)
{
    int64_t all[GRAPH_MAX_RANK * 2];
    uint32_t n;
    lithe_status status = take_numbers(b, i, what, GRAPH_MAX_RANK * 2, all, &n);
    if (status == LITHE_OK && n != count) {
        return op_fail(b, LITHE_E_MODEL, "%s has %u numbers where %u are expected", what, n, count);
    }
    if (status == LITHE_OK) {
        memcpy(out, all, count * sizeof *out);
    }
    return status;
}

/* A file's axis, negative ones counted from the end. */
static lithe_status set_axis(op_build *b, int64_t axis, uint32_t rank, int32_t *out)
{
    if (axis < -(int64_t)rank || axis >= (int64_t)rank) {
        return op_fail(b, LITHE_E_MODEL, "axis %lld is outside a tensor of rank %u", (long long)axis, rank);
    }
    *out = (int32_t)(axis < 0 ? axis + rank : axis);
    return LITHE_OK;
}

static bool fits_i32(int64_t v)
{
    return v >= INT32_MIN && v <= INT32_MAX;
}

lithe_status op_read_activation(op_build *b)
{
    return read_activation(b, 0);
}

lithe_status op_read_fully_connected(op_build *b)
{
    if (option_u8(b, 1) != 0) {
        return op_fail(b, LITHE_E_UNSUPPORTED, "weights format %u (shuffled) is not supported", option_u8(b, 1));
    }
    b->a.keep_dims = option_bool(b, 2);
    b->a.asymmetric = option_bool(b, 3);
    const graph_tensor *w = op_in(b, 1);
    b->a.dynamic_quant = w && (w->type == GRAPH_I8 || w->type == GRAPH_I4);
    return read_activation(b, 0);
}

lithe_status op_read_softmax(op_build *b)
{
    b->a.beta = fb_f32(&b->file->options, 0, 0.0f);
    const graph_tensor *x = op_in(b, 0);
    b->a.axis = x && x->rank ? (int32_t)x->rank - 1 : 0;
    return LITHE_OK;
}

lithe_status op_read_concat(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    lithe_status status = set_axis(b, option_i32(b, 0, 0), x ? x->rank : 0, &b->a.axis);
    return status != LITHE_OK ? status : read_activation(b, 1);
}

/* SAME (0) pads so that out = ceil(in / stride), the smaller half in front; VALID (1) pads nothing. b->asked gets [out_h, out_w]. */
static lithe_status resolve_padding(op_build *b, uint8_t padding)
{
    const graph_tensor *x = op_in(b, 0);
    if (padding > 1 || !x || x->rank != 4) {
        return op_fail(b, LITHE_E_MODEL, padding > 1 ? "padding scheme %u is not known" : "input must have rank 4",
                       padding);
    }
    const int32_t strides[2] = {b->a.stride_h, b->a.stride_w}, dilations[2] = {b->a.dilation_h, b->a.dilation_w};
    const int32_t filters[2] = {b->a.filter_h, b->a.filter_w};
    int32_t *pads[2] = {&b->a.pad_top, &b->a.pad_left};
    b->asked_rank = 2;
    for (int i = 0; i < 2; i++) {
        int64_t in = x->dims[1 + i], s = strides[i], reach = ((int64_t)filters[i] - 1) * dilations[i] + 1;
        if (s < 1 || dilations[i] < 1 || filters[i] < 1 || reach > INT32_MAX) {
            return op_fail(b, LITHE_E_MODEL, "stride %d, dilation %d or filter size %d is out of range", strides[i],
                           dilations[i], filters[i]);
        }
        int64_t out = padding == 0 ? (in + s - 1) / s : (in - reach) / s + 1;
        if (in < 1 || (padding == 1 && in < reach)) {
            return op_fail(b, LITHE_E_MODEL, "filter of %lld does not fit an input of %lld", (long long)reach,
                           (long long)in);
        }
        int64_t total = (out - 1) * s + reach - in;
        *pads[i] = padding == 0 && total > 0 ? (int32_t)(total / 2) : 0;
        b->asked[i] = (int32_t)out;
    }
    return LITHE_OK;
}

/* Height and width of the filter from the weights [.., h, w, ..] at dims 1 and 2. */
static lithe_status filter_from_weights(op_build *b)
{
    const graph_tensor *w = op_in(b, 1);
    if (!w || w->rank != 4) {
        return op_fail_tensor(b, LITHE_E_MODEL, b->n_in > 1 ? b->in[1] : GRAPH_NONE, "weights must have rank 4");
    }
    b->a.filter_h = w->dims[1];
    b->a.filter_w = w->dims[2];
    return LITHE_OK;
}

lithe_status op_read_conv(op_build *b)
{
    b->a.stride_w = option_i32(b, 1, 0);
    b->a.stride_h = option_i32(b, 2, 0);
    b->a.dilation_w = option_i32(b, 4, 1);
    b->a.dilation_h = option_i32(b, 5, 1);
    lithe_status status = read_activation(b, 3);
    status = status != LITHE_OK ? status : filter_from_weights(b);
    return status != LITHE_OK ? status : resolve_padding(b, option_u8(b, 0));
}

lithe_status op_read_depthwise(op_build *b)
{
    b->a.stride_w = option_i32(b, 1, 0);
    b->a.stride_h = option_i32(b, 2, 0);
    b->a.depth_multiplier = option_i32(b, 3, 0);
    b->a.dilation_w = option_i32(b, 5, 1);
    b->a.dilation_h = option_i32(b, 6, 1);
    lithe_status status = read_activation(b, 4);
    status = status != LITHE_OK ? status : filter_from_weights(b);
    return status != LITHE_OK ? status : resolve_padding(b, option_u8(b, 0));
}

lithe_status op_read_pool(op_build *b)
{
    b->a.stride_w = option_i32(b, 1, 0);
    b->a.stride_h = option_i32(b, 2, 0);
    b->a.filter_w = option_i32(b, 3, 0);
    b->a.filter_h = option_i32(b, 4, 0);
    b->a.dilation_h = b->a.dilation_w = 1;
    lithe_status status = read_activation(b, 5);
    return status != LITHE_OK ? status : resolve_padding(b, option_u8(b, 0));
}

/* Axes as given (in any order, repeated, negative) to a sorted list. */
static lithe_status set_axes(op_build *b, const int64_t *given, uint32_t n)
{
    const graph_tensor *x = op_in(b, 0);
    bool has[GRAPH_MAX_RANK] = {false};
    for (uint32_t i = 0; i < n; i++) {
        int32_t axis = 0;
        lithe_status status = set_axis(b, given[i], x ? x->rank : 0, &axis);
        if (status != LITHE_OK) {
            return status;
        }
        has[axis] = true;
    }
    b->a.n_axes = 0;
    for (int32_t i = 0; i < GRAPH_MAX_RANK; i++) {
        if (has[i]) {
            b->a.axes[b->a.n_axes++] = i;
        }
    }
    return LITHE_OK;
}

lithe_status op_read_reduce(op_build *b)
{
    int64_t axes[GRAPH_MAX_RANK];
    uint32_t n;
    b->a.keep_dims = option_bool(b, 0);
    lithe_status status = take_numbers(b, 1, "the axes", GRAPH_MAX_RANK, axes, &n);
    return status != LITHE_OK ? status : set_axes(b, axes, n);
}

lithe_status op_read_squeeze(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    int64_t axes[GRAPH_MAX_RANK];
    fb_vector v;
    if (!x || !fb_vec(&b->file->options, 0, 4, &v) || v.n > GRAPH_MAX_RANK) {
        return op_fail(b, LITHE_E_MODEL, "squeeze_dims is damaged");
    }
    for (uint32_t i = 0; i < v.n; i++) {
        axes[i] = fb_vec_i32(&v, i);
    }
    lithe_status status = set_axes(b, axes, v.n);
    if (status != LITHE_OK) {
        return status;
    }
    b->asked_rank = 0;
    uint32_t next = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        bool listed = next < b->a.n_axes && b->a.axes[next] == (int32_t)i;
        next += listed;
        if (listed && x->dims[i] != 1) {
            return op_fail_tensor(b, LITHE_E_MODEL, b->in[0], "axis %u to squeeze has size %d", i, x->dims[i]);
        }
        if (!listed && !(v.n == 0 && x->dims[i] == 1)) {
            b->asked[b->asked_rank++] = x->dims[i];
        }
    }
    b->a.n_axes = 0;
    memset(b->a.axes, 0, sizeof b->a.axes);
    return LITHE_OK;
}

lithe_status op_read_expand_dims(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    int64_t given = 0;
    int32_t axis = 0;
    lithe_status status = take_exactly(b, 1, "the axis", 1, &given);
    if (status == LITHE_OK && (!x || x->rank >= GRAPH_MAX_RANK)) {
        status = op_fail(b, LITHE_E_UNSUPPORTED, "more than %d dimensions", GRAPH_MAX_RANK);
    }
    status = status != LITHE_OK ? status : set_axis(b, given, x->rank + 1, &axis);
    if (status != LITHE_OK) {
        return status;
    }
    b->asked_rank = x->rank + 1;
    for (uint32_t i = 0, j = 0; i < b->asked_rank; i++) {
        b->asked[i] = i == (uint32_t)axis ? 1 : x->dims[j++];
    }
    return LITHE_OK;
}

/* new_shape is the second input, else an option; one -1 stands for what is left. */
lithe_status op_read_reshape(op_build *b)
{
    int64_t dims[GRAPH_MAX_RANK];
    uint32_t n = 0;
    fb_vector v;
    if (b->n_in > 1) {
        const graph_tensor *p = op_in(b, 1);
        if (p && p->rank > 1) {
            return op_fail_tensor(b, LITHE_E_MODEL, b->in[1],
                                  "the new shape must be a vector, but tensor '%s' has rank %u", p->name, p->rank);
        }
        lithe_status status = take_numbers(b, 1, "the new shape", GRAPH_MAX_RANK, dims, &n);
        if (status != LITHE_OK) {
            return status;
        }
    } else {
        if (!fb_vec(&b->file->options, 0, 4, &v) || v.n > GRAPH_MAX_RANK) {
            return op_fail(b, LITHE_E_MODEL, "new_shape is damaged");
        }
        for (n = 0; n < v.n; n++) {
            dims[n] = fb_vec_i32(&v, n);
        }
    }
    const graph_tensor *x = op_in(b, 0);
    uint64_t known = 1;
    int64_t hole = -1;
    for (uint32_t i = 0; i < n; i++) {
        bool is_hole = dims[i] == -1 && hole < 0;
        if (!is_hole && (dims[i] < 0 || dims[i] > INT32_MAX || !u64_mul(known, (uint64_t)dims[i], &known))) {
            return op_fail(b, LITHE_E_MODEL, "new shape has %lld at position %u", (long long)dims[i], i);
        }
        hole = is_hole ? i : hole;
    }
    if (hole >= 0) {
        uint64_t rest = known && x && x->elements % known == 0 ? x->elements / known : 0;
        if (rest == 0 || rest > INT32_MAX) {
            return op_fail(b, LITHE_E_MODEL, "-1 in the new shape cannot be filled: %llu elements over %llu",
                           (unsigned long long)(x ? x->elements : 0), (unsigned long long)known);
        }
        dims[hole] = (int64_t)rest;
    }
    b->asked_rank = n;
    for (uint32_t i = 0; i < n; i++) {
        b->asked[i] = (int32_t)dims[i];
    }
    return LITHE_OK;
}

lithe_status op_read_split(op_build *b)
{
    int64_t axis = 0;
    lithe_status status = take_exactly(b, 0, "the axis", 1, &axis);
    const graph_tensor *x = op_in(b, 0);
    if (status == LITHE_OK && option_i32(b, 0, 0) != (int32_t)b->n_out) {
        return op_fail(b, LITHE_E_MODEL, "num_splits is %d, but there are %u outputs", option_i32(b, 0, 0), b->n_out);
    }
    return status != LITHE_OK ? status : set_axis(b, axis, x ? x->rank : 0, &b->a.axis);
}

lithe_status op_read_slice(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    int64_t begin[GRAPH_MAX_RANK], size[GRAPH_MAX_RANK];
    uint32_t rank = x ? x->rank : 0;
    lithe_status status = take_exactly(b, 1, "begin", rank, begin);
    status = status != LITHE_OK ? status : take_exactly(b, 1, "size", rank, size);
    if (status != LITHE_OK) {
        return status;
    }
    b->asked_rank = rank;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t n = size[i] == -1 ? x->dims[i] - begin[i] : size[i];
        if (begin[i] < 0 || begin[i] > x->dims[i] || n < 0 || n > x->dims[i] - begin[i]) {
            return op_fail_tensor(b, LITHE_E_MODEL, b->in[0], "slice [%lld, +%lld) of axis %u leaves its %d elements",
                                  (long long)begin[i], (long long)size[i], i, x->dims[i]);
        }
        b->a.begin[i] = (int32_t)begin[i];
        b->a.stride[i] = 1;
        b->asked[i] = (int32_t)n;
    }
    return LITHE_OK;
}

/* One axis of a strided slice, as numpy's x[begin:end:step] (masked ends are open). Returns the number of elements. */
static int64_t slice_count(int64_t dim, int64_t *begin, int64_t end, int64_t step, bool open_begin, bool open_end)
{
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
    int64_t first = open_begin ? (step > 0 ? low : high) : *begin < 0 ? *begin + dim : *begin;
    int64_t last = open_end ? (step > 0 ? high : low) : end < 0 ? end + dim : end;
    first = first < low ? low : first > high ? high : first;
    last = last < low ? low : last > high ? high : last;
    *begin = first;
    int64_t span = step > 0 ? last - first : first - last, by = step > 0 ? step : -step;
    return span <= 0 ? 0 : (span + by - 1) / by;
}

lithe_status op_read_strided_slice(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    int64_t begin[GRAPH_MAX_RANK], end[GRAPH_MAX_RANK], step[GRAPH_MAX_RANK];
    uint32_t n = 0, n_end = 0, n_step = 0;
    lithe_status status = take_numbers(b, 1, "begin", GRAPH_MAX_RANK, begin, &n);
    status = status != LITHE_OK ? status : take_numbers(b, 1, "end", GRAPH_MAX_RANK, end, &n_end);
    status = status != LITHE_OK ? status : take_numbers(b, 1, "strides", GRAPH_MAX_RANK, step, &n_step);
    if (status != LITHE_OK) {
        return status;
    }
    if (option_i32(b, 2, 0) || option_i32(b, 3, 0)) {
        return op_fail(b, LITHE_E_UNSUPPORTED, "%s masks are not supported",
                       option_i32(b, 2, 0) ? "ellipsis" : "new-axis");
    }
    if (!x || n > x->rank || n_end != n || n_step != n) {
        return op_fail(b, LITHE_E_MODEL, "begin, end and strides have %u, %u and %u numbers for a tensor of rank %u", n,
                       n_end, n_step, x ? x->rank : 0);
    }
    int32_t begin_mask = option_i32(b, 0, 0), end_mask = option_i32(b, 1, 0), shrink = option_i32(b, 4, 0);
    bool offset = option_bool(b, 5);
    b->asked_rank = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t at = 0, count = x->dims[i], by = 1;
        bool shrunk = i < n && (shrink >> i & 1);
        if (i < n) {
            at = begin[i];
            by = shrunk ? 1 : step[i];
            if (by == 0 || !fits_i32(by) || !fits_i32(at) || !fits_i32(end[i])) {
                return op_fail(b, LITHE_E_MODEL, "stride or bound of axis %u is out of range", i);
            }
            count = shrunk ? 1
                           : slice_count(x->dims[i], &at, offset ? at + end[i] : end[i], by, begin_mask >> i & 1,
                                         end_mask >> i & 1);
            at = shrunk && at < 0 ? at + x->dims[i] : at;
        }
        if (count < 1 || at < 0 || at >= x->dims[i]) {
            return op_fail_tensor(b, LITHE_E_MODEL, b->in[0],
                                  "the slice takes nothing of axis %u, which has %d elements", i, x->dims[i]);
        }
        b->a.begin[i] = (int32_t)at;
        b->a.stride[i] = (int32_t)by;
        b->asked[b->asked_rank++] = (int32_t)count;
        b->dropped |= (uint32_t)shrunk << i;
    }
    return LITHE_OK;
}

lithe_status op_read_gather(op_build *b)
{
    const graph_tensor *x = op_in(b, 0), *indices = op_in(b, 1);
    uint32_t rank = x ? x->rank : 0, index_rank = indices ? indices->rank : 0;
    lithe_status status = set_axis(b, option_i32(b, 0, 0), rank, &b->a.axis);
    int64_t batch = option_i32(b, 1, 0);
    batch = batch < 0 ? batch + index_rank : batch;
    if (status == LITHE_OK && (batch < 0 || batch > index_rank || batch > b->a.axis)) {
        return op_fail(b, LITHE_E_MODEL, "batch_dims %d does not fit axis %d and indices of rank %u",
                       option_i32(b, 1, 0), b->a.axis, index_rank);
    }
    b->a.batch_dims = (int32_t)batch;
    return status;
}

lithe_status op_read_pack(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    if (option_i32(b, 0, 0) != (int32_t)b->n_in) {
        return op_fail(b, LITHE_E_MODEL, "values_count is %d, but there are %u inputs", option_i32(b, 0, 0), b->n_in);
    }
    return set_axis(b, option_i32(b, 1, 0), (x ? x->rank : 0) + 1, &b->a.axis);
}

lithe_status op_read_unpack(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    if (option_i32(b, 0, 0) != (int32_t)b->n_out) {
        return op_fail(b, LITHE_E_MODEL, "num is %d, but there are %u outputs", option_i32(b, 0, 0), b->n_out);
    }
    return set_axis(b, option_i32(b, 1, 0), x ? x->rank : 0, &b->a.axis);
}

/* indices, depth, on value, off value: depth becomes the size of the new axis. */
lithe_status op_read_one_hot(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    int64_t depth = 0;
    lithe_status status = take_exactly(b, 1, "the depth", 1, &depth);
    if (status == LITHE_OK && (depth < 1 || depth > INT32_MAX)) {
        return op_fail(b, LITHE_E_MODEL, "depth is %lld", (long long)depth);
    }
    if (status != LITHE_OK) {
        return status;
    }
    b->asked_rank = 1;
    b->asked[0] = (int32_t)depth;
    return set_axis(b, option_i32(b, 0, 0), (x ? x->rank : 0) + 1, &b->a.axis);
}

lithe_status op_read_leaky_relu(op_build *b)
{
    b->a.alpha = fb_f32(&b->file->options, 0, 0.0f);
    return LITHE_OK;
}

lithe_status op_read_batch_matmul(op_build *b)
{
    b->a.adj_x = option_bool(b, 0);
    b->a.adj_y = option_bool(b, 1);
    b->a.asymmetric = option_bool(b, 2);
    return LITHE_OK;
}

lithe_status op_read_cumsum(op_build *b)
{
    int64_t axis = 0;
    b->a.exclusive = option_bool(b, 0);
    b->a.reverse = option_bool(b, 1);
    lithe_status status = take_exactly(b, 1, "the axis", 1, &axis);
    const graph_tensor *x = op_in(b, 0);
    return status != LITHE_OK ? status : set_axis(b, axis, x ? x->rank : 0, &b->a.axis);
}

lithe_status op_read_gelu(op_build *b)
{
    b->a.approximate = option_bool(b, 0);
    return LITHE_OK;
}

lithe_status op_read_resize(op_build *b)
{
    int64_t size[2];
    b->a.align_corners = option_bool(b, 2);
    b->a.half_pixel_centers = option_bool(b, 3);
    lithe_status status = take_exactly(b, 1, "the size", 2, size);
    if (status == LITHE_OK && (size[0] < 1 || size[0] > INT32_MAX || size[1] < 1 || size[1] > INT32_MAX)) {
        return op_fail(b, LITHE_E_MODEL, "size is %lld x %lld", (long long)size[0], (long long)size[1]);
    }
    if (status == LITHE_OK) {
        b->asked_rank = 2;
        b->asked[0] = (int32_t)size[0];
        b->asked[1] = (int32_t)size[1];
    }
    return status;
}

lithe_status op_read_transpose(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    int64_t perm[GRAPH_MAX_RANK];
    uint32_t rank = x ? x->rank : 0;
    lithe_status status = take_exactly(b, 1, "the permutation", rank, perm);
    bool has[GRAPH_MAX_RANK] = {false};
    for (uint32_t i = 0; status == LITHE_OK && i < rank; i++) {
        status = set_axis(b, perm[i], rank, &b->a.perm[i]);
        if (status == LITHE_OK && has[b->a.perm[i]]) {
            return op_fail(b, LITHE_E_MODEL, "axis %d appears twice in the permutation", b->a.perm[i]);
        }
        has[status == LITHE_OK ? b->a.perm[i] : 0] = true;
    }
    return status;
}

static lithe_status read_pads(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    int64_t pads[GRAPH_MAX_RANK * 2];
    uint32_t rank = x ? x->rank : 0;
    lithe_status status = take_exactly(b, 1, "the padding", rank * 2, pads);
    for (uint32_t i = 0; status == LITHE_OK && i < rank * 2; i++) {
        if (pads[i] < 0 || pads[i] > INT32_MAX) {
            return op_fail(b, LITHE_E_MODEL, "padding of axis %u is %lld", i / 2, (long long)pads[i]);
        }
        b->a.pads[i / 2][i % 2] = (int32_t)pads[i];
    }
    return status;
}

lithe_status op_read_pad(op_build *b)
{
    return read_pads(b);
}

lithe_status op_read_pad_v2(op_build *b)
{
    lithe_status status = read_pads(b);
    if (status != LITHE_OK) {
        return status;
    }
    if (b->n_in < 2 || !graph_const_f32(b->g, b->in[1], 0, &b->a.value)) {
        return op_fail(b, LITHE_E_UNSUPPORTED, "the fill value must be a constant number");
    }
    drop_input(b, 1);
    return LITHE_OK;
}

/* Sizes for each axis of the result, as given. */
static lithe_status read_asked(op_build *b, const char *what)
{
    int64_t sizes[GRAPH_MAX_RANK];
    lithe_status status = take_numbers(b, 1, what, GRAPH_MAX_RANK, sizes, &b->asked_rank);
    for (uint32_t i = 0; status == LITHE_OK && i < b->asked_rank; i++) {
        if (sizes[i] < 1 || sizes[i] > INT32_MAX) {
            return op_fail(b, LITHE_E_MODEL, "%s has %lld at position %u", what, (long long)sizes[i], i);
        }
        b->asked[i] = (int32_t)sizes[i];
    }
    return status;
}

lithe_status op_read_tile(op_build *b)
{
    return read_asked(b, "the multiples");
}
lithe_status op_read_broadcast_to(op_build *b)
{
    return read_asked(b, "the shape");
}

/* The three inputs stay (fold makes the result constant); they must be known, since they are the shape. */
lithe_status op_read_range(op_build *b)
{
    float v[3];
    for (uint32_t i = 0; i < 3; i++) {
        const graph_tensor *p = op_in(b, i);
        if (!p || p->elements != 1 || !graph_const_f32(b->g, b->in[i], 0, &v[i])) {
            return op_fail_tensor(b, LITHE_E_UNSUPPORTED, i < b->n_in ? b->in[i] : GRAPH_NONE,
                                  "start, limit and delta must be constant");
        }
    }
    double count = v[2] != 0 ? ((double)v[1] - v[0]) / v[2] : -1;
    int64_t whole = count > 0 && count < 1e9 ? (int64_t)count : 0;
    whole += (double)whole < count;
    if (whole < 1 || count >= 1e9) {
        return op_fail(b, LITHE_E_MODEL, "range from %g to %g by %g", (double)v[0], (double)v[1], (double)v[2]);
    }
    b->asked_rank = 1;
    b->asked[0] = (int32_t)whole;
    return LITHE_OK;
}

lithe_status op_read_arg_max(op_build *b)
{
    int64_t axis = 0;
    lithe_status status = take_exactly(b, 1, "the axis", 1, &axis);
    const graph_tensor *x = op_in(b, 0);
    return status != LITHE_OK ? status : set_axis(b, axis, x ? x->rank : 0, &b->a.axis);
}

/* The old SELECT takes a vector as a choice of rows, which is not numpy's broadcast. */
lithe_status op_read_select_v1(op_build *b)
{
    const graph_tensor *c = op_in(b, 0), *x = op_in(b, 1);
    if (c && x && c->rank && !graph_same_shape(c, x)) {
        return op_fail_tensor(b, LITHE_E_UNSUPPORTED, b->in[0], "a condition that chooses rows is not supported");
    }
    return LITHE_OK;
}

lithe_status op_read_gated_delta(op_build *b)
{
    bytes type = {NULL, 0};
    b->a.state = GRAPH_NONE;
    if (flex_map_string(b->file->custom_options, "state_dtype", &type) &&
        !(type.size == 7 && memcmp(type.data, "float32", 7) == 0)) {
        return op_fail(b, LITHE_E_UNSUPPORTED, "state_dtype '%.*s' is not supported",
                       type.size < 32 ? (int)type.size : 32, (const char *)type.data);
    }
    return LITHE_OK;
}
