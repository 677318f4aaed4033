/* Pieces by id and ids by piece: a table of offsets into the borrowed file (no copy of a piece, no allocation per piece) and
 * open-addressing indexes over it. */
#ifndef LITHE_TEXT_VOCAB_H
#define LITHE_TEXT_VOCAB_H

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/error.h"

typedef struct vocab {
    bytes text;       /* borrowed: where most pieces lie */
    buffer extra;     /* pieces that are not spelled out in the text (escapes); offsets from text.size on */
    uint32_t *start;  /* [n] */
    uint32_t *length; /* [n] bytes; 0: no such piece */
    uint32_t n;
} vocab;

/* The table for ids below n, all without a piece. Texts of 2 GiB and more are refused. */
lithe_status vocab_init(vocab *v, bytes text, uint32_t n, lithe_error *err);
void vocab_fini(vocab *v);
size_t vocab_memory(const vocab *v);
/* Gives id (below n) a piece that lies in the text, or one that is copied. */
void vocab_set_borrowed(vocab *v, uint32_t id, bytes piece);
lithe_status vocab_set_copied(vocab *v, uint32_t id, bytes piece, lithe_error *err);

static inline bytes vocab_piece(const vocab *v, uint32_t id)
{
    uint32_t at = v->start[id];
    if (!v->length[id])
        return (bytes){NULL, 0};
    const uint8_t *p = at < v->text.size ? v->text.data + at : v->extra.data + (at - v->text.size);
    return (bytes){p, v->length[id]};
}

/* Ids are below this: a slot of an index holds id + 1 in 24 bits. */
#define VOCAB_MAX_PIECES ((1u << 24) - 1)

/* An index over some of the pieces. A slot holds 8 bits of the hash and id + 1; 0 is empty. */
typedef struct vocab_index {
    uint32_t *slots;
    size_t mask, n;
} vocab_index;

typedef enum vocab_added { VOCAB_ADDED, VOCAB_REPEATED, VOCAB_COLLIDES, VOCAB_NO_MEMORY } vocab_added;

/* Room for n_pieces; more may come, at the price of making the table again. */
lithe_status vocab_index_init(vocab_index *x, size_t n_pieces, lithe_error *err);
void vocab_index_fini(vocab_index *x);
size_t vocab_index_memory(const vocab_index *x);
/* A repeated piece goes to the newer id and is reported, with the older id; pieces made so that their hashes collide are refused
 * rather than searched one by one. */
vocab_added vocab_index_add(vocab_index *x, const vocab *v, uint32_t id, int32_t *older);
/* The same for many pieces at once, several times as fast because the waits for memory overlap. Stops at the first that is not simply
 * added: *at says which. */
enum { VOCAB_BATCH = 32 };
vocab_added vocab_index_add_batch(vocab_index *x, const vocab *v, const uint32_t *ids, size_t n, size_t *at,
                                  int32_t *older);
/* -1 if no piece is spelled so. */
int32_t vocab_index_find(const vocab_index *x, const vocab *v, bytes piece);

/* The hash of a string, also while it grows: `state` covers all whole 8-byte blocks, vocab_hash_end adds the rest. */
#define VOCAB_HASH_SEED 0x9e3779b97f4a7c15u
static inline uint64_t vocab_hash_block(uint64_t state, const uint8_t *block)
{
    uint64_t h = (state ^ load_u64(block)) * 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}
static inline uint64_t vocab_hash_end(uint64_t state, const uint8_t *rest, size_t n_rest, size_t n)
{
    uint64_t tail = (uint64_t)n << 56;
    for (size_t i = 0; i < n_rest; i++)
        tail |= (uint64_t)rest[i] << 8 * i;
    uint64_t h = (state ^ tail) * 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    h *= 0xa0761d6478bd642fu;
    return h ^ h >> 29;
}
uint64_t vocab_hash(bytes piece);
int32_t vocab_index_find_hashed(const vocab_index *x, const vocab *v, bytes piece, uint64_t hash);

#endif
