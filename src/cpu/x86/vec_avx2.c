/* Vector kernels for AVX2 with FMA and F16C. Ends of rows go through masked loads and stores. */
#include "cpu/vec.h"

#include "cpu/f16.h"
#include "cpu/x86/lanes_avx2.h"
#include "cpu/x86/mathf_avx2.h"

static inline void store_part(float *p, size_t n, __m256 v)
{
    _mm256_maskstore_ps(p, lanes_mask_avx2(n), v);
}

static inline __m256 load_n(const float *p, size_t n)
{
    return n >= 8 ? _mm256_loadu_ps(p) : lanes_load_part_avx2(p, n);
}

static inline void store_n(float *p, size_t n, __m256 v)
{
    if (n >= 8)
        _mm256_storeu_ps(p, v);
    else
        store_part(p, n, v);
}

#define BINARY(name, expression)                                                                                       \
    static void name##_avx2(const float *a, const float *b, float *out, size_t n, int a_one, int b_one)                \
    {                                                                                                                  \
        if (n == 0)                                                                                                    \
            return;                                                                                                    \
        const __m256 a1 = _mm256_set1_ps(*a), b1 = _mm256_set1_ps(*b);                                                 \
        for (size_t i = 0; i < n; i += 8) {                                                                            \
            const __m256 x = a_one ? a1 : load_n(a + i, n - i), y = b_one ? b1 : load_n(b + i, n - i);                 \
            store_n(out + i, n - i, expression);                                                                       \
        }                                                                                                              \
    }

BINARY(add, _mm256_add_ps(x, y))
BINARY(sub, _mm256_sub_ps(x, y))
BINARY(mul, _mm256_mul_ps(x, y))
BINARY(div, _mm256_div_ps(x, y))
BINARY(min_2, mathf_min_avx2(x, y))
BINARY(max_2, mathf_max_avx2(x, y))

#define UNARY(name, expression)                                                                                        \
    static void name##_avx2(const float *in, float *out, size_t n)                                                     \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i += 8) {                                                                            \
            const __m256 x = load_n(in + i, n - i);                                                                    \
            store_n(out + i, n - i, expression);                                                                       \
        }                                                                                                              \
    }

UNARY(neg, _mm256_xor_ps(_mm256_set1_ps(-0.0f), x))
UNARY(abs, _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x))
UNARY(sqrt, _mm256_sqrt_ps(x))
UNARY(rsqrt, _mm256_div_ps(_mm256_set1_ps(1.0f), _mm256_sqrt_ps(x)))
UNARY(square, _mm256_mul_ps(x, x))
UNARY(exp, mathf_exp_avx2(x))
UNARY(log, mathf_log_avx2(x))
UNARY(sin, mathf_sin_avx2(x))
UNARY(cos, mathf_cos_avx2(x))
UNARY(tanh, mathf_tanh_avx2(x))
UNARY(logistic, mathf_logistic_avx2(x))
UNARY(gelu_tanh, mathf_gelu_tanh_avx2(x))
UNARY(gelu_erf, mathf_gelu_erf_avx2(x))
UNARY(silu, mathf_silu_avx2(x))
UNARY(relu, mathf_max_avx2(x, _mm256_setzero_ps()))

#define GATED(name, function)                                                                                          \
    static void gated_##name(const float *gate, const float *up, float *out, size_t n)                                 \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i += 8)                                                                              \
            store_n(out + i, n - i, _mm256_mul_ps(function(load_n(gate + i, n - i)), load_n(up + i, n - i)));          \
    }

GATED(gelu_tanh, mathf_gelu_tanh_avx2)
GATED(silu, mathf_silu_avx2)
GATED(gelu_erf, mathf_gelu_erf_avx2)

static void gated_avx2(uint32_t kind, const float *gate, const float *up, float *out, size_t n)
{
    if (kind == 0)
        gated_gelu_tanh(gate, up, out, n);
    else if (kind == 1)
        gated_silu(gate, up, out, n);
    else
        gated_gelu_erf(gate, up, out, n);
}

static float sum_avx2(const float *x, size_t n)
{
    __m256 lo = _mm256_setzero_ps(), hi = lo, a, b;
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        lo = _mm256_add_ps(lo, _mm256_loadu_ps(x + i));
        hi = _mm256_add_ps(hi, _mm256_loadu_ps(x + i + 8));
    }
    if (i < n) {
        lanes_load_tail_avx2(x + i, n - i, &a, &b);
        lo = _mm256_add_ps(lo, a);
        hi = _mm256_add_ps(hi, b);
    }
    return lanes_join_avx2(lo, hi);
}

