#include "graph/import.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { BUILTIN_CUSTOM = 32, BUILTIN_COMPOSITE = 206 };

lithe_status import_fail(importer *im, lithe_status code, uint32_t node, const char *op, const char *fmt, ...)
{
    char text[400], where[160] = "";
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (node != GRAPH_NONE) {
        snprintf(where, sizeof where, op ? ", node %u (%s)" : ", node %u", node, op);
    }
    error_set(im->err, code, "signature '%s'%s: %s", im->g->signature, where, text);
    error_at_signature(im->err, im->g->signature);
    if (node <= INT32_MAX) {
        error_at_node(im->err, (int32_t)node, op ? op : "");
    }
    return code;
}

static bool type_of(uint32_t file, graph_type *out)
{
    static const struct {
        uint32_t file;
        graph_type type;
    } types[] = {
        {TFLITE_FLOAT32, GRAPH_F32}, {TFLITE_FLOAT16, GRAPH_F16}, {TFLITE_INT32, GRAPH_I32},
        {TFLITE_INT64, GRAPH_I64},   {TFLITE_INT16, GRAPH_I16},   {TFLITE_INT8, GRAPH_I8},
        {TFLITE_UINT8, GRAPH_U8},    {TFLITE_INT4, GRAPH_I4},     {TFLITE_BOOL, GRAPH_BOOL},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].file == file) {
            *out = types[i].type;
            return true;
        }
    }
    return false;
}

static lithe_status fail_tensor(importer *im, lithe_status code, const tflite_tensor *ft, const char *problem)
{
    char shape[GRAPH_SHAPE_TEXT];
    import_fail(im, code, GRAPH_NONE, NULL, "tensor '%s' (%s %s) %s", ft->name ? ft->name : "",
                tflite_type_name(ft->type), graph_shape_text(shape, ft->rank, ft->dims), problem);
    error_tensor(im->err, "%s", ft->name ? ft->name : "");
    return code;
}

static lithe_status make_tensor(importer *im, import_frame *f, const tflite_tensor *ft, uint32_t *out)
{
    static const uint32_t nothing[4];
    graph_type type;
    uint64_t elements;
    if (!type_of(ft->type, &type)) {
        return fail_tensor(im, LITHE_E_UNSUPPORTED, ft, "has a type that is not supported");
    }
    if (ft->has_dynamic_dims) {
        return fail_tensor(im, LITHE_E_UNSUPPORTED, ft, "has a dynamic dimension");
    }
    if (!graph_count(ft->rank, ft->dims, &elements)) {
        return fail_tensor(im, LITHE_E_MODEL, ft, "has an impossible shape");
    }
    uint64_t needed = graph_type_bytes(type, elements);
    if (ft->data.data && ft->data.size < needed) {
        return fail_tensor(im, LITHE_E_MODEL, ft, "has fewer bytes than its shape needs");
    }
    *out = graph_add_tensor(im->g, ft->name ? ft->name : "", type, ft->rank, ft->dims);
    if (*out == GRAPH_NONE) {
        return error_memory(im->err, (uint64_t)im->g->n_tensors * sizeof(graph_tensor), "the graph's tensors");
    }
    graph_tensor *t = &im->g->tensors[*out];
    t->producer = IMPORT_UNWRITTEN;
    if (ft->data.data || elements == 0) { /* an empty vector has no buffer, yet is a constant: the shape of a scalar */
        t->data = ft->data.data ? (const void *)ft->data.data : (const void *)nothing;
        t->data_bytes = needed;
        t->aligned = (uintptr_t)t->data % 16 == 0;
        t->producer = IMPORT_WRITTEN;
    }
    return import_quant(im, f, ft, *out);
}

lithe_status import_tensor(importer *im, import_frame *f, uint32_t i, uint32_t *out)
{
    if (i >= f->sg->n_tensors) {
        return import_fail(im, LITHE_E_MODEL, GRAPH_NONE, NULL, "tensor index %d is outside the %u tensors", (int)i,
                           f->sg->n_tensors);
    }
    if (f->map[i] == GRAPH_NONE) {
        lithe_status status = make_tensor(im, f, &f->sg->tensors[i], &f->map[i]);
        if (status != LITHE_OK) {
            return status;
        }
    }
    *out = f->map[i];
    return LITHE_OK;
}

