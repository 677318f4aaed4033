/* Quantisation parameters of a tensor: symmetric ones only, per tensor, per channel or in blocks with fp16 scales. */
#include "graph/import.h"

#include <string.h>

static lithe_status refuse(importer *im, lithe_status code, const graph_tensor *t, const char *what)
{
    import_fail(im, code, GRAPH_NONE, NULL, "tensor '%s' (%s): %s", t->name, graph_type_name(t->type), what);
    error_tensor(im->err, "%s", t->name);
    return code;
}

static bool is_symmetric(const tflite_tensor *ft)
{
    int64_t any = 0;
    for (uint32_t i = 0; ft->zero_points && i < ft->n_scales; i++) {
        any |= ft->zero_points[i];
    }
    return any == 0;
}

/* scales: FLOAT16 [out, in / block] in another tensor of the subgraph. */
static lithe_status set_blocks(importer *im, import_frame *f, const tflite_tensor *ft, uint32_t index)
{
    graph_tensor *t = &im->g->tensors[index];
    if (ft->block_scales_tensor >= f->sg->n_tensors) {
        return refuse(im, LITHE_E_MODEL, t, "the tensor of block scales does not exist");
    }
    const tflite_tensor *s = &f->sg->tensors[ft->block_scales_tensor];
    if (ft->block_zero_points_tensor >= 0) {
        return refuse(im, LITHE_E_UNSUPPORTED, t, "blockwise zero points are not supported");
    }
    if (!t->data || t->rank != 2 || t->dims[1] % ft->block_size != 0) {
        return refuse(im, LITHE_E_MODEL, t,
                      "blockwise quantisation needs a constant matrix whose rows are whole blocks");
    }
    int32_t blocks = t->dims[1] / ft->block_size;
    uint64_t n = (uint64_t)t->dims[0] * (uint64_t)blocks;
    if (s->type != TFLITE_FLOAT16 || !s->data.data || s->rank != 2 || s->dims[0] != t->dims[0] ||
        s->dims[1] != blocks || s->data.size < n * 2) {
        return refuse(im, LITHE_E_MODEL, t, "block scales must be a constant f16 tensor with one scale for each block");
    }
    t->quant = GRAPH_QUANT_BLOCK;
    t->block = (uint32_t)ft->block_size;
    if ((uintptr_t)s->data.data % 2 == 0) {
        t->block_scales = (const uint16_t *)(const void *)s->data.data;
        return LITHE_OK;
    }
    uint16_t *copy = ARENA_ARRAY(im->g->arena, uint16_t, (size_t)n);
    if (!copy) {
        return error_memory(im->err, n * 2, "block scales");
    }
    memcpy(copy, s->data.data, (size_t)n * 2);
    t->block_scales = copy;
    return LITHE_OK;
}

lithe_status import_quant(importer *im, import_frame *f, const tflite_tensor *ft, uint32_t index)
{
    graph_tensor *t = &im->g->tensors[index];
    if (ft->block_size > 0) {
        if (t->type != GRAPH_I4 && t->type != GRAPH_I8) {
            return refuse(im, LITHE_E_UNSUPPORTED, t, "blockwise quantisation is supported for i4 and i8");
        }
        return set_blocks(im, f, ft, index);
    }
    /* Converters leave scales on float and index tensors too; they mean nothing there. */
    if (ft->n_scales == 0 || !ft->scales ||
        (t->type != GRAPH_I8 && t->type != GRAPH_I4 && t->type != GRAPH_I16 && t->type != GRAPH_U8)) {
        return LITHE_OK;
    }
    if (!is_symmetric(ft)) {
        return refuse(im, LITHE_E_UNSUPPORTED, t,
                      "asymmetric quantisation (a zero point other than 0) is not supported");
    }
    t->scales = ft->scales;
    t->n_scales = ft->n_scales;
    t->quant = GRAPH_QUANT_TENSOR;
    if (ft->n_scales > 1) {
        if (ft->quantized_dimension < 0 || (uint32_t)ft->quantized_dimension >= t->rank ||
            (uint32_t)t->dims[ft->quantized_dimension] != ft->n_scales) {
            return refuse(im, LITHE_E_MODEL, t, "the number of scales is not the size of the quantised dimension");
        }
        t->quant = GRAPH_QUANT_CHANNEL;
        t->quant_axis = (uint32_t)ft->quantized_dimension;
    }
    return LITHE_OK;
}
