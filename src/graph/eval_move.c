/* Moving data: nothing is computed, so any type of whole bytes will do. */
#include "graph/eval_ops.h"

/* Copies a box between two tensors with strides in elements. */
static void copy_box(size_t size, uint32_t rank, const int32_t *dims, uint8_t *to, const int64_t *to_strides,
                     const uint8_t *from, const int64_t *from_strides)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < rank; i++) {
        n *= (uint64_t)dims[i];
    }
    walk w = {.rank = rank, .dims = dims, .strides = {to_strides, from_strides, NULL}};
    for (uint64_t i = 0; i < n; i++, walk_next(&w, 2)) { /* an empty box has no first element */
        memcpy(to + w.at[0] * (int64_t)size, from + w.at[1] * (int64_t)size, size);
    }
}

bool eval_view(const graph *g, const graph_node *n, const void *const *in, void *const *out)
{
    const graph_tensor *x = &g->tensors[n->inputs[0]], *y = &g->tensors[n->outputs[0]];
    size_t size = (size_t)graph_type_bytes(x->type, 1);
    int64_t sx[MAX_AXES], from[MAX_AXES], sy[MAX_AXES], offset = 0;
    packed_strides(x, sx);
    packed_strides(y, sy);
    if (n->op == OP_TRANSPOSE) {
        for (uint32_t i = 0; i < y->rank; i++) {
            from[i] = sx[n->a.perm[i]];
        }
    } else if (n->op == OP_BROADCAST_TO) {
        broadcast_strides(x, y->rank, from);
    } else {
        for (uint32_t i = 0; i < x->rank; i++) {
            offset += n->a.begin[i] * sx[i];
            from[i] = sx[i] * n->a.stride[i];
        }
    }
    copy_box(size, y->rank, y->dims, (uint8_t *)out[0], sy, (const uint8_t *)in[0] + offset * (int64_t)size, from);
    return true;
}

/* CONCATENATION, PACK, UNPACK, SPLIT: the joined tensor on one side, parts on the other; along an axis in blocks of `inner` elements. */
bool eval_join(const graph *g, const graph_node *n, const void *const *in, void *const *out)
{
    bool joins = n->op == OP_CONCATENATION || n->op == OP_PACK;
    const graph_tensor *whole = &g->tensors[joins ? n->outputs[0] : n->inputs[0]];
    uint8_t *base = (uint8_t *)(joins ? out[0] : NULL);
    const uint8_t *source = (const uint8_t *)(joins ? NULL : in[0]);
    uint32_t parts = joins ? n->n_inputs : n->n_outputs;
    uint64_t outer = 1, inner = graph_type_bytes(whole->type, 1), at = 0, total;
    for (uint32_t i = 0; i < whole->rank; i++) {
        outer *= i < (uint32_t)n->a.axis ? (uint64_t)whole->dims[i] : 1;
        inner *= i > (uint32_t)n->a.axis ? (uint64_t)whole->dims[i] : 1;
    }
    total = inner * (uint64_t)whole->dims[n->a.axis];
    for (uint32_t p = 0; p < parts; p++) {
        const graph_tensor *part = &g->tensors[joins ? n->inputs[p] : n->outputs[p]];
        uint64_t bytes_each = outer ? graph_type_bytes(part->type, part->elements) / outer : 0;
        for (uint64_t o = 0; o < outer; o++) {
            if (joins) {
                memcpy(base + o * total + at, (const uint8_t *)in[p] + o * bytes_each, (size_t)bytes_each);
            } else {
                memcpy((uint8_t *)out[p] + o * bytes_each, source + o * total + at, (size_t)bytes_each);
            }
        }
        at += bytes_each;
    }
    return true;
}

bool eval_gather(const graph *g, const graph_node *n, const void *const *in, void *const *out)
{
    const graph_tensor *x = &g->tensors[n->inputs[0]], *indices = &g->tensors[n->inputs[1]];
    uint64_t batch = 1, outer = 1, inner = graph_type_bytes(x->type, 1), chosen = 1,
             rows = (uint64_t)x->dims[n->a.axis], at = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        batch *= i < (uint32_t)n->a.batch_dims ? (uint64_t)x->dims[i] : 1;
        outer *= i >= (uint32_t)n->a.batch_dims && i < (uint32_t)n->a.axis ? (uint64_t)x->dims[i] : 1;
        inner *= i > (uint32_t)n->a.axis ? (uint64_t)x->dims[i] : 1;
    }
    for (uint32_t i = (uint32_t)n->a.batch_dims; i < indices->rank; i++) {
        chosen *= (uint64_t)indices->dims[i];
    }
    for (uint64_t b = 0; b < batch; b++) {
        for (uint64_t o = 0; o < outer; o++) {
            for (uint64_t c = 0; c < chosen; c++) {
                int64_t row = load_int(indices->type, in[1], b * chosen + c);
                if (row < 0 || (uint64_t)row >= rows) {
                    return false;
                }
                memcpy((uint8_t *)out[0] + at,
                       (const uint8_t *)in[0] + ((b * outer + o) * rows + (uint64_t)row) * inner, (size_t)inner);
                at += inner;
            }
        }
    }
    return true;
}

bool eval_tile(const graph *g, const graph_node *n, const void *const *in, void *const *out)
{
    const graph_tensor *x = &g->tensors[n->inputs[0]], *y = &g->tensors[n->outputs[0]];
    int64_t sx[MAX_AXES] = {0}, sy[MAX_AXES] = {0}, from[MAX_AXES], to[MAX_AXES];
    int32_t dims[MAX_AXES];
    packed_strides(x, sx);
    packed_strides(y, sy);
    for (uint32_t i = 0; i < x->rank; i++) { /* each axis: repetitions, then elements */
        dims[2 * i] = x->dims[i] ? y->dims[i] / x->dims[i] : 0;
        dims[2 * i + 1] = x->dims[i];
        from[2 * i] = 0;
        from[2 * i + 1] = sx[i];
        to[2 * i] = sy[i] * x->dims[i];
        to[2 * i + 1] = sy[i];
    }
    copy_box((size_t)graph_type_bytes(x->type, 1), 2 * x->rank, dims, (uint8_t *)out[0], to, (const uint8_t *)in[0],
             from);
    return true;
}

bool eval_update_slice(const graph *g, const graph_node *n, const void *const *in, void *const *out)
{
    const graph_tensor *x = &g->tensors[n->inputs[0]], *u = &g->tensors[n->inputs[1]],
                       *start = &g->tensors[n->inputs[2]];
    size_t size = (size_t)graph_type_bytes(x->type, 1);
    int64_t sx[MAX_AXES], su[MAX_AXES], offset = 0;
    packed_strides(x, sx);
    packed_strides(u, su);
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t at = load_int(start->type, in[2], i), last = x->dims[i] - u->dims[i];
        offset += (at < 0 ? 0 : at > last ? last : at) * sx[i];
    }
    memcpy(out[0], in[0], (size_t)graph_type_bytes(x->type, x->elements));
    copy_box(size, u->rank, u->dims, (uint8_t *)out[0] + offset * (int64_t)size, sx, (const uint8_t *)in[1], su);
    return true;
}

bool eval_reshape(const graph *g, const graph_node *n, const void *const *in, void *const *out)
{
    const graph_tensor *x = &g->tensors[n->inputs[0]];
    memcpy(out[0], in[0], (size_t)graph_type_bytes(x->type, x->elements));
    return true;
}
