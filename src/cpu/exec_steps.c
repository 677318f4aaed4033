/* What each kind of step does, cut into tasks that any thread may take. The cut never changes a result. */
#include "cpu/exec_internal.h"

#include <string.h>

enum {
    LINEAR_ROW_TILE = 64,   /* activation rows per task */
    ATTENTION_ROW_TILE = 8, /* query rows per task */
    TASKS_PER_THREAD = 6
};

/* Rows of the plan that a step works on. */
static uint32_t step_rows(const exec_run *r, const exec_step *s)
{
    return s->tail ? r->n - r->first_out : r->n;
}
static const graph_node *step_node(const exec_thread *t, const exec_step *s)
{
    return &t->plan->plan->graph->nodes[s->node];
}

static unsigned char *value_of(const exec_thread *t, const exec_step *s, uint32_t tensor, size_t *stride)
{
    return exec_value(t->plan, t->run, t->memory, tensor, s->tail, stride);
}

/* ---------------------------------------------------------------------------------------------------- ops */

static uint64_t op_grain(const exec_thread *t, const exec_step *s, uint64_t units)
{
    double by_cost = s->unit_cost > 0 ? 8192 / s->unit_cost : 8192;
    uint64_t grain = by_cost < 1 ? 1 : (uint64_t)by_cost;
    return u64_max(grain, u64_ceil_div(units, (uint64_t)t->n_threads * TASKS_PER_THREAD));
}

static void run_op(exec_thread *t, const exec_step *s, uint64_t u0, uint64_t u1)
{
    const graph_node *n = step_node(t, s);
    op_operand *ops = t->operands;
    const graph *g = t->plan->plan->graph;
    for (uint32_t i = 0; i < n->n_inputs + n->n_outputs; i++) {
        uint32_t tensor = i < n->n_inputs ? n->inputs[i] : n->outputs[i - n->n_inputs];
        ops[i] = (op_operand){0};
        if (tensor == GRAPH_NONE)
            continue;
        ops[i].tensor = &g->tensors[tensor];
        ops[i].data = value_of(t, s, tensor, &ops[i].row_stride);
    }
    op_call call = {.node = n,
                    .graph = g,
                    .kernels = exec_shared_kernels(t->plan->shared),
                    .inputs = ops,
                    .outputs = ops + n->n_inputs,
                    .units_per_row = s->units_per_row,
                    .unit_cost = s->unit_cost,
                    .scratch_bytes = s->scratch_bytes};
    op_run(&call, u0, u1, t->scratch);
}

/* ------------------------------------------------------------------------------------------------- linears */

static linear_qrow *quant_row(const exec_thread *t, uint64_t row)
{
    return t->memory->quant_rows + row;
}

static void run_quantize(exec_thread *t, const exec_step *s, uint64_t r0, uint64_t r1)
{
    const linear_kernels *k = &exec_shared_kernels(t->plan->shared)->linear;
    size_t stride, q_stride = linear_q_stride(s->weights->k);
    const unsigned char *x = value_of(t, s, step_node(t, s)->inputs[0], &stride);
    for (uint64_t r = r0; r < r1; r++) {
        uint64_t row = r / s->rows_per_row, part = r % s->rows_per_row;
        const float *xr = (const float *)(const void *)(x + row * stride) + part * s->weights->k;
        k->quantize_row(xr, s->weights->k, t->memory->quant + r * q_stride, quant_row(t, r));
    }
}

