/* What all instruction sets share of attention: scratch, and writing keys and values to their blocks. */
#include "cpu/attention.h"

#include <string.h>

size_t attention_scratch_bytes(const attention_shape *s)
{
    /* ATTENTION_TILE queries: scores, and two parts { m, l, o } each; rounded up for vectors, with room to align. */
    const size_t floats = ATTENTION_BLOCK + 2 * (((size_t)s->value_dim + 2 + 15) & ~(size_t)15);
    return ATTENTION_TILE * floats * sizeof(float) + 64;
}

void attention_store(float *const *blocks, uint32_t n_heads, uint32_t dim, uint32_t position, const float *row)
{
    float *block = blocks[position / ATTENTION_BLOCK] + (size_t)(position % ATTENTION_BLOCK) * dim;
    for (uint32_t h = 0; h < n_heads; h++)
        memcpy(block + (size_t)h * ATTENTION_BLOCK * dim, row + (size_t)h * dim, dim * sizeof *row);
}
