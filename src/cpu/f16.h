/* Half-precision storage as the kernels read it. */
#ifndef LITHE_CPU_F16_H
#define LITHE_CPU_F16_H

#include "base/f16.h"

/* A block scale as the reference uses it: fp16 rounded to bfloat16, ties to even (docs/numerics.md, QB4). */
static inline float f16_load_scale(const void *p)
{
    return bf16_round(f16_load(p));
}

#endif
