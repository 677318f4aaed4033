/* Recognition of attention: every way in which exporters write it, and what must be left alone. */
#include "graph/pass.h"
#include "graph/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { C = 32, D = 4 };

typedef enum mask_kind {
    MASK_PLAIN,         /* the input, repeated for the group */
    MASK_WINDOW,        /* plus -10000 outside pos - W < j */
    MASK_BOOL,          /* a bool input chooses scores */
    MASK_BOOL_TO_FLOAT, /* a bool input chooses 0 or -1e9, which is added */
    MASK_IN_GRAPH,      /* from positions alone */
    MASK_LOCAL,         /* the local mask input */
    MASK_BIAS,          /* plus a bias that grows with distance */
    MASK_CHUNKED,       /* open from the last multiple of 8 */
    MASK_CONSTANT       /* a constant addend */
} mask_kind;

typedef struct knobs {
    int32_t kv, group, value_dim, window;
    mask_kind mask;
    bool values_by_position; /* V [1, kv, C, d] instead of [1, kv, d, C] */
    bool keys_transposed;    /* K [1, kv, d, C] */
    bool cache_by_position;  /* K and V [1, C, kv, d], transposed for the products */
    float cap, scale_after;
    int32_t start_offset;   /* the update is not at the position */
    bool extra_reader;      /* another node reads the new keys */
    bool probabilities_out; /* softmax's output is an output of the graph */
    bool second_layer;      /* another attention reads the same states */
    float beta;
} knobs;

static ir f;
static lithe_error err;
static uint32_t positions, k_state, v_state;

static const knobs usual = {.kv = 2, .group = 3, .value_dim = D, .beta = 1};

static int setup(void **state)
{
    (void)state;
    ir_begin(&f);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ir_end(&f);
    return 0;
}

static uint32_t iota(void)
{
    int32_t v[C];
    for (int32_t i = 0; i < C; i++) {
        v[i] = i;
    }
    return ir_constant(&f, GRAPH_I32, SHAPE(1, 1, 1, C), v);
}

/* 0 where iota > pos - window and iota <= pos (upper: or anywhere), else `low`. */
static uint32_t window_addend(int32_t window, float low, bool causal)
{
    uint32_t pos = ir_node(&f, OP_RESHAPE, GRAPH_I32, SHAPE(1, 1, 1, 1), IN(positions));
    uint32_t first = ir_node(&f, OP_SUB, GRAPH_I32, SHAPE(1, 1, 1, 1), IN(pos, ir_i32(&f, window)));
    uint32_t sees = ir_node(&f, OP_GREATER, GRAPH_BOOL, SHAPE(1, 1, 1, C), IN(iota(), first));
    if (causal) {
        uint32_t past = ir_node(&f, OP_LESS_EQUAL, GRAPH_BOOL, SHAPE(1, 1, 1, C), IN(iota(), pos));
        sees = ir_node(&f, OP_LOGICAL_AND, GRAPH_BOOL, SHAPE(1, 1, 1, C), IN(sees, past));
    }
    return ir_node(&f, OP_SELECT, GRAPH_F32, SHAPE(1, 1, 1, C), IN(sees, ir_f32(&f, 0), ir_f32(&f, low)));
}

static uint32_t chunk_addend(void)
{
    uint32_t pos = ir_node(&f, OP_RESHAPE, GRAPH_I32, SHAPE(1, 1, 1, 1), IN(positions));
    uint32_t chunk = ir_node(&f, OP_FLOOR_DIV, GRAPH_I32, SHAPE(1, 1, 1, 1), IN(pos, ir_i32(&f, 8)));
    uint32_t first = ir_node(&f, OP_MUL, GRAPH_I32, SHAPE(1, 1, 1, 1), IN(chunk, ir_i32(&f, 8)));
    uint32_t sees = ir_node(&f, OP_GREATER_EQUAL, GRAPH_BOOL, SHAPE(1, 1, 1, C), IN(iota(), first));
    return ir_node(&f, OP_SELECT, GRAPH_F32, SHAPE(1, 1, 1, C), IN(sees, ir_f32(&f, 0), ir_f32(&f, -1e9f)));
}

