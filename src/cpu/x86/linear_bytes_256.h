/* Weights of linear_int_256.h in registers of 256 bits. */
#ifndef LITHE_CPU_X86_LINEAR_BYTES_256_H
#define LITHE_CPU_X86_LINEAR_BYTES_256_H

#include "cpu/x86/lanes_avx2.h"

typedef __m256i bytes;
enum { BYTES = 32 };

static inline bytes bytes_zero(void)
{
    return _mm256_setzero_si256();
}

static inline bytes bytes_load(const unsigned char *p, uint32_t n)
{
    return n >= BYTES ? _mm256_loadu_si256((const __m256i *)(const void *)p) : bytes_load_part_avx2(p, n);
}

static inline __m256i bytes_fold(bytes v)
{
    return v;
}

#endif
