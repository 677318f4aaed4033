/* Filters over text and single values; jinja_sequences.c has those over sequences. */
#include "lang/jinja_filters.h"
#include "base/utf8.h"

#include <math.h>

bool jinja_filter_missing(const value *a, size_t i)
{
    return a[i].kind == V_MISSING || a[i].kind == V_NONE;
}

/* A method of str on the value's text. */
static bool on_text(jinja_run *r, value self, builtin_fn *fn, const value *a, const arguments *all, value *out)
{
    bool markup = self.kind == V_STRING && self.markup;
    if (!jinja_to_string(r, self, &self) || !fn(r, self, a, all, out)) {
        return false;
    }
    out->markup = out->kind == V_STRING && markup;
    return true;
}

static bool upper(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    return on_text(r, self, jinja_str_upper, a, all, out);
}

static bool lower(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    return on_text(r, self, jinja_str_lower, a, all, out);
}

static bool capitalize(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    return on_text(r, self, jinja_str_capitalize, a, all, out);
}

static bool trim(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    return on_text(r, self, jinja_str_strip, a, all, out);
}

static bool center(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    const value with_width[] = {a[0].kind == V_MISSING ? VALUE_INT(80) : a[0], VALUE_MISSING};
    return on_text(r, self, jinja_str_center, with_width, all, out);
}

static bool string(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a, (void)all;
    return jinja_to_string(r, self, out);
}

static bool safe(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a, (void)all;
    bool ok = jinja_to_string(r, self, out);
    out->markup = true;
    return ok;
}

bool jinja_escape(jinja_run *r, const str *s, value *out)
{
    static const char special[] = "&<>'\"";
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    buffer b;
    buffer_init(&b);
    for (size_t i = 0; i < s->size; i++) {
        const char *hit = s->data[i] ? strchr(special, s->data[i]) : NULL;
        if (hit) {
            buffer_string(&b, entities[hit - special]);
        } else {
            buffer_append(&b, s->data + i, 1);
        }
    }
    bool ok = jinja_finish(r, true, &b, out);
    out->markup = true;
    return ok;
}

static bool escape(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a, (void)all;
    if (self.kind == V_STRING && self.markup) {
        *out = self;
        return true;
    }
    return jinja_to_string(r, self, &self) && jinja_escape(r, self.as.s, out);
}

static bool forceescape(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a, (void)all;
    return jinja_to_string(r, self, &self) && jinja_escape(r, self.as.s, out);
}

static bool replace(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    value old, new;
    int64_t times = -1;
    (void)all;
    return jinja_to_string(r, self, &self) && jinja_to_string(r, a[0], &old) && jinja_to_string(r, a[1], &new) &&
           (jinja_filter_missing(a, 2) || jinja_to_index(r, a[2], &times)) &&
           jinja_replace_text(r, self.as.s, old.as.s, new.as.s, times < 0 ? -1 : times, out);
}

/* Words begin after white space, brackets, "-" and "<"; their first character gets upper case. */
static bool title(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    buffer b;
    bool start = true;
    size_t from = 0;
    (void)a, (void)all;
    if (!jinja_to_string(r, self, &self)) {
        return false;
    }
    const str *s = self.as.s;
    buffer_init(&b);
    for (size_t at = 0, used; at <= s->size; at += used) {
        uint32_t c = at < s->size ? utf8_decode((const uint8_t *)s->data + at, s->size - at, &used) : ' ';
        bool separator = jinja_is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
        if (at == s->size || separator) {
            jinja_lower(s->data + from, at - from, &b);
            if (at == s->size) {
                break;
            }
            buffer_append(&b, s->data + at, used);
            from = at + used;
        } else if (start) {
            jinja_upper(s->data + at, used, &b);
            from = at + used;
        }
        start = separator;
    }
    return jinja_finish(r, true, &b, out);
}

static bool wordcount(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    bool inside = false;
    (void)a, (void)all;
    if (!jinja_to_string(r, self, &self)) {
        return false;
    }
    *out = VALUE_INT(0);
    for (size_t at = 0, used; at < self.as.s->size; at += used) {
        bool word = jinja_is_word(utf8_decode((const uint8_t *)self.as.s->data + at, self.as.s->size - at, &used));
        out->as.i += word && !inside;
        inside = word;
    }
    return true;
}

