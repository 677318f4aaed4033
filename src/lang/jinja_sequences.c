/* Filters over sequences. Those that are generators in jinja2 are made when their first item is asked for. */
#include "lang/jinja_filters.h"

bool jinja_attribute_path(jinja_run *r, value item, value path, value fallback, value *out)
{
    *out = item;
    if (path.kind == V_NONE || path.kind == V_MISSING) {
        return true;
    }
    if (path.kind != V_STRING) {
        if (!jinja_getitem(r, item, path, out)) {
            return false;
        }
    }
    const str *s = path.kind == V_STRING ? path.as.s : NULL;
    for (size_t at = 0, end; s && at <= s->size; at = end + 1) {
        value key;
        bool digits = true, overflow;
        for (end = at; end < s->size && s->data[end] != '.'; end++) {
            digits = digits && s->data[end] >= '0' && s->data[end] <= '9';
        }
        int64_t i;
        if (digits && end > at && jinja_parse_int(s->data + at, end - at, 10, &i, &overflow)) {
            key = VALUE_INT(i);
        } else if (!jinja_string_borrow(r, s->data + at, end - at, &key)) {
            return false;
        }
        if (!jinja_getitem(r, *out, key, out)) {
            return false;
        }
        if (out->kind == V_UNDEFINED && fallback.kind != V_MISSING && fallback.kind != V_NONE) {
            *out = fallback;
        }
    }
    if (!s && out->kind == V_UNDEFINED && fallback.kind != V_MISSING && fallback.kind != V_NONE) {
        *out = fallback;
    }
    return true;
}

/* What an item is sorted or compared by: its attribute, strings without case unless asked. */
static bool key_of(jinja_run *r, value item, value path, value fallback, value case_sensitive, value *out)
{
    const arguments none = {0};
    if (!jinja_attribute_path(r, item, path, fallback, out)) {
        return false;
    }
    return out->kind != V_STRING || jinja_truth(case_sensitive) || jinja_str_lower(r, *out, NULL, &none, out);
}

static bool merge(jinja_run *r, value *items, value *keys, value *spare, size_t n, bool reverse)
{
    size_t half = n / 2, a = 0, b = half, at = 0;
    value *spare_keys = spare + n;
    if (n < 2) {
        return true;
    }
    if (!merge(r, items, keys, spare, half, reverse) ||
        !merge(r, items + half, keys + half, spare, n - half, reverse) || !jinja_step(r, n)) {
        return false;
    }
    while (a < half && b < n) {
        int order;
        /* only the right one before the left one needs to be known, so equal ones keep their order both ways */
        if (!jinja_compare(r, reverse ? keys[a] : keys[b], reverse ? keys[b] : keys[a], "<", &order)) {
            return false;
        }
        size_t take = order < 0 ? b++ : a++;
        spare[at] = items[take];
        spare_keys[at++] = keys[take];
    }
    while (a < half || b < n) {
        size_t take = a < half ? a++ : b++;
        spare[at] = items[take];
        spare_keys[at++] = keys[take];
    }
    memcpy(items, spare, n * sizeof *items);
    memcpy(keys, spare_keys, n * sizeof *keys);
    return true;
}

bool jinja_sort(jinja_run *r, value *items, value *keys, size_t n, bool reverse)
{
    value *spare = n > 1 ? jinja_alloc(r, n, 2 * sizeof *spare) : NULL;
    return n < 2 || (spare && merge(r, items, keys, spare, n, reverse));
}

/* A list of the value's items that may be changed. */
static list *own_items(jinja_run *r, value v)
{
    list items, *l;
    if (!jinja_items(r, v, &items) || !(l = jinja_list_new(r, items.n))) {
        return NULL;
    }
    if (items.n) {
        memcpy(l->items, items.items, items.n * sizeof *l->items);
    }
    l->n = items.n;
    return l;
}

/* "a,b" sorts by several attributes. */
static bool sort_key(jinja_run *r, value item, value path, value case_sensitive, value *out)
{
    const str *s = path.kind == V_STRING ? path.as.s : NULL;
    list *keys = jinja_list_new(r, 1);
    if (!keys) {
        return false;
    }
    *out = VALUE_LIST(keys);
    if (!s) {
        value key;
        return key_of(r, item, path, VALUE_MISSING, case_sensitive, &key) && jinja_list_push(r, keys, key);
    }
    for (size_t at = 0, end; at <= s->size; at = end + 1) {
        value part, key;
        for (end = at; end < s->size && s->data[end] != ','; end++) {
        }
        if (!jinja_string_borrow(r, s->data + at, end - at, &part) ||
            !key_of(r, item, part, VALUE_MISSING, case_sensitive, &key) || !jinja_list_push(r, keys, key)) {
            return false;
        }
    }
    return true;
}

