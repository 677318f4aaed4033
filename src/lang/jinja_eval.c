/* Expressions. */
#include "lang/jinja_run.h"

static bool eval_items(jinja_run *r, const node *n, value *out)
{
    list *l = jinja_list_new(r, n->items.n);
    if (!l) {
        return false;
    }
    for (uint32_t i = 0; i < n->items.n; i++) {
        if (!jinja_eval(r, n->items.v[i], &l->items[i])) {
            return false;
        }
        l->n++;
    }
    *out = n->kind == N_LIST ? VALUE_LIST(l) : VALUE_TUPLE(l);
    return true;
}

static bool eval_dict(jinja_run *r, const node *n, value *out)
{
    dict *d = jinja_dict_new(r);
    for (uint32_t i = 0; d && i + 1 < n->items.n; i += 2) {
        value key, v;
        if (!jinja_eval(r, n->items.v[i], &key) || !jinja_eval(r, n->items.v[i + 1], &v)) {
            return false;
        }
        r->at = n;
        if (!jinja_dict_set(r, d, key, v)) {
            return false;
        }
    }
    *out = VALUE_DICT(d);
    return d != NULL;
}

static bool eval_name(jinja_run *r, const node *n, value *out)
{
    if (!jinja_lookup(r, n->symbol, out)) {
        return false;
    }
    return out->kind != V_MISSING || jinja_undefined(r, JINJA_UNDEFINED_ERROR, NULL, NULL, n->constant, out);
}

static bool eval_attr(jinja_run *r, const node *n, value *out)
{
    value object;
    if (!jinja_eval(r, n->a, &object)) {
        return false;
    }
    r->at = n;
    return jinja_getattr(r, object, n->constant, out);
}

static bool eval_item(jinja_run *r, const node *n, value *out)
{
    value object, bounds[3] = {VALUE_NONE, VALUE_NONE, VALUE_NONE};
    if (!jinja_eval(r, n->a, &object)) {
        return false;
    }
    if (n->b->kind != N_SLICE) {
        value key;
        if (!jinja_eval(r, n->b, &key)) {
            return false;
        }
        r->at = n;
        return jinja_getitem(r, object, key, out);
    }
    const node *const parts[3] = {n->b->a, n->b->b, n->b->c};
    for (size_t i = 0; i < 3; i++) {
        if (parts[i] && !jinja_eval(r, parts[i], &bounds[i])) {
            return false;
        }
    }
    r->at = n;
    return jinja_slice(r, object, bounds[0], bounds[1], bounds[2], out);
}

static bool eval_unary(jinja_run *r, const node *n, value *out)
{
    value v;
    if (!jinja_eval(r, n->a, &v)) {
        return false;
    }
    r->at = n;
    if (n->kind == N_NOT) {
        *out = VALUE_BOOL(!jinja_truth(v));
        return true;
    }
    bool negative = n->kind == N_NEG;
    if (v.kind == V_FLOAT) {
        *out = VALUE_FLOAT(negative ? -v.as.f : v.as.f);
        return true;
    }
    if (value_is_integer(v)) {
        int64_t i = value_integer(v), zero = 0;
        *out = VALUE_INT(i);
        return !negative || !__builtin_sub_overflow(zero, i, &out->as.i) ||
               jinja_raise(r, JINJA_UNSUPPORTED, "an integer of more than 64 bits");
    }
    if (v.kind == V_UNDEFINED) {
        return jinja_raise_undefined(r, v.as.undefined);
    }
    return jinja_raise(r, JINJA_TYPE_ERROR, "bad operand type for unary %c: '%s'", negative ? '-' : '+',
                       jinja_type_name(v));
}

static bool eval_binary(jinja_run *r, const node *n, value *out)
{
    value a, b;
    if (!jinja_eval(r, n->a, &a) || !jinja_eval(r, n->b, &b)) {
        return false;
    }
    r->at = n;
    return jinja_binary(r, n->ops[0], a, b, out);
}

/* a and b, a or b: the operand that decides, as in Python. */
static bool eval_logic(jinja_run *r, const node *n, value *out)
{
    if (!jinja_eval(r, n->a, out)) {
        return false;
    }
    return jinja_truth(*out) == (n->kind == N_OR) || jinja_eval(r, n->b, out);
}

