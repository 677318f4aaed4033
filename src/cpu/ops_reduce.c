/* Reductions over any axes, and CUMSUM. The reduced elements of one output are numbered in row-major order of the reduced axes; float sums
 * put them into the sixteen lanes by that number. */
#include "cpu/lanes.h"
#include "cpu/mathf.h"
#include "cpu/ops_impl.h"

#include <string.h>

/* Kept axes in `outer`, reduced ones in `inner`; both walk over the input. */
typedef struct reduction {
    nd_space outer, inner;
    uint64_t count; /* elements reduced to one */
} reduction;

static bool is_reduced(const op_call *c, uint32_t axis)
{
    for (uint32_t i = 0; i < c->node->a.n_axes; i++)
        if (c->node->a.axes[i] == (int32_t)axis)
            return true;
    return false;
}

static void add_axis(nd_space *s, uint64_t dim, int64_t stride)
{
    for (uint32_t d = s->rank; d-- > 0;) {
        s->dims[d + 1] = s->dims[d];
        s->strides[0][d + 1] = s->strides[0][d];
    }
    s->dims[0] = dim;
    s->strides[0][0] = stride;
    s->rank++;
}

static void describe(const op_call *c, reduction *r)
{
    const graph_tensor *x = c->inputs[0].tensor;
    int64_t stride = 1;
    *r = (reduction){.outer = {.n_operands = 1}, .inner = {.n_operands = 1}, .count = 1};
    for (uint32_t d = x->rank; d-- > 0; stride *= x->dims[d]) {
        const bool reduced = is_reduced(c, d);
        add_axis(reduced ? &r->inner : &r->outer, (uint64_t)x->dims[d], stride);
        r->count *= reduced ? (uint64_t)x->dims[d] : 1;
    }
    nd_merge(&r->outer);
    nd_merge(&r->inner);
}

static double cost_reduce(const op_call *c)
{
    const uint64_t n = c->outputs[0].tensor->elements;
    return n ? (double)c->inputs[0].tensor->elements / (double)n : 1;
}

static lithe_status check_reduce(const op_call *c, lithe_error *err)
{
    const graph_type type = c->inputs[0].tensor->type;
    if (c->outputs[0].tensor->type != type)
        return op_refuse(c, err, "types differ");
    if (type != GRAPH_F32 && (c->node->op == OP_MEAN || (type != GRAPH_I32 && type != GRAPH_I64)))
        return op_refuse(c, err, "not for this type");
    return LITHE_OK;
}

static bool contiguous(const reduction *r)
{
    return r->inner.rank == 1 && (nd_last_stride(&r->inner, 0) == 1 || r->count == 1);
}

static float sum_f32(const op_call *c, const reduction *r, const float *x)
{
    if (contiguous(r))
        return c->kernels->vec.sum(x, r->count);
    float lanes[LANES] = {0};
    const int64_t stride = nd_last_stride(&r->inner, 0);
    nd_walk w;
    for (nd_begin(&w, &r->inner, 0, r->count); nd_next(&w);)
        for (uint64_t i = 0; i < w.run; i++)
            lanes[(w.at + i) % LANES] += x[w.offset[0] + (int64_t)i * stride];
    return lanes_join(lanes);
}

static float fold_f32(graph_op op, const reduction *r, const float *x)
{
    float y = op == OP_REDUCE_MAX ? -INFINITY : op == OP_REDUCE_MIN ? INFINITY : 1.0f;
    const int64_t stride = nd_last_stride(&r->inner, 0);
    nd_walk w;
    for (nd_begin(&w, &r->inner, 0, r->count); nd_next(&w);)
        for (uint64_t i = 0; i < w.run; i++) {
            const float v = x[w.offset[0] + (int64_t)i * stride];
            y = op == OP_REDUCE_MAX ? mathf_max(y, v) : op == OP_REDUCE_MIN ? mathf_min(y, v) : y * v;
        }
    return y;
}

static float reduce_f32(const op_call *c, const reduction *r, const float *x)
{
    switch (c->node->op) {
    case OP_SUM:
        return sum_f32(c, r, x);
    case OP_MEAN:
        return sum_f32(c, r, x) / (float)r->count;
    case OP_REDUCE_MAX:
        if (contiguous(r))
            return c->kernels->vec.max(x, r->count);
        return fold_f32(OP_REDUCE_MAX, r, x);
    default:
        return fold_f32(c->node->op, r, x);
    }
}

/* Integers wrap to the type when stored. */
static int64_t reduce_integer(graph_op op, const reduction *r, const void *x, bool wide, int64_t first)
{
    int64_t y = op == OP_SUM ? 0 : op == OP_REDUCE_PROD ? 1 : first;
    const int64_t stride = nd_last_stride(&r->inner, 0);
    nd_walk w;
    for (nd_begin(&w, &r->inner, 0, r->count); nd_next(&w);)
        for (uint64_t i = 0; i < w.run; i++) {
            const int64_t at = w.offset[0] + (int64_t)i * stride,
                          v = wide ? ((const int64_t *)x)[at] : ((const int32_t *)x)[at];
            if (op == OP_SUM)
                y = (int64_t)((uint64_t)y + (uint64_t)v);
            else if (op == OP_REDUCE_PROD)
                y = (int64_t)((uint64_t)y * (uint64_t)v);
            else
                y = (op == OP_REDUCE_MAX) == (v > y) ? v : y;
        }
    return y;
}

