#include "graph/plan.h"

#include <string.h>

enum { PLAN_ALIGN = 64 };

/* A free range of one arena, in bytes for one row. */
typedef struct free_range {
    uint64_t offset, bytes;
} free_range;

/* Where values of one arena live while the plan is made. */
typedef struct space {
    free_range *free;
    uint32_t n_free;
    uint64_t end; /* bytes in use at most so far */
} space;

typedef struct planner {
    plan *p;
    const graph *g;
    bool *all_rows;     /* [n_nodes] */
    uint32_t *root;     /* [n_tensors] tensor whose storage this one shares */
    uint32_t *last_use; /* [n_tensors] of roots: index of the last step that reads it */
    space spaces[2];    /* head, tail */
} planner;

static uint64_t round_up(uint64_t n)
{
    return (n + PLAN_ALIGN - 1) & ~(uint64_t)(PLAN_ALIGN - 1);
}

/* ------------------------------------------------------------------------------------- which rows are needed */

static bool updates_state(const graph_node *n)
{
    if (n->scan || (n->op == OP_GATED_DELTA && n->a.state != GRAPH_NONE))
        return true;
    return n->op == OP_ATTENTION && n->n_inputs > 2 && n->inputs[1] != GRAPH_NONE;
}

/* Marks nodes whose results some state update needs, from the last node to the first. An attention node's keys and values are
 * needed for all rows even when its output is not. */
static void mark_all_rows(planner *pl)
{
    const graph *g = pl->g;
    bool *needed = ARENA_ARRAY(g->arena, bool, g->n_tensors + 1);
    if (!needed)
        return;
    for (uint32_t i = 0; i < g->n_states; i++)
        if (!g->states[i].owned && g->states[i].output != GRAPH_NONE)
            needed[g->states[i].output] = true;
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        const graph_node *n = &g->nodes[i];
        if (n->dead)
            continue;
        bool all = !pl->p->any_length;
        for (uint32_t o = 0; o < n->n_outputs; o++)
            all |= n->outputs[o] != GRAPH_NONE && needed[n->outputs[o]];
        bool update = updates_state(n);
        if (update && n->op != OP_ATTENTION)
            all = true;
        pl->all_rows[i] = all;
        for (uint32_t k = 0; k < n->n_inputs; k++)
            if (n->inputs[k] != GRAPH_NONE && (all || (update && k > 0)))
                needed[n->inputs[k]] = true;
    }
}

/* -------------------------------------------------------------------------------------------- where values live */

static void place_inputs(planner *pl)
{
    plan *p = pl->p;
    const graph *g = pl->g;
    for (uint32_t t = 0; t < g->n_tensors; t++) {
        pl->root[t] = t;
        p->values[t].row_bytes = graph_type_bytes(g->tensors[t].type, g->tensors[t].elements);
        p->values[t].place = g->tensors[t].data ? PLAN_CONSTANT : PLAN_NOWHERE;
    }
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const graph_input *in = &g->inputs[i];
        plan_value *v = &p->values[in->tensor];
        if (in->role != GRAPH_IN_STATE) {
            v->place = PLAN_INPUT;
            v->index = i;
        } else if (!g->states[in->state].owned) {
            v->place = PLAN_STATE;
            v->index = in->state;
        }
    }
}

/* A DYNAMIC_UPDATE_SLICE of a state that nobody else reads writes into the state itself. */
static bool updates_in_place(const graph *g, const plan *p, const graph_node *n)
{
    if (n->op != OP_DYNAMIC_UPDATE_SLICE)
        return false;
    const plan_value *v = &p->values[n->inputs[0]];
    return v->place == PLAN_STATE && g->tensors[n->inputs[0]].n_uses == 1 &&
           g->states[v->index].output == n->outputs[0];
}

/* Outputs that share their input's storage: reshapes and state updates in place. True if the node needs no step of its own. */
static bool alias_outputs(planner *pl, const graph_node *n)
{
    plan_value *values = pl->p->values;
    if (n->op == OP_RESHAPE) {
        uint64_t row = values[n->outputs[0]].row_bytes;
        values[n->outputs[0]] = values[n->inputs[0]];
        if (values[n->inputs[0]].place != PLAN_ARENA)
            values[n->outputs[0]].row_bytes = row;
        pl->root[n->outputs[0]] = pl->root[n->inputs[0]];
        return true;
    }
    if (updates_in_place(pl->g, pl->p, n)) {
        values[n->outputs[0]] = values[n->inputs[0]];
        pl->root[n->outputs[0]] = pl->root[n->inputs[0]];
    }
    return false;
}

