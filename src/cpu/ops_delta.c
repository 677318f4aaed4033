/* The gated delta rule, and the inverse of unit lower triangular matrices that its chunked form uses. */
#include "cpu/mathf.h"
#include "cpu/ops_impl.h"

#include <string.h>

void gated_delta_run(const cpu_kernels *k, const gated_delta_call *c, uint32_t hv0, uint32_t hv1)
{
    const uint32_t shared = c->n_v_heads / c->n_k_heads; /* value heads to a key head */
    for (uint32_t h = hv0; h < hv1; h++) {
        const size_t key = (size_t)(h / shared) * c->dk, value = (size_t)h * c->dv;
        float *state = c->state + (size_t)h * c->dk * c->dv;
        for (size_t t = 0; t < c->n; t++)
            k->vec.delta_step(c->q + t * c->q_stride + key, c->k + t * c->k_stride + key,
                              c->v + t * c->v_stride + value, c->beta[t * c->beta_stride + h],
                              mathf_exp(c->g[t * c->g_stride + h]), state, c->dv, c->dk, c->dv,
                              c->out + t * c->out_stride + value);
    }
}

static lithe_status check_gated_delta(const op_call *c, lithe_error *err)
{
    if (c->node->n_inputs != 6 || c->node->n_outputs != 2)
        return op_refuse(c, err, "six inputs and two outputs are needed");
    for (uint32_t i = 0; i < 6; i++)
        if (!c->inputs[i].tensor || c->inputs[i].tensor->rank != (i == 3 || i == 4 ? 3 : 4))
            return op_refuse(c, err, "an input has another rank");
    if (c->inputs[0].tensor->dims[1] < 1 || c->inputs[2].tensor->dims[1] % c->inputs[0].tensor->dims[1] != 0)
        return op_refuse(c, err, "value heads must be a multiple of key heads");
    return op_all_f32(c, err);
}

static uint64_t items_gated_delta(const op_call *c)
{
    return op_product(c->inputs[2].tensor, 0, 2);
}

static double cost_gated_delta(const op_call *c)
{
    const graph_tensor *q = c->inputs[0].tensor, *v = c->inputs[2].tensor;
    return 3.0 * q->dims[2] * q->dims[3] * v->dims[3];
}

/* One batch and value head: its tokens lie side by side. */
static void delta_head(const op_call *c, uint64_t row, uint64_t item)
{
    const graph_tensor *q = c->inputs[0].tensor, *v = c->inputs[2].tensor;
    const uint64_t hk = (uint64_t)q->dims[1], hv = (uint64_t)v->dims[1], t = (uint64_t)q->dims[2];
    const uint64_t dk = (uint64_t)q->dims[3], dv = (uint64_t)v->dims[3];
    const uint64_t key = item / hv * hk + item % hv / (hv / hk);
    const float *state = (const float *)op_input(c, 5, row) + item * dk * dv;
    float *new_state = (float *)op_output(c, 1, row) + item * dk * dv;
    if (new_state != state)
        memcpy(new_state, state, dk * dv * sizeof *state);
    const gated_delta_call call = {.n = (uint32_t)t,
                                   .n_k_heads = 1,
                                   .n_v_heads = 1,
                                   .dk = (uint32_t)dk,
                                   .dv = (uint32_t)dv,
                                   .q = (const float *)op_input(c, 0, row) + key * t * dk,
                                   .q_stride = dk,
                                   .k = (const float *)op_input(c, 1, row) + key * t * dk,
                                   .k_stride = dk,
                                   .v = (const float *)op_input(c, 2, row) + item * t * dv,
                                   .v_stride = dv,
                                   .beta = (const float *)op_input(c, 3, row) + item * t,
                                   .beta_stride = 1,
                                   .g = (const float *)op_input(c, 4, row) + item * t,
                                   .g_stride = 1,
                                   .state = new_state,
                                   .out = (float *)op_output(c, 0, row) + item * t * dv,
                                   .out_stride = dv};
    gated_delta_run(c->kernels, &call, 0, 1);
}

static void run_gated_delta(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    while (op_next(it))
        for (uint64_t i = it->i0; i < it->i1; i++)
            delta_head(c, it->row, i);
}

const op_kernel op_kernel_gated_delta = {check_gated_delta, items_gated_delta, cost_gated_delta, run_gated_delta, NULL};

static lithe_status check_tril_inv(const op_call *c, lithe_error *err)
{
    const graph_tensor *x = c->inputs[0].tensor;
    if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2])
        return op_refuse(c, err, "matrices must be square");
    return op_all_f32(c, err);
}

static uint64_t items_matrices(const op_call *c)
{
    const graph_tensor *x = c->inputs[0].tensor;
    return op_product(x, 0, x->rank - 2);
}

static double cost_tril_inv(const op_call *c)
{
    const double n = (double)op_last_dim(c->inputs[0].tensor);
    return n * n * n / 6;
}

static size_t scratch_tril_inv(const op_call *c)
{
    return (size_t)op_last_dim(c->inputs[0].tensor) * sizeof(float);
}

/* Rows from the second: A[i, :i] += A[i, :i] A[:i, :i], the products added in order of the inner index, fused, into A's own value; then 1
 * on the diagonal. Above it zeros. */
static void invert(const float *in, float *out, size_t n, float *row)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(row, in + i * n, i * sizeof *row);
        memset(out + i * n, 0, n * sizeof *out);
        for (size_t j = 0; j < i; j++) {
            float sum = row[j];
            for (size_t k = j + 1; k < i; k++)
                sum = fmaf(row[k], out[k * n + j], sum);
            out[i * n + j] = sum;
        }
    }
    for (size_t i = 0; i < n; i++)
        out[i * n + i] = 1.0f;
}

static void run_tril_inv(const op_call *c, op_iter *it, void *scratch)
{
    const size_t n = (size_t)op_last_dim(c->inputs[0].tensor);
    while (op_next(it)) {
        const float *in = op_input(c, 0, it->row);
        float *out = op_output(c, 0, it->row);
        for (uint64_t i = it->i0; i < it->i1; i++)
            invert(in + i * n * n, out + i * n * n, n, scratch);
    }
}

const op_kernel op_kernel_tril_inv = {check_tril_inv, items_matrices, cost_tril_inv, run_tril_inv, scratch_tril_inv};
