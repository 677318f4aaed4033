/* Drops nodes that nothing uses. Results of the graph and updates of states are uses. */
#include "graph/passes.h"

lithe_status pass_drop(graph *g, lithe_error *err)
{
    bool *used = ARENA_ARRAY(g->arena, bool, g->n_tensors);
    if (!used) {
        return error_memory(err, g->n_tensors, "dropping unused nodes");
    }
    lithe_status status = graph_sort(g, err);
    if (status != LITHE_OK) {
        return status;
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        if (g->outputs[i].tensor != GRAPH_NONE) {
            used[g->outputs[i].tensor] = true;
        }
    }
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        graph_node *n = &g->nodes[i];
        bool keep = n->op == OP_ATTENTION && n->inputs[1] != GRAPH_NONE; /* writes states */
        for (uint32_t j = 0; j < n->n_outputs; j++) {
            keep |= used[n->outputs[j]];
        }
        n->dead = !keep;
        for (uint32_t j = 0; keep && j < n->n_inputs; j++) {
            if (n->inputs[j] != GRAPH_NONE) {
                used[n->inputs[j]] = true;
            }
        }
    }
    return graph_sort(g, err);
}
