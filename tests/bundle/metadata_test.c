/* Every field of the metadata messages against the reference's protobuf code (scripts/golden/make_bundle_goldens.py). */
#include "base/file.h"
#include "base/protowire.h"
#include "bundle/metadata.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DIRECTORY "tests/data/bundle"

static void put_text(buffer *b, const char *s)
{
    buffer_string(b, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c >= 32 && c < 127 && c != '"' && c != '\\') {
            buffer_append(b, s, 1);
        } else {
            buffer_printf(b, "\\x%02x", c);
        }
    }
    buffer_string(b, "\"");
}

static void put_union(buffer *b, const token_union *u)
{
    if (u->text) {
        put_text(b, u->text);
        return;
    }
    buffer_string(b, u->n_ids ? "[" : "none");
    for (size_t i = 0; i < u->n_ids; i++) {
        buffer_printf(b, "%s%ld", i ? "," : "", (long)u->ids[i]);
    }
    buffer_string(b, u->n_ids ? "]" : "");
}

static void put_affixes(buffer *b, const char *name, const prompt_affixes *p)
{
    buffer_printf(b, "%s ", name);
    if (p->present) {
        put_text(b, p->prefix);
        buffer_string(b, " ");
        put_text(b, p->suffix);
    } else {
        buffer_string(b, "none");
    }
    buffer_string(b, "\n");
}

static void put_sampler(buffer *b, const llm_metadata *m)
{
    buffer_printf(b, "sampler %ld %ld %.9g %.9g ", (long)m->sampler_type, (long)m->k, (double)m->p,
                  (double)m->temperature);
    if (m->has_seed) {
        buffer_printf(b, "%ld\n", (long)m->seed);
    } else {
        buffer_string(b, "none\n");
    }
}

static void put_channels(buffer *b, const llm_metadata *m)
{
    for (size_t i = 0; i < m->n_channels; i++) {
        const char *texts[] = {m->channels[i].name, m->channels[i].start, m->channels[i].end};
        buffer_string(b, "channel");
        for (int k = 0; k < 3; k++) {
            buffer_string(b, " ");
            put_text(b, texts[k]);
        }
        buffer_printf(b, " %d\n", m->channels[i].is_reasoning);
    }
}

static void put_llm(buffer *b, const llm_metadata *m)
{
    buffer_string(b, "start_token ");
    put_union(b, &m->start_token);
    for (size_t i = 0; i < m->n_stop_tokens; i++) {
        buffer_string(b, "\nstop_token ");
        put_union(b, &m->stop_tokens[i]);
    }
    buffer_string(b, "\n");
    if (m->has_prompt_templates) {
        put_affixes(b, "user", &m->user);
        put_affixes(b, "model", &m->model);
        put_affixes(b, "system", &m->system);
    }
    if (m->has_sampler) {
        put_sampler(b, m);
    }
    buffer_printf(b, "max_num_tokens %ld\nmodel_type %s ", (long)m->max_num_tokens, m->model_type);
    for (size_t i = 0; i < m->model_type_message.size; i++) {
        buffer_printf(b, "%02x", m->model_type_message.data[i]);
    }
    buffer_string(b, "\n");
    if (m->jinja_prompt_template) {
        buffer_string(b, "jinja ");
        put_text(b, m->jinja_prompt_template);
        buffer_string(b, "\n");
    }
    put_channels(b, m);
    for (size_t i = 0; i < m->n_suppress_tokens; i++) {
        buffer_printf(b, "suppress %ld\n", (long)m->suppress_tokens[i]);
    }
    if (m->has_kv_cache_init_value) {
        buffer_printf(b, "kv_cache_init_value %lld\n", (long long)m->kv_cache_init_value);
    }
    if (m->supports_thinking >= 0) {
        buffer_printf(b, "supports_thinking %d\n", m->supports_thinking);
    }
    if (m->supports_function_calling >= 0) {
        buffer_printf(b, "supports_function_calling %d\n", m->supports_function_calling);
    }
    if (m->has_pad_token) {
        buffer_string(b, "pad_token ");
        put_union(b, &m->pad_token);
        buffer_string(b, "\n");
    }
    if (m->min_runtime_version) {
        buffer_string(b, "min_runtime_version ");
        put_text(b, m->min_runtime_version);
        buffer_string(b, "\n");
    }
}

