/* Methods of str: case, sides, filling, formatting and classes. jinja_str_search.c has those that look for something inside. */
#include "base/utf8.h"
#include "lang/jinja_methods.h"

typedef void change_case(const char *s, size_t n, buffer *out);

static bool with_case(jinja_run *r, value self, change_case *change, value *out)
{
    buffer b;
    buffer_init(&b);
    change(self.as.s->data, self.as.s->size, &b);
    bool ok = jinja_finish(r, jinja_step(r, self.as.s->size / 64), &b, out);
    out->markup = ok && self.markup;
    return ok;
}

bool jinja_str_upper(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a, (void)all;
    return with_case(r, self, jinja_upper, out);
}

bool jinja_str_lower(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a, (void)all;
    return with_case(r, self, jinja_lower, out);
}

bool jinja_str_capitalize(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a, (void)all;
    return with_case(r, self, jinja_capitalize, out);
}

static bool title(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a, (void)all;
    return with_case(r, self, jinja_title, out);
}

static bool swapcase(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a, (void)all;
    return with_case(r, self, jinja_swapcase, out);
}

static bool casefold(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a, (void)all;
    return with_case(r, self, jinja_casefold, out);
}

static bool in_set(const str *set, uint32_t c)
{
    if (!set) {
        return jinja_is_space(c);
    }
    for (size_t at = 0, used; at < set->size; at += used) {
        if (utf8_decode((const uint8_t *)set->data + at, set->size - at, &used) == c) {
            return true;
        }
    }
    return false;
}

static bool strip_sides(jinja_run *r, value self, value chars, bool left, bool right, value *out)
{
    const str *s = self.as.s, *set = NULL;
    size_t from = 0, to = s->size, used;
    if (jinja_given(chars) && !jinja_want_str(r, chars, &set)) {
        return false;
    }
    while (left && from < to && in_set(set, utf8_decode((const uint8_t *)s->data + from, to - from, &used))) {
        from += used;
    }
    while (right && to > from) {
        size_t at = jinja_previous(s->data, to);
        if (!in_set(set, utf8_decode((const uint8_t *)s->data + at, to - at, &used))) {
            break;
        }
        to = at;
    }
    return jinja_str_part(r, self, s->data + from, to - from, out);
}

bool jinja_str_strip(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return strip_sides(r, self, a[0], true, true, out);
}

static bool lstrip(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return strip_sides(r, self, a[0], true, false, out);
}

static bool rstrip(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return strip_sides(r, self, a[0], false, true, out);
}

/* Filling on both sides to a width. */
static bool justify(jinja_run *r, value self, const value *a, int side, value *out)
{
    const str *s = self.as.s, *fill = NULL;
    int64_t width;
    buffer b;
    if (!jinja_to_index(r, a[0], &width) || (a[1].kind != V_MISSING && !jinja_want_str(r, a[1], &fill))) {
        return false;
    }
    if (fill && fill->chars != 1) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "The fill character must be exactly one character long");
    }
    size_t missing = width > (int64_t)s->chars ? (size_t)width - s->chars : 0;
    if (missing > r->options.limits.memory_bytes / 4) {
        return jinja_raise(r, JINJA_LIMIT, "a text of %lld characters", (long long)width);
    }
    /* Python's centre: the odd one goes left only if the width is odd too */
    size_t left = side == 0 ? missing / 2 + (missing & (size_t)width & 1) : side > 0 ? missing : 0;
    buffer_init(&b);
    for (size_t i = 0; i <= missing; i++) {
        if (i == left) {
            buffer_append(&b, s->data, s->size);
        }
        if (i < missing) {
            buffer_append(&b, fill ? fill->data : " ", fill ? fill->size : 1);
        }
    }
    return jinja_finish(r, true, &b, out);
}

bool jinja_str_center(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return justify(r, self, a, 0, out);
}

static bool ljust(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return justify(r, self, a, -1, out);
}

static bool rjust(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return justify(r, self, a, 1, out);
}

static bool zfill(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    const str *s = self.as.s;
    int64_t width;
    buffer b;
    (void)all;
    if (!jinja_to_index(r, a[0], &width)) {
        return false;
    }
    size_t missing = width > (int64_t)s->chars ? (size_t)width - s->chars : 0;
    if (missing > r->options.limits.memory_bytes / 4) {
        return jinja_raise(r, JINJA_LIMIT, "a text of %lld characters", (long long)width);
    }
    size_t sign = s->size && (s->data[0] == '-' || s->data[0] == '+');
    buffer_init(&b);
    buffer_append(&b, s->data, sign);
    buffer_fill(&b, '0', missing);
    buffer_append(&b, s->data + sign, s->size - sign);
    return jinja_finish(r, true, &b, out);
}

