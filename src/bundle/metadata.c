#include "bundle/metadata.h"

#include "base/protowire.h"
#include "bundle/proto_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO               PROTO_NO_OFFSET
#define AT(type, member) offsetof(type, member)
#define COUNT(a)         (sizeof(a) / sizeof *(a))

/* token.proto. TokenIds has no struct of its own: its list lies in the owner's. */
static const proto_field ids_of_union[] = {
    {1, "ids", PROTO_I32_LIST, AT(token_union, ids), NO, AT(token_union, n_ids), NULL},
};
static const proto_message token_ids = {"TokenIds",          ids_of_union, COUNT(ids_of_union),
                                        sizeof(token_union), NULL,         false};

static const proto_field token_union_fields[] = {
    {1, "token_ids", PROTO_MESSAGE, 0, NO, 0, &token_ids},
    {2, "token_str", PROTO_TEXT_OPT, AT(token_union, text), NO, 0, NULL},
};
static const proto_message token_union_message = {
    "TokenUnion", token_union_fields, COUNT(token_union_fields), sizeof(token_union), NULL, true};

/* llm_metadata.proto */
static const prompt_affixes affixes_defaults = {.prefix = "", .suffix = ""};
static const proto_field affixes_fields[] = {
    {1, "prefix", PROTO_TEXT, AT(prompt_affixes, prefix), NO, 0, NULL},
    {2, "suffix", PROTO_TEXT, AT(prompt_affixes, suffix), NO, 0, NULL},
};
static const proto_message affixes = {"PromptAffixes",        affixes_fields,    COUNT(affixes_fields),
                                      sizeof(prompt_affixes), &affixes_defaults, false};

#define AFFIXES(number, member)                                                                                        \
    {                                                                                                                  \
        number, #member, PROTO_MESSAGE, AT(llm_metadata, member),                                                      \
            AT(llm_metadata, member) + AT(prompt_affixes, present), 0, &affixes                                        \
    }
static const proto_field templates_fields[] = {AFFIXES(1, user), AFFIXES(2, model), AFFIXES(3, system)};
static const proto_message templates = {
    "PromptTemplates", templates_fields, COUNT(templates_fields), sizeof(llm_metadata), NULL, false};

static const llm_channel channel_defaults = {"", "", "", false};
static const proto_field channel_fields[] = {
    {1, "channel_name", PROTO_TEXT, AT(llm_channel, name), NO, 0, NULL},
    {2, "start", PROTO_TEXT, AT(llm_channel, start), NO, 0, NULL},
    {3, "end", PROTO_TEXT, AT(llm_channel, end), NO, 0, NULL},
    {4, "is_reasoning_channel", PROTO_BOOL, AT(llm_channel, is_reasoning), NO, 0, NULL},
};
static const proto_message channel = {"Channel",           channel_fields,    COUNT(channel_fields),
                                      sizeof(llm_channel), &channel_defaults, false};

/* sampler_params.proto */
static const proto_field sampler_fields[] = {
    {1, "type", PROTO_I32, AT(llm_metadata, sampler_type), NO, 0, NULL},
    {2, "k", PROTO_I32, AT(llm_metadata, k), NO, 0, NULL},
    {3, "p", PROTO_F32, AT(llm_metadata, p), NO, 0, NULL},
    {4, "temperature", PROTO_F32, AT(llm_metadata, temperature), NO, 0, NULL},
    {5, "seed", PROTO_I32, AT(llm_metadata, seed), AT(llm_metadata, has_seed), 0, NULL},
};
static const proto_message sampler = {"SamplerParameters",  sampler_fields, COUNT(sampler_fields),
                                      sizeof(llm_metadata), NULL,           false};

static const proto_field suppress_fields[] = {
    {1, "ids", PROTO_I32_LIST, AT(llm_metadata, suppress_tokens), NO, AT(llm_metadata, n_suppress_tokens), NULL},
};
static const proto_message suppress = {"TokenIds", suppress_fields, COUNT(suppress_fields), sizeof(llm_metadata), NULL,
                                       false};

