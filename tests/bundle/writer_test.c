/* What is written is read back as it was, and lies where the format says. */
#define _GNU_SOURCE 1

#include "bundle/support.h"
#include "bundle/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BLOCK 16384u

static const bundle_item every_kind[] = {
    {"u8", ITEM_UINT8, {.i = 255}},
    {"i8", ITEM_INT8, {.i = -128}},
    {"u16", ITEM_UINT16, {.i = 65535}},
    {"i16", ITEM_INT16, {.i = -32768}},
    {"u32", ITEM_UINT32, {.i = UINT32_MAX}},
    {"i32", ITEM_INT32, {.i = INT32_MIN}},
    {"f32", ITEM_FLOAT32, {.f = 1.5}},
    {"bool", ITEM_BOOL, {.i = 1}},
    {"text", ITEM_STRING, {.s = "caf\xc3\xa9"}},
    {"u64", ITEM_UINT64, {.i = -1}},
    {"i64", ITEM_INT64, {.i = INT64_MIN}},
    {"f64", ITEM_DOUBLE, {.f = 0.1}},
    {"empty", ITEM_STRING, {.s = ""}},
};

static void sections_and_items_come_back(void **state)
{
    (void)state;
    static const uint8_t data[BLOCK + 1] = {1, 2, 3};
    static const bundle_item model[] = {{"model_type", ITEM_STRING, {.s = "tf_lite_embedder"}}};
    const bundle_section_source sections[] = {{SECTION_LLM_METADATA, {data, 5}, NULL, 0},
                                              {SECTION_TFLITE_MODEL, {data, BLOCK}, model, 1},
                                              {SECTION_GENERIC_BINARY, {data, 0}, every_kind, 13},
                                              {SECTION_SP_TOKENIZER, {data, BLOCK + 1}, NULL, 0}};
    static const uint64_t begins[] = {BLOCK, 2 * BLOCK, 3 * BLOCK, 3 * BLOCK};
    const char *path = temporary_path("written.litertlm");
    lithe_error err;
    bundle *b = NULL;
    assert_int_equal(bundle_write(path, every_kind, 13, sections, 4, &err), LITHE_OK);
    lithe_status st = bundle_open(&b, path, &err);
    unlink(path);
    assert_int_equal(st, LITHE_OK);
    assert_int_equal(b->map.view.size, 4 * BLOCK + 1); /* ends with its last section */
    static const uint32_t version[] = {1, 7, 0};
    assert_memory_equal(b->version, version, sizeof version);
    assert_int_equal(b->n_system, 13);
    for (size_t i = 0; i < 13; i++) {
        const bundle_item *x = &b->system[i], *y = &every_kind[i];
        assert_string_equal(x->key, y->key);
        assert_int_equal(x->type, y->type);
        if (y->type == ITEM_STRING) {
            assert_string_equal(x->value.s, y->value.s);
        } else if (y->type == ITEM_FLOAT32 || y->type == ITEM_DOUBLE) {
            assert_true(x->value.f == y->value.f);
        } else {
            assert_true(x->value.i == y->value.i);
        }
    }
    assert_int_equal(b->n_sections, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(b->sections[i].type, sections[i].type);
        assert_true(b->sections[i].begin == begins[i]);
        assert_int_equal(b->sections[i].data.size, sections[i].data.size);
        assert_memory_equal(b->sections[i].data.data, data, sections[i].data.size);
    }
    assert_string_equal(b->sections[1].model_type, "tf_lite_embedder");
    assert_int_equal(b->sections[2].n_items, 13);
    bundle_close(b);
}

static void an_empty_last_section_lies_inside_the_file(void **state)
{
    (void)state;
    const bundle_section_source sections[] = {{SECTION_LLM_METADATA, {(const uint8_t *)"abc", 3}, NULL, 0},
                                              {SECTION_GENERIC_BINARY, {(const uint8_t *)"", 0}, NULL, 0}};
    const char *path = temporary_path("empty.litertlm");
    lithe_error err;
    bundle *b = NULL;
    assert_int_equal(bundle_write(path, NULL, 0, sections, 2, &err), LITHE_OK);
    lithe_status st = bundle_open(&b, path, &err);
    unlink(path);
    assert_int_equal(st, LITHE_OK);
    assert_true(b->sections[1].begin == b->map.view.size);
    bundle_close(b);
}

