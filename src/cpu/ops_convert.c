/* CAST, DEQUANTIZE, QUANTIZE. A cast goes through float or int64, whichever holds the source exactly, in blocks. Floats become integers
 * towards zero, cut to the type's range, NaN as 0; integers that do not fit wrap; anything not zero is true. */
#include "cpu/f16.h"
#include "cpu/mathf.h"
#include "cpu/ops_impl.h"

#include <string.h>

enum { BLOCK = 256 };

static bool is_float(graph_type t)
{
    return t == GRAPH_F32 || t == GRAPH_F16;
}

static lithe_status check_cast(const op_call *c, lithe_error *err)
{
    return c->inputs[0].tensor->type == GRAPH_I4 || c->outputs[0].tensor->type == GRAPH_I4
               ? op_refuse(c, err, "i4 cannot be cast")
               : LITHE_OK;
}

#define LOAD(T)                                                                                                        \
    for (size_t i = 0; i < n; i++)                                                                                     \
    out[i] = ((const T *)in)[i]

static void load_integers(graph_type type, const void *in, size_t n, int64_t *out)
{
    switch (type) {
    case GRAPH_I64:
        LOAD(int64_t);
        break;
    case GRAPH_I32:
        LOAD(int32_t);
        break;
    case GRAPH_I16:
        LOAD(int16_t);
        break;
    case GRAPH_I8:
        LOAD(int8_t);
        break;
    case GRAPH_BOOL:
        for (size_t i = 0; i < n; i++)
            out[i] = ((const uint8_t *)in)[i] != 0;
        break;
    default:
        LOAD(uint8_t);
        break;
    }
}

#define STORE(T)                                                                                                       \
    for (size_t i = 0; i < n; i++)                                                                                     \
    ((T *)out)[i] = (T)in[i]

static void store_integers(graph_type type, const int64_t *in, size_t n, void *out)
{
    switch (type) {
    case GRAPH_F32:
        STORE(float);
        break;
    case GRAPH_I64:
        STORE(int64_t);
        break;
    case GRAPH_I32:
        STORE(int32_t);
        break;
    case GRAPH_I16:
        STORE(int16_t);
        break;
    case GRAPH_I8:
        STORE(int8_t);
        break;
    case GRAPH_U8:
        STORE(uint8_t);
        break;
    case GRAPH_F16:
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)out)[i] = mathf_to_f16((float)in[i]);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            ((uint8_t *)out)[i] = in[i] != 0;
        break;
    }
}

/* Limits are floats: 2^31 and 2^63 themselves do not fit. */
#define TRUNCATE(T, LOW, HIGH)                                                                                         \
    for (size_t i = 0; i < n; i++)                                                                                     \
    ((T *)out)[i] = in[i] != in[i] ? 0 : in[i] <= (float)(LOW) ? (LOW) : in[i] >= (float)(HIGH) ? (HIGH) : (T)in[i]

static void store_floats(graph_type type, const float *in, size_t n, void *out)
{
    switch (type) {
    case GRAPH_F32:
        memcpy(out, in, n * sizeof *in);
        break;
    case GRAPH_I64:
        TRUNCATE(int64_t, INT64_MIN, INT64_MAX);
        break;
    case GRAPH_I32:
        TRUNCATE(int32_t, INT32_MIN, INT32_MAX);
        break;
    case GRAPH_I16:
        TRUNCATE(int16_t, INT16_MIN, INT16_MAX);
        break;
    case GRAPH_I8:
        TRUNCATE(int8_t, INT8_MIN, INT8_MAX);
        break;
    case GRAPH_U8:
        TRUNCATE(uint8_t, 0, UINT8_MAX);
        break;
    case GRAPH_F16:
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)out)[i] = mathf_to_f16(in[i]);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            ((uint8_t *)out)[i] = in[i] != 0.0f;
        break;
    }
}

