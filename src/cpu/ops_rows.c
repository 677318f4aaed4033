/* Ops on whole rows of the last axis: softmax, RMS norm, rotary embedding; and the gated unit. */
#include "cpu/ops_impl.h"

static double cost_rows(const op_call *c)
{
    return 8 * op_cost_row(c);
}

static void run_softmax(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const uint64_t n = op_last_dim(c->outputs[0].tensor);
    while (op_next(it)) {
        const float *x = op_input(c, 0, it->row);
        float *out = op_output(c, 0, it->row);
        for (uint64_t i = it->i0; i < it->i1; i++)
            c->kernels->vec.softmax(x + i * n, c->node->a.beta, out + i * n, n);
    }
}

const op_kernel op_kernel_softmax = {op_all_f32, op_items_rows, cost_rows, run_softmax, NULL};

static void run_rms_norm(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const uint64_t n = op_last_dim(c->outputs[0].tensor);
    const bool weighted = op_in_tensor(c, 1) != NULL;
    while (op_next(it)) {
        const float *x = op_input(c, 0, it->row), *w = weighted ? op_input(c, 1, it->row) : NULL;
        float *out = op_output(c, 0, it->row);
        for (uint64_t i = it->i0; i < it->i1; i++)
            c->kernels->vec.rms_norm(x + i * n, w, c->node->a.epsilon, out + i * n, n);
    }
}

const op_kernel op_kernel_rms_norm = {op_all_f32, op_items_rows, op_cost_row, run_rms_norm, NULL};

static lithe_status check_rope(const op_call *c, lithe_error *err)
{
    const graph_tensor *x = c->inputs[0].tensor;
    if (c->node->n_inputs != 3 || op_last_dim(x) % 2 != 0 || !c->inputs[1].tensor || !c->inputs[2].tensor)
        return op_refuse(c, err, "x, cos and sin over an even last axis are needed");
    if (op_last_dim(c->inputs[1].tensor) != op_last_dim(x) || op_last_dim(c->inputs[2].tensor) != op_last_dim(x))
        return op_refuse(c, err, "cos and sin must have the last axis of x");
    return op_all_f32(c, err);
}

static void run_rope(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_tensor *y = c->outputs[0].tensor;
    const uint64_t n = op_last_dim(y);
    nd_space s = {.rank = y->rank ? y->rank - 1 : 0, .n_operands = 2}; /* rows: the last axis is the kernel's */
    for (uint32_t d = 0; d < s.rank; d++)
        s.dims[d] = (uint64_t)y->dims[d];
    for (uint32_t k = 0; k < 2; k++) {
        const graph_tensor *t = c->inputs[1 + k].tensor;
        int64_t stride = (int64_t)n;
        for (uint32_t j = 2; j <= t->rank && j <= y->rank; j++) {
            const int32_t dim = t->dims[t->rank - j];
            s.strides[k][y->rank - j] = dim == 1 ? 0 : stride;
            stride *= dim;
        }
    }
    nd_merge(&s);
    const int64_t step_cos = nd_last_stride(&s, 0), step_sin = nd_last_stride(&s, 1);
    while (op_next(it)) {
        const float *x = op_input(c, 0, it->row), *cosines = op_input(c, 1, it->row), *sines = op_input(c, 2, it->row);
        float *out = op_output(c, 0, it->row);
        nd_walk w;
        for (nd_begin(&w, &s, it->i0, it->i1); nd_next(&w);)
            for (uint64_t i = 0; i < w.run; i++)
                c->kernels->vec.rope(x + (w.at + i) * n, cosines + w.offset[0] + (int64_t)i * step_cos,
                                     sines + w.offset[1] + (int64_t)i * step_sin, out + (w.at + i) * n, n);
    }
}

const op_kernel op_kernel_rope = {check_rope, op_items_rows, op_cost_row, run_rope, NULL};

static lithe_status check_gated_unit(const op_call *c, lithe_error *err)
{
    const graph_tensor *up = op_in_tensor(c, 1);
    if (!up || up->elements != c->inputs[0].tensor->elements || c->node->a.kind > 2)
        return op_refuse(c, err, "gate and up must have one shape");
    return op_all_f32(c, err);
}

static void run_gated_unit(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    while (op_next(it)) {
        const float *gate = op_input(c, 0, it->row), *up = op_input(c, 1, it->row);
        float *out = op_output(c, 0, it->row);
        c->kernels->vec.gated(c->node->a.kind, gate + it->i0, up + it->i0, out + it->i0, it->i1 - it->i0);
    }
}

static double cost_gated_unit(const op_call *c)
{
    (void)c;
    return 8;
}

const op_kernel op_kernel_gated_unit = {check_gated_unit, op_items_elements, cost_gated_unit, run_gated_unit, NULL};
