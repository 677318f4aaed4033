/* The merge loop that both kinds of byte-pair encoding share: of all neighbours that may merge, the pair of lowest rank does, the
 * leftmost first. O(n log n) with a heap whose stale entries are recognised when they come up. */
#ifndef LITHE_TEXT_BPE_H
#define LITHE_TEXT_BPE_H

#include "base/error.h"

typedef struct bpe_symbol {
    uint32_t start, length; /* in the text; length 0: merged away */
    int32_t id;             /* piece, or BPE_NO_PIECE, BPE_FROZEN */
    int32_t prev, next;     /* neighbours, -1 at the ends */
} bpe_symbol;
enum { BPE_NO_PIECE = -1, BPE_FROZEN = -2 };

typedef struct bpe_entry {
    uint64_t key;    /* rank << 32 | index of the left symbol */
    uint32_t length; /* of the merged symbol: tells whether the entry is stale */
    int32_t id;
} bpe_entry;

/* Symbols of one text and the heap; zero-initialise, reuse for many texts. */
typedef struct bpe_work {
    bpe_symbol *symbols;
    size_t n, capacity;
    bpe_entry *heap;
    size_t n_heap, heap_capacity;
} bpe_work;
void bpe_work_fini(bpe_work *w);

/* Empties the work; then symbols are added from left to right. */
void bpe_reset(bpe_work *w);
lithe_status bpe_add(bpe_work *w, uint32_t start, uint32_t length, int32_t id, lithe_error *err);

/* Whether two neighbours merge, and into what. */
typedef bool (*bpe_pair_fn)(void *user, const bpe_symbol *left, const bpe_symbol *right, uint32_t *rank, int32_t *id);
/* Merges until nothing merges. Symbol 0 stays the first; follow `next`. */
lithe_status bpe_merge(bpe_work *w, bpe_pair_fn pair, void *user, lithe_error *err);

#endif
