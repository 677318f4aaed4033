#include "engine/support.h"

#include "bundle/writer.h"
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

const char *temporary_path(const char *name)
{
    static char paths[16][512];
    static size_t next;
    const char *build = getenv("LITHE_BUILD_DIR");
    char *path = paths[next++ % 16];
    snprintf(path, sizeof paths[0], "%s/engine_%s.tmp", build ? build : "/tmp", name);
    return path;
}

void write_file(const char *path, const void *data, size_t bytes_)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes_, f), bytes_);
    assert_int_equal(fclose(f), 0);
}

uint8_t *read_file(const char *path, size_t *size)
{
    lithe_error err = {0};
    uint8_t *data = NULL;
    must(file_read_all(path, 1u << 30, &data, size, &err), &err, path);
    return data;
}

static bytes section(const bundle *b, section_type type)
{
    int32_t i = bundle_find(b, type, NULL);
    assert_true(i >= 0);
    return b->sections[i].data;
}

void variant_begin(variant *v, const char *toy)
{
    lithe_error err = {0};
    memset(v, 0, sizeof *v);
    arena_init(&v->memory, 64 * 1024);
    must(bundle_open(&v->source, toy_path(toy), &err), &err, toy);
    must(llm_metadata_read(&v->meta, section(v->source, SECTION_LLM_METADATA), &v->memory, &err), &err, toy);
    must(executor_metadata_read(&v->states, section(v->source, SECTION_EXECUTOR_METADATA), &v->memory, &err), &err,
         toy);
    bytes model = section(v->source, SECTION_TFLITE_MODEL);
    v->model = malloc(model.size);
    assert_non_null(v->model);
    memcpy(v->model, model.data, model.size);
    v->model_bytes = model.size;
}

static void read_model(variant *v, tflite_model *m)
{
    lithe_error err = {0};
    must(tflite_open(m, (bytes){v->model, v->model_bytes}, (bytes){0}, &v->memory, &err), &err, "tflite_open");
}

void variant_set_norm(variant *v, float value, bool all)
{
    tflite_model m;
    tflite_subgraph g;
    lithe_error err = {0};
    const tflite_tensor *norm = NULL;
    read_model(v, &m);
    must(tflite_read_subgraph(&m, tflite_find_signature(&m, "decode")->subgraph, &g, &err), &err, "decode");
    for (uint32_t i = 0; i < g.n_tensors; i++) {
        const tflite_tensor *t = &g.tensors[i];
        if (t->data.size >= 256 && t->rank == 1 && t->type == TFLITE_FLOAT32) {
            norm = t;
        }
    }
    assert_non_null(norm);
    size_t at = (size_t)(norm->data.data - v->model);
    assert_true(norm->data.data >= v->model && at + norm->data.size <= v->model_bytes);
    for (size_t i = 0; i < (all ? norm->data.size : sizeof value); i += sizeof value) {
        memcpy(v->model + at + i, &value, sizeof value);
    }
}

static void overwrite(variant *v, const char *name, const char *letters)
{
    const uint8_t *p = (const uint8_t *)name;
    if (!strstr(name, "cache_")) {
        return;
    }
    assert_true(p >= v->model && p < v->model + v->model_bytes);
    memcpy(v->model + (p - v->model), letters, strlen(letters));
}

void variant_rename_states(variant *v, const char *input_letters, const char *output_letters)
{
    tflite_model m;
    read_model(v, &m);
    for (uint32_t s = 0; s < m.n_signatures; s++) {
        const tflite_signature *sig = &m.signatures[s];
        for (uint32_t i = 0; i < sig->n_inputs; i++) {
            overwrite(v, sig->input_names[i], input_letters);
        }
        for (uint32_t i = 0; i < sig->n_outputs; i++) {
            overwrite(v, sig->output_names[i], output_letters);
        }
    }
}

