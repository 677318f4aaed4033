#include "toys/model.h"

#include <string.h>

float toy_epsilon(const toy_config *config)
{
    return config->gemma || config->recurrent ? 1e-6f : 1e-5f;
}

const char *toy_state_name(const toy_config *config, arena *a, uint32_t i)
{
    const char *roots[] = {config->layouts ? "k_cache_" : "kv_cache_k_", config->layouts ? "v_cache_" : "kv_cache_v_"};
    if (config->recurrent && i < 2) {
        return i == 0 ? "kv_cache_c_0" : "kv_cache_r_0";
    }
    return toy_text(a, "%s%lu", roots[i % 2], (unsigned long)(i / 2));
}

/* theta^(-2i/d) for theta^(-2/d) = step */
static void fill_rope(float *out, double step)
{
    double f = 1;
    for (int i = 0; i < TOY_HEAD_DIM / 2; i++) {
        out[i] = (float)f;
        f *= step;
    }
}

static void make_linear(toy_linear_weights *l, toy_random *r, const toy_config *c, arena *a)
{
    const int32_t values = TOY_LINEAR_V_HEADS * TOY_LINEAR_DIM;
    l->qkv = toy_new_weight(r, a, c->kind, TOY_CHANNELS, TOY_HIDDEN, 0.125f);
    l->beta = toy_new_weight(r, a, c->kind, TOY_LINEAR_V_HEADS, TOY_HIDDEN, 0.125f);
    l->gate = toy_new_weight(r, a, c->kind, TOY_LINEAR_V_HEADS, TOY_HIDDEN, 0.125f);
    l->z = toy_new_weight(r, a, c->kind, values, TOY_HIDDEN, 0.25f);
    l->out = toy_new_weight(r, a, c->kind, TOY_HIDDEN, values, 0.25f);
    l->conv = toy_normals(r, a, TOY_CONV * TOY_CHANNELS, 0.0f, 0.5f);
    l->conv_bias = toy_normals(r, a, TOY_CHANNELS, 0.0f, 0.1f);
    l->gate_bias = toy_normals(r, a, TOY_LINEAR_V_HEADS, -2.0f, 1.0f);
    l->decay = toy_alloc(a, TOY_LINEAR_V_HEADS, sizeof(float));
    for (int i = 0; i < TOY_LINEAR_V_HEADS; i++) {
        l->decay[i] = -0.25f * (float)(i + 1); /* -exp(A_log) */
    }
    l->norm = toy_normals(r, a, TOY_LINEAR_DIM, 1.0f, 0.1f);
}

static void make_layer(toy_layer *l, toy_random *r, const toy_config *c, arena *a)
{
    const int32_t q = TOY_HEADS * TOY_HEAD_DIM, kv = TOY_KV_HEADS * TOY_HEAD_DIM;
    l->q = toy_new_weight(r, a, c->kind, q, TOY_HIDDEN, 0.2f);
    l->k = toy_new_weight(r, a, c->kind, kv, TOY_HIDDEN, 0.2f);
    l->v = toy_new_weight(r, a, c->kind, kv, TOY_HIDDEN, 0.15f);
    l->o = toy_new_weight(r, a, c->kind, TOY_HIDDEN, q, 0.2f);
    l->gate = toy_new_weight(r, a, c->kind, TOY_FFN, TOY_HIDDEN, 0.15f);
    l->up = toy_new_weight(r, a, c->kind, TOY_FFN, TOY_HIDDEN, 0.15f);
    l->down = toy_new_weight(r, a, c->kind, TOY_HIDDEN, TOY_FFN, 0.25f);
    float post = c->gemma ? 14.0f : 1.0f;
    l->input_norm = toy_normals(r, a, TOY_HIDDEN, 1.0f, 0.1f);
    l->ffn_norm = toy_normals(r, a, TOY_HIDDEN, 1.0f, 0.1f);
    l->q_norm = toy_normals(r, a, TOY_HEAD_DIM, 1.2f, 0.1f);
    l->k_norm = toy_normals(r, a, TOY_HEAD_DIM, 1.2f, 0.1f);
    l->attention_post_norm = toy_normals(r, a, TOY_HIDDEN, post, 0.1f);
    l->ffn_post_norm = toy_normals(r, a, TOY_HIDDEN, post, 0.1f);
}

