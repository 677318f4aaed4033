#include "bundle/tflite.h"

#include "bundle/sniff.h"
#include "bundle/tflite_tables.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

lithe_status tflite_damaged(lithe_error *err, const char *fmt, ...)
{
    char what[160];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    return error_set(err, LITHE_E_FORMAT, "the TFLite model is damaged: %s lies outside of its buffer", what);
}

tflite_budget tflite_budget_for(const tflite_model *m)
{
    return (tflite_budget){(uint64_t)m->file.size / 4};
}

lithe_status tflite_spend(tflite_budget *b, uint64_t n, const char *what, lithe_error *err)
{
    if (n > b->left) {
        return error_set(err, LITHE_E_FORMAT,
                         "the TFLite model is damaged: %s have %llu entries, more than the file can hold", what,
                         (unsigned long long)n);
    }
    b->left -= n;
    return LITHE_OK;
}

static const char *text_or_empty(bytes s)
{
    return s.data ? (const char *)s.data : "";
}

static lithe_status read_opcodes(tflite_model *m, const fb_table *root, lithe_error *err)
{
    fb_vector v;
    if (!fb_vec(root, MODEL_OPCODES, 4, &v)) {
        return tflite_damaged(err, "the table of operator codes");
    }
    tflite_opcode *ops = ARENA_ARRAY(m->arena, tflite_opcode, v.n);
    if (!ops) {
        return error_memory(err, (uint64_t)v.n * sizeof *ops, "operator codes");
    }
    m->tables->opcodes = ops;
    m->n_opcodes = v.n;
    for (uint32_t i = 0; i < v.n; i++) {
        fb_table t;
        bytes custom;
        if (!fb_vec_table(&v, i, &t) || !fb_str(&t, OPCODE_CUSTOM, &custom)) {
            return tflite_damaged(err, "operator code %lu", (unsigned long)i);
        }
        /* Operators after 127 did not fit the first field, which then holds a placeholder: the larger one counts. */
        int32_t old = fb_i8(&t, OPCODE_DEPRECATED, 0), code = fb_i32(&t, OPCODE_BUILTIN, 0);
        int32_t builtin = code > old ? code : old;
        if (builtin < 0) {
            return error_set(err, LITHE_E_FORMAT, "operator code %lu is negative (%ld)", (unsigned long)i,
                             (long)builtin);
        }
        ops[i] = (tflite_opcode){(uint32_t)builtin, (uint32_t)fb_i32(&t, OPCODE_VERSION, 1), text_or_empty(custom)};
    }
    return LITHE_OK;
}

lithe_status tflite_read_buffer(const tflite_model *m, uint32_t i, tflite_buffer *out, lithe_error *err)
{
    fb_table t;
    if (!fb_vec_table(&m->tables->buffers, i, &t)) {
        return tflite_damaged(err, "buffer %lu", (unsigned long)i);
    }
    uint64_t offset = fb_u64(&t, BUFFER_OFFSET, 0), size = fb_u64(&t, BUFFER_SIZE, 0);
    if (offset > 1) { /* behind the FlatBuffer; 0 and 1 mean "not used" */
        if (!bytes_has(m->file, offset, size)) {
            error_set(err, LITHE_E_TRUNCATED,
                      "buffer %lu of the TFLite model has %llu bytes at byte %llu of its section, but the section has "
                      "%zu bytes",
                      (unsigned long)i, (unsigned long long)size, (unsigned long long)offset, m->file.size);
            error_found(err, "%zu bytes", m->file.size);
            return LITHE_E_TRUNCATED;
        }
        *out = (tflite_buffer){{m->file.data + offset, (size_t)size}, true};
        return LITHE_OK;
    }
    fb_vector data;
    if (!fb_vec(&t, BUFFER_DATA, 1, &data)) {
        return tflite_damaged(err, "the data of buffer %lu", (unsigned long)i);
    }
    *out = (tflite_buffer){{data.n ? data.buf.data + data.at : NULL, data.n}, fb_has(&t, BUFFER_DATA)};
    return LITHE_OK;
}

/* External buffers live in the TFLiteWeights section. There is one such section for a model, so the group only has to exist. */
static lithe_status read_externals(tflite_model *m, const fb_table *root, lithe_error *err)
{
    fb_vector groups, v;
    if (!fb_vec(root, MODEL_EXTERNAL_GROUPS, 4, &groups) || !fb_vec(root, MODEL_EXTERNAL_BUFFERS, 4, &v)) {
        return tflite_damaged(err, "the table of external buffers");
    }
    tflite_external *ext = ARENA_ARRAY(m->arena, tflite_external, v.n);
    if (!ext) {
        return error_memory(err, (uint64_t)v.n * sizeof *ext, "external buffers");
    }
    m->tables->externals = ext;
    m->tables->n_externals = v.n;
    for (uint32_t i = 0; i < v.n; i++) {
        fb_table t;
        if (!fb_vec_table(&v, i, &t)) {
            return tflite_damaged(err, "external buffer %lu", (unsigned long)i);
        }
        uint32_t group = fb_u32(&t, EXTERNAL_GROUP, 0);
        ext[i] = (tflite_external){fb_u32(&t, EXTERNAL_ID, 0), fb_u64(&t, EXTERNAL_OFFSET, 0),
                                   fb_u64(&t, EXTERNAL_LENGTH, 0)};
        if (group >= groups.n) {
            return error_set(err, LITHE_E_FORMAT, "external buffer %lu names group %lu, but the model has %lu groups",
                             (unsigned long)i, (unsigned long)group, (unsigned long)groups.n);
        }
    }
    return LITHE_OK;
}

