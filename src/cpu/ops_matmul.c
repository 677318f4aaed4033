/* Products of two computed matrices: BATCH_MATMUL, and FULLY_CONNECTED whose weights are no constant.
 * With the second factor transposed (rows of length K) each result is a dot product in sixteen lanes, by the linear kernel for f32 weights;
 * else each result sums its products in the order of k, fused, from +0. Neither depends on the number of rows. */
#include "cpu/ops_impl.h"

enum { COLUMNS = LINEAR_SUM_CHUNK, ROWS = 8 /* of a transposed first factor, gathered at a time */ };

typedef struct product {
    uint64_t m, n, k;
    uint64_t batches;
    bool adj_x, adj_y;
} product;

static uint64_t blocks(const product *p)
{
    return (p->n + COLUMNS - 1) / COLUMNS;
}

/* out[m][n0 .. n1) of one pair of matrices. scratch: ROWS * k floats if adj_x and adj_y. */
static void multiply(const cpu_kernels *kernels, const product *p, const float *x, const float *y, const float *bias,
                     float *out, uint64_t n0, uint64_t n1, float *scratch)
{
    if (!p->adj_y) {
        for (uint64_t m = 0; m < p->m; m++)
            kernels->vec.vec_mat(p->adj_x ? x + m : x + m * p->k, p->adj_x ? p->m : 1, y + n0, p->n, p->k,
                                 out + m * p->n + n0, n1 - n0);
        return;
    }
    const linear_weights w = {.kind = LINEAR_F32,
                              .n = (uint32_t)p->n,
                              .k = (uint32_t)p->k,
                              .w = y,
                              .row_bytes = p->k * sizeof(float),
                              .bias = bias};
    const uint64_t step = p->adj_x ? ROWS : p->m;
    for (uint64_t m = 0; m < p->m; m += step) {
        const uint64_t count = p->m - m < step ? p->m - m : step;
        const float *rows = p->adj_x ? scratch : x + m * p->k;
        for (uint64_t i = 0; p->adj_x && i < count; i++)
            for (uint64_t k = 0; k < p->k; k++)
                scratch[i * p->k + k] = x[k * p->m + m + i];
        const linear_input in = {.m = (uint32_t)count, .x = rows, .x_stride = p->k};
        kernels->linear.run[LINEAR_F32](&w, &in, out + m * p->n, p->n, (uint32_t)n0, (uint32_t)n1);
    }
}

static product batch_product(const op_call *c)
{
    const graph_tensor *x = c->inputs[0].tensor, *y = c->inputs[1].tensor, *out = c->outputs[0].tensor;
    const graph_attrs *a = &c->node->a;
    return (product){.m = (uint64_t)out->dims[out->rank - 2],
                     .n = (uint64_t)out->dims[out->rank - 1],
                     .k = (uint64_t)x->dims[x->rank - (a->adj_x ? 2 : 1)],
                     .batches = op_product(out, 0, out->rank - 2),
                     .adj_x = a->adj_x,
                     .adj_y = a->adj_y && y->rank >= 2};
}

static lithe_status check_batch_matmul(const op_call *c, lithe_error *err)
{
    if (c->node->n_inputs != 2 || !c->inputs[1].tensor || c->inputs[0].tensor->rank < 2 ||
        c->inputs[1].tensor->rank < 2)
        return op_refuse(c, err, "two matrices are needed");
    return op_all_f32(c, err);
}

static uint64_t items_batch_matmul(const op_call *c)
{
    const product p = batch_product(c);
    return p.batches * blocks(&p);
}

static double cost_batch_matmul(const op_call *c)
{
    const product p = batch_product(c);
    return (double)p.k * (double)(p.n < COLUMNS ? p.n : COLUMNS) * (1 + 0.125 * (double)p.m);
}

static size_t scratch_batch_matmul(const op_call *c)
{
    const product p = batch_product(c);
    return p.adj_x && p.adj_y ? ROWS * (size_t)p.k * sizeof(float) : 0;
}

