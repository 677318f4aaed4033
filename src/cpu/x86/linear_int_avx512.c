/* Quantised linears with AVX-512 VNNI, in registers of 256 bits. */
#include <immintrin.h>

#define INT_NAME(kind) linear_##kind##_avx512
#define DPBUSD(acc, u, s) _mm256_dpbusd_epi32(acc, u, s)
#include "cpu/x86/linear_int_vnni_256.h"
