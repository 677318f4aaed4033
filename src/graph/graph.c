#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

#define MAX_ELEMENTS ((uint64_t)1 << 40)

static const struct type_info {
    const char *name;
    uint8_t bits;
} type_infos[GRAPH_TYPE_COUNT] = {
    [GRAPH_F32] = {"f32", 32}, [GRAPH_F16] = {"f16", 16}, [GRAPH_I32] = {"i32", 32},
    [GRAPH_I64] = {"i64", 64}, [GRAPH_I16] = {"i16", 16}, [GRAPH_I8] = {"i8", 8},
    [GRAPH_U8] = {"u8", 8},    [GRAPH_I4] = {"i4", 4},    [GRAPH_BOOL] = {"bool", 8},
};

const char *graph_type_name(graph_type t)
{
    return (unsigned)t < GRAPH_TYPE_COUNT ? type_infos[t].name : "?";
}

uint64_t graph_type_bytes(graph_type t, uint64_t n)
{
    if ((unsigned)t >= GRAPH_TYPE_COUNT) {
        return 0;
    }
    return type_infos[t].bits == 4 ? n / 2 + n % 2 : n * (type_infos[t].bits / 8);
}

bool graph_count(uint32_t rank, const int32_t *dims, uint64_t *elements)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] < 0 || !u64_mul(n, (uint64_t)dims[i], &n) || n > MAX_ELEMENTS) {
            return false;
        }
    }
    *elements = n;
    return true;
}

const char *graph_shape_text(char buf[GRAPH_SHAPE_TEXT], uint32_t rank, const int32_t *dims)
{
    size_t n = 0;
    buf[n++] = '[';
    for (uint32_t i = 0; i < rank && i < GRAPH_MAX_RANK; i++) {
        n += (size_t)snprintf(buf + n, GRAPH_SHAPE_TEXT - n, i ? ", %d" : "%d", dims[i]); /* 8 times at most 13 bytes */
    }
    snprintf(buf + n, GRAPH_SHAPE_TEXT - n, "]");
    return buf;
}

/* Makes room for one more in an array of the arena. The old array is left to the arena: growth is by doubling. */
static bool grow(arena *a, void **array, uint32_t n, uint32_t *capacity, size_t item_bytes)
{
    if (n < *capacity) {
        return true;
    }
    if (n >= UINT32_MAX / 4) {
        return false;
    }
    uint32_t wanted = *capacity ? *capacity * 2 : 64;
    void *fresh = arena_alloc(a, wanted, item_bytes);
    if (!fresh) {
        return false;
    }
    if (n) {
        memcpy(fresh, *array, n * item_bytes);
    }
    *array = fresh;
    *capacity = wanted;
    return true;
}

uint32_t graph_add_tensor(graph *g, const char *name, graph_type type, uint32_t rank, const int32_t *dims)
{
    uint64_t elements;
    void *array = g->tensors;
    if (rank > GRAPH_MAX_RANK || !graph_count(rank, dims, &elements) ||
        !grow(g->arena, &array, g->n_tensors, &g->tensors_capacity, sizeof *g->tensors)) {
        return GRAPH_NONE;
    }
    g->tensors = (graph_tensor *)array;
    graph_tensor *t = &g->tensors[g->n_tensors];
    *t = (graph_tensor){.name = name, .type = type, .rank = rank, .elements = elements, .producer = GRAPH_NONE};
    if (rank) {
        memcpy(t->dims, dims, rank * sizeof *dims);
    }
    return g->n_tensors++;
}

uint32_t graph_add_constant(graph *g, const char *name, graph_type type, uint32_t rank, const int32_t *dims,
                            const void *data)
{
    uint32_t i = graph_add_tensor(g, name, type, rank, dims);
    if (i == GRAPH_NONE) {
        return GRAPH_NONE;
    }
    graph_tensor *t = &g->tensors[i];
    t->data_bytes = graph_type_bytes(type, t->elements);
    void *copy = arena_alloc(g->arena, 1, (size_t)t->data_bytes);
    if (!copy) {
        return GRAPH_NONE;
    }
    if (t->data_bytes) {
        memcpy(copy, data, (size_t)t->data_bytes);
    }
    t->data = copy;
    t->aligned = true;
    return i;
}

