/* The ops of the IR. One row of ops.c says all that graph knows of an op: name, TFLite builtin, arity, attribute reader, shape rule; and generates
 * docs/ops.md. Kernels are chosen by cpu from graph_op. */
#ifndef LITHE_GRAPH_OPS_H
#define LITHE_GRAPH_OPS_H

#include <stdint.h>

typedef enum graph_op {
    OP_NONE,
    /* two inputs, broadcast as numpy does */
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_MINIMUM,
    OP_MAXIMUM,
    OP_POW,
    OP_SQUARED_DIFFERENCE,
    OP_FLOOR_DIV,
    OP_FLOOR_MOD,
    OP_EQUAL,
    OP_NOT_EQUAL,
    OP_GREATER,
    OP_GREATER_EQUAL,
    OP_LESS,
    OP_LESS_EQUAL,
    OP_LOGICAL_AND,
    OP_LOGICAL_OR,
    /* one input */
    OP_ABS,
    OP_NEG,
    OP_EXP,
    OP_LOG,
    OP_SQRT,
    OP_RSQRT,
    OP_SQUARE,
    OP_SIN,
    OP_COS,
    OP_TANH,
    OP_LOGISTIC,
    OP_GELU,
    OP_RELU,
    OP_RELU6,
    OP_LEAKY_RELU,
    OP_ELU,
    OP_HARD_SWISH,
    OP_FLOOR,
    OP_CEIL,
    OP_ROUND,
    OP_SIGN,
    OP_LOGICAL_NOT,
    OP_CAST,
    OP_SELECT, /* condition, a, b; broadcast (SELECT and SELECT_V2) */
    /* moving data */
    OP_RESHAPE, /* also SQUEEZE, EXPAND_DIMS */
    OP_TRANSPOSE,
    OP_CONCATENATION,
    OP_SLICE /* and STRIDED_SLICE */,
    OP_PACK,
    OP_UNPACK,
    OP_SPLIT,
    OP_GATHER,
    OP_GATHER_ND,
    OP_PAD,
    OP_TILE,
    OP_BROADCAST_TO,
    OP_DYNAMIC_UPDATE_SLICE,
    OP_EMBEDDING_LOOKUP,
    OP_ONE_HOT,
    OP_RANGE,
    /* reductions over attrs.axes */
    OP_SUM,
    OP_MEAN,
    OP_REDUCE_MAX,
    OP_REDUCE_MIN,
    OP_REDUCE_PROD,
    OP_REDUCE_ANY,
    OP_CUMSUM,
    OP_ARG_MAX,
    /* sums of products */
    OP_FULLY_CONNECTED, /* x [.., K], w [N, K], bias [N] or absent */
    OP_BATCH_MATMUL,
    OP_CONV_2D,
    OP_DEPTHWISE_CONV_2D,
    OP_AVERAGE_POOL_2D,
    OP_MAX_POOL_2D,
    OP_RESIZE_BILINEAR,
    OP_SOFTMAX,
    OP_DEQUANTIZE,
    OP_QUANTIZE,
    /* macro-ops, made from composites and custom ops or by recognition */
    OP_RMS_NORM,     /* x, weight (or absent): x * rsqrt(mean(x^2) + epsilon) * weight over the last axis */
    OP_ATTENTION,    /* see graph_attrs */
    OP_GATED_DELTA,  /* q, k, v, beta, g, state -> o, state' (custom gated_delta_update; graphs.md) */
    OP_GDN_TRIL_INV, /* custom gdn_tril_inv */
    OP_ROPE, /* x, cos, sin: x * cos + concat(-x2, x1) * sin over the last axis; cos, sin broadcast; each product rounded */
    OP_GATED_UNIT, /* gate, up: act(gate) * up; silu: (gate * logistic(gate)) * up */
    OP_COUNT
} graph_op;

const char *graph_op_name(graph_op op); /* "FULLY_CONNECTED" */

/* docs/ops.md as the op table says it (tools/ops_md.c prints it, tests/graph/ops_test.c keeps the file current). */
struct buffer;
void graph_ops_markdown(struct buffer *out);

#endif
