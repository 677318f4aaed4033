/* The executor: any number of threads and any grouping of rows give the same bits as one thread, one row at a time; barriers stand where values
 * are handed over; cancelling and the check for values that are not finite. Random graphs of linears and element-wise ops. */
#include "base/cpuinfo.h"
#include "base/memory.h"
#include "cpu/exec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WIDTH = 192, ROWS = 9, NODES = 40 };

typedef struct fixture {
    arena arena;
    graph g;
    plan p;
    exec_shared *shared;
    exec_plan *exec;
    uint32_t seed;
    float *in; /* [ROWS][WIDTH] */
} fixture;

static uint32_t next(fixture *f)
{
    f->seed = f->seed * 1664525u + 1013904223u;
    return f->seed >> 8;
}

static float next_float(fixture *f)
{
    return (float)(next(f) % 2001) / 1000 - 1;
}

static uint32_t tensor(fixture *f)
{
    int32_t dims[2] = {1, WIDTH};
    return graph_add_tensor(&f->g, "t", GRAPH_F32, 2, dims);
}

static uint32_t weights(fixture *f, bool int8)
{
    int32_t dims[2] = {WIDTH, WIDTH};
    uint32_t t;
    if (int8) {
        int8_t *q = ARENA_ARRAY(&f->arena, int8_t, WIDTH * WIDTH);
        float *scales = ARENA_ARRAY(&f->arena, float, WIDTH);
        for (int i = 0; i < WIDTH * WIDTH; i++)
            q[i] = (int8_t)((int)(next(f) % 255) - 127);
        for (int i = 0; i < WIDTH; i++)
            scales[i] = (1 + next_float(f) / 2) / (127.F * 14);
        t = graph_add_constant(&f->g, "w8", GRAPH_I8, 2, dims, q);
        f->g.tensors[t].quant = GRAPH_QUANT_CHANNEL;
        f->g.tensors[t].scales = scales;
        f->g.tensors[t].n_scales = WIDTH;
        return t;
    }
    float *w = ARENA_ARRAY(&f->arena, float, WIDTH *WIDTH);
    for (int i = 0; i < WIDTH * WIDTH; i++)
        w[i] = next_float(f) / 10;
    return graph_add_constant(&f->g, "w", GRAPH_F32, 2, dims, w);
}

/* A random graph; every value stays within a few units. */
static void make(fixture *f, uint32_t seed)
{
    memset(f, 0, sizeof *f);
    arena_init(&f->arena, 0);
    f->g.arena = &f->arena;
    f->g.signature = "test";
    f->seed = seed * 7919 + 1;
    f->g.inputs = ARENA_ARRAY(&f->arena, graph_input, 1);
    f->g.outputs = ARENA_ARRAY(&f->arena, graph_output, 2);
    uint32_t values[NODES + 1], n = 0;
    values[n++] = tensor(f);
    f->g.inputs[f->g.n_inputs++] = (graph_input){.name = "x", .tensor = values[0], .role = GRAPH_IN_OTHER};
    for (int i = 0; i < NODES; i++) {
        uint32_t out = tensor(f), recent = n > 6 ? n - 6 : 0;
        uint32_t in[3] = {values[recent + next(f) % (n - recent)], values[recent + next(f) % (n - recent)], GRAPH_NONE};
        graph_node *node;
        uint32_t kind = next(f) % 5;
        if (kind < 2) {
            in[1] = weights(f, kind == 0);
            node = graph_add_node(&f->g, OP_FULLY_CONNECTED, in, 3, &out, 1);
            node->a.dynamic_quant = kind == 0;
        } else if (kind == 2) {
            node = graph_add_node(&f->g, OP_TANH, in, 1, &out, 1);
        } else {
            node = graph_add_node(&f->g, kind == 3 ? OP_MAXIMUM : OP_SUB, in, 2, &out, 1);
        }
        node->source = (uint32_t)i;
        values[n++] = out;
    }
    f->g.outputs[f->g.n_outputs++] = (graph_output){"a", values[n - 1], GRAPH_NONE};
    f->g.outputs[f->g.n_outputs++] = (graph_output){"b", values[n - 3], GRAPH_NONE};
    graph_index(&f->g);
    assert_int_equal(plan_create(&f->p, &f->g, false, NULL), LITHE_OK);
    assert_int_equal(exec_shared_create(&f->shared, cpu_features_enabled(), NULL), LITHE_OK);
    lithe_error err = {0};
    if (exec_plan_create(&f->exec, &f->p, f->shared, false, &err))
        fail_msg("%s", err.message);
    f->in = ARENA_ARRAY(&f->arena, float, ROWS *WIDTH);
    for (int i = 0; i < ROWS * WIDTH; i++)
        f->in[i] = next_float(f);
}

static void drop(fixture *f)
{
    exec_plan_destroy(f->exec);
    exec_shared_destroy(f->shared);
    arena_fini(&f->arena);
}

