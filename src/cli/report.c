#include "cli/report.h"

#include "base/cpuinfo.h"
#include "cli/common.h"

#include <math.h>
#include <string.h>

void run_report_init(run_report *r, const lithe_model *model, uint32_t top)
{
    *r = (run_report){.model = model, .top = top};
    buffer_init(&r->ids);
    buffer_init(&r->text);
    buffer_init(&r->steps);
}

void run_report_fini(run_report *r)
{
    buffer_fini(&r->ids);
    buffer_fini(&r->text);
    buffer_fini(&r->steps);
}

size_t run_report_tokens(const run_report *r)
{
    return r->ids.size / sizeof(int32_t);
}

/* log softmax of one logit over all, at temperature 1. */
static double log_probability(const float *logits, size_t n, int32_t id)
{
    double max = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++) {
        max = fmax(max, (double)logits[i]);
    }
    for (size_t i = 0; i < n; i++) {
        sum += exp((double)logits[i] - max);
    }
    return (double)logits[id] - max - log(sum);
}

enum { TOP_MAX = 1000 };

/* The best ids, largest logit first, smaller id first among equals; returns how many. */
static size_t best_ids(const float *logits, size_t n, size_t wanted, uint32_t best[TOP_MAX])
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (found == wanted && !(logits[i] > logits[best[found - 1]])) {
            continue;
        }
        size_t at = found < wanted ? found++ : found - 1;
        while (at > 0 && logits[i] > logits[best[at - 1]]) {
            best[at] = best[at - 1];
            at--;
        }
        best[at] = (uint32_t)i;
    }
    return found;
}

static void add_step(run_report *r, const lithe_token_event *event)
{
    uint32_t best[TOP_MAX];
    json_writer w;
    bool drawn = (size_t)event->id < event->vocab_size;
    size_t n = best_ids(event->logits, event->vocab_size, r->top < TOP_MAX ? r->top : TOP_MAX, best);
    if (r->steps.size) {
        buffer_string(&r->steps, ",");
    }
    json_writer_init(&w, &r->steps, false);
    json_begin_object(&w);
    json_write_key(&w, "id");
    json_write_i64(&w, event->id);
    json_write_key(&w, "logprob");
    json_write_f32(&w, drawn ? (float)log_probability(event->logits, event->vocab_size, event->id) : NAN);
    json_write_key(&w, "top");
    json_begin_array(&w);
    for (size_t i = 0; i < n; i++) {
        json_begin_array(&w);
        json_write_u64(&w, best[i]);
        json_write_f64(&w, (double)event->logits[best[i]]);
        json_end_array(&w);
    }
    json_end_array(&w);
    json_end_object(&w);
}

bool run_report_token(run_report *r, const lithe_token_event *event, bool keep_text)
{
    /* What was held back may come at the end without a token (id -1). */
    if (event->id >= 0) {
        buffer_append(&r->ids, &event->id, sizeof event->id);
    }
    if (keep_text) {
        buffer_append(&r->text, event->text, event->text_bytes);
    }
    if (r->top && event->id >= 0 && event->logits) {
        add_step(r, event);
    }
    return !buffer_failed(&r->ids) && !buffer_failed(&r->text) && !buffer_failed(&r->steps);
}

/* Rates and times are measured: three decimals are more than they hold. */
static double rounded(double v)
{
    return round(v * 1000) / 1000;
}

/* Tokens per second, or NaN (null in JSON) when there is nothing to divide by. */
static double rate(size_t tokens, double seconds)
{
    return seconds > 0 ? (double)tokens / seconds : (double)NAN;
}

static double prefill_rate(const run_report *r)
{
    return rate(r->n_prompt, r->prefill_s);
}

/* The first token comes out of the prefill; every later one cost a decode step. */
static double decode_rate(const run_report *r)
{
    size_t n = run_report_tokens(r);
    return n > 1 ? rate(n - 1, r->result.decode_ms / 1000) : (double)NAN;
}

static double first_token_ms(const run_report *r)
{
    return r->first_token_s > 0 ? r->first_token_s * 1000 : (double)NAN;
}

static const char *source_name(lithe_source source)
{
    static const char *const names[] = {
        [LITHE_FROM_DEFAULT] = "default",
        [LITHE_FROM_BUNDLE] = "bundle",
        [LITHE_FROM_SESSION] = "session",
        [LITHE_FROM_REQUEST] = "request",
    };
    return (size_t)source < sizeof names / sizeof *names ? names[source] : "default";
}

static void write_ids(json_writer *w, const char *key, const void *ids, size_t n)
{
    json_write_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < n; i++) {
        int32_t id;
        memcpy(&id, (const unsigned char *)ids + i * sizeof id, sizeof id);
        json_write_i64(w, id);
    }
    json_end_array(w);
}

static void write_number(json_writer *w, const char *key, double v)
{
    json_write_key(w, key);
    json_write_f64(w, v);
}