static lithe_status map_inputs(importer *im, import_frame *f, const tflite_op *op, op_build *b)
{
    const op_row *row = b->row;
    if (op->n_inputs < row->min_in || op->n_inputs > row->max_in) {
        return op_fail(b, LITHE_E_MODEL, "%u inputs where %u to %u are expected", op->n_inputs, row->min_in,
                       row->max_in);
    }
    for (uint32_t i = 0; i < op->n_inputs; i++) {
        if (op->inputs[i] == -1 && i >= row->min_in) {
            b->in[i] = GRAPH_NONE;
            continue;
        }
        if (op->inputs[i] < 0) {
            return op_fail(b, LITHE_E_MODEL, "input %u is missing (tensor index %d)", i, op->inputs[i]);
        }
        lithe_status status = import_tensor(im, f, (uint32_t)op->inputs[i], &b->in[i]);
        if (status != LITHE_OK) {
            error_at_node(im->err, (int32_t)b->node, row->name);
            return status;
        }
        if (im->g->tensors[b->in[i]].producer == IMPORT_UNWRITTEN) {
            return op_fail_tensor(b, LITHE_E_MODEL, b->in[i],
                                  "tensor '%s' is read, but neither constant nor input nor written before",
                                  im->g->tensors[b->in[i]].name);
        }
    }
    return LITHE_OK;
}

static lithe_status map_outputs(importer *im, import_frame *f, const tflite_op *op, op_build *b, uint32_t *out)
{
    if (op->n_outputs < b->row->min_out || op->n_outputs > b->row->max_out) {
        return op_fail(b, LITHE_E_MODEL, "%u outputs where %u to %u are expected", op->n_outputs, b->row->min_out,
                       b->row->max_out);
    }
    for (uint32_t i = 0; i < op->n_outputs; i++) {
        if (op->outputs[i] < 0) {
            return op_fail(b, LITHE_E_MODEL, "output %u is missing", i);
        }
        lithe_status status = import_tensor(im, f, (uint32_t)op->outputs[i], &out[i]);
        if (status != LITHE_OK) {
            error_at_node(im->err, (int32_t)b->node, b->row->name);
            return status;
        }
        graph_tensor *t = &im->g->tensors[out[i]];
        if (t->producer != IMPORT_UNWRITTEN) {
            return op_fail_tensor(b, LITHE_E_MODEL, out[i],
                                  "tensor '%s' is written, but it is a constant, an input or written before", t->name);
        }
        t->producer = IMPORT_WRITTEN;
    }
    return LITHE_OK;
}

static lithe_status check_type(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    if (b->row->types == 0 || !x || b->row->types >> x->type & 1) {
        return LITHE_OK;
    }
    return op_fail_tensor(b, LITHE_E_UNSUPPORTED, b->in[0], "tensor '%s' of type %s is not supported as first input",
                          x->name, graph_type_name(x->type));
}

/* The result of the shape rule must be what the file says of the output. */
static lithe_status check_outputs(op_build *b)
{
    bool two = b->row->op == OP_GATED_DELTA;
    for (uint32_t i = 0; i < b->n_out; i++) {
        const op_result *r = &b->result[two && i < 2 ? i : 0];
        const graph_tensor *t = &b->g->tensors[b->out[i]];
        if (r->type == t->type && r->rank == t->rank && memcmp(r->dims, t->dims, r->rank * sizeof *r->dims) == 0 &&
            t->elements > 0) {
            continue;
        }
        char expected[GRAPH_SHAPE_TEXT], found[GRAPH_SHAPE_TEXT];
        graph_shape_text(expected, r->rank, r->dims);
        graph_shape_text(found, t->rank, t->dims);
        op_fail_tensor(b, LITHE_E_MODEL, b->out[i], "output '%s' must be %s %s, but the file says %s %s", t->name,
                       graph_type_name(r->type), expected, graph_type_name(t->type), found);
        error_expected(b->err, "%s %s", graph_type_name(r->type), expected);
        error_found(b->err, "%s %s", graph_type_name(t->type), found);
        return LITHE_E_MODEL;
    }
    return LITHE_OK;
}

