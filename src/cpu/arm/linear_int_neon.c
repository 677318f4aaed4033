/* Quantised linears with NEON's multiplications to 16 bits. */
#include <arm_neon.h>
#include <stdbool.h>

#define INT_NAME(kind) linear_##kind##_neon
#define INT_TOKENS     4

/* Two products of 128 * 127 fit into 16 bits, two of 128 * 128 do not. */
static inline int32x4_t dot16(int32x4_t acc, int8x16_t q, int8x16_t w, bool any)
{
    const int16x8_t low = vmull_s8(vget_low_s8(q), vget_low_s8(w));
    if (any)
        return vpadalq_s16(vpadalq_s16(acc, low), vmull_s8(vget_high_s8(q), vget_high_s8(w)));
    return vpadalq_s16(acc, vmlal_s8(low, vget_high_s8(q), vget_high_s8(w)));
}

static inline int32x4_t dot_fours(int8x16_t q, int8x16_t w)
{
    return vpaddlq_s16(
        vpaddq_s16(vmull_s8(vget_low_s8(q), vget_low_s8(w)), vmull_s8(vget_high_s8(q), vget_high_s8(w))));
}

#include "cpu/arm/linear_int_neon.h"
