/* x.name, x[key] and x[a:b:c], with jinja2's rules: a name is an attribute first and an element second, a key the reverse, and
 * what is in neither is undefined. */
#include "lang/jinja_run.h"

#include <stdlib.h>

static bool macro_attr(jinja_run *r, const macro *m, const str *name, value *out)
{
    const node *d = m->definition;
    if (str_equals(name, "name")) {
        *out = m->name ? VALUE_STR(m->name) : VALUE_NONE;
    } else if (str_equals(name, "caller")) {
        *out = VALUE_BOOL((d->flags & MACRO_CALLER) != 0);
    } else if (str_equals(name, "catch_kwargs")) {
        *out = VALUE_BOOL((d->flags & MACRO_KWARGS) != 0);
    } else if (str_equals(name, "catch_varargs")) {
        *out = VALUE_BOOL((d->flags & MACRO_VARARGS) != 0);
    } else if (str_equals(name, "arguments")) {
        list *l = jinja_list_new(r, d->items.n);
        for (uint32_t i = 0; l && i < d->items.n; i++) {
            l->items[l->n++] = d->items.v[i]->constant;
        }
        *out = VALUE_TUPLE(l);
        return l != NULL;
    }
    return true;
}

/* Attributes that are no methods. *out stays V_MISSING for others. */
static bool plain_attr(jinja_run *r, value object, const str *name, value *out)
{
    switch (object.kind) {
    case V_NAMESPACE:
        *out = jinja_dict_find(object.as.name_space->members, name->data, name->size);
        return true;
    case V_LOOP:
        return jinja_loop_attr(r, object.as.loop, name, out);
    case V_MACRO:
        return macro_attr(r, object.as.macro, name, out);
    case V_CYCLER:
        if (str_equals(name, "current")) {
            *out = object.as.cycler->items.items[object.as.cycler->at];
        }
        return true;
    case V_TUPLE: /* what groupby gives has names */
        if (object.markup && (str_equals(name, "grouper") || str_equals(name, "list"))) {
            *out = object.as.list->items[name->data[0] == 'l'];
        }
        return true;
    case V_RANGE:
        if (str_equals(name, "start") || str_equals(name, "stop") || str_equals(name, "step")) {
            const range *g = object.as.range;
            *out = VALUE_INT(name->size == 5 ? g->start : name->data[2] == 'o' ? g->stop : g->step);
        }
        return true;
    case V_INT:
    case V_BOOL:
        if (str_equals(name, "real") || str_equals(name, "numerator")) {
            *out = VALUE_INT(value_integer(object));
        } else if (str_equals(name, "imag") || str_equals(name, "denominator")) {
            *out = VALUE_INT(name->data[0] == 'd');
        }
        return true;
    case V_FLOAT:
        if (str_equals(name, "real") || str_equals(name, "imag")) {
            *out = VALUE_FLOAT(name->data[0] == 'r' ? object.as.f : 0.0);
        }
        return true;
    default:
        return true;
    }
}

/* Names that every Python object has: never given to a template. */
static bool is_private(const str *name)
{
    static const char *const names[] = {
        "__class__",    "__doc__",       "__dict__",         "__module__",       "__init__",
        "__new__",      "__eq__",        "__ne__",           "__lt__",           "__le__",
        "__gt__",       "__ge__",        "__hash__",         "__str__",          "__repr__",
        "__format__",   "__dir__",       "__getattribute__", "__setattr__",      "__delattr__",
        "__reduce__",   "__reduce_ex__", "__sizeof__",       "__subclasshook__", "__init_subclass__",
        "__getstate__",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (str_equals(name, names[i])) {
            return true;
        }
    }
    return false;
}

static bool unsafe(jinja_run *r, value object, value name, value *out)
{
    size_t n = name.as.s->size + 80;
    char *hint = jinja_alloc(r, n, 1);
    if (!hint) {
        return false;
    }
    snprintf(hint, n, "access to attribute '%.*s' of '%s' object is unsafe.", (int)name.as.s->size, name.as.s->data,
             jinja_type_name(object));
    return jinja_undefined(r, JINJA_SECURITY_ERROR, hint, NULL, name, out);
}

