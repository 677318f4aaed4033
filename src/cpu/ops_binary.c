/* Ops of two operands, broadcast as numpy does: arithmetic, comparison, logic; and SELECT. Integers wrap; division by zero gives 0. */
#include "cpu/mathf.h"
#include "cpu/ops_impl.h"

#include <string.h>

/* One run: n results; sa, sb: 1, or 0 where the operand is one value. */
typedef void (*run_fn)(const void *a, const void *b, void *out, size_t n, size_t sa, size_t sb);

#define RUN(name, T, R, expression)                                                                                    \
    static void name(const void *pa, const void *pb, void *po, size_t n, size_t sa, size_t sb)                         \
    {                                                                                                                  \
        const T *a = pa, *b = pb;                                                                                      \
        R *out = po;                                                                                                   \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const T x = a[i * sa], y = b[i * sb];                                                                      \
            out[i] = (R)(expression);                                                                                  \
        }                                                                                                              \
    }

#define INTEGER_OPS(T, U, MIN)                                                                                         \
    static T quotient_##T(T x, T y)                                                                                    \
    {                                                                                                                  \
        return y == 0 ? 0 : x == (MIN) && y == -1 ? x : x / y;                                                         \
    }                                                                                                                  \
    static T remainder_##T(T x, T y)                                                                                   \
    {                                                                                                                  \
        return y == 0 || y == -1 ? 0 : x % y;                                                                          \
    }                                                                                                                  \
    static T floor_div_##T(T x, T y)                                                                                   \
    {                                                                                                                  \
        return quotient_##T(x, y) - (remainder_##T(x, y) != 0 && (x < 0) != (y < 0));                                  \
    }                                                                                                                  \
    static T floor_mod_##T(T x, T y)                                                                                   \
    {                                                                                                                  \
        const T r = remainder_##T(x, y);                                                                               \
        return r != 0 && (r < 0) != (y < 0) ? r + y : r;                                                               \
    }                                                                                                                  \
    RUN(add_##T, T, T, (U)x + (U)y)                                                                                    \
    RUN(sub_##T, T, T, (U)x - (U)y)                                                                                    \
    RUN(mul_##T, T, T, (U)x *(U)y)                                                                                     \
    RUN(div_##T, T, T, quotient_##T(x, y))                                                                             \
    RUN(min_##T, T, T, x < y ? x : y)                                                                                  \
    RUN(max_##T, T, T, x > y ? x : y)                                                                                  \
    RUN(floor_div_run_##T, T, T, floor_div_##T(x, y))                                                                  \
    RUN(floor_mod_run_##T, T, T, floor_mod_##T(x, y))

INTEGER_OPS(int32_t, uint32_t, INT32_MIN)
INTEGER_OPS(int64_t, uint64_t, INT64_MIN)

static float floor_mod_f32(float x, float y)
{
    const float r = fmodf(x, y);
    return r != 0.0f && (r < 0.0f) != (y < 0.0f) ? r + y : r;
}

RUN(pow_f32, float, float, mathf_pow(x, y))
RUN(squared_difference_f32, float, float, (x - y) * (x - y))
RUN(floor_div_f32, float, float, floorf(x / y))
RUN(floor_mod_run_f32, float, float, floor_mod_f32(x, y))

#define COMPARISONS(T)                                                                                                 \
    RUN(equal_##T, T, uint8_t, x == y)                                                                                 \
    RUN(not_equal_##T, T, uint8_t, x != y)                                                                             \
    RUN(greater_##T, T, uint8_t, x > y)                                                                                \
    RUN(greater_equal_##T, T, uint8_t, x >= y)                                                                         \
    RUN(less_##T, T, uint8_t, x < y)                                                                                   \
    RUN(less_equal_##T, T, uint8_t, x <= y)

COMPARISONS(float)
COMPARISONS(int32_t)
COMPARISONS(int64_t)
RUN(equal_bool, uint8_t, uint8_t, !x == !y)
RUN(not_equal_bool, uint8_t, uint8_t, !x != !y)
RUN(and_bool, uint8_t, uint8_t, x &&y)
RUN(or_bool, uint8_t, uint8_t, x || y)

#define INTEGER_ROW(T)                                                                                                 \
    [OP_ADD] = add_##T, [OP_SUB] = sub_##T, [OP_MUL] = mul_##T, [OP_DIV] = div_##T, [OP_MINIMUM] = min_##T,            \
    [OP_MAXIMUM] = max_##T, [OP_FLOOR_DIV] = floor_div_run_##T, [OP_FLOOR_MOD] = floor_mod_run_##T, COMPARISON_ROW(T)
#define COMPARISON_ROW(T)                                                                                              \
    [OP_EQUAL] = equal_##T, [OP_NOT_EQUAL] = not_equal_##T, [OP_GREATER] = greater_##T,                                \
    [OP_GREATER_EQUAL] = greater_equal_##T, [OP_LESS] = less_##T, [OP_LESS_EQUAL] = less_equal_##T

static run_fn find_run(graph_op op, graph_type type)
{
    static const run_fn f32[OP_COUNT] = {[OP_POW] = pow_f32,
                                         [OP_SQUARED_DIFFERENCE] = squared_difference_f32,
                                         [OP_FLOOR_DIV] = floor_div_f32,
                                         [OP_FLOOR_MOD] = floor_mod_run_f32,
                                         COMPARISON_ROW(float)};
    static const run_fn i32[OP_COUNT] = {INTEGER_ROW(int32_t)};
    static const run_fn i64[OP_COUNT] = {INTEGER_ROW(int64_t)};
    static const run_fn boolean[OP_COUNT] = {[OP_EQUAL] = equal_bool,
                                             [OP_NOT_EQUAL] = not_equal_bool,
                                             [OP_LOGICAL_AND] = and_bool,
                                             [OP_LOGICAL_OR] = or_bool};
    switch (type) {
    case GRAPH_F32:
        return f32[op];
    case GRAPH_I32:
        return i32[op];
    case GRAPH_I64:
        return i64[op];
    case GRAPH_BOOL:
        return boolean[op];
    default:
        return NULL;
    }
}

/* Index in vec_kernels.binary, -1: none. */
static int vec_index(graph_op op)
{
    switch (op) {
    case OP_ADD:
        return VEC_ADD;
    case OP_SUB:
        return VEC_SUB;
    case OP_MUL:
        return VEC_MUL;
    case OP_DIV:
        return VEC_DIV;
    case OP_MINIMUM:
        return VEC_MIN;
    case OP_MAXIMUM:
        return VEC_MAX;
    default:
        return -1;
    }
}

static lithe_status check_two(const op_call *c, graph_type out, lithe_error *err)
{
    const graph_tensor *a = op_in_tensor(c, 0), *b = op_in_tensor(c, 1);
    if (!b || a->type != b->type || c->outputs[0].tensor->type != out)
        return op_refuse(c, err, "types differ");
    const bool vec = a->type == GRAPH_F32 && out == GRAPH_F32 && vec_index(c->node->op) >= 0;
    if (!vec && !find_run(c->node->op, a->type))
        return op_refuse(c, err, "not for this type");
    return LITHE_OK;
}

static lithe_status check_binary(const op_call *c, lithe_error *err)
{
    if (!op_activation_ok(c->node->a.activation, c->outputs[0].tensor->type))
        return op_refuse(c, err, "fused activation not for this type");
    return check_two(c, c->inputs[0].tensor->type, err);
}

static lithe_status check_compare(const op_call *c, lithe_error *err)
{
    return check_two(c, GRAPH_BOOL, err);
}

static void run_vec(const op_call *c, op_iter *it, const nd_space *s)
{
    const int op = vec_index(c->node->op);
    const int a_one = nd_last_stride(s, 0) == 0, b_one = nd_last_stride(s, 1) == 0;
    while (op_next(it)) {
        const float *a = op_input(c, 0, it->row), *b = op_input(c, 1, it->row);
        float *out = op_output(c, 0, it->row);
        nd_walk w;
        for (nd_begin(&w, s, it->i0, it->i1); nd_next(&w);)
            c->kernels->vec.binary[op](a + w.offset[0], b + w.offset[1], out + w.at, w.run, a_one, b_one);
        if (c->node->a.activation != GRAPH_ACT_NONE)
            op_activate(c, out + it->i0, it->i1 - it->i0);
    }
}

static void run_two(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_tensor *operands[2] = {c->inputs[0].tensor, c->inputs[1].tensor}, *t = c->outputs[0].tensor;
    nd_space s;
    nd_broadcast(&s, t->rank, t->dims, 2, operands);
    if (operands[0]->type == GRAPH_F32 && t->type == GRAPH_F32 && vec_index(c->node->op) >= 0) {
        run_vec(c, it, &s);
        return;
    }
    const run_fn run = find_run(c->node->op, operands[0]->type);
    const size_t in_bytes = op_element_bytes(operands[0]->type), out_bytes = op_element_bytes(t->type);
    const size_t sa = nd_last_stride(&s, 0) != 0, sb = nd_last_stride(&s, 1) != 0;
    while (op_next(it)) {
        const unsigned char *a = op_input(c, 0, it->row), *b = op_input(c, 1, it->row);
        unsigned char *out = op_output(c, 0, it->row);
        nd_walk w;
        for (nd_begin(&w, &s, it->i0, it->i1); nd_next(&w);)
            run(a + w.offset[0] * (int64_t)in_bytes, b + w.offset[1] * (int64_t)in_bytes, out + w.at * out_bytes, w.run,
                sa, sb);
        if (c->node->a.activation != GRAPH_ACT_NONE)
            op_activate(c, out + it->i0 * out_bytes, it->i1 - it->i0);
    }
}

static double cost_binary(const op_call *c)
{
    return c->node->op == OP_POW ? 60 : 2;
}

const op_kernel op_kernel_binary = {check_binary, op_items_elements, cost_binary, run_two, NULL};
const op_kernel op_kernel_compare = {check_compare, op_items_elements, cost_binary, run_two, NULL};
const op_kernel op_kernel_logical = {check_compare, op_items_elements, cost_binary, run_two, NULL};

/* ReLU and its kin for integers; TANH is for floats only. */
bool op_activation_ok(graph_activation a, graph_type type)
{
    return a == GRAPH_ACT_NONE || type == GRAPH_F32 ||
           ((type == GRAPH_I32 || type == GRAPH_I64) && a != GRAPH_ACT_TANH);
}

#define CLAMP(T)                                                                                                       \
    do {                                                                                                               \
        T *v = x;                                                                                                      \
        for (size_t i = 0; i < n; i++)                                                                                 \
            v[i] = v[i] < (T)low ? (T)low : bounded && v[i] > (T)high ? (T)high : v[i];                                \
    } while (0)

void op_activate(const op_call *c, void *x, size_t n)
{
    const graph_activation a = c->node->a.activation;
    const vec_kernels *k = &c->kernels->vec;
    const float low = a == GRAPH_ACT_RELU_N1_TO_1 ? -1.0f : 0.0f, high = a == GRAPH_ACT_RELU6 ? 6.0f : 1.0f;
    const bool bounded = a != GRAPH_ACT_RELU;
    const graph_type type = c->outputs[0].tensor->type;
    if (a == GRAPH_ACT_NONE)
        return;
    if (type == GRAPH_I32)
        CLAMP(int32_t);
    else if (type == GRAPH_I64)
        CLAMP(int64_t);
    else if (a == GRAPH_ACT_TANH)
        k->unary[VEC_TANH](x, x, n);
    else {
        k->binary[VEC_MAX](x, &low, x, n, 0, 1);
        if (bounded)
            k->binary[VEC_MIN](x, &high, x, n, 0, 1);
    }
}

static lithe_status check_select(const op_call *c, lithe_error *err)
{
    if (c->node->n_inputs != 3 || c->inputs[0].tensor->type != GRAPH_BOOL)
        return op_refuse(c, err, "the condition must be bool");
    return op_movable(c, 1, 3, err);
}

#define CHOOSE(T)                                                                                                      \
    do {                                                                                                               \
        const T *a = (const T *)in_a + w.offset[1], *b = (const T *)in_b + w.offset[2];                                \
        T *to = (T *)out + w.at;                                                                                       \
        for (uint64_t i = 0; i < w.run; i++)                                                                           \
            to[i] = condition[w.offset[0] + (int64_t)i * s0] ? a[(int64_t)i * s1] : b[(int64_t)i * s2];                \
    } while (0)

static void run_select(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_tensor *operands[3] = {c->inputs[0].tensor, c->inputs[1].tensor, c->inputs[2].tensor},
                       *t = c->outputs[0].tensor;
    nd_space s;
    nd_broadcast(&s, t->rank, t->dims, 3, operands);
    const int64_t s0 = nd_last_stride(&s, 0), s1 = nd_last_stride(&s, 1), s2 = nd_last_stride(&s, 2);
    const size_t size = op_element_bytes(t->type);
    while (op_next(it)) {
        const uint8_t *condition = op_input(c, 0, it->row);
        const void *in_a = op_input(c, 1, it->row), *in_b = op_input(c, 2, it->row);
        void *out = op_output(c, 0, it->row);
        nd_walk w;
        for (nd_begin(&w, &s, it->i0, it->i1); nd_next(&w);) {
            if (size == 4)
                CHOOSE(uint32_t);
            else if (size == 8)
                CHOOSE(uint64_t);
            else if (size == 1)
                CHOOSE(uint8_t);
            else
                CHOOSE(uint16_t);
        }
    }
}

const op_kernel op_kernel_select = {check_select, op_items_elements, cost_binary, run_select, NULL};
