/* The passes, one file each. Private to the module. Each leaves the graph sorted and indexed. */
#ifndef LITHE_GRAPH_PASSES_H
#define LITHE_GRAPH_PASSES_H

#include "graph/pass.h"

lithe_status pass_canonicalise(graph *g, lithe_error *err);
lithe_status pass_fold(graph *g, lithe_error *err);
lithe_status pass_merge(graph *g, lithe_error *err);
lithe_status pass_drop(graph *g, lithe_error *err);
lithe_status pass_attention(graph *g, lithe_error *err);
lithe_status pass_recurrent(graph *g, lithe_error *err);
lithe_status pass_rope(graph *g, lithe_error *err);
lithe_status pass_gated(graph *g, lithe_error *err);
lithe_status pass_any_length(graph *g, lithe_error *err);

/* The live node that computes t, NULL for inputs and constants. The graph must be indexed. */
static inline graph_node *pass_producer(const graph *g, uint32_t t)
{
    uint32_t p = t == GRAPH_NONE ? GRAPH_NONE : g->tensors[t].producer;
    return p == GRAPH_NONE || g->nodes[p].dead ? NULL : &g->nodes[p];
}

/* True if t is a constant of one f32 element; its value. */
static inline bool pass_scalar(const graph *g, uint32_t t, float *out)
{
    return t != GRAPH_NONE && g->tensors[t].type == GRAPH_F32 && g->tensors[t].elements == 1 &&
           graph_const_f32(g, t, 0, out);
}

/* Notes why a graph is not for any length; the first reason stays. */
void pass_why_not(graph *g, const graph_node *n, const char *fmt, ...) LITHE_PRINTF(3, 4);

#endif
