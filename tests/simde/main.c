/* Starts a program of the kernel harness whose kernels are translated by SIMDe; what they are translated to needs AVX2. */
#include "base/cpuinfo.h"

#undef main
#undef cpu_features_seen
enum { SKIPPED = 77 };

int simde_harness_main(int argc, char **argv);

int main(int argc, char **argv)
{
    return cpu_features_seen() & CPU_AVX2 ? simde_harness_main(argc, argv) : SKIPPED;
}
