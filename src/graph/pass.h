/* Passes over a graph: one file and one public function each, in the order of the table. */
#ifndef LITHE_GRAPH_PASS_H
#define LITHE_GRAPH_PASS_H

#include "graph/graph.h"

typedef lithe_status (*graph_pass_fn)(graph *g, lithe_error *err);

typedef struct graph_pass {
    const char *name;
    const char *what; /* one line for `inspect --after list` */
    graph_pass_fn run;
    bool any_length_only; /* run only on the way to an any-length plan (decode graph) */
    bool is_fusion;       /* left out by no_fusion */
} graph_pass;

/* canonicalise:   decompositions' leftovers, DEQUANTIZE of constants into weights, RESHAPE chains, x * 1, x + 0, one form of ops
 * fold:           nodes whose inputs are all constant (scalar reference evaluator, eval.c; bounded size: results up to 1 MiB)
 * merge:          equal nodes become one
 * drop:           nodes that nothing uses
 * attention:      DYNAMIC_UPDATE_SLICE on states + scores + mask + softmax + values  ->  OP_ATTENTION; masks verified by evaluating them
 * recurrent:      scan groups: the nodes between a recurrent state's input and its new value; GATED_DELTA in place
 * rope, gated:    fusions (same bits as the nodes that they replace)
 * any_length:     sets graph.any_length or says which node stands in the way                                       */
extern const graph_pass graph_passes[];
extern const uint32_t graph_n_passes;

/* Runs the table's passes up to and including `last` (NULL: all). want_any_length: run the any-length ones too. If `last` is no pass,
 * LITHE_E_ARGUMENT lists the names. */
lithe_status graph_run_passes(graph *g, bool want_any_length, bool no_fusion, const char *last, lithe_error *err);
/* The same with one pass left out (NULL: none). */
lithe_status graph_run_passes_without(graph *g, bool want_any_length, bool no_fusion, const char *without,
                                      const char *last, lithe_error *err);

#endif
