/* lithe: run .litertlm bundles on the CPU, in place.
 *
 * Threads. A lithe_model is immutable once opened: any number of threads may use it at once. A lithe_session
 * is used by one thread at a time; different sessions are independent. The functions that may be called
 * while another thread works on the same object say so (lithe_session_cancel).
 *
 * Errors. Functions that can fail return a lithe_status and, if `err` is not NULL, fill it. Nothing is
 * printed; nothing aborts. On failure output parameters are untouched unless a comment says otherwise.
 *
 * Ownership. What a _create or _open function returns is freed with its _destroy or _close partner, which
 * accepts NULL. Pointers returned otherwise are borrowed and live as long as the object they came from.
 */
#ifndef LITHE_H
#define LITHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define LITHE_API
#else
#define LITHE_API __attribute__((visibility("default")))
#endif

#define LITHE_VERSION_MAJOR 0
#define LITHE_VERSION_MINOR 1
#define LITHE_VERSION_PATCH 0

/* ------------------------------------------------------------------------------------------- errors */

typedef enum lithe_status {
    LITHE_OK = 0,
    LITHE_E_ARGUMENT,    /* the caller passed something that cannot be right */
    LITHE_E_IO,          /* the operating system refused: missing file, permission, a directory, disk full */
    LITHE_E_MEMORY,      /* an allocation failed, or a memory limit would be exceeded */
    LITHE_E_FORMAT,      /* not a bundle, or a damaged one */
    LITHE_E_TRUNCATED,   /* the file ends before the data that it announces */
    LITHE_E_VERSION,     /* a format version that this build does not know */
    LITHE_E_UNSUPPORTED, /* well formed, but not supported: the message names what */
    LITHE_E_MODEL,       /* the graph is inconsistent: wrong shapes, indices, missing signature or state */
    LITHE_E_TOKENIZER,   /* no tokenizer, or one that is damaged */
    LITHE_E_CONTEXT,     /* the context is full, or a context size that the model cannot have */
    LITHE_E_NUMERIC,     /* logits that are NaN or infinite */
    LITHE_E_CANCELLED,   /* lithe_session_cancel was called */
    LITHE_E_INTERNAL     /* a defect of lithe */
} lithe_status;

/* What went wrong, where, and what to do. Text fields are UTF-8, zero-terminated, "" when not known;
 * numbers are -1 when not known. The struct owns no memory: declare it on the stack and pass its address. */
typedef struct lithe_error {
    lithe_status code;
    int32_t section;   /* index of the bundle's section */
    int32_t node;      /* index of the graph node in its signature's subgraph */
    char message[512]; /* one sentence for a person, complete without the other fields */
    char path[256];    /* file */
    char signature[64];
    char op[48];
    char tensor[128];
    char expected[160];
    char found[160];
    char hint[200]; /* what to do next */
} lithe_error;

/* The status's name, as in "LITHE_E_FORMAT". Never NULL. */
LITHE_API const char *lithe_status_name(lithe_status status);

/* Writes everything that `err` knows as one line (message, then fields in brackets, then the hint).
 * Returns the length that the whole line needs without the terminator, as snprintf does. */
LITHE_API size_t lithe_error_describe(const lithe_error *err, char *buf, size_t buf_bytes);

/* ---------------------------------------------------------------------------------- library-wide things */

/* "0.1.0". */
LITHE_API const char *lithe_version(void);

/* Version, compiler, CPU features seen, mask in force and the kernels chosen, several lines of text.
 * Returns the length needed, as snprintf does. */
LITHE_API size_t lithe_build_info(char *buf, size_t buf_bytes);

/* Limits the instruction sets that kernels may use: "c", "avx2", "avxvnni", "avx512vnni", "neon", "dotprod",
 * "i8mm", or "auto" (all that the CPU has; the default unless the environment variable LITHE_CPU names a level).
 * A level includes those below it. Results do not depend on it. Affects models opened afterwards.
 * Any thread; LITHE_E_ARGUMENT for an unknown name or a level that this CPU lacks. */
LITHE_API lithe_status lithe_set_cpu(const char *level, lithe_error *err);

typedef enum lithe_log_level { LITHE_LOG_ERROR, LITHE_LOG_WARNING, LITHE_LOG_INFO, LITHE_LOG_DEBUG } lithe_log_level;
typedef void (*lithe_log_fn)(void *user, lithe_log_level level, const char *message);

