/* The other passes, each on the smallest graph that shows what it does and what it must not do. */
#include "graph/passes.h"
#include "graph/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static ir f;
static lithe_error err;
static uint32_t x; /* f32 [2, 4], the graph's input */

static int setup(void **state)
{
    (void)state;
    ir_begin(&f);
    x = ir_input(&f, "x", GRAPH_IN_OTHER, GRAPH_F32, SHAPE(2, 4));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ir_end(&f);
    return 0;
}

static void run(graph_pass_fn pass)
{
    assert_int_equal(graph_sort(&f.g, &err), LITHE_OK);
    assert_int_equal(pass(&f.g, &err), LITHE_OK);
}

static uint32_t neg(uint32_t t)
{
    return ir_node(&f, OP_NEG, GRAPH_F32, f.g.tensors[t].rank, f.g.tensors[t].dims, IN(t));
}

static uint32_t mul(uint32_t a, uint32_t b)
{
    return ir_node(&f, OP_MUL, GRAPH_F32, f.g.tensors[a].rank, f.g.tensors[a].dims, IN(a, b));
}

/* The output is the square of t, so that t itself is no output of the graph. */
static void output_of(uint32_t t)
{
    ir_output(&f, "y", ir_node(&f, OP_SQUARE, GRAPH_F32, f.g.tensors[t].rank, f.g.tensors[t].dims, IN(t)));
}

static uint32_t squared(void)
{
    return ir_find(&f, OP_SQUARE)->inputs[0];
}

/* ------------------------------------------------------------------------------------------------ canonicalise */

static void ones_and_zeros_vanish(void **state)
{
    (void)state;
    uint32_t t = mul(x, ir_f32(&f, 1));
    t = ir_node(&f, OP_DIV, GRAPH_F32, SHAPE(2, 4), IN(t, ir_f32(&f, 1)));
    t = ir_node(&f, OP_SUB, GRAPH_F32, SHAPE(2, 4), IN(t, ir_f32(&f, 0)));
    t = ir_node(&f, OP_ADD, GRAPH_F32, SHAPE(2, 4), IN(ir_f32(&f, -0.0f), t));
    output_of(t);
    run(pass_canonicalise);
    assert_int_equal(squared(), x);
    assert_int_equal(f.g.n_nodes, 1);
}

/* -0 + 0 is 0: adding 0 is not nothing. Neither is 1 / x, 0 - x, nor x * 1 with an activation or broadcast. */
static void what_looks_like_nothing(void **state)
{
    (void)state;
    uint32_t t = ir_node(&f, OP_ADD, GRAPH_F32, SHAPE(2, 4), IN(x, ir_f32(&f, 0)));
    t = ir_node(&f, OP_DIV, GRAPH_F32, SHAPE(2, 4), IN(ir_f32(&f, 1), t));
    t = ir_node(&f, OP_SUB, GRAPH_F32, SHAPE(2, 4), IN(ir_f32(&f, 0), t));
    t = mul(t, ir_f32(&f, 1));
    ir_last(&f)->a.activation = GRAPH_ACT_RELU;
    t = ir_node(&f, OP_MUL, GRAPH_F32, SHAPE(1, 2, 4),
                IN(t, ir_constant(&f, GRAPH_F32, SHAPE(1, 1, 1), (const float[]){1})));
    output_of(t);
    run(pass_canonicalise);
    assert_int_equal(f.g.n_nodes, 6);
}

static void minus_one_is_negation(void **state)
{
    (void)state;
    output_of(mul(x, ir_f32(&f, -1)));
    run(pass_canonicalise);
    assert_int_equal(ir_count(&f, OP_NEG), 1);
    assert_int_equal(ir_find(&f, OP_NEG)->n_inputs, 1);
}

static void reshapes_collapse(void **state)
{
    (void)state;
    uint32_t t = ir_node(&f, OP_RESHAPE, GRAPH_F32, SHAPE(8), IN(x));
    t = ir_node(&f, OP_RESHAPE, GRAPH_F32, SHAPE(4, 2), IN(t));
    output_of(ir_node(&f, OP_RESHAPE, GRAPH_F32, SHAPE(2, 4), IN(t)));
    run(pass_canonicalise);
    assert_int_equal(squared(), x);
}

