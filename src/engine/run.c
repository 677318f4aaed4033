/* One run of a program for a session: inputs filled, feeders first, logits checked. */
#include "engine/session.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Masks as the reference fills them (runtime_semantics: -0.7 * FLT_MAX where blocked). */
static const float MASK_BLOCKED = -0.7F * 3.402823466e+38F;

static uint64_t input_row_bytes(const program *p, uint32_t i)
{
    const graph_tensor *t = &p->g.tensors[p->g.inputs[i].tensor];
    return (graph_type_bytes(t->type, t->elements) + 63) & ~(uint64_t)63;
}

/* Inputs that nobody binds elsewhere and that some step reads. */
static bool input_is_bound(const program *p, uint32_t i)
{
    return p->g.inputs[i].role != GRAPH_IN_STATE && p->g.tensors[p->g.inputs[i].tensor].n_uses > 0;
}

/* Bytes of one row of all inputs of a program. */
static uint64_t inputs_bytes(const program *p, uint32_t rows)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < p->g.n_inputs; i++)
        if (input_is_bound(p, i))
            n += input_row_bytes(p, i) * rows;
    return n;
}

/* Rows of the plan for `rows` tokens of a program. */
static uint32_t plan_rows(const lithe_model *m, uint32_t rows)
{
    return m->any_length ? rows : 1;
}

/* Working memory of the runs, and (in *in) of their inputs, which lie behind it. */
static uint64_t work_forecast(const lithe_model *m, uint32_t rows, uint32_t logits_rows, uint32_t context, uint64_t *in)
{
    uint32_t threads = m->info.n_threads, n = plan_rows(m, rows);
    uint64_t work = exec_memory(m->decode.exec, n, plan_rows(m, logits_rows), threads, context);
    *in = inputs_bytes(&m->decode, n);
    uint32_t fed = rows;
    for (uint32_t i = 0; i < m->n_ladder; i++) {
        const program *p = m->ladder[i];
        if (p->length > context && i + 1 < m->n_ladder)
            continue; /* never chosen: see next_exported */
        work = u64_max(work, exec_memory(p->exec, 1, 1, threads, context));
        *in = u64_max(*in, inputs_bytes(p, 1));
        fed = p->length > fed ? p->length : fed;
    }
    for (uint32_t i = 0; i < m->n_feeders; i++) {
        work = u64_max(work, exec_memory(m->feeders[i].program.exec, fed, fed, threads, 0));
        *in += inputs_bytes(&m->feeders[i].program, fed);
    }
    return work;
}

uint64_t session_memory_forecast(const lithe_model *m, uint32_t rows, uint32_t logits_rows, uint32_t context)
{
    uint64_t in;
    return work_forecast(m, rows, logits_rows, context, &in) + in;
}

lithe_status session_memory_grow(lithe_session *s, uint32_t rows, uint32_t logits_rows, lithe_error *err)
{
    if (rows <= s->rows && logits_rows <= s->logits_rows)
        return LITHE_OK;
    const lithe_model *m = s->model;
    rows = rows > s->rows ? rows : s->rows;
    logits_rows = logits_rows > s->logits_rows ? logits_rows : s->logits_rows;
    uint64_t in, work = work_forecast(m, rows, logits_rows, s->context, &in);
    memory_free(s->memory);
    s->memory = memory_alloc((size_t)(work + in));
    s->rows = s->memory ? rows : 0;
    s->logits_rows = s->memory ? logits_rows : 0;
    s->work_bytes = work;
    s->work.activation_bytes = s->memory ? work + in : 0;
    s->logits = NULL;
    return s->memory ? LITHE_OK : error_memory(err, work + in, "activations");
}

void session_memory_destroy(lithe_session *s)
{
    memory_free(s->memory);
    free(s->inputs);
    free(s->candidates);
}

/* ----------------------------------------------------------------------------------------------------- inputs */

static void fill_ids(int32_t *to, size_t stride, const int32_t *ids, uint32_t n, uint32_t rows, int32_t pad)
{
    for (uint32_t r = 0; r < rows; r++)
        *(int32_t *)(void *)((unsigned char *)to + r * stride) = r < n ? ids[r] : pad;
}

