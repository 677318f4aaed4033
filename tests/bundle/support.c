#define _GNU_SOURCE       1
#define _FILE_OFFSET_BITS 64

#include "bundle/support.h"

#include "bundle/tflite_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

model_knobs good_model(void)
{
    return (model_knobs){.identifier = "TFL3",
                         .version = 3,
                         .w_buffer = 1,
                         .w_rank = 1,
                         .w_dims = {4},
                         .w_bytes = 16,
                         .builtin = 0,
                         .op_inputs = {0, 1, -1},
                         .op_output = 2,
                         .composite = -1,
                         .graph_input = 0,
                         .graph_output = 2};
}

static fb_ref zeros(fb_builder *b, uint32_t n, uint32_t elem_bytes)
{
    void *data = calloc(n + 1, elem_bytes);
    fb_ref r = fb_write_vector(b, data, n, elem_bytes, elem_bytes);
    free(data);
    return r;
}

static fb_ref write_quantisation(fb_builder *b, const model_knobs *k)
{
    int64_t zero_points[8] = {k->zero_point, k->zero_point, k->zero_point, k->zero_point, k->zero_point, k->zero_point};
    float scales[8] = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f};
    fb_ref details = 0, s = 0, z = 0;
    if (k->block_size || k->block_scales) {
        fb_table_begin(b);
        fb_table_i32(b, BLOCKWISE_SCALES, k->block_scales);
        fb_table_i32(b, BLOCKWISE_ZERO_POINTS, k->block_zero_points);
        fb_table_i32(b, BLOCKWISE_SIZE, k->block_size);
        details = fb_table_end(b);
    }
    s = k->n_scales ? fb_write_vector(b, scales, k->n_scales, 4, 4) : 0;
    z = k->n_zero_points ? fb_write_vector(b, zero_points, k->n_zero_points, 8, 8) : 0;
    fb_table_begin(b);
    fb_table_ref(b, QUANT_SCALE, s);
    fb_table_ref(b, QUANT_ZERO_POINT, z);
    fb_table_ref(b, QUANT_DETAILS, details);
    fb_table_u8(b, QUANT_DETAILS_TYPE, details ? DETAILS_BLOCKWISE : 0);
    fb_table_i32(b, QUANT_DIMENSION, k->quantized_dimension);
    return fb_table_end(b);
}

static fb_ref write_plain_tensor(fb_builder *b, const char *name)
{
    int32_t four = 4;
    fb_ref dims = fb_write_vector(b, &four, 1, 4, 4), text = fb_write_string(b, name);
    fb_table_begin(b);
    fb_table_ref(b, TENSOR_SHAPE, dims);
    fb_table_ref(b, TENSOR_NAME, text);
    return fb_table_end(b);
}

static fb_ref write_w(fb_builder *b, const model_knobs *k)
{
    fb_ref quantisation = write_quantisation(b, k);
    fb_ref signature = k->signature_rank ? fb_write_vector(b, k->signature_dims, k->signature_rank, 4, 4) : 0;
    fb_ref dims = fb_write_vector(b, k->w_dims, k->w_rank, 4, 4), name = fb_write_string(b, "w");
    fb_table_begin(b);
    fb_table_ref(b, TENSOR_SHAPE, dims);
    fb_table_ref(b, TENSOR_SHAPE_SIGNATURE, signature);
    fb_table_ref(b, TENSOR_NAME, name);
    fb_table_ref(b, TENSOR_QUANTIZATION, quantisation);
    fb_table_u32(b, TENSOR_BUFFER, k->w_buffer);
    fb_table_u32(b, TENSOR_EXTERNAL, k->w_external);
    fb_table_u8(b, TENSOR_TYPE, (uint8_t)k->w_type);
    return fb_table_end(b);
}

static fb_ref write_op(fb_builder *b, const model_knobs *k)
{
    fb_ref options = 0;
    if (k->composite >= 0) {
        fb_ref name = fb_write_string(b, "odml.test");
        fb_table_begin(b);
        fb_table_ref(b, COMPOSITE_NAME, name);
        fb_table_i32(b, COMPOSITE_SUBGRAPH, k->composite);
        options = fb_table_end(b);
    }
    fb_ref in = fb_write_vector(b, k->op_inputs, 3, 4, 4), out = fb_write_vector(b, &k->op_output, 1, 4, 4);
    fb_table_begin(b);
    fb_table_ref(b, OP_INPUTS, in);
    fb_table_ref(b, OP_OUTPUTS, out);
    fb_table_u32(b, OP_OPCODE, k->opcode);
    fb_table_ref(b, OP_OPTIONS2, options);
    fb_table_u8(b, OP_OPTIONS2_TYPE, options ? OPTIONS2_COMPOSITE : 0);
    return fb_table_end(b);
}