static void put_executor(buffer *b, const executor_metadata *m)
{
    buffer_printf(b, "max_history_size %ld\n", (long)m->max_history_size);
    for (size_t i = 0; i < m->n_states; i++) {
        const executor_state *s = &m->states[i];
        const char *names[] = {s->prefill_input, s->prefill_output, s->decode_input, s->decode_output};
        buffer_string(b, "state");
        for (int k = 0; k < 4; k++) {
            buffer_string(b, " ");
            put_text(b, names[k]);
        }
        buffer_printf(b, " %ld %ld %ld %ld\n", (long)s->type, (long)s->sequence_axis, (long)s->min_length,
                      (long)s->max_length);
    }
    buffer_printf(b, "mask %ld %ld %ld\n", (long)m->attention_mask_type, (long)m->local_attention_mask_type,
                  (long)m->sliding_window_size);
}

static bytes contents(const char *name, const char *extension)
{
    char path[512];
    lithe_error err;
    bytes b;
    uint8_t *data = NULL;
    snprintf(path, sizeof path, "%s/%s.%s", DIRECTORY, name, extension);
    if (file_read_all(path, 1 << 20, &data, &b.size, &err)) {
        fail_msg("%s", err.message);
    }
    b.data = data;
    return b;
}

/* Reads the message, compares its fields with the golden text and, written again, its bytes with the original. */
static void check(const char *name)
{
    bytes message = contents(name, "pb"), expected = contents(name, "txt");
    arena a;
    buffer text, again;
    lithe_error err;
    llm_metadata llm;
    executor_metadata executor;
    bool is_llm = strncmp(name, "llm_", 4) == 0;
    arena_init(&a, 0);
    buffer_init(&text);
    buffer_init(&again);
    if (is_llm ? llm_metadata_read(&llm, message, &a, &err) : executor_metadata_read(&executor, message, &a, &err)) {
        fail_msg("%s: %s", name, err.message);
    }
    if (is_llm) {
        put_llm(&text, &llm);
        assert_int_equal(llm_metadata_write(&llm, &again, &err), LITHE_OK);
    } else {
        put_executor(&text, &executor);
        assert_int_equal(executor_metadata_write(&executor, &again, &err), LITHE_OK);
    }
    buffer_append(&text, "", 1);
    assert_string_equal((const char *)text.data, (const char *)expected.data);
    assert_int_equal(again.size, message.size);
    assert_memory_equal(again.data, message.data, message.size);
    buffer_fini(&text);
    buffer_fini(&again);
    arena_fini(&a);
    free((void *)(uintptr_t)message.data);
    free((void *)(uintptr_t)expected.data);
}

static void every_golden_message(void **state)
{
    (void)state;
    DIR *d = opendir(DIRECTORY);
    unsigned n = 0;
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        size_t length = strlen(e->d_name);
        if (length > 3 && strcmp(e->d_name + length - 3, ".pb") == 0) {
            e->d_name[length - 3] = 0;
            check(e->d_name);
            n++;
        }
    }
    closedir(d);
    assert_true(n >= 20);
}

static lithe_status read_llm(const void *data, size_t size, llm_metadata *m, arena *a, lithe_error *err)
{
    return llm_metadata_read(m, (bytes){(const uint8_t *)data, size}, a, err);
}

static void an_empty_message_has_defaults(void **state)
{
    (void)state;
    llm_metadata m;
    executor_metadata e;
    arena a;
    lithe_error err;
    arena_init(&a, 0);
    assert_int_equal(llm_metadata_read(&m, (bytes){NULL, 0}, &a, &err), LITHE_OK);
    assert_string_equal(m.model_type, "");
    assert_string_equal(m.user.prefix, "");
    assert_int_equal(m.supports_thinking, -1);
    assert_null(m.jinja_prompt_template);
    assert_null(m.start_token.text);
    assert_int_equal(executor_metadata_read(&e, (bytes){NULL, 0}, &a, &err), LITHE_OK);
    assert_int_equal(e.max_history_size, -1);
    assert_int_equal(e.sliding_window_size, -1);
    arena_fini(&a);
}

