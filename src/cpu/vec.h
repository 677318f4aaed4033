/* Vector kernels on rows of floats: element-wise arithmetic, transcendental functions, norms, softmax, sums. All defined in docs/numerics.md: element-wise
 * ones round once per operation as written; sums run in 16 virtual lanes (lane = index mod 16), each in index order with fused multiply-add
 * where a product is summed, joined by the tree ((0+8)+(4+12)) + ((2+10)+(6+14)) + … as numerics.md spells out. */
#ifndef LITHE_CPU_VEC_H
#define LITHE_CPU_VEC_H

#include <stddef.h>
#include <stdint.h>

typedef enum vec_binary { VEC_ADD, VEC_SUB, VEC_MUL, VEC_DIV, VEC_MIN, VEC_MAX, VEC_BINARY_COUNT } vec_binary;
typedef enum vec_unary {
    VEC_NEG,
    VEC_ABS,
    VEC_SQRT,
    VEC_RSQRT /* 1 / sqrt(x), both rounded */,
    VEC_SQUARE,
    VEC_EXP,
    VEC_LOG,
    VEC_SIN,
    VEC_COS,
    VEC_TANH,
    VEC_LOGISTIC,
    VEC_GELU_TANH,
    VEC_GELU_ERF,
    VEC_SILU /* x * logistic(x) */,
    VEC_RELU,
    VEC_UNARY_COUNT
} vec_unary;

typedef struct vec_kernels {
    const char *name;
    /* out[i] = a[i] op b[i]; a_one (b_one): a (b) is a single value for all i. In place allowed. */
    void (*binary[VEC_BINARY_COUNT])(const float *a, const float *b, float *out, size_t n, int a_one, int b_one);
    void (*unary[VEC_UNARY_COUNT])(const float *x, float *out, size_t n);
    /* out[i] = act(gate[i]) * up[i]; kind as graph_attrs.kind of GATED_UNIT. */
    void (*gated)(uint32_t kind, const float *gate, const float *up, float *out, size_t n);
    /* out = x * (1 / sqrt(sum(x^2) / n + eps)) * w, each product rounded; w NULL: without. */
    void (*rms_norm)(const float *x, const float *w, float eps, float *out, size_t n);
    /* out = x * cos + rot(x) * sin, rot(x) = (-x[n/2 ..), x[.. n/2)); products and sum rounded. */
    void (*rope)(const float *x, const float *cos, const float *sin, float *out, size_t n);
    /* out = exp((x - max) * beta) / sum */
    void (*softmax)(const float *x, float beta, float *out, size_t n);
    float (*sum)(const float *x, size_t n);
    float (*dot)(const float *a, const float *b, size_t n);
    float (*max)(const float *x, size_t n); /* NaN if any is NaN */
    void (*f16_to_f32)(const uint16_t *x, float *out, size_t n);
    /* out[j] = sum over i < k of x[i * x_stride] * m[i * m_stride + j], in order of i, fused, from +0; j < n */
    void (*vec_mat)(const float *x, size_t x_stride, const float *m, size_t m_stride, size_t k, float *out, size_t n);
    /* out[i] = fma(a[i], b[i], out[i]) */
    void (*mul_add)(const float *a, const float *b, float *out, size_t n);
    /* One token of the gated delta rule for one head, columns j < n of state rows `stride` floats apart (numerics.md, gated delta):
     * S = S * decay; m_j = sum_i k_i S_ij; d_j = (v_j - m_j) * beta; S_ij = fma(k_i, d_j, S_ij); out_j = sum_i q_i S_ij; sums in i order. */
    void (*delta_step)(const float *q, const float *k, const float *v, float beta, float decay, float *state,
                       size_t stride, size_t dk, size_t n, float *out);
} vec_kernels;

void vec_kernels_init_c(vec_kernels *k);
void vec_kernels_init_x86(vec_kernels *k, uint32_t features);
void vec_kernels_init_arm(vec_kernels *k, uint32_t features);

#endif
