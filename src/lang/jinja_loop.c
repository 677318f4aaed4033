/* for and its `loop`. Items are taken one at a time and a filter sees each when it is taken, as in jinja2: it may depend on what
 * the body did before. */
#include "lang/jinja_run.h"

static bool passes(jinja_run *r, loop_state *l, value item, bool *out)
{
    *out = true;
    if (!l->definition->c) {
        return true;
    }
    value test = VALUE_NONE;
    scope *outer = r->scope;
    r->scope = jinja_scope(r, l->scope);
    bool ok = r->scope && jinja_assign(r, l->definition->a, item) && jinja_eval(r, l->definition->c, &test);
    r->scope = outer;
    *out = ok && jinja_truth(test);
    return ok;
}

/* The next item from the source; V_MISSING at the end. */
static bool pull(jinja_run *r, loop_state *l, value *out)
{
    bool pass = false;
    *out = VALUE_MISSING;
    if (l->passed_next < l->passed.n) {
        *out = l->passed.items[l->passed_next++];
        return true;
    }
    while (!pass) {
        if (l->feed ? l->feed->at >= l->feed->items.n : l->next >= l->source.n) {
            *out = VALUE_MISSING;
            return true;
        }
        *out = l->feed ? l->feed->items.items[l->feed->at++] : l->source.items[l->next++];
        if (!jinja_step(r, 1) || !passes(r, l, *out, &pass)) {
            return false;
        }
    }
    return true;
}

static bool peek(jinja_run *r, loop_state *l)
{
    if (!l->has_ahead) {
        if (!pull(r, l, &l->ahead)) {
            return false;
        }
        l->has_ahead = true;
    }
    return true;
}

/* Needs all items to be counted; those are kept for the iterations to come. */
static bool length(jinja_run *r, loop_state *l, int64_t *out)
{
    if (l->length < 0 && !l->definition->c && !l->feed) {
        l->length = (int64_t)l->source.n;
    }
    if (l->length < 0) {
        size_t ahead = l->has_ahead && l->ahead.kind != V_MISSING;
        value v;
        for (;;) {
            if (!pull(r, l, &v)) {
                return false;
            }
            if (v.kind == V_MISSING) {
                break;
            }
            if (!jinja_list_push(r, &l->passed, v)) {
                return false;
            }
            l->passed_next++; /* pull must not give it again while counting */
        }
        l->passed_next = 0;
        l->length = (int64_t)(l->passed.n + ahead) + l->index0 + 1;
    }
    *out = l->length;
    return true;
}

static bool start(jinja_run *r, const node *n, value over, loop_state *l)
{
    if (over.kind == V_ITERATOR) {
        l->feed = over.as.iterator;
        return jinja_iterator_fill(r, l->feed);
    }
    if (over.kind == V_LOOP) {
        return jinja_raise(r, JINJA_UNSUPPORTED, "a loop over 'loop' is not supported");
    }
    r->at = n;
    return jinja_items(r, over, &l->source);
}

static bool bind_loop(jinja_run *r, loop_state *l)
{
    uint32_t symbol = r->special[SPECIAL_LOOP];
    return symbol == UINT32_MAX || jinja_bind(r, r->scope, symbol, (value){.kind = V_LOOP, .as.loop = l});
}

/* FLOW_NEXT after the last item, FLOW_BREAK if the body said so. */
static flow iterate(jinja_run *r, const node *n, loop_state *l)
{
    for (;;) {
        value item;
        if (!peek(r, l)) {
            return FLOW_FAIL;
        }
        item = l->ahead;
        l->has_ahead = false;
        if (item.kind == V_MISSING) {
            l->has_ahead = true; /* stays at the end */
            return FLOW_NEXT;
        }
        l->index0++;
        l->before = l->current;
        l->current = item;
        r->scope = jinja_scope(r, l->scope);
        if (!r->scope || !bind_loop(r, l) || !jinja_assign(r, n->a, item)) {
            return FLOW_FAIL;
        }
        flow f = jinja_exec(r, &n->body);
        l->completed = l->completed || f == FLOW_NEXT;
        if (f == FLOW_FAIL || f == FLOW_BREAK) {
            return f;
        }
    }
}

static flow run_loop(jinja_run *r, const node *n, value over, scope *around, int64_t depth0)
{
    loop_state *l = jinja_alloc(r, 1, sizeof *l);
    scope *outer = r->scope;
    if (!l) {
        return FLOW_FAIL;
    }
    *l = (loop_state){.definition = n, .scope = around, .index0 = -1, .length = -1, .depth0 = depth0};
    if (!start(r, n, over, l)) {
        return FLOW_FAIL;
    }
    flow f = iterate(r, n, l);
    r->scope = outer;
    /* As jinja2 compiles it, else also follows a loop whose every iteration was left early. */
    if (f != FLOW_FAIL && !l->completed && n->other.n) {
        r->scope = jinja_scope(r, around);
        f = r->scope ? jinja_exec(r, &n->other) : FLOW_FAIL;
        r->scope = outer;
        return f;
    }
    return f == FLOW_FAIL ? f : FLOW_NEXT;
}

