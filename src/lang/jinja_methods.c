/* Methods of dict, list, tuple, numbers and cyclers. */
#include "lang/jinja_methods.h"

#include <math.h>

static bool dict_get(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    if (!jinja_dict_get(r, self.as.dict, a[0], out)) {
        return false;
    }
    if (out->kind == V_MISSING) {
        *out = a[1].kind == V_MISSING ? VALUE_NONE : a[1];
    }
    return true;
}

static bool make_view(jinja_run *r, value self, view_kind kind, value *out)
{
    view *v = jinja_alloc(r, 1, sizeof *v);
    if (v) {
        *v = (view){self.as.dict, kind};
        *out = (value){.kind = V_VIEW, .as.view = v};
    }
    return v != NULL;
}

static bool dict_keys(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a, (void)all;
    return make_view(r, self, VIEW_KEYS, out);
}

static bool dict_values(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a, (void)all;
    return make_view(r, self, VIEW_VALUES, out);
}

static bool dict_items(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a, (void)all;
    return make_view(r, self, VIEW_ITEMS, out);
}

static bool copy(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)r, (void)a, (void)all;
    *out = self; /* values never change, so a copy need not be another one */
    return true;
}

static bool dict_fromkeys(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    dict *d = jinja_dict_new(r);
    list keys;
    (void)self, (void)all;
    if (!d || !jinja_items(r, a[0], &keys)) {
        return false;
    }
    for (size_t i = 0; i < keys.n; i++) {
        if (!jinja_dict_set(r, d, keys.items[i], a[1].kind == V_MISSING ? VALUE_NONE : a[1])) {
            return false;
        }
    }
    *out = VALUE_DICT(d);
    return true;
}

static bool sequence_count(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    list l;
    int64_t n = 0;
    (void)all;
    if (!jinja_items(r, self, &l)) {
        return false;
    }
    for (size_t i = 0; i < l.n; i++) {
        n += jinja_equals(r, l.items[i], a[0]);
    }
    *out = VALUE_INT(n);
    return r->fault.kind == JINJA_NO_ERROR;
}

static bool sequence_index(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    list l;
    int64_t from = 0, to;
    (void)all;
    if (!jinja_items(r, self, &l)) {
        return false;
    }
    to = (int64_t)l.n;
    if ((a[1].kind != V_MISSING && !jinja_to_index(r, a[1], &from)) ||
        (a[2].kind != V_MISSING && !jinja_to_index(r, a[2], &to))) {
        return false;
    }
    from = from < 0 ? (from + (int64_t)l.n < 0 ? 0 : from + (int64_t)l.n) : from;
    to = to < 0 ? to + (int64_t)l.n : to;
    for (int64_t i = from; i < to && i < (int64_t)l.n; i++) {
        if (jinja_equals(r, l.items[i], a[0])) {
            *out = VALUE_INT(i);
            return true;
        }
    }
    char text[80];
    return jinja_raise(r, JINJA_VALUE_ERROR, "%s is not in %s", jinja_brief(r, a[0], text), jinja_type_name(self));
}

static bool bit_length(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    int64_t i = value_integer(self), n = 0;
    (void)r, (void)a, (void)all;
    for (uint64_t u = i < 0 ? 0 - (uint64_t)i : (uint64_t)i; u; u >>= 1) {
        n++;
    }
    *out = VALUE_INT(n);
    return true;
}

static bool bit_count(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    int64_t i = value_integer(self);
    (void)r, (void)a, (void)all;
    *out = VALUE_INT(__builtin_popcountll(i < 0 ? 0 - (uint64_t)i : (uint64_t)i));
    return true;
}

static bool number_itself(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)r, (void)a, (void)all;
    *out = self.kind == V_FLOAT ? self : VALUE_INT(value_integer(self));
    return true;
}

static bool is_integer(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)r, (void)a, (void)all;
    *out = VALUE_BOOL(isfinite(self.as.f) && floor(self.as.f) == self.as.f);
    return true;
}

static bool cycler_next(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    cycler *c = self.as.cycler;
    (void)r, (void)a, (void)all;
    *out = c->items.items[c->at];
    c->at = (c->at + 1) % c->items.n;
    return true;
}

static bool cycler_reset(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)r, (void)a, (void)all;
    self.as.cycler->at = 0;
    *out = VALUE_NONE;
    return true;
}

static const builtin of_dict[] = {
    {"get", dict_get, "/ key ?default", NULL},
    {"items", dict_items, "/", NULL},
    {"keys", dict_keys, "/", NULL},
    {"values", dict_values, "/", NULL},
    {"copy", copy, "/", NULL},
    {"fromkeys", dict_fromkeys, "/ iterable ?value", NULL},
};
static const builtin of_list[] = {
    {"count", sequence_count, "/ value", NULL},
    {"index", sequence_index, "/ value ?start ?stop", NULL},
    {"copy", copy, "/", NULL},
};
static const builtin of_tuple[] = {
    {"count", sequence_count, "/ value", NULL},
    {"index", sequence_index, "/ value ?start ?stop", NULL},
};
static const builtin of_int[] = {
    {"bit_length", bit_length, "/", NULL},
    {"bit_count", bit_count, "/", NULL},
    {"conjugate", number_itself, "/", NULL},
};
static const builtin of_float[] = {
    {"is_integer", is_integer, "/", NULL},
    {"conjugate", number_itself, "/", NULL},
};
static const builtin of_cycler[] = {
    {"next", cycler_next, "/", NULL},
    {"reset", cycler_reset, "/", NULL},
};

static const struct {
    uint8_t kind;
    const builtin *rows;
    size_t n;
} tables[] = {
    {V_DICT, of_dict, sizeof of_dict / sizeof *of_dict},
    {V_LIST, of_list, sizeof of_list / sizeof *of_list},
    {V_TUPLE, of_tuple, sizeof of_tuple / sizeof *of_tuple},
    {V_RANGE, of_tuple, sizeof of_tuple / sizeof *of_tuple},
    {V_INT, of_int, sizeof of_int / sizeof *of_int},
    {V_BOOL, of_int, sizeof of_int / sizeof *of_int},
    {V_FLOAT, of_float, sizeof of_float / sizeof *of_float},
    {V_CYCLER, of_cycler, sizeof of_cycler / sizeof *of_cycler},
};

bool jinja_find_method(jinja_run *r, value self, const str *name, value *out)
{
    const builtin *fn = self.kind == V_STRING ? jinja_find_str_method(name) : NULL;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !fn; i++) {
        if (tables[i].kind == self.kind) {
            fn = jinja_find_builtin(tables[i].rows, tables[i].n, name);
        }
    }
    *out = VALUE_MISSING;
    if (!fn) {
        return true;
    }
    method *m = jinja_alloc(r, 1, sizeof *m);
    value *bound = m ? jinja_alloc(r, 1, sizeof *bound) : NULL;
    if (!bound) {
        return false;
    }
    *bound = self;
    *m = (method){bound, fn};
    *out = (value){.kind = V_METHOD, .as.method = m};
    return true;
}