/* Whether the query of row r, at position start + r, sees position j. Rows behind the real ones see nothing. window 0: all before. */
static bool sees(uint32_t r, uint32_t n, uint32_t start, uint32_t window, uint32_t j)
{
    return r < n && j <= start + r && (!window || j + window > start + r);
}

/* A mask [rows, capacity] of floats or bools. */
static void fill_mask(void *to, bool floats, uint32_t capacity, uint32_t rows, uint32_t n, uint32_t start,
                      uint32_t window)
{
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t j = 0; j < capacity; j++) {
            size_t at = (size_t)r * capacity + j;
            if (floats)
                ((float *)to)[at] = sees(r, n, start, window, j) ? 0 : MASK_BLOCKED;
            else
                ((bool *)to)[at] = sees(r, n, start, window, j);
        }
}

/* Any-length programs take one id a row; exported ones take all of a run in one row. `stride` is then the element. */
static void fill_input(const lithe_session *s, const program *p, uint32_t i, unsigned char *to, const int32_t *ids,
                       uint32_t n)
{
    const graph_input *in = &p->g.inputs[i];
    const graph_tensor *t = &p->g.tensors[in->tensor];
    bool rows_apart = s->model->any_length || p->length == 1;
    size_t stride = rows_apart ? (size_t)graph_type_bytes(t->type, t->elements) : sizeof(int32_t);
    uint32_t rows = rows_apart ? n : p->length;
    int32_t pad = s->model->info.pad_token >= 0 ? s->model->info.pad_token : 0;
    switch (in->role) {
    case GRAPH_IN_TOKENS:
        fill_ids((int32_t *)(void *)to, stride, ids, n, rows, pad);
        break;
    case GRAPH_IN_POSITIONS:
        for (uint32_t r = 0; r < rows; r++)
            *(int32_t *)(void *)(to + r * stride) = r < n ? (int32_t)(s->position + r) : 0;
        break;
    case GRAPH_IN_MASK:
    case GRAPH_IN_LOCAL_MASK: {
        uint32_t capacity = (uint32_t)t->dims[t->rank - 1], mask_rows = (uint32_t)(t->elements / capacity);
        fill_mask(to, t->type != GRAPH_BOOL, capacity, mask_rows, n, s->position,
                  in->role == GRAPH_IN_LOCAL_MASK ? p->g.local_window : 0);
        break;
    }
    default:
        memset(to, 0, (size_t)input_row_bytes(p, i) * (rows_apart ? n : 1));
        break; /* embeddings come from their feeder */
    }
}

/* Lays a program's inputs out from *at, fills them, and lists them in s->inputs as exec_run wants them. */
static void bind_inputs(lithe_session *s, const program *p, const int32_t *ids, uint32_t n, unsigned char **at)
{
    for (uint32_t i = 0; i < p->g.n_inputs; i++) {
        s->inputs[i] = NULL;
        if (!input_is_bound(p, i))
            continue;
        s->inputs[i] = *at;
        *at += input_row_bytes(p, i) * plan_rows(s->model, n);
        fill_input(s, p, i, s->inputs[i], ids, n);
    }
}

/* ------------------------------------------------------------------------------------------------------- run */

static lithe_status check_logits(const lithe_session *s, const float *logits, size_t n, uint32_t position,
                                 lithe_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (isfinite(logits[i]))
            continue;
        error_set(err, LITHE_E_NUMERIC, "the logits of position %u are not finite: token %zu has %s", position, i,
                  isnan(logits[i]) ? "NaN"
                  : logits[i] > 0  ? "+infinity"
                                   : "-infinity");
        error_at_signature(err, s->model->decode.g.signature);
        return error_hint(err, "run with numeric checks (--check-numerics) to find the first node");
    }
    return LITHE_OK;
}

static lithe_status fault_error(const lithe_session *s, const program *p, const exec_fault *f, lithe_error *err)
{
    const graph_node *n = &p->g.nodes[f->node];
    error_set(err, LITHE_E_NUMERIC,
              "position %u: node %u (%s) of signature %s is the first with a value that is not finite",
              s->position + f->row, n->source, graph_op_name(n->op), p->g.signature);
    error_at_node(err, (int32_t)n->source, graph_op_name(n->op));
    error_at_signature(err, p->g.signature);
    error_at_section(err, s->model->main.index);
    if (n->n_outputs && n->outputs[0] != GRAPH_NONE)
        error_tensor(err, "%s", p->g.tensors[n->outputs[0]].name);
    return LITHE_E_NUMERIC;
}

