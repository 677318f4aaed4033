/* tojson as Hugging Face defines it: json.dumps with ensure_ascii off, keys in their order, nothing escaped for HTML. */
#include "base/utf8.h"
#include "lang/jinja_run.h"

#include <math.h>

typedef struct dumper {
    jinja_run *r;
    buffer *out;
    bool ascii, sort;
    const char *indent; /* of one level; NULL: all on one line */
    size_t indent_size;
    const str *item, *key;
    size_t level;
} dumper;

static bool dump(dumper *d, value v);

static void dump_string(const dumper *d, const str *s)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    size_t plain = 0;
    buffer_string(d->out, "\"");
    for (size_t at = 0, used; at < s->size; at += used) {
        uint32_t c = utf8_decode((const uint8_t *)s->data + at, s->size - at, &used);
        const char *simple = c && c < 128 ? strchr(from, (int)c) : NULL;
        if (!simple && c >= 0x20 && (c < 0x7f || !d->ascii)) {
            continue;
        }
        buffer_append(d->out, s->data + plain, at - plain);
        plain = at + used;
        if (simple) {
            buffer_printf(d->out, "\\%c", to[simple - from]);
        } else if (c < 0x10000) {
            /* json.dumps leaves DEL alone */
            buffer_printf(d->out, c == 0x7f ? "\x7f" : "\\u%04x", c);
        } else {
            buffer_printf(d->out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + ((c - 0x10000) & 0x3ff));
        }
    }
    buffer_append(d->out, s->data + plain, s->size - plain);
    buffer_string(d->out, "\"");
}

static void dump_float(const dumper *d, double f)
{
    if (isnan(f) || isinf(f)) {
        buffer_string(d->out, isnan(f) ? "NaN" : f > 0 ? "Infinity" : "-Infinity");
    } else {
        jinja_print_float(f, d->out);
    }
}

static void new_line(const dumper *d)
{
    if (d->indent) {
        buffer_string(d->out, "\n");
        for (size_t i = 0; i < d->level; i++) {
            buffer_append(d->out, d->indent, d->indent_size);
        }
    }
}

static void separate(const dumper *d, size_t i)
{
    if (i) {
        buffer_append(d->out, d->item->data, d->item->size);
    }
    new_line(d);
}

static bool dump_list(dumper *d, const list *l)
{
    if (!l->n) {
        buffer_string(d->out, "[]");
        return true;
    }
    buffer_string(d->out, "[");
    d->level++;
    for (size_t i = 0; i < l->n; i++) {
        separate(d, i);
        if (!dump(d, l->items[i])) {
            return false;
        }
    }
    d->level--;
    new_line(d);
    buffer_string(d->out, "]");
    return true;
}

static bool dump_key(dumper *d, value key)
{
    switch (key.kind) {
    case V_STRING:
        dump_string(d, key.as.s);
        return true;
    case V_NONE:
    case V_BOOL:
    case V_INT:
    case V_FLOAT:
        buffer_string(d->out, "\"");
        if (!dump(d, key)) {
            return false;
        }
        buffer_string(d->out, "\"");
        return true;
    default:
        return jinja_raise(d->r, JINJA_TYPE_ERROR, "keys must be str, int, float, bool or None, not %s",
                           jinja_type_name(key));
    }
}

/* Entries in the order to print them. */
static bool order_entries(dumper *d, const dict *of, value *order)
{
    value *keys = jinja_alloc(d->r, of->n, sizeof *keys);
    if (!keys) {
        return false;
    }
    for (size_t i = 0; i < of->n; i++) {
        keys[i] = of->entries[i].key;
        order[i] = VALUE_INT((int64_t)i);
    }
    return !d->sort || jinja_sort(d->r, order, keys, of->n, false);
}

