/* Logits of every token: the bits that a prefill up to that token gives, for every kind of plan, in short steps, within a memory limit. */
#include "engine/model.h"
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { VOCAB = 300, TOKENS = 37 }; /* of the toys; more than two steps */
static const lithe_plan_kind plans[] = {LITHE_PLAN_ANY_LENGTH, LITHE_PLAN_UNIFIED, LITHE_PLAN_AS_EXPORTED};

static lithe_model *open_plan(const char *path, lithe_plan_kind plan)
{
    lithe_model_options options;
    lithe_model_options_init(&options);
    options.plan = plan;
    options.n_threads = 2;
    return must_open(path, &options);
}

typedef struct rows {
    float *logits; /* [TOKENS][vocab] */
    size_t n, vocab, stop_at;
    bool in_order;
} rows;

static bool keep_row(void *user, size_t index, const float *logits, size_t n)
{
    rows *r = user;
    r->in_order = r->in_order && index == r->n && n == r->vocab;
    if (r->in_order && r->logits)
        memcpy(r->logits + index * n, logits, n * sizeof *logits);
    return ++r->n != r->stop_at;
}

static rows rows_for(const lithe_model *m)
{
    rows r = {.vocab = lithe_model_get_info(m)->vocab_size, .in_order = true};
    r.logits = malloc(TOKENS * r.vocab * sizeof(float));
    assert_non_null(r.logits);
    return r;
}

static void every_row_is_that_of_a_prefill(const char *path, lithe_plan_kind plan)
{
    int32_t ids[TOKENS];
    lithe_error err = {0};
    lithe_model *model = open_plan(path, plan);
    size_t n;
    some_ids(ids, TOKENS, VOCAB, 3);
    rows r = rows_for(model);
    lithe_session *scored = must_create(model, 0), *stepped = must_create(model, 0);
    must(lithe_session_score(scored, ids, TOKENS, keep_row, &r, &err), &err, path);
    assert_int_equal(r.n, TOKENS);
    assert_true(r.in_order);
    assert_int_equal(lithe_session_position(scored), TOKENS);
    for (size_t i = 0; i < TOKENS; i++) {
        must_prefill(stepped, ids + i, 1);
        assert_memory_equal(must_logits(stepped, &n), r.logits + i * r.vocab, r.vocab * sizeof(float));
    }
    /* the session goes on as one that was prefilled */
    assert_memory_equal(must_logits(scored, &n), must_logits(stepped, &n), r.vocab * sizeof(float));
    must_decode(scored, ids[0]);
    must_decode(stepped, ids[0]);
    assert_memory_equal(must_logits(scored, &n), must_logits(stepped, &n), r.vocab * sizeof(float));
    lithe_work w;
    lithe_session_get_work(scored, &w);
    uint64_t steps = model->any_length ? (TOKENS + SCORE_CHUNK - 1) / SCORE_CHUNK : TOKENS;
    assert_int_equal(w.steps, steps + 1);
    free(r.logits);
    lithe_session_destroy(scored);
    lithe_session_destroy(stepped);
    lithe_model_close(model);
}

static void rows_are_those_of_prefills(void **state)
{
    (void)state;
    static const char *const toys[] = {"toy-fp32", "toy-int8", "toy-window"};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        for (size_t t = 0; t < sizeof toys / sizeof *toys; t++)
            every_row_is_that_of_a_prefill(toy_path(toys[t]), plans[i]);
    every_row_is_that_of_a_prefill(fixture_path("tiny-hybrid-int8"), LITHE_PLAN_ANY_LENGTH);
}

static void stopping_ends_with_the_step(void **state)
{
    (void)state;
    int32_t ids[TOKENS];
    some_ids(ids, TOKENS, VOCAB, 4);
    lithe_error err = {0};
    lithe_model *model = open_plan(toy_path("toy-fp32"), LITHE_PLAN_ANY_LENGTH);
    lithe_session *s = must_create(model, 0);
    rows r = rows_for(model);
    r.stop_at = 3;
    assert_int_equal(lithe_session_score(s, ids, TOKENS, keep_row, &r, &err), LITHE_E_CANCELLED);
    assert_int_equal(r.n, 3);
    assert_int_equal(lithe_session_position(s), SCORE_CHUNK);
    size_t n;
    const float *logits;
    assert_int_equal(lithe_session_logits(s, &logits, &n, &err), LITHE_E_ARGUMENT);
    assert_int_equal(lithe_session_score(s, ids, 4, NULL, NULL, &err), LITHE_E_ARGUMENT);
    assert_int_equal(lithe_session_score(s, ids, 0, keep_row, &r, &err), LITHE_E_ARGUMENT);
    must_prefill(s, ids, 4);
    assert_int_equal(lithe_session_position(s), SCORE_CHUNK + 4);
    free(r.logits);
    lithe_session_destroy(s);
    lithe_model_close(model);
}

/* What 16 rows of logits take is asked of the limit when they are first wanted, and given back with the session. */
static void a_memory_limit_counts_the_rows(void **state)
{
    (void)state;
    int32_t ids[TOKENS];
    some_ids(ids, TOKENS, VOCAB, 5);
    lithe_error err = {0};
    lithe_model *model = open_plan(toy_path("toy-fp32"), LITHE_PLAN_ANY_LENGTH);
    rows r = {.vocab = VOCAB, .in_order = true};
    uint64_t before = model->reserved_bytes;
    lithe_session *s = must_create(model, 0);
    uint64_t plain = model->reserved_bytes - before;
    must(lithe_session_score(s, ids, 5, keep_row, &r, &err), &err, "five rows");
    uint64_t five = model->reserved_bytes - before;
    must(lithe_session_score(s, ids, TOKENS - 5, keep_row, &r, &err), &err, "sixteen rows");
    uint64_t sixteen = model->reserved_bytes - before;
    assert_true(five >= plain + 4 * VOCAB * sizeof(float));
    assert_true(sixteen >= five + 11 * VOCAB * sizeof(float));
    lithe_session_destroy(s);
    assert_int_equal(model->reserved_bytes, before);
    s = must_create(model, 0);
    model->options.memory_limit = 1;
    r = (rows){.vocab = VOCAB, .in_order = true};
    assert_int_equal(lithe_session_score(s, ids, TOKENS, keep_row, &r, &err), LITHE_E_MEMORY);
    assert_int_equal(r.n, 0);
    assert_int_equal(lithe_session_position(s), 0);
    must_prefill(s, ids, TOKENS); /* what was reserved is still there */
    lithe_session_destroy(s);
    lithe_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_prefills),
        cmocka_unit_test(stopping_ends_with_the_step),
        cmocka_unit_test(a_memory_limit_counts_the_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
