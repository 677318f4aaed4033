/* Vector kernels for NEON. Ends of rows go through copies. */
#include "cpu/vec.h"

#include "cpu/arm/lanes_neon.h"
#include "cpu/arm/mathf_neon.h"
#include "cpu/f16.h"

static inline float32x4_t fma4(float32x4_t a, float32x4_t b, float32x4_t c)
{
    return vfmaq_f32(c, a, b);
}

#define BINARY(name, expression)                                                                                       \
    static void name##_neon(const float *a, const float *b, float *out, size_t n, int a_one, int b_one)                \
    {                                                                                                                  \
        if (n == 0)                                                                                                    \
            return;                                                                                                    \
        const float32x4_t a1 = vdupq_n_f32(*a), b1 = vdupq_n_f32(*b);                                                  \
        for (size_t i = 0; i < n; i += 4) {                                                                            \
            const float32x4_t x = a_one ? a1 : load_n(a + i, n - i), y = b_one ? b1 : load_n(b + i, n - i);            \
            store_n(out + i, n - i, expression);                                                                       \
        }                                                                                                              \
    }

BINARY(add, vaddq_f32(x, y))
BINARY(sub, vsubq_f32(x, y))
BINARY(mul, vmulq_f32(x, y))
BINARY(div, vdivq_f32(x, y))
BINARY(min_2, mathf_min_neon(x, y))
BINARY(max_2, mathf_max_neon(x, y))

#define UNARY(name, expression)                                                                                        \
    static void name##_neon(const float *in, float *out, size_t n)                                                     \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i += 4) {                                                                            \
            const float32x4_t x = load_n(in + i, n - i);                                                               \
            store_n(out + i, n - i, expression);                                                                       \
        }                                                                                                              \
    }

UNARY(neg, vnegq_f32(x))
UNARY(abs, vabsq_f32(x))
UNARY(sqrt, vsqrtq_f32(x))
UNARY(rsqrt, vdivq_f32(vdupq_n_f32(1.0f), vsqrtq_f32(x)))
UNARY(square, vmulq_f32(x, x))
UNARY(exp, mathf_exp_neon(x))
UNARY(log, mathf_log_neon(x))
UNARY(sin, mathf_sin_neon(x))
UNARY(cos, mathf_cos_neon(x))
UNARY(tanh, mathf_tanh_neon(x))
UNARY(logistic, mathf_logistic_neon(x))
UNARY(gelu_tanh, mathf_gelu_tanh_neon(x))
UNARY(gelu_erf, mathf_gelu_erf_neon(x))
UNARY(silu, mathf_silu_neon(x))
UNARY(relu, mathf_max_neon(x, vdupq_n_f32(0.0f)))

#define GATED(name, function)                                                                                          \
    static void gated_##name(const float *gate, const float *up, float *out, size_t n)                                 \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i += 4)                                                                              \
            store_n(out + i, n - i, vmulq_f32(function(load_n(gate + i, n - i)), load_n(up + i, n - i)));              \
    }

GATED(gelu_tanh, mathf_gelu_tanh_neon)
GATED(silu, mathf_silu_neon)
GATED(gelu_erf, mathf_gelu_erf_neon)

static void gated_neon(uint32_t kind, const float *gate, const float *up, float *out, size_t n)
{
    if (kind == 0)
        gated_gelu_tanh(gate, up, out, n);
    else if (kind == 1)
        gated_silu(gate, up, out, n);
    else
        gated_gelu_erf(gate, up, out, n);
}

static float sum_neon(const float *x, size_t n)
{
    lanes sum = lanes_zero();
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        sum = lanes_add(sum, lanes_load(x + i));
    if (i < n)
        sum = lanes_add(sum, lanes_load_part(x + i, n - i));
    return lanes_join_neon(sum);
}

static float dot_neon(const float *x, const float *y, size_t n)
{
    lanes sum = lanes_zero();
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        sum = lanes_fma(lanes_load(x + i), lanes_load(y + i), sum);
    if (i < n)
        sum = lanes_fma(lanes_load_part(x + i, n - i), lanes_load_part(y + i, n - i), sum);
    return lanes_join_neon(sum);
}