static void wire_facts(void **state)
{
    (void)state;
    llm_metadata m;
    arena a;
    lithe_error err;
    arena_init(&a, 0);
    /* ids unpacked, then packed: one list; later members of a oneof replace earlier ones */
    assert_int_equal(read_llm("\x0a\x06\x0a\x04\x08\x05\x08\x06", 8, &m, &a, &err), LITHE_OK);
    assert_int_equal(m.start_token.n_ids, 2);
    assert_int_equal(m.start_token.ids[1], 6);
    assert_int_equal(read_llm("\x0a\x07\x0a\x02\x08\x05\x12\x01x", 9, &m, &a, &err), LITHE_OK);
    assert_string_equal(m.start_token.text, "x");
    assert_int_equal(m.start_token.n_ids, 0);
    assert_int_equal(read_llm("\x0a\x07\x12\x01x\x0a\x02\x08\x05", 9, &m, &a, &err), LITHE_OK);
    assert_null(m.start_token.text);
    assert_int_equal(m.start_token.ids[0], 5);
    /* stop tokens with something between them, and a field that is not known (100) */
    assert_int_equal(read_llm("\x12\x03\x12\x01p\xa0\x06\x01\x12\x03\x12\x01q", 13, &m, &a, &err), LITHE_OK);
    assert_int_equal(m.n_stop_tokens, 2);
    assert_string_equal(m.stop_tokens[1].text, "q");
    assert_int_equal(read_llm("\x32\x03\xba\x06\x00", 5, &m, &a, &err), LITHE_OK);
    assert_string_equal(m.model_type, "unknown (103)");
    arena_fini(&a);
}

static void faults_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        size_t size;
        const char *words;
    } cases[] = {
        {"\x0a\x05", 2, "message LlmMetadata is damaged at byte 0: length past the end"},
        {"\x0a\xff\xff\xff\xff\x7f", 6, "message LlmMetadata is damaged at byte"},
        {"\x0a\x02\x0a\x05", 4, "message TokenUnion is damaged at byte"},
        {"\x28", 1, "message LlmMetadata is damaged"},
        {"\x2a\x01x", 3, "field max_num_tokens (5) of message LlmMetadata has wire type 2; expected 0"},
        {"\x38\x01", 2, "field jinja_prompt_template (7) of message LlmMetadata has wire type 0; expected 2"},
        {"\x3a\x02\xc3(", 4, "field jinja_prompt_template (7) of message LlmMetadata at byte 2 is no valid UTF-8 text"},
        {"\x3a\x03"
         "a\0b",
         5, "is no valid UTF-8 text"},
        {"\x32\x02\x0a\x05", 4, "message LlmModelType is damaged"},
        {"\x22\x02\x18\x01", 4, "field p (3) of message SamplerParameters has wire type 0; expected 5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        llm_metadata m;
        arena a;
        lithe_error err = {0};
        arena_init(&a, 0);
        assert_int_equal(read_llm(cases[i].data, cases[i].size, &m, &a, &err), LITHE_E_FORMAT);
        if (!strstr(err.message, cases[i].words)) {
            fail_msg("\"%s\" lacks \"%s\"", err.message, cases[i].words);
        }
        arena_fini(&a);
    }
    llm_metadata m = {.model_type = "gemma9"};
    lithe_error err;
    buffer b;
    buffer_init(&b);
    assert_int_equal(llm_metadata_write(&m, &b, &err), LITHE_E_ARGUMENT);
    buffer_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_golden_message),
        cmocka_unit_test(an_empty_message_has_defaults),
        cmocka_unit_test(wire_facts),
        cmocka_unit_test(faults_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
