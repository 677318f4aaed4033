#include "text/bpe.h"

#include <stdlib.h>

void bpe_work_fini(bpe_work *w)
{
    free(w->symbols);
    free(w->heap);
    *w = (bpe_work){0};
}

void bpe_reset(bpe_work *w)
{
    w->n = 0;
    w->n_heap = 0;
}

/* Makes room for one more element; the array and its capacity stay as they are if memory is out. */
static void *room_for_one(void *array, size_t n, size_t *capacity, size_t size, lithe_error *err)
{
    if (n < *capacity)
        return array;
    size_t wanted = *capacity ? *capacity * 2 : 64;
    void *grown = wanted > SIZE_MAX / 2 / size ? NULL : realloc(array, wanted * size);
    if (!grown) {
        error_memory(err, (uint64_t)wanted * size, "tokenizing");
        return NULL;
    }
    *capacity = wanted;
    return grown;
}

lithe_status bpe_add(bpe_work *w, uint32_t start, uint32_t length, int32_t id, lithe_error *err)
{
    bpe_symbol *symbols = room_for_one(w->symbols, w->n, &w->capacity, sizeof *symbols, err);
    if (!symbols)
        return LITHE_E_MEMORY;
    w->symbols = symbols;
    int32_t at = (int32_t)w->n++;
    symbols[at] = (bpe_symbol){start, length, id, at - 1, -1};
    if (at)
        symbols[at - 1].next = at;
    return LITHE_OK;
}

static lithe_status heap_push(bpe_work *w, bpe_entry e, lithe_error *err)
{
    bpe_entry *heap = room_for_one(w->heap, w->n_heap, &w->heap_capacity, sizeof *heap, err);
    if (!heap)
        return LITHE_E_MEMORY;
    w->heap = heap;
    size_t i = w->n_heap++;
    while (i && heap[(i - 1) / 2].key > e.key) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = e;
    return LITHE_OK;
}

static bpe_entry heap_pop(bpe_work *w)
{
    bpe_entry *heap = w->heap, top = heap[0], last = heap[--w->n_heap];
    size_t n = w->n_heap, i = 0;
    for (size_t child = 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && heap[child + 1].key < heap[child].key)
            child++;
        if (heap[child].key >= last.key)
            break;
        heap[i] = heap[child];
        i = child;
    }
    if (n)
        heap[i] = last;
    return top;
}

static lithe_status consider(bpe_work *w, int32_t left, int32_t right, bpe_pair_fn pair, void *user, lithe_error *err)
{
    if (left < 0 || right < 0)
        return LITHE_OK;
    const bpe_symbol *l = &w->symbols[left], *r = &w->symbols[right];
    uint32_t rank;
    int32_t id;
    if (!pair(user, l, r, &rank, &id))
        return LITHE_OK;
    return heap_push(w, (bpe_entry){(uint64_t)rank << 32 | (uint32_t)left, l->length + r->length, id}, err);
}

lithe_status bpe_merge(bpe_work *w, bpe_pair_fn pair, void *user, lithe_error *err)
{
    lithe_status st = LITHE_OK;
    for (size_t i = 1; i < w->n && !st; i++)
        st = consider(w, (int32_t)i - 1, (int32_t)i, pair, user, err);
    while (w->n_heap && !st) {
        bpe_entry e = heap_pop(w);
        int32_t at = (int32_t)(uint32_t)e.key;
        bpe_symbol *left = &w->symbols[at];
        /* Symbols only ever grow to the right, so the same left end and the same length are the same two symbols. */
        if (!left->length || left->next < 0)
            continue;
        bpe_symbol *right = &w->symbols[left->next];
        if (left->length + right->length != e.length)
            continue;
        left->length = e.length;
        left->id = e.id;
        right->length = 0;
        left->next = right->next;
        if (left->next >= 0)
            w->symbols[left->next].prev = at;
        st = consider(w, left->prev, at, pair, user, err);
        if (!st)
            st = consider(w, at, w->symbols[at].next, pair, user, err);
    }
    return st;
}