/* Where a vector of tables refers to the table whose field 0 is this string: SignatureDef.inputs and its TensorMaps. */
static size_t table_reference(const variant *v, const char *name)
{
    size_t string = (size_t)((const uint8_t *)name - v->model) - 4;
    for (size_t at = 0; at + 4 <= v->model_bytes; at += 4) {
        uint64_t table = at + (uint64_t)load_u32(v->model + at);
        if (table <= at || table + 4 > v->model_bytes) {
            continue;
        }
        uint64_t vtable = table - (uint64_t)(int64_t)(int32_t)load_u32(v->model + table);
        if (vtable + 6 > v->model_bytes) {
            continue;
        }
        uint64_t field = table + load_u16(v->model + vtable + 4);
        if (field + 4 <= v->model_bytes && field > table && field + load_u32(v->model + field) == string) {
            return at;
        }
    }
    fail_msg("no table with the name %s", name);
    return 0;
}

void variant_swap_inputs(variant *v, const char *signature, uint32_t i, uint32_t j)
{
    tflite_model m;
    read_model(v, &m);
    const tflite_signature *s = tflite_find_signature(&m, signature);
    size_t a = table_reference(v, s->input_names[i]), b = table_reference(v, s->input_names[j]);
    size_t to_a = a + load_u32(v->model + a), to_b = b + load_u32(v->model + b);
    store_u32(v->model + a, (uint32_t)(to_b - a));
    store_u32(v->model + b, (uint32_t)(to_a - b));
}

void variant_output_is_input(variant *v, const char *signature, const char *output, uint32_t input)
{
    tflite_model m;
    read_model(v, &m);
    const tflite_signature *s = tflite_find_signature(&m, signature);
    uint32_t i = 0;
    while (i < s->n_outputs && strcmp(s->output_names[i], output) != 0) {
        i++;
    }
    assert_true(i < s->n_outputs);
    size_t at = table_reference(v, s->output_names[i]), table = at + load_u32(v->model + at);
    size_t vtable = table - (size_t)(int64_t)(int32_t)load_u32(v->model + table);
    uint16_t field = load_u16(v->model + vtable + 6); /* TensorMap.tensor_index */
    assert_true(field > 0);
    store_u32(v->model + table + field, s->input_tensors[input]);
}

void variant_rename_input(variant *v, const char *signature, uint32_t i, char letter)
{
    tflite_model m;
    read_model(v, &m);
    const char *name = tflite_find_signature(&m, signature)->input_names[i];
    v->model[(size_t)((const uint8_t *)name - v->model) + strlen(name) - 1] = (uint8_t)letter;
}

const char *variant_end(variant *v, const char *name)
{
    bundle_section_source parts[16];
    size_t n = 0;
    lithe_error err = {0};
    buffer meta, states;
    buffer_init(&meta);
    buffer_init(&states);
    must(executor_metadata_write(&v->states, &states, &err), &err, "executor_metadata_write");
    must(llm_metadata_write(&v->meta, &meta, &err), &err, "llm_metadata_write");
    for (size_t i = 0; i < v->source->n_sections && n < 16; i++) {
        const bundle_section *s = &v->source->sections[i];
        if (s->type == v->drop[0] || s->type == v->drop[1]) {
            continue;
        }
        parts[n] = (bundle_section_source){(section_type)s->type, s->data, s->items, s->n_items};
        if (s->type == SECTION_LLM_METADATA) {
            parts[n].data = (bytes){meta.data, meta.size};
        }
        if (s->type == SECTION_EXECUTOR_METADATA) {
            parts[n].data = (bytes){states.data, states.size};
        }
        if (s->type == SECTION_TFLITE_MODEL) {
            parts[n].data = (bytes){v->model, v->model_bytes};
        }
        n++;
    }
    const char *path = temporary_path(name);
    must(bundle_write(path, v->source->system, v->source->n_system, parts, n, &err), &err, path);
    buffer_fini(&meta);
    buffer_fini(&states);
    free(v->model);
    bundle_close(v->source);
    arena_fini(&v->memory);
    return path;
}