/* Runs rows [first, first + n) and copies both outputs of each row. */
static lithe_status run(fixture *f, thread_pool *pool, uint32_t first, uint32_t n, float *out,
                        const atomic_bool *cancel, exec_fault *fault)
{
    const void *inputs[1] = {f->in + (size_t)first * WIDTH};
    uint64_t size = exec_memory(f->exec, n, n, thread_pool_size(pool), 0);
    void *memory = memory_alloc((size_t)size);
    assert_non_null(memory);
    memset(memory, 0xff, (size_t)size); /* NaN everywhere: what is read before it is written shows */
    exec_run r = {.n = n, .inputs = inputs, .memory = memory, .memory_bytes = size, .cancel = cancel, .fault = fault};
    lithe_status st = exec_run_plan(f->exec, pool, &r, NULL);
    for (uint32_t i = 0; i < n && !st; i++)
        for (uint32_t o = 0; o < 2; o++)
            memcpy(out + ((first + i) * 2 + o) * WIDTH, exec_output(f->exec, &r, o, i), WIDTH * sizeof(float));
    memory_free(memory);
    return st;
}

static void threads_and_rows_do_not_matter(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 12; seed++) {
        fixture f;
        make(&f, seed);
        static float want[ROWS * 2 * WIDTH], got[ROWS * 2 * WIDTH];
        for (uint32_t threads = 1; threads <= 3; threads++) {
            thread_pool *pool;
            assert_int_equal(thread_pool_create(&pool, threads, NULL), LITHE_OK);
            if (threads == 1)
                for (uint32_t r = 0; r < ROWS; r++)
                    assert_int_equal(run(&f, pool, r, 1, want, NULL, NULL), LITHE_OK);
            for (int i = 0; i < ROWS * 2 * WIDTH; i++)
                assert_true(isfinite(want[i]));
            static const uint32_t splits[][4] = {{9}, {1, 8}, {4, 5}, {2, 3, 4}, {1, 1, 7}};
            for (size_t s = 0; s < sizeof splits / sizeof *splits; s++) {
                uint32_t at = 0;
                for (int i = 0; i < 4 && splits[s][i]; i++) {
                    assert_int_equal(run(&f, pool, at, splits[s][i], got, NULL, NULL), LITHE_OK);
                    at += splits[s][i];
                }
                assert_int_equal(at, ROWS);
                assert_memory_equal(got, want, sizeof want);
            }
            thread_pool_destroy(pool);
        }
        drop(&f);
    }
}

static void levels_do_not_matter(void **state)
{
    (void)state;
    static float want[ROWS * 2 * WIDTH], got[ROWS * 2 * WIDTH];
    for (uint32_t seed = 20; seed < 24; seed++) {
        fixture f;
        make(&f, seed);
        thread_pool *pool;
        assert_int_equal(thread_pool_create(&pool, 2, NULL), LITHE_OK);
        assert_int_equal(run(&f, pool, 0, ROWS, want, NULL, NULL), LITHE_OK);
        exec_plan_destroy(f.exec);
        exec_shared_destroy(f.shared);
        assert_int_equal(exec_shared_create(&f.shared, 0, NULL), LITHE_OK);
        assert_int_equal(exec_plan_create(&f.exec, &f.p, f.shared, false, NULL), LITHE_OK);
        assert_int_equal(run(&f, pool, 0, ROWS, got, NULL, NULL), LITHE_OK);
        assert_memory_equal(got, want, sizeof want);
        thread_pool_destroy(pool);
        drop(&f);
    }
}

static void a_set_flag_cancels(void **state)
{
    (void)state;
    fixture f;
    make(&f, 3);
    thread_pool *pool;
    static float out[ROWS * 2 * WIDTH];
    assert_int_equal(thread_pool_create(&pool, 2, NULL), LITHE_OK);
    atomic_bool cancel = true;
    assert_int_equal(run(&f, pool, 0, ROWS, out, &cancel, NULL), LITHE_E_CANCELLED);
    cancel = false;
    assert_int_equal(run(&f, pool, 0, ROWS, out, &cancel, NULL), LITHE_OK);
    thread_pool_destroy(pool);
    drop(&f);
}

static void the_first_bad_node_is_named(void **state)
{
    (void)state;
    fixture f;
    make(&f, 5);
    thread_pool *pool;
    static float out[ROWS * 2 * WIDTH];
    assert_int_equal(thread_pool_create(&pool, 2, NULL), LITHE_OK);
    exec_fault fault;
    assert_int_equal(run(&f, pool, 0, ROWS, out, NULL, &fault), LITHE_OK);
    assert_int_equal(fault.node, GRAPH_NONE);
    f.in[4 * WIDTH + 7] = NAN;
    assert_int_equal(run(&f, pool, 0, ROWS, out, NULL, &fault), LITHE_OK);
    assert_int_equal(f.g.nodes[fault.node].inputs[0], f.g.inputs[0].tensor);
    assert_int_equal(fault.row, 4);
    for (uint32_t i = 0; i < fault.node; i++)
        assert_int_not_equal(f.g.nodes[i].inputs[0], f.g.inputs[0].tensor);
    thread_pool_destroy(pool);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_rows_do_not_matter),
        cmocka_unit_test(levels_do_not_matter),
        cmocka_unit_test(a_set_flag_cancels),
        cmocka_unit_test(the_first_bad_node_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
