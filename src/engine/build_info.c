/* lithe_build_info: what this build is and what it chose on this CPU. */
#include "base/cpuinfo.h"
#include "cpu/kernels.h"

#include <stdio.h>

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown compiler"
#endif

size_t lithe_build_info(char *buf, size_t buf_bytes)
{
    char seen[128], enabled[128], kernels[2048];
    cpu_kernels k;
    cpu_kernels_init(&k, cpu_features_enabled());
    cpu_features_describe(cpu_features_seen(), seen, sizeof seen);
    cpu_features_describe(cpu_features_enabled(), enabled, sizeof enabled);
    cpu_kernels_describe(&k, kernels, sizeof kernels);
    int n = snprintf(buf, buf_bytes, "lithe %s (%s)\ncpu features seen: %s\nkernels may use: %s\n%s", lithe_version(),
                     COMPILER, seen, enabled, kernels);
    return n < 0 ? 0 : (size_t)n;
}