static fb_ref write_subgraph(fb_builder *b, const model_knobs *k)
{
    fb_ref tensors[3] = {write_plain_tensor(b, "x"), 0, 0};
    tensors[1] = write_w(b, k);
    tensors[2] = write_plain_tensor(b, "y");
    fb_ref op = write_op(b, k), ops = fb_write_refs(b, &op, 1), all = fb_write_refs(b, tensors, 3);
    fb_ref in = fb_write_vector(b, &k->graph_input, 1, 4, 4), out = fb_write_vector(b, &k->graph_output, 1, 4, 4);
    fb_ref name = fb_write_string(b, "main");
    fb_table_begin(b);
    fb_table_ref(b, SUBGRAPH_TENSORS, all);
    fb_table_ref(b, SUBGRAPH_INPUTS, in);
    fb_table_ref(b, SUBGRAPH_OUTPUTS, out);
    fb_table_ref(b, SUBGRAPH_OPERATORS, ops);
    fb_table_ref(b, SUBGRAPH_NAME, name);
    fb_ref g = fb_table_end(b);
    return fb_write_refs(b, &g, 1);
}

static fb_ref write_buffers(fb_builder *b, const model_knobs *k)
{
    fb_ref refs[2], data = zeros(b, k->w_bytes, 1);
    fb_table_begin(b);
    refs[0] = fb_table_end(b);
    fb_table_begin(b);
    if (k->w_offset) {
        fb_table_u64(b, BUFFER_OFFSET, k->w_offset);
        fb_table_u64(b, BUFFER_SIZE, k->w_size);
    } else {
        fb_table_ref(b, BUFFER_DATA, data);
    }
    refs[1] = fb_table_end(b);
    return fb_write_refs(b, refs, 2);
}

static fb_ref write_signature(fb_builder *b, const model_knobs *k)
{
    fb_ref name = fb_write_string(b, "in"), key = fb_write_string(b, "run");
    fb_table_begin(b);
    fb_table_ref(b, MAP_NAME, name);
    fb_table_u32(b, MAP_TENSOR, k->signature_tensor);
    fb_ref map = fb_table_end(b), maps = fb_write_refs(b, &map, 1);
    fb_table_begin(b);
    fb_table_ref(b, SIGNATURE_INPUTS, maps);
    fb_table_ref(b, SIGNATURE_KEY, key);
    fb_table_u32(b, SIGNATURE_SUBGRAPH, k->signature_subgraph);
    fb_ref s = fb_table_end(b);
    return fb_write_refs(b, &s, 1);
}

static fb_ref write_opcode(fb_builder *b, const model_knobs *k)
{
    fb_ref custom = k->custom_code ? fb_write_string(b, k->custom_code) : 0;
    fb_table_begin(b);
    fb_table_i32(b, OPCODE_BUILTIN, k->builtin);
    fb_table_u8(b, OPCODE_DEPRECATED, (uint8_t)k->deprecated);
    fb_table_ref(b, OPCODE_CUSTOM, custom);
    fb_ref code = fb_table_end(b);
    return fb_write_refs(b, &code, 1);
}

static fb_ref write_metadata(fb_builder *b, const model_knobs *k)
{
    fb_ref name = fb_write_string(b, "note");
    fb_table_begin(b);
    fb_table_ref(b, METADATA_NAME, name);
    fb_table_u32(b, METADATA_BUFFER, k->metadata_buffer);
    fb_ref m = fb_table_end(b);
    return fb_write_refs(b, &m, 1);
}

static void write_externals(fb_builder *b, const model_knobs *k, fb_ref *groups, fb_ref *externals)
{
    fb_ref name = fb_write_string(b, "tflite_weights");
    fb_table_begin(b);
    fb_table_ref(b, GROUP_NAME, name);
    fb_ref group = fb_table_end(b);
    *groups = fb_write_refs(b, &group, 1);
    fb_table_begin(b);
    fb_table_u32(b, EXTERNAL_ID, 7);
    fb_table_u32(b, EXTERNAL_GROUP, k->external_group);
    fb_table_u64(b, EXTERNAL_OFFSET, k->external_offset);
    fb_table_u64(b, EXTERNAL_LENGTH, k->external_length);
    fb_ref e = fb_table_end(b);
    *externals = fb_write_refs(b, &e, 1);
}

