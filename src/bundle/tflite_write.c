#include "bundle/writer.h"

#include "bundle/tflite_tables.h"

#include <stdlib.h>
#include <string.h>

#define BEHIND_FROM_BYTES 64u /* smaller constants stay inside the FlatBuffer */
#define WEIGHTS_ALIGNMENT 16u

/* One distinct constant. */
typedef struct constant {
    bytes data;
    uint64_t offset; /* behind the FlatBuffer (counted from its end) or in the external weights */
    bool behind;
    uint32_t external_id; /* from 1; 0: not external */
} constant;

typedef struct opcode {
    uint32_t builtin, version;
    const char *custom_code;
} opcode;

typedef struct writer {
    const tflite_source *src;
    arena arena;
    fb_builder *b;
    constant *constants; /* index 0 is the empty buffer that the schema wants first */
    uint32_t n_constants;
    uint32_t *hash;   /* constant index by data pointer and size; 0: free */
    size_t hash_size; /* power of two */
    opcode *opcodes;
    uint32_t n_opcodes;
    uint64_t behind_bytes;
    uint64_t flatbuffer_bytes;
} writer;

static uint32_t *hash_slot(const writer *w, bytes data)
{
    uint64_t h = ((uint64_t)(uintptr_t)data.data ^ (uint64_t)data.size << 40) * 0x9E3779B97F4A7C15u;
    size_t i = (size_t)(h >> 32) & (w->hash_size - 1);
    while (w->hash[i] &&
           (w->constants[w->hash[i]].data.data != data.data || w->constants[w->hash[i]].data.size != data.size)) {
        i = (i + 1) & (w->hash_size - 1);
    }
    return &w->hash[i];
}

static uint64_t align_up(uint64_t n)
{
    return (n + WEIGHTS_ALIGNMENT - 1) / WEIGHTS_ALIGNMENT * WEIGHTS_ALIGNMENT;
}

static void add_constant(writer *w, bytes data)
{
    uint32_t *slot = hash_slot(w, data);
    if (*slot) {
        return;
    }
    *slot = w->n_constants;
    constant *c = &w->constants[w->n_constants++];
    *c = (constant){.data = data, .behind = data.size >= BEHIND_FROM_BYTES};
    if (c->behind) {
        c->offset = w->behind_bytes;
        w->behind_bytes = align_up(w->behind_bytes + data.size);
    }
}

static uint32_t find_opcode(const writer *w, const tflite_source_op *op)
{
    uint32_t version = op->version ? op->version : 1, i = 0;
    const char *custom = op->custom_code ? op->custom_code : "";
    while (i < w->n_opcodes && (w->opcodes[i].builtin != op->builtin || w->opcodes[i].version != version ||
                                strcmp(w->opcodes[i].custom_code, custom) != 0)) {
        i++;
    }
    return i;
}

/* Collects distinct constants and operator codes, in the order in which they occur. */
static lithe_status collect(writer *w, lithe_error *err)
{
    uint64_t n_tensors = 0, n_ops = 0;
    for (uint32_t g = 0; g < w->src->n_subgraphs; g++) {
        n_tensors += w->src->subgraphs[g].n_tensors;
        n_ops += w->src->subgraphs[g].n_ops;
    }
    for (w->hash_size = 16; w->hash_size < 2 * n_tensors + 2;) {
        w->hash_size *= 2;
    }
    w->constants = ARENA_ARRAY(&w->arena, constant, (size_t)n_tensors + 1);
    w->opcodes = ARENA_ARRAY(&w->arena, opcode, (size_t)n_ops + 1);
    w->hash = ARENA_ARRAY(&w->arena, uint32_t, w->hash_size);
    if (!w->constants || !w->opcodes || !w->hash) {
        return error_memory(err, n_tensors * sizeof *w->constants, "model tables");
    }
    w->n_constants = 1;
    for (uint32_t g = 0; g < w->src->n_subgraphs; g++) {
        const tflite_source_subgraph *s = &w->src->subgraphs[g];
        for (uint32_t t = 0; t < s->n_tensors; t++) {
            if (s->tensors[t].data.data) {
                add_constant(w, s->tensors[t].data);
            }
        }
        for (uint32_t o = 0; o < s->n_ops; o++) {
            const tflite_source_op *op = &s->ops[o];
            if (find_opcode(w, op) == w->n_opcodes) {
                w->opcodes[w->n_opcodes++] =
                    (opcode){op->builtin, op->version ? op->version : 1, op->custom_code ? op->custom_code : ""};
            }
        }
    }
    uint32_t id = 0;
    for (uint32_t i = 1; w->src->external_group && i < w->n_constants; i++) {
        w->constants[i].external_id = w->constants[i].behind ? ++id : 0;
    }
    return LITHE_OK;
}

