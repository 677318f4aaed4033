/* From a plan to the steps that threads run: kernels chosen, quantisation shared by the linears that read one value, barriers placed. */
#include "cpu/exec_internal.h"

#include <stdlib.h>
#include <string.h>

/* A step is worth splitting among threads from about this many floats touched (some 10 microseconds). */
static const double PARALLEL_FLOATS = 24576;
/* A linear does so many multiply-adds in the time of one float touched elsewhere. */
static const double MACS_PER_FLOAT = 4;
/* Rows assumed for the schedule of several rows. */
static const double MANY_ROWS = 16;

typedef struct builder {
    exec_plan *e;
    const plan *p;
    const graph *g;
    uint32_t capacity, scan_capacity;
    /* What the quantised buffer holds: a value, its width; GRAPH_NONE: nothing */
    uint32_t quantised;
    uint32_t quantised_k;
    bool quantised_tail;
    lithe_error *err;
} builder;

static exec_step *add_step(builder *b, exec_kind kind, uint32_t node, bool tail)
{
    exec_step *s = &b->e->steps[b->e->n_steps++];
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->node = node;
    s->tail = tail;
    return s;
}

/* Threads pay for `cost` floats a row? */
static void decide_parallel(exec_step *s, double cost_per_row)
{
    s->parallel[SCHEDULE_ONE] = cost_per_row > PARALLEL_FLOATS;
    s->parallel[SCHEDULE_MANY] = cost_per_row * MANY_ROWS > PARALLEL_FLOATS;
}

static uint64_t row_elements(const graph *g, uint32_t tensor)
{
    return g->tensors[tensor].elements;
}

/* ---------------------------------------------------------------------------------------------- linears */

/* The tensor whose elements t shows under another shape. */
static uint32_t unreshaped(const graph *g, uint32_t t)
{
    while (g->tensors[t].producer != GRAPH_NONE && g->nodes[g->tensors[t].producer].op == OP_RESHAPE)
        t = g->nodes[g->tensors[t].producer].inputs[0];
    return t;
}

static void add_quantize(builder *b, uint32_t node, bool tail, linear_weights *w, uint32_t rows_per_row)
{
    uint32_t x = b->g->nodes[node].inputs[0];
    exec_step *s = add_step(b, EXEC_QUANTIZE, node, tail);
    s->weights = w;
    s->rows_per_row = rows_per_row;
    decide_parallel(s, (double)row_elements(b->g, x) * 2);
    b->quantised = unreshaped(b->g, x);
    b->quantised_k = w->k;
    b->quantised_tail = tail;
    if (w->k > b->e->max_k)
        b->e->max_k = w->k;
    if (rows_per_row > b->e->max_quant_rows)
        b->e->max_quant_rows = rows_per_row;
}

static lithe_status add_linear(builder *b, const plan_step *ps)
{
    const graph_node *n = &b->g->nodes[ps->node];
    linear_weights *w;
    lithe_status st = exec_weights_get(b->e, b->g, n, n->inputs[1], n->n_inputs > 2 ? n->inputs[2] : GRAPH_NONE,
                                       n->a.dynamic_quant, &w, b->err);
    if (st)
        return st;
    uint32_t rows = (uint32_t)(row_elements(b->g, n->inputs[0]) / w->k);
    bool reuse =
        b->quantised == unreshaped(b->g, n->inputs[0]) && b->quantised_k == w->k && b->quantised_tail == ps->tail;
    if (linear_is_dynamic(w->kind) && !reuse)
        add_quantize(b, ps->node, ps->tail, w, rows);
    exec_step *s = add_step(b, EXEC_LINEAR, ps->node, ps->tail);
    s->weights = w;
    s->rows_per_row = rows;
    decide_parallel(s, (double)w->n * (double)w->k * rows / MACS_PER_FLOAT);
    return LITHE_OK;
}

static lithe_status add_embedding(builder *b, const plan_step *ps)
{
    const graph_node *n = &b->g->nodes[ps->node];
    exec_step *s = add_step(b, EXEC_EMBEDDING, ps->node, ps->tail);
    lithe_status st = exec_weights_get(b->e, b->g, n, n->inputs[1], GRAPH_NONE, false, &s->weights, b->err);
    if (st)
        return st;
    s->rows_per_row = (uint32_t)row_elements(b->g, n->inputs[0]);
    decide_parallel(s, (double)s->rows_per_row * s->weights->k);
    return LITHE_OK;
}

/* -------------------------------------------------------------------------------------------- other steps */