/* A FULLY_CONNECTED that drops dimensions may take rows that cross them: then rows are made first. */
static lithe_status flatten_rows(op_build *b)
{
    const graph_tensor *x = op_in(b, 0), *w = op_in(b, 1);
    if (b->row->op != OP_FULLY_CONNECTED || b->a.keep_dims || !x || !w || w->rank != 2 || w->dims[1] < 1 ||
        x->rank < 1 || x->dims[x->rank - 1] == w->dims[1] || x->elements % (uint64_t)w->dims[1] ||
        x->elements / (uint64_t)w->dims[1] > INT32_MAX) {
        return LITHE_OK;
    }
    int32_t dims[2] = {(int32_t)(x->elements / (uint64_t)w->dims[1]), w->dims[1]};
    uint32_t rows = graph_add_tensor(b->g, x->name, x->type, 2, dims);
    graph_node *n = rows == GRAPH_NONE ? NULL : graph_add_node(b->g, OP_RESHAPE, b->in, 1, &rows, 1);
    if (!n) {
        return error_memory(b->err, sizeof *n, "a node");
    }
    n->source = b->node;
    b->g->tensors[rows].producer = IMPORT_WRITTEN;
    b->in[0] = rows;
    return LITHE_OK;
}

/* A slice that drops axes keeps them in the IR, and a RESHAPE behind it drops them: which ones went would else be lost. */
static lithe_status drop_axes(op_build *b, uint32_t *out)
{
    if (!b->dropped) {
        return LITHE_OK;
    }
    const graph_tensor *y = &b->g->tensors[out[0]];
    uint32_t full = graph_add_tensor(b->g, y->name, y->type, b->asked_rank, b->asked);
    graph_node *n = full == GRAPH_NONE ? NULL : graph_add_node(b->g, OP_RESHAPE, &full, 1, out, 1);
    if (!n) {
        return error_memory(b->err, sizeof *n, "a node");
    }
    n->source = b->node;
    out[0] = full;
    return LITHE_OK;
}

/* Ops with optional inputs always have all of them in the IR, absent ones as GRAPH_NONE. */
static void pad_inputs(op_build *b)
{
    while (b->row->max_in != OP_ANY_NUMBER && b->row->max_in > b->row->min_in && b->row->op != OP_RESHAPE &&
           b->n_in < b->row->max_in) {
        b->in[b->n_in++] = GRAPH_NONE;
    }
}

lithe_status import_as(importer *im, import_frame *f, uint32_t i, const op_row *row, const graph_attrs *a)
{
    const tflite_op *op = &f->sg->ops[i];
    op_build b = {.g = im->g, .row = row, .file = op, .node = f->source == GRAPH_NONE ? i : f->source, .err = im->err};
    size_t room = op->n_inputs + (row->max_in == OP_ANY_NUMBER ? 0u : row->max_in);
    uint32_t *out = ARENA_ARRAY(im->g->arena, uint32_t, op->n_outputs);
    b.in = ARENA_ARRAY(im->g->arena, uint32_t, room);
    if (!b.in || !out) {
        return error_memory(im->err, room * sizeof *b.in, "a node's inputs");
    }
    memset(&b.a, 0, sizeof b.a);
    if (a) {
        memcpy(&b.a, a, sizeof b.a);
    }
    b.n_in = op->n_inputs;
    b.out = out;
    b.n_out = op->n_outputs;
    lithe_status status = map_inputs(im, f, op, &b);
    status = status != LITHE_OK ? status : map_outputs(im, f, op, &b, out);
    status = status != LITHE_OK ? status : check_type(&b);
    status = status != LITHE_OK || !row->read ? status : row->read(&b);
    status = status != LITHE_OK ? status : flatten_rows(&b);
    status = status != LITHE_OK ? status : row->shape(&b);
    status = status != LITHE_OK ? status : check_outputs(&b);
    if (status != LITHE_OK) {
        return status;
    }
    pad_inputs(&b);
    uint32_t reshape = im->g->n_nodes;
    status = drop_axes(&b, out);
    if (status != LITHE_OK) {
        return status;
    }
    graph_node *n = graph_add_node(im->g, row->op, b.in, b.n_in, out, b.n_out);
    if (!n) {
        return error_memory(im->err, sizeof *n, "a node");
    }
    memcpy(&n->a, &b.a, sizeof n->a);
    n->source = b.node;
    if (b.dropped) { /* the RESHAPE was made first */
        graph_node slice = im->g->nodes[reshape + 1];
        im->g->nodes[reshape + 1] = im->g->nodes[reshape];
        im->g->nodes[reshape] = slice;
    }
    return LITHE_OK;
}

