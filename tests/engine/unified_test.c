/* Prefill signatures read as one function of the length: the same bits as the signatures as exported, for every length of the prompt, without padding. */
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
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
    memcpy(out, must_logits(s, vocab), *vocab * sizeof *out);
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
    static const char *const names[] = {"toy-fp32", "toy-fp16", "toy-wo8", "toy-int8", "toy-int4c", "toy-int4b32", "toy-window", "toy-layouts"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) check(names[i]);
}

/* Recurrences see no padding: the prompt need not be cut into exported lengths. */
static void recurrent_models_equal_their_signatures(void **state)
{
    (void)state;
    check("toy-recurrent");
    check("tiny-hybrid-fp32");
    check("tiny-hybrid-int8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(toys_equal_their_signatures),
        cmocka_unit_test(recurrent_models_equal_their_signatures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