static void add_attention(builder *b, const plan_step *ps)
{
    const graph_node *n = &b->g->nodes[ps->node];
    if (n->inputs[1] != GRAPH_NONE) {
        exec_step *s = add_step(b, EXEC_STORE, ps->node, false);
        decide_parallel(s, (double)n->a.n_kv_heads * (n->a.head_dim + n->a.value_dim));
    }
    add_step(b, EXEC_ATTEND, ps->node, ps->tail);
    exec_step *attend = &b->e->steps[b->e->n_steps - 1];
    attend->parallel[SCHEDULE_ONE] = attend->parallel[SCHEDULE_MANY] = true;
    attention_shape shape = {n->a.n_kv_heads, n->a.group, n->a.head_dim, n->a.value_dim,
                             n->a.window,     n->a.scale, n->a.soft_cap};
    attend->scratch_bytes = attention_scratch_bytes(&shape);
    add_step(b, EXEC_JOIN, ps->node, ps->tail); /* few floats: by whoever completes the last block */
    uint64_t floats = (uint64_t)n->a.n_kv_heads * n->a.group * (2 + n->a.value_dim);
    if (floats > b->e->parts_floats)
        b->e->parts_floats = floats;
}

static void add_delta(builder *b, const plan_step *ps)
{
    exec_step *s = add_step(b, EXEC_DELTA, ps->node, ps->tail);
    decide_parallel(s, (double)b->g->tensors[b->g->states[b->g->nodes[ps->node].a.state].input].elements * 3);
}

static lithe_status prepare_op(builder *b, const plan_step *ps, exec_step *s)
{
    const graph_node *n = &b->g->nodes[ps->node];
    uint32_t total = n->n_inputs + n->n_outputs;
    op_operand *operands = calloc(total ? total : 1, sizeof *operands);
    if (!operands)
        return error_memory(b->err, total * sizeof *operands, "a step");
    for (uint32_t i = 0; i < n->n_inputs; i++)
        operands[i].tensor = n->inputs[i] == GRAPH_NONE ? NULL : &b->g->tensors[n->inputs[i]];
    for (uint32_t i = 0; i < n->n_outputs; i++)
        operands[n->n_inputs + i].tensor = n->outputs[i] == GRAPH_NONE ? NULL : &b->g->tensors[n->outputs[i]];
    op_call call = {.node = n,
                    .graph = b->g,
                    .kernels = exec_shared_kernels(b->e->shared),
                    .inputs = operands,
                    .outputs = operands + n->n_inputs};
    lithe_status st = op_prepare(&call, b->err);
    free(operands);
    if (st)
        return st;
    s->units_per_row = call.units_per_row;
    s->unit_cost = call.unit_cost;
    s->scratch_bytes = call.scratch_bytes;
    if (total > b->e->max_operands)
        b->e->max_operands = total;
    if (s->scratch_bytes > b->e->scratch_bytes)
        b->e->scratch_bytes = s->scratch_bytes;
    return LITHE_OK;
}

static lithe_status add_op(builder *b, const plan_step *ps)
{
    exec_step *s = add_step(b, EXEC_OP, ps->node, ps->tail);
    lithe_status st = prepare_op(b, ps, s);
    if (st)
        return st;
    decide_parallel(s, s->unit_cost * s->units_per_row);
    return LITHE_OK;
}

/* Consecutive plan steps of one scan group become one step that thread 0 runs row by row. */
static lithe_status add_scan(builder *b, uint32_t first, uint32_t end)
{
    exec_plan *e = b->e;
    exec_step *scan = add_step(b, EXEC_SCAN, b->p->steps[first].node, false);
    scan->first = e->n_scan_steps;
    for (uint32_t i = first; i < end; i++) {
        const plan_step *ps = &b->p->steps[i];
        exec_step *s = &e->scan_steps[e->n_scan_steps++];
        memset(s, 0, sizeof *s);
        s->kind = EXEC_OP;
        s->node = ps->node;
        lithe_status st = prepare_op(b, ps, s);
        if (st)
            return st;
    }
    for (uint32_t i = 0; i < b->p->n_commits; i++) {
        if (b->p->commits[i].scan != b->p->steps[first].scan)
            continue;
        exec_step *s = &e->scan_steps[e->n_scan_steps++];
        memset(s, 0, sizeof *s);
        s->kind = EXEC_COMMIT;
        s->node = b->p->steps[first].node;
        s->commit = i;
    }
    scan->count = e->n_scan_steps - scan->first;
    return LITHE_OK;
}

static bool is_linear(const graph *g, const graph_node *n)
{
    return n->op == OP_FULLY_CONNECTED && graph_is_constant(g, n->inputs[1]);
}

