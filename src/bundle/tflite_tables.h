/* Private to tflite.c and tflite_subgraph.c: the model's tables, checked at open. */
#ifndef LITHE_BUNDLE_TFLITE_TABLES_H
#define LITHE_BUNDLE_TFLITE_TABLES_H

#include "bundle/tflite.h"

/* Root type of the schema's tables: field slots. */
enum {
    MODEL_VERSION,
    MODEL_OPCODES,
    MODEL_SUBGRAPHS,
    MODEL_DESCRIPTION,
    MODEL_BUFFERS,
    MODEL_METADATA_BUFFER,
    MODEL_METADATA,
    MODEL_SIGNATURES,
    MODEL_EXTERNAL_GROUPS,
    MODEL_EXTERNAL_BUFFERS
};
enum { OPCODE_DEPRECATED, OPCODE_CUSTOM, OPCODE_VERSION, OPCODE_BUILTIN };
enum { SUBGRAPH_TENSORS, SUBGRAPH_INPUTS, SUBGRAPH_OUTPUTS, SUBGRAPH_OPERATORS, SUBGRAPH_NAME };
enum { BUFFER_DATA, BUFFER_OFFSET, BUFFER_SIZE };
enum { METADATA_NAME, METADATA_BUFFER };
enum { SIGNATURE_INPUTS, SIGNATURE_OUTPUTS, SIGNATURE_KEY, SIGNATURE_SUBGRAPH = 4 };
enum { MAP_NAME, MAP_TENSOR };
enum { EXTERNAL_ID, EXTERNAL_GROUP, EXTERNAL_OFFSET, EXTERNAL_LENGTH, EXTERNAL_PACKING };
enum { GROUP_NAME };
enum {
    TENSOR_SHAPE,
    TENSOR_TYPE,
    TENSOR_BUFFER,
    TENSOR_NAME,
    TENSOR_QUANTIZATION,
    TENSOR_IS_VARIABLE,
    TENSOR_SPARSITY,
    TENSOR_SHAPE_SIGNATURE,
    TENSOR_HAS_RANK,
    TENSOR_VARIANTS,
    TENSOR_EXTERNAL
};
enum { QUANT_MIN, QUANT_MAX, QUANT_SCALE, QUANT_ZERO_POINT, QUANT_DETAILS_TYPE, QUANT_DETAILS, QUANT_DIMENSION };
enum { DETAILS_BLOCKWISE = 2 };
enum { BLOCKWISE_SCALES, BLOCKWISE_ZERO_POINTS, BLOCKWISE_SIZE };
enum {
    OP_OPCODE,
    OP_INPUTS,
    OP_OUTPUTS,
    OP_OPTIONS_TYPE,
    OP_OPTIONS,
    OP_CUSTOM_OPTIONS,
    OP_CUSTOM_FORMAT,
    OP_MUTATING,
    OP_INTERMEDIATES,
    OP_LARGE_CUSTOM_OFFSET,
    OP_LARGE_CUSTOM_SIZE,
    OP_OPTIONS2_TYPE,
    OP_OPTIONS2
};
enum { COMPOSITE_NAME, COMPOSITE_SUBGRAPH, COMPOSITE_ATTRIBUTES, COMPOSITE_ATTRIBUTES_FORMAT, COMPOSITE_VERSION };

enum { BUILTIN_CUSTOM = 32, BUILTIN_COMPOSITE = 206, OPTIONS2_COMPOSITE = 21 };

#define TFLITE_SCHEMA_VERSION 3
#define TFLITE_IDENTIFIER     "TFL3"

/* Contents of a buffer. Buffers are read when a tensor asks for them: in files that keep weights inside the FlatBuffer their
 * tables lie scattered among the weights, and looking at all of them would read the file from one end to the other. */
typedef struct tflite_buffer {
    bytes data;
    bool present; /* has contents, perhaps of size 0 */
} tflite_buffer;
/* i < n_buffers. */
lithe_status tflite_read_buffer(const tflite_model *m, uint32_t i, tflite_buffer *out, lithe_error *err);

typedef struct tflite_opcode {
    uint32_t builtin, version;
    const char *custom_code;
} tflite_opcode;

typedef struct tflite_external {
    uint32_t id;
    uint64_t offset, length; /* in the weights */
} tflite_external;

typedef struct tflite_tables {
    fb_vector subgraphs;
    fb_vector buffers;
    tflite_opcode *opcodes;
    tflite_external *externals;
    uint32_t n_externals;
} tflite_tables;

/* Elements of vectors that one read may visit. Vectors can be shared in a crafted file, so that counts multiply; a file that shares
 * none can not hold more elements than this. */
typedef struct tflite_budget {
    uint64_t left;
} tflite_budget;
tflite_budget tflite_budget_for(const tflite_model *m);
/* Counts n elements of `what`; LITHE_E_FORMAT when the file could not hold that many. */
lithe_status tflite_spend(tflite_budget *b, uint64_t n, const char *what, lithe_error *err);

/* "the model's %s is damaged" */
lithe_status tflite_damaged(lithe_error *err, const char *fmt, ...) LITHE_PRINTF(2, 3);

#endif
