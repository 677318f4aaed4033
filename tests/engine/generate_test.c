/* Answers: which sampler is in force, seeds, ties, stop sequences with text held back, cancelling at every step, ends. */
#include "engine/support.h"
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PROMPT = 20, MOST = 64, TEXT = 4096 };
static const int32_t prompt[PROMPT] = {1,   281, 259, 17,  264, 290, 276, 3,   130, 260,
                                       271, 299, 268, 282, 258, 75,  266, 297, 280, 262};

/* What an answer's events brought, one after the other. */
typedef struct answer {
    lithe_session *session;
    int32_t ids[MOST];
    char parts[MOST][64]; /* the text of each token's event */
    char text[TEXT];
    size_t n, n_last;            /* token events, last events with id -1 */
    size_t cancel_at, refuse_at; /* after so many tokens; 0: never */
    lithe_generate_result result;
} answer;

static bool take(void *user, const lithe_token_event *e)
{
    answer *a = user;
    assert_int_equal(a->n_last, 0); /* nothing follows the last event */
    assert_true(strlen(a->text) + e->text_bytes < TEXT && e->text_bytes < 64);
    strncat(a->text, e->text, e->text_bytes);
    if (e->id < 0) {
        assert_null(e->logits);
        assert_true(e->text_bytes > 0);
        a->n_last++;
        return true;
    }
    assert_true(a->n < MOST && e->logits && e->vocab_size == 300);
    memcpy(a->parts[a->n], e->text, e->text_bytes);
    a->ids[a->n++] = e->id;
    if (a->n == a->cancel_at) {
        lithe_session_cancel(a->session);
    }
    return a->n != a->refuse_at;
}

static lithe_generate_options options_for(answer *a, lithe_session *s, uint32_t max_tokens)
{
    lithe_generate_options o;
    lithe_generate_options_init(&o);
    o.max_tokens = max_tokens;
    o.on_token = take;
    o.user = a;
    a->session = s;
    return o;
}

static void generate(answer *a, lithe_session *s, const lithe_generate_options *o)
{
    lithe_error err = {0};
    must_prefill(s, prompt, PROMPT);
    must(lithe_session_generate(s, o, &a->result, &err), &err, "lithe_session_generate");
    assert_int_equal(a->result.n_tokens, a->n);
}

/* Greedy, from an empty session, stop sequences ignored. */
static void greedy(answer *a, lithe_session *s, uint32_t max_tokens)
{
    memset(a, 0, sizeof *a);
    lithe_generate_options o = options_for(a, s, max_tokens);
    o.ignore_stop = true;
    o.sampler.set = LITHE_SET_TEMPERATURE;
    lithe_session_reset(s);
    generate(a, s, &o);
}

static lithe_model *open_toy(void)
{
    return must_open(toy_path("toy-int8"), NULL);
}

/* ------------------------------------------------------------------------------------------------- samplers */

static void request_goes_before_session_before_bundle(void **state)
{
    (void)state;
    lithe_error err = {0};
    lithe_model *model = open_toy();
    const lithe_model_info *info = lithe_model_get_info(model);
    assert_int_equal(info->sampler.top_k, 1); /* the toys' metadata: top-p, k 1, p 0.95, temperature 1 */
    assert_true(info->sampler.top_p > 0.949f && info->sampler.top_p < 0.951f);
    assert_int_equal(info->sampler_sources.top_p, LITHE_FROM_BUNDLE);
    lithe_session_options so;
    lithe_session_options_init(&so);
    so.sampler.set = LITHE_SET_TOP_K | LITHE_SET_TEMPERATURE;
    so.sampler.values.top_k = 7;
    so.sampler.values.temperature = 0.5f;
    lithe_session *s = NULL;
    must(lithe_session_create(model, &so, &s, &err), &err, "lithe_session_create");
    answer a = {0};
    lithe_generate_options o = options_for(&a, s, 3);
    o.sampler.set = LITHE_SET_TEMPERATURE;
    o.sampler.values.temperature = 0.25f;
    generate(&a, s, &o);
    assert_true(a.result.sampler.temperature == 0.25f);
    assert_int_equal(a.result.sources.temperature, LITHE_FROM_REQUEST);
    assert_int_equal(a.result.sampler.top_k, 7);
    assert_int_equal(a.result.sources.top_k, LITHE_FROM_SESSION);
    assert_int_equal(a.result.sources.top_p, LITHE_FROM_BUNDLE);
    lithe_session_destroy(s);
    lithe_model_close(model);
}

