/* Methods of str. Positions count code points. */
#include "base/utf8.h"
#include "lang/jinja_methods.h"

static bool given(value v)
{
    return v.kind != V_MISSING && v.kind != V_NONE;
}

static bool want_str(jinja_run *r, value v, const str **out)
{
    if (v.kind == V_UNDEFINED) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "must be str, not Undefined");
    }
    if (v.kind != V_STRING) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "must be str, not %s", jinja_type_name(v));
    }
    *out = v.as.s;
    return true;
}

static bool from_bytes(jinja_run *r, value self, const char *s, size_t n, value *out)
{
    bool ok = jinja_string_borrow(r, s, n, out);
    out->markup = self.markup;
    return ok;
}

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

static size_t previous(const char *s, size_t at)
{
    do {
        at--;
    } while (at && ((uint8_t)s[at] & 0xc0) == 0x80);
    return at;
}

static bool strip_sides(jinja_run *r, value self, value chars, bool left, bool right, value *out)
{
    const str *s = self.as.s, *set = NULL;
    size_t from = 0, to = s->size, used;
    if (given(chars) && !want_str(r, chars, &set)) {
        return false;
    }
    while (left && from < to && in_set(set, utf8_decode((const uint8_t *)s->data + from, to - from, &used))) {
        from += used;
    }
    while (right && to > from) {
        size_t at = previous(s->data, to);
        if (!in_set(set, utf8_decode((const uint8_t *)s->data + at, to - at, &used))) {
            break;
        }
        to = at;
    }
    return from_bytes(r, self, s->data + from, to - from, out);
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

/* Offset of `what` in s[from .. n), SIZE_MAX if it is not there. */
static size_t find_in(const char *s, size_t from, size_t n, const str *what)
{
    if (what->size > n || from > n - what->size) {
        return SIZE_MAX;
    }
    if (!what->size) {
        return from;
    }
    for (size_t at = from; at + what->size <= n; at++) {
        const char *hit = memchr(s + at, what->data[0], n - what->size - at + 1);
        if (!hit) {
            break;
        }
        at = (size_t)(hit - s);
        if (memcmp(hit, what->data, what->size) == 0) {
            return at;
        }
    }
    return SIZE_MAX;
}

static size_t find_last(const char *s, size_t n, const str *what)
{
    for (size_t at = what->size <= n ? n - what->size + 1 : 0; at-- > 0;) {
        if (!what->size || memcmp(s + at, what->data, what->size) == 0) {
            return at;
        }
    }
    return SIZE_MAX;
}

/* s[start:end] as find, count and the like take it; *first is the position of its start. False for an empty answer. */
static bool window(jinja_run *r, const str *s, value start, value end, bytes *out, int64_t *first, bool *inside)
{
    int64_t n = (int64_t)s->chars, from = 0, to = n;
    if ((given(start) && !jinja_to_index(r, start, &from)) || (given(end) && !jinja_to_index(r, end, &to))) {
        return false;
    }
    from = from < 0 ? (from + n < 0 ? 0 : from + n) : from;
    to = to < 0 ? (to + n < 0 ? 0 : to + n) : to > n ? n : to;
    *inside = from <= to && from <= n;
    *first = from;
    *out = *inside ? jinja_str_slice(s, (size_t)from, (size_t)to) : (bytes){(const uint8_t *)s->data, 0};
    return jinja_step(r, s->size / 64);
}

static int64_t characters(const char *s, size_t n)
{
    int64_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += ((uint8_t)s[i] & 0xc0) != 0x80;
    }
    return count;
}

static bool search(jinja_run *r, value self, const value *a, bool last, bool strict, value *out)
{
    const str *what;
    bytes in;
    int64_t first;
    bool inside;
    if (!want_str(r, a[0], &what) || !window(r, self.as.s, a[1], a[2], &in, &first, &inside)) {
        return false;
    }
    const char *s = (const char *)in.data;
    size_t at = !inside ? SIZE_MAX : last ? find_last(s, in.size, what) : find_in(s, 0, in.size, what);
    if (at == SIZE_MAX && strict) {
        return jinja_raise(r, JINJA_VALUE_ERROR, "substring not found");
    }
    *out = VALUE_INT(at == SIZE_MAX ? -1 : first + characters(s, at));
    return true;
}

static bool find(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return search(r, self, a, false, false, out);
}

