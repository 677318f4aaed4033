/* Attention on AVX-512. */
#include "cpu/x86/attention_x86.h"
#include "cpu/x86/lanes16_avx512.h"

#define ATT_NAME(what) attention_##what##_avx512
#define ATT_QUERIES    4
#define ATT_KEYS       4
#define ATT_STRIPS     4
#include "cpu/x86/attention_lanes.h"
