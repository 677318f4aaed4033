/* From file to graph: attributes, shapes, quantisation, composites, states; and what is refused, with every field of the error. */
#include "graph/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
    ADD = 0,
    CONCATENATION = 2,
    EMBEDDING_LOOKUP = 7,
    FULLY_CONNECTED = 9,
    RESHAPE = 22,
    SOFTMAX = 25,
    CUSTOM = 32,
    GATHER = 36,
    TRANSPOSE = 39,
    STRIDED_SLICE = 45,
    LSTM = 16,
    SLICE = 65,
    PAD = 34,
    SPLIT = 49,
    DYNAMIC_UPDATE_SLICE = 151,
    COMPOSITE = 206,
    MEAN = 40,
    CONV_2D = 3,
    EXPAND_DIMS = 70
};

static tf m;

static int setup(void **state)
{
    (void)state;
    tf_begin(&m);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tf_end(&m);
    return 0;
}

static void ok(void)
{
    if (tf_import(&m, NULL, 0) != LITHE_OK) {
        fail_msg("%s", m.err.message);
    }
}

/* The import fails; the message has `part`. */
static void refused(lithe_status code, const char *part)
{
    assert_int_equal(tf_import(&m, NULL, 0), code);
    assert_int_equal(m.err.code, code);
    if (!strstr(m.err.message, part)) {
        fail_msg("'%s' is not in: %s", part, m.err.message);
    }
}

static int32_t f32(const char *name, uint32_t rank, const int32_t *dims)
{
    return tf_tensor(&m, name, TFLITE_FLOAT32, rank, dims);
}

/* x -> op -> y with y the output. */
static tflite_source_op *one_op(uint32_t builtin, uint32_t n_in, const int32_t *in, int32_t y)
{
    tf_input(&m, "x", in[0]);
    tf_output(&m, "y", y);
    return tf_op(&m, builtin, n_in, in, 1, &y);
}

static void shape_mismatch_fills_the_error(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(2, 3)), y = f32("sum", SHAPE(3, 2));
    one_op(ADD, INTS(x, x), y);
    refused(LITHE_E_MODEL,
            "signature 'decode', node 0 (ADD): output 'sum' must be f32 [2, 3], but the file says f32 [3, 2]");
    assert_string_equal(m.err.signature, "decode");
    assert_string_equal(m.err.op, "ADD");
    assert_string_equal(m.err.tensor, "sum");
    assert_string_equal(m.err.expected, "f32 [2, 3]");
    assert_string_equal(m.err.found, "f32 [3, 2]");
    assert_int_equal(m.err.node, 0);
}

static void type_mismatch(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(2)), k = tf_ints(&m, "k", INTS(1, 2)), y = f32("y", SHAPE(2));
    one_op(ADD, INTS(x, k), y);
    refused(LITHE_E_MODEL, "tensor 'x' is f32, but tensor 'k' is i32");
}

/* F2: a constant new shape that disagrees with the output, in rank and in size. */
static void reshape_against_its_output(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(12)), s = tf_ints(&m, "s", INTS(1, 2, 1, 3, 2, 1)), y = f32("y", SHAPE(12));
    one_op(RESHAPE, INTS(x, s), y);
    refused(LITHE_E_MODEL, "output 'y' must be f32 [1, 2, 1, 3, 2, 1], but the file says f32 [12]");
}

static void reshape_to_another_size(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(12)), s = tf_ints(&m, "s", INTS(5, 2)), y = f32("y", SHAPE(5, 2));
    one_op(RESHAPE, INTS(x, s), y);
    refused(LITHE_E_MODEL, "[12] cannot be reshaped to [5, 2]");
}

static void reshape_with_a_matrix_of_sizes(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(12)), y = f32("y", SHAPE(3, 4));
    int32_t s = tf_constant(&m, "s", TFLITE_INT32, SHAPE(2, 1), (const int32_t[]){3, 4}, 8);
    one_op(RESHAPE, INTS(x, s), y);
    refused(LITHE_E_MODEL, "the new shape must be a vector");
}