buffer make_model(const model_knobs *k)
{
    fb_builder *b = NULL;
    buffer out;
    bytes model = {0};
    lithe_error err;
    buffer_init(&out);
    if (fb_builder_create(&b, &err)) {
        abort();
    }
    fb_ref groups, externals, subgraphs = write_subgraph(b, k), buffers = write_buffers(b, k),
                              signatures = write_signature(b, k);
    fb_ref opcodes = write_opcode(b, k), metadata = write_metadata(b, k);
    write_externals(b, k, &groups, &externals);
    fb_table_begin(b);
    fb_table_u32(b, MODEL_VERSION, k->version);
    fb_table_ref(b, MODEL_OPCODES, opcodes);
    fb_table_ref(b, MODEL_SUBGRAPHS, subgraphs);
    fb_table_ref(b, MODEL_BUFFERS, buffers);
    fb_table_ref(b, MODEL_METADATA, metadata);
    fb_table_ref(b, MODEL_SIGNATURES, signatures);
    fb_table_ref(b, MODEL_EXTERNAL_GROUPS, groups);
    fb_table_ref(b, MODEL_EXTERNAL_BUFFERS, externals);
    if (fb_finish(b, fb_table_end(b), k->identifier, &model, &err)) {
        abort();
    }
    buffer_append(&out, model.data, model.size);
    fb_builder_destroy(b);
    return out;
}

lithe_status try_model(const model_knobs *k, bytes weights, lithe_error *err)
{
    buffer b = make_model(k);
    arena a;
    tflite_model m;
    tflite_subgraph g;
    arena_init(&a, 0);
    memset(err, 0, sizeof *err);
    lithe_status st = tflite_open(&m, (bytes){b.data, b.size}, weights, &a, err);
    st = st ? st : tflite_read_subgraph(&m, 0, &g, err);
    arena_fini(&a);
    buffer_fini(&b);
    return st;
}

static fb_ref write_item(fb_builder *b, const raw_section *s)
{
    fb_ref text = fb_write_string(b, s->model_type), key = fb_write_string(b, "model_type");
    fb_table_begin(b);
    if (s->item_type) {
        fb_table_u64(b, 0, 5);
    } else {
        fb_table_ref(b, 0, text);
    }
    fb_ref value = fb_table_end(b);
    fb_table_begin(b);
    fb_table_ref(b, 0, key);
    fb_table_u8(b, 1, s->item_type ? s->item_type : ITEM_STRING);
    fb_table_ref(b, 2, value);
    fb_ref pair = fb_table_end(b);
    return fb_write_refs(b, &pair, 1);
}

buffer make_container(const raw_bundle *r)
{
    fb_builder *b = NULL;
    buffer out;
    bytes header = {0};
    lithe_error err;
    fb_ref refs[16];
    if (fb_builder_create(&b, &err) || r->n_sections > 16) {
        abort();
    }
    for (size_t i = 0; i < r->n_sections; i++) {
        fb_ref items = r->sections[i].model_type ? write_item(b, &r->sections[i]) : 0;
        fb_table_begin(b);
        fb_table_ref(b, 0, items);
        fb_table_u64(b, 1, r->sections[i].begin);
        fb_table_u64(b, 2, r->sections[i].end);
        fb_table_u8(b, 3, r->sections[i].type);
        refs[i] = fb_table_end(b);
    }
    fb_ref objects = fb_write_refs(b, refs, (uint32_t)r->n_sections);
    fb_table_begin(b);
    fb_table_ref(b, 0, objects);
    fb_ref sections = fb_table_end(b);
    fb_table_begin(b);
    fb_table_ref(b, 1, sections);
    if (fb_finish(b, fb_table_end(b), NULL, &header, &err)) {
        abort();
    }
    uint8_t fixed[32] = {0};
    memcpy(fixed, r->magic ? r->magic : "LITERTLM", 8);
    for (int i = 0; i < 3; i++) {
        store_u32(fixed + 8 + 4 * i, r->version[i]);
    }
    store_u64(fixed + 24, r->header_end ? r->header_end : 32 + header.size);
    buffer_init(&out);
    buffer_append(&out, fixed, sizeof fixed);
    buffer_append(&out, header.data, header.size);
    if (out.size < r->file_bytes) {
        buffer_fill(&out, 0x5A, (size_t)r->file_bytes - out.size);
    }
    fb_builder_destroy(b);
    return out;
}

const char *temporary_path(const char *name)
{
    static char path[512];
    const char *dir = getenv("LITHE_BUILD_DIR");
    snprintf(path, sizeof path, "%s/tests_%ld_%s", dir ? dir : "/tmp", (long)getpid(), name);
    return path;
}
