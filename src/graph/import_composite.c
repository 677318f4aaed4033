/* STABLEHLO_COMPOSITE: known ones become ops of the IR, others are replaced by their decomposition. */
#include "graph/import.h"

#include <string.h>

/* odml.rms_norm as exporters write it: attribute epsilon, inputs x and (perhaps) weight [last dimension]. Anything else runs as its
 * decomposition says. */
static bool is_rms_norm(const import_frame *f, const tflite_op *op, graph_attrs *a)
{
    double epsilon;
    if (strcmp(op->composite_name, "odml.rms_norm") != 0 || op->n_inputs < 1 || op->n_inputs > 2 ||
        op->n_outputs != 1 || !flex_map_number(op->custom_options, "epsilon", &epsilon) ||
        !(epsilon >= 0 && epsilon < 1)) {
        return false;
    }
    for (uint32_t i = 0; i < op->n_inputs; i++) {
        if (op->inputs[i] < 0 || (uint32_t)op->inputs[i] >= f->sg->n_tensors) {
            return false;
        }
    }
    const tflite_tensor *x = &f->sg->tensors[op->inputs[0]];
    if (x->type != TFLITE_FLOAT32 || x->rank < 1) {
        return false;
    }
    if (op->n_inputs == 2) {
        const tflite_tensor *w = &f->sg->tensors[op->inputs[1]];
        if (w->type != TFLITE_FLOAT32 || w->rank != 1 || w->dims[0] != x->dims[x->rank - 1]) {
            return false;
        }
    }
    memset(a, 0, sizeof *a);
    a->epsilon = (float)epsilon;
    return true;
}

