/* Quantised linears with AVX-VNNI. */
#include "cpu/x86/linear_bytes_256.h"

#define INT_NAME(kind)    linear_##kind##_avxvnni
#define DPBUSD(acc, u, s) _mm256_dpbusd_avx_epi32(acc, u, s)
#define DPBUSD_BYTES      DPBUSD
#define INT_TOKENS        3

static inline bytes bytes_flip(bytes v)
{
    return _mm256_xor_si256(v, _mm256_set1_epi8((char)-128));
}

#include "cpu/x86/linear_int_vnni_256.h"
