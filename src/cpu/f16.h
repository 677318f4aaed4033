/* Half-precision storage to float: exact for every value, NaN stays NaN. */
#ifndef LITHE_CPU_F16_H
#define LITHE_CPU_F16_H

#include <stdint.h>
#include <string.h>

static inline float f16_to_float(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    const uint32_t magnitude = h & 0x7fffu;
    uint32_t bits;
    float f;
    if (magnitude < 0x0400u) { /* zero and subnormals: a multiple of 2^-24 */
        f = (float)magnitude * 0x1p-24f;
        return sign ? -f : f;
    }
    bits = sign | ((magnitude << 13) + (magnitude < 0x7c00u ? 112u << 23 : 224u << 23));
    if (magnitude > 0x7c00u)
        bits |= 1u << 22; /* quiet */
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline float f16_load(const void *p)
{
    uint16_t h;
    memcpy(&h, p, sizeof h);
    return f16_to_float(h);
}

/* A block scale as the reference uses it: fp16 rounded to bfloat16, ties to even (docs/numerics.md, QB4). */
static inline float f16_load_scale(const void *p)
{
    float f = f16_load(p);
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if ((bits & 0x7f800000u) != 0x7f800000u)
        bits = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
    memcpy(&f, &bits, sizeof f);
    return f;
}

#endif
