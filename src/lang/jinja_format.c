/* "…" % values and str.format. */
#include "base/utf8.h"
#include "lang/jinja_run.h"

#include <ctype.h>
#include <math.h>

/* A conversion's layout: what both languages share. */
typedef struct layout {
    char align; /* '<' '>' '^' '=' */
    char sign;  /* '+' ' ' or 0 */
    uint32_t fill;
    bool alternate, comma, underscore;
    int64_t width, precision; /* precision < 0: none */
    char type;
} layout;

enum { MAX_WIDTH = 100000 };

/* Text of `chars` characters into the width; `sign` of them stay in front of the filling for '='. */
static void place(const layout *l, const char *s, size_t n, size_t sign, buffer *out)
{
    size_t chars = 0;
    uint8_t fill[4];
    for (size_t i = 0; i < n; i++) {
        chars += ((uint8_t)s[i] & 0xc0) != 0x80;
    }
    size_t missing = l->width > (int64_t)chars ? (size_t)l->width - chars : 0;
    size_t left = l->align == '>' || l->align == '=' ? missing : l->align == '^' ? missing / 2 : 0;
    size_t fill_size = utf8_encode(l->fill, fill);
    sign = l->align == '=' ? sign : 0;
    buffer_append(out, s, sign);
    for (size_t i = 0; i < left; i++) {
        buffer_append(out, fill, fill_size);
    }
    buffer_append(out, s + sign, n - sign);
    for (size_t i = left; i < missing; i++) {
        buffer_append(out, fill, fill_size);
    }
}

static void place_text(const layout *l, const str *s, buffer *out)
{
    size_t chars = l->precision >= 0 && (uint64_t)l->precision < s->chars ? (size_t)l->precision : s->chars;
    bytes b = jinja_str_slice(s, 0, chars);
    place(l, (const char *)b.data, b.size, 0, out);
}

/* Thousands get a separator. */
static void group(const char *digits, size_t n, char separator, size_t every, buffer *out)
{
    for (size_t i = 0; i < n; i++) {
        if (i && (n - i) % every == 0) {
            buffer_append(out, &separator, 1);
        }
        buffer_append(out, digits + i, 1);
    }
}

static void unsigned_digits(uint64_t v, unsigned base, bool upper, buffer *out)
{
    char text[65];
    size_t at = sizeof text;
    do {
        text[--at] = (upper ? "0123456789ABCDEF" : "0123456789abcdef")[v % base];
        v /= base;
    } while (v);
    buffer_append(out, text + at, sizeof text - at);
}

static void put_sign(const layout *l, bool negative, buffer *out)
{
    if (negative) {
        buffer_string(out, "-");
    } else if (l->sign) {
        buffer_append(out, &l->sign, 1);
    }
}

static void place_integer(const layout *l, int64_t i, buffer *out)
{
    unsigned base = (l->type | 32) == 'x' ? 16 : l->type == 'o' ? 8 : l->type == 'b' ? 2 : 10;
    buffer text, digits;
    buffer_init(&text);
    buffer_init(&digits);
    put_sign(l, i < 0, &text);
    if (l->alternate && base != 10) {
        buffer_printf(&text, "0%c", l->type);
    }
    size_t sign = text.size;
    unsigned_digits(i < 0 ? 0 - (uint64_t)i : (uint64_t)i, base, l->type == 'X', &digits);
    for (int64_t k = (int64_t)digits.size; k < l->precision; k++) {
        buffer_string(&text, "0");
    }
    if ((l->comma || l->underscore) && digits.data) {
        group((const char *)digits.data, digits.size, l->comma ? ',' : '_', base == 10 ? 3 : 4, &text);
    } else {
        buffer_append(&text, digits.data, digits.size);
    }
    if (text.data) {
        place(l, (const char *)text.data, text.size, sign, out);
    }
    out->failed = out->failed || text.failed || digits.failed;
    buffer_fini(&text);
    buffer_fini(&digits);
}

