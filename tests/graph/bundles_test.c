/* Real exports through import and all passes: counts after each pass, what was recognised, and why not. The tiny hybrid bundles are in the
 * tree; with LITHE_BUNDLES naming a folder of the larger ones, those are checked as well. */
#include "graph/pass.h"
#include "graph/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct expected {
    const char *file;
    uint32_t section;
    uint32_t imported;
    uint32_t after[9]; /* nodes after each pass */
    uint32_t attentions, local_attentions, window;
    uint32_t deltas, scans, ropes, gated;
} expected;

static uint32_t count(const graph *g, graph_op op)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        n += !g->nodes[i].dead && (op == OP_NONE || g->nodes[i].op == op);
    }
    return n;
}

static void check_counts(const expected *e, graph *g, lithe_error *err)
{
    assert_int_equal(count(g, OP_NONE), e->imported);
    assert_int_equal(graph_n_passes, 9);
    for (uint32_t i = 0; i < graph_n_passes; i++) {
        assert_int_equal(graph_passes[i].run(g, err), LITHE_OK);
        if (count(g, OP_NONE) != e->after[i]) {
            print_error("%s after %s: %u nodes\n", e->file, graph_passes[i].name, count(g, OP_NONE));
        }
        assert_int_equal(count(g, OP_NONE), e->after[i]);
    }
}

static void check_recognised(const expected *e, const graph *g)
{
    uint32_t windows = 0, scans = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const graph_node *n = &g->nodes[i];
        if (n->op == OP_ATTENTION && n->a.window) {
            assert_int_equal(n->a.window, e->window);
            windows++;
        }
        scans = n->scan > scans ? n->scan : scans;
    }
    assert_int_equal(count(g, OP_ATTENTION), e->attentions);
    assert_int_equal(windows, e->local_attentions);
    assert_int_equal(count(g, OP_GATED_DELTA), e->deltas);
    assert_int_equal(scans, e->scans);
    assert_int_equal(count(g, OP_ROPE), e->ropes);
    assert_int_equal(count(g, OP_GATED_UNIT), e->gated);
    for (uint32_t i = 0; i < g->n_states; i++) {
        assert_int_equal(g->states[i].owned, g->states[i].kind != GRAPH_STATE_RECURRENT);
    }
    assert_true(g->any_length);
    assert_string_equal(g->why_not, "");
}

/* Weights are read as stored: no DEQUANTIZE is left, and activations are quantised only where the file has integer weights in the op itself. */
static void check_weights(const expected *e, const graph *g)
{
    bool weight_only = strstr(e->file, "wo8") != NULL;
    assert_int_equal(count(g, OP_DEQUANTIZE), 0);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const graph_node *n = &g->nodes[i];
        if (n->op == OP_FULLY_CONNECTED) {
            graph_type type = g->tensors[n->inputs[1]].type;
            assert_int_equal(n->a.dynamic_quant, (type == GRAPH_I8 || type == GRAPH_I4) && !weight_only);
            assert_int_equal(n->n_inputs, 3);
        }
    }
}

static void check(const char *folder, const expected *e)
{
    opened o;
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, e->file);
    if (!open_signature(&o, path, e->section, "decode")) {
        fail_msg("%s: %s", path, o.err.message);
    }
    check_counts(e, &o.g, &o.err);
    check_recognised(e, &o.g);
    check_weights(e, &o.g);
    close_signature(&o);
}

