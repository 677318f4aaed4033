/* A TFLite model inside a section (schema v3, tensorflow/compiler/mlir/lite/schema/schema.fbs): verified and presented as plain structs.
 * The model level is read at open; subgraphs only when asked for, so that signatures that are not used cost nothing.
 * Everything here is a fact of the file: index values are checked against their tables, shapes for overflow, buffers against the section.
 * What an op means is graph's business. */
#ifndef LITHE_BUNDLE_TFLITE_H
#define LITHE_BUNDLE_TFLITE_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "bundle/flatbuf.h"

#define TFLITE_MAX_RANK 8

/* TensorType of the schema (the ones that occur); others are kept as numbers. */
enum tflite_type {
    TFLITE_FLOAT32 = 0,
    TFLITE_FLOAT16 = 1,
    TFLITE_INT32 = 2,
    TFLITE_UINT8 = 3,
    TFLITE_INT64 = 4,
    TFLITE_STRING = 5,
    TFLITE_BOOL = 6,
    TFLITE_INT16 = 7,
    TFLITE_COMPLEX64 = 8,
    TFLITE_INT8 = 9,
    TFLITE_FLOAT64 = 10,
    TFLITE_UINT64 = 12,
    TFLITE_UINT32 = 15,
    TFLITE_UINT16 = 16,
    TFLITE_INT4 = 17,
    TFLITE_BFLOAT16 = 18
};
const char *tflite_type_name(uint32_t type); /* "FLOAT32"; "type 99" is not needed: returns "?" */
uint32_t tflite_type_bits(uint32_t type);    /* 4 for INT4; 0 for STRING and unknown */

typedef struct tflite_tensor {
    const char *name;
    uint32_t type;
    uint32_t rank;
    int32_t dims[TFLITE_MAX_RANK]; /* as stored; -1 from shape_signature marks a dynamic dimension */
    bool has_dynamic_dims;
    bytes data;      /* constant's bytes in the map (size checked against shape and type); NULL if not constant */
    uint32_t buffer; /* index in the model's buffers; tensors that share it share bytes */
    /* quantisation */
    uint32_t n_scales;          /* 0: none; 1: per tensor; else per channel */
    const float *scales;        /* arena copy or in place when aligned */
    const int64_t *zero_points; /* n_scales of them, NULL when all are 0 */
    int32_t quantized_dimension;
    int32_t block_size;               /* blockwise: > 0; scales then is NULL */
    uint32_t block_scales_tensor;     /* index of the FLOAT16 tensor of scales [out, in / block_size] */
    int32_t block_zero_points_tensor; /* -1: none */
} tflite_tensor;

typedef struct tflite_op {
    uint32_t builtin;        /* BuiltinOperator */
    const char *custom_code; /* "" unless CUSTOM */
    uint32_t version;
    const int32_t *inputs; /* tensor indices, -1: absent optional input */
    uint32_t n_inputs;
    const int32_t *outputs;
    uint32_t n_outputs;
    fb_table options; /* builtin_options, or builtin_options_2 for STABLEHLO_COMPOSITE and the like; at == 0: absent */
    uint8_t options_type;
    bytes custom_options; /* flexbuffer of a CUSTOM op, or composite_attributes */
    /* STABLEHLO_COMPOSITE */
    const char *composite_name; /* "" otherwise */
    int32_t composite_subgraph; /* decomposition */
    int32_t composite_version;
} tflite_op;

typedef struct tflite_subgraph {
    const char *name;
    const tflite_tensor *tensors;
    uint32_t n_tensors;
    const int32_t *inputs, *outputs;
    uint32_t n_inputs, n_outputs;
    const tflite_op *ops;
    uint32_t n_ops;
} tflite_subgraph;

typedef struct tflite_signature {
    const char *key;
    uint32_t subgraph;
    const char **input_names, **output_names;
    const uint32_t *input_tensors, *output_tensors;
    uint32_t n_inputs, n_outputs;
} tflite_signature;

typedef struct tflite_metadata {
    const char *name;
    bytes data;
} tflite_metadata;

typedef struct tflite_model {
    bytes file;    /* the whole section */
    bytes weights; /* external weights (TFLiteWeights section of the same model type) or size 0 */
    uint32_t version;
    const char *description;
    uint32_t n_subgraphs, n_buffers, n_opcodes;
    const tflite_signature *signatures;
    uint32_t n_signatures;
    const tflite_metadata *metadata;
    uint32_t n_metadata;
    struct tflite_tables *tables; /* private */
    arena *arena;                 /* borrowed: everything above lives in it */
} tflite_model;

/* Reads and verifies the model level. All memory is taken from `a`. Errors name the table, index and value found. */
lithe_status tflite_open(tflite_model *m, bytes file, bytes weights, arena *a, lithe_error *err);
/* Reads and verifies one subgraph into the model's arena. Not thread-safe. */
lithe_status tflite_read_subgraph(tflite_model *m, uint32_t index, tflite_subgraph *out, lithe_error *err);
/* Name of the subgraph and number of its ops without reading it. */
const char *tflite_subgraph_name(const tflite_model *m, uint32_t index);
const tflite_signature *tflite_find_signature(const tflite_model *m, const char *key); /* NULL if none */
const char *tflite_builtin_name(uint32_t builtin); /* "FULLY_CONNECTED"; "?" for a number not known */

/* FlexBuffer map lookup (https://flatbuffers.dev/internals/#flexbuffers): a number at the root map's key. False if the bytes are damaged,
 * the root is no map, or the key is missing or of another kind. */
bool flex_map_number(bytes flex, const char *key, double *out);
bool flex_map_string(bytes flex, const char *key, bytes *out);

#endif