static bool rfind(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return search(r, self, a, true, false, out);
}

static bool str_index(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return search(r, self, a, false, true, out);
}

static bool rindex_(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return search(r, self, a, true, true, out);
}

static bool count(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    const str *what;
    bytes in;
    int64_t first, n = 0;
    bool inside;
    (void)all;
    if (!want_str(r, a[0], &what) || !window(r, self.as.s, a[1], a[2], &in, &first, &inside)) {
        return false;
    }
    if (!what->size) {
        n = inside ? characters((const char *)in.data, in.size) + 1 : 0;
    }
    for (size_t at = 0; what->size && (at = find_in((const char *)in.data, at, in.size, what)) != SIZE_MAX; at += what->size) {
        n++;
    }
    *out = VALUE_INT(n);
    return true;
}

static bool affix(jinja_run *r, value self, const value *a, bool end, const char *name, value *out)
{
    bytes in;
    int64_t first;
    bool inside;
    list one = {(value *)(uintptr_t)&a[0], 1, 1};
    const list *all = a[0].kind == V_TUPLE ? a[0].as.list : &one;
    if (!window(r, self.as.s, a[1], a[2], &in, &first, &inside)) {
        return false;
    }
    *out = VALUE_BOOL(false);
    for (size_t i = 0; i < all->n && !out->as.b; i++) {
        if (all->items[i].kind != V_STRING) {
            return jinja_raise(r, JINJA_TYPE_ERROR, "%s first arg must be str or a tuple of str, not %s", name,
                               jinja_type_name(all->items[i]));
        }
        const str *s = all->items[i].as.s;
        out->as.b = inside && s->size <= in.size &&
                    (!s->size || memcmp(in.data + (end ? in.size - s->size : 0), s->data, s->size) == 0);
    }
    return true;
}

static bool startswith(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return affix(r, self, a, false, "startswith", out);
}

static bool endswith(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return affix(r, self, a, true, "endswith", out);
}

static bool remove_affix(jinja_run *r, value self, const value *a, bool end, value *out)
{
    const str *s = self.as.s, *what;
    if (!want_str(r, a[0], &what)) {
        return false;
    }
    bool has = what->size <= s->size &&
               (!what->size || memcmp(s->data + (end ? s->size - what->size : 0), what->data, what->size) == 0);
    size_t n = has ? what->size : 0;
    return from_bytes(r, self, s->data + (end ? 0 : n), s->size - n, out);
}

static bool removeprefix(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return remove_affix(r, self, a, false, out);
}

static bool removesuffix(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return remove_affix(r, self, a, true, out);
}

/* An empty pattern stands before every character and at the end. */
bool jinja_replace_text(jinja_run *r, const str *s, const str *old, const str *new, int64_t times, value *out)
{
    buffer b;
    bool ok = jinja_step(r, s->size / 64);
    buffer_init(&b);
    size_t at = 0;
    while (ok && times != 0) {
        size_t hit = find_in(s->data, at, s->size, old), end;
        if (hit == SIZE_MAX) {
            break;
        }
        buffer_append(&b, s->data + at, hit - at);
        buffer_append(&b, new->data, new->size);
        times--;
        at = end = hit + old->size;
        if (!old->size) {
            if (hit >= s->size) {
                break;
            }
            for (end = hit + 1; end < s->size && ((uint8_t)s->data[end] & 0xc0) == 0x80; end++) {
            }
            buffer_append(&b, s->data + hit, end - hit);
            at = end;
        }
        ok = b.size <= r->options.limits.memory_bytes ? jinja_step(r, 1)
                                                      : jinja_raise(r, JINJA_LIMIT, "replace makes too long a text");
    }
    buffer_append(&b, s->data + at, s->size - at);
    return jinja_finish(r, ok, &b, out);
}

static bool replace(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    const str *old, *new;
    int64_t times = -1;
    (void)all;
    return want_str(r, a[0], &old) && want_str(r, a[1], &new) &&
           (a[2].kind == V_MISSING || jinja_to_index(r, a[2], &times)) &&
           jinja_replace_text(r, self.as.s, old, new, times < 0 ? -1 : times, out);
}

static bool push_piece(jinja_run *r, value self, list *l, size_t from, size_t to)
{
    value v;
    return from_bytes(r, self, self.as.s->data + from, to - from, &v) && jinja_list_push(r, l, v);
}

