/* What the kernel harness's programs share: the instruction sets to try, random data, memory that ends at a forbidden page, comparing bits,
 * and timing for --bench. */
#ifndef LITHE_TESTS_CPU_KERNELS_CHECK_H
#define LITHE_TESTS_CPU_KERNELS_CHECK_H

#define _GNU_SOURCE
#include "base/cpuinfo.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* Feature masks worth trying on this machine, C not among them. Returns how many. */
static inline size_t check_isas(uint32_t out[8])
{
    static const uint32_t levels[] = {
        CPU_AVX2, CPU_AVX2 | CPU_AVXVNNI, CPU_AVX2 | CPU_AVX512VNNI,
        CPU_NEON, CPU_NEON | CPU_DOTPROD, CPU_NEON | CPU_DOTPROD | CPU_I8MM,
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if ((levels[i] & ~cpu_features_seen()) == 0)
            out[n++] = levels[i];
    return n;
}

static inline const char *check_isa_name(uint32_t features)
{
    static char names[64];
    cpu_features_describe(features, names, sizeof names);
    return names;
}

typedef struct check_rng {
    uint64_t state;
} check_rng;

static inline uint32_t check_random(check_rng *r)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->state >> 33) ^ (uint32_t)(r->state >> 17 & 0x7fff);
}

/* -1 .. 1 */
static inline float check_uniform(check_rng *r)
{
    return (float)(check_random(r) & 0xffffff) * 0x1p-23f - 1.0f;
}

/* Memory whose last byte is followed by a page that nobody may touch. */
typedef struct check_memory {
    void *map;
    size_t map_bytes;
    void *p;
} check_memory;

static inline check_memory check_alloc(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page + page;
    check_memory m = {.map_bytes = whole + page};
    m.map = mmap(NULL, m.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m.map == MAP_FAILED || mprotect((char *)m.map + whole, page, PROT_NONE) != 0)
        fail_msg("no memory for %zu bytes", bytes);
    m.p = (char *)m.map + whole - bytes;
    return m;
}

static inline void check_free(check_memory *m)
{
    munmap(m->map, m->map_bytes);
    m->map = NULL;
}

/* The same bits, or both NaN. */
static inline bool check_same(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

/* This thread's own time, so that a busy machine does not show in --bench. */
static inline double check_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
