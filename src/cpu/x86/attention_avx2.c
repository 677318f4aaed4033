/* Attention on AVX2. */
#include "cpu/x86/attention_x86.h"
#include "cpu/x86/lanes16_avx2.h"

#define ATT_NAME(what) attention_##what##_avx2
#define ATT_QUERIES    2
#define ATT_KEYS       2
#define ATT_STRIPS     1
#include "cpu/x86/attention_lanes.h"
