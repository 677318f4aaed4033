/* Drawing a token: greedy, or temperature over the top-k logits cut at top-p. Deterministic by seed on every machine: the arithmetic is double
 * precision in a fixed order, the exponential is cpu/mathf.h's. */
#include "engine/session.h"

#include "cpu/mathf.h"

#include <math.h>
#include <stdlib.h>

void sampler_apply(lithe_sampler *s, lithe_sampler_sources *from, const lithe_sampler_request *r, lithe_source source)
{
    if (r->set & LITHE_SET_TEMPERATURE)
        s->temperature = r->values.temperature, from->temperature = source;
    if (r->set & LITHE_SET_TOP_K)
        s->top_k = r->values.top_k, from->top_k = source;
    if (r->set & LITHE_SET_TOP_P)
        s->top_p = r->values.top_p, from->top_p = source;
    if (r->set & LITHE_SET_SEED)
        s->seed = r->values.seed, from->seed = source;
}

lithe_status sampler_check(const lithe_sampler *s, lithe_error *err)
{
    if (!isfinite(s->temperature) || s->temperature < 0)
        return error_set(err, LITHE_E_ARGUMENT, "temperature %g: it must be 0 (greedy) or more",
                         (double)s->temperature);
    if (s->top_k < 0)
        return error_set(err, LITHE_E_ARGUMENT, "top-k %d: it must be 0 (all) or more", s->top_k);
    if (!(s->top_p > 0 && s->top_p <= 1))
        return error_set(err, LITHE_E_ARGUMENT, "top-p %g: it must be above 0 and at most 1", (double)s->top_p);
    return LITHE_OK;
}

/* splitmix64 (Steele, Lea, Flood 2014): the top 53 bits of each output make a double in [0, 1). */
static double next_uniform(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static int32_t argmax(const float *logits, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (logits[i] > logits[best])
            best = i;
    return (int32_t)best;
}

typedef struct candidate {
    float logit;
    int32_t id;
} candidate;

/* Higher logit first, then lower id. */
static bool better(candidate a, candidate b)
{
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

/* The heap's root is its best (worst_first: its worst) entry. */
static void sift_down(candidate *h, size_t n, size_t i, bool worst_first)
{
    for (;;) {
        size_t c = 2 * i + 1;
        if (c >= n)
            return;
        if (c + 1 < n && better(h[c + 1], h[c]) != worst_first)
            c++;
        if (better(h[i], h[c]) != worst_first)
            return;
        candidate t = h[i];
        h[i] = h[c], h[c] = t;
        i = c;
    }
}

static void heapify(candidate *h, size_t n, bool worst_first)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down(h, n, i, worst_first);
}

/* The k best entries as a heap with the best at the root. */
static size_t gather(candidate *h, const float *logits, size_t n, size_t k)
{
    for (size_t i = 0; i < k; i++)
        h[i] = (candidate){logits[i], (int32_t)i};
    if (k < n) {
        heapify(h, k, true);
        for (size_t i = k; i < n; i++) {
            candidate c = {logits[i], (int32_t)i};
            if (!better(c, h[0]))
                continue;
            h[0] = c;
            sift_down(h, k, 0, true);
        }
    }
    heapify(h, k, false);
    return k;
}

static double weight(const lithe_sampler *s, float logit, float max)
{
    return (double)mathf_exp((logit - max) / s->temperature);
}

/* Walks the candidates from the best on. First the sum of all weights, then the smallest set that holds top_p of it, then a draw in that set. */
static int32_t draw(candidate *h, size_t n, const lithe_sampler *s, uint64_t *rng)
{
    float max = h[0].logit;
    double total = 0, kept = 0;
    for (size_t i = 0; i < n; i++)
        total += weight(s, h[i].logit, max);
    /* popped candidates go behind the shrinking heap: h[n - 1] is the best, h[n - 2] the next, … */
    size_t m = n;
    while (m > 0 && (kept < s->top_p * total || m == n)) {
        candidate best = h[0];
        h[0] = h[--m];
        sift_down(h, m, 0, false);
        h[m] = best;
        kept += weight(s, best.logit, max);
    }
    double at = next_uniform(rng) * kept;
    for (size_t i = n; i-- > m;) {
        at -= weight(s, h[i].logit, max);
        if (at < 0)
            return h[i].id;
    }
    return h[m].id;
}

lithe_status session_draw(lithe_session *s, const lithe_sampler *sampler, const float *logits, size_t n, int32_t *id,
                          lithe_error *err)
{
    if (sampler->temperature == 0 || sampler->top_k == 1) {
        *id = argmax(logits, n);
        return LITHE_OK;
    }
    size_t k = sampler->top_k > 0 && (size_t)sampler->top_k < n ? (size_t)sampler->top_k : n;
    if (k * sizeof(candidate) > s->candidates_bytes) {
        void *more = realloc(s->candidates, k * sizeof(candidate));
        if (!more)
            return error_memory(err, k * sizeof(candidate), "the sampler");
        s->candidates = more;
        s->candidates_bytes = k * sizeof(candidate);
    }
    *id = draw(s->candidates, gather(s->candidates, logits, n, k), sampler, &s->rng);
    return LITHE_OK;
}
