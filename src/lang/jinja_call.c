/* Calls: arguments, builtins, macros, call blocks and filters over text. */
#include "lang/jinja_run.h"

static bool add_named(jinja_run *r, arguments *out, size_t *capacity, value name, value v)
{
    for (size_t i = 0; i < out->n_named; i++) {
        if (jinja_equals(r, out->names[i], name)) {
            return jinja_raise(r, JINJA_TYPE_ERROR, "got multiple values for keyword argument '%.*s'",
                               JINJA_TEXT(name.as.s));
        }
    }
    if (out->n_named == *capacity) {
        size_t wanted = *capacity * 2 + 4;
        value *names = jinja_alloc(r, wanted, sizeof *names),
              *named = names ? jinja_alloc(r, wanted, sizeof *named) : NULL;
        if (!named) {
            return false;
        }
        if (out->n_named) {
            memcpy(names, out->names, out->n_named * sizeof *names);
            memcpy(named, out->named, out->n_named * sizeof *named);
        }
        out->names = names, out->named = named;
        *capacity = wanted;
    }
    out->names[out->n_named] = name;
    out->named[out->n_named++] = v;
    return true;
}

static bool add_star(jinja_run *r, const node *star, arguments *out)
{
    value v;
    list items;
    if (!jinja_eval(r, star, &v) || !jinja_items(r, v, &items)) {
        return false;
    }
    value *all = jinja_alloc(r, out->n + items.n, sizeof *all);
    if (!all) {
        return false;
    }
    if (out->n) {
        memcpy(all, out->v, out->n * sizeof *all);
    }
    if (items.n) {
        memcpy(all + out->n, items.items, items.n * sizeof *all);
    }
    out->v = all;
    out->n += items.n;
    return true;
}

static bool add_star_star(jinja_run *r, const node *star_star, arguments *out, size_t *capacity)
{
    value v;
    if (!jinja_eval(r, star_star, &v)) {
        return false;
    }
    if (v.kind != V_DICT) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "argument after ** must be a mapping, not %s", jinja_type_name(v));
    }
    for (size_t i = 0; i < v.as.dict->n; i++) {
        const dict_entry *e = &v.as.dict->entries[i];
        if (e->key.kind != V_STRING) {
            return jinja_raise(r, JINJA_TYPE_ERROR, "keywords must be strings");
        }
        if (!add_named(r, out, capacity, e->key, e->value)) {
            return false;
        }
    }
    return true;
}

bool jinja_eval_args(jinja_run *r, const call_args *written, arguments *out)
{
    size_t capacity = 0;
    *out = (arguments){0};
    if (!written) {
        return true;
    }
    if (written->positional.n && !(out->v = jinja_alloc(r, written->positional.n, sizeof *out->v))) {
        return false;
    }
    for (uint32_t i = 0; i < written->positional.n; i++) {
        if (!jinja_eval(r, written->positional.v[i], &out->v[i])) {
            return false;
        }
        out->n++;
    }
    if (written->star && !add_star(r, written->star, out)) {
        return false;
    }
    for (uint32_t i = 0; i < written->keywords.n; i++) {
        value v;
        if (!jinja_eval(r, written->keywords.v[i], &v) || !add_named(r, out, &capacity, written->names[i], v)) {
            return false;
        }
    }
    return !written->star_star || add_star_star(r, written->star_star, out, &capacity);
}

/* The next parameter name of a builtin's list; false at its end. */
static bool next_param(const char **params, const char **name, size_t *n, bool *optional)
{
    const char *p = *params;
    while (*p == ' ' || *p == '/') {
        p++;
    }
    *optional = *p == '?';
    p += *optional;
    *name = p;
    while (*p && *p != ' ') {
        p++;
    }
    *n = (size_t)(p - *name);
    *params = p;
    return *n > 0;
}

