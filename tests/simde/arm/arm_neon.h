/* Stands in for the compiler's arm_neon.h where src/cpu/arm is compiled for x86: SIMDe, and what its version here lacks. */
#ifndef LITHE_TESTS_SIMDE_ARM_NEON_H
#define LITHE_TESTS_SIMDE_ARM_NEON_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#include "cpu/f16.h"

#include <math.h>
#include <simde/arm/neon.h>

/* Two rows of eight bytes each against two others: { a0 b0, a0 b1, a1 b0, a1 b1 } added to acc. */
static inline int32x4_t simde_shim_mmla(int32x4_t acc, int8x16_t a, int8x16_t b)
{
    int32_t sums[4];
    int8_t x[16], y[16];
    vst1q_s32(sums, acc);
    vst1q_s8(x, a);
    vst1q_s8(y, b);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 8; j++)
            sums[i] += x[i / 2 * 8 + j] * y[i % 2 * 8 + j];
    return vld1q_s32(sums);
}
#define vmmlaq_s32 simde_shim_mmla

static inline float32x4_t simde_shim_div(float32x4_t a, float32x4_t b)
{
    float x[4], y[4];
    vst1q_f32(x, a);
    vst1q_f32(y, b);
    for (int i = 0; i < 4; i++)
        x[i] /= y[i];
    return vld1q_f32(x);
}
#define vdivq_f32 simde_shim_div

static inline float32x4_t simde_shim_sqrt(float32x4_t a)
{
    float x[4];
    vst1q_f32(x, a);
    for (int i = 0; i < 4; i++)
        x[i] = sqrtf(x[i]);
    return vld1q_f32(x);
}
#define vsqrtq_f32 simde_shim_sqrt

/* Four half floats are taken as four uint16_t. */
static inline float32x4_t simde_shim_from_half(uint16x4_t halves)
{
    uint16_t x[4];
    float y[4];
    vst1_u16(x, halves);
    for (int i = 0; i < 4; i++)
        y[i] = f16_to_float(x[i]);
    return vld1q_f32(y);
}
#define vcvt_f32_f16 simde_shim_from_half
#undef vreinterpret_f16_u8
#undef vreinterpret_f16_u16
#define vreinterpret_f16_u8          vreinterpret_u16_u8
#define vreinterpret_f16_u16(halves) (halves)

#endif