/* Methods that would change the value: jinja2's immutable sandbox hides them. */
static bool changes(value object, const str *name)
{
    static const char *const of_lists[] = {"append", "clear",  "pop",    "reverse", "insert",
                                           "sort",   "extend", "remove", NULL};
    static const char *const of_dicts[] = {"clear", "pop", "popitem", "setdefault", "update", NULL};
    const char *const *names = object.kind == V_LIST ? of_lists : object.kind == V_DICT ? of_dicts : NULL;
    for (; names && *names; names++) {
        if (str_equals(name, *names)) {
            return true;
        }
    }
    return false;
}

/* getattr() of Python with the sandbox's rules; *out is V_MISSING if there is no such attribute. */
static bool attribute(jinja_run *r, value object, value name, value *out)
{
    const str *s = name.as.s;
    *out = VALUE_MISSING;
    if (is_private(s) || changes(object, s)) {
        return unsafe(r, object, name, out);
    }
    return plain_attr(r, object, s, out) && (out->kind != V_MISSING || jinja_find_method(r, object, s, out));
}

static bool hashable(value key, uint32_t depth)
{
    if (key.kind != V_TUPLE) {
        return key.kind != V_LIST && key.kind != V_DICT && key.kind != V_VIEW;
    }
    for (size_t i = 0; i < key.as.list->n; i++) {
        if (depth > 100 || !hashable(key.as.list->items[i], depth + 1)) {
            return false;
        }
    }
    return true;
}

/* obj[key] without an error: V_MISSING where Python raises a TypeError or a LookupError. */
static bool element(jinja_run *r, value object, value key, value *out)
{
    size_t n;
    *out = VALUE_MISSING;
    if (object.kind == V_DICT) {
        return !hashable(key, 0) || jinja_dict_get(r, object.as.dict, key, out);
    }
    if (!value_is_integer(key) || !(object.kind == V_STRING || value_is_sequence(object) || object.kind == V_RANGE) ||
        !jinja_length(object, &n)) {
        return true;
    }
    int64_t i = value_integer(key);
    i += i < 0 ? (int64_t)n : 0;
    if (i < 0 || (uint64_t)i >= n) {
        return true;
    }
    if (object.kind == V_STRING) {
        bytes b = jinja_str_slice(object.as.s, (size_t)i, (size_t)i + 1);
        return jinja_step(r, object.as.s->chars == object.as.s->size ? 0 : (uint64_t)i / 64) &&
               jinja_string_borrow(r, (const char *)b.data, b.size, out);
    }
    *out = object.kind == V_RANGE ? VALUE_INT(object.as.range->start + i * object.as.range->step)
                                  : object.as.list->items[i];
    return true;
}

bool jinja_getattr(jinja_run *r, value object, value name, value *out)
{
    if (object.kind == V_UNDEFINED) {
        return jinja_raise_undefined(r, object.as.undefined);
    }
    if (!attribute(r, object, name, out) || (out->kind == V_MISSING && !element(r, object, name, out))) {
        return false;
    }
    return out->kind != V_MISSING || jinja_undefined_member(r, object, name, out);
}

bool jinja_getitem(jinja_run *r, value object, value key, value *out)
{
    if (object.kind == V_UNDEFINED) {
        return jinja_raise_undefined(r, object.as.undefined);
    }
    if (!element(r, object, key, out)) {
        return false;
    }
    if (out->kind == V_MISSING && key.kind == V_STRING && !attribute(r, object, key, out)) {
        return false;
    }
    return out->kind != V_MISSING || jinja_undefined_member(r, object, key, out);
}

/* A bound of a slice, moved into [low, high]. */
static int64_t bound(value v, int64_t n, int64_t fallback, int64_t low, int64_t high)
{
    if (v.kind == V_NONE) {
        return fallback;
    }
    int64_t i = value_integer(v);
    i = i < 0 ? (i < -n ? low : i + n) : i;
    return i < low ? low : i > high ? high : i;
}

