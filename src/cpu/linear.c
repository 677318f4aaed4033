/* What all instruction sets share of linear layers: names, the lazily made row sums. */
#include "cpu/linear.h"

#include <stdlib.h>

const char *linear_kind_name(linear_kind k)
{
    static const char *const names[LINEAR_KIND_COUNT] = {"f32", "f16", "wo8", "wo4", "qc8", "qc4", "qb4"};
    return (unsigned)k < LINEAR_KIND_COUNT ? names[k] : "unknown";
}

static bool has_sums(const linear_weights *w)
{
    return w->kind == LINEAR_QC8 || w->kind == LINEAR_QC4;
}

static size_t n_chunks(const linear_weights *w)
{
    return ((size_t)w->n + LINEAR_SUM_CHUNK - 1) / LINEAR_SUM_CHUNK;
}

bool linear_weights_init(linear_weights *w)
{
    w->row_sums = NULL;
    w->chunk_state = NULL;
    if (linear_is_dynamic(w->kind) && w->k > LINEAR_MAX_K)
        return false;
    if (!has_sums(w))
        return true;
    w->row_sums = malloc(((size_t)w->n + 1) * sizeof *w->row_sums);
    w->chunk_state = malloc((n_chunks(w) + 1) * sizeof *w->chunk_state);
    if (!w->row_sums || !w->chunk_state) {
        linear_weights_fini(w);
        return false;
    }
    for (size_t i = 0; i < n_chunks(w); i++)
        atomic_init(&w->chunk_state[i], 0);
    return true;
}

void linear_weights_fini(linear_weights *w)
{
    free(w->row_sums);
    free((void *)w->chunk_state);
    w->row_sums = NULL;
    w->chunk_state = NULL;
}

size_t linear_weights_memory(const linear_weights *w)
{
    return has_sums(w) ? ((size_t)w->n + 1) * sizeof *w->row_sums + (n_chunks(w) + 1) * sizeof *w->chunk_state : 0;
}

linear_sums linear_chunk_sums(const linear_weights *w, uint32_t chunk, linear_sum_row sum_row,
                              int32_t local[LINEAR_SUM_CHUNK])
{
    enum { UNKNOWN, BEING_MADE, READY, READY_WITH_MIN };
    _Atomic unsigned char *state = &w->chunk_state[chunk];
    const uint32_t first = chunk * LINEAR_SUM_CHUNK;
    const uint32_t count = w->n - first < LINEAR_SUM_CHUNK ? w->n - first : LINEAR_SUM_CHUNK;
    unsigned char seen = atomic_load_explicit(state, memory_order_acquire);
    if (seen >= READY)
        return (linear_sums){w->row_sums + first, seen == READY_WITH_MIN};
    const bool mine = seen == UNKNOWN && atomic_compare_exchange_strong_explicit(
                                             state, &seen, BEING_MADE, memory_order_relaxed, memory_order_relaxed);
    int32_t *sums = mine ? w->row_sums + first : local;
    bool has_min = false;
    for (uint32_t i = 0; i < count; i++)
        sums[i] = sum_row(w, first + i, &has_min);
    if (mine)
        atomic_store_explicit(state, has_min ? READY_WITH_MIN : READY, memory_order_release);
    return (linear_sums){sums, has_min};
}
