/* Ops that move elements of any whole-byte type: none computes anything. */
#include "cpu/ops_impl.h"

#include <string.h>

static lithe_status check_move(const op_call *c, lithe_error *err)
{
    return op_movable(c, 0, 1, err);
}

static size_t out_bytes(const op_call *c)
{
    return op_element_bytes(c->outputs[0].tensor->type);
}

static void run_reshape(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const size_t size = out_bytes(c);
    while (op_next(it)) {
        const unsigned char *in = op_input(c, 0, it->row);
        unsigned char *out = op_output(c, 0, it->row);
        if (in != out)
            memcpy(out + it->i0 * size, in + it->i0 * size, (it->i1 - it->i0) * size);
    }
}

const op_kernel op_kernel_reshape = {check_move, op_items_elements, op_cost_one, run_reshape, NULL};

/* Copies what the space's operand 0 walks over, from element `first` on, to the output in order. */
static void run_space(const op_call *c, op_iter *it, nd_space *s, int64_t first)
{
    const size_t size = out_bytes(c);
    s->n_operands = 1;
    nd_merge(s);
    while (op_next(it)) {
        const unsigned char *in = op_input(c, 0, it->row);
        unsigned char *out = op_output(c, 0, it->row);
        nd_copy(s, size, in + first * (int64_t)size, out + it->i0 * size, it->i0, it->i1);
    }
}

/* Row-major strides of a tensor. */
static void strides_of(const graph_tensor *t, int64_t *strides)
{
    int64_t stride = 1;
    for (uint32_t d = t->rank; d-- > 0; stride *= t->dims[d])
        strides[d] = stride;
}

static void run_transpose(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_tensor *x = c->inputs[0].tensor;
    nd_space s = {.rank = x->rank};
    int64_t strides[GRAPH_MAX_RANK];
    strides_of(x, strides);
    for (uint32_t d = 0; d < x->rank; d++) {
        s.dims[d] = (uint64_t)x->dims[c->node->a.perm[d]];
        s.strides[0][d] = strides[c->node->a.perm[d]];
    }
    run_space(c, it, &s, 0);
}

const op_kernel op_kernel_transpose = {check_move, op_items_elements, op_cost_one, run_transpose, NULL};

static void run_slice(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_tensor *x = c->inputs[0].tensor, *y = c->outputs[0].tensor;
    const graph_attrs *a = &c->node->a;
    nd_space s = {.rank = x->rank};
    int64_t strides[GRAPH_MAX_RANK], first = 0;
    strides_of(x, strides);
    for (uint32_t d = 0; d < x->rank; d++) {
        s.dims[d] = (uint64_t)y->dims[d];
        s.strides[0][d] = strides[d] * a->stride[d];
        first += strides[d] * a->begin[d];
    }
    run_space(c, it, &s, first);
}

const op_kernel op_kernel_slice = {check_move, op_items_elements, op_cost_one, run_slice, NULL};

static void run_broadcast_to(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_tensor *operands[1] = {c->inputs[0].tensor}, *y = c->outputs[0].tensor;
    nd_space s;
    nd_broadcast(&s, y->rank, y->dims, 1, operands);
    run_space(c, it, &s, 0);
}

const op_kernel op_kernel_broadcast_to = {check_move, op_items_elements, op_cost_one, run_broadcast_to, NULL};

/* Each axis as two: the repetition (stride 0) and the input's own. */
static void run_tile(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_tensor *x = c->inputs[0].tensor, *y = c->outputs[0].tensor;
    nd_space s = {.rank = 2 * x->rank};
    int64_t strides[GRAPH_MAX_RANK];
    strides_of(x, strides);
    for (uint32_t d = 0; d < x->rank; d++) {
        s.dims[2 * d] = (uint64_t)(x->dims[d] ? y->dims[d] / x->dims[d] : 0);
        s.dims[2 * d + 1] = (uint64_t)x->dims[d];
        s.strides[0][2 * d + 1] = strides[d];
    }
    run_space(c, it, &s, 0);
}

const op_kernel op_kernel_tile = {check_move, op_items_elements, op_cost_one, run_tile, NULL};

static lithe_status check_pad(const op_call *c, lithe_error *err)
{
    const graph_type type = c->outputs[0].tensor->type;
    if (c->node->a.value != 0.0f && type != GRAPH_F32 && type != GRAPH_I32 && type != GRAPH_I64)
        return op_refuse(c, err, "a fill value for this type");
    return op_movable(c, 0, 1, err);
}

