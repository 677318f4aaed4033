#include "toys/model.h"

/* The flags that multiply a tensor: 0 for pad tokens, so that padding leaves the states alone. */
static int32_t flags(toy_step *s, toy_shape shape)
{
    return toy_cast(s->g, toy_reshape(s->g, s->valid, shape), TFLITE_FLOAT32);
}

/* The last columns of the convolution's input become its new state: those before the first pad token. */
static int32_t next_conv_state(toy_step *s, int32_t columns)
{
    toy_graph *g = s->g;
    if (s->n == 1) {
        return toy_slice(g, columns, SHAPE(0, 0, 1), SHAPE(1, TOY_CHANNELS, TOY_CONV - 1));
    }
    enum { OPT_GATHER = 23 };
    static const int32_t offsets[TOY_CONV - 1] = {0, 1, 2};
    int32_t valid = toy_cast(g, toy_reshape(g, s->valid, SHAPE(s->n)), TFLITE_FLOAT32);
    int32_t count = toy_cast(g, toy_reduce(g, OP_SUM, valid, 0), TFLITE_INT32);
    int32_t at = toy_binary(g, OP_ADD, count, toy_i32s(g, SHAPE(TOY_CONV - 1), offsets));
    int32_t in[] = {columns, at};
    tflite_source_field axis = {0, 'i', 2, NULL, 0};
    return toy_op_with(g, OP_GATHER, TFLITE_FLOAT32, SHAPE(1, TOY_CHANNELS, TOY_CONV - 1), in, 2, OPT_GATHER, &axis, 1);
}

/* [1, n, channels] to the same after the causal convolution and SiLU. */
static int32_t convolve(toy_step *s, const toy_linear_weights *w, int32_t x, int32_t state)
{
    toy_graph *g = s->g;
    const int32_t c = TOY_CHANNELS, n = s->n, width = n + TOY_CONV - 1;
    int32_t rows = n == 1 ? toy_reshape(g, x, SHAPE(1, c, 1)) : toy_transpose(g, x, SHAPE(0, 2, 1));
    int32_t masked = toy_binary(g, OP_MUL, rows, flags(s, SHAPE(1, 1, n)));
    int32_t columns = toy_concat(g, (int32_t[]){state, masked}, 2, 2);
    int32_t image = toy_transpose(g, toy_reshape(g, columns, SHAPE(1, c, 1, width)), SHAPE(0, 2, 3, 1));
    enum { OPT_DEPTHWISE = 2, VALID = 1 };
    tflite_source_field fields[] = {
        {0, 'b', VALID, NULL, 0}, {1, 'i', 1, NULL, 0}, {2, 'i', 1, NULL, 0}, {3, 'i', 1, NULL, 0}};
    int32_t in[] = {image, toy_f32s(g, SHAPE(1, 1, TOY_CONV, c), w->conv), toy_f32s(g, SHAPE(c), w->conv_bias)};
    int32_t y =
        toy_op_with(g, OP_DEPTHWISE_CONV_2D, TFLITE_FLOAT32, SHAPE(1, 1, n, c), in, 3, OPT_DEPTHWISE, fields, 4);
    if (n > 1) {
        y = toy_transpose(g, y, SHAPE(0, 3, 1, 2));
    }
    y = toy_reshape(g, y, SHAPE(1, c, n));
    toy_output(g, toy_state_name(s->config, g->arena, 0), next_conv_state(s, columns));
    y = toy_binary(g, OP_MUL, y, toy_unary(g, OP_LOGISTIC, y));
    return n == 1 ? toy_reshape(g, y, SHAPE(1, 1, c)) : toy_transpose(g, y, SHAPE(0, 2, 1));
}

/* x / |x| over the last axis of [1, n, heads, d] */
static int32_t normalise(toy_step *s, int32_t x, uint32_t reduction)
{
    toy_graph *g = s->g;
    toy_shape column = toy_shape_of(g, x);
    column.d[3] = 1;
    int32_t sum = toy_reduce(g, reduction, toy_binary(g, OP_MUL, x, x), 3);
    int32_t safe = toy_binary(g, OP_ADD, sum, toy_f32(g, 1e-6f));
    return toy_binary(g, OP_MUL, x, toy_unary(g, OP_RSQRT, toy_reshape(g, safe, column)));
}

static int32_t heads_first(toy_step *s, int32_t x)
{
    toy_shape f = toy_shape_of(s->g, x);
    if (f.rank == 3) {
        return s->n == 1 ? toy_reshape(s->g, x, SHAPE(1, f.d[2], 1)) : toy_transpose(s->g, x, SHAPE(0, 2, 1));
    }
    return s->n == 1 ? toy_reshape(s->g, x, SHAPE(1, f.d[2], 1, f.d[3])) : toy_transpose(s->g, x, SHAPE(0, 2, 1, 3));
}

