#include "cli/options.h"

#include "base/buffer.h"
#include "base/decimal.h"
#include "cli/output.h"

#include <stdio.h>
#include <string.h>

typedef struct option_match {
    const option *row;
    const option_group *group;
} option_match;

static option_match find_name(const command_line *line, const char *name, size_t size)
{
    for (size_t g = 0; g < line->n_groups; g++) {
        for (size_t i = 0; i < line->groups[g].n_rows; i++) {
            const option *row = &line->groups[g].rows[i];
            if (strlen(row->name) == size && memcmp(row->name, name, size) == 0) {
                return (option_match){row, &line->groups[g]};
            }
        }
    }
    return (option_match){0};
}

static option_match find_letter(const command_line *line, char letter)
{
    for (size_t g = 0; g < line->n_groups; g++) {
        for (size_t i = 0; i < line->groups[g].n_rows; i++) {
            if (line->groups[g].rows[i].letter == letter) {
                return (option_match){&line->groups[g].rows[i], &line->groups[g]};
            }
        }
    }
    return (option_match){0};
}

/* Decimal digits only: strtoull would take signs, spaces and what the locale likes. */
static bool parse_u64(const char *text, uint64_t *out)
{
    uint64_t v = 0;
    if (*text == 0) {
        return false;
    }
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || !u64_mul(v, 10, &v) || !u64_add(v, (uint64_t)(*text - '0'), &v)) {
            return false;
        }
    }
    *out = v;
    return true;
}

static bool parse_i32(const char *text, int32_t *out)
{
    uint64_t v = 0;
    bool minus = *text == '-';
    if (!parse_u64(text + minus, &v) || v > INT32_MAX) {
        return false;
    }
    *out = minus ? -(int32_t)v : (int32_t)v;
    return true;
}

/* JSON's spelling of numbers, and ".7" for those who are used to it. */
static bool parse_f32(const char *text, float *out)
{
    char zero[64];
    if (*text == '.') {
        int n = snprintf(zero, sizeof zero, "0%s", text);
        if (n < 0 || (size_t)n >= sizeof zero) {
            return false;
        }
        text = zero;
    }
    return decimal_f32((bytes){(const uint8_t *)text, strlen(text)}, out);
}

static bool in_range(const option *row, double v)
{
    return v >= row->min && (row->max <= 0 || v <= row->max);
}

/* One function for each kind: stores the value at `at`, false if the text is no such value. */

static bool take_flag(const option *row, const char *text, void *at)
{
    (void)row;
    (void)text;
    *(bool *)at = true;
    return true;
}

static bool take_text(const option *row, const char *text, void *at)
{
    (void)row;
    *(const char **)at = text;
    return true;
}

static bool take_u32(const option *row, const char *text, void *at)
{
    uint64_t v = 0;
    bool ok = parse_u64(text, &v) && v <= UINT32_MAX && in_range(row, (double)v);
    if (ok) {
        *(uint32_t *)at = (uint32_t)v;
    }
    return ok;
}

static bool take_u64(const option *row, const char *text, void *at)
{
    uint64_t v = 0;
    bool ok = parse_u64(text, &v) && in_range(row, (double)v);
    if (ok) {
        *(uint64_t *)at = v;
    }
    return ok;
}

static bool take_i32(const option *row, const char *text, void *at)
{
    int32_t v = 0;
    bool ok = parse_i32(text, &v) && in_range(row, v);
    if (ok) {
        *(int32_t *)at = v;
    }
    return ok;
}

static bool take_f32(const option *row, const char *text, void *at)
{
    float v = 0;
    bool ok = parse_f32(text, &v) && in_range(row, (double)v);
    if (ok) {
        *(float *)at = v;
    }
    return ok;
}

static bool take_choice(const option *row, const char *text, void *at)
{
    for (int i = 0; row->choices[i]; i++) {
        if (strcmp(row->choices[i], text) == 0) {
            *(int *)at = i;
            return true;
        }
    }
    return false;
}

static bool (*const takers[])(const option *row, const char *text, void *at) = {
    [OPTION_FLAG] = take_flag, [OPTION_TEXT] = take_text, [OPTION_U32] = take_u32,       [OPTION_U64] = take_u64,
    [OPTION_I32] = take_i32,   [OPTION_F32] = take_f32,   [OPTION_CHOICE] = take_choice,
};

static void describe_expected(const option *row, char *buf, size_t buf_bytes)
{
    const char *kind = row->kind == OPTION_F32 ? "a number" : "a whole number";
    if (row->kind == OPTION_CHOICE) {
        size_t at = (size_t)snprintf(buf, buf_bytes, "one of");
        for (size_t i = 0; row->choices[i] && at < buf_bytes; i++) {
            at += (size_t)snprintf(buf + at, buf_bytes - at, "%s %s", i ? "," : "", row->choices[i]);
        }
    } else if (row->max > 0) {
        snprintf(buf, buf_bytes, "%s from %g to %g", kind, row->min, row->max);
    } else {
        snprintf(buf, buf_bytes, "%s from %g", kind, row->min);
    }
}