static void fill(void *out, graph_type type, float value, uint64_t n)
{
    if (value == 0.0f)
        memset(out, 0, n * op_element_bytes(type));
    else if (type == GRAPH_F32)
        for (uint64_t i = 0; i < n; i++)
            ((float *)out)[i] = value;
    else if (type == GRAPH_I32)
        for (uint64_t i = 0; i < n; i++)
            ((int32_t *)out)[i] = (int32_t)value;
    else
        for (uint64_t i = 0; i < n; i++)
            ((int64_t *)out)[i] = (int64_t)value;
}

/* Where output row `row` (over all axes but the last) comes from: the input's row, or -1 in the padding. */
static int64_t padded_row(const op_call *c, uint64_t row)
{
    const graph_tensor *x = c->inputs[0].tensor, *y = c->outputs[0].tensor;
    int64_t from = 0, stride = 1;
    for (uint32_t d = x->rank - 1; d-- > 0;) {
        const int64_t i = (int64_t)(row % (uint64_t)y->dims[d]) - c->node->a.pads[d][0];
        row /= (uint64_t)y->dims[d];
        if (i < 0 || i >= x->dims[d])
            return -1;
        from += i * stride;
        stride *= x->dims[d];
    }
    return from;
}

static void run_pad(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_tensor *x = c->inputs[0].tensor, *y = c->outputs[0].tensor;
    const uint64_t width = op_last_dim(y), inner = op_last_dim(x),
                   before = x->rank ? (uint64_t)c->node->a.pads[x->rank - 1][0] : 0;
    const size_t size = out_bytes(c);
    while (op_next(it)) {
        const unsigned char *in = op_input(c, 0, it->row);
        unsigned char *out = op_output(c, 0, it->row);
        for (uint64_t i = it->i0; i < it->i1; i++) {
            const int64_t from = x->rank ? padded_row(c, i) : 0;
            unsigned char *to = out + i * width * size;
            fill(to, y->type, c->node->a.value, from < 0 ? width : before);
            if (from < 0)
                continue;
            memcpy(to + before * size, in + (uint64_t)from * inner * size, inner * size);
            fill(to + (before + inner) * size, y->type, c->node->a.value, width - before - inner);
        }
    }
}

const op_kernel op_kernel_pad = {check_pad, op_items_rows, op_cost_row, run_pad, NULL};

/* CONCATENATION and PACK: the output is, for each index of the axes before, one stretch of every input. UNPACK and SPLIT: the reverse. */
static uint64_t outer_count(const op_call *c, const graph_tensor *whole)
{
    return op_product(whole, 0, (uint32_t)c->node->a.axis);
}

static lithe_status check_join(const op_call *c, lithe_error *err)
{
    if (c->node->op == OP_CONCATENATION && !op_activation_ok(c->node->a.activation, c->outputs[0].tensor->type))
        return op_refuse(c, err, "fused activation not for this type");
    return op_movable(c, 0, c->node->n_inputs, err);
}

static void run_join(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_tensor *y = c->outputs[0].tensor;
    const size_t size = out_bytes(c);
    const uint64_t outer = outer_count(c, y), whole = y->elements / outer;
    while (op_next(it)) {
        unsigned char *out = op_output(c, 0, it->row);
        uint64_t at = it->i0, o = at / whole;
        while (at < it->i1) {
            uint64_t start = o * whole; /* of input k's stretch */
            for (uint32_t k = 0; k < c->node->n_inputs && at < it->i1; k++) {
                const uint64_t length = c->inputs[k].tensor->elements / outer,
                               stop = start + length < it->i1 ? start + length : it->i1;
                if (at < stop) {
                    const unsigned char *in = op_input(c, k, it->row);
                    memcpy(out + at * size, in + (o * length + (at - start)) * size, (stop - at) * size);
                    at = stop;
                }
                start += length;
            }
            o++;
        }
        if (c->node->op == OP_CONCATENATION && c->node->a.activation != GRAPH_ACT_NONE)
            op_activate(c, out + it->i0 * size, it->i1 - it->i0);
    }
}

const op_kernel op_kernel_join = {check_join, op_items_elements, op_cost_one, run_join, NULL};

static uint64_t items_input(const op_call *c)
{
    return c->inputs[0].tensor->elements;
}

