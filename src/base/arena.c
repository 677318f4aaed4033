#include "base/arena.h"

#include "base/bytes.h"

#include <stdalign.h>
#include <stdlib.h>

enum { ALIGNMENT = 16, FIRST_BLOCK_BYTES = 16 * 1024, LARGEST_BLOCK_BYTES = 256 * 1024 };

struct arena_block {
    arena_block *next;
    size_t used, size; /* bytes of data */
    alignas(ALIGNMENT) uint8_t data[];
};

void arena_init(arena *a, size_t first_block_bytes)
{
    *a = (arena){.block_bytes = first_block_bytes ? first_block_bytes : FIRST_BLOCK_BYTES};
}

void arena_fini(arena *a)
{
    while (a->blocks) {
        arena_block *next = a->blocks->next;
        free(a->blocks);
        a->blocks = next;
    }
    arena_init(a, 0);
}

static arena_block *add_block(arena *a, size_t wanted)
{
    size_t size = wanted > a->block_bytes ? wanted : a->block_bytes;
    size_t total;
    if (!size_add(size, sizeof(arena_block), &total)) {
        return NULL;
    }
    arena_block *block = calloc(1, total);
    if (!block) {
        return NULL;
    }
    block->size = size;
    a->total_bytes += total;
    if (a->blocks && wanted > a->block_bytes) {
        /* An outsized object gets a block of its own; the block in use keeps its free space in front. */
        block->next = a->blocks->next;
        a->blocks->next = block;
        return block;
    }
    block->next = a->blocks;
    a->blocks = block;
    if (a->block_bytes < LARGEST_BLOCK_BYTES) {
        a->block_bytes *= 2;
    }
    return block;
}

void *arena_alloc(arena *a, size_t n, size_t size)
{
    size_t n_bytes;
    if (!size_mul(n, size, &n_bytes) || !size_add(n_bytes, ALIGNMENT - 1, &n_bytes)) {
        return NULL;
    }
    n_bytes &= ~(size_t)(ALIGNMENT - 1);
    arena_block *block = a->blocks;
    if (!block || block->size - block->used < n_bytes) {
        block = add_block(a, n_bytes);
        if (!block) {
            return NULL;
        }
    }
    void *result = block->data + block->used;
    block->used += n_bytes;
    return result;
}

char *arena_strndup(arena *a, const char *s, size_t n_bytes)
{
    size_t with_end;
    if (!size_add(n_bytes, 1, &with_end)) {
        return NULL;
    }
    char *copy = arena_alloc(a, with_end, 1);
    if (copy && n_bytes) {
        memcpy(copy, s, n_bytes);
    }
    return copy;
}
