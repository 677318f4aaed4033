/* Shape rules of the ops that work element by element, move data or reduce. Each fills b->result; import compares it with the file. */
#include "graph/op_table.h"

#include <string.h>

static void result_like(op_build *b, const graph_tensor *x)
{
    b->result[0].type = x->type;
    b->result[0].rank = x->rank;
    memcpy(b->result[0].dims, x->dims, sizeof x->dims);
}

static lithe_status result_shape(op_build *b, graph_type type, uint32_t rank, const int32_t *dims)
{
    if (rank > GRAPH_MAX_RANK) {
        return op_fail(b, LITHE_E_UNSUPPORTED, "more than %d dimensions", GRAPH_MAX_RANK);
    }
    b->result[0].type = type;
    b->result[0].rank = rank;
    if (rank) {
        memcpy(b->result[0].dims, dims, rank * sizeof *dims);
    }
    return LITHE_OK;
}

/* Result shape so far, broadcast with x. */
static lithe_status broadcast(op_build *b, uint32_t input)
{
    const graph_tensor *x = op_in(b, input);
    op_result *r = &b->result[0];
    uint32_t rank = r->rank > x->rank ? r->rank : x->rank;
    for (uint32_t i = 0; i < rank; i++) { /* from the last axis */
        int32_t have = i < r->rank ? r->dims[r->rank - 1 - i] : 1, dim = i < x->rank ? x->dims[x->rank - 1 - i] : 1;
        if (have != dim && have != 1 && dim != 1) {
            char a[GRAPH_SHAPE_TEXT], c[GRAPH_SHAPE_TEXT];
            return op_fail_tensor(b, LITHE_E_MODEL, b->in[input], "shape %s of tensor '%s' does not broadcast with %s",
                                  graph_shape_text(a, x->rank, x->dims), x->name,
                                  graph_shape_text(c, r->rank, r->dims));
        }
    }
    int32_t dims[GRAPH_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        int32_t have = i < r->rank ? r->dims[r->rank - 1 - i] : 1, dim = i < x->rank ? x->dims[x->rank - 1 - i] : 1;
        dims[rank - 1 - i] = have == 1 ? dim : have;
    }
    r->rank = rank;
    memcpy(r->dims, dims, rank * sizeof *dims);
    return LITHE_OK;
}

static lithe_status same_types(op_build *b, uint32_t first, uint32_t second)
{
    const graph_tensor *x = op_in(b, first), *y = op_in(b, second);
    if (x->type != y->type) {
        return op_fail_tensor(b, LITHE_E_MODEL, b->in[second], "tensor '%s' is %s, but tensor '%s' is %s", x->name,
                              graph_type_name(x->type), y->name, graph_type_name(y->type));
    }
    return LITHE_OK;
}

lithe_status op_shape_binary(op_build *b)
{
    lithe_status status = same_types(b, 0, 1);
    result_like(b, op_in(b, 0));
    if (status == LITHE_OK && b->a.activation != GRAPH_ACT_NONE && b->result[0].type != GRAPH_F32) {
        return op_fail(b, LITHE_E_UNSUPPORTED, "a fused activation on integers is not supported");
    }
    return status != LITHE_OK ? status : broadcast(b, 1);
}

lithe_status op_shape_compare(op_build *b)
{
    lithe_status status = op_shape_binary(b);
    b->result[0].type = GRAPH_BOOL;
    return status;
}

lithe_status op_shape_same(op_build *b)
{
    result_like(b, op_in(b, 0));
    return LITHE_OK;
}

static bool is_plain(const graph_tensor *t)
{
    return t->quant == GRAPH_QUANT_NONE && t->type != GRAPH_I4;
}

lithe_status op_shape_cast(op_build *b)
{
    graph_type to = b->g->tensors[b->out[0]].type;
    if (!is_plain(op_in(b, 0)) || to == GRAPH_I4) {
        return op_fail(b, LITHE_E_UNSUPPORTED, "casting quantised tensors is not supported");
    }
    result_like(b, op_in(b, 0));
    b->result[0].type = to;
    return LITHE_OK;
}

lithe_status op_shape_select(op_build *b)
{
    lithe_status status = same_types(b, 1, 2);
    result_like(b, op_in(b, 0));
    b->result[0].type = op_in(b, 1)->type;
    status = status != LITHE_OK ? status : broadcast(b, 1);
    return status != LITHE_OK ? status : broadcast(b, 2);
}

