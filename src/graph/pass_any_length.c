/* Decides whether the nodes of a graph for one token may run for n tokens at once: each works on its own token alone, or is attention or a
 * recurrence over state. */
#include "graph/passes.h"

#include <string.h>

typedef struct checker {
    graph *g;
    uint32_t *input_of; /* [n_tensors] graph input, GRAPH_NONE */
} checker;

/* Elements of all axes but the last. */
static uint64_t rows(const graph_tensor *t)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i + 1 < t->rank; i++) {
        n *= (uint64_t)t->dims[i];
    }
    return n;
}

/* One token: [1], [1, 1]; one embedding: [1, 1, d]; embeddings of one token for each layer: [1, 1, layers, d]. */
static bool is_one_token(const graph_tensor *t, graph_role role)
{
    if (role == GRAPH_IN_TOKENS || role == GRAPH_IN_POSITIONS) {
        return t->elements == 1;
    }
    return role == GRAPH_IN_EMBEDDINGS ? rows(t) == 1 : t->rank < 3 || (t->dims[0] == 1 && t->dims[1] == 1);
}

static bool check_inputs(graph *g)
{
    bool has_token = false;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        graph_role role = g->inputs[i].role;
        bool per_token = role == GRAPH_IN_TOKENS || role == GRAPH_IN_POSITIONS || role == GRAPH_IN_EMBEDDINGS ||
                         role == GRAPH_IN_PER_LAYER_EMBEDDINGS;
        has_token |= role == GRAPH_IN_TOKENS || role == GRAPH_IN_EMBEDDINGS;
        const graph_tensor *t = &g->tensors[g->inputs[i].tensor];
        if (per_token && !is_one_token(t, role)) {
            char shape[GRAPH_SHAPE_TEXT];
            pass_why_not(g, NULL, "input '%.60s' %s is not for one token", g->inputs[i].name,
                         graph_shape_text(shape, t->rank, t->dims));
            return false;
        }
    }
    if (!has_token) {
        pass_why_not(g, NULL, "there is no input of tokens or embeddings");
    }
    return has_token;
}

static bool may_read(const checker *c, const graph_node *n, uint32_t t)
{
    const graph *g = c->g;
    uint32_t i = c->input_of[t];
    if (i == GRAPH_NONE) {
        return true;
    }
    const graph_input *in = &g->inputs[i];
    switch (in->role) {
    case GRAPH_IN_MASK:
    case GRAPH_IN_LOCAL_MASK:
    case GRAPH_IN_PARAMS:
        return false;
    case GRAPH_IN_STATE:
        if (g->states[in->state].kind != GRAPH_STATE_RECURRENT) {
            return false;
        }
        return n->scan != 0 || (n->op == OP_GATED_DELTA && n->a.state == in->state) ||
               g->states[in->state].output == GRAPH_NONE;
    default:
        return true;
    }
}

static bool check_node(checker *c, const graph_node *n)
{
    for (uint32_t j = 0; j < n->n_inputs; j++) {
        uint32_t t = n->inputs[j];
        if (t != GRAPH_NONE && !may_read(c, n, t)) {
            const graph_input *in = &c->g->inputs[c->input_of[t]];
            pass_why_not(c->g, n, "reads %s %.100s", in->role == GRAPH_IN_STATE ? "state" : "input", in->name);
            return false;
        }
    }
    return true;
}

/* A recurrent state's new value must come from its recurrence. */
static bool check_state(graph *g, const graph_state *s)
{
    if (s->kind != GRAPH_STATE_RECURRENT || s->output == GRAPH_NONE || s->output == s->input) {
        return true;
    }
    const graph_node *n = pass_producer(g, s->output);
    if (!n || (n->scan == 0 && !(n->op == OP_GATED_DELTA && n->a.state == (uint32_t)(s - g->states)))) {
        pass_why_not(g, n, "writes state %.100s outside of a recurrence", s->name);
        return false;
    }
    return true;
}

lithe_status pass_any_length(graph *g, lithe_error *err)
{
    checker c = {.g = g, .input_of = ARENA_ARRAY(g->arena, uint32_t, g->n_tensors)};
    if (!c.input_of) {
        return error_memory(err, (uint64_t)g->n_tensors * sizeof *c.input_of, "checking a graph");
    }
    memset(c.input_of, 0xff, g->n_tensors * sizeof *c.input_of);
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        c.input_of[g->inputs[i].tensor] = i;
    }
    bool ok = check_inputs(g);
    for (uint32_t i = 0; i < g->n_nodes && ok; i++) {
        ok = check_node(&c, &g->nodes[i]);
    }
    for (uint32_t i = 0; i < g->n_states && ok; i++) {
        ok = check_state(g, &g->states[i]);
    }
    g->any_length = ok;
    if (ok) {
        g->why_not[0] = 0;
        g->why_not_node = GRAPH_NONE;
    }
    return LITHE_OK;
}
