/* Topological order. Nodes that are in order already stay where they are; a scan group is one unit. Iterative: a chain in a file may be as
 * long as the file is. */
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

enum { NEW, OPEN, DONE };

typedef struct sorter {
    graph *g;
    arena scratch;
    uint32_t n_units;
    uint32_t *unit_of;           /* [n_nodes] */
    uint32_t *first, *next;      /* members of a unit in their old order: first[unit], next[node] */
    uint8_t *state;              /* [n_units] */
    uint32_t *stack;             /* units that are open, each with where it stands: */
    uint32_t *node_at, *edge_at; /* [n_units] */
    uint32_t *writer;            /* [n_states] node that writes an owned state, GRAPH_NONE if none */
    uint32_t *order, n_order;
    bool ignore_units; /* order within a unit: each node for itself, edges out of the unit ignored */
    uint32_t only_unit;
} sorter;

/* Edge e of a node: its inputs, then the writers of the states that it reads. GRAPH_NONE: no dependency; false: no more edges. */
static bool dependency(const sorter *s, const graph_node *n, uint32_t self, uint32_t e, uint32_t *out)
{
    *out = GRAPH_NONE;
    if (e < n->n_inputs) {
        uint32_t t = n->inputs[e];
        *out = t == GRAPH_NONE ? GRAPH_NONE : s->g->tensors[t].producer;
        return true;
    }
    if (n->op != OP_ATTENTION || e >= n->n_inputs + 2) {
        return false;
    }
    uint32_t writer = s->writer[e == n->n_inputs ? n->a.k_state : n->a.v_state];
    *out = writer == self ? GRAPH_NONE : writer;
    return true;
}

static lithe_status cycle(const graph *g, uint32_t node, lithe_error *err)
{
    const graph_node *n = &g->nodes[node];
    error_set(err, LITHE_E_MODEL, "signature '%s': node %d (%s) needs its own result", g->signature, (int)n->source,
              graph_op_name(n->op));
    error_at_signature(err, g->signature);
    error_at_node(err, (int32_t)n->source, graph_op_name(n->op));
    return LITHE_E_MODEL;
}

/* Depth first from `root`; finished units are appended to order[] (units, or nodes when units are ignored). */
static lithe_status visit(sorter *s, uint32_t root, lithe_error *err)
{
    if (s->state[root] != NEW) {
        return LITHE_OK;
    }
    uint32_t depth = 0;
    s->stack[depth++] = root;
    s->state[root] = OPEN;
    s->node_at[root] = s->ignore_units ? root : s->first[root];
    s->edge_at[root] = 0;
    while (depth) {
        uint32_t u = s->stack[depth - 1];
        if (s->node_at[u] == GRAPH_NONE) {
            s->state[u] = DONE;
            s->order[s->n_order++] = u;
            depth--;
            continue;
        }
        uint32_t node = s->node_at[u], dep;
        if (!dependency(s, &s->g->nodes[node], node, s->edge_at[u]++, &dep)) {
            s->node_at[u] = s->ignore_units ? GRAPH_NONE : s->next[node];
            s->edge_at[u] = 0;
            continue;
        }
        if (dep == GRAPH_NONE || s->g->nodes[dep].dead || (s->ignore_units && s->unit_of[dep] != s->only_unit)) {
            continue;
        }
        uint32_t to = s->ignore_units ? dep : s->unit_of[dep];
        if (to == u && !s->ignore_units) {
            continue; /* inside the unit */
        }
        if (s->state[to] == OPEN) {
            return cycle(s->g, dep, err);
        }
        if (s->state[to] == NEW) {
            s->state[to] = OPEN;
            s->node_at[to] = s->ignore_units ? to : s->first[to];
            s->edge_at[to] = 0;
            s->stack[depth++] = to;
        }
    }
    return LITHE_OK;
}

/* Live nodes to units: a scan group is one, every other node its own. Units are numbered by their first node. */
static bool make_units(sorter *s)
{
    const graph *g = s->g;
    uint32_t n_groups = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        n_groups = g->nodes[i].scan > n_groups ? g->nodes[i].scan : n_groups;
    }
    uint32_t *group_unit = ARENA_ARRAY(&s->scratch, uint32_t, (size_t)n_groups + 1);
    uint32_t *last = ARENA_ARRAY(&s->scratch, uint32_t, g->n_nodes);
    if (!group_unit || !last) {
        return false;
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const graph_node *n = &g->nodes[i];
        s->next[i] = GRAPH_NONE;
        if (n->dead) {
            continue;
        }
        uint32_t u = n->scan ? group_unit[n->scan] : 0; /* unit + 1 */
        if (u) {
            s->next[last[u - 1]] = i;
        } else {
            u = ++s->n_units;
            s->first[u - 1] = i;
            group_unit[n->scan] = n->scan ? u : 0;
        }
        last[u - 1] = i;
        s->unit_of[i] = u - 1;
    }
    return true;
}