/* Without a type a float prints as repr does, or with `precision` significant digits. */
static void float_text(const layout *l, double f, buffer *out)
{
    char type = l->type == 'F' ? 'f' : l->type == '%' ? 'f' : l->type ? l->type : 'g';
    int precision = l->precision < 0 ? 6 : (int)l->precision;
    if (isnan(f) || isinf(f)) {
        bool upper = l->type == 'F' || l->type == 'E' || l->type == 'G';
        buffer_string(out, isnan(f) ? (upper ? "NAN" : "nan") : upper ? "INF" : "inf");
    } else if (!l->type && l->precision < 0) {
        jinja_print_float(f, out);
    } else {
        if (l->type == '%') {
            f *= 100;
        }
        if ((type | 32) == 'g' && precision == 0) {
            precision = 1;
        }
        size_t from = out->size;
        jinja_fixed(f, type, precision, l->alternate, out);
        /* str.format without a type keeps a digit after the point */
        if (!l->type && out->data && !memchr(out->data + from, '.', out->size - from) &&
            !memchr(out->data + from, 'e', out->size - from)) {
            buffer_string(out, ".0");
        }
    }
    buffer_string(out, l->type == '%' ? "%" : "");
}

static void place_float(const layout *l, double f, buffer *out)
{
    buffer text, digits;
    buffer_init(&text);
    buffer_init(&digits);
    put_sign(l, signbit(f) && !isnan(f), &text);
    size_t sign = text.size, whole = 0;
    float_text(l, fabs(f), &digits);
    while (whole < digits.size && isdigit(digits.data[whole])) {
        whole++;
    }
    if ((l->comma || l->underscore) && digits.data) {
        group((const char *)digits.data, whole, l->comma ? ',' : '_', 3, &text);
        buffer_append(&text, digits.data + whole, digits.size - whole);
    } else {
        buffer_append(&text, digits.data, digits.size);
    }
    if (text.data) {
        place(l, (const char *)text.data, text.size, sign, out);
    }
    out->failed = out->failed || text.failed || digits.failed;
    buffer_fini(&text);
    buffer_fini(&digits);
}

/* ------- % ------- */

typedef struct percent {
    jinja_run *r;
    value args;
    list positional;
    size_t next;
    bool mapped; /* a %(name) was used */
} percent;

static bool next_argument(percent *p, value *out)
{
    if (p->next >= p->positional.n) {
        return jinja_raise(p->r, JINJA_TYPE_ERROR, "not enough arguments for format string");
    }
    *out = p->positional.items[p->next++];
    return true;
}

static bool read_count(percent *p, const char **at, const char *end, int64_t *out)
{
    value v;
    *out = 0;
    if (*at < end && **at == '*') {
        ++*at;
        if (!next_argument(p, &v)) {
            return false;
        }
        if (!value_is_integer(v)) {
            return jinja_raise(p->r, JINJA_TYPE_ERROR, "* wants int");
        }
        *out = value_integer(v);
    }
    while (*at < end && isdigit((unsigned char)**at) && *out <= MAX_WIDTH) {
        *out = *out * 10 + (*(*at)++ - '0');
    }
    return *out <= MAX_WIDTH || jinja_raise(p->r, JINJA_LIMIT, "a width of more than %d", MAX_WIDTH);
}

static bool mapped_argument(percent *p, const char **at, const char *end, value *out)
{
    const char *name = *at + 1;
    int nesting = 1;
    for (++*at; *at < end && nesting; ++*at) {
        nesting += **at == '(' ? 1 : **at == ')' ? -1 : 0;
    }
    if (nesting) {
        return jinja_raise(p->r, JINJA_VALUE_ERROR, "incomplete format key");
    }
    if (p->args.kind != V_DICT) {
        return jinja_raise(p->r, JINJA_TYPE_ERROR, "format requires a mapping");
    }
    p->mapped = true;
    *out = jinja_dict_find(p->args.as.dict, name, (size_t)(*at - name - 1));
    return out->kind != V_MISSING ||
           jinja_raise(p->r, JINJA_KEY_ERROR, "'%.*s'", (int)(*at - name - 1 < 60 ? *at - name - 1 : 60), name);
}

