/* The attention kernels of the Arm levels. */
#ifndef LITHE_CPU_ARM_ATTENTION_ARM_H
#define LITHE_CPU_ARM_ATTENTION_ARM_H

#include "cpu/attention.h"

void attention_rows_neon(const attention_call *c, uint32_t kv, uint32_t r0, uint32_t r1, void *scratch);
void attention_block_neon(const attention_call *c, uint32_t kv, uint32_t row, uint32_t b, float *part, void *scratch);
void attention_join_neon(const attention_call *c, uint32_t kv, uint32_t row, uint32_t n_blocks, const float *parts);

#endif
