/* Sessions at their edges: the end of the context, splits, cancelling, many of them, numbers that are not numbers, memory limits. */
#include "base/file.h"
#include "engine/support.h"
#include "support/models.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CONTEXT = 64, VOCAB = 300 }; /* of the toys, whose prefill signatures take 8 and 32 tokens */
static const lithe_plan_kind plans[] = {LITHE_PLAN_ANY_LENGTH, LITHE_PLAN_AS_EXPORTED, LITHE_PLAN_UNIFIED};

static lithe_model *open_toy(const char *name, lithe_plan_kind plan)
{
    lithe_model_options options;
    lithe_model_options_init(&options);
    options.plan = plan;
    options.n_threads = 2;
    return must_open(toy_path(name), &options);
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        fail_msg("\"%s\" does not say \"%s\"", text, part);
    }
}

/* ----------------------------------------------------------------------------------------- end of the context */

/* Case F11: 61 of 64 used, three tokens fit, four do not, whatever the signatures' lengths. */
static void the_last_position_is_usable_and_no_more(void **state)
{
    (void)state;
    int32_t ids[CONTEXT + 1];
    some_ids(ids, CONTEXT + 1, VOCAB, 1);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        lithe_error err = {0};
        lithe_model *model = open_toy("toy-fp32", plans[i]);
        lithe_session *s = must_create(model, 0);
        must_prefill(s, ids, 61);
        assert_int_equal(lithe_session_prefill(s, ids, 4, NULL, NULL, &err), LITHE_E_CONTEXT);
        has(err.message, "61 of 64");
        has(err.message, "4 more");
        has(err.expected, "3");
        assert_string_equal(err.found, "4");
        assert_int_equal(lithe_session_position(s), 61);
        must_prefill(s, ids + 61, 3);
        assert_int_equal(lithe_session_position(s), CONTEXT);
        assert_int_equal(lithe_session_decode(s, 5, &err), LITHE_E_CONTEXT);
        has(err.message, "64 of 64");
        lithe_session_reset(s);
        must_prefill(s, ids, CONTEXT);
        assert_int_equal(lithe_session_position(s), CONTEXT);
        lithe_session_destroy(s);
        lithe_model_close(model);
    }
}

static void a_prompt_over_the_context_is_refused_whole(void **state)
{
    (void)state;
    int32_t ids[CONTEXT + 1];
    lithe_error err = {0};
    lithe_model *model = open_toy("toy-int8", LITHE_PLAN_AUTO);
    lithe_session *s = must_create(model, 0);
    some_ids(ids, CONTEXT + 1, VOCAB, 1);
    assert_int_equal(lithe_session_prefill(s, ids, CONTEXT + 1, NULL, NULL, &err), LITHE_E_CONTEXT);
    assert_int_equal(lithe_session_position(s), 0);
    assert_int_equal(lithe_session_prefill(s, ids, SIZE_MAX / 2, NULL, NULL, &err) != LITHE_OK, 1);
    lithe_session_destroy(s);
    lithe_model_close(model);
}

static void a_session_may_have_a_smaller_context_not_a_larger(void **state)
{
    (void)state;
    int32_t ids[12];
    lithe_error err = {0};
    lithe_model *model = open_toy("toy-fp32", LITHE_PLAN_AUTO);
    lithe_session_options options;
    lithe_session *s = must_create(model, 10);
    some_ids(ids, 12, VOCAB, 1);
    must_prefill(s, ids, 10);
    assert_int_equal(lithe_session_decode(s, ids[10], &err), LITHE_E_CONTEXT);
    has(err.message, "10 of 10");
    lithe_session_destroy(s);
    lithe_session_options_init(&options);
    options.context = CONTEXT + 1;
    s = NULL;
    assert_int_equal(lithe_session_create(model, &options, &s, &err), LITHE_E_CONTEXT);
    has(err.message, "65");
    has(err.message, "64");
    assert_null(s);
    lithe_model_close(model);
}

static void a_context_that_the_model_cannot_have_is_refused(void **state)
{
    (void)state;
    lithe_error err = {0};
    lithe_model *model = NULL;
    lithe_model_options options;
    lithe_model_options_init(&options);
    options.context = 100000;
    assert_int_equal(lithe_model_open(toy_path("toy-fp32"), &options, &model, &err), LITHE_E_CONTEXT);
    assert_null(model);
    has(err.message, "100000");
    has(err.expected, "64");
    assert_string_equal(err.found, "100000");
    options.context = 20;
    model = must_open(toy_path("toy-fp32"), &options);
    assert_int_equal(lithe_model_get_info(model)->context, 20);
    lithe_model_close(model);
}

/* --------------------------------------------------------------------------------------------------- prompts */

