/* Building one TFLite subgraph op by op, for the toy models. Running out of memory ends the program. */
#ifndef LITHE_TOOLS_TOYS_GRAPH_H
#define LITHE_TOOLS_TOYS_GRAPH_H

#include "bundle/writer.h"

/* Numbers of the schema's BuiltinOperator that the toys use. */
enum toy_op {
    OP_ADD = 0,
    OP_CONCATENATION = 2,
    OP_DEPTHWISE_CONV_2D = 4,
    OP_DEQUANTIZE = 6,
    OP_EMBEDDING_LOOKUP = 7,
    OP_FULLY_CONNECTED = 9,
    OP_LOGISTIC = 14,
    OP_MUL = 18,
    OP_RESHAPE = 22,
    OP_SOFTMAX = 25,
    OP_CUSTOM = 32,
    OP_GATHER = 36,
    OP_TRANSPOSE = 39,
    OP_MEAN = 40,
    OP_SUB = 41,
    OP_EXP = 47,
    OP_CAST = 53,
    OP_MINIMUM = 57,
    OP_LESS = 58,
    OP_GREATER = 61,
    OP_SLICE = 65,
    OP_SIN = 66,
    OP_NOT_EQUAL = 72,
    OP_LOG = 73,
    OP_SUM = 74,
    OP_RSQRT = 76,
    OP_PACK = 83,
    OP_LOGICAL_AND = 86,
    OP_COS = 108,
    OP_SELECT_V2 = 123,
    OP_BATCH_MATMUL = 126,
    OP_GELU = 150,
    OP_DYNAMIC_UPDATE_SLICE = 151,
    OP_COMPOSITE = 206
};

#define TOY_MAX_SUBGRAPHS 64
#define TOY_MAX_IO        16
#define TOY_SIGNATURES    3

typedef struct toy_shape {
    uint32_t rank;
    int32_t d[TFLITE_MAX_RANK];
} toy_shape;
#define SHAPE(...) ((toy_shape){sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t), {__VA_ARGS__}})
#define SCALAR     ((toy_shape){0, {0}})

typedef struct toy_weight toy_weight;

/* A model under construction: its subgraphs, signatures first. */
typedef struct toy_model {
    arena *arena;
    tflite_source_subgraph subgraphs[TOY_MAX_SUBGRAPHS];
    uint32_t n_subgraphs;
    tflite_signature signatures[TOY_SIGNATURES];
    uint32_t n_signatures;
} toy_model;
void toy_model_init(toy_model *m, arena *a);

typedef struct toy_graph {
    toy_model *model;
    arena *arena;
    tflite_tensor *tensors;
    uint32_t n_tensors, tensor_capacity;
    tflite_source_op *ops;
    uint32_t n_ops, op_capacity;
    int32_t inputs[TOY_MAX_IO], outputs[TOY_MAX_IO];
    const char *input_names[TOY_MAX_IO], *output_names[TOY_MAX_IO];
    uint32_t n_inputs, n_outputs;
    struct toy_use *uses; /* weights that the graph has already: a list */
} toy_graph;

void *toy_alloc(arena *a, size_t n, size_t size);
const char *toy_text(arena *a, const char *fmt, ...) LITHE_PRINTF(2, 3);
_Noreturn void toy_fail(const char *fmt, ...) LITHE_PRINTF(1, 2);

void toy_graph_init(toy_graph *g, toy_model *m);
int32_t toy_input(toy_graph *g, const char *name, uint32_t type, toy_shape shape);
void toy_output(toy_graph *g, const char *name, int32_t tensor);
toy_shape toy_shape_of(const toy_graph *g, int32_t tensor);

/* Constants. Equal int32 constants and equal float scalars of one graph share a tensor. */
int32_t toy_i32s(toy_graph *g, toy_shape shape, const int32_t *values);
int32_t toy_f32s(toy_graph *g, toy_shape shape, const float *values); /* `values` must live as long as the model */
int32_t toy_f32(toy_graph *g, float value);
int32_t toy_tensor(toy_graph *g, tflite_tensor t);

/* Ops. Each returns its (first) output. C leaves the order of a call's arguments open: at most one of them may add to the graph, or
 * compilers make different files. */
int32_t toy_op(toy_graph *g, uint32_t builtin, uint32_t type, toy_shape out, const int32_t *inputs, uint32_t n_inputs);
int32_t toy_op_with(toy_graph *g, uint32_t builtin, uint32_t type, toy_shape out, const int32_t *inputs,
                    uint32_t n_inputs, uint8_t options_type, const tflite_source_field *fields, uint32_t n_fields);
int32_t toy_unary(toy_graph *g, uint32_t builtin, int32_t x);
int32_t toy_binary(toy_graph *g, uint32_t builtin, int32_t a, int32_t b);  /* broadcasts; ADD, SUB, MUL, MINIMUM */
int32_t toy_compare(toy_graph *g, uint32_t builtin, int32_t a, int32_t b); /* BOOL result */
int32_t toy_cast(toy_graph *g, int32_t x, uint32_t type);
int32_t toy_reshape(toy_graph *g, int32_t x, toy_shape shape);
int32_t toy_transpose(toy_graph *g, int32_t x, toy_shape order);
int32_t toy_slice(toy_graph *g, int32_t x, toy_shape begin, toy_shape size);
int32_t toy_concat(toy_graph *g, const int32_t *xs, uint32_t n, int32_t axis);
int32_t toy_reduce(toy_graph *g, uint32_t builtin, int32_t x, int32_t axis); /* without keeping the axis */
int32_t toy_matmul(toy_graph *g, int32_t x, int32_t y);                      /* y transposed */
/* The composite odml.rms_norm with a decomposition of its own, as the reference's converter writes it. */
int32_t toy_rms_norm(toy_graph *g, int32_t x, const float *weight, float epsilon);
/* A node with several outputs of given shapes; outputs written to `out`. */
void toy_custom(toy_graph *g, const char *code, bytes options, const int32_t *inputs, uint32_t n_inputs,
                const toy_shape *shapes, int32_t *out, uint32_t n_outputs);

/* Adds the graph to its model and returns the subgraph's index. */
uint32_t toy_finish(toy_graph *g, const char *name);
/* The same as a signature, at the next of the places that come first: readers take subgraph 0 for the main one. */
void toy_finish_signature(toy_graph *g, const char *key);

#endif