static fb_ref write_i32s(fb_builder *b, const int32_t *v, uint32_t n)
{
    return fb_write_vector(b, v, n, 4, 4);
}

static fb_ref write_bytes(fb_builder *b, bytes v)
{
    return v.data ? fb_write_vector(b, v.data, (uint32_t)v.size, 1, WEIGHTS_ALIGNMENT) : 0;
}

static fb_ref write_blockwise(fb_builder *b, const tflite_tensor *t)
{
    fb_table_begin(b);
    fb_table_i32(b, BLOCKWISE_SCALES, (int32_t)t->block_scales_tensor);
    fb_table_i32(b, BLOCKWISE_ZERO_POINTS, t->block_zero_points_tensor > 0 ? t->block_zero_points_tensor : -1);
    fb_table_i32(b, BLOCKWISE_SIZE, t->block_size);
    return fb_table_end(b);
}

static fb_ref write_quantisation(writer *w, const tflite_tensor *t)
{
    fb_builder *b = w->b;
    if (t->block_size > 0) {
        fb_ref details = write_blockwise(b, t);
        fb_table_begin(b);
        fb_table_ref(b, QUANT_DETAILS, details);
        fb_table_u8(b, QUANT_DETAILS_TYPE, DETAILS_BLOCKWISE);
        return fb_table_end(b);
    }
    if (t->n_scales == 0) {
        return 0;
    }
    const int64_t *zeros = t->zero_points ? t->zero_points : ARENA_ARRAY(&w->arena, int64_t, t->n_scales);
    if (!zeros) {
        return 0;
    }
    fb_ref zero_points = fb_write_vector(b, zeros, t->n_scales, 8, 8),
           scales = fb_write_vector(b, t->scales, t->n_scales, 4, 4);
    fb_table_begin(b);
    fb_table_ref(b, QUANT_SCALE, scales);
    fb_table_ref(b, QUANT_ZERO_POINT, zero_points);
    if (t->quantized_dimension) {
        fb_table_i32(b, QUANT_DIMENSION, t->quantized_dimension);
    }
    return fb_table_end(b);
}

static fb_ref write_tensor(writer *w, const tflite_tensor *t)
{
    fb_builder *b = w->b;
    int32_t shape[TFLITE_MAX_RANK], signature[TFLITE_MAX_RANK];
    bool dynamic = false;
    for (uint32_t d = 0; d < t->rank; d++) {
        dynamic |= t->dims[d] < 0;
        shape[d] = t->dims[d] < 0 ? 1 : t->dims[d];
        signature[d] = t->dims[d];
    }
    uint32_t index = t->data.data ? *hash_slot(w, t->data) : 0;
    const constant *c = &w->constants[index];
    fb_ref quantisation = write_quantisation(w, t);
    fb_ref shape_signature = dynamic ? write_i32s(b, signature, t->rank) : 0;
    fb_ref dims = write_i32s(b, shape, t->rank), name = fb_write_string(b, t->name ? t->name : "");
    fb_table_begin(b);
    fb_table_ref(b, TENSOR_SHAPE, dims);
    fb_table_ref(b, TENSOR_SHAPE_SIGNATURE, shape_signature);
    fb_table_ref(b, TENSOR_NAME, name);
    fb_table_ref(b, TENSOR_QUANTIZATION, quantisation);
    if (c->external_id) {
        fb_table_u32(b, TENSOR_EXTERNAL, c->external_id);
    } else if (index) {
        fb_table_u32(b, TENSOR_BUFFER, index);
    }
    if (t->type) {
        fb_table_u8(b, TENSOR_TYPE, (uint8_t)t->type);
    }
    fb_table_u8(b, TENSOR_HAS_RANK, 1);
    return fb_table_end(b);
}

