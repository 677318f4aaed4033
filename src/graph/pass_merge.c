/* Equal constants, then equal nodes (same op, attributes and inputs), become one. Decompositions and layers repeat a lot. */
#include "graph/passes.h"

#include <string.h>

#define SMALL_BYTES 64 /* constants up to here are compared by content, larger ones by place */

typedef struct merger {
    graph *g;
    uint32_t mask;
    uint32_t *slots;   /* tensor or node index + 1 */
    uint32_t *instead; /* [n_tensors] */
    bool *is_state;    /* [n_tensors] new values of states: each must stay a tensor of its own */
} merger;

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
    const uint8_t *p = (const uint8_t *)data;
    for (; n >= 8; n -= 8, p += 8) {
        h = (h ^ load_u64(p)) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    for (; n > 0; n--, p++) {
        h = (h ^ *p) * 0x9e3779b97f4a7c15u;
    }
    return h ^ h >> 32;
}

static bool same_kind(const graph_tensor *a, const graph_tensor *b)
{
    return a->type == b->type && graph_same_shape(a, b);
}

static bool same_constant(const graph_tensor *a, const graph_tensor *b)
{
    if (!same_kind(a, b) || a->quant != b->quant || a->scales != b->scales || a->block_scales != b->block_scales ||
        a->quant_axis != b->quant_axis || a->block != b->block || a->data_bytes != b->data_bytes) {
        return false;
    }
    return a->data == b->data || (a->data_bytes <= SMALL_BYTES && memcmp(a->data, b->data, (size_t)a->data_bytes) == 0);
}

static uint64_t hash_constant(const graph_tensor *t)
{
    uint64_t h = mix(t->type, t->dims, sizeof t->dims);
    return t->data_bytes <= SMALL_BYTES ? mix(h, t->data, (size_t)t->data_bytes) : mix(h, &t->data, sizeof t->data);
}

static void merge_constants(merger *m)
{
    for (uint32_t i = 0; i < m->g->n_tensors; i++) {
        const graph_tensor *t = &m->g->tensors[i];
        if (!t->data || t->n_uses == 0) {
            continue;
        }
        uint32_t at = (uint32_t)hash_constant(t) & m->mask;
        while (m->slots[at] && !same_constant(&m->g->tensors[m->slots[at] - 1], t)) {
            at = (at + 1) & m->mask;
        }
        if (m->slots[at]) {
            m->instead[i] = m->slots[at] - 1;
        } else {
            m->slots[at] = i + 1;
        }
    }
}

static uint64_t hash_node(const graph *g, const graph_node *n)
{
    uint64_t h = mix((uint64_t)n->op, n->inputs, n->n_inputs * sizeof *n->inputs);
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        h = mix(h ^ g->tensors[n->outputs[i]].type, g->tensors[n->outputs[i]].dims, sizeof g->tensors->dims);
    }
    return mix(h, &n->a, sizeof n->a);
}

static bool same_node(const graph *g, const graph_node *a, const graph_node *b)
{
    if (a->op != b->op || a->n_inputs != b->n_inputs || a->n_outputs != b->n_outputs ||
        memcmp(&a->a, &b->a, sizeof a->a) != 0 || memcmp(a->inputs, b->inputs, a->n_inputs * sizeof *a->inputs) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < a->n_outputs; i++) {
        const graph_tensor *p = &g->tensors[a->outputs[i]], *q = &g->tensors[b->outputs[i]];
        if (!same_kind(p, q) || p->quant != q->quant || p->scales != q->scales) {
            return false;
        }
    }
    return true;
}

static bool mergeable(const merger *m, const graph_node *n)
{
    bool ok = !n->dead && n->op != OP_ATTENTION && n->op != OP_GATED_DELTA && n->scan == 0;
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        ok = ok && !m->is_state[n->outputs[i]];
    }
    return ok;
}

static void merge_nodes(merger *m)
{
    graph *g = m->g;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        graph_node *n = &g->nodes[i];
        for (uint32_t j = 0; j < n->n_inputs; j++) {
            if (n->inputs[j] != GRAPH_NONE) {
                n->inputs[j] = m->instead[n->inputs[j]];
            }
        }
        if (!mergeable(m, n)) {
            continue;
        }
        uint32_t at = (uint32_t)hash_node(g, n) & m->mask;
        while (m->slots[at] && !same_node(g, &g->nodes[m->slots[at] - 1], n)) {
            at = (at + 1) & m->mask;
        }
        if (!m->slots[at]) {
            m->slots[at] = i + 1;
            continue;
        }
        const graph_node *first = &g->nodes[m->slots[at] - 1];
        for (uint32_t j = 0; j < n->n_outputs; j++) {
            m->instead[n->outputs[j]] = first->outputs[j];
        }
        n->dead = true;
    }
}

lithe_status pass_merge(graph *g, lithe_error *err)
{
    uint32_t most = g->n_tensors > g->n_nodes ? g->n_tensors : g->n_nodes, slots = 64;
    while (slots < most * 2ull) {
        slots *= 2;
    }
    merger m = {.g = g, .mask = slots - 1};
    m.slots = ARENA_ARRAY(g->arena, uint32_t, slots);
    m.instead = ARENA_ARRAY(g->arena, uint32_t, g->n_tensors);
    m.is_state = ARENA_ARRAY(g->arena, bool, g->n_tensors);
    if (!m.slots || !m.instead || !m.is_state) {
        return error_memory(err, slots * sizeof *m.slots, "merging equal nodes");
    }
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        m.instead[i] = i;
    }
    for (uint32_t i = 0; i < g->n_states; i++) {
        if (g->states[i].output != GRAPH_NONE) {
            m.is_state[g->states[i].output] = true;
        }
    }
    merge_constants(&m);
    memset(m.slots, 0, slots * sizeof *m.slots);
    merge_nodes(&m);
    graph_replace(g, m.instead);
    return graph_sort(g, err);
}
