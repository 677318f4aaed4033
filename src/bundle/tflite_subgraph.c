#include "bundle/sniff.h"
#include "bundle/tflite_tables.h"

#include <stdio.h>
#include <string.h>

/* What a read of one subgraph carries along. */
typedef struct reader {
    tflite_model *m;
    uint32_t index; /* of the subgraph */
    uint32_t n_tensors;
    tflite_budget budget;
    lithe_error *err;
} reader;

static const char *text_or_empty(bytes s)
{
    return s.data ? (const char *)s.data : "";
}

/* Sets the error's tensor field to the tensor's name (or its number) and passes the status on. */
static lithe_status at_tensor(const reader *r, lithe_status st, uint32_t i, const tflite_tensor *t)
{
    if (t->name && *t->name) {
        char name[120];
        error_tensor(r->err, "%s",
                     sniff_printable((bytes){(const uint8_t *)t->name, strlen(t->name)}, name, sizeof name));
    } else {
        error_tensor(r->err, "%lu", (unsigned long)i);
    }
    return st;
}

static lithe_status read_shape(reader *r, const fb_table *t, uint32_t i, tflite_tensor *out)
{
    fb_vector shape, signature;
    if (!fb_vec(t, TENSOR_SHAPE, 4, &shape) || !fb_vec(t, TENSOR_SHAPE_SIGNATURE, 4, &signature)) {
        return tflite_damaged(r->err, "the shape of tensor %lu of subgraph %lu", (unsigned long)i,
                              (unsigned long)r->index);
    }
    if (shape.n > TFLITE_MAX_RANK) {
        error_set(r->err, LITHE_E_UNSUPPORTED,
                  "tensor %lu of subgraph %lu has %lu dimensions; at most %d are supported", (unsigned long)i,
                  (unsigned long)r->index, (unsigned long)shape.n, TFLITE_MAX_RANK);
        return LITHE_E_UNSUPPORTED;
    }
    if (signature.n != 0 && signature.n != shape.n) {
        return error_set(r->err, LITHE_E_MODEL,
                         "tensor %lu of subgraph %lu has %lu dimensions, but its shape signature has %lu",
                         (unsigned long)i, (unsigned long)r->index, (unsigned long)shape.n, (unsigned long)signature.n);
    }
    out->rank = shape.n;
    for (uint32_t d = 0; d < shape.n; d++) {
        int32_t dim = fb_vec_i32(&shape, d);
        bool dynamic = dim == -1 || (signature.n && fb_vec_i32(&signature, d) == -1);
        if (dim < 0 && !dynamic) {
            return error_set(r->err, LITHE_E_MODEL, "dimension %lu of tensor %lu of subgraph %lu is negative (%ld)",
                             (unsigned long)d, (unsigned long)i, (unsigned long)r->index, (long)dim);
        }
        out->dims[d] = dynamic ? -1 : dim;
        out->has_dynamic_dims |= dynamic;
    }
    return LITHE_OK;
}

/* Bytes of a tensor of this type and shape, dynamic dimensions counted as 1. False if that overflows. */
static bool tensor_bytes(const tflite_tensor *t, uint64_t *elements, uint64_t *size)
{
    uint64_t n = 1, bits;
    bool zero = false;
    for (uint32_t d = 0; d < t->rank; d++) {
        zero |= t->dims[d] == 0;
        if (t->dims[d] > 0 && !u64_mul(n, (uint64_t)t->dims[d], &n)) {
            return false;
        }
    }
    if (!u64_mul(n, tflite_type_bits(t->type), &bits)) {
        return false;
    }
    *elements = zero ? 0 : n;
    *size = zero ? 0 : bits / 8 + (bits % 8 != 0);
    return true;
}

/* Constant data of the tensor in the weights section. */
static lithe_status find_external(reader *r, uint32_t id, uint32_t i, tflite_tensor *out)
{
    const tflite_tables *tables = r->m->tables;
    for (uint32_t e = 0; e < tables->n_externals; e++) {
        const tflite_external *x = &tables->externals[e];
        if (x->id != id) {
            continue;
        }
        if (r->m->weights.size == 0) {
            error_set(r->err, LITHE_E_MODEL,
                      "tensor %lu of subgraph %lu has its data in external weights, but the bundle has no "
                      "TFLiteWeights section for this model",
                      (unsigned long)i, (unsigned long)r->index);
            return LITHE_E_MODEL;
        }
        if (!bytes_has(r->m->weights, x->offset, x->length)) {
            return error_set(r->err, LITHE_E_TRUNCATED,
                             "external buffer %lu begins at byte %llu and has %llu bytes, but the TFLiteWeights "
                             "section has %zu bytes",
                             (unsigned long)e, (unsigned long long)x->offset, (unsigned long long)x->length,
                             r->m->weights.size);
        }
        out->data = (bytes){r->m->weights.data + x->offset, (size_t)x->length};
        out->buffer = r->m->n_buffers + e;
        return LITHE_OK;
    }
    return error_set(r->err, LITHE_E_MODEL,
                     "tensor %lu of subgraph %lu refers to external buffer %lu, which the model does not have",
                     (unsigned long)i, (unsigned long)r->index, (unsigned long)id);
}

