/* What the evaluator knows of each op: one row and one function on packed elements. */
#include "graph/eval_ops.h"

#include <math.h>

static bool float_binary(graph_op op, float a, float b, float *out)
{
    switch (op) {
    case OP_ADD:
        *out = a + b;
        return true;
    case OP_SUB:
        *out = a - b;
        return true;
    case OP_MUL:
        *out = a * b;
        return true;
    case OP_DIV:
        *out = a / b;
        return true;
    case OP_MINIMUM:
        *out = a < b ? a : b;
        return a == a && b == b;
    case OP_MAXIMUM:
        *out = a > b ? a : b;
        return a == a && b == b;
    case OP_FLOOR_DIV:
        *out = floorf(a / b);
        return true;
    case OP_SQUARED_DIFFERENCE:
        *out = (a - b) * (a - b);
        return true;
    default:
        return false;
    }
}

static bool int_binary(graph_op op, int64_t a, int64_t b, int64_t *out)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b; /* wraps as the kernels' two's complement does */
    switch (op) {
    case OP_ADD:
        *out = (int64_t)(x + y);
        return true;
    case OP_SUB:
        *out = (int64_t)(x - y);
        return true;
    case OP_MUL:
        *out = (int64_t)(x * y);
        return true;
    case OP_MINIMUM:
        *out = a < b ? a : b;
        return true;
    case OP_MAXIMUM:
        *out = a > b ? a : b;
        return true;
    case OP_LOGICAL_AND:
        *out = a && b;
        return true;
    case OP_LOGICAL_OR:
        *out = a || b;
        return true;
    default:
        break;
    }
    if (b == 0 || (a == INT64_MIN && b == -1)) {
        return false;
    }
    int64_t q = a / b, r = a % b;
    bool floors = r != 0 && (r < 0) != (b < 0);
    switch (op) {
    case OP_DIV:
        *out = q;
        return true;
    case OP_FLOOR_DIV:
        *out = q - floors;
        return true;
    case OP_FLOOR_MOD:
        *out = floors ? r + b : r;
        return true;
    default:
        return false;
    }
}

static int64_t compare(graph_op op, int order, bool unordered)
{
    switch (op) {
    case OP_EQUAL:
        return !unordered && order == 0;
    case OP_NOT_EQUAL:
        return unordered || order != 0;
    case OP_GREATER:
        return !unordered && order > 0;
    case OP_GREATER_EQUAL:
        return !unordered && order >= 0;
    case OP_LESS:
        return !unordered && order < 0;
    default:
        return !unordered && order <= 0;
    }
}

static float activate(graph_activation act, float v)
{
    switch (act) {
    case GRAPH_ACT_RELU:
        return v > 0 ? v : 0;
    case GRAPH_ACT_RELU6:
        return v > 6 ? 6 : v > 0 ? v : 0;
    case GRAPH_ACT_RELU_N1_TO_1:
        return v > 1 ? 1 : v > -1 ? v : -1;
    default:
        return v;
    }
}

static bool is_compare(graph_op op)
{
    return op >= OP_EQUAL && op <= OP_LESS_EQUAL;
}

/* n elements of one row; steps are 0 or 1. */
static bool binary_row(const graph_node *n, graph_type from, graph_type to, const void *a, int64_t a_at, int64_t a_step,
                       const void *b, int64_t b_at, int64_t b_step, void *y, uint64_t y_at, int64_t count)
{
    bool compares = is_compare(n->op);
    for (int64_t i = 0; i < count; i++, a_at += a_step, b_at += b_step, y_at++) {
        if (from == GRAPH_F32) {
            float p = load_float(a, (uint64_t)a_at), q = load_float(b, (uint64_t)b_at), r;
            if (compares) {
                store_int(to, y, y_at, compare(n->op, p < q ? -1 : p > q, p != p || q != q));
            } else if (float_binary(n->op, p, q, &r)) {
                store_float(y, y_at, activate(n->a.activation, r));
            } else {
                return false;
            }
            continue;
        }
        int64_t p = load_int(from, a, (uint64_t)a_at), q = load_int(from, b, (uint64_t)b_at), r;
        if (compares) {
            r = compare(n->op, p < q ? -1 : p > q, false);
        } else if (!int_binary(n->op, p, q, &r)) {
            return false;
        }
        store_int(to, y, y_at, r);
    }
    return true;
}

