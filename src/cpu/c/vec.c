/* Vector kernels in plain C: what the others must equal. */
#include "cpu/vec.h"

#include "cpu/f16.h"
#include "cpu/lanes.h"
#include "cpu/mathf.h"

#define BINARY(name, expression)                                                                                       \
    static void name##_c(const float *a, const float *b, float *out, size_t n, int a_one, int b_one)                   \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const float x = a[a_one ? 0 : i], y = b[b_one ? 0 : i];                                                    \
            out[i] = expression;                                                                                       \
        }                                                                                                              \
    }

BINARY(add, x + y)
BINARY(sub, x - y)
BINARY(mul, x *y)
BINARY(div, x / y)
BINARY(min_2, mathf_min(x, y))
BINARY(max_2, mathf_max(x, y))

#define UNARY(name, expression)                                                                                        \
    static void name##_c(const float *in, float *out, size_t n)                                                        \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const float x = in[i];                                                                                     \
            out[i] = expression;                                                                                       \
        }                                                                                                              \
    }

UNARY(neg, -x)
UNARY(abs, fabsf(x))
UNARY(sqrt, sqrtf(x))
UNARY(rsqrt, 1.0f / sqrtf(x))
UNARY(square, x *x)
UNARY(exp, mathf_exp(x))
UNARY(log, mathf_log(x))
UNARY(sin, mathf_sin(x))
UNARY(cos, mathf_cos(x))
UNARY(tanh, mathf_tanh(x))
UNARY(logistic, mathf_logistic(x))
UNARY(gelu_tanh, mathf_gelu_tanh(x))
UNARY(gelu_erf, mathf_gelu_erf(x))
UNARY(silu, mathf_silu(x))
UNARY(relu, mathf_max(x, 0.0f))

static void gated_c(uint32_t kind, const float *gate, const float *up, float *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float g = gate[i];
        out[i] = (kind == 0 ? mathf_gelu_tanh(g) : kind == 1 ? mathf_silu(g) : mathf_gelu_erf(g)) * up[i];
    }
}

static float sum_c(const float *x, size_t n)
{
    return lanes_sum(x, n);
}

static float dot_c(const float *a, const float *b, size_t n)
{
    return lanes_dot(a, b, n);
}

static float max_c(const float *x, size_t n)
{
    float m = -INFINITY;
    for (size_t i = 0; i < n; i++)
        m = mathf_max(m, x[i]);
    return m;
}

static void rms_norm_c(const float *x, const float *w, float eps, float *out, size_t n)
{
    const float r = 1.0f / sqrtf(lanes_dot(x, x, n) / (float)n + eps);
    for (size_t i = 0; i < n; i++)
        out[i] = w ? x[i] * r * w[i] : x[i] * r;
}

static void rope_c(const float *x, const float *cosines, const float *sines, float *out, size_t n)
{
    const size_t h = n / 2;
    for (size_t i = 0; i < h; i++) {
        const float a = x[i], b = x[i + h];
        out[i] = a * cosines[i] + -b * sines[i];
        out[i + h] = b * cosines[i + h] + a * sines[i + h];
    }
}

static void softmax_c(const float *x, float beta, float *out, size_t n)
{
    const float m = max_c(x, n);
    for (size_t i = 0; i < n; i++)
        out[i] = mathf_exp((x[i] - m) * beta);
    const float sum = lanes_sum(out, n);
    for (size_t i = 0; i < n; i++)
        out[i] /= sum;
}

static void f16_to_f32_c(const uint16_t *x, float *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = f16_to_float(x[i]);
}

static void vec_mat_c(const float *x, size_t x_stride, const float *m, size_t m_stride, size_t k, float *out, size_t n)
{
    for (size_t j = 0; j < n; j++)
        out[j] = 0.0f;
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < n; j++)
            out[j] = fmaf(x[i * x_stride], m[i * m_stride + j], out[j]);
}

static void mul_add_c(const float *a, const float *b, float *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = fmaf(a[i], b[i], out[i]);
}

static void delta_step_c(const float *q, const float *k, const float *v, float beta, float decay, float *state,
                         size_t stride, size_t dk, size_t n, float *out)
{
    for (size_t j = 0; j < n; j++) {
        float m = 0.0f, o = 0.0f;
        for (size_t i = 0; i < dk; i++) {
            float *s = &state[i * stride + j];
            *s *= decay;
            m = fmaf(k[i], *s, m);
        }
        const float d = (v[j] - m) * beta;
        for (size_t i = 0; i < dk; i++) {
            float *s = &state[i * stride + j];
            *s = fmaf(k[i], d, *s);
            o = fmaf(q[i], *s, o);
        }
        out[j] = o;
    }
}

void vec_kernels_init_c(vec_kernels *k)
{
    *k = (vec_kernels){
        .name = "c",
        .binary = {[VEC_ADD] = add_c,
                   [VEC_SUB] = sub_c,
                   [VEC_MUL] = mul_c,
                   [VEC_DIV] = div_c,
                   [VEC_MIN] = min_2_c,
                   [VEC_MAX] = max_2_c},
        .unary = {[VEC_NEG] = neg_c,
                  [VEC_ABS] = abs_c,
                  [VEC_SQRT] = sqrt_c,
                  [VEC_RSQRT] = rsqrt_c,
                  [VEC_SQUARE] = square_c,
                  [VEC_EXP] = exp_c,
                  [VEC_LOG] = log_c,
                  [VEC_SIN] = sin_c,
                  [VEC_COS] = cos_c,
                  [VEC_TANH] = tanh_c,
                  [VEC_LOGISTIC] = logistic_c,
                  [VEC_GELU_TANH] = gelu_tanh_c,
                  [VEC_GELU_ERF] = gelu_erf_c,
                  [VEC_SILU] = silu_c,
                  [VEC_RELU] = relu_c},
        .gated = gated_c,
        .rms_norm = rms_norm_c,
        .rope = rope_c,
        .softmax = softmax_c,
        .sum = sum_c,
        .dot = dot_c,
        .max = max_c,
        .f16_to_f32 = f16_to_f32_c,
        .vec_mat = vec_mat_c,
        .mul_add = mul_add_c,
        .delta_step = delta_step_c,
    };
}