static void a_header_over_16_kib_is_refused(void **state)
{
    (void)state;
    static char text[BLOCK];
    memset(text, 'x', sizeof text - 1);
    const char *path = temporary_path("large.litertlm");
    bundle_item item = {"note", ITEM_STRING, {.s = text}};
    lithe_error err;
    assert_int_equal(bundle_write(path, &item, 1, NULL, 0, &err), LITHE_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "readers take at most 16384"));
    assert_string_equal(err.path, path);
    assert_int_equal(access(path, F_OK), -1); /* and nothing is left behind */
    text[BLOCK - 400] = 0;
    assert_int_equal(bundle_write(path, &item, 1, NULL, 0, &err), LITHE_OK);
    unlink(path);
}

/* A model with every kind of tensor that the writer knows. */
typedef struct sample {
    float f32[32], scales[4];
    uint8_t int4[64];
    uint16_t block_scales[4];
    int64_t zero_points[4];
    int32_t i32[2];
    tflite_tensor tensors[8];
    tflite_source_field fields[3];
    tflite_source_op ops[3];
    tflite_source_subgraph subgraphs[2];
    tflite_signature signature;
    tflite_source source;
} sample;

static const int32_t in_0[] = {0, 1, -1}, out_0[] = {6}, in_1[] = {6}, out_1[] = {7};
static const char *input_names[] = {"tokens"}, *output_names[] = {"logits"};
static const uint32_t input_tensors[] = {0}, output_tensors[] = {7};

static void make_sample(sample *s)
{
    memset(s, 0, sizeof *s);
    for (int i = 0; i < 32; i++) {
        s->f32[i] = (float)i / 4;
        s->int4[i] = (uint8_t)(i * 7);
    }
    for (int i = 0; i < 4; i++) {
        s->scales[i] = (float)i + 0.25f;
        s->zero_points[i] = i - 2;
        s->block_scales[i] = (uint16_t)(0x3C00 + i);
    }
    bytes f32 = {(const uint8_t *)s->f32, sizeof s->f32};
    tflite_tensor t[8] = {
        {.name = "tokens", .type = TFLITE_FLOAT32, .rank = 2, .dims = {-1, 8}, .has_dynamic_dims = true},
        {.name = "w", .type = TFLITE_FLOAT32, .rank = 2, .dims = {4, 8}, .data = f32},
        {.name = "w again", .type = TFLITE_FLOAT32, .rank = 1, .dims = {32}, .data = f32},
        {.name = "q",
         .type = TFLITE_INT4,
         .rank = 2,
         .dims = {4, 32},
         .data = {s->int4, 64},
         .n_scales = 4,
         .scales = s->scales,
         .zero_points = s->zero_points},
        {.name = "blocks",
         .type = TFLITE_INT4,
         .rank = 2,
         .dims = {4, 32},
         .data = {s->int4, 64},
         .block_size = 32,
         .block_scales_tensor = 5},
        {.name = "block scales",
         .type = TFLITE_FLOAT16,
         .rank = 2,
         .dims = {4, 1},
         .data = {(const uint8_t *)s->block_scales, 8}},
        {.name = "h", .type = TFLITE_FLOAT32, .rank = 2, .dims = {-1, 4}, .has_dynamic_dims = true},
        {.name = "logits", .type = TFLITE_FLOAT32, .rank = 0},
    };
    memcpy(s->tensors, t, sizeof t);
    s->fields[0] = (tflite_source_field){2, 'b', 1, NULL, 0};
    s->fields[1] = (tflite_source_field){1, 'i', -3, NULL, 0};
    s->fields[2] = (tflite_source_field){3, 'f', 0.5, NULL, 0};
    s->ops[0] = (tflite_source_op){.builtin = 9,
                                   .version = 5,
                                   .inputs = in_0,
                                   .outputs = out_0,
                                   .n_inputs = 3,
                                   .n_outputs = 1,
                                   .options_type = 8,
                                   .fields = s->fields,
                                   .n_fields = 3};
    s->ops[1] = (tflite_source_op){.builtin = 206,
                                   .inputs = in_1,
                                   .outputs = out_1,
                                   .n_inputs = 1,
                                   .n_outputs = 1,
                                   .composite_name = "odml.test",
                                   .composite_subgraph = 1,
                                   .composite_attributes = {(const uint8_t *)"attr", 4}};
    s->ops[2] = (tflite_source_op){.builtin = 32,
                                   .custom_code = "mine",
                                   .inputs = in_1,
                                   .outputs = out_1,
                                   .n_inputs = 1,
                                   .n_outputs = 1,
                                   .custom_options = {(const uint8_t *)"opts", 4}};
    s->subgraphs[0] = (tflite_source_subgraph){.name = "main",
                                               .tensors = s->tensors,
                                               .n_tensors = 8,
                                               .inputs = in_0,
                                               .n_inputs = 1,
                                               .outputs = out_1,
                                               .n_outputs = 1,
                                               .ops = s->ops,
                                               .n_ops = 3};
    s->subgraphs[1] = (tflite_source_subgraph){.name = "impl"};
    s->signature = (tflite_signature){.key = "decode",
                                      .subgraph = 0,
                                      .input_names = input_names,
                                      .output_names = output_names,
                                      .input_tensors = input_tensors,
                                      .output_tensors = output_tensors,
                                      .n_inputs = 1,
                                      .n_outputs = 1};
    s->source = (tflite_source){.description = "sample",
                                .subgraphs = s->subgraphs,
                                .n_subgraphs = 2,
                                .signatures = &s->signature,
                                .n_signatures = 1};
}