static bool eval_binary(const graph *g, const graph_node *n, const void *const *in, void *const *out)
{
    const graph_tensor *a = &g->tensors[n->inputs[0]], *b = &g->tensors[n->inputs[1]], *y = &g->tensors[n->outputs[0]];
    int64_t sa[MAX_AXES] = {0}, sb[MAX_AXES] = {0};
    broadcast_strides(a, y->rank, sa);
    broadcast_strides(b, y->rank, sb);
    uint32_t outer = y->rank ? y->rank - 1 : 0;
    int64_t count = y->rank ? y->dims[outer] : 1;
    walk w = {.rank = outer, .dims = y->dims, .strides = {sa, sb, NULL}};
    for (uint64_t i = 0; i < y->elements; i += (uint64_t)count, walk_next(&w, 2)) {
        if (!binary_row(n, a->type, y->type, in[0], w.at[0], sa[outer], in[1], w.at[1], sb[outer], out[0], i, count)) {
            return false;
        }
    }
    return true;
}

static bool float_unary(graph_op op, float v, float *out)
{
    switch (op) {
    case OP_ABS:
        *out = fabsf(v);
        return true;
    case OP_NEG:
        *out = -v;
        return true;
    case OP_SQRT:
        *out = sqrtf(v);
        return v >= 0;
    case OP_SQUARE:
        *out = v * v;
        return true;
    case OP_FLOOR:
        *out = floorf(v);
        return true;
    case OP_CEIL:
        *out = ceilf(v);
        return true;
    case OP_ROUND:
        *out = copysignf(v - remainderf(v, 1.0f), v);
        return fabsf(v) < 8388608.0f; /* ties to even in any rounding mode */
    case OP_SIGN:
        *out = (float)((v > 0) - (v < 0));
        return v == v;
    case OP_RELU:
        *out = activate(GRAPH_ACT_RELU, v);
        return v == v;
    case OP_RELU6:
        *out = activate(GRAPH_ACT_RELU6, v);
        return v == v;
    default:
        return false;
    }
}

static bool int_unary(graph_op op, int64_t v, int64_t *out)
{
    switch (op) {
    case OP_ABS:
        *out = v < 0 ? (int64_t)(0 - (uint64_t)v) : v;
        return true;
    case OP_NEG:
        *out = (int64_t)(0 - (uint64_t)v);
        return true;
    case OP_SQUARE:
        *out = (int64_t)((uint64_t)v * (uint64_t)v);
        return true;
    case OP_SIGN:
        *out = (v > 0) - (v < 0);
        return true;
    case OP_LOGICAL_NOT:
        *out = !v;
        return true;
    default:
        return false;
    }
}

static bool eval_unary(const graph *g, const graph_node *n, const void *const *in, void *const *out)
{
    const graph_tensor *x = &g->tensors[n->inputs[0]];
    for (uint64_t i = 0; i < x->elements; i++) {
        if (x->type == GRAPH_F32) {
            float v;
            if (!float_unary(n->op, load_float(in[0], i), &v)) {
                return false;
            }
            store_float(out[0], i, v);
        } else {
            int64_t v;
            if (!int_unary(n->op, load_int(x->type, in[0], i), &v)) {
                return false;
            }
            store_int(x->type, out[0], i, v);
        }
    }
    return true;
}

static float half_to_float(uint16_t h)
{
    uint32_t exponent = h >> 10 & 31, fraction = h & 1023, sign = (uint32_t)(h >> 15) << 31;
    if (exponent == 0) {
        float v = (float)fraction * 0x1p-24f;
        return sign ? -v : v;
    }
    uint32_t bits =
        exponent == 31 ? sign | 0x7f800000u | fraction << 13 : sign | (exponent + 112) << 23 | fraction << 13;
    float v;
    memcpy(&v, &bits, 4);
    return v;
}