static lithe_status read_data(reader *r, const fb_table *t, uint32_t i, tflite_tensor *out)
{
    out->buffer = fb_u32(t, TENSOR_BUFFER, 0);
    if (out->buffer >= r->m->n_buffers && out->buffer != 0) {
        return error_set(
            r->err, LITHE_E_MODEL, "tensor %lu of subgraph %lu refers to buffer %lu, but the model has %lu buffers",
            (unsigned long)i, (unsigned long)r->index, (unsigned long)out->buffer, (unsigned long)r->m->n_buffers);
    }
    uint64_t elements, size;
    if (!tensor_bytes(out, &elements, &size)) {
        return error_set(r->err, LITHE_E_MODEL,
                         "the shape of tensor %lu of subgraph %lu overflows: its size exceeds 64 bits",
                         (unsigned long)i, (unsigned long)r->index);
    }
    bool present = false;
    uint32_t external = fb_u32(t, TENSOR_EXTERNAL, 0);
    if (external != 0) {
        lithe_status st = find_external(r, external, i, out);
        if (st) {
            return st;
        }
        present = true;
    } else if (out->buffer < r->m->n_buffers) {
        tflite_buffer b;
        lithe_status st = tflite_read_buffer(r->m, out->buffer, &b, r->err);
        if (st) {
            return st;
        }
        out->data = b.data;
        present = b.data.size > 0 || (b.present && elements == 0);
    }
    if (!present) {
        out->data = (bytes){NULL, 0};
        return LITHE_OK;
    }
    if (!out->data.data) {
        out->data.data = r->m->file.data; /* a constant without elements still counts as one */
    }
    /* Strings carry their own lengths, and of types that are not known the size is not known. */
    if (tflite_type_bits(out->type) != 0 && (size != out->data.size || out->has_dynamic_dims)) {
        error_set(r->err, LITHE_E_MODEL,
                  "the constant in tensor %lu of subgraph %lu has %zu bytes, but its shape and type need %llu",
                  (unsigned long)i, (unsigned long)r->index, out->data.size, (unsigned long long)size);
        error_expected(r->err, "%llu bytes", (unsigned long long)size);
        error_found(r->err, "%zu bytes", out->data.size);
        return LITHE_E_MODEL;
    }
    return LITHE_OK;
}

static const float *float_array(reader *r, const fb_vector *v)
{
    const uint8_t *p = v->buf.data + v->at;
    union {
        uint32_t u;
        uint8_t b[4];
    } order = {1};
    if ((uintptr_t)p % _Alignof(float) == 0 && order.b[0] == 1) {
        return (const float *)(const void *)p;
    }
    float *copy = ARENA_ARRAY(r->m->arena, float, v->n);
    for (uint32_t i = 0; copy && i < v->n; i++) {
        copy[i] = fb_vec_f32(v, i);
    }
    return copy;
}

/* Zero points: none, one for all scales, or one for each. */
static lithe_status read_zero_points(reader *r, const fb_vector *v, uint32_t i, tflite_tensor *out)
{
    if (v->n > 1 && v->n != out->n_scales) {
        return error_set(r->err, LITHE_E_MODEL, "tensor %lu of subgraph %lu has %lu scales but %lu zero points",
                         (unsigned long)i, (unsigned long)r->index, (unsigned long)out->n_scales, (unsigned long)v->n);
    }
    uint32_t k = 0;
    while (k < v->n && fb_vec_i64(v, k) == 0) {
        k++;
    }
    if (k == v->n) {
        return LITHE_OK;
    }
    int64_t *zp = ARENA_ARRAY(r->m->arena, int64_t, out->n_scales);
    if (!zp) {
        return error_memory(r->err, (uint64_t)out->n_scales * sizeof *zp, "zero points");
    }
    for (uint32_t s = 0; s < out->n_scales; s++) {
        zp[s] = fb_vec_i64(v, v->n == 1 ? 0 : s);
    }
    out->zero_points = zp;
    return LITHE_OK;
}