static uint32_t distance_bias(void)
{
    uint32_t j = ir_node(&f, OP_CAST, GRAPH_F32, SHAPE(1, 1, 1, C), IN(iota()));
    return ir_node(&f, OP_MUL, GRAPH_F32, SHAPE(1, 1, 1, C), IN(j, ir_f32(&f, -0.5f)));
}

static uint32_t add(uint32_t a, uint32_t b, uint32_t rank, const int32_t *dims)
{
    return ir_node(&f, OP_ADD, GRAPH_F32, rank, dims, IN(a, b));
}

static uint32_t repeated(uint32_t mask, int32_t group)
{
    uint32_t in[8];
    for (int32_t i = 0; i < group; i++) {
        in[i] = mask;
    }
    uint32_t t = ir_node(&f, OP_CONCATENATION, GRAPH_F32, SHAPE(1, 1, group, C), (uint32_t)group, in);
    ir_last(&f)->a.axis = 2;
    return t;
}

/* Scores with the mask applied. */
static uint32_t masked(const knobs *k, uint32_t scores)
{
    const int32_t dims[4] = {1, k->kv, k->group, C};
    graph_role role = k->mask == MASK_LOCAL ? GRAPH_IN_LOCAL_MASK : GRAPH_IN_MASK;
    bool is_bool = k->mask == MASK_BOOL || k->mask == MASK_BOOL_TO_FLOAT;
    uint32_t mask = ir_input(&f, "mask", role, is_bool ? GRAPH_BOOL : GRAPH_F32, SHAPE(1, 1, 1, C));
    float zeros[C] = {0};
    switch (k->mask) {
    case MASK_BOOL:
        return ir_node(&f, OP_SELECT, GRAPH_F32, 4, dims, IN(mask, scores, ir_f32(&f, -1e9f)));
    case MASK_BOOL_TO_FLOAT:
        mask = ir_node(&f, OP_SELECT, GRAPH_F32, SHAPE(1, 1, 1, C), IN(mask, ir_f32(&f, 0), ir_f32(&f, -1e9f)));
        break;
    case MASK_WINDOW:
        mask = add(window_addend(k->window, -10000, false), mask, SHAPE(1, 1, 1, C));
        break;
    case MASK_IN_GRAPH:
        mask = window_addend(k->window ? k->window : 1000, -1e9f, true);
        break;
    case MASK_BIAS:
        mask = add(distance_bias(), mask, SHAPE(1, 1, 1, C));
        break;
    case MASK_CHUNKED:
        mask = add(chunk_addend(), mask, SHAPE(1, 1, 1, C));
        break;
    case MASK_CONSTANT:
        mask = ir_constant(&f, GRAPH_F32, SHAPE(1, 1, 1, C), zeros);
        break;
    default:
        break;
    }
    return add(scores, repeated(mask, k->group), 4, dims);
}

static uint32_t start_at(const knobs *k, uint32_t axis)
{
    uint32_t pos = ir_node(&f, OP_RESHAPE, GRAPH_I32, SCALAR, IN(positions)), zero = ir_i32(&f, 0),
             in[4] = {zero, zero, zero, zero};
    if (k->start_offset) {
        pos = ir_node(&f, OP_ADD, GRAPH_I32, SCALAR, IN(pos, ir_i32(&f, k->start_offset)));
    }
    in[axis] = pos;
    return ir_node(&f, OP_PACK, GRAPH_I32, SHAPE(4), 4, in);
}