/* The last step of the scan group that step s is in, or s. */
static uint32_t group_end(const plan *p, uint32_t s)
{
    uint32_t scan = p->steps[s].scan;
    while (scan && s + 1 < p->n_steps && p->steps[s + 1].scan == scan)
        s++;
    return s;
}

/* Last reading step of every root. Inside a scan group nothing is given back before the group's end: rows follow one
 * another there, and a row's storage may overlap the next row of another value. */
static void find_last_uses(planner *pl)
{
    const plan *p = pl->p;
    const graph *g = pl->g;
    memset(pl->last_use, 0, g->n_tensors * sizeof *pl->last_use);
    for (uint32_t s = 0; s < p->n_steps; s++) {
        const graph_node *n = &g->nodes[p->steps[s].node];
        uint32_t end = group_end(p, s);
        for (uint32_t k = 0; k < n->n_inputs; k++)
            if (n->inputs[k] != GRAPH_NONE && pl->last_use[pl->root[n->inputs[k]]] < end)
                pl->last_use[pl->root[n->inputs[k]]] = end;
        for (uint32_t o = 0; o < n->n_outputs; o++)
            if (n->outputs[o] != GRAPH_NONE && pl->last_use[pl->root[n->outputs[o]]] < end)
                pl->last_use[pl->root[n->outputs[o]]] = end;
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].tensor != GRAPH_NONE)
            pl->last_use[pl->root[g->outputs[i].tensor]] = UINT32_MAX;
    for (uint32_t i = 0; i < p->n_commits; i++)
        if (!p->commits[i].scan)
            pl->last_use[pl->root[p->commits[i].value]] = UINT32_MAX;
}

/* Best fit; ranges are kept in order of offset. */
static uint64_t space_take(space *s, uint64_t size)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < s->n_free; i++)
        if (s->free[i].bytes >= size && (best == UINT32_MAX || s->free[i].bytes < s->free[best].bytes))
            best = i;
    if (best != UINT32_MAX) {
        uint64_t at = s->free[best].offset;
        s->free[best].offset += size;
        s->free[best].bytes -= size;
        if (!s->free[best].bytes) {
            memmove(&s->free[best], &s->free[best + 1], (s->n_free - best - 1) * sizeof *s->free);
            s->n_free--;
        }
        return at;
    }
    /* a free range at the end grows */
    if (s->n_free && s->free[s->n_free - 1].offset + s->free[s->n_free - 1].bytes == s->end) {
        uint64_t at = s->free[--s->n_free].offset;
        s->end = at + size;
        return at;
    }
    uint64_t at = s->end;
    s->end += size;
    return at;
}

static void space_give(space *s, uint64_t offset, uint64_t size)
{
    uint32_t i = 0;
    while (i < s->n_free && s->free[i].offset < offset)
        i++;
    bool joins_before = i > 0 && s->free[i - 1].offset + s->free[i - 1].bytes == offset;
    bool joins_after = i < s->n_free && offset + size == s->free[i].offset;
    if (joins_before && joins_after) {
        s->free[i - 1].bytes += size + s->free[i].bytes;
        memmove(&s->free[i], &s->free[i + 1], (s->n_free - i - 1) * sizeof *s->free);
        s->n_free--;
    } else if (joins_before) {
        s->free[i - 1].bytes += size;
    } else if (joins_after) {
        s->free[i].offset = offset;
        s->free[i].bytes += size;
    } else {
        memmove(&s->free[i + 1], &s->free[i], (s->n_free - i) * sizeof *s->free);
        s->free[i] = (free_range){offset, size};
        s->n_free++;
    }
}

/* Gives outputs their storage and takes back what was read for the last time, step by step. */
static lithe_status place_outputs(planner *pl, lithe_error *err)
{
    plan *p = pl->p;
    const graph *g = pl->g;
    /* roots that die at a step, as lists */
    uint32_t *next = ARENA_ARRAY(g->arena, uint32_t, g->n_tensors + 1);
    uint32_t *first = ARENA_ARRAY(g->arena, uint32_t, p->n_steps + 1);
    if (!next || !first)
        return error_memory(err, (g->n_tensors + p->n_steps) * sizeof *next, "the memory plan");
    for (uint32_t s = 0; s < p->n_steps; s++)
        first[s] = GRAPH_NONE;
    for (uint32_t s = 0; s < p->n_steps; s++) {
        const graph_node *n = &g->nodes[p->steps[s].node];
        for (uint32_t o = 0; o < n->n_outputs; o++) {
            uint32_t t = n->outputs[o];
            if (t == GRAPH_NONE || pl->root[t] != t)
                continue;
            plan_value *v = &p->values[t];
            v->place = PLAN_ARENA;
            v->tail = p->steps[s].tail;
            v->row_bytes = round_up(v->row_bytes ? v->row_bytes : 1);
            v->offset = space_take(&pl->spaces[v->tail], v->row_bytes);
            if (pl->last_use[t] == UINT32_MAX)
                continue;
            next[t] = first[pl->last_use[t]];
            first[pl->last_use[t]] = t;
        }
        for (uint32_t t = first[s]; t != GRAPH_NONE; t = next[t])
            space_give(&pl->spaces[p->values[t].tail], p->values[t].offset, p->values[t].row_bytes);
    }
    return LITHE_OK;
}

