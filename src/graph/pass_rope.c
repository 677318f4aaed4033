/* x * cos + concat(-x2, x1) * sin becomes ROPE (x1, x2: the halves of x's last axis). Negation is exact and both products are rounded as
 * before, so the bits are the same. */
#include "graph/passes.h"

#include <string.h>

/* True if t is the half of x's last axis that begins at `begin`. */
static bool is_half(const graph *g, uint32_t t, uint32_t x, int32_t begin)
{
    const graph_node *n = pass_producer(g, t);
    const graph_tensor *whole = &g->tensors[x], *half = &g->tensors[t];
    if (!n || n->inputs[0] != x || half->rank != whole->rank || whole->rank < 1) {
        return false;
    }
    uint32_t last = whole->rank - 1;
    if (half->dims[last] * 2 != whole->dims[last] || half->elements * 2 != whole->elements) {
        return false;
    }
    if (n->op == OP_SPLIT) {
        return n->a.axis == (int32_t)last && n->n_outputs == 2 && n->outputs[begin ? 1 : 0] == t;
    }
    for (uint32_t i = 0; n->op == OP_SLICE && i < whole->rank; i++) {
        if (n->a.stride[i] != 1 || n->a.begin[i] != (i == last ? begin : 0)) {
            return false;
        }
    }
    return n->op == OP_SLICE;
}

/* True if t is concat(-x2, x1). */
static bool is_rotated(const graph *g, uint32_t t, uint32_t x)
{
    const graph_node *n = pass_producer(g, t);
    const graph_tensor *whole = &g->tensors[x];
    if (!n || n->op != OP_CONCATENATION || n->n_inputs != 2 || n->a.activation != GRAPH_ACT_NONE || whole->rank < 1 ||
        n->a.axis != (int32_t)whole->rank - 1 || !graph_same_shape(whole, &g->tensors[t])) {
        return false;
    }
    const graph_node *neg = pass_producer(g, n->inputs[0]);
    return neg && neg->op == OP_NEG && is_half(g, neg->inputs[0], x, whole->dims[whole->rank - 1] / 2) &&
           is_half(g, n->inputs[1], x, 0);
}

static const graph_node *only_product(const graph *g, uint32_t t)
{
    const graph_node *n = pass_producer(g, t);
    return n && n->op == OP_MUL && n->a.activation == GRAPH_ACT_NONE && g->tensors[t].n_uses == 1 ? n : NULL;
}

static void try_rope(graph *g, graph_node *n)
{
    if (n->dead || n->op != OP_ADD || n->a.activation != GRAPH_ACT_NONE ||
        g->tensors[n->outputs[0]].type != GRAPH_F32 || n->scan) {
        return;
    }
    const graph_node *sides[2] = {only_product(g, n->inputs[0]), only_product(g, n->inputs[1])};
    for (uint32_t s = 0; sides[0] && sides[1] && s < 8;
         s++) { /* which side is x * cos, and which factor is x and the rotated x */
        const graph_node *plain = sides[s & 1], *turned = sides[~s & 1];
        uint32_t x = plain->inputs[s >> 1 & 1], cos = plain->inputs[~s >> 1 & 1];
        uint32_t rotated = turned->inputs[s >> 2 & 1], sin = turned->inputs[~s >> 2 & 1];
        if (graph_same_shape(&g->tensors[x], &g->tensors[n->outputs[0]]) && is_rotated(g, rotated, x)) {
            uint32_t *inputs = ARENA_ARRAY(g->arena, uint32_t, 3);
            if (!inputs) {
                return;
            }
            inputs[0] = x, inputs[1] = cos, inputs[2] = sin;
            n->op = OP_ROPE;
            n->inputs = inputs;
            n->n_inputs = 3;
            memset(&n->a, 0, sizeof n->a);
            return;
        }
    }
}

lithe_status pass_rope(graph *g, lithe_error *err)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        try_rope(g, &g->nodes[i]);
    }
    return pass_drop(g, err);
}
