/* Opening: what goes wrong and in which words, what is derived when metadata is missing, and that nothing is written or read beforehand. */
#include "engine/support.h"
#include "support/models.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* ------------------------------------------------------------------------------------------------------ errors */

/* The path in a message becomes "FILE": tests run in any folder. */
static void refused(const char *path, lithe_status code, const char *message)
{
    lithe_error err = {0};
    lithe_model *model = NULL;
    char text[1024] = "";
    assert_int_equal(lithe_model_open(path, NULL, &model, &err), code);
    assert_null(model);
    assert_int_equal(err.code, code);
    assert_string_equal(err.path, path);
    const char *at = strstr(err.message, path);
    if (at) {
        snprintf(text, sizeof text, "%.*sFILE%s", (int)(at - err.message), err.message, at + strlen(path));
    } else {
        snprintf(text, sizeof text, "%s", err.message);
    }
    assert_string_equal(text, message);
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    const char *path = temporary_path("locked");
    refused("/no/such/file.litertlm", LITHE_E_IO, "cannot open \"FILE\": no such file or directory");
    refused("tests", LITHE_E_IO, "\"FILE\" is a directory, not a file that can be mapped");
    write_file(path, "x", 1);
    assert_int_equal(chmod(path, 0), 0);
    FILE *f = fopen(path, "rb");
    if (f) { /* root may read all */
        fclose(f);
    } else {
        refused(path, LITHE_E_IO, "cannot open \"FILE\": permission denied");
    }
    remove(path);
}

static void files_that_are_no_bundles(void **state)
{
    (void)state;
    const char *path = temporary_path("no_bundle");
    write_file(path, "", 0);
    refused(path, LITHE_E_FORMAT, "the file is empty");
    write_file(path, "just some text", 14);
    refused(path, LITHE_E_FORMAT, "not a .litertlm bundle: it is plain text; its first bytes are \"just som\"");
    remove(path);
}

static void damaged_bundles(void **state)
{
    (void)state;
    size_t size = 0;
    const char *path = temporary_path("damaged");
    uint8_t *data = read_file(toy_path("toy-int8"), &size);
    assert_int_equal(size, 244544);
    write_file(path, data, size - 1000);
    refused(path, LITHE_E_TRUNCATED,
            "section 3 (TFLiteModel) ends at byte 244544, but the file has 243544 bytes: it is truncated");
    write_file(path, data, 20);
    refused(path, LITHE_E_TRUNCATED, "the file has 20 bytes, but a bundle's header alone needs 32: it is truncated");
    store_u32(data + 8, 2);
    write_file(path, data, size);
    refused(path, LITHE_E_VERSION, "this build reads bundles of major version 1, but the file has version 2.7.0");
    free(data);
    remove(path);
}

static void bundles_that_lack_something(void **state)
{
    (void)state;
    variant v;
    variant_begin(&v, "toy-int8");
    v.drop[0] = SECTION_SP_TOKENIZER;
    const char *path = variant_end(&v, "no_tokenizer");
    refused(path, LITHE_E_TOKENIZER,
            "the bundle has no tokenizer: neither an SP_Tokenizer nor an HF_Tokenizer_Zlib section");
    remove(path);
    variant_begin(&v, "toy-int8");
    v.drop[0] = SECTION_TFLITE_MODEL;
    path = variant_end(&v, "no_model");
    refused(path, LITHE_E_MODEL, "the bundle has no TFLiteModel section of type tf_lite_prefill_decode");
    remove(path);
}

/* ------------------------------------------------------------------------------------------------------ states */

/* Without ExecutorMetadata, states whose inputs and outputs have other names each cannot be told. */
static void states_that_cannot_be_told(void **state)
{
    (void)state;
    variant v;
    variant_begin(&v, "toy-int8");
    v.drop[0] = SECTION_EXECUTOR_METADATA;
    variant_rename_states(&v, "in", "ou");
    const char *path = variant_end(&v, "states");
    refused(path, LITHE_E_MODEL,
            "signature 'decode': no state (KV cache) can be told among the inputs: tokens, input_pos, mask, "
            "in_cache_k_0, in_cache_v_0, in_cache_k_1, in_cache_v_1");
    remove(path);
}

static void same_answer_by(const char *path, const char *toy, const lithe_model_options *o)
{
    int32_t ids[20];
    size_t n = 0;
    some_ids(ids, 20, 290, 1);
    lithe_model *a = must_open(toy_path(toy), o), *b = must_open(path, o);
    lithe_session *s = must_create(a, 0), *t = must_create(b, 0);
    must_prefill(s, ids, 20);
    must_prefill(t, ids, 20);
    const float *want = must_logits(s, &n);
    assert_memory_equal(want, must_logits(t, &n), n * sizeof *want);
    assert_int_equal(lithe_model_get_info(a)->n_states, lithe_model_get_info(b)->n_states);
    lithe_session_destroy(s);
    lithe_session_destroy(t);
    lithe_model_close(a);
    lithe_model_close(b);
}