static float dot_avx2(const float *x, const float *y, size_t n)
{
    __m256 lo = _mm256_setzero_ps(), hi = lo, a, b, c, d;
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        lo = _mm256_fmadd_ps(_mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i), lo);
        hi = _mm256_fmadd_ps(_mm256_loadu_ps(x + i + 8), _mm256_loadu_ps(y + i + 8), hi);
    }
    if (i < n) {
        lanes_load_tail_avx2(x + i, n - i, &a, &b);
        lanes_load_tail_avx2(y + i, n - i, &c, &d);
        lo = _mm256_fmadd_ps(a, c, lo);
        hi = _mm256_fmadd_ps(b, d, hi);
    }
    return lanes_join_avx2(lo, hi);
}

static float max_avx2(const float *x, size_t n)
{
    __m256 m = _mm256_set1_ps(-INFINITY);
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        m = mathf_max_avx2(m, _mm256_loadu_ps(x + i));
    float l[8], best = -INFINITY;
    _mm256_storeu_ps(l, m);
    for (int j = 0; j < 8; j++)
        best = mathf_max(best, l[j]);
    for (; i < n; i++)
        best = mathf_max(best, x[i]);
    return best;
}

static void rms_norm_avx2(const float *x, const float *w, float eps, float *out, size_t n)
{
    const __m256 r = _mm256_set1_ps(1.0f / sqrtf(dot_avx2(x, x, n) / (float)n + eps));
    for (size_t i = 0; i < n; i += 8) {
        __m256 y = _mm256_mul_ps(load_n(x + i, n - i), r);
        if (w)
            y = _mm256_mul_ps(y, load_n(w + i, n - i));
        store_n(out + i, n - i, y);
    }
}

static void rope_avx2(const float *x, const float *cosines, const float *sines, float *out, size_t n)
{
    const size_t h = n / 2;
    for (size_t i = 0; i < h; i += 8) {
        const size_t m = h - i;
        const __m256 a = load_n(x + i, m), b = load_n(x + i + h, m);
        const __m256 ac = _mm256_mul_ps(a, load_n(cosines + i, m)), bs = _mm256_mul_ps(b, load_n(sines + i, m));
        const __m256 bc = _mm256_mul_ps(b, load_n(cosines + i + h, m)), as = _mm256_mul_ps(a, load_n(sines + i + h, m));
        store_n(out + i, m, _mm256_sub_ps(ac, bs));
        store_n(out + i + h, m, _mm256_add_ps(bc, as));
    }
}

static void softmax_avx2(const float *x, float beta, float *out, size_t n)
{
    const __m256 m = _mm256_set1_ps(max_avx2(x, n)), scale = _mm256_set1_ps(beta);
    for (size_t i = 0; i < n; i += 8)
        store_n(out + i, n - i, mathf_exp_avx2(_mm256_mul_ps(_mm256_sub_ps(load_n(x + i, n - i), m), scale)));
    const __m256 sum = _mm256_set1_ps(sum_avx2(out, n));
    for (size_t i = 0; i < n; i += 8)
        store_n(out + i, n - i, _mm256_div_ps(load_n(out + i, n - i), sum));
}

static void f16_to_f32_avx2(const uint16_t *x, float *out, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(x + i))));
    for (; i < n; i++)
        out[i] = f16_to_float(x[i]);
}

/* `count` registers of columns, the last one with `last` of 8 columns. */
static inline __attribute__((always_inline)) void vec_mat_columns(const float *x, size_t x_stride, const float *m,
                                                                  size_t m_stride, size_t k, float *out,
                                                                  const int count, size_t last)
{
    __m256 sum[8];
    for (int c = 0; c < count; c++)
        sum[c] = _mm256_setzero_ps();
    for (size_t i = 0; i < k; i++) {
        const __m256 xi = _mm256_set1_ps(x[i * x_stride]);
        for (int c = 0; c < count; c++)
            sum[c] = _mm256_fmadd_ps(xi, load_n(m + i * m_stride + 8 * c, c == count - 1 ? last : 8), sum[c]);
    }
    for (int c = 0; c < count; c++)
        store_n(out + 8 * c, c == count - 1 ? last : 8, sum[c]);
}

static void vec_mat_avx2(const float *x, size_t x_stride, const float *m, size_t m_stride, size_t k, float *out,
                         size_t n)
{
    size_t j = 0;
    for (; j + 64 <= n; j += 64)
        vec_mat_columns(x, x_stride, m + j, m_stride, k, out + j, 8, 8);
    for (; j + 8 <= n; j += 8)
        vec_mat_columns(x, x_stride, m + j, m_stride, k, out + j, 1, 8);
    if (j < n)
        vec_mat_columns(x, x_stride, m + j, m_stride, k, out + j, 1, n - j);
}