/* The fused activation of a linear, on columns n0 .. n1-1 of m rows. */
static void apply_activation(const exec_thread *t, graph_activation act, float *y, size_t y_stride, uint32_t m,
                             uint32_t n0, uint32_t n1)
{
    const vec_kernels *v = &exec_shared_kernels(t->plan->shared)->vec;
    static const float minus_one = -1, zero = 0, one = 1, six = 6;
    for (uint32_t r = 0; r < m && act != GRAPH_ACT_NONE; r++) {
        float *row = y + r * y_stride + n0;
        if (act == GRAPH_ACT_TANH) {
            v->unary[VEC_TANH](row, row, n1 - n0);
            continue;
        }
        v->binary[VEC_MAX](row, act == GRAPH_ACT_RELU_N1_TO_1 ? &minus_one : &zero, row, n1 - n0, 0, 1);
        if (act != GRAPH_ACT_RELU)
            v->binary[VEC_MIN](row, act == GRAPH_ACT_RELU6 ? &six : &one, row, n1 - n0, 0, 1);
    }
}

/* Columns of one linear task: whole chunks of row sums. */
static uint32_t linear_columns(const exec_thread *t, const exec_step *s)
{
    uint64_t chunks = u64_ceil_div(s->weights->n, LINEAR_SUM_CHUNK);
    uint64_t grain = u64_max(1, chunks / ((uint64_t)t->n_threads * TASKS_PER_THREAD));
    return (uint32_t)(u64_min(grain, 16) * LINEAR_SUM_CHUNK);
}

/* Runs m activation rows that start at row r of the quantised buffer (or at x). */
static void linear_rows(exec_thread *t, const exec_step *s, const float *x, size_t x_stride, uint64_t r, uint32_t m,
                        float *y, size_t y_stride, uint32_t n0, uint32_t n1)
{
    const linear_weights *w = s->weights;
    size_t q_stride = linear_q_stride(w->k);
    linear_input in = {.m = m,
                       .x = x,
                       .x_stride = x_stride,
                       .q = t->memory->quant + r * q_stride,
                       .q_stride = q_stride,
                       .qrows = quant_row(t, r)};
    exec_shared_kernels(t->plan->shared)->linear.run[w->kind](w, &in, y, y_stride, n0, n1);
    apply_activation(t, step_node(t, s)->a.activation, y, y_stride, m, n0, n1);
}

static uint64_t linear_row_tiles(const exec_thread *t, const exec_step *s)
{
    uint64_t rows = step_rows(t->run, s);
    if (s->rows_per_row == 1)
        return u64_ceil_div(rows, LINEAR_ROW_TILE);
    return rows * u64_ceil_div(s->rows_per_row, LINEAR_ROW_TILE);
}

static void run_linear(exec_thread *t, const exec_step *s, uint64_t task)
{
    const graph_node *n = step_node(t, s);
    const linear_weights *w = s->weights;
    uint64_t tiles = linear_row_tiles(t, s), tile = task % tiles;
    uint32_t columns = linear_columns(t, s);
    uint32_t n0 = (uint32_t)(task / tiles) * columns, n1 = (uint32_t)u64_min((uint64_t)n0 + columns, w->n);
    size_t x_bytes, y_bytes;
    const unsigned char *x = value_of(t, s, n->inputs[0], &x_bytes);
    unsigned char *y = value_of(t, s, n->outputs[0], &y_bytes);
    if (s->rows_per_row == 1) {
        uint64_t r0 = tile * LINEAR_ROW_TILE, r1 = u64_min(r0 + LINEAR_ROW_TILE, step_rows(t->run, s));
        linear_rows(t, s, (const float *)(const void *)(x + r0 * x_bytes), x_bytes / sizeof(float), r0,
                    (uint32_t)(r1 - r0), (float *)(void *)(y + r0 * y_bytes), y_bytes / sizeof(float), n0, n1);
        return;
    }
    uint64_t per_row = u64_ceil_div(s->rows_per_row, LINEAR_ROW_TILE), row = tile / per_row;
    uint64_t m0 = tile % per_row * LINEAR_ROW_TILE, m1 = u64_min(m0 + LINEAR_ROW_TILE, s->rows_per_row);
    linear_rows(t, s, (const float *)(const void *)(x + row * x_bytes) + m0 * w->k, w->k, row * s->rows_per_row + m0,
                (uint32_t)(m1 - m0), (float *)(void *)(y + row * y_bytes) + m0 * w->n, w->n, n0, n1);
}

