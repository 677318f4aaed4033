/* Against the reference's own figures (tests/data/golden, tests/data/toys/golden).
 *
 * Without arguments: toys and fixtures, both kinds of plan. With names of bundles: those, whole; a real bundle that is not there is then
 * a failure. scripts/conformance.sh does that for each. */
#include "golden/support.h"
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct subject {
    const char *name;
    golden_rule rule;
    double tolerance;
    const char *golden; /* whose golden holds; NULL: its own */
} subject;

/* clang-format off */
/* Toys are small enough for int8 steps to fall as the reference's do: nothing is excused there. */
static const subject everyday[] = {
    {"toy-fp32", GOLDEN_GREEDY, 1e-4, NULL},
    {"toy-fp16", GOLDEN_GREEDY, 1e-4, NULL},
    {"toy-wo8", GOLDEN_GREEDY, 1e-4, NULL},
    {"toy-window", GOLDEN_GREEDY, 1e-4, NULL},
    {"toy-recurrent", GOLDEN_GREEDY, 1e-4, NULL},
    {"toy-int8", GOLDEN_GREEDY, 1e-4, NULL},
    {"toy-int4c", GOLDEN_GREEDY, 1e-4, NULL},
    {"toy-int4b32", GOLDEN_GREEDY, 1e-4, NULL},
    {"toy-window-int8", GOLDEN_GREEDY, 1e-4, NULL},
    {"toy-layouts", GOLDEN_GREEDY, 1e-4, NULL},
    {"tiny-hybrid-fp32", GOLDEN_GREEDY, 1e-4, NULL},
    {"tiny-hybrid-int8", GOLDEN_FLOOR, 0, NULL},
};
static const subject real[] = {
    {"gemma3-270m-fp32", GOLDEN_GREEDY, 1e-3, NULL},
    {"gemma3-270m-fp16", GOLDEN_GREEDY, 1e-3, NULL},
    {"gemma3-270m-wo8", GOLDEN_GREEDY, 1e-3, NULL},
    {"gemma3-270m-int8", GOLDEN_FLOOR, 0, NULL},
    {"gemma3-270m-int4c", GOLDEN_FLOOR, 0, NULL},
    {"gemma3-270m-int4b32", GOLDEN_FLOOR, 0, NULL},
    {"smollm2-135m-int8", GOLDEN_FLOOR, 0, NULL},
    {"smollm2-135m-int8-hfjinja", GOLDEN_FLOOR, 0, "smollm2-135m-int8"},   /* the same model, other metadata */
    {"smollm2-135m-int8-nojinja", GOLDEN_FLOOR, 0, "smollm2-135m-int8"},
    {"smollm2-135m-int4b32", GOLDEN_FLOOR, 0, NULL},
};
/* clang-format on */
enum { N_EVERYDAY = sizeof everyday / sizeof *everyday, N_REAL = sizeof real / sizeof *real };

static bool is_toy(const subject *s)
{
    return strncmp(s->name, "toy-", 4) == 0;
}

static void check(const subject *s, lithe_plan_kind plan)
{
    golden g;
    char path[256];
    snprintf(path, sizeof path, "tests/data/%s/%s.json", is_toy(s) ? "toys/golden" : "golden",
             s->golden ? s->golden : s->name);
    golden_read(&g, path);
    const char *bundle = bundle_path(s->name);
    if (!bundle) {
        fail_msg("%s: no such bundle; scripts/make-bundle.sh makes it", s->name);
    }
    golden_limits limits = {.rule = s->rule, .tolerance = s->tolerance, .plan = plan};
    golden_check(&g, s->name, bundle, &limits);
    golden_free(&g);
}

static void check_any_length(void **state)
{
    check(*state, LITHE_PLAN_ANY_LENGTH);
}

static void check_as_exported(void **state)
{
    check(*state, LITHE_PLAN_AS_EXPORTED);
}

static const subject *find(const char *name)
{
    for (size_t i = 0; i < N_EVERYDAY + N_REAL; i++) {
        const subject *s = i < N_EVERYDAY ? &everyday[i] : &real[i - N_EVERYDAY];
        if (strcmp(s->name, name) == 0) {
            return s;
        }
    }
    return NULL;
}

static void add(struct CMUnitTest *t, const subject *s, CMUnitTestFunction fn)
{
    union {
        const void *from;
        void *to;
    } state = {s};
    *t = (struct CMUnitTest){.name = s->name, .test_func = fn, .initial_state = state.to};
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[2 * N_EVERYDAY + 2 * N_REAL];
    size_t n = 0;
    bool exported = argc > 1 && strcmp(argv[1], "--exported") == 0;
    for (int i = 1 + exported; i < argc && n < N_REAL; i++) {
        const subject *s = find(argv[i]);
        if (!s) {
            fprintf(stderr, "%s: no golden of that name\n", argv[i]);
            return 2;
        }
        add(&tests[n++], s, exported ? check_as_exported : check_any_length);
    }
    for (size_t i = 0; i < N_EVERYDAY && argc < 2; i++) {
        add(&tests[n++], &everyday[i], check_any_length);
        add(&tests[n++], &everyday[i], check_as_exported);
    }
    return _cmocka_run_group_tests("golden", tests, n, NULL, NULL);
}