/* Every line but the first (unless asked) and but empty ones (unless asked) moves in. */
static bool indent(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    const str *by = a[0].kind == V_STRING ? a[0].as.s : NULL;
    int64_t width = 4;
    (void)all;
    if (self.kind == V_UNDEFINED) {
        return jinja_raise_undefined(r, self.as.undefined);
    }
    if (self.kind == V_LIST) { /* "+=" of a list takes any iterable */
        return jinja_raise(r, JINJA_ATTRIBUTE_ERROR, "'list' object has no attribute 'splitlines'");
    }
    if (self.kind != V_STRING) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "unsupported operand type(s) for +=: '%s' and 'str'",
                           jinja_type_name(self));
    }
    if (!by && a[0].kind != V_MISSING && !jinja_to_index(r, a[0], &width)) {
        return false;
    }
    value newline, with_end;
    list *lines = jinja_list_new(r, 0);
    if (!lines || !jinja_string_c(r, "\n", &newline) || !jinja_binary(r, OP_ADD, self, newline, &with_end) ||
        !jinja_split_lines(r, with_end, false, lines)) {
        return false;
    }
    buffer b;
    bool ok = width <= 100000 || jinja_raise(r, JINJA_LIMIT, "an indent of more than 100000");
    buffer_init(&b);
    for (size_t i = 0; i < lines->n && ok; i++) {
        const str *line = lines->items[i].as.s;
        bool move = i ? line->size || jinja_truth(a[2]) : jinja_truth(a[1]);
        buffer_string(&b, i ? "\n" : "");
        if (move && by) {
            buffer_append(&b, by->data, by->size);
        } else if (move && width > 0) {
            buffer_fill(&b, ' ', (size_t)width);
        }
        buffer_append(&b, line->data, line->size);
        ok = b.size <= r->options.limits.memory_bytes || jinja_raise(r, JINJA_LIMIT, "too long a text");
    }
    ok = jinja_finish(r, ok, &b, out);
    out->markup = ok && self.markup;
    return ok;
}

static bool truncate(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    int64_t length = 255, leeway = 5;
    size_t n;
    value end;
    (void)all;
    if ((a[0].kind != V_MISSING && !jinja_to_index(r, a[0], &length)) ||
        (!jinja_filter_missing(a, 3) && !jinja_to_index(r, a[3], &leeway)) || !jinja_string_c(r, "...", &end)) {
        return false;
    }
    end = a[2].kind == V_MISSING ? end : a[2];
    if (end.kind != V_STRING) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "object of type '%s' has no len()", jinja_type_name(end));
    }
    if (length < (int64_t)end.as.s->chars || leeway < 0) {
        return jinja_raise(r, JINJA_PYTHON_ASSERTION_ERROR, "expected length >= %zu, got %lld", end.as.s->chars,
                           (long long)length);
    }
    if (!jinja_length(self, &n)) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "object of type '%s' has no len()", jinja_type_name(self));
    }
    if ((uint64_t)n <= (uint64_t)length + (uint64_t)leeway) {
        *out = self;
        return true;
    }
    if (self.kind != V_STRING) {
        return self.kind == V_DICT ? jinja_raise(r, JINJA_TYPE_ERROR, "unhashable type: 'slice'")
                                   : jinja_raise(r, JINJA_ATTRIBUTE_ERROR, "'%s' object has no attribute 'rsplit'",
                                                 jinja_type_name(self));
    }
    bytes head = jinja_str_slice(self.as.s, 0, (size_t)length - end.as.s->chars);
    if (!jinja_truth(a[1])) {
        size_t at = head.size;
        while (at && head.data[at - 1] != ' ') {
            at--;
        }
        head.size = at ? at - 1 : head.size;
    }
    buffer b;
    buffer_init(&b);
    buffer_append(&b, head.data, head.size);
    buffer_append(&b, end.as.s->data, end.as.s->size);
    return jinja_finish(r, true, &b, out);
}

