/* lithe debug score: how likely a model finds a text, token by token; perplexity, to compare bundles of one checkpoint. */
#include "base/json.h"
#include "cli/common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct score_options {
    common_options common;
    uint32_t window, tokens;
    bool each;
} score_options;

/* clang-format off */
static const option score_rows[] = {
    {.name = "window", .kind = OPTION_U32, .offset = offsetof(score_options, window), .min = 2, .value = "N",
     .help = "tokens seen at a time, the start tokens included (the context, at most 512)"},
    {.name = "tokens", .kind = OPTION_U32, .offset = offsetof(score_options, tokens), .min = 1, .value = "N",
     .help = "score no more than the first N tokens of the text"},
    {.name = "each", .kind = OPTION_FLAG, .offset = offsetof(score_options, each),
     .help = "the log probability of every token too"},
};
/* clang-format on */

typedef struct score {
    const int32_t *ids; /* of the window */
    size_t n, first;    /* its tokens, and how many of them are start tokens */
    size_t scored;
    double nll; /* in nats */
    json_writer *each;
} score;

/* Log of the softmax at `id`. */
static double log_probability(const float *logits, size_t n, size_t id)
{
    float most = logits[0];
    for (size_t i = 1; i < n; i++) {
        most = logits[i] > most ? logits[i] : most;
    }
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += exp((double)logits[i] - (double)most);
    }
    return (double)logits[id] - (double)most - log(sum);
}

static bool score_token(void *user, size_t index, const float *logits, size_t n)
{
    score *s = user;
    size_t next = index + 1;
    if (next >= s->n || next < s->first) {
        return true;
    }
    double p = log_probability(logits, n, (size_t)s->ids[next]);
    s->nll -= p;
    s->scored++;
    if (s->each) {
        json_write_f64(s->each, p);
    }
    return true;
}

/* Windows follow each other without overlap, each behind the start tokens; the first token of a text without any is not scored. */
static lithe_status score_windows(lithe_session *session, const lithe_model_info *info, const int32_t *ids, size_t n,
                                  size_t window, score *s, lithe_error *err)
{
    size_t starts = info->n_start_tokens, body = window - starts;
    int32_t *run = malloc(window * sizeof *run);
    lithe_status status = run ? LITHE_OK : error_memory(err, window * sizeof *run, "a window");
    for (size_t at = 0; at < n && !status; at += body) {
        size_t take = n - at < body ? n - at : body;
        memcpy(run, info->start_tokens, starts * sizeof *run);
        memcpy(run + starts, ids + at, take * sizeof *run);
        s->ids = run;
        s->n = starts + take;
        s->first = starts ? starts : 1;
        lithe_session_reset(session);
        status = lithe_session_score(session, run, s->n, score_token, s, err);
    }
    free(run);
    return status;
}

static lithe_status tokens_of(const lithe_model *model, const char *text, size_t size, int32_t **ids, size_t *n,
                              lithe_error *err)
{
    lithe_status status = lithe_tokenize(model, text, size, LITHE_TOKENIZE_PLAIN, NULL, 0, n, err);
    *ids = status ? NULL : malloc((*n + 1) * sizeof **ids);
    if (status || !*ids) {
        return status ? status : error_memory(err, *n * sizeof **ids, "the tokens");
    }
    return lithe_tokenize(model, text, size, LITHE_TOKENIZE_PLAIN, *ids, *n, n, err);
}

static lithe_status write_score(const score_options *o, lithe_session *session, const lithe_model_info *info,
                                const int32_t *ids, size_t n, buffer *out, lithe_error *err)
{
    uint32_t window = o->window ? o->window : info->context < 512 ? info->context : 512;
    if (window > info->context || window <= info->n_start_tokens + 1) {
        error_set(err, LITHE_E_ARGUMENT, "a window of %u tokens cannot be used", window);
        error_expected(err, "%zu to %u", info->n_start_tokens + 2, info->context);
        return error_found(err, "%u", window);
    }
    json_writer w;
    json_writer_init(&w, out, false);
    json_begin_object(&w);
    if (o->each) {
        json_write_key(&w, "log_probabilities");
        json_begin_array(&w);
    }
    score s = {.each = o->each ? &w : NULL};
    lithe_status status = score_windows(session, info, ids, n, window, &s, err);
    if (status) {
        return status;
    }
    if (!s.scored) {
        return error_set(err, LITHE_E_ARGUMENT, "the text has %zu token%s: nothing to score", n, n == 1 ? "" : "s");
    }
    if (o->each) {
        json_end_array(&w);
    }
    json_write_key(&w, "tokens");
    json_write_u64(&w, s.scored);
    json_write_key(&w, "window");
    json_write_u64(&w, window);
    json_write_key(&w, "nll");
    json_write_f64(&w, s.nll / (double)s.scored);
    json_write_key(&w, "perplexity");
    json_write_f64(&w, exp(s.nll / (double)s.scored));
    json_end_object(&w);
    buffer_string(out, "\n");
    return buffer_failed(out) ? error_memory(err, out->capacity, "the output") : LITHE_OK;
}

static lithe_status score_file(const score_options *o, const char *bundle, const char *path, buffer *out,
                               lithe_error *err)
{
    char *text = NULL;
    size_t size = 0, n = 0;
    int32_t *ids = NULL;
    lithe_model *model = NULL;
    lithe_session *session = NULL;
    lithe_status status = input_read(path, &text, &size, err);
    if (!status) {
        status = common_open(&o->common, bundle, &model, err);
    }
    if (!status) {
        status = lithe_session_create(model, NULL, &session, err);
    }
    if (!status) {
        status = tokens_of(model, text, size, &ids, &n, err);
    }
    if (!status) {
        n = o->tokens && o->tokens < n ? o->tokens : n;
        status = write_score(o, session, lithe_model_get_info(model), ids, n, out, err);
    }
    lithe_session_destroy(session);
    lithe_model_close(model);
    free(ids);
    free(text);
    return status;
}

int cmd_debug_score(int argc, char **argv)
{
    score_options options = {0};
    common_options_init(&options.common);
    command_line line = {
        .usage = "lithe debug score MODEL.litertlm TEXT [options]",
        .about =
            "How likely the model finds the text of a file (- is standard input): {\"tokens\": scored, \"window\": N,\n"
            "\"nll\": mean negative log likelihood in nats, \"perplexity\": its exponential}. For comparing bundles "
            "of\n"
            "one checkpoint: the text is cut into windows that follow each other, each behind the start tokens.",
        .min_arguments = 2,
        .max_arguments = 2,
        .groups = {OPTION_GROUP("score", score_rows, &options, NULL), common_model_group(&options.common),
                   common_message_group(&options.common)},
        .n_groups = 3,
    };
    options_result parsed = options_parse(&line, argc, argv);
    if (parsed != OPTIONS_OK) {
        return parsed == OPTIONS_HELP ? EXIT_DONE : EXIT_USAGE;
    }
    common_apply_log(&options.common);
    lithe_error err = {0};
    buffer out;
    buffer_init(&out);
    int code = EXIT_DONE;
    if (score_file(&options, line.arguments[0], line.arguments[1], &out, &err)) {
        code = output_error(&err);
    } else if (!output_buffer(&out)) {
        code = buffer_failed(&out) ? EXIT_TOO_LARGE : EXIT_FAILED;
    }
    buffer_fini(&out);
    return code;
}
