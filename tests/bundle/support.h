/* Small TFLite models with one thing wrong, and bundles in memory, for the tests of the module. */
#ifndef LITHE_TESTS_BUNDLE_SUPPORT_H
#define LITHE_TESTS_BUNDLE_SUPPORT_H

#include "base/buffer.h"
#include "bundle/bundle.h"
#include "bundle/writer.h"

/* A model of one subgraph: "x" and the constant "w" of four floats, added to "y". Each field can be set to something wrong. */
typedef struct model_knobs {
    const char *identifier;
    uint32_t version;
    uint32_t w_buffer; /* buffer index of w: 1 */
    uint32_t w_type;
    uint32_t w_rank;
    int32_t w_dims[10];
    uint32_t signature_rank; /* of w's shape signature, 0: none */
    int32_t signature_dims[10];
    uint32_t w_bytes;          /* of the constant */
    uint64_t w_offset, w_size; /* 64-bit place of the constant, if w_offset > 0 */
    uint32_t w_external;       /* id, 0: none */
    uint64_t external_offset, external_length;
    uint32_t external_group;
    uint32_t n_scales, n_zero_points;
    int32_t quantized_dimension;
    int64_t zero_point; /* every one */
    int32_t block_size, block_scales, block_zero_points;
    int32_t op_inputs[3], op_output;
    uint32_t opcode;
    int32_t builtin;
    int32_t deprecated;
    const char *custom_code;
    int composite; /* adds composite options with this subgraph if >= 0 */
    int32_t graph_input, graph_output;
    uint32_t signature_subgraph, signature_tensor;
    uint32_t metadata_buffer;
} model_knobs;

model_knobs good_model(void);
/* The model's bytes; free with buffer_fini. */
buffer make_model(const model_knobs *k);
/* Opens it and reads subgraph 0; fills err. */
lithe_status try_model(const model_knobs *k, bytes weights, lithe_error *err);

/* A container with these sections, written as given: nothing is checked. */
typedef struct raw_section {
    uint64_t begin, end;
    uint8_t type;
    const char *model_type;
    uint8_t item_type; /* of the model_type item; 0: string */
} raw_section;
typedef struct raw_bundle {
    const char *magic;
    uint32_t version[3];
    uint64_t header_end; /* 0: the right one */
    uint64_t file_bytes;
    const raw_section *sections;
    size_t n_sections;
} raw_bundle;
buffer make_container(const raw_bundle *r);

/* A file name in the build's temporary directory; static storage. */
const char *temporary_path(const char *name);

#endif