static void views_that_change_nothing(void **state)
{
    (void)state;
    uint32_t t = ir_node(&f, OP_SLICE, GRAPH_F32, SHAPE(2, 4), IN(x));
    t = ir_node(&f, OP_CAST, GRAPH_F32, SHAPE(2, 4), IN(t));
    t = ir_node(&f, OP_CONCATENATION, GRAPH_F32, SHAPE(2, 4), IN(t));
    t = ir_node(&f, OP_BROADCAST_TO, GRAPH_F32, SHAPE(1, 2, 4), IN(t));
    t = ir_node(&f, OP_TRANSPOSE, GRAPH_F32, SHAPE(2, 1, 4), IN(t)); /* only an axis of size 1 moves */
    memcpy(ir_last(&f)->a.perm, (const int32_t[]){1, 0, 2}, 12);
    output_of(t);
    run(pass_canonicalise);
    assert_int_equal(f.g.n_nodes, 2);
    assert_int_equal(ir_find(&f, OP_RESHAPE)->inputs[0], x);
}

static void views_that_reorder(void **state)
{
    (void)state;
    uint32_t t = ir_node(&f, OP_SLICE, GRAPH_F32, SHAPE(2, 4), IN(x));
    ir_last(&f)->a.begin[1] = 3;
    ir_last(&f)->a.stride[1] = -1;
    t = ir_node(&f, OP_TRANSPOSE, GRAPH_F32, SHAPE(4, 2), IN(t));
    memcpy(ir_last(&f)->a.perm, (const int32_t[]){1, 0}, 8);
    output_of(t);
    run(pass_canonicalise);
    assert_int_equal(ir_count(&f, OP_SLICE), 1);
    assert_int_equal(ir_count(&f, OP_TRANSPOSE), 1);
}

/* A result of the graph keeps its own tensor, even if it is another's value. */
static void outputs_keep_their_tensor(void **state)
{
    (void)state;
    uint32_t y = mul(x, ir_f32(&f, 1));
    ir_output(&f, "y", y);
    run(pass_canonicalise);
    assert_int_equal(f.g.outputs[0].tensor, y);
    assert_int_equal(ir_count(&f, OP_RESHAPE), 1);
}

static void weights_lose_dequantize(void **state)
{
    (void)state;
    static const uint16_t w[12] = {0};
    uint32_t half = ir_constant(&f, GRAPH_F16, SHAPE(3, 4), w);
    uint32_t full = ir_node(&f, OP_DEQUANTIZE, GRAPH_F32, SHAPE(3, 4), IN(half));
    output_of(ir_node(&f, OP_FULLY_CONNECTED, GRAPH_F32, SHAPE(2, 3), IN(x, full, GRAPH_NONE)));
    run(pass_canonicalise);
    assert_int_equal(ir_find(&f, OP_FULLY_CONNECTED)->inputs[1], half);
    assert_false(ir_find(&f, OP_FULLY_CONNECTED)->a.dynamic_quant);
    assert_int_equal(ir_count(&f, OP_DEQUANTIZE), 0);
}

static void rows_of_a_table_are_embeddings(void **state)
{
    (void)state;
    static const float table[12] = {0};
    uint32_t ids = ir_input(&f, "ids", GRAPH_IN_TOKENS, GRAPH_I32, SHAPE(1, 2)),
             t = ir_constant(&f, GRAPH_F32, SHAPE(3, 4), table);
    output_of(ir_node(&f, OP_GATHER, GRAPH_F32, SHAPE(1, 2, 4), IN(t, ids)));
    run(pass_canonicalise);
    const graph_node *n = ir_find(&f, OP_EMBEDDING_LOOKUP);
    assert_non_null(n);
    assert_int_equal(n->inputs[0], ids);
    assert_int_equal(n->inputs[1], t);
}

/* ------------------------------------------------------------------------------------------ fold, merge and drop */

static void constants_fold(void **state)
{
    (void)state;
    uint32_t t = ir_node(&f, OP_ADD, GRAPH_F32, SCALAR, IN(ir_f32(&f, 1), ir_f32(&f, 2)));
    t = ir_node(&f, OP_SQRT, GRAPH_F32, SCALAR, IN(t));
    output_of(mul(x, t));
    run(pass_fold);
    float v;
    assert_true(graph_const_f32(&f.g, ir_find(&f, OP_MUL)->inputs[1], 0, &v));
    assert_true(v == __builtin_sqrtf(3));
    assert_int_equal(f.g.n_nodes, 2);
}