/* sorted(reverse=…) wants something like an int. */
static bool direction(jinja_run *r, value v, bool *reverse)
{
    int64_t i = 0;
    bool ok = v.kind == V_MISSING || jinja_to_index(r, v, &i);
    *reverse = i != 0;
    return ok;
}

static bool sort(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    bool reverse;
    list *l = own_items(r, self);
    value *keys = l ? jinja_alloc(r, l->n, sizeof *keys) : NULL;
    (void)all;
    for (size_t i = 0; keys && i < l->n; i++) {
        if (!sort_key(r, l->items[i], a[2], a[1], &keys[i])) {
            return false;
        }
    }
    if (!keys || !direction(r, a[0], &reverse) || !jinja_sort(r, l->items, keys, l->n, reverse)) {
        return false;
    }
    *out = VALUE_LIST(l);
    return true;
}

static bool dictsort(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    bool reverse;
    bool by_value = a[1].kind == V_STRING && str_equals(a[1].as.s, "value");
    (void)all;
    if (a[1].kind != V_MISSING && !by_value && !(a[1].kind == V_STRING && str_equals(a[1].as.s, "key"))) {
        return jinja_raise(r, JINJA_FILTER_ARGUMENT_ERROR, "You can only sort by either \"key\" or \"value\"");
    }
    if (self.kind == V_UNDEFINED) {
        return jinja_raise_undefined(r, self.as.undefined);
    }
    if (self.kind != V_DICT) {
        return jinja_raise(r, JINJA_ATTRIBUTE_ERROR, "'%s' object has no attribute 'items'", jinja_type_name(self));
    }
    const dict *d = self.as.dict;
    list *l = jinja_list_new(r, d->n);
    value *keys = l ? jinja_alloc(r, d->n, sizeof *keys) : NULL;
    for (size_t i = 0; keys && i < d->n; i++) {
        const dict_entry *e = &d->entries[i];
        if (!jinja_pair(r, e->key, e->value, &l->items[l->n++]) ||
            !key_of(r, by_value ? e->value : e->key, VALUE_NONE, VALUE_MISSING, a[0], &keys[i])) {
            return false;
        }
    }
    if (!keys || !direction(r, a[2], &reverse) || !jinja_sort(r, l->items, keys, l->n, reverse)) {
        return false;
    }
    *out = VALUE_LIST(l);
    return true;
}

static bool unique(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    list items, *l = jinja_list_new(r, 0);
    dict *seen = l ? jinja_dict_new(r) : NULL;
    (void)all;
    if (!seen || !jinja_items(r, self, &items)) {
        return false;
    }
    for (size_t i = 0; i < items.n; i++) {
        value key, before;
        if (!key_of(r, items.items[i], a[1], VALUE_MISSING, a[0], &key) || !jinja_dict_get(r, seen, key, &before)) {
            return false;
        }
        if (before.kind == V_MISSING &&
            (!jinja_dict_set(r, seen, key, VALUE_NONE) || !jinja_list_push(r, l, items.items[i]))) {
            return false;
        }
    }
    *out = VALUE_LIST(l);
    return true;
}

static bool extreme(jinja_run *r, value self, const value *a, bool largest, value *out)
{
    list items;
    value best = VALUE_MISSING, key;
    if (!jinja_items(r, self, &items)) {
        return false;
    }
    if (!items.n) {
        return jinja_undefined(r, JINJA_UNDEFINED_ERROR, "No aggregated item, sequence was empty.", NULL, VALUE_NONE,
                               out);
    }
    for (size_t i = 0; i < items.n; i++) {
        int order = -1;
        if (!key_of(r, items.items[i], a[1], VALUE_MISSING, a[0], &key) ||
            (i && !jinja_compare(r, largest ? best : key, largest ? key : best, largest ? ">" : "<", &order))) {
            return false;
        }
        if (order < 0) {
            best = key;
            *out = items.items[i];
        }
    }
    return true;
}

static bool min(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return extreme(r, self, a, false, out);
}

static bool max(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return extreme(r, self, a, true, out);
}

