/* Reading numbers from untrusted bytes, and arithmetic that notices overflow. Nothing here reads unaligned through a
 * typed pointer. All file numbers are little-endian. */
#ifndef LITHE_BASE_BYTES_H
#define LITHE_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A borrowed range of bytes. */
typedef struct bytes {
    const uint8_t *data;
    size_t size;
} bytes;

/* True and *out = a + b (a * b) unless it overflows. */
static inline bool u64_add(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}
static inline bool u64_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool size_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}
static inline bool size_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline uint64_t u64_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}
static inline uint64_t u64_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}
/* a / b rounded up, b > 0, a + b - 1 within range. */
static inline uint64_t u64_ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/* True if [offset, offset + n) lies inside b. */
static inline bool bytes_has(bytes b, uint64_t offset, uint64_t n)
{
    return offset <= b.size && n <= b.size - offset;
}

/* Little-endian loads from any address; the caller has checked the range. */
static inline uint16_t load_u16(const void *p)
{
    const uint8_t *b = (const uint8_t *)p;
    return (uint16_t)(b[0] | (b[1] << 8));
}
static inline uint32_t load_u32(const void *p)
{
    const uint8_t *b = (const uint8_t *)p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}
static inline uint64_t load_u64(const void *p)
{
    return (uint64_t)load_u32(p) | (uint64_t)load_u32((const uint8_t *)p + 4) << 32;
}
static inline float load_f32(const void *p)
{
    uint32_t u = load_u32(p);
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}
static inline void store_u16(void *p, uint16_t v)
{
    uint8_t *b = (uint8_t *)p;
    b[0] = (uint8_t)v, b[1] = (uint8_t)(v >> 8);
}
static inline void store_u32(void *p, uint32_t v)
{
    uint8_t *b = (uint8_t *)p;
    b[0] = (uint8_t)v, b[1] = (uint8_t)(v >> 8), b[2] = (uint8_t)(v >> 16), b[3] = (uint8_t)(v >> 24);
}
static inline void store_u64(void *p, uint64_t v)
{
    store_u32(p, (uint32_t)v);
    store_u32((uint8_t *)p + 4, (uint32_t)(v >> 32));
}

#endif
