/* Single ops against what the reference computed (tests/data/ops, made by scripts/golden/make_op_goldens.py): imported, planned as
 * exported and run, before and after the passes, in C and with every instruction set; these must agree bit for bit among themselves.
 * Allowed against the reference: 2e-6 times the sum of the absolute products for sums of products, else 2e-6 of the largest value; integers
 * and booleans exactly. `op_goldens_test NAME` runs one case and prints its difference. */
#include "base/cpuinfo.h"
#include "base/file.h"
#include "base/memory.h"
#include "bundle/tflite.h"
#include "cpu/exec.h"
#include "graph/pass.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FOLDER "tests/data/ops"

enum { MAX_TENSORS = 16, MAX_CASES = 512, ALIGNMENT = 64 };

typedef enum role { ROLE_INPUT, ROLE_OUTPUT, ROLE_BOUND } role;

typedef struct golden_tensor {
    char name[17];
    uint32_t role, type, size;
    const uint8_t *data;
} golden_tensor;

typedef struct golden {
    file_map map;
    bytes model;
    golden_tensor tensors[MAX_TENSORS];
    uint32_t n;
} golden;

static size_t padded(size_t n)
{
    return (n + 15) & ~(size_t)15;
}

static void golden_open(golden *f, const char *name)
{
    char path[300];
    lithe_error err;
    snprintf(path, sizeof path, "%s/%s.op", FOLDER, name);
    *f = (golden){0};
    if (file_map_open(&f->map, path, &err) != LITHE_OK)
        fail_msg("%s", err.message);
    const uint8_t *p = f->map.view.data, *end = p + f->map.view.size;
    uint32_t header[2];
    assert_true(f->map.view.size > 16 && memcmp(p, "LITHEOP1", 8) == 0);
    memcpy(header, p + 8, sizeof header);
    f->model = (bytes){p + 16, header[0]};
    f->n = header[1];
    assert_true(f->n <= MAX_TENSORS);
    p += 16 + padded(header[0]);
    for (uint32_t i = 0; i < f->n; i++) {
        golden_tensor *t = &f->tensors[i];
        assert_true(end - p >= 32);
        memcpy(t->name, p, 16);
        memcpy(&t->role, p + 16, 12);
        t->data = p + 32;
        p += 32 + padded(t->size);
        assert_true(p <= end);
    }
}

static const golden_tensor *golden_find(const golden *f, const char *name, uint32_t wanted)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (f->tensors[i].role == wanted && strcmp(f->tensors[i].name, name) == 0)
            return &f->tensors[i];
    fail_msg("no tensor '%s' in the golden", name);
    return NULL;
}

static uint32_t error_node(const lithe_error *err)
{
    return (uint32_t)err->node;
}

/* Runs the model; result[i] is a copy (malloc) of graph output i. Returns the number of outputs. */
typedef struct result {
    char name[17];
    uint8_t *data;
    size_t size;
} result;