static bool split_space(jinja_run *r, value self, int64_t times, list *l)
{
    const str *s = self.as.s;
    size_t at = 0, used = 0, end;
    for (;;) {
        while (at < s->size && jinja_is_space(utf8_decode((const uint8_t *)s->data + at, s->size - at, &used))) {
            at += used;
        }
        if (at >= s->size) {
            return true;
        }
        for (end = at; end < s->size && !jinja_is_space(utf8_decode((const uint8_t *)s->data + end, s->size - end, &used));) {
            end += used;
        }
        if (times-- == 0) {
            break;
        }
        if (!jinja_step(r, 1) || !push_piece(r, self, l, at, end)) {
            return false;
        }
        at = end;
    }
    return push_piece(r, self, l, at, s->size);
}

static bool rsplit_space(jinja_run *r, value self, int64_t times, list *l)
{
    const str *s = self.as.s;
    size_t to = s->size, used, from;
    for (;;) {
        while (to && jinja_is_space(utf8_decode((const uint8_t *)s->data + previous(s->data, to), 4 < s->size - previous(s->data, to) ? 4 : s->size - previous(s->data, to), &used))) {
            to = previous(s->data, to);
        }
        if (!to) {
            return true;
        }
        if (times-- == 0) {
            return push_piece(r, self, l, 0, to);
        }
        for (from = to; from; from = previous(s->data, from)) {
            size_t p = previous(s->data, from);
            if (jinja_is_space(utf8_decode((const uint8_t *)s->data + p, from - p, &used))) {
                break;
            }
        }
        if (!jinja_step(r, 1) || !push_piece(r, self, l, from, to)) {
            return false;
        }
        to = from;
    }
}

static bool split_on(jinja_run *r, value self, const str *by, int64_t times, list *l)
{
    const str *s = self.as.s;
    size_t at = 0, hit;
    while (times-- != 0 && (hit = find_in(s->data, at, s->size, by)) != SIZE_MAX) {
        if (!jinja_step(r, 1) || !push_piece(r, self, l, at, hit)) {
            return false;
        }
        at = hit + by->size;
    }
    return push_piece(r, self, l, at, s->size);
}

static bool rsplit_on(jinja_run *r, value self, const str *by, int64_t times, list *l)
{
    const str *s = self.as.s;
    size_t to = s->size, hit;
    while (times-- != 0 && (hit = find_last(s->data, to, by)) != SIZE_MAX) {
        if (!jinja_step(r, 1) || !push_piece(r, self, l, hit + by->size, to)) {
            return false;
        }
        to = hit;
    }
    return push_piece(r, self, l, 0, to);
}

static bool split_any(jinja_run *r, value self, const value *a, bool right, value *out)
{
    const str *by = NULL;
    int64_t times = -1;
    list *l = jinja_list_new(r, 0);
    if (!l || (given(a[0]) && !want_str(r, a[0], &by)) || (a[1].kind != V_MISSING && !jinja_to_index(r, a[1], &times)) ||
        !jinja_step(r, self.as.s->size / 64)) {
        return false;
    }
    times = times < 0 ? -1 : times;
    if (by && !by->size) {
        return jinja_raise(r, JINJA_VALUE_ERROR, "empty separator");
    }
    bool ok = right ? (by ? rsplit_on(r, self, by, times, l) : rsplit_space(r, self, times, l))
                    : (by ? split_on(r, self, by, times, l) : split_space(r, self, times, l));
    for (size_t i = 0; ok && right && i < l->n / 2; i++) {
        value v = l->items[i];
        l->items[i] = l->items[l->n - 1 - i];
        l->items[l->n - 1 - i] = v;
    }
    *out = VALUE_LIST(l);
    return ok;
}

static bool split(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return split_any(r, self, a, false, out);
}

static bool rsplit(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return split_any(r, self, a, true, out);
}

static size_t line_end(const str *s, size_t at)
{
    size_t used;
    uint32_t c = utf8_decode((const uint8_t *)s->data + at, s->size - at, &used);
    if (c == '\r' && at + 1 < s->size && s->data[at + 1] == '\n') {
        return 2;
    }
    return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029 ? used : 0;
}

