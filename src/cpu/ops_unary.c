/* Ops of one operand, element by element, in the order of memory. */
#include "cpu/mathf.h"
#include "cpu/ops_impl.h"

#include <string.h>

typedef void (*run_fn)(const op_call *c, const void *in, void *out, size_t n);

#define RUN(name, T, expression)                                                                                       \
    static void name(const op_call *c, const void *in, void *out, size_t n)                                            \
    {                                                                                                                  \
        const T *from = in;                                                                                            \
        T *to = out;                                                                                                   \
        (void)c;                                                                                                       \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const T x = from[i];                                                                                       \
            to[i] = (T)(expression);                                                                                   \
        }                                                                                                              \
    }

RUN(relu6_f32, float, mathf_min(mathf_max(x, 0.0f), 6.0f))
RUN(leaky_relu_f32, float, x < 0.0f ? x * c->node->a.alpha : x)
RUN(elu_f32, float, x < 0.0f ? mathf_expm1(x) : x)
RUN(hard_swish_f32, float, x *mathf_min(mathf_max(x + 3.0f, 0.0f), 6.0f) * (1.0f / 6.0f))
RUN(floor_f32, float, floorf(x))
RUN(ceil_f32, float, ceilf(x))
RUN(round_f32, float, rintf(x))
RUN(sign_f32, float, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x)
RUN(abs_i32, int32_t, x < 0 ? 0u - (uint32_t)x : (uint32_t)x)
RUN(neg_i32, int32_t, 0u - (uint32_t)x)
RUN(square_i32, int32_t, (uint32_t)x *(uint32_t)x)
RUN(sign_i32, int32_t, (x > 0) - (x < 0))
RUN(abs_i64, int64_t, x < 0 ? 0u - (uint64_t)x : (uint64_t)x)
RUN(neg_i64, int64_t, 0u - (uint64_t)x)
RUN(square_i64, int64_t, (uint64_t)x *(uint64_t)x)
RUN(sign_i64, int64_t, (x > 0) - (x < 0))
RUN(not_bool, uint8_t, !x)

static run_fn find_run(graph_op op, graph_type type)
{
    static const run_fn f32[OP_COUNT] = {[OP_RELU6] = relu6_f32, [OP_LEAKY_RELU] = leaky_relu_f32,
                                         [OP_ELU] = elu_f32,     [OP_HARD_SWISH] = hard_swish_f32,
                                         [OP_FLOOR] = floor_f32, [OP_CEIL] = ceil_f32,
                                         [OP_ROUND] = round_f32, [OP_SIGN] = sign_f32};
    static const run_fn i32[OP_COUNT] = {
        [OP_ABS] = abs_i32, [OP_NEG] = neg_i32, [OP_SQUARE] = square_i32, [OP_SIGN] = sign_i32};
    static const run_fn i64[OP_COUNT] = {
        [OP_ABS] = abs_i64, [OP_NEG] = neg_i64, [OP_SQUARE] = square_i64, [OP_SIGN] = sign_i64};
    return type == GRAPH_F32 ? f32[op] : type == GRAPH_I32 ? i32[op] : type == GRAPH_I64 ? i64[op] : NULL;
}

/* Index in vec_kernels.unary, -1: none. */
static int vec_index(const op_call *c)
{
    switch (c->node->op) {
    case OP_ABS:
        return VEC_ABS;
    case OP_NEG:
        return VEC_NEG;
    case OP_EXP:
        return VEC_EXP;
    case OP_LOG:
        return VEC_LOG;
    case OP_SQRT:
        return VEC_SQRT;
    case OP_RSQRT:
        return VEC_RSQRT;
    case OP_SQUARE:
        return VEC_SQUARE;
    case OP_SIN:
        return VEC_SIN;
    case OP_COS:
        return VEC_COS;
    case OP_TANH:
        return VEC_TANH;
    case OP_LOGISTIC:
        return VEC_LOGISTIC;
    case OP_GELU:
        return c->node->a.approximate ? VEC_GELU_TANH : VEC_GELU_ERF;
    case OP_RELU:
        return VEC_RELU;
    default:
        return -1;
    }
}

static bool uses_vec(const op_call *c)
{
    return c->inputs[0].tensor->type == GRAPH_F32 && vec_index(c) >= 0;
}

static lithe_status check_unary(const op_call *c, lithe_error *err)
{
    const graph_type type = c->inputs[0].tensor->type;
    if (c->outputs[0].tensor->type != type)
        return op_refuse(c, err, "types differ");
    return uses_vec(c) || find_run(c->node->op, type) ? LITHE_OK : op_refuse(c, err, "not for this type");
}

static void run_unary(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const size_t size = op_element_bytes(c->inputs[0].tensor->type);
    const run_fn run = uses_vec(c) ? NULL : find_run(c->node->op, c->inputs[0].tensor->type);
    while (op_next(it)) {
        const unsigned char *in = (const unsigned char *)op_input(c, 0, it->row) + it->i0 * size;
        unsigned char *out = (unsigned char *)op_output(c, 0, it->row) + it->i0 * size;
        if (run)
            run(c, in, out, it->i1 - it->i0);
        else
            c->kernels->vec.unary[vec_index(c)]((const float *)(const void *)in, (float *)(void *)out, it->i1 - it->i0);
    }
}

static double cost_unary(const op_call *c)
{
    switch (c->node->op) {
    case OP_EXP:
    case OP_LOG:
    case OP_SIN:
    case OP_COS:
    case OP_TANH:
    case OP_LOGISTIC:
    case OP_GELU:
    case OP_ELU:
        return 8;
    default:
        return 2;
    }
}

const op_kernel op_kernel_unary = {check_unary, op_items_elements, cost_unary, run_unary, NULL};

static lithe_status check_not(const op_call *c, lithe_error *err)
{
    return c->inputs[0].tensor->type == GRAPH_BOOL && c->outputs[0].tensor->type == GRAPH_BOOL
               ? LITHE_OK
               : op_refuse(c, err, "bool only");
}

static void run_not(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    while (op_next(it))
        not_bool(c, (const uint8_t *)op_input(c, 0, it->row) + it->i0, (uint8_t *)op_output(c, 0, it->row) + it->i0,
                 it->i1 - it->i0);
}

const op_kernel op_kernel_not = {check_not, op_items_elements, op_cost_one, run_not, NULL};