/* The batch axes of x and y, broadcast to those of the output, as strides in matrices. */
static nd_space batch_space(const op_call *c)
{
    const graph_tensor *out = c->outputs[0].tensor;
    graph_tensor batch[2];
    const graph_tensor *operands[2];
    nd_space s;
    for (uint32_t k = 0; k < 2; k++) {
        batch[k] = *c->inputs[k].tensor;
        batch[k].rank -= 2;
        operands[k] = &batch[k];
    }
    nd_broadcast(&s, out->rank - 2, out->dims, 2, operands);
    return s;
}

static void run_batch_matmul(const op_call *c, op_iter *it, void *scratch)
{
    const product p = batch_product(c);
    const uint64_t n_blocks = blocks(&p);
    const nd_space s = batch_space(c);
    while (op_next(it)) {
        const float *x = op_input(c, 0, it->row), *y = op_input(c, 1, it->row);
        float *out = op_output(c, 0, it->row);
        for (uint64_t i = it->i0; i < it->i1;) { /* one batch at a time */
            const uint64_t b = i / n_blocks, first = i % n_blocks;
            const uint64_t count = it->i1 - i < n_blocks - first ? it->i1 - i : n_blocks - first;
            const uint64_t n1 = (first + count) * COLUMNS < p.n ? (first + count) * COLUMNS : p.n;
            nd_walk w;
            nd_begin(&w, &s, b, b + 1);
            nd_next(&w);
            multiply(c->kernels, &p, x + (uint64_t)w.offset[0] * p.m * p.k, y + (uint64_t)w.offset[1] * p.n * p.k, NULL,
                     out + b * p.m * p.n, first * COLUMNS, n1, scratch);
            i += count;
        }
    }
}

const op_kernel op_kernel_batch_matmul = {check_batch_matmul, items_batch_matmul, cost_batch_matmul, run_batch_matmul,
                                          scratch_batch_matmul};

static product linear_product(const op_call *c)
{
    const graph_tensor *x = c->inputs[0].tensor, *w = c->inputs[1].tensor;
    const uint64_t k = (uint64_t)w->dims[1];
    return (product){.m = k ? x->elements / k : 0, .n = (uint64_t)w->dims[0], .k = k, .batches = 1, .adj_y = true};
}

static lithe_status check_fully_connected(const op_call *c, lithe_error *err)
{
    const graph_tensor *w = op_in_tensor(c, 1);
    return !w || w->rank != 2 ? op_refuse(c, err, "weights must be a matrix") : op_all_f32(c, err);
}

static uint64_t items_fully_connected(const op_call *c)
{
    const product p = linear_product(c);
    return blocks(&p);
}

static double cost_fully_connected(const op_call *c)
{
    const product p = linear_product(c);
    return (double)p.k * (double)(p.n < COLUMNS ? p.n : COLUMNS) * (1 + 0.125 * (double)p.m);
}

static void run_fully_connected(const op_call *c, op_iter *it, void *scratch)
{
    const product p = linear_product(c);
    while (op_next(it)) {
        const float *bias = op_in_tensor(c, 2) ? op_input(c, 2, it->row) : NULL;
        float *out = op_output(c, 0, it->row);
        const uint64_t n0 = it->i0 * COLUMNS, n1 = it->i1 * COLUMNS < p.n ? it->i1 * COLUMNS : p.n;
        multiply(c->kernels, &p, op_input(c, 0, it->row), op_input(c, 1, it->row), bias, out, n0, n1, scratch);
        for (uint64_t m = 0; m < p.m && c->node->a.activation != GRAPH_ACT_NONE; m++)
            op_activate(c, out + m * p.n + n0, n1 - n0);
    }
}

const op_kernel op_kernel_fully_connected = {check_fully_connected, items_fully_connected, cost_fully_connected,
                                             run_fully_connected, NULL};
