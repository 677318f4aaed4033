/* The toy models: two decoder layers in the manner of the reference's converter. */
#ifndef LITHE_TOOLS_TOYS_MODEL_H
#define LITHE_TOOLS_TOYS_MODEL_H

#include "toys/weights.h"

enum {
    TOY_HIDDEN = 64,
    TOY_LAYERS = 2,
    TOY_HEADS = 4,
    TOY_KV_HEADS = 2,
    TOY_HEAD_DIM = 16,
    TOY_FFN = 128,
    TOY_VOCAB = 300,
    TOY_CONTEXT = 64, /* unless the configuration says otherwise, */
    TOY_MAX_CONTEXT = 8192,
    TOY_WINDOW = 16,
    /* of the linear attention layer */
    TOY_LINEAR_K_HEADS = 2,
    TOY_LINEAR_V_HEADS = 4,
    TOY_LINEAR_DIM = 16,
    TOY_CONV = 4,
    TOY_CHANNELS = 128
};

typedef struct toy_config {
    const char *name;
    toy_kind kind;
    bool gemma; /* q/k norms, norms behind attention and feed-forward, GELU, scaled embedding, a window in layer 0 */
    bool recurrent; /* layer 0 is a gated delta rule with a causal convolution */
    bool layouts;   /* other names, shuffled tensors, external weights, odd sections */
    int32_t context; /* positions that the states hold; 0: TOY_CONTEXT */
} toy_config;

typedef struct toy_linear_weights {
    toy_weight *qkv, *beta, *gate, *z, *out;
    float *conv, *conv_bias, *gate_bias, *decay, *norm;
} toy_linear_weights;

typedef struct toy_layer {
    toy_weight *q, *k, *v, *o, *gate, *up, *down;
    float *input_norm, *ffn_norm, *q_norm, *k_norm, *attention_post_norm, *ffn_post_norm;
    toy_linear_weights linear;
} toy_layer;

typedef struct toy_weights {
    toy_weight *embedding;
    float *final_norm;
    toy_layer layers[TOY_LAYERS];
    float rope[TOY_HEAD_DIM / 2], local_rope[TOY_HEAD_DIM / 2];
    int32_t positions[TOY_MAX_CONTEXT];
} toy_weights;

/* What the layers of one signature share. */
typedef struct toy_step {
    const toy_config *config;
    const toy_weights *weights;
    toy_graph *g;
    int32_t n; /* tokens */
    int32_t tokens, positions, mask;
    int32_t position_column; /* [1, n, 1] INT32 */
    int32_t cos, sin, local_cos, local_sin;
    int32_t window_mask, grouped_mask, grouped_window_mask;
    int32_t start_k, start_v;       /* start indices of the cache updates; -1 until made */
    int32_t valid;                  /* BOOL [1, n]: not the pad token (recurrent) */
    int32_t states[2 * TOY_LAYERS]; /* inputs */
} toy_step;

static inline int32_t toy_context(const toy_config *c)
{
    return c->context ? c->context : TOY_CONTEXT;
}

void toy_weights_make(toy_weights *w, const toy_config *config, arena *a);
/* All signatures: prefill_8, prefill_32, decode. */
void toy_model_make(toy_model *m, const toy_config *config, const toy_weights *w);
/* Names of state i (two a layer). */
const char *toy_state_name(const toy_config *config, arena *a, uint32_t i);

float toy_epsilon(const toy_config *config);
/* Layer 0 of the recurrent toy, from its normed input to what is added to the residual. */
int32_t toy_linear_attention(toy_step *s, const toy_linear_weights *w, int32_t x, int32_t conv_state,
                             int32_t matrix_state);

#endif
