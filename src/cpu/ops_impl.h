/* What the kernels of ops_*.c share. A kernel sees its work as items (elements of the output, rows, pixels …) of one row of the plan; ops.c
 * groups items into units. */
#ifndef LITHE_CPU_OPS_IMPL_H
#define LITHE_CPU_OPS_IMPL_H

#include "cpu/ops.h"

/* The stretch of work of one call: for each plan row the items [i0, i1). */
typedef struct op_iter {
    uint64_t unit, end; /* units left */
    uint64_t items, per_unit;
    uint32_t units_per_row;
    uint64_t row, i0, i1; /* set by op_next */
} op_iter;
bool op_next(op_iter *it);

/* One op: what it accepts, how much work it is, and how it is done. */
typedef struct op_kernel {
    lithe_status (*check)(const op_call *c, lithe_error *err);
    uint64_t (*items)(const op_call *c);
    double (*cost)(const op_call *c); /* floats touched per item */
    void (*run)(const op_call *c, op_iter *it, void *scratch);
    size_t (*scratch)(const op_call *c); /* NULL: none */
} op_kernel;

extern const op_kernel op_kernel_binary, op_kernel_compare, op_kernel_logical, op_kernel_unary, op_kernel_not,
    op_kernel_select;
extern const op_kernel op_kernel_cast, op_kernel_dequantize, op_kernel_quantize;
extern const op_kernel op_kernel_reshape, op_kernel_transpose, op_kernel_slice, op_kernel_broadcast_to, op_kernel_tile,
    op_kernel_pad, op_kernel_join, op_kernel_part, op_kernel_update_slice;
extern const op_kernel op_kernel_gather, op_kernel_gather_nd, op_kernel_one_hot, op_kernel_range, op_kernel_arg_max;
extern const op_kernel op_kernel_reduce, op_kernel_any, op_kernel_cumsum;
extern const op_kernel op_kernel_softmax, op_kernel_rms_norm, op_kernel_rope, op_kernel_gated_unit;
extern const op_kernel op_kernel_fully_connected, op_kernel_batch_matmul;
extern const op_kernel op_kernel_conv, op_kernel_depthwise, op_kernel_average_pool, op_kernel_max_pool,
    op_kernel_resize;
extern const op_kernel op_kernel_gated_delta, op_kernel_tril_inv;

/* LITHE_E_UNSUPPORTED: "signature …, node … (OP): no CPU kernel for f32, i32 -> f32: <why>". */
lithe_status op_refuse(const op_call *c, lithe_error *err, const char *why);
/* Fails unless all inputs and outputs that are there have this type. */
lithe_status op_all_f32(const op_call *c, lithe_error *err);
/* Fails unless data can be moved in whole bytes (not i4) and inputs [first, last) have the type of output 0. */
lithe_status op_movable(const op_call *c, uint32_t first, uint32_t last, lithe_error *err);

static inline const void *op_input(const op_call *c, uint32_t i, uint64_t row)
{
    return c->inputs[i].data + row * c->inputs[i].row_stride;
}
static inline void *op_output(const op_call *c, uint32_t i, uint64_t row)
{
    return c->outputs[i].data + row * c->outputs[i].row_stride;
}
static inline const graph_tensor *op_in_tensor(const op_call *c, uint32_t i)
{
    return i < c->node->n_inputs ? c->inputs[i].tensor : NULL;
}
static inline size_t op_element_bytes(graph_type t)
{
    return (size_t)graph_type_bytes(t, 1);
}
static inline uint64_t op_last_dim(const graph_tensor *t)
{
    return t->rank ? (uint64_t)t->dims[t->rank - 1] : 1;
}
/* Product of dims [from, to). */
uint64_t op_product(const graph_tensor *t, uint32_t from, uint32_t to);

/* Common values of op_kernel.items and .cost. */
uint64_t op_items_elements(const op_call *c); /* of output 0 */
uint64_t op_items_rows(const op_call *c);     /* last-axis rows of output 0 */
double op_cost_one(const op_call *c);
double op_cost_row(const op_call *c); /* the last axis of output 0 */

/* Applies a fused activation in place; op_activation_ok says whether there is one for the type. */
bool op_activation_ok(graph_activation a, graph_type type);
void op_activate(const op_call *c, void *x, size_t n);

/* Index i (any integer type) of a tensor of i32 or i64, cut to [0, n). */
int64_t op_index(const graph_tensor *t, const void *data, uint64_t i, int64_t n);

/* An index space walked in row-major order with up to three operands, each with a stride (in elements) per axis. Axes are merged where all
 * strides allow, so that the last one is as long as can be. */
enum { ND_RANK = 2 * GRAPH_MAX_RANK, ND_OPERANDS = 3 };
typedef struct nd_space {
    uint32_t rank, n_operands;
    uint64_t dims[ND_RANK];
    int64_t strides[ND_OPERANDS][ND_RANK];
} nd_space;
typedef struct nd_walk {
    const nd_space *space;
    uint64_t at, end, run; /* flat index of the run, end of the walk, length of the run */
    uint64_t index[ND_RANK];
    int64_t offset[ND_OPERANDS]; /* of each operand's first element of the run */
} nd_walk;
/* Fills strides for tensors broadcast (numpy) to `dims`; a tensor's axes are aligned at the end. */
void nd_broadcast(nd_space *s, uint32_t rank, const int32_t *dims, uint32_t n_operands,
                  const graph_tensor *const *operands);
void nd_merge(nd_space *s);
/* Runs along the last axis that cover flat indices [i0, i1): for (nd_begin(…); nd_next(&w);) */
void nd_begin(nd_walk *w, const nd_space *s, uint64_t i0, uint64_t i1);
bool nd_next(nd_walk *w);
static inline int64_t nd_last_stride(const nd_space *s, uint32_t operand)
{
    return s->strides[operand][s->rank - 1];
}
/* out[0 .. i1 - i0) = elements of `src` that operand 0 walks over. */
void nd_copy(const nd_space *s, size_t element_bytes, const void *src, void *out, uint64_t i0, uint64_t i1);

#endif