static fb_ref write_options(fb_builder *b, const tflite_source_op *op)
{
    fb_ref vectors[16] = {0};
    for (uint32_t i = 0; i < op->n_fields && i < 16; i++) {
        if (op->fields[i].kind == 'I') {
            vectors[i] = write_i32s(b, op->fields[i].vector, op->fields[i].n);
        }
    }
    fb_table_begin(b);
    for (uint32_t i = 0; i < op->n_fields && i < 16; i++) {
        const tflite_source_field *f = &op->fields[i];
        switch (f->kind) {
        case 'b':
            fb_table_u8(b, f->slot, (uint8_t)f->value);
            break;
        case 'i':
            fb_table_i32(b, f->slot, (int32_t)f->value);
            break;
        case 'f':
            fb_table_f32(b, f->slot, (float)f->value);
            break;
        case 'I':
            fb_table_ref(b, f->slot, vectors[i]);
            break;
        default:
            break;
        }
    }
    return fb_table_end(b);
}

static fb_ref write_composite(fb_builder *b, const tflite_source_op *op)
{
    fb_ref attributes = write_bytes(b, op->composite_attributes), name = fb_write_string(b, op->composite_name);
    fb_table_begin(b);
    fb_table_ref(b, COMPOSITE_NAME, name);
    fb_table_ref(b, COMPOSITE_ATTRIBUTES, attributes);
    if (op->composite_subgraph) {
        fb_table_i32(b, COMPOSITE_SUBGRAPH, op->composite_subgraph);
    }
    return fb_table_end(b);
}

static fb_ref write_op(writer *w, const tflite_source_op *op)
{
    fb_builder *b = w->b;
    bool composite = op->builtin == BUILTIN_COMPOSITE;
    fb_ref custom = op->builtin == BUILTIN_CUSTOM ? write_bytes(b, op->custom_options) : 0;
    fb_ref options = composite ? write_composite(b, op) : op->options_type ? write_options(b, op) : 0;
    fb_ref outputs = write_i32s(b, op->outputs, op->n_outputs), inputs = write_i32s(b, op->inputs, op->n_inputs);
    fb_table_begin(b);
    fb_table_ref(b, OP_INPUTS, inputs);
    fb_table_ref(b, OP_OUTPUTS, outputs);
    fb_table_ref(b, OP_CUSTOM_OPTIONS, custom);
    fb_table_ref(b, composite ? OP_OPTIONS2 : OP_OPTIONS, options);
    uint32_t code = find_opcode(w, op);
    if (code) {
        fb_table_u32(b, OP_OPCODE, code);
    }
    if (composite) {
        fb_table_u8(b, OP_OPTIONS2_TYPE, OPTIONS2_COMPOSITE);
    } else if (op->options_type) {
        fb_table_u8(b, OP_OPTIONS_TYPE, op->options_type);
    }
    return fb_table_end(b);
}

/* Array for the references of n tables, 0 allowed; NULL when memory is out. */
static fb_ref *new_refs(writer *w, size_t n)
{
    return ARENA_ARRAY(&w->arena, fb_ref, n);
}

static fb_ref write_subgraph(writer *w, const tflite_source_subgraph *s)
{
    fb_builder *b = w->b;
    fb_ref *tensors = new_refs(w, s->n_tensors), *ops = new_refs(w, s->n_ops);
    if (!tensors || !ops) {
        return 0;
    }
    for (uint32_t i = 0; i < s->n_tensors; i++) {
        tensors[i] = write_tensor(w, &s->tensors[i]);
    }
    for (uint32_t i = 0; i < s->n_ops; i++) {
        ops[i] = write_op(w, &s->ops[i]);
    }
    fb_ref name = fb_write_string(b, s->name ? s->name : ""), operators = fb_write_refs(b, ops, s->n_ops);
    fb_ref outputs = write_i32s(b, s->outputs, s->n_outputs), inputs = write_i32s(b, s->inputs, s->n_inputs);
    fb_ref all = fb_write_refs(b, tensors, s->n_tensors);
    fb_table_begin(b);
    fb_table_ref(b, SUBGRAPH_TENSORS, all);
    fb_table_ref(b, SUBGRAPH_INPUTS, inputs);
    fb_table_ref(b, SUBGRAPH_OUTPUTS, outputs);
    fb_table_ref(b, SUBGRAPH_OPERATORS, operators);
    fb_table_ref(b, SUBGRAPH_NAME, name);
    return fb_table_end(b);
}