static uint32_t run_model(const char *name, const golden *f, uint32_t features, bool passes, uint32_t threads,
                          result *results)
{
    lithe_error err;
    arena a;
    tflite_model m;
    graph g;
    plan p;
    exec_shared *shared = NULL;
    exec_plan *e = NULL;
    thread_pool *pool = NULL;
    arena_init(&a, 0);
    lithe_status st = tflite_open(&m, f->model, (bytes){NULL, 0}, &a, &err);
    st = st ? st : graph_import(&g, &m, "main", NULL, 0, &a, &err);
    st = st || !passes ? st : graph_run_passes(&g, false, false, NULL, &err);
    st = st ? st : plan_create(&p, &g, false, &err);
    st = st ? st : exec_shared_create(&shared, features, &err);
    st = st ? st : exec_plan_create(&e, &p, shared, false, &err);
    st = st ? st : thread_pool_create(&pool, threads, &err);
    if (st)
        fail_msg("%s (node %u): %s", name, error_node(&err), err.message);
    const void *inputs[MAX_TENSORS];
    void *states[1] = {NULL};
    for (uint32_t i = 0; i < g.n_inputs; i++)
        inputs[i] = golden_find(f, g.inputs[i].name, ROLE_INPUT)->data;
    exec_run run = {.n = 1, .first_out = 0, .inputs = inputs, .states = states};
    run.memory_bytes = exec_memory(e, 1, 1, threads, 0);
    run.memory = aligned_alloc(ALIGNMENT, (run.memory_bytes + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    assert_non_null(run.memory);
    memset(run.memory, 0xa5, run.memory_bytes);
    st = exec_run_plan(e, pool, &run, &err);
    if (st)
        fail_msg("%s: %s", name, err.message);
    const uint32_t n = g.n_outputs;
    for (uint32_t i = 0; i < n; i++) {
        const graph_tensor *t = &g.tensors[g.outputs[i].tensor];
        results[i].size = graph_type_bytes(t->type, t->elements);
        results[i].data = malloc(results[i].size);
        assert_non_null(results[i].data);
        memcpy(results[i].data, exec_output(e, &run, i, 0), results[i].size);
        snprintf(results[i].name, sizeof results[i].name, "%s", g.outputs[i].name);
    }
    free(run.memory);
    thread_pool_destroy(pool);
    exec_plan_destroy(e);
    exec_shared_destroy(shared);
    arena_fini(&a);
    return n;
}

/* Largest difference from the reference in units of what is allowed. */
static double compare(const char *name, const golden *f, const result *r)
{
    const golden_tensor *want = golden_find(f, r->name, ROLE_OUTPUT);
    const golden_tensor *bound = want + 1 < f->tensors + f->n && want[1].role == ROLE_BOUND ? want + 1 : NULL;
    if (want->size != r->size)
        fail_msg("%s: %s has %zu bytes, the reference's %u", name, r->name, r->size, want->size);
    if (want->type != TFLITE_FLOAT32)
        return memcmp(want->data, r->data, r->size) == 0 ? 0 : INFINITY;
    const float *x = (const float *)(const void *)r->data, *y = (const float *)(const void *)want->data;
    const float *b = bound ? (const float *)(const void *)bound->data : NULL;
    const size_t n = r->size / sizeof *x;
    double largest = 0, worst = 0;
    for (size_t i = 0; i < n; i++)
        largest = fabs((double)y[i]) > largest ? fabs((double)y[i]) : largest;
    for (size_t i = 0; i < n; i++) {
        const double d = fabs((double)x[i] - y[i]) / (2e-6 * (b ? (double)b[i] : largest) + 1e-37);
        if (!(d <= worst))
            worst = d;
    }
    return worst;
}

static double check_case(const char *name)
{
    static const bool passes[] = {false, true};
    const uint32_t features[] = {0, cpu_features_seen()};
    golden f;
    result first[MAX_TENSORS], results[MAX_TENSORS];
    uint32_t n_first = 0;
    double worst = 0;
    golden_open(&f, name);
    for (size_t p = 0; p < 2; p++)
        for (size_t k = 0; k < 2; k++) {
            const uint32_t n = run_model(name, &f, features[k], passes[p], k == 0 ? 1 : 2, results);
            assert_true(n > 0 && n <= MAX_TENSORS);
            for (uint32_t i = 0; i < n; i++) {
                const double d = compare(name, &f, &results[i]);
                if (!(d <= worst))
                    worst = d;
                if (k == 0)
                    first[i] = results[i];
                else if (memcmp(first[i].data, results[i].data, results[i].size) != 0)
                    fail_msg("%s: output %u differs between C and the instruction sets of this machine", name, i);
            }
            n_first = n;
            for (uint32_t i = 0; k == 1 && i < n_first; i++) {
                free(first[i].data);
                free(results[i].data);
            }
        }
    file_map_close(&f.map);
    return worst;
}

static void test_case(void **state)
{
    const char *name = *state;
    const double worst = check_case(name);
    if (!(worst <= 1))
        fail_msg("%s is %.2f times the allowed difference from the reference", name, worst);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t list_cases(char **names)
{
    size_t n = 0;
    DIR *folder = opendir(FOLDER);
    if (!folder)
        return 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL && n < MAX_CASES;) {
        const size_t length = strlen(entry->d_name);
        if (length > 3 && strcmp(entry->d_name + length - 3, ".op") == 0) {
            names[n] = calloc(1, length);
            if (names[n])
                memcpy(names[n++], entry->d_name, length - 3);
        }
    }
    closedir(folder);
    qsort(names, n, sizeof *names, by_name);
    return n;
}

int main(int argc, char **argv)
{
    static char *names[MAX_CASES];
    static struct CMUnitTest tests[MAX_CASES];
    if (argc > 1) {
        for (int i = 1; i < argc; i++)
            printf("%s: %.3f of what is allowed\n", argv[i], check_case(argv[i]));
        return 0;
    }
    const size_t n = list_cases(names);
    if (n < 100) {
        fprintf(stderr, "only %zu cases in " FOLDER "\n", n);
        return 1;
    }
    for (size_t i = 0; i < n; i++)
        tests[i] = (struct CMUnitTest){.name = names[i], .test_func = test_case, .initial_state = names[i]};
    const int failed = _cmocka_run_group_tests("op goldens", tests, n, NULL, NULL);
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    return failed;
}
