/* One answer everywhere: logits are equal bit for bit on every instruction set, with any number of threads, however the prompt was split,
 * alone or beside other sessions, and whatever the capacity. Within one kind of plan; the two kinds against each other by a tolerance.
 *
 * Without arguments: toys and fixtures. With names of bundles: those (scripts/conformance.sh). With LITHE_HASHES in the environment one run of each, at
 * the level that LITHE_CPU names: "check" compares its hash with the golden one (another machine, an emulator), "write" prints the line. */
#include "base/thread.h"
#include "support/models.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PROMPT = 37, DECODED = 3, POINTS = 1 + DECODED, NEIGHBOURS = 7 };

static const char *const everyday[] = {
    "toy-fp32",   "toy-fp16",        "toy-wo8",       "toy-int8",    "toy-int4c",        "toy-int4b32",
    "toy-window", "toy-window-int8", "toy-recurrent", "toy-layouts", "tiny-hybrid-fp32", "tiny-hybrid-int8",
};
enum { N_EVERYDAY = sizeof everyday / sizeof *everyday };
/* Under sanitizers, where each takes long: one of each kind. */
static const char *const sanitized[] = {"toy-fp32", "toy-int8", "toy-recurrent"};

/* How a prompt is cut: pieces of these lengths, the last one repeated until the prompt is used up. */
typedef struct split {
    const char *name;
    size_t pieces[4];
} split;
static const split splits[] = {{"37", {37}}, {"37x1", {1}}, {"32+5", {32, 5}}, {"4x8+5", {8}}, {"3+30+4", {3, 30, 4}}};
enum { N_SPLITS = sizeof splits / sizeof *splits };

/* What a run left: the logits after the prompt and after each decoded token. */
typedef struct trace {
    float *logits; /* [POINTS][vocab] */
    size_t vocab;
} trace;

static void trace_free(trace *t)
{
    free(t->logits);
    *t = (trace){0};
}

static void keep(trace *t, size_t point, lithe_session *s)
{
    size_t n = 0;
    const float *logits = must_logits(s, &n);
    if (!t->logits) {
        t->vocab = n;
        t->logits = calloc(POINTS * n, sizeof *t->logits);
        assert_non_null(t->logits);
    }
    memcpy(t->logits + point * n, logits, n * sizeof *logits);
}

static void run(trace *t, lithe_session *s, const split *how, uint32_t seed)
{
    int32_t ids[PROMPT + DECODED];
    some_ids(ids, PROMPT + DECODED, 290, seed);
    for (size_t at = 0, k = 0; at < PROMPT; k += k < 3 && how->pieces[k + 1] > 0) {
        size_t n = how->pieces[k] < PROMPT - at ? how->pieces[k] : PROMPT - at;
        must_prefill(s, ids + at, n);
        at += n;
    }
    keep(t, 0, s);
    for (size_t i = 0; i < DECODED; i++) {
        must_decode(s, ids[PROMPT + i]);
        keep(t, i + 1, s);
    }
}

static void equal(const trace *a, const trace *b, const char *what)
{
    assert_int_equal(a->vocab, b->vocab);
    for (size_t i = 0; i < POINTS * a->vocab; i++) {
        if (memcmp(&a->logits[i], &b->logits[i], sizeof(float)) != 0) {
            fail_msg("%s: token %zu at point %zu is %.9g, not %.9g", what, i % a->vocab, i / a->vocab,
                     (double)b->logits[i], (double)a->logits[i]);
        }
    }
}

/* FNV-1a, 64 bits, over the bits of all logits. */
static uint64_t hash(const trace *t)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < POINTS * t->vocab; i++) {
        uint32_t bits;
        memcpy(&bits, &t->logits[i], sizeof bits);
        for (int k = 0; k < 32; k += 8) {
            h = (h ^ (bits >> k & 0xffu)) * 0x100000001b3u;
        }
    }
    return h;
}

static bool hashes_only(const char *how)
{
    const char *asked = getenv("LITHE_HASHES");
    return asked && (!how || strcmp(asked, how) == 0);
}

/* The answer on every machine: tests/data/golden/logits.hashes has a line "bundle plan hash" for numeric definition 1 (docs/numerics.md). With
 * LITHE_HASHES=write the line is printed instead. Bundles without a line (not everybody makes them) are not compared, unless hashes alone are
 * what is asked for. */
static void check_hash(const char *name, const char *plan, const trace *t)
{
    char line[200], bundle[64], kind[16], found[24];
    unsigned long long want;
    snprintf(found, sizeof found, "%016llx", (unsigned long long)hash(t));
    if (hashes_only("write")) {
        print_message("%s %s %s\n", name, plan, found);
        return;
    }
    bool known = false;
    FILE *f = fopen("tests/data/golden/logits.hashes", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%63s %15s %llx", bundle, kind, &want) != 3 || strcmp(bundle, name) || strcmp(kind, plan)) {
            continue;
        }
        known = true;
        if (want != hash(t)) {
            fclose(f);
            fail_msg("%s, plan %s: the logits' hash is %s, on other machines it is %016llx", name, plan, found, want);
        }
    }
    fclose(f);
    if (hashes_only("check") && !known) {
        fail_msg("%s, plan %s: logits.hashes has no such line", name, plan);
    }
}

