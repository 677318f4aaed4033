/* A plan: the steps of a graph in order, where each value lives, and what memory they need. Made once, run for any number of rows.
 *
 * Any-length plans run the decode graph for n tokens: a value of the graph then exists n times, [n][elements of the decode graph's tensor]
 * ("a row" is one token's value), because every node acts on each token alone. As-exported plans run with n = 1: a row is the tensor.
 *
 * Values are in one arena: value v of row r is at arena + n * offset(v) + r * row_bytes(v). Offsets are planned once with
 * liveness for one row; every row_bytes is rounded up to 64, so all n scale together.
 *
 * Steps that no state update needs ("tail": final norm, logits, the last layer's attention output) run only for the rows whose logits
 * are wanted: rows first_out .. n-1. Their values are stored as rows 0 .. n - first_out - 1; when they read a value of an "all rows" step
 * they start at its row first_out. */
#ifndef LITHE_GRAPH_PLAN_H
#define LITHE_GRAPH_PLAN_H

#include "graph/graph.h"

typedef enum plan_place {
    PLAN_CONSTANT, /* graph constant: one row for all */
    PLAN_ARENA,
    PLAN_INPUT,  /* bound by the caller: inputs[index], [n][elements] tightly packed at row_bytes of the graph input */
    PLAN_STATE,  /* a state's own buffer (recurrent, or as exported): one for all rows */
    PLAN_NOWHERE /* absent input, owned state: no buffer */
} plan_place;

typedef struct plan_value {
    plan_place place;
    uint32_t index;     /* PLAN_INPUT: graph input; PLAN_STATE: graph state */
    uint64_t offset;    /* PLAN_ARENA: bytes for one row */
    uint64_t row_bytes; /* bytes of a row as stored (64-byte multiple in the arena; exact size for inputs and states) */
    bool tail;          /* computed only for wanted rows: lives in the second arena */
} plan_value;

typedef struct plan_step {
    uint32_t node; /* graph node */
    bool tail;
    uint32_t scan; /* consecutive steps with the same scan > 0 are run row by row */
} plan_step;

/* A state's new value that is computed beside the state: copied over it after each row (scan > 0) or at the end of the run. */
typedef struct plan_commit {
    uint32_t value; /* graph tensor */
    uint32_t state; /* graph state */
    uint32_t scan;
} plan_commit;

typedef struct plan {
    const graph *graph;
    plan_value *values; /* one per graph tensor; RESHAPE outputs alias their inputs' place */
    plan_step *steps;
    uint32_t n_steps;
    plan_commit *commits;
    uint32_t n_commits;
    uint64_t arena_bytes; /* for one row, head values (see tail_bytes) */
    uint64_t tail_bytes;  /* for one wanted row: tail values have a second arena behind the first */
    bool any_length;
} plan;

/* All memory from the graph's arena. `any_length` requires graph.any_length. */
lithe_status plan_create(plan *p, const graph *g, bool any_length, lithe_error *err);

#endif
