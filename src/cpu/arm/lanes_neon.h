/* The sixteen lanes of cpu/lanes.h in four registers, and unpacking of stored weights. */
#ifndef LITHE_CPU_ARM_LANES_NEON_H
#define LITHE_CPU_ARM_LANES_NEON_H

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct lanes {
    float32x4_t r[4];
} lanes;

static inline lanes lanes_zero(void)
{
    const float32x4_t z = vdupq_n_f32(0.0f);
    return (lanes){{z, z, z, z}};
}

static inline lanes lanes_load(const float *p)
{
    return (lanes){{vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}};
}

/* The first n <= 16 floats of p, zeros after them; nothing beyond is read. */
static inline lanes lanes_load_part(const float *p, size_t n)
{
    float x[16] = {0};
    memcpy(x, p, n * sizeof *x);
    return lanes_load(x);
}

static inline lanes lanes_add(lanes a, lanes b)
{
    return (lanes){
        {vaddq_f32(a.r[0], b.r[0]), vaddq_f32(a.r[1], b.r[1]), vaddq_f32(a.r[2], b.r[2]), vaddq_f32(a.r[3], b.r[3])}};
}

/* a * b + c */
static inline lanes lanes_fma(lanes a, lanes b, lanes c)
{
    return (lanes){{vfmaq_f32(c.r[0], a.r[0], b.r[0]), vfmaq_f32(c.r[1], a.r[1], b.r[1]),
                    vfmaq_f32(c.r[2], a.r[2], b.r[2]), vfmaq_f32(c.r[3], a.r[3], b.r[3])}};
}

/* Steps 3 and 4 of the tree. */
static inline float lanes_join4_neon(float32x4_t s)
{
    const float32x2_t t = vadd_f32(vget_low_f32(s), vget_high_f32(s));
    return vget_lane_f32(t, 0) + vget_lane_f32(t, 1);
}

static inline float lanes_join_neon(lanes v)
{
    return lanes_join4_neon(vaddq_f32(vaddq_f32(v.r[0], v.r[2]), vaddq_f32(v.r[1], v.r[3])));
}

/* The first n floats of p in one register (four if there are more), zeros after them. */
static inline float32x4_t load_n(const float *p, size_t n)
{
    if (n >= 4)
        return vld1q_f32(p);
    float x[4] = {0};
    memcpy(x, p, n * sizeof *x);
    return vld1q_f32(x);
}

static inline void store_n(float *p, size_t n, float32x4_t v)
{
    if (n >= 4) {
        vst1q_f32(p, v);
    } else {
        float x[4];
        vst1q_f32(x, v);
        memcpy(p, x, n * sizeof *x);
    }
}

/* Thirty-two nibbles, low ones first, as two registers of int8. */
static inline int8x16x2_t unpack_int4(const void *p)
{
    const int8x16_t packed = vld1q_s8(p);
    return vzipq_s8(vshrq_n_s8(vshlq_n_s8(packed, 4), 4), vshrq_n_s8(packed, 4));
}

#endif