/* Where messages go: nowhere until a callback is set. The callback may be called from any thread. */
LITHE_API void lithe_set_log(lithe_log_fn fn, void *user, lithe_log_level max_level);

/* Receives text or bytes. Return false to stop the producer. */
typedef bool (*lithe_write_fn)(void *user, const char *data, size_t bytes);

/* --------------------------------------------------------------------------------------------- models */

typedef struct lithe_model lithe_model;

typedef enum lithe_plan_kind {
    LITHE_PLAN_AUTO = 0,    /* any length if the graph allows it, else unified, else as exported */
    LITHE_PLAN_ANY_LENGTH,  /* the decode graph run for n tokens; an error names the node that forbids it */
    LITHE_PLAN_AS_EXPORTED, /* the signatures with their fixed lengths */
    LITHE_PLAN_UNIFIED /* prefill signatures of different lengths read as one function of the length; an error says why not */
} lithe_plan_kind;

typedef struct lithe_model_options {
    uint32_t struct_bytes; /* sizeof(lithe_model_options), set by lithe_model_options_init */
    uint32_t n_threads;    /* worker threads, the caller's included; 0: one per core, at most 8 */
    uint32_t context;      /* positions; 0: the bundle's. LITHE_E_CONTEXT if the model cannot have it */
    uint64_t memory_limit; /* bytes of private memory for model and sessions together; 0: none */
    lithe_plan_kind plan;
    bool check_numerics; /* after each step look for the first node with a NaN or infinity (slow) */
    bool no_fusion;      /* run without the fusing passes (for comparison) */
    const char
        *without_pass; /* run without this pass of the graph compiler (`lithe inspect --after list`); NULL: with all */
} lithe_model_options;

LITHE_API void lithe_model_options_init(lithe_model_options *options);

/* Opens a bundle: maps the file, checks it, reads metadata, compiles the graph, opens the tokenizer. Weights
 * are not read. `options` may be NULL. The file must not change while the model is open. Any thread. */
LITHE_API lithe_status lithe_model_open(const char *path, const lithe_model_options *options, lithe_model **out,
                                        lithe_error *err);

/* Close after all sessions of the model are destroyed. */
LITHE_API void lithe_model_close(lithe_model *model);

typedef struct lithe_sampler {
    float temperature; /* 0: greedy */
    int32_t top_k;     /* 0: all; 1: greedy */
    float top_p;       /* in (0, 1]; 1: all */
    uint64_t seed;
} lithe_sampler;

/* Where a sampler value came from: the one precedence rule is request, session, bundle, default. */
typedef enum lithe_source {
    LITHE_FROM_DEFAULT,
    LITHE_FROM_BUNDLE,
    LITHE_FROM_SESSION,
    LITHE_FROM_REQUEST
} lithe_source;
typedef struct lithe_sampler_sources {
    lithe_source temperature, top_k, top_p, seed;
} lithe_sampler_sources;

/* A caller's wishes: a value counts only if its bit is set, so that 0 and 1 can be asked for. */
enum { LITHE_SET_TEMPERATURE = 1, LITHE_SET_TOP_K = 2, LITHE_SET_TOP_P = 4, LITHE_SET_SEED = 8 };
typedef struct lithe_sampler_request {
    uint32_t set; /* LITHE_SET_… bits */
    lithe_sampler values;
} lithe_sampler_request;

typedef struct lithe_model_info {
    const char *path;
    const char *model_type;  /* "gemma3", "qwen3", "generic_model", … or "" */
    const char *plan;        /* "any length", "unified", "as exported" */
    const char *plan_reason; /* "" or why not a better one: the node that stood in the way */
    uint32_t container_version[3];
    uint32_t n_sections;
    uint32_t context;            /* positions a session can hold */
    uint32_t vocab_size;         /* logits per step */
    uint32_t n_layers_attention; /* attention nodes over state */
    uint32_t n_states;           /* state buffers */
    uint32_t n_threads;
    const char *tokenizer_kind;  /* "sentencepiece-bpe", "sentencepiece-unigram", "hf-bpe", "" when none */
    const int32_t *start_tokens; /* put in front of a raw prompt */
    size_t n_start_tokens;
    int32_t pad_token;          /* -1: none */
    const char *jinja_template; /* NULL: none */
    lithe_sampler sampler;      /* bundle's values over the defaults */
    lithe_sampler_sources sampler_sources;
    uint64_t file_bytes;
    uint64_t mapped_bytes; /* of the file, that a run may read */
    double open_ms;        /* from the call until text is accepted */
} lithe_model_info;

