#include "base/decimal.h"
#include "base/json.h"
#include "base/utf8.h"

#include <math.h>

void json_writer_init(json_writer *w, buffer *out, bool pretty)
{
    *w = (json_writer){.out = out, .pretty = pretty};
}

static void new_line(json_writer *w)
{
    if (w->pretty) {
        buffer_fill(w->out, '\n', 1);
        buffer_fill(w->out, ' ', (size_t)w->depth * 2);
    }
}

/* What comes before a value or key: nothing behind a key or at the top, else a comma unless it is the first. */
static void before(json_writer *w)
{
    if (!w->after_key && w->depth) {
        if (w->comma) {
            buffer_string(w->out, ",");
        }
        new_line(w);
    }
    w->after_key = false;
    w->comma = true;
}

static void begin(json_writer *w, const char *bracket)
{
    before(w);
    buffer_string(w->out, bracket);
    w->depth++;
    w->comma = false;
}

static void end(json_writer *w, const char *bracket)
{
    w->depth -= w->depth > 0;
    if (w->comma) {
        new_line(w);
    }
    buffer_string(w->out, bracket);
    w->comma = true;
}

void json_begin_object(json_writer *w)
{
    begin(w, "{");
}

void json_end_object(json_writer *w)
{
    end(w, "}");
}

void json_begin_array(json_writer *w)
{
    begin(w, "[");
}

void json_end_array(json_writer *w)
{
    end(w, "]");
}

/* Escapes what JSON forbids in strings, and U+007F; all else is UTF-8 as it is. Returns the bytes of s taken. */
static size_t put_special(buffer *out, const uint8_t *s, size_t n)
{
    static const char short_names[0x20] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    uint32_t c;
    size_t used = 1;
    if (*s >= 0x80) {
        if (utf8_next(s, n, &c, &used)) {
            buffer_append(out, s, used);
        } else {
            buffer_string(out, "\xEF\xBF\xBD");
        }
    } else if (*s == '"' || *s == '\\') {
        buffer_printf(out, "\\%c", *s);
    } else if (*s < 0x20 && short_names[*s]) {
        buffer_printf(out, "\\%c", short_names[*s]);
    } else {
        buffer_printf(out, "\\u%04x", *s);
    }
    return used;
}

static void put_string(buffer *out, const char *text, size_t n)
{
    const uint8_t *s = (const uint8_t *)text;
    buffer_string(out, "\"");
    for (size_t i = 0; i < n;) {
        size_t plain = i;
        while (plain < n && s[plain] >= 0x20 && s[plain] < 0x7F && s[plain] != '"' && s[plain] != '\\') {
            plain++;
        }
        buffer_append(out, s + i, plain - i);
        i = plain;
        if (i < n) {
            i += put_special(out, s + i, n - i);
        }
    }
    buffer_string(out, "\"");
}

void json_write_key(json_writer *w, const char *key)
{
    before(w);
    put_string(w->out, key, strlen(key));
    buffer_string(w->out, w->pretty ? ": " : ":");
    w->after_key = true;
}

void json_write_string(json_writer *w, const char *s, size_t n)
{
    before(w);
    put_string(w->out, s, n);
}

void json_write_cstring(json_writer *w, const char *s)
{
    if (s) {
        json_write_string(w, s, strlen(s));
    } else {
        json_write_null(w);
    }
}

void json_write_i64(json_writer *w, int64_t v)
{
    before(w);
    buffer_printf(w->out, "%lld", (long long)v);
}

void json_write_u64(json_writer *w, uint64_t v)
{
    before(w);
    buffer_printf(w->out, "%llu", (unsigned long long)v);
}

void json_write_f32(json_writer *w, float v)
{
    char text[DECIMAL_BYTES] = "null";
    before(w);
    if (isfinite(v)) {
        decimal_from_f32(v, text);
    }
    buffer_string(w->out, text);
}

void json_write_f64(json_writer *w, double v)
{
    char text[DECIMAL_BYTES] = "null";
    before(w);
    if (isfinite(v)) {
        decimal_from_f64(v, text);
    }
    buffer_string(w->out, text);
}

void json_write_bool(json_writer *w, bool v)
{
    before(w);
    buffer_string(w->out, v ? "true" : "false");
}

void json_write_null(json_writer *w)
{
    before(w);
    buffer_string(w->out, "null");
}
