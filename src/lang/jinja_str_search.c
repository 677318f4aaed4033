/* Methods of str that look for something inside: finding, splitting, replacing. Positions count code points. */
#include "base/utf8.h"
#include "lang/jinja_methods.h"

bool jinja_given(value v)
{
    return v.kind != V_MISSING && v.kind != V_NONE;
}

bool jinja_want_str(jinja_run *r, value v, const str **out)
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

bool jinja_str_part(jinja_run *r, value self, const char *s, size_t n, value *out)
{
    bool ok = jinja_string_borrow(r, s, n, out);
    out->markup = self.markup;
    return ok;
}

size_t jinja_previous(const char *s, size_t at)
{
    do {
        at--;
    } while (at && ((uint8_t)s[at] & 0xc0) == 0x80);
    return at;
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
    if ((jinja_given(start) && !jinja_to_index(r, start, &from)) ||
        (jinja_given(end) && !jinja_to_index(r, end, &to))) {
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
    const str *what = NULL;
    bytes in;
    int64_t first;
    bool inside;
    if (!jinja_want_str(r, a[0], &what) || !window(r, self.as.s, a[1], a[2], &in, &first, &inside)) {
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

bool jinja_str_find(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return search(r, self, a, false, false, out);
}

bool jinja_str_rfind(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return search(r, self, a, true, false, out);
}

bool jinja_str_index(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return search(r, self, a, false, true, out);
}

bool jinja_str_rindex(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return search(r, self, a, true, true, out);
}

bool jinja_str_count(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    const str *what = NULL;
    bytes in;
    int64_t first, n = 0;
    bool inside;
    (void)all;
    if (!jinja_want_str(r, a[0], &what) || !window(r, self.as.s, a[1], a[2], &in, &first, &inside)) {
        return false;
    }
    if (!what->size) {
        n = inside ? characters((const char *)in.data, in.size) + 1 : 0;
    }
    for (size_t at = 0; what->size && (at = find_in((const char *)in.data, at, in.size, what)) != SIZE_MAX;
         at += what->size) {
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

bool jinja_str_startswith(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return affix(r, self, a, false, "startswith", out);
}

bool jinja_str_endswith(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return affix(r, self, a, true, "endswith", out);
}

static bool remove_affix(jinja_run *r, value self, const value *a, bool end, value *out)
{
    const str *s = self.as.s, *what = NULL;
    if (!jinja_want_str(r, a[0], &what)) {
        return false;
    }
    bool has = what->size <= s->size &&
               (!what->size || memcmp(s->data + (end ? s->size - what->size : 0), what->data, what->size) == 0);
    size_t n = has ? what->size : 0;
    return jinja_str_part(r, self, s->data + (end ? 0 : n), s->size - n, out);
}

bool jinja_str_removeprefix(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return remove_affix(r, self, a, false, out);
}

bool jinja_str_removesuffix(jinja_run *r, value self, const value *a, const arguments *all, value *out)
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

bool jinja_str_replace(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    const str *old = NULL, *new = NULL;
    int64_t times = -1;
    (void)all;
    return jinja_want_str(r, a[0], &old) && jinja_want_str(r, a[1], &new) &&
           (a[2].kind == V_MISSING || jinja_to_index(r, a[2], &times)) &&
           jinja_replace_text(r, self.as.s, old, new, times < 0 ? -1 : times, out);
}

static bool push_piece(jinja_run *r, value self, list *l, size_t from, size_t to)
{
    value v;
    return jinja_str_part(r, self, self.as.s->data + from, to - from, &v) && jinja_list_push(r, l, v);
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
        for (end = at;
             end < s->size && !jinja_is_space(utf8_decode((const uint8_t *)s->data + end, s->size - end, &used));) {
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

static bool space_before(const str *s, size_t at)
{
    size_t from = jinja_previous(s->data, at), used;
    return jinja_is_space(utf8_decode((const uint8_t *)s->data + from, at - from, &used));
}

static bool rsplit_space(jinja_run *r, value self, int64_t times, list *l)
{
    const str *s = self.as.s;
    size_t to = s->size, from;
    for (;;) {
        while (to && space_before(s, to)) {
            to = jinja_previous(s->data, to);
        }
        if (!to) {
            return true;
        }
        if (times-- == 0) {
            return push_piece(r, self, l, 0, to);
        }
        for (from = to; from; from = jinja_previous(s->data, from)) {
            if (space_before(s, from)) {
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
    if (!l || (jinja_given(a[0]) && !jinja_want_str(r, a[0], &by)) ||
        (a[1].kind != V_MISSING && !jinja_to_index(r, a[1], &times)) || !jinja_step(r, self.as.s->size / 64)) {
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

bool jinja_str_split(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return split_any(r, self, a, false, out);
}

bool jinja_str_rsplit(jinja_run *r, value self, const value *a, const arguments *all, value *out)
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

bool jinja_str_splitlines(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    list *l = jinja_list_new(r, 0);
    (void)all;
    *out = VALUE_LIST(l);
    return l && jinja_split_lines(r, self, jinja_truth(a[0]), l);
}

static bool partition_at(jinja_run *r, value self, const value *a, bool last, value *out)
{
    const str *s = self.as.s, *by = NULL;
    list *l = jinja_list_new(r, 3);
    if (!l || !jinja_want_str(r, a[0], &by)) {
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

bool jinja_str_partition(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return partition_at(r, self, a, false, out);
}

bool jinja_str_rpartition(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return partition_at(r, self, a, true, out);
}

bool jinja_str_join(jinja_run *r, value self, const value *a, const arguments *all, value *out)
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
