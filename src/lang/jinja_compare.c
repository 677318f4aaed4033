/* Truth, equality, order, membership and hashing. */
#include "lang/jinja_run.h"

#include <math.h>

bool jinja_truth(value v)
{
    size_t n;
    switch (v.kind) {
    case V_MISSING:
    case V_UNDEFINED:
    case V_NONE:
        return false;
    case V_BOOL:
        return v.as.b;
    case V_INT:
        return v.as.i != 0;
    case V_FLOAT:
        return v.as.f != 0;
    case V_LOOP:
        return v.as.loop->length != 0;
    default:
        return !jinja_length(v, &n) || n > 0;
    }
}

/* Exact: an int against a float without rounding the int. 2: not a number. */
static int compare_int_float(int64_t i, double f)
{
    if (isnan(f)) {
        return 2;
    }
    if (f >= 9223372036854775808.0) {
        return -1;
    }
    if (f < -9223372036854775808.0) {
        return 1;
    }
    int64_t whole = (int64_t)f;
    if (i != whole) {
        return i < whole ? -1 : 1;
    }
    double rest = f - (double)whole;
    return rest > 0 ? -1 : rest < 0 ? 1 : 0;
}

static int compare_numbers(value a, value b)
{
    if (a.kind != V_FLOAT && b.kind != V_FLOAT) {
        int64_t x = value_integer(a), y = value_integer(b);
        return x < y ? -1 : x > y;
    }
    if (a.kind == V_FLOAT && b.kind == V_FLOAT) {
        return isnan(a.as.f) || isnan(b.as.f) ? 2 : a.as.f < b.as.f ? -1 : a.as.f > b.as.f;
    }
    if (a.kind == V_FLOAT) {
        int order = compare_int_float(value_integer(b), a.as.f);
        return order == 2 ? 2 : -order;
    }
    return compare_int_float(value_integer(a), b.as.f);
}

int jinja_str_compare(const str *a, const str *b)
{
    size_t n = a->size < b->size ? a->size : b->size;
    int order = n ? memcmp(a->data, b->data, n) : 0;
    return order ? (order < 0 ? -1 : 1) : a->size < b->size ? -1 : a->size > b->size;
}

bool jinja_identical(value a, value b)
{
    if (a.kind != b.kind) {
        return false;
    }
    switch (a.kind) {
    case V_NONE:
        return true;
    case V_BOOL:
        return a.as.b == b.as.b;
    case V_INT:
        return a.as.i == b.as.i && a.as.i >= -5 && a.as.i <= 256;
    case V_FLOAT:
        return false;
    case V_STRING:
        return a.as.s->data == b.as.s->data && a.as.s->size == b.as.s->size;
    default:
        return a.as.any == b.as.any;
    }
}

static bool equal_lists(jinja_run *r, const list *a, const list *b)
{
    if (a->n != b->n) {
        return false;
    }
    for (size_t i = 0; i < a->n; i++) {
        if (!jinja_equals(r, a->items[i], b->items[i])) {
            return false;
        }
    }
    return true;
}

static bool equal_dicts(jinja_run *r, const dict *a, const dict *b)
{
    if (a->n != b->n) {
        return false;
    }
    for (size_t i = 0; i < a->n; i++) {
        value other;
        if (!jinja_dict_get(r, b, a->entries[i].key, &other) || other.kind == V_MISSING ||
            !jinja_equals(r, a->entries[i].value, other)) {
            return false;
        }
    }
    return true;
}

static bool equal_ranges(const range *a, const range *b)
{
    size_t n = jinja_range_length(a);
    return n == jinja_range_length(b) && (!n || (a->start == b->start && (n == 1 || a->step == b->step)));
}

static bool equal_nested(jinja_run *r, value a, value b)
{
    /* Without a run (looking for a name in a dict) keys of nesting are never compared with it. */
    if (!r || !jinja_enter(r)) {
        return false;
    }
    bool equal = a.kind == V_DICT ? equal_dicts(r, a.as.dict, b.as.dict) : equal_lists(r, a.as.list, b.as.list);
    jinja_leave(r);
    return equal;
}

bool jinja_equals(jinja_run *r, value a, value b)
{
    if (value_is_number(a) && value_is_number(b)) {
        return compare_numbers(a, b) == 0;
    }
    if (a.kind != b.kind) {
        return false;
    }
    switch (a.kind) {
    case V_UNDEFINED:
    case V_NONE:
        return true;
    case V_STRING:
        return a.as.s->size == b.as.s->size && (!a.as.s->size || memcmp(a.as.s->data, b.as.s->data, a.as.s->size) == 0);
    case V_LIST:
    case V_TUPLE:
    case V_DICT:
        return a.as.any == b.as.any || equal_nested(r, a, b);
    case V_RANGE:
        return equal_ranges(a.as.range, b.as.range);
    case V_METHOD:
        return a.as.method->fn == b.as.method->fn && jinja_identical(*a.as.method->self, *b.as.method->self);
    default:
        return a.as.any == b.as.any;
    }
}

static bool compare_lists(jinja_run *r, const list *a, const list *b, const char *op, int *order)
{
    size_t n = a->n < b->n ? a->n : b->n;
    for (size_t i = 0; i < n; i++) {
        if (!jinja_equals(r, a->items[i], b->items[i])) {
            return jinja_compare(r, a->items[i], b->items[i], op, order);
        }
    }
    *order = a->n < b->n ? -1 : a->n > b->n;
    return true;
}

