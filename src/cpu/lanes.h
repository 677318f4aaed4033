/* Sixteen virtual lanes: how every float sum of the library is ordered (docs/numerics.md). Element i goes to lane i mod 16, lanes start
 * at +0 and take their elements in index order, and one tree joins them:
 *   step 1: l[i] + l[i + 8], i < 8    step 2: l[i] + l[i + 4], i < 4    step 3: l[i] + l[i + 2], i < 2    step 4: l[0] + l[1]
 * A length that is no multiple of 16 is padded with +0 (a product's both factors are), so that vector code may work on zeroed tails:
 * a lane of -0 becomes +0 there. x86/lanes_avx2.h and the NEON code do the same with registers. */
#ifndef LITHE_CPU_LANES_H
#define LITHE_CPU_LANES_H

#include <math.h>
#include <stddef.h>

enum { LANES = 16 };

/* Steps 2 to 4, which also join sums of eight lanes. */
static inline float lanes_join8(const float l[8])
{
    const float a0 = l[0] + l[4], a1 = l[1] + l[5], a2 = l[2] + l[6], a3 = l[3] + l[7];
    return (a0 + a2) + (a1 + a3);
}

static inline float lanes_join(const float l[LANES])
{
    float s[8];
    for (int i = 0; i < 8; i++)
        s[i] = l[i] + l[i + 8];
    return lanes_join8(s);
}

/* sum of x[i] */
static inline float lanes_sum(const float *x, size_t n)
{
    float l[LANES] = {0};
    for (size_t i = 0; i < n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            l[j] += i + j < n ? x[i + j] : 0.0f;
    return lanes_join(l);
}

/* sum of a[i] * b[i], each product fused into its lane */
static inline float lanes_dot(const float *a, const float *b, size_t n)
{
    float l[LANES] = {0};
    for (size_t i = 0; i < n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            l[j] = i + j < n ? fmaf(a[i + j], b[i + j], l[j]) : l[j] + 0.0f;
    return lanes_join(l);
}

#endif