static bool find_writers(sorter *s)
{
    const graph *g = s->g;
    s->writer = ARENA_ARRAY(&s->scratch, uint32_t, g->n_states);
    for (uint32_t i = 0; s->writer && i < g->n_states; i++) {
        s->writer[i] = GRAPH_NONE;
    }
    for (uint32_t i = 0; s->writer && i < g->n_nodes; i++) {
        const graph_node *a = &g->nodes[i];
        if (!a->dead && a->op == OP_ATTENTION && a->inputs[1] != GRAPH_NONE) {
            s->writer[a->a.k_state] = s->writer[a->a.v_state] = i;
        }
    }
    return s->writer != NULL;
}

/* True if nodes need no moving: what each needs comes before it, and scan groups are together. Most passes leave it so. */
static bool is_sorted(const sorter *s)
{
    const graph *g = s->g;
    uint32_t scan = 0, largest = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const graph_node *n = &g->nodes[i];
        uint32_t dep;
        for (uint32_t e = 0; !n->dead && dependency(s, n, i, e, &dep); e++) {
            if (dep != GRAPH_NONE && dep >= i && !g->nodes[dep].dead) {
                return false;
            }
        }
        if (!n->dead &&
            n->scan !=
                scan) { /* a group that comes later must be one with a larger number, else it may be a second part */
            if (n->scan && n->scan <= largest) {
                return false;
            }
            scan = n->scan;
            largest = scan > largest ? scan : largest;
        }
    }
    return true;
}

static void compact(graph *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (!g->nodes[i].dead) {
            if (n != i) {
                memcpy(&g->nodes[n], &g->nodes[i], sizeof *g->nodes);
            }
            n++;
        }
    }
    g->n_nodes = n;
    graph_index(g);
}

static bool sorter_init(sorter *s)
{
    size_t n = s->g->n_nodes;
    s->unit_of = ARENA_ARRAY(&s->scratch, uint32_t, n);
    s->first = ARENA_ARRAY(&s->scratch, uint32_t, n);
    s->next = ARENA_ARRAY(&s->scratch, uint32_t, n);
    s->state = ARENA_ARRAY(&s->scratch, uint8_t, n);
    s->stack = ARENA_ARRAY(&s->scratch, uint32_t, n);
    s->node_at = ARENA_ARRAY(&s->scratch, uint32_t, n);
    s->edge_at = ARENA_ARRAY(&s->scratch, uint32_t, n);
    s->order = ARENA_ARRAY(&s->scratch, uint32_t, n);
    return s->unit_of && s->first && s->next && s->state && s->stack && s->node_at && s->edge_at && s->order &&
           make_units(s);
}

/* Orders units, then the nodes in each; s->order gets nodes. */
static lithe_status find_order(sorter *s, uint32_t *units, lithe_error *err)
{
    for (uint32_t u = 0; u < s->n_units; u++) {
        lithe_status status = visit(s, u, err);
        if (status != LITHE_OK) {
            return status;
        }
    }
    if (s->n_units) {
        memcpy(units, s->order, s->n_units * sizeof *units);
    }
    memset(s->state, NEW, s->g->n_nodes);
    s->ignore_units = true;
    s->n_order = 0;
    for (uint32_t i = 0; i < s->n_units; i++) {
        s->only_unit = units[i];
        for (uint32_t node = s->first[units[i]]; node != GRAPH_NONE; node = s->next[node]) {
            lithe_status status = visit(s, node, err);
            if (status != LITHE_OK) {
                return status;
            }
        }
    }
    return LITHE_OK;
}

static lithe_status move_nodes(sorter *s, lithe_error *err)
{
    graph *g = s->g;
    graph_node *sorted = ARENA_ARRAY(g->arena, graph_node, g->n_nodes);
    uint32_t *units = ARENA_ARRAY(&s->scratch, uint32_t, g->n_nodes);
    if (!sorted || !units || !sorter_init(s)) {
        return error_memory(err, (uint64_t)g->n_nodes * sizeof *sorted, "sorting a graph");
    }
    lithe_status status = find_order(s, units, err);
    if (status != LITHE_OK) {
        return status;
    }
    for (uint32_t i = 0; i < s->n_order; i++) {
        memcpy(&sorted[i], &g->nodes[s->order[i]], sizeof *sorted);
    }
    g->nodes = sorted;
    g->nodes_capacity = g->n_nodes;
    g->n_nodes = s->n_order;
    graph_index(g);
    return LITHE_OK;
}

lithe_status graph_sort(graph *g, lithe_error *err)
{
    sorter s = {.g = g};
    lithe_status status = LITHE_OK;
    arena_init(&s.scratch, 0);
    graph_index(g);
    if (!find_writers(&s)) {
        status = error_memory(err, g->n_states * sizeof *s.writer, "sorting a graph");
    } else if (is_sorted(&s)) {
        compact(g);
    } else {
        status = move_nodes(&s, err);
    }
    arena_fini(&s.scratch);
    return status;
}
