/* Making values. */
#include "lang/jinja_value.h"

#include "lang/jinja_run.h"

const char *jinja_type_name(value v)
{
    static const char *const names[N_VALUE_KINDS] = {
        [V_MISSING] = "missing",
        [V_UNDEFINED] = "Undefined",
        [V_NONE] = "NoneType",
        [V_BOOL] = "bool",
        [V_INT] = "int",
        [V_FLOAT] = "float",
        [V_STRING] = "str",
        [V_LIST] = "list",
        [V_TUPLE] = "tuple",
        [V_DICT] = "dict",
        [V_RANGE] = "range",
        [V_NAMESPACE] = "Namespace",
        [V_MACRO] = "Macro",
        [V_LOOP] = "LoopContext",
        [V_FUNCTION] = "function",
        [V_METHOD] = "builtin_function_or_method",
        [V_CYCLER] = "Cycler",
        [V_JOINER] = "Joiner",
        [V_BLOCK] = "BlockReference",
    };
    static const char *const views[] = {"dict_keys", "dict_values", "dict_items"};
    if (v.kind == V_VIEW) {
        return views[v.as.view->kind];
    }
    if (v.kind == V_ITERATOR) {
        return v.as.iterator->type;
    }
    return v.kind == V_STRING && v.markup ? "Markup" : names[v.kind];
}

void *jinja_alloc(jinja_run *r, size_t n, size_t size)
{
    size_t wanted;
    if (!size_mul(n, size, &wanted) || wanted > r->options.limits.memory_bytes ||
        r->memory.total_bytes > r->options.limits.memory_bytes - wanted) {
        jinja_raise(r, JINJA_LIMIT, "the values need more than %llu bytes of memory",
                    (unsigned long long)r->options.limits.memory_bytes);
        return NULL;
    }
    void *p = arena_alloc(&r->memory, n, size);
    if (!p) {
        jinja_raise(r, JINJA_NO_MEMORY, "out of memory");
    }
    return p;
}

bool jinja_string_borrow(jinja_run *r, const char *data, size_t size, value *out)
{
    str *s = jinja_alloc(r, 1, sizeof *s);
    if (!s) {
        return false;
    }
    size_t chars = 0;
    for (size_t i = 0; i < size; i++) {
        chars += ((uint8_t)data[i] & 0xc0) != 0x80;
    }
    *s = (str){data, size, chars};
    *out = VALUE_STR(s);
    return true;
}

bool jinja_string(jinja_run *r, const char *data, size_t size, value *out)
{
    char *copy = jinja_alloc(r, size, 1);
    if (!copy) {
        return false;
    }
    if (size) {
        memcpy(copy, data, size);
    }
    return jinja_string_borrow(r, copy, size, out);
}

bool jinja_string_c(jinja_run *r, const char *literal, value *out)
{
    return jinja_string_borrow(r, literal, strlen(literal), out);
}

bool jinja_string_buffer(jinja_run *r, const buffer *b, value *out)
{
    if (buffer_failed(b)) {
        return jinja_raise(r, JINJA_NO_MEMORY, "out of memory");
    }
    return jinja_string(r, (const char *)b->data, b->size, out);
}

bool jinja_finish(jinja_run *r, bool ok, buffer *b, value *out)
{
    ok = ok && jinja_string_buffer(r, b, out);
    buffer_fini(b);
    return ok;
}

list *jinja_list_new(jinja_run *r, size_t capacity)
{
    list *l = jinja_alloc(r, 1, sizeof *l);
    if (!l || (capacity && !(l->items = jinja_alloc(r, capacity, sizeof *l->items)))) {
        return NULL;
    }
    l->capacity = capacity;
    return l;
}

bool jinja_list_push(jinja_run *r, list *l, value v)
{
    if (l->n == l->capacity) {
        size_t capacity = l->capacity ? l->capacity * 2 : 8;
        value *items = jinja_alloc(r, capacity, sizeof *items);
        if (!items) {
            return false;
        }
        if (l->n) {
            memcpy(items, l->items, l->n * sizeof *items);
        }
        l->items = items;
        l->capacity = capacity;
    }
    l->items[l->n++] = v;
    return true;
}

bool jinja_pair(jinja_run *r, value a, value b, value *out)
{
    list *l = jinja_list_new(r, 2);
    if (!l) {
        return false;
    }
    l->items[0] = a, l->items[1] = b, l->n = 2;
    *out = VALUE_TUPLE(l);
    return true;
}

dict *jinja_dict_new(jinja_run *r)
{
    return jinja_alloc(r, 1, sizeof(dict));
}

enum { SMALL_DICT = 8 };

