/* The table of op kernels, and how their work is cut into units. */
#include "cpu/ops.h"

#include "cpu/ops_impl.h"

#include <stdio.h>
#include <string.h>

enum { UNIT_COST = 4096 }; /* floats: units are not made smaller than about this */

static const op_kernel *const kernels[OP_COUNT] = {
    [OP_ADD] = &op_kernel_binary,
    [OP_SUB] = &op_kernel_binary,
    [OP_MUL] = &op_kernel_binary,
    [OP_DIV] = &op_kernel_binary,
    [OP_MINIMUM] = &op_kernel_binary,
    [OP_MAXIMUM] = &op_kernel_binary,
    [OP_POW] = &op_kernel_binary,
    [OP_SQUARED_DIFFERENCE] = &op_kernel_binary,
    [OP_FLOOR_DIV] = &op_kernel_binary,
    [OP_FLOOR_MOD] = &op_kernel_binary,
    [OP_EQUAL] = &op_kernel_compare,
    [OP_NOT_EQUAL] = &op_kernel_compare,
    [OP_GREATER] = &op_kernel_compare,
    [OP_GREATER_EQUAL] = &op_kernel_compare,
    [OP_LESS] = &op_kernel_compare,
    [OP_LESS_EQUAL] = &op_kernel_compare,
    [OP_LOGICAL_AND] = &op_kernel_logical,
    [OP_LOGICAL_OR] = &op_kernel_logical,
    [OP_ABS] = &op_kernel_unary,
    [OP_NEG] = &op_kernel_unary,
    [OP_EXP] = &op_kernel_unary,
    [OP_LOG] = &op_kernel_unary,
    [OP_SQRT] = &op_kernel_unary,
    [OP_RSQRT] = &op_kernel_unary,
    [OP_SQUARE] = &op_kernel_unary,
    [OP_SIN] = &op_kernel_unary,
    [OP_COS] = &op_kernel_unary,
    [OP_TANH] = &op_kernel_unary,
    [OP_LOGISTIC] = &op_kernel_unary,
    [OP_GELU] = &op_kernel_unary,
    [OP_RELU] = &op_kernel_unary,
    [OP_RELU6] = &op_kernel_unary,
    [OP_LEAKY_RELU] = &op_kernel_unary,
    [OP_ELU] = &op_kernel_unary,
    [OP_HARD_SWISH] = &op_kernel_unary,
    [OP_FLOOR] = &op_kernel_unary,
    [OP_CEIL] = &op_kernel_unary,
    [OP_ROUND] = &op_kernel_unary,
    [OP_SIGN] = &op_kernel_unary,
    [OP_LOGICAL_NOT] = &op_kernel_not,
    [OP_CAST] = &op_kernel_cast,
    [OP_SELECT] = &op_kernel_select,
    [OP_RESHAPE] = &op_kernel_reshape,
    [OP_TRANSPOSE] = &op_kernel_transpose,
    [OP_CONCATENATION] = &op_kernel_join,
    [OP_SLICE] = &op_kernel_slice,
    [OP_PACK] = &op_kernel_join,
    [OP_UNPACK] = &op_kernel_part,
    [OP_SPLIT] = &op_kernel_part,
    [OP_GATHER] = &op_kernel_gather,
    [OP_GATHER_ND] = &op_kernel_gather_nd,
    [OP_PAD] = &op_kernel_pad,
    [OP_TILE] = &op_kernel_tile,
    [OP_BROADCAST_TO] = &op_kernel_broadcast_to,
    [OP_DYNAMIC_UPDATE_SLICE] = &op_kernel_update_slice,
    [OP_ONE_HOT] = &op_kernel_one_hot,
    [OP_RANGE] = &op_kernel_range,
    [OP_SUM] = &op_kernel_reduce,
    [OP_MEAN] = &op_kernel_reduce,
    [OP_REDUCE_MAX] = &op_kernel_reduce,
    [OP_REDUCE_MIN] = &op_kernel_reduce,
    [OP_REDUCE_PROD] = &op_kernel_reduce,
    [OP_REDUCE_ANY] = &op_kernel_any,
    [OP_CUMSUM] = &op_kernel_cumsum,
    [OP_ARG_MAX] = &op_kernel_arg_max,
    [OP_FULLY_CONNECTED] = &op_kernel_fully_connected,
    [OP_BATCH_MATMUL] = &op_kernel_batch_matmul,
    [OP_CONV_2D] = &op_kernel_conv,
    [OP_DEPTHWISE_CONV_2D] = &op_kernel_depthwise,
    [OP_AVERAGE_POOL_2D] = &op_kernel_average_pool,
    [OP_MAX_POOL_2D] = &op_kernel_max_pool,
    [OP_RESIZE_BILINEAR] = &op_kernel_resize,
    [OP_SOFTMAX] = &op_kernel_softmax,
    [OP_DEQUANTIZE] = &op_kernel_dequantize,
    [OP_QUANTIZE] = &op_kernel_quantize,
    [OP_RMS_NORM] = &op_kernel_rms_norm,
    [OP_GATED_DELTA] = &op_kernel_gated_delta,
    [OP_GDN_TRIL_INV] = &op_kernel_tril_inv,
    [OP_ROPE] = &op_kernel_rope,
    [OP_GATED_UNIT] = &op_kernel_gated_unit,
};

static size_t type_list(char *buf, size_t room, const op_operand *operands, uint32_t n)
{
    size_t length = 0;
    for (uint32_t i = 0; i < n && length < room; i++) {
        const char *name = operands[i].tensor ? graph_type_name(operands[i].tensor->type) : "-";
        const int more = snprintf(buf + length, room - length, "%s%s", i ? ", " : "", name);
        length += more > 0 ? (size_t)more : 0;
    }
    return length;
}