lithe_status op_shape_reshape(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    uint64_t elements;
    if (!graph_count(b->asked_rank, b->asked, &elements) || elements != x->elements) {
        char from[GRAPH_SHAPE_TEXT], to[GRAPH_SHAPE_TEXT];
        return op_fail_tensor(b, LITHE_E_MODEL, b->in[0], "%s cannot be reshaped to %s: the element counts differ",
                              graph_shape_text(from, x->rank, x->dims), graph_shape_text(to, b->asked_rank, b->asked));
    }
    return result_shape(b, x->type, b->asked_rank, b->asked);
}

lithe_status op_shape_transpose(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    result_like(b, x);
    for (uint32_t i = 0; i < x->rank; i++) {
        b->result[0].dims[i] = x->dims[b->a.perm[i]];
    }
    return LITHE_OK;
}

lithe_status op_shape_concat(op_build *b)
{
    result_like(b, op_in(b, 0));
    int64_t sum = 0;
    for (uint32_t i = 0; i < b->n_in; i++) {
        const graph_tensor *x = op_in(b, i), *first = op_in(b, 0);
        bool fits = x->rank == first->rank;
        for (uint32_t j = 0; fits && j < x->rank; j++) {
            fits = j == (uint32_t)b->a.axis || x->dims[j] == first->dims[j];
        }
        lithe_status status = same_types(b, 0, i);
        if (status != LITHE_OK) {
            return status;
        }
        if (!fits) {
            char a[GRAPH_SHAPE_TEXT], c[GRAPH_SHAPE_TEXT];
            return op_fail_tensor(b, LITHE_E_MODEL, b->in[i], "%s cannot be put behind %s along axis %d",
                                  graph_shape_text(a, x->rank, x->dims), graph_shape_text(c, first->rank, first->dims),
                                  b->a.axis);
        }
        sum += x->dims[b->a.axis];
    }
    if (sum > INT32_MAX) {
        return op_fail(b, LITHE_E_MODEL, "the parts have %lld elements along axis %d", (long long)sum, b->a.axis);
    }
    b->result[0].dims[b->a.axis] = (int32_t)sum;
    return LITHE_OK;
}

/* SLICE, STRIDED_SLICE: the reader has computed the shape. */
lithe_status op_shape_asked(op_build *b)
{
    int32_t dims[GRAPH_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->asked_rank; i++) {
        if (!(b->dropped >> i & 1)) {
            dims[n++] = b->asked[i];
        }
    }
    return result_shape(b, op_in(b, 0)->type, n, dims);
}

lithe_status op_shape_pack(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    for (uint32_t i = 1; i < b->n_in; i++) {
        lithe_status status = same_types(b, 0, i);
        if (status != LITHE_OK) {
            return status;
        }
        if (!graph_same_shape(x, op_in(b, i))) {
            return op_fail_tensor(b, LITHE_E_MODEL, b->in[i], "tensor '%s' has not the shape of the first input",
                                  op_in(b, i)->name);
        }
    }
    int32_t dims[GRAPH_MAX_RANK + 1];
    for (uint32_t i = 0, j = 0; i < x->rank + 1; i++) {
        dims[i] = i == (uint32_t)b->a.axis ? (int32_t)b->n_in : x->dims[j++];
    }
    return result_shape(b, x->type, x->rank + 1, dims);
}

lithe_status op_shape_unpack(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    if (x->dims[b->a.axis] != (int32_t)b->n_out) {
        return op_fail_tensor(b, LITHE_E_MODEL, b->in[0], "axis %d has %d elements for %u outputs", b->a.axis,
                              x->dims[b->a.axis], b->n_out);
    }
    result_like(b, x);
    b->result[0].rank--;
    for (uint32_t i = (uint32_t)b->a.axis; i + 1 < x->rank; i++) {
        b->result[0].dims[i] = x->dims[i + 1];
    }
    return LITHE_OK;
}

lithe_status op_shape_split(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    if (!is_plain(x)) {
        return op_fail_tensor(b, LITHE_E_UNSUPPORTED, b->in[0], "splitting quantised tensors is not supported");
    }
    if (x->dims[b->a.axis] % (int32_t)b->n_out) {
        return op_fail_tensor(b, LITHE_E_MODEL, b->in[0], "axis %d has %d elements, not a multiple of %u outputs",
                              b->a.axis, x->dims[b->a.axis], b->n_out);
    }
    result_like(b, x);
    b->result[0].dims[b->a.axis] /= (int32_t)b->n_out;
    return LITHE_OK;
}

static lithe_status need_index_type(op_build *b, uint32_t input)
{
    const graph_tensor *x = op_in(b, input);
    if (x->type != GRAPH_I32 && x->type != GRAPH_I64) {
        return op_fail_tensor(b, LITHE_E_UNSUPPORTED, b->in[input], "indices must be i32 or i64, but tensor '%s' is %s",
                              x->name, graph_type_name(x->type));
    }
    return LITHE_OK;
}

