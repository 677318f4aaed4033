/* Recurrences. The nodes between a recurrent state's old value and its new one must run token by token, in order: they form a scan group.
 * Groups that share nodes, or that a path leaves and enters again, grow until each can run as one unit. A gated delta rule that is alone
 * with its state needs no group: its kernel runs the recurrence in place. */
#include "graph/passes.h"

#include <string.h>

#define MAX_WORK   200000000ull /* states times nodes */
#define MAX_ROUNDS 8

typedef struct scanner {
    graph *g;
    uint32_t *group;    /* [n_nodes] 0: none; else state index + 1 of the group's first state */
    bool *forward;      /* [n_tensors] depends on the group's seed */
    bool *node_forward; /* [n_nodes] */
    bool *backward;     /* [n_tensors] the group's seed depends on it */
} scanner;

static void relabel(scanner *s, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < s->g->n_nodes; i++) {
        s->group[i] = s->group[i] == from ? to : s->group[i];
    }
}

static void put(scanner *s, uint32_t node, uint32_t group, bool *changed)
{
    if (s->group[node] == group) {
        return;
    }
    *changed = true;
    if (s->group[node]) {
        relabel(s, s->group[node], group);
    }
    s->group[node] = group;
}

static bool reads(const graph_node *n, const bool *set)
{
    bool any = false;
    for (uint32_t j = 0; j < n->n_inputs; j++) {
        any |= n->inputs[j] != GRAPH_NONE && set[n->inputs[j]];
    }
    return any;
}

static bool writes(const graph_node *n, const bool *set)
{
    bool any = false;
    for (uint32_t j = 0; j < n->n_outputs; j++) {
        any |= set[n->outputs[j]];
    }
    return any;
}

/* Nodes on a path from one member of the group to another (members included), given seeds: with `state`, everything that reads its old value
 * and what computes its new one. */
static void close_group(scanner *s, uint32_t group, const graph_state *state, bool *changed)
{
    graph *g = s->g;
    memset(s->forward, 0, g->n_tensors * sizeof *s->forward);
    memset(s->backward, 0, g->n_tensors * sizeof *s->backward);
    if (state) {
        s->forward[state->input] = true;
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const graph_node *n = &g->nodes[i];
        s->node_forward[i] = s->group[i] == group || reads(n, s->forward);
        for (uint32_t j = 0; s->node_forward[i] && j < n->n_outputs; j++) {
            s->forward[n->outputs[j]] = true;
        }
    }
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        const graph_node *n = &g->nodes[i];
        bool seed = s->group[i] == group;
        if (state) {
            for (uint32_t j = 0; j < n->n_inputs; j++) {
                seed |= n->inputs[j] == state->input;
            }
            for (uint32_t j = 0; j < n->n_outputs; j++) {
                seed |= n->outputs[j] == state->output;
            }
        }
        bool before = seed || writes(n, s->backward);
        for (uint32_t j = 0; before && j < n->n_inputs; j++) {
            if (n->inputs[j] != GRAPH_NONE) {
                s->backward[n->inputs[j]] = true;
            }
        }
        if (seed || (before && s->node_forward[i])) {
            put(s, i, group, changed);
        }
    }
}

/* The one node of the group if it is a GATED_DELTA whose state it is; else NULL. */
static graph_node *lone_delta(const scanner *s, uint32_t group, uint32_t state)
{
    graph *g = s->g;
    const graph_state *st = &g->states[state];
    graph_node *only = NULL;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (s->group[i] == group) {
            if (only) {
                return NULL;
            }
            only = &g->nodes[i];
        }
    }
    bool fits = only && only->op == OP_GATED_DELTA && only->inputs[5] == st->input && only->outputs[1] == st->output &&
                g->tensors[st->input].n_uses == 1 && g->tensors[st->output].n_uses == 1;
    return fits ? only : NULL;
}

static bool is_recurrent(const graph_state *s)
{
    return s->kind == GRAPH_STATE_RECURRENT && s->output != GRAPH_NONE;
}

/* False if groups do not settle. */
static bool make_groups(scanner *s)
{
    graph *g = s->g;
    bool changed = false;
    for (uint32_t i = 0; i < g->n_states; i++) {
        if (is_recurrent(&g->states[i])) {
            close_group(s, i + 1, &g->states[i], &changed);
        }
    }
    for (int round = 0; changed; round++) {
        changed = false;
        for (uint32_t i = 0; i < g->n_states; i++) {
            if (is_recurrent(&g->states[i])) {
                close_group(s, i + 1, NULL, &changed);
            }
        }
        if (round == MAX_ROUNDS) {
            return false;
        }
    }
    return true;
}

static void number_groups(scanner *s)
{
    graph *g = s->g;
    uint32_t next = 0;
    for (uint32_t i = 0; i < g->n_states; i++) {
        graph_node *delta = is_recurrent(&g->states[i]) ? lone_delta(s, i + 1, i) : NULL;
        if (delta) {
            delta->a.state = i;
            continue;
        }
        bool any = false;
        for (uint32_t j = 0; j < g->n_nodes; j++) {
            if (s->group[j] == i + 1) {
                g->nodes[j].scan = next + 1;
                any = true;
            }
        }
        next += any;
    }
}

static void undo(graph *g, const char *why)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        g->nodes[i].scan = 0;
    }
    pass_why_not(g, NULL, "%s", why);
}

lithe_status pass_recurrent(graph *g, lithe_error *err)
{
    uint64_t n_recurrent = 0;
    for (uint32_t i = 0; i < g->n_states; i++) {
        n_recurrent += is_recurrent(&g->states[i]);
    }
    if (n_recurrent == 0) {
        return LITHE_OK;
    }
    if (n_recurrent * g->n_nodes > MAX_WORK) {
        pass_why_not(g, NULL, "there are too many recurrent states (%llu)", (unsigned long long)n_recurrent);
        return LITHE_OK;
    }
    scanner s = {.g = g,
                 .group = ARENA_ARRAY(g->arena, uint32_t, g->n_nodes),
                 .forward = ARENA_ARRAY(g->arena, bool, g->n_tensors),
                 .node_forward = ARENA_ARRAY(g->arena, bool, g->n_nodes),
                 .backward = ARENA_ARRAY(g->arena, bool, g->n_tensors)};
    if (!s.group || !s.forward || !s.node_forward || !s.backward) {
        return error_memory(err, (uint64_t)g->n_nodes * sizeof *s.group, "finding recurrences");
    }
    if (!make_groups(&s)) {
        undo(g, "recurrences that depend on each other in more than one way");
        return LITHE_OK;
    }
    number_groups(&s);
    if (graph_sort(g, NULL) != LITHE_OK) { /* two groups need each other without sharing a node */
        undo(g, "recurrences that need each other's results");
        return graph_sort(g, err);
    }
    return LITHE_OK;
}