static bool expandtabs(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    const str *s = self.as.s;
    int64_t tab = 8, column = 0;
    buffer b;
    (void)all;
    if (a[0].kind != V_MISSING && !jinja_to_index(r, a[0], &tab)) {
        return false;
    }
    if (tab > 1000) {
        return jinja_raise(r, JINJA_LIMIT, "tabs of more than 1000 columns");
    }
    buffer_init(&b);
    for (size_t i = 0; i < s->size; i++) {
        char c = s->data[i];
        if (c == '\t') {
            size_t n = tab > 0 ? (size_t)(tab - column % tab) : 0;
            buffer_fill(&b, ' ', n);
            column += (int64_t)n;
            continue;
        }
        buffer_append(&b, &c, 1);
        column = c == '\n' || c == '\r' ? 0 : column + (((uint8_t)c & 0xc0) != 0x80);
    }
    return jinja_finish(r, true, &b, out);
}

static bool format(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a;
    return jinja_format(r, self.as.s, all, out);
}

static bool format_map(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    arguments args = {0};
    (void)all;
    if (a[0].kind != V_DICT) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "format_map() wants a mapping, not %s", jinja_type_name(a[0]));
    }
    size_t n = a[0].as.dict->n;
    args.names = jinja_alloc(r, n, sizeof(value));
    args.named = args.names ? jinja_alloc(r, n, sizeof(value)) : NULL;
    for (size_t i = 0; args.named && i < n; i++) {
        if (a[0].as.dict->entries[i].key.kind == V_STRING) {
            args.names[args.n_named] = a[0].as.dict->entries[i].key;
            args.named[args.n_named++] = a[0].as.dict->entries[i].value;
        }
    }
    return args.named && jinja_format(r, self.as.s, &args, out);
}

/* Every character of a text that is not empty. */
static bool every(jinja_run *r, value self, char_class class, value *out)
{
    const str *s = self.as.s;
    *out = VALUE_BOOL(s->size > 0);
    for (size_t at = 0, used; at < s->size && out->as.b; at += used) {
        out->as.b = jinja_char_is(class, utf8_decode((const uint8_t *)s->data + at, s->size - at, &used));
    }
    return jinja_step(r, s->size / 64);
}

#define EVERY(name, class)                                                                                             \
    static bool name(jinja_run *r, value self, const value *a, const arguments *all, value *out)                       \
    {                                                                                                                  \
        (void)a, (void)all;                                                                                            \
        return every(r, self, class, out);                                                                             \
    }
EVERY(str_isalpha, IS_ALPHA)
EVERY(str_isalnum, IS_ALNUM)
EVERY(str_isdecimal, IS_DECIMAL)
EVERY(str_isdigit, IS_DIGIT)
EVERY(str_isnumeric, IS_NUMERIC)

/* Some cased character, and none of the other case. */
static bool cased(value self, bool upper)
{
    const str *s = self.as.s;
    bool some = false;
    for (size_t at = 0, used; at < s->size; at += used) {
        uint32_t c = utf8_decode((const uint8_t *)s->data + at, s->size - at, &used);
        if (jinja_char_is(upper ? IS_LOWER : IS_UPPER, c) || jinja_char_is(IS_TITLE, c)) {
            return false;
        }
        some = some || jinja_char_is(upper ? IS_UPPER : IS_LOWER, c);
    }
    return some;
}

bool jinja_str_islower(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)r, (void)a, (void)all;
    *out = VALUE_BOOL(cased(self, false));
    return true;
}

bool jinja_str_isupper(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)r, (void)a, (void)all;
    *out = VALUE_BOOL(cased(self, true));
    return true;
}

static bool str_istitle(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    const str *s = self.as.s;
    bool inside = false, some = false, ok = true;
    (void)r, (void)a, (void)all;
    for (size_t at = 0, used; at < s->size && ok; at += used) {
        uint32_t c = utf8_decode((const uint8_t *)s->data + at, s->size - at, &used);
        bool upper = jinja_char_is(IS_UPPER, c) || jinja_char_is(IS_TITLE, c), lower = jinja_char_is(IS_LOWER, c);
        ok = !(upper && inside) && !(lower && !inside);
        inside = upper || lower;
        some = some || inside;
    }
    *out = VALUE_BOOL(ok && some);
    return true;
}