/* Tags and comments go, white space becomes single spaces, the common entities are read. */
static bool striptags(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    static const struct {
        const char *name, *text;
    } entities[] = {{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&#39;", "'"}, {"&#34;", "\""}, {"&quot;", "\""}};
    buffer b;
    (void)a, (void)all;
    if (!jinja_to_string(r, self, &self)) {
        return false;
    }
    const char *s = self.as.s->data, *end = s + self.as.s->size;
    bool space = false;
    buffer_init(&b);
    while (s < end) {
        const char *close = NULL;
        size_t used;
        if (end - s >= 7 && memcmp(s, "<!--", 4) == 0) {
            for (const char *p = s + 4; p + 3 <= end && !close; p++) {
                close = memcmp(p, "-->", 3) == 0 ? p + 2 : NULL;
            }
        }
        close = !close && *s == '<' ? memchr(s, '>', (size_t)(end - s)) : close;
        if (close) {
            s = close + 1;
            continue;
        }
        uint32_t c = utf8_decode((const uint8_t *)s, (size_t)(end - s), &used);
        if (jinja_is_space(c)) {
            space = b.size > 0;
            s += used;
            continue;
        }
        buffer_string(&b, space ? " " : "");
        space = false;
        size_t k = 0;
        while (k < 6 && !((size_t)(end - s) >= strlen(entities[k].name) &&
                          memcmp(s, entities[k].name, strlen(entities[k].name)) == 0)) {
            k++;
        }
        if (k < 6) {
            buffer_string(&b, entities[k].text);
            s += strlen(entities[k].name);
        } else {
            buffer_append(&b, s, used);
            s += used;
        }
    }
    return jinja_finish(r, true, &b, out);
}

static void quote(const str *s, bool query, buffer *out)
{
    for (size_t i = 0; i < s->size; i++) {
        uint8_t c = (uint8_t)s->data[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                     c == '.' || c == '-' || c == '~' || (c == '/' && !query);
        if (plain) {
            buffer_append(out, &c, 1);
        } else if (c == ' ' && query) {
            buffer_string(out, "+");
        } else {
            buffer_printf(out, "%%%02X", c);
        }
    }
}

static bool urlencode(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    buffer b;
    bool ok = true;
    list pairs;
    (void)a, (void)all;
    buffer_init(&b);
    if (self.kind == V_STRING || !jinja_is_iterable(self)) {
        ok = jinja_to_string(r, self, &self);
        if (ok) {
            quote(self.as.s, false, &b);
        }
        return jinja_finish(r, ok, &b, out);
    }
    view items = {self.as.dict, VIEW_ITEMS};
    value over = self.kind == V_DICT ? (value){.kind = V_VIEW, .as.view = &items} : self;
    ok = jinja_items(r, over, &pairs);
    for (size_t i = 0; ok && i < pairs.n; i++) {
        list pair;
        value key, v;
        ok = jinja_items(r, pairs.items[i], &pair) &&
             (pair.n == 2 || jinja_raise(r, JINJA_VALUE_ERROR, "urlencode wants pairs")) &&
             jinja_to_string(r, pair.items[0], &key) && jinja_to_string(r, pair.items[1], &v);
        if (ok) {
            buffer_string(&b, i ? "&" : "");
            quote(key.as.s, true, &b);
            buffer_string(&b, "=");
            quote(v.as.s, true, &b);
        }
    }
    return jinja_finish(r, ok, &b, out);
}

static bool xmlattr(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    buffer b;
    bool ok = true;
    (void)all;
    if (self.kind == V_UNDEFINED) {
        return jinja_raise_undefined(r, self.as.undefined);
    }
    if (self.kind != V_DICT) {
        return jinja_raise(r, JINJA_ATTRIBUTE_ERROR, "'%s' object has no attribute 'items'", jinja_type_name(self));
    }
    buffer_init(&b);
    for (size_t i = 0; ok && i < self.as.dict->n; i++) {
        value key = self.as.dict->entries[i].key, v = self.as.dict->entries[i].value;
        if (v.kind == V_NONE || v.kind == V_UNDEFINED) {
            continue;
        }
        if (key.kind != V_STRING) {
            ok = jinja_raise(r, JINJA_TYPE_ERROR, "expected string or bytes-like object, got '%s'",
                             jinja_type_name(key));
            break;
        }
        for (size_t k = 0; ok && k < key.as.s->size; k++) {
            if (strchr(" \t\n\r\f\v/>=", key.as.s->data[k])) {
                ok = jinja_raise(r, JINJA_VALUE_ERROR, "Invalid character in attribute name: '%.*s'",
                                 JINJA_TEXT(key.as.s));
            }
        }
        ok = ok && escape(r, key, NULL, NULL, &key) && escape(r, v, NULL, NULL, &v);
        if (ok) {
            buffer_string(&b, b.size || a[0].kind == V_MISSING || jinja_truth(a[0]) ? " " : "");
            buffer_append(&b, key.as.s->data, key.as.s->size);
            buffer_string(&b, "=\"");
            buffer_append(&b, v.as.s->data, v.as.s->size);
            buffer_string(&b, "\"");
        }
    }
    return jinja_finish(r, ok, &b, out);
}

static bool format(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a;
    if (all->n && all->n_named) {
        return jinja_raise(r, JINJA_FILTER_ARGUMENT_ERROR,
                           "can't handle positional and keyword arguments at the same time");
    }
    list positional = {all->v, all->n, all->n};
    value args = VALUE_TUPLE(&positional);
    if (all->n_named) {
        dict *d = jinja_dict_new(r);
        for (size_t i = 0; d && i < all->n_named; i++) {
            if (!jinja_dict_set(r, d, all->names[i], all->named[i])) {
                return false;
            }
        }
        args = VALUE_DICT(d);
        if (!d) {
            return false;
        }
    }
    return jinja_to_string(r, self, &self) && jinja_percent(r, self.as.s, args, out);
}

static bool tojson(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return jinja_to_json(r, self, a, out);
}

static bool default_(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    if (self.kind != V_UNDEFINED && !(jinja_truth(a[1]) && !jinja_truth(self))) {
        *out = self;
        return true;
    }
    *out = a[0];
    return a[0].kind != V_MISSING || jinja_string_c(r, "", out);
}

static bool abs_(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a, (void)all;
    if (self.kind == V_FLOAT) {
        *out = VALUE_FLOAT(fabs(self.as.f));
        return true;
    }
    if (value_is_integer(self)) {
        int64_t i = value_integer(self);
        *out = VALUE_INT(i < 0 ? 0 - i : i);
        return i != INT64_MIN || jinja_raise(r, JINJA_UNSUPPORTED, "an integer of more than 64 bits");
    }
    return jinja_raise(r, JINJA_TYPE_ERROR, "bad operand type for abs(): '%s'", jinja_type_name(self));
}

/* An int from a float, toward zero. False without an error for what int() refuses; overflow is Python's big integer. */
static bool truncate_float(jinja_run *r, double f, value *out, bool *ok)
{
    *ok = isfinite(f);
    if (!*ok) {
        return true;
    }
    if (!(fabs(f) < 9223372036854775808.0)) {
        return jinja_raise(r, JINJA_UNSUPPORTED, "an integer of more than 64 bits");
    }
    *out = VALUE_INT((int64_t)f);
    return true;
}

static bool int_(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    int64_t base = 10;
    bool overflow = false, ok = false;
    double f;
    (void)all;
    *out = VALUE_INT(0);
    if (self.kind == V_UNDEFINED) {
        return jinja_raise_undefined(r, self.as.undefined);
    }
    if (a[1].kind != V_MISSING) { /* what int() refuses as a base leads to float() too */
        base = value_is_integer(a[1]) ? value_integer(a[1]) : -1;
    }
    if (value_is_integer(self)) {
        out->as.i = value_integer(self);
        return true;
    }
    if (self.kind == V_STRING && (base == 0 || (base >= 2 && base <= 36)) &&
        jinja_parse_int(self.as.s->data, self.as.s->size, (int)base, &out->as.i, &overflow)) {
        return true;
    }
    if (overflow) {
        return jinja_raise(r, JINJA_UNSUPPORTED, "an integer of more than 64 bits");
    }
    if (self.kind == V_FLOAT || (self.kind == V_STRING && jinja_parse_float(self.as.s->data, self.as.s->size, &f))) {
        f = self.kind == V_FLOAT ? self.as.f : f;
        if (self.kind == V_FLOAT && isinf(f)) { /* int(inf) raises what the filter does not expect */
            return jinja_raise(r, JINJA_OVERFLOW_ERROR, "cannot convert float infinity to integer");
        }
        if (!truncate_float(r, f, out, &ok)) {
            return false;
        }
    }
    *out = ok ? *out : a[0].kind == V_MISSING ? VALUE_INT(0) : a[0];
    return true;
}

static bool float_(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    *out = VALUE_FLOAT(0);
    if (self.kind == V_UNDEFINED) {
        return jinja_raise_undefined(r, self.as.undefined);
    }
    if (value_is_number(self)) {
        out->as.f = value_number(self);
    } else if (self.kind != V_STRING || !jinja_parse_float(self.as.s->data, self.as.s->size, &out->as.f)) {
        *out = a[0].kind == V_MISSING ? VALUE_FLOAT(0) : a[0];
    }
    return true;
}

static bool round_integer(jinja_run *r, int64_t i, int64_t digits, value *out)
{
    if (digits < -18) {
        *out = VALUE_INT(0);
        return true;
    }
    int64_t scale = 1;
    for (; digits < 0; digits++) {
        scale *= 10;
    }
    int64_t rest = i % scale, down = i - rest;
    rest = rest < 0 ? -rest : rest;
    bool away = rest > scale - rest || (rest == scale - rest && (down / scale) % 2 != 0);
    *out = VALUE_INT(down);
    return !away || !__builtin_add_overflow(down, i < 0 ? -scale : scale, &out->as.i) ||
           jinja_raise(r, JINJA_UNSUPPORTED, "an integer of more than 64 bits");
}

static bool round_(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    int64_t digits = 0;
    bool common = a[1].kind == V_MISSING || (a[1].kind == V_STRING && str_equals(a[1].as.s, "common"));
    bool up = a[1].kind == V_STRING && str_equals(a[1].as.s, "ceil");
    (void)all;
    if (!common && !up && !(a[1].kind == V_STRING && str_equals(a[1].as.s, "floor"))) {
        return jinja_raise(r, JINJA_FILTER_ARGUMENT_ERROR, "method must be common, ceil or floor");
    }
    if (!value_is_number(self)) {
        return self.kind == V_UNDEFINED && !common
                   ? jinja_raise_undefined(r, self.as.undefined)
                   : jinja_raise(r, JINJA_TYPE_ERROR, "type %s doesn't define __round__ method", jinja_type_name(self));
    }
    if (a[0].kind == V_NONE && common) {
        double f = self.kind == V_FLOAT ? nearbyint(self.as.f) : 0;
        bool ok = true;
        *out = VALUE_INT(self.kind == V_FLOAT ? 0 : value_integer(self));
        return self.kind != V_FLOAT ||
               (truncate_float(r, f, out, &ok) &&
                (ok || jinja_raise(r, JINJA_VALUE_ERROR, "cannot convert float NaN to integer")));
    }
    if (a[0].kind != V_MISSING && !jinja_to_index(r, a[0], &digits)) {
        return false;
    }
    if (common && self.kind != V_FLOAT) {
        return round_integer(r, value_integer(self), digits, out);
    }
    if (common) {
        *out = VALUE_FLOAT(jinja_round(self.as.f, digits));
        return true;
    }
    double scale = pow(10, (double)digits), f = value_number(self) * scale;
    if (!isfinite(f)) {
        return jinja_raise(r, JINJA_OVERFLOW_ERROR, "cannot convert float infinity to integer");
    }
    *out = VALUE_FLOAT((up ? ceil(f) : floor(f)) / scale);
    return true;
}

static bool filesizeformat(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    static const char prefixes[] = "kMGTPEZY";
    double n, base = jinja_truth(a[0]) ? 1024 : 1000, unit;
    buffer b;
    (void)all;
    if (self.kind == V_UNDEFINED) {
        return jinja_raise_undefined(r, self.as.undefined);
    }
    if (value_is_number(self)) {
        n = value_number(self);
    } else if (self.kind != V_STRING) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "float() argument must be a string or a real number, not '%s'",
                           jinja_type_name(self));
    } else if (!jinja_parse_float(self.as.s->data, self.as.s->size, &n)) {
        return jinja_raise(r, JINJA_VALUE_ERROR, "could not convert string to float");
    }
    buffer_init(&b);
    if (n == 1) {
        buffer_string(&b, "1 Byte");
    } else if (n < base) {
        buffer_printf(&b, "%lld Bytes", (long long)n);
    } else {
        size_t i = 0;
        /* Python compares with the exact 10^24, which is above the nearest double */
        for (unit = base * base; i < 7 && n >= unit && !(i == 6 && base == 1000 && n == 1e24); i++) {
            unit *= base;
        }
        jinja_fixed(base * n / unit, 'f', 1, false, &b);
        buffer_printf(&b, base > 1000 ? " %ciB" : " %cB", i == 0 && base > 1000 ? 'K' : prefixes[i]);
    }
    return jinja_finish(r, true, &b, out);
}

static bool attr(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    if (a[0].kind != V_STRING) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "attribute name must be string, not '%s'", jinja_type_name(a[0]));
    }
    if (self.kind == V_DICT) { /* attributes only, never elements */
        value found;
        if (!jinja_find_method(r, self, a[0].as.s, &found)) {
            return false;
        }
        if (found.kind == V_MISSING &&
            jinja_dict_find(self.as.dict, a[0].as.s->data, a[0].as.s->size).kind != V_MISSING) {
            return jinja_undefined_member(r, self, a[0], out);
        }
    }
    return jinja_getattr(r, self, a[0], out);
}

