/* Half precision and bfloat16 as storage: to float exactly for every value, NaN stays NaN. */
#ifndef LITHE_BASE_F16_H
#define LITHE_BASE_F16_H

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

/* Rounded to nearest, ties to even; magnitudes from 65520 on become infinite, NaN stays NaN. */
static inline uint16_t f16_from_float(float f)
{
    uint32_t bits, magnitude;
    memcpy(&bits, &f, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return sign | 0x7e00u;
    if (magnitude >= 0x477ff000u)
        return sign | 0x7c00u;
    if (magnitude <
        0x38800000u) { /* below 2^-14: adding 0.5 leaves the multiple of 2^-24 in the low bits, rounded to even */
        float scaled;
        memcpy(&scaled, &magnitude, sizeof scaled);
        scaled += 0.5f;
        memcpy(&magnitude, &scaled, sizeof magnitude);
        return (uint16_t)(sign | (magnitude - 0x3f000000u));
    }
    return (uint16_t)(sign | ((magnitude + 0xfffu + (magnitude >> 13 & 1u) - (112u << 23)) >> 13));
}

/* The float nearest to f that bfloat16 has, ties to even; infinities and NaN as they are. */
static inline float bf16_round(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if ((bits & 0x7f800000u) != 0x7f800000u)
        bits = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline float bf16_to_float(uint16_t h)
{
    const uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

#endif