/* What kernels define is not folded; nor is what has no value. */
static void some_constants_do_not_fold(void **state)
{
    (void)state;
    uint32_t t = ir_node(&f, OP_EXP, GRAPH_F32, SCALAR, IN(ir_f32(&f, 1)));
    uint32_t d = ir_node(&f, OP_DIV, GRAPH_I32, SCALAR, IN(ir_i32(&f, 1), ir_i32(&f, 0)));
    output_of(mul(x, t));
    ir_output(&f, "d", d);
    run(pass_fold);
    assert_int_equal(ir_count(&f, OP_EXP), 1);
    assert_int_equal(ir_count(&f, OP_DIV), 1);
}

static void equal_nodes_merge(void **state)
{
    (void)state;
    uint32_t a = mul(x, ir_f32(&f, 2)), b = mul(x, ir_f32(&f, 2)), c = mul(x, ir_f32(&f, 3));
    ir_output(&f, "y", mul(a, b));
    ir_output(&f, "z", mul(a, c));
    run(pass_merge);
    assert_int_equal(f.g.n_nodes, 4);
    const graph_node *n = &f.g.nodes[f.g.tensors[f.g.outputs[0].tensor].producer];
    assert_int_equal(n->inputs[0], n->inputs[1]);
}

static void attributes_keep_nodes_apart(void **state)
{
    (void)state;
    uint32_t a = ir_node(&f, OP_SLICE, GRAPH_F32, SHAPE(2, 2), IN(x)),
             b = ir_node(&f, OP_SLICE, GRAPH_F32, SHAPE(2, 2), IN(x));
    ir_last(&f)->a.begin[1] = 2;
    uint32_t c = ir_node(&f, OP_RESHAPE, GRAPH_F32, SHAPE(8), IN(x)),
             d = ir_node(&f, OP_RESHAPE, GRAPH_F32, SHAPE(4, 2), IN(x));
    ir_output(&f, "a", a);
    ir_output(&f, "b", b);
    ir_output(&f, "c", c);
    ir_output(&f, "d", d);
    run(pass_merge);
    assert_int_equal(f.g.n_nodes, 4);
}

/* New values of two states may be equal, but are written to two places. */
static void states_do_not_merge(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        uint32_t s = ir_state(&f, i ? "b" : "a", GRAPH_STATE_RECURRENT, -1, SHAPE(2, 4));
        ir_state_output(&f, s, neg(x));
    }
    run(pass_merge);
    assert_int_not_equal(f.g.states[0].output, f.g.states[1].output);
    assert_int_equal(f.g.n_nodes, 2);
}

static void unused_nodes_drop(void **state)
{
    (void)state;
    neg(neg(x));
    ir_output(&f, "y", neg(x));
    run(pass_drop);
    assert_int_equal(f.g.n_nodes, 1);
}

/* --------------------------------------------------------------------------------------------------- rope, gated */

/* x * cos + concat(-x2, x1) * sin, with knobs for what may be wrong. */
static void rotary(bool swapped_sum, bool swapped_factors, bool wrong_half, bool without_sign)
{
    static const float angles[4] = {1, 2, 3, 4};
    uint32_t cos = ir_constant(&f, GRAPH_F32, SHAPE(1, 4), angles), sin = ir_constant(&f, GRAPH_F32, SHAPE(4), angles);
    uint32_t x1 = ir_node(&f, OP_SLICE, GRAPH_F32, SHAPE(2, 2), IN(x)),
             x2 = ir_node(&f, OP_SLICE, GRAPH_F32, SHAPE(2, 2), IN(x));
    ir_last(&f)->a.begin[1] = wrong_half ? 1 : 2;
    uint32_t turned = ir_node(&f, OP_CONCATENATION, GRAPH_F32, SHAPE(2, 4), IN(without_sign ? x2 : neg(x2), x1));
    ir_last(&f)->a.axis = 1;
    uint32_t a = swapped_factors ? ir_node(&f, OP_MUL, GRAPH_F32, SHAPE(2, 4), IN(cos, x)) : mul(x, cos);
    uint32_t b = swapped_factors ? ir_node(&f, OP_MUL, GRAPH_F32, SHAPE(2, 4), IN(sin, turned)) : mul(turned, sin);
    ir_output(&f, "y", ir_node(&f, OP_ADD, GRAPH_F32, SHAPE(2, 4), IN(swapped_sum ? b : a, swapped_sum ? a : b)));
    run(pass_rope);
}

