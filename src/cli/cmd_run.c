#include "base/file.h"
#include "cli/common.h"
#include "cli/prompt.h"
#include "cli/report.h"
#include "cli/watch.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct run_options {
    common_options common;
    prompt_source prompt;
    uint32_t max_tokens, top;
    bool special, no_start, ignore_stop, stats, json;
    lithe_sampler_request sampler;
} run_options;

/* clang-format off */
static const option prompt_rows[] = {
    {.name = "prompt", .letter = 'p', .kind = OPTION_TEXT, .offset = offsetof(run_options, prompt.text),
     .value = "TEXT", .help = "the prompt"},
    {.name = "file", .letter = 'f', .kind = OPTION_TEXT, .offset = offsetof(run_options, prompt.file),
     .value = "FILE", .help = "read the prompt from a file; - is standard input"},
    {.name = "raw", .kind = OPTION_FLAG, .offset = offsetof(run_options, prompt.exact),
     .help = "the prompt's bytes exactly as they are, no template"},
    {.name = "escapes", .letter = 'e', .kind = OPTION_FLAG, .offset = offsetof(run_options, prompt.escapes),
     .help = "\\n, \\t, \\u00e9 … in the prompt are escapes"},
    {.name = "special", .kind = OPTION_FLAG, .offset = offsetof(run_options, special),
     .help = "special tokens' text (<|im_start|> …) becomes those tokens"},
    {.name = "no-start", .kind = OPTION_FLAG, .offset = offsetof(run_options, no_start),
     .help = "leave out the bundle's start tokens before the prompt"},
};

static const option answer_rows[] = {
    {.name = "max-tokens", .letter = 'n', .kind = OPTION_U32, .offset = offsetof(run_options, max_tokens), .min = 1,
     .value = "N", .help = "tokens to generate (default: until a stop or a full context)"},
    {.name = "ignore-stop", .kind = OPTION_FLAG, .offset = offsetof(run_options, ignore_stop),
     .help = "go on after stop tokens"},
    {.name = "temperature", .kind = OPTION_F32, .offset = offsetof(run_options, sampler.values.temperature), .min = 0,
     .max = 1e6, .set = LITHE_SET_TEMPERATURE, .value = "T", .help = "0: always the likeliest token"},
    {.name = "top-k", .kind = OPTION_I32, .offset = offsetof(run_options, sampler.values.top_k), .min = 0,
     .set = LITHE_SET_TOP_K, .value = "K", .help = "draw from the K likeliest tokens; 0: from all"},
    {.name = "top-p", .kind = OPTION_F32, .offset = offsetof(run_options, sampler.values.top_p), .min = 1e-9,
     .max = 1, .set = LITHE_SET_TOP_P, .value = "P",
     .help = "draw from the likeliest that together have this probability"},
    {.name = "seed", .kind = OPTION_U64, .offset = offsetof(run_options, sampler.values.seed), .set = LITHE_SET_SEED,
     .value = "S", .help = "the same seed draws the same answer"},
    {.name = "stats", .kind = OPTION_FLAG, .offset = offsetof(run_options, stats),
     .help = "print speed, memory and settings on standard error"},
    {.name = "json", .kind = OPTION_FLAG, .offset = offsetof(run_options, json),
     .help = "print one JSON object instead of text"},
    {.name = "top", .kind = OPTION_U32, .offset = offsetof(run_options, top), .min = 1, .max = 1000, .value = "N",
     .help = "with --json: the N best tokens of each step and their logits"},
};
/* clang-format on */

/* One run, from open model to finished answer. */
typedef struct run {
    const run_options *options;
    lithe_model *model;
    lithe_session *session;
    watch *watch;
    int32_t *prompt;
    size_t n_prompt;
    run_report report;
    double start_s;    /* when the prompt was given to the open model */
    double progress_s; /* when progress was last shown */
    bool progress_shown;
    bool memory_out; /* the report could not grow */
    char last;       /* of the text streamed so far; 0: nothing */
} run;

static bool on_token(void *user, const lithe_token_event *event)
{
    run *r = (run *)user;
    if (run_report_tokens(&r->report) == 0 && event->id >= 0) {
        r->report.first_token_s = clock_seconds() - r->start_s;
    }
    if (!run_report_token(&r->report, event, r->options->json)) {
        r->memory_out = true;
        return false;
    }
    if (!r->options->json && event->text_bytes) {
        r->last = event->text[event->text_bytes - 1];
        if (!output_text(event->text, event->text_bytes)) {
            return false;
        }
    }
    /* Cancelled rather than refused: text that the library still holds back belongs to the answer. */
    if (watch_interrupted()) {
        lithe_session_cancel(r->session);
    }
    return true;
}