void toy_weights_make(toy_weights *w, const toy_config *config, arena *a)
{
    toy_random r = {config->gemma ? 2 : config->recurrent ? 3 : 1};
    /* Embedding and head share the matrix. Of block-quantised models they are int8, as in published ones. */
    toy_config c = *config;
    toy_kind embedding = c.kind == KIND_INT4B32 ? KIND_INT8 : c.kind;
    w->embedding = toy_new_weight(&r, a, embedding, TOY_VOCAB, TOY_HIDDEN, 0.35f);
    w->final_norm = toy_normals(&r, a, TOY_HIDDEN, 1.0f, 0.1f);
    for (int i = 0; i < TOY_LAYERS; i++) {
        make_layer(&w->layers[i], &r, &c, a);
    }
    if (c.recurrent) {
        make_linear(&w->layers[0].linear, &r, &c, a);
    }
    fill_rope(w->rope, c.gemma ? 0.17782794100389228 : 0.31622776601683794); /* theta 10^6, 10^4 */
    fill_rope(w->local_rope, 0.31622776601683794);
    for (int32_t i = 0; i < TOY_MAX_CONTEXT; i++) {
        w->positions[i] = i;
    }
}

static void make_rope(toy_step *s, const float *frequencies, int32_t *cos, int32_t *sin)
{
    toy_graph *g = s->g;
    int32_t f = toy_f32s(g, SHAPE(1, 1, TOY_HEAD_DIM / 2), frequencies);
    int32_t angle = toy_binary(g, OP_MUL, toy_cast(g, s->position_column, TFLITE_FLOAT32), f);
    int32_t both = toy_concat(g, (int32_t[]){angle, angle}, 2, 2);
    *cos = toy_unary(g, OP_COS, both);
    *sin = toy_unary(g, OP_SIN, both);
}

/* Blocks what lies `TOY_WINDOW` or more positions before, added to the mask. */
static int32_t make_window(toy_step *s)
{
    toy_graph *g = s->g;
    int32_t width = TOY_WINDOW, w = toy_i32s(g, SCALAR, &width);
    int32_t iota = toy_i32s(g, SHAPE(1, 1, toy_context(s->config)), s->weights->positions);
    int32_t after = toy_compare(g, OP_GREATER, iota, toy_binary(g, OP_SUB, s->position_column, w));
    int32_t before = toy_compare(g, OP_LESS, iota, toy_binary(g, OP_ADD, s->position_column, w));
    int32_t inside = toy_compare(g, OP_LOGICAL_AND, after, before);
    enum { OPT_SELECT_V2 = 98 };
    int32_t in[] = {inside, toy_f32(g, 0.0f), toy_f32(g, -10000.0f)};
    int32_t band = toy_op_with(g, OP_SELECT_V2, TFLITE_FLOAT32, SHAPE(1, s->n, toy_context(s->config)), in, 3,
                               OPT_SELECT_V2, NULL, 0);
    return toy_binary(g, OP_ADD, band, s->mask);
}

/* x * cos + (-second half, first half) * sin */
static int32_t rotate(toy_step *s, int32_t x, int32_t cos, int32_t sin)
{
    toy_graph *g = s->g;
    toy_shape half = toy_shape_of(g, x);
    int32_t d = half.d[3] / 2;
    half.d[3] = d;
    int32_t straight = toy_binary(g, OP_MUL, x, cos);
    int32_t first = toy_slice(g, x, SHAPE(0, 0, 0, 0), half), second = toy_slice(g, x, SHAPE(0, 0, 0, d), half);
    int32_t negative = toy_binary(g, OP_MUL, second, toy_f32(g, -1.0f));
    int32_t turned = toy_concat(g, (int32_t[]){negative, first}, 2, 3);
    return toy_binary(g, OP_ADD, straight, toy_binary(g, OP_MUL, turned, sin));
}

/* [1, n, heads * d] to [1, heads, n, d]; with one token that is only a reshape, and the converter writes it so. */
static int32_t split_heads(toy_step *s, int32_t x, int32_t heads)
{
    if (s->n == 1) {
        return toy_reshape(s->g, x, SHAPE(1, heads, 1, TOY_HEAD_DIM));
    }
    return toy_transpose(s->g, toy_reshape(s->g, x, SHAPE(1, s->n, heads, TOY_HEAD_DIM)), SHAPE(0, 2, 1, 3));
}

static int32_t split_values(toy_step *s, int32_t x)
{
    if (s->n == 1) {
        return toy_reshape(s->g, x, SHAPE(1, TOY_KV_HEADS, TOY_HEAD_DIM, 1));
    }
    return toy_transpose(s->g, toy_reshape(s->g, x, SHAPE(1, s->n, TOY_KV_HEADS, TOY_HEAD_DIM)), SHAPE(0, 2, 3, 1));
}

static int32_t pack4(toy_graph *g, int32_t a, int32_t b, int32_t c, int32_t d)
{
    enum { OPT_PACK = 59 };
    tflite_source_field count = {0, 'i', 4, NULL, 0};
    int32_t in[] = {a, b, c, d};
    return toy_op_with(g, OP_PACK, TFLITE_INT32, SHAPE(4), in, 4, OPT_PACK, &count, 1);
}