static void rope_in_any_order(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        ir_end(&f);
        setup(NULL);
        rotary(i & 1, i & 2, false, false);
        const graph_node *n = ir_find(&f, OP_ROPE);
        assert_non_null(n);
        assert_int_equal(f.g.n_nodes, 1);
        assert_int_equal(n->inputs[0], x);
        assert_int_equal(f.g.tensors[n->inputs[1]].rank, 2); /* cos */
        assert_int_equal(f.g.tensors[n->inputs[2]].rank, 1); /* sin */
    }
}

static void other_rotations_stay(void **state)
{
    (void)state;
    rotary(false, false, true, false);
    assert_int_equal(ir_count(&f, OP_ROPE), 0);
    ir_end(&f);
    setup(NULL);
    rotary(false, false, false, true);
    assert_int_equal(ir_count(&f, OP_ROPE), 0);
}

static void gated(uint32_t activated, uint32_t up, bool swapped)
{
    ir_output(&f, "y", swapped ? mul(up, activated) : mul(activated, up));
    run(pass_gated);
}

static uint32_t up_input(void)
{
    return ir_input(&f, "up", GRAPH_IN_OTHER, GRAPH_F32, SHAPE(2, 4));
}

static void gated_units(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < 3; kind++) {
        ir_end(&f);
        setup(NULL);
        uint32_t up = up_input(), act = ir_node(&f, kind == 1 ? OP_LOGISTIC : OP_GELU, GRAPH_F32, SHAPE(2, 4), IN(x));
        ir_last(&f)->a.approximate = kind == 0;
        gated(kind == 1 ? mul(x, act) : act, up, kind == 2);
        const graph_node *n = ir_find(&f, OP_GATED_UNIT);
        assert_non_null(n);
        assert_int_equal(n->a.kind, kind);
        assert_int_equal(n->inputs[0], x);
        assert_int_equal(n->inputs[1], up);
        assert_int_equal(f.g.n_nodes, 1);
    }
}

/* The activation is needed elsewhere, or gate and up differ in shape. */
static void other_products_stay(void **state)
{
    (void)state;
    uint32_t act = ir_node(&f, OP_GELU, GRAPH_F32, SHAPE(2, 4), IN(x));
    ir_output(&f, "act", act);
    gated(act, up_input(), false);
    assert_int_equal(ir_count(&f, OP_GATED_UNIT), 0);
    ir_end(&f);
    setup(NULL);
    act = ir_node(&f, OP_GELU, GRAPH_F32, SHAPE(2, 4), IN(x));
    gated(act, ir_input(&f, "up", GRAPH_IN_OTHER, GRAPH_F32, SHAPE(4)), false);
    assert_int_equal(ir_count(&f, OP_GATED_UNIT), 0);
}

/* ------------------------------------------------------------------------------------------------------ recurrent */

static uint32_t add2(uint32_t a, uint32_t b)
{
    return ir_node(&f, OP_ADD, GRAPH_F32, SHAPE(2, 4), IN(a, b));
}

/* s' = -(s + x): both nodes are the recurrence; what comes before and after is not. Made in an order that tears them apart. */
static void a_recurrence_is_one_group(void **state)
{
    (void)state;
    uint32_t s = ir_state(&f, "s", GRAPH_STATE_RECURRENT, -1, SHAPE(2, 4));
    uint32_t before = neg(x), sum = add2(f.g.states[s].input, before), other = mul(x, x), next = neg(sum);
    ir_state_output(&f, s, next);
    ir_output(&f, "y", add2(sum, other));
    run(pass_recurrent);
    uint32_t in = 0, first = 0;
    for (uint32_t i = 0; i < f.g.n_nodes; i++) {
        bool member = f.g.nodes[i].outputs[0] == sum || f.g.nodes[i].outputs[0] == next;
        assert_int_equal(f.g.nodes[i].scan, member ? 1 : 0);
        first = member && !in ? i : first;
        in += member;
        assert_true(!member || i == first + in - 1); /* together */
    }
    assert_int_equal(in, 2);
}