static options_result apply(option_match m, const char *text)
{
    char expected[160];
    if (takers[m.row->kind](m.row, text, (char *)m.group->values + m.row->offset)) {
        if (m.group->set) {
            *m.group->set |= m.row->set;
        }
        return OPTIONS_OK;
    }
    describe_expected(m.row, expected, sizeof expected);
    output_usage_error("--%s takes %s, not \"%s\"", m.row->name, expected, text);
    return OPTIONS_WRONG;
}

/* Help starts in this column; a longer option has a line of its own. */
enum { HELP_COLUMN = 28 };

static void print_row(buffer *out, const option *row)
{
    char left[80], letter[8] = "    ";
    if (row->letter) {
        snprintf(letter, sizeof letter, "-%c, ", row->letter);
    }
    int n = snprintf(left, sizeof left, "  %s--%s%s%s", letter, row->name, row->value ? " " : "",
                     row->value ? row->value : "");
    buffer_string(out, left);
    if (n >= HELP_COLUMN) {
        buffer_string(out, "\n");
        n = 0;
    }
    buffer_printf(out, "%*s%s\n", HELP_COLUMN - n, "", row->help);
}

static void print_help(const command_line *line)
{
    buffer out;
    buffer_init(&out);
    buffer_printf(&out, "usage: %s\n\n%s\n", line->usage, line->about);
    for (size_t g = 0; g < line->n_groups; g++) {
        buffer_printf(&out, "\n%s:\n", line->groups[g].title);
        for (size_t i = 0; i < line->groups[g].n_rows; i++) {
            print_row(&out, &line->groups[g].rows[i]);
        }
    }
    output_buffer(&out);
    buffer_fini(&out);
}

/* "--name", "--name=value" or "--name value"; *i moves past a value of its own. */
static options_result parse_long(const command_line *line, int argc, char **argv, int *i)
{
    const char *name = argv[*i] + 2, *equals = strchr(name, '=');
    size_t size = equals ? (size_t)(equals - name) : strlen(name);
    option_match m = find_name(line, name, size);
    if (!m.row) {
        output_usage_error("unknown option --%.*s", (int)(size < 100 ? size : 100), name);
        return OPTIONS_WRONG;
    }
    if (m.row->kind == OPTION_FLAG) {
        if (equals) {
            output_usage_error("--%s takes no value", m.row->name);
            return OPTIONS_WRONG;
        }
        return apply(m, "");
    }
    if (equals) {
        return apply(m, equals + 1);
    }
    if (*i + 1 >= argc) {
        output_usage_error("--%s needs a value: %s", m.row->name, m.row->value);
        return OPTIONS_WRONG;
    }
    return apply(m, argv[++*i]);
}

/* "-n 64", "-n64", and flags together as in "-ev". */
static options_result parse_letters(const command_line *line, int argc, char **argv, int *i)
{
    for (const char *at = argv[*i] + 1; *at; at++) {
        option_match m = find_letter(line, *at);
        options_result result;
        if (*at == 'h') {
            print_help(line);
            return OPTIONS_HELP;
        }
        if (!m.row) {
            output_usage_error("unknown option -%c", *at >= ' ' && *at <= '~' ? *at : '?');
            return OPTIONS_WRONG;
        }
        if (m.row->kind == OPTION_FLAG) {
            result = apply(m, "");
        } else if (at[1]) {
            return apply(m, at + 1);
        } else if (*i + 1 < argc) {
            return apply(m, argv[++*i]);
        } else {
            output_usage_error("-%c needs a value: %s", *at, m.row->value);
            return OPTIONS_WRONG;
        }
        if (result != OPTIONS_OK) {
            return result;
        }
    }
    return OPTIONS_OK;
}

static options_result check_arguments(const command_line *line)
{
    if (line->n_arguments >= line->min_arguments && line->n_arguments <= line->max_arguments) {
        return OPTIONS_OK;
    }
    if (line->n_arguments > line->max_arguments) {
        output_usage_error("too many arguments: \"%s\" is not expected (usage: %s)",
                           line->arguments[line->max_arguments], line->usage);
    } else {
        output_usage_error("too few arguments (usage: %s)", line->usage);
    }
    return OPTIONS_WRONG;
}

options_result options_parse(command_line *line, int argc, char **argv)
{
    bool options_end = false;
    line->arguments = (const char **)argv;
    line->n_arguments = 0;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        options_result result = OPTIONS_OK;
        if (options_end || arg[0] != '-' || arg[1] == 0) {
            line->arguments[line->n_arguments++] = arg;
        } else if (strcmp(arg, "--") == 0) {
            options_end = true;
        } else if (strcmp(arg, "--help") == 0) {
            print_help(line);
            return OPTIONS_HELP;
        } else if (arg[1] == '-') {
            result = parse_long(line, argc, argv, &i);
        } else {
            result = parse_letters(line, argc, argv, &i);
        }
        if (result != OPTIONS_OK) {
            return result;
        }
    }
    return check_arguments(line);
}