static void run_reduce(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_type type = c->inputs[0].tensor->type;
    const size_t size = op_element_bytes(type);
    const int64_t least = type == GRAPH_I64 ? INT64_MIN : INT32_MIN, most = type == GRAPH_I64 ? INT64_MAX : INT32_MAX;
    reduction r;
    describe(c, &r);
    const int64_t stride = nd_last_stride(&r.outer, 0);
    while (op_next(it)) {
        const unsigned char *in = op_input(c, 0, it->row);
        void *out = op_output(c, 0, it->row);
        nd_walk w;
        for (nd_begin(&w, &r.outer, it->i0, it->i1); nd_next(&w);)
            for (uint64_t i = 0; i < w.run; i++) {
                const void *x = in + (w.offset[0] + (int64_t)i * stride) * (int64_t)size;
                if (type == GRAPH_F32) {
                    ((float *)out)[w.at + i] = reduce_f32(c, &r, x);
                    continue;
                }
                const int64_t v =
                    reduce_integer(c->node->op, &r, x, type == GRAPH_I64, c->node->op == OP_REDUCE_MAX ? least : most);
                if (type == GRAPH_I64)
                    ((int64_t *)out)[w.at + i] = v;
                else
                    ((int32_t *)out)[w.at + i] = (int32_t)v;
            }
    }
}

const op_kernel op_kernel_reduce = {check_reduce, op_items_elements, cost_reduce, run_reduce, NULL};

static lithe_status check_any(const op_call *c, lithe_error *err)
{
    return c->inputs[0].tensor->type == GRAPH_BOOL && c->outputs[0].tensor->type == GRAPH_BOOL
               ? LITHE_OK
               : op_refuse(c, err, "bool only");
}

static void run_any(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    reduction r;
    describe(c, &r);
    const int64_t outer = nd_last_stride(&r.outer, 0), inner = nd_last_stride(&r.inner, 0);
    while (op_next(it)) {
        const uint8_t *in = op_input(c, 0, it->row);
        uint8_t *out = op_output(c, 0, it->row);
        nd_walk w, v;
        for (nd_begin(&w, &r.outer, it->i0, it->i1); nd_next(&w);)
            for (uint64_t i = 0; i < w.run; i++) {
                uint8_t any = 0;
                for (nd_begin(&v, &r.inner, 0, r.count); nd_next(&v);)
                    for (uint64_t j = 0; j < v.run; j++)
                        any |= in[w.offset[0] + (int64_t)i * outer + v.offset[0] + (int64_t)j * inner] != 0;
                out[w.at + i] = any;
            }
    }
}

const op_kernel op_kernel_any = {check_any, op_items_elements, cost_reduce, run_any, NULL};

static lithe_status check_cumsum(const op_call *c, lithe_error *err)
{
    const graph_type type = c->inputs[0].tensor->type;
    if (type != c->outputs[0].tensor->type || (type != GRAPH_F32 && type != GRAPH_I32 && type != GRAPH_I64))
        return op_refuse(c, err, "only f32, i32 and i64");
    return c->inputs[0].tensor->rank == 0 ? op_refuse(c, err, "no axis") : LITHE_OK;
}

static uint64_t cumsum_dim(const op_call *c)
{
    return (uint64_t)c->inputs[0].tensor->dims[c->node->a.axis];
}
static uint64_t items_cumsum(const op_call *c)
{
    return cumsum_dim(c) ? c->inputs[0].tensor->elements / cumsum_dim(c) : 0;
}
static double cost_cumsum(const op_call *c)
{
    return (double)cumsum_dim(c);
}

#define ACCUMULATE(T, S)                                                                                               \
    do {                                                                                                               \
        S sum = 0;                                                                                                     \
        for (uint64_t k = 0; k < dim; k++) {                                                                           \
            const uint64_t at = first + (a->reverse ? dim - 1 - k : k) * inner;                                        \
            const S before = sum;                                                                                      \
            sum += (S)((const T *)in)[at];                                                                             \
            ((T *)out)[at] = (T)(a->exclusive ? before : sum);                                                         \
        }                                                                                                              \
    } while (0)

static void run_cumsum(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_tensor *x = c->inputs[0].tensor;
    const graph_attrs *a = &c->node->a;
    const uint64_t dim = cumsum_dim(c), inner = op_product(x, (uint32_t)a->axis + 1, x->rank);
    while (op_next(it)) {
        const void *in = op_input(c, 0, it->row);
        void *out = op_output(c, 0, it->row);
        for (uint64_t i = it->i0; i < it->i1; i++) {
            const uint64_t first = i / inner * dim * inner + i % inner;
            if (x->type == GRAPH_F32)
                ACCUMULATE(float, float);
            else if (x->type == GRAPH_I32)
                ACCUMULATE(int32_t, uint32_t);
            else
                ACCUMULATE(int64_t, uint64_t);
        }
    }
}

const op_kernel op_kernel_cumsum = {check_cumsum, items_cumsum, cost_cumsum, run_cumsum, NULL};