/* Ids out of range read the nearest row of the table (docs/numerics.md); the engine refuses them before. */
static void run_embedding(exec_thread *t, const exec_step *s, uint64_t r0, uint64_t r1)
{
    const graph_node *n = step_node(t, s);
    const linear_weights *w = s->weights;
    size_t id_bytes, out_bytes;
    const unsigned char *ids = value_of(t, s, n->inputs[0], &id_bytes);
    unsigned char *out = value_of(t, s, n->outputs[0], &out_bytes);
    bool wide = t->plan->plan->graph->tensors[n->inputs[0]].type == GRAPH_I64;
    for (uint64_t r = r0; r < r1; r++) {
        uint64_t row = r / s->rows_per_row, part = r % s->rows_per_row;
        int64_t id;
        if (wide) {
            memcpy(&id, ids + row * id_bytes + part * sizeof id, sizeof id);
        } else {
            int32_t narrow;
            memcpy(&narrow, ids + row * id_bytes + part * sizeof narrow, sizeof narrow);
            id = narrow;
        }
        id = id < 0 ? 0 : id >= w->n ? (int64_t)w->n - 1 : id;
        exec_shared_kernels(t->plan->shared)
            ->linear.embedding_row(w, (uint32_t)id, (float *)(void *)(out + row * out_bytes) + part * w->k);
    }
}

/* ----------------------------------------------------------------------------------------------- attention */

static attention_call attention_of(const exec_thread *t, const exec_step *s)
{
    const graph_node *n = step_node(t, s);
    size_t q_bytes, out_bytes;
    attention_call c = {
        .shape = {n->a.n_kv_heads, n->a.group, n->a.head_dim, n->a.value_dim, n->a.window, n->a.scale, n->a.soft_cap},
        .key_blocks = (float *const *)t->run->states[n->a.k_state],
        .value_blocks = (float *const *)t->run->states[n->a.v_state],
        .q = (const float *)(const void *)value_of(t, s, n->inputs[0], &q_bytes),
        .out = (float *)(void *)value_of(t, s, n->outputs[0], &out_bytes),
        .position = t->run->position + (s->tail ? t->run->first_out : 0),
        .n = step_rows(t->run, s),
    };
    c.q_stride = q_bytes / sizeof(float);
    c.out_stride = out_bytes / sizeof(float);
    return c;
}

/* One row over many blocks is cut by blocks, else work is cut by rows. */
static bool by_blocks(const exec_thread *t, const attention_call *c, uint32_t *first, uint32_t *count)
{
    *first = attention_first_block(&c->shape, c->position);
    *count = c->position / ATTENTION_BLOCK + 1 - *first;
    return c->n == 1 && t->n_threads > 1 && *count > 1;
}

static uint64_t attention_tasks(const exec_thread *t, const exec_step *s)
{
    if (!step_rows(t->run, s))
        return 0;
    attention_call c = attention_of(t, s);
    uint32_t first, count;
    bool blocks = by_blocks(t, &c, &first, &count);
    if (s->kind == EXEC_JOIN)
        return blocks ? c.shape.n_kv_heads : 0;
    return (uint64_t)c.shape.n_kv_heads * (blocks ? count : u64_ceil_div(c.n, ATTENTION_ROW_TILE));
}

static uint64_t positions_seen(const attention_shape *s, uint32_t position)
{
    return s->window && position >= s->window ? s->window : (uint64_t)position + 1;
}