static bool take_named(const arguments *args, const char *name, size_t n, value *out)
{
    for (size_t i = 0; i < args->n_named; i++) {
        const str *s = args->names[i].as.s;
        if (s->size == n && memcmp(s->data, name, n) == 0) {
            *out = args->named[i];
            return true;
        }
    }
    return false;
}

/* Arguments to parameters, V_MISSING for those left out. */
static bool bind_params(jinja_run *r, const builtin *fn, const arguments *args, value bound[MAX_PARAMS])
{
    const char *params = fn->params, *name;
    size_t n, count = 0, used = 0;
    bool optional;
    for (size_t i = 0; i < MAX_PARAMS; i++) {
        bound[i] = VALUE_MISSING;
    }
    if (params[0] == '*') {
        return true;
    }
    if (params[0] == '/' && args->n_named) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "%s() takes no keyword arguments", fn->name);
    }
    while (next_param(&params, &name, &n, &optional)) {
        bool named = take_named(args, name, n, &bound[count]);
        if (count < args->n) {
            if (named) {
                return jinja_raise(r, JINJA_TYPE_ERROR, "%s() got multiple values for argument '%.*s'", fn->name,
                                   (int)n, name);
            }
            bound[count] = args->v[count];
        } else if (!named && !optional) {
            return jinja_raise(r, JINJA_TYPE_ERROR, "%s() missing required argument: '%.*s'", fn->name, (int)n, name);
        }
        used += named;
        count++;
    }
    if (args->n > count) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "%s() takes at most %zu arguments (%zu given)", fn->name, count,
                           args->n);
    }
    return used == args->n_named ||
           jinja_raise(r, JINJA_TYPE_ERROR, "%s() got an unexpected keyword argument", fn->name);
}

static bool make_lazy(jinja_run *r, const builtin *fn, value self, const arguments *args, const value *bound,
                      value *out)
{
    value *copies = jinja_alloc(r, MAX_PARAMS + 1, sizeof *copies);
    arguments *kept = copies ? jinja_alloc(r, 1, sizeof *kept) : NULL;
    iterator *it = kept ? jinja_alloc(r, 1, sizeof *it) : NULL;
    if (!it) {
        return false;
    }
    memcpy(copies, bound, MAX_PARAMS * sizeof *copies);
    copies[MAX_PARAMS] = self;
    *kept = *args;
    *it = (iterator){.type = fn->lazy, .maker = fn, .self = &copies[MAX_PARAMS], .args = kept, .bound = copies};
    *out = (value){.kind = V_ITERATOR, .as.iterator = it};
    return true;
}

bool jinja_iterator_fill(jinja_run *r, iterator *it)
{
    const builtin *maker = it->maker;
    value made;
    if (!maker) {
        return true;
    }
    it->maker = NULL;
    if (!jinja_enter(r) || !maker->fn(r, *it->self, it->bound, it->args, &made)) {
        return false;
    }
    jinja_leave(r);
    return jinja_items(r, made, &it->items);
}

bool jinja_call_builtin(jinja_run *r, const builtin *fn, value self, const arguments *args, value *out)
{
    value bound[MAX_PARAMS];
    if (!bind_params(r, fn, args, bound)) {
        return false;
    }
    if (fn->lazy) {
        return make_lazy(r, fn, self, args, bound, out);
    }
    if (!jinja_enter(r)) {
        return false;
    }
    bool ok = fn->fn(r, self, bound, args, out);
    jinja_leave(r);
    return ok;
}

/* A parameter's value: given, by default, or undefined. Runs in the macro's scope. */
static bool parameter(jinja_run *r, const node *definition, uint32_t i, value given)
{
    const node *name = definition->items.v[i];
    uint32_t first_default = definition->items.n - definition->other.n;
    if (given.kind == V_MISSING && i >= first_default) {
        if (!jinja_eval(r, definition->other.v[i - first_default], &given)) {
            return false;
        }
    } else if (given.kind == V_MISSING) {
        const str *s = name->constant.as.s;
        char *hint = jinja_alloc(r, s->size + 40, 1);
        if (!hint) {
            return false;
        }
        snprintf(hint, s->size + 40, "parameter '%.*s' was not provided", (int)s->size, s->data);
        if (!jinja_undefined(r, JINJA_UNDEFINED_ERROR, hint, NULL, name->constant, &given)) {
            return false;
        }
    }
    return jinja_bind(r, r->scope, name->symbol, given);
}

