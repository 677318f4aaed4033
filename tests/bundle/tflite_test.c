/* TFLite models: every index, size and shape of the file is checked, and the message says which. */
#include "bundle/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void refuse(const model_knobs *k, lithe_status status, const char *words)
{
    lithe_error err;
    lithe_status st = try_model(k, (bytes){0}, &err);
    if (st != status || !strstr(err.message, words)) {
        fail_msg("%s \"%s\"; expected %s with \"%s\"", lithe_status_name(st), st ? err.message : "",
                 lithe_status_name(status), words);
    }
}

/* A good model with one change; the changed field is named at the call. */
#define REFUSE(change, status, words)                                                                                  \
    do {                                                                                                               \
        model_knobs k = good_model();                                                                                  \
        k.change;                                                                                                      \
        refuse(&k, status, words);                                                                                     \
    } while (0)

static void accept(const model_knobs *k, bytes weights)
{
    lithe_error err;
    if (try_model(k, weights, &err)) {
        fail_msg("%s", err.message);
    }
}

static void a_good_model_is_read(void **state)
{
    (void)state;
    model_knobs k = good_model();
    buffer b = make_model(&k);
    arena a;
    tflite_model m;
    tflite_subgraph g;
    lithe_error err;
    arena_init(&a, 0);
    assert_int_equal(tflite_open(&m, (bytes){b.data, b.size}, (bytes){0}, &a, &err), LITHE_OK);
    assert_int_equal(m.version, 3);
    assert_int_equal(m.n_subgraphs, 1);
    assert_string_equal(tflite_subgraph_name(&m, 0), "main");
    assert_string_equal(tflite_subgraph_name(&m, 1), "");
    assert_string_equal(tflite_find_signature(&m, "run")->input_names[0], "in");
    assert_null(tflite_find_signature(&m, "ru"));
    assert_string_equal(m.metadata[0].name, "note");
    assert_int_equal(tflite_read_subgraph(&m, 0, &g, &err), LITHE_OK);
    assert_int_equal(g.n_tensors, 3);
    assert_string_equal(g.tensors[1].name, "w");
    assert_int_equal(g.tensors[1].data.size, 16);
    assert_null(g.tensors[0].data.data);
    assert_int_equal(g.ops[0].n_inputs, 3);
    assert_int_equal(g.ops[0].inputs[2], -1);
    assert_string_equal(tflite_builtin_name(g.ops[0].builtin), "ADD");
    assert_int_equal(tflite_read_subgraph(&m, 1, &g, &err), LITHE_E_MODEL);
    assert_string_equal(err.message, "subgraph 1 does not exist: the model has 1");
    arena_fini(&a);
    buffer_fini(&b);
}