/* A state of this shape, updated at the position along `axis`; returns its new value. */
static uint32_t updated(const knobs *k, const char *name, graph_state_kind kind, uint32_t axis, const int32_t *dims,
                        uint32_t *state)
{
    int32_t part[4] = {dims[0], dims[1], dims[2], dims[3]};
    part[axis] = 1;
    *state = ir_state(&f, name, kind, (int32_t)axis, 4, dims);
    char *input = arena_strndup(&f.arena, name, strlen(name));
    uint32_t fresh = ir_input(&f, input, GRAPH_IN_OTHER, GRAPH_F32, 4, part);
    uint32_t t = ir_node(&f, OP_DYNAMIC_UPDATE_SLICE, GRAPH_F32, 4, dims,
                         IN(f.g.states[*state].input, fresh, start_at(k, axis)));
    ir_state_output(&f, *state, t);
    return t;
}

static uint32_t transposed(uint32_t t, const int32_t *perm, uint32_t rank, const int32_t *dims)
{
    uint32_t y = ir_node(&f, OP_TRANSPOSE, GRAPH_F32, rank, dims, IN(t));
    memcpy(ir_last(&f)->a.perm, perm, rank * sizeof *perm);
    return y;
}

static uint32_t scaled(uint32_t t, graph_op op, float v, const int32_t *dims)
{
    return ir_node(&f, op, GRAPH_F32, 4, dims, IN(t, ir_f32(&f, v)));
}

/* From the states' new values to the attended values. */
static uint32_t attend(const knobs *k, uint32_t keys, uint32_t values, const char *query)
{
    const int32_t scores_dims[4] = {1, k->kv, k->group, C};
    uint32_t q = ir_input(&f, query, GRAPH_IN_OTHER, GRAPH_F32, SHAPE(1, k->kv, k->group, D));
    uint32_t s = ir_node(&f, OP_BATCH_MATMUL, GRAPH_F32, 4, scores_dims, IN(q, keys));
    ir_last(&f)->a.adj_y = !k->keys_transposed;
    s = k->scale_after != 0 ? scaled(s, OP_MUL, k->scale_after, scores_dims) : s;
    if (k->cap != 0) {
        s = scaled(s, OP_DIV, k->cap, scores_dims);
        s = ir_node(&f, OP_TANH, GRAPH_F32, 4, scores_dims, IN(s));
        s = scaled(s, OP_MUL, k->cap, scores_dims);
    }
    uint32_t p = ir_node(&f, OP_SOFTMAX, GRAPH_F32, 4, scores_dims, IN(masked(k, s)));
    ir_last(&f)->a.beta = k->beta;
    if (k->probabilities_out) {
        ir_output(&f, "probabilities", p);
    }
    uint32_t y = ir_node(&f, OP_BATCH_MATMUL, GRAPH_F32, SHAPE(1, k->kv, k->group, k->value_dim), IN(p, values));
    ir_last(&f)->a.adj_y = !k->values_by_position;
    return y;
}

static void build(const knobs *k)
{
    ir_input(&f, "tokens", GRAPH_IN_TOKENS, GRAPH_I32, SHAPE(1, 1));
    positions = ir_input(&f, "input_pos", GRAPH_IN_POSITIONS, GRAPH_I32, SHAPE(1));
    uint32_t keys, values;
    if (k->cache_by_position) {
        keys = updated(k, "k", GRAPH_STATE_KEY, 1, (const int32_t[]){1, C, k->kv, D}, &k_state);
        values = updated(k, "v", GRAPH_STATE_VALUE, 1, (const int32_t[]){1, C, k->kv, k->value_dim}, &v_state);
        keys = transposed(keys, (const int32_t[]){0, 2, 1, 3}, SHAPE(1, k->kv, C, D));
        values = transposed(values, (const int32_t[]){0, 2, 1, 3}, SHAPE(1, k->kv, C, k->value_dim));
    } else {
        const int32_t kd[4] = {1, k->kv, k->keys_transposed ? D : C, k->keys_transposed ? C : D};
        const int32_t vd[4] = {1, k->kv, k->values_by_position ? C : k->value_dim,
                               k->values_by_position ? k->value_dim : C};
        keys = updated(k, "k", GRAPH_STATE_KEY, k->keys_transposed ? 3 : 2, kd, &k_state);
        values = updated(k, "v", GRAPH_STATE_VALUE, k->values_by_position ? 2 : 3, vd, &v_state);
    }
    ir_output(&f, "y", attend(k, keys, values, "q"));
    if (k->second_layer) {
        ir_output(&f, "y2", attend(k, keys, values, "q2"));
    }
    if (k->extra_reader) {
        ir_output(&f, "z", ir_node(&f, OP_NEG, GRAPH_F32, f.g.tensors[keys].rank, f.g.tensors[keys].dims, IN(keys)));
    }
}

