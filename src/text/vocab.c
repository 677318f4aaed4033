#include "text/vocab.h"

#include <stdlib.h>

/* No vocabulary that was not made for it probes this far in a table at most half full. */
enum { MAX_PROBES = 4096 };

lithe_status vocab_init(vocab *v, bytes text, uint32_t n, lithe_error *err)
{
    *v = (vocab){.text = text, .n = n};
    buffer_init(&v->extra);
    if (text.size > INT32_MAX)
        return error_set(err, LITHE_E_UNSUPPORTED, "the tokenizer has %zu bytes: 2 GiB and more are not supported",
                         text.size);
    v->start = calloc((size_t)n + 1, sizeof *v->start);
    v->length = calloc((size_t)n + 1, sizeof *v->length);
    if (!v->start || !v->length)
        return error_memory(err, (uint64_t)n * 8, "the vocabulary");
    return LITHE_OK;
}

void vocab_fini(vocab *v)
{
    free(v->start);
    free(v->length);
    buffer_fini(&v->extra);
    *v = (vocab){0};
}

size_t vocab_memory(const vocab *v)
{
    return ((size_t)v->n + 1) * (sizeof *v->start + sizeof *v->length) + v->extra.capacity;
}

void vocab_set_borrowed(vocab *v, uint32_t id, bytes piece)
{
    v->start[id] = (uint32_t)(piece.data - v->text.data);
    v->length[id] = (uint32_t)piece.size;
}

lithe_status vocab_set_copied(vocab *v, uint32_t id, bytes piece, lithe_error *err)
{
    size_t at = v->extra.size;
    if (at + piece.size > INT32_MAX)
        return error_set(err, LITHE_E_UNSUPPORTED, "the vocabulary's escaped pieces take 2 GiB and more");
    buffer_append(&v->extra, piece.data, piece.size);
    if (buffer_failed(&v->extra))
        return error_memory(err, at + piece.size, "the vocabulary's escaped pieces");
    v->start[id] = (uint32_t)(v->text.size + at);
    v->length[id] = (uint32_t)piece.size;
    return LITHE_OK;
}

lithe_status vocab_index_init(vocab_index *x, size_t n_pieces, lithe_error *err)
{
    size_t n_slots = 16;
    while (n_slots / 2 <= n_pieces)
        n_slots *= 2;
    x->slots = calloc(n_slots, sizeof *x->slots);
    x->mask = n_slots - 1;
    x->n = 0;
    return x->slots ? LITHE_OK : error_memory(err, n_slots * sizeof *x->slots, "the vocabulary's index");
}

void vocab_index_fini(vocab_index *x)
{
    free(x->slots);
    *x = (vocab_index){0};
}

size_t vocab_index_memory(const vocab_index *x)
{
    return x->slots ? (x->mask + 1) * sizeof *x->slots : 0;
}

uint64_t vocab_hash(bytes piece)
{
    uint64_t h = VOCAB_HASH_SEED;
    size_t i = 0;
    for (; piece.size - i >= 8; i += 8)
        h = vocab_hash_block(h, piece.data + i);
    return vocab_hash_end(h, piece.data + i, piece.size - i, piece.size);
}

static uint32_t slot_tag(uint64_t hash)
{
    return (uint32_t)(hash >> 56) << 24;
}
static uint32_t slot_id(uint32_t slot)
{
    return (slot & 0xffffff) - 1;
}

static bool slot_holds(uint32_t slot, const vocab *v, bytes piece, uint32_t tag)
{
    if ((slot & 0xff000000) != tag)
        return false;
    bytes held = vocab_piece(v, slot_id(slot));
    return held.size == piece.size && memcmp(held.data, piece.data, piece.size) == 0;
}

/* The same pieces in a table twice as large. */
static bool grow(vocab_index *x, const vocab *v)
{
    vocab_index bigger = {.slots = calloc((x->mask + 1) * 2, sizeof *x->slots), .mask = x->mask * 2 + 1, .n = x->n};
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i <= x->mask; i++) {
        if (!x->slots[i])
            continue;
        size_t at = (size_t)vocab_hash(vocab_piece(v, slot_id(x->slots[i]))) & bigger.mask;
        while (bigger.slots[at])
            at = (at + 1) & bigger.mask;
        bigger.slots[at] = x->slots[i];
    }
    free(x->slots);
    *x = bigger;
    return true;
}

static vocab_added add_hashed(vocab_index *x, const vocab *v, uint32_t id, uint64_t hash, int32_t *older)
{
    bytes piece = vocab_piece(v, id);
    uint32_t tag = slot_tag(hash);
    size_t at = (size_t)hash & x->mask;
    for (int probes = 0; x->slots[at]; at = (at + 1) & x->mask) {
        if (slot_holds(x->slots[at], v, piece, tag)) {
            *older = (int32_t)slot_id(x->slots[at]);
            x->slots[at] = tag | (id + 1);
            return VOCAB_REPEATED;
        }
        if (++probes > MAX_PROBES)
            return VOCAB_COLLIDES;
    }
    x->slots[at] = tag | (id + 1);
    x->n++;
    return VOCAB_ADDED;
}

vocab_added vocab_index_add(vocab_index *x, const vocab *v, uint32_t id, int32_t *older)
{
    if (x->n * 2 > x->mask && !grow(x, v))
        return VOCAB_NO_MEMORY;
    return add_hashed(x, v, id, vocab_hash(vocab_piece(v, id)), older);
}

vocab_added vocab_index_add_batch(vocab_index *x, const vocab *v, const uint32_t *ids, size_t n, size_t *at,
                                  int32_t *older)
{
    uint64_t hashes[VOCAB_BATCH];
    vocab_added result = VOCAB_ADDED;
    for (size_t first = 0; first < n && result == VOCAB_ADDED; first += VOCAB_BATCH) {
        size_t count = n - first < VOCAB_BATCH ? n - first : VOCAB_BATCH;
        *at = first;
        while ((x->n + count) * 2 > x->mask) {
            if (!grow(x, v))
                return VOCAB_NO_MEMORY;
        }
        for (size_t i = 0; i < count; i++) {
            hashes[i] = vocab_hash(vocab_piece(v, ids[first + i]));
            __builtin_prefetch(&x->slots[hashes[i] & x->mask], 1);
        }
        for (size_t i = 0; i < count && result == VOCAB_ADDED; i++) {
            *at = first + i;
            result = add_hashed(x, v, ids[first + i], hashes[i], older);
        }
    }
    return result;
}

int32_t vocab_index_find_hashed(const vocab_index *x, const vocab *v, bytes piece, uint64_t hash)
{
    uint32_t tag = slot_tag(hash);
    for (size_t at = (size_t)hash & x->mask; x->slots[at]; at = (at + 1) & x->mask) {
        if (slot_holds(x->slots[at], v, piece, tag))
            return (int32_t)slot_id(x->slots[at]);
    }
    return -1;
}

int32_t vocab_index_find(const vocab_index *x, const vocab *v, bytes piece)
{
    return piece.size ? vocab_index_find_hashed(x, v, piece, vocab_hash(piece)) : -1;
}