/* Reshapes made their values before storage was known: they take their root's now. */
static void copy_places_to_aliases(planner *pl)
{
    for (uint32_t t = 0; t < pl->g->n_tensors; t++) {
        uint32_t r = pl->root[t];
        if (r != t && pl->p->values[r].place == PLAN_ARENA)
            pl->p->values[t] = pl->p->values[r];
    }
}

static lithe_status list_commits(planner *pl, lithe_error *err)
{
    plan *p = pl->p;
    const graph *g = pl->g;
    p->commits = ARENA_ARRAY(g->arena, plan_commit, g->n_states + 1);
    if (!p->commits)
        return error_memory(err, g->n_states * sizeof *p->commits, "the plan's state updates");
    for (uint32_t i = 0; i < g->n_states; i++) {
        const graph_state *st = &g->states[i];
        if (st->owned || st->output == GRAPH_NONE || st->output == st->input)
            continue;
        if (pl->root[st->output] == pl->root[st->input])
            continue; /* written in place */
        uint32_t producer = g->tensors[st->output].producer;
        if (producer == GRAPH_NONE) {
            if (p->any_length)
                continue;
            p->commits[p->n_commits++] = (plan_commit){st->output, i, 0};
            continue;
        }
        const graph_node *n = &g->nodes[producer];
        if (n->op == OP_GATED_DELTA && n->a.state == i)
            continue; /* the kernel updates the state itself */
        p->commits[p->n_commits++] = (plan_commit){st->output, i, n->scan};
    }
    return LITHE_OK;
}

/* The output of a state-bound GATED_DELTA's second result is the state itself. */
static void alias_bound_states(planner *pl)
{
    const graph *g = pl->g;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const graph_node *n = &g->nodes[i];
        if (n->dead || n->op != OP_GATED_DELTA || n->a.state == GRAPH_NONE || n->n_outputs < 2 ||
            n->outputs[1] == GRAPH_NONE)
            continue;
        uint32_t in = g->states[n->a.state].input;
        pl->p->values[n->outputs[1]] = pl->p->values[in];
        pl->root[n->outputs[1]] = pl->root[in];
    }
}

lithe_status plan_create(plan *p, const graph *g, bool any_length, lithe_error *err)
{
    memset(p, 0, sizeof *p);
    p->graph = g;
    p->any_length = any_length;
    planner pl = {.p = p, .g = g};
    p->values = ARENA_ARRAY(g->arena, plan_value, g->n_tensors + 1);
    p->steps = ARENA_ARRAY(g->arena, plan_step, g->n_nodes + 1);
    pl.all_rows = ARENA_ARRAY(g->arena, bool, g->n_nodes + 1);
    pl.root = ARENA_ARRAY(g->arena, uint32_t, g->n_tensors + 1);
    pl.last_use = ARENA_ARRAY(g->arena, uint32_t, g->n_tensors + 1);
    for (int i = 0; i < 2; i++) {
        pl.spaces[i].free = ARENA_ARRAY(g->arena, free_range, g->n_tensors + 1);
        if (!pl.spaces[i].free)
            return error_memory(err, g->n_tensors * sizeof(free_range), "the memory plan");
    }
    if (!p->values || !p->steps || !pl.all_rows || !pl.root || !pl.last_use)
        return error_memory(err, g->n_tensors * sizeof *p->values, "the plan");

    place_inputs(&pl);
    mark_all_rows(&pl);
    alias_bound_states(&pl);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const graph_node *n = &g->nodes[i];
        if (n->dead || alias_outputs(&pl, n))
            continue;
        p->steps[p->n_steps++] = (plan_step){.node = i, .tail = !pl.all_rows[i], .scan = n->scan};
    }
    lithe_status st = list_commits(&pl, err);
    if (st)
        return st;
    find_last_uses(&pl);
    if ((st = place_outputs(&pl, err)))
        return st;
    copy_places_to_aliases(&pl);
    p->arena_bytes = pl.spaces[0].end;
    p->tail_bytes = pl.spaces[1].end;
    return LITHE_OK;
}
