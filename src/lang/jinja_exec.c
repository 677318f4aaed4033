/* Statements other than loops. */
#include "lang/jinja_run.h"

static bool unpack(jinja_run *r, const node *target, value v)
{
    list items;
    if (!jinja_is_iterable(v)) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "cannot unpack non-iterable %s object", jinja_type_name(v));
    }
    if (!jinja_items(r, v, &items)) {
        return false;
    }
    if (items.n < target->items.n) {
        return jinja_raise(r, JINJA_VALUE_ERROR, "not enough values to unpack (expected %u, got %zu)", target->items.n,
                           items.n);
    }
    if (items.n > target->items.n) {
        return jinja_raise(r, JINJA_VALUE_ERROR, "too many values to unpack (expected %u)", target->items.n);
    }
    for (uint32_t i = 0; i < target->items.n; i++) {
        if (!jinja_assign(r, target->items.v[i], items.items[i])) {
            return false;
        }
    }
    return true;
}

bool jinja_assign(jinja_run *r, const node *target, value v)
{
    value object;
    if (target->kind == N_NAME) {
        return jinja_bind(r, r->scope, target->symbol, v);
    }
    r->at = target;
    if (target->kind == N_TUPLE) {
        return unpack(r, target, v);
    }
    if (!jinja_lookup(r, target->symbol, &object)) {
        return false;
    }
    if (object.kind != V_NAMESPACE) {
        return jinja_raise(r, JINJA_RUNTIME_ERROR, "cannot assign attribute on non-namespace object");
    }
    return jinja_dict_set(r, object.as.name_space->members, target->constant, v);
}

/* Runs a body whose text goes into `b` instead of the output. */
static flow into(jinja_run *r, const node_list *body, buffer *b, bool own_scope)
{
    buffer *out = r->out;
    scope *outer = r->scope;
    if (own_scope && !(r->scope = jinja_scope(r, outer))) {
        r->scope = outer;
        return FLOW_FAIL;
    }
    r->out = b;
    flow f = jinja_exec(r, body);
    r->out = out;
    r->scope = outer;
    return f;
}

flow jinja_capture(jinja_run *r, const node_list *body, value *out)
{
    buffer b;
    buffer_init(&b);
    flow f = into(r, body, &b, true);
    return jinja_finish(r, f != FLOW_FAIL, &b, out) ? f : FLOW_FAIL;
}

static flow exec_output(jinja_run *r, const node *n)
{
    value v;
    if (!jinja_eval(r, n->a, &v)) {
        return FLOW_FAIL;
    }
    r->at = n;
    if (v.kind != V_STRING && (!jinja_to_string(r, v, &v))) {
        return FLOW_FAIL;
    }
    return jinja_write(r, v.as.s->data, v.as.s->size) ? FLOW_NEXT : FLOW_FAIL;
}

static flow exec_data(jinja_run *r, const node *n)
{
    return jinja_write(r, n->constant.as.s->data, n->constant.as.s->size) ? FLOW_NEXT : FLOW_FAIL;
}

static flow exec_set(jinja_run *r, const node *n)
{
    value v;
    return jinja_eval(r, n->b, &v) && jinja_assign(r, n->a, v) ? FLOW_NEXT : FLOW_FAIL;
}

static flow exec_set_block(jinja_run *r, const node *n)
{
    value v;
    flow f = jinja_capture(r, &n->body, &v);
    if (f != FLOW_NEXT) {
        return f;
    }
    return jinja_apply_filters(r, n->b, v, &v) && jinja_assign(r, n->a, v) ? FLOW_NEXT : FLOW_FAIL;
}

/* A chain of elif is walked, not descended. */
static flow exec_if(jinja_run *r, const node *n)
{
    for (;;) {
        value test;
        if (!jinja_eval(r, n->a, &test)) {
            return FLOW_FAIL;
        }
        if (jinja_truth(test)) {
            return jinja_exec(r, &n->body);
        }
        if (n->other.n != 1 || n->other.v[0]->kind != N_IF) {
            return jinja_exec(r, &n->other);
        }
        n = n->other.v[0];
    }
}