static void make_starts(toy_step *s)
{
    toy_graph *g = s->g;
    if (s->start_k >= 0) {
        return;
    }
    int32_t zero_value = 0, zero = toy_i32s(g, SCALAR, &zero_value);
    int32_t first = s->n == 1 ? s->positions : toy_slice(g, s->positions, SHAPE(0), SHAPE(1));
    int32_t start = toy_reshape(g, first, SCALAR);
    s->start_k = pack4(g, zero, zero, start, zero);
    s->start_v = pack4(g, zero, zero, zero, start);
}

static int32_t update(toy_graph *g, int32_t cache, int32_t part, int32_t start)
{
    int32_t in[] = {cache, part, start};
    return toy_op(g, OP_DYNAMIC_UPDATE_SLICE, TFLITE_FLOAT32, toy_shape_of(g, cache), in, 3);
}

static int32_t grouped(toy_step *s, int32_t mask, int32_t *kept)
{
    if (*kept < 0) {
        *kept = toy_concat(s->g, (int32_t[]){mask, mask}, TOY_HEADS / TOY_KV_HEADS, 2);
    }
    return *kept;
}

/* Scores, mask, softmax, values; from q [1, heads, n, d] to [1, n, heads * d]. */
static int32_t attend(toy_step *s, uint32_t layer, int32_t q, int32_t keys, int32_t values)
{
    toy_graph *g = s->g;
    bool local = s->config->gemma && layer == 0;
    int32_t mask = local ? grouped(s, s->window_mask, &s->grouped_window_mask) : grouped(s, s->mask, &s->grouped_mask);
    int32_t rows = TOY_HEADS / TOY_KV_HEADS * s->n;
    int32_t scaled = toy_binary(g, OP_MUL, q, toy_f32(g, 0.25f));
    int32_t queries = toy_reshape(g, scaled, SHAPE(1, TOY_KV_HEADS, rows, TOY_HEAD_DIM));
    int32_t scores = toy_binary(g, OP_ADD, toy_matmul(g, queries, keys), mask);
    int32_t out = toy_matmul(g, toy_unary(g, OP_SOFTMAX, scores), values);
    if (s->n == 1) {
        return s->config->gemma ? toy_reshape(g, out, SHAPE(1, 1, TOY_HIDDEN))
                                : toy_reshape(g, out, SHAPE(1, TOY_HIDDEN));
    }
    int32_t heads = toy_reshape(g, out, SHAPE(1, TOY_HEADS, s->n, TOY_HEAD_DIM));
    return toy_reshape(g, toy_transpose(g, heads, SHAPE(0, 2, 1, 3)), SHAPE(1, s->n, TOY_HIDDEN));
}

/* The attention of a layer on its normed input. keys_only: the converter drops the rest of the last layer from prefill. */
static int32_t attention(toy_step *s, uint32_t layer, int32_t x, bool keys_only)
{
    toy_graph *g = s->g;
    const toy_layer *l = &s->weights->layers[layer];
    bool gemma = s->config->gemma, local = gemma && layer == 0;
    int32_t cos = local ? s->local_cos : s->cos, sin = local ? s->local_sin : s->sin, q = -1;
    if (!keys_only) {
        q = split_heads(s, toy_linear(g, x, l->q, -1), TOY_HEADS);
        q = rotate(s, gemma ? toy_rms_norm(g, q, l->q_norm, toy_epsilon(s->config)) : q, cos, sin);
    }
    int32_t k = split_heads(s, toy_linear(g, x, l->k, -1), TOY_KV_HEADS);
    k = rotate(s, gemma ? toy_rms_norm(g, k, l->k_norm, toy_epsilon(s->config)) : k, cos, sin);
    int32_t v = split_values(s, toy_linear(g, x, l->v, -1));
    make_starts(s);
    int32_t keys = update(g, s->states[2 * layer], k, s->start_k),
            values = update(g, s->states[2 * layer + 1], v, s->start_v);
    toy_output(g, toy_state_name(s->config, g->arena, 2 * layer), keys);
    toy_output(g, toy_state_name(s->config, g->arena, 2 * layer + 1), values);
    return keys_only ? -1 : toy_linear(g, attend(s, layer, q, keys, values), l->o, -1);
}

static int32_t feed_forward(toy_step *s, const toy_layer *l, int32_t x)
{
    toy_graph *g = s->g;
    int32_t gate = toy_linear(g, x, l->gate, -1);
    int32_t act =
        s->config->gemma ? toy_unary(g, OP_GELU, gate) : toy_binary(g, OP_MUL, gate, toy_unary(g, OP_LOGISTIC, gate));
    return toy_linear(g, toy_binary(g, OP_MUL, act, toy_linear(g, x, l->up, -1)), l->down, -1);
}