static void reshape_fills_a_hole(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(12)), s = tf_ints(&m, "s", INTS(3, -1)), y = f32("y", SHAPE(3, 4));
    one_op(RESHAPE, INTS(x, s), y);
    ok();
    assert_int_equal(m.g.nodes[0].n_inputs, 1);
}

static void reshape_cannot_fill_a_hole(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(12)), s = tf_ints(&m, "s", INTS(5, -1)), y = f32("y", SHAPE(5, 2));
    one_op(RESHAPE, INTS(x, s), y);
    refused(LITHE_E_MODEL, "-1 in the new shape cannot be filled");
}

static void computed_parameter(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(2, 3)), p = tf_tensor(&m, "p", TFLITE_INT32, SHAPE(2)), y = f32("y", SHAPE(3, 2));
    tf_input(&m, "p", p);
    one_op(TRANSPOSE, INTS(x, p), y);
    refused(LITHE_E_UNSUPPORTED, "the permutation must be constant, but tensor 'p' is computed");
}

static void permutation_with_a_repeat(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(2, 3)), p = tf_ints(&m, "p", INTS(1, -1)), y = f32("y", SHAPE(3, 2));
    one_op(TRANSPOSE, INTS(x, p), y);
    refused(LITHE_E_MODEL, "axis 1 appears twice");
}

static void unknown_builtin(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(2)), y = f32("y", SHAPE(2));
    one_op(LSTM, INTS(x), y);
    refused(LITHE_E_UNSUPPORTED, "node 0 (LSTM): operator LSTM (16) is not supported");
    assert_string_equal(m.err.op, "LSTM");
    assert_string_not_equal(m.err.hint, "");
}

static void unknown_custom(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(2)), y = f32("y", SHAPE(2));
    one_op(CUSTOM, INTS(x), y)->custom_code = "foo";
    refused(LITHE_E_UNSUPPORTED, "signature 'decode', node 0 (CUSTOM): custom op 'foo' is not supported");
}

static void read_before_written(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(2)), z = f32("z", SHAPE(2)), y = f32("y", SHAPE(2));
    one_op(ADD, INTS(x, z), y);
    refused(LITHE_E_MODEL, "tensor 'z' is read, but neither constant nor input nor written before");
    assert_string_equal(m.err.tensor, "z");
}

static void written_twice(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(2)), y = f32("y", SHAPE(2));
    one_op(ADD, INTS(x, x), y);
    tf_op(&m, ADD, INTS(x, x), INTS(y));
    refused(LITHE_E_MODEL, "tensor 'y' is written, but it is a constant, an input or written before");
}

static void missing_weights(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(2, 3)), y = f32("y", SHAPE(2, 4));
    one_op(FULLY_CONNECTED, INTS(x, -1), y);
    refused(LITHE_E_MODEL, "input 1 is missing");
}

static void too_few_inputs(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(2, 3)), y = f32("y", SHAPE(2, 4));
    one_op(FULLY_CONNECTED, INTS(x), y);
    refused(LITHE_E_MODEL, "1 inputs where 2 to 3 are expected");
}

static void unwritten_output(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(2)), y = f32("y", SHAPE(2));
    tf_input(&m, "x", x);
    tf_output(&m, "y", y);
    refused(LITHE_E_MODEL, "nothing writes output 'y'");
}

static void dynamic_dimension(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(1, -1)), y = f32("y", SHAPE(1, -1));
    m.tensors[0][x].has_dynamic_dims = m.tensors[0][y].has_dynamic_dims = true;
    one_op(ADD, INTS(x, x), y);
    refused(LITHE_E_UNSUPPORTED, "has a dynamic dimension");
}