static flow exec_scoped(jinja_run *r, const node_list *body, scope *parent)
{
    scope *outer = r->scope;
    r->scope = jinja_scope(r, parent);
    flow f = r->scope ? jinja_exec(r, body) : FLOW_FAIL;
    r->scope = outer;
    return f;
}

/* All values are evaluated outside, then all names bound inside. */
static flow exec_with(jinja_run *r, const node *n)
{
    scope *outer = r->scope, *inner = jinja_scope(r, outer);
    value *values = inner ? jinja_alloc(r, n->items.n, sizeof *values) : NULL;
    if (!values) {
        return FLOW_FAIL;
    }
    for (uint32_t i = 0; i < n->items.n; i++) {
        if (!jinja_eval(r, n->other.v[i], &values[i])) {
            return FLOW_FAIL;
        }
    }
    r->scope = inner;
    flow f = FLOW_NEXT;
    for (uint32_t i = 0; i < n->items.n && f == FLOW_NEXT; i++) {
        f = jinja_assign(r, n->items.v[i], values[i]) ? FLOW_NEXT : FLOW_FAIL;
    }
    f = f == FLOW_NEXT ? jinja_exec(r, &n->body) : f;
    r->scope = outer;
    return f;
}

static flow exec_macro(jinja_run *r, const node *n)
{
    macro *m = jinja_alloc(r, 1, sizeof *m);
    if (!m) {
        return FLOW_FAIL;
    }
    *m = (macro){n, r->scope, n->constant.as.s};
    return jinja_bind(r, r->scope, n->symbol, (value){.kind = V_MACRO, .as.macro = m}) ? FLOW_NEXT : FLOW_FAIL;
}

static flow exec_call_block(jinja_run *r, const node *n)
{
    return jinja_exec_call_block(r, n) ? FLOW_NEXT : FLOW_FAIL;
}

static flow exec_filter_block(jinja_run *r, const node *n)
{
    value v;
    flow f = jinja_capture(r, &n->body, &v);
    if (f != FLOW_NEXT) {
        return f;
    }
    bool ok =
        jinja_apply_filters(r, n->a, v, &v) && jinja_to_string(r, v, &v) && jinja_write(r, v.as.s->data, v.as.s->size);
    return ok ? FLOW_NEXT : FLOW_FAIL;
}

/* Without inheritance a block shows where it stands; it sees the template's own variables, or all of them if it is scoped. */
static flow exec_block(jinja_run *r, const node *n)
{
    return exec_scoped(r, &n->body, n->flags ? r->scope : r->root);
}

static flow exec_scope(jinja_run *r, const node *n)
{
    return n->flags == 2 ? jinja_exec(r, &n->body) : exec_scoped(r, &n->body, r->scope);
}

static flow exec_break(jinja_run *r, const node *n)
{
    (void)r;
    return n->kind == N_BREAK ? FLOW_BREAK : FLOW_CONTINUE;
}

static flow (*const executors[])(jinja_run *r, const node *n) = {
    [N_DATA] = exec_data,
    [N_OUTPUT] = exec_output,
    [N_SET] = exec_set,
    [N_SET_BLOCK] = exec_set_block,
    [N_FOR] = jinja_exec_for,
    [N_IF] = exec_if,
    [N_WITH] = exec_with,
    [N_MACRO] = exec_macro,
    [N_CALL_BLOCK] = exec_call_block,
    [N_FILTER_BLOCK] = exec_filter_block,
    [N_BLOCK] = exec_block,
    [N_SCOPE] = exec_scope,
    [N_BREAK] = exec_break,
    [N_CONTINUE] = exec_break,
};

flow jinja_exec(jinja_run *r, const node_list *body)
{
    for (uint32_t i = 0; i < body->n; i++) {
        const node *n = body->v[i];
        r->at = n;
        if (!jinja_step(r, 1) || !jinja_enter(r)) {
            return FLOW_FAIL;
        }
        flow f = executors[n->kind](r, n);
        jinja_leave(r);
        if (f != FLOW_NEXT) {
            return f;
        }
    }
    return FLOW_NEXT;
}
