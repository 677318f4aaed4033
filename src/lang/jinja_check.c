/* What jinja2 notices when it compiles: unknown filters and tests (unless a condition guards them), break and continue outside a
 * loop; and which implicit names a macro uses. */
#include "lang/jinja_run.h"

typedef struct checker {
    parser *p;
    const node *enclosing; /* the macro or call block whose flags are collected */
    uint8_t flags;
    uint32_t depth;
} checker;

typedef struct surroundings {
    bool soft;    /* inside a condition: an unknown name is an error only when reached */
    bool in_loop; /* break and continue have a target */
} surroundings;

static bool check(checker *c, node *n, surroundings s);

static bool check_list(checker *c, const node_list *l, surroundings s)
{
    for (uint32_t i = 0; i < l->n; i++) {
        if (!check(c, l->v[i], s)) {
            return false;
        }
    }
    return true;
}

static bool check_args(checker *c, const call_args *args, surroundings s)
{
    return !args || (check_list(c, &args->positional, s) && check_list(c, &args->keywords, s) &&
                     check(c, args->star, s) && check(c, args->star_star, s));
}

static bool check_name(checker *c, const node *n)
{
    static const struct {
        const char *name;
        uint8_t flag;
    } rows[] = {{"varargs", MACRO_VARARGS}, {"kwargs", MACRO_KWARGS}, {"caller", MACRO_CALLER}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (str_equals(c->p->t->symbols[n->symbol].as.s, rows[i].name)) {
            c->flags |= rows[i].flag;
        }
    }
    return true;
}

/* Macros and call blocks are functions: what they use is noted in their flags, loops around them are out of reach. */
static bool check_macro(checker *c, node *n, surroundings s)
{
    uint8_t outer = c->flags;
    for (uint32_t i = 0; i < n->items.n; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (n->items.v[i]->symbol == n->items.v[k]->symbol) {
                return jinja_parse_fail(c->p, JINJA_PYTHON_SYNTAX_ERROR, n->line, n->column,
                                        "duplicate argument '%.*s'", JINJA_TEXT(n->items.v[i]->constant.as.s));
            }
        }
    }
    c->flags = 0;
    bool ok = check_list(c, &n->other, (surroundings){0}) && check_list(c, &n->body, (surroundings){0});
    n->flags = c->flags;
    c->flags = outer;
    return ok && check(c, n->a, s);
}

static bool is_loop_variable(const checker *c, const node *target)
{
    for (uint32_t i = 0; i < target->items.n; i++) {
        if (is_loop_variable(c, target->items.v[i])) {
            return true;
        }
    }
    return target->kind == N_NAME && str_equals(c->p->t->symbols[target->symbol].as.s, "loop");
}

static bool check_loop(checker *c, node *n, surroundings s)
{
    if (is_loop_variable(c, n->a)) {
        return jinja_parse_fail(c->p, JINJA_ASSERTION_ERROR, n->line, n->column,
                                "Can't assign to special loop variable in for-loop target");
    }
    surroundings inside = {.in_loop = true}, after = {.in_loop = s.in_loop};
    return check(c, n->b, s) && check(c, n->c, (surroundings){0}) && check_list(c, &n->body, inside) &&
           check_list(c, &n->other, after);
}

static bool check_call(checker *c, node *n, surroundings s)
{
    if ((n->kind == N_FILTER || n->kind == N_TEST) && !n->fn && !s.soft) {
        return jinja_parse_fail(c->p, JINJA_ASSERTION_ERROR, n->line, n->column, "No %s named '%.*s'.",
                                n->kind == N_FILTER ? "filter" : "test", JINJA_TEXT(n->constant.as.s));
    }
    return check(c, n->a, s) && check_args(c, n->args, s);
}

static bool check_kind(checker *c, node *n, surroundings s)
{
    surroundings soft = {.soft = true, .in_loop = s.in_loop}, inner = {.in_loop = s.in_loop};
    switch (n->kind) {
    case N_NAME:
        return check_name(c, n);
    case N_CALL:
    case N_FILTER:
    case N_TEST:
        return check_call(c, n, s);
    case N_MACRO:
    case N_CALL_BLOCK:
        return check_macro(c, n, s);
    case N_FOR:
        return check_loop(c, n, s);
    case N_COND:
        return check(c, n->a, soft) && check(c, n->b, soft) && check(c, n->c, soft);
    case N_IF:
        return check(c, n->a, soft) && check_list(c, &n->body, soft) && check_list(c, &n->other, soft);
    case N_SCOPE:
        inner.in_loop = s.in_loop && n->flags != 1;
        return check_list(c, &n->body, n->flags == 2 ? s : inner);
    case N_BLOCK:
        return check_list(c, &n->body, (surroundings){0});
    case N_BREAK:
    case N_CONTINUE:
        return s.in_loop || jinja_parse_fail(c->p, JINJA_PYTHON_SYNTAX_ERROR, n->line, n->column, "'%s' outside a loop",
                                             n->kind == N_BREAK ? "break" : "continue");
    case N_SET_BLOCK:
    case N_FILTER_BLOCK:
    case N_WITH:
        s = inner;
        break;
    default:
        break;
    }
    return check(c, n->a, s) && check(c, n->b, s) && check(c, n->c, s) && check_list(c, &n->items, s) &&
           check_list(c, &n->other, s) && check_list(c, &n->body, s);
}

/* Chains such as a + b + c … nest to the left without bound; they are as deep for the evaluation. */
static bool check(checker *c, node *n, surroundings s)
{
    enum { MAX_DEPTH = 900 };
    if (!n) {
        return true;
    }
    if (c->depth >= MAX_DEPTH) {
        return jinja_parse_fail(c->p, JINJA_LIMIT, n->line, n->column, "an expression of more than %d steps",
                                MAX_DEPTH);
    }
    c->depth++;
    bool ok = check_kind(c, n, s);
    c->depth--;
    return ok;
}

bool jinja_check(parser *p)
{
    checker c = {.p = p};
    return check_list(&c, &p->t->body, (surroundings){0});
}