static const expected hybrid[] = {
    {"tiny-hybrid-fp32.litertlm", 0, 298, {298, 298, 298, 298, 289, 289, 277, 263, 263}, 1, 0, 0, 3, 3, 2, 7},
    {"tiny-hybrid-int8.litertlm", 0, 298, {298, 298, 298, 298, 289, 289, 277, 263, 263}, 1, 0, 0, 3, 3, 2, 7},
};
static const expected large[] = {
    {"gemma3-270m-int8.litertlm", 0, 802, {802, 802, 802, 802, 700, 700, 484, 466, 466}, 18, 15, 512, 0, 0, 36, 18},
    {"gemma3-270m-int4c.litertlm", 0, 802, {802, 802, 802, 802, 700, 700, 484, 466, 466}, 18, 15, 512, 0, 0, 36, 18},
    {"gemma3-270m-int4b32.litertlm", 0, 802, {802, 802, 802, 802, 700, 700, 484, 466, 466}, 18, 15, 512, 0, 0, 36, 18},
    {"gemma3-270m-fp32.litertlm", 0, 802, {802, 802, 802, 802, 700, 700, 484, 466, 466}, 18, 15, 512, 0, 0, 36, 18},
    {"gemma3-270m-fp16.litertlm", 0, 929, {802, 802, 802, 802, 700, 700, 484, 466, 466}, 18, 15, 512, 0, 0, 36, 18},
    {"gemma3-270m-wo8.litertlm", 0, 929, {802, 802, 802, 802, 700, 700, 484, 466, 466}, 18, 15, 512, 0, 0, 36, 18},
    {"smollm2-135m-int8.litertlm",
     0,
     1215,
     {1215, 1215, 1215, 1215, 1061, 1061, 701, 641, 641},
     30,
     0,
     0,
     0,
     0,
     60,
     30},
    {"smollm2-135m-int4b32.litertlm",
     0,
     1215,
     {1215, 1215, 1215, 1215, 1061, 1061, 701, 641, 641},
     30,
     0,
     0,
     0,
     0,
     60,
     30},
    {"tiny-fastvlm-int8.litertlm",
     1,
     1212,
     {1212, 1212, 1212, 1212, 1058, 1058, 698, 638, 638},
     30,
     0,
     0,
     0,
     0,
     60,
     30},
};

static void hybrid_bundles(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hybrid / sizeof *hybrid; i++) {
        check("tests/data/bundles", &hybrid[i]);
    }
}

static void large_bundles(void **state)
{
    (void)state;
    const char *folder = getenv("LITHE_BUNDLES");
    if (!folder || !*folder) {
        skip();
    }
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        check(folder, &large[i]);
    }
}

/* Every signature of every model imports and passes through what an exported plan needs. */
static void all_signatures(const char *path)
{
    opened o;
    for (uint32_t section = 0; section < 8; section++) {
        if (!open_signature(&o, path, section, "")) {
            bool has_model = o.model.n_signatures > 0;
            uint32_t n = o.model.n_signatures;
            for (uint32_t i = 0; has_model && i < n; i++) {
                graph g;
                arena a;
                arena_init(&a, 0);
                lithe_status status = graph_import(&g, &o.model, o.model.signatures[i].key, NULL, 0, &a, &o.err);
                status = status ? status : graph_run_passes(&g, false, false, NULL, &o.err);
                if (status) {
                    fail_msg("%s, model %u: %s", path, section, o.err.message);
                }
                arena_fini(&a);
            }
        }
        close_signature(&o);
    }
}

static void exported_plans(void **state)
{
    (void)state;
    all_signatures("tests/data/bundles/tiny-hybrid-int8.litertlm");
    const char *folder = getenv("LITHE_BUNDLES");
    static const char *const files[] = {"gemma3-270m-int8.litertlm", "gemma3-270m-fp16.litertlm",
                                        "smollm2-135m-int4b32.litertlm", "tiny-fastvlm-int8.litertlm"};
    for (size_t i = 0; folder && *folder && i < sizeof files / sizeof *files; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        all_signatures(path);
    }
}

/* A prefill graph is for its own length: the reason names an input or a node. */
static void prefill_is_not_any_length(void **state)
{
    (void)state;
    opened o;
    assert_true(open_signature(&o, "tests/data/bundles/tiny-hybrid-int8.litertlm", 0, "prefill_16"));
    assert_int_equal(graph_run_passes(&o.g, true, false, NULL, &o.err), LITHE_OK);
    assert_false(o.g.any_length);
    assert_string_not_equal(o.g.why_not, "");
    close_signature(&o);
}

static void embedder_is_any_length(void **state)
{
    (void)state;
    const char *folder = getenv("LITHE_BUNDLES");
    opened o;
    char path[1024];
    if (!folder || !*folder) {
        skip();
    }
    snprintf(path, sizeof path, "%s/tiny-fastvlm-int8.litertlm", folder);
    assert_true(open_signature(&o, path, 0, "embedder"));
    assert_int_equal(graph_run_passes(&o.g, true, false, NULL, &o.err), LITHE_OK);
    assert_true(o.g.any_length);
    close_signature(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hybrid_bundles),         cmocka_unit_test(large_bundles),
        cmocka_unit_test(exported_plans),         cmocka_unit_test(prefill_is_not_any_length),
        cmocka_unit_test(embedder_is_any_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
