/* Quantised linears with AVX-512 VNNI: int8 weights in registers of 512 bits, int4 in 256. */
#include "cpu/x86/lanes_avx2.h"

#define INT_NAME(kind) linear_##kind##_avx512
#define DPBUSD(acc, u, s) _mm256_dpbusd_epi32(acc, u, s)
#define DPBUSD_BYTES(acc, u, s) _mm512_dpbusd_epi32(acc, u, s)
#define INT_TOKENS 4

typedef __m512i bytes;
enum { BYTES = 64 };

static inline bytes bytes_zero(void)
{
    return _mm512_setzero_si512();
}

static inline bytes bytes_load(const unsigned char *p, uint32_t n)
{
    return n >= BYTES ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi8(((__mmask64)1 << n) - 1, p);
}

static inline __m256i bytes_fold(bytes v)
{
    return _mm256_add_epi32(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
}

static inline bytes bytes_flip(bytes v)
{
    return _mm512_xor_si512(v, _mm512_set1_epi8((char)-128));
}

#include "cpu/x86/linear_int_vnni_256.h"