/* A reader of the old value runs with it, whether or not the new value needs it. */
static void readers_of_the_old_value_belong(void **state)
{
    (void)state;
    uint32_t s = ir_state(&f, "s", GRAPH_STATE_RECURRENT, -1, SHAPE(2, 4));
    uint32_t seen = add2(f.g.states[s].input, x);
    ir_state_output(&f, s, neg(x));
    ir_output(&f, "y", neg(seen));
    run(pass_recurrent);
    for (uint32_t i = 0; i < f.g.n_nodes; i++) {
        uint32_t t = f.g.nodes[i].outputs[0];
        assert_int_equal(f.g.nodes[i].scan, t == seen || t == f.g.states[s].output);
    }
}

static void recurrences_that_share_nodes_merge(void **state)
{
    (void)state;
    uint32_t a = ir_state(&f, "a", GRAPH_STATE_RECURRENT, -1, SHAPE(2, 4)),
             b = ir_state(&f, "b", GRAPH_STATE_RECURRENT, -1, SHAPE(2, 4));
    uint32_t both = add2(f.g.states[a].input, f.g.states[b].input);
    ir_state_output(&f, a, neg(both));
    ir_state_output(&f, b, mul(both, both));
    run(pass_recurrent);
    for (uint32_t i = 0; i < f.g.n_nodes; i++) {
        assert_int_equal(f.g.nodes[i].scan, 1);
    }
}

/* a' needs b's recurrence and b' needs a's, by different nodes: one group, since neither can run first. */
static void recurrences_in_a_circle(void **state)
{
    (void)state;
    uint32_t a = ir_state(&f, "a", GRAPH_STATE_RECURRENT, -1, SHAPE(2, 4)),
             b = ir_state(&f, "b", GRAPH_STATE_RECURRENT, -1, SHAPE(2, 4));
    uint32_t a1 = neg(f.g.states[a].input), b1 = neg(f.g.states[b].input);
    ir_state_output(&f, a, add2(a1, b1));
    ir_state_output(&f, b, add2(b1, a1));
    run(pass_recurrent);
    for (uint32_t i = 0; i < f.g.n_nodes; i++) { /* either together, or given up with a reason */
        assert_true(f.g.nodes[i].scan == f.g.nodes[0].scan);
    }
    assert_true(f.g.nodes[0].scan == 1 || f.g.why_not[0]);
}

/* ----------------------------------------------------------------------------------------------------- any length */

static void one_token(void)
{
    ir_input(&f, "tokens", GRAPH_IN_TOKENS, GRAPH_I32, SHAPE(1, 1));
}

static void tokens_alone_are_any_length(void **state)
{
    (void)state;
    one_token();
    ir_output(&f, "y", neg(x));
    run(pass_any_length);
    assert_true(f.g.any_length);
}

static void masks_stand_in_the_way(void **state)
{
    (void)state;
    one_token();
    uint32_t mask = ir_input(&f, "mask", GRAPH_IN_MASK, GRAPH_F32, SHAPE(1, 1, 1, 8));
    ir_output(&f, "y", neg(x));
    ir_output(&f, "z", neg(mask));
    run(pass_any_length);
    assert_false(f.g.any_length);
    assert_string_equal(f.g.why_not, "node 1 (NEG) reads input mask");
    assert_int_equal(f.g.why_not_node, 1);
}

static void caches_stand_in_the_way(void **state)
{
    (void)state;
    one_token();
    uint32_t s = ir_state(&f, "kv_cache_k_0", GRAPH_STATE_KEY, 0, SHAPE(2, 4));
    ir_output(&f, "y", neg(f.g.states[s].input));
    run(pass_any_length);
    assert_string_equal(f.g.why_not, "node 0 (NEG) reads state kv_cache_k_0");
}

static void several_tokens_stand_in_the_way(void **state)
{
    (void)state;
    ir_input(&f, "tokens", GRAPH_IN_TOKENS, GRAPH_I32, SHAPE(1, 8));
    ir_output(&f, "y", neg(x));
    run(pass_any_length);
    assert_string_equal(f.g.why_not, "input 'tokens' [1, 8] is not for one token");
}

static void without_tokens(void **state)
{
    (void)state;
    ir_output(&f, "y", neg(x));
    run(pass_any_length);
    assert_string_equal(f.g.why_not, "there is no input of tokens or embeddings");
}

static void states_written_elsewhere(void **state)
{
    (void)state;
    one_token();
    uint32_t s = ir_state(&f, "s", GRAPH_STATE_RECURRENT, -1, SHAPE(2, 4));
    ir_state_output(&f, s, neg(x));
    run(pass_any_length); /* recurrent has not run */
    assert_string_equal(f.g.why_not, "node 0 (NEG) writes state s outside of a recurrence");
}