static int32_t layer(toy_step *s, uint32_t i, int32_t x, bool keys_only)
{
    toy_graph *g = s->g;
    const toy_layer *l = &s->weights->layers[i];
    float epsilon = toy_epsilon(s->config);
    int32_t normed = toy_rms_norm(g, x, l->input_norm, epsilon);
    int32_t a = s->config->recurrent && i == 0 ? toy_linear_attention(s, &l->linear, normed, s->states[0], s->states[1])
                                               : attention(s, i, normed, keys_only);
    if (keys_only) {
        return -1;
    }
    x = toy_binary(g, OP_ADD, x, s->config->gemma ? toy_rms_norm(g, a, l->attention_post_norm, epsilon) : a);
    int32_t f = feed_forward(s, l, toy_rms_norm(g, x, l->ffn_norm, epsilon));
    return toy_binary(g, OP_ADD, x, s->config->gemma ? toy_rms_norm(g, f, l->ffn_post_norm, epsilon) : f);
}

static void add_inputs(toy_step *s)
{
    toy_graph *g = s->g;
    const toy_config *c = s->config;
    s->tokens = toy_input(g, c->layouts ? "token_ids" : "tokens", TFLITE_INT32, SHAPE(1, s->n));
    s->positions = toy_input(g, c->layouts ? "positions" : "input_pos", TFLITE_INT32, SHAPE(s->n));
    s->mask = toy_input(g, c->layouts ? "attn_mask" : "mask", TFLITE_FLOAT32, SHAPE(1, 1, s->n, toy_context(c)));
    for (uint32_t i = 0; i < 2 * TOY_LAYERS; i++) {
        toy_shape shape = i % 2 ? SHAPE(1, TOY_KV_HEADS, TOY_HEAD_DIM, toy_context(c))
                                : SHAPE(1, TOY_KV_HEADS, toy_context(c), TOY_HEAD_DIM);
        if (c->recurrent && i == 0) {
            shape = SHAPE(1, TOY_CHANNELS, TOY_CONV - 1);
        } else if (c->recurrent && i == 1) {
            shape = SHAPE(1, TOY_LINEAR_V_HEADS, TOY_LINEAR_DIM, TOY_LINEAR_DIM);
        }
        s->states[i] = toy_input(g, toy_state_name(c, g->arena, i), TFLITE_FLOAT32, shape);
    }
}

static int32_t embed(toy_step *s)
{
    toy_graph *g = s->g;
    int32_t ids = toy_reshape(g, s->tokens, SHAPE(s->n));
    int32_t in[] = {ids, toy_use_weight(g, s->weights->embedding)};
    int32_t rows = toy_op(g, OP_EMBEDDING_LOOKUP, TFLITE_FLOAT32, SHAPE(s->n, TOY_HIDDEN), in, 2);
    int32_t x = toy_reshape(g, rows, SHAPE(1, s->n, TOY_HIDDEN));
    return s->config->gemma ? toy_binary(g, OP_MUL, x, toy_f32(g, 8.0f)) : x;
}

static void make_signature(toy_model *m, const toy_config *config, const toy_weights *w, int32_t n, const char *key)
{
    toy_graph g;
    toy_graph_init(&g, m);
    toy_step s = {
        .config = config, .weights = w, .g = &g, .n = n, .grouped_mask = -1, .grouped_window_mask = -1, .start_k = -1};
    add_inputs(&s);
    if (config->recurrent) {
        int32_t pad_value = 0;
        s.valid = toy_compare(&g, OP_NOT_EQUAL, s.tokens, toy_i32s(&g, SCALAR, &pad_value));
    }
    s.position_column = toy_reshape(&g, s.positions, SHAPE(1, n, 1));
    if (config->gemma) {
        s.window_mask = make_window(&s);
    }
    int32_t x = embed(&s);
    make_rope(&s, w->rope, &s.cos, &s.sin);
    if (config->gemma) {
        make_rope(&s, w->local_rope, &s.local_cos, &s.local_sin);
    }
    for (uint32_t i = 0; i < TOY_LAYERS; i++) {
        x = layer(&s, i, x, n > 1 && i + 1 == TOY_LAYERS);
    }
    if (n == 1) {
        int32_t normed = toy_rms_norm(&g, x, w->final_norm, toy_epsilon(config));
        toy_output(&g, "logits", toy_linear(&g, normed, w->embedding, -1));
    }
    toy_finish_signature(&g, key);
}

void toy_model_make(toy_model *m, const toy_config *config, const toy_weights *w)
{
    make_signature(m, config, w, 8, "prefill_8");
    make_signature(m, config, w, 32, "prefill_32");
    make_signature(m, config, w, 1, "decode");
}
