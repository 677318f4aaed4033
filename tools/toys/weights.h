/* Random weights of the toys and their kinds of storage. */
#ifndef LITHE_TOOLS_TOYS_WEIGHTS_H
#define LITHE_TOOLS_TOYS_WEIGHTS_H

#include "toys/graph.h"

typedef enum toy_kind { KIND_FP32, KIND_FP16, KIND_WO8, KIND_INT8, KIND_INT4C, KIND_INT4B32 } toy_kind;

/* A matrix [rows][cols] as stored. */
struct toy_weight {
    int32_t rows, cols;
    toy_kind kind;
    const void *data;
    size_t bytes;
    const float *scales;          /* [rows]; NULL for float kinds and blocks */
    const uint16_t *block_scales; /* fp16 [rows][cols / 32] */
};

/* splitmix64; the sum of twelve uniform numbers stands for a normal one, so that every machine makes the same bits. */
typedef struct toy_random {
    uint64_t state;
} toy_random;
float toy_normal(toy_random *r, float deviation);
float *toy_normals(toy_random *r, arena *a, size_t n, float mean, float deviation);

toy_weight *toy_new_weight(toy_random *r, arena *a, toy_kind kind, int32_t rows, int32_t cols, float deviation);

/* The weight as the graph's ops take it: the constant, or what DEQUANTIZE makes of it. Added once. */
int32_t toy_use_weight(toy_graph *g, const toy_weight *w);
int32_t toy_linear(toy_graph *g, int32_t x, const toy_weight *w, int32_t bias); /* bias -1: none */

#endif
