/* The kernel table: one function pointer per kernel, filled from C and overridden per instruction set, as far as the CPU and the mask allow.
 * Every entry computes exactly the bits that docs/numerics.md defines, so which one runs does not matter.
 * Groups are declared in their own headers (linear.h, attention.h, vec.h); each group has one init per ISA folder. */
#ifndef LITHE_CPU_KERNELS_H
#define LITHE_CPU_KERNELS_H

#include "cpu/attention.h"
#include "cpu/linear.h"
#include "cpu/vec.h"

typedef struct cpu_kernels {
    uint32_t features; /* enum cpu_feature bits in use */
    linear_kernels linear;
    attention_kernels attention;
    vec_kernels vec;
} cpu_kernels;

/* Fills the table for the given features (normally cpu_features_enabled()). */
void cpu_kernels_init(cpu_kernels *k, uint32_t features);
/* "linear qc8w: avx2 …": one line per group and ISA, for `lithe --version -v`; returns the length needed. */
size_t cpu_kernels_describe(const cpu_kernels *k, char *buf, size_t buf_bytes);

#endif
