/* Runs a plan on the threads of a pool. Every thread walks over all steps; a split step's tasks are taken from a counter, so a thread that
 * is late takes fewer; steps that are not split are done by the thread that completed the last task before them, so nobody waits for that;
 * barriers stand only where exec_build.c put them. */
#include "cpu/exec_internal.h"

#include <math.h>
#include <string.h>

static size_t round_64(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

/* The next part of a run's memory: base may be NULL when only the size is asked for. */
static void *take(void *base, uint64_t *at, uint64_t n)
{
    void *p = (void *)((uintptr_t)base + (uintptr_t)*at);
    *at += (n + 63) & ~(uint64_t)63;
    return p;
}

void exec_map_memory(exec_memory_map *m, const exec_plan *e, uint32_t n, uint32_t n_out, uint32_t n_threads,
                     uint32_t positions, void *base)
{
    uint64_t at = 0, quant_rows = (uint64_t)n * e->max_quant_rows, blocks = positions / ATTENTION_BLOCK + 1;
    m->head = take(base, &at, n * e->plan->arena_bytes);
    m->tail = take(base, &at, n_out * e->plan->tail_bytes);
    m->quant = take(base, &at, quant_rows * linear_q_stride(e->max_k));
    m->quant_rows = take(base, &at, quant_rows * sizeof(linear_qrow));
    m->parts = take(base, &at, n_threads > 1 ? blocks * e->parts_floats * sizeof(float) : 0);
    m->counters = take(base, &at, e->n_steps * sizeof *m->counters);
    m->scratch_stride = round_64(e->scratch_bytes) + round_64(e->max_operands * sizeof(op_operand));
    m->scratch = take(base, &at, (uint64_t)m->scratch_stride * n_threads);
    m->bytes = at;
}

uint64_t exec_memory(const exec_plan *e, uint32_t n, uint32_t n_out, uint32_t n_threads, uint32_t positions)
{
    exec_memory_map m;
    exec_map_memory(&m, e, n, n_out, n_threads, positions, NULL);
    return m.bytes;
}

unsigned char *exec_value(const exec_plan *e, const exec_run *run, const exec_memory_map *m, uint32_t tensor,
                          bool tail_step, size_t *row_stride)
{
    const plan_value *v = &e->plan->values[tensor];
    size_t skip = tail_step ? run->first_out : 0;
    *row_stride = (size_t)v->row_bytes;
    switch (v->place) {
    case PLAN_CONSTANT:
        *row_stride = 0;
        return (unsigned char *)(uintptr_t)e->plan->graph->tensors[tensor].data;
    case PLAN_ARENA:
        if (v->tail)
            return m->tail + (run->n - run->first_out) * v->offset;
        return m->head + run->n * v->offset + skip * v->row_bytes;
    case PLAN_INPUT:
        return (unsigned char *)(uintptr_t)run->inputs[v->index] + skip * v->row_bytes;
    case PLAN_STATE:
        *row_stride = 0;
        return run->states[v->index];
    case PLAN_NOWHERE:
        break;
    }
    *row_stride = 0;
    return NULL;
}

typedef struct exec_job {
    const exec_plan *plan;
    exec_run *run;
    const exec_memory_map *memory;
    thread_pool *pool;
    int schedule;
    atomic_bool cancelled;
    _Atomic uint64_t positions_read;
} exec_job;

static bool finite_row(const float *x, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

/* Looks at the float outputs of a step just done, all its rows. */
static void check_outputs(const exec_job *job, const exec_step *s)
{
    const graph *g = job->plan->plan->graph;
    exec_fault *fault = job->run->fault;
    if (fault->node != GRAPH_NONE || s->kind == EXEC_STORE || s->kind == EXEC_QUANTIZE || s->kind == EXEC_COMMIT)
        return;
    if (s->kind == EXEC_ATTEND)
        return; /* complete after EXEC_JOIN */
    uint32_t rows = s->tail ? job->run->n - job->run->first_out : job->run->n;
    const graph_node *n = &g->nodes[s->node];
    for (uint32_t o = 0; o < n->n_outputs; o++) {
        if (n->outputs[o] == GRAPH_NONE || g->tensors[n->outputs[o]].type != GRAPH_F32)
            continue;
        size_t stride;
        const unsigned char *x = exec_value(job->plan, job->run, job->memory, n->outputs[o], s->tail, &stride);
        for (uint32_t r = 0; x && r < rows; r++)
            if (!finite_row((const float *)(const void *)(x + r * stride), g->tensors[n->outputs[o]].elements)) {
                *fault = (exec_fault){s->node, r};
                return;
            }
    }
}

/* A thread's way through the steps. */
typedef struct walk {
    uint32_t total, mine; /* tasks of split steps since the last barrier, and how many of them this thread did */
    bool runs;            /* this thread does the run of steps that goes on */
} walk;

static void take_tasks(exec_job *job, exec_thread *t, const exec_step *s, uint32_t index, walk *w)
{
    uint32_t tasks = (uint32_t)exec_step_tasks(t, s), task;
    w->total += tasks;
    while ((task = atomic_fetch_add_explicit(&job->memory->counters[index], 1, memory_order_relaxed)) < tasks) {
        exec_step_run(t, s, task, task + 1);
        w->mine++;
    }
}

/* Whether this thread is the one to do the run that begins at step `index`: the last that comes here of those that did tasks, for then all
 * are done; thread 0 where there were none. */
static bool is_last(exec_job *job, const exec_thread *t, uint32_t index, const walk *w)
{
    if (!w->total)
        return t->thread == 0;
    return w->mine &&
           w->mine + atomic_fetch_add_explicit(&job->memory->counters[index], w->mine, memory_order_acq_rel) ==
               w->total;
}

/* A step that is skipped leads its run all the same. */
static void do_step(exec_job *job, exec_thread *t, uint32_t index, bool skip, walk *w)
{
    const exec_step *s = &job->plan->steps[index];
    if (s->leads[job->schedule])
        w->runs = t->n_threads == 1 || is_last(job, t, index, w);
    if (skip)
        return;
    if (t->n_threads > 1 && s->parallel[job->schedule])
        take_tasks(job, t, s, index, w);
    else if (t->n_threads == 1 || w->runs)
        exec_step_run(t, s, 0, exec_step_tasks(t, s));
}

static void run_steps(void *user, uint32_t thread, uint32_t n_threads)
{
    exec_job *job = user;
    unsigned char *scratch = job->memory->scratch + thread * job->memory->scratch_stride;
    exec_thread t = {.plan = job->plan,
                     .run = job->run,
                     .memory = job->memory,
                     .scratch = scratch,
                     .thread = thread,
                     .n_threads = n_threads,
                     .operands = (op_operand *)(void *)(scratch + round_64(job->plan->scratch_bytes))};
    bool checking = job->run->fault != NULL, cancelled = false;
    walk w = {0};
    for (uint32_t i = 0; i < job->plan->n_steps; i++) {
        const exec_step *s = &job->plan->steps[i];
        if (s->barrier[job->schedule] || checking) {
            thread_pool_barrier(job->pool);
            w = (walk){.runs = checking && thread == 0};
        }
        cancelled = cancelled || (job->run->cancel && atomic_load_explicit(job->run->cancel, memory_order_relaxed));
        bool skip = cancelled || (s->tail && job->run->first_out == job->run->n);
        do_step(job, &t, i, skip, &w);
        if (!checking)
            continue;
        thread_pool_barrier(job->pool);
        if (thread == 0 && !skip)
            check_outputs(job, s);
    }
    if (cancelled)
        atomic_store(&job->cancelled, true);
    atomic_fetch_add(&job->positions_read, t.positions_read);
}

lithe_status exec_run_plan(const exec_plan *e, thread_pool *pool, exec_run *run, lithe_error *err)
{
    exec_memory_map m;
    uint32_t n_threads = thread_pool_size(pool);
    exec_map_memory(&m, e, run->n, run->n - run->first_out, n_threads, run->position + run->n, run->memory);
    if (m.bytes > run->memory_bytes)
        return error_set(err, LITHE_E_INTERNAL, "a run of %u rows needs %llu bytes, but was given %llu", run->n,
                         (unsigned long long)m.bytes, (unsigned long long)run->memory_bytes);
    for (uint32_t i = 0; i < e->n_steps; i++)
        atomic_init(&m.counters[i], 0);
    if (run->fault)
        run->fault->node = GRAPH_NONE;
    exec_job job = {
        .plan = e, .run = run, .memory = &m, .pool = pool, .schedule = run->n > 1 ? SCHEDULE_MANY : SCHEDULE_ONE};
    thread_pool_run(pool, run_steps, &job);
    run->positions_read = job.positions_read;
    if (atomic_load(&job.cancelled))
        return error_set(err, LITHE_E_CANCELLED, "cancelled");
    return LITHE_OK;
}

const void *exec_output(const exec_plan *e, const exec_run *run, uint32_t output, uint32_t row)
{
    exec_memory_map m;
    exec_map_memory(&m, e, run->n, run->n - run->first_out, 1, 0, run->memory);
    uint32_t tensor = e->plan->graph->outputs[output].tensor;
    size_t stride;
    const unsigned char *at = exec_value(e, run, &m, tensor, e->plan->values[tensor].tail, &stride);
    return at ? at + row * stride : NULL;
}
