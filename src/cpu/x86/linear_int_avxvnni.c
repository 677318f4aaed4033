/* Quantised linears with AVX-VNNI. */
#include <immintrin.h>

#define INT_NAME(kind) linear_##kind##_avxvnni
#define DPBUSD(acc, u, s) _mm256_dpbusd_avx_epi32(acc, u, s)
#include "cpu/x86/linear_int_vnni_256.h"
