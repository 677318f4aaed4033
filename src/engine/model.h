/* What an opened model consists of. Internal to engine. */
#ifndef LITHE_ENGINE_MODEL_H
#define LITHE_ENGINE_MODEL_H

#include "base/arena.h"
#include "base/thread.h"
#include "bundle/bundle.h"
#include "bundle/metadata.h"
#include "bundle/tflite.h"
#include "cpu/exec.h"
#include "graph/graph.h"
#include "graph/plan.h"
#include "graph/unify.h"
#include "text/tokenizer.h"

/* One signature made runnable. */
typedef struct program {
    graph g;
    plan p;
    exec_plan *exec;
    uint32_t length; /* tokens per run as exported; 1 for decode and any-length programs */
    uint32_t logits; /* index into g.outputs, GRAPH_NONE: none */
    uint32_t vocab_size;
    uint32_t *state_of; /* [g.n_states] the decode program's state that each of this one's is; NULL: its own */
} program;

/* One TFLite section. */
typedef struct engine_section {
    int32_t index; /* in the bundle, -1: not there */
    tflite_model tfl;
} engine_section;

/* Makes rows for an input of the main program from token ids (embedder sections). */
typedef struct feeder {
    engine_section section;
    program program;
    graph_role role; /* the main program's input that it feeds */
} feeder;

enum {
    MODEL_MAX_FEEDERS = 2,
    MODEL_MAX_LADDER = 16,
    PREFILL_CHUNK = 128, /* measured: docs/performance.md */
    SCORE_CHUNK = 16     /* tokens per run when all their logits are kept: 16 MB of them with 262,144 tokens */
};

typedef struct stop_sequence {
    const int32_t *ids;
    size_t n;
} stop_sequence;

struct lithe_model {
    lithe_model_info info;
    lithe_model_options options;
    bundle *bundle;
    arena arena; /* graphs, plans, metadata, names */
    llm_metadata meta;
    executor_metadata states_meta;
    bool has_states_meta;
    tokenizer *tokenizer;
    stop_sequence *stops;
    size_t n_stops;
    exec_shared *shared;
    thread_pool *pool;
    engine_section main;
    bool any_length;
    bool recurrent; /* some state is recurrent: padding must not reach it */
    bool unified;   /* not any_length: prefill programs are made for the lengths that come (unified.c) */
    graph_family family;
    uint64_t unified_bytes; /* private bytes of one such program */
    program decode;         /* any length, or exactly one token */
    program
        prefill[MODEL_MAX_LADDER]; /* as exported: one per prefill signature (they never move: plans point into them) */
    program *ladder[MODEL_MAX_LADDER]; /* the same, longest first */
    uint32_t n_ladder;
    feeder feeders[MODEL_MAX_FEEDERS];
    uint32_t n_feeders;
    uint32_t max_token_id; /* ids up to here exist */
    mutex *lock;
    uint64_t reserved_bytes; /* forecast of the model and its live sessions, under lock */
    uint64_t base_bytes;     /* private bytes of the process and the model without sessions */
};

/* program.c: imports and compiles signature `key`. want_any_length: an error names the node that forbids it. */
lithe_status program_create(program *p, engine_section *s, const char *key, const executor_metadata *states,
                            bool want_any_length, const lithe_model_options *options, exec_shared *shared, arena *a,
                            lithe_error *err);
/* A prefill program for n tokens from the model's family of signatures; transient: see exec_plan_create. Not thread-safe (the file's subgraphs are
 * read when needed): under the model's lock once sessions exist. */
lithe_status program_create_length(program *p, lithe_model *m, uint32_t n, bool transient, arena *a, lithe_error *err);
void program_fini(program *p);
/* Finds the decode program's state for each state of a prefill program. By name, since signatures may list them in any order; by their
 * places if hints gave the order (in_order), since hints may give other names. */
lithe_status program_match_states(program *p, const program *decode, bool in_order, arena *a, lithe_error *err);
/* Opens the TFLite section of the given model type (with its external weights); index -1 and LITHE_OK if there is none. */
lithe_status section_open(engine_section *s, const bundle *b, const char *model_type, arena *a, lithe_error *err);
/* Index of the graph input with the role, GRAPH_NONE if none. */
uint32_t program_input(const program *p, graph_role role);
/* Hints for graph_import of signature `key` from ExecutorMetadata, which names states for prefill and for decode. */
uint32_t state_hints(const executor_metadata *m, const char *key, graph_state_hint *hints, uint32_t capacity);

/* unified.c: reads the prefill signatures as one function of the length and makes the program for a whole chunk, which checks it. LITHE_OK also
 * when they cannot be unified: then `unified` is false and family.why_not says why. */
lithe_status model_unify(lithe_model *m, lithe_error *err);

/* memory.c */
uint64_t model_session_forecast(const lithe_model *m, uint32_t context);
/* Adds (subtracts) a session's forecast to what is reserved, LITHE_E_MEMORY with forecast and limit if the limit forbids it. */
lithe_status model_reserve(lithe_model *m, uint64_t bytes, uint32_t context, lithe_error *err);
void model_release(lithe_model *m, uint64_t bytes);
/* Tokens that a prefill takes in one run at most. */
uint32_t prefill_chunk(uint32_t context);

/* tokens.c */
lithe_status model_resolve_tokens(lithe_model *m, lithe_error *err);

/* sampler.c */
/* Applies the precedence rule: what `request` sets wins over *s. */
void sampler_apply(lithe_sampler *s, lithe_sampler_sources *from, const lithe_sampler_request *request,
                   lithe_source source);
lithe_status sampler_check(const lithe_sampler *s, lithe_error *err);

#endif
