#include "base/cpuinfo.h"

#include "base/log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

/* The levels that lithe_set_cpu knows. A level includes those below it on the same architecture. */
static const struct level {
    const char *name;
    uint32_t features; /* that the level allows */
    uint32_t needs;    /* that the CPU must have */
} levels[] = {
    {"c", 0, 0},
    {"avx2", CPU_AVX2, CPU_AVX2},
    {"avxvnni", CPU_AVX2 | CPU_AVXVNNI, CPU_AVXVNNI},
    {"avx512vnni", CPU_AVX2 | CPU_AVXVNNI | CPU_AVX512VNNI, CPU_AVX512VNNI},
    {"neon", CPU_NEON, CPU_NEON},
    {"dotprod", CPU_NEON | CPU_DOTPROD, CPU_DOTPROD},
    {"i8mm", CPU_NEON | CPU_DOTPROD | CPU_I8MM, CPU_I8MM},
};

static const struct {
    uint32_t feature;
    const char *name;
} feature_names[] = {
    {CPU_AVX2, "avx2"}, {CPU_AVXVNNI, "avxvnni"}, {CPU_AVX512VNNI, "avx512vnni"},
    {CPU_NEON, "neon"}, {CPU_DOTPROD, "dotprod"}, {CPU_I8MM, "i8mm"},
};

/* Both are found once and then only read; threads that race to find them find the same. */
enum { KNOWN = 1u << 31 };
static _Atomic uint32_t seen_or_zero;
static _Atomic uint32_t mask_or_zero;

#if defined(__x86_64__) || defined(__i386__)
static uint64_t xgetbv0(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* Bits from Intel's manual, volume 2, CPUID; the operating system must also save the registers (XCR0). */
static uint32_t detect(void)
{
    enum { YMM_STATE = 0x06, ZMM_STATE = 0xE6 };
    unsigned a, b, c, d, c1, b7, c7, a71 = 0;
    if (!__get_cpuid(1, &a, &b, &c1, &d) || !__get_cpuid_count(7, 0, &a, &b7, &c7, &d)) {
        return 0;
    }
    if (a >= 1) {
        __get_cpuid_count(7, 1, &a71, &b, &c, &d);
    }
    const unsigned base = bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C;
    if ((c1 & base) != base || !(b7 & bit_AVX2)) {
        return 0;
    }
    uint64_t saved = xgetbv0();
    if ((saved & YMM_STATE) != YMM_STATE) {
        return 0;
    }
    uint32_t features = CPU_AVX2;
    if (a71 & 1u << 4) {
        features |= CPU_AVXVNNI;
    }
    const unsigned avx512 = 1u << 16 /* F */ | 1u << 17 /* DQ */ | 1u << 30 /* BW */ | 1u << 31 /* VL */;
    if ((saved & ZMM_STATE) == ZMM_STATE && (b7 & avx512) == avx512 && (c7 & 1u << 11 /* VNNI */)) {
        features |= CPU_AVX512VNNI;
    }
    return features;
}
#elif defined(__aarch64__) && defined(__linux__)
/* Bits from the kernel's arch/arm64/include/uapi/asm/hwcap.h; older C libraries lack some of the names. */
static uint32_t detect(void)
{
    enum { HWCAP_ASIMD_BIT = 1, HWCAP_ASIMDDP_BIT = 20, HWCAP2_I8MM_BIT = 13 };
    unsigned long caps = getauxval(AT_HWCAP), caps2 = getauxval(AT_HWCAP2);
    uint32_t features = caps >> HWCAP_ASIMD_BIT & 1 ? CPU_NEON : 0;
    if (features && caps >> HWCAP_ASIMDDP_BIT & 1) {
        features |= CPU_DOTPROD;
        features |= caps2 >> HWCAP2_I8MM_BIT & 1 ? CPU_I8MM : 0;
    }
    return features;
}
#elif defined(__aarch64__) && defined(__APPLE__)
static bool has(const char *name)
{
    int value = 0;
    size_t n = sizeof value;
    return sysctlbyname(name, &value, &n, NULL, 0) == 0 && value;
}

static uint32_t detect(void)
{
    uint32_t features = CPU_NEON;
    features |= has("hw.optional.arm.FEAT_DotProd") ? CPU_DOTPROD : 0;
    features |= features & CPU_DOTPROD && has("hw.optional.arm.FEAT_I8MM") ? CPU_I8MM : 0;
    return features;
}
#else
static uint32_t detect(void)
{
    return 0;
}
#endif

uint32_t cpu_features_seen(void)
{
    uint32_t seen = atomic_load_explicit(&seen_or_zero, memory_order_relaxed);
    if (!seen) {
        seen = detect() | KNOWN;
        atomic_store_explicit(&seen_or_zero, seen, memory_order_relaxed);
    }
    return seen & ~(uint32_t)KNOWN;
}

/* The level called `name`, "auto" being everything seen. */
static bool find_level(const char *name, struct level *out)
{
    if (strcmp(name, "auto") == 0) {
        *out = (struct level){"auto", cpu_features_seen(), 0};
        return true;
    }
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (strcmp(levels[i].name, name) == 0) {
            *out = levels[i];
            return true;
        }
    }
    return false;
}

