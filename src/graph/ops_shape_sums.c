/* Shape rules of the ops that sum products, and of the macro-ops. */
#include "graph/op_table.h"

#include <string.h>

static lithe_status need_f32(op_build *b, uint32_t input, const char *what)
{
    const graph_tensor *x = op_in(b, input);
    if (x && x->type != GRAPH_F32) {
        return op_fail_tensor(b, LITHE_E_UNSUPPORTED, b->in[input], "%s must be f32, but tensor '%s' is %s", what,
                              x->name, graph_type_name(x->type));
    }
    return LITHE_OK;
}

static lithe_status need_shape(op_build *b, uint32_t input, uint32_t rank, const int32_t *dims)
{
    const graph_tensor *x = op_in(b, input);
    if (x && (x->rank != rank || memcmp(x->dims, dims, rank * sizeof *dims) != 0)) {
        char expected[GRAPH_SHAPE_TEXT], found[GRAPH_SHAPE_TEXT];
        graph_shape_text(expected, rank, dims);
        graph_shape_text(found, x->rank, x->dims);
        op_fail_tensor(b, LITHE_E_MODEL, b->in[input], "input %u ('%s') is %s where %s is expected", input, x->name,
                       found, expected);
        error_expected(b->err, "%s", expected);
        error_found(b->err, "%s", found);
        return LITHE_E_MODEL;
    }
    return LITHE_OK;
}

static lithe_status need_vector(op_build *b, uint32_t input, int32_t n)
{
    lithe_status status = need_f32(b, input, "the bias");
    return status != LITHE_OK ? status : need_shape(b, input, 1, &n);
}

static void set_result(op_result *r, graph_type type, uint32_t rank, const int32_t *dims)
{
    r->type = type;
    r->rank = rank;
    memcpy(r->dims, dims, rank * sizeof *dims);
}

/* Weights [N, K] as kernels read them in place. */
static lithe_status check_weights(op_build *b)
{
    const graph_tensor *w = op_in(b, 1);
    bool quantised = w->type == GRAPH_I8 || w->type == GRAPH_I4;
    if (w->rank != 2 || (!quantised && w->type != GRAPH_F32 && w->type != GRAPH_F16) ||
        quantised != (w->quant != GRAPH_QUANT_NONE) || (w->quant == GRAPH_QUANT_CHANNEL && w->quant_axis != 0) ||
        (quantised && !w->data)) {
        char shape[GRAPH_SHAPE_TEXT];
        return op_fail_tensor(b, LITHE_E_UNSUPPORTED, b->in[1],
                              "weights '%s' of type %s, shape %s and this quantisation are not supported", w->name,
                              graph_type_name(w->type), graph_shape_text(shape, w->rank, w->dims));
    }
    return LITHE_OK;
}

lithe_status op_shape_fully_connected(op_build *b)
{
    const graph_tensor *x = op_in(b, 0), *w = op_in(b, 1);
    lithe_status status = check_weights(b);
    status = status != LITHE_OK ? status : need_vector(b, 2, w->dims[0]);
    if (status != LITHE_OK) {
        return status;
    }
    if (x->rank < 1 || x->dims[x->rank - 1] != w->dims[1]) {
        char shape[GRAPH_SHAPE_TEXT], weights[GRAPH_SHAPE_TEXT];
        return op_fail_tensor(b, LITHE_E_MODEL, b->in[0], "input %s does not fit weights %s",
                              graph_shape_text(shape, x->rank, x->dims), graph_shape_text(weights, w->rank, w->dims));
    }
    int32_t dims[GRAPH_MAX_RANK];
    if (b->a.keep_dims) {
        memcpy(dims, x->dims, sizeof dims);
        dims[x->rank - 1] = w->dims[0];
        set_result(&b->result[0], GRAPH_F32, x->rank, dims);
        return LITHE_OK;
    }
    uint64_t rows = w->dims[1] > 0 ? x->elements / (uint64_t)w->dims[1] : 0;
    if (rows > INT32_MAX) {
        return op_fail(b, LITHE_E_MODEL, "%llu rows", (unsigned long long)rows);
    }
    dims[0] = (int32_t)rows;
    dims[1] = w->dims[0];
    set_result(&b->result[0], GRAPH_F32, 2, dims);
    return LITHE_OK;
}

lithe_status op_shape_batch_matmul(op_build *b)
{
    const graph_tensor *x = op_in(b, 0), *y = op_in(b, 1);
    lithe_status status = need_f32(b, 0, "the first factor");
    status = status != LITHE_OK ? status : need_f32(b, 1, "the second factor");
    if (status != LITHE_OK) {
        return status;
    }
    uint32_t rank = x->rank > y->rank ? x->rank : y->rank;
    bool fits = x->rank >= 2 && y->rank >= 2;
    int32_t dims[GRAPH_MAX_RANK];
    if (fits) {
        const int32_t *xm = &x->dims[x->rank - 2], *ym = &y->dims[y->rank - 2];
        dims[rank - 2] = xm[b->a.adj_x ? 1 : 0];
        dims[rank - 1] = ym[b->a.adj_y ? 0 : 1];
        fits = xm[b->a.adj_x ? 0 : 1] == ym[b->a.adj_y ? 1 : 0];
    }
    for (uint32_t i = 2; fits && i < rank; i++) {
        int32_t p = i < x->rank ? x->dims[x->rank - 1 - i] : 1, q = i < y->rank ? y->dims[y->rank - 1 - i] : 1;
        fits = p == q || p == 1 || q == 1;
        dims[rank - 1 - i] = p == 1 ? q : p;
    }
    if (!fits) {
        char p[GRAPH_SHAPE_TEXT], q[GRAPH_SHAPE_TEXT];
        return op_fail_tensor(b, LITHE_E_MODEL, b->in[1], "%s%s and %s%s cannot be multiplied",
                              graph_shape_text(p, x->rank, x->dims), b->a.adj_x ? " transposed" : "",
                              graph_shape_text(q, y->rank, y->dims), b->a.adj_y ? " transposed" : "");
    }
    set_result(&b->result[0], GRAPH_F32, rank, dims);
    return LITHE_OK;
}

