/* The op table: one row for each form in which an op appears in a file or in the IR. Private to the module.
 *
 * Import takes a file's op through its row: `read` turns options and constant parameter inputs (permutations, axes, sizes …) into attributes,
 * `shape` computes type and shape of the outputs, which must then equal what the file says. After import an op has only data inputs. */
#ifndef LITHE_GRAPH_OP_TABLE_H
#define LITHE_GRAPH_OP_TABLE_H

#include "bundle/tflite.h"
#include "graph/graph.h"

#define OP_ANY_NUMBER UINT32_MAX

typedef struct op_result {
    graph_type type;
    uint32_t rank;
    int32_t dims[GRAPH_MAX_RANK];
} op_result;

typedef struct op_row op_row;

/* One op on its way from the file into the graph. */
typedef struct op_build {
    graph *g;
    const op_row *row;
    const tflite_op *file;
    uint32_t node; /* index in the signature's subgraph, for errors */
    uint32_t *in;  /* graph tensors; `read` drops those that became attributes */
    uint32_t n_in;
    const uint32_t *out; /* graph tensors with the file's types and shapes */
    uint32_t n_out;
    graph_attrs a;
    uint32_t asked_rank; /* from `read` to `shape`: sizes given by a parameter (new shape, multiples, slice sizes) */
    int32_t asked[GRAPH_MAX_RANK];
    uint32_t
        dropped; /* STRIDED_SLICE: bits of the axes of `asked` that the file's output lacks; a RESHAPE drops them */
    op_result result[2]; /* all outputs are like result[0], but for ops of two different outputs */
    lithe_error *err;
} op_build;

typedef lithe_status op_rule(op_build *b);

struct op_row {
    graph_op op;
    const char *name;        /* as the file format spells it */
    int32_t builtin;         /* BuiltinOperator, -1 if the file has no such op */
    const char *custom;      /* custom code or composite name, NULL if none */
    uint32_t min_in, max_in; /* inputs in the file; those from min_in on may be absent */
    uint32_t min_out, max_out;
    uint32_t types;        /* bits of graph_type that input 0 may have; 0: `shape` checks */
    op_rule *read, *shape; /* read: NULL if the op has no attributes */
    const char *what;      /* for docs/ops.md */
};

extern const op_row op_rows[];
extern const uint32_t op_n_rows;

/* Fails with LITHE_E_MODEL or LITHE_E_UNSUPPORTED; the message is completed with signature, node and op. */
lithe_status op_fail(op_build *b, lithe_status code, const char *fmt, ...) LITHE_PRINTF(3, 4);
/* The same, about one tensor (GRAPH_NONE: none): sets the field too. */
lithe_status op_fail_tensor(op_build *b, lithe_status code, uint32_t tensor, const char *fmt, ...) LITHE_PRINTF(4, 5);

static inline const graph_tensor *op_in(const op_build *b, uint32_t i)
{
    return i < b->n_in && b->in[i] != GRAPH_NONE ? &b->g->tensors[b->in[i]] : NULL;
}

/* ops_read.c */
op_rule op_read_activation, op_read_fully_connected, op_read_softmax, op_read_concat, op_read_conv, op_read_depthwise,
    op_read_pool, op_read_reduce, op_read_squeeze, op_read_expand_dims, op_read_reshape, op_read_split,
    op_read_strided_slice, op_read_slice, op_read_gather, op_read_pack, op_read_unpack, op_read_one_hot,
    op_read_leaky_relu, op_read_batch_matmul, op_read_cumsum, op_read_gelu, op_read_resize, op_read_transpose,
    op_read_pad, op_read_pad_v2, op_read_tile, op_read_broadcast_to, op_read_range, op_read_arg_max, op_read_select_v1,
    op_read_gated_delta;
/* ops_shape.c */
op_rule op_shape_binary, op_shape_compare, op_shape_same, op_shape_cast, op_shape_select, op_shape_reshape,
    op_shape_transpose, op_shape_concat, op_shape_asked, op_shape_pack, op_shape_unpack, op_shape_split,
    op_shape_gather, op_shape_gather_nd, op_shape_pad, op_shape_tile, op_shape_broadcast_to, op_shape_update_slice,
    op_shape_embedding, op_shape_one_hot, op_shape_range, op_shape_reduce, op_shape_arg_max, op_shape_dequantize,
    op_shape_quantize;
/* ops_shape_sums.c */
op_rule op_shape_fully_connected, op_shape_batch_matmul, op_shape_conv, op_shape_depthwise, op_shape_pool,
    op_shape_resize, op_shape_rms_norm, op_shape_gated_delta, op_shape_tril_inv;

#endif
