/* Prefill signatures of different lengths read as one function of the length (docs/architecture.md, Any length).
 *
 * Two signatures are compared op by op. Every dimension and every small integer constant (new shapes, sizes of slices) that differs must be an
 * affine function of the length, a + b * n; two lengths solve it, the others must agree. The subgraph for another length is the first one with
 * these numbers replaced, and is imported like any other: import checks every shape again. */
#ifndef LITHE_GRAPH_UNIFY_H
#define LITHE_GRAPH_UNIFY_H

#include "bundle/tflite.h"
#include "graph/graph.h"

/* A number of the first signature that depends on the length: value + slope * (n - length). */
typedef struct unify_number {
    uint32_t tensor;
    uint32_t index; /* dimension, or element of a constant */
    bool constant;
    int64_t value, slope;
} unify_number;

typedef struct graph_family {
    tflite_model *model; /* borrowed */
    const tflite_signature *base;
    tflite_subgraph subgraph; /* of the first signature */
    uint32_t length;          /* its length */
    unify_number *numbers;
    uint32_t n_numbers, numbers_capacity;
    char why_not[200]; /* not empty: the signatures cannot be unified, and this is why */
} graph_family;

/* Compares the signatures `keys`. LITHE_OK also when they cannot be unified: see why_not. At least two different lengths are needed.
 * Memory comes from `a`. */
lithe_status graph_unify(graph_family *f, tflite_model *m, const char *const *keys, uint32_t n_keys, arena *a,
                         lithe_error *err);

/* The graph for n tokens, as graph_import makes it. `a` may be another arena than the family's. */
lithe_status graph_import_length(graph *g, const graph_family *f, uint32_t n, const graph_state_hint *hints,
                                 uint32_t n_hints, arena *a, lithe_error *err);

#endif
