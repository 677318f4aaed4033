/* Prefill signatures as one function of the length: the graph made for another signature's length is that signature's graph; other lengths import;
 * and what cannot be unified says why. */
#include "graph/unify.h"

#include "bundle/bundle.h"
#include "graph/pass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct opened {
    bundle *b;
    tflite_model m;
    arena arena;
} opened;

static void open_model(opened *o, const char *path)
{
    lithe_error err = {0};
    if (bundle_open(&o->b, path, &err))
        fail_msg("%s", err.message);
    arena_init(&o->arena, 0);
    int32_t s = bundle_find(o->b, SECTION_TFLITE_MODEL, "tf_lite_prefill_decode");
    assert_true(s >= 0);
    if (tflite_open(&o->m, o->b->sections[s].data, (bytes){0}, &o->arena, &err))
        fail_msg("%s", err.message);
}

static void close_model(opened *o)
{
    arena_fini(&o->arena);
    bundle_close(o->b);
}

static void same_graphs(const graph *a, const graph *b)
{
    assert_int_equal(a->n_nodes, b->n_nodes);
    for (uint32_t i = 0; i < a->n_nodes; i++) {
        const graph_node *x = &a->nodes[i], *y = &b->nodes[i];
        assert_int_equal(x->op, y->op);
        assert_memory_equal(&x->a, &y->a, sizeof x->a);
        assert_int_equal(x->n_outputs, y->n_outputs);
        for (uint32_t k = 0; k < x->n_outputs; k++) {
            const graph_tensor *t = &a->tensors[x->outputs[k]], *u = &b->tensors[y->outputs[k]];
            assert_int_equal(t->rank, u->rank);
            assert_memory_equal(t->dims, u->dims, t->rank * sizeof *t->dims);
        }
    }
}

static void import_at(opened *o, const graph_family *f, uint32_t n, graph *g)
{
    lithe_error err = {0};
    if (graph_import_length(g, f, n, NULL, 0, &o->arena, &err))
        fail_msg("length %u: %s", n, err.message);
}

static void check_bundle(const char *path)
{
    opened o;
    const char *keys[16];
    uint32_t n_keys = 0;
    graph_family f;
    open_model(&o, path);
    for (uint32_t i = 0; i < o.m.n_signatures; i++)
        if (!strncmp(o.m.signatures[i].key, "prefill", 7))
            keys[n_keys++] = o.m.signatures[i].key;
    assert_int_equal(graph_unify(&f, &o.m, keys, n_keys, &o.arena, NULL), LITHE_OK);
    if (f.why_not[0])
        fail_msg("%s: %s", path, f.why_not);
    assert_true(f.n_numbers > 10);
    for (uint32_t i = 0; i < n_keys; i++) {
        graph made, exported;
        assert_int_equal(graph_import(&exported, &o.m, keys[i], NULL, 0, &o.arena, NULL), LITHE_OK);
        import_at(&o, &f, (uint32_t)atoi(strrchr(keys[i], '_') + 1), &made);
        same_graphs(&made, &exported);
    }
    static const uint32_t lengths[] = {1, 2, 5, 37, 50};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        graph g;
        import_at(&o, &f, lengths[i], &g);
        assert_int_equal(graph_run_passes(&g, false, false, NULL, NULL), LITHE_OK);
    }
    close_model(&o);
}

static void hybrids_unify(void **state)
{
    (void)state;
    check_bundle("tests/data/bundles/tiny-hybrid-fp32.litertlm");
    check_bundle("tests/data/bundles/tiny-hybrid-int8.litertlm");
}

static void real_bundles_unify(void **state)
{
    (void)state;
    static const char *const names[] = {"smollm2-135m-int8", "smollm2-135m-int4b32", "gemma3-270m-int8",
                                        "gemma3-270m-fp16", "gemma3-270m-int4b32"};
    const char *folder = getenv("LITHE_BUNDLES");
    char path[512];
    if (!folder)
        skip();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s.litertlm", folder, names[i]);
        check_bundle(path);
    }
}

static void a_reason_is_given(void **state)
{
    (void)state;
    opened o;
    graph_family f;
    graph g;
    lithe_error err = {0};
    open_model(&o, "tests/data/bundles/tiny-hybrid-fp32.litertlm");
    const char *one[] = {"prefill_16"}, *twice[] = {"prefill_16", "prefill_16"}, *other[] = {"prefill_16", "decode"},
               *none[] = {"prefill_16", "prefill_17"};
    assert_int_equal(graph_unify(&f, &o.m, one, 1, &o.arena, NULL), LITHE_OK);
    assert_string_equal(f.why_not, "there are not two prefill signatures to compare");
    assert_int_equal(graph_import_length(&g, &f, 5, NULL, 0, &o.arena, &err), LITHE_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "there are not two"));
    assert_int_equal(graph_unify(&f, &o.m, twice, 2, &o.arena, NULL), LITHE_OK);
    assert_non_null(strstr(f.why_not, "have one length"));
    assert_int_equal(graph_unify(&f, &o.m, other, 2, &o.arena, NULL), LITHE_OK);
    assert_true(f.why_not[0]);
    assert_int_equal(graph_unify(&f, &o.m, none, 2, &o.arena, &err), LITHE_E_MODEL);
    close_model(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hybrids_unify),
        cmocka_unit_test(real_bundles_unify),
        cmocka_unit_test(a_reason_is_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