static fb_ref write_opcode(fb_builder *b, const opcode *o)
{
    fb_ref custom = *o->custom_code ? fb_write_string(b, o->custom_code) : 0;
    fb_table_begin(b);
    fb_table_ref(b, OPCODE_CUSTOM, custom);
    fb_table_i32(b, OPCODE_VERSION, (int32_t)o->version);
    fb_table_i32(b, OPCODE_BUILTIN, (int32_t)o->builtin);
    fb_table_u8(b, OPCODE_DEPRECATED, o->builtin < 127 ? (uint8_t)o->builtin : 127);
    return fb_table_end(b);
}

static fb_ref write_buffer(writer *w, const constant *c)
{
    fb_builder *b = w->b;
    bool here = c->data.data && !c->behind;
    fb_ref data = here ? fb_write_vector(b, c->data.data, (uint32_t)c->data.size, 1, WEIGHTS_ALIGNMENT) : 0;
    fb_table_begin(b);
    fb_table_ref(b, BUFFER_DATA, data);
    if (c->behind && !c->external_id) {
        fb_table_u64(b, BUFFER_OFFSET, align_up(w->flatbuffer_bytes) + c->offset);
        fb_table_u64(b, BUFFER_SIZE, c->data.size);
    }
    return fb_table_end(b);
}

static fb_ref write_maps(writer *w, const char *const *names, const uint32_t *tensors, uint32_t n)
{
    fb_ref *refs = new_refs(w, n);
    for (uint32_t i = 0; refs && i < n; i++) {
        fb_ref name = fb_write_string(w->b, names[i]);
        fb_table_begin(w->b);
        fb_table_ref(w->b, MAP_NAME, name);
        fb_table_u32(w->b, MAP_TENSOR, tensors[i]);
        refs[i] = fb_table_end(w->b);
    }
    return refs ? fb_write_refs(w->b, refs, n) : 0;
}

static fb_ref write_signature(writer *w, const tflite_signature *s)
{
    fb_ref outputs = write_maps(w, s->output_names, s->output_tensors, s->n_outputs);
    fb_ref inputs = write_maps(w, s->input_names, s->input_tensors, s->n_inputs), key = fb_write_string(w->b, s->key);
    fb_table_begin(w->b);
    fb_table_ref(w->b, SIGNATURE_INPUTS, inputs);
    fb_table_ref(w->b, SIGNATURE_OUTPUTS, outputs);
    fb_table_ref(w->b, SIGNATURE_KEY, key);
    fb_table_u32(w->b, SIGNATURE_SUBGRAPH, s->subgraph);
    return fb_table_end(w->b);
}

static fb_ref write_external(writer *w, const constant *c)
{
    fb_table_begin(w->b);
    fb_table_u64(w->b, EXTERNAL_OFFSET, c->offset);
    fb_table_u64(w->b, EXTERNAL_LENGTH, c->data.size);
    fb_table_u32(w->b, EXTERNAL_ID, c->external_id);
    fb_table_u32(w->b, EXTERNAL_GROUP, 0);
    return fb_table_end(w->b);
}

/* References of the model's vectors. */
typedef struct model_refs {
    fb_ref opcodes, subgraphs, buffers, signatures, groups, externals, description;
} model_refs;

static bool write_externals(writer *w, model_refs *m)
{
    fb_ref *refs = new_refs(w, w->n_constants);
    uint32_t n = 0;
    if (!refs) {
        return false;
    }
    for (uint32_t i = 1; i < w->n_constants; i++) {
        if (w->constants[i].external_id) {
            refs[n++] = write_external(w, &w->constants[i]);
        }
    }
    m->externals = fb_write_refs(w->b, refs, n);
    fb_ref name = fb_write_string(w->b, w->src->external_group);
    fb_table_begin(w->b);
    fb_table_ref(w->b, GROUP_NAME, name);
    fb_ref group = fb_table_end(w->b);
    m->groups = fb_write_refs(w->b, &group, 1);
    return true;
}