const op_row *import_custom_row(const char *name)
{
    for (uint32_t i = 0; i < op_n_rows; i++) {
        if (op_rows[i].custom && strcmp(op_rows[i].custom, name) == 0) {
            return &op_rows[i];
        }
    }
    return NULL;
}

static lithe_status import_op(importer *im, import_frame *f, uint32_t i)
{
    const tflite_op *op = &f->sg->ops[i];
    const op_row *row = NULL;
    if (op->builtin == BUILTIN_COMPOSITE) {
        return import_composite(im, f, i);
    }
    if (op->builtin == BUILTIN_CUSTOM) {
        row = import_custom_row(op->custom_code);
    } else if (op->builtin < sizeof im->row_of && im->row_of[op->builtin]) {
        row = &op_rows[im->row_of[op->builtin] - 1];
    }
    if (row) {
        return import_as(im, f, i, row, NULL);
    }
    uint32_t node = f->source == GRAPH_NONE ? i : f->source;
    if (op->builtin == BUILTIN_CUSTOM) {
        import_fail(im, LITHE_E_UNSUPPORTED, node, "CUSTOM", "custom op '%s' is not supported", op->custom_code);
    } else {
        import_fail(im, LITHE_E_UNSUPPORTED, node, tflite_builtin_name(op->builtin),
                    "operator %s (%u) is not supported", tflite_builtin_name(op->builtin), op->builtin);
    }
    error_hint(im->err, "docs/ops.md lists the operators that are supported");
    return LITHE_E_UNSUPPORTED;
}

lithe_status import_ops(importer *im, import_frame *f)
{
    for (uint32_t i = 0; i < f->sg->n_ops; i++) {
        lithe_status status = import_op(im, f, i);
        if (status != LITHE_OK) {
            error_at_signature(im->err, im->g->signature);
            return status;
        }
    }
    return LITHE_OK;
}

static lithe_status import_inputs(importer *im, import_frame *f, const tflite_signature *s)
{
    graph *g = im->g;
    g->inputs = ARENA_ARRAY(g->arena, graph_input, s->n_inputs);
    if (!g->inputs) {
        return error_memory(im->err, s->n_inputs * sizeof *g->inputs, "the graph's inputs");
    }
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        uint32_t t;
        lithe_status status = import_tensor(im, f, s->input_tensors[i], &t);
        if (status != LITHE_OK) {
            return status;
        }
        if (g->tensors[t].producer != IMPORT_UNWRITTEN) {
            return import_fail(im, LITHE_E_MODEL, GRAPH_NONE, NULL, "input '%s' is a constant or given twice",
                               s->input_names[i]);
        }
        g->tensors[t].producer = IMPORT_WRITTEN;
        g->inputs[i] =
            (graph_input){.name = s->input_names[i], .tensor = t, .role = GRAPH_IN_OTHER, .state = GRAPH_NONE};
    }
    g->n_inputs = s->n_inputs;
    return LITHE_OK;
}