static bool eval_compare(jinja_run *r, const node *n, value *out)
{
    value left, right;
    bool holds = true;
    if (!jinja_eval(r, n->a, &left)) {
        return false;
    }
    for (uint32_t i = 0; i < n->items.n && holds; i++) {
        if (!jinja_eval(r, n->items.v[i], &right)) {
            return false;
        }
        r->at = n;
        if (!jinja_relation(r, n->ops[i], left, right, &holds)) {
            return false;
        }
        left = right;
    }
    *out = VALUE_BOOL(holds);
    return true;
}

static bool eval_concat(jinja_run *r, const node *n, value *out)
{
    buffer b;
    buffer_init(&b);
    bool ok = true;
    for (uint32_t i = 0; i < n->items.n && ok; i++) {
        value v;
        ok = jinja_eval(r, n->items.v[i], &v);
        r->at = ok ? n : r->at;
        ok = ok && jinja_print(r, v, &b);
    }
    return jinja_finish(r, ok, &b, out);
}

static bool eval_condition(jinja_run *r, const node *n, value *out)
{
    value test;
    if (!jinja_eval(r, n->a, &test)) {
        return false;
    }
    if (jinja_truth(test)) {
        return jinja_eval(r, n->b, out);
    }
    if (n->c) {
        return jinja_eval(r, n->c, out);
    }
    char *hint = jinja_alloc(r, 120, 1);
    if (!hint) {
        return false;
    }
    snprintf(hint, 120, "the inline if-expression on line %u evaluated to false and no else section was defined.",
             n->line);
    return jinja_undefined(r, JINJA_UNDEFINED_ERROR, hint, NULL, VALUE_NONE, out);
}

static bool eval_call(jinja_run *r, const node *n, value *out)
{
    value fn;
    arguments args;
    if (!jinja_eval(r, n->a, &fn) || !jinja_eval_args(r, n->args, &args)) {
        return false;
    }
    r->at = n;
    return jinja_call(r, fn, &args, out);
}

static bool eval_filter(jinja_run *r, const node *n, value *out)
{
    value operand;
    arguments args;
    r->at = n;
    if (!n->fn) {
        return jinja_raise(r, JINJA_RUNTIME_ERROR, "No %s named '%.*s' found.", n->kind == N_TEST ? "test" : "filter",
                           JINJA_TEXT(n->constant.as.s));
    }
    if (!jinja_eval(r, n->a, &operand) || !jinja_eval_args(r, n->args, &args)) {
        return false;
    }
    r->at = n;
    return jinja_call_builtin(r, n->fn, operand, &args, out);
}

static bool eval_test(jinja_run *r, const node *n, value *out)
{
    if (!eval_filter(r, n, out)) {
        return false;
    }
    *out = VALUE_BOOL(jinja_truth(*out));
    return true;
}

static bool eval_constant(jinja_run *r, const node *n, value *out)
{
    (void)r;
    *out = n->constant;
    return true;
}

static bool (*const evaluators[])(jinja_run *r, const node *n, value *out) = {
    [N_CONST] = eval_constant,  [N_NAME] = eval_name,     [N_TUPLE] = eval_items,    [N_LIST] = eval_items,
    [N_DICT] = eval_dict,       [N_ATTR] = eval_attr,     [N_ITEM] = eval_item,      [N_CALL] = eval_call,
    [N_FILTER] = eval_filter,   [N_TEST] = eval_test,     [N_NOT] = eval_unary,      [N_NEG] = eval_unary,
    [N_POS] = eval_unary,       [N_BINARY] = eval_binary, [N_AND] = eval_logic,      [N_OR] = eval_logic,
    [N_COMPARE] = eval_compare, [N_CONCAT] = eval_concat, [N_COND] = eval_condition,
};

bool jinja_eval(jinja_run *r, const node *n, value *out)
{
    r->at = n;
    if (n->kind >= sizeof evaluators / sizeof *evaluators || !evaluators[n->kind]) {
        return jinja_raise(r, JINJA_TYPE_ERROR, "a slice can only stand alone in brackets");
    }
    if (!jinja_step(r, 1) || !jinja_enter(r)) {
        return false;
    }
    bool ok = evaluators[n->kind](r, n, out);
    jinja_leave(r);
    return ok;
}