/* As exported, every length meets the ladder 32, 8, 1 in another way; all must leave what token by token leaves. */
static void any_prompt_length_equals_token_by_token(void **state)
{
    (void)state;
    int32_t ids[CONTEXT];
    float want[VOCAB];
    size_t n = 0;
    some_ids(ids, CONTEXT, VOCAB, 9);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        for (size_t k = 0; k < 2; k++) {
            lithe_model *model = open_toy(k ? "toy-recurrent" : "toy-int8", plans[i]);
            lithe_session *one = must_create(model, 0), *all = must_create(model, 0);
            for (size_t length = 1; length <= CONTEXT; length++) {
                must_decode(one, ids[length - 1]);
                memcpy(want, must_logits(one, &n), sizeof want);
                assert_int_equal(n, VOCAB);
                lithe_session_reset(all);
                must_prefill(all, ids, length);
                if (memcmp(want, must_logits(all, &n), sizeof want) != 0) {
                    fail_msg("%s: a prompt of %zu tokens answers otherwise at once than token by token",
                             lithe_model_get_info(model)->plan, length);
                }
            }
            lithe_session_destroy(one);
            lithe_session_destroy(all);
            lithe_model_close(model);
        }
    }
}

static void wrong_ids_and_empty_prompts_are_refused(void **state)
{
    (void)state;
    static const int32_t wrong[] = {-1, VOCAB, INT32_MAX, INT32_MIN};
    lithe_model *model = open_toy("toy-fp32", LITHE_PLAN_AUTO);
    lithe_session *s = must_create(model, 0);
    lithe_error err = {0};
    const float *logits = NULL;
    size_t n = 0;
    assert_int_equal(lithe_session_logits(s, &logits, &n, &err), LITHE_E_ARGUMENT);
    assert_null(logits);
    assert_int_equal(lithe_session_prefill(s, wrong, 0, NULL, NULL, &err), LITHE_E_ARGUMENT);
    for (size_t i = 0; i < 4; i++) {
        int32_t ids[] = {5, wrong[i]};
        char id[24];
        snprintf(id, sizeof id, "%d", wrong[i]);
        assert_int_equal(lithe_session_prefill(s, ids, 2, NULL, NULL, &err), LITHE_E_ARGUMENT);
        has(err.message, id);
        has(err.expected, "299");
        assert_int_equal(lithe_session_position(s), 0);
    }
    lithe_session_destroy(s);
    lithe_model_close(model);
}

/* -------------------------------------------------------------------------------------------------- cancelling */

static bool stop_after(void *user, size_t done, size_t total)
{
    (void)total;
    return done < *(const size_t *)user;
}

static void a_cancelled_prefill_leaves_a_session_that_goes_on(void **state)
{
    (void)state;
    int32_t ids[40];
    float want[VOCAB];
    size_t n = 0, limit = 8;
    lithe_error err = {0};
    some_ids(ids, 40, VOCAB, 2);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        lithe_model *model = open_toy("toy-int8", plans[i]);
        lithe_session *s = must_create(model, 0);
        must_prefill(s, ids, 40);
        memcpy(want, must_logits(s, &n), sizeof want);
        lithe_session_reset(s);
        lithe_session_cancel(s);
        assert_int_equal(lithe_session_prefill(s, ids, 40, NULL, NULL, &err), LITHE_E_CANCELLED);
        assert_int_equal(lithe_session_position(s), 0);
        lithe_status st = lithe_session_prefill(s, ids, 40, stop_after, &limit, &err);
        assert_true(st == LITHE_OK || st == LITHE_E_CANCELLED); /* one chunk may hold it all */
        uint32_t done = lithe_session_position(s);
        if (st == LITHE_E_CANCELLED) {
            assert_in_range(done, limit, 39);
            must_prefill(s, ids + done, 40 - done);
        }
        assert_int_equal(lithe_session_position(s), 40);
        assert_memory_equal(want, must_logits(s, &n), sizeof want);
        lithe_session_destroy(s);
        lithe_model_close(model);
    }
}

/* ------------------------------------------------------------------------------------------------ many sessions */

/* Case E4: what a session took is given back. */
static void a_thousand_sessions_leave_memory_flat(void **state)
{
    (void)state;
    int32_t ids[20];
    process_memory early, late;
    lithe_model *model = open_toy("toy-int8", LITHE_PLAN_AUTO);
    some_ids(ids, 20, VOCAB, 4);
    for (int i = 0; i < 1000; i++) {
        lithe_session *s = must_create(model, 0);
        must_prefill(s, ids, 20);
        lithe_session_destroy(s);
        if (i == 100) {
            process_memory_get(&early);
        }
    }
    process_memory_get(&late);
    lithe_model_close(model);
    if (!getenv("LITHE_SANITIZED")) {
        assert_true(late.anon < early.anon + (1u << 20));
    }
}

