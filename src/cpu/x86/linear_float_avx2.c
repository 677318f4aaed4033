/* Linears on float activations and embedding rows on AVX2: two registers hold the sixteen lanes. */
#include "cpu/f16.h"
#include "cpu/x86/lanes16_avx2.h"

#define FLT_NAME(kind) linear_##kind##_avx2
#define FLT_ROWS       2
#define FLT_TOKENS     3

#include "cpu/x86/linear_float_lanes.h"

static void scale_values(float *x, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= scale;
}

void linear_embedding_row_avx2(const linear_weights *w, uint32_t id, float *out)
{
    const unsigned char *row = linear_row(w, id);
    switch (w->kind) {
    case LINEAR_F32:
        widen_row(LINEAR_F32, row, w->k, out);
        return;
    case LINEAR_F16:
        widen_row(LINEAR_F16, row, w->k, out);
        return;
    case LINEAR_WO8:
    case LINEAR_QC8:
        widen_row(LINEAR_WO8, row, w->k, out);
        break;
    default:
        widen_row(LINEAR_WO4, row, w->k, out);
    }
    if (w->kind == LINEAR_QB4) {
        const unsigned char *scales = (const unsigned char *)w->block_scales + (size_t)id * (w->k / w->block) * 2;
        for (uint32_t i = 0; i < w->k / w->block; i++)
            scale_values(out + (size_t)i * w->block, w->block, f16_load(scales + 2 * (size_t)i));
    } else if (w->scales) {
        scale_values(out, w->k, linear_scale(w, id));
    }
}
