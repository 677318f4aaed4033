/* The attention kernels of the x86 levels. */
#ifndef LITHE_CPU_X86_ATTENTION_X86_H
#define LITHE_CPU_X86_ATTENTION_X86_H

#include "cpu/attention.h"

void attention_rows_avx2(const attention_call *c, uint32_t kv, uint32_t r0, uint32_t r1, void *scratch);
void attention_block_avx2(const attention_call *c, uint32_t kv, uint32_t row, uint32_t b, float *part, void *scratch);
void attention_join_avx2(const attention_call *c, uint32_t kv, uint32_t row, uint32_t n_blocks, const float *parts);
void attention_rows_avx512(const attention_call *c, uint32_t kv, uint32_t r0, uint32_t r1, void *scratch);
void attention_block_avx512(const attention_call *c, uint32_t kv, uint32_t row, uint32_t b, float *part, void *scratch);
void attention_join_avx512(const attention_call *c, uint32_t kv, uint32_t row, uint32_t n_blocks, const float *parts);

#endif
