#include "text/hf_regex.h"

#include "base/buffer.h"

#include <stdio.h>
#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

struct hf_regex {
    pcre2_code *code;
    pcre2_match_context *limits;
    bool jit;
};

/* Steps of one match, and memory for backtracking in KiB: a sane pattern needs a handful per character. */
enum { MATCH_LIMIT = 20 * 1000 * 1000, HEAP_LIMIT_KIB = 256 * 1024 };

/* ---- from Oniguruma's dialect to PCRE2's */

#define SPACE_CHARS                                                                                                    \
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
#define WORD_CHARS "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}"

/* What an escaped letter becomes outside and inside a bracket; NULL: not supported there. Letters that are not listed are refused. */
typedef struct escape {
    char letter;
    const char *outside, *inside;
} escape;
static const escape escapes[] = {
    {'s', "[" SPACE_CHARS "]", SPACE_CHARS},
    {'S', "[^" SPACE_CHARS "]", NULL},
    {'w', "[" WORD_CHARS "]", WORD_CHARS},
    {'W', "[^" WORD_CHARS "]", NULL},
    {'d', "\\d", "\\d"},
    {'D', "\\D", "\\D"},
    {'p', "\\p", "\\p"},
    {'P', "\\P", "\\P"},
    {'n', "\\n", "\\n"},
    {'r', "\\r", "\\r"},
    {'t', "\\t", "\\t"},
    {'f', "\\f", "\\f"},
    {'v', "\\x0b", "\\x0b"},
    {'a', "\\a", "\\a"},
    {'e', "\\e", "\\e"},
    {'x', "\\x", "\\x"},
    {'h', "[0-9A-Fa-f]", "0-9A-Fa-f"},
    {'A', "\\A", NULL},
    {'z', "\\z", NULL},
    {'Z', "\\Z", NULL},
    {'b', "\\b", "\\x08"},
    {'B', "\\B", NULL},
    {'G', "\\G", NULL},
};

typedef struct translation {
    bytes pattern;
    size_t at;
    bool in_class;
    bool after_interval; /* "{n,m}" just ended: a "+" would repeat it there, but make it possessive here */
    buffer out;
    char *problem;
} translation;

static bool refuse(translation *t, const char *what)
{
    snprintf(t->problem, 160, "%s at byte %zu of the pattern", what, t->at);
    return false;
}

static bool translate_escape(translation *t)
{
    if (t->at + 1 == t->pattern.size)
        return refuse(t, "a backslash at the end");
    uint8_t c = t->pattern.data[t->at + 1];
    t->at += 2;
    if (c == 'u' && t->pattern.size - t->at >= 4) {
        buffer_printf(&t->out, "\\x{%.4s}", (const char *)t->pattern.data + t->at);
        t->at += 4;
        return true;
    }
    bool letter = (c | 32) >= 'a' && (c | 32) <= 'z';
    if (!letter && !(c >= '0' && c <= '9')) {
        buffer_append(&t->out, t->pattern.data + t->at - 2, 2);
        return true;
    }
    for (size_t i = 0; letter && i < sizeof escapes / sizeof *escapes; i++) {
        const char *to = t->in_class ? escapes[i].inside : escapes[i].outside;
        if (escapes[i].letter != c || !to)
            continue;
        buffer_string(&t->out, to);
        return true;
    }
    char what[64];
    snprintf(what, sizeof what, "the escape \\%c%s", c, t->in_class ? " in brackets" : "");
    return refuse(t, what);
}

static bool translate_class_char(translation *t, size_t opened)
{
    uint8_t c = t->pattern.data[t->at];
    const uint8_t *rest = t->pattern.data + t->at;
    size_t left = t->pattern.size - t->at;
    if (c == '[' && left > 1 && rest[1] == ':') {
        size_t n = 2;
        while (n < left && rest[n] != ']')
            n++;
        if (n == left)
            return refuse(t, "brackets without an end");
        buffer_append(&t->out, rest, n + 1);
        t->at += n + 1;
        return true;
    }
    if (c == '[')
        return refuse(t, "brackets in brackets");
    if (c == '&' && left > 1 && rest[1] == '&')
        return refuse(t, "an intersection of brackets (&&)");
    t->in_class = !(c == ']' && t->at > opened);
    buffer_append(&t->out, &c, 1);
    t->at++;
    return true;
}

/* True if "{…}" at the current position is an interval. */
static size_t interval_length(const translation *t)
{
    size_t n = 1, left = t->pattern.size - t->at;
    const uint8_t *p = t->pattern.data + t->at;
    while (n < left && ((p[n] >= '0' && p[n] <= '9') || p[n] == ','))
        n++;
    return n > 1 && n < left && p[n] == '}' ? n + 1 : 0;
}