bool jinja_compare(jinja_run *r, value a, value b, const char *op, int *order)
{
    if (value_is_number(a) && value_is_number(b)) {
        *order = compare_numbers(a, b);
        return true;
    }
    if (a.kind == V_STRING && b.kind == V_STRING) {
        *order = jinja_str_compare(a.as.s, b.as.s);
        return true;
    }
    if (a.kind == V_UNDEFINED || b.kind == V_UNDEFINED) {
        return jinja_raise_undefined(r, a.kind == V_UNDEFINED ? a.as.undefined : b.as.undefined);
    }
    if (value_is_sequence(a) && a.kind == b.kind) {
        if (!jinja_enter(r)) {
            return false;
        }
        bool ok = compare_lists(r, a.as.list, b.as.list, op, order);
        jinja_leave(r);
        return ok && r->fault.kind == JINJA_NO_ERROR;
    }
    return jinja_raise(r, JINJA_TYPE_ERROR, "'%s' not supported between instances of '%s' and '%s'", op,
                       jinja_type_name(a), jinja_type_name(b));
}

static bool find_text(const str *in, const str *what)
{
    if (!what->size) {
        return true;
    }
    const char *at = in->data, *end = in->data + in->size;
    while ((size_t)(end - at) >= what->size) {
        at = memchr(at, what->data[0], (size_t)(end - at) - what->size + 1);
        if (!at) {
            return false;
        }
        if (memcmp(at, what->data, what->size) == 0) {
            return true;
        }
        at++;
    }
    return false;
}

/* An iterator is only used up to the item found. */
static bool contains_item(jinja_run *r, value container, value item, bool *out)
{
    list l;
    iterator *it = container.kind == V_ITERATOR ? container.as.iterator : NULL;
    if (it) {
        if (!jinja_iterator_fill(r, it)) {
            return false;
        }
        while (it->at < it->items.n && !*out) {
            *out = jinja_equals(r, it->items.items[it->at++], item);
        }
        return r->fault.kind == JINJA_NO_ERROR;
    }
    if (!jinja_items(r, container, &l)) {
        return false;
    }
    for (size_t i = 0; i < l.n && !*out; i++) {
        *out = jinja_identical(l.items[i], item) || jinja_equals(r, l.items[i], item);
    }
    return r->fault.kind == JINJA_NO_ERROR;
}

bool jinja_contains(jinja_run *r, value container, value item, bool *out)
{
    value found;
    *out = false;
    if (container.kind == V_STRING) {
        if (item.kind != V_STRING) {
            return jinja_raise(r, JINJA_TYPE_ERROR, "'in <string>' requires string as left operand, not %s",
                               jinja_type_name(item));
        }
        *out = find_text(container.as.s, item.as.s);
        return jinja_step(r, container.as.s->size / 64);
    }
    if (container.kind == V_DICT || (container.kind == V_VIEW && container.as.view->kind == VIEW_KEYS)) {
        const dict *d = container.kind == V_DICT ? container.as.dict : container.as.view->of;
        if (!jinja_dict_get(r, d, item, &found)) {
            return false;
        }
        *out = found.kind != V_MISSING;
        return true;
    }
    if (!jinja_is_iterable(container)) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "argument of type '%s' is not iterable", jinja_type_name(container));
    }
    return contains_item(r, container, item, out);
}

static uint64_t mix(uint64_t h)
{
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

static uint64_t hash_bytes(const char *s, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < n; i++) {
        h = (h ^ (uint8_t)s[i]) * 0x100000001b3u;
    }
    return mix(h);
}

/* Equal numbers of different types have one hash. */
static uint64_t hash_number(value v)
{
    uint64_t bits;
    if (v.kind != V_FLOAT) {
        return mix((uint64_t)value_integer(v));
    }
    if (v.as.f >= -9223372036854775808.0 && v.as.f < 9223372036854775808.0 && v.as.f == trunc(v.as.f)) {
        return mix((uint64_t)(int64_t)v.as.f);
    }
    memcpy(&bits, &v.as.f, sizeof bits);
    return mix(bits);
}

bool jinja_hash(jinja_run *r, value v, uint64_t *out)
{
    switch (v.kind) {
    case V_NONE:
    case V_UNDEFINED:
        *out = mix(v.kind);
        return true;
    case V_BOOL:
    case V_INT:
    case V_FLOAT:
        *out = hash_number(v);
        return true;
    case V_STRING:
        *out = hash_bytes(v.as.s->data, v.as.s->size);
        return true;
    case V_LIST:
    case V_DICT:
    case V_VIEW:
        return jinja_raise(r, JINJA_TYPE_ERROR, "unhashable type: '%s'", jinja_type_name(v));
    case V_TUPLE:
        if (!jinja_enter(r)) {
            return false;
        }
        *out = 0x345678;
        for (size_t i = 0; i < v.as.list->n; i++) {
            uint64_t h;
            if (!jinja_hash(r, v.as.list->items[i], &h)) {
                return false;
            }
            *out = mix(*out ^ h) + i;
        }
        jinja_leave(r);
        return true;
    case V_RANGE:
        *out = mix(jinja_range_length(v.as.range));
        return true;
    case V_METHOD:
        *out = mix((uint64_t)(uintptr_t)v.as.method->fn);
        return true;
    default:
        *out = mix((uint64_t)(uintptr_t)v.as.any);
        return true;
    }
}