static void fully_connected_shapes(void **state)
{
    (void)state;
    static const float w[12] = {0};
    int32_t x = f32("x", SHAPE(1, 2, 4)), weights = tf_constant(&m, "w", TFLITE_FLOAT32, SHAPE(3, 4), w, sizeof w),
            y = f32("y", SHAPE(2, 3)), z = f32("z", SHAPE(1, 2, 3));
    one_op(FULLY_CONNECTED, INTS(x, weights, -1), y);
    tflite_source_op *keep = tf_op(&m, FULLY_CONNECTED, INTS(x, weights), INTS(z));
    tf_option(&m, keep, 2, 'b', 1);
    tf_output(&m, "z", z);
    ok();
    for (uint32_t i = 0; i < 2; i++) { /* always three inputs */
        assert_int_equal(m.g.nodes[i].n_inputs, 3);
        assert_int_equal(m.g.nodes[i].inputs[2], GRAPH_NONE);
        assert_false(m.g.nodes[i].a.dynamic_quant);
    }
}

/* Without keep_num_dims rows may cross dimensions. */
static void fully_connected_flattens(void **state)
{
    (void)state;
    static const float w[12] = {0};
    int32_t x = f32("x", SHAPE(2, 2, 2)), weights = tf_constant(&m, "w", TFLITE_FLOAT32, SHAPE(3, 4), w, sizeof w),
            y = f32("y", SHAPE(2, 3));
    one_op(FULLY_CONNECTED, INTS(x, weights), y);
    ok();
    assert_int_equal(m.g.n_nodes, 2);
    assert_int_equal(m.g.nodes[0].op, OP_RESHAPE);
    assert_int_equal(m.g.nodes[1].inputs[0], m.g.nodes[0].outputs[0]);
}

static int32_t weights_i8(uint32_t n_scales, int64_t zero_point, int32_t axis)
{
    static const int8_t w[12] = {1};
    int32_t i = tf_constant(&m, "w", TFLITE_INT8, SHAPE(3, 4), w, sizeof w);
    tflite_tensor *t = &m.tensors[0][i];
    for (uint32_t k = 0; k < n_scales; k++) {
        m.scales[k] = 0.5f;
        m.zeros[k] = k ? 0 : zero_point;
    }
    t->n_scales = n_scales;
    t->scales = m.scales;
    t->zero_points = m.zeros;
    t->quantized_dimension = axis;
    return i;
}

static void linear_i8(uint32_t n_scales, int64_t zero_point, int32_t axis)
{
    int32_t x = f32("x", SHAPE(2, 4)), y = f32("y", SHAPE(2, 3)), w = weights_i8(n_scales, zero_point, axis);
    one_op(FULLY_CONNECTED, INTS(x, w), y);
}

static void channel_scales(void **state)
{
    (void)state;
    linear_i8(3, 0, 0);
    ok();
    const graph_tensor *w = &m.g.tensors[m.g.nodes[0].inputs[1]];
    assert_int_equal(w->quant, GRAPH_QUANT_CHANNEL);
    assert_int_equal(w->n_scales, 3);
    assert_true(m.g.nodes[0].a.dynamic_quant);
}

static void asymmetric_weights(void **state)
{
    (void)state;
    linear_i8(3, 7, 0);
    refused(LITHE_E_UNSUPPORTED, "tensor 'w' (i8): asymmetric quantisation");
}

static void scales_along_the_wrong_axis(void **state)
{
    (void)state;
    linear_i8(3, 0, 1);
    refused(LITHE_E_MODEL, "has 3 scales");
}

static void scales_on_the_summed_axis(void **state)
{
    (void)state;
    linear_i8(4, 0, 1);
    refused(LITHE_E_UNSUPPORTED, "this quantisation are not supported");
}

