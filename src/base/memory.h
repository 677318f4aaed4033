/* Large aligned allocations: activations and states. */
#ifndef LITHE_BASE_MEMORY_H
#define LITHE_BASE_MEMORY_H

#include <stddef.h>

/* `bytes` bytes aligned to 64, contents undefined; NULL when out of memory. Free with memory_free. */
void *memory_alloc(size_t bytes);
/* The same, zeroed. */
void *memory_alloc_zeroed(size_t bytes);
void memory_free(void *p);

#endif
