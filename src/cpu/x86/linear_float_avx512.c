/* Linears on float activations on AVX-512: one register holds the sixteen lanes. */
#include "cpu/x86/lanes16_avx512.h"

#define FLT_NAME(kind) linear_##kind##_avx512
#define FLT_ROWS       4
#define FLT_TOKENS     4

#include "cpu/x86/linear_float_lanes.h"