static bool translate_char(translation *t, size_t *class_opened)
{
    uint8_t c = t->pattern.data[t->at];
    bool after_interval = t->after_interval;
    t->after_interval = false;
    if (c == '\\')
        return translate_escape(t);
    if (t->in_class)
        return translate_class_char(t, *class_opened);
    if (after_interval && c == '+')
        return refuse(t, "an interval followed by +");
    if (c == '(' && t->pattern.size - t->at > 2 && t->pattern.data[t->at + 1] == '*')
        return refuse(t, "a verb (*…)");
    size_t n = 1;
    if (c == '{') {
        size_t interval = interval_length(t);
        t->after_interval = interval != 0;
        n = interval ? interval : 1;
        if (interval && t->pattern.data[t->at + 1] == ',')
            buffer_append(&t->out, "{0", 2), t->at++, n--; /* {,n} */
    }
    if (c == '[') {
        t->in_class = true;
        if (t->pattern.size - t->at > 1 && t->pattern.data[t->at + 1] == '^')
            n = 2;
        *class_opened = t->at + n; /* a ] right here is a member */
    }
    buffer_append(&t->out, t->pattern.data + t->at, n);
    t->at += n;
    return true;
}

static lithe_status translate(bytes pattern, buffer *out, char problem[160], lithe_error *err)
{
    translation t = {.pattern = pattern, .problem = problem};
    buffer_init(&t.out);
    size_t class_opened = 0;
    bool fine = true;
    while (fine && t.at < pattern.size)
        fine = translate_char(&t, &class_opened);
    *out = t.out;
    if (buffer_failed(out))
        return error_memory(err, pattern.size * 4, "a regular expression");
    return fine ? LITHE_OK : LITHE_E_UNSUPPORTED;
}

/* ---- compiling and matching */

static lithe_status compile_translated(hf_regex *re, bytes pattern, char problem[160], lithe_error *err)
{
    int code;
    PCRE2_SIZE at;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    re->limits = pcre2_match_context_create(NULL);
    if (!context || !re->limits) {
        pcre2_compile_context_free(context);
        return error_memory(err, 4096, "a regular expression");
    }
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context, 100);
    pcre2_set_max_pattern_length(context, 1 << 16);
    uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    re->code = pcre2_compile(pattern.data, pattern.size, options, &code, &at, context);
    pcre2_compile_context_free(context);
    if (!re->code) {
        PCRE2_UCHAR text[120];
        pcre2_get_error_message(code, text, sizeof text);
        snprintf(problem, 160, "%.110s at byte %zu of the translated pattern", (const char *)text, (size_t)at);
        return LITHE_E_UNSUPPORTED;
    }
    pcre2_set_match_limit(re->limits, MATCH_LIMIT);
    pcre2_set_heap_limit(re->limits, HEAP_LIMIT_KIB);
    re->jit = pcre2_jit_compile(re->code, PCRE2_JIT_COMPLETE) == 0;
    return LITHE_OK;
}

lithe_status hf_regex_compile(hf_regex **out, bytes pattern, char problem[160], lithe_error *err)
{
    problem[0] = 0;
    hf_regex *re = calloc(1, sizeof *re);
    if (!re)
        return error_memory(err, sizeof *re, "a regular expression");
    buffer translated;
    lithe_status st = translate(pattern, &translated, problem, err);
    if (!st)
        st = compile_translated(re, (bytes){translated.size ? translated.data : (const uint8_t *)"", translated.size},
                                problem, err);
    buffer_fini(&translated);
    if (st)
        hf_regex_free(re);
    else
        *out = re;
    return st;
}

void hf_regex_free(hf_regex *re)
{
    if (!re)
        return;
    pcre2_code_free(re->code);
    pcre2_match_context_free(re->limits);
    free(re);
}

size_t hf_regex_memory(const hf_regex *re)
{
    size_t size = 0, jit = 0;
    pcre2_pattern_info(re->code, PCRE2_INFO_SIZE, &size);
    pcre2_pattern_info(re->code, PCRE2_INFO_JITSIZE, &jit);
    return sizeof *re + size + jit;
}

lithe_status hf_regex_find(const hf_regex *re, bytes text, size_t from, bool *found, size_t *start, size_t *end,
                           lithe_error *err)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    if (!data)
        return error_memory(err, 256, "a regular expression");
    int rc = pcre2_match(re->code, text.data, text.size, from, PCRE2_NO_UTF_CHECK, data, re->limits);
    /* Compiled code has a small stack; the interpreter uses the heap. */
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
        rc = pcre2_match(re->code, text.data, text.size, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data, re->limits);
    *found = rc >= 0;
    if (*found) {
        const PCRE2_SIZE *range = pcre2_get_ovector_pointer(data);
        *start = range[0];
        *end = range[1] < range[0] ? range[0] : range[1];
    }
    pcre2_match_data_free(data);
    if (rc >= 0 || rc == PCRE2_ERROR_NOMATCH)
        return LITHE_OK;
    PCRE2_UCHAR message[120];
    pcre2_get_error_message(rc, message, sizeof message);
    return error_set(err, LITHE_E_TOKENIZER, "a pattern of the tokenizer cannot be matched at byte %zu of the text: %s",
                     from, (const char *)message);
}
