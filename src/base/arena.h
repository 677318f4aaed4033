/* A bump allocator: many small objects with one lifetime. Not thread-safe. */
#ifndef LITHE_BASE_ARENA_H
#define LITHE_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct arena_block arena_block;
typedef struct arena {
    arena_block *blocks; /* newest first */
    size_t block_bytes;  /* size of the next block */
    size_t total_bytes;  /* allocated from the system */
} arena;

/* An empty arena; allocates nothing yet. first_block_bytes 0: 16 KiB. */
void arena_init(arena *a, size_t first_block_bytes);
/* Frees everything; the arena is as after arena_init. */
void arena_fini(arena *a);
/* Zeroed memory, aligned to 16 bytes; NULL if n * size overflows or memory is out. n * size may be 0 (non-NULL result). */
void *arena_alloc(arena *a, size_t n, size_t size);
/* Copy of `bytes` bytes plus a terminating 0. NULL when out of memory. */
char *arena_strndup(arena *a, const char *s, size_t bytes);

#define ARENA_NEW(a, type)      ((type *)arena_alloc((a), 1, sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_alloc((a), (n), sizeof(type)))

#endif
