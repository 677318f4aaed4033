/* Ops whose inputs or outputs are indices. An index out of range is cut to the nearest valid one (docs/numerics.md). */
#include "cpu/ops_impl.h"

#include <string.h>

static bool is_index(const graph_tensor *t)
{
    return t && (t->type == GRAPH_I32 || t->type == GRAPH_I64);
}

static lithe_status check_gather(const op_call *c, lithe_error *err)
{
    if (!is_index(op_in_tensor(c, 1)))
        return op_refuse(c, err, "indices must be i32 or i64");
    if (c->inputs[0].tensor->elements == 0)
        return op_refuse(c, err, "nothing to choose from");
    return op_movable(c, 0, 1, err);
}

/* Elements behind the gathered axis: what one index moves. */
static uint64_t gather_inner(const op_call *c)
{
    const graph_tensor *x = c->inputs[0].tensor;
    return op_product(x, (uint32_t)c->node->a.axis + 1, x->rank);
}

static uint64_t items_gather(const op_call *c)
{
    return c->outputs[0].tensor->elements / gather_inner(c);
}
static double cost_gather(const op_call *c)
{
    return 4 + (double)gather_inner(c);
}

/* x [batch][outer][axis][inner], indices [batch][n] -> [batch][outer][n][inner] */
static void run_gather(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_tensor *x = c->inputs[0].tensor, *indices = c->inputs[1].tensor;
    const uint32_t axis = (uint32_t)c->node->a.axis, batch_dims = (uint32_t)c->node->a.batch_dims;
    const uint64_t outer = op_product(x, batch_dims, axis), dim = (uint64_t)x->dims[axis];
    const uint64_t n = op_product(indices, batch_dims, indices->rank);
    const size_t size = gather_inner(c) * op_element_bytes(x->type);
    while (op_next(it)) {
        const unsigned char *in = op_input(c, 0, it->row);
        const void *index = op_input(c, 1, it->row);
        unsigned char *out = op_output(c, 0, it->row);
        for (uint64_t i = it->i0; i < it->i1; i++) {
            const uint64_t slab = i / n,
                           at = (uint64_t)op_index(indices, index, slab / outer * n + i % n, (int64_t)dim);
            memcpy(out + i * size, in + (slab * dim + at) * size, size);
        }
    }
}

const op_kernel op_kernel_gather = {check_gather, items_gather, cost_gather, run_gather, NULL};

/* Elements behind the indexed axes. */
static uint64_t gather_nd_inner(const op_call *c)
{
    const graph_tensor *x = c->inputs[0].tensor, *indices = c->inputs[1].tensor;
    return op_product(x, (uint32_t)op_last_dim(indices), x->rank);
}

static uint64_t items_gather_nd(const op_call *c)
{
    return c->inputs[1].tensor->elements / op_last_dim(c->inputs[1].tensor);
}
static double cost_gather_nd(const op_call *c)
{
    return 8 + (double)gather_nd_inner(c);
}

static void run_gather_nd(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_tensor *x = c->inputs[0].tensor, *indices = c->inputs[1].tensor;
    const uint64_t depth = op_last_dim(indices);
    const size_t size = gather_nd_inner(c) * op_element_bytes(x->type);
    while (op_next(it)) {
        const unsigned char *in = op_input(c, 0, it->row);
        const void *index = op_input(c, 1, it->row);
        unsigned char *out = op_output(c, 0, it->row);
        for (uint64_t i = it->i0; i < it->i1; i++) {
            uint64_t at = 0;
            for (uint64_t d = 0; d < depth; d++)
                at = at * (uint64_t)x->dims[d] + (uint64_t)op_index(indices, index, i * depth + d, x->dims[d]);
            memcpy(out + i * size, in + at * size, size);
        }
    }
}

const op_kernel op_kernel_gather_nd = {check_gather, items_gather_nd, cost_gather_nd, run_gather_nd, NULL};

static lithe_status check_one_hot(const op_call *c, lithe_error *err)
{
    if (!is_index(c->inputs[0].tensor))
        return op_refuse(c, err, "indices must be i32 or i64");
    return op_movable(c, 1, 3, err);
}