/* A value counts only where its bit is set: 0 can be asked for, and what is not asked for is not read. */
static void unset_values_do_not_count(void **state)
{
    (void)state;
    lithe_model *model = open_toy();
    lithe_session *s = must_create(model, 0);
    answer a = {0};
    lithe_generate_options o = options_for(&a, s, 2);
    o.sampler.values = (lithe_sampler){-3.0f, -9, 44.0f, 5};
    generate(&a, s, &o);
    assert_int_equal(a.result.sampler.top_k, 1);
    lithe_session_destroy(s);
    lithe_model_close(model);
}

static void samplers_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const lithe_sampler_request wrong[] = {
        {LITHE_SET_TEMPERATURE, {-0.1f, 0, 1, 0}},
        {LITHE_SET_TEMPERATURE, {__builtin_inff(), 0, 1, 0}},
        {LITHE_SET_TEMPERATURE, {__builtin_nanf(""), 0, 1, 0}},
        {LITHE_SET_TOP_K, {0, -1, 1, 0}},
        {LITHE_SET_TOP_P, {0, 0, 0, 0}},
        {LITHE_SET_TOP_P, {0, 0, 1.01f, 0}},
    };
    lithe_model *model = open_toy();
    lithe_session *s = must_create(model, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        answer a = {0};
        lithe_error err = {0};
        lithe_generate_options o = options_for(&a, s, 2);
        lithe_session_options so;
        lithe_session *other = NULL;
        lithe_session_options_init(&so);
        o.sampler = so.sampler = wrong[i];
        lithe_session_reset(s);
        must_prefill(s, prompt, PROMPT);
        assert_int_equal(lithe_session_generate(s, &o, NULL, &err), LITHE_E_ARGUMENT);
        assert_int_equal(a.n, 0);
        assert_int_equal(lithe_session_create(model, &so, &other, &err), LITHE_E_ARGUMENT);
        assert_null(other);
    }
    lithe_session_destroy(s);
    lithe_model_close(model);
}

static void sampled(answer *a, lithe_session *s, uint64_t seed)
{
    memset(a, 0, sizeof *a);
    lithe_generate_options o = options_for(a, s, 30);
    o.ignore_stop = true;
    o.sampler.set = LITHE_SET_TEMPERATURE | LITHE_SET_TOP_K | LITHE_SET_TOP_P | LITHE_SET_SEED;
    o.sampler.values = (lithe_sampler){1.5f, 64, 1, seed};
    lithe_session_reset(s);
    generate(a, s, &o);
}

/* Case E1: a greedy answer first must not colour the sampled one, on the same session or another model. */
static void a_seed_decides_the_answer(void **state)
{
    (void)state;
    lithe_model *model = open_toy(), *fresh = open_toy();
    lithe_session *s = must_create(model, 0), *t = must_create(fresh, 0);
    answer g, a, b, c;
    greedy(&g, s, 30);
    sampled(&a, s, 7);
    sampled(&b, t, 7);
    sampled(&c, s, 8);
    assert_memory_equal(a.ids, b.ids, sizeof a.ids);
    assert_memory_not_equal(a.ids, g.ids, sizeof a.ids);
    assert_memory_not_equal(a.ids, c.ids, sizeof a.ids);
    sampled(&c, s, 7);
    assert_memory_equal(a.ids, c.ids, sizeof a.ids);
    lithe_session_destroy(s);
    lithe_session_destroy(t);
    lithe_model_close(model);
    lithe_model_close(fresh);
}

static void top_k_1_and_a_tiny_top_p_are_greedy(void **state)
{
    (void)state;
    static const lithe_sampler hot[] = {{2, 1, 1, 3}, {2, 0, 1e-9f, 3}};
    lithe_model *model = open_toy();
    lithe_session *s = must_create(model, 0);
    answer g, a;
    greedy(&g, s, 12);
    for (size_t i = 0; i < 2; i++) {
        memset(&a, 0, sizeof a);
        lithe_generate_options o = options_for(&a, s, 12);
        o.ignore_stop = true;
        o.sampler.set = LITHE_SET_TEMPERATURE | LITHE_SET_TOP_K | LITHE_SET_TOP_P | LITHE_SET_SEED;
        o.sampler.values = hot[i];
        lithe_session_reset(s);
        generate(&a, s, &o);
        assert_memory_equal(a.ids, g.ids, sizeof g.ids);
    }
    lithe_session_destroy(s);
    lithe_model_close(model);
}