/* x [n, h, w, c], weights [out, kh, kw, c] */
lithe_status op_shape_conv(op_build *b)
{
    const graph_tensor *x = op_in(b, 0), *w = op_in(b, 1);
    lithe_status status = need_f32(b, 1, "the weights");
    status = status != LITHE_OK ? status : need_vector(b, 2, w->dims[0]);
    if (status == LITHE_OK && w->dims[3] != x->dims[3]) {
        return op_fail_tensor(b, LITHE_E_UNSUPPORTED, b->in[1],
                              "grouped convolution (%d of %d channels) is not supported", w->dims[3], x->dims[3]);
    }
    set_result(&b->result[0], GRAPH_F32, 4, (const int32_t[]){x->dims[0], b->asked[0], b->asked[1], w->dims[0]});
    return status;
}

/* x [n, h, w, c], weights [1, kh, kw, c * multiplier] */
lithe_status op_shape_depthwise(op_build *b)
{
    const graph_tensor *x = op_in(b, 0), *w = op_in(b, 1);
    lithe_status status = need_f32(b, 1, "the weights");
    status = status != LITHE_OK ? status : need_vector(b, 2, w->dims[3]);
    if (status == LITHE_OK && (w->dims[0] != 1 || b->a.depth_multiplier < 1 ||
                               (int64_t)x->dims[3] * b->a.depth_multiplier != (int64_t)w->dims[3])) {
        return op_fail_tensor(b, LITHE_E_MODEL, b->in[1],
                              "%d channels times multiplier %d are not the %d of the weights", x->dims[3],
                              b->a.depth_multiplier, w->dims[3]);
    }
    set_result(&b->result[0], GRAPH_F32, 4, (const int32_t[]){x->dims[0], b->asked[0], b->asked[1], w->dims[3]});
    return status;
}

lithe_status op_shape_pool(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    set_result(&b->result[0], GRAPH_F32, 4, (const int32_t[]){x->dims[0], b->asked[0], b->asked[1], x->dims[3]});
    return LITHE_OK;
}

lithe_status op_shape_resize(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    if (x->rank != 4) {
        return op_fail_tensor(b, LITHE_E_MODEL, b->in[0], "the input must have rank 4, not %u", x->rank);
    }
    set_result(&b->result[0], GRAPH_F32, 4, (const int32_t[]){x->dims[0], b->asked[0], b->asked[1], x->dims[3]});
    return LITHE_OK;
}

lithe_status op_shape_rms_norm(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    if (x->rank < 1) {
        return op_fail_tensor(b, LITHE_E_MODEL, b->in[0], "the input must have an axis to normalise");
    }
    lithe_status status = need_vector(b, 1, x->dims[x->rank - 1]);
    set_result(&b->result[0], GRAPH_F32, x->rank, x->dims);
    return status;
}

/* q, k [n, key heads, t, dk], v [n, value heads, t, dv], beta, g [n, value heads, t], state [n, value heads, dk, dv] -> o like v, state' */
lithe_status op_shape_gated_delta(op_build *b)
{
    const graph_tensor *q = op_in(b, 0), *v = op_in(b, 2);
    if (q->rank != 4 || v->rank != 4 || q->dims[1] < 1 || v->dims[1] % q->dims[1] != 0) {
        return op_fail_tensor(b, LITHE_E_MODEL, b->in[2], "value heads must be a multiple of key heads, all of rank 4");
    }
    const int32_t beta[3] = {q->dims[0], v->dims[1], q->dims[2]},
                  state[4] = {q->dims[0], v->dims[1], q->dims[3], v->dims[3]};
    const int32_t values[4] = {q->dims[0], v->dims[1], q->dims[2], v->dims[3]};
    lithe_status status = need_shape(b, 1, 4, q->dims);
    status = status != LITHE_OK ? status : need_shape(b, 2, 4, values);
    status = status != LITHE_OK ? status : need_shape(b, 3, 3, beta);
    status = status != LITHE_OK ? status : need_shape(b, 4, 3, beta);
    status = status != LITHE_OK ? status : need_shape(b, 5, 4, state);
    for (uint32_t i = 1; i < 6 && status == LITHE_OK; i++) {
        status = need_f32(b, i, "each input");
    }
    set_result(&b->result[0], GRAPH_F32, 4, values);
    set_result(&b->result[1], GRAPH_F32, 4, state);
    return status;
}

lithe_status op_shape_tril_inv(op_build *b)
{
    const graph_tensor *x = op_in(b, 0);
    if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2]) {
        return op_fail_tensor(b, LITHE_E_MODEL, b->in[0], "the matrices must be square");
    }
    set_result(&b->result[0], GRAPH_F32, x->rank, x->dims);
    return LITHE_OK;
}