bool jinja_split_lines(jinja_run *r, value self, bool keep, list *l)
{
    const str *s = self.as.s;
    size_t from = 0;
    for (size_t at = 0, ends; at < s->size; at++) {
        if ((ends = line_end(s, at)) != 0) {
            if (!jinja_step(r, 1) || !push_piece(r, self, l, from, keep ? at + ends : at)) {
                return false;
            }
            at += ends - 1;
            from = at + 1;
        }
    }
    return from >= s->size || push_piece(r, self, l, from, s->size);
}

static bool splitlines(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    list *l = jinja_list_new(r, 0);
    (void)all;
    *out = VALUE_LIST(l);
    return l && jinja_split_lines(r, self, jinja_truth(a[0]), l);
}

static bool partition_at(jinja_run *r, value self, const value *a, bool last, value *out)
{
    const str *s = self.as.s, *by;
    list *l = jinja_list_new(r, 3);
    if (!l || !want_str(r, a[0], &by)) {
        return false;
    }
    if (!by->size) {
        return jinja_raise(r, JINJA_VALUE_ERROR, "empty separator");
    }
    size_t hit = last ? find_last(s->data, s->size, by) : find_in(s->data, 0, s->size, by);
    *out = VALUE_TUPLE(l);
    if (hit != SIZE_MAX) {
        return push_piece(r, self, l, 0, hit) && push_piece(r, self, l, hit, hit + by->size) &&
               push_piece(r, self, l, hit + by->size, s->size);
    }
    return push_piece(r, self, l, 0, last ? 0 : s->size) && push_piece(r, self, l, 0, 0) &&
           push_piece(r, self, l, 0, last ? s->size : 0);
}

static bool partition(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return partition_at(r, self, a, false, out);
}

static bool rpartition(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return partition_at(r, self, a, true, out);
}

static bool join(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    list l;
    buffer b;
    bool ok = true;
    (void)all;
    if (!jinja_is_iterable(a[0])) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "can only join an iterable");
    }
    if (!jinja_items(r, a[0], &l)) {
        return false;
    }
    buffer_init(&b);
    for (size_t i = 0; i < l.n && ok; i++) {
        if (l.items[i].kind != V_STRING) {
            ok = jinja_raise(r, JINJA_TYPE_ERROR, "sequence item %zu: expected str instance, %s found", i,
                             jinja_type_name(l.items[i]));
            break;
        }
        ok = (!i || jinja_print(r, self, &b)) && jinja_print(r, l.items[i], &b);
    }
    return jinja_finish(r, ok, &b, out);
}

/* Filling on both sides to a width. */
static bool justify(jinja_run *r, value self, const value *a, int side, value *out)
{
    const str *s = self.as.s, *fill = NULL;
    int64_t width;
    buffer b;
    if (!jinja_to_index(r, a[0], &width) || (a[1].kind != V_MISSING && !want_str(r, a[1], &fill))) {
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
    static bool name(jinja_run *r, value self, const value *a, const arguments *all, value *out)                      \
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
    {"count", count, "/ sub ?start ?end", NULL},
    {"encode", refused, "*", NULL},
    {"endswith", endswith, "/ suffix ?start ?end", NULL},
    {"expandtabs", expandtabs, "?tabsize", NULL},
    {"find", find, "/ sub ?start ?end", NULL},
    {"format", format, "*", NULL},
    {"format_map", format_map, "/ mapping", NULL},
    {"index", str_index, "/ sub ?start ?end", NULL},
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
    {"join", join, "/ iterable", NULL},
    {"ljust", ljust, "/ width ?fillchar", NULL},
    {"lower", jinja_str_lower, "/", NULL},
    {"lstrip", lstrip, "/ ?chars", NULL},
    {"maketrans", refused, "*", NULL},
    {"partition", partition, "/ sep", NULL},
    {"removeprefix", removeprefix, "/ prefix", NULL},
    {"removesuffix", removesuffix, "/ suffix", NULL},
    {"replace", replace, "/ old new ?count", NULL},
    {"rfind", rfind, "/ sub ?start ?end", NULL},
    {"rindex", rindex_, "/ sub ?start ?end", NULL},
    {"rjust", rjust, "/ width ?fillchar", NULL},
    {"rpartition", rpartition, "/ sep", NULL},
    {"rsplit", rsplit, "?sep ?maxsplit", NULL},
    {"rstrip", rstrip, "/ ?chars", NULL},
    {"split", split, "?sep ?maxsplit", NULL},
    {"splitlines", splitlines, "?keepends", NULL},
    {"startswith", startswith, "/ prefix ?start ?end", NULL},
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