/* All logits zero: greedy takes the lowest id, drawing reaches many, and only the k lowest with top-k. */
static void ties_go_to_the_lowest_id(void **state)
{
    (void)state;
    variant v;
    variant_begin(&v, "toy-fp32");
    variant_set_norm(&v, 0, true);
    const char *path = variant_end(&v, "ties");
    lithe_model *model = must_open(path, NULL);
    lithe_session *s = must_create(model, 0);
    size_t n = 0;
    answer a;
    greedy(&a, s, 6);
    const float *logits = must_logits(s, &n);
    for (size_t i = 0; i < n; i++) {
        assert_true(logits[i] == 0);
    }
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(a.ids[i], 0);
    }
    for (int k = 0; k <= 5; k += 5) {
        bool seen[300] = {0};
        size_t distinct = 0;
        memset(&a, 0, sizeof a);
        lithe_generate_options o = options_for(&a, s, 40);
        o.ignore_stop = true;
        o.sampler.set = LITHE_SET_TEMPERATURE | LITHE_SET_TOP_K | LITHE_SET_TOP_P | LITHE_SET_SEED;
        o.sampler.values = (lithe_sampler){1, k, 1, 11};
        lithe_session_reset(s);
        generate(&a, s, &o);
        for (size_t i = 0; i < a.n; i++) {
            distinct += !seen[a.ids[i]];
            seen[a.ids[i]] = true;
            assert_true(k == 0 || a.ids[i] < k);
        }
        assert_in_range(distinct, k ? 3 : 20, k ? 5 : 40);
    }
    lithe_session_destroy(s);
    lithe_model_close(model);
    remove(path);
}

/* ---------------------------------------------------------------------------------------------- stop sequences */

/* A toy that stops at these sequences. */
static const char *with_stops(const token_union *stops, size_t n, const char *name)
{
    variant v;
    variant_begin(&v, "toy-int8");
    v.meta.stop_tokens = stops;
    v.meta.n_stop_tokens = n;
    return variant_end(&v, name);
}

/* Greedy goes 132 97 266 115 …: 97 and 97 266 may begin the stop sequence 97 266 77 and are held back; 266 115 ends the answer, and the
 * text of 97 comes then. */
static void text_that_may_begin_a_stop_sequence_is_held_back(void **state)
{
    (void)state;
    static const int32_t open[] = {97, 266, 77}, ends[] = {266, 115};
    const token_union stops[] = {{open, 3, NULL}, {ends, 2, NULL}};
    const char *path = with_stops(stops, 2, "stops");
    lithe_model *model = must_open(path, NULL);
    lithe_session *s = must_create(model, 0);
    answer two, a = {0};
    greedy(&two, s, 2);
    assert_int_equal(two.ids[0], 132);
    assert_int_equal(two.ids[1], 97);
    lithe_session_reset(s);
    lithe_generate_options o = options_for(&a, s, 12);
    generate(&a, s, &o);
    assert_int_equal(a.result.finish, LITHE_FINISH_STOP);
    assert_int_equal(a.n, 4);
    assert_int_equal(a.ids[3], 115);
    assert_string_equal(a.parts[1], "");
    assert_string_equal(a.parts[2], "");
    assert_string_equal(a.text, two.text);
    assert_int_equal(lithe_session_position(s), PROMPT + 3);
    lithe_session_destroy(s);
    lithe_model_close(model);
    remove(path);
}

/* What is still held back when the answer ends by its length comes with a last event. */
static void held_text_comes_at_the_end(void **state)
{
    (void)state;
    static const int32_t open[] = {97, 266, 77};
    const token_union stops[] = {{open, 3, NULL}};
    const char *path = with_stops(stops, 1, "held");
    lithe_model *model = must_open(path, NULL);
    lithe_session *s = must_create(model, 0);
    answer plain, a = {0};
    greedy(&plain, s, 3);
    lithe_session_reset(s);
    lithe_generate_options o = options_for(&a, s, 3);
    generate(&a, s, &o);
    assert_int_equal(a.result.finish, LITHE_FINISH_LENGTH);
    assert_string_equal(a.parts[2], "");
    assert_int_equal(a.n_last, 1);
    assert_string_equal(a.text, plain.text);
    lithe_session_destroy(s);
    lithe_model_close(model);
    remove(path);
}

static void a_stop_token_ends_the_answer_without_its_text(void **state)
{
    (void)state;
    static const int32_t id[] = {132};
    const token_union stops[] = {{id, 1, NULL}};
    const char *path = with_stops(stops, 1, "stop1");
    lithe_model *model = must_open(path, NULL);
    lithe_session *s = must_create(model, 0);
    answer a = {0};
    lithe_generate_options o = options_for(&a, s, 12);
    generate(&a, s, &o);
    assert_int_equal(a.result.finish, LITHE_FINISH_STOP);
    assert_int_equal(a.n, 1);
    assert_string_equal(a.text, "");
    greedy(&a, s, 12); /* ignore_stop goes on */
    assert_int_equal(a.n, 12);
    lithe_session_destroy(s);
    lithe_model_close(model);
    remove(path);
}

/* ----------------------------------------------------------------------------------------------------- endings */