static bool bind_caller(jinja_run *r, const macro *m, const arguments *args, bool *taken)
{
    value caller = VALUE_NONE;
    uint32_t symbol = r->special[SPECIAL_CALLER];
    *taken = false;
    for (uint32_t i = 0; i < m->definition->items.n; i++) {
        if (m->definition->items.v[i]->symbol == symbol) {
            return true;
        }
    }
    if (!(m->definition->flags & MACRO_CALLER) || symbol == UINT32_MAX) {
        return true;
    }
    *taken = take_named(args, "caller", 6, &caller);
    if (caller.kind == V_NONE &&
        !jinja_undefined(r, JINJA_UNDEFINED_ERROR, "No caller defined", NULL, r->t->symbols[symbol], &caller)) {
        return false;
    }
    return jinja_bind(r, r->scope, symbol, caller);
}

/* What no parameter takes: into varargs and kwargs if the macro names them, else an error. */
static bool bind_rest(jinja_run *r, const macro *m, const arguments *args, const bool *used, bool caller_taken)
{
    const node *d = m->definition;
    dict *rest = jinja_dict_new(r);
    list *more = rest ? jinja_list_new(r, args->n) : NULL;
    if (!more) {
        return false;
    }
    for (size_t i = 0; i < args->n_named; i++) {
        const str *name = args->names[i].as.s;
        if (used[i] || (caller_taken && str_equals(name, "caller"))) {
            continue;
        }
        if (!(d->flags & MACRO_KWARGS)) {
            return jinja_raise(r, JINJA_TYPE_ERROR, "macro '%.*s' takes no keyword argument '%.*s'",
                               m->name ? (int)m->name->size : 4, m->name ? m->name->data : "None", JINJA_TEXT(name));
        }
        if (!jinja_dict_set(r, rest, args->names[i], args->named[i])) {
            return false;
        }
    }
    for (size_t i = d->items.n; i < args->n; i++) {
        more->items[more->n++] = args->v[i];
    }
    if (more->n && !(d->flags & MACRO_VARARGS)) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "macro '%.*s' takes not more than %u argument(s)",
                           m->name ? (int)m->name->size : 4, m->name ? m->name->data : "None", d->items.n);
    }
    return (!(d->flags & MACRO_KWARGS) || jinja_bind(r, r->scope, r->special[SPECIAL_KWARGS], VALUE_DICT(rest))) &&
           (!(d->flags & MACRO_VARARGS) || jinja_bind(r, r->scope, r->special[SPECIAL_VARARGS], VALUE_TUPLE(more)));
}

static bool bind_macro(jinja_run *r, const macro *m, const arguments *args)
{
    const node *d = m->definition;
    bool *used = jinja_alloc(r, args->n_named, sizeof *used), caller_taken;
    value *given = used ? jinja_alloc(r, d->items.n, sizeof *given) : NULL;
    if (!given) {
        return false;
    }
    for (uint32_t i = 0; i < d->items.n; i++) {
        given[i] = i < args->n ? args->v[i] : VALUE_MISSING;
        for (size_t k = 0; k < args->n_named && i >= args->n; k++) {
            if (jinja_equals(r, args->names[k], d->items.v[i]->constant)) {
                given[i] = args->named[k];
                used[k] = true;
            }
        }
    }
    if (!bind_caller(r, m, args, &caller_taken) || !bind_rest(r, m, args, used, caller_taken)) {
        return false;
    }
    for (uint32_t i = 0; i < d->items.n; i++) {
        if (!parameter(r, d, i, given[i])) {
            return false;
        }
    }
    return true;
}