static float max_neon(const float *x, size_t n)
{
    float32x4_t m = vdupq_n_f32(-INFINITY);
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        m = mathf_max_neon(m, vld1q_f32(x + i));
    float l[4], best = -INFINITY;
    vst1q_f32(l, m);
    for (int j = 0; j < 4; j++)
        best = mathf_max(best, l[j]);
    for (; i < n; i++)
        best = mathf_max(best, x[i]);
    return best;
}

static void rms_norm_neon(const float *x, const float *w, float eps, float *out, size_t n)
{
    const float32x4_t r = vdupq_n_f32(1.0f / sqrtf(dot_neon(x, x, n) / (float)n + eps));
    for (size_t i = 0; i < n; i += 4) {
        float32x4_t y = vmulq_f32(load_n(x + i, n - i), r);
        if (w)
            y = vmulq_f32(y, load_n(w + i, n - i));
        store_n(out + i, n - i, y);
    }
}

static void rope_neon(const float *x, const float *cosines, const float *sines, float *out, size_t n)
{
    const size_t h = n / 2;
    for (size_t i = 0; i < h; i += 4) {
        const size_t m = h - i;
        const float32x4_t a = load_n(x + i, m), b = load_n(x + i + h, m);
        const float32x4_t ac = vmulq_f32(a, load_n(cosines + i, m)), bs = vmulq_f32(b, load_n(sines + i, m));
        const float32x4_t bc = vmulq_f32(b, load_n(cosines + i + h, m)), as = vmulq_f32(a, load_n(sines + i + h, m));
        store_n(out + i, m, vsubq_f32(ac, bs));
        store_n(out + i + h, m, vaddq_f32(bc, as));
    }
}

static void softmax_neon(const float *x, float beta, float *out, size_t n)
{
    const float32x4_t m = vdupq_n_f32(max_neon(x, n)), scale = vdupq_n_f32(beta);
    for (size_t i = 0; i < n; i += 4)
        store_n(out + i, n - i, mathf_exp_neon(vmulq_f32(vsubq_f32(load_n(x + i, n - i), m), scale)));
    const float32x4_t sum = vdupq_n_f32(sum_neon(out, n));
    for (size_t i = 0; i < n; i += 4)
        store_n(out + i, n - i, vdivq_f32(load_n(out + i, n - i), sum));
}

static void f16_to_f32_neon(const uint16_t *x, float *out, size_t n)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        vst1q_f32(out + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x + i))));
    for (; i < n; i++)
        out[i] = f16_to_float(x[i]);
}

/* `count` registers of columns, the last one with `last` of 4 columns. */
static inline __attribute__((always_inline)) void vec_mat_columns(const float *x, size_t x_stride, const float *m,
                                                                  size_t m_stride, size_t k, float *out,
                                                                  const int count, size_t last)
{
    float32x4_t sum[8];
    for (int c = 0; c < count; c++)
        sum[c] = vdupq_n_f32(0.0f);
    for (size_t i = 0; i < k; i++) {
        const float32x4_t xi = vdupq_n_f32(x[i * x_stride]);
        for (int c = 0; c < count; c++)
            sum[c] = fma4(xi, load_n(m + i * m_stride + 4 * c, c == count - 1 ? last : 4), sum[c]);
    }
    for (int c = 0; c < count; c++)
        store_n(out + 4 * c, c == count - 1 ? last : 4, sum[c]);
}

static void vec_mat_neon(const float *x, size_t x_stride, const float *m, size_t m_stride, size_t k, float *out,
                         size_t n)
{
    size_t j = 0;
    for (; j + 32 <= n; j += 32)
        vec_mat_columns(x, x_stride, m + j, m_stride, k, out + j, 8, 4);
    for (; j + 4 <= n; j += 4)
        vec_mat_columns(x, x_stride, m + j, m_stride, k, out + j, 1, 4);
    if (j < n)
        vec_mat_columns(x, x_stride, m + j, m_stride, k, out + j, 1, n - j);
}

static void mul_add_neon(const float *a, const float *b, float *out, size_t n)
{
    for (size_t i = 0; i < n; i += 4)
        store_n(out + i, n - i, fma4(load_n(a + i, n - i), load_n(b + i, n - i), load_n(out + i, n - i)));
}

