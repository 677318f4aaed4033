#include "toys/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tags of the schema's BuiltinOptions. */
enum {
    OPT_NONE = 0,
    OPT_SOFTMAX = 9,
    OPT_CONCATENATION = 10,
    OPT_ADD = 11,
    OPT_MUL = 21,
    OPT_REDUCER = 27,
    OPT_SUB = 28,
    OPT_BATCH_MATMUL = 101
};

_Noreturn void toy_fail(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fprintf(stderr, "make_toys: ");
    vfprintf(stderr, fmt, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(1);
}

void *toy_alloc(arena *a, size_t n, size_t size)
{
    void *p = arena_alloc(a, n, size);
    if (!p) {
        toy_fail("out of memory");
    }
    return p;
}

const char *toy_text(arena *a, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    char *copy = n < 0 || n >= (int)sizeof text ? NULL : arena_strndup(a, text, (size_t)n);
    if (!copy) {
        toy_fail("out of memory");
    }
    return copy;
}

static void *copy_of(arena *a, const void *data, size_t size)
{
    void *p = toy_alloc(a, size ? size : 1, 1);
    if (size) {
        memcpy(p, data, size);
    }
    return p;
}

void toy_model_init(toy_model *m, arena *a)
{
    *m = (toy_model){.arena = a, .n_subgraphs = TOY_SIGNATURES};
}

void toy_graph_init(toy_graph *g, toy_model *m)
{
    memset(g, 0, sizeof *g);
    g->model = m;
    g->arena = m->arena;
}

/* Room for one more in an array of the arena; the old array is left behind. */
static void *grown(arena *a, void *array, uint32_t n, uint32_t *capacity, size_t size)
{
    if (n < *capacity) {
        return array;
    }
    uint32_t more = *capacity ? 2 * *capacity : 64;
    void *bigger = toy_alloc(a, more, size);
    if (n) {
        memcpy(bigger, array, n * size);
    }
    *capacity = more;
    return bigger;
}

int32_t toy_tensor(toy_graph *g, tflite_tensor t)
{
    g->tensors = grown(g->arena, g->tensors, g->n_tensors, &g->tensor_capacity, sizeof *g->tensors);
    if (!t.name) {
        t.name = toy_text(g->arena, "toy/t%lu", (unsigned long)g->n_tensors);
    }
    g->tensors[g->n_tensors] = t;
    return (int32_t)g->n_tensors++;
}

static tflite_tensor shaped(uint32_t type, toy_shape shape)
{
    tflite_tensor t = {.type = type, .rank = shape.rank, .block_zero_points_tensor = -1};
    memcpy(t.dims, shape.d, sizeof t.dims);
    return t;
}

static int32_t elements(toy_shape s)
{
    int32_t n = 1;
    for (uint32_t i = 0; i < s.rank; i++) {
        n *= s.d[i];
    }
    return n;
}

toy_shape toy_shape_of(const toy_graph *g, int32_t tensor)
{
    const tflite_tensor *t = &g->tensors[tensor];
    toy_shape s = {.rank = t->rank};
    memcpy(s.d, t->dims, sizeof s.d);
    return s;
}

int32_t toy_input(toy_graph *g, const char *name, uint32_t type, toy_shape shape)
{
    tflite_tensor t = shaped(type, shape);
    t.name = name;
    if (g->n_inputs == TOY_MAX_IO) {
        toy_fail("too many inputs");
    }
    int32_t i = toy_tensor(g, t);
    g->input_names[g->n_inputs] = name;
    g->inputs[g->n_inputs++] = i;
    return i;
}

void toy_output(toy_graph *g, const char *name, int32_t tensor)
{
    if (g->n_outputs == TOY_MAX_IO) {
        toy_fail("too many outputs");
    }
    g->output_names[g->n_outputs] = name;
    g->outputs[g->n_outputs++] = tensor;
}

/* A constant of the graph with this type, shape and contents; -1 if there is none. */
static int32_t find_constant(const toy_graph *g, const tflite_tensor *like)
{
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const tflite_tensor *t = &g->tensors[i];
        if (t->data.data && t->type == like->type && t->rank == like->rank &&
            memcmp(t->dims, like->dims, sizeof t->dims) == 0 && t->data.size == like->data.size &&
            memcmp(t->data.data, like->data.data, t->data.size) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

static int32_t constant(toy_graph *g, uint32_t type, toy_shape shape, const void *values)
{
    tflite_tensor t = shaped(type, shape);
    size_t size = (size_t)elements(shape) * 4;
    t.data = (bytes){values, size};
    int32_t found = find_constant(g, &t);
    if (found >= 0) {
        return found;
    }
    t.data.data = copy_of(g->arena, values, size);
    return toy_tensor(g, t);
}

int32_t toy_i32s(toy_graph *g, toy_shape shape, const int32_t *values)
{
    return constant(g, TFLITE_INT32, shape, values);
}

int32_t toy_f32(toy_graph *g, float value)
{
    return constant(g, TFLITE_FLOAT32, SCALAR, &value);
}

int32_t toy_f32s(toy_graph *g, toy_shape shape, const float *values)
{
    tflite_tensor t = shaped(TFLITE_FLOAT32, shape);
    t.data = (bytes){(const uint8_t *)values, (size_t)elements(shape) * 4};
    int32_t found = find_constant(g, &t);
    return found >= 0 ? found : toy_tensor(g, t);
}

static tflite_source_op *new_op(toy_graph *g, uint32_t builtin, const int32_t *inputs, uint32_t n_inputs,
                                const int32_t *outputs, uint32_t n_outputs)
{
    g->ops = grown(g->arena, g->ops, g->n_ops, &g->op_capacity, sizeof *g->ops);
    tflite_source_op *op = &g->ops[g->n_ops++];
    *op = (tflite_source_op){.builtin = builtin,
                             .inputs = copy_of(g->arena, inputs, n_inputs * sizeof *inputs),
                             .n_inputs = n_inputs,
                             .outputs = copy_of(g->arena, outputs, n_outputs * sizeof *outputs),
                             .n_outputs = n_outputs};
    return op;
}

int32_t toy_op_with(toy_graph *g, uint32_t builtin, uint32_t type, toy_shape out, const int32_t *inputs,
                    uint32_t n_inputs, uint8_t options_type, const tflite_source_field *fields, uint32_t n_fields)
{
    int32_t y = toy_tensor(g, shaped(type, out));
    tflite_source_op *op = new_op(g, builtin, inputs, n_inputs, &y, 1);
    op->options_type = options_type;
    op->fields = copy_of(g->arena, fields, n_fields * sizeof *fields);
    op->n_fields = n_fields;
    op->version = builtin == OP_FULLY_CONNECTED ? 5 : 1;
    return y;
}

int32_t toy_op(toy_graph *g, uint32_t builtin, uint32_t type, toy_shape out, const int32_t *inputs, uint32_t n_inputs)
{
    return toy_op_with(g, builtin, type, out, inputs, n_inputs, OPT_NONE, NULL, 0);
}

static toy_shape broadcast(toy_shape a, toy_shape b)
{
    toy_shape s = a.rank >= b.rank ? a : b, small = a.rank >= b.rank ? b : a;
    for (uint32_t i = 0; i < small.rank; i++) {
        int32_t *d = &s.d[s.rank - small.rank + i];
        *d = *d == 1 ? small.d[i] : *d;
    }
    return s;
}

int32_t toy_unary(toy_graph *g, uint32_t builtin, int32_t x)
{
    if (builtin == OP_SOFTMAX) {
        tflite_source_field beta = {0, 'f', 1.0, NULL, 0};
        return toy_op_with(g, builtin, TFLITE_FLOAT32, toy_shape_of(g, x), &x, 1, OPT_SOFTMAX, &beta, 1);
    }
    if (builtin == OP_GELU) {
        tflite_source_field approximate = {0, 'b', 1, NULL, 0};
        return toy_op_with(g, builtin, TFLITE_FLOAT32, toy_shape_of(g, x), &x, 1, 116, &approximate, 1);
    }
    return toy_op(g, builtin, TFLITE_FLOAT32, toy_shape_of(g, x), &x, 1);
}

int32_t toy_binary(toy_graph *g, uint32_t builtin, int32_t a, int32_t b)
{
    uint8_t options = builtin == OP_ADD   ? OPT_ADD
                      : builtin == OP_MUL ? OPT_MUL
                      : builtin == OP_SUB ? OPT_SUB
                                          : OPT_NONE;
    int32_t in[] = {a, b};
    return toy_op_with(g, builtin, g->tensors[a].type, broadcast(toy_shape_of(g, a), toy_shape_of(g, b)), in, 2,
                       options, NULL, 0);
}

int32_t toy_compare(toy_graph *g, uint32_t builtin, int32_t a, int32_t b)
{
    int32_t in[] = {a, b};
    return toy_op(g, builtin, TFLITE_BOOL, broadcast(toy_shape_of(g, a), toy_shape_of(g, b)), in, 2);
}

int32_t toy_cast(toy_graph *g, int32_t x, uint32_t type)
{
    return toy_op(g, OP_CAST, type, toy_shape_of(g, x), &x, 1);
}

int32_t toy_reshape(toy_graph *g, int32_t x, toy_shape shape)
{
    int32_t in[] = {x, toy_i32s(g, SHAPE((int32_t)shape.rank), shape.d)};
    return toy_op(g, OP_RESHAPE, g->tensors[x].type, shape, in, 2);
}

int32_t toy_transpose(toy_graph *g, int32_t x, toy_shape order)
{
    toy_shape from = toy_shape_of(g, x), to = {.rank = from.rank};
    for (uint32_t i = 0; i < from.rank; i++) {
        to.d[i] = from.d[order.d[i]];
    }
    int32_t in[] = {x, toy_i32s(g, SHAPE((int32_t)order.rank), order.d)};
    return toy_op(g, OP_TRANSPOSE, g->tensors[x].type, to, in, 2);
}

int32_t toy_slice(toy_graph *g, int32_t x, toy_shape begin, toy_shape size)
{
    int32_t n = (int32_t)begin.rank;
    int32_t in[] = {x, toy_i32s(g, SHAPE(n), begin.d), toy_i32s(g, SHAPE(n), size.d)};
    return toy_op(g, OP_SLICE, g->tensors[x].type, size, in, 3);
}

int32_t toy_concat(toy_graph *g, const int32_t *xs, uint32_t n, int32_t axis)
{
    toy_shape s = toy_shape_of(g, xs[0]);
    for (uint32_t i = 1; i < n; i++) {
        s.d[axis] += toy_shape_of(g, xs[i]).d[axis];
    }
    tflite_source_field f = {0, 'i', axis, NULL, 0};
    return toy_op_with(g, OP_CONCATENATION, g->tensors[xs[0]].type, s, xs, n, OPT_CONCATENATION, &f, 1);
}

int32_t toy_reduce(toy_graph *g, uint32_t builtin, int32_t x, int32_t axis)
{
    toy_shape s = toy_shape_of(g, x), out = {.rank = s.rank - 1};
    for (uint32_t i = 0, k = 0; i < s.rank; i++) {
        if (i != (uint32_t)axis) {
            out.d[k++] = s.d[i];
        }
    }
    int32_t in[] = {x, toy_i32s(g, SHAPE(1), &axis)};
    return toy_op_with(g, builtin, TFLITE_FLOAT32, out, in, 2, OPT_REDUCER, NULL, 0);
}

int32_t toy_matmul(toy_graph *g, int32_t x, int32_t y)
{
    toy_shape s = toy_shape_of(g, x);
    s.d[s.rank - 1] = toy_shape_of(g, y).d[s.rank - 2];
    tflite_source_field adj_y = {1, 'b', 1, NULL, 0};
    int32_t in[] = {x, y};
    return toy_op_with(g, OP_BATCH_MATMUL, TFLITE_FLOAT32, s, in, 2, OPT_BATCH_MATMUL, &adj_y, 1);
}

/* {"epsilon": value} as a FlexBuffer: the key, the vector of keys, the map's prefix (way to the keys, their width, size), the value
 * with its type, and the root. */
static bytes epsilon_attributes(arena *a, float epsilon)
{
    uint8_t *p = toy_alloc(a, 32, 1);
    memcpy(p, "epsilon", 8);
    p[8] = 1, p[9] = 9;
    store_u32(p + 12, 3);
    store_u32(p + 16, 1);
    store_u32(p + 20, 1);
    memcpy(p + 24, &epsilon, 4);
    p[28] = 3 << 2 | 2;
    p[29] = 5, p[30] = 9 << 2 | 2, p[31] = 1;
    return (bytes){p, 32};
}

/* x * rsqrt(mean(x^2) + epsilon) * weight */
static uint32_t rms_norm_impl(toy_model *m, toy_shape shape, float epsilon)
{
    toy_graph g;
    toy_graph_init(&g, m);
    int32_t last = (int32_t)shape.rank - 1;
    int32_t x = toy_input(&g, "x", TFLITE_FLOAT32, shape),
            w = toy_input(&g, "weight", TFLITE_FLOAT32, SHAPE(shape.d[last]));
    toy_shape column = shape;
    column.d[last] = 1;
    int32_t mean = toy_reduce(&g, OP_MEAN, toy_binary(&g, OP_MUL, x, x), last);
    int32_t sum = toy_binary(&g, OP_ADD, mean, toy_f32(&g, epsilon));
    int32_t scale = toy_unary(&g, OP_RSQRT, toy_reshape(&g, sum, column));
    toy_output(&g, "y", toy_binary(&g, OP_MUL, toy_binary(&g, OP_MUL, x, scale), w));
    return toy_finish(&g, toy_text(m->arena, "odml.rms_norm.impl_%lu", (unsigned long)m->n_subgraphs));
}

int32_t toy_rms_norm(toy_graph *g, int32_t x, const float *weight, float epsilon)
{
    toy_shape s = toy_shape_of(g, x);
    int32_t in[] = {x, toy_f32s(g, SHAPE(s.d[s.rank - 1]), weight)};
    int32_t y = toy_op(g, OP_COMPOSITE, TFLITE_FLOAT32, s, in, 2);
    tflite_source_op *op = &g->ops[g->n_ops - 1];
    op->composite_name = "odml.rms_norm";
    op->composite_attributes = epsilon_attributes(g->arena, epsilon);
    op->composite_subgraph = (int32_t)rms_norm_impl(g->model, s, epsilon);
    return y;
}

void toy_custom(toy_graph *g, const char *code, bytes options, const int32_t *inputs, uint32_t n_inputs,
                const toy_shape *shapes, int32_t *out, uint32_t n_outputs)
{
    for (uint32_t i = 0; i < n_outputs; i++) {
        out[i] = toy_tensor(g, shaped(TFLITE_FLOAT32, shapes[i]));
    }
    tflite_source_op *op = new_op(g, OP_CUSTOM, inputs, n_inputs, out, n_outputs);
    op->custom_code = code;
    op->custom_options = options;
}

static void place(toy_graph *g, uint32_t index, const char *name)
{
    g->model->subgraphs[index] =
        (tflite_source_subgraph){.name = name,
                                 .tensors = g->tensors,
                                 .n_tensors = g->n_tensors,
                                 .inputs = copy_of(g->arena, g->inputs, g->n_inputs * sizeof *g->inputs),
                                 .n_inputs = g->n_inputs,
                                 .outputs = copy_of(g->arena, g->outputs, g->n_outputs * sizeof *g->outputs),
                                 .n_outputs = g->n_outputs,
                                 .ops = g->ops,
                                 .n_ops = g->n_ops};
}

uint32_t toy_finish(toy_graph *g, const char *name)
{
    if (g->model->n_subgraphs == TOY_MAX_SUBGRAPHS) {
        toy_fail("too many subgraphs");
    }
    place(g, g->model->n_subgraphs, name);
    return g->model->n_subgraphs++;
}

void toy_finish_signature(toy_graph *g, const char *key)
{
    toy_model *m = g->model;
    if (m->n_signatures == TOY_SIGNATURES) {
        toy_fail("too many signatures");
    }
    place(g, m->n_signatures, key);
    m->signatures[m->n_signatures] =
        (tflite_signature){.key = key,
                           .subgraph = m->n_signatures,
                           .input_names = copy_of(g->arena, g->input_names, g->n_inputs * sizeof *g->input_names),
                           .output_names = copy_of(g->arena, g->output_names, g->n_outputs * sizeof *g->output_names),
                           .input_tensors = copy_of(g->arena, g->inputs, g->n_inputs * sizeof *g->inputs),
                           .output_tensors = copy_of(g->arena, g->outputs, g->n_outputs * sizeof *g->outputs),
                           .n_inputs = g->n_inputs,
                           .n_outputs = g->n_outputs};
    m->n_signatures++;
}
