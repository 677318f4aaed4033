/* Included before a program of the kernel harness: it then sees an x86 machine with every extension, whose kernels above AVX2 are
 * those that SIMDe translates. */
#ifndef LITHE_TESTS_SIMDE_AS_X86_H
#define LITHE_TESTS_SIMDE_AS_X86_H

#define _GNU_SOURCE
#include "base/cpuinfo.h"

#define cpu_features_seen() ((uint32_t)(CPU_AVX2 | CPU_AVXVNNI | CPU_AVX512VNNI))
#define main                simde_harness_main
int simde_harness_main(int argc, char **argv);

#endif
