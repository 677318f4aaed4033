/* A rendering from start to end: variables in, text out, limits kept. */
#include "lang/jinja_run.h"

#include <stdarg.h>

static const jinja_limits default_limits = {
    .steps = 20000000,
    .depth = 1000,
    .output_bytes = UINT64_C(64) << 20,
    .memory_bytes = UINT64_C(256) << 20,
};

bool jinja_raise(jinja_run *r, jinja_error_kind kind, const char *fmt, ...)
{
    if (r && r->fault.kind == JINJA_NO_ERROR) {
        va_list args;
        va_start(args, fmt);
        r->fault = (jinja_fault){.kind = kind, .line = r->at ? r->at->line : 1, .column = r->at ? r->at->column : 1};
        vsnprintf(r->fault.message, sizeof r->fault.message, fmt, args);
        va_end(args);
    }
    return false;
}

bool jinja_raise_undefined(jinja_run *r, const undefined *u)
{
    char name[80];
    if (u->hint) {
        return jinja_raise(r, u->error, "%s", u->hint);
    }
    jinja_brief(r, *u->name, name);
    if (!u->owner) {
        return jinja_raise(r, u->error, "%s is undefined", name);
    }
    if (u->name->kind != V_STRING) {
        return jinja_raise(r, u->error, "%s has no element %s", u->owner, name);
    }
    return jinja_raise(r, u->error, "'%s' has no attribute %s", u->owner, name);
}

bool jinja_step(jinja_run *r, uint64_t n)
{
    if (n > r->options.limits.steps - r->steps) {
        return jinja_raise(r, JINJA_LIMIT, "more than %llu steps", (unsigned long long)r->options.limits.steps);
    }
    r->steps += n;
    return true;
}

bool jinja_enter(jinja_run *r)
{
    if (r->depth >= r->options.limits.depth) {
        return jinja_raise(r, JINJA_LIMIT, "nested deeper than %u levels", r->options.limits.depth);
    }
    r->depth++;
    return true;
}

void jinja_leave(jinja_run *r)
{
    r->depth--;
}

bool jinja_write(jinja_run *r, const char *data, size_t size)
{
    if (size > r->options.limits.output_bytes - r->written) {
        return jinja_raise(r, JINJA_LIMIT, "more than %llu bytes of text",
                           (unsigned long long)r->options.limits.output_bytes);
    }
    r->written += size;
    buffer_append(r->out, data, size);
    return !buffer_failed(r->out) || jinja_raise(r, JINJA_NO_MEMORY, "out of memory");
}

scope *jinja_scope(jinja_run *r, scope *parent)
{
    scope *s = jinja_alloc(r, 1, sizeof *s);
    if (s) {
        s->parent = parent;
    }
    return s;
}

bool jinja_bind(jinja_run *r, scope *s, uint32_t symbol, value v)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->v[i].symbol == symbol) {
            s->v[i].value = v;
            return true;
        }
    }
    if (s->n == s->capacity) {
        uint32_t capacity = s->capacity ? s->capacity * 2 : 4;
        variable *variables = jinja_alloc(r, capacity, sizeof *variables);
        if (!variables) {
            return false;
        }
        if (s->n) {
            memcpy(variables, s->v, s->n * sizeof *variables);
        }
        s->v = variables;
        s->capacity = capacity;
    }
    s->v[s->n++] = (variable){symbol, v};
    return true;
}

bool jinja_lookup(jinja_run *r, uint32_t symbol, value *out)
{
    for (const scope *s = r->scope; s; s = s->parent) {
        for (uint32_t i = 0; i < s->n; i++) {
            if (s->v[i].symbol == symbol) {
                *out = s->v[i].value;
                return true;
            }
        }
    }
    *out = r->context[symbol];
    if (out->kind == V_MISSING) {
        const builtin *fn = jinja_find_global(r->t->symbols[symbol].as.s);
        if (fn) {
            *out = (value){.kind = V_FUNCTION, .as.function = fn};
        }
    }
    return true;
}

static bool from_json(jinja_run *r, const json_doc *doc, json_ref v, value *out);

static bool text_from_json(jinja_run *r, bytes raw, bool escaped, value *out)
{
    if (!escaped) {
        return jinja_string_borrow(r, (const char *)raw.data, raw.size, out); /* the document outlives the run */
    }
    uint8_t *data = jinja_alloc(r, raw.size, 1);
    return data && jinja_string_borrow(r, (const char *)data, json_unescape(raw, data), out);
}

/* A number without fraction and exponent is an int, whatever its size. */
static bool number_from_json(jinja_run *r, const json_doc *doc, json_ref v, value *out)
{
    bytes text = json_number_text(doc, v);
    int shown = (int)(text.size < 60 ? text.size : 60);
    bool integer = true;
    *out = VALUE_INT(0);
    if (json_i64(doc, v, &out->as.i)) {
        return true;
    }
    for (size_t i = 0; i < text.size; i++) {
        integer = integer && text.data[i] != '.' && text.data[i] != 'e' && text.data[i] != 'E';
    }
    *out = VALUE_FLOAT(0);
    return (!integer && json_f64(doc, v, &out->as.f)) ||
           jinja_raise(r, JINJA_UNSUPPORTED, "the number %.*s does not fit 64 bits", shown, (const char *)text.data);
}

