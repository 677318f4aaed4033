/* What the CPU can do, found once with cpuid/xgetbv (x86) or getauxval (Arm), and the mask in force. This table and the log
 * level are the only mutable globals of the library. */
#ifndef LITHE_BASE_CPUINFO_H
#define LITHE_BASE_CPUINFO_H

#include "base/error.h"

enum cpu_feature {
    CPU_AVX2 = 1u << 0, /* AVX2, FMA and F16C together */
    CPU_AVXVNNI = 1u << 1,
    CPU_AVX512VNNI = 1u << 2, /* AVX-512 F, BW, DQ, VL and VNNI together */
    CPU_NEON = 1u << 3,
    CPU_DOTPROD = 1u << 4,
    CPU_I8MM = 1u << 5
};

/* What the hardware (and operating system) offers. Thread-safe. */
uint32_t cpu_features_seen(void);
/* What kernels may use: seen, limited by lithe_set_cpu or the environment variable LITHE_CPU. An unknown or unavailable name in
 * the environment is ignored with a warning in the log. */
uint32_t cpu_features_enabled(void);
/* Implements lithe_set_cpu. */
lithe_status cpu_features_limit(const char *level, lithe_error *err);
/* "avx2 avxvnni …" into buf; returns the length needed. "c" when none. */
size_t cpu_features_describe(uint32_t features, char *buf, size_t buf_bytes);

#endif
