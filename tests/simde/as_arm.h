/* Included before a program of the kernel harness: on x86 it then sees an Arm machine with every extension, and the kernels of
 * src/cpu/arm as SIMDe translates them. */
#ifndef LITHE_TESTS_SIMDE_AS_ARM_H
#define LITHE_TESTS_SIMDE_AS_ARM_H

#define _GNU_SOURCE
#include "base/cpuinfo.h"
#include "cpu/kernels.h"

#define cpu_features_seen()        ((uint32_t)(CPU_NEON | CPU_DOTPROD | CPU_I8MM))
#define linear_kernels_init_x86    linear_kernels_init_arm
#define attention_kernels_init_x86 attention_kernels_init_arm
#define vec_kernels_init_x86       vec_kernels_init_arm
#define main                       simde_harness_main
int simde_harness_main(int argc, char **argv);

#endif