/* The tokens that a run sees: as exported, padding behind the real ones. */
static uint32_t padded_length(const lithe_session *s, const program *p, uint32_t n)
{
    return s->model->any_length ? n : p->length;
}

/* Runs a feeder over the (padded) ids and copies its rows into the main program's input. Its own input goes to `at`. */
static lithe_status run_feeder(lithe_session *s, const feeder *f, const program *main, const int32_t *ids, uint32_t n,
                               unsigned char *at, lithe_error *err)
{
    const program *p = &f->program;
    uint32_t rows = padded_length(s, main, n), tokens = program_input(p, GRAPH_IN_TOKENS),
             target = program_input(main, f->role);
    unsigned char *to = s->inputs[target];
    const void *inputs[8] = {0};
    if (p->g.n_inputs > 8 || !to)
        return error_set(err, LITHE_E_UNSUPPORTED, "signature %s has %u inputs", p->g.signature, p->g.n_inputs);
    const graph_tensor *t = &p->g.tensors[p->g.inputs[tokens].tensor];
    fill_ids((int32_t *)(void *)at, (size_t)graph_type_bytes(t->type, t->elements), ids, n, rows, 0);
    inputs[tokens] = at;
    exec_run run = {.n = rows, .inputs = inputs, .memory = s->memory, .memory_bytes = s->work_bytes};
    lithe_status st = exec_run_plan(p->exec, s->model->pool, &run, err);
    if (st)
        return st;
    size_t row = (size_t)p->g.tensors[p->g.outputs[0].tensor].elements * sizeof(float);
    for (uint32_t r = 0; r < rows; r++)
        memcpy(to + r * row, exec_output(p->exec, &run, 0, r), row);
    return LITHE_OK;
}

/* The session's states in the order of the program. */
static void *const *bind_states(lithe_session *s, const program *p)
{
    for (uint32_t i = 0; p->state_of && i < p->g.n_states; i++)
        s->prefill_bindings[i] = s->bindings[p->state_of[i]];
    return p->state_of ? s->prefill_bindings : s->bindings;
}

lithe_status session_run(lithe_session *s, const program *p, const int32_t *ids, uint32_t n, uint32_t n_logits,
                         lithe_logits_fn on_rows, void *user, lithe_error *err)
{
    const lithe_model *m = s->model;
    s->logits = NULL;
    unsigned char *at = s->memory + s->work_bytes;
    bind_inputs(s, p, ids, n, &at);
    lithe_status st = LITHE_OK;
    for (uint32_t i = 0; i < m->n_feeders && !st; i++)
        st = run_feeder(s, &m->feeders[i], p, ids, n, at, err);
    if (st)
        return st;
    exec_fault fault = {GRAPH_NONE, 0};
    exec_run run = {
        .n = plan_rows(m, n),
        .position = s->position,
        .inputs = (const void *const *)s->inputs,
        .states = bind_states(s, p),
        .memory = s->memory,
        .memory_bytes = s->work_bytes,
        .cancel = s->interruptible ? &s->cancel : NULL,
        .fault = m->options.check_numerics ? &fault : NULL,
    };
    if (m->any_length)
        run.first_out = n - n_logits;
    st = exec_run_plan(p->exec, m->pool, &run, err);
    s->work.steps++;
    s->work.positions_read += run.positions_read;
    if (st)
        return st;
    if (fault.node != GRAPH_NONE)
        return fault_error(s, p, &fault, err);
    s->position += n;
    s->work.tokens += n;
    for (uint32_t r = 0; r < n_logits && !st; r++) {
        s->logits = exec_output(p->exec, &run, p->logits, r);
        st = check_logits(s, s->logits, p->vocab_size, s->position - n_logits + r, err);
        if (!st && on_rows && !on_rows(user, n - n_logits + r, s->logits, p->vocab_size))
            st = error_set(err, LITHE_E_CANCELLED, "stopped after %u tokens", s->position);
    }
    if (st)
        s->logits = NULL;
    return st;
}