static void run_part(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_tensor *x = c->inputs[0].tensor;
    const size_t size = out_bytes(c);
    const uint64_t outer = outer_count(c, x), whole = x->elements / outer;
    while (op_next(it)) {
        const unsigned char *in = op_input(c, 0, it->row);
        uint64_t at = it->i0, o = at / whole;
        while (at < it->i1) {
            uint64_t start = o * whole;
            for (uint32_t k = 0; k < c->node->n_outputs && at < it->i1; k++) {
                const uint64_t length = c->outputs[k].tensor->elements / outer,
                               stop = start + length < it->i1 ? start + length : it->i1;
                if (at < stop) {
                    unsigned char *out = op_output(c, k, it->row);
                    memcpy(out + (o * length + (at - start)) * size, in + at * size, (stop - at) * size);
                    at = stop;
                }
                start += length;
            }
            o++;
        }
    }
}

const op_kernel op_kernel_part = {check_move, items_input, op_cost_one, run_part, NULL};

static lithe_status check_update_slice(const op_call *c, lithe_error *err)
{
    const graph_tensor *start = op_in_tensor(c, 2);
    if (!start || (start->type != GRAPH_I32 && start->type != GRAPH_I64) || c->inputs[0].tensor->rank == 0)
        return op_refuse(c, err, "the start must be i32 or i64");
    return op_movable(c, 0, 2, err);
}

/* Writes rows [r0, r1) (last axis) of the update into its place. */
static void write_update(const op_call *c, const int64_t *begin, const unsigned char *update, unsigned char *out,
                         uint64_t r0, uint64_t r1)
{
    const graph_tensor *u = c->inputs[1].tensor, *y = c->outputs[0].tensor;
    const size_t size = out_bytes(c), width = op_last_dim(u) * size;
    for (uint64_t r = r0; r < r1; r++) {
        uint64_t rest = r, at = (uint64_t)begin[y->rank - 1], stride = op_last_dim(y);
        for (uint32_t d = y->rank - 1; d-- > 0;) {
            at += (rest % (uint64_t)u->dims[d] + (uint64_t)begin[d]) * stride;
            rest /= (uint64_t)u->dims[d];
            stride *= (uint64_t)y->dims[d];
        }
        memcpy(out + at * size, update + r * width, width);
    }
}

/* Copies rows [i0, i1) of the input and puts those of the update over them. */
static void copy_with_update(const op_call *c, const int64_t *begin, const unsigned char *in,
                             const unsigned char *update, unsigned char *out, uint64_t i0, uint64_t i1)
{
    const graph_tensor *u = c->inputs[1].tensor, *y = c->outputs[0].tensor;
    const size_t size = out_bytes(c), width = op_last_dim(y) * size;
    memcpy(out + i0 * width, in + i0 * width, (i1 - i0) * width);
    for (uint64_t i = i0; i < i1; i++) {
        uint64_t rest = i, row = 0, stride = 1;
        bool inside = true;
        for (uint32_t d = y->rank - 1; d-- > 0 && inside;) {
            const int64_t at = (int64_t)(rest % (uint64_t)y->dims[d]) - begin[d];
            rest /= (uint64_t)y->dims[d];
            inside = at >= 0 && at < u->dims[d];
            row += (uint64_t)at * stride;
            stride *= (uint64_t)u->dims[d];
        }
        if (inside)
            memcpy(out + i * width + (uint64_t)begin[y->rank - 1] * size, update + row * op_last_dim(u) * size,
                   op_last_dim(u) * size);
    }
}

/* The start is cut so that the update lies inside. Output and first input may be one buffer: then only the update is written, its rows
 * shared out in proportion to the items. */
static void run_update_slice(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_tensor *u = c->inputs[1].tensor, *y = c->outputs[0].tensor;
    const uint64_t update_rows = op_last_dim(u) ? u->elements / op_last_dim(u) : 0;
    while (op_next(it)) {
        const unsigned char *in = op_input(c, 0, it->row), *update = op_input(c, 1, it->row);
        unsigned char *out = op_output(c, 0, it->row);
        int64_t begin[GRAPH_MAX_RANK];
        for (uint32_t d = 0; d < y->rank; d++)
            begin[d] = op_index(c->inputs[2].tensor, op_input(c, 2, it->row), d, (int64_t)y->dims[d] - u->dims[d] + 1);
        if (in == out)
            write_update(c, begin, update, out, it->i0 * update_rows / it->items, it->i1 * update_rows / it->items);
        else
            copy_with_update(c, begin, in, update, out, it->i0, it->i1);
    }
}

const op_kernel op_kernel_update_slice = {check_update_slice, op_items_rows, op_cost_row, run_update_slice, NULL};