static const llm_metadata llm_defaults = {
    .user = {.prefix = "", .suffix = ""},
    .model = {.prefix = "", .suffix = ""},
    .system = {.prefix = "", .suffix = ""},
    .model_type = "",
    .supports_thinking = -1,
    .supports_function_calling = -1,
};
static const proto_field llm_fields[] = {
    {1, "start_token", PROTO_MESSAGE, AT(llm_metadata, start_token), NO, 0, &token_union_message},
    {2, "stop_tokens", PROTO_MESSAGES, AT(llm_metadata, stop_tokens), NO, AT(llm_metadata, n_stop_tokens),
     &token_union_message},
    {3, "prompt_templates", PROTO_MESSAGE, 0, AT(llm_metadata, has_prompt_templates), 0, &templates},
    {4, "sampler_params", PROTO_MESSAGE, 0, AT(llm_metadata, has_sampler), 0, &sampler},
    {5, "max_num_tokens", PROTO_I32, AT(llm_metadata, max_num_tokens), NO, 0, NULL},
    {6, "llm_model_type", PROTO_RAW, AT(llm_metadata, model_type_message), NO, 0, NULL},
    {7, "jinja_prompt_template", PROTO_TEXT_OPT, AT(llm_metadata, jinja_prompt_template), NO, 0, NULL},
    {8, "channels", PROTO_MESSAGES, AT(llm_metadata, channels), NO, AT(llm_metadata, n_channels), &channel},
    {9, "suppress_tokens", PROTO_MESSAGE, 0, NO, 0, &suppress},
    {10, "kv_cache_init_value", PROTO_I64, AT(llm_metadata, kv_cache_init_value),
     AT(llm_metadata, has_kv_cache_init_value), 0, NULL},
    {11, "supports_thinking", PROTO_BOOL_OPT, AT(llm_metadata, supports_thinking), NO, 0, NULL},
    {12, "supports_function_calling", PROTO_BOOL_OPT, AT(llm_metadata, supports_function_calling), NO, 0, NULL},
    {13, "pad_token", PROTO_MESSAGE, AT(llm_metadata, pad_token), AT(llm_metadata, has_pad_token), 0,
     &token_union_message},
    {14, "min_runtime_version", PROTO_TEXT_OPT, AT(llm_metadata, min_runtime_version), NO, 0, NULL},
};
static const proto_message llm = {"LlmMetadata",        llm_fields,    COUNT(llm_fields),
                                  sizeof(llm_metadata), &llm_defaults, false};

/* executor_metadata.proto. The names of a state are the first four fields in order. */
static const executor_state state_defaults = {"", "", "", "", 0, -1, -1, -1};
static const proto_field state_fields[] = {
    {1, "prefill_input_name", PROTO_TEXT, AT(executor_state, prefill_input), NO, 0, NULL},
    {2, "prefill_output_name", PROTO_TEXT, AT(executor_state, prefill_output), NO, 0, NULL},
    {3, "decode_input_name", PROTO_TEXT, AT(executor_state, decode_input), NO, 0, NULL},
    {4, "decode_output_name", PROTO_TEXT, AT(executor_state, decode_output), NO, 0, NULL},
    {6, "type", PROTO_I32, AT(executor_state, type), NO, 0, NULL},
    {7, "sequence_axis", PROTO_I32_OPT, AT(executor_state, sequence_axis), NO, 0, NULL},
    {8, "minimum_sequence_length", PROTO_I32_OPT, AT(executor_state, min_length), NO, 0, NULL},
    {9, "maximum_sequence_length", PROTO_I32_OPT, AT(executor_state, max_length), NO, 0, NULL},
};
static const proto_message state = {"StateBuffer",          state_fields,    COUNT(state_fields),
                                    sizeof(executor_state), &state_defaults, false};

static const proto_field mask_fields[] = {
    {1, "attention_mask_type", PROTO_I32, AT(executor_metadata, attention_mask_type), NO, 0, NULL},
    {2, "local_attention_mask_type", PROTO_I32, AT(executor_metadata, local_attention_mask_type), NO, 0, NULL},
    {3, "sliding_window_size", PROTO_I32_OPT, AT(executor_metadata, sliding_window_size), NO, 0, NULL},
};
static const proto_message mask = {"AttentionMaskSettings",   mask_fields, COUNT(mask_fields),
                                   sizeof(executor_metadata), NULL,        false};

static const executor_metadata executor_defaults = {.max_history_size = -1, .sliding_window_size = -1};
static const proto_field llm_executor_fields[] = {
    {1, "max_history_size", PROTO_I32_OPT, AT(executor_metadata, max_history_size), NO, 0, NULL},
    {2, "state_buffers", PROTO_MESSAGES, AT(executor_metadata, states), NO, AT(executor_metadata, n_states), &state},
    {3, "attention_mask_settings", PROTO_MESSAGE, 0, NO, 0, &mask},
};
static const proto_message llm_executor = {
    "LlmExecutorMetadata", llm_executor_fields, COUNT(llm_executor_fields), sizeof(executor_metadata), NULL, false};
