/* Prefill signatures read as one function of the length: the same bits as the signatures as exported, for every length of the prompt, without padding. */
#include "base/thread.h"
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 50 };

static lithe_model *open_as(const char *name, lithe_plan_kind plan)
{
    lithe_model_options o;
    lithe_model_options_init(&o);
    o.n_threads = 2;
    o.plan = plan;
    return must_open(bundle_path(name), &o);
}

/* Logits after a prompt of n ids and one more token. */
static void run(const lithe_model *m, size_t n, float *out, size_t *vocab, lithe_work *work)
{
    int32_t ids[MOST];
    some_ids(ids, n, lithe_model_get_info(m)->vocab_size, 7);
    lithe_session *s = must_create(m, 0);
    must_prefill(s, ids, n);
    must_decode(s, 5);
    const float *logits = must_logits(s, vocab);
    memcpy(out, logits, *vocab * sizeof *out);
    lithe_session_get_work(s, work);
    lithe_session_destroy(s);
}

static void check(const char *name)
{
    static float a[2048], b[2048];
    lithe_model *unified = open_as(name, LITHE_PLAN_UNIFIED), *exported = open_as(name, LITHE_PLAN_AS_EXPORTED);
    assert_string_equal(lithe_model_get_info(unified)->plan, "unified");
    size_t vocab = lithe_model_get_info(unified)->vocab_size;
    assert_true(vocab <= 2048);
    static const size_t lengths[] = {1, 2, 3, 8, 9, 31, 33, MOST};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        lithe_work work;
        run(exported, lengths[i], b, &vocab, &work);
        run(unified, lengths[i], a, &vocab, &work);
        assert_memory_equal(a, b, vocab * sizeof *a);
        assert_int_equal(work.tokens, lengths[i] + 1);
        /* all but the last id in one run (at most 64 positions fit the toys' chunk), the last one, the decoded one */
        assert_int_equal(work.steps, lengths[i] > 1 ? 3 : 2);
    }
    lithe_model_close(unified);
    lithe_model_close(exported);
}

static void toys_equal_their_signatures(void **state)
{
    (void)state;
    static const char *const names[] = {"toy-fp32",  "toy-fp16",    "toy-wo8",    "toy-int8",
                                        "toy-int4c", "toy-int4b32", "toy-window", "toy-layouts"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check(names[i]);
}

/* Recurrences see no padding: the prompt need not be cut into exported lengths. */
static void recurrent_models_equal_their_signatures(void **state)
{
    (void)state;
    check("toy-recurrent");
    check("tiny-hybrid-fp32");
    check("tiny-hybrid-int8");
}

typedef struct walker {
    const lithe_model *model;
    const float *want; /* [MOST + 1][vocab] */
    size_t vocab, first;
    bool wrong;
} walker;

/* Prompts of many lengths, so that programs come and go. */
static void walk(void *user)
{
    walker *w = user;
    for (size_t i = 0; i < 24; i++) {
        size_t n = 2 + (w->first + i * 5) % (MOST - 2);
        int32_t ids[MOST];
        const float *logits = NULL;
        size_t vocab = 0;
        lithe_session *s = NULL;
        some_ids(ids, n, 290, 7);
        w->wrong |= lithe_session_create(w->model, NULL, &s, NULL) ||
                    lithe_session_prefill(s, ids, n, NULL, NULL, NULL) ||
                    lithe_session_logits(s, &logits, &vocab, NULL) ||
                    memcmp(logits, w->want + n * w->vocab, vocab * sizeof *logits) != 0;
        lithe_session_destroy(s);
    }
}

static void sessions_on_threads_share_a_model(void **state)
{
    (void)state;
    lithe_model *exported = open_as("toy-int8", LITHE_PLAN_AS_EXPORTED),
                *unified = open_as("toy-int8", LITHE_PLAN_UNIFIED);
    size_t vocab = lithe_model_get_info(exported)->vocab_size;
    float *want = calloc((MOST + 1) * vocab, sizeof *want);
    for (size_t n = 2; n < MOST; n++) {
        int32_t ids[MOST];
        some_ids(ids, n, 290, 7);
        lithe_session *s = must_create(exported, 0);
        must_prefill(s, ids, n);
        const float *logits = must_logits(s, &vocab);
        memcpy(want + n * vocab, logits, vocab * sizeof *want);
        lithe_session_destroy(s);
    }
    walker walkers[3];
    thread_handle *threads[3];
    for (size_t i = 0; i < 3; i++) {
        walkers[i] = (walker){unified, want, vocab, i * 7, false};
        assert_int_equal(thread_start(&threads[i], walk, &walkers[i], NULL), LITHE_OK);
    }
    for (size_t i = 0; i < 3; i++) {
        thread_join(threads[i]);
        assert_false(walkers[i].wrong);
    }
    free(want);
    lithe_model_close(unified);
    lithe_model_close(exported);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(toys_equal_their_signatures),
        cmocka_unit_test(recurrent_models_equal_their_signatures),
        cmocka_unit_test(sessions_on_threads_share_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
