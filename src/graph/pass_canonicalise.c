/* One form for things that can be said in several ways, so that later passes and kernels meet fewer. What an op computes never changes,
 * bit for bit. */
#include "graph/passes.h"

#include <string.h>

typedef struct canon {
    graph *g;
    uint32_t *instead; /* [n_tensors] */
    bool *is_output;   /* [n_tensors] of the graph */
} canon;

/* The node becomes a RESHAPE of tensor t, or vanishes if shape and type are the same and its output is not the graph's. */
static void become_view(canon *c, graph_node *n, uint32_t t)
{
    const graph_tensor *x = &c->g->tensors[t], *y = &c->g->tensors[n->outputs[0]];
    n->op = OP_RESHAPE;
    n->inputs[0] = t;
    n->n_inputs = 1;
    memset(&n->a, 0, sizeof n->a);
    if (graph_same_shape(x, y) && !c->is_output[n->outputs[0]]) {
        c->instead[n->outputs[0]] = t;
        n->dead = true;
    }
}

static void canon_reshape(canon *c, graph_node *n)
{
    uint32_t t = n->inputs[0];
    const graph_node *p = pass_producer(c->g, t);
    become_view(c, n, p && p->op == OP_RESHAPE ? p->inputs[0] : t);
}

/* Only axes of size 1 move: the elements stay in order. */
static void canon_transpose(canon *c, graph_node *n)
{
    const graph_tensor *x = &c->g->tensors[n->inputs[0]];
    int32_t before = -1;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (x->dims[n->a.perm[i]] == 1) {
            continue;
        }
        if (n->a.perm[i] < before) {
            return;
        }
        before = n->a.perm[i];
    }
    become_view(c, n, n->inputs[0]);
    if (!n->dead) {
        canon_reshape(c, n);
    }
}

/* Ops that give back their input when no element is added or dropped. */
static void canon_same_count(canon *c, graph_node *n)
{
    const graph_tensor *x = &c->g->tensors[n->inputs[0]], *y = &c->g->tensors[n->outputs[0]];
    bool same = x->elements == y->elements && n->n_outputs == 1 && n->a.activation == GRAPH_ACT_NONE;
    for (uint32_t i = 0; n->op == OP_SLICE && i < x->rank; i++) {
        same = same && n->a.stride[i] == 1;
    }
    if (same && (n->n_inputs == 1 || n->op == OP_BROADCAST_TO || n->op == OP_TILE)) {
        become_view(c, n, n->inputs[0]);
    }
}

static void canon_cast(canon *c, graph_node *n)
{
    if (c->g->tensors[n->inputs[0]].type == c->g->tensors[n->outputs[0]].type) {
        become_view(c, n, n->inputs[0]);
    }
}

static bool is_number(const graph *g, uint32_t t, float want)
{
    float v;
    return g->tensors[t].elements == 1 && graph_const_f32(g, t, 0, &v) && v == want;
}

static bool is_minus_zero(const graph *g, uint32_t t)
{
    float v;
    return g->tensors[t].type == GRAPH_F32 && is_number(g, t, 0.0f) && graph_const_f32(g, t, 0, &v) &&
           __builtin_signbit(v);
}

/* x * 1, x / 1, x - 0 are x (x + 0 only for integers: -0 + 0 is 0); x * -1 is -x. */
static void canon_arithmetic(canon *c, graph_node *n)
{
    const graph *g = c->g;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t x = n->inputs[i], k = n->inputs[1 - i];
        if (n->a.activation != GRAPH_ACT_NONE || !graph_same_shape(&g->tensors[x], &g->tensors[n->outputs[0]]) ||
            (i == 1 && (n->op == OP_SUB || n->op == OP_DIV))) {
            continue;
        }
        bool is_float = g->tensors[x].type == GRAPH_F32;
        bool zero = (n->op == OP_ADD && (is_float ? is_minus_zero(g, k) : is_number(g, k, 0.0f))) ||
                    (n->op == OP_SUB && is_number(g, k, 0.0f) && !(is_float && is_minus_zero(g, k)));
        bool one = (n->op == OP_MUL || n->op == OP_DIV) && is_number(g, k, 1.0f);
        if (zero || one) {
            become_view(c, n, x);
            return;
        }
        if (n->op == OP_MUL && is_float && is_number(g, k, -1.0f)) {
            n->op = OP_NEG;
            n->inputs[0] = x;
            n->n_inputs = 1;
            return;
        }
    }
}

