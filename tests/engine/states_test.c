/* The ways to run a prompt leave the same states: keys and values in blocks (any length) against the exported layouts, recurrent states as they are. */
#include "engine/session.h"
#include "support/models.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { PROMPT = 43 };

static lithe_session *session_after(const char *name, lithe_plan_kind plan, lithe_model **m)
{
    lithe_model_options o;
    int32_t ids[PROMPT];
    lithe_model_options_init(&o);
    o.n_threads = 2;
    o.plan = plan;
    *m = must_open(bundle_path(name), &o);
    some_ids(ids, PROMPT, 290, 5);
    lithe_session *s = must_create(*m, 0);
    must_prefill(s, ids, PROMPT);
    return s;
}

static uint32_t state_named(const lithe_model *m, const char *name)
{
    for (uint32_t i = 0; i < m->decode.g.n_states; i++)
        if (!strcmp(m->decode.g.states[i].name, name))
            return i;
    fail_msg("no state %s", name);
    return 0;
}

/* Element d of head h at a position, in blocks or in the exported layout (keys [1, h, C, d], values [1, h, d, C]). */
static float element(const lithe_session *s, uint32_t i, uint32_t h, uint32_t d, uint32_t position)
{
    const graph_state *st = &s->model->decode.g.states[i];
    if (st->owned)
        return s->states[i].blocks[position / ATTENTION_BLOCK]
                                  [((size_t)h * ATTENTION_BLOCK + position % ATTENTION_BLOCK) * st->head_dim + d];
    const graph_tensor *t = &s->model->decode.g.tensors[st->input];
    const float *flat = s->states[i].flat;
    if (st->sequence_axis == 2)
        return flat[((size_t)h * (size_t)t->dims[2] + position) * (size_t)t->dims[3] + d];
    return flat[((size_t)h * (size_t)t->dims[2] + d) * (size_t)t->dims[3] + position];
}

static double state_distance(const lithe_session *a, uint32_t i, const lithe_session *b, uint32_t j)
{
    const graph *g = &a->model->decode.g;
    const graph_state *st = &g->states[i];
    double most = 0;
    if (!st->owned) {
        const graph_tensor *t = &g->tensors[st->input];
        for (uint64_t k = 0; k < t->elements; k++)
            most = fmax(most, fabs((double)((float *)a->states[i].flat)[k] - (double)((float *)b->states[j].flat)[k]));
        return most;
    }
    for (uint32_t h = 0; h < st->n_heads; h++)
        for (uint32_t p = 0; p < PROMPT; p++)
            for (uint32_t d = 0; d < st->head_dim; d++)
                most = fmax(most, fabs((double)element(a, i, h, d, p) - (double)element(b, j, h, d, p)));
    return most;
}

static void compare(const char *name, lithe_plan_kind other, double tolerance)
{
    lithe_model *m, *n;
    lithe_session *a = session_after(name, LITHE_PLAN_ANY_LENGTH, &m), *b = session_after(name, other, &n);
    assert_true(m->decode.g.n_states > 0);
    for (uint32_t i = 0; i < m->decode.g.n_states; i++) {
        double d = state_distance(a, i, b, state_named(n, m->decode.g.states[i].name));
        if (!(d <= tolerance))
            fail_msg("%s: state %s differs by %g", name, m->decode.g.states[i].name, d);
    }
    lithe_session_destroy(a);
    lithe_session_destroy(b);
    lithe_model_close(m);
    lithe_model_close(n);
}

static void all_ways_write_the_same_states(void **state)
{
    (void)state;
    static const char *const names[] = {"toy-fp32",    "toy-fp16",   "toy-wo8",       "toy-int8",
                                        "toy-int4b32", "toy-window", "toy-recurrent", "tiny-hybrid-fp32"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        /* with quantised activations a last bit may move one to the next int8 step */
        double tolerance = strstr(names[i], "int") ? 0.1 : 1e-4;
        compare(names[i], LITHE_PLAN_AS_EXPORTED, tolerance);
        compare(names[i], LITHE_PLAN_UNIFIED, tolerance);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_ways_write_the_same_states)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