static void mul_add_avx2(const float *a, const float *b, float *out, size_t n)
{
    for (size_t i = 0; i < n; i += 8)
        store_n(out + i, n - i, _mm256_fmadd_ps(load_n(a + i, n - i), load_n(b + i, n - i), load_n(out + i, n - i)));
}

/* `count` registers of columns, the last one with `last` of 8 columns. */
static inline __attribute__((always_inline)) void delta_columns(const float *q, const float *k, const float *v,
                                                                float beta, float decay, float *state, size_t stride,
                                                                size_t dk, float *out, const int count, size_t last)
{
    const __m256 e = _mm256_set1_ps(decay);
    __m256 m[4], o[4];
    for (int c = 0; c < count; c++)
        m[c] = o[c] = _mm256_setzero_ps();
    for (size_t i = 0; i < dk; i++) {
        float *s = state + i * stride;
        const __m256 ki = _mm256_set1_ps(k[i]);
        for (int c = 0; c < count; c++) {
            const size_t n = c == count - 1 ? last : 8;
            const __m256 x = _mm256_mul_ps(load_n(s + 8 * c, n), e);
            store_n(s + 8 * c, n, x);
            m[c] = _mm256_fmadd_ps(ki, x, m[c]);
        }
    }
    for (int c = 0; c < count; c++)
        m[c] = _mm256_mul_ps(_mm256_sub_ps(load_n(v + 8 * c, c == count - 1 ? last : 8), m[c]), _mm256_set1_ps(beta));
    for (size_t i = 0; i < dk; i++) {
        float *s = state + i * stride;
        const __m256 ki = _mm256_set1_ps(k[i]), qi = _mm256_set1_ps(q[i]);
        for (int c = 0; c < count; c++) {
            const size_t n = c == count - 1 ? last : 8;
            const __m256 x = _mm256_fmadd_ps(ki, m[c], load_n(s + 8 * c, n));
            store_n(s + 8 * c, n, x);
            o[c] = _mm256_fmadd_ps(qi, x, o[c]);
        }
    }
    for (int c = 0; c < count; c++)
        store_n(out + 8 * c, c == count - 1 ? last : 8, o[c]);
}

static void delta_step_avx2(const float *q, const float *k, const float *v, float beta, float decay, float *state,
                            size_t stride, size_t dk, size_t n, float *out)
{
    size_t j = 0;
    for (; j + 32 <= n; j += 32)
        delta_columns(q, k, v + j, beta, decay, state + j, stride, dk, out + j, 4, 8);
    for (; j + 8 <= n; j += 8)
        delta_columns(q, k, v + j, beta, decay, state + j, stride, dk, out + j, 1, 8);
    if (j < n)
        delta_columns(q, k, v + j, beta, decay, state + j, stride, dk, out + j, 1, n - j);
}

void vec_kernels_init_avx2(vec_kernels *k);

void vec_kernels_init_avx2(vec_kernels *k)
{
    *k = (vec_kernels){
        .name = "avx2",
        .binary = {[VEC_ADD] = add_avx2,
                   [VEC_SUB] = sub_avx2,
                   [VEC_MUL] = mul_avx2,
                   [VEC_DIV] = div_avx2,
                   [VEC_MIN] = min_2_avx2,
                   [VEC_MAX] = max_2_avx2},
        .unary = {[VEC_NEG] = neg_avx2,
                  [VEC_ABS] = abs_avx2,
                  [VEC_SQRT] = sqrt_avx2,
                  [VEC_RSQRT] = rsqrt_avx2,
                  [VEC_SQUARE] = square_avx2,
                  [VEC_EXP] = exp_avx2,
                  [VEC_LOG] = log_avx2,
                  [VEC_SIN] = sin_avx2,
                  [VEC_COS] = cos_avx2,
                  [VEC_TANH] = tanh_avx2,
                  [VEC_LOGISTIC] = logistic_avx2,
                  [VEC_GELU_TANH] = gelu_tanh_avx2,
                  [VEC_GELU_ERF] = gelu_erf_avx2,
                  [VEC_SILU] = silu_avx2,
                  [VEC_RELU] = relu_avx2},
        .gated = gated_avx2,
        .rms_norm = rms_norm_avx2,
        .rope = rope_avx2,
        .softmax = softmax_avx2,
        .sum = sum_avx2,
        .dot = dot_avx2,
        .max = max_avx2,
        .f16_to_f32 = f16_to_f32_avx2,
        .vec_mat = vec_mat_avx2,
        .mul_add = mul_add_avx2,
        .delta_step = delta_step_avx2,
    };
}