static void blocks(int32_t block, int32_t scale_columns)
{
    static const uint8_t w[64] = {0};
    static const uint16_t scales[16] = {0x3c00};
    int32_t x = f32("x", SHAPE(1, 64)), y = f32("y", SHAPE(1, 2));
    int32_t weights = tf_constant(&m, "w", TFLITE_INT4, SHAPE(2, 64), w, 64);
    int32_t s = tf_constant(&m, "s", TFLITE_FLOAT16, SHAPE(2, scale_columns), scales, (size_t)scale_columns * 4);
    m.tensors[0][weights].block_size = block;
    m.tensors[0][weights].block_scales_tensor = (uint32_t)s;
    one_op(FULLY_CONNECTED, INTS(x, weights), y);
}

static void block_scales(void **state)
{
    (void)state;
    blocks(32, 2);
    ok();
    const graph_tensor *w = &m.g.tensors[m.g.nodes[0].inputs[1]];
    assert_int_equal(w->quant, GRAPH_QUANT_BLOCK);
    assert_int_equal(w->block, 32);
    assert_int_equal(w->block_scales[0], 0x3c00);
}

static void block_scales_of_another_shape(void **state)
{
    (void)state;
    blocks(32, 3);
    refused(LITHE_E_MODEL, "one scale for each block");
}

static void blocks_that_do_not_divide(void **state)
{
    (void)state;
    blocks(48, 2);
    refused(LITHE_E_MODEL, "whole blocks");
}

static void strided_slice(int32_t begin_mask, int32_t end_mask, int32_t new_axis, int32_t shrink, const int32_t *begin,
                          const int32_t *end, const int32_t *step, uint32_t rank, const int32_t *dims)
{
    int32_t x = f32("x", SHAPE(4, 6)), b = tf_ints(&m, "b", 2, begin), e = tf_ints(&m, "e", 2, end),
            s = tf_ints(&m, "s", 2, step);
    int32_t y = f32("y", rank, dims);
    tflite_source_op *op = one_op(STRIDED_SLICE, INTS(x, b, e, s), y);
    tf_option(&m, op, 0, 'i', begin_mask);
    tf_option(&m, op, 1, 'i', end_mask);
    tf_option(&m, op, 3, 'i', new_axis);
    tf_option(&m, op, 4, 'i', shrink);
}

static void strided_slice_with_steps(void **state)
{
    (void)state;
    strided_slice(1, 2, 0, 0, (const int32_t[]){3, -5}, (const int32_t[]){-1, 0}, (const int32_t[]){1, 2}, SHAPE(3, 3));
    ok();
    const graph_attrs *a = &m.g.nodes[0].a;
    assert_int_equal(m.g.nodes[0].op, OP_SLICE);
    assert_memory_equal(a->begin, ((const int32_t[]){0, 1}), 8);
    assert_memory_equal(a->stride, ((const int32_t[]){1, 2}), 8);
}

static void strided_slice_backwards(void **state)
{
    (void)state;
    strided_slice(3, 3, 0, 0, (const int32_t[]){0, 0}, (const int32_t[]){0, 0}, (const int32_t[]){-1, -4}, SHAPE(4, 2));
    ok();
    assert_memory_equal(m.g.nodes[0].a.begin, ((const int32_t[]){3, 5}), 8);
}

/* The axis is kept in the IR and dropped by a RESHAPE. */
static void strided_slice_shrinks(void **state)
{
    (void)state;
    strided_slice(2, 2, 0, 1, (const int32_t[]){-1, 0}, (const int32_t[]){0, 0}, (const int32_t[]){1, 1}, SHAPE(6));
    ok();
    assert_int_equal(m.g.n_nodes, 2);
    const graph_tensor *full = &m.g.tensors[m.g.nodes[0].outputs[0]];
    assert_int_equal(full->rank, 2);
    assert_int_equal(full->dims[0], 1);
    assert_int_equal(m.g.nodes[0].a.begin[0], 3);
    assert_int_equal(m.g.nodes[1].op, OP_RESHAPE);
}

