/* Writing bundles and TFLite files. Deterministic: the same calls give the same bytes. */
#ifndef LITHE_BUNDLE_WRITER_H
#define LITHE_BUNDLE_WRITER_H

#include "base/buffer.h"
#include "bundle/bundle.h"
#include "bundle/tflite.h"

/* One section to be written. Exactly as stored; items in order. */
typedef struct bundle_section_source {
    section_type type;
    bytes data;
    const bundle_item *items;
    size_t n_items;
} bundle_section_source;

/* Writes a container of version 1.7.0, sections at 16 KiB multiples, atomically. The header must fit in 16 KiB (the reference's limit):
 * LITHE_E_UNSUPPORTED otherwise. */
lithe_status bundle_write(const char *path, const bundle_item *system, size_t n_system,
                          const bundle_section_source *sections, size_t n_sections, lithe_error *err);

/* FlatBuffers are built back to front; offsets are distances from the end. */
typedef struct fb_builder fb_builder;
typedef uint32_t fb_ref; /* 0: none */
lithe_status fb_builder_create(fb_builder **out, lithe_error *err);
void fb_builder_destroy(fb_builder *b);
fb_ref fb_write_string(fb_builder *b, const char *s);
fb_ref fb_write_vector(fb_builder *b, const void *elems, uint32_t n, uint32_t elem_bytes, uint32_t alignment);
fb_ref fb_write_refs(fb_builder *b, const fb_ref *refs, uint32_t n);
void fb_table_begin(fb_builder *b);
void fb_table_u8(fb_builder *b, unsigned slot, uint8_t v);
void fb_table_u16(fb_builder *b, unsigned slot, uint16_t v);
void fb_table_i32(fb_builder *b, unsigned slot, int32_t v);
void fb_table_u32(fb_builder *b, unsigned slot, uint32_t v);
void fb_table_u64(fb_builder *b, unsigned slot, uint64_t v);
void fb_table_f32(fb_builder *b, unsigned slot, float v);
void fb_table_f64(fb_builder *b, unsigned slot, double v);
void fb_table_ref(fb_builder *b, unsigned slot, fb_ref v);
fb_ref fb_table_end(fb_builder *b);
/* Finishes with the root (and a 4-byte file identifier or NULL); the bytes are borrowed from the builder. LITHE_E_MEMORY if any step failed. */
lithe_status fb_finish(fb_builder *b, fb_ref root, const char *identifier, bytes *out, lithe_error *err);

/* A TFLite model under construction: plain structs in, a .tflite out. Weights of 64 bytes and more are placed behind the FlatBuffer,
 * 16-byte aligned, as the reference's converter does; equal `data` pointers share one buffer. */
typedef struct tflite_source_field { /* one scalar of an op's options table */
    uint8_t slot;
    char kind; /* 'b' u8/bool, 'i' i32, 'f' f32, 'I' vector of i32 */
    double value;
    const int32_t *vector;
    uint32_t n;
} tflite_source_field;

typedef struct tflite_source_op {
    uint32_t builtin;
    const char *custom_code; /* NULL unless CUSTOM */
    uint32_t version;        /* 0: 1 */
    const int32_t *inputs, *outputs;
    uint32_t n_inputs, n_outputs;
    uint8_t options_type; /* BuiltinOptions tag, 0: none (BuiltinOptions2 for a composite) */
    const tflite_source_field *fields;
    uint32_t n_fields;
    bytes custom_options;       /* CUSTOM: custom_options */
    const char *composite_name; /* STABLEHLO_COMPOSITE */
    int32_t composite_subgraph;
    bytes composite_attributes;
} tflite_source_op;

typedef struct tflite_source_subgraph {
    const char *name;
    const tflite_tensor *tensors; /* data NULL: not constant; scales etc. as in tflite_tensor */
    uint32_t n_tensors;
    const int32_t *inputs, *outputs;
    uint32_t n_inputs, n_outputs;
    const tflite_source_op *ops;
    uint32_t n_ops;
} tflite_source_subgraph;

typedef struct tflite_source {
    const char *description;
    const tflite_source_subgraph *subgraphs;
    uint32_t n_subgraphs;
    const tflite_signature *signatures;
    uint32_t n_signatures;
    const char *external_group; /* not NULL: weights go to `weights` as an external group of this name */
} tflite_source;

/* Appends the .tflite to `out` (and external weights to `weights`, which may be NULL otherwise). */
lithe_status tflite_write(const tflite_source *src, buffer *out, buffer *weights, lithe_error *err);

#endif
