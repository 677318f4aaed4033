/* Running plans on threads.
 *
 * exec_shared holds what all plans of a model have in common: the kernel table and one linear_weights per weight matrix (its lazily made
 * row sums are the only thing that changes after creation, safely from any thread). An exec_plan is a plan with its kernels chosen and its
 * barriers placed. A run binds an exec_plan to inputs, states and memory. Runs of one pool follow each other; results do not depend on the
 * number of threads. */
#ifndef LITHE_CPU_EXEC_H
#define LITHE_CPU_EXEC_H

#include "base/thread.h"
#include "cpu/kernels.h"
#include "graph/plan.h"

typedef struct exec_shared exec_shared;
lithe_status exec_shared_create(exec_shared **out, uint32_t features, lithe_error *err);
void exec_shared_destroy(exec_shared *s);
const cpu_kernels *exec_shared_kernels(const exec_shared *s);
/* Private bytes that the weights' row sums will take once every matrix has been used. */
uint64_t exec_shared_memory(const exec_shared *s);

typedef struct exec_plan exec_plan;
/* Chooses a kernel for each step. LITHE_E_UNSUPPORTED names signature, node and types that no kernel takes. `p` and its graph are
 * borrowed. A lasting plan enters its weights in the shared table (one thread at a time) and must live as long as it; a transient plan only reads
 * the table, from any thread, and may be destroyed at any time. */
lithe_status exec_plan_create(exec_plan **out, const plan *p, exec_shared *shared, bool transient, lithe_error *err);
void exec_plan_destroy(exec_plan *e);
const plan *exec_plan_of(const exec_plan *e);
/* Steps of a run of one row, or of several, and how often all threads wait for each other in it. */
void exec_schedule(const exec_plan *e, bool one_row, uint32_t *n_steps, uint32_t *n_barriers);

/* Bytes of working memory for runs of up to n rows, n_out of them wanted, on n_threads, with up to `positions` positions in the states. */
uint64_t exec_memory(const exec_plan *e, uint32_t n, uint32_t n_out, uint32_t n_threads, uint32_t positions);

/* The first value that is not finite, found by a checking run. */
typedef struct exec_fault {
    uint32_t node; /* graph node index, GRAPH_NONE: none */
    uint32_t row;
} exec_fault;

typedef struct exec_run {
    uint32_t n;         /* rows; 1 for as-exported plans */
    uint32_t first_out; /* first row whose tail is wanted; n: none (tail steps are skipped) */
    uint32_t position;  /* of row 0, for attention */
    const void *const
        *inputs; /* [graph.n_inputs]: rows, tightly packed; NULL: zeros are not assumed, the input must be unused */
    void *const *states; /* [graph.n_states]: the state's buffer; owned ones: float *const * table of blocks */
    void *memory;        /* exec_memory() bytes, 64-byte aligned; contents do not matter */
    uint64_t memory_bytes;
    const atomic_bool *cancel; /* checked between steps; may be NULL */
    exec_fault *fault;         /* not NULL: look at every float output (slow) */
    /* out */
    uint64_t positions_read; /* key positions attention read, summed over nodes, key heads and rows */
} exec_run;

/* LITHE_E_CANCELLED if the flag was seen; states may then hold part of the rows, at positions from `position` on. */
lithe_status exec_run_plan(const exec_plan *e, thread_pool *pool, exec_run *run, lithe_error *err);

/* Where row `row` of graph output `output` lies after a run: for a tail value row counts from first_out. */
const void *exec_output(const exec_plan *e, const exec_run *run, uint32_t output, uint32_t row);

#endif