static bool sum(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    list items;
    (void)all;
    value total = a[1].kind == V_MISSING ? VALUE_INT(0) : a[1];
    if (total.kind == V_STRING) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "sum() can't sum strings [use ''.join(seq) instead]");
    }
    if (!jinja_items(r, self, &items)) {
        return false;
    }
    for (size_t i = 0; i < items.n; i++) {
        value v;
        if (!jinja_attribute_path(r, items.items[i], a[0], VALUE_MISSING, &v) ||
            !jinja_binary(r, OP_ADD, total, v, &total)) {
            return false;
        }
    }
    *out = total;
    return true;
}

static bool length(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    size_t n;
    (void)a, (void)all;
    if (self.kind == V_LOOP) {
        str name = {"length", 6, 6};
        return jinja_loop_attr(r, self.as.loop, &name, out);
    }
    if (!jinja_length(self, &n)) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "object of type '%s' has no len()", jinja_type_name(self));
    }
    *out = VALUE_INT((int64_t)n);
    return true;
}

static bool first(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    list items;
    (void)a, (void)all;
    iterator *it = self.kind == V_ITERATOR ? self.as.iterator : NULL;
    if (it && jinja_iterator_fill(r, it) && it->at < it->items.n) {
        *out = it->items.items[it->at++];
        return true;
    }
    if (!jinja_items(r, self, &items)) {
        return false;
    }
    if (!items.n) {
        return jinja_undefined(r, JINJA_UNDEFINED_ERROR, "No first item, sequence was empty.", NULL, VALUE_NONE, out);
    }
    *out = items.items[0];
    return true;
}

static bool last(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    list items;
    (void)a, (void)all;
    if (self.kind == V_ITERATOR || self.kind == V_UNDEFINED || !jinja_is_iterable(self)) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "'%s' object is not reversible", jinja_type_name(self));
    }
    if (!jinja_items(r, self, &items)) {
        return false;
    }
    if (!items.n) {
        return jinja_undefined(r, JINJA_UNDEFINED_ERROR, "No last item, sequence was empty.", NULL, VALUE_NONE, out);
    }
    *out = items.items[items.n - 1];
    return true;
}

static bool list_(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    list *l = own_items(r, self);
    (void)a, (void)all;
    *out = VALUE_LIST(l);
    return l != NULL;
}

static bool items(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a, (void)all;
    list *l = jinja_list_new(r, 0);
    if (l && self.kind != V_UNDEFINED && self.kind != V_DICT) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "Can only get item pairs from a mapping.");
    }
    for (size_t i = 0; l && self.kind == V_DICT && i < self.as.dict->n; i++) {
        value pair;
        if (!jinja_pair(r, self.as.dict->entries[i].key, self.as.dict->entries[i].value, &pair) ||
            !jinja_list_push(r, l, pair)) {
            return false;
        }
    }
    *out = VALUE_LIST(l);
    return l != NULL;
}

static bool reversed(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    static const struct {
        uint8_t kind;
        const char *type;
    } types[] = {{V_LIST, "list_reverseiterator"},
                 {V_TUPLE, "reversed"},
                 {V_RANGE, "range_iterator"},
                 {V_DICT, "dict_reversekeyiterator"},
                 {V_VIEW, "dict_reverseitemiterator"}};
    (void)a, (void)all;
    if (self.kind == V_STRING) {
        return jinja_slice(r, self, VALUE_NONE, VALUE_NONE, VALUE_INT(-1), out);
    }
    if (!jinja_is_iterable(self)) {
        return jinja_raise(r, JINJA_FILTER_ARGUMENT_ERROR, "argument must be iterable");
    }
    list *l = own_items(r, self);
    for (size_t i = 0; l && i < l->n / 2; i++) {
        value v = l->items[i];
        l->items[i] = l->items[l->n - 1 - i];
        l->items[l->n - 1 - i] = v;
    }
    for (size_t i = 0; l && i < sizeof types / sizeof *types; i++) {
        if (types[i].kind == self.kind) {
            return jinja_iterator(r, types[i].type, *l, out);
        }
    }
    *out = VALUE_LIST(l);
    return l != NULL;
}

static bool join(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    list all_items;
    value separator;
    buffer b;
    (void)all;
    if (!jinja_items(r, self, &all_items)) {
        return false;
    }
    if (a[0].kind == V_MISSING) {
        if (!jinja_string_c(r, "", &separator)) {
            return false;
        }
    } else if (!jinja_to_string(r, a[0], &separator)) {
        return false;
    }
    buffer_init(&b);
    bool ok = true;
    for (size_t i = 0; ok && i < all_items.n; i++) {
        value v;
        ok = jinja_attribute_path(r, all_items.items[i], a[1], VALUE_MISSING, &v) &&
             (!i || jinja_print(r, separator, &b)) && jinja_print(r, v, &b);
    }
    return jinja_finish(r, ok, &b, out);
}