static uint32_t mask_of_environment(void)
{
    const char *name = getenv("LITHE_CPU");
    struct level level;
    if (!name || !*name) {
        return ~(uint32_t)KNOWN;
    }
    if (!find_level(name, &level)) {
        log_message(LITHE_LOG_WARNING, "LITHE_CPU: unknown level \"%s\" ignored", name);
        return ~(uint32_t)KNOWN;
    }
    if ((level.needs & cpu_features_seen()) != level.needs) {
        log_message(LITHE_LOG_WARNING, "LITHE_CPU: this CPU has no %s; ignored", name);
        return ~(uint32_t)KNOWN;
    }
    return level.features;
}

uint32_t cpu_features_enabled(void)
{
    uint32_t mask = atomic_load_explicit(&mask_or_zero, memory_order_relaxed);
    if (!mask) {
        uint32_t fresh = mask_of_environment() | KNOWN;
        /* Keeps what lithe_set_cpu may have set meanwhile. */
        mask = atomic_compare_exchange_strong(&mask_or_zero, &mask, fresh) ? fresh : mask;
    }
    return mask & cpu_features_seen();
}

lithe_status cpu_features_limit(const char *name, lithe_error *err)
{
    struct level level;
    char seen[96];
    cpu_features_describe(cpu_features_seen(), seen, sizeof seen);
    if (!name || !find_level(name, &level)) {
        error_set(err, LITHE_E_ARGUMENT, "unknown CPU level \"%s\"", name ? name : "(null)");
        error_hint(err, "use auto, c, avx2, avxvnni, avx512vnni, neon, dotprod or i8mm; this CPU has: %s", seen);
        return LITHE_E_ARGUMENT;
    }
    if ((level.needs & cpu_features_seen()) != level.needs) {
        error_set(err, LITHE_E_ARGUMENT, "this CPU has no %s", name);
        error_expected(err, "%s", name);
        error_found(err, "%s", seen);
        error_hint(err, "use auto");
        return LITHE_E_ARGUMENT;
    }
    atomic_store_explicit(&mask_or_zero, level.features | KNOWN, memory_order_relaxed);
    return LITHE_OK;
}

lithe_status lithe_set_cpu(const char *level, lithe_error *err)
{
    return cpu_features_limit(level, err);
}

size_t cpu_features_describe(uint32_t features, char *buf, size_t buf_bytes)
{
    size_t needed = 0;
    for (size_t i = 0; i < sizeof feature_names / sizeof *feature_names; i++) {
        if (features & feature_names[i].feature) {
            bool fits = needed < buf_bytes;
            int n = snprintf(fits ? buf + needed : NULL, fits ? buf_bytes - needed : 0, "%s%s", needed ? " " : "",
                             feature_names[i].name);
            needed += n > 0 ? (size_t)n : 0;
        }
    }
    if (!needed) {
        int n = snprintf(buf_bytes ? buf : NULL, buf_bytes, "c");
        needed = n > 0 ? (size_t)n : 0;
    }
    return needed;
}