static double distance(const trace *a, const trace *b)
{
    double most = 0;
    for (size_t i = 0; i < POINTS * a->vocab; i++) {
        double d = fabs((double)a->logits[i] - (double)b->logits[i]);
        most = d > most || isnan(d) ? d : most;
    }
    return most;
}

static lithe_model *open_as(const char *name, lithe_plan_kind plan, uint32_t threads)
{
    lithe_model_options options;
    lithe_model_options_init(&options);
    options.plan = plan;
    options.n_threads = threads;
    const char *path = bundle_path(name);
    if (!path) {
        fail_msg("%s: no such bundle", name);
    }
    return must_open(path, &options);
}

static void once(trace *t, const char *name, lithe_plan_kind plan, uint32_t threads, const split *how)
{
    lithe_model *model = open_as(name, plan, threads);
    lithe_session *session = must_create(model, 0);
    run(t, session, how, 1);
    lithe_session_destroy(session);
    lithe_model_close(model);
}

/* Levels, threads and splits against one run in C on one thread: small models in every combination. Real ones, which take seconds a token in C,
 * run there once (as exported, where whole signatures run, not at all), and each split at each other level on one, two and three
 * threads in turn. */
static void sweep(const char *name, lithe_plan_kind plan, trace *first)
{
    char what[160];
    lithe_error err = {0};
    bool small = strncmp(name, "t", 1) == 0;
    bool spared = !small && plan == LITHE_PLAN_AS_EXPORTED;
    if (!hashes_only(NULL)) {
        assert_int_equal(lithe_set_cpu(spared ? "auto" : "c", &err), LITHE_OK);
    }
    once(first, name, plan, hashes_only(NULL) ? 2 : 1, &splits[0]);
    check_hash(name, plan == LITHE_PLAN_ANY_LENGTH ? "any" : "exported", first);
    if (hashes_only(NULL)) {
        return;
    }
    for (const char *const *level = cpu_levels + !small; *level; level++) {
        if (lithe_set_cpu(*level, &err) != LITHE_OK) {
            continue;
        }
        for (uint32_t threads = 1; threads <= 3; threads++) {
            lithe_model *model = open_as(name, plan, threads);
            lithe_session *session = must_create(model, 0);
            for (size_t i = small ? 0 : threads - 1; i < N_SPLITS; i += small ? 1 : 3) {
                trace t = {0};
                lithe_session_reset(session);
                run(&t, session, &splits[i], 1);
                snprintf(what, sizeof what, "%s, %s, %u threads, split %s", name, *level, threads, splits[i].name);
                equal(first, &t, what);
                trace_free(&t);
            }
            lithe_session_destroy(session);
            lithe_model_close(model);
        }
    }
    assert_int_equal(lithe_set_cpu("auto", &err), LITHE_OK);
}

/* A float sum in another order moves int8 steps of larger models, and from there on everything: for them tests/golden holds both kinds of plan
 * against the reference, which is what can be asked. */
static double tolerance_between_plans(const char *name)
{
    if (strncmp(name, "toy-", 4) == 0) {
        return 1e-4;
    }
    return strstr(name, "int") ? (double)INFINITY : 5e-3;
}

static void equal_on_every_level_with_any_threads_and_splits(void **state)
{
    trace any = {0}, exported = {0};
    sweep(*state, LITHE_PLAN_ANY_LENGTH, &any);
    sweep(*state, LITHE_PLAN_AS_EXPORTED, &exported);
    double d = distance(&any, &exported);
    print_message("    %s: the two kinds of plan differ by %.3g\n", (const char *)*state, d);
    assert_true(d <= tolerance_between_plans(*state));
    trace_free(&any);
    trace_free(&exported);
}

/* ---------------------------------------------------------------------------------------------- neighbours */

/* Sessions on threads of their own: cmocka's failures belong to the test's thread, so a neighbour only notes what it saw. */
typedef struct neighbour {
    lithe_session *session;
    uint32_t seed;
    const trace *alone;
    bool wrong;
} neighbour;

