#include "golden/support.h"

#include "base/file.h"
#include "support/models.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ------------------------------------------------------------------------------------------------- reading */

static void parse(golden *g, const char *path)
{
    lithe_error err = {0};
    size_t size = 0;
    memset(g, 0, sizeof *g);
    arena_init(&g->memory, 64 * 1024);
    must(file_read_all(path, 64u << 20, &g->text, &size, &err), &err, path);
    must(json_parse(&g->doc, (bytes){g->text, size}, &err), &err, path);
}

static int32_t *read_ids(golden *g, json_ref array, size_t *n)
{
    int32_t *ids = ARENA_ARRAY(&g->memory, int32_t, json_count(g->doc, array) + 1);
    assert_non_null(ids);
    *n = 0;
    for (json_ref v = json_first(g->doc, array); v != JSON_NONE; v = json_next(g->doc, v)) {
        int64_t id = -1;
        assert_true(json_i64(g->doc, v, &id));
        ids[(*n)++] = (int32_t)id;
    }
    assert_true(*n > 0);
    return ids;
}

/* {"id": 506, "margin": 0.5, "top": [[506, 19.0], …]}; a toy's margin is the difference of its best two. */
static void read_step(golden *g, json_ref v, golden_step *s)
{
    int64_t id = -1;
    assert_true(json_i64(g->doc, json_get(g->doc, v, "id"), &id));
    s->id = (int32_t)id;
    for (json_ref t = json_first(g->doc, json_get(g->doc, v, "top")); t != JSON_NONE && s->n_top < GOLDEN_TOP;
         t = json_next(g->doc, t)) {
        json_ref first = json_first(g->doc, t);
        assert_true(json_i64(g->doc, first, &id));
        assert_true(json_f64(g->doc, json_next(g->doc, first), &s->top[s->n_top]));
        s->top_ids[s->n_top++] = (int32_t)id;
    }
    assert_int_equal(s->n_top, GOLDEN_TOP);
    s->margin = s->top[0] - s->top[1];
    json_f64(g->doc, json_get(g->doc, v, "margin"), &s->margin);
}

static void read_prompt(golden *g, json_ref v, const char *ids_key, golden_prompt *p)
{
    json_ref steps = json_get(g->doc, v, "steps");
    p->name = json_string(g->doc, json_get(g->doc, v, "name"), &g->memory, NULL);
    p->ids = read_ids(g, json_get(g->doc, v, ids_key), &p->n_ids);
    p->n_steps = json_count(g->doc, steps);
    p->steps = ARENA_ARRAY(&g->memory, golden_step, p->n_steps + 1);
    assert_true(p->n_steps > 0 && p->steps);
    golden_step *s = p->steps;
    for (json_ref i = json_first(g->doc, steps); i != JSON_NONE; i = json_next(g->doc, i)) {
        *s = (golden_step){0};
        read_step(g, i, s++);
    }
}

static void read_floor(golden *g, json_ref floor)
{
    g->has_floor = json_f64(g->doc, json_get(g->doc, floor, "rms_top5"), &g->floor_rms) &&
                   json_f64(g->doc, json_get(g->doc, floor, "argmax_agree"), &g->floor_agree);
}

static void read_toy(golden *g, json_ref root)
{
    json_ref first = json_get(g->doc, root, "first_logits");
    g->n_prompts = 1;
    g->prompts = ARENA_ARRAY(&g->memory, golden_prompt, 1);
    assert_non_null(g->prompts);
    read_prompt(g, root, "prompt", g->prompts);
    g->first_logits = ARENA_ARRAY(&g->memory, double, json_count(g->doc, first) + 1);
    assert_non_null(g->first_logits);
    for (json_ref v = json_first(g->doc, first); v != JSON_NONE; v = json_next(g->doc, v)) {
        assert_true(json_f64(g->doc, v, &g->first_logits[g->n_first++]));
    }
}

void golden_read(golden *g, const char *path)
{
    parse(g, path);
    json_ref root = 0, prompts = json_get(g->doc, root, "prompts");
    read_floor(g, json_get(g->doc, root, "floor"));
    if (prompts == JSON_NONE) {
        read_toy(g, root);
        return;
    }
    g->prompts = ARENA_ARRAY(&g->memory, golden_prompt, json_count(g->doc, prompts) + 1);
    assert_non_null(g->prompts);
    for (json_ref v = json_first(g->doc, prompts); v != JSON_NONE; v = json_next(g->doc, v)) {
        read_prompt(g, v, "ids", &g->prompts[g->n_prompts++]);
    }
    assert_true(g->n_prompts > 0);
}