static bool percent_number(percent *p, layout *l, value v, buffer *out)
{
    char type = l->type == 'i' || l->type == 'u' ? 'd' : l->type;
    bool is_float = strchr("eEfFgG", type) != NULL;
    if (v.kind == V_UNDEFINED) {
        return jinja_raise_undefined(p->r, v.as.undefined);
    }
    if (!value_is_number(v) || (!is_float && type != 'd' && v.kind == V_FLOAT)) {
        if (is_float) {
            return jinja_raise(p->r, JINJA_TYPE_ERROR, "must be real number, not %s", jinja_type_name(v));
        }
        return jinja_raise(p->r, JINJA_TYPE_ERROR, "%%%c format: %s is required, not %s", l->type,
                           type == 'd' ? "a real number" : "an integer", jinja_type_name(v));
    }
    l->type = type;
    if (is_float) {
        place_float(l, value_number(v), out);
        return true;
    }
    if (v.kind == V_FLOAT && !(fabs(v.as.f) < 9223372036854775808.0)) {
        return jinja_raise(p->r, JINJA_OVERFLOW_ERROR, "cannot convert this float to an integer of 64 bits");
    }
    place_integer(l, v.kind == V_FLOAT ? (int64_t)v.as.f : value_integer(v), out);
    return true;
}

static bool percent_character(percent *p, const layout *l, value v, buffer *out)
{
    uint8_t encoded[4];
    if (v.kind == V_STRING && v.as.s->chars == 1) {
        place(l, v.as.s->data, v.as.s->size, 0, out);
        return true;
    }
    if (!value_is_integer(v)) {
        return jinja_raise(p->r, JINJA_TYPE_ERROR, "%%c requires int or char");
    }
    int64_t c = value_integer(v);
    if (c < 0 || c > 0x10ffff) {
        return jinja_raise(p->r, JINJA_OVERFLOW_ERROR, "%%c arg not in range(0x110000)");
    }
    size_t n = utf8_encode((uint32_t)c, encoded);
    place(l, (const char *)encoded, n, 0, out);
    return true;
}

static bool percent_text(percent *p, layout *l, value v, buffer *out)
{
    buffer b;
    buffer_init(&b);
    bool ok = l->type == 's' ? jinja_print(p->r, v, &b) : jinja_repr(p->r, v, &b);
    value text;
    if (!jinja_finish(p->r, ok, &b, &text)) {
        return false;
    }
    place_text(l, text.as.s, out);
    return true;
}

static bool convert(percent *p, const char **at, const char *end, buffer *out)
{
    layout l = {.align = '>', .fill = ' ', .precision = -1};
    value v = VALUE_MISSING;
    bool left = false, zero = false;
    if (*at < end && **at == '(' && !mapped_argument(p, at, end, &v)) {
        return false;
    }
    for (; *at < end && strchr("-+ #0", **at) && **at; ++*at) {
        left = left || **at == '-';
        zero = zero || **at == '0';
        l.alternate = l.alternate || **at == '#';
        l.sign = **at == '+' ? '+' : **at == ' ' && !l.sign ? ' ' : l.sign;
    }
    if (!read_count(p, at, end, &l.width)) {
        return false;
    }
    left = left || l.width < 0;
    l.width = l.width < 0 ? -l.width : l.width;
    if (*at < end && **at == '.') {
        ++*at;
        if (!read_count(p, at, end, &l.precision)) {
            return false;
        }
    }
    while (*at < end && (**at == 'l' || **at == 'h' || **at == 'L')) {
        ++*at;
    }
    if (*at >= end) {
        return jinja_raise(p->r, JINJA_VALUE_ERROR, "incomplete format");
    }
    l.type = *(*at)++;
    l.align = left ? '<' : '>';
    if (l.type == '%') {
        buffer_string(out, "%");
        return true;
    }
    if (!strchr("srac"
                "diuoxX"
                "eEfFgG",
                l.type) ||
        !l.type) {
        return jinja_raise(p->r, JINJA_VALUE_ERROR, "unsupported format character '%c'", l.type);
    }
    if (v.kind == V_MISSING && !next_argument(p, &v)) {
        return false;
    }
    if (strchr("sra", l.type)) {
        return percent_text(p, &l, v, out);
    }
    if (l.type == 'c') {
        return percent_character(p, &l, v, out);
    }
    if (zero && !left) {
        l.align = '=';
        l.fill = '0';
    }
    return percent_number(p, &l, v, out);
}

