/* gelu(gate) * up and (gate * logistic(gate)) * up become GATED_UNIT: the same operations on each element, so the same bits. */
#include "graph/passes.h"

#include <string.h>

/* The gate if t is its activation and used for nothing else. */
static bool activation_of(const graph *g, uint32_t t, uint32_t *gate, uint32_t *kind)
{
    const graph_node *n = pass_producer(g, t);
    if (!n || g->tensors[t].n_uses != 1 || n->a.activation != GRAPH_ACT_NONE) {
        return false;
    }
    if (n->op == OP_GELU) {
        *gate = n->inputs[0];
        *kind = n->a.approximate ? 0 : 2;
        return true;
    }
    for (uint32_t i = 0; n->op == OP_MUL && i < 2; i++) {
        const graph_node *logistic = pass_producer(g, n->inputs[1 - i]);
        if (logistic && logistic->op == OP_LOGISTIC && logistic->inputs[0] == n->inputs[i] &&
            n->inputs[0] != n->inputs[1] && g->tensors[logistic->outputs[0]].n_uses == 1) {
            *gate = n->inputs[i];
            *kind = 1;
            return true;
        }
    }
    return false;
}

static void try_gated(graph *g, graph_node *n)
{
    const graph_tensor *y = &g->tensors[n->outputs[0]];
    if (n->dead || n->op != OP_MUL || n->a.activation != GRAPH_ACT_NONE || y->type != GRAPH_F32 || n->scan) {
        return;
    }
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t gate, kind, up = n->inputs[1 - i];
        if (activation_of(g, n->inputs[i], &gate, &kind) && graph_same_shape(&g->tensors[gate], y) &&
            graph_same_shape(&g->tensors[up], y) && graph_same_shape(&g->tensors[n->inputs[i]], y)) {
            n->op = OP_GATED_UNIT;
            n->inputs[0] = gate;
            n->inputs[1] = up;
            memset(&n->a, 0, sizeof n->a);
            n->a.kind = kind;
            return;
        }
    }
}

lithe_status pass_gated(graph *g, lithe_error *err)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        try_gated(g, &g->nodes[i]);
    }
    return pass_drop(g, err);
}