static void check_tensors(const sample *s, const tflite_subgraph *g)
{
    assert_int_equal(g->n_tensors, 8);
    for (size_t i = 0; i < 8; i++) {
        const tflite_tensor *x = &g->tensors[i], *y = &s->tensors[i];
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->type, y->type);
        assert_int_equal(x->rank, y->rank);
        assert_memory_equal(x->dims, y->dims, sizeof x->dims);
        assert_int_equal(x->has_dynamic_dims, y->has_dynamic_dims);
        assert_int_equal(x->data.size, y->data.size);
        assert_true(!y->data.data || memcmp(x->data.data, y->data.data, y->data.size) == 0);
        assert_int_equal(x->n_scales, y->n_scales);
        assert_int_equal(x->block_size, y->block_size);
        assert_int_equal(x->block_scales_tensor, y->block_scales_tensor);
        assert_int_equal(x->block_zero_points_tensor, -1);
    }
    assert_memory_equal(g->tensors[3].scales, s->scales, sizeof s->scales);
    assert_memory_equal(g->tensors[3].zero_points, s->zero_points, sizeof s->zero_points);
    assert_int_equal(g->tensors[1].buffer, g->tensors[2].buffer); /* one constant, one place */
    assert_ptr_equal(g->tensors[1].data.data, g->tensors[2].data.data);
}

static void check_ops(const tflite_subgraph *g)
{
    assert_int_equal(g->n_ops, 3);
    assert_int_equal(g->ops[0].builtin, 9);
    assert_int_equal(g->ops[0].version, 5);
    assert_int_equal(g->ops[0].options_type, 8);
    assert_int_equal(fb_u8(&g->ops[0].options, 2, 0), 1);
    assert_int_equal(fb_i32(&g->ops[0].options, 1, 0), -3);
    assert_true(fb_f32(&g->ops[0].options, 3, 0.0f) == 0.5f);
    assert_int_equal(g->ops[0].inputs[2], -1);
    assert_string_equal(g->ops[1].composite_name, "odml.test");
    assert_int_equal(g->ops[1].composite_subgraph, 1);
    assert_memory_equal(g->ops[1].custom_options.data, "attr", 4);
    assert_string_equal(g->ops[2].custom_code, "mine");
    assert_int_equal(g->ops[2].custom_options.size, 4);
}