static void write_sampler(json_writer *w, const lithe_generate_result *result)
{
    const struct {
        const char *key;
        lithe_source source;
    } sources[] = {
        {"temperature", result->sources.temperature},
        {"top_k", result->sources.top_k},
        {"top_p", result->sources.top_p},
        {"seed", result->sources.seed},
    };
    json_write_key(w, "sampler");
    json_begin_object(w);
    json_write_key(w, "temperature");
    json_write_f32(w, result->sampler.temperature);
    json_write_key(w, "top_k");
    json_write_i64(w, result->sampler.top_k);
    json_write_key(w, "top_p");
    json_write_f32(w, result->sampler.top_p);
    json_write_key(w, "seed");
    json_write_u64(w, result->sampler.seed);
    json_write_key(w, "source");
    json_begin_object(w);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        json_write_key(w, sources[i].key);
        json_write_cstring(w, source_name(sources[i].source));
    }
    json_end_object(w);
    json_end_object(w);
}

static void write_costs(json_writer *w, const run_report *r)
{
    const lithe_model_info *info = lithe_model_get_info(r->model);
    char features[128];
    cpu_features_describe(cpu_features_enabled(), features, sizeof features);
    json_write_key(w, "timing");
    json_begin_object(w);
    write_number(w, "open_ms", rounded(info->open_ms));
    write_number(w, "ttft_ms", rounded(first_token_ms(r)));
    write_number(w, "prefill_tps", rounded(prefill_rate(r)));
    write_number(w, "decode_tps", rounded(decode_rate(r)));
    json_end_object(w);
    json_write_key(w, "memory");
    json_begin_object(w);
    write_number(w, "private_mb", rounded((double)r->private_bytes / BYTES_PER_MB));
    write_number(w, "mapped_mb", rounded((double)info->mapped_bytes / BYTES_PER_MB));
    write_number(w, "predicted_mb", rounded((double)r->predicted_bytes / BYTES_PER_MB));
    json_end_object(w);
    json_write_key(w, "cpu");
    json_begin_object(w);
    json_write_key(w, "threads");
    json_write_u64(w, info->n_threads);
    json_write_key(w, "kernels");
    json_write_cstring(w, features);
    json_end_object(w);
}

void run_report_json(const run_report *r, buffer *out)
{
    json_writer w;
    json_writer_init(&w, out, false);
    json_begin_object(&w);
    json_write_key(&w, "text");
    json_write_string(&w, r->text.size ? (const char *)r->text.data : "", r->text.size);
    write_ids(&w, "prompt_tokens", r->prompt, r->n_prompt);
    write_ids(&w, "tokens", r->ids.data, run_report_tokens(r));
    json_write_key(&w, "finish_reason");
    json_write_cstring(&w, lithe_finish_name(r->finish));
    write_sampler(&w, &r->result);
    write_costs(&w, r);
    if (r->top) {
        /* The steps are finished JSON already; the array's own brackets are all that is missing. */
        json_write_key(&w, "steps");
        json_begin_array(&w);
        buffer_append(out, r->steps.data, r->steps.size);
        json_end_array(&w);
    }
    json_end_object(&w);
    buffer_string(out, "\n");
}

static void stats_rate(buffer *out, double tokens_per_second)
{
    if (isfinite(tokens_per_second)) {
        buffer_printf(out, ", %.1f tokens/s", tokens_per_second);
    }
    buffer_string(out, "\n");
}

void run_report_stats(const run_report *r, buffer *out)
{
    const lithe_model_info *info = lithe_model_get_info(r->model);
    const lithe_sampler *s = &r->result.sampler;
    const lithe_sampler_sources *from = &r->result.sources;
    char features[128];
    cpu_features_describe(cpu_features_enabled(), features, sizeof features);
    buffer_printf(out, "prefill      %zu tokens", r->n_prompt);
    stats_rate(out, prefill_rate(r));
    buffer_printf(out, "decode       %zu tokens", run_report_tokens(r));
    stats_rate(out, decode_rate(r));
    if (r->first_token_s > 0) {
        buffer_printf(out, "first token  %.1f ms\n", first_token_ms(r));
    }
    buffer_printf(out, "open         %.1f ms\n", info->open_ms);
    buffer_printf(out, "memory       %.1f MB private (predicted %.1f), %.1f MB of the file mapped\n",
                  (double)r->private_bytes / BYTES_PER_MB, (double)r->predicted_bytes / BYTES_PER_MB,
                  (double)info->mapped_bytes / BYTES_PER_MB);
    buffer_printf(out, "stop reason  %s\n", lithe_finish_name(r->finish));
    buffer_printf(out, "sampler      temperature %g (%s), top-k %d (%s), top-p %g (%s), seed %llu (%s)\n",
                  (double)s->temperature, source_name(from->temperature), (int)s->top_k, source_name(from->top_k),
                  (double)s->top_p, source_name(from->top_p), (unsigned long long)s->seed, source_name(from->seed));
    buffer_printf(out, "cpu          %u threads, %s; plan: %s\n", info->n_threads, features, info->plan);
}