static void same_answer(const char *path, const char *toy)
{
    same_answer_by(path, toy, NULL);
}

static void states_are_derived_without_executor_metadata(void **state)
{
    (void)state;
    static const char *const toys[] = {"toy-int8", "toy-window", "toy-recurrent"};
    for (size_t i = 0; i < 3; i++) {
        variant v;
        variant_begin(&v, toys[i]);
        v.drop[0] = SECTION_EXECUTOR_METADATA;
        const char *path = variant_end(&v, "derived");
        same_answer(path, toys[i]);
        remove(path);
    }
}

static lithe_model_options as_exported(void)
{
    lithe_model_options o;
    lithe_model_options_init(&o);
    o.plan = LITHE_PLAN_AS_EXPORTED;
    return o;
}

static void same_answer_as_exported(const char *path, const char *toy)
{
    lithe_model_options o = as_exported();
    same_answer_by(path, toy, &o);
}

/* A prefill signature may list its states in another order than decode: each is still its own. */
static void states_of_signatures_are_matched_by_name(void **state)
{
    (void)state;
    static const char *const toys[] = {"toy-fp32", "toy-recurrent"};
    for (size_t i = 0; i < 2; i++) {
        variant v;
        variant_begin(&v, toys[i]);
        v.drop[0] = SECTION_EXECUTOR_METADATA;
        variant_swap_inputs(&v, "prefill_8", 3, 5);
        variant_swap_inputs(&v, "prefill_32", 4, 6);
        const char *path = variant_end(&v, "order");
        same_answer_as_exported(path, toys[i]);
        remove(path);
    }
}

/* ExecutorMetadata names states for prefill and for decode; the names may differ. */
static void states_have_names_of_their_own_in_prefill(void **state)
{
    (void)state;
    variant v;
    variant_begin(&v, "toy-fp32");
    variant_rename_input(&v, "prefill_8", 4, '9');
    variant_rename_input(&v, "prefill_32", 4, '9');
    executor_state states[2 * 2];
    assert_int_equal(v.states.n_states, 4);
    memcpy(states, v.states.states, sizeof states);
    assert_string_equal(states[1].prefill_input, "kv_cache_v_0");
    states[1].prefill_input = "kv_cache_v_9";
    v.states.states = states;
    const char *path = variant_end(&v, "prefill_names");
    same_answer_as_exported(path, "toy-fp32");
    remove(path);
}

/* The engine reads them as float32, whatever they are. */
static void logits_that_are_no_floats(void **state)
{
    (void)state;
    variant v;
    variant_begin(&v, "toy-int8");
    variant_output_is_input(&v, "decode", "logits", 0);
    const char *path = variant_end(&v, "logits");
    refused(path, LITHE_E_MODEL, "output logits is i32 [1, 1], where f32 is expected");
    remove(path);
}

static void a_state_that_decode_has_not(void **state)
{
    (void)state;
    variant v;
    lithe_error err = {0};
    lithe_model *model = NULL;
    lithe_model_options o = as_exported();
    variant_begin(&v, "toy-fp32");
    v.drop[0] = SECTION_EXECUTOR_METADATA;
    variant_rename_input(&v, "prefill_32", 3, '9');
    const char *path = variant_end(&v, "other_state");
    assert_int_equal(lithe_model_open(path, &o, &model, &err), LITHE_E_MODEL);
    assert_string_equal(err.message,
                        "state kv_cache_k_9 is f32 [1, 2, 64, 16], where a state of signature decode is expected");
    assert_string_equal(err.signature, "prefill_32");
    remove(path);
}

/* -------------------------------------------------------------------------------------------- what opening does */

/* No cache, no copy: the folder of the bundle has one file before and after. */
static void running_writes_no_file(void **state)
{
    (void)state;
    int32_t ids[20];
    char path[640];
    size_t size = 0, n = 0;
    const char *folder = temporary_path("folder");
    uint8_t *data = read_file(toy_path("toy-int8"), &size);
    mkdir(folder, 0700);
    snprintf(path, sizeof path, "%s/toy.litertlm", folder);
    write_file(path, data, size);
    free(data);
    lithe_model *model = must_open(path, NULL);
    lithe_session *s = must_create(model, 0);
    some_ids(ids, 20, 290, 1);
    must_prefill(s, ids, 20);
    lithe_session_destroy(s);
    lithe_model_close(model);
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
        n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    }
    closedir(d);
    assert_int_equal(n, 1);
    remove(path);
    remove(folder);
}