/* tensorflow#115308: a root offset behind the buffer. */
static void a_root_outside_of_the_file(void **state)
{
    (void)state;
    static const uint8_t file[] = {0x18, 0, 0, 0, 'T', 'F', 'L', '3'};
    static const struct {
        size_t size;
        uint8_t first;
        const char *words;
    } cases[] = {
        {8, 0x18, "root table offset 24 outside 8-byte buffer"}, {8, 8, "root table offset 8 outside 8-byte buffer"},
        {8, 5, "root table offset 5 outside 8-byte buffer"},     {8, 3, "root table offset 3 outside 8-byte buffer"},
        {8, 4, "root table at 4 has a damaged vtable"},          {7, 4, "7 bytes are too few for a FlatBuffer"},
        {0, 0, "0 bytes are too few for a FlatBuffer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        arena a;
        tflite_model m;
        lithe_error err;
        uint8_t copy[8];
        memcpy(copy, file, sizeof copy);
        copy[0] = cases[i].first;
        arena_init(&a, 0);
        assert_int_equal(tflite_open(&m, (bytes){copy, cases[i].size}, (bytes){0}, &a, &err), LITHE_E_FORMAT);
        assert_non_null(strstr(err.message, cases[i].words));
        arena_fini(&a);
    }
}

static void headers(void **state)
{
    (void)state;
    REFUSE(identifier = "TFL2", LITHE_E_FORMAT, "its identifier is \"TFL2\"");
    REFUSE(version = 2, LITHE_E_VERSION, "schema version 3, but the model has version 2");
    REFUSE(version = 0, LITHE_E_VERSION, "version 0");
    REFUSE(metadata_buffer = 2, LITHE_E_FORMAT, "metadata entry 0 refers to buffer 2, but the model has 2 buffers");
}

/* Index values: the FlatBuffer is sound, the numbers in it are not. */
static void indices(void **state)
{
    (void)state;
    REFUSE(op_inputs[0] = 9999, LITHE_E_MODEL,
           "input 0 of node 0 of subgraph 0 is tensor 9999, but the subgraph has 3 tensors");
    REFUSE(op_inputs[1] = 3, LITHE_E_MODEL, "input 1 of node 0 of subgraph 0 is tensor 3");
    REFUSE(op_inputs[2] = -2, LITHE_E_MODEL, "input 2 of node 0 of subgraph 0 is tensor -2");
    REFUSE(op_inputs[2] = INT32_MIN, LITHE_E_MODEL, "is tensor -2147483648");
    REFUSE(op_output = 9999, LITHE_E_MODEL, "output 0 of node 0 of subgraph 0 is tensor 9999");
    REFUSE(op_output = -1, LITHE_E_MODEL, "output 0 of node 0 of subgraph 0 is tensor -1");
    REFUSE(graph_input = 3, LITHE_E_MODEL, "input 0 of subgraph 0 is tensor 3");
    REFUSE(graph_input = -1, LITHE_E_MODEL, "input 0 of subgraph 0 is tensor -1");
    REFUSE(graph_output = 9999, LITHE_E_MODEL, "output 0 of subgraph 0 is tensor 9999");
    REFUSE(w_buffer = 9999, LITHE_E_MODEL, "tensor 1 of subgraph 0 refers to buffer 9999, but the model has 2 buffers");
    REFUSE(w_buffer = 2, LITHE_E_MODEL, "refers to buffer 2");
    REFUSE(opcode = 1, LITHE_E_MODEL, "node 0 of subgraph 0 has operator code 1, but the model has 1");
    REFUSE(signature_subgraph = 1, LITHE_E_MODEL, "signature run refers to subgraph 1, but the model has 1 subgraphs");
    REFUSE(signature_tensor = 3, LITHE_E_MODEL,
           "input \"in\" of signature run refers to tensor 3, but its subgraph has 3 tensors");
    REFUSE(builtin = -1; k.deprecated = 0xFF, LITHE_E_FORMAT, "operator code 0 is negative");
}

static void errors_name_the_tensor_and_the_node(void **state)
{
    (void)state;
    lithe_error err;
    model_knobs k = good_model();
    k.w_bytes = 12;
    assert_int_equal(try_model(&k, (bytes){0}, &err), LITHE_E_MODEL);
    assert_string_equal(err.message,
                        "the constant in tensor 1 of subgraph 0 has 12 bytes, but its shape and type need 16");
    assert_string_equal(err.tensor, "\"w\"");
    assert_string_equal(err.expected, "16 bytes");
    assert_string_equal(err.found, "12 bytes");
    k = good_model();
    k.op_inputs[0] = 5;
    assert_int_equal(try_model(&k, (bytes){0}, &err), LITHE_E_MODEL);
    assert_int_equal(err.node, 0);
    assert_string_equal(err.op, "ADD");
}

static void shapes(void **state)
{
    (void)state;
    REFUSE(w_dims[0] = -2, LITHE_E_MODEL, "dimension 0 of tensor 1 of subgraph 0 is negative (-2)");
    REFUSE(w_rank = 9; k.w_dims[8] = 1, LITHE_E_UNSUPPORTED, "has 9 dimensions; at most 8 are supported");
    REFUSE(w_rank = 3; k.w_dims[1] = INT32_MAX; k.w_dims[2] = INT32_MAX;
           k.w_dims[0] = INT32_MAX, LITHE_E_MODEL, "the shape of tensor 1 of subgraph 0 overflows");
    /* 2^62 elements of 32 bits: the product of dimensions fits, its bits do not */
    REFUSE(w_rank = 3; k.w_dims[0] = 1 << 30; k.w_dims[1] = 1 << 30; k.w_dims[2] = 4, LITHE_E_MODEL, "overflows");
    REFUSE(w_dims[0] = 5, LITHE_E_MODEL, "has 16 bytes, but its shape and type need 20");
    REFUSE(w_dims[0] = 0, LITHE_E_MODEL, "has 16 bytes, but its shape and type need 0");
    REFUSE(w_type = TFLITE_FLOAT16, LITHE_E_MODEL, "need 8");
    REFUSE(w_type = TFLITE_INT4, LITHE_E_MODEL, "need 2");
    REFUSE(signature_rank = 2, LITHE_E_MODEL, "has 1 dimensions, but its shape signature has 2");
    REFUSE(w_dims[0] = -1; k.w_bytes = 4, LITHE_E_MODEL, "the constant in tensor 1");
    model_knobs k = good_model();
    k.w_type = TFLITE_INT4;
    k.w_dims[0] = 31; /* the last byte half used */
    accept(&k, (bytes){0});
    k.w_type = TFLITE_STRING;
    k.w_dims[0] = 1;
    accept(&k, (bytes){0});
    k = good_model();
    k.w_type = 77;
    accept(&k, (bytes){0});
}

static void dynamic_dimensions(void **state)
{
    (void)state;
    model_knobs k = good_model();
    k.w_buffer = 0;
    k.w_rank = 2;
    k.w_dims[0] = 1, k.w_dims[1] = 8;
    k.signature_rank = 2;
    k.signature_dims[0] = -1, k.signature_dims[1] = 8;
    buffer b = make_model(&k);
    arena a;
    tflite_model m;
    tflite_subgraph g;
    lithe_error err;
    arena_init(&a, 0);
    assert_int_equal(tflite_open(&m, (bytes){b.data, b.size}, (bytes){0}, &a, &err), LITHE_OK);
    assert_int_equal(tflite_read_subgraph(&m, 0, &g, &err), LITHE_OK);
    assert_true(g.tensors[1].has_dynamic_dims);
    assert_int_equal(g.tensors[1].dims[0], -1);
    assert_int_equal(g.tensors[1].dims[1], 8);
    assert_false(g.tensors[0].has_dynamic_dims);
    arena_fini(&a);
    buffer_fini(&b);
}

static void buffers_behind_the_flatbuffer(void **state)
{
    (void)state;
    model_knobs k = good_model();
    buffer b = make_model(&k);
    uint64_t size = b.size;
    buffer_fini(&b);
    k.w_offset = 16, k.w_size = 16;
    accept(&k, (bytes){0});
    k.w_offset = size * 4;
    refuse(&k, LITHE_E_TRUNCATED, "buffer 1 of the TFLite model has 16 bytes at byte");
    k.w_offset = 16, k.w_size = UINT64_MAX;
    refuse(&k, LITHE_E_TRUNCATED, "has 18446744073709551615 bytes at byte 16");
    k.w_offset = UINT64_MAX, k.w_size = 16;
    refuse(&k, LITHE_E_TRUNCATED, "has 16 bytes at byte 18446744073709551615");
    k.w_offset = UINT64_C(1) << 33, k.w_size = 16; /* the low 32 bits would be in range */
    refuse(&k, LITHE_E_TRUNCATED, "has 16 bytes at byte 8589934592");
}

static void external_buffers(void **state)
{
    (void)state;
    static const uint8_t weights[48] = {0};
    bytes w = {weights, sizeof weights};
    lithe_error err;
    model_knobs k = good_model();
    k.w_external = 7;
    k.external_offset = 32;
    k.external_length = 16;
    accept(&k, w);
    refuse(&k, LITHE_E_MODEL, "no TFLiteWeights section for this model");
    k.external_offset = 33;
    assert_int_equal(try_model(&k, w, &err), LITHE_E_TRUNCATED);
    assert_non_null(strstr(
        err.message, "external buffer 0 begins at byte 33 and has 16 bytes, but the TFLiteWeights section has 48"));
    k.external_offset = UINT64_MAX - 7;
    assert_int_equal(try_model(&k, w, &err), LITHE_E_TRUNCATED);
    k.external_offset = 0;
    k.w_external = 8;
    assert_int_equal(try_model(&k, w, &err), LITHE_E_MODEL);
    assert_non_null(strstr(err.message, "refers to external buffer 8, which the model does not have"));
    k.w_external = 7;
    k.external_group = 1;
    assert_int_equal(try_model(&k, w, &err), LITHE_E_FORMAT);
    assert_non_null(strstr(err.message, "names group 1, but the model has 1 groups"));
}

static void quantisation(void **state)
{
    (void)state;
    REFUSE(n_scales = 3, LITHE_E_MODEL,
           "tensor 1 of subgraph 0 has 3 scales, which is not the size of its dimension 0");
    REFUSE(n_scales = 4; k.quantized_dimension = 1, LITHE_E_MODEL, "which is not the size of its dimension 1");
    REFUSE(n_scales = 4; k.quantized_dimension = -1, LITHE_E_MODEL, "which is not the size of its dimension -1");
    REFUSE(n_scales = 4; k.n_zero_points = 3, LITHE_E_MODEL, "has 4 scales but 3 zero points");
    REFUSE(block_scales = 3;
           k.block_size = 32, LITHE_E_MODEL, "the block scales of tensor 1 of subgraph 0 are tensor 3");
    REFUSE(block_scales = -1; k.block_size = 32, LITHE_E_MODEL, "are tensor -1");
    REFUSE(block_scales = 2; k.block_size = 32; k.block_zero_points = 9, LITHE_E_MODEL, "(zero points 9)");
    REFUSE(block_scales = 2; k.block_size = 0, LITHE_E_MODEL, "is quantised in blocks of 0");
    REFUSE(block_scales = 2; k.block_size = -4, LITHE_E_MODEL, "is quantised in blocks of -4");
}

static void quantisation_is_read(void **state)
{
    (void)state;
    static const struct {
        uint32_t scales, zero_points;
        int64_t value;
        bool null;
    } cases[] = {{1, 1, 0, true},  {1, 1, -3, false}, {4, 4, 0, true},
                 {4, 4, 7, false}, {4, 1, 9, false},  {4, 0, 0, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model_knobs k = good_model();
        k.n_scales = cases[i].scales;
        k.n_zero_points = cases[i].zero_points;
        k.zero_point = cases[i].value;
        buffer b = make_model(&k);
        /* at every alignment: scales are used in place or copied */
        for (size_t shift = 0; shift < 4; shift++) {
            uint8_t *copy = malloc(b.size + shift);
            arena a;
            tflite_model m;
            tflite_subgraph g;
            lithe_error err;
            assert_non_null(copy);
            memcpy(copy + shift, b.data, b.size);
            arena_init(&a, 0);
            assert_int_equal(tflite_open(&m, (bytes){copy + shift, b.size}, (bytes){0}, &a, &err), LITHE_OK);
            assert_int_equal(tflite_read_subgraph(&m, 0, &g, &err), LITHE_OK);
            const tflite_tensor *t = &g.tensors[1];
            assert_int_equal(t->n_scales, cases[i].scales);
            assert_true(t->scales[cases[i].scales - 1] == (cases[i].scales == 4 ? 3.5f : 0.5f));
            bool inside = (const uint8_t *)t->scales >= copy && (const uint8_t *)t->scales < copy + shift + b.size;
            assert_int_equal(inside, shift == 0);
            assert_true((t->zero_points == NULL) == cases[i].null);
            for (uint32_t z = 0; t->zero_points && z < t->n_scales; z++) {
                assert_true(t->zero_points[z] == cases[i].value);
            }
            arena_fini(&a);
            free(copy);
        }
        buffer_fini(&b);
    }
}

static void composites(void **state)
{
    (void)state;
    REFUSE(builtin = 206;
           k.deprecated = 127, LITHE_E_MODEL, "node 0 of subgraph 0 is a STABLEHLO_COMPOSITE without its options");
    REFUSE(builtin = 206; k.composite = 1, LITHE_E_MODEL, "decomposed in subgraph 1, but the model has 1 subgraphs");
    REFUSE(builtin = 206; k.composite = 9999, LITHE_E_MODEL, "decomposed in subgraph 9999");
    model_knobs k = good_model();
    k.builtin = 206;
    k.composite = 0;
    accept(&k, (bytes){0});
}

/* Every byte of a model changed in several ways, and every cut: an answer, never a crash. */
static void damaged_models_are_answered(void **state)
{
    (void)state;
    model_knobs k = good_model();
    k.n_scales = 4;
    k.n_zero_points = 4;
    k.builtin = 206;
    k.composite = 0;
    buffer b = make_model(&k);
    static const uint8_t changes[] = {1, 0x80, 0xFF, 4};
    for (size_t at = 0; at < b.size; at++) {
        for (size_t c = 0; c <= sizeof changes; c++) {
            size_t n = c < sizeof changes ? b.size : at;
            uint8_t *copy = malloc(n + 1);
            arena a;
            tflite_model m;
            tflite_subgraph g;
            lithe_error err = {0};
            assert_non_null(copy);
            memcpy(copy, b.data, n);
            if (c < sizeof changes) {
                copy[at] ^= changes[c];
            }
            arena_init(&a, 0);
            lithe_status st = tflite_open(&m, (bytes){copy, n}, (bytes){0}, &a, &err);
            st = st ? st : tflite_read_subgraph(&m, 0, &g, &err);
            assert_true(st == LITHE_OK || err.message[0]);
            arena_fini(&a);
            free(copy);
        }
    }
    buffer_fini(&b);
}

static void names_and_sizes_of_types(void **state)
{
    (void)state;
    assert_string_equal(tflite_type_name(TFLITE_INT4), "INT4");
    assert_string_equal(tflite_type_name(99), "?");
    assert_int_equal(tflite_type_bits(TFLITE_INT4), 4);
    assert_int_equal(tflite_type_bits(TFLITE_BFLOAT16), 16);
    assert_int_equal(tflite_type_bits(TFLITE_STRING), 0);
    assert_int_equal(tflite_type_bits(99), 0);
    assert_string_equal(tflite_builtin_name(206), "STABLEHLO_COMPOSITE");
    assert_string_equal(tflite_builtin_name(151), "DYNAMIC_UPDATE_SLICE");
    assert_string_equal(tflite_builtin_name(5000), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_model_is_read),
        cmocka_unit_test(a_root_outside_of_the_file),
        cmocka_unit_test(headers),
        cmocka_unit_test(indices),
        cmocka_unit_test(errors_name_the_tensor_and_the_node),
        cmocka_unit_test(shapes),
        cmocka_unit_test(dynamic_dimensions),
        cmocka_unit_test(buffers_behind_the_flatbuffer),
        cmocka_unit_test(external_buffers),
        cmocka_unit_test(quantisation),
        cmocka_unit_test(quantisation_is_read),
        cmocka_unit_test(composites),
        cmocka_unit_test(damaged_models_are_answered),
        cmocka_unit_test(names_and_sizes_of_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
