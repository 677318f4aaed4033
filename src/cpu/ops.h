/* Every op of the IR as a kernel over rows (see graph/plan.h for what a row is), in plain C over contiguous tensors, using the vec kernels where
 * they fit. Linear, embedding, attention and gated-delta steps have their own ways in exec.c; all other ops go through this table.
 *
 * Work is counted in units: a call with `rows` rows has rows * units_per_row units, and any split of them among threads gives the same bits. */
#ifndef LITHE_CPU_OPS_H
#define LITHE_CPU_OPS_H

#include "cpu/kernels.h"
#include "graph/graph.h"

typedef struct op_operand {
    const graph_tensor *tensor; /* type, rank, dims of one row; NULL: absent */
    unsigned char *data;        /* row 0 */
    size_t row_stride;          /* bytes from row to row; 0: the same for all rows (constants, states) */
} op_operand;

enum { OP_MAX_OPERANDS = 16 }; /* inputs; PACK and CONCATENATION of more go through `more` */

typedef struct op_call {
    const graph_node *node;
    const graph *graph;
    const cpu_kernels *kernels;
    const op_operand *inputs; /* node->n_inputs of them */
    const op_operand *outputs;
    uint32_t units_per_row; /* set by op_prepare */
    double unit_cost;     /* about this many floats touched per unit, set by op_prepare: decides whether threads pay */
    size_t scratch_bytes; /* per thread, set by op_prepare */
} op_call;

/* Checks that a kernel exists for the node's op, types and shapes, and fills units_per_row, unit_cost, scratch_bytes. Data pointers are not used.
 * LITHE_E_UNSUPPORTED names op and types; called when a plan is made, so that nothing fails while running. */
lithe_status op_prepare(op_call *c, lithe_error *err);
/* Runs units u0 .. u1-1 (row = unit / units_per_row). Cannot fail: index inputs out of range (GATHER, EMBEDDING_LOOKUP) are clamped to
 * the nearest valid one, as numerics.md says. scratch: c->scratch_bytes, 64-byte aligned, private to the thread. */
void op_run(const op_call *c, uint64_t u0, uint64_t u1, void *scratch);

/* n steps of the gated delta rule in token order, for value-head columns: q, k, v, beta, g rows as in graphs.md (row = one token), state updated in
 * place. Heads hv0 .. hv1-1 of n_v_heads. */
typedef struct gated_delta_call {
    uint32_t n; /* tokens */
    uint32_t n_k_heads, n_v_heads, dk, dv;
    const float *q, *k, *v, *beta, *g; /* row r at + r * stride floats: q, k [Hk][dk], v [Hv][dv], beta, g [Hv] */
    size_t q_stride, k_stride, v_stride, beta_stride, g_stride;
    float *state; /* [Hv][dk][dv] */
    float *out;   /* [Hv][dv] per row */
    size_t out_stride;
} gated_delta_call;
void gated_delta_run(const cpu_kernels *k, const gated_delta_call *c, uint32_t hv0, uint32_t hv1);

#endif
