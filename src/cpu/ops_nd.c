/* Index spaces: broadcasting, transposing, slicing and tiling as strides. */
#include "cpu/ops_impl.h"

#include <string.h>

void nd_broadcast(nd_space *s, uint32_t rank, const int32_t *dims, uint32_t n_operands,
                  const graph_tensor *const *operands)
{
    *s = (nd_space){.rank = rank, .n_operands = n_operands};
    for (uint32_t d = 0; d < rank; d++)
        s->dims[d] = (uint64_t)dims[d];
    for (uint32_t k = 0; k < n_operands; k++) {
        int64_t stride = 1;
        for (uint32_t j = 1; j <= operands[k]->rank && j <= rank; j++) {
            const int32_t dim = operands[k]->dims[operands[k]->rank - j];
            s->strides[k][rank - j] = dim == 1 ? 0 : stride;
            stride *= dim;
        }
    }
    nd_merge(s);
}

static bool mergeable(const nd_space *s, uint32_t a, uint32_t b)
{
    for (uint32_t k = 0; k < s->n_operands; k++)
        if (s->strides[k][a] != s->strides[k][b] * (int64_t)s->dims[b])
            return false;
    return true;
}

void nd_merge(nd_space *s)
{
    uint32_t n = 0; /* axes kept so far; an axis of one element goes */
    for (uint32_t d = 0; d < s->rank; d++) {
        if (s->dims[d] == 1)
            continue;
        const bool merge = n > 0 && mergeable(s, n - 1, d);
        const uint32_t to = merge ? n - 1 : n;
        s->dims[to] = merge ? s->dims[to] * s->dims[d] : s->dims[d];
        for (uint32_t k = 0; k < s->n_operands; k++)
            s->strides[k][to] = s->strides[k][d];
        n = to + 1;
    }
    if (n == 0) {
        s->dims[0] = 1;
        for (uint32_t k = 0; k < s->n_operands; k++)
            s->strides[k][0] = 0;
        n = 1;
    }
    s->rank = n;
}

void nd_begin(nd_walk *w, const nd_space *s, uint64_t i0, uint64_t i1)
{
    *w = (nd_walk){.space = s, .at = i0, .end = i1};
    uint64_t rest = i0;
    if (i0 >= i1)
        return;
    for (uint32_t d = s->rank; d-- > 0;) {
        w->index[d] = rest % s->dims[d];
        rest /= s->dims[d];
        for (uint32_t k = 0; k < s->n_operands; k++)
            w->offset[k] += (int64_t)w->index[d] * s->strides[k][d];
    }
}

bool nd_next(nd_walk *w)
{
    const nd_space *s = w->space;
    uint32_t d = s->rank - 1;
    if (w->run) { /* past the last run: carry into the axes before */
        w->at += w->run;
        for (uint32_t k = 0; k < s->n_operands; k++)
            w->offset[k] += (int64_t)w->run * s->strides[k][d];
        w->index[d] += w->run;
        while (d > 0 && w->index[d] == s->dims[d]) {
            w->index[d] = 0;
            w->index[d - 1]++;
            for (uint32_t k = 0; k < s->n_operands; k++)
                w->offset[k] += s->strides[k][d - 1] - (int64_t)s->dims[d] * s->strides[k][d];
            d--;
        }
    }
    if (w->at >= w->end)
        return false;
    const uint64_t left = s->dims[s->rank - 1] - w->index[s->rank - 1];
    w->run = left < w->end - w->at ? left : w->end - w->at;
    return true;
}

#define STRIDED(T)                                                                                                     \
    do {                                                                                                               \
        const T *from = src;                                                                                           \
        T *to = out;                                                                                                   \
        for (uint64_t i = 0; i < n; i++)                                                                               \
            to[i] = from[(int64_t)i * stride];                                                                         \
    } while (0)

static void copy_strided(const void *src, void *out, uint64_t n, int64_t stride, size_t element_bytes)
{
    if (stride == 1)
        memcpy(out, src, n * element_bytes);
    else if (element_bytes == 4)
        STRIDED(uint32_t);
    else if (element_bytes == 1)
        STRIDED(uint8_t);
    else if (element_bytes == 8)
        STRIDED(uint64_t);
    else
        STRIDED(uint16_t);
}

void nd_copy(const nd_space *s, size_t element_bytes, const void *src, void *out, uint64_t i0, uint64_t i1)
{
    const unsigned char *from = src;
    unsigned char *to = out;
    nd_walk w;
    for (nd_begin(&w, s, i0, i1); nd_next(&w);)
        copy_strided(from + w.offset[0] * (int64_t)element_bytes, to + (w.at - i0) * element_bytes, w.run,
                     nd_last_stride(s, 0), element_bytes);
}