bool jinja_call_macro(jinja_run *r, const macro *m, const arguments *args, value *out)
{
    scope *outer = r->scope, *inner = jinja_scope(r, m->scope);
    buffer b, *outer_text = r->out;
    if (!inner || !jinja_enter(r)) {
        return false;
    }
    buffer_init(&b);
    r->scope = inner;
    r->out = &b;
    bool ok = bind_macro(r, m, args) && jinja_exec(r, &m->definition->body) != FLOW_FAIL;
    r->scope = outer;
    r->out = outer_text;
    jinja_leave(r);
    return jinja_finish(r, ok, &b, out);
}

static bool call_joiner(jinja_run *r, joiner *j, value *out)
{
    bool first = !j->used;
    j->used = true;
    *out = VALUE_STR(j->separator);
    return !first || jinja_string_c(r, "", out);
}

bool jinja_call(jinja_run *r, value fn, const arguments *args, value *out)
{
    switch (fn.kind) {
    case V_FUNCTION:
        return jinja_call_builtin(r, fn.as.function, VALUE_MISSING, args, out);
    case V_METHOD:
        return jinja_call_builtin(r, fn.as.method->fn, *fn.as.method->self, args, out);
    case V_MACRO:
        return jinja_call_macro(r, fn.as.macro, args, out);
    case V_LOOP:
        return jinja_loop_call(r, fn.as.loop, args, out);
    case V_JOINER:
        return call_joiner(r, fn.as.joiner, out);
    case V_UNDEFINED:
        return jinja_raise_undefined(r, fn.as.undefined);
    default:
        return jinja_raise(r, JINJA_TYPE_ERROR, "'%s' object is not callable", jinja_type_name(fn));
    }
}

bool jinja_exec_call_block(jinja_run *r, const node *n)
{
    const node *call = n->a;
    value fn, text, *names, *named;
    arguments args;
    macro *m = jinja_alloc(r, 1, sizeof *m);
    if (!m || !jinja_eval(r, call->a, &fn) || !jinja_eval_args(r, call->args, &args)) {
        return false;
    }
    *m = (macro){n, r->scope, NULL};
    names = jinja_alloc(r, args.n_named + 1, sizeof *names);
    named = names ? jinja_alloc(r, args.n_named + 1, sizeof *named) : NULL;
    if (!named) {
        return false;
    }
    if (args.n_named) {
        memcpy(names, args.names, args.n_named * sizeof *names);
        memcpy(named, args.named, args.n_named * sizeof *named);
    }
    r->at = call;
    if (!jinja_string_c(r, "caller", &names[args.n_named])) {
        return false;
    }
    named[args.n_named] = (value){.kind = V_MACRO, .as.macro = m};
    args.names = names, args.named = named;
    args.n_named++;
    return jinja_call(r, fn, &args, &text) && jinja_to_string(r, text, &text) &&
           jinja_write(r, text.as.s->data, text.as.s->size);
}

/* The innermost filter of the chain has no operand of its own: it takes `operand`. */
bool jinja_apply_filters(jinja_run *r, const node *filters, value operand, value *out)
{
    arguments args;
    *out = operand;
    if (!filters) {
        return true;
    }
    if (!jinja_enter(r) || !jinja_apply_filters(r, filters->a, operand, out)) {
        return false;
    }
    jinja_leave(r);
    r->at = filters;
    if (!filters->fn) {
        return jinja_raise(r, JINJA_RUNTIME_ERROR, "No filter named '%.*s' found.", JINJA_TEXT(filters->constant.as.s));
    }
    if (!jinja_eval_args(r, filters->args, &args)) {
        return false;
    }
    r->at = filters;
    return jinja_call_builtin(r, filters->fn, *out, &args, out);
}
