/* str() and repr() of values. */
#include "base/decimal.h"
#include "base/utf8.h"
#include "lang/jinja_run.h"

#include <math.h>

/* Digits and exponent of the shortest decimal that reads back as f > 0: f = 0.d1d2… × 10^*exponent. */
static size_t shortest(double f, char digits[DECIMAL_BYTES], int *exponent)
{
    char text[DECIMAL_BYTES];
    size_t n = decimal_from_f64(f, text), count = 0;
    int point = 0, exp10 = 0;
    bool seen_point = false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '.') {
            seen_point = true;
        } else if (text[i] == 'e' || text[i] == 'E') {
            bool negative = text[i + 1] == '-';
            for (i += text[i + 1] == '-' || text[i + 1] == '+' ? 2 : 1; i < n; i++) {
                exp10 = exp10 * 10 + (text[i] - '0');
            }
            exp10 = negative ? -exp10 : exp10;
        } else {
            if (count || text[i] != '0') {
                digits[count++] = text[i];
                point += !seen_point;
            } else {
                point -= seen_point;
            }
        }
    }
    while (count > 1 && digits[count - 1] == '0') {
        count--;
    }
    *exponent = point + exp10;
    return count;
}

void jinja_print_float(double f, buffer *out)
{
    char digits[DECIMAL_BYTES];
    int exponent = 1;
    if (isnan(f)) {
        buffer_string(out, "nan");
        return;
    }
    buffer_string(out, signbit(f) ? "-" : "");
    if (isinf(f)) {
        buffer_string(out, "inf");
        return;
    }
    if (f == 0) {
        buffer_string(out, "0.0");
        return;
    }
    size_t n = shortest(fabs(f), digits, &exponent);
    if (exponent > 16 || exponent < -3) {
        buffer_append(out, digits, 1);
        if (n > 1) {
            buffer_string(out, ".");
            buffer_append(out, digits + 1, n - 1);
        }
        buffer_printf(out, "e%c%02d", exponent > 0 ? '+' : '-', exponent > 0 ? exponent - 1 : 1 - exponent);
    } else if (exponent <= 0) {
        buffer_string(out, "0.");
        buffer_fill(out, '0', (size_t)-exponent);
        buffer_append(out, digits, n);
    } else {
        size_t whole = (size_t)exponent;
        buffer_append(out, digits, n < whole ? n : whole);
        buffer_fill(out, '0', n < whole ? whole - n : 0);
        buffer_string(out, ".");
        if (n > whole) {
            buffer_append(out, digits + whole, n - whole);
        } else {
            buffer_string(out, "0");
        }
    }
}