static void opening_and_closing_leaves_memory_flat(void **state)
{
    (void)state;
    process_memory early, late;
    for (int i = 0; i < 60; i++) {
        lithe_model_close(open_toy("toy-int8", LITHE_PLAN_AUTO));
        if (i == 20) {
            process_memory_get(&early);
        }
    }
    process_memory_get(&late);
    if (!getenv("LITHE_SANITIZED")) {
        assert_true(late.anon < early.anon + (1u << 20));
    }
}

/* -------------------------------------------------------------------------------------------------- not numbers */

static void nan_logits_name_the_step_and_with_checks_the_node(void **state)
{
    (void)state;
    variant v;
    variant_begin(&v, "toy-fp32");
    variant_set_norm(&v, NAN, false);
    const char *path = variant_end(&v, "nan");
    int32_t ids[5];
    some_ids(ids, 5, VOCAB, 1);
    for (int checks = 0; checks < 2; checks++) {
        lithe_model_options options;
        lithe_error err = {0};
        lithe_model_options_init(&options);
        options.check_numerics = checks == 1;
        lithe_model *model = must_open(path, &options);
        lithe_session *s = must_create(model, 0);
        assert_int_equal(lithe_session_prefill(s, ids, 5, NULL, NULL, &err), LITHE_E_NUMERIC);
        assert_string_equal(err.signature, "decode");
        has(err.path, "nan");
        if (checks) {
            assert_true(err.node >= 0);
            assert_true(err.op[0] != 0 && err.tensor[0] != 0);
            has(err.message, "node");
        } else {
            has(err.message, "position 4");
            has(err.message, "NaN");
            has(err.hint, "check");
        }
        const float *logits;
        size_t n;
        assert_int_equal(lithe_session_logits(s, &logits, &n, &err), LITHE_E_ARGUMENT);
        lithe_session_destroy(s);
        lithe_model_close(model);
    }
    remove(path);
}

/* --------------------------------------------------------------------------------------------------- memory limit */

static void a_memory_limit_is_kept_with_forecast_and_limit(void **state)
{
    (void)state;
    lithe_model_options options;
    lithe_error err = {0};
    lithe_model *model = NULL;
    lithe_model_options_init(&options);
    options.memory_limit = 4096;
    assert_int_equal(lithe_model_open(toy_path("toy-fp32"), &options, &model, &err), LITHE_E_MEMORY);
    assert_null(model);
    has(err.message, "limit");
    has(err.expected, "MB");
    has(err.found, "MB");
    assert_true(err.hint[0] != 0);
}

static void sessions_share_the_limit_of_their_model(void **state)
{
    (void)state;
    enum { MOST = 1000 };
    lithe_session *sessions[MOST];
    lithe_model_options options;
    lithe_error err = {0};
    size_t n = 0;
    lithe_model_options_init(&options);
    lithe_model *model = must_open(toy_path("toy-fp32"), &options);
    options.memory_limit = lithe_model_memory_forecast(model, 0) + (2u << 20); /* the process may grow in between */
    lithe_model_close(model);
    model = must_open(toy_path("toy-fp32"), &options);
    lithe_status status = LITHE_OK;
    while (n < MOST && !status) {
        status = lithe_session_create(model, NULL, &sessions[n], &err);
        n += !status;
    }
    assert_int_equal(status, LITHE_E_MEMORY);
    assert_in_range(n, 1, MOST - 1);
    has(err.message, "64 positions");
    has(err.message, "limit");
    assert_int_equal(lithe_session_create(model, NULL, &sessions[n], &err), LITHE_E_MEMORY);
    lithe_session_destroy(sessions[--n]);
    sessions[n++] = must_create(model, 0);
    while (n > 0) {
        lithe_session_destroy(sessions[--n]);
    }
    lithe_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_position_is_usable_and_no_more),
        cmocka_unit_test(a_prompt_over_the_context_is_refused_whole),
        cmocka_unit_test(a_session_may_have_a_smaller_context_not_a_larger),
        cmocka_unit_test(a_context_that_the_model_cannot_have_is_refused),
        cmocka_unit_test(any_prompt_length_equals_token_by_token),
        cmocka_unit_test(wrong_ids_and_empty_prompts_are_refused),
        cmocka_unit_test(a_cancelled_prefill_leaves_a_session_that_goes_on),
        cmocka_unit_test(a_thousand_sessions_leave_memory_flat),
        cmocka_unit_test(opening_and_closing_leaves_memory_flat),
        cmocka_unit_test(nan_logits_name_the_step_and_with_checks_the_node),
        cmocka_unit_test(a_memory_limit_is_kept_with_forecast_and_limit),
        cmocka_unit_test(sessions_share_the_limit_of_their_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