static void run_attend(exec_thread *t, const exec_step *s, uint64_t task)
{
    const attention_kernels *k = &exec_shared_kernels(t->plan->shared)->attention;
    attention_call c = attention_of(t, s);
    uint32_t first, count, heads = c.shape.n_kv_heads;
    if (by_blocks(t, &c, &first, &count)) {
        uint32_t kv = (uint32_t)(task / count), b = (uint32_t)(task % count);
        size_t floats = (size_t)c.shape.group * (2 + c.shape.value_dim);
        k->block(&c, kv, 0, first + b, t->memory->parts + ((size_t)kv * count + b) * floats, t->scratch);
        if (!b)
            t->positions_read += positions_seen(&c.shape, c.position);
        return;
    }
    /* the last rows see most: they go first */
    uint64_t tiles = u64_ceil_div(c.n, ATTENTION_ROW_TILE), tile = tiles - 1 - task / heads;
    uint32_t kv = (uint32_t)(task % heads), r0 = (uint32_t)tile * ATTENTION_ROW_TILE;
    uint32_t r1 = (uint32_t)u64_min((uint64_t)r0 + ATTENTION_ROW_TILE, c.n);
    k->rows(&c, kv, r0, r1, t->scratch);
    for (uint32_t r = r0; r < r1; r++)
        t->positions_read += positions_seen(&c.shape, c.position + r);
}

static void run_join(exec_thread *t, const exec_step *s, uint64_t kv)
{
    attention_call c = attention_of(t, s);
    uint32_t first, count;
    if (!by_blocks(t, &c, &first, &count))
        return;
    size_t floats = (size_t)c.shape.group * (2 + c.shape.value_dim);
    exec_shared_kernels(t->plan->shared)
        ->attention.join(&c, (uint32_t)kv, 0, count, t->memory->parts + (size_t)kv * count * floats);
}

static void run_store(exec_thread *t, const exec_step *s, uint64_t r0, uint64_t r1)
{
    const graph_node *n = step_node(t, s);
    size_t k_bytes, v_bytes;
    const unsigned char *k = value_of(t, s, n->inputs[1], &k_bytes), *v = value_of(t, s, n->inputs[2], &v_bytes);
    for (uint64_t r = r0; r < r1; r++) {
        uint32_t position = t->run->position + (uint32_t)r;
        attention_store((float *const *)t->run->states[n->a.k_state], n->a.n_kv_heads, n->a.head_dim, position,
                        (const float *)(const void *)(k + r * k_bytes));
        attention_store((float *const *)t->run->states[n->a.v_state], n->a.n_kv_heads, n->a.value_dim, position,
                        (const float *)(const void *)(v + r * v_bytes));
    }
}

/* ---------------------------------------------------------------------------------------------- recurrences */

static void run_delta(exec_thread *t, const exec_step *s, uint64_t h0, uint64_t h1)
{
    const graph_node *n = step_node(t, s);
    const graph *g = t->plan->plan->graph;
    const graph_tensor *q = &g->tensors[n->inputs[0]], *v = &g->tensors[n->inputs[2]];
    size_t strides[6];
    const float *in[5];
    for (int i = 0; i < 5; i++)
        in[i] = (const float *)(const void *)value_of(t, s, n->inputs[i], &strides[i]);
    gated_delta_call c = {
        .n = t->run->n,
        .n_k_heads = (uint32_t)q->dims[1],
        .n_v_heads = (uint32_t)v->dims[1],
        .dk = (uint32_t)q->dims[3],
        .dv = (uint32_t)v->dims[3],
        .q = in[0],
        .k = in[1],
        .v = in[2],
        .beta = in[3],
        .g = in[4],
        .q_stride = strides[0] / sizeof(float),
        .k_stride = strides[1] / sizeof(float),
        .v_stride = strides[2] / sizeof(float),
        .beta_stride = strides[3] / sizeof(float),
        .g_stride = strides[4] / sizeof(float),
        .state = (float *)t->run->states[n->a.state],
        .out = (float *)(void *)value_of(t, s, n->outputs[0], &strides[5]),
    };
    c.out_stride = strides[5] / sizeof(float);
    gated_delta_run(exec_shared_kernels(t->plan->shared), &c, (uint32_t)h0, (uint32_t)h1);
}