/* Borrowed; lives as long as the model. */
LITHE_API const lithe_model_info *lithe_model_get_info(const lithe_model *model);

/* Upper bound in bytes of private memory (RssAnon) for one session with `context` positions in use, the model's own
 * included; 0 for the model's context. At most about 10 % above the peak. */
LITHE_API uint64_t lithe_model_memory_forecast(const lithe_model *model, uint32_t context);

/* What `lithe inspect` prints. The bundle need not be runnable; a plain .tflite works too. */
typedef struct lithe_inspect_options {
    bool json;
    const char *graph;      /* signature whose graph is printed, or NULL */
    const char *after_pass; /* print after this pass; NULL: as imported; "list": the names of the passes */
    bool memory;            /* forecast of private memory */
    uint32_t context;       /* for `memory`; 0: the model's */
} lithe_inspect_options;
LITHE_API lithe_status lithe_inspect(const char *path, const lithe_inspect_options *options, lithe_write_fn write,
                                     void *user, lithe_error *err);

/* ---------------------------------------------------------------------------------------------- tokens */

typedef enum lithe_tokenize_flags {
    LITHE_TOKENIZE_PLAIN = 0,
    LITHE_TOKENIZE_START = 1,  /* the bundle's start tokens in front */
    LITHE_TOKENIZE_SPECIAL = 2 /* the text of special tokens becomes those tokens */
} lithe_tokenize_flags;

/* Token ids of `text` (UTF-8, `bytes` long, zero bytes allowed; invalid UTF-8 is treated as U+FFFD per maximal
 * ill-formed part). Writes at most `capacity` ids; `*n` is the number that the text has, which may be more. */
LITHE_API lithe_status lithe_tokenize(const lithe_model *model, const char *text, size_t bytes, unsigned flags,
                                      int32_t *ids, size_t capacity, size_t *n, lithe_error *err);

/* The text of `ids`, not terminated, at most `capacity` bytes written; `*bytes` is what it needs. Special (control)
 * tokens are written only if `special`. */
LITHE_API lithe_status lithe_detokenize(const lithe_model *model, const int32_t *ids, size_t n, bool special,
                                        char *text, size_t capacity, size_t *bytes, lithe_error *err);

/* The piece as the vocabulary spells it ("▁the", "Ġthe", "<0x0A>"), borrowed, not terminated; NULL for an id out of range. */
LITHE_API const char *lithe_token_piece(const lithe_model *model, int32_t id, size_t *bytes);

/* The bytes that the token stands for in running text, at most `capacity` written; returns the number. */
LITHE_API size_t lithe_token_bytes(const lithe_model *model, int32_t id, char *buf, size_t capacity);

/* -------------------------------------------------------------------------------------------- sessions */

typedef struct lithe_session lithe_session;

typedef struct lithe_session_options {
    uint32_t struct_bytes; /* sizeof(lithe_session_options) */
    uint32_t context;      /* positions; 0: the model's; may be smaller, not larger */
    lithe_sampler_request sampler;
} lithe_session_options;

LITHE_API void lithe_session_options_init(lithe_session_options *options);

/* An empty session. Memory grows with the tokens used. `options` may be NULL. Any thread. */
LITHE_API lithe_status lithe_session_create(const lithe_model *model, const lithe_session_options *options,
                                            lithe_session **out, lithe_error *err);
LITHE_API void lithe_session_destroy(lithe_session *session);

/* Tokens processed so far, the next token's position. */
LITHE_API uint32_t lithe_session_position(const lithe_session *session);

/* Progress of a long prefill, on the calling thread. Return false to stop (LITHE_E_CANCELLED). */
typedef bool (*lithe_progress_fn)(void *user, size_t done, size_t total);

/* Processes `n` >= 1 token ids at the next positions; afterwards the logits of the last one can be read. Ids as given:
 * nothing is prepended. LITHE_E_CONTEXT, and nothing done, if they do not fit. `progress` may be NULL. */
LITHE_API lithe_status lithe_session_prefill(lithe_session *session, const int32_t *ids, size_t n,
                                             lithe_progress_fn progress, void *user, lithe_error *err);

/* The logits [n] after token `index` of a call, borrowed for the time of this one. Return false to stop (LITHE_E_CANCELLED). */
typedef bool (*lithe_logits_fn)(void *user, size_t index, const float *logits, size_t n);

