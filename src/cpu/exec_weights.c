/* One linear_weights per weight matrix of a model, whichever plans use it: row sums are made once. */
#include "cpu/exec_internal.h"

#include <stdlib.h>
#include <string.h>

enum { N_BUCKETS = 1024 };

struct exec_shared {
    cpu_kernels kernels;
    arena arena;
    weights_entry *buckets[N_BUCKETS];
    uint64_t bytes;
};

lithe_status exec_shared_create(exec_shared **out, uint32_t features, lithe_error *err)
{
    exec_shared *s = calloc(1, sizeof *s);
    if (!s)
        return error_memory(err, sizeof *s, "the weights table");
    cpu_kernels_init(&s->kernels, features);
    arena_init(&s->arena, 0);
    *out = s;
    return LITHE_OK;
}

void exec_shared_destroy(exec_shared *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < N_BUCKETS; i++)
        exec_weights_drop(s->buckets[i]);
    arena_fini(&s->arena);
    free(s);
}

const cpu_kernels *exec_shared_kernels(const exec_shared *s)
{
    return &s->kernels;
}
uint64_t exec_shared_memory(const exec_shared *s)
{
    return s->bytes + s->arena.total_bytes;
}

static const char *quant_name(const graph_tensor *t)
{
    static const char *const names[] = {"without scales", "with one scale", "with scales per channel",
                                        "with scales per block"};
    return names[t->quant];
}

/* The kind of linear that a constant's type and quantisation ask for; false if there is none. */
static bool weight_kind(const graph_tensor *t, bool dynamic, linear_kind *kind)
{
    bool per_channel = t->quant == GRAPH_QUANT_TENSOR || t->quant == GRAPH_QUANT_CHANNEL;
    switch (t->type) {
    case GRAPH_F32:
        *kind = LINEAR_F32;
        return t->quant == GRAPH_QUANT_NONE;
    case GRAPH_F16:
        *kind = LINEAR_F16;
        return t->quant == GRAPH_QUANT_NONE;
    case GRAPH_I8:
        *kind = dynamic ? LINEAR_QC8 : LINEAR_WO8;
        return per_channel;
    case GRAPH_I4:
        if (t->quant == GRAPH_QUANT_BLOCK) {
            *kind = LINEAR_QB4;
            return dynamic && t->block % 32 == 0;
        }
        *kind = dynamic ? LINEAR_QC4 : LINEAR_WO4;
        return per_channel;
    default:
        return false;
    }
}

static lithe_status refuse(const graph *g, const graph_node *node, const graph_tensor *t, bool dynamic,
                           lithe_error *err)
{
    error_set(err, LITHE_E_UNSUPPORTED, "no kernel for %s with weights of type %s %s%s", graph_op_name(node->op),
              graph_type_name(t->type), quant_name(t), dynamic ? ", activations quantised" : "");
    error_tensor(err, "%s", t->name);
    error_at_node(err, (int32_t)node->source, graph_op_name(node->op));
    error_at_signature(err, g->signature);
    return LITHE_E_UNSUPPORTED;
}

/* The weights that a node wants, without tables; bias as it lies in the graph, maybe unaligned. */
static lithe_status describe(const graph *g, const graph_node *node, uint32_t tensor, uint32_t bias, bool dynamic,
                             linear_weights *w, lithe_error *err)
{
    const graph_tensor *t = &g->tensors[tensor];
    linear_kind kind;
    if (t->rank < 2 || !weight_kind(t, dynamic, &kind))
        return refuse(g, node, t, dynamic, err);
    uint32_t k = (uint32_t)t->dims[t->rank - 1];
    uint64_t n = k ? t->elements / k : 0;
    /* LINEAR_MAX_K: the integer sums must be exact (docs/numerics.md). */
    if (!k || !n || n > UINT32_MAX || (linear_is_dynamic(kind) && k > LINEAR_MAX_K) || (t->type == GRAPH_I4 && k % 2) ||
        (t->quant == GRAPH_QUANT_BLOCK && k % t->block))
        return refuse(g, node, t, dynamic, err);
    *w = (linear_weights){
        .kind = kind,
        .n = (uint32_t)n,
        .k = k,
        .w = t->data,
        .row_bytes = (size_t)graph_type_bytes(t->type, k),
        .scales = t->scales,
        .n_scales = t->n_scales,
        .block_scales = t->block_scales,
        .block = t->block,
        .bias = bias == GRAPH_NONE ? NULL : (const float *)g->tensors[bias].data,
    };
    return LITHE_OK;
}

static bool same_weights(const weights_entry *e, const linear_weights *w)
{
    return e->w.w == w->w && e->w.kind == w->kind && e->bias == w->bias && e->w.n == w->n && e->w.k == w->k &&
           e->w.scales == w->scales && e->w.block_scales == w->block_scales && e->w.block == w->block;
}

/* A new entry in `a`, its tables made. */
static weights_entry *make_entry(const linear_weights *w, arena *a)
{
    weights_entry *e = ARENA_NEW(a, weights_entry);
    if (!e)
        return NULL;
    e->w = *w;
    e->bias = w->bias;
    if (w->bias && ((uintptr_t)w->bias & 3)) {
        float *copy = ARENA_ARRAY(a, float, w->n);
        if (!copy)
            return NULL;
        memcpy(copy, w->bias, w->n * sizeof(float));
        e->w.bias = copy;
    }
    return linear_weights_init(&e->w) ? e : NULL;
}

lithe_status exec_weights_get(exec_plan *plan, const graph *g, const graph_node *node, uint32_t tensor, uint32_t bias,
                              bool dynamic, linear_weights **out, lithe_error *err)
{
    exec_shared *s = plan->shared;
    linear_weights w;
    lithe_status st = describe(g, node, tensor, bias, dynamic, &w, err);
    if (st)
        return st;
    uintptr_t hash = ((uintptr_t)w.w >> 4) * 0x9e3779b1u;
    weights_entry **bucket = &s->buckets[(hash >> 12) % N_BUCKETS];
    weights_entry *e = *bucket;
    while (e && !same_weights(e, &w))
        e = e->next;
    if (!e) {
        e = make_entry(&w, plan->transient ? &plan->own_arena : &s->arena);
        if (!e)
            return error_memory(err, w.n * sizeof(int32_t), "row sums of weights");
        weights_entry **list = plan->transient ? &plan->own : bucket;
        e->next = *list;
        *list = e;
        if (!plan->transient)
            s->bytes += linear_weights_memory(&e->w);
    }
    *out = &e->w;
    return LITHE_OK;
}

void exec_weights_drop(weights_entry *list)
{
    for (; list; list = list->next)
        linear_weights_fini(&list->w);
}