/* Only for people, and only when they wait. */
static bool on_progress(void *user, size_t done, size_t total)
{
    run *r = (run *)user;
    double now = clock_seconds();
    if (file_is_terminal(STREAM_MESSAGES) && !r->options->common.quiet && now - r->start_s > 0.5 &&
        now - r->progress_s > 0.1) {
        fprintf(stderr, "\rprefill %zu of %zu tokens (%d %%)", done, total,
                (int)(100.0 * (double)done / (double)total));
        r->progress_s = now;
        r->progress_shown = true;
    }
    return !watch_interrupted();
}

static void clear_progress(run *r)
{
    if (r->progress_shown) {
        fputs("\r\033[K", stderr);
        r->progress_shown = false;
    }
}

static lithe_status tokenize(run *r, const char *text, size_t size, lithe_error *err)
{
    const run_options *o = r->options;
    unsigned flags = (o->no_start ? 0u : LITHE_TOKENIZE_START) | (o->special ? LITHE_TOKENIZE_SPECIAL : 0u);
    size_t n = 0;
    /* A token stands for a byte or more, nearly always; the second call is for the exceptions. */
    size_t capacity = size + lithe_model_get_info(r->model)->n_start_tokens + 16;
    for (;;) {
        int32_t *ids = capacity <= SIZE_MAX / sizeof *ids ? realloc(r->prompt, capacity * sizeof *ids) : NULL;
        if (!ids) {
            return error_memory(err, (uint64_t)capacity * sizeof *ids, "the prompt's tokens");
        }
        r->prompt = ids;
        lithe_status status = lithe_tokenize(r->model, text, size, flags, ids, capacity, &n, err);
        if (status || n <= capacity) {
            r->n_prompt = n;
            break;
        }
        capacity = n;
    }
    r->report.prompt = r->prompt;
    r->report.n_prompt = r->n_prompt;
    if (r->n_prompt == 0) {
        error_set(err, LITHE_E_ARGUMENT, "the prompt has no tokens");
        return error_hint(err, "give a prompt that is not empty");
    }
    return LITHE_OK;
}

/* What generate would report, for answers that end before it is called. */
static void expect_sampler(run *r)
{
    const lithe_model_info *info = lithe_model_get_info(r->model);
    const lithe_sampler_request *wish = &r->options->sampler;
    lithe_sampler *s = &r->report.result.sampler;
    lithe_sampler_sources *from = &r->report.result.sources;
    *s = info->sampler;
    *from = info->sampler_sources;
    if (wish->set & LITHE_SET_TEMPERATURE) {
        s->temperature = wish->values.temperature, from->temperature = LITHE_FROM_REQUEST;
    }
    if (wish->set & LITHE_SET_TOP_K) {
        s->top_k = wish->values.top_k, from->top_k = LITHE_FROM_REQUEST;
    }
    if (wish->set & LITHE_SET_TOP_P) {
        s->top_p = wish->values.top_p, from->top_p = LITHE_FROM_REQUEST;
    }
    if (wish->set & LITHE_SET_SEED) {
        s->seed = wish->values.seed, from->seed = LITHE_FROM_REQUEST;
    }
}

static lithe_status generate(run *r, lithe_error *err)
{
    lithe_generate_options options;
    lithe_generate_options_init(&options);
    options.max_tokens = r->options->max_tokens;
    options.sampler = r->options->sampler;
    options.ignore_stop = r->options->ignore_stop;
    options.on_token = on_token;
    options.user = r;
    lithe_status status = lithe_session_generate(r->session, &options, &r->report.result, err);
    if (status) {
        return status;
    }
    if (r->memory_out) {
        return error_set(err, LITHE_E_MEMORY, "out of memory while keeping the answer");
    }
    r->report.finish = r->report.result.finish;
    return LITHE_OK;
}

/* Prefill and generate. An interrupted prefill is an answer without tokens, not an error. */
static lithe_status answer(run *r, lithe_error *err)
{
    expect_sampler(r);
    double before = clock_seconds();
    r->progress_s = before;
    lithe_status status = lithe_session_prefill(r->session, r->prompt, r->n_prompt, on_progress, r, err);
    clear_progress(r);
    if (status == LITHE_E_CANCELLED && watch_interrupted()) {
        r->report.finish = LITHE_FINISH_CANCELLED;
        return LITHE_OK;
    }
    if (status) {
        return status;
    }
    r->report.prefill_s = clock_seconds() - before;
    watch_peak_memory(r->watch);
    return generate(r, err);
}

