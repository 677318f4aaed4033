/* What this machine could do, on one thread: multiply-adds of each instruction set from registers, and reading memory from one end to the
 * other. CPU time of the thread, best of many short runs, so that other work disturbs little.
 *   gcc -O2 -o peak bench/peak.c && ./peak */
#define _GNU_SOURCE
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOOPS = 200000, CHAINS = 12, REPEATS = 40 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define KEEP(v) __asm__ volatile("" : "+v"(v))

#define EACH(m)    m(0) m(1) m(2) m(3) m(4) m(5) m(6) m(7) m(8) m(9) m(10) m(11)
#define DECLARE(j) acc##j = zero_,
#define STEP(j)                                                                                                        \
    KEEP(a);                                                                                                           \
    acc##j = step_(acc##j, a, b);                                                                                      \
    KEEP(acc##j);

/* A loop of CHAINS independent steps on registers of type `type`. */
#define LOOP(name, isa, type, zero, step)                                                                              \
    __attribute__((target(isa), always_inline)) static inline type name##_step(type acc, type a, type b)               \
    {                                                                                                                  \
        return step;                                                                                                   \
    }                                                                                                                  \
    __attribute__((target(isa))) static void name(void)                                                                \
    {                                                                                                                  \
        type (*const step_)(type, type, type) = name##_step;                                                           \
        const type zero_ = zero;                                                                                       \
        type EACH(DECLARE) a = zero, b = zero;                                                                         \
        KEEP(a);                                                                                                       \
        KEEP(b);                                                                                                       \
        for (int i = 0; i < LOOPS; i++) {                                                                              \
            EACH(STEP)                                                                                                 \
        }                                                                                                              \
    }

LOOP(fma_256, "avx2,fma", __m256, _mm256_setzero_ps(), acc = _mm256_fmadd_ps(a, b, acc))
LOOP(fma_512, "avx512f", __m512, _mm512_setzero_ps(), acc = _mm512_fmadd_ps(a, b, acc))
LOOP(sign_256, "avx2", __m256i, _mm256_setzero_si256(),
     acc = _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_maddubs_epi16(a, _mm256_sign_epi8(b, a)), a)))
LOOP(vnni_256, "avxvnni,avx2", __m256i, _mm256_setzero_si256(), acc = _mm256_dpbusd_avx_epi32(acc, a, b))
LOOP(vnni_512, "avx512vnni,avx512f", __m512i, _mm512_setzero_si512(), acc = _mm512_dpbusd_epi32(acc, a, b))
LOOP(block_512, "avx512vnni,avx512f", __m512, _mm512_setzero_ps(),
     acc = _mm512_fmadd_ps(_mm512_fmadd_ps(a, b,
                                           _mm512_cvtepi32_ps(_mm512_dpbusd_epi32(_mm512_setzero_si512(),
                                                                                  _mm512_castps_si512(a),
                                                                                  _mm512_castps_si512(b)))),
                           b, acc))

static void peak(const char *what, int has, void (*loop)(void), double macs)
{
    double best = 1e9;
    if (!has)
        return;
    for (int r = 0; r < REPEATS; r++) {
        const double start = now();
        loop();
        const double took = now() - start;
        best = took < best ? took : best;
    }
    printf("%-44s %7.1f GMAC/s\n", what, 1e-9 * macs * CHAINS * LOOPS / best);
}

/* Reading `bytes` in `streams` places at once. */
__attribute__((target("avx2"))) static void read_memory(const unsigned char *p, size_t bytes, size_t streams)
{
    double best = 1e9;
    const size_t part = bytes / streams;
    for (int r = 0; r < 12; r++) {
        __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
        const double start = now();
        for (size_t i = 0; i < part; i += 128)
            for (size_t s = 0; s < streams; s++) {
                const __m256i *at = (const __m256i *)(const void *)(p + s * part + i);
                a = _mm256_or_si256(a, _mm256_loadu_si256(at));
                b = _mm256_or_si256(b, _mm256_loadu_si256(at + 1));
                c = _mm256_or_si256(c, _mm256_loadu_si256(at + 2));
                d = _mm256_or_si256(d, _mm256_loadu_si256(at + 3));
            }
        KEEP(a);
        KEEP(b);
        KEEP(c);
        KEEP(d);
        const double took = now() - start;
        best = took < best ? took : best;
    }
    printf("read %4zu MB, %zu stream%s %27.1f GB/s\n", bytes >> 20, streams, streams > 1 ? "s" : " ",
           1e-9 * (double)bytes / best);
}

int main(void)
{
    const int avx2 = __builtin_cpu_supports("avx2"), avx512 = __builtin_cpu_supports("avx512vnni");
    peak("fp32 fma, 256 bits", avx2, fma_256, 8);
    peak("fp32 fma, 512 bits", avx512, fma_512, 16);
    peak("int8 sign, multiply-add, widen, 256 bits", avx2, sign_256, 32);
    peak("int8 vnni, 256 bits", __builtin_cpu_supports("avxvnni"), vnni_256, 32);
    peak("int8 vnni, 512 bits", avx512, vnni_512, 64);
    peak("int4 blocks: vnni, convert, 2 fma, 512 bits", avx512, block_512, 64);
    const size_t bytes = (size_t)512 << 20;
    unsigned char *p = malloc(bytes);
    if (!p)
        return 1;
    memset(p, 1, bytes);
    read_memory(p, bytes, 1);
    read_memory(p, bytes, 4);
    read_memory(p, bytes, 8);
    read_memory(p, (size_t)1 << 20, 1);
    free(p);
    return 0;
}