static bool eval_cast(const graph *g, const graph_node *n, const void *const *in, void *const *out)
{
    const graph_tensor *x = &g->tensors[n->inputs[0]], *y = &g->tensors[n->outputs[0]];
    for (uint64_t i = 0; i < x->elements; i++) {
        if (is_int(x->type) && is_int(y->type)) {
            store_int(y->type, out[0], i, load_int(x->type, in[0], i));
        } else if (is_int(x->type)) {
            store_float(out[0], i, (float)load_int(x->type, in[0], i));
        } else {
            float v =
                x->type == GRAPH_F16 ? half_to_float(load_u16((const uint8_t *)in[0] + i * 2)) : load_float(in[0], i);
            if (y->type == GRAPH_F32) {
                store_float(out[0], i, v);
            } else if (y->type == GRAPH_BOOL) {
                store_int(y->type, out[0], i, v != 0);
            } else if (v >= -2147483648.0f && v < 2147483648.0f) {
                int64_t whole = (int64_t)v;
                store_int(y->type, out[0], i, whole);
                if (load_int(y->type, out[0], i) != whole) {
                    return false;
                }
            } else {
                return false;
            }
        }
    }
    return true;
}

/* Constants only, as import made them: scales per tensor, per channel or in blocks. */
static bool eval_dequantize(const graph *g, const graph_node *n, const void *const *in, void *const *out)
{
    const graph_tensor *x = &g->tensors[n->inputs[0]];
    uint64_t inner = 1;
    for (uint32_t i = x->quant_axis + 1; i < x->rank; i++) {
        inner *= (uint64_t)x->dims[i];
    }
    for (uint64_t i = 0; i < x->elements; i++) {
        const uint8_t *p = (const uint8_t *)in[0];
        if (x->type == GRAPH_F16) {
            store_float(out[0], i, half_to_float(load_u16(p + i * 2)));
            continue;
        }
        int q = x->type == GRAPH_I4 ? (int)(p[i / 2] >> (i % 2 * 4) & 15) : (int8_t)p[i];
        q = x->type == GRAPH_I4 && q > 7 ? q - 16 : q;
        float scale = x->quant == GRAPH_QUANT_BLOCK     ? half_to_float(x->block_scales[i / x->block])
                      : x->quant == GRAPH_QUANT_CHANNEL ? x->scales[i / inner % x->n_scales]
                                                        : x->scales[0];
        store_float(out[0], i, (float)q * scale);
    }
    return true;
}

static bool eval_select(const graph *g, const graph_node *n, const void *const *in, void *const *out)
{
    const graph_tensor *y = &g->tensors[n->outputs[0]];
    int64_t strides[3][MAX_AXES] = {{0}};
    size_t size = (size_t)graph_type_bytes(y->type, 1);
    for (uint32_t i = 0; i < 3; i++) {
        broadcast_strides(&g->tensors[n->inputs[i]], y->rank, strides[i]);
    }
    uint32_t outer = y->rank ? y->rank - 1 : 0;
    int64_t count = y->rank ? y->dims[outer] : 1;
    walk w = {.rank = outer, .dims = y->dims, .strides = {strides[0], strides[1], strides[2]}};
    uint8_t *to = (uint8_t *)out[0];
    for (uint64_t i = 0; i < y->elements; i += (uint64_t)count, walk_next(&w, 3)) {
        for (int64_t j = 0; j < count; j++, to += size) {
            uint32_t from = ((const uint8_t *)in[0])[w.at[0] + j * strides[0][outer]] ? 1 : 2;
            memcpy(to, (const uint8_t *)in[from] + (size_t)(w.at[from] + j * strides[from][outer]) * size, size);
        }
    }
    return true;
}

