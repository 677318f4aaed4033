/* Functions that every template has. */
#include "lang/jinja_filters.h"

enum { MAX_RANGE = 100000 }; /* jinja2's sandbox */

static bool range_(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    range *g = jinja_alloc(r, 1, sizeof *g);
    (void)self, (void)all;
    if (!g) {
        return false;
    }
    *g = (range){0, 0, 1};
    bool one = a[1].kind == V_MISSING;
    if (!jinja_to_index(r, a[0], one ? &g->stop : &g->start) || (!one && !jinja_to_index(r, a[1], &g->stop)) ||
        (a[2].kind != V_MISSING && !jinja_to_index(r, a[2], &g->step))) {
        return false;
    }
    if (g->step == 0) {
        return jinja_raise(r, JINJA_VALUE_ERROR, "range() arg 3 must not be zero");
    }
    if (jinja_range_length(g) > MAX_RANGE) {
        return jinja_raise(r, JINJA_OVERFLOW_ERROR,
                           "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", MAX_RANGE);
    }
    *out = (value){.kind = V_RANGE, .as.range = g};
    return true;
}

/* A mapping or pairs, then keywords. */
static dict *make_dict(jinja_run *r, const arguments *all, const char *name)
{
    dict *d = jinja_dict_new(r);
    if (all->n > 1) {
        jinja_raise(r, JINJA_TYPE_ERROR, "%s expected at most 1 argument, got %zu", name, all->n);
        return NULL;
    }
    if (d && all->n && all->v[0].kind == V_DICT) {
        for (size_t i = 0; i < all->v[0].as.dict->n; i++) {
            const dict_entry *e = &all->v[0].as.dict->entries[i];
            if (!jinja_dict_set(r, d, e->key, e->value)) {
                return NULL;
            }
        }
    } else if (d && all->n) {
        list pairs, pair;
        if (!jinja_items(r, all->v[0], &pairs)) {
            return NULL;
        }
        for (size_t i = 0; i < pairs.n; i++) {
            if (!jinja_items(r, pairs.items[i], &pair)) {
                return NULL;
            }
            if (pair.n != 2) {
                jinja_raise(r, JINJA_VALUE_ERROR,
                            "dictionary update sequence element #%zu has length %zu; 2 is required", i, pair.n);
                return NULL;
            }
            if (!jinja_dict_set(r, d, pair.items[0], pair.items[1])) {
                return NULL;
            }
        }
    }
    for (size_t i = 0; d && i < all->n_named; i++) {
        if (!jinja_dict_set(r, d, all->names[i], all->named[i])) {
            return NULL;
        }
    }
    return d;
}

static bool dict_(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)self, (void)a;
    dict *d = make_dict(r, all, "dict");
    *out = VALUE_DICT(d);
    return d != NULL;
}

static bool namespace_(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)self, (void)a;
    dict *d = make_dict(r, all, "dict");
    name_space *n = d ? jinja_alloc(r, 1, sizeof *n) : NULL;
    if (n) {
        n->members = d;
        *out = (value){.kind = V_NAMESPACE, .as.name_space = n};
    }
    return n != NULL;
}

static bool cycler_(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)self, (void)a;
    if (!all->n) {
        return jinja_raise(r, JINJA_PYTHON_RUNTIME_ERROR, "at least one item has to be provided");
    }
    cycler *c = jinja_alloc(r, 1, sizeof *c);
    if (c) {
        c->items = (list){all->v, all->n, all->n};
        *out = (value){.kind = V_CYCLER, .as.cycler = c};
    }
    return c != NULL;
}

static bool joiner_(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    value separator;
    (void)self, (void)all;
    joiner *j = jinja_alloc(r, 1, sizeof *j);
    if (!j || !(a[0].kind == V_MISSING ? jinja_string_c(r, ", ", &separator) : jinja_to_string(r, a[0], &separator))) {
        return false;
    }
    j->separator = separator.as.s;
    *out = (value){.kind = V_JOINER, .as.joiner = j};
    return true;
}

static bool raise_exception(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    value message;
    (void)self, (void)all, (void)out;
    if (!jinja_to_string(r, a[0], &message)) {
        return false;
    }
    return jinja_raise(r, JINJA_RAISED, "%.*s", (int)(message.as.s->size < 399 ? message.as.s->size : 399),
                       message.as.s->data);
}

static bool strftime_now(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)self, (void)all;
    if (a[0].kind != V_STRING) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "strftime() argument 1 must be str, not %s", jinja_type_name(a[0]));
    }
    return jinja_strftime(r, a[0].as.s, out);
}

static bool lipsum(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)self, (void)a, (void)all, (void)out;
    return jinja_raise(r, JINJA_UNSUPPORTED, "lipsum is not supported");
}

static const builtin globals[] = {
    {"cycler", cycler_, "*", NULL},
    {"dict", dict_, "*", NULL},
    {"joiner", joiner_, "?sep", NULL},
    {"lipsum", lipsum, "*", NULL},
    {"namespace", namespace_, "*", NULL},
    {"raise_exception", raise_exception, "message", NULL},
    {"range", range_, "/ start ?stop ?step", NULL},
    {"strftime_now", strftime_now, "format", NULL},
};

const builtin *jinja_find_global(const str *name)
{
    return jinja_find_builtin(globals, sizeof globals / sizeof *globals, name);
}
