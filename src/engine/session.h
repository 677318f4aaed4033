/* A session: states, position, working memory. Internal to engine. */
#ifndef LITHE_ENGINE_SESSION_H
#define LITHE_ENGINE_SESSION_H

#include "engine/model.h"

/* One state of the decode graph. */
typedef struct session_state {
    float **blocks; /* owned by recognition: [capacity / 64] blocks of [n_heads][64][head_dim], allocated as used */
    uint32_t n_blocks;
    void *flat; /* otherwise: the graph's own layout */
} session_state;

typedef struct length_program length_program;
enum { SESSION_PROGRAMS = 2 };

struct lithe_session {
    const lithe_model *model;
    uint32_t context, position;
    uint32_t chunk;          /* tokens per run of a prefill */
    session_state *states;   /* [graph.n_states] */
    void **bindings;         /* what exec_run.states points to: in the decode program's order, */
    void **prefill_bindings; /* and in that of a prefill program */
    void **inputs;           /* [most inputs of a program]: where they lie in this run */
    unsigned char *memory;   /* working memory of runs, the inputs behind it */
    uint64_t work_bytes;     /* where the inputs begin */
    bool interruptible;      /* runs may stop midway: no state is changed in place but blocks */
    uint32_t rows;           /* that memory and inputs are made for, */
    uint32_t logits_rows;    /* and of how many of them logits are kept */
    const float *logits;     /* in memory; NULL: none yet */
    uint64_t reserved;       /* with the model */
    lithe_sampler sampler;   /* the session's values */
    lithe_sampler_sources sources;
    uint64_t rng, seed;
    void *candidates; /* sampler scratch */
    size_t candidates_bytes;
    length_program *programs; /* unified prefill programs of the last lengths, NULL until one is needed */
    atomic_bool cancel;
    lithe_work work;
};

/* state.c */
lithe_status session_states_create(lithe_session *s, lithe_error *err);
void session_states_destroy(lithe_session *s);
void session_states_reset(lithe_session *s);
/* Makes sure that positions below `end` have their blocks. */
lithe_status session_states_grow(lithe_session *s, uint32_t end, lithe_error *err);
/* Bytes that the states of a program take for `positions` positions. */
uint64_t states_forecast(const program *p, uint32_t positions);

/* run.c */
/* Working memory and inputs for runs of up to `rows` rows, the logits of up to `logits_rows` of them wanted. */
lithe_status session_memory_grow(lithe_session *s, uint32_t rows, uint32_t logits_rows, lithe_error *err);
void session_memory_destroy(lithe_session *s);
uint64_t session_memory_forecast(const lithe_model *m, uint32_t rows, uint32_t logits_rows, uint32_t context);
/* Runs `program` over n ids at the session's position (as exported: padded to its length). n_logits: of how many ids, the last ones, logits are
 * wanted (only 0 and 1 unless any length); on_rows, if not NULL, sees each of them. On success the position has moved on by n. */
lithe_status session_run(lithe_session *s, const program *p, const int32_t *ids, uint32_t n, uint32_t n_logits,
                         lithe_logits_fn on_rows, void *user, lithe_error *err);

/* unified.c: the prefill program for n tokens, kept for the next time. */
lithe_status session_program(lithe_session *s, uint32_t n, const program **out, lithe_error *err);
void session_programs_destroy(lithe_session *s);

/* sampler.c */
lithe_status session_draw(lithe_session *s, const lithe_sampler *sampler, const float *logits, size_t n, int32_t *id,
                          lithe_error *err);

#endif