lithe_status op_shape_gather(op_build *b)
{
    const graph_tensor *x = op_in(b, 0), *indices = op_in(b, 1);
    uint32_t axis = (uint32_t)b->a.axis, batch = (uint32_t)b->a.batch_dims, n = 0;
    int32_t dims[GRAPH_MAX_RANK * 2];
    lithe_status status = need_index_type(b, 1);
    if (status != LITHE_OK) {
        return status;
    }
    for (uint32_t i = 0; i < batch; i++) {
        if (x->dims[i] != indices->dims[i]) {
            return op_fail_tensor(b, LITHE_E_MODEL, b->in[1], "batch axis %u has %d indices for %d rows", i,
                                  indices->dims[i], x->dims[i]);
        }
    }
    for (uint32_t i = 0; i < axis; i++) {
        dims[n++] = x->dims[i];
    }
    for (uint32_t i = batch; i < indices->rank; i++) {
        dims[n++] = indices->dims[i];
    }
    for (uint32_t i = axis + 1; i < x->rank; i++) {
        dims[n++] = x->dims[i];
    }
    return result_shape(b, x->type, n, dims);
}

lithe_status op_shape_gather_nd(op_build *b)
{
    const graph_tensor *x = op_in(b, 0), *indices = op_in(b, 1);
    int32_t depth = indices->rank ? indices->dims[indices->rank - 1] : 0, dims[GRAPH_MAX_RANK * 2];
    uint32_t n = 0;
    lithe_status status = need_index_type(b, 1);
    if (status != LITHE_OK) {
        return status;
    }
    if (depth < 1 || (uint32_t)depth > x->rank) {
        return op_fail_tensor(b, LITHE_E_MODEL, b->in[1], "indices of %d numbers for a tensor of rank %u", depth,
                              x->rank);
    }
    for (uint32_t i = 0; i + 1 < indices->rank; i++) {
        dims[n++] = indices->dims[i];
    }
    for (uint32_t i = (uint32_t)depth; i < x->rank; i++) {
        dims[n++] = x->dims[i];
    }
    return result_shape(b, x->type, n, dims);
}

lithe_status op_shape_pad(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    result_like(b, x);
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t n = (int64_t)x->dims[i] + b->a.pads[i][0] + b->a.pads[i][1];
        if (n > INT32_MAX) {
            return op_fail(b, LITHE_E_MODEL, "axis %u becomes %lld elements long", i, (long long)n);
        }
        b->result[0].dims[i] = (int32_t)n;
    }
    return LITHE_OK;
}

lithe_status op_shape_tile(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    if (b->asked_rank != x->rank) {
        return op_fail(b, LITHE_E_MODEL, "%u multiples for a tensor of rank %u", b->asked_rank, x->rank);
    }
    result_like(b, x);
    for (uint32_t i = 0; i < x->rank; i++) {
        if (__builtin_mul_overflow(x->dims[i], b->asked[i], &b->result[0].dims[i])) {
            return op_fail(b, LITHE_E_MODEL, "axis %u of %d elements cannot be repeated %d times", i, x->dims[i],
                           b->asked[i]);
        }
    }
    return LITHE_OK;
}

lithe_status op_shape_broadcast_to(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    lithe_status status = result_shape(b, x->type, b->asked_rank, b->asked);
    status = status != LITHE_OK ? status : broadcast(b, 0);
    if (status == LITHE_OK && (b->result[0].rank != b->asked_rank ||
                               memcmp(b->result[0].dims, b->asked, b->asked_rank * sizeof *b->asked) != 0)) {
        char from[GRAPH_SHAPE_TEXT], to[GRAPH_SHAPE_TEXT];
        return op_fail_tensor(b, LITHE_E_MODEL, b->in[0], "%s cannot be broadcast to %s",
                              graph_shape_text(from, x->rank, x->dims), graph_shape_text(to, b->asked_rank, b->asked));
    }
    return status;
}

/* operand, update, start: start is clamped so that the update fits. */
lithe_status op_shape_update_slice(op_build *b)
{
    const graph_tensor *x = op_in(b, 0), *update = op_in(b, 1), *start = op_in(b, 2);
    lithe_status status = same_types(b, 0, 1);
    status = status != LITHE_OK ? status : need_index_type(b, 2);
    if (status != LITHE_OK) {
        return status;
    }
    bool fits = update->rank == x->rank && start->rank == 1 && start->elements == x->rank;
    for (uint32_t i = 0; fits && i < x->rank; i++) {
        fits = update->dims[i] <= x->dims[i];
    }
    if (!fits) {
        char a[GRAPH_SHAPE_TEXT], c[GRAPH_SHAPE_TEXT];
        return op_fail_tensor(b, LITHE_E_MODEL, b->in[1], "an update of %s at %llu start indices does not fit %s",
                              graph_shape_text(a, update->rank, update->dims), (unsigned long long)start->elements,
                              graph_shape_text(c, x->rank, x->dims));
    }
    result_like(b, x);
    return LITHE_OK;
}