static void run(const knobs *k)
{
    build(k);
    assert_int_equal(graph_run_passes(&f.g, true, false, NULL, &err), LITHE_OK);
}

static const graph_node *recognised(const knobs *k)
{
    run(k);
    if (ir_count(&f, OP_ATTENTION) == 0) {
        fail_msg("not recognised: %s", f.g.why_not);
    }
    assert_true(f.g.any_length);
    assert_int_equal(ir_count(&f, OP_SOFTMAX), 0);
    assert_int_equal(ir_count(&f, OP_DYNAMIC_UPDATE_SLICE), 0);
    const graph_node *n = ir_find(&f, OP_ATTENTION);
    assert_int_equal(n->a.k_state, k_state);
    assert_int_equal(n->a.v_state, v_state);
    assert_int_equal(n->a.n_kv_heads, k->kv);
    assert_int_equal(n->a.group, k->group);
    assert_int_equal(n->a.head_dim, D);
    assert_int_equal(n->a.value_dim, k->value_dim);
    for (uint32_t i = 0; i < 2; i++) {
        const graph_state *s = &f.g.states[i ? v_state : k_state];
        assert_true(s->owned);
        assert_int_equal(s->output, GRAPH_NONE);
        assert_int_equal(s->n_heads, k->kv);
        assert_int_equal(s->head_dim, i ? k->value_dim : D);
    }
    return n;
}

/* Left as it is; the reason contains `why`. */
static void left(const knobs *k, const char *why)
{
    run(k);
    assert_int_equal(ir_count(&f, OP_ATTENTION), 0);
    assert_int_equal(ir_count(&f, OP_SOFTMAX), 1);
    assert_false(f.g.any_length);
    assert_false(f.g.states[k_state].owned || f.g.states[v_state].owned);
    if (!strstr(f.g.why_not, why)) {
        fail_msg("'%s' is not in: %s", why, f.g.why_not);
    }
}

#define KNOBS(...)                                                                                                     \
    knobs k = usual;                                                                                                   \
    __VA_ARGS__;                                                                                                       \
    (void)state

static void plain(void **state)
{
    KNOBS(k.value_dim = 6);
    const graph_node *n = recognised(&k);
    assert_int_equal(n->a.window, 0);
    assert_true(n->a.scale == 1 && n->a.soft_cap == 0);
    assert_string_equal(f.g.inputs[2].name, "k");
    assert_int_equal(f.g.tensors[n->inputs[1]].elements, 2 * D);
    assert_int_equal(f.g.tensors[n->inputs[2]].elements, 2 * 6);
}

static void values_by_position(void **state)
{
    KNOBS(k.values_by_position = true);
    recognised(&k);
}

static void keys_transposed(void **state)
{
    KNOBS(k.keys_transposed = true);
    recognised(&k);
}

static void cache_by_position(void **state)
{
    KNOBS(k.cache_by_position = k.values_by_position = true);
    recognised(&k);
}

static void one_head(void **state)
{
    KNOBS(k.kv = 1, k.group = 4);
    recognised(&k);
}

static void no_group(void **state)
{
    KNOBS(k.kv = 4, k.group = 1);
    recognised(&k);
}

static void sliding_window(void **state)
{
    KNOBS(k.mask = MASK_WINDOW, k.window = 5);
    assert_int_equal(recognised(&k)->a.window, 5);
}

static void window_as_long_as_the_context(void **state)
{
    KNOBS(k.mask = MASK_WINDOW, k.window = C);
    assert_int_equal(recognised(&k)->a.window, 0);
}