static bool eval_range(const graph *g, const graph_node *n, const void *const *in, void *const *out)
{
    const graph_tensor *y = &g->tensors[n->outputs[0]];
    for (uint64_t i = 0; i < y->elements; i++) {
        if (y->type == GRAPH_F32) {
            store_float(out[0], i, load_float(in[0], 0) + (float)i * load_float(in[2], 0));
        } else {
            uint64_t v = (uint64_t)load_int(y->type, in[0], 0) + i * (uint64_t)load_int(y->type, in[2], 0);
            store_int(y->type, out[0], i, (int64_t)v);
        }
    }
    return true;
}

/* Reductions whose order does not matter: whole numbers, booleans, extremes. */
static bool eval_reduce(const graph *g, const graph_node *n, const void *const *in, void *const *out)
{
    const graph_tensor *x = &g->tensors[n->inputs[0]], *y = &g->tensors[n->outputs[0]];
    int64_t sx[MAX_AXES], to[MAX_AXES], step = 1;
    bool reduced[GRAPH_MAX_RANK] = {false};
    for (uint32_t i = 0; i < n->a.n_axes; i++) {
        reduced[n->a.axes[i]] = true;
    }
    packed_strides(x, sx);
    for (uint32_t i = x->rank; i-- > 0;) {
        to[i] = reduced[i] ? 0 : step;
        step *= reduced[i] ? 1 : x->dims[i];
    }
    int64_t first = n->op == OP_REDUCE_MAX ? INT64_MIN : n->op == OP_REDUCE_MIN ? INT64_MAX : n->op == OP_REDUCE_PROD;
    for (uint64_t i = 0; i < y->elements; i++) {
        if (x->type == GRAPH_F32) {
            store_float(out[0], i, n->op == OP_REDUCE_MAX ? -INFINITY : INFINITY);
        } else {
            store_int(y->type, out[0], i,
                      y->type == GRAPH_I32 && first == INT64_MIN   ? INT32_MIN
                      : y->type == GRAPH_I32 && first == INT64_MAX ? INT32_MAX
                                                                   : first);
        }
    }
    walk w = {.rank = x->rank, .dims = x->dims, .strides = {to, sx, NULL}};
    for (uint64_t i = 0; i < x->elements; i++, walk_next(&w, 2)) {
        uint64_t o = (uint64_t)w.at[0];
        if (x->type == GRAPH_F32) {
            float a = load_float(out[0], o), b = load_float(in[0], i);
            if (b != b) {
                return false;
            }
            store_float(out[0], o, (n->op == OP_REDUCE_MAX) == (b > a) ? b : a);
            continue;
        }
        uint64_t a = (uint64_t)load_int(y->type, out[0], o), b = (uint64_t)load_int(x->type, in[0], i);
        int64_t r = n->op == OP_SUM           ? (int64_t)(a + b)
                    : n->op == OP_REDUCE_PROD ? (int64_t)(a * b)
                    : n->op == OP_REDUCE_ANY  ? a || b
                    : n->op == OP_REDUCE_MAX  ? ((int64_t)b > (int64_t)a ? (int64_t)b : (int64_t)a)
                                              : ((int64_t)b < (int64_t)a ? (int64_t)b : (int64_t)a);
        store_int(y->type, out[0], o, r);
    }
    return true;
}

