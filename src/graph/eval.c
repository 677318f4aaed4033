#include "graph/eval.h"

#define MAX_DEPTH 100 /* of recursion in eval_tensor */

bool eval_init(eval *e, const graph *g, arena *a, uint64_t max_work)
{
    *e = (eval){.g = g, .arena = a, .max_work = max_work};
    e->values = ARENA_ARRAY(a, const void *, g->n_tensors);
    e->buffers = ARENA_ARRAY(a, void *, g->n_tensors);
    e->computed = ARENA_ARRAY(a, uint32_t, g->n_tensors);
    return e->values && e->buffers && e->computed;
}

void eval_restart(eval *e)
{
    while (e->n_computed) {
        e->values[e->computed[--e->n_computed]] = NULL;
    }
}

void eval_bind(eval *e, uint32_t tensor, const void *data)
{
    if (!e->values[tensor]) {
        e->computed[e->n_computed++] = tensor;
    }
    e->values[tensor] = data;
}

static const void *value_of(eval *e, uint32_t tensor, uint32_t depth);

static bool compute(eval *e, const graph_node *n, uint32_t depth)
{
    const void **in = ARENA_ARRAY(e->arena, const void *, n->n_inputs);
    void **out = ARENA_ARRAY(e->arena, void *, n->n_outputs);
    if (!in || !out || !eval_can(e->g, n)) {
        return false;
    }
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        in[i] = n->inputs[i] == GRAPH_NONE ? NULL : value_of(e, n->inputs[i], depth + 1);
        if (!in[i]) {
            return false;
        }
    }
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        const graph_tensor *t = &e->g->tensors[n->outputs[i]];
        e->work += t->elements;
        if (e->work > e->max_work) {
            return false;
        }
        if (!e->buffers[n->outputs[i]]) {
            e->buffers[n->outputs[i]] = arena_alloc(e->arena, 1, (size_t)graph_type_bytes(t->type, t->elements));
        }
        out[i] = e->buffers[n->outputs[i]];
        if (!out[i]) {
            return false;
        }
    }
    if (!eval_node(e->g, n, in, out)) {
        return false;
    }
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        eval_bind(e, n->outputs[i], out[i]);
    }
    return true;
}

static const void *value_of(eval *e, uint32_t tensor, uint32_t depth)
{
    const graph_tensor *t = &e->g->tensors[tensor];
    if (e->values[tensor] || t->data) {
        return e->values[tensor] ? e->values[tensor] : t->data;
    }
    if (depth > MAX_DEPTH || t->producer == GRAPH_NONE || !compute(e, &e->g->nodes[t->producer], depth)) {
        return NULL;
    }
    return e->values[tensor];
}

const void *eval_tensor(eval *e, uint32_t tensor)
{
    return value_of(e, tensor, 0);
}