static lithe_status read_blockwise(reader *r, const fb_table *q, uint32_t i, tflite_tensor *out)
{
    fb_table d;
    if (!fb_sub(q, QUANT_DETAILS, &d) || d.at == 0) {
        return tflite_damaged(r->err, "the blockwise quantisation of tensor %lu", (unsigned long)i);
    }
    int32_t scales = fb_i32(&d, BLOCKWISE_SCALES, 0);
    out->block_size = fb_i32(&d, BLOCKWISE_SIZE, 0);
    /* 0 is the default and what is meant by "none" in files that leave the field out: tensor 0 is an input, never zero points */
    out->block_zero_points_tensor = fb_i32(&d, BLOCKWISE_ZERO_POINTS, 0);
    if (out->block_zero_points_tensor <= 0) {
        out->block_zero_points_tensor = -1;
    }
    if (out->block_size <= 0) {
        return error_set(r->err, LITHE_E_MODEL, "tensor %lu of subgraph %lu is quantised in blocks of %ld",
                         (unsigned long)i, (unsigned long)r->index, (long)out->block_size);
    }
    if (scales < 0 || (uint32_t)scales >= r->n_tensors || out->block_zero_points_tensor >= (int64_t)r->n_tensors) {
        return error_set(r->err, LITHE_E_MODEL,
                         "the block scales of tensor %lu of subgraph %lu are tensor %ld (zero points %ld), but there "
                         "are %lu tensors",
                         (unsigned long)i, (unsigned long)r->index, (long)scales, (long)out->block_zero_points_tensor,
                         (unsigned long)r->n_tensors);
    }
    out->block_scales_tensor = (uint32_t)scales;
    return LITHE_OK;
}

static lithe_status read_quantisation(reader *r, const fb_table *t, uint32_t i, tflite_tensor *out)
{
    fb_table q;
    fb_vector scales, zeros;
    out->block_zero_points_tensor = -1;
    if (!fb_sub(t, TENSOR_QUANTIZATION, &q) || !fb_vec(&q, QUANT_SCALE, 4, &scales) ||
        !fb_vec(&q, QUANT_ZERO_POINT, 8, &zeros)) {
        return tflite_damaged(r->err, "the quantisation of tensor %lu", (unsigned long)i);
    }
    if (fb_u8(&q, QUANT_DETAILS_TYPE, 0) == DETAILS_BLOCKWISE) {
        return read_blockwise(r, &q, i, out);
    }
    out->quantized_dimension = fb_i32(&q, QUANT_DIMENSION, 0);
    out->n_scales = scales.n;
    if (scales.n == 0) {
        return LITHE_OK;
    }
    if (scales.n > 1) {
        int32_t d = out->quantized_dimension;
        if (d < 0 || (uint32_t)d >= out->rank || out->dims[d] < 0 || (uint32_t)out->dims[d] != scales.n) {
            return error_set(r->err, LITHE_E_MODEL,
                             "tensor %lu of subgraph %lu has %lu scales, which is not the size of its dimension %ld",
                             (unsigned long)i, (unsigned long)r->index, (unsigned long)scales.n, (long)d);
        }
    }
    lithe_status st = tflite_spend(&r->budget, (uint64_t)scales.n, "the scales", r->err);
    if (st) {
        return st;
    }
    out->scales = float_array(r, &scales);
    if (!out->scales) {
        return error_memory(r->err, (uint64_t)scales.n * sizeof(float), "scales");
    }
    return read_zero_points(r, &zeros, i, out);
}

static lithe_status read_tensor(reader *r, const fb_table *t, uint32_t i, tflite_tensor *out)
{
    bytes name;
    if (!fb_str(t, TENSOR_NAME, &name)) {
        return tflite_damaged(r->err, "the name of tensor %lu of subgraph %lu", (unsigned long)i,
                              (unsigned long)r->index);
    }
    out->name = text_or_empty(name);
    out->type = fb_u8(t, TENSOR_TYPE, 0);
    lithe_status st;
    if ((st = read_shape(r, t, i, out)) || (st = read_data(r, t, i, out)) || (st = read_quantisation(r, t, i, out))) {
        return at_tensor(r, st, i, out);
    }
    return LITHE_OK;
}