bool jinja_percent(jinja_run *r, const str *format, value args, value *out)
{
    const char *at = format->data, *end = at + format->size;
    percent p = {.r = r, .args = args, .positional = {&args, 1, 1}};
    buffer b;
    buffer_init(&b);
    if (args.kind == V_TUPLE) {
        p.positional = *args.as.list;
    }
    bool ok = jinja_step(r, format->size / 16);
    while (ok && at < end) {
        const char *next = memchr(at, '%', (size_t)(end - at));
        buffer_append(&b, at, (size_t)((next ? next : end) - at));
        at = next ? next + 1 : end;
        if (next) {
            ok = convert(&p, &at, end, &b);
        }
        if (b.size > r->options.limits.memory_bytes) {
            ok = jinja_raise(r, JINJA_LIMIT, "a text of more than %llu bytes",
                             (unsigned long long)r->options.limits.memory_bytes);
        }
    }
    bool mapping = args.kind == V_DICT || args.kind == V_LIST || args.kind == V_UNDEFINED || args.kind == V_RANGE;
    if (ok && p.next < p.positional.n && !p.mapped && !mapping) {
        ok = jinja_raise(r, JINJA_TYPE_ERROR, "not all arguments converted during string formatting");
    }
    return jinja_finish(r, ok, &b, out);
}

/* ------- str.format ------- */

typedef struct formatter {
    jinja_run *r;
    const arguments *args;
    int64_t automatic; /* next number of {}; -1 after an explicit one */
} formatter;

static bool lookup_field(formatter *f, const char *s, size_t n, value *out)
{
    int64_t i = 0;
    bool overflow;
    if (n == 0 || jinja_parse_int(s, n, 10, &i, &overflow)) {
        if (n ? f->automatic > 0 : f->automatic < 0) {
            return jinja_raise(f->r, JINJA_VALUE_ERROR,
                               n ? "cannot switch from automatic field numbering to manual field specification"
                                 : "cannot switch from manual field specification to automatic field numbering");
        }
        i = n ? i : f->automatic;
        f->automatic = n ? -1 : f->automatic + 1;
        if (i < 0 || (uint64_t)i >= f->args->n) {
            return jinja_raise(f->r, JINJA_INDEX_ERROR, "Replacement index %lld out of range for positional args tuple",
                               (long long)i);
        }
        *out = f->args->v[i];
        return true;
    }
    for (size_t k = 0; k < f->args->n_named; k++) {
        const str *name = f->args->names[k].as.s;
        if (name->size == n && memcmp(name->data, s, n) == 0) {
            *out = f->args->named[k];
            return true;
        }
    }
    return jinja_raise(f->r, JINJA_KEY_ERROR, "'%.*s'", (int)(n < 60 ? n : 60), s);
}

/* name.attribute[key]… */
static bool get_field(formatter *f, const char *s, size_t n, value *out)
{
    size_t at = 0;
    while (at < n && s[at] != '.' && s[at] != '[') {
        at++;
    }
    if (!lookup_field(f, s, at, out)) {
        return false;
    }
    while (at < n) {
        bool item = s[at] == '[';
        size_t from = ++at;
        while (at < n && (item ? s[at] != ']' : s[at] != '.' && s[at] != '[')) {
            at++;
        }
        value key;
        int64_t i;
        bool overflow;
        if (at == from || (item && at == n)) {
            return jinja_raise(f->r, JINJA_VALUE_ERROR, "Empty attribute in format string");
        }
        if (item && jinja_parse_int(s + from, at - from, 10, &i, &overflow)) {
            key = VALUE_INT(i);
        } else if (!jinja_string(f->r, s + from, at - from, &key)) {
            return false;
        }
        at += item;
        if (!(item ? jinja_getitem(f->r, *out, key, out) : jinja_getattr(f->r, *out, key, out))) {
            return false;
        }
    }
    return true;
}

