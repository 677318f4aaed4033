#include "base/json.h"
#include "cli/common.h"
#include "cli/request.h"

#include <stdlib.h>
#include <string.h>

typedef struct debug_options {
    common_options common;
    uint32_t split;
} debug_options;

/* clang-format off */
static const option debug_rows[] = {
    {.name = "split", .kind = OPTION_U32, .offset = offsetof(debug_options, split), .min = 1, .value = "N",
     .help = "prefill in pieces of N ids (the answer must not change)"},
};
/* clang-format on */

static lithe_status prefill(lithe_session *session, const request_ids *ids, size_t piece, lithe_error *err)
{
    lithe_status status = LITHE_OK;
    for (size_t at = 0; at < ids->n && !status; at += piece) {
        size_t n = ids->n - at < piece ? ids->n - at : piece;
        status = lithe_session_prefill(session, ids->ids + at, n, NULL, NULL, err);
        if (at + n == ids->n) {
            break; /* at + piece could overflow */
        }
    }
    return status;
}

/* Logits are written as the double of the same value: whoever reads JSON, into floats or doubles, gets the exact number. */
static lithe_status write_step(lithe_session *session, const request_ids *wanted, json_writer *w, lithe_error *err)
{
    const float *logits = NULL;
    size_t n = 0, best = 0;
    lithe_status status = lithe_session_logits(session, &logits, &n, err);
    if (status) {
        return status;
    }
    for (size_t i = 1; i < n; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    json_begin_object(w);
    json_write_key(w, "argmax");
    json_write_u64(w, best);
    json_write_key(w, "logits");
    json_begin_array(w);
    for (size_t i = 0; i < (wanted->all ? n : wanted->n); i++) {
        json_write_f64(w, (double)logits[wanted->all ? i : (size_t)wanted->ids[i]]);
    }
    json_end_array(w);
    json_end_object(w);
    buffer_string(w->out, w->depth == 2 ? "\n" : "");
    return buffer_failed(w->out) ? error_memory(err, w->out->capacity, "the output") : LITHE_OK;
}

static lithe_status write_steps(lithe_session *session, const request *r, size_t piece, buffer *out, lithe_error *err)
{
    json_writer w;
    json_writer_init(&w, out, false);
    json_begin_object(&w);
    json_write_key(&w, "steps");
    json_begin_array(&w);
    lithe_status status = prefill(session, &r->prefill, piece, err);
    for (size_t i = 0; !status; i++) {
        status = write_step(session, &r->report[i], &w, err);
        if (i == r->decode.n) {
            break;
        }
        if (!status) {
            status = lithe_session_decode(session, r->decode.ids[i], err);
        }
    }
    json_end_array(&w);
    json_end_object(&w);
    buffer_string(out, "\n");
    return status;
}

static lithe_status read_request(request *r, const char *path, lithe_error *err)
{
    char *text = NULL;
    size_t size = 0;
    lithe_status status = input_read(path, &text, &size, err);
    if (status) {
        *r = (request){0};
        arena_init(&r->memory, 0);
        return status;
    }
    status = request_read(r, text, size, err);
    if (status) {
        error_at_path(err, strcmp(path, "-") == 0 ? "standard input" : path);
    }
    free(text);
    return status;
}

static lithe_status debug_logits(const debug_options *options, const char *path, const request *r, buffer *out,
                                 lithe_error *err)
{
    lithe_model *model = NULL;
    lithe_session *session = NULL;
    lithe_status status = common_open(&options->common, path, &model, err);
    if (!status) {
        status = request_check(r, lithe_model_get_info(model)->vocab_size, err);
    }
    if (!status) {
        status = lithe_session_create(model, NULL, &session, err);
    }
    if (!status) {
        status = write_steps(session, r, options->split ? options->split : r->prefill.n, out, err);
    }
    lithe_session_destroy(session);
    lithe_model_close(model);
    return status;
}

static int cmd_debug_logits(int argc, char **argv)
{
    debug_options options = {0};
    common_options_init(&options.common);
    command_line line = {
        .usage = "lithe debug logits MODEL.litertlm IN.json [options]",
        .about =
            "Runs ids as given, nothing prepended, and prints logits. IN.json (- is standard input):\n"
            "  {\"prefill\": [ids], \"decode\": [ids], \"report\": [[ids] per step]}\n"
            "gives {\"steps\": [{\"argmax\": id, \"logits\": [...]}, ...]}: step 0 after the prefill, then one per\n"
            "decoded id. \"report\" lists for each step the ids whose logits are wanted, null for all; without it:\n"
            "all, every step.",
        .min_arguments = 2,
        .max_arguments = 2,
        .groups = {OPTION_GROUP("logits", debug_rows, &options, NULL), common_model_group(&options.common),
                   common_message_group(&options.common)},
        .n_groups = 3,
    };
    options_result parsed = options_parse(&line, argc, argv);
    if (parsed != OPTIONS_OK) {
        return parsed == OPTIONS_HELP ? EXIT_DONE : EXIT_USAGE;
    }
    common_apply_log(&options.common);
    lithe_error err = {0};
    request r;
    buffer out;
    buffer_init(&out);
    lithe_status status = read_request(&r, line.arguments[1], &err);
    if (!status) {
        status = debug_logits(&options, line.arguments[0], &r, &out, &err);
    }
    int code = EXIT_DONE;
    if (status) {
        code = output_error(&err);
    } else if (!output_buffer(&out)) {
        code = buffer_failed(&out) ? EXIT_TOO_LARGE : EXIT_FAILED;
    }
    request_fini(&r);
    buffer_fini(&out);
    return code;
}

typedef struct debug_command {
    const char *name, *arguments;
    int (*run)(int argc, char **argv);
} debug_command;

/* One line per subcommand. */
static const debug_command subcommands[] = {
    {"logits", "MODEL.litertlm IN.json", cmd_debug_logits},
    {"score", "MODEL.litertlm TEXT", cmd_debug_score},
    {"jinja", "TEMPLATE VARS.json", cmd_debug_jinja},
};

enum { N_SUBCOMMANDS = sizeof subcommands / sizeof *subcommands };

int cmd_debug(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < N_SUBCOMMANDS; i++) {
        if (strcmp(argv[1], subcommands[i].name) == 0) {
            return subcommands[i].run(argc - 1, argv + 1);
        }
    }
    buffer text;
    buffer_init(&text);
    bool help = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    for (size_t i = 0; i < N_SUBCOMMANDS; i++) {
        const debug_command *c = &subcommands[i];
        if (help) {
            buffer_printf(&text, "%s lithe debug %s %s [options]\n", i ? "      " : "usage:", c->name, c->arguments);
        } else {
            buffer_printf(&text, "%s%s", i ? ", " : "", c->name);
        }
    }
    int code = EXIT_DONE;
    if (help) {
        output_buffer(&text);
    } else {
        code = output_usage_error("debug needs a subcommand: %.*s (lithe debug logits --help)", (int)text.size,
                                  (const char *)text.data);
    }
    buffer_fini(&text);
    return code;
}