static lithe_status read_tensors(reader *r, const fb_table *g, tflite_subgraph *out)
{
    fb_vector v;
    if (!fb_vec(g, SUBGRAPH_TENSORS, 4, &v)) {
        return tflite_damaged(r->err, "the tensors of subgraph %lu", (unsigned long)r->index);
    }
    lithe_status st = tflite_spend(&r->budget, v.n, "the tensors", r->err);
    if (st) {
        return st;
    }
    tflite_tensor *tensors = ARENA_ARRAY(r->m->arena, tflite_tensor, v.n);
    if (!tensors) {
        return error_memory(r->err, (uint64_t)v.n * sizeof *tensors, "tensors");
    }
    r->n_tensors = v.n;
    for (uint32_t i = 0; i < v.n; i++) {
        fb_table t;
        if (!fb_vec_table(&v, i, &t)) {
            return tflite_damaged(r->err, "tensor %lu of subgraph %lu", (unsigned long)i, (unsigned long)r->index);
        }
        st = read_tensor(r, &t, i, &tensors[i]);
        if (st) {
            return st;
        }
    }
    out->tensors = tensors;
    out->n_tensors = v.n;
    return LITHE_OK;
}

/* A vector of tensor indices, each checked. `what` and `node` (-1: the subgraph itself) are for messages. */
static lithe_status read_indices(reader *r, const fb_table *t, unsigned slot, const char *what, int64_t node,
                                 bool optional, const int32_t **out, uint32_t *n_out)
{
    char owner[64];
    if (node >= 0) {
        snprintf(owner, sizeof owner, "node %ld of subgraph %lu", (long)node, (unsigned long)r->index);
    } else {
        snprintf(owner, sizeof owner, "subgraph %lu", (unsigned long)r->index);
    }
    fb_vector v;
    if (!fb_vec(t, slot, 4, &v)) {
        return tflite_damaged(r->err, "the list of %ss of %s", what, owner);
    }
    lithe_status st = tflite_spend(&r->budget, v.n, "the inputs and outputs", r->err);
    if (st) {
        return st;
    }
    int32_t *indices = ARENA_ARRAY(r->m->arena, int32_t, v.n);
    if (!indices) {
        return error_memory(r->err, (uint64_t)v.n * sizeof *indices, "tensor indices");
    }
    for (uint32_t i = 0; i < v.n; i++) {
        indices[i] = fb_vec_i32(&v, i);
        bool absent = optional && indices[i] == -1;
        if (!absent && (indices[i] < 0 || (uint32_t)indices[i] >= r->n_tensors)) {
            return error_set(r->err, LITHE_E_MODEL, "%s %lu of %s is tensor %ld, but the subgraph has %lu tensors",
                             what, (unsigned long)i, owner, (long)indices[i], (unsigned long)r->n_tensors);
        }
    }
    *out = indices;
    *n_out = v.n;
    return LITHE_OK;
}

static lithe_status read_composite(reader *r, uint32_t node, tflite_op *op)
{
    if (op->options_type != OPTIONS2_COMPOSITE || op->options.at == 0) {
        return error_set(r->err, LITHE_E_MODEL, "node %lu of subgraph %lu is a STABLEHLO_COMPOSITE without its options",
                         (unsigned long)node, (unsigned long)r->index);
    }
    bytes name;
    fb_vector attributes;
    if (!fb_str(&op->options, COMPOSITE_NAME, &name) || !fb_vec(&op->options, COMPOSITE_ATTRIBUTES, 1, &attributes)) {
        return tflite_damaged(r->err, "the composite at node %lu of subgraph %lu", (unsigned long)node,
                              (unsigned long)r->index);
    }
    op->composite_name = text_or_empty(name);
    op->composite_subgraph = fb_i32(&op->options, COMPOSITE_SUBGRAPH, 0);
    op->composite_version = fb_i32(&op->options, COMPOSITE_VERSION, 0);
    op->custom_options = (bytes){attributes.n ? attributes.buf.data + attributes.at : NULL, attributes.n};
    if (op->composite_subgraph < 0 || (uint32_t)op->composite_subgraph >= r->m->n_subgraphs) {
        return error_set(r->err, LITHE_E_MODEL,
                         "the composite at node %lu of subgraph %lu is decomposed in subgraph %ld, but the model has "
                         "%lu subgraphs",
                         (unsigned long)node, (unsigned long)r->index, (long)op->composite_subgraph,
                         (unsigned long)r->m->n_subgraphs);
    }
    return LITHE_OK;
}

