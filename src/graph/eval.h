/* A scalar evaluator for the ops whose results do not depend on how they are computed: whole numbers, booleans, moving of data, and the float
 * operations that IEEE 754 rounds exactly. Folding and the verification of masks use it; it never defines what a kernel computes. */
#ifndef LITHE_GRAPH_EVAL_H
#define LITHE_GRAPH_EVAL_H

#include "graph/graph.h"

/* True if eval_node knows the op with these types. */
bool eval_can(const graph *g, const graph_node *n);

/* Computes n from in[] to out[], each the packed elements of its tensor (in[i] NULL for absent inputs; inputs need no alignment). False if
 * it cannot: an index out of range, a division by zero, a float outside the integer's range. */
bool eval_node(const graph *g, const graph_node *n, const void *const *in, void *const *out);

/* Evaluates tensors from bound inputs and constants, on demand. */
typedef struct eval {
    const graph *g;
    arena *arena;        /* borrowed; buffers are kept for the next round */
    const void **values; /* [n_tensors] of this round, NULL: not yet */
    void **buffers;      /* [n_tensors] */
    uint32_t *computed, n_computed;
    uint64_t work, max_work; /* elements computed so far, all rounds together */
} eval;

/* The graph must be indexed. False: out of memory. */
bool eval_init(eval *e, const graph *g, arena *a, uint64_t max_work);
/* Forgets all values and bindings. */
void eval_restart(eval *e);
/* data: packed elements, borrowed until the next restart. */
void eval_bind(eval *e, uint32_t tensor, const void *data);
/* The value of a tensor, NULL if it cannot be computed. */
const void *eval_tensor(eval *e, uint32_t tensor);

#endif