/* Slots of an open-addressed table at most half full. */
static bool reindex(jinja_run *r, dict *d)
{
    size_t n = 32;
    while (n < d->capacity * 2) {
        n *= 2;
    }
    d->index = jinja_alloc(r, n, sizeof *d->index);
    if (!d->index) {
        return false;
    }
    d->n_index = n;
    for (size_t i = 0; i < d->n; i++) {
        size_t at = (size_t)d->entries[i].hash & (n - 1);
        while (d->index[at]) {
            at = (at + 1) & (n - 1);
        }
        d->index[at] = (uint32_t)i + 1;
    }
    return true;
}

static bool find(jinja_run *r, const dict *d, value key, uint64_t hash, size_t *out)
{
    size_t mask = d->n_index - 1;
    for (size_t at = d->index ? (size_t)hash & mask : 0, i;; at = d->index ? (at + 1) & mask : at + 1) {
        if (d->index ? !d->index[at] : at == d->n) {
            return false;
        }
        i = d->index ? d->index[at] - 1 : at;
        if (d->entries[i].hash == hash && jinja_equals(r, d->entries[i].key, key)) {
            *out = i;
            return true;
        }
    }
}

bool jinja_dict_set(jinja_run *r, dict *d, value key, value v)
{
    uint64_t hash;
    size_t at;
    if (!jinja_hash(r, key, &hash)) {
        return false;
    }
    if (find(r, d, key, hash, &at)) {
        d->entries[at].value = v;
        return true;
    }
    if (d->n == d->capacity) {
        size_t capacity = d->capacity ? d->capacity * 2 : 4;
        dict_entry *entries = capacity < UINT32_MAX ? jinja_alloc(r, capacity, sizeof *entries) : NULL;
        if (!entries) {
            return false;
        }
        if (d->n) {
            memcpy(entries, d->entries, d->n * sizeof *entries);
        }
        d->entries = entries;
        d->capacity = capacity;
        if (capacity > SMALL_DICT && !reindex(r, d)) {
            return false;
        }
    }
    d->entries[d->n] = (dict_entry){key, v, hash};
    d->n++;
    if (d->index) {
        size_t slot = (size_t)hash & (d->n_index - 1);
        while (d->index[slot]) {
            slot = (slot + 1) & (d->n_index - 1);
        }
        d->index[slot] = (uint32_t)d->n;
    }
    return true;
}

bool jinja_dict_get(jinja_run *r, const dict *d, value key, value *out)
{
    uint64_t hash;
    size_t at;
    *out = VALUE_MISSING;
    if (!jinja_hash(r, key, &hash)) {
        return false;
    }
    if (find(r, d, key, hash, &at)) {
        *out = d->entries[at].value;
    }
    return true;
}

value jinja_dict_find(const dict *d, const char *key, size_t size)
{
    str s = {key, size, 0};
    uint64_t hash;
    size_t at;
    return jinja_hash(NULL, VALUE_STR(&s), &hash) && find(NULL, d, VALUE_STR(&s), hash, &at) ? d->entries[at].value
                                                                                             : VALUE_MISSING;
}

bool jinja_undefined(jinja_run *r, jinja_error_kind kind, const char *hint, const char *owner, value name, value *out)
{
    undefined *u = jinja_alloc(r, 1, sizeof *u);
    value *copy = u ? jinja_alloc(r, 1, sizeof *copy) : NULL;
    if (!copy) {
        return false;
    }
    *copy = name;
    *u = (undefined){kind, hint, owner, copy};
    *out = (value){.kind = V_UNDEFINED, .as.undefined = u};
    return true;
}

/* How jinja2 calls the object: builtins by their type, others with the module too. */
static const char *owner_name(value v)
{
    static const struct {
        uint8_t kind;
        const char *name;
    } modules[] = {{V_UNDEFINED, "jinja2.runtime.Undefined object"},
                   {V_NAMESPACE, "jinja2.utils.Namespace object"},
                   {V_MACRO, "jinja2.runtime.Macro object"},
                   {V_LOOP, "jinja2.runtime.LoopContext object"},
                   {V_CYCLER, "jinja2.utils.Cycler object"},
                   {V_JOINER, "jinja2.utils.Joiner object"},
                   {V_NONE, "None"}};
    if (v.kind == V_STRING && v.markup) {
        return "markupsafe.Markup object";
    }
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (modules[i].kind == v.kind) {
            return modules[i].name;
        }
    }
    return NULL;
}

bool jinja_undefined_member(jinja_run *r, value owner, value name, value *out)
{
    const char *known = owner_name(owner), *type = jinja_type_name(owner);
    if (!known) {
        size_t n = strlen(type);
        char *text = jinja_alloc(r, n + sizeof " object", 1);
        if (!text) {
            return false;
        }
        memcpy(text, type, n);
        memcpy(text + n, " object", sizeof " object");
        known = text;
    }
    return jinja_undefined(r, JINJA_UNDEFINED_ERROR, NULL, known, name, out);
}