static lithe_status build_steps(builder *b)
{
    const plan *p = b->p;
    lithe_status st = LITHE_OK;
    for (uint32_t i = 0; i < p->n_steps && !st; i++) {
        const plan_step *ps = &p->steps[i];
        const graph_node *n = &b->g->nodes[ps->node];
        if (ps->scan) {
            uint32_t end = i;
            while (end < p->n_steps && p->steps[end].scan == ps->scan)
                end++;
            st = add_scan(b, i, end);
            i = end - 1;
        } else if (is_linear(b->g, n)) {
            st = add_linear(b, ps);
        } else if (n->op == OP_EMBEDDING_LOOKUP && graph_is_constant(b->g, n->inputs[1])) {
            st = add_embedding(b, ps);
        } else if (n->op == OP_ATTENTION) {
            add_attention(b, ps);
        } else if (n->op == OP_GATED_DELTA && n->a.state != GRAPH_NONE) {
            add_delta(b, ps);
        } else {
            st = add_op(b, ps);
        }
    }
    for (uint32_t i = 0; i < p->n_commits && !st; i++) {
        if (p->commits[i].scan)
            continue;
        exec_step *s = add_step(b, EXEC_COMMIT, 0, false);
        s->commit = i;
    }
    return st;
}

/* ----------------------------------------------------------------------------------------------- barriers */

typedef struct range_list {
    exec_range *ranges;
    uint32_t n, capacity;
} range_list;

static void list_add(range_list *l, exec_region region, uint64_t begin, uint64_t end, bool write)
{
    if (l->n < l->capacity)
        l->ranges[l->n] = (exec_range){region, begin, end, write};
    l->n++;
}

static void list_value(range_list *l, const plan *p, uint32_t tensor, bool write)
{
    if (tensor == GRAPH_NONE)
        return;
    const plan_value *v = &p->values[tensor];
    if (v->place == PLAN_ARENA)
        list_add(l, v->tail ? REGION_TAIL : REGION_HEAD, v->offset, v->offset + v->row_bytes, write);
    if (v->place == PLAN_STATE)
        list_add(l, REGION_STATE, v->index, v->index + 1, write);
}

static void list_node(range_list *l, const plan *p, uint32_t node)
{
    const graph_node *n = &p->graph->nodes[node];
    for (uint32_t i = 0; i < n->n_inputs; i++)
        list_value(l, p, n->inputs[i], false);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        list_value(l, p, n->outputs[i], true);
}

/* What a step touches. */
static void list_step(range_list *l, const exec_plan *e, const exec_step *s)
{
    const plan *p = e->plan;
    const graph_node *n = &p->graph->nodes[s->node];
    switch (s->kind) {
    case EXEC_QUANTIZE:
        list_value(l, p, n->inputs[0], false);
        list_add(l, REGION_QUANT, 0, 1, true);
        break;
    case EXEC_LINEAR:
        if (linear_is_dynamic(s->weights->kind))
            list_add(l, REGION_QUANT, 0, 1, false);
        else
            list_value(l, p, n->inputs[0], false);
        list_value(l, p, n->outputs[0], true);
        break;
    case EXEC_STORE:
        list_value(l, p, n->inputs[1], false);
        list_value(l, p, n->inputs[2], false);
        list_add(l, REGION_STATE, n->a.k_state, n->a.k_state + 1, true);
        list_add(l, REGION_STATE, n->a.v_state, n->a.v_state + 1, true);
        break;
    case EXEC_ATTEND:
        list_value(l, p, n->inputs[0], false);
        list_add(l, REGION_STATE, n->a.k_state, n->a.k_state + 1, false);
        list_add(l, REGION_STATE, n->a.v_state, n->a.v_state + 1, false);
        list_add(l, REGION_PARTS, 0, 1, true);
        list_value(l, p, n->outputs[0], true);
        break;
    case EXEC_JOIN:
        list_add(l, REGION_PARTS, 0, 1, false);
        list_value(l, p, n->outputs[0], true);
        break;
    case EXEC_DELTA:
        list_node(l, p, s->node);
        list_add(l, REGION_STATE, n->a.state, n->a.state + 1, true);
        break;
    case EXEC_SCAN:
        for (uint32_t i = 0; i < s->count; i++)
            list_step(l, e, &e->scan_steps[s->first + i]);
        break;
    case EXEC_COMMIT:
        list_value(l, p, p->commits[s->commit].value, false);
        list_add(l, REGION_STATE, p->commits[s->commit].state, p->commits[s->commit].state + 1, true);
        break;
    case EXEC_OP:
    case EXEC_EMBEDDING:
        list_node(l, p, s->node);
        break;
    }
}

static bool lists_conflict(const range_list *now, const range_list *before)
{
    for (uint32_t i = 0; i < now->n; i++)
        for (uint32_t j = 0; j < before->n; j++) {
            const exec_range *a = &now->ranges[i], *b = &before->ranges[j];
            if (a->region == b->region && (a->write || b->write) && a->begin < b->end && b->begin < a->end)
                return true;
        }
    return false;
}

static bool list_join(range_list *to, const range_list *from)
{
    if (to->n + from->n > to->capacity)
        return false;
    memcpy(to->ranges + to->n, from->ranges, from->n * sizeof *from->ranges);
    to->n += from->n;
    return true;
}

