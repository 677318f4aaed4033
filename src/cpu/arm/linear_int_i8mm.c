/* Quantised linears with SMMLA, two tokens against two rows at once; single tokens go through SDOT. */
#include <arm_neon.h>
#include <stdbool.h>

#define INT_NAME(kind) linear_##kind##_i8mm
#define INT_TOKENS     8
#define INT_PAIRS

static inline int32x4_t dot16(int32x4_t acc, int8x16_t q, int8x16_t w, bool any)
{
    (void)any;
    return vdotq_s32(acc, q, w);
}

static inline int32x4_t dot_pairs(int32x4_t acc, int8x16_t q, int8x16_t w)
{
    return vmmlaq_s32(acc, q, w);
}

#include "cpu/arm/linear_int_neon.h"
