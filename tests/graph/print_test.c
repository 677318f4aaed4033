/* What `inspect --graph` shows. */
#include "base/json.h"
#include "graph/pass.h"
#include "graph/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void small(ir *f)
{
    ir_begin(f);
    uint32_t x = ir_input(f, "tokens", GRAPH_IN_TOKENS, GRAPH_I32, SHAPE(1, 2));
    uint32_t s = ir_state(f, "kv_cache_c_0", GRAPH_STATE_RECURRENT, -1, SHAPE(2));
    uint32_t y = ir_node(f, OP_CAST, GRAPH_F32, SHAPE(1, 2), IN(x));
    uint32_t z = ir_node(f, OP_MUL, GRAPH_F32, SHAPE(1, 2), IN(y, ir_f32(f, 0.5f)));
    ir_last(f)->a.activation = GRAPH_ACT_RELU6;
    uint32_t t = ir_node(f, OP_SUM, GRAPH_F32, SHAPE(2), IN(z));
    ir_last(f)->a.n_axes = 1;
    ir_last(f)->scan = 1;
    ir_state_output(f, s, t);
    ir_output(f, "logits", z);
    graph_index(&f->g);
}

static void text(void **state)
{
    (void)state;
    ir f;
    buffer out;
    small(&f);
    buffer_init(&out);
    graph_print(&f.g, &out);
    buffer_append(&out, "", 1);
    assert_string_equal((const char *)out.data,
                        "graph decode: 3 nodes, context 0, as exported\n"
                        "input tokens: tokens %0:i32[1, 2]\n"
                        "state kv_cache_c_0: recurrent %1:f32[2] -> %5:f32[2]\n"
                        "output logits: %4:f32[1, 2]\n"
                        "0 CAST(%0:i32[1, 2]) -> %2:f32[1, 2] from=0\n"
                        "1 MUL(%2:f32[1, 2], %3:f32[]=0.5) -> %4:f32[1, 2] activation=relu6 from=1\n"
                        "2 SUM(%4:f32[1, 2]) -> %5:f32[2] axes=[0] scan=1 from=2\n");
    buffer_fini(&out);
    ir_end(&f);
}

static void json(void **state)
{
    (void)state;
    ir f;
    buffer out;
    json_doc *doc;
    lithe_error err;
    bool escaped;
    small(&f);
    buffer_init(&out);
    graph_print_json(&f.g, &out);
    assert_int_equal(json_parse(&doc, (bytes){out.data, out.size}, &err), LITHE_OK);
    json_ref nodes = json_get(doc, 0, "nodes");
    assert_int_equal(json_count(doc, nodes), 3);
    json_ref mul = json_next(doc, json_first(doc, nodes));
    assert_true(json_equals(doc, json_get(doc, mul, "op"), "MUL"));
    assert_int_equal(json_count(doc, json_get(doc, mul, "inputs")), 2);
    bytes act = json_raw(doc, json_get(doc, json_get(doc, mul, "attributes"), "activation"), &escaped);
    assert_memory_equal(act.data, "relu6", 5);
    assert_true(json_equals(doc, json_get(doc, json_first(doc, json_get(doc, 0, "states")), "kind"), "recurrent"));
    json_free(doc);
    buffer_fini(&out);
    ir_end(&f);
}

/* Every attribute that recognition sets can be read off the text of a real graph. */
static void recognised(void **state)
{
    (void)state;
    opened o;
    buffer out;
    assert_true(open_signature(&o, "tests/data/bundles/tiny-hybrid-int8.litertlm", 0, "decode"));
    assert_int_equal(graph_run_passes(&o.g, true, false, NULL, &o.err), LITHE_OK);
    buffer_init(&out);
    graph_print(&o.g, &out);
    buffer_append(&out, "", 1);
    const char *all = (const char *)out.data;
    assert_non_null(strstr(all, "context 512, any length\n"));
    assert_non_null(strstr(
        all, "k_state=kv_cache_k_3 v_state=kv_cache_v_3 kv_heads=2 group=2 head_dim=32 value_dim=32 window=0 scale=1"));
    assert_non_null(strstr(
        all, "state kv_cache_k_3: key %4:f32[1, 2, 512, 32] sequence_axis=2 capacity=512 owned heads=2 head_dim=32\n"));
    assert_non_null(strstr(all, "state=kv_cache_r_0"));
    assert_non_null(strstr(all, "kind=silu"));
    buffer_fini(&out);
    close_signature(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(text), cmocka_unit_test(json), cmocka_unit_test(recognised)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
