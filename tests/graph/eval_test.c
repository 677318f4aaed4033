/* The scalar evaluator, op by op, on values worked out by hand. */
#include "graph/eval.h"

#include "graph/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static ir f;

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

/* The value of a tensor of constants. */
static const void *value(uint32_t t)
{
    eval e;
    graph_index(&f.g);
    assert_true(eval_init(&e, &f.g, &f.arena, 1 << 20));
    return eval_tensor(&e, t);
}

static void same_floats(uint32_t t, const float *want, size_t n)
{
    const void *got = value(t);
    assert_non_null(got);
    assert_memory_equal(got, want, n * sizeof *want);
}

static void same_ints(uint32_t t, const int32_t *want, size_t n)
{
    const void *got = value(t);
    assert_non_null(got);
    assert_memory_equal(got, want, n * sizeof *want);
}

#define FLOATS(t, ...)   same_floats(t, (const float[]){__VA_ARGS__}, sizeof((const float[]){__VA_ARGS__}) / 4)
#define INTEGERS(t, ...) same_ints(t, (const int32_t[]){__VA_ARGS__}, sizeof((const int32_t[]){__VA_ARGS__}) / 4)

static uint32_t ints(uint32_t rank, const int32_t *dims, const int32_t *v)
{
    return ir_constant(&f, GRAPH_I32, rank, dims, v);
}

static uint32_t binary_i32(graph_op op, int32_t a, int32_t b)
{
    return ir_node(&f, op, GRAPH_I32, SCALAR, IN(ir_i32(&f, a), ir_i32(&f, b)));
}

static void integer_arithmetic(void **state)
{
    (void)state;
    INTEGERS(binary_i32(OP_ADD, INT32_MAX, 1), INT32_MIN);
    INTEGERS(binary_i32(OP_SUB, 3, 5), -2);
    INTEGERS(binary_i32(OP_MUL, -3, 5), -15);
    INTEGERS(binary_i32(OP_DIV, -7, 2), -3);
    INTEGERS(binary_i32(OP_FLOOR_DIV, -7, 2), -4);
    INTEGERS(binary_i32(OP_FLOOR_MOD, -7, 3), 2);
    INTEGERS(binary_i32(OP_FLOOR_MOD, 7, -3), -2);
    INTEGERS(binary_i32(OP_MINIMUM, 4, -4), -4);
    INTEGERS(binary_i32(OP_MAXIMUM, 4, -4), 4);
    assert_null(value(binary_i32(OP_DIV, 1, 0)));
    assert_null(value(binary_i32(OP_FLOOR_MOD, 1, 0)));
}

static void broadcasting(void **state)
{
    (void)state;
    uint32_t column = ir_constant(&f, GRAPH_F32, SHAPE(2, 1), (const float[]){1, 10});
    uint32_t row = ir_constant(&f, GRAPH_F32, SHAPE(3), (const float[]){0, 1, 2});
    FLOATS(ir_node(&f, OP_ADD, GRAPH_F32, SHAPE(2, 3), IN(column, row)), 1, 2, 3, 10, 11, 12);
    FLOATS(ir_node(&f, OP_SUB, GRAPH_F32, SHAPE(2, 3), IN(row, column)), -1, 0, 1, -10, -9, -8);
    FLOATS(ir_node(&f, OP_BROADCAST_TO, GRAPH_F32, SHAPE(2, 3), IN(column)), 1, 1, 1, 10, 10, 10);
}