static void strided_slice_new_axis(void **state)
{
    (void)state;
    strided_slice(0, 0, 1, 0, (const int32_t[]){0, 0}, (const int32_t[]){1, 1}, (const int32_t[]){1, 1}, SHAPE(1, 1));
    refused(LITHE_E_UNSUPPORTED, "new-axis masks are not supported");
}

static void slice_outside(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(4)), b = tf_ints(&m, "b", INTS(2)), s = tf_ints(&m, "s", INTS(3)),
            y = f32("y", SHAPE(3));
    one_op(SLICE, INTS(x, b, s), y);
    refused(LITHE_E_MODEL, "slice [2, +3) of axis 0 leaves its 4 elements");
}

static void convolution_padding(void **state)
{
    (void)state;
    static const float w[2 * 3 * 3 * 1] = {0};
    int32_t x = f32("x", SHAPE(1, 5, 6, 1)),
            weights = tf_constant(&m, "w", TFLITE_FLOAT32, SHAPE(2, 3, 3, 1), w, sizeof w);
    int32_t y = f32("y", SHAPE(1, 3, 3, 2));
    tflite_source_op *op = one_op(CONV_2D, INTS(x, weights), y); /* SAME */
    tf_option(&m, op, 1, 'i', 2);
    tf_option(&m, op, 2, 'i', 2);
    ok();
    assert_int_equal(m.g.nodes[0].a.pad_top, 1);  /* (3 - 1) * 2 + 3 - 5 = 2 */
    assert_int_equal(m.g.nodes[0].a.pad_left, 0); /* (3 - 1) * 2 + 3 - 6 = 1 */
    assert_int_equal(m.g.nodes[0].a.dilation_h, 1);
}

/* More numbers than the parameter has room for. */
static void too_many_numbers(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(2)), axis = tf_ints(&m, "a", INTS(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)),
            y = f32("y", SHAPE(1, 2));
    one_op(EXPAND_DIMS, INTS(x, axis), y);
    refused(LITHE_E_MODEL, "the axis has 10 numbers where 1 are expected");
}

static void mean_axes(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(2, 3, 4)), axes = tf_ints(&m, "a", INTS(-1, 0)), y = f32("y", SHAPE(3));
    one_op(MEAN, INTS(x, axes), y);
    ok();
    assert_int_equal(m.g.nodes[0].a.n_axes, 2);
    assert_int_equal(m.g.nodes[0].a.axes[0], 0);
    assert_int_equal(m.g.nodes[0].a.axes[1], 2);
}

/* A composite without special treatment: x + x in subgraph 1. `nest`: its decomposition calls composite `nest`. */
static void composite_of(const char *name, int32_t nest)
{
    int32_t x = f32("x", SHAPE(2)), y = f32("y", SHAPE(2));
    tflite_source_op *op = one_op(COMPOSITE, INTS(x), y);
    op->composite_name = name;
    op->composite_subgraph = 1;
    m.n_subgraphs = 2;
    m.at = 1;
    int32_t a = f32("a", SHAPE(2)), b = f32("b", SHAPE(2));
    tf_input(&m, "a", a);
    tf_output(&m, "b", b);
    if (nest < 0) {
        tf_op(&m, ADD, INTS(a, a), INTS(b));
    } else {
        op = tf_op(&m, COMPOSITE, INTS(a), INTS(b));
        op->composite_name = name;
        op->composite_subgraph = nest;
    }
    m.at = 0;
}

static void composite_is_inlined(void **state)
{
    (void)state;
    composite_of("odml.double", -1);
    ok();
    assert_int_equal(m.g.n_nodes, 1);
    assert_int_equal(m.g.nodes[0].op, OP_ADD);
    assert_int_equal(m.g.nodes[0].outputs[0], m.g.outputs[0].tensor);
    assert_int_equal(m.g.nodes[0].source, 0);
}

