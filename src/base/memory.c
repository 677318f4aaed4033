#define _POSIX_C_SOURCE 200809L
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#include <malloc.h>
#endif

enum { ALIGNMENT = 64 };

void *memory_alloc(size_t bytes)
{
    size_t rounded = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (rounded < bytes)
        return NULL;
    if (!rounded)
        rounded = ALIGNMENT;
#if defined(_WIN32)
    return _aligned_malloc(rounded, ALIGNMENT);
#else
    void *p = NULL;
    return posix_memalign(&p, ALIGNMENT, rounded) ? NULL : p;
#endif
}

void *memory_alloc_zeroed(size_t bytes)
{
    void *p = memory_alloc(bytes);
    if (p)
        memset(p, 0, bytes);
    return p;
}

void memory_free(void *p)
{
#if defined(_WIN32)
    _aligned_free(p);
#else
    free(p);
#endif
}