enum { ANY_TYPE, NO_FLOAT_SUM, EXACT };
/* clang-format off: rows in pairs */
static const struct eval_row {
    graph_op op;
    eval_fn *fn;
    uint8_t rule;
} eval_rows[] = {
    {OP_ADD, eval_binary, ANY_TYPE},
    {OP_SUB, eval_binary, ANY_TYPE},
    {OP_MUL, eval_binary, ANY_TYPE},
    {OP_DIV, eval_binary, ANY_TYPE},
    {OP_MINIMUM, eval_binary, ANY_TYPE},
    {OP_MAXIMUM, eval_binary, ANY_TYPE},
    {OP_FLOOR_DIV, eval_binary, ANY_TYPE},
    {OP_FLOOR_MOD, eval_binary, NO_FLOAT_SUM},
    {OP_SQUARED_DIFFERENCE, eval_binary, ANY_TYPE},
    {OP_EQUAL, eval_binary, ANY_TYPE},
    {OP_NOT_EQUAL, eval_binary, ANY_TYPE},
    {OP_GREATER, eval_binary, ANY_TYPE},
    {OP_GREATER_EQUAL, eval_binary, ANY_TYPE},
    {OP_LESS, eval_binary, ANY_TYPE},
    {OP_LESS_EQUAL, eval_binary, ANY_TYPE},
    {OP_LOGICAL_AND, eval_binary, ANY_TYPE},
    {OP_LOGICAL_OR, eval_binary, ANY_TYPE},
    {OP_ABS, eval_unary, ANY_TYPE},
    {OP_NEG, eval_unary, ANY_TYPE},
    {OP_SQRT, eval_unary, ANY_TYPE},
    {OP_SQUARE, eval_unary, ANY_TYPE},
    {OP_FLOOR, eval_unary, ANY_TYPE},
    {OP_CEIL, eval_unary, ANY_TYPE},
    {OP_ROUND, eval_unary, ANY_TYPE},
    {OP_SIGN, eval_unary, ANY_TYPE},
    {OP_LOGICAL_NOT, eval_unary, ANY_TYPE},
    {OP_RELU, eval_unary, ANY_TYPE},
    {OP_RELU6, eval_unary, ANY_TYPE},
    {OP_CAST, eval_cast, EXACT},
    {OP_DEQUANTIZE, eval_dequantize, EXACT},
    {OP_SELECT, eval_select, ANY_TYPE},
    {OP_RESHAPE, eval_reshape, ANY_TYPE},
    {OP_TRANSPOSE, eval_view, ANY_TYPE},
    {OP_SLICE, eval_view, ANY_TYPE},
    {OP_BROADCAST_TO, eval_view, ANY_TYPE},
    {OP_CONCATENATION, eval_join, ANY_TYPE},
    {OP_PACK, eval_join, ANY_TYPE},
    {OP_UNPACK, eval_join, ANY_TYPE},
    {OP_SPLIT, eval_join, ANY_TYPE},
    {OP_GATHER, eval_gather, ANY_TYPE},
    {OP_TILE, eval_tile, ANY_TYPE},
    {OP_DYNAMIC_UPDATE_SLICE, eval_update_slice, ANY_TYPE},
    {OP_RANGE, eval_range, ANY_TYPE},
    {OP_SUM, eval_reduce, NO_FLOAT_SUM},
    {OP_REDUCE_PROD, eval_reduce, NO_FLOAT_SUM},
    {OP_REDUCE_ANY, eval_reduce, ANY_TYPE},
    {OP_REDUCE_MAX, eval_reduce, ANY_TYPE},
    {OP_REDUCE_MIN, eval_reduce, ANY_TYPE},
};
/* clang-format on */

static const struct eval_row *find_row(graph_op op)
{
    for (size_t i = 0; i < sizeof eval_rows / sizeof *eval_rows; i++) {
        if (eval_rows[i].op == op) {
            return &eval_rows[i];
        }
    }
    return NULL;
}

bool eval_can(const graph *g, const graph_node *n)
{
    const struct eval_row *row = find_row(n->op);
    if (!row || n->a.activation == GRAPH_ACT_TANH || n->n_inputs == 0) {
        return false;
    }
    graph_type from = g->tensors[n->inputs[0]].type, to = g->tensors[n->outputs[0]].type;
    if (row->rule == NO_FLOAT_SUM) {
        return from != GRAPH_F32;
    }
    if (n->op == OP_DEQUANTIZE) { /* what is computed at run time has its scale in the tensor as well */
        return from == GRAPH_F16 || g->tensors[n->inputs[0]].quant != GRAPH_QUANT_NONE;
    }
    return n->op != OP_CAST ||
           ((is_int(from) || from == GRAPH_F32 || from == GRAPH_F16) && (is_int(to) || to == GRAPH_F32));
}

bool eval_node(const graph *g, const graph_node *n, const void *const *in, void *const *out)
{
    const struct eval_row *row = find_row(n->op);
    return row && row->fn(g, n, in, out);
}
