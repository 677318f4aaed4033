/* Each pass can be left out, and the answer stays: the same bits without those that only rearrange or fuse, a tolerance without recognition. */
#include "support/models.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { PROMPT = 21, MOST_VOCAB = 2048 };

/* Logits after a prompt and a token; false if the bundle does not run so. */
static bool run(const char *name, const char *without, bool no_fusion, float *out, size_t *vocab, const char **plan)
{
    lithe_model_options o;
    lithe_model *m = NULL;
    int32_t ids[PROMPT];
    lithe_model_options_init(&o);
    o.n_threads = 2;
    o.without_pass = without;
    o.no_fusion = no_fusion;
    if (lithe_model_open(bundle_path(name), &o, &m, NULL))
        return false;
    static char kept[32];
    strncpy(kept, lithe_model_get_info(m)->plan, sizeof kept - 1);
    *plan = kept;
    some_ids(ids, PROMPT, 290, 11);
    lithe_session *s = must_create(m, 0);
    must_prefill(s, ids, PROMPT);
    must_decode(s, 9);
    const float *logits = must_logits(s, vocab);
    memcpy(out, logits, *vocab * sizeof *out);
    lithe_session_destroy(s);
    lithe_model_close(m);
    return true;
}

static void the_answer_does_not_depend_on_fusion(void **state)
{
    (void)state;
    static const char *const names[] = {"toy-fp32",      "toy-int8",         "toy-int4b32",     "toy-window",
                                        "toy-recurrent", "tiny-hybrid-fp32", "tiny-hybrid-int8"};
    static const char *const exact[] = {"fold", "merge", "drop", "rope", "gated"};
    static float want[MOST_VOCAB], got[MOST_VOCAB];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t vocab = 0, n = 0;
        const char *plan;
        assert_true(run(names[i], NULL, false, want, &vocab, &plan));
        assert_string_equal(plan, "any length");
        assert_true(run(names[i], NULL, true, got, &n, &plan));
        assert_memory_equal(want, got, vocab * sizeof *want);
        for (size_t k = 0; k < sizeof exact / sizeof *exact; k++) {
            if (!run(names[i], exact[k], false, got, &n, &plan) || strcmp(plan, "any length") != 0)
                continue;
            assert_int_equal(n, vocab);
            assert_memory_equal(want, got, vocab * sizeof *want);
        }
    }
}

static void without_recognition_another_plan_answers(void **state)
{
    (void)state;
    static const char *const names[] = {"toy-fp32", "toy-fp16", "toy-window", "tiny-hybrid-fp32"};
    static float want[MOST_VOCAB], got[MOST_VOCAB];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t vocab = 0, n = 0;
        const char *plan;
        assert_true(run(names[i], NULL, false, want, &vocab, &plan));
        assert_true(run(names[i], "attention", false, got, &n, &plan));
        assert_string_equal(plan, "unified");
        for (size_t t = 0; t < vocab; t++)
            assert_true(fabs((double)want[t] - (double)got[t]) <= 1e-4);
    }
}

static void an_unknown_pass_is_refused(void **state)
{
    (void)state;
    lithe_model_options o;
    lithe_model *m = NULL;
    lithe_error err = {0};
    lithe_model_options_init(&o);
    o.without_pass = "magic";
    assert_int_equal(lithe_model_open(bundle_path("toy-fp32"), &o, &m, &err), LITHE_E_ARGUMENT);
    assert_non_null(strstr(err.message, "magic"));
    assert_non_null(strstr(err.message, "attention"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_does_not_depend_on_fusion),
        cmocka_unit_test(without_recognition_another_plan_answers),
        cmocka_unit_test(an_unknown_pass_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
