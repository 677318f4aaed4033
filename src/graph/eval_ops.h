/* Between the files of the evaluator. Private to the module. */
#ifndef LITHE_GRAPH_EVAL_OPS_H
#define LITHE_GRAPH_EVAL_OPS_H

#include "graph/eval.h"

#include <string.h>

#define MAX_AXES (2 * GRAPH_MAX_RANK)

static inline float load_float(const void *p, uint64_t i)
{
    float v;
    memcpy(&v, (const uint8_t *)p + i * 4, 4);
    return v;
}

static inline void store_float(void *p, uint64_t i, float v)
{
    memcpy((uint8_t *)p + i * 4, &v, 4);
}

static inline int64_t load_int(graph_type type, const void *p, uint64_t i)
{
    const uint8_t *b = (const uint8_t *)p;
    switch (type) {
    case GRAPH_I32:
        return (int32_t)load_u32(b + i * 4);
    case GRAPH_I64:
        return (int64_t)load_u64(b + i * 8);
    case GRAPH_I16:
        return (int16_t)load_u16(b + i * 2);
    case GRAPH_I8:
        return (int8_t)b[i];
    case GRAPH_BOOL:
        return b[i] != 0;
    default:
        return b[i];
    }
}

static inline void store_int(graph_type type, void *p, uint64_t i, int64_t v)
{
    uint8_t *b = (uint8_t *)p;
    switch (type) {
    case GRAPH_I32:
        store_u32(b + i * 4, (uint32_t)v);
        break;
    case GRAPH_I64:
        store_u64(b + i * 8, (uint64_t)v);
        break;
    case GRAPH_I16:
        store_u16(b + i * 2, (uint16_t)v);
        break;
    case GRAPH_BOOL:
        b[i] = v != 0;
        break;
    default:
        b[i] = (uint8_t)v;
        break;
    }
}

static inline bool is_int(graph_type t)
{
    return t == GRAPH_I32 || t == GRAPH_I64 || t == GRAPH_I16 || t == GRAPH_I8 || t == GRAPH_U8 || t == GRAPH_BOOL;
}

/* Strides of a packed tensor in elements, 0 for axes that are broadcast, aligned to the last of `rank` axes. */
static inline void broadcast_strides(const graph_tensor *t, uint32_t rank, int64_t *strides)
{
    int64_t step = 1;
    for (uint32_t i = 0; i < rank; i++) {
        int32_t dim = i < t->rank ? t->dims[t->rank - 1 - i] : 1;
        strides[rank - 1 - i] = dim == 1 ? 0 : step;
        step *= dim;
    }
}

/* Steps through a box, the last axis fastest, keeping an offset into each of up to three tensors. */
typedef struct walk {
    uint32_t rank;
    const int32_t *dims;
    const int64_t *strides[3];
    int64_t at[3];
    int32_t index[MAX_AXES];
} walk;

static inline void walk_next(walk *w, uint32_t n)
{
    for (uint32_t axis = w->rank; axis-- > 0;) {
        for (uint32_t i = 0; i < n; i++) {
            w->at[i] += w->strides[i][axis];
        }
        if (++w->index[axis] < w->dims[axis]) {
            return;
        }
        for (uint32_t i = 0; i < n; i++) {
            w->at[i] -= w->strides[i][axis] * w->dims[axis];
        }
        w->index[axis] = 0;
    }
}

static inline void packed_strides(const graph_tensor *t, int64_t *strides)
{
    int64_t step = 1;
    for (uint32_t i = t->rank; i-- > 0;) {
        strides[i] = step;
        step *= t->dims[i];
    }
}

/* eval_move.c */
typedef bool eval_fn(const graph *g, const graph_node *n, const void *const *in, void *const *out);
eval_fn eval_view, eval_join, eval_gather, eval_tile, eval_update_slice, eval_reshape;

#endif
