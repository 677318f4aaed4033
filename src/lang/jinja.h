/* The template language of Hugging Face chat templates: Jinja as jinja2 3.x renders it in a sandbox whose values cannot be
 * changed, with trim_blocks, lstrip_blocks, loop controls, generation blocks and their tojson, raise_exception and strftime_now.
 * docs/templates.md says what is in it and where it departs from jinja2. */
#ifndef LITHE_LANG_JINJA_H
#define LITHE_LANG_JINJA_H

#include "base/buffer.h"
#include "base/json.h"

/* A parsed template: never changes, may be rendered by any number of threads at once. */
typedef struct jinja_template jinja_template;

/* The kinds are the exceptions that jinja2 and Python would raise, and two of ours. */
typedef enum jinja_error_kind {
    JINJA_NO_ERROR,
    JINJA_SYNTAX_ERROR,          /* TemplateSyntaxError */
    JINJA_ASSERTION_ERROR,       /* TemplateAssertionError: an unknown filter or test */
    JINJA_RUNTIME_ERROR,         /* TemplateRuntimeError */
    JINJA_RAISED,                /* TemplateError, by raise_exception: the message is the template's */
    JINJA_UNDEFINED_ERROR,       /* UndefinedError */
    JINJA_SECURITY_ERROR,        /* SecurityError */
    JINJA_FILTER_ARGUMENT_ERROR, /* FilterArgumentError */
    JINJA_TYPE_ERROR,            /* Python's own from here */
    JINJA_VALUE_ERROR,
    JINJA_KEY_ERROR,
    JINJA_INDEX_ERROR,
    JINJA_ATTRIBUTE_ERROR,
    JINJA_ZERO_DIVISION_ERROR,
    JINJA_OVERFLOW_ERROR,
    JINJA_PYTHON_RUNTIME_ERROR,
    JINJA_PYTHON_SYNTAX_ERROR, /* what jinja2 only notices when Python compiles its code */
    JINJA_PYTHON_ASSERTION_ERROR,
    JINJA_LIMIT,       /* steps, depth, output or memory */
    JINJA_UNSUPPORTED, /* jinja2 has it, this engine does not: the message names it */
    JINJA_NO_MEMORY
} jinja_error_kind;

/* "TemplateSyntaxError", "UndefinedError" …; "LimitError" and "UnsupportedError" for ours. */
const char *jinja_error_kind_name(jinja_error_kind kind);

/* Where and why a template failed, beside the lithe_error that says the same in one sentence. */
typedef struct jinja_fault {
    jinja_error_kind kind;
    uint32_t line, column; /* from 1, in characters */
    char message[400];     /* without place and kind */
} jinja_fault;

/* What a rendering may use; 0: the default. */
typedef struct jinja_limits {
    uint64_t steps;        /* expressions and statements evaluated, items passed over: 20 million */
    uint32_t depth;        /* nested evaluation: 1000 */
    uint64_t output_bytes; /* text written, captured text included: 64 MiB */
    uint64_t memory_bytes; /* values: 256 MiB */
} jinja_limits;

typedef struct jinja_options {
    jinja_limits limits;
    const int64_t *now; /* seconds since 1970 for strftime_now; NULL: the clock */
    int32_t utc_offset; /* added to it, in seconds */
} jinja_options;

/* LITHE_E_FORMAT for what jinja2 would not compile, LITHE_E_UNSUPPORTED for include, import and extends. `fault` and `err` may be
 * NULL. The source is copied. */
lithe_status jinja_parse(jinja_template **out, bytes source, jinja_fault *fault, lithe_error *err);
void jinja_free(jinja_template *t);

/* Appends the text to `out` with the members of the object `vars` in `doc` (0: its root) as variables; none if `doc` is NULL. On
 * failure `out` has what it had.
 * LITHE_E_FORMAT if the template fails, LITHE_E_CONTEXT over a limit, LITHE_E_MEMORY. `options` may be NULL. */
lithe_status jinja_render(const jinja_template *t, const json_doc *doc, json_ref vars, const jinja_options *options,
                          buffer *out, jinja_fault *fault, lithe_error *err);

/* Whether the template mentions a name as a variable ("tools", "enable_thinking"). */
bool jinja_mentions(const jinja_template *t, const char *name);

#endif