static void window_of_one(void **state)
{
    KNOBS(k.mask = MASK_WINDOW, k.window = 1);
    assert_int_equal(recognised(&k)->a.window, 1);
}

static void bool_mask(void **state)
{
    KNOBS(k.mask = MASK_BOOL);
    recognised(&k);
}

static void bool_mask_as_addend(void **state)
{
    KNOBS(k.mask = MASK_BOOL_TO_FLOAT);
    recognised(&k);
}

static void mask_from_positions(void **state)
{
    KNOBS(k.mask = MASK_IN_GRAPH, k.window = 7);
    assert_int_equal(recognised(&k)->a.window, 7);
}

static void local_mask_input(void **state)
{
    KNOBS(k.mask = MASK_LOCAL);
    f.g.local_window = 9;
    assert_int_equal(recognised(&k)->a.window, 9);
}

static void soft_cap(void **state)
{
    KNOBS(k.cap = 30);
    const graph_node *n = recognised(&k);
    assert_true(n->a.soft_cap == 30);
    assert_true(n->a.scale == 1);
}

static void soft_cap_after_scale(void **state)
{
    KNOBS(k.cap = 50, k.scale_after = 0.25f);
    const graph_node *n = recognised(&k);
    assert_true(n->a.soft_cap == 50);
    assert_true(n->a.scale == 0.25f);
}

static void scale_after_scores(void **state)
{
    KNOBS(k.scale_after = 0.125f);
    assert_true(recognised(&k)->a.scale == 0.125f);
}

/* The second layer reads what the first writes; in the sorted graph it comes after, even if made before. */
static void shared_states(void **state)
{
    KNOBS(k.second_layer = true);
    recognised(&k);
    assert_int_equal(ir_count(&f, OP_ATTENTION), 2);
    uint32_t writers = 0;
    for (uint32_t i = 0; i < f.g.n_nodes; i++) {
        const graph_node *n = &f.g.nodes[i];
        if (n->op == OP_ATTENTION) {
            assert_int_equal(n->inputs[1] != GRAPH_NONE, n->inputs[2] != GRAPH_NONE);
            assert_int_equal(n->inputs[1] != GRAPH_NONE, writers == 0);
            writers++;
        }
    }
}

static void distance_bias_is_left(void **state)
{
    KNOBS(k.mask = MASK_BIAS);
    left(&k, "neither open nor closed");
}

static void chunked_mask_is_left(void **state)
{
    KNOBS(k.mask = MASK_CHUNKED);
    left(&k, "not causal with a fixed window");
}

static void constant_mask_is_left(void **state)
{
    KNOBS(k.mask = MASK_CONSTANT);
    left(&k, "reads state k");
}

static void update_elsewhere_is_left(void **state)
{
    KNOBS(k.start_offset = 1);
    left(&k, "not updated at the token's position");
}

static void other_reader_is_left(void **state)
{
    KNOBS(k.extra_reader = true);
    left(&k, "reads states that other nodes use too (k, v)");
}

static void probabilities_out_are_left(void **state)
{
    KNOBS(k.probabilities_out = true);
    left(&k, "probabilities that are used elsewhere too");
}

static void other_beta_is_left(void **state)
{
    KNOBS(k.beta = 2);
    left(&k, "not over the positions");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(plain),
        TEST(values_by_position),
        TEST(keys_transposed),
        TEST(cache_by_position),
        TEST(one_head),
        TEST(no_group),
        TEST(sliding_window),
        TEST(window_as_long_as_the_context),
        TEST(window_of_one),
        TEST(bool_mask),
        TEST(bool_mask_as_addend),
        TEST(mask_from_positions),
        TEST(local_mask_input),
        TEST(soft_cap),
        TEST(soft_cap_after_scale),
        TEST(scale_after_scores),
        TEST(shared_states),
        TEST(distance_bias_is_left),
        TEST(chunked_mask_is_left),
        TEST(constant_mask_is_left),
        TEST(update_elsewhere_is_left),
        TEST(other_reader_is_left),
        TEST(probabilities_out_are_left),
        TEST(other_beta_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