static bool write_tables(writer *w, model_refs *m)
{
    const tflite_source *src = w->src;
    fb_ref *opcodes = new_refs(w, w->n_opcodes), *subgraphs = new_refs(w, src->n_subgraphs);
    fb_ref *buffers = new_refs(w, w->n_constants), *signatures = new_refs(w, src->n_signatures);
    if (!opcodes || !subgraphs || !buffers || !signatures || (src->external_group && !write_externals(w, m))) {
        return false;
    }
    for (uint32_t i = 0; i < w->n_constants; i++) {
        buffers[i] = write_buffer(w, &w->constants[i]);
    }
    for (uint32_t i = 0; i < src->n_subgraphs; i++) {
        subgraphs[i] = write_subgraph(w, &src->subgraphs[i]);
        if (!subgraphs[i]) {
            return false;
        }
    }
    for (uint32_t i = 0; i < src->n_signatures; i++) {
        signatures[i] = write_signature(w, &src->signatures[i]);
    }
    for (uint32_t i = 0; i < w->n_opcodes; i++) {
        opcodes[i] = write_opcode(w->b, &w->opcodes[i]);
    }
    m->buffers = fb_write_refs(w->b, buffers, w->n_constants);
    m->subgraphs = fb_write_refs(w->b, subgraphs, src->n_subgraphs);
    m->signatures = fb_write_refs(w->b, signatures, src->n_signatures);
    m->opcodes = fb_write_refs(w->b, opcodes, w->n_opcodes);
    m->description = fb_write_string(w->b, src->description ? src->description : "");
    return true;
}

static lithe_status build_model(writer *w, bytes *out, lithe_error *err)
{
    fb_builder *b = w->b;
    model_refs m = {0};
    if (!write_tables(w, &m)) {
        return error_memory(err, w->n_constants * sizeof(fb_ref), "model tables");
    }
    fb_table_begin(b);
    fb_table_ref(b, MODEL_OPCODES, m.opcodes);
    fb_table_ref(b, MODEL_SUBGRAPHS, m.subgraphs);
    fb_table_ref(b, MODEL_DESCRIPTION, m.description);
    fb_table_ref(b, MODEL_BUFFERS, m.buffers);
    fb_table_ref(b, MODEL_SIGNATURES, m.signatures);
    fb_table_ref(b, MODEL_EXTERNAL_GROUPS, m.groups);
    fb_table_ref(b, MODEL_EXTERNAL_BUFFERS, m.externals);
    fb_table_u32(b, MODEL_VERSION, TFLITE_SCHEMA_VERSION);
    return fb_finish(b, fb_table_end(b), TFLITE_IDENTIFIER, out, err);
}

static void append_constants(const writer *w, buffer *out)
{
    size_t start = out->size;
    for (uint32_t i = 1; i < w->n_constants; i++) {
        const constant *c = &w->constants[i];
        if (c->behind) {
            buffer_fill(out, 0, (size_t)(c->offset - (out->size - start)));
            buffer_append(out, c->data.data, c->data.size);
        }
    }
}

/* Built twice: the offsets of what lies behind the FlatBuffer depend on its size, its size not on them. */
static lithe_status build_twice(writer *w, buffer *out, buffer *weights, lithe_error *err)
{
    for (int pass = 0; pass < 2; pass++) {
        bytes model;
        lithe_status st = fb_builder_create(&w->b, err);
        if (st) {
            return st;
        }
        st = build_model(w, &model, err);
        if (!st) {
            w->flatbuffer_bytes = model.size;
            if (pass == 1) {
                buffer_append(out, model.data, model.size);
            }
        }
        fb_builder_destroy(w->b);
        if (st) {
            return st;
        }
    }
    if (!w->src->external_group) {
        buffer_fill(out, 0, (size_t)(align_up(w->flatbuffer_bytes) - w->flatbuffer_bytes));
    }
    append_constants(w, w->src->external_group ? weights : out);
    return buffer_failed(out) || (weights && buffer_failed(weights)) ? error_memory(err, w->behind_bytes, "a model")
                                                                     : LITHE_OK;
}

lithe_status tflite_write(const tflite_source *src, buffer *out, buffer *weights, lithe_error *err)
{
    if (src->external_group && !weights) {
        return error_set(err, LITHE_E_ARGUMENT, "a model with external weights needs a buffer for them");
    }
    writer w = {.src = src};
    arena_init(&w.arena, 0);
    lithe_status st = collect(&w, err);
    if (!st) {
        st = build_twice(&w, out, weights, err);
    }
    arena_fini(&w.arena);
    return st;
}