static bool pprint(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    buffer b;
    (void)a, (void)all;
    buffer_init(&b);
    bool ok = jinja_repr(r, self, &b);
    if (ok && b.size > 80) {
        ok = jinja_raise(r, JINJA_UNSUPPORTED, "pprint of a value over 80 characters is not supported");
    }
    return jinja_finish(r, ok, &b, out);
}

static bool refused(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)self, (void)a, (void)all, (void)out;
    return jinja_raise(r, JINJA_UNSUPPORTED, "the filters random, urlize and wordwrap are not supported");
}

static const builtin filters[] = {
    {"abs", abs_, "/", NULL},
    {"attr", attr, "name", NULL},
    {"capitalize", capitalize, "", NULL},
    {"center", center, "?width", NULL},
    {"d", default_, "?default_value ?boolean", NULL},
    {"default", default_, "?default_value ?boolean", NULL},
    {"e", escape, "/", NULL},
    {"escape", escape, "/", NULL},
    {"filesizeformat", filesizeformat, "?binary", NULL},
    {"float", float_, "?default", NULL},
    {"forceescape", forceescape, "", NULL},
    {"format", format, "*", NULL},
    {"indent", indent, "?width ?first ?blank", NULL},
    {"int", int_, "?default ?base", NULL},
    {"lower", lower, "", NULL},
    {"pprint", pprint, "", NULL},
    {"random", refused, "*", NULL},
    {"replace", replace, "old new ?count", NULL},
    {"round", round_, "?precision ?method", NULL},
    {"safe", safe, "", NULL},
    {"string", string, "", NULL},
    {"striptags", striptags, "", NULL},
    {"title", title, "", NULL},
    {"tojson", tojson, "?ensure_ascii ?indent ?separators ?sort_keys", NULL},
    {"trim", trim, "?chars", NULL},
    {"truncate", truncate, "?length ?killwords ?end ?leeway", NULL},
    {"upper", upper, "", NULL},
    {"urlencode", urlencode, "", NULL},
    {"urlize", refused, "*", NULL},
    {"wordcount", wordcount, "", NULL},
    {"wordwrap", refused, "*", NULL},
    {"xmlattr", xmlattr, "?autospace", NULL},
};

const builtin *jinja_find_filter(const str *name)
{
    const builtin *fn = jinja_find_builtin(filters, sizeof filters / sizeof *filters, name);
    return fn ? fn : jinja_find_sequence_filter(name);
}