/* Case E7: cancelled at every step, one end each, and the next run is whole. */
static void cancelling_at_every_step_leaves_a_clean_session(void **state)
{
    (void)state;
    enum { N = 12 };
    lithe_model *model = open_toy();
    lithe_session *s = must_create(model, 0);
    answer whole, a;
    greedy(&whole, s, N);
    lithe_session_reset(s);
    must_prefill(s, prompt, PROMPT);
    lithe_session_cancel(s);
    memset(&a, 0, sizeof a);
    lithe_generate_options none = options_for(&a, s, N);
    assert_int_equal(lithe_session_generate(s, &none, &a.result, NULL), LITHE_OK);
    assert_int_equal(a.result.finish, LITHE_FINISH_CANCELLED);
    assert_int_equal(a.n + a.n_last, 0);
    for (size_t k = 1; k < N; k++) {
        memset(&a, 0, sizeof a);
        lithe_generate_options o = options_for(&a, s, N);
        a.cancel_at = k;
        o.ignore_stop = true;
        lithe_session_reset(s);
        generate(&a, s, &o);
        assert_int_equal(a.result.finish, LITHE_FINISH_CANCELLED);
        assert_int_equal(a.n, k);
        assert_memory_equal(a.ids, whole.ids, k * sizeof *a.ids);
        greedy(&a, s, N);
        assert_memory_equal(a.ids, whole.ids, sizeof whole.ids);
        assert_string_equal(a.text, whole.text);
    }
    lithe_session_destroy(s);
    lithe_model_close(model);
}

static void a_callback_can_end_the_answer(void **state)
{
    (void)state;
    lithe_model *model = open_toy();
    lithe_session *s = must_create(model, 0);
    answer a = {.refuse_at = 3};
    lithe_generate_options o = options_for(&a, s, 12);
    o.ignore_stop = true;
    generate(&a, s, &o);
    assert_int_equal(a.result.finish, LITHE_FINISH_CALLBACK);
    assert_int_equal(a.n, 3);
    assert_int_equal(a.n_last, 0);
    lithe_session_destroy(s);
    lithe_model_close(model);
}

/* 64 positions, 20 of them the prompt: 44 tokens are processed, and one more is drawn after the last position. */
static void an_answer_uses_the_context_to_its_end(void **state)
{
    (void)state;
    lithe_model *model = open_toy();
    lithe_session *s = must_create(model, 0);
    answer a;
    greedy(&a, s, 0);
    assert_int_equal(a.result.finish, LITHE_FINISH_CONTEXT);
    assert_int_equal(a.n, 64 - PROMPT + 1);
    assert_int_equal(lithe_session_position(s), 64);
    lithe_session_destroy(s);
    lithe_model_close(model);
}

/* Every token but the last has been processed: going on with it gives what one long answer gives. */
static void an_answer_can_be_gone_on_with(void **state)
{
    (void)state;
    lithe_model *model = open_toy();
    lithe_session *s = must_create(model, 0);
    lithe_error err = {0};
    answer whole, first, rest = {0};
    greedy(&whole, s, 10);
    greedy(&first, s, 4);
    must_decode(s, first.ids[3]);
    lithe_generate_options o = options_for(&rest, s, 6);
    o.ignore_stop = true;
    must(lithe_session_generate(s, &o, &rest.result, &err), &err, "lithe_session_generate");
    assert_memory_equal(first.ids, whole.ids, 4 * sizeof *whole.ids);
    assert_memory_equal(rest.ids, whole.ids + 4, 6 * sizeof *whole.ids);
    lithe_session_destroy(s);
    lithe_model_close(model);
}

static void generating_from_nothing_is_an_error(void **state)
{
    (void)state;
    lithe_model *model = open_toy();
    lithe_session *s = must_create(model, 0);
    lithe_error err = {0};
    assert_int_equal(lithe_session_generate(s, NULL, NULL, &err), LITHE_E_ARGUMENT);
    assert_non_null(strstr(err.path, "toy-int8"));
    lithe_session_destroy(s);
    lithe_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_goes_before_session_before_bundle),
        cmocka_unit_test(unset_values_do_not_count),
        cmocka_unit_test(samplers_that_cannot_be_are_refused),
        cmocka_unit_test(a_seed_decides_the_answer),
        cmocka_unit_test(top_k_1_and_a_tiny_top_p_are_greedy),
        cmocka_unit_test(ties_go_to_the_lowest_id),
        cmocka_unit_test(text_that_may_begin_a_stop_sequence_is_held_back),
        cmocka_unit_test(held_text_comes_at_the_end),
        cmocka_unit_test(a_stop_token_ends_the_answer_without_its_text),
        cmocka_unit_test(cancelling_at_every_step_leaves_a_clean_session),
        cmocka_unit_test(a_callback_can_end_the_answer),
        cmocka_unit_test(an_answer_uses_the_context_to_its_end),
        cmocka_unit_test(an_answer_can_be_gone_on_with),
        cmocka_unit_test(generating_from_nothing_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