/* Row `row` of a value over its state. */
static void run_commit(exec_thread *t, const exec_step *s, uint32_t row)
{
    const plan *p = t->plan->plan;
    const plan_commit *c = &p->commits[s->commit];
    const graph_tensor *tensor = &p->graph->tensors[c->value];
    size_t stride;
    const unsigned char *from = exec_value(t->plan, t->run, t->memory, c->value, false, &stride);
    memmove(t->run->states[c->state], from + row * stride, (size_t)graph_type_bytes(tensor->type, tensor->elements));
}

static void run_scan(exec_thread *t, const exec_step *s)
{
    for (uint32_t row = 0; row < t->run->n; row++)
        for (uint32_t i = 0; i < s->count; i++) {
            const exec_step *inner = &t->plan->scan_steps[s->first + i];
            if (inner->kind == EXEC_COMMIT)
                run_commit(t, inner, row);
            else
                run_op(t, inner, (uint64_t)row * inner->units_per_row, (uint64_t)(row + 1) * inner->units_per_row);
        }
}

/* ------------------------------------------------------------------------------------------------- dispatch */

/* Steps over units: how many, and how many a task takes. */
static uint64_t step_units(const exec_thread *t, const exec_step *s, uint64_t *grain)
{
    uint64_t rows = step_rows(t->run, s), units = 0, cost = 1;
    switch (s->kind) {
    case EXEC_OP:
        units = rows * s->units_per_row;
        *grain = op_grain(t, s, units);
        return units;
    case EXEC_QUANTIZE:
        units = rows * s->rows_per_row, cost = s->weights->k;
        break;
    case EXEC_EMBEDDING:
        units = rows * s->rows_per_row, cost = s->weights->k;
        break;
    case EXEC_STORE:
        units = t->run->n, cost = 512;
        break;
    case EXEC_DELTA:
        units = (uint64_t)t->plan->plan->graph->tensors[step_node(t, s)->inputs[2]].dims[1], cost = 8192;
        break;
    case EXEC_SCAN:
    case EXEC_COMMIT:
        units = 1;
        break;
    case EXEC_LINEAR:
        units = linear_row_tiles(t, s) * u64_ceil_div(s->weights->n, linear_columns(t, s)), cost = 8192;
        break;
    case EXEC_ATTEND:
    case EXEC_JOIN:
        units = attention_tasks(t, s), cost = 8192;
        break;
    }
    *grain = u64_max(1, 8192 / cost);
    return units;
}

uint64_t exec_step_tasks(const exec_thread *t, const exec_step *s)
{
    uint64_t grain, units = step_units(t, s, &grain);
    return u64_ceil_div(units, grain);
}

void exec_step_run(exec_thread *t, const exec_step *s, uint64_t t0, uint64_t t1)
{
    uint64_t grain, units = step_units(t, s, &grain);
    uint64_t u0 = t0 * grain, u1 = u64_min(t1 * grain, units);
    if (u0 >= u1)
        return;
    switch (s->kind) {
    case EXEC_OP:
        run_op(t, s, u0, u1);
        break;
    case EXEC_QUANTIZE:
        run_quantize(t, s, u0, u1);
        break;
    case EXEC_EMBEDDING:
        run_embedding(t, s, u0, u1);
        break;
    case EXEC_STORE:
        run_store(t, s, u0, u1);
        break;
    case EXEC_DELTA:
        run_delta(t, s, u0, u1);
        break;
    case EXEC_SCAN:
        run_scan(t, s);
        break;
    case EXEC_COMMIT:
        run_commit(t, s, 0);
        break;
    case EXEC_LINEAR:
        for (uint64_t u = u0; u < u1; u++)
            run_linear(t, s, u);
        break;
    case EXEC_ATTEND:
        for (uint64_t u = u0; u < u1; u++)
            run_attend(t, s, u);
        break;
    case EXEC_JOIN:
        for (uint64_t u = u0; u < u1; u++)
            run_join(t, s, u);
        break;
    }
}
