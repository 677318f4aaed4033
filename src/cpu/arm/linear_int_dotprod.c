/* Quantised linears with SDOT: four products each to 32 bits. */
#include <arm_neon.h>
#include <stdbool.h>

#define INT_NAME(kind) linear_##kind##_dotprod
#define INT_TOKENS     4

static inline int32x4_t dot16(int32x4_t acc, int8x16_t q, int8x16_t w, bool any)
{
    (void)any;
    return vdotq_s32(acc, q, w);
}

static inline int32x4_t dot_fours(int8x16_t q, int8x16_t w)
{
    return vdotq_s32(vdupq_n_s32(0), q, w);
}

#include "cpu/arm/linear_int_neon.h"