static void warn(const run *r)
{
    const lithe_model_info *info = lithe_model_get_info(r->model);
    if (r->report.result.repeats) {
        output_warning("the answer ended in one token repeated without end, or in pad tokens: the prompt's form, the "
                       "sampler or the bundle is "
                       "not right for this model");
    }
    if (r->report.finish == LITHE_FINISH_CONTEXT) {
        output_warning("the answer was cut off: the context of %u positions is full", info->context);
    }
}

/* Ends the text or prints the JSON, then what goes to standard error. */
static void finish(run *r)
{
    buffer out;
    buffer_init(&out);
    r->report.private_bytes = watch_peak_memory(r->watch);
    uint32_t used = lithe_session_position(r->session);
    r->report.predicted_bytes =
        lithe_model_memory_forecast(r->model, used ? used : 1); /* 0 would be the whole context */
    if (r->options->json) {
        run_report_json(&r->report, &out);
        output_buffer(&out);
    } else {
        output_text("\n", 1);
    }
    out.size = 0;
    warn(r);
    if (r->options->stats) {
        run_report_stats(&r->report, &out);
        fwrite(out.data, 1, out.size, stderr);
    }
    buffer_fini(&out);
}

static int run_model(run *r, const char *path, const char *text, size_t size)
{
    lithe_error err = {0};
    lithe_status status = common_open(&r->options->common, path, &r->model, &err);
    if (status) {
        return output_error(&err);
    }
    run_report_init(&r->report, r->model, r->options->json ? r->options->top : 0);
    if (lithe_model_get_info(r->model)->jinja_template && !r->options->prompt.exact && !r->options->special) {
        output_warning("chat templates are not applied yet: the model gets the prompt as raw text (--raw: so wanted)");
    }
    status = lithe_session_create(r->model, NULL, &r->session, &err);
    if (!status) {
        watch_session(r->watch, r->session);
        r->start_s = clock_seconds();
        status = tokenize(r, text, size, &err);
    }
    if (!status) {
        status = answer(r, &err);
    }
    if (status) {
        if (r->last) {
            output_text("\n", 1);
        }
        return output_error(&err);
    }
    finish(r);
    return watch_interrupted() ? EXIT_INTERRUPTED : EXIT_DONE;
}

static int run_prompt(const run_options *options, const char *path)
{
    lithe_error err = {0};
    char *text = NULL;
    size_t size = 0;
    run r = {.options = options};
    if (prompt_read(&options->prompt, &text, &size, &err)) {
        return output_error(&err);
    }
    int code;
    if (watch_start(&r.watch, options->json || options->stats, &err)) {
        code = output_error(&err);
    } else {
        code = run_model(&r, path, text, size);
        watch_session(r.watch, NULL);
    }
    run_report_fini(&r.report);
    lithe_session_destroy(r.session);
    lithe_model_close(r.model);
    watch_stop(r.watch);
    free(r.prompt);
    free(text);
    return code;
}

int cmd_run(int argc, char **argv)
{
    run_options options = {0};
    common_options_init(&options.common);
    command_line line = {
        .usage = "lithe run MODEL.litertlm [-p TEXT | -f FILE] [options]",
        .about =
            "Answers a prompt: text goes to standard output as it comes. Without -p and -f the prompt is read from\n"
            "standard input. The bundle's start tokens are put in front. Chat templates are not applied yet: write\n"
            "the turns out (-e --special).",
        .min_arguments = 1,
        .max_arguments = 1,
        .groups = {OPTION_GROUP("prompt", prompt_rows, &options, NULL),
                   OPTION_GROUP("answer", answer_rows, &options, &options.sampler.set),
                   common_model_group(&options.common), common_message_group(&options.common)},
        .n_groups = 4,
    };
    options_result parsed = options_parse(&line, argc, argv);
    if (parsed != OPTIONS_OK) {
        return parsed == OPTIONS_HELP ? EXIT_DONE : EXIT_USAGE;
    }
    if (options.top && !options.json) {
        return output_usage_error("--top needs --json");
    }
    common_apply_log(&options.common);
    return run_prompt(&options, line.arguments[0]);
}