static bool dump_dict(dumper *d, const dict *of)
{
    if (!of->n) {
        buffer_string(d->out, "{}");
        return true;
    }
    value *order = jinja_alloc(d->r, of->n, sizeof *order);
    if (!order || !order_entries(d, of, order)) {
        return false;
    }
    buffer_string(d->out, "{");
    d->level++;
    for (size_t i = 0; i < of->n; i++) {
        const dict_entry *e = &of->entries[order[i].as.i];
        separate(d, i);
        if (!dump_key(d, e->key)) {
            return false;
        }
        buffer_append(d->out, d->key->data, d->key->size);
        if (!dump(d, e->value)) {
            return false;
        }
    }
    d->level--;
    new_line(d);
    buffer_string(d->out, "}");
    return true;
}

static bool dump(dumper *d, value v)
{
    if (d->out->size > d->r->options.limits.memory_bytes || !jinja_step(d->r, 1)) {
        return jinja_raise(d->r, JINJA_LIMIT, "a text of more than %llu bytes",
                           (unsigned long long)d->r->options.limits.memory_bytes);
    }
    switch (v.kind) {
    case V_NONE:
        buffer_string(d->out, "null");
        return true;
    case V_BOOL:
        buffer_string(d->out, v.as.b ? "true" : "false");
        return true;
    case V_INT:
        buffer_printf(d->out, "%lld", (long long)v.as.i);
        return true;
    case V_FLOAT:
        dump_float(d, v.as.f);
        return true;
    case V_STRING:
        dump_string(d, v.as.s);
        return true;
    case V_LIST:
    case V_TUPLE:
    case V_DICT: {
        if (!jinja_enter(d->r)) {
            return false;
        }
        bool ok = v.kind == V_DICT ? dump_dict(d, v.as.dict) : dump_list(d, v.as.list);
        jinja_leave(d->r);
        return ok;
    }
    default:
        return jinja_raise(d->r, JINJA_TYPE_ERROR, "Object of type %s is not JSON serializable", jinja_type_name(v));
    }
}

static bool read_indent(dumper *d, value v)
{
    if (v.kind == V_MISSING || v.kind == V_NONE) {
        return true;
    }
    if (v.kind == V_STRING) {
        d->indent = v.as.s->data;
        d->indent_size = v.as.s->size;
        return true;
    }
    int64_t n;
    if (!jinja_to_index(d->r, v, &n)) {
        return false;
    }
    n = n < 0 ? 0 : n;
    if (n > 1024) {
        return jinja_raise(d->r, JINJA_LIMIT, "an indent of more than 1024 spaces");
    }
    char *spaces = jinja_alloc(d->r, (size_t)n + 1, 1);
    if (!spaces) {
        return false;
    }
    memset(spaces, ' ', (size_t)n);
    d->indent = spaces;
    d->indent_size = (size_t)n;
    return true;
}

static bool read_separators(dumper *d, value v)
{
    list l;
    if (v.kind == V_MISSING || v.kind == V_NONE) {
        return true;
    }
    if (!jinja_items(d->r, v, &l)) {
        return false;
    }
    if (l.n != 2 || l.items[0].kind != V_STRING || l.items[1].kind != V_STRING) {
        return jinja_raise(d->r, JINJA_VALUE_ERROR, "separators must be two strings");
    }
    d->item = l.items[0].as.s;
    d->key = l.items[1].as.s;
    return true;
}

bool jinja_to_json(jinja_run *r, value v, const value *a, value *out)
{
    static const str comma = {", ", 2, 2}, bare_comma = {",", 1, 1}, colon = {": ", 2, 2};
    buffer b;
    buffer_init(&b);
    dumper d = {.r = r, .out = &b, .ascii = jinja_truth(a[0]), .sort = jinja_truth(a[3]), .key = &colon};
    bool ok = read_indent(&d, a[1]);
    d.item = d.indent ? &bare_comma : &comma;
    ok = ok && read_separators(&d, a[2]) && dump(&d, v);
    return jinja_finish(r, ok, &b, out);
}