static bool batch(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    list all_items, *rows = jinja_list_new(r, 0), *row = NULL;
    int64_t size;
    (void)all;
    if (!rows || !jinja_items(r, self, &all_items) || !jinja_to_index(r, a[0], &size)) {
        return false;
    }
    for (size_t i = 0; i < all_items.n; i++) {
        if (!row || (int64_t)row->n == size) {
            row = jinja_list_new(r, 0);
            if (!row || !jinja_list_push(r, rows, VALUE_LIST(row))) {
                return false;
            }
        }
        if (!jinja_list_push(r, row, all_items.items[i])) {
            return false;
        }
    }
    while (row && !jinja_filter_missing(a, 1) && (int64_t)row->n < size) {
        if (!jinja_step(r, 1) || !jinja_list_push(r, row, a[1])) {
            return false;
        }
    }
    *out = VALUE_LIST(rows);
    return true;
}

static bool slice(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    list all_items, *columns = jinja_list_new(r, 0);
    int64_t n;
    (void)all;
    if (!columns || !jinja_items(r, self, &all_items) || !jinja_to_index(r, a[0], &n)) {
        return false;
    }
    if (n == 0) {
        return jinja_raise(r, JINJA_ZERO_DIVISION_ERROR, "integer division or modulo by zero");
    }
    *out = VALUE_LIST(columns);
    if (n < 0) {
        return true;
    }
    size_t each = all_items.n / (size_t)n, extra = all_items.n % (size_t)n, at = 0;
    for (size_t i = 0; i < (size_t)n; i++) {
        size_t count = each + (i < extra);
        list *column = jinja_step(r, 1) ? jinja_list_new(r, count + 1) : NULL;
        if (!column || !jinja_list_push(r, columns, VALUE_LIST(column))) {
            return false;
        }
        for (size_t k = 0; k < count; k++) {
            column->items[column->n++] = all_items.items[at++];
        }
        if (!jinja_filter_missing(a, 1) && i >= extra) {
            column->items[column->n++] = a[1];
        }
    }
    return true;
}

static bool groupby(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    list *l = own_items(r, self), *groups = l ? jinja_list_new(r, 0) : NULL, *group = NULL;
    value *keys = groups ? jinja_alloc(r, l->n, sizeof *keys) : NULL;
    (void)all;
    for (size_t i = 0; keys && i < l->n; i++) {
        if (!key_of(r, l->items[i], a[0], a[1], a[2], &keys[i])) {
            return false;
        }
    }
    if (!keys || !jinja_sort(r, l->items, keys, l->n, false)) {
        return false;
    }
    for (size_t i = 0; i < l->n; i++) {
        if (!i || !jinja_equals(r, keys[i - 1], keys[i])) {
            value shown, pair;
            group = jinja_list_new(r, 0);
            if (!group || !jinja_attribute_path(r, l->items[i], a[0], a[1], &shown) ||
                !jinja_pair(r, jinja_truth(a[2]) ? keys[i] : shown, VALUE_LIST(group), &pair)) {
                return false;
            }
            pair.markup = true; /* it has the names grouper and list */
            if (!jinja_list_push(r, groups, pair)) {
                return false;
            }
        }
        if (!jinja_list_push(r, group, l->items[i])) {
            return false;
        }
    }
    *out = VALUE_LIST(groups);
    return true;
}