/* ids, table [rows, ..]: the rows of the table, as f32. */
lithe_status op_shape_embedding(op_build *b)
{
    const graph_tensor *ids = op_in(b, 0), *table = op_in(b, 1);
    bool quantised = table->type == GRAPH_I8 || table->type == GRAPH_I4;
    if (table->rank < 2 || (table->type != GRAPH_F32 && table->type != GRAPH_F16 && !quantised) ||
        quantised != (table->quant != GRAPH_QUANT_NONE) || (quantised && (!table->data || table->rank != 2)) ||
        (table->quant == GRAPH_QUANT_CHANNEL && table->quant_axis != 0)) {
        char shape[GRAPH_SHAPE_TEXT];
        return op_fail_tensor(b, LITHE_E_UNSUPPORTED, b->in[1],
                              "a table of type %s, shape %s and this quantisation is not supported",
                              graph_type_name(table->type), graph_shape_text(shape, table->rank, table->dims));
    }
    int32_t dims[GRAPH_MAX_RANK * 2];
    uint32_t n = 0;
    for (uint32_t i = 0; i < ids->rank; i++) {
        dims[n++] = ids->dims[i];
    }
    for (uint32_t i = 1; i < table->rank; i++) {
        dims[n++] = table->dims[i];
    }
    return result_shape(b, GRAPH_F32, n, dims);
}

/* indices, on value, off value */
lithe_status op_shape_one_hot(op_build *b)
{
    const graph_tensor *x = op_in(b, 0), *on = op_in(b, 1), *off = op_in(b, 2);
    if (on->elements != 1 || off->elements != 1) {
        return op_fail(b, LITHE_E_MODEL, "on and off value must have one element");
    }
    int32_t dims[GRAPH_MAX_RANK + 1];
    for (uint32_t i = 0, j = 0; i < x->rank + 1; i++) {
        dims[i] = i == (uint32_t)b->a.axis ? b->asked[0] : x->dims[j++];
    }
    lithe_status status = same_types(b, 1, 2);
    return status != LITHE_OK ? status : result_shape(b, on->type, x->rank + 1, dims);
}

lithe_status op_shape_range(op_build *b)
{
    lithe_status status = same_types(b, 0, 1);
    status = status != LITHE_OK ? status : same_types(b, 0, 2);
    return status != LITHE_OK ? status : result_shape(b, op_in(b, 0)->type, 1, b->asked);
}

lithe_status op_shape_reduce(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    int32_t dims[GRAPH_MAX_RANK];
    uint32_t n = 0, next = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        bool reduced = next < b->a.n_axes && b->a.axes[next] == (int32_t)i;
        next += reduced;
        if (!reduced || b->a.keep_dims) {
            dims[n++] = reduced ? 1 : x->dims[i];
        }
    }
    return result_shape(b, x->type, n, dims);
}

lithe_status op_shape_arg_max(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    graph_type to = b->g->tensors[b->out[0]].type;
    int32_t dims[GRAPH_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (i != (uint32_t)b->a.axis) {
            dims[n++] = x->dims[i];
        }
    }
    return result_shape(b, to == GRAPH_I64 ? GRAPH_I64 : GRAPH_I32, n, dims);
}

lithe_status op_shape_dequantize(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    if ((x->type == GRAPH_F16) != (x->quant == GRAPH_QUANT_NONE)) {
        return op_fail_tensor(b, LITHE_E_MODEL, b->in[0], "tensor '%s' of type %s has no scale", x->name,
                              graph_type_name(x->type));
    }
    result_like(b, x);
    b->result[0].type = GRAPH_F32;
    return LITHE_OK;
}

lithe_status op_shape_quantize(op_build *b)
{
    const graph_tensor *y = &b->g->tensors[b->out[0]];
    if (y->type != GRAPH_I8 || y->quant != GRAPH_QUANT_TENSOR) {
        return op_fail_tensor(b, LITHE_E_UNSUPPORTED, b->out[0],
                              "quantising to %s is only supported as i8 with one scale and zero point 0",
                              graph_type_name(y->type));
    }
    result_like(b, op_in(b, 0));
    b->result[0].type = GRAPH_I8;
    return LITHE_OK;
}