static bool is_align(uint32_t c)
{
    return c == '<' || c == '>' || c == '^' || c == '=';
}

/* [[fill]align][sign][#][0][width][,_][.precision][type] */
static bool read_layout(formatter *f, const str *s, layout *l, bool *aligned)
{
    const char *at = s->data, *end = at + s->size;
    size_t used = 1;
    *l = (layout){.fill = ' ', .precision = -1};
    uint32_t first = s->size ? utf8_decode((const uint8_t *)at, s->size, &used) : 0;
    if (s->size > used && is_align((uint8_t)at[used])) {
        l->fill = first;
        l->align = at[used];
        at += used + 1;
    } else if (s->size && is_align(first)) {
        l->align = *at++;
    }
    *aligned = l->align != 0;
    if (at < end && (*at == '+' || *at == '-' || *at == ' ')) {
        l->sign = *at == '-' ? 0 : *at;
        at++;
    }
    if (at < end && *at == '#') {
        l->alternate = true;
        at++;
    }
    if (at < end && *at == '0') {
        l->fill = *aligned ? l->fill : '0';
        l->align = *aligned ? l->align : '=';
        at++;
    }
    for (; at < end && isdigit((unsigned char)*at) && l->width <= MAX_WIDTH; at++) {
        l->width = l->width * 10 + (*at - '0');
    }
    if (at < end && (*at == ',' || *at == '_')) {
        *(*at == ',' ? &l->comma : &l->underscore) = true;
        at++;
    }
    if (at < end && *at == '.') {
        at++;
        if (at == end || !isdigit((unsigned char)*at)) {
            return jinja_raise(f->r, JINJA_VALUE_ERROR, "Format specifier missing precision");
        }
        for (l->precision = 0; at < end && isdigit((unsigned char)*at) && l->precision <= MAX_WIDTH; at++) {
            l->precision = l->precision * 10 + (*at - '0');
        }
    }
    if (l->width > MAX_WIDTH || l->precision > MAX_WIDTH) {
        return jinja_raise(f->r, JINJA_LIMIT, "a width of more than %d", MAX_WIDTH);
    }
    l->type = at < end ? *at++ : 0;
    return at == end || jinja_raise(f->r, JINJA_VALUE_ERROR, "Invalid format specifier");
}

static bool format_value(formatter *f, value v, const str *spec, buffer *out)
{
    layout l;
    bool aligned;
    if (!spec->size) {
        return jinja_print(f->r, v, out);
    }
    if (!read_layout(f, spec, &l, &aligned)) {
        return false;
    }
    bool number = value_is_number(v);
    if (v.kind != V_STRING && !number) {
        return jinja_raise(f->r, JINJA_TYPE_ERROR, "unsupported format string passed to %s.__format__",
                           jinja_type_name(v));
    }
    const char *allowed = v.kind == V_STRING ? "s" : v.kind == V_FLOAT ? "eEfFgGn%" : "bcdoxXneEfFgG%";
    if (l.type && !strchr(allowed, l.type)) {
        return jinja_raise(f->r, JINJA_VALUE_ERROR, "Unknown format code '%c' for object of type '%s'", l.type,
                           jinja_type_name(v));
    }
    if (v.kind == V_STRING) {
        if (l.align == '=' && aligned) {
            return jinja_raise(f->r, JINJA_VALUE_ERROR, "'=' alignment not allowed in string format specifier");
        }
        l.align = l.align && l.align != '=' ? l.align : '<';
        place_text(&l, v.as.s, out);
        return true;
    }
    l.align = l.align ? l.align : '>';
    if (v.kind == V_FLOAT || (l.type && strchr("eEfFgG%", l.type))) {
        place_float(&l, value_number(v), out);
        return true;
    }
    if (l.precision >= 0) {
        return jinja_raise(f->r, JINJA_VALUE_ERROR, "Precision not allowed in integer format specifier");
    }
    if (l.type == 'c') {
        return jinja_raise(f->r, JINJA_UNSUPPORTED, "the format code 'c' is not supported");
    }
    place_integer(&l, value_integer(v), out);
    return true;
}