/* indices [outer][inner] -> [outer][depth][inner]; an index outside [0, depth) gives no "on". */
static void run_one_hot(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_tensor *x = c->inputs[0].tensor, *y = c->outputs[0].tensor;
    const uint32_t axis = (uint32_t)c->node->a.axis;
    const uint64_t depth = (uint64_t)y->dims[axis], inner = op_product(y, axis + 1, y->rank);
    const size_t size = op_element_bytes(y->type);
    while (op_next(it)) {
        const void *index = op_input(c, 0, it->row), *on = op_input(c, 1, it->row), *off = op_input(c, 2, it->row);
        unsigned char *out = op_output(c, 0, it->row);
        for (uint64_t i = it->i0; i < it->i1; i++) {
            const uint64_t k = i / inner % depth, from = i / inner / depth * inner + i % inner;
            const int64_t v = x->type == GRAPH_I64 ? ((const int64_t *)index)[from] : ((const int32_t *)index)[from];
            memcpy(out + i * size, v == (int64_t)k ? on : off, size);
        }
    }
}

const op_kernel op_kernel_one_hot = {check_one_hot, op_items_elements, op_cost_one, run_one_hot, NULL};

static lithe_status check_range(const op_call *c, lithe_error *err)
{
    const graph_type type = c->outputs[0].tensor->type;
    if (type != GRAPH_F32 && type != GRAPH_I32 && type != GRAPH_I64)
        return op_refuse(c, err, "only f32, i32 and i64");
    return op_movable(c, 0, 3, err);
}

/* start + i * delta, floats rounded after each operation */
static void run_range(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_type type = c->outputs[0].tensor->type;
    while (op_next(it)) {
        const void *start = op_input(c, 0, it->row), *delta = op_input(c, 2, it->row);
        void *out = op_output(c, 0, it->row);
        for (uint64_t i = it->i0; i < it->i1; i++) {
            if (type == GRAPH_F32)
                ((float *)out)[i] = *(const float *)start + (float)i * *(const float *)delta;
            else if (type == GRAPH_I32)
                ((int32_t *)out)[i] = (int32_t)(*(const uint32_t *)start + (uint32_t)i * *(const uint32_t *)delta);
            else
                ((int64_t *)out)[i] = (int64_t)(*(const uint64_t *)start + i * *(const uint64_t *)delta);
        }
    }
}

const op_kernel op_kernel_range = {check_range, op_items_elements, op_cost_one, run_range, NULL};

static lithe_status check_arg_max(const op_call *c, lithe_error *err)
{
    const graph_type type = c->inputs[0].tensor->type;
    if (!is_index(c->outputs[0].tensor) || (type != GRAPH_F32 && type != GRAPH_I32 && type != GRAPH_I64))
        return op_refuse(c, err, "only f32, i32 and i64, to an index");
    return c->inputs[0].tensor->elements == 0 ? op_refuse(c, err, "nothing to choose from") : LITHE_OK;
}

#define LARGEST(T)                                                                                                     \
    for (uint64_t k = 1; k < dim; k++)                                                                                 \
        if (((const T *)in)[first + k * inner] > ((const T *)in)[first + best * inner])                                \
            best = k;

/* The first of the largest; a NaN is larger than nothing and nothing is larger than it. */
static void run_arg_max(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_tensor *x = c->inputs[0].tensor, *y = c->outputs[0].tensor;
    const uint32_t axis = (uint32_t)c->node->a.axis;
    const uint64_t dim = (uint64_t)x->dims[axis], inner = op_product(x, axis + 1, x->rank);
    while (op_next(it)) {
        const void *in = op_input(c, 0, it->row);
        void *out = op_output(c, 0, it->row);
        for (uint64_t i = it->i0; i < it->i1; i++) {
            const uint64_t first = i / inner * dim * inner + i % inner;
            uint64_t best = 0;
            if (x->type == GRAPH_F32) {
                LARGEST(float)
            } else if (x->type == GRAPH_I32) {
                LARGEST(int32_t)
            } else {
                LARGEST(int64_t)
            }
            if (y->type == GRAPH_I64)
                ((int64_t *)out)[i] = (int64_t)best;
            else
                ((int32_t *)out)[i] = (int32_t)best;
        }
    }
}

static double cost_arg_max(const op_call *c)
{
    return 1 + (double)c->inputs[0].tensor->dims[c->node->a.axis];
}

const op_kernel op_kernel_arg_max = {check_arg_max, op_items_elements, cost_arg_max, run_arg_max, NULL};