/* Double quotes only around a text that has single quotes and no double ones. */
void jinja_repr_string(const char *s, size_t n, buffer *out)
{
    char quote = memchr(s, '\'', n) && !memchr(s, '"', n) ? '"' : '\'';
    static const char named[] = "\n\r\t", letters[] = "nrt";
    buffer_append(out, &quote, 1);
    for (size_t at = 0, used; at < n; at += used) {
        uint32_t c = utf8_decode((const uint8_t *)s + at, n - at, &used);
        const char *name = c && c < 128 ? strchr(named, (int)c) : NULL;
        if (name) {
            buffer_printf(out, "\\%c", letters[name - named]);
        } else if (c == (uint8_t)quote || c == '\\') {
            buffer_printf(out, "\\%c", (char)c);
        } else if (jinja_is_printable(c)) {
            buffer_append(out, s + at, used);
        } else if (c < 0x100) {
            buffer_printf(out, "\\x%02x", c);
        } else {
            buffer_printf(out, c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
        }
    }
    buffer_append(out, &quote, 1);
}

static bool repr_list(jinja_run *r, const list *l, const char *open, const char *close, buffer *out)
{
    buffer_string(out, open);
    for (size_t i = 0; i < l->n; i++) {
        buffer_string(out, i ? ", " : "");
        if (!jinja_repr(r, l->items[i], out)) {
            return false;
        }
    }
    buffer_string(out, close);
    return true;
}

static bool repr_dict(jinja_run *r, const dict *d, buffer *out)
{
    buffer_string(out, "{");
    for (size_t i = 0; i < d->n; i++) {
        buffer_string(out, i ? ", " : "");
        if (!jinja_repr(r, d->entries[i].key, out)) {
            return false;
        }
        buffer_string(out, ": ");
        if (!jinja_repr(r, d->entries[i].value, out)) {
            return false;
        }
    }
    buffer_string(out, "}");
    return true;
}

static bool repr_view(jinja_run *r, value v, buffer *out)
{
    bool ok = true;
    list l = {0};
    for (size_t i = 0; i < v.as.view->of->n && ok; i++) {
        value item = jinja_view_item(r, v.as.view, i, &ok);
        ok = ok && jinja_list_push(r, &l, item);
    }
    buffer_string(out, jinja_type_name(v));
    return ok && repr_list(r, &l, "([", "])", out);
}

/* Values whose repr Python makes of an address: the type, which is all that can be the same. */
static bool repr_object(jinja_run *r, value v, buffer *out)
{
    int64_t length;
    value n;
    str name = {"length", 6, 6};
    switch (v.kind) {
    case V_MACRO:
        if (v.as.macro->name) {
            buffer_string(out, "<Macro ");
            jinja_repr_string(v.as.macro->name->data, v.as.macro->name->size, out);
            buffer_string(out, ">");
        } else {
            buffer_string(out, "<Macro anonymous>");
        }
        return true;
    case V_LOOP:
        if (!jinja_loop_attr(r, v.as.loop, &name, &n)) {
            return false;
        }
        length = n.as.i;
        buffer_printf(out, "<LoopContext %lld/%lld>", (long long)v.as.loop->index0 + 1, (long long)length);
        return true;
    case V_METHOD:
        buffer_printf(out, "<built-in method %s of %s object>", v.as.method->fn->name,
                      jinja_type_name(*v.as.method->self));
        return true;
    case V_FUNCTION:
        buffer_printf(out, "<function %s>", v.as.function->name);
        return true;
    default:
        buffer_printf(out, "<%s object>", jinja_type_name(v));
        return true;
    }
}

static bool repr_nested(jinja_run *r, value v, buffer *out)
{
    switch (v.kind) {
    case V_LIST:
        return repr_list(r, v.as.list, "[", "]", out);
    case V_TUPLE:
        return repr_list(r, v.as.list, "(", v.as.list->n == 1 ? ",)" : ")", out);
    case V_DICT:
        return repr_dict(r, v.as.dict, out);
    case V_VIEW:
        return repr_view(r, v, out);
    case V_NAMESPACE:
        buffer_string(out, "<Namespace ");
        if (!repr_dict(r, v.as.name_space->members, out)) {
            return false;
        }
        buffer_string(out, ">");
        return true;
    default:
        return repr_object(r, v, out);
    }
}

static void repr_range(const range *g, buffer *out)
{
    buffer_printf(out, "range(%lld, %lld", (long long)g->start, (long long)g->stop);
    if (g->step != 1) {
        buffer_printf(out, ", %lld", (long long)g->step);
    }
    buffer_string(out, ")");
}

bool jinja_repr(jinja_run *r, value v, buffer *out)
{
    if (out->size > r->options.limits.memory_bytes) {
        return jinja_raise(r, JINJA_LIMIT, "a text of more than %llu bytes",
                           (unsigned long long)r->options.limits.memory_bytes);
    }
    switch (v.kind) {
    case V_UNDEFINED:
        buffer_string(out, "Undefined");
        return true;
    case V_MISSING:
    case V_NONE:
        buffer_string(out, "None");
        return true;
    case V_BOOL:
        buffer_string(out, v.as.b ? "True" : "False");
        return true;
    case V_INT:
        buffer_printf(out, "%lld", (long long)v.as.i);
        return true;
    case V_FLOAT:
        jinja_print_float(v.as.f, out);
        return true;
    case V_STRING:
        buffer_string(out, v.markup ? "Markup(" : "");
        jinja_repr_string(v.as.s->data, v.as.s->size, out);
        buffer_string(out, v.markup ? ")" : "");
        return true;
    case V_RANGE:
        repr_range(v.as.range, out);
        return true;
    default:
        break;
    }
    if (!jinja_step(r, 1) || !jinja_enter(r)) {
        return false;
    }
    bool ok = repr_nested(r, v, out);
    jinja_leave(r);
    return ok;
}

bool jinja_print(jinja_run *r, value v, buffer *out)
{
    if (v.kind == V_STRING) {
        if (v.as.s->size >
            r->options.limits.memory_bytes - (out->size < r->options.limits.memory_bytes ? out->size : 0)) {
            return jinja_raise(r, JINJA_LIMIT, "a text of more than %llu bytes",
                               (unsigned long long)r->options.limits.memory_bytes);
        }
        buffer_append(out, v.as.s->data, v.as.s->size);
        return true;
    }
    return v.kind == V_UNDEFINED || jinja_repr(r, v, out);
}

bool jinja_to_string(jinja_run *r, value v, value *out)
{
    if (v.kind == V_STRING) {
        *out = v;
        return true;
    }
    buffer b;
    buffer_init(&b);
    return jinja_finish(r, jinja_print(r, v, &b), &b, out);
}

const char *jinja_brief(jinja_run *r, value v, char out[80])
{
    buffer b;
    buffer_init(&b);
    jinja_fault before = r->fault; /* a value too deep to print must not become the error */
    jinja_repr(r, v, &b);
    r->fault = before;
    size_t n = utf8_complete_prefix(b.data ? b.data : (const uint8_t *)"", b.size < 79 ? b.size : 79);
    if (n) {
        memcpy(out, b.data, n);
    }
    out[n] = 0;
    buffer_fini(&b);
    return out;
}