/* ----------------------------------------------------------------------------------------------------------- sort */

static void sort_restores_order(void **state)
{
    (void)state;
    uint32_t late = ir_tensor(&f, GRAPH_F32, SHAPE(2, 4));
    ir_output(&f, "y", neg(late));
    graph_add_node(&f.g, OP_SQUARE, &x, 1, &late, 1);
    assert_int_equal(graph_sort(&f.g, &err), LITHE_OK);
    assert_int_equal(f.g.nodes[0].op, OP_SQUARE);
    assert_int_equal(f.g.tensors[late].producer, 0);
}

static void sort_finds_cycles(void **state)
{
    (void)state;
    uint32_t a = ir_tensor(&f, GRAPH_F32, SHAPE(2, 4)), b = neg(a);
    graph_add_node(&f.g, OP_SQUARE, &b, 1, &a, 1)->source = 7;
    ir_output(&f, "y", b);
    assert_int_equal(graph_sort(&f.g, &err), LITHE_E_MODEL);
    assert_non_null(strstr(err.message, "needs its own result"));
    assert_string_equal(err.signature, "decode");
}

static void sort_bears_long_chains(void **state)
{
    (void)state;
    enum { N = 200000 };
    uint32_t first = ir_tensor(&f, GRAPH_F32, SCALAR), t = first;
    for (int i = 0; i < N; i++) { /* each node before the one that it needs */
        uint32_t source = ir_tensor(&f, GRAPH_F32, SCALAR);
        graph_add_node(&f.g, OP_NEG, &source, 1, &t, 1);
        t = source;
    }
    graph_add_node(&f.g, OP_SQUARE, &x, 1, &t, 1);
    ir_output(&f, "y", first);
    assert_int_equal(graph_sort(&f.g, &err), LITHE_OK);
    assert_int_equal(f.g.n_nodes, N + 1);
    assert_int_equal(f.g.nodes[0].op, OP_SQUARE);
}

static void unknown_pass(void **state)
{
    (void)state;
    assert_int_equal(graph_run_passes(&f.g, true, false, "fusion", &err), LITHE_E_ARGUMENT);
    assert_string_equal(
        err.message, "there is no pass 'fusion'; the passes are canonicalise, fold, merge, drop, attention, recurrent, "
                     "rope, gated, any_length");
}

static void no_fusion(void **state)
{
    (void)state;
    uint32_t up = up_input(), act = ir_node(&f, OP_GELU, GRAPH_F32, SHAPE(2, 4), IN(x));
    ir_output(&f, "y", mul(act, up));
    assert_int_equal(graph_run_passes(&f.g, true, true, NULL, &err), LITHE_OK);
    assert_int_equal(ir_count(&f, OP_GATED_UNIT), 0);
    assert_int_equal(graph_run_passes(&f.g, true, false, NULL, &err), LITHE_OK);
    assert_int_equal(ir_count(&f, OP_GATED_UNIT), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(ones_and_zeros_vanish),
        TEST(what_looks_like_nothing),
        TEST(minus_one_is_negation),
        TEST(reshapes_collapse),
        TEST(views_that_change_nothing),
        TEST(views_that_reorder),
        TEST(outputs_keep_their_tensor),
        TEST(weights_lose_dequantize),
        TEST(rows_of_a_table_are_embeddings),
        TEST(constants_fold),
        TEST(some_constants_do_not_fold),
        TEST(equal_nodes_merge),
        TEST(attributes_keep_nodes_apart),
        TEST(states_do_not_merge),
        TEST(unused_nodes_drop),
        TEST(rope_in_any_order),
        TEST(other_rotations_stay),
        TEST(gated_units),
        TEST(other_products_stay),
        TEST(a_recurrence_is_one_group),
        TEST(readers_of_the_old_value_belong),
        TEST(recurrences_that_share_nodes_merge),
        TEST(recurrences_in_a_circle),
        TEST(tokens_alone_are_any_length),
        TEST(masks_stand_in_the_way),
        TEST(caches_stand_in_the_way),
        TEST(several_tokens_stand_in_the_way),
        TEST(without_tokens),
        TEST(states_written_elsewhere),
        TEST(sort_restores_order),
        TEST(sort_finds_cycles),
        TEST(sort_bears_long_chains),
        TEST(unknown_pass),
        TEST(no_fusion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
