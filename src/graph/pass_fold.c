/* Nodes of constants become constants, as far as the evaluator knows them exactly. */
#include "graph/eval.h"
#include "graph/passes.h"

#define MAX_RESULT_BYTES ((uint64_t)1 << 20)
#define MAX_TOTAL_BYTES  ((uint64_t)64 << 20) /* of all results: a file may ask for many */

static bool foldable(const graph *g, const graph_node *n, uint64_t *bytes_needed)
{
    if (n->dead || n->n_inputs == 0 || !graph_is_constant(g, n->inputs[0]) || !eval_can(g, n)) {
        return false;
    }
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        if (!graph_is_constant(g, n->inputs[i]) ||
            (g->tensors[n->inputs[i]].quant != GRAPH_QUANT_NONE && n->op != OP_DEQUANTIZE) ||
            g->tensors[n->inputs[i]].elements > MAX_RESULT_BYTES) {
            return false;
        }
    }
    *bytes_needed = 0;
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        const graph_tensor *t = &g->tensors[n->outputs[i]];
        *bytes_needed += graph_type_bytes(t->type, t->elements);
    }
    return *bytes_needed <= MAX_RESULT_BYTES;
}

static lithe_status fold_node(graph *g, graph_node *n, lithe_error *err)
{
    const void **in = ARENA_ARRAY(g->arena, const void *, n->n_inputs);
    void **out = ARENA_ARRAY(g->arena, void *, n->n_outputs);
    if (!in || !out) {
        return error_memory(err, n->n_inputs * sizeof *in, "folding a node");
    }
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        in[i] = g->tensors[n->inputs[i]].data;
    }
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        const graph_tensor *t = &g->tensors[n->outputs[i]];
        out[i] = arena_alloc(g->arena, 1, (size_t)graph_type_bytes(t->type, t->elements));
        if (!out[i]) {
            return error_memory(err, graph_type_bytes(t->type, t->elements), "a folded constant");
        }
    }
    if (!eval_node(g, n, in, out)) {
        return LITHE_OK; /* an index out of range, say: the kernel decides what that means */
    }
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        graph_tensor *t = &g->tensors[n->outputs[i]];
        t->data = out[i];
        t->data_bytes = graph_type_bytes(t->type, t->elements);
        t->aligned = true;
    }
    n->dead = true;
    return LITHE_OK;
}

lithe_status pass_fold(graph *g, lithe_error *err)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint64_t needed;
        if (!foldable(g, &g->nodes[i], &needed) || total + needed > MAX_TOTAL_BYTES) {
            continue;
        }
        total += needed;
        lithe_status status = fold_node(g, &g->nodes[i], err);
        if (status != LITHE_OK) {
            return status;
        }
    }
    return graph_sort(g, err);
}