static bool str_isspace(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    const str *s = self.as.s;
    (void)r, (void)a, (void)all;
    *out = VALUE_BOOL(s->size > 0);
    for (size_t at = 0, used; at < s->size && out->as.b; at += used) {
        out->as.b = jinja_is_space(utf8_decode((const uint8_t *)s->data + at, s->size - at, &used));
    }
    return true;
}

static bool str_isascii(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)r, (void)a, (void)all;
    *out = VALUE_BOOL(self.as.s->chars == self.as.s->size);
    return true;
}

static bool str_isprintable(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    const str *s = self.as.s;
    (void)r, (void)a, (void)all;
    *out = VALUE_BOOL(true);
    for (size_t at = 0, used; at < s->size && out->as.b; at += used) {
        out->as.b = jinja_is_printable(utf8_decode((const uint8_t *)s->data + at, s->size - at, &used));
    }
    return true;
}

static bool str_isidentifier(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)r, (void)a, (void)all;
    *out = VALUE_BOOL(jinja_is_identifier(self.as.s->data, self.as.s->size));
    return true;
}

static bool refused(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)self, (void)a, (void)all, (void)out;
    return jinja_raise(r, JINJA_UNSUPPORTED, "encode, maketrans and translate of str are not supported");
}

static const builtin methods[] = {
    {"capitalize", jinja_str_capitalize, "/", NULL},
    {"casefold", casefold, "/", NULL},
    {"center", jinja_str_center, "/ width ?fillchar", NULL},
    {"count", jinja_str_count, "/ sub ?start ?end", NULL},
    {"encode", refused, "*", NULL},
    {"endswith", jinja_str_endswith, "/ suffix ?start ?end", NULL},
    {"expandtabs", expandtabs, "?tabsize", NULL},
    {"find", jinja_str_find, "/ sub ?start ?end", NULL},
    {"format", format, "*", NULL},
    {"format_map", format_map, "/ mapping", NULL},
    {"index", jinja_str_index, "/ sub ?start ?end", NULL},
    {"isalnum", str_isalnum, "/", NULL},
    {"isalpha", str_isalpha, "/", NULL},
    {"isascii", str_isascii, "/", NULL},
    {"isdecimal", str_isdecimal, "/", NULL},
    {"isdigit", str_isdigit, "/", NULL},
    {"isidentifier", str_isidentifier, "/", NULL},
    {"islower", jinja_str_islower, "/", NULL},
    {"isnumeric", str_isnumeric, "/", NULL},
    {"isprintable", str_isprintable, "/", NULL},
    {"isspace", str_isspace, "/", NULL},
    {"istitle", str_istitle, "/", NULL},
    {"isupper", jinja_str_isupper, "/", NULL},
    {"join", jinja_str_join, "/ iterable", NULL},
    {"ljust", ljust, "/ width ?fillchar", NULL},
    {"lower", jinja_str_lower, "/", NULL},
    {"lstrip", lstrip, "/ ?chars", NULL},
    {"maketrans", refused, "*", NULL},
    {"partition", jinja_str_partition, "/ sep", NULL},
    {"removeprefix", jinja_str_removeprefix, "/ prefix", NULL},
    {"removesuffix", jinja_str_removesuffix, "/ suffix", NULL},
    {"replace", jinja_str_replace, "/ old new ?count", NULL},
    {"rfind", jinja_str_rfind, "/ sub ?start ?end", NULL},
    {"rindex", jinja_str_rindex, "/ sub ?start ?end", NULL},
    {"rjust", rjust, "/ width ?fillchar", NULL},
    {"rpartition", jinja_str_rpartition, "/ sep", NULL},
    {"rsplit", jinja_str_rsplit, "?sep ?maxsplit", NULL},
    {"rstrip", rstrip, "/ ?chars", NULL},
    {"split", jinja_str_split, "?sep ?maxsplit", NULL},
    {"splitlines", jinja_str_splitlines, "?keepends", NULL},
    {"startswith", jinja_str_startswith, "/ prefix ?start ?end", NULL},
    {"strip", jinja_str_strip, "/ ?chars", NULL},
    {"swapcase", swapcase, "/", NULL},
    {"title", title, "/", NULL},
    {"translate", refused, "*", NULL},
    {"upper", jinja_str_upper, "/", NULL},
    {"zfill", zfill, "/ width", NULL},
};

const builtin *jinja_find_str_method(const str *name)
{
    return jinja_find_builtin(methods, sizeof methods / sizeof *methods, name);
}
