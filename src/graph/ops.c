#include "graph/op_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BIT(t)     (1u << GRAPH_##t)
#define FLOAT      BIT(F32)
#define NUMBER     (BIT(F32) | BIT(I32) | BIT(I64))
#define ANY_NUMBER (NUMBER | BIT(F16) | BIT(I16) | BIT(I8) | BIT(U8))
#define BOOLEAN    BIT(BOOL)
#define EQUATABLE  (NUMBER | BIT(BOOL))
#define MOVABLE    (ANY_NUMBER | BIT(BOOL))
#define INDEX      (BIT(I32) | BIT(I64))

/* clang-format off */
#define BINARY(n, builtin, types, what)                                                                                                     \
    {OP_##n, #n, builtin, NULL, 2, 2, 1, 1, types, NULL, op_shape_binary, what}
#define ARITHMETIC(n, builtin, what)                                                                                                        \
    {OP_##n, #n, builtin, NULL, 2, 2, 1, 1, NUMBER, op_read_activation, op_shape_binary, what}
#define COMPARE(n, builtin, types, what)                                                                                                    \
    {OP_##n, #n, builtin, NULL, 2, 2, 1, 1, types, NULL, op_shape_compare, what}
#define UNARY(n, builtin, types, what)                                                                                                      \
    {OP_##n, #n, builtin, NULL, 1, 1, 1, 1, types, NULL, op_shape_same, what}
#define REDUCE(n, builtin, types, what)                                                                                                     \
    {OP_##n, #n, builtin, NULL, 2, 2, 1, 1, types, op_read_reduce, op_shape_reduce, what}

/* one row a line */
const op_row op_rows[] = {
    ARITHMETIC(ADD, 0, "a + b"),
    ARITHMETIC(SUB, 41, "a - b"),
    ARITHMETIC(MUL, 18, "a * b"),
    ARITHMETIC(DIV, 42, "a / b; integers towards zero"),
    BINARY(MINIMUM, 57, NUMBER, "the smaller"),
    BINARY(MAXIMUM, 55, NUMBER, "the larger"),
    BINARY(POW, 78, FLOAT, "a to the power b"),
    BINARY(SQUARED_DIFFERENCE, 99, FLOAT, "(a - b) squared"),
    BINARY(FLOOR_DIV, 90, NUMBER, "floor(a / b)"),
    BINARY(FLOOR_MOD, 95, NUMBER, "a - floor(a / b) * b"),
    COMPARE(EQUAL, 71, EQUATABLE, "a == b"),
    COMPARE(NOT_EQUAL, 72, EQUATABLE, "a != b"),
    COMPARE(GREATER, 61, NUMBER, "a > b"),
    COMPARE(GREATER_EQUAL, 62, NUMBER, "a >= b"),
    COMPARE(LESS, 58, NUMBER, "a < b"),
    COMPARE(LESS_EQUAL, 63, NUMBER, "a <= b"),
    BINARY(LOGICAL_AND, 86, BOOLEAN, "both"),
    BINARY(LOGICAL_OR, 84, BOOLEAN, "either"),
    UNARY(ABS, 101, NUMBER, "absolute value"),
    UNARY(NEG, 59, NUMBER, "-x"),
    UNARY(EXP, 47, FLOAT, "e to the power x"),
    UNARY(LOG, 73, FLOAT, "natural logarithm"),
    UNARY(SQRT, 75, FLOAT, "square root"),
    UNARY(RSQRT, 76, FLOAT, "1 / square root"),
    UNARY(SQUARE, 92, NUMBER, "x * x"),
    UNARY(SIN, 66, FLOAT, "sine"),
    UNARY(COS, 108, FLOAT, "cosine"),
    UNARY(TANH, 28, FLOAT, "hyperbolic tangent"),
    UNARY(LOGISTIC, 14, FLOAT, "1 / (1 + exp(-x))"),
    {OP_GELU, "GELU", 150, NULL, 1, 1, 1, 1, FLOAT, op_read_gelu, op_shape_same, "x * P(X <= x) of the normal distribution; exact or by tanh"},
    UNARY(RELU, 19, FLOAT, "max(x, 0)"),
    UNARY(RELU6, 21, FLOAT, "x cut to [0, 6]"),
    {OP_LEAKY_RELU, "LEAKY_RELU", 98, NULL, 1, 1, 1, 1, FLOAT, op_read_leaky_relu, op_shape_same, "x, or alpha * x below 0"},
    UNARY(ELU, 111, FLOAT, "x, or exp(x) - 1 below 0"),
    UNARY(HARD_SWISH, 117, FLOAT, "x * relu6(x + 3) / 6"),
    UNARY(FLOOR, 8, FLOAT, "rounded down"),
    UNARY(CEIL, 104, FLOAT, "rounded up"),
    UNARY(ROUND, 116, FLOAT, "rounded to nearest, ties to even"),
    UNARY(SIGN, 158, NUMBER, "-1, 0 or 1"),
    UNARY(LOGICAL_NOT, 87, BOOLEAN, "not x"),
    {OP_CAST, "CAST", 53, NULL, 1, 1, 1, 1, MOVABLE, NULL, op_shape_cast, "to the output's type; floats towards zero"},
    {OP_SELECT, "SELECT_V2", 123, NULL, 3, 3, 1, 1, BOOLEAN, NULL, op_shape_select, "condition ? a : b, broadcast"},
    {OP_SELECT, "SELECT", 64, NULL, 3, 3, 1, 1, BOOLEAN, op_read_select_v1, op_shape_select, "the same with equal shapes or a scalar condition"},
    {OP_RESHAPE, "RESHAPE", 22, NULL, 1, 2, 1, 1, MOVABLE, op_read_reshape, op_shape_reshape, "the same elements in another shape"},
    {OP_RESHAPE, "SQUEEZE", 43, NULL, 1, 1, 1, 1, MOVABLE, op_read_squeeze, op_shape_reshape, "without axes of size 1"},
    {OP_RESHAPE, "EXPAND_DIMS", 70, NULL, 2, 2, 1, 1, MOVABLE, op_read_expand_dims, op_shape_reshape, "with one more axis of size 1"},
    {OP_TRANSPOSE, "TRANSPOSE", 39, NULL, 2, 2, 1, 1, MOVABLE, op_read_transpose, op_shape_transpose, "axes permuted"},
    {OP_CONCATENATION, "CONCATENATION", 2, NULL, 1, OP_ANY_NUMBER, 1, 1, MOVABLE, op_read_concat, op_shape_concat, "one behind the other along an axis"},
    {OP_SLICE, "SLICE", 65, NULL, 3, 3, 1, 1, MOVABLE, op_read_slice, op_shape_asked, "a box of elements"},
    {OP_SLICE, "STRIDED_SLICE", 45, NULL, 4, 4, 1, 1, MOVABLE, op_read_strided_slice, op_shape_asked, "a box with steps; no ellipsis or new-axis masks"},
    {OP_PACK, "PACK", 83, NULL, 1, OP_ANY_NUMBER, 1, 1, MOVABLE, op_read_pack, op_shape_pack, "side by side along a new axis"},
    {OP_UNPACK, "UNPACK", 88, NULL, 1, 1, 1, OP_ANY_NUMBER, MOVABLE, op_read_unpack, op_shape_unpack, "an axis taken apart"},
    {OP_SPLIT, "SPLIT", 49, NULL, 2, 2, 1, OP_ANY_NUMBER, 0, op_read_split, op_shape_split, "equal parts of an axis"},
    {OP_GATHER, "GATHER", 36, NULL, 2, 2, 1, 1, MOVABLE, op_read_gather, op_shape_gather, "chosen indices of an axis"},
    {OP_GATHER_ND, "GATHER_ND", 107, NULL, 2, 2, 1, 1, MOVABLE, NULL, op_shape_gather_nd, "chosen slices by index vectors"},
    {OP_PAD, "PAD", 34, NULL, 2, 2, 1, 1, MOVABLE, op_read_pad, op_shape_pad, "zeros around"},
    {OP_PAD, "PADV2", 60, NULL, 3, 3, 1, 1, MOVABLE, op_read_pad_v2, op_shape_pad, "a value around"},
    {OP_TILE, "TILE", 69, NULL, 2, 2, 1, 1, MOVABLE, op_read_tile, op_shape_tile, "repeated along each axis"},
    {OP_BROADCAST_TO, "BROADCAST_TO", 130, NULL, 2, 2, 1, 1, MOVABLE, op_read_broadcast_to, op_shape_broadcast_to, "axes of size 1 repeated"},
    {OP_DYNAMIC_UPDATE_SLICE, "DYNAMIC_UPDATE_SLICE", 151, NULL, 3, 3, 1, 1, MOVABLE, NULL, op_shape_update_slice, "a copy with a box replaced; the start may be computed"},
    {OP_EMBEDDING_LOOKUP, "EMBEDDING_LOOKUP", 7, NULL, 2, 2, 1, 1, BIT(I32), NULL, op_shape_embedding, "rows of a table (f32, f16, i8, i4)"},
    {OP_ONE_HOT, "ONE_HOT", 85, NULL, 4, 4, 1, 1, INDEX, op_read_one_hot, op_shape_one_hot, "on at the index, off elsewhere"},
    {OP_RANGE, "RANGE", 96, NULL, 3, 3, 1, 1, NUMBER, op_read_range, op_shape_range, "start, start + delta, … of constants"},
    REDUCE(SUM, 74, NUMBER, "sum over axes"),
    REDUCE(MEAN, 40, FLOAT, "mean over axes"),
    REDUCE(REDUCE_MAX, 82, NUMBER, "largest over axes"),
    REDUCE(REDUCE_MIN, 89, NUMBER, "smallest over axes"),
    REDUCE(REDUCE_PROD, 81, NUMBER, "product over axes"),
    REDUCE(REDUCE_ANY, 91, BOOLEAN, "any over axes"),
    {OP_CUMSUM, "CUMSUM", 128, NULL, 2, 2, 1, 1, NUMBER, op_read_cumsum, op_shape_same, "running sum along an axis"},
    {OP_ARG_MAX, "ARG_MAX", 56, NULL, 2, 2, 1, 1, NUMBER, op_read_arg_max, op_shape_arg_max, "index of the largest, the first if equal"},
    {OP_FULLY_CONNECTED, "FULLY_CONNECTED", 9, NULL, 2, 3, 1, 1, FLOAT, op_read_fully_connected, op_shape_fully_connected, "x [.., K], weights [N, K] (f32, f16, i8, i4), bias [N]"},
    {OP_BATCH_MATMUL, "BATCH_MATMUL", 126, NULL, 2, 2, 1, 1, FLOAT, op_read_batch_matmul, op_shape_batch_matmul, "matrix products, leading axes broadcast"},
    {OP_CONV_2D, "CONV_2D", 3, NULL, 2, 3, 1, 1, FLOAT, op_read_conv, op_shape_conv, "NHWC convolution, weights [out, h, w, in]"},
    {OP_DEPTHWISE_CONV_2D, "DEPTHWISE_CONV_2D", 4, NULL, 2, 3, 1, 1, FLOAT, op_read_depthwise, op_shape_depthwise, "per-channel convolution, weights [1, h, w, out]"},
    {OP_AVERAGE_POOL_2D, "AVERAGE_POOL_2D", 1, NULL, 1, 1, 1, 1, FLOAT, op_read_pool, op_shape_pool, "mean of the window's elements inside the input"},
    {OP_MAX_POOL_2D, "MAX_POOL_2D", 17, NULL, 1, 1, 1, 1, FLOAT, op_read_pool, op_shape_pool, "largest of the window"},
    {OP_RESIZE_BILINEAR, "RESIZE_BILINEAR", 23, NULL, 2, 2, 1, 1, FLOAT, op_read_resize, op_shape_resize, "images resized"},
    {OP_SOFTMAX, "SOFTMAX", 25, NULL, 1, 1, 1, 1, FLOAT, op_read_softmax, op_shape_same, "exp(beta * x) over its sum, last axis"},
    {OP_DEQUANTIZE, "DEQUANTIZE", 6, NULL, 1, 1, 1, 1, BIT(F16) | BIT(I8) | BIT(I4), NULL, op_shape_dequantize, "to f32"},
    {OP_QUANTIZE, "QUANTIZE", 114, NULL, 1, 1, 1, 1, FLOAT, NULL, op_shape_quantize, "to i8 with one scale"},
    {OP_RMS_NORM, "RMS_NORM", -1, "odml.rms_norm", 1, 2, 1, 1, FLOAT, NULL, op_shape_rms_norm, "x * rsqrt(mean(x * x) + epsilon) * weight over the last axis"},
    {OP_ATTENTION, "ATTENTION", -1, NULL, 3, 3, 1, 1, FLOAT, NULL, NULL, "grouped-query attention over key and value states; recognised, never in a file"},
    {OP_GATED_DELTA, "GATED_DELTA", -1, "gated_delta_update", 6, 6, 2, 2, FLOAT, op_read_gated_delta, op_shape_gated_delta, "gated delta rule, one step of the recurrence for each token"},
    {OP_GDN_TRIL_INV, "GDN_TRIL_INV", -1, "gdn_tril_inv", 1, 1, 1, 1, FLOAT, NULL, op_shape_tril_inv, "inverse of 1 - A for strictly lower triangular A"},
    {OP_ROPE, "ROPE", -1, NULL, 3, 3, 1, 1, FLOAT, NULL, NULL, "rotary embedding, x * cos + (-x2, x1) * sin; recognised, never in a file"},
    {OP_GATED_UNIT, "GATED_UNIT", -1, NULL, 2, 2, 1, 1, FLOAT, NULL, NULL, "activation(gate) * up; recognised, never in a file"},
};
/* clang-format on */
const uint32_t op_n_rows = sizeof op_rows / sizeof *op_rows;

const char *graph_op_name(graph_op op)
{
    for (uint32_t i = 0; i < op_n_rows; i++) {
        if (op_rows[i].op == op) {
            return op == OP_SELECT ? "SELECT" : op_rows[i].name;
        }
    }
    return "NONE";
}

static lithe_status fail(op_build *b, lithe_status code, const char *fmt, va_list args)
{
    char text[400];
    vsnprintf(text, sizeof text, fmt, args);
    error_set(b->err, code, "signature '%s', node %u (%s): %s", b->g->signature, b->node, b->row->name, text);
    error_at_signature(b->err, b->g->signature);
    error_at_node(b->err, b->node <= INT32_MAX ? (int32_t)b->node : -1, b->row->name);
    return code;
}

lithe_status op_fail(op_build *b, lithe_status code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail(b, code, fmt, args);
    va_end(args);
    return code;
}

lithe_status op_fail_tensor(op_build *b, lithe_status code, uint32_t tensor, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail(b, code, fmt, args);
    va_end(args);
    if (tensor != GRAPH_NONE) {
        error_tensor(b->err, "%s", b->g->tensors[tensor].name);
    }
    return code;
}

static void print_count(buffer *out, uint32_t min, uint32_t max)
{
    if (max == OP_ANY_NUMBER) {
        buffer_printf(out, "%u or more", min);
    } else if (min == max) {
        buffer_printf(out, "%u", min);
    } else {
        buffer_printf(out, "%u to %u", min, max);
    }
}

void graph_ops_markdown(buffer *out)
{
    buffer_string(out, "# Operators\n\nWhat a graph in a bundle may consist of. Made from the table in "
                       "`src/graph/ops.c` by `tools/ops_md.c`; a test "
                       "compares.\nEverything else is refused when a bundle is opened, with signature, node and "
                       "operator. Composites that are "
                       "not listed run as their decomposition.\nInputs that only parametrise (shapes, axes, "
                       "permutations, sizes) must be "
                       "constant.\n\n| in the file | becomes | inputs | outputs | types of the first input | what it "
                       "computes |\n|---|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < op_n_rows; i++) {
        const op_row *r = &op_rows[i];
        if (r->builtin >= 0) {
            buffer_printf(out, "| %s | %s | ", r->name, graph_op_name(r->op));
        } else {
            buffer_printf(out, "| %s%s%s | %s | ", r->custom ? "`" : "", r->custom ? r->custom : "-",
                          r->custom ? "`" : "", r->name);
        }
        print_count(out, r->min_in, r->max_in);
        buffer_string(out, " | ");
        print_count(out, r->min_out, r->max_out);
        buffer_string(out, " | ");
        bool any = r->types == 0;
        for (int t = 0; t < GRAPH_TYPE_COUNT; t++) {
            if (r->types >> t & 1) {
                buffer_printf(out, "%s%s", any ? " " : "", graph_type_name((graph_type)t));
                any = true;
            }
        }
        buffer_printf(out, "%s | %s |\n", r->types ? "" : "any", r->what);
    }
}