bool jinja_iterator(jinja_run *r, const char *type, list items, value *out)
{
    iterator *it = jinja_alloc(r, 1, sizeof *it);
    if (!it) {
        return false;
    }
    *it = (iterator){.type = type, .items = items};
    *out = (value){.kind = V_ITERATOR, .as.iterator = it};
    return true;
}

bytes jinja_str_slice(const str *s, size_t from, size_t to)
{
    if (s->chars == s->size) {
        return (bytes){(const uint8_t *)s->data + from, to - from};
    }
    size_t at = 0, count = 0, start = s->size;
    for (; at < s->size; at++) {
        if (((uint8_t)s->data[at] & 0xc0) != 0x80) {
            if (count == from) {
                start = at;
            }
            if (count == to) {
                break;
            }
            count++;
        }
    }
    if (from >= to || start > at) {
        return (bytes){(const uint8_t *)s->data, 0};
    }
    return (bytes){(const uint8_t *)s->data + start, at - start};
}

size_t jinja_range_length(const range *g)
{
    uint64_t span, step;
    if (g->step > 0 ? g->start >= g->stop : g->start <= g->stop) {
        return 0;
    }
    span = g->step > 0 ? (uint64_t)g->stop - (uint64_t)g->start : (uint64_t)g->start - (uint64_t)g->stop;
    step = g->step > 0 ? (uint64_t)g->step : 0 - (uint64_t)g->step;
    return (size_t)((span - 1) / step + 1);
}

value jinja_view_item(jinja_run *r, const view *v, size_t i, bool *ok)
{
    value pair = VALUE_MISSING;
    const dict_entry *e = &v->of->entries[i];
    if (v->kind == VIEW_KEYS) {
        return e->key;
    }
    if (v->kind == VIEW_VALUES) {
        return e->value;
    }
    *ok = *ok && jinja_pair(r, e->key, e->value, &pair);
    return pair;
}

bool jinja_length(value v, size_t *out)
{
    switch (v.kind) {
    case V_UNDEFINED:
        *out = 0;
        return true;
    case V_STRING:
        *out = v.as.s->chars;
        return true;
    case V_LIST:
    case V_TUPLE:
        *out = v.as.list->n;
        return true;
    case V_DICT:
        *out = v.as.dict->n;
        return true;
    case V_VIEW:
        *out = v.as.view->of->n;
        return true;
    case V_RANGE:
        *out = jinja_range_length(v.as.range);
        return true;
    default:
        return false;
    }
}

bool jinja_is_iterable(value v)
{
    size_t n;
    return jinja_length(v, &n) || v.kind == V_ITERATOR || v.kind == V_LOOP;
}

static bool split_characters(jinja_run *r, const str *s, list *l)
{
    for (size_t at = 0, end; at < s->size; at = end) {
        value c;
        for (end = at + 1; end < s->size && ((uint8_t)s->data[end] & 0xc0) == 0x80; end++) {
        }
        if (!jinja_string_borrow(r, s->data + at, end - at, &c) || !jinja_list_push(r, l, c)) {
            return false;
        }
    }
    return true;
}

static bool drain(jinja_run *r, iterator *it, list *out)
{
    if (!jinja_iterator_fill(r, it)) {
        return false;
    }
    *out = (list){it->items.n > it->at ? it->items.items + it->at : NULL, it->items.n - it->at, 0};
    it->at = it->items.n;
    return true;
}

bool jinja_items(jinja_run *r, value v, list *out)
{
    size_t n = 0;
    bool ok = true;
    list *l;
    if (value_is_sequence(v)) {
        *out = *v.as.list;
        out->capacity = 0;
        return jinja_step(r, out->n);
    }
    if (v.kind == V_ITERATOR) {
        return drain(r, v.as.iterator, out) && jinja_step(r, out->n);
    }
    if (!jinja_length(v, &n)) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "'%s' object is not iterable", jinja_type_name(v));
    }
    l = jinja_step(r, n) ? jinja_list_new(r, n) : NULL;
    if (!l) {
        return false;
    }
    if (v.kind == V_STRING) {
        ok = split_characters(r, v.as.s, l);
    }
    view keys = {v.as.dict, VIEW_KEYS};
    const view *of = v.kind == V_DICT ? &keys : v.kind == V_VIEW ? v.as.view : NULL;
    for (size_t i = 0; i < n && ok && (of || v.kind == V_RANGE); i++) {
        value item = of ? jinja_view_item(r, of, i, &ok) : VALUE_INT(v.as.range->start + (int64_t)i * v.as.range->step);
        ok = ok && jinja_list_push(r, l, item);
    }
    *out = *l;
    return ok;
}