/* As lithe_session_prefill, but with the logits of every token, in order, on the calling thread: for scoring a text or verifying a
 * continuation. Bit for bit what a prefill up to that token gives. Tokens run in short steps, whose rows of logits take memory beyond the
 * model's forecast (vocab_size floats each, at most 16); it is kept with the session, and LITHE_E_MEMORY if a limit forbids it. When stopped, the
 * tokens of the step have been processed all the same: see lithe_session_position. */
LITHE_API lithe_status lithe_session_score(lithe_session *session, const int32_t *ids, size_t n,
                                           lithe_logits_fn on_logits, void *user, lithe_error *err);

/* Processes one token. The same as a prefill of one. */
LITHE_API lithe_status lithe_session_decode(lithe_session *session, int32_t id, lithe_error *err);

/* Logits [vocab_size] after the last processed token; borrowed until the next call on the session. LITHE_E_ARGUMENT
 * before the first token. */
LITHE_API lithe_status lithe_session_logits(lithe_session *session, const float **logits, size_t *n, lithe_error *err);

/* Draws the next token from the current logits with the session's sampler; does not process it. */
LITHE_API lithe_status lithe_session_sample(lithe_session *session, int32_t *id, lithe_error *err);

/* Forgets everything: position 0, the seed as at creation. Memory is kept for reuse. */
LITHE_API void lithe_session_reset(lithe_session *session);

/* Any thread, any time: the current or next prefill, decode or generate ends with LITHE_E_CANCELLED within one step (one
 * chunk of a prefill); the session stays valid, with the tokens that were processed. */
LITHE_API void lithe_session_cancel(lithe_session *session);

typedef enum lithe_finish {
    LITHE_FINISH_NONE = 0,
    LITHE_FINISH_STOP,    /* a stop sequence of the bundle or of the request */
    LITHE_FINISH_LENGTH,  /* max_tokens reached */
    LITHE_FINISH_CONTEXT, /* the context is full */
    LITHE_FINISH_CANCELLED,
    LITHE_FINISH_CALLBACK /* a callback returned false */
} lithe_finish;

/* "stop", "length", "context", "cancelled", "callback". */
LITHE_API const char *lithe_finish_name(lithe_finish finish);

/* One generated token: `text` is the valid UTF-8 that became complete with it (may be empty; not terminated). Text that could
 * still turn out to be the start of a stop sequence is held back. When the answer ends and text is left over, a last event with
 * id -1 and logits NULL brings it. */
typedef struct lithe_token_event {
    int32_t id;
    const char *text;
    size_t text_bytes;
    const float *logits; /* [vocab_size] that the token was drawn from */
    size_t vocab_size;
} lithe_token_event;
typedef bool (*lithe_token_fn)(void *user, const lithe_token_event *event);

typedef struct lithe_generate_options {
    uint32_t struct_bytes;
    uint32_t max_tokens; /* 0: until a stop or the end of the context */
    lithe_sampler_request sampler;
    bool ignore_stop;        /* go on after stop sequences (benchmarks) */
    lithe_token_fn on_token; /* may be NULL */
    void *user;
} lithe_generate_options;

LITHE_API void lithe_generate_options_init(lithe_generate_options *options);

typedef struct lithe_generate_result {
    size_t n_tokens; /* generated, a final stop token included */
    lithe_finish finish;
    lithe_sampler sampler; /* values in effect, with their sources */
    lithe_sampler_sources sources;
    bool repeats;          /* the answer ended in one token repeated without end, or in pad tokens */
    double first_token_ms; /* from the call to the first token */
    double decode_ms;      /* the decode steps after the first token */
} lithe_generate_result;

/* Draws and processes tokens until something ends the answer. The stop sequence's text is never passed on, its tokens are.
 * Every token but the last one generated has been processed when this returns. LITHE_OK also for CANCELLED and
 * CALLBACK: see result->finish. `result` may be NULL. */
LITHE_API lithe_status lithe_session_generate(lithe_session *session, const lithe_generate_options *options,
                                              lithe_generate_result *result, lithe_error *err);

/* Work done by the session since creation, for tests and --stats. */
typedef struct lithe_work {
    uint64_t tokens;           /* processed */
    uint64_t steps;            /* plan runs */
    uint64_t positions_read;   /* key positions read by attention, summed over layers, heads of keys and tokens */
    uint64_t state_bytes;      /* allocated now for states */
    uint64_t activation_bytes; /* arena and scratch, allocated now */
} lithe_work;
LITHE_API void lithe_session_get_work(const lithe_session *session, lithe_work *work);

#ifdef __cplusplus
}
#endif
#endif