/* One part of the convolved channels as [1, n, heads, d], pad tokens zeroed. */
static int32_t part(toy_step *s, int32_t x, int32_t from, int32_t heads)
{
    toy_graph *g = s->g;
    int32_t slice = toy_slice(g, x, SHAPE(0, 0, from), SHAPE(1, s->n, heads * TOY_LINEAR_DIM));
    int32_t split = toy_reshape(g, slice, SHAPE(1, s->n, heads, TOY_LINEAR_DIM));
    return toy_binary(g, OP_MUL, split, flags(s, SHAPE(1, s->n, 1, 1)));
}

/* -exp(A) * log(1 + exp(min(a + bias, 50))), pad tokens zeroed: [1, n, heads] */
static int32_t log_decay(toy_step *s, const toy_linear_weights *w, int32_t x)
{
    toy_graph *g = s->g;
    int32_t bias = toy_f32s(g, SHAPE(TOY_LINEAR_V_HEADS), w->gate_bias);
    int32_t projected = toy_linear(g, x, w->gate, bias), most = toy_f32(g, 50.0f), one = toy_f32(g, 1.0f);
    int32_t grown = toy_unary(g, OP_EXP, toy_binary(g, OP_MINIMUM, projected, most));
    int32_t softplus = toy_unary(g, OP_LOG, toy_binary(g, OP_ADD, grown, one));
    int32_t decay = toy_binary(g, OP_MUL, softplus, toy_f32s(g, SHAPE(1, 1, TOY_LINEAR_V_HEADS), w->decay));
    return toy_binary(g, OP_MUL, decay, flags(s, SHAPE(1, s->n, 1)));
}

/* {"mode": 0, "state_dtype": "float32"} as a FlexBuffer: the two keys, the string, the vector of keys, the map, the root. */
static bytes update_options(void)
{
    static const uint8_t options[] = "mode\0state_dtype\0\7float32\0\2\x1b\x17\2\1\2\0\x0f\4\x14\4\x24\1";
    return (bytes){options, sizeof options - 1};
}

int32_t toy_linear_attention(toy_step *s, const toy_linear_weights *w, int32_t x, int32_t conv_state,
                             int32_t matrix_state)
{
    toy_graph *g = s->g;
    const int32_t keys = TOY_LINEAR_K_HEADS * TOY_LINEAR_DIM, d = TOY_LINEAR_DIM, hv = TOY_LINEAR_V_HEADS, n = s->n;
    int32_t beta = toy_unary(g, OP_LOGISTIC, toy_linear(g, x, w->beta, -1));
    int32_t qkv = convolve(s, w, toy_linear(g, x, w->qkv, -1), conv_state);
    int32_t q = normalise(s, part(s, qkv, 0, TOY_LINEAR_K_HEADS), OP_SUM);
    int32_t k = normalise(s, part(s, qkv, keys, TOY_LINEAR_K_HEADS), OP_SUM);
    int32_t v = part(s, qkv, 2 * keys, hv);
    int32_t scaled = toy_binary(g, OP_MUL, q, toy_f32(g, 0.25f));
    int32_t strength = toy_binary(g, OP_MUL, beta, flags(s, SHAPE(1, n, 1)));
    int32_t in[] = {heads_first(s, scaled),
                    heads_first(s, k),
                    heads_first(s, v),
                    heads_first(s, strength),
                    heads_first(s, log_decay(s, w, x)),
                    matrix_state};
    toy_shape shapes[] = {SHAPE(1, hv, n, d), SHAPE(1, hv, d, d)};
    int32_t out[2];
    toy_custom(g, "gated_delta_update", update_options(), in, 6, shapes, out, 2);
    toy_output(g, toy_state_name(s->config, g->arena, 1), out[1]);
    int32_t o = n == 1 ? toy_reshape(g, out[0], SHAPE(1, 1, hv, d)) : toy_transpose(g, out[0], SHAPE(0, 2, 1, 3));
    int32_t unit = normalise(s, o, OP_MEAN);
    int32_t normed = toy_binary(g, OP_MUL, unit, toy_f32s(g, SHAPE(d), w->norm));
    int32_t z = toy_reshape(g, toy_linear(g, x, w->z, -1), SHAPE(1, n, hv, d));
    int32_t gated = toy_binary(g, OP_MUL, normed, toy_binary(g, OP_MUL, z, toy_unary(g, OP_LOGISTIC, z)));
    return toy_linear(g, toy_reshape(g, gated, SHAPE(1, n, hv * d)), w->out, -1);
}