static lithe_status read_metadata(tflite_model *m, const fb_table *root, lithe_error *err)
{
    fb_vector v;
    if (!fb_vec(root, MODEL_METADATA, 4, &v)) {
        return tflite_damaged(err, "the metadata table");
    }
    tflite_metadata *meta = ARENA_ARRAY(m->arena, tflite_metadata, v.n);
    if (!meta) {
        return error_memory(err, (uint64_t)v.n * sizeof *meta, "model metadata");
    }
    for (uint32_t i = 0; i < v.n; i++) {
        fb_table t;
        bytes name;
        if (!fb_vec_table(&v, i, &t) || !fb_str(&t, METADATA_NAME, &name)) {
            return tflite_damaged(err, "metadata entry %lu", (unsigned long)i);
        }
        uint32_t buffer = fb_u32(&t, METADATA_BUFFER, 0);
        if (buffer >= m->n_buffers) {
            return error_set(err, LITHE_E_FORMAT,
                             "metadata entry %lu refers to buffer %lu, but the model has %lu buffers", (unsigned long)i,
                             (unsigned long)buffer, (unsigned long)m->n_buffers);
        }
        tflite_buffer b;
        lithe_status st = tflite_read_buffer(m, buffer, &b, err);
        if (st) {
            return st;
        }
        meta[i] = (tflite_metadata){text_or_empty(name), b.data};
    }
    m->metadata = meta;
    m->n_metadata = v.n;
    return LITHE_OK;
}

/* One side (inputs or outputs) of a signature: names with tensor indices, checked against the subgraph's tensor count. */
static lithe_status read_maps(tflite_model *m, const fb_table *sig, unsigned slot, const char *key, uint32_t n_tensors,
                              tflite_budget *budget, const char ***names_out, const uint32_t **tensors_out,
                              uint32_t *n_out, lithe_error *err)
{
    const char *side = slot == SIGNATURE_INPUTS ? "input" : "output";
    fb_vector v;
    if (!fb_vec(sig, slot, 4, &v)) {
        return tflite_damaged(err, "the list of %ss of signature %.64s", side, key);
    }
    lithe_status st = tflite_spend(budget, v.n, "the signatures", err);
    if (st) {
        return st;
    }
    const char **names = ARENA_ARRAY(m->arena, const char *, v.n);
    uint32_t *tensors = ARENA_ARRAY(m->arena, uint32_t, v.n);
    if (!names || !tensors) {
        return error_memory(err, (uint64_t)v.n * (sizeof *names + sizeof *tensors), "signature inputs and outputs");
    }
    for (uint32_t i = 0; i < v.n; i++) {
        fb_table t;
        bytes name;
        if (!fb_vec_table(&v, i, &t) || !fb_str(&t, MAP_NAME, &name)) {
            return tflite_damaged(err, "%s %lu of signature %.64s", side, (unsigned long)i, key);
        }
        names[i] = text_or_empty(name);
        tensors[i] = fb_u32(&t, MAP_TENSOR, 0);
        if (tensors[i] >= n_tensors) {
            error_set(err, LITHE_E_MODEL,
                      "%s %s of signature %.64s refers to tensor %lu, but its subgraph has %lu tensors", side,
                      name.data ? sniff_printable(name, (char[64]){0}, 64) : "(unnamed)", key,
                      (unsigned long)tensors[i], (unsigned long)n_tensors);
            error_at_signature(err, key);
            return LITHE_E_MODEL;
        }
    }
    *names_out = names;
    *tensors_out = tensors;
    *n_out = v.n;
    return LITHE_OK;
}

static lithe_status read_signature(tflite_model *m, const fb_table *t, uint32_t i, tflite_signature *sig,
                                   tflite_budget *budget, lithe_error *err)
{
    bytes key;
    if (!fb_str(t, SIGNATURE_KEY, &key)) {
        return tflite_damaged(err, "the key of signature %lu", (unsigned long)i);
    }
    sig->key = text_or_empty(key);
    sig->subgraph = fb_u32(t, SIGNATURE_SUBGRAPH, 0);
    fb_table subgraph;
    fb_vector tensors;
    if (sig->subgraph >= m->n_subgraphs) {
        error_set(err, LITHE_E_MODEL, "signature %.64s refers to subgraph %lu, but the model has %lu subgraphs",
                  sig->key, (unsigned long)sig->subgraph, (unsigned long)m->n_subgraphs);
        error_at_signature(err, sig->key);
        return LITHE_E_MODEL;
    }
    if (!fb_vec_table(&m->tables->subgraphs, sig->subgraph, &subgraph) ||
        !fb_vec(&subgraph, SUBGRAPH_TENSORS, 4, &tensors)) {
        return tflite_damaged(err, "subgraph %lu", (unsigned long)sig->subgraph);
    }
    lithe_status st = read_maps(m, t, SIGNATURE_INPUTS, sig->key, tensors.n, budget, &sig->input_names,
                                &sig->input_tensors, &sig->n_inputs, err);
    if (!st) {
        st = read_maps(m, t, SIGNATURE_OUTPUTS, sig->key, tensors.n, budget, &sig->output_names, &sig->output_tensors,
                       &sig->n_outputs, err);
    }
    return st;
}