void golden_free(golden *g)
{
    json_free(g->doc);
    free(g->text);
    arena_fini(&g->memory);
}

/* ----------------------------------------------------------------------------------------------- comparing */

typedef struct tally {
    size_t n_steps, n_agree, n_logits, n_excused;
    double sum_squares, largest;
} tally;

static double rms(const tally *t)
{
    return t->n_logits ? sqrt(t->sum_squares / (double)t->n_logits) : 0;
}

static void compare_step(const golden *g, const golden_limits *l, const char *prompt, size_t step,
                         const golden_step *want, const float *logits, size_t n, tally *t)
{
    for (size_t i = 0; i < want->n_top; i++) {
        assert_in_range(want->top_ids[i], 0, n - 1);
        double d = fabs((double)logits[want->top_ids[i]] - want->top[i]);
        t->sum_squares += d * d;
        t->largest = d > t->largest || isnan(d) ? d : t->largest;
        t->n_logits++;
    }
    size_t best = best_of(logits, n);
    t->n_steps++;
    t->n_agree += best == (size_t)want->id;
    if (l->rule != GOLDEN_GREEDY || best == (size_t)want->id) {
        return;
    }
    double allowed = g->has_floor ? 10 * g->floor_rms : 0;
    if (want->margin >= allowed) {
        fail_msg("%s step %zu: chose %zu, the reference %d by a margin of %g, which is not under %g", prompt, step,
                 best, want->id, want->margin, allowed);
    }
    print_message("    %s step %zu: %zu instead of %d, margin %g < %g\n", prompt, step, best, want->id, want->margin,
                  allowed);
    t->n_excused++;
}

static void run_prompt(const golden *g, const golden_limits *l, lithe_session *s, const golden_prompt *p, tally *t)
{
    size_t n = 0;
    lithe_session_reset(s);
    must_prefill(s, p->ids, p->n_ids);
    for (size_t i = 0; i < p->n_steps; i++) {
        const float *logits = must_logits(s, &n);
        compare_step(g, l, p->name ? p->name : "prompt", i, &p->steps[i], logits, n, t);
        if (i == 0 && g->first_logits && l->rule == GOLDEN_GREEDY) {
            assert_int_equal(n, g->n_first);
            for (size_t k = 0; k < n; k++) {
                if (!(fabs((double)logits[k] - g->first_logits[k]) <= l->tolerance)) {
                    fail_msg("logit %zu after the prompt is %.7g, the reference has %.7g", k, (double)logits[k],
                             g->first_logits[k]);
                }
            }
        }
        if (i + 1 < p->n_steps) {
            must_decode(s, p->steps[i].id);
        }
    }
}

static void judge(const golden *g, const golden_limits *l, const tally *t)
{
    double agree = (double)t->n_agree / (double)t->n_steps;
    if (l->rule == GOLDEN_GREEDY) {
        if (l->tolerance > 0 && !(t->largest <= l->tolerance)) {
            fail_msg("a best logit is %g away from the reference's; allowed are %g", t->largest, l->tolerance);
        }
        return;
    }
    assert_true(g->has_floor);
    if (!(rms(t) <= 1.15 * g->floor_rms)) {
        fail_msg("the best five logits are %g (rms) away from the reference's; the floor is %g, allowed is 1.15 of it",
                 rms(t), g->floor_rms);
    }
    if (!(agree >= g->floor_agree - 0.03)) {
        fail_msg("%zu of %zu choices agree (%.4f); the floor is %.4f, allowed 0.03 less", t->n_agree, t->n_steps, agree,
                 g->floor_agree);
    }
}

void golden_check(const golden *g, const char *name, const char *path, const golden_limits *limits)
{
    lithe_model_options options;
    lithe_model_options_init(&options);
    options.plan = limits->plan;
    lithe_model *model = must_open(path, &options);
    lithe_session *session = must_create(model, 0);
    tally t = {0};
    for (size_t i = 0; i < g->n_prompts; i++) {
        if (!limits->max_ids || g->prompts[i].n_ids <= limits->max_ids) {
            run_prompt(g, limits, session, &g->prompts[i], &t);
        }
    }
    assert_true(t.n_steps > 0);
    print_message(
        "    %s, %s: %zu steps, rms %.3g (floor %.3g), largest %.3g, choices equal %.4f (floor %.4f), excused %zu\n",
        name, lithe_model_get_info(model)->plan, t.n_steps, rms(&t), g->floor_rms, t.largest,
        (double)t.n_agree / (double)t.n_steps, g->floor_agree, t.n_excused);
    lithe_session_destroy(session);
    lithe_model_close(model);
    judge(g, limits, &t);
}
