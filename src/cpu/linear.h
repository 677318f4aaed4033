/* Linear layers: y[m][n] = sum_k x[m][k] * w[n][k] (+ bias[n]) with weights read as stored, and embedding lookup in the same tables.
 *
 * Weight kinds. w is [n][k] row-major in the map, never repacked or widened:
 *   F32, F16           floats; F16 converted on the fly
 *   WO8                int8 with per-channel scales, float activations: (sum_k x * (float)w) * scale[n]
 *   QC8, QC4           int8 / int4 per channel, activations dynamically quantised per row (design.md, CPU execution; docs/numerics.md)
 *   QB4                int4 in blocks along k with fp16 scales [n][k / block], activations dynamically quantised per row
 * WO4 (int4 weight-only) exists for embedding tables and linears behind DEQUANTIZE.
 *
 * Row sums for the zero point, and whether a row has -128, are found chunk by chunk when rows are first used (by whoever comes first; any
 * number of threads), never at open. Results are exact with -128 too; kernels whose fast way is not take another for such chunks. */
#ifndef LITHE_CPU_LINEAR_H
#define LITHE_CPU_LINEAR_H

#include "base/arena.h"
#include "base/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum linear_kind {
    LINEAR_F32,
    LINEAR_F16,
    LINEAR_WO8,
    LINEAR_WO4,
    LINEAR_QC8,
    LINEAR_QC4,
    LINEAR_QB4,
    LINEAR_KIND_COUNT
} linear_kind;
const char *linear_kind_name(linear_kind k); /* "f32", "f16", "wo8", … */

enum {
    LINEAR_SUM_CHUNK = 64, /* weight rows whose sums are made together */
    LINEAR_MAX_K = 65536   /* of the dynamic kinds: beyond it an int32 sum may overflow, callers refuse it */
};

typedef struct linear_weights {
    linear_kind kind;
    uint32_t n, k;       /* output features, input features */
    const void *w;       /* borrowed, any alignment */
    size_t row_bytes;    /* k * size, INT4: k / 2 (k must be even) */
    const float *scales; /* per channel [n] or, with n_scales == 1, one for all; NULL for floats and blocks */
    uint32_t n_scales;
    const uint16_t *block_scales; /* QB4: fp16 [n][k / block] */
    uint32_t block;               /* QB4: multiple of 32 */
    const float *bias;            /* [n] or NULL */
    int32_t *row_sums;            /* QC8, QC4: [n], filled lazily; other kinds: NULL */
    _Atomic unsigned char *
        chunk_state; /* [ceil(n / LINEAR_SUM_CHUNK)]: 0 unknown, 1 being made, 2 ready, 3 ready and has -128; NULL without row_sums */
} linear_weights;

/* One row of quantised activations (docs/numerics.md, dynamic quantisation). */
typedef struct linear_qrow {
    float scale;
    int32_t zero_point;
    int32_t sum; /* sum of q */
    int32_t pad;
} linear_qrow;

/* Activations of m rows for one linear call. */
typedef struct linear_input {
    uint32_t m;
    const float *x; /* [m] rows, x_stride floats apart */
    size_t x_stride;
    const int8_t
        *q; /* quantised kinds: [m] rows of k, q_stride bytes apart (q_stride >= k rounded up to 64, tail zeroed) */
    size_t q_stride;
    const linear_qrow *qrows; /* [m] */
} linear_input;

typedef struct linear_kernels {
    const char *name[LINEAR_KIND_COUNT]; /* ISA of each kind's kernel: "c", "avx2", … */
    /* Quantises one row of k floats; writes q[0 .. k rounded up to 64), zero beyond k. NaN or infinite input gives scale NaN (the result
     * then is NaN). */
    void (*quantize_row)(const float *x, uint32_t k, int8_t *q, linear_qrow *row);
    /* y[m][n0 .. n1) for all rows of `in`; y rows are y_stride floats apart, y points to column 0. Called for disjoint ranges by several
     * threads. n0 is a multiple of LINEAR_SUM_CHUNK except where the caller's range starts at 0 columns; n1 likewise or == n. */
    void (*run[LINEAR_KIND_COUNT])(const linear_weights *w, const linear_input *in, float *y, size_t y_stride,
                                   uint32_t n0, uint32_t n1);
    /* out[0 .. k) = row `id` of the table, dequantised. id is in range. */
    void (*embedding_row)(const linear_weights *w, uint32_t id, float *out);
} linear_kernels;

void linear_kernels_init_c(linear_kernels *k);
void linear_kernels_init_x86(linear_kernels *k, uint32_t features);
void linear_kernels_init_arm(linear_kernels *k, uint32_t features);

/* Whether activations must be quantised for this kind. */
static inline bool linear_is_dynamic(linear_kind k)
{
    return k == LINEAR_QC8 || k == LINEAR_QC4 || k == LINEAR_QB4;
}
/* Allocates the lazily filled tables of `w` (fields above already set) from the heap; false when out of memory or when k is more than
 * LINEAR_MAX_K for a dynamic kind. */
bool linear_weights_init(linear_weights *w);
void linear_weights_fini(linear_weights *w);
/* Private bytes that linear_weights_init allocates for n rows. */
size_t linear_weights_memory(const linear_weights *w);
/* For kernels: sums of the (at most LINEAR_SUM_CHUNK) rows of a chunk, indexed from its first row. */
typedef struct linear_sums {
    const int32_t *sum;
    bool has_min; /* some int8 weight of the chunk is -128 */
} linear_sums;
/* Adds up one row and sets *has_min if a QC8 weight is -128, leaving it alone otherwise. */
typedef int32_t (*linear_sum_row)(const linear_weights *w, uint32_t row, bool *has_min);
/* The chunk's sums from the table, made now if nobody has, or made in `local` while another thread is making them. */
linear_sums linear_chunk_sums(const linear_weights *w, uint32_t chunk, linear_sum_row sum_row,
                              int32_t local[LINEAR_SUM_CHUNK]);
static inline size_t linear_q_stride(uint32_t k)
{
    return ((size_t)k + 63) & ~(size_t)63;
}

#endif