enum { PENDING_MAX = 192 };

/* What was touched since the last barrier: by split steps, by runs of other steps that have ended, and by the run that goes on. */
typedef struct pending {
    range_list split, ended, run;
} pending;

/* Enters a step; false if there is no more room. */
static bool pending_add(pending *p, const range_list *now, bool parallel)
{
    if (!parallel)
        return list_join(&p->run, now);
    bool fits = list_join(&p->ended, &p->run);
    p->run.n = 0;
    return fits && list_join(&p->split, now);
}

/* Steps that are not split form runs; the thread that completes the last task of the split steps before a run does it, with no wait in
 * between (exec_run.c). A barrier stands where a step touches what may still be in work: for a split step that is everything
 * since the last barrier, for a run only other runs. */
static lithe_status place_barriers(exec_plan *e, int schedule, lithe_error *err)
{
    size_t step_ranges = 4;
    for (uint32_t i = 0; i < e->n_steps; i++) {
        range_list count = {0};
        list_step(&count, e, &e->steps[i]);
        if (count.n > step_ranges)
            step_ranges = count.n;
    }
    size_t capacity = PENDING_MAX > step_ranges ? PENDING_MAX : step_ranges;
    exec_range *memory = malloc((3 * capacity + step_ranges) * sizeof *memory);
    if (!memory)
        return error_memory(err, (3 * capacity + step_ranges) * sizeof *memory, "the schedule");
    pending p = {{memory, 0, (uint32_t)capacity},
                 {memory + capacity, 0, (uint32_t)capacity},
                 {memory + 2 * capacity, 0, (uint32_t)capacity}};
    range_list now = {memory + 3 * capacity, 0, (uint32_t)step_ranges};
    for (uint32_t i = 0; i < e->n_steps; i++) {
        exec_step *s = &e->steps[i];
        bool parallel = s->parallel[schedule], in_run = i && !parallel && !e->steps[i - 1].parallel[schedule];
        now.n = 0;
        list_step(&now, e, s);
        bool wait = lists_conflict(&now, &p.ended) ||
                    (parallel && (lists_conflict(&now, &p.split) || lists_conflict(&now, &p.run)));
        if (wait || !pending_add(&p, &now, parallel)) {
            wait = true;
            p.split.n = p.ended.n = p.run.n = 0;
            pending_add(&p, &now, parallel);
        }
        s->barrier[schedule] = wait;
        s->leads[schedule] = !parallel && (wait || !in_run);
    }
    free(memory);
    return LITHE_OK;
}

/* -------------------------------------------------------------------------------------------------- create */

lithe_status exec_plan_create(exec_plan **out, const plan *p, exec_shared *shared, bool transient, lithe_error *err)
{
    exec_plan *e = calloc(1, sizeof *e);
    if (!e)
        return error_memory(err, sizeof *e, "a plan");
    e->plan = p;
    e->shared = shared;
    e->transient = transient;
    arena_init(&e->own_arena, 4096);
    /* a plan step becomes at most three steps; commits one each */
    size_t n = 3 * (size_t)p->n_steps + p->n_commits + 1;
    e->steps = calloc(n, sizeof *e->steps);
    e->scan_steps = calloc((size_t)p->n_steps + p->n_commits + 1, sizeof *e->scan_steps);
    lithe_status st = e->steps && e->scan_steps ? LITHE_OK : error_memory(err, n * sizeof *e->steps, "a plan's steps");
    builder b = {.e = e, .p = p, .g = p->graph, .quantised = GRAPH_NONE, .err = err};
    if (!st)
        st = build_steps(&b);
    for (uint32_t i = 0; i < e->n_steps && !st; i++)
        if (e->steps[i].scratch_bytes > e->scratch_bytes)
            e->scratch_bytes = e->steps[i].scratch_bytes;
    for (int i = 0; i < SCHEDULE_COUNT && !st; i++)
        st = place_barriers(e, i, err);
    if (st) {
        exec_plan_destroy(e);
        return st;
    }
    *out = e;
    return LITHE_OK;
}

void exec_plan_destroy(exec_plan *e)
{
    if (!e)
        return;
    exec_weights_drop(e->own);
    arena_fini(&e->own_arena);
    free(e->steps);
    free(e->scan_steps);
    free(e);
}

const plan *exec_plan_of(const exec_plan *e)
{
    return e->plan;
}

void exec_schedule(const exec_plan *e, bool one_row, uint32_t *n_steps, uint32_t *n_barriers)
{
    *n_steps = e->n_steps;
    *n_barriers = 0;
    for (uint32_t i = 0; i < e->n_steps; i++)
        *n_barriers += e->steps[i].barrier[one_row ? SCHEDULE_ONE : SCHEDULE_MANY];
}
