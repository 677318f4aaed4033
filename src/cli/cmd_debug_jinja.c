#include "base/json.h"
#include "cli/common.h"
#include "lang/jinja.h"

#include <stdlib.h>
#include <string.h>

typedef struct jinja_values {
    const char *now;
} jinja_values;

/* clang-format off */
static const option jinja_rows[] = {
    {.name = "now", .kind = OPTION_TEXT, .offset = offsetof(jinja_values, now), .value = "SECONDS",
     .help = "what strftime_now takes for the time, in seconds since 1970"},
};
/* clang-format on */

static lithe_status read_now(const char *text, int64_t *now, lithe_error *err)
{
    char *end = NULL;
    long long v = strtoll(text, &end, 10);
    *now = v;
    return *text && !*end ? LITHE_OK
                          : error_set(err, LITHE_E_ARGUMENT, "--now takes seconds since 1970, not \"%s\"", text);
}

static lithe_status render(const char *const *paths, const jinja_values *values, buffer *out, lithe_error *err)
{
    char *source = NULL, *text = NULL;
    size_t source_size = 0, size = 0;
    jinja_template *t = NULL;
    json_doc *vars = NULL;
    int64_t now = 0;
    jinja_options options = {.now = values->now ? &now : NULL};
    lithe_status status = values->now ? read_now(values->now, &now, err) : LITHE_OK;
    if (!status) {
        status = input_read(paths[0], &source, &source_size, err);
    }
    if (!status) {
        status = input_read(paths[1], &text, &size, err);
    }
    if (!status && (status = json_parse(&vars, (bytes){(const uint8_t *)text, size}, err)) != LITHE_OK) {
        error_at_path(err, paths[1]);
    }
    if (!status) {
        status = jinja_parse(&t, (bytes){(const uint8_t *)source, source_size}, NULL, err);
        status = status ? status : jinja_render(t, vars, 0, &options, out, NULL, err);
        if (status) {
            error_at_path(err, paths[0]);
        }
    }
    jinja_free(t);
    json_free(vars);
    free(text);
    free(source);
    return status;
}

int cmd_debug_jinja(int argc, char **argv)
{
    jinja_values values = {0};
    command_line line = {
        .usage = "lithe debug jinja TEMPLATE VARS.json [options]",
        .about =
            "Renders a chat template as Hugging Face's tools would, with the members of VARS.json (an object) as its\n"
            "variables. The text goes to standard output; an error says line, column and kind, exit code 1.",
        .min_arguments = 2,
        .max_arguments = 2,
        .groups = {OPTION_GROUP("template", jinja_rows, &values, NULL)},
        .n_groups = 1,
    };
    options_result parsed = options_parse(&line, argc, argv);
    if (parsed != OPTIONS_OK) {
        return parsed == OPTIONS_HELP ? EXIT_DONE : EXIT_USAGE;
    }
    lithe_error err = {0};
    buffer out;
    buffer_init(&out);
    int code = EXIT_DONE;
    if (render(line.arguments, &values, &out, &err)) {
        int by_error = output_error(&err);
        code = err.code == LITHE_E_IO ? by_error : EXIT_FAILED; /* whatever is wrong with the template: 1 */
    } else if (!output_buffer(&out)) {
        code = EXIT_FAILED;
    }
    buffer_fini(&out);
    return code;
}