static void convert(const vec_kernels *k, graph_type from, graph_type to, const unsigned char *in, unsigned char *out,
                    size_t n)
{
    union {
        int64_t integers[BLOCK];
        float floats[BLOCK];
    } block;
    const size_t in_bytes = op_element_bytes(from), out_bytes = op_element_bytes(to);
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t m = n - i < BLOCK ? n - i : BLOCK;
        if (is_float(from)) {
            if (from == GRAPH_F16)
                k->f16_to_f32((const uint16_t *)(const void *)(in + i * in_bytes), block.floats, m);
            else
                memcpy(block.floats, in + i * in_bytes, m * sizeof(float));
            store_floats(to, block.floats, m, out + i * out_bytes);
        } else {
            load_integers(from, in + i * in_bytes, m, block.integers);
            store_integers(to, block.integers, m, out + i * out_bytes);
        }
    }
}

static void run_cast(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_type from = c->inputs[0].tensor->type, to = c->outputs[0].tensor->type;
    while (op_next(it))
        convert(&c->kernels->vec, from, to,
                (const unsigned char *)op_input(c, 0, it->row) + it->i0 * op_element_bytes(from),
                (unsigned char *)op_output(c, 0, it->row) + it->i0 * op_element_bytes(to), it->i1 - it->i0);
}

static double cost_convert(const op_call *c)
{
    (void)c;
    return 3;
}

const op_kernel op_kernel_cast = {check_cast, op_items_elements, cost_convert, run_cast, NULL};

static lithe_status check_dequantize(const op_call *c, lithe_error *err)
{
    const graph_tensor *x = c->inputs[0].tensor;
    if (c->outputs[0].tensor->type != GRAPH_F32)
        return op_refuse(c, err, "only to f32");
    if (x->type == GRAPH_F16)
        return LITHE_OK;
    if ((x->type != GRAPH_I8 && x->type != GRAPH_I4) || !x->scales ||
        (x->quant != GRAPH_QUANT_TENSOR && x->quant != GRAPH_QUANT_CHANNEL))
        return op_refuse(c, err, "only f16, and i8 or i4 with one scale or one per channel");
    return LITHE_OK;
}

/* Elements that follow one another with the same scale. */
static uint64_t scale_run(const graph_tensor *x)
{
    return x->quant == GRAPH_QUANT_TENSOR ? (x->elements ? x->elements : 1) : op_product(x, x->quant_axis + 1, x->rank);
}

static void run_dequantize(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const graph_tensor *x = c->inputs[0].tensor;
    if (x->type == GRAPH_F16) {
        run_cast(c, it, NULL);
        return;
    }
    const uint64_t inner = scale_run(x);
    while (op_next(it)) {
        const int8_t *in = op_input(c, 0, it->row);
        float *out = op_output(c, 0, it->row);
        for (uint64_t i = it->i0; i < it->i1; i++) {
            const float scale = x->scales[i / inner % x->n_scales];
            const int q = x->type == GRAPH_I8 ? in[i] : (int8_t)((unsigned)in[i / 2] << (i % 2 ? 0 : 4)) >> 4;
            out[i] = (float)q * scale;
        }
    }
}

const op_kernel op_kernel_dequantize = {check_dequantize, op_items_elements, cost_convert, run_dequantize, NULL};

static lithe_status check_quantize(const op_call *c, lithe_error *err)
{
    const graph_tensor *y = c->outputs[0].tensor;
    if (c->inputs[0].tensor->type != GRAPH_F32 || y->type != GRAPH_I8 || y->quant != GRAPH_QUANT_TENSOR || !y->scales)
        return op_refuse(c, err, "only f32 to i8 with one scale");
    return LITHE_OK;
}

static void run_quantize(const op_call *c, op_iter *it, void *scratch)
{
    (void)scratch;
    const float scale = c->outputs[0].tensor->scales[0];
    while (op_next(it)) {
        const float *in = op_input(c, 0, it->row);
        int8_t *out = op_output(c, 0, it->row);
        for (uint64_t i = it->i0; i < it->i1; i++) {
            const float q = rintf(in[i] / scale);
            out[i] = q != q ? 0 : q <= -128.0f ? -128 : q >= 127.0f ? 127 : (int8_t)q;
        }
    }
}

const op_kernel op_kernel_quantize = {check_quantize, op_items_elements, cost_convert, run_quantize, NULL};