static bool expand(formatter *f, const char *s, size_t n, uint32_t depth, buffer *out);

/* The inside of {}: field, !conversion, :spec, whose own fields are replaced first. */
static bool replace_field(formatter *f, const char *s, size_t n, uint32_t depth, buffer *out)
{
    size_t name = 0, bracket = 0;
    while (name < n && (bracket || (s[name] != '!' && s[name] != ':'))) {
        bracket = s[name] == '[' ? 1 : s[name] == ']' ? 0 : bracket;
        name++;
    }
    size_t at = name;
    char conversion = 0;
    value v, spec_text;
    buffer spec;
    if (at < n && s[at] == '!') {
        conversion = at + 1 < n ? s[at + 1] : 0;
        at += 2;
        if (!strchr("sra", conversion) || !conversion || (at < n && s[at] != ':')) {
            return jinja_raise(f->r, JINJA_VALUE_ERROR, "Unknown conversion specifier");
        }
    }
    if (!get_field(f, s, name, &v)) {
        return false;
    }
    if (conversion) {
        buffer b;
        buffer_init(&b);
        bool ok = conversion == 's' ? jinja_print(f->r, v, &b) : jinja_repr(f->r, v, &b);
        if (!jinja_finish(f->r, ok, &b, &v)) {
            return false;
        }
    }
    buffer_init(&spec);
    bool ok = at >= n || expand(f, s + at + 1, n - at - 1, depth + 1, &spec);
    return jinja_finish(f->r, ok, &spec, &spec_text) && format_value(f, v, spec_text.as.s, out);
}

static bool expand(formatter *f, const char *s, size_t n, uint32_t depth, buffer *out)
{
    if (depth > 2) {
        return jinja_raise(f->r, JINJA_VALUE_ERROR, "Max string recursion exceeded");
    }
    for (size_t at = 0; at < n;) {
        char c = s[at];
        if ((c == '{' || c == '}') && at + 1 < n && s[at + 1] == c) {
            buffer_append(out, &c, 1);
            at += 2;
        } else if (c == '}') {
            return jinja_raise(f->r, JINJA_VALUE_ERROR, "Single '}' encountered in format string");
        } else if (c == '{') {
            size_t from = ++at, nesting = 1;
            for (; at < n && nesting; at++) {
                nesting += s[at] == '{' ? 1 : 0;
                nesting -= s[at] == '}' ? 1 : 0;
            }
            if (nesting) {
                return jinja_raise(f->r, JINJA_VALUE_ERROR,
                                   from == n ? "Single '{' encountered in format string"
                                             : "expected '}' before end of string");
            }
            if (!replace_field(f, s + from, at - from - 1, depth, out)) {
                return false;
            }
        } else {
            size_t from = at;
            while (at < n && s[at] != '{' && s[at] != '}') {
                at++;
            }
            buffer_append(out, s + from, at - from);
        }
        if (out->size > f->r->options.limits.memory_bytes || !jinja_step(f->r, 1)) {
            return jinja_raise(f->r, JINJA_LIMIT, "a text that is too long");
        }
    }
    return true;
}

bool jinja_format(jinja_run *r, const str *format, const arguments *args, value *out)
{
    formatter f = {r, args, 0};
    buffer b;
    buffer_init(&b);
    return jinja_finish(r, expand(&f, format->data, format->size, 1, &b), &b, out);
}