static bool slice_text(jinja_run *r, value object, int64_t from, size_t count, int64_t step, value *out)
{
    const str *s = object.as.s;
    bool ok;
    if (step == 1) {
        bytes b = jinja_str_slice(s, (size_t)from, (size_t)from + count);
        ok = jinja_string_borrow(r, (const char *)b.data, b.size, out);
        out->markup = object.markup;
        return ok && jinja_step(r, s->size / 256);
    }
    list characters;
    buffer b;
    if (!jinja_items(r, object, &characters)) {
        return false;
    }
    buffer_init(&b);
    for (size_t i = 0; i < count; i++) {
        const str *c = characters.items[from + (int64_t)i * step].as.s;
        buffer_append(&b, c->data, c->size);
    }
    ok = jinja_finish(r, true, &b, out);
    out->markup = object.markup;
    return ok;
}

static bool slice_items(jinja_run *r, value object, int64_t from, size_t count, int64_t step, value *out)
{
    if (object.kind == V_RANGE) {
        range *g = jinja_alloc(r, 1, sizeof *g);
        if (!g) {
            return false;
        }
        const range *of = object.as.range;
        *g = (range){of->start + from * of->step, 0, of->step * step};
        g->stop = g->start + (int64_t)count * g->step;
        *out = (value){.kind = V_RANGE, .as.range = g};
        return true;
    }
    list *l = jinja_step(r, count) ? jinja_list_new(r, count) : NULL;
    if (!l) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        l->items[l->n++] = object.as.list->items[from + (int64_t)i * step];
    }
    *out = object.kind == V_LIST ? VALUE_LIST(l) : VALUE_TUPLE(l);
    return true;
}

/* jinja2 leaves slices to Python, whose errors they raise. */
static bool not_sliceable(jinja_run *r, value object, bool is_sequence)
{
    if (is_sequence) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "slice indices must be integers or None or have an __index__ method");
    }
    return object.kind == V_DICT
               ? jinja_raise(r, JINJA_TYPE_ERROR, "unhashable type: 'slice'")
               : jinja_raise(r, JINJA_TYPE_ERROR, "'%s' object is not subscriptable", jinja_type_name(object));
}

bool jinja_slice(jinja_run *r, value object, value from, value to, value step, value *out)
{
    const value bounds[] = {from, to, step};
    size_t length;
    bool integers = true, sequence = object.kind == V_STRING || value_is_sequence(object) || object.kind == V_RANGE;
    if (object.kind == V_UNDEFINED) {
        return jinja_raise_undefined(r, object.as.undefined);
    }
    for (size_t i = 0; i < 3; i++) {
        integers = integers && (bounds[i].kind == V_NONE || value_is_integer(bounds[i]));
    }
    if (!integers || !sequence || !jinja_length(object, &length)) {
        return not_sliceable(r, object, sequence);
    }
    int64_t n = (int64_t)length, by = step.kind == V_NONE ? 1 : value_integer(step);
    if (by == 0) {
        return jinja_raise(r, JINJA_VALUE_ERROR, "slice step cannot be zero");
    }
    by = by > n + 1 ? n + 1 : by < -n - 1 ? -n - 1 : by; /* the same items, and no overflow below */
    int64_t low = by < 0 ? -1 : 0, high = by < 0 ? n - 1 : n;
    int64_t start = bound(from, n, by < 0 ? high : low, low, high), stop = bound(to, n, by < 0 ? low : high, low, high);
    int64_t span = by > 0 ? stop - start : start - stop, stride = by > 0 ? by : -by;
    size_t count = span > 0 ? (size_t)((span - 1) / stride + 1) : 0;
    return object.kind == V_STRING ? slice_text(r, object, count ? start : 0, count, by, out)
                                   : slice_items(r, object, start, count, by, out);
}