/* The constant behind a DEQUANTIZE, or t itself. */
static uint32_t behind_dequantize(const graph *g, uint32_t t)
{
    const graph_node *p = pass_producer(g, t);
    return p && p->op == OP_DEQUANTIZE && graph_is_constant(g, p->inputs[0]) ? p->inputs[0] : t;
}

static bool rows_are_scaled(const graph_tensor *w)
{
    return w->rank == 2 && !(w->quant == GRAPH_QUANT_CHANNEL && w->quant_axis != 0);
}

/* Weights and tables are read as they are stored. Weights that the file dequantises first are not for quantised activations:
 * dynamic_quant stays as import set it, false. */
static void canon_weights(canon *c, graph_node *n)
{
    uint32_t w = behind_dequantize(c->g, n->inputs[1]);
    if (rows_are_scaled(&c->g->tensors[w])) {
        n->inputs[1] = w;
    }
}

/* Rows of a constant matrix are an embedding. */
static void canon_gather(canon *c, graph_node *n)
{
    uint32_t table = behind_dequantize(c->g, n->inputs[0]), ids = n->inputs[1];
    if (n->a.axis != 0 || n->a.batch_dims != 0 || !graph_is_constant(c->g, table) ||
        !rows_are_scaled(&c->g->tensors[table]) || c->g->tensors[ids].type != GRAPH_I32 ||
        c->g->tensors[n->outputs[0]].type != GRAPH_F32 || graph_is_constant(c->g, ids)) {
        return;
    }
    n->op = OP_EMBEDDING_LOOKUP;
    n->inputs[0] = ids;
    n->inputs[1] = table;
    memset(&n->a, 0, sizeof n->a);
}

/* Over axes of size 1 there is nothing to reduce. */
static void canon_reduce(canon *c, graph_node *n)
{
    if (c->g->tensors[n->inputs[0]].elements == c->g->tensors[n->outputs[0]].elements) {
        become_view(c, n, n->inputs[0]);
    }
}

static const struct canon_rule {
    graph_op op;
    void (*fn)(canon *c, graph_node *n);
} canon_rules[] = {
    {OP_RESHAPE, canon_reshape},
    {OP_TRANSPOSE, canon_transpose},
    {OP_CAST, canon_cast},
    {OP_SLICE, canon_same_count},
    {OP_CONCATENATION, canon_same_count},
    {OP_PACK, canon_same_count},
    {OP_UNPACK, canon_same_count},
    {OP_SPLIT, canon_same_count},
    {OP_PAD, canon_same_count},
    {OP_TILE, canon_same_count},
    {OP_BROADCAST_TO, canon_same_count},
    {OP_ADD, canon_arithmetic},
    {OP_SUB, canon_arithmetic},
    {OP_MUL, canon_arithmetic},
    {OP_DIV, canon_arithmetic},
    {OP_FULLY_CONNECTED, canon_weights},
    {OP_EMBEDDING_LOOKUP, canon_weights},
    {OP_GATHER, canon_gather},
    {OP_SUM, canon_reduce},
    {OP_MEAN, canon_reduce},
    {OP_REDUCE_MAX, canon_reduce},
    {OP_REDUCE_MIN, canon_reduce},
    {OP_REDUCE_PROD, canon_reduce},
    {OP_REDUCE_ANY, canon_reduce},
};

lithe_status pass_canonicalise(graph *g, lithe_error *err)
{
    canon c = {.g = g,
               .instead = ARENA_ARRAY(g->arena, uint32_t, g->n_tensors),
               .is_output = ARENA_ARRAY(g->arena, bool, g->n_tensors)};
    void (*rules[OP_COUNT])(canon *, graph_node *) = {NULL};
    if (!c.instead || !c.is_output) {
        return error_memory(err, g->n_tensors * sizeof *c.instead, "canonicalising a graph");
    }
    for (size_t i = 0; i < sizeof canon_rules / sizeof *canon_rules; i++) {
        rules[canon_rules[i].op] = canon_rules[i].fn;
    }
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        c.instead[i] = i;
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        if (g->outputs[i].tensor != GRAPH_NONE) {
            c.is_output[g->outputs[i].tensor] = true;
        }
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        graph_node *n = &g->nodes[i];
        if (n->dead) {
            continue;
        }
        for (uint32_t j = 0; j < n->n_inputs; j++) { /* producers come first, so one step leads to the end */
            if (n->inputs[j] != GRAPH_NONE) {
                n->inputs[j] = c.instead[n->inputs[j]];
            }
        }
        if (rules[n->op]) {
            rules[n->op](&c, n);
        }
    }
    graph_replace(g, c.instead);
    graph_index(g);
    return pass_drop(g, err);
}