/* map("filter", …) or map(attribute="…"). */
static bool map(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    list all_items, *l = jinja_list_new(r, 0);
    value path = VALUE_MISSING, fallback = VALUE_MISSING;
    const builtin *fn = NULL;
    arguments rest = *all;
    (void)a;
    *out = VALUE_LIST(l);
    if (!l || self.kind == V_UNDEFINED || !jinja_truth(self)) {
        return l != NULL;
    }
    for (size_t i = 0; i < all->n_named && !all->n; i++) {
        bool attribute = str_equals(all->names[i].as.s, "attribute");
        if (attribute || str_equals(all->names[i].as.s, "default")) {
            *(attribute ? &path : &fallback) = all->named[i];
        } else {
            return jinja_raise(r, JINJA_FILTER_ARGUMENT_ERROR, "Unexpected keyword argument '%.*s'",
                               JINJA_TEXT(all->names[i].as.s));
        }
    }
    if (path.kind == V_MISSING) {
        if (!all->n) {
            return jinja_raise(r, JINJA_FILTER_ARGUMENT_ERROR, "map requires a filter argument");
        }
        fn = all->v[0].kind == V_STRING ? jinja_find_filter(all->v[0].as.s) : NULL;
        rest.v++, rest.n--;
    }
    if (!jinja_items(r, self, &all_items)) {
        return false;
    }
    for (size_t i = 0; i < all_items.n; i++) {
        value v;
        char name[80];
        if (path.kind == V_MISSING && !fn) {
            return jinja_raise(r, JINJA_RUNTIME_ERROR, "No filter named %s.", jinja_brief(r, all->v[0], name));
        }
        if (!(fn ? jinja_call_builtin(r, fn, all_items.items[i], &rest, &v)
                 : jinja_attribute_path(r, all_items.items[i], path, fallback, &v)) ||
            !jinja_list_push(r, l, v)) {
            return false;
        }
    }
    *out = VALUE_LIST(l); /* pushing may have moved it */
    return true;
}

static bool choose(jinja_run *r, value self, const arguments *all, bool wanted, bool by_attribute, value *out)
{
    list all_items, *l = jinja_list_new(r, 0);
    const builtin *test = NULL;
    const value *named = NULL;
    arguments rest = *all;
    char name[80];
    *out = VALUE_LIST(l);
    if (!l || self.kind == V_UNDEFINED || !jinja_truth(self)) {
        return l != NULL;
    }
    value path = VALUE_NONE;
    if (by_attribute) {
        if (!rest.n) {
            return jinja_raise(r, JINJA_FILTER_ARGUMENT_ERROR, "Missing parameter for attribute name");
        }
        path = rest.v[0];
        rest.v++, rest.n--;
    }
    if (rest.n) {
        test = rest.v[0].kind == V_STRING ? jinja_find_test(rest.v[0].as.s) : NULL;
        named = &rest.v[0];
        rest.v++, rest.n--;
    }
    if (!jinja_items(r, self, &all_items)) {
        return false;
    }
    for (size_t i = 0; i < all_items.n; i++) {
        value v, holds;
        if (!jinja_attribute_path(r, all_items.items[i], path, VALUE_MISSING, &v)) {
            return false;
        }
        holds = v;
        if (named && !test) {
            return jinja_raise(r, JINJA_RUNTIME_ERROR, "No test named %s.", jinja_brief(r, *named, name));
        }
        if (test && !jinja_call_builtin(r, test, v, &rest, &holds)) {
            return false;
        }
        if (jinja_truth(holds) == wanted && !jinja_list_push(r, l, all_items.items[i])) {
            return false;
        }
    }
    return true;
}

static bool select(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a;
    return choose(r, self, all, true, false, out);
}

static bool reject(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a;
    return choose(r, self, all, false, false, out);
}

static bool selectattr(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a;
    return choose(r, self, all, true, true, out);
}

static bool rejectattr(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a;
    return choose(r, self, all, false, true, out);
}

static const builtin filters[] = {
    {"batch", batch, "linecount ?fill_with", "generator"},
    {"count", length, "/", NULL},
    {"dictsort", dictsort, "?case_sensitive ?by ?reverse", NULL},
    {"first", first, "", NULL},
    {"groupby", groupby, "attribute ?default ?case_sensitive", NULL},
    {"items", items, "", "generator"},
    {"join", join, "?d ?attribute", NULL},
    {"last", last, "", NULL},
    {"length", length, "/", NULL},
    {"list", list_, "", NULL},
    {"map", map, "*", "generator"},
    {"max", max, "?case_sensitive ?attribute", NULL},
    {"min", min, "?case_sensitive ?attribute", NULL},
    {"reject", reject, "*", "generator"},
    {"rejectattr", rejectattr, "*", "generator"},
    {"reverse", reversed, "", NULL},
    {"select", select, "*", "generator"},
    {"selectattr", selectattr, "*", "generator"},
    {"slice", slice, "slices ?fill_with", "generator"},
    {"sort", sort, "?reverse ?case_sensitive ?attribute", NULL},
    {"sum", sum, "?attribute ?start", NULL},
    {"unique", unique, "?case_sensitive ?attribute", "generator"},
};

const builtin *jinja_find_sequence_filter(const str *name)
{
    return jinja_find_builtin(filters, sizeof filters / sizeof *filters, name);
}