graph_node *graph_add_node(graph *g, graph_op op, const uint32_t *inputs, uint32_t n_inputs, const uint32_t *outputs,
                           uint32_t n_outputs)
{
    void *array = g->nodes;
    uint32_t *ids = ARENA_ARRAY(g->arena, uint32_t, (size_t)n_inputs + n_outputs);
    if (!ids || !grow(g->arena, &array, g->n_nodes, &g->nodes_capacity, sizeof *g->nodes)) {
        return NULL;
    }
    g->nodes = (graph_node *)array;
    graph_node *n = &g->nodes[g->n_nodes++];
    *n = (graph_node){.op = op, .source = GRAPH_NONE, .n_inputs = n_inputs, .n_outputs = n_outputs};
    memset(&n->a, 0, sizeof n->a); /* padding too: equal attributes are found by comparing bytes */
    n->inputs = ids;
    n->outputs = ids + n_inputs;
    if (n_inputs) {
        memcpy(n->inputs, inputs, n_inputs * sizeof *inputs);
    }
    if (n_outputs) {
        memcpy(n->outputs, outputs, n_outputs * sizeof *outputs);
    }
    return n;
}

void graph_index(graph *g)
{
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        g->tensors[i].producer = GRAPH_NONE;
        g->tensors[i].n_uses = 0;
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const graph_node *n = &g->nodes[i];
        if (n->dead) {
            continue;
        }
        for (uint32_t j = 0; j < n->n_inputs; j++) {
            if (n->inputs[j] != GRAPH_NONE) {
                g->tensors[n->inputs[j]].n_uses++;
            }
        }
        for (uint32_t j = 0; j < n->n_outputs; j++) {
            g->tensors[n->outputs[j]].producer = i;
        }
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        if (g->outputs[i].tensor != GRAPH_NONE) {
            g->tensors[g->outputs[i].tensor].n_uses++;
        }
    }
}

void graph_replace(graph *g, uint32_t *instead)
{
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        uint32_t t = instead[i];
        while (instead[t] != t) {
            t = instead[t];
        }
        for (uint32_t j = i; instead[j] != t;) { /* shorten the chain, so that long ones are walked once */
            uint32_t next = instead[j];
            instead[j] = t;
            j = next;
        }
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const graph_node *n = &g->nodes[i];
        for (uint32_t j = 0; !n->dead && j < n->n_inputs; j++) {
            if (n->inputs[j] != GRAPH_NONE) {
                n->inputs[j] = instead[n->inputs[j]];
            }
        }
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        if (g->outputs[i].tensor != GRAPH_NONE) {
            g->outputs[i].tensor = instead[g->outputs[i].tensor];
        }
    }
    for (uint32_t i = 0; i < g->n_states; i++) {
        if (g->states[i].output != GRAPH_NONE) {
            g->states[i].output = instead[g->states[i].output];
        }
    }
}

bool graph_const_i64(const graph *g, uint32_t t, uint64_t i, int64_t *out)
{
    if (!graph_is_constant(g, t) || i >= g->tensors[t].elements || g->tensors[t].quant != GRAPH_QUANT_NONE) {
        return false;
    }
    const uint8_t *data = (const uint8_t *)g->tensors[t].data;
    switch (g->tensors[t].type) {
    case GRAPH_I32:
        *out = (int32_t)load_u32(data + i * 4);
        return true;
    case GRAPH_I64:
        *out = (int64_t)load_u64(data + i * 8);
        return true;
    case GRAPH_I16:
        *out = (int16_t)load_u16(data + i * 2);
        return true;
    case GRAPH_I8:
        *out = (int8_t)data[i];
        return true;
    case GRAPH_U8:
        *out = data[i];
        return true;
    case GRAPH_BOOL:
        *out = data[i] != 0;
        return true;
    default:
        return false;
    }
}

bool graph_const_f32(const graph *g, uint32_t t, uint64_t i, float *out)
{
    int64_t whole;
    if (graph_is_constant(g, t) && g->tensors[t].type == GRAPH_F32 && i < g->tensors[t].elements) {
        *out = load_f32((const uint8_t *)g->tensors[t].data + i * 4);
        return true;
    }
    if (!graph_const_i64(g, t, i, &whole)) {
        return false;
    }
    *out = (float)whole;
    return true;
}