static void info_tells_what_was_opened(void **state)
{
    (void)state;
    lithe_model *model = must_open(toy_path("toy-recurrent"), NULL);
    const lithe_model_info *info = lithe_model_get_info(model);
    assert_string_equal(info->path, toy_path("toy-recurrent"));
    assert_string_equal(info->plan, "any length");
    assert_string_equal(info->plan_reason, "");
    assert_int_equal(info->context, 64);
    assert_int_equal(info->vocab_size, 300);
    assert_int_equal(info->n_states, 4);
    assert_int_equal(info->n_layers_attention, 1);
    assert_int_equal(info->n_start_tokens, 1);
    assert_int_equal(info->start_tokens[0], 1);
    assert_int_equal(info->pad_token, 0);
    assert_int_equal(info->container_version[0], 1);
    assert_string_equal(info->tokenizer_kind, "sentencepiece-bpe");
    assert_true(info->open_ms > 0);
    struct stat st;
    assert_int_equal(stat(info->path, &st), 0);
    assert_int_equal(info->file_bytes, st.st_size);
    lithe_model_close(model);
}

/* ------------------------------------------------------------------------------------------------------ memory */

static void forecasts_grow_with_the_context(void **state)
{
    (void)state;
    static const char *const toys[] = {"toy-int8", "toy-fp16", "toy-recurrent", "toy-window"};
    for (size_t i = 0; i < 4; i++) {
        lithe_model *model = must_open(toy_path(toys[i]), NULL);
        uint64_t before = 0;
        for (uint32_t context = 1; context <= 64; context++) {
            uint64_t f = lithe_model_memory_forecast(model, context);
            assert_true(f >= before);
            before = f;
        }
        assert_int_equal(lithe_model_memory_forecast(model, 0), before);
        lithe_model_close(model);
    }
}

/* What a session says it took is within what was forecast for it. */
static void sessions_stay_within_their_forecast(void **state)
{
    (void)state;
    static const lithe_plan_kind plans[] = {LITHE_PLAN_ANY_LENGTH, LITHE_PLAN_AS_EXPORTED};
    int32_t ids[64];
    some_ids(ids, 64, 290, 1);
    for (size_t i = 0; i < 2; i++) {
        lithe_model_options options;
        lithe_work work;
        lithe_model_options_init(&options);
        options.plan = plans[i];
        lithe_model *model = must_open(toy_path("toy-int8"), &options);
        lithe_session *s = must_create(model, 0);
        must_prefill(s, ids, 64);
        lithe_session_get_work(s, &work);
        assert_true(work.state_bytes > 0 && work.activation_bytes > 0);
        assert_true(work.state_bytes + work.activation_bytes <= lithe_model_memory_forecast(model, 64));
        lithe_session_destroy(s);
        lithe_model_close(model);
    }
}

static void arguments_that_cannot_be(void **state)
{
    (void)state;
    lithe_error err = {0};
    lithe_model *model = NULL;
    lithe_model_options options;
    lithe_model_options_init(&options);
    assert_int_equal(lithe_model_open(NULL, NULL, &model, &err), LITHE_E_ARGUMENT);
    assert_int_equal(lithe_model_open(toy_path("toy-int8"), NULL, NULL, &err), LITHE_E_ARGUMENT);
    options.struct_bytes = 3;
    assert_int_equal(lithe_model_open(toy_path("toy-int8"), &options, &model, &err), LITHE_E_ARGUMENT);
    lithe_model_options_init(&options);
    options.n_threads = 100000;
    assert_int_equal(lithe_model_open(toy_path("toy-int8"), &options, &model, &err), LITHE_E_ARGUMENT);
    assert_int_equal(lithe_set_cpu("z80", &err), LITHE_E_ARGUMENT);
    assert_non_null(strstr(err.message, "z80"));
    assert_null(model);
    lithe_session_destroy(NULL);
    lithe_model_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(files_that_are_no_bundles),
        cmocka_unit_test(damaged_bundles),
        cmocka_unit_test(bundles_that_lack_something),
        cmocka_unit_test(states_that_cannot_be_told),
        cmocka_unit_test(states_are_derived_without_executor_metadata),
        cmocka_unit_test(states_of_signatures_are_matched_by_name),
        cmocka_unit_test(states_have_names_of_their_own_in_prefill),
        cmocka_unit_test(logits_that_are_no_floats),
        cmocka_unit_test(a_state_that_decode_has_not),
        cmocka_unit_test(running_writes_no_file),
        cmocka_unit_test(info_tells_what_was_opened),
        cmocka_unit_test(forecasts_grow_with_the_context),
        cmocka_unit_test(sessions_stay_within_their_forecast),
        cmocka_unit_test(arguments_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