flow jinja_exec_for(jinja_run *r, const node *n)
{
    value over;
    return jinja_eval(r, n->b, &over) ? run_loop(r, n, over, r->scope, 0) : FLOW_FAIL;
}

bool jinja_loop_call(jinja_run *r, loop_state *l, const arguments *args, value *out)
{
    if (args->n != 1 || args->n_named) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "loop() takes one argument, the items of the inner loop");
    }
    if (!l->definition->flags) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "The loop must have the 'recursive' marker to be called recursively.");
    }
    if (!jinja_enter(r)) {
        return false;
    }
    buffer b, *outer = r->out;
    buffer_init(&b);
    r->out = &b;
    flow f = run_loop(r, l->definition, args->v[0], l->scope, l->depth0 + 1);
    r->out = outer;
    jinja_leave(r);
    return jinja_finish(r, f != FLOW_FAIL, &b, out);
}

static bool loop_length(jinja_run *r, loop_state *l, value *out)
{
    *out = VALUE_INT(0);
    return length(r, l, &out->as.i);
}

static bool loop_revindex(jinja_run *r, loop_state *l, value *out)
{
    bool ok = loop_length(r, l, out);
    out->as.i -= l->index0;
    return ok;
}

static bool loop_revindex0(jinja_run *r, loop_state *l, value *out)
{
    bool ok = loop_length(r, l, out);
    out->as.i -= l->index0 + 1;
    return ok;
}

static bool loop_last(jinja_run *r, loop_state *l, value *out)
{
    bool ok = peek(r, l);
    *out = VALUE_BOOL(l->ahead.kind == V_MISSING);
    return ok;
}

static bool loop_nextitem(jinja_run *r, loop_state *l, value *out)
{
    if (!peek(r, l)) {
        return false;
    }
    *out = l->ahead;
    return out->kind != V_MISSING ||
           jinja_undefined(r, JINJA_UNDEFINED_ERROR, "there is no next item", NULL, VALUE_NONE, out);
}

static bool loop_previtem(jinja_run *r, loop_state *l, value *out)
{
    *out = l->before;
    return l->index0 > 0 ||
           jinja_undefined(r, JINJA_UNDEFINED_ERROR, "there is no previous item", NULL, VALUE_NONE, out);
}

static bool loop_cycle(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a;
    if (!all->n || all->n_named) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "no items for cycling given");
    }
    *out = all->v[(size_t)self.as.loop->index0 % all->n];
    return true;
}

static bool loop_changed(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    loop_state *l = self.as.loop;
    list *given = jinja_list_new(r, all->n);
    (void)a;
    if (!given) {
        return false;
    }
    for (size_t i = 0; i < all->n; i++) {
        given->items[given->n++] = all->v[i];
    }
    value now = VALUE_TUPLE(given);
    *out = VALUE_BOOL(l->changed.kind == V_MISSING || !jinja_equals(r, l->changed, now));
    l->changed = now;
    return r->fault.kind == JINJA_NO_ERROR;
}

static const builtin loop_methods[] = {{"cycle", loop_cycle, "*", NULL}, {"changed", loop_changed, "*", NULL}};

bool jinja_loop_attr(jinja_run *r, loop_state *l, const str *name, value *out)
{
    const struct {
        const char *name;
        value v;
    } plain[] = {{"index", VALUE_INT(l->index0 + 1)},
                 {"index0", VALUE_INT(l->index0)},
                 {"first", VALUE_BOOL(l->index0 == 0)},
                 {"depth", VALUE_INT(l->depth0 + 1)},
                 {"depth0", VALUE_INT(l->depth0)}};
    static const struct {
        const char *name;
        bool (*get)(jinja_run *r, loop_state *l, value *out);
    } computed[] = {{"length", loop_length}, {"revindex", loop_revindex}, {"revindex0", loop_revindex0},
                    {"last", loop_last},     {"nextitem", loop_nextitem}, {"previtem", loop_previtem}};
    value self = {.kind = V_LOOP, .as.loop = l}, key = VALUE_STR(name);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (str_equals(name, plain[i].name)) {
            *out = plain[i].v;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof computed / sizeof *computed; i++) {
        if (str_equals(name, computed[i].name)) {
            return computed[i].get(r, l, out);
        }
    }
    for (size_t i = 0; i < 2; i++) {
        if (str_equals(name, loop_methods[i].name)) {
            method *m = jinja_alloc(r, 1, sizeof *m);
            value *copy = m ? jinja_alloc(r, 1, sizeof *copy) : NULL;
            if (!copy) {
                return false;
            }
            *copy = self;
            *m = (method){copy, &loop_methods[i]};
            *out = (value){.kind = V_METHOD, .as.method = m};
            return true;
        }
    }
    return jinja_undefined_member(r, self, key, out);
}