static bool same_run(lithe_session *s, uint32_t seed, const trace *alone)
{
    int32_t ids[PROMPT + DECODED];
    const float *logits = NULL;
    size_t n = 0;
    some_ids(ids, PROMPT + DECODED, 290, seed);
    lithe_session_reset(s);
    if (lithe_session_prefill(s, ids, PROMPT, NULL, NULL, NULL)) {
        return false;
    }
    for (size_t i = 0; i < POINTS; i++) {
        if (lithe_session_logits(s, &logits, &n, NULL) || n != alone->vocab ||
            memcmp(logits, alone->logits + i * n, n * sizeof *logits) != 0) {
            return false;
        }
        if (i < DECODED && lithe_session_decode(s, ids[PROMPT + i], NULL)) {
            return false;
        }
    }
    return true;
}

static void be_a_neighbour(void *user)
{
    neighbour *me = user;
    for (int round = 0; round < 3; round++) {
        me->wrong |= !same_run(me->session, me->seed, me->alone);
    }
}

static void beside_others(const char *name, lithe_plan_kind plan)
{
    lithe_model *model = open_as(name, plan, 2);
    neighbour all[NEIGHBOURS + 1];
    trace alone[NEIGHBOURS + 1] = {{0}};
    thread_handle *threads[NEIGHBOURS] = {0};
    lithe_error err = {0};
    for (uint32_t i = 0; i <= NEIGHBOURS; i++) {
        all[i] = (neighbour){.session = must_create(model, 0), .seed = i + 1, .alone = &alone[i]};
        run(&alone[i], all[i].session, &splits[0], i + 1);
    }
    for (size_t i = 0; i < NEIGHBOURS; i++) {
        must(thread_start(&threads[i], be_a_neighbour, &all[i], &err), &err, "thread_start");
    }
    be_a_neighbour(&all[NEIGHBOURS]);
    for (size_t i = 0; i < NEIGHBOURS; i++) {
        thread_join(threads[i]);
    }
    for (size_t i = 0; i <= NEIGHBOURS; i++) {
        if (all[i].wrong) {
            fail_msg("%s: session %zu answered otherwise beside the others than alone", name, i);
        }
        lithe_session_destroy(all[i].session);
        trace_free(&alone[i]);
    }
    lithe_model_close(model);
}

static void equal_beside_seven_other_sessions(void **state)
{
    beside_others(*state, LITHE_PLAN_ANY_LENGTH);
    beside_others(*state, LITHE_PLAN_AS_EXPORTED);
}

/* ------------------------------------------------------------------------------------------------ capacity */

static lithe_work work_with(const char *name, uint32_t context, trace *t)
{
    int32_t ids[16];
    lithe_model_options options;
    lithe_model_options_init(&options);
    options.n_threads = 1;
    options.context = context;
    some_ids(ids, 16, 290, 3);
    lithe_model *model = must_open(bundle_path(name), &options);
    lithe_session *session = must_create(model, 0);
    must_prefill(session, ids, 12);
    keep(t, 0, session);
    for (size_t i = 0; i < 4; i++) {
        must_decode(session, ids[12 + i]);
        keep(t, i < DECODED ? i + 1 : DECODED, session);
    }
    lithe_work work;
    lithe_session_get_work(session, &work);
    lithe_session_destroy(session);
    lithe_model_close(model);
    return work;
}

/* With 16 tokens used, what attention reads must not depend on what the context could hold. */
static void reads_follow_use_not_capacity(void **state)
{
    trace small = {0}, large = {0};
    lithe_work a = work_with(*state, 16, &small), b = work_with(*state, 0, &large);
    assert_int_equal(a.tokens, 16);
    assert_int_equal(b.tokens, 16);
    assert_true(a.positions_read > 0);
    assert_int_equal(a.positions_read, b.positions_read);
    assert_int_equal(a.state_bytes, b.state_bytes);
    equal(&small, &large, *state);
    trace_free(&small);
    trace_free(&large);
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[3 * 64];
    bool few = getenv("LITHE_SANITIZED") != NULL;
    size_t n = 0, n_names = argc > 1 ? (size_t)argc - 1
                            : few    ? sizeof sanitized / sizeof *sanitized
                                     : (size_t)N_EVERYDAY;
    static const CMUnitTestFunction kinds[] = {equal_on_every_level_with_any_threads_and_splits,
                                               equal_beside_seven_other_sessions, reads_follow_use_not_capacity};
    static const char *const titles[] = {"levels, threads, splits: ", "beside others: ", "capacity: "};
    static char names[3 * 64][128], bundle[64][64];
    for (size_t i = 0; i < n_names && i < 64; i++) {
        snprintf(bundle[i], sizeof bundle[i], "%s", argc > 1 ? argv[i + 1] : few ? sanitized[i] : everyday[i]);
        for (size_t k = 0; k < (hashes_only(NULL) ? 1 : 3); k++, n++) {
            snprintf(names[n], sizeof names[n], "%s%.63s", titles[k], bundle[i]);
            tests[n] = (struct CMUnitTest){.name = names[n], .test_func = kinds[k], .initial_state = bundle[i]};
        }
    }
    return _cmocka_run_group_tests("bit equality", tests, n, NULL, NULL);
}