static void composite_that_calls_itself(void **state)
{
    (void)state;
    composite_of("odml.loop", 1);
    refused(LITHE_E_UNSUPPORTED, "nested deeper than");
}

/* A decomposition whose result is its input needs a copy. */
static void composite_of_nothing(void **state)
{
    (void)state;
    composite_of("odml.same", -1);
    m.n_ops[1] = 0;
    m.io[1][1][0] = m.io[1][0][0];
    ok();
    assert_int_equal(m.g.n_nodes, 1);
    assert_int_equal(m.g.nodes[0].op, OP_RESHAPE);
}

static void composite_of_another_shape(void **state)
{
    (void)state;
    composite_of("odml.double", -1);
    m.tensors[1][0].dims[0] = 3;
    refused(LITHE_E_MODEL, "input 0 of composite 'odml.double' has not the shape and type");
}

/* An rms_norm whose epsilon cannot be read runs as its decomposition says. */
static void rms_norm_without_epsilon(void **state)
{
    (void)state;
    composite_of("odml.rms_norm", -1);
    ok();
    assert_int_equal(m.g.nodes[0].op, OP_ADD);
}

/* A cache that is updated by slices, with its position. */
static void cache(const char *name, int32_t axis)
{
    int32_t dims[3] = {1, 8, 8}, part[3] = {1, 8, 8};
    part[axis] = 1;
    int32_t in = f32("in", 3, dims), k = f32("k", 3, part), start = tf_tensor(&m, "start", TFLITE_INT32, SHAPE(3)),
            out = f32("out", 3, dims);
    tf_input(&m, name, in);
    tf_input(&m, "new", k);
    tf_input(&m, "start", start);
    tf_output(&m, name, out);
    tf_op(&m, DYNAMIC_UPDATE_SLICE, INTS(in, k, start), INTS(out));
}

static void states_by_name(void **state)
{
    (void)state;
    cache("kv_cache_v_0", 2);
    ok();
    assert_int_equal(m.g.n_states, 1);
    assert_int_equal(m.g.states[0].kind, GRAPH_STATE_VALUE);
    assert_int_equal(m.g.states[0].sequence_axis, 2);
    assert_int_equal(m.g.states[0].capacity, 8);
    assert_int_equal(m.g.context, 8);
    assert_int_equal(m.g.inputs[0].role, GRAPH_IN_STATE);
    assert_int_equal(m.g.outputs[0].state, 0);
}

/* A name that nobody knows, but an input that comes out again updated by slices. */
static void states_by_aliasing(void **state)
{
    (void)state;
    cache("memory", 1);
    ok();
    assert_int_equal(m.g.n_states, 1);
    assert_int_equal(m.g.states[0].kind, GRAPH_STATE_KEY);
    assert_int_equal(m.g.states[0].sequence_axis, 1);
}

static void states_by_hints(void **state)
{
    (void)state;
    cache("memory", 1);
    const graph_state_hint hint = {"memory", "memory", GRAPH_STATE_VALUE, 2};
    assert_int_equal(tf_import(&m, &hint, 1), LITHE_OK);
    assert_int_equal(m.g.states[0].kind, GRAPH_STATE_VALUE);
    assert_int_equal(m.g.states[0].sequence_axis, 2);
}

static void hints_that_do_not_fit(void **state)
{
    (void)state;
    cache("memory", 1);
    const graph_state_hint hint = {"other", "other", GRAPH_STATE_VALUE, 2};
    assert_int_equal(tf_import(&m, &hint, 1), LITHE_E_MODEL);
    assert_non_null(strstr(
        m.err.message,
        "state 'other' of the executor metadata is no input of the signature; inputs found: memory, new, start"));
}