lithe_status op_refuse(const op_call *c, lithe_error *err, const char *why)
{
    char in[160] = "", out[80] = "";
    const char *name = graph_op_name(c->node->op),
               *signature = c->graph && c->graph->signature ? c->graph->signature : "";
    type_list(in, sizeof in, c->inputs, c->node->n_inputs);
    type_list(out, sizeof out, c->outputs, c->node->n_outputs);
    error_set(err, LITHE_E_UNSUPPORTED, "signature '%s', node %d (%s): no CPU kernel for %s -> %s: %s", signature,
              (int)c->node->source, name, in, out, why);
    error_at_signature(err, signature);
    error_at_node(err, (int32_t)c->node->source, name);
    return LITHE_E_UNSUPPORTED;
}

static lithe_status check_operands(const op_call *c, lithe_error *err)
{
    if (c->node->n_inputs == 0 || c->node->n_outputs == 0 || !c->inputs[0].tensor)
        return op_refuse(c, err, "an operand is missing");
    for (uint32_t i = 0; i < c->node->n_outputs; i++)
        if (!c->outputs[i].tensor)
            return op_refuse(c, err, "an output is missing");
    for (uint32_t i = 0; i < c->node->n_inputs; i++) {
        const graph_tensor *t = c->inputs[i].tensor;
        if (t && t->data && t->type != GRAPH_I4 && (uintptr_t)t->data % op_element_bytes(t->type) != 0)
            return op_refuse(c, err, "a constant is not aligned to its type in the file");
    }
    return LITHE_OK;
}

lithe_status op_prepare(op_call *c, lithe_error *err)
{
    const op_kernel *k = c->node->op < OP_COUNT ? kernels[c->node->op] : NULL;
    if (!k)
        return op_refuse(c, err, "the op is not known here");
    lithe_status status = check_operands(c, err);
    status = status != LITHE_OK ? status : k->check(c, err);
    if (status != LITHE_OK)
        return status;
    const uint64_t items = k->items(c);
    const double cost = k->cost(c), total = cost * (double)items;
    uint64_t units = total / UNIT_COST < 1 ? 1 : total / UNIT_COST > 65536 ? 65536 : (uint64_t)(total / UNIT_COST);
    if (units > items)
        units = items ? items : 1;
    c->units_per_row = (uint32_t)units;
    c->unit_cost = total / (double)units;
    c->scratch_bytes = k->scratch ? (k->scratch(c) + 63) & ~(size_t)63 : 0;
    return LITHE_OK;
}

void op_run(const op_call *c, uint64_t u0, uint64_t u1, void *scratch)
{
    const op_kernel *k = kernels[c->node->op];
    const uint64_t items = k->items(c);
    op_iter it = {.unit = u0,
                  .end = u1,
                  .items = items,
                  .units_per_row = c->units_per_row,
                  .per_unit = (items + c->units_per_row - 1) / c->units_per_row};
    k->run(c, &it, scratch);
}

bool op_next(op_iter *it)
{
    while (it->unit < it->end) {
        it->row = it->unit / it->units_per_row;
        const uint64_t first = it->unit % it->units_per_row, left = it->units_per_row - first;
        const uint64_t n = it->end - it->unit < left ? it->end - it->unit : left;
        it->unit += n;
        it->i0 = first * it->per_unit;
        it->i1 = (first + n) * it->per_unit;
        if (it->i1 > it->items)
            it->i1 = it->items;
        if (it->i0 < it->i1)
            return true;
    }
    return false;
}

lithe_status op_all_f32(const op_call *c, lithe_error *err)
{
    for (uint32_t i = 0; i < c->node->n_inputs; i++)
        if (c->inputs[i].tensor && c->inputs[i].tensor->type != GRAPH_F32)
            return op_refuse(c, err, "all inputs must be f32");
    for (uint32_t i = 0; i < c->node->n_outputs; i++)
        if (c->outputs[i].tensor->type != GRAPH_F32)
            return op_refuse(c, err, "all outputs must be f32");
    return LITHE_OK;
}

lithe_status op_movable(const op_call *c, uint32_t first, uint32_t last, lithe_error *err)
{
    const graph_type type = c->outputs[0].tensor->type;
    if (type == GRAPH_I4)
        return op_refuse(c, err, "i4 cannot be moved element by element");
    for (uint32_t i = first; i < last; i++)
        if (!c->inputs[i].tensor || c->inputs[i].tensor->type != type)
            return op_refuse(c, err, "types differ");
    return LITHE_OK;
}

uint64_t op_product(const graph_tensor *t, uint32_t from, uint32_t to)
{
    uint64_t n = 1;
    for (uint32_t d = from; d < to; d++)
        n *= (uint64_t)t->dims[d];
    return n;
}

uint64_t op_items_elements(const op_call *c)
{
    return c->outputs[0].tensor->elements;
}

uint64_t op_items_rows(const op_call *c)
{
    const uint64_t last = op_last_dim(c->outputs[0].tensor);
    return last ? c->outputs[0].tensor->elements / last : 0;
}

double op_cost_one(const op_call *c)
{
    (void)c;
    return 1;
}

double op_cost_row(const op_call *c)
{
    return (double)op_last_dim(c->outputs[0].tensor);
}

int64_t op_index(const graph_tensor *t, const void *data, uint64_t i, int64_t n)
{
    const int64_t v = t->type == GRAPH_I64 ? ((const int64_t *)data)[i] : ((const int32_t *)data)[i];
    return v < 0 ? 0 : v >= n ? n - 1 : v;
}
