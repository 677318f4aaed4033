/* Small graphs and small TFLite models for the tests of the module. */
#ifndef LITHE_TESTS_GRAPH_SUPPORT_H
#define LITHE_TESTS_GRAPH_SUPPORT_H

#include "bundle/bundle.h"
#include "bundle/tflite.h"
#include "bundle/writer.h"
#include "graph/graph.h"

/* -------------------------------------------------------------------------------- graphs made in place */

typedef struct ir {
    arena arena;
    graph g;
} ir;

#define NO_DIMS                                                                                                        \
    (const int32_t[])                                                                                                  \
    {                                                                                                                  \
        0                                                                                                              \
    }
#define SHAPE(...)                                                                                                     \
    (uint32_t)(sizeof((const int32_t[]){__VA_ARGS__}) / 4), (const int32_t[])                                          \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
#define SCALAR 0, NO_DIMS

void ir_begin(ir *f);
void ir_end(ir *f);
uint32_t ir_tensor(ir *f, graph_type type, uint32_t rank, const int32_t *dims);
uint32_t ir_f32(ir *f, float v); /* scalar constants */
uint32_t ir_i32(ir *f, int32_t v);
uint32_t ir_constant(ir *f, graph_type type, uint32_t rank, const int32_t *dims, const void *data);
uint32_t ir_input(ir *f, const char *name, graph_role role, graph_type type, uint32_t rank, const int32_t *dims);
void ir_output(ir *f, const char *name, uint32_t tensor);
/* A state; sequence_axis < 0: recurrent. Its new value is set with ir_state_output. */
uint32_t ir_state(ir *f, const char *name, graph_state_kind kind, int32_t sequence_axis, uint32_t rank,
                  const int32_t *dims);
void ir_state_output(ir *f, uint32_t state, uint32_t tensor);
/* A node of one output with this type and shape; returns the output. Attributes are set through ir_last. */
uint32_t ir_node(ir *f, graph_op op, graph_type type, uint32_t rank, const int32_t *dims, uint32_t n_in,
                 const uint32_t *in);
graph_node *ir_last(ir *f);
#define IN(...)                                                                                                        \
    (uint32_t)(sizeof((const uint32_t[]){__VA_ARGS__}) / 4), (const uint32_t[])                                        \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
uint32_t ir_count(const ir *f, graph_op op);         /* live nodes of the op */
const graph_node *ir_find(const ir *f, graph_op op); /* the first, NULL if none */

/* ---------------------------------------------------------------------------------- TFLite models in memory */

typedef struct tf {
    tflite_tensor tensors[4][48];
    uint32_t n_tensors[4];
    tflite_source_op ops[4][24];
    uint32_t n_ops[4];
    int32_t io[4][2][16];
    uint32_t n_io[4][2];
    const char *names[2][16];
    uint32_t at; /* subgraph that is written to; 0 is the signature's */
    uint32_t n_subgraphs;
    int32_t lists[512];
    uint32_t n_lists;
    tflite_source_field fields[64];
    uint32_t n_fields;
    float scales[16];
    int64_t zeros[16];
    buffer file;
    arena arena;
    tflite_model model;
    graph g;
    lithe_error err;
} tf;

void tf_begin(tf *m);
void tf_end(tf *m);
int32_t tf_tensor(tf *m, const char *name, uint32_t type, uint32_t rank, const int32_t *dims);
int32_t tf_constant(tf *m, const char *name, uint32_t type, uint32_t rank, const int32_t *dims, const void *data,
                    size_t bytes_of_data);
int32_t tf_ints(tf *m, const char *name, uint32_t n, const int32_t *v); /* a constant vector */
#define INTS(...)                                                                                                      \
    (uint32_t)(sizeof((const int32_t[]){__VA_ARGS__}) / 4), (const int32_t[])                                          \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
void tf_input(tf *m, const char *name, int32_t tensor);
void tf_output(tf *m, const char *name, int32_t tensor);
tflite_source_op *tf_op(tf *m, uint32_t builtin, uint32_t n_in, const int32_t *in, uint32_t n_out, const int32_t *out);
void tf_option(tf *m, tflite_source_op *op, uint8_t slot, char kind, double value); /* right after tf_op */
lithe_status tf_import(tf *m, const graph_state_hint *hints, uint32_t n_hints);

/* ------------------------------------------------------------------------------------------- real bundles */

typedef struct opened {
    bundle *b;
    arena model_arena, graph_arena;
    tflite_model model;
    graph g;
    lithe_error err;
} opened;

/* Imports signature `key` of the n-th TFLite section; false and err filled on failure. */
bool open_signature(opened *o, const char *path, uint32_t nth, const char *key);
void close_signature(opened *o);

#endif