static bool same_declaration(const tflite_tensor *a, const tflite_tensor *b)
{
    return a->type == b->type && a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

static lithe_status bind_inputs(importer *im, import_frame *outer, import_frame *inner, const tflite_op *op)
{
    const tflite_subgraph *sg = inner->sg;
    for (uint32_t i = 0; i < sg->n_inputs; i++) {
        uint32_t t, at = (uint32_t)sg->inputs[i];
        if (op->inputs[i] < 0 || at >= sg->n_tensors || (uint32_t)op->inputs[i] >= outer->sg->n_tensors ||
            !same_declaration(&outer->sg->tensors[op->inputs[i]], &sg->tensors[at])) {
            return import_fail(im, LITHE_E_MODEL, inner->source, "STABLEHLO_COMPOSITE",
                               "input %u of composite '%s' has not the shape and type that its decomposition takes", i,
                               op->composite_name);
        }
        lithe_status status = import_tensor(im, outer, (uint32_t)op->inputs[i], &t);
        if (status != LITHE_OK) {
            return status;
        }
        if (im->g->tensors[t].producer == IMPORT_UNWRITTEN || inner->map[at] != GRAPH_NONE) {
            return import_fail(im, LITHE_E_MODEL, inner->source, "STABLEHLO_COMPOSITE",
                               "input %u of composite '%s' has no value yet", i, op->composite_name);
        }
        inner->map[at] = t;
    }
    return LITHE_OK;
}

/* Outputs of the decomposition are those of the composite. One that is an input, a constant or another output needs a copy: those keep
 * their own tensor, and finish_outputs makes the copy. */
static lithe_status bind_outputs(importer *im, import_frame *outer, import_frame *inner, const tflite_op *op)
{
    const tflite_subgraph *sg = inner->sg;
    for (uint32_t i = 0; i < sg->n_outputs; i++) {
        uint32_t t, at = (uint32_t)sg->outputs[i];
        if (op->outputs[i] < 0 || at >= sg->n_tensors || (uint32_t)op->outputs[i] >= outer->sg->n_tensors ||
            !same_declaration(&outer->sg->tensors[op->outputs[i]], &sg->tensors[at])) {
            return import_fail(im, LITHE_E_MODEL, inner->source, "STABLEHLO_COMPOSITE",
                               "output %u of composite '%s' has not the shape and type that its decomposition gives", i,
                               op->composite_name);
        }
        lithe_status status = import_tensor(im, outer, (uint32_t)op->outputs[i], &t);
        if (status != LITHE_OK) {
            return status;
        }
        if (im->g->tensors[t].producer != IMPORT_UNWRITTEN) {
            return import_fail(im, LITHE_E_MODEL, inner->source, "STABLEHLO_COMPOSITE",
                               "output %u of composite '%s' is written twice", i, op->composite_name);
        }
        if (inner->map[at] == GRAPH_NONE && !sg->tensors[at].data.data) {
            inner->map[at] = t;
        }
    }
    return LITHE_OK;
}

static lithe_status finish_outputs(importer *im, import_frame *outer, import_frame *inner, const tflite_op *op)
{
    graph *g = im->g;
    for (uint32_t i = 0; i < inner->sg->n_outputs; i++) {
        uint32_t to, from;
        lithe_status status = import_tensor(im, outer, (uint32_t)op->outputs[i], &to);
        status = status != LITHE_OK ? status : import_tensor(im, inner, (uint32_t)inner->sg->outputs[i], &from);
        if (status != LITHE_OK) {
            return status;
        }
        if (g->tensors[from].producer == IMPORT_UNWRITTEN) {
            return import_fail(im, LITHE_E_MODEL, inner->source, "STABLEHLO_COMPOSITE",
                               "nothing in the decomposition writes output %u of composite '%s'", i,
                               op->composite_name);
        }
        if (from == to) {
            continue;
        }
        if (g->tensors[to].producer != IMPORT_UNWRITTEN || g->tensors[from].type == GRAPH_I4) {
            return import_fail(im, LITHE_E_MODEL, inner->source, "STABLEHLO_COMPOSITE",
                               "output %u of composite '%s' is written twice", i, op->composite_name);
        }
        graph_node *n = graph_add_node(g, OP_RESHAPE, &from, 1, &to, 1);
        if (!n) {
            return error_memory(im->err, sizeof *n, "a node");
        }
        n->source = inner->source;
        g->tensors[to].producer = IMPORT_WRITTEN;
    }
    return LITHE_OK;
}

static lithe_status open_decomposition(importer *im, import_frame *f, const tflite_op *op, tflite_subgraph *sg,
                                       import_frame *inner)
{
    const char *what = "STABLEHLO_COMPOSITE";
    if (f->depth >= IMPORT_MAX_DEPTH) {
        return import_fail(im, LITHE_E_UNSUPPORTED, inner->source, what,
                           "composite '%s': decompositions are nested deeper than %d", op->composite_name,
                           IMPORT_MAX_DEPTH);
    }
    if (op->composite_subgraph < 0 || (uint32_t)op->composite_subgraph >= im->m->n_subgraphs) {
        return import_fail(im, LITHE_E_MODEL, inner->source, what,
                           "composite '%s' names decomposition %d of %u subgraphs", op->composite_name,
                           op->composite_subgraph, im->m->n_subgraphs);
    }
    lithe_status status = tflite_read_subgraph(im->m, (uint32_t)op->composite_subgraph, sg, im->err);
    if (status != LITHE_OK) {
        return status;
    }
    uint64_t work = (uint64_t)im->work + sg->n_ops + sg->n_tensors + 1;
    if (work > IMPORT_MAX_WORK) {
        return import_fail(im, LITHE_E_UNSUPPORTED, inner->source, what,
                           "decompositions have more than %d ops and tensors together", IMPORT_MAX_WORK);
    }
    im->work = (uint32_t)work;
    if (sg->n_inputs != op->n_inputs || sg->n_outputs != op->n_outputs) {
        return import_fail(im, LITHE_E_MODEL, inner->source, what,
                           "composite '%s' has %u inputs and %u outputs, but its decomposition %u and %u",
                           op->composite_name, op->n_inputs, op->n_outputs, sg->n_inputs, sg->n_outputs);
    }
    inner->sg = sg;
    inner->depth = f->depth + 1;
    inner->map = ARENA_ARRAY(im->g->arena, uint32_t, sg->n_tensors);
    if (!inner->map) {
        return error_memory(im->err, (uint64_t)sg->n_tensors * sizeof *inner->map, "the tensor map");
    }
    memset(inner->map, 0xff, sg->n_tensors * sizeof *inner->map);
    return LITHE_OK;
}

lithe_status import_composite(importer *im, import_frame *f, uint32_t i)
{
    const tflite_op *op = &f->sg->ops[i];
    graph_attrs a;
    if (is_rms_norm(f, op, &a)) {
        return import_as(im, f, i, import_custom_row("odml.rms_norm"), &a);
    }
    tflite_subgraph sg;
    import_frame inner = {.source = f->source == GRAPH_NONE ? i : f->source};
    lithe_status status = open_decomposition(im, f, op, &sg, &inner);
    status = status != LITHE_OK ? status : bind_inputs(im, f, &inner, op);
    status = status != LITHE_OK ? status : bind_outputs(im, f, &inner, op);
    status = status != LITHE_OK ? status : import_ops(im, &inner);
    return status != LITHE_OK ? status : finish_outputs(im, f, &inner, op);
}
