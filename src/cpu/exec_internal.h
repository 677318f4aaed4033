/* Shared by exec_*.c only. */
#ifndef LITHE_CPU_EXEC_INTERNAL_H
#define LITHE_CPU_EXEC_INTERNAL_H

#include "cpu/exec.h"
#include "cpu/ops.h"

typedef enum exec_kind {
    EXEC_OP,       /* any op through ops.h */
    EXEC_QUANTIZE, /* activations of the next linears into the quantised buffer */
    EXEC_LINEAR,
    EXEC_EMBEDDING,
    EXEC_STORE,  /* new keys and values into their blocks */
    EXEC_ATTEND, /* one row over many blocks: partial results by (key head, block); several rows: whole rows */
    EXEC_JOIN,   /* one row: joins the partial results (nothing to do for several rows) */
    EXEC_DELTA,  /* gated delta rule on a bound state */
    EXEC_SCAN,   /* a scan group, row by row */
    EXEC_COMMIT  /* copies a value over a state */
} exec_kind;

/* Memory that a step reads or writes, for placing barriers. Arena ranges are in bytes for one row. */
typedef enum exec_region { REGION_HEAD, REGION_TAIL, REGION_QUANT, REGION_PARTS, REGION_STATE } exec_region;
typedef struct exec_range {
    exec_region region;
    uint64_t begin, end;
    bool write;
} exec_range;

/* Which of two schedules: one row, or several. */
enum { SCHEDULE_ONE, SCHEDULE_MANY, SCHEDULE_COUNT };

typedef struct exec_step {
    exec_kind kind;
    uint32_t node;
    bool tail;
    bool parallel[SCHEDULE_COUNT]; /* split among threads, or done by one thread */
    bool barrier[SCHEDULE_COUNT];  /* wait for all threads before it */
    bool leads[SCHEDULE_COUNT];    /* first of a run of steps that one thread does: who does them is decided here */
    linear_weights *weights;       /* LINEAR, EMBEDDING; QUANTIZE: of the linear that asked */
    uint32_t rows_per_row;         /* QUANTIZE, LINEAR, EMBEDDING: rows of the operand in one row of the plan */
    uint32_t units_per_row;        /* OP */
    double unit_cost;
    size_t scratch_bytes;
    uint32_t first, count; /* SCAN: steps [first, first + count) of exec_plan.scan_steps */
    uint32_t commit;       /* COMMIT: index of the plan's commit */
} exec_step;

/* Weights in use; `bias` as it lies in the graph (w.bias may be an aligned copy). */
typedef struct weights_entry {
    linear_weights w;
    const float *bias;
    struct weights_entry *next;
} weights_entry;

struct exec_plan {
    const plan *plan;
    exec_shared *shared;
    bool transient;
    weights_entry *own; /* transient: weights that the shared table does not have */
    arena own_arena;
    exec_step *steps;
    uint32_t n_steps;
    exec_step *scan_steps; /* steps inside scan groups */
    uint32_t n_scan_steps;
    uint32_t max_k;          /* widest quantised activation */
    uint32_t max_quant_rows; /* rows_per_row of quantised activations at most */
    size_t scratch_bytes;    /* per thread */
    uint64_t parts_floats;   /* per block of positions */
    uint32_t max_operands;
};

/* The memory of a run, cut into its parts. */
typedef struct exec_memory_map {
    unsigned char *head, *tail;
    int8_t *quant;
    linear_qrow *quant_rows;
    float *parts;
    unsigned char *scratch; /* of thread 0; next threads scratch_stride further */
    size_t scratch_stride;
    atomic_uint *counters; /* [n_steps] split steps: the next task; where a run of others begins: tasks known to be done before it */
    uint64_t bytes;
} exec_memory_map;

void exec_map_memory(exec_memory_map *m, const exec_plan *e, uint32_t n, uint32_t n_out, uint32_t n_threads,
                     uint32_t positions, void *base);

/* Address of row 0 of a value as a step sees it (a tail step that reads a head value starts at first_out), and bytes from row to row. */
unsigned char *exec_value(const exec_plan *e, const exec_run *run, const exec_memory_map *m, uint32_t tensor,
                          bool tail_step, size_t *row_stride);

/* The weights of a constant tensor for FULLY_CONNECTED or EMBEDDING_LOOKUP: shared by all plans, or (transient plans, for what no lasting plan
 * has) the plan's own. */
lithe_status exec_weights_get(exec_plan *plan, const graph *g, const graph_node *node, uint32_t tensor, uint32_t bias,
                              bool dynamic, linear_weights **out, lithe_error *err);

/* Frees the tables of a list's entries (the entries are in arenas). */
void exec_weights_drop(weights_entry *list);

/* One thread's view of a run. */
typedef struct exec_thread {
    const exec_plan *plan;
    exec_run *run;
    const exec_memory_map *memory;
    void *scratch;
    uint32_t thread, n_threads;
    uint64_t positions_read;
    op_operand *operands; /* max_operands, in scratch */
} exec_thread;

/* Number of tasks that step has in this run, and running tasks [t0, t1). */
uint64_t exec_step_tasks(const exec_thread *t, const exec_step *s);
void exec_step_run(exec_thread *t, const exec_step *s, uint64_t t0, uint64_t t1);

#endif