static void comparisons(void **state)
{
    (void)state;
    uint32_t a = ints(SHAPE(3), (const int32_t[]){1, 2, 3}), b = ir_i32(&f, 2);
    static const struct {
        graph_op op;
        uint8_t want[3];
    } cases[] = {{OP_LESS, {1, 0, 0}},          {OP_LESS_EQUAL, {1, 1, 0}}, {OP_GREATER, {0, 0, 1}},
                 {OP_GREATER_EQUAL, {0, 1, 1}}, {OP_EQUAL, {0, 1, 0}},      {OP_NOT_EQUAL, {1, 0, 1}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const void *got = value(ir_node(&f, cases[i].op, GRAPH_BOOL, SHAPE(3), IN(a, b)));
        assert_memory_equal(got, cases[i].want, 3);
    }
    uint32_t nan = ir_f32(&f, __builtin_nanf(""));
    assert_int_equal(*(const uint8_t *)value(ir_node(&f, OP_EQUAL, GRAPH_BOOL, SCALAR, IN(nan, nan))), 0);
    assert_int_equal(*(const uint8_t *)value(ir_node(&f, OP_NOT_EQUAL, GRAPH_BOOL, SCALAR, IN(nan, nan))), 1);
}

static void unary_ops(void **state)
{
    (void)state;
    uint32_t x = ir_constant(&f, GRAPH_F32, SHAPE(5), (const float[]){-2.5f, -0.5f, 0.5f, 1.5f, 2.5f});
    FLOATS(ir_node(&f, OP_ROUND, GRAPH_F32, SHAPE(5), IN(x)), -2, -0.0f, 0, 2, 2);
    FLOATS(ir_node(&f, OP_FLOOR, GRAPH_F32, SHAPE(5), IN(x)), -3, -1, 0, 1, 2);
    FLOATS(ir_node(&f, OP_NEG, GRAPH_F32, SHAPE(5), IN(x)), 2.5f, 0.5f, -0.5f, -1.5f, -2.5f);
    FLOATS(ir_node(&f, OP_RELU, GRAPH_F32, SHAPE(5), IN(x)), 0, 0, 0.5f, 1.5f, 2.5f);
    assert_null(value(ir_node(&f, OP_EXP, GRAPH_F32, SHAPE(5), IN(x)))); /* a kernel's polynomial decides, not libm */
}

static void casts(void **state)
{
    (void)state;
    uint32_t x = ir_constant(&f, GRAPH_F32, SHAPE(3), (const float[]){-1.9f, 0, 300.5f});
    INTEGERS(ir_node(&f, OP_CAST, GRAPH_I32, SHAPE(3), IN(x)), -1, 0, 300);
    assert_null(value(ir_node(&f, OP_CAST, GRAPH_I8, SHAPE(3), IN(x)))); /* 300 does not fit */
    assert_null(value(ir_node(&f, OP_CAST, GRAPH_I32, SCALAR, IN(ir_f32(&f, 1e20f)))));
    assert_memory_equal(value(ir_node(&f, OP_CAST, GRAPH_BOOL, SHAPE(3), IN(x))), ((const uint8_t[]){1, 0, 1}), 3);
    uint32_t h = ir_constant(&f, GRAPH_F16, SHAPE(4), (const uint16_t[]){0x3c00, 0xc000, 0x0001, 0x7c00});
    FLOATS(ir_node(&f, OP_CAST, GRAPH_F32, SHAPE(4), IN(h)), 1, -2, 0x1p-24f, __builtin_inff());
}

static void moving_data(void **state)
{
    (void)state;
    uint32_t x = ints(SHAPE(2, 3), (const int32_t[]){1, 2, 3, 4, 5, 6});
    uint32_t t = ir_node(&f, OP_TRANSPOSE, GRAPH_I32, SHAPE(3, 2), IN(x));
    ir_last(&f)->a.perm[0] = 1;
    INTEGERS(t, 1, 4, 2, 5, 3, 6);
    uint32_t s = ir_node(&f, OP_SLICE, GRAPH_I32, SHAPE(2, 2), IN(x));
    ir_last(&f)->a.begin[1] = 2;
    ir_last(&f)->a.stride[1] = -2;
    INTEGERS(s, 3, 1, 6, 4);
    uint32_t c = ir_node(&f, OP_CONCATENATION, GRAPH_I32, SHAPE(2, 6), IN(x, x));
    ir_last(&f)->a.axis = 1;
    INTEGERS(c, 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6);
    uint32_t p = ir_node(&f, OP_PACK, GRAPH_I32, SHAPE(3), IN(ir_i32(&f, 7), ir_i32(&f, 8), ir_i32(&f, 9)));
    INTEGERS(p, 7, 8, 9);
    uint32_t tile = ir_node(&f, OP_TILE, GRAPH_I32, SHAPE(4, 3), IN(x));
    INTEGERS(tile, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6);
    uint32_t g = ir_node(&f, OP_GATHER, GRAPH_I32, SHAPE(2, 2), IN(x, ints(SHAPE(2), (const int32_t[]){2, 0})));
    ir_last(&f)->a.axis = 1;
    INTEGERS(g, 3, 1, 6, 4);
    uint32_t outside = ir_node(&f, OP_GATHER, GRAPH_I32, SHAPE(1, 3), IN(x, ints(SHAPE(1), (const int32_t[]){2})));
    assert_null(value(outside));
}

static void several_outputs(void **state)
{
    (void)state;
    uint32_t x = ints(SHAPE(2, 2), (const int32_t[]){1, 2, 3, 4}), out[2];
    out[0] = ir_tensor(&f, GRAPH_I32, SHAPE(2, 1));
    out[1] = ir_tensor(&f, GRAPH_I32, SHAPE(2, 1));
    graph_add_node(&f.g, OP_SPLIT, &x, 1, out, 2)->a.axis = 1;
    INTEGERS(out[0], 1, 3);
    INTEGERS(out[1], 2, 4);
}

static void update_slice_clamps(void **state)
{
    (void)state;
    uint32_t x = ints(SHAPE(4), (const int32_t[]){1, 2, 3, 4}), u = ints(SHAPE(2), (const int32_t[]){8, 9});
    static const struct {
        int32_t start, want[4];
    } cases[] = {{1, {1, 8, 9, 4}}, {3, {1, 2, 8, 9}}, {-5, {8, 9, 3, 4}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t start = ints(SHAPE(1), &cases[i].start);
        same_ints(ir_node(&f, OP_DYNAMIC_UPDATE_SLICE, GRAPH_I32, SHAPE(4), IN(x, u, start)), cases[i].want, 4);
    }
}

static void select_and_range(void **state)
{
    (void)state;
    uint32_t c = ir_constant(&f, GRAPH_BOOL, SHAPE(2, 1), (const uint8_t[]){1, 0});
    uint32_t a = ir_constant(&f, GRAPH_F32, SHAPE(2), (const float[]){1, 2});
    FLOATS(ir_node(&f, OP_SELECT, GRAPH_F32, SHAPE(2, 2), IN(c, a, ir_f32(&f, -7))), 1, 2, -7, -7);
    INTEGERS(ir_node(&f, OP_RANGE, GRAPH_I32, SHAPE(3), IN(ir_i32(&f, 5), ir_i32(&f, 11), ir_i32(&f, 2))), 5, 7, 9);
}

static void reductions(void **state)
{
    (void)state;
    uint32_t x = ints(SHAPE(2, 3), (const int32_t[]){1, 5, 3, 4, 2, 6});
    static const struct {
        graph_op op;
        int32_t rows[2], columns[3];
    } cases[] = {{OP_SUM, {9, 12}, {5, 7, 9}},
                 {OP_REDUCE_MAX, {5, 6}, {4, 5, 6}},
                 {OP_REDUCE_MIN, {1, 2}, {1, 2, 3}},
                 {OP_REDUCE_PROD, {15, 48}, {4, 10, 18}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t rows = ir_node(&f, cases[i].op, GRAPH_I32, SHAPE(2), IN(x));
        ir_last(&f)->a.n_axes = 1;
        ir_last(&f)->a.axes[0] = 1;
        same_ints(rows, cases[i].rows, 2);
        uint32_t columns = ir_node(&f, cases[i].op, GRAPH_I32, SHAPE(3), IN(x));
        ir_last(&f)->a.n_axes = 1;
        same_ints(columns, cases[i].columns, 3);
    }
    uint32_t y = ir_constant(&f, GRAPH_F32, SHAPE(2), (const float[]){1, 2});
    uint32_t sum = ir_node(&f, OP_SUM, GRAPH_F32, SCALAR, IN(y));
    ir_last(&f)->a.n_axes = 1;
    assert_null(value(sum)); /* the order of a float sum is the kernel's */
}

static void dequantize(void **state)
{
    (void)state;
    static const float scales[2] = {0.5f, 2};
    uint32_t w = ir_constant(&f, GRAPH_I4, SHAPE(2, 2), (const uint8_t[]){0xf1, 0x78});
    f.g.tensors[w].quant = GRAPH_QUANT_CHANNEL;
    f.g.tensors[w].scales = scales;
    f.g.tensors[w].n_scales = 2;
    FLOATS(ir_node(&f, OP_DEQUANTIZE, GRAPH_F32, SHAPE(2, 2), IN(w)), 0.5f, -0.5f, -16, 14);
}

static void bindings(void **state)
{
    (void)state;
    uint32_t x = ir_input(&f, "x", GRAPH_IN_OTHER, GRAPH_I32, SHAPE(2)),
             y = ir_node(&f, OP_ADD, GRAPH_I32, SHAPE(2), IN(x, ir_i32(&f, 1)));
    eval e;
    graph_index(&f.g);
    assert_true(eval_init(&e, &f.g, &f.arena, 5));
    assert_null(eval_tensor(&e, y));
    for (int32_t round = 0; round < 2; round++) { /* two elements each */
        int32_t data[2] = {round, 10 * round};
        eval_restart(&e);
        eval_bind(&e, x, data);
        const int32_t *got = (const int32_t *)eval_tensor(&e, y);
        assert_int_equal(got[0], round + 1);
        assert_int_equal(got[1], 10 * round + 1);
    }
    eval_restart(&e);
    eval_bind(&e, x, (const int32_t[]){0, 0});
    assert_null(eval_tensor(&e, y)); /* over the limit of work */
}

/* A chain longer than the stack of a recursion may bear is given up, not followed. */
static void long_chain(void **state)
{
    (void)state;
    uint32_t t = ir_i32(&f, 1);
    for (int i = 0; i < 100000; i++) {
        t = ir_node(&f, OP_NEG, GRAPH_I32, SCALAR, IN(t));
    }
    assert_null(value(t));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(integer_arithmetic),
        TEST(broadcasting),
        TEST(comparisons),
        TEST(unary_ops),
        TEST(casts),
        TEST(moving_data),
        TEST(several_outputs),
        TEST(update_slice_clamps),
        TEST(select_and_range),
        TEST(reductions),
        TEST(dequantize),
        TEST(bindings),
        TEST(long_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