static lithe_status import_outputs(importer *im, import_frame *f, const tflite_signature *s)
{
    graph *g = im->g;
    g->outputs = ARENA_ARRAY(g->arena, graph_output, s->n_outputs);
    if (!g->outputs) {
        return error_memory(im->err, s->n_outputs * sizeof *g->outputs, "the graph's outputs");
    }
    for (uint32_t i = 0; i < s->n_outputs; i++) {
        uint32_t t;
        lithe_status status = import_tensor(im, f, s->output_tensors[i], &t);
        if (status != LITHE_OK) {
            return status;
        }
        if (g->tensors[t].producer == IMPORT_UNWRITTEN) {
            import_fail(im, LITHE_E_MODEL, GRAPH_NONE, NULL, "nothing writes output '%s'", s->output_names[i]);
            error_tensor(im->err, "%s", g->tensors[t].name);
            return LITHE_E_MODEL;
        }
        g->outputs[i] = (graph_output){.name = s->output_names[i], .tensor = t, .state = GRAPH_NONE};
    }
    g->n_outputs = s->n_outputs;
    return LITHE_OK;
}

/* Room for what the subgraph has, so that the arrays seldom grow. */
static bool reserve(graph *g, const tflite_subgraph *sg)
{
    g->tensors_capacity = sg->n_tensors + 64;
    g->nodes_capacity = sg->n_ops + 64;
    g->tensors = ARENA_ARRAY(g->arena, graph_tensor, g->tensors_capacity);
    g->nodes = ARENA_ARRAY(g->arena, graph_node, g->nodes_capacity);
    return g->tensors && g->nodes;
}

/* A frame over a signature's subgraph, with an empty map. */
static lithe_status open_frame(importer *im, const tflite_subgraph *sg, import_frame *f)
{
    *f = (import_frame){.sg = sg, .source = GRAPH_NONE, .map = ARENA_ARRAY(im->g->arena, uint32_t, sg->n_tensors)};
    if (!f->map || sg->n_tensors > UINT32_MAX / 4 || sg->n_ops > UINT32_MAX / 4 || !reserve(im->g, sg)) {
        return error_memory(im->err, (uint64_t)sg->n_tensors * sizeof(graph_tensor), "the graph's tensors");
    }
    memset(f->map, 0xff, sg->n_tensors * sizeof *f->map);
    return LITHE_OK;
}

lithe_status graph_import_subgraph(graph *g, tflite_model *m, const tflite_signature *s, const tflite_subgraph *sg,
                                   const graph_state_hint *hints, uint32_t n_hints, arena *a, lithe_error *err)
{
    importer im = {.g = g, .m = m, .err = err};
    import_frame f;
    *g = (graph){.signature = s->key, .arena = a, .why_not_node = GRAPH_NONE};
    for (uint32_t i = 0; i < op_n_rows; i++) {
        if (op_rows[i].builtin >= 0) {
            im.row_of[op_rows[i].builtin] = (uint8_t)(i + 1);
        }
    }
    lithe_status status = open_frame(&im, sg, &f);
    status = status != LITHE_OK ? status : import_inputs(&im, &f, s);
    status = status != LITHE_OK ? status : import_ops(&im, &f);
    status = status != LITHE_OK ? status : import_outputs(&im, &f, s);
    if (status != LITHE_OK) {
        return status;
    }
    graph_index(g);
    return import_states(&im, n_hints ? hints : NULL, hints ? n_hints : 0);
}

lithe_status graph_import(graph *g, tflite_model *m, const char *key, const graph_state_hint *hints, uint32_t n_hints,
                          arena *a, lithe_error *err)
{
    tflite_subgraph sg;
    *g = (graph){.signature = key, .arena = a, .why_not_node = GRAPH_NONE};
    const tflite_signature *s = tflite_find_signature(m, key);
    if (!s) {
        error_set(err, LITHE_E_MODEL, "the model has no signature '%s'", key);
        error_at_signature(err, key);
        return LITHE_E_MODEL;
    }
    lithe_status status = tflite_read_subgraph(m, s->subgraph, &sg, err);
    if (status != LITHE_OK) {
        error_at_signature(err, s->key);
        return status;
    }
    return graph_import_subgraph(g, m, s, &sg, hints, n_hints, a, err);
}