static void check_sample(const sample *s, bytes file, bytes weights)
{
    arena a;
    tflite_model m;
    tflite_subgraph g;
    lithe_error err;
    arena_init(&a, 0);
    if (tflite_open(&m, file, weights, &a, &err) || tflite_read_subgraph(&m, 0, &g, &err)) {
        fail_msg("%s", err.message);
    }
    check_tensors(s, &g);
    check_ops(&g);
    const tflite_signature *sig = tflite_find_signature(&m, "decode");
    assert_non_null(sig);
    assert_string_equal(sig->output_names[0], "logits");
    assert_int_equal(sig->output_tensors[0], 7);
    assert_string_equal(tflite_subgraph_name(&m, 1), "impl");
    const tflite_tensor *w = &g.tensors[1], *small = &g.tensors[5];
    size_t at = (size_t)(w->data.data - (weights.size ? weights.data : file.data));
    assert_int_equal(at % 16, 0);
    assert_true(small->data.data > file.data && small->data.data < file.data + file.size);
    arena_fini(&a);
}

static void models_come_back(void **state)
{
    (void)state;
    sample s;
    lithe_error err;
    for (int external = 0; external < 2; external++) {
        buffer out[2], weights[2];
        for (int i = 0; i < 2; i++) {
            buffer_init(&out[i]);
            buffer_init(&weights[i]);
            make_sample(&s);
            s.source.external_group = external ? "tflite_weights" : NULL;
            assert_int_equal(tflite_write(&s.source, &out[i], &weights[i], &err), LITHE_OK);
        }
        assert_true((weights[0].size > 0) == external);
        /* the same calls give the same bytes */
        assert_int_equal(out[0].size, out[1].size);
        assert_memory_equal(out[0].data, out[1].data, out[0].size);
        check_sample(&s, (bytes){out[0].data, out[0].size}, (bytes){weights[0].data, weights[0].size});
        for (int i = 0; i < 2; i++) {
            buffer_fini(&out[i]);
            buffer_fini(&weights[i]);
        }
    }
    s.source.external_group = "g";
    buffer out;
    buffer_init(&out);
    assert_int_equal(tflite_write(&s.source, &out, NULL, &err), LITHE_E_ARGUMENT);
    buffer_fini(&out);
}

/* A toy as a whole, when the toys were made. */
static void the_toys_open(void **state)
{
    (void)state;
    static const char *const names[] = {"toy-fp32", "toy-int4b32", "toy-layouts", "toy-recurrent"};
    const char *dir = getenv("LITHE_BUILD_DIR");
    for (size_t i = 0; i < 4; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/toys/%s.litertlm", dir ? dir : ".", names[i]);
        if (access(path, R_OK)) {
            skip();
        }
        lithe_error err;
        bundle *b = NULL;
        arena a;
        tflite_model m;
        arena_init(&a, 0);
        assert_int_equal(bundle_open(&b, path, &err), LITHE_OK);
        int32_t model = bundle_find(b, SECTION_TFLITE_MODEL, "tf_lite_prefill_decode");
        int32_t weights = bundle_find(b, SECTION_TFLITE_WEIGHTS, "tf_lite_prefill_decode");
        assert_true(model >= 0 && (weights >= 0) == (i == 2));
        bytes w = weights >= 0 ? b->sections[weights].data : (bytes){NULL, 0};
        assert_int_equal(tflite_open(&m, b->sections[model].data, w, &a, &err), LITHE_OK);
        assert_int_equal(m.n_signatures, 3);
        for (uint32_t g = 0; g < m.n_subgraphs; g++) {
            tflite_subgraph sub;
            assert_int_equal(tflite_read_subgraph(&m, g, &sub, &err), LITHE_OK);
        }
        bundle_close(b);
        arena_fini(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_and_items_come_back),
        cmocka_unit_test(an_empty_last_section_lies_inside_the_file),
        cmocka_unit_test(a_header_over_16_kib_is_refused),
        cmocka_unit_test(models_come_back),
        cmocka_unit_test(the_toys_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