static const proto_field executor_fields[] = {{1, "llm_executor_metadata", PROTO_MESSAGE, 0, NO, 0, &llm_executor}};
static const proto_message executor = {"ExecutorMetadata",        executor_fields,    COUNT(executor_fields),
                                       sizeof(executor_metadata), &executor_defaults, false};

/* llm_model_type.proto: the oneof's fields. 6 and 10 are reserved. */
static const char *const model_types[] = {
    [1] = "generic_model", [2] = "gemma3n",   [3] = "function_gemma", [4] = "gemma3",
    [5] = "qwen3",         [7] = "qwen2p5",   [8] = "gemma4",         [9] = "fast_vlm",
    [11] = "lfm2",         [12] = "minicpm5", [13] = "minicpmv4",
};

/* Splits LlmModelType into the name and the message of the member that is set (the last one, as in any oneof). */
static lithe_status read_model_type(llm_metadata *m, arena *a, lithe_error *err)
{
    wire_reader r;
    wire_field f;
    bytes whole = m->model_type_message;
    m->model_type_message = (bytes){NULL, 0};
    if (!whole.data) {
        return LITHE_OK;
    }
    wire_reader_init(&r, whole);
    while (wire_next(&r, &f)) {
        if (f.type != WIRE_BYTES) {
            continue;
        }
        char name[32];
        if (f.number < COUNT(model_types) && model_types[f.number]) {
            snprintf(name, sizeof name, "%s", model_types[f.number]);
        } else {
            snprintf(name, sizeof name, "unknown (%lu)", (unsigned long)f.number);
        }
        m->model_type = arena_strndup(a, name, strlen(name));
        if (!m->model_type) {
            return error_memory(err, sizeof name, "a model type");
        }
        m->model_type_message = f.data;
    }
    return r.problem
               ? error_set(err, LITHE_E_FORMAT, "message LlmModelType is damaged at byte %zu: %s", r.at, r.problem)
               : LITHE_OK;
}

/* The oneof's field number for a name as read_model_type gives it; 0 if there is none. */
static uint32_t model_type_number(const char *name)
{
    for (uint32_t i = 1; i < COUNT(model_types); i++) {
        if (model_types[i] && strcmp(model_types[i], name) == 0) {
            return i;
        }
    }
    if (strncmp(name, "unknown (", 9) == 0) {
        unsigned long n = strtoul(name + 9, NULL, 10);
        return n < 1u << 29 ? (uint32_t)n : 0;
    }
    return 0;
}

lithe_status llm_metadata_read(llm_metadata *out, bytes message, arena *a, lithe_error *err)
{
    *out = llm_defaults;
    lithe_status st = proto_read(&llm, out, message, a, err);
    return st ? st : read_model_type(out, a, err);
}

lithe_status executor_metadata_read(executor_metadata *out, bytes message, arena *a, lithe_error *err)
{
    *out = executor_defaults;
    return proto_read(&executor, out, message, a, err);
}

lithe_status llm_metadata_write(const llm_metadata *m, buffer *out, lithe_error *err)
{
    llm_metadata copy = *m;
    buffer type;
    buffer_init(&type);
    copy.model_type_message = (bytes){NULL, 0};
    lithe_status st = LITHE_OK;
    if (*m->model_type) {
        uint32_t number = model_type_number(m->model_type);
        if (number == 0) {
            st = error_set(err, LITHE_E_ARGUMENT, "\"%.64s\" is no model type of LlmMetadata", m->model_type);
        }
        const uint8_t *data = m->model_type_message.data ? m->model_type_message.data : (const uint8_t *)"";
        wire_write_bytes(&type, number, data, m->model_type_message.size);
        copy.model_type_message = (bytes){type.data, type.size};
        out->failed |= buffer_failed(&type);
    }
    if (!st) {
        st = proto_write(&llm, &copy, out, err);
    }
    buffer_fini(&type);
    return st;
}

lithe_status executor_metadata_write(const executor_metadata *m, buffer *out, lithe_error *err)
{
    return proto_write(&executor, m, out, err);
}