/* Options in either union, and custom options inline or, for large ones, behind the FlatBuffer. */
static lithe_status read_options(reader *r, const fb_table *t, uint32_t node, tflite_op *op)
{
    uint8_t type2 = fb_u8(t, OP_OPTIONS2_TYPE, 0);
    fb_vector custom;
    op->options_type = type2 ? type2 : fb_u8(t, OP_OPTIONS_TYPE, 0);
    if (!fb_sub(t, type2 ? OP_OPTIONS2 : OP_OPTIONS, &op->options) || !fb_vec(t, OP_CUSTOM_OPTIONS, 1, &custom)) {
        return tflite_damaged(r->err, "the options of node %lu of subgraph %lu", (unsigned long)node,
                              (unsigned long)r->index);
    }
    uint64_t offset = fb_u64(t, OP_LARGE_CUSTOM_OFFSET, 0), size = fb_u64(t, OP_LARGE_CUSTOM_SIZE, 0);
    op->custom_options = (bytes){custom.n ? custom.buf.data + custom.at : NULL, custom.n};
    if (offset > 1) {
        if (!bytes_has(r->m->file, offset, size)) {
            return tflite_damaged(r->err, "the large custom options of node %lu of subgraph %lu", (unsigned long)node,
                                  (unsigned long)r->index);
        }
        op->custom_options = (bytes){r->m->file.data + offset, (size_t)size};
    }
    return op->builtin == BUILTIN_COMPOSITE ? read_composite(r, node, op) : LITHE_OK;
}

static lithe_status read_op(reader *r, const fb_table *t, uint32_t node, tflite_op *op)
{
    uint32_t code = fb_u32(t, OP_OPCODE, 0);
    if (code >= r->m->n_opcodes) {
        return error_set(r->err, LITHE_E_MODEL, "node %lu of subgraph %lu has operator code %lu, but the model has %lu",
                         (unsigned long)node, (unsigned long)r->index, (unsigned long)code,
                         (unsigned long)r->m->n_opcodes);
    }
    const tflite_opcode *o = &r->m->tables->opcodes[code];
    op->builtin = o->builtin;
    op->version = o->version;
    op->custom_code = o->builtin == BUILTIN_CUSTOM ? o->custom_code : "";
    op->composite_name = "";
    op->composite_subgraph = -1;
    lithe_status st = read_indices(r, t, OP_INPUTS, "input", node, true, &op->inputs, &op->n_inputs);
    if (!st) {
        st = read_indices(r, t, OP_OUTPUTS, "output", node, false, &op->outputs, &op->n_outputs);
    }
    return st ? st : read_options(r, t, node, op);
}

static lithe_status read_ops(reader *r, const fb_table *g, tflite_subgraph *out)
{
    fb_vector v;
    if (!fb_vec(g, SUBGRAPH_OPERATORS, 4, &v)) {
        return tflite_damaged(r->err, "the nodes of subgraph %lu", (unsigned long)r->index);
    }
    lithe_status st = tflite_spend(&r->budget, v.n, "the nodes", r->err);
    if (st) {
        return st;
    }
    tflite_op *ops = ARENA_ARRAY(r->m->arena, tflite_op, v.n);
    if (!ops) {
        return error_memory(r->err, (uint64_t)v.n * sizeof *ops, "nodes");
    }
    for (uint32_t i = 0; i < v.n; i++) {
        fb_table t;
        if (!fb_vec_table(&v, i, &t)) {
            return tflite_damaged(r->err, "node %lu of subgraph %lu", (unsigned long)i, (unsigned long)r->index);
        }
        st = read_op(r, &t, i, &ops[i]);
        if (st) {
            error_at_node(r->err, (int32_t)i,
                          ops[i].custom_code && *ops[i].custom_code ? "CUSTOM" : tflite_builtin_name(ops[i].builtin));
            return st;
        }
    }
    out->ops = ops;
    out->n_ops = v.n;
    return LITHE_OK;
}

lithe_status tflite_read_subgraph(tflite_model *m, uint32_t index, tflite_subgraph *out, lithe_error *err)
{
    reader r = {.m = m, .index = index, .budget = tflite_budget_for(m), .err = err};
    fb_table g;
    bytes name;
    memset(out, 0, sizeof *out);
    if (index >= m->n_subgraphs) {
        return error_set(err, LITHE_E_MODEL, "subgraph %lu does not exist: the model has %lu", (unsigned long)index,
                         (unsigned long)m->n_subgraphs);
    }
    if (!fb_vec_table(&m->tables->subgraphs, index, &g) || !fb_str(&g, SUBGRAPH_NAME, &name)) {
        return tflite_damaged(err, "subgraph %lu", (unsigned long)index);
    }
    out->name = text_or_empty(name);
    lithe_status st;
    if ((st = read_tensors(&r, &g, out)) ||
        (st = read_indices(&r, &g, SUBGRAPH_INPUTS, "input", -1, false, &out->inputs, &out->n_inputs)) ||
        (st = read_indices(&r, &g, SUBGRAPH_OUTPUTS, "output", -1, false, &out->outputs, &out->n_outputs))) {
        return st;
    }
    return read_ops(&r, &g, out);
}