/* `count` registers of columns, the last one with `last` of 4 columns. */
static inline __attribute__((always_inline)) void delta_columns(const float *q, const float *k, const float *v,
                                                                float beta, float decay, float *state, size_t stride,
                                                                size_t dk, float *out, const int count, size_t last)
{
    const float32x4_t e = vdupq_n_f32(decay);
    float32x4_t m[4], o[4];
    for (int c = 0; c < count; c++)
        m[c] = o[c] = vdupq_n_f32(0.0f);
    for (size_t i = 0; i < dk; i++) {
        float *s = state + i * stride;
        const float32x4_t ki = vdupq_n_f32(k[i]);
        for (int c = 0; c < count; c++) {
            const size_t n = c == count - 1 ? last : 4;
            const float32x4_t x = vmulq_f32(load_n(s + 4 * c, n), e);
            store_n(s + 4 * c, n, x);
            m[c] = fma4(ki, x, m[c]);
        }
    }
    for (int c = 0; c < count; c++)
        m[c] = vmulq_f32(vsubq_f32(load_n(v + 4 * c, c == count - 1 ? last : 4), m[c]), vdupq_n_f32(beta));
    for (size_t i = 0; i < dk; i++) {
        float *s = state + i * stride;
        const float32x4_t ki = vdupq_n_f32(k[i]), qi = vdupq_n_f32(q[i]);
        for (int c = 0; c < count; c++) {
            const size_t n = c == count - 1 ? last : 4;
            const float32x4_t x = fma4(ki, m[c], load_n(s + 4 * c, n));
            store_n(s + 4 * c, n, x);
            o[c] = fma4(qi, x, o[c]);
        }
    }
    for (int c = 0; c < count; c++)
        store_n(out + 4 * c, c == count - 1 ? last : 4, o[c]);
}

static void delta_step_neon(const float *q, const float *k, const float *v, float beta, float decay, float *state,
                            size_t stride, size_t dk, size_t n, float *out)
{
    size_t j = 0;
    for (; j + 16 <= n; j += 16)
        delta_columns(q, k, v + j, beta, decay, state + j, stride, dk, out + j, 4, 4);
    for (; j + 4 <= n; j += 4)
        delta_columns(q, k, v + j, beta, decay, state + j, stride, dk, out + j, 1, 4);
    if (j < n)
        delta_columns(q, k, v + j, beta, decay, state + j, stride, dk, out + j, 1, n - j);
}

void vec_kernels_init_neon(vec_kernels *k);

void vec_kernels_init_neon(vec_kernels *k)
{
    *k = (vec_kernels){
        .name = "neon",
        .binary = {[VEC_ADD] = add_neon,
                   [VEC_SUB] = sub_neon,
                   [VEC_MUL] = mul_neon,
                   [VEC_DIV] = div_neon,
                   [VEC_MIN] = min_2_neon,
                   [VEC_MAX] = max_2_neon},
        .unary = {[VEC_NEG] = neg_neon,
                  [VEC_ABS] = abs_neon,
                  [VEC_SQRT] = sqrt_neon,
                  [VEC_RSQRT] = rsqrt_neon,
                  [VEC_SQUARE] = square_neon,
                  [VEC_EXP] = exp_neon,
                  [VEC_LOG] = log_neon,
                  [VEC_SIN] = sin_neon,
                  [VEC_COS] = cos_neon,
                  [VEC_TANH] = tanh_neon,
                  [VEC_LOGISTIC] = logistic_neon,
                  [VEC_GELU_TANH] = gelu_tanh_neon,
                  [VEC_GELU_ERF] = gelu_erf_neon,
                  [VEC_SILU] = silu_neon,
                  [VEC_RELU] = relu_neon},
        .gated = gated_neon,
        .rms_norm = rms_norm_neon,
        .rope = rope_neon,
        .softmax = softmax_neon,
        .sum = sum_neon,
        .dot = dot_neon,
        .max = max_neon,
        .f16_to_f32 = f16_to_f32_neon,
        .vec_mat = vec_mat_neon,
        .mul_add = mul_add_neon,
        .delta_step = delta_step_neon,
    };
}
