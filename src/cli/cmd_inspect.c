#include "cli/common.h"

#include <string.h>

typedef struct inspect_options {
    common_options common;
    bool json, memory;
    const char *graph, *after;
    uint32_t context;
} inspect_options;

/* clang-format off */
static const option inspect_rows[] = {
    {.name = "json", .kind = OPTION_FLAG, .offset = offsetof(inspect_options, json), .help = "JSON instead of text"},
    {.name = "graph", .kind = OPTION_TEXT, .offset = offsetof(inspect_options, graph), .value = "SIGNATURE",
     .help = "print the graph of a signature: prefill_128, decode, …"},
    {.name = "after", .kind = OPTION_TEXT, .offset = offsetof(inspect_options, after), .value = "PASS",
     .help = "the graph as it is after this pass; list: the passes"},
    {.name = "memory", .kind = OPTION_FLAG, .offset = offsetof(inspect_options, memory),
     .help = "forecast of private memory"},
    {.name = "context", .kind = OPTION_U32, .offset = offsetof(inspect_options, context), .min = 1, .value = "N",
     .help = "with --memory: for N positions in use (default: all)"},
};
/* clang-format on */

static int inspect(const char *path, const inspect_options *options)
{
    const lithe_inspect_options what = {
        .json = options->json,
        .graph = options->graph,
        .after_pass = options->after,
        .memory = options->memory,
        .context = options->context,
    };
    lithe_error err = {0};
    buffer out;
    buffer_init(&out);
    int code = EXIT_DONE;
    if (lithe_inspect(path, &what, output_collect, &out, &err)) {
        code = output_error(&err);
    } else if (!output_buffer(&out)) {
        code = buffer_failed(&out) ? EXIT_TOO_LARGE : EXIT_FAILED;
    }
    buffer_fini(&out);
    return code;
}

int cmd_inspect(int argc, char **argv)
{
    inspect_options options = {0};
    common_options_init(&options.common);
    command_line line = {
        .usage = "lithe inspect MODEL.litertlm [--json] [--graph SIGNATURE [--after PASS]] [--memory [--context N]]",
        .about = "Shows what a bundle (or a plain .tflite) holds: sections, metadata, signatures, operations, plan.\n"
                 "The bundle need not be one that lithe can run.",
        .min_arguments = 1,
        .max_arguments = 1,
        .groups = {OPTION_GROUP("what to show", inspect_rows, &options, NULL), common_message_group(&options.common)},
        .n_groups = 2,
    };
    options_result parsed = options_parse(&line, argc, argv);
    if (parsed != OPTIONS_OK) {
        return parsed == OPTIONS_HELP ? EXIT_DONE : EXIT_USAGE;
    }
    if (options.after && !options.graph && strcmp(options.after, "list") != 0) {
        return output_usage_error("--after needs --graph");
    }
    if (options.context && !options.memory) {
        return output_usage_error("--context needs --memory");
    }
    common_apply_log(&options.common);
    return inspect(line.arguments[0], &options);
}
