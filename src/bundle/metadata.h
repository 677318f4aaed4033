/* The protobuf messages of a bundle (docs/format.md section 5), from one field table per message. Unknown fields are skipped. */
#ifndef LITHE_BUNDLE_METADATA_H
#define LITHE_BUNDLE_METADATA_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/bytes.h"
#include "base/error.h"

/* TokenUnion: either ids or text. */
typedef struct token_union {
    const int32_t *ids;
    size_t n_ids;
    const char *text; /* NULL when ids are given or nothing is */
} token_union;

typedef struct prompt_affixes {
    bool present;
    const char *prefix, *suffix;
} prompt_affixes;

typedef struct llm_channel {
    const char *name, *start, *end;
    bool is_reasoning;
} llm_channel;

typedef enum sampler_type { SAMPLER_UNSPECIFIED, SAMPLER_TOP_K, SAMPLER_TOP_P, SAMPLER_GREEDY } sampler_type;

typedef struct llm_metadata {
    token_union start_token;
    const token_union *stop_tokens;
    size_t n_stop_tokens;
    bool has_prompt_templates;
    prompt_affixes user, model, system;
    bool has_sampler;
    int32_t sampler_type;
    int32_t k;
    float p, temperature;
    bool has_seed;
    int32_t seed;
    int32_t max_num_tokens;
    const char *model_type;   /* oneof's field name: "gemma3", "function_gemma", …; "" when absent; "unknown (N)" */
    bytes model_type_message; /* the sub-message, for those who need its fields */
    const char *jinja_prompt_template; /* NULL when absent */
    const llm_channel *channels;
    size_t n_channels;
    const int32_t *suppress_tokens;
    size_t n_suppress_tokens;
    int supports_thinking, supports_function_calling; /* -1: absent */
    bool has_pad_token;
    token_union pad_token;
    const char *min_runtime_version; /* NULL when absent */
    bool has_kv_cache_init_value;
    int64_t kv_cache_init_value;
} llm_metadata;

typedef enum state_type {
    STATE_UNSPECIFIED,
    STATE_GLOBAL_KEY,
    STATE_GLOBAL_VALUE,
    STATE_LOCAL_KEY,
    STATE_LOCAL_VALUE,
    STATE_LINEAR_ATTENTION
} state_type;

typedef struct executor_state {
    const char *prefill_input, *prefill_output, *decode_input, *decode_output;
    int32_t type;                   /* state_type */
    int32_t sequence_axis;          /* -1: absent */
    int32_t min_length, max_length; /* -1: absent */
} executor_state;

typedef struct executor_metadata {
    int32_t max_history_size; /* -1: absent */
    const executor_state *states;
    size_t n_states;
    int32_t attention_mask_type,
        local_attention_mask_type; /* 0 unspecified, 1 causal, 2 bidirectional, 3 vision bidirectional */
    int32_t sliding_window_size;   /* -1: absent */
} executor_metadata;

/* Strings and arrays are copied into the arena. Errors say message, field and offset. */
lithe_status llm_metadata_read(llm_metadata *out, bytes message, arena *a, lithe_error *err);
lithe_status executor_metadata_read(executor_metadata *out, bytes message, arena *a, lithe_error *err);
/* Writing: the same fields back as a message. */
lithe_status llm_metadata_write(const llm_metadata *m, buffer *out, lithe_error *err);
lithe_status executor_metadata_write(const executor_metadata *m, buffer *out, lithe_error *err);

#endif