/* A state that nothing writes would be an answer without memory. */
static void hint_of_an_output_that_is_not_there(void **state)
{
    (void)state;
    cache("memory", 1);
    const graph_state_hint hint = {"memory", "other", GRAPH_STATE_VALUE, 2};
    assert_int_equal(tf_import(&m, &hint, 1), LITHE_E_MODEL);
    assert_non_null(strstr(m.err.message,
                           "state 'memory' has output 'other' in the executor metadata, which the signature has not"));
}

static void hint_without_an_output(void **state)
{
    (void)state;
    cache("memory", 1);
    const graph_state_hint hint = {"memory", NULL, GRAPH_STATE_VALUE, 2};
    assert_int_equal(tf_import(&m, &hint, 1), LITHE_OK);
    assert_int_equal(m.g.states[0].output, m.g.outputs[m.g.n_outputs - 1].tensor);
}

static void hint_with_an_axis_outside(void **state)
{
    (void)state;
    cache("memory", 1);
    const graph_state_hint hint = {"memory", "memory", GRAPH_STATE_VALUE, 3};
    assert_int_equal(tf_import(&m, &hint, 1), LITHE_E_MODEL);
    assert_non_null(strstr(m.err.message, "no sequence axis"));
}

static void no_states_at_all(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(1, 1, 1, 8)), pos = tf_tensor(&m, "pos", TFLITE_INT32, SHAPE(1)),
            y = f32("y", SHAPE(1, 1, 1, 8));
    tf_input(&m, "mask", x);
    tf_input(&m, "input_pos", pos);
    tf_output(&m, "logits", y);
    tf_op(&m, ADD, INTS(x, x), INTS(y));
    refused(LITHE_E_MODEL, "no state (KV cache) can be told among the inputs: mask, input_pos");
}

static void missing_signature(void **state)
{
    (void)state;
    int32_t x = f32("x", SHAPE(2)), y = f32("y", SHAPE(2));
    one_op(ADD, INTS(x, x), y);
    ok();
    graph g;
    assert_int_equal(graph_import(&g, &m.model, "prefill", NULL, 0, &m.arena, &m.err), LITHE_E_MODEL);
    assert_string_equal(m.err.message, "the model has no signature 'prefill'");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(shape_mismatch_fills_the_error),
        TEST(type_mismatch),
        TEST(reshape_against_its_output),
        TEST(reshape_to_another_size),
        TEST(reshape_with_a_matrix_of_sizes),
        TEST(reshape_fills_a_hole),
        TEST(reshape_cannot_fill_a_hole),
        TEST(computed_parameter),
        TEST(permutation_with_a_repeat),
        TEST(unknown_builtin),
        TEST(unknown_custom),
        TEST(read_before_written),
        TEST(written_twice),
        TEST(missing_weights),
        TEST(too_few_inputs),
        TEST(unwritten_output),
        TEST(dynamic_dimension),
        TEST(fully_connected_shapes),
        TEST(fully_connected_flattens),
        TEST(channel_scales),
        TEST(asymmetric_weights),
        TEST(scales_along_the_wrong_axis),
        TEST(scales_on_the_summed_axis),
        TEST(block_scales),
        TEST(block_scales_of_another_shape),
        TEST(blocks_that_do_not_divide),
        TEST(strided_slice_with_steps),
        TEST(strided_slice_backwards),
        TEST(strided_slice_shrinks),
        TEST(strided_slice_new_axis),
        TEST(slice_outside),
        TEST(convolution_padding),
        TEST(mean_axes),
        TEST(too_many_numbers),
        TEST(composite_is_inlined),
        TEST(composite_that_calls_itself),
        TEST(composite_of_nothing),
        TEST(composite_of_another_shape),
        TEST(rms_norm_without_epsilon),
        TEST(states_by_name),
        TEST(states_by_aliasing),
        TEST(states_by_hints),
        TEST(hints_that_do_not_fit),
        TEST(hint_of_an_output_that_is_not_there),
        TEST(hint_without_an_output),
        TEST(hint_with_an_axis_outside),
        TEST(no_states_at_all),
        TEST(missing_signature),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