static lithe_status read_signatures(tflite_model *m, const fb_table *root, lithe_error *err)
{
    fb_vector v;
    if (!fb_vec(root, MODEL_SIGNATURES, 4, &v)) {
        return tflite_damaged(err, "the table of signatures");
    }
    tflite_signature *sigs = ARENA_ARRAY(m->arena, tflite_signature, v.n);
    if (!sigs) {
        return error_memory(err, (uint64_t)v.n * sizeof *sigs, "signatures");
    }
    tflite_budget budget = tflite_budget_for(m);
    for (uint32_t i = 0; i < v.n; i++) {
        fb_table t;
        if (!fb_vec_table(&v, i, &t)) {
            return tflite_damaged(err, "signature %lu", (unsigned long)i);
        }
        lithe_status st = read_signature(m, &t, i, &sigs[i], &budget, err);
        if (st) {
            return st;
        }
    }
    m->signatures = sigs;
    m->n_signatures = v.n;
    return LITHE_OK;
}

static lithe_status enter_model(tflite_model *m, fb_table *root, lithe_error *err)
{
    char problem[96];
    if (!fb_root(m->file, root, problem, sizeof problem)) {
        return error_set(err, LITHE_E_FORMAT, "the TFLite model is damaged: %s", problem);
    }
    if (memcmp(m->file.data + 4, TFLITE_IDENTIFIER, 4) != 0) {
        char found[32];
        sniff_printable((bytes){m->file.data + 4, 4}, found, sizeof found);
        error_set(err, LITHE_E_FORMAT, "the section holds no TFLite model: its identifier is %s", found);
        error_expected(err, "\"" TFLITE_IDENTIFIER "\"");
        error_found(err, "%s", found);
        return LITHE_E_FORMAT;
    }
    m->version = fb_u32(root, MODEL_VERSION, 0);
    if (m->version != TFLITE_SCHEMA_VERSION) {
        error_set(err, LITHE_E_VERSION, "this build reads TFLite schema version %d, but the model has version %lu",
                  TFLITE_SCHEMA_VERSION, (unsigned long)m->version);
        error_expected(err, "%d", TFLITE_SCHEMA_VERSION);
        error_found(err, "%lu", (unsigned long)m->version);
        return LITHE_E_VERSION;
    }
    bytes description;
    if (!fb_str(root, MODEL_DESCRIPTION, &description) || !fb_vec(root, MODEL_SUBGRAPHS, 4, &m->tables->subgraphs)) {
        return tflite_damaged(err, "the table of subgraphs or the description");
    }
    if (!fb_vec(root, MODEL_BUFFERS, 4, &m->tables->buffers)) {
        return tflite_damaged(err, "the table of buffers");
    }
    m->n_buffers = m->tables->buffers.n;
    m->description = text_or_empty(description);
    m->n_subgraphs = m->tables->subgraphs.n;
    return LITHE_OK;
}

lithe_status tflite_open(tflite_model *m, bytes file, bytes weights, arena *a, lithe_error *err)
{
    memset(m, 0, sizeof *m);
    m->file = file;
    m->weights = weights;
    m->arena = a;
    m->tables = ARENA_NEW(a, tflite_tables);
    if (!m->tables) {
        return error_memory(err, sizeof(tflite_tables), "model tables");
    }
    fb_table root;
    lithe_status st;
    if ((st = enter_model(m, &root, err)) || (st = read_opcodes(m, &root, err)) ||
        (st = read_externals(m, &root, err)) || (st = read_metadata(m, &root, err)) ||
        (st = read_signatures(m, &root, err))) {
        return st;
    }
    return LITHE_OK;
}

const char *tflite_subgraph_name(const tflite_model *m, uint32_t index)
{
    fb_table t;
    bytes name;
    if (!fb_vec_table(&m->tables->subgraphs, index, &t) || !fb_str(&t, SUBGRAPH_NAME, &name)) {
        return "";
    }
    return text_or_empty(name);
}

const tflite_signature *tflite_find_signature(const tflite_model *m, const char *key)
{
    for (uint32_t i = 0; i < m->n_signatures; i++) {
        if (strcmp(m->signatures[i].key, key) == 0) {
            return &m->signatures[i];
        }
    }
    return NULL;
}
