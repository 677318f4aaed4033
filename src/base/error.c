#include "base/error.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_OF_NUMBER(n) #n
#define TEXT_OF(n)        TEXT_OF_NUMBER(n)

static const char *const status_names[] = {
    [LITHE_OK] = "LITHE_OK",
    [LITHE_E_ARGUMENT] = "LITHE_E_ARGUMENT",
    [LITHE_E_IO] = "LITHE_E_IO",
    [LITHE_E_MEMORY] = "LITHE_E_MEMORY",
    [LITHE_E_FORMAT] = "LITHE_E_FORMAT",
    [LITHE_E_TRUNCATED] = "LITHE_E_TRUNCATED",
    [LITHE_E_VERSION] = "LITHE_E_VERSION",
    [LITHE_E_UNSUPPORTED] = "LITHE_E_UNSUPPORTED",
    [LITHE_E_MODEL] = "LITHE_E_MODEL",
    [LITHE_E_TOKENIZER] = "LITHE_E_TOKENIZER",
    [LITHE_E_CONTEXT] = "LITHE_E_CONTEXT",
    [LITHE_E_NUMERIC] = "LITHE_E_NUMERIC",
    [LITHE_E_CANCELLED] = "LITHE_E_CANCELLED",
    [LITHE_E_INTERNAL] = "LITHE_E_INTERNAL",
};

const char *lithe_status_name(lithe_status status)
{
    size_t i = (size_t)status;
    return i < sizeof status_names / sizeof *status_names ? status_names[i] : "LITHE_E_UNKNOWN";
}

const char *lithe_version(void)
{
    return TEXT_OF(LITHE_VERSION_MAJOR) "." TEXT_OF(LITHE_VERSION_MINOR) "." TEXT_OF(LITHE_VERSION_PATCH);
}

/* Formats into a fixed field. What does not fit is cut where no character is split: names in a damaged file may be long,
 * and the fields promise valid UTF-8. */
LITHE_PRINTF(3, 0) static void set_field(char *field, size_t field_bytes, const char *fmt, va_list args)
{
    int needed = vsnprintf(field, field_bytes, fmt, args);
    if (needed < 0) {
        field[0] = 0;
    } else if ((size_t)needed >= field_bytes) {
        field[utf8_complete_prefix((const uint8_t *)field, field_bytes - 1)] = 0;
    }
}

LITHE_PRINTF(3, 4) static void set_field_text(char *field, size_t field_bytes, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    set_field(field, field_bytes, fmt, args);
    va_end(args);
}

lithe_status error_set(lithe_error *err, lithe_status code, const char *fmt, ...)
{
    if (!err) {
        return code;
    }
    lithe_error fresh = {.code = code, .section = -1, .node = -1};
    va_list args;
    va_start(args, fmt);
    set_field(fresh.message, sizeof fresh.message, fmt, args);
    va_end(args);
    *err = fresh; /* last, so that the arguments may point into the old error */
    return code;
}

lithe_status error_memory(lithe_error *err, uint64_t bytes, const char *what)
{
    return error_set(err, LITHE_E_MEMORY, "out of memory: cannot allocate %llu bytes for %s", (unsigned long long)bytes,
                     what);
}

#define DEFINE_FIELD_SETTER(function, field)                                                                           \
    lithe_status function(lithe_error *err, const char *fmt, ...)                                                      \
    {                                                                                                                  \
        if (!err) {                                                                                                    \
            return LITHE_E_INTERNAL;                                                                                   \
        }                                                                                                              \
        va_list args;                                                                                                  \
        va_start(args, fmt);                                                                                           \
        set_field(err->field, sizeof err->field, fmt, args);                                                           \
        va_end(args);                                                                                                  \
        return err->code;                                                                                              \
    }

DEFINE_FIELD_SETTER(error_expected, expected)
DEFINE_FIELD_SETTER(error_found, found)
DEFINE_FIELD_SETTER(error_hint, hint)
DEFINE_FIELD_SETTER(error_tensor, tensor)

void error_at_path(lithe_error *err, const char *path)
{
    if (err && !err->path[0] && path) {
        set_field_text(err->path, sizeof err->path, "%s", path);
    }
}

void error_at_section(lithe_error *err, int32_t section)
{
    if (err && err->section < 0) {
        err->section = section;
    }
}

void error_at_signature(lithe_error *err, const char *signature)
{
    if (err && !err->signature[0] && signature) {
        set_field_text(err->signature, sizeof err->signature, "%s", signature);
    }
}

void error_at_node(lithe_error *err, int32_t node, const char *op)
{
    if (err && err->node < 0) {
        err->node = node;
        set_field_text(err->op, sizeof err->op, "%s", op ? op : "");
    }
}

/* A line under construction: counts what it needs beyond what fits. */
typedef struct line {
    char *buf;
    size_t capacity, needed;
    bool in_brackets;
} line;

static void line_put(line *l, const char *s)
{
    for (; *s; s++, l->needed++) {
        if (l->needed + 1 < l->capacity) {
            /* File names and tensor names may hold anything; the promise is one line. */
            l->buf[l->needed] = (unsigned char)*s < 0x20 || *s == 0x7f ? ' ' : *s;
        }
    }
}

static void line_field(line *l, const char *name, const char *value)
{
    if (!value[0]) {
        return;
    }
    line_put(l, l->in_brackets ? ", " : " [");
    l->in_brackets = true;
    line_put(l, name);
    line_put(l, " ");
    line_put(l, value);
}

static void line_number(line *l, const char *name, int32_t value)
{
    char text[16] = "";
    if (value >= 0) {
        snprintf(text, sizeof text, "%d", (int)value);
    }
    line_field(l, name, text);
}

size_t lithe_error_describe(const lithe_error *err, char *buf, size_t buf_bytes)
{
    line l = {.buf = buf, .capacity = buf ? buf_bytes : 0};
    if (err) {
        line_put(&l, err->message[0] ? err->message : lithe_status_name(err->code));
        line_field(&l, "file", err->path);
        line_number(&l, "section", err->section);
        line_field(&l, "signature", err->signature);
        line_number(&l, "node", err->node);
        line_field(&l, "op", err->op);
        line_field(&l, "tensor", err->tensor);
        line_field(&l, "expected", err->expected);
        line_field(&l, "found", err->found);
        line_put(&l, l.in_brackets ? "]" : "");
        if (err->hint[0]) {
            line_put(&l, "; ");
            line_put(&l, err->hint);
        }
    }
    if (l.capacity) {
        size_t end = l.needed < l.capacity ? l.needed : utf8_complete_prefix((const uint8_t *)buf, l.capacity - 1);
        buf[end] = 0;
    }
    return l.needed;
}