static bool dict_from_json(jinja_run *r, const json_doc *doc, json_ref v, dict *d)
{
    for (json_ref m = json_first(doc, v); m != JSON_NONE; m = json_next(doc, m)) {
        bool escaped;
        bytes key = json_key(doc, m, &escaped);
        value name, item;
        if (!text_from_json(r, key, escaped, &name) || !from_json(r, doc, m, &item) ||
            !jinja_dict_set(r, d, name, item)) {
            return false;
        }
    }
    return true;
}

static bool list_from_json(jinja_run *r, const json_doc *doc, json_ref v, list *l)
{
    for (json_ref m = json_first(doc, v); m != JSON_NONE; m = json_next(doc, m)) {
        value item;
        if (!from_json(r, doc, m, &item) || !jinja_list_push(r, l, item)) {
            return false;
        }
    }
    return true;
}

static bool nested_from_json(jinja_run *r, const json_doc *doc, json_ref v, value *out)
{
    if (!jinja_enter(r)) {
        return false;
    }
    bool ok;
    if (json_type(doc, v) == JSON_ARRAY) {
        list *l = jinja_list_new(r, json_count(doc, v));
        *out = VALUE_LIST(l);
        ok = l && list_from_json(r, doc, v, l);
    } else {
        dict *d = jinja_dict_new(r);
        *out = VALUE_DICT(d);
        ok = d && dict_from_json(r, doc, v, d);
    }
    jinja_leave(r);
    return ok;
}

static bool from_json(jinja_run *r, const json_doc *doc, json_ref v, value *out)
{
    bool escaped;
    switch (json_type(doc, v)) {
    case JSON_FALSE:
    case JSON_TRUE:
        *out = VALUE_BOOL(json_type(doc, v) == JSON_TRUE);
        return true;
    case JSON_NUMBER:
        return number_from_json(r, doc, v, out);
    case JSON_STRING: {
        bytes raw = json_raw(doc, v, &escaped);
        return text_from_json(r, raw, escaped, out);
    }
    case JSON_ARRAY:
    case JSON_OBJECT:
        return nested_from_json(r, doc, v, out);
    default:
        *out = VALUE_NONE;
        return true;
    }
}

static bool read_variables(jinja_run *r, const json_doc *doc, json_ref vars)
{
    value given = VALUE_NONE;
    if (doc && json_type(doc, vars) != JSON_OBJECT) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "the variables must be an object");
    }
    if (doc && !from_json(r, doc, vars, &given)) {
        return false;
    }
    r->context = jinja_alloc(r, r->t->n_symbols, sizeof *r->context);
    if (!r->context) {
        return false;
    }
    for (size_t k = 0; k < N_SPECIAL; k++) {
        r->special[k] = UINT32_MAX;
    }
    for (uint32_t i = 0; i < r->t->n_symbols; i++) {
        static const char *const special[N_SPECIAL] = {"loop", "caller", "varargs", "kwargs"};
        const str *name = r->t->symbols[i].as.s;
        for (size_t k = 0; k < N_SPECIAL; k++) {
            r->special[k] = str_equals(name, special[k]) ? i : r->special[k];
        }
        r->context[i] = given.kind == V_DICT ? jinja_dict_find(given.as.dict, name->data, name->size) : VALUE_MISSING;
    }
    return true;
}

static void set_limits(jinja_limits *l)
{
    l->steps = l->steps ? l->steps : default_limits.steps;
    l->depth = l->depth ? l->depth : default_limits.depth;
    l->output_bytes = l->output_bytes ? l->output_bytes : default_limits.output_bytes;
    l->memory_bytes = l->memory_bytes ? l->memory_bytes : default_limits.memory_bytes;
}

static lithe_status report(const jinja_fault *f, lithe_error *err)
{
    lithe_status status = f->kind == JINJA_NO_MEMORY     ? LITHE_E_MEMORY
                          : f->kind == JINJA_LIMIT       ? LITHE_E_CONTEXT
                          : f->kind == JINJA_UNSUPPORTED ? LITHE_E_UNSUPPORTED
                                                         : LITHE_E_FORMAT;
    return error_set(err, status, "template line %u, column %u: %s: %s", f->line, f->column,
                     jinja_error_kind_name(f->kind), f->message);
}

lithe_status jinja_render(const jinja_template *t, const json_doc *doc, json_ref vars, const jinja_options *options,
                          buffer *out, jinja_fault *fault, lithe_error *err)
{
    buffer text;
    buffer_init(&text);
    jinja_run r = {.t = t, .out = &text};
    if (options) {
        r.options = *options;
    }
    set_limits(&r.options.limits);
    arena_init(&r.memory, 0);
    bool ok = read_variables(&r, doc, vars) && (r.root = r.scope = jinja_scope(&r, NULL)) != NULL &&
              jinja_exec(&r, &t->body) != FLOW_FAIL;
    if (ok) {
        buffer_append(out, text.data, text.size);
        ok = !buffer_failed(out) || jinja_raise(&r, JINJA_NO_MEMORY, "out of memory");
    }
    buffer_fini(&text);
    arena_fini(&r.memory);
    if (fault) {
        *fault = r.fault;
    }
    return ok ? LITHE_OK : report(&r.fault, err);
}
