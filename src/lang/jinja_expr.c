/* Expressions: recursive descent with jinja2's precedences, which are not Python's ("~" binds tighter than "+", "-x|f" filters
 * the negated value, "**" associates to the left). */
#include "lang/jinja_ast.h"
#include "lang/jinja_run.h"

static node *parse_primary(parser *p, bool with_namespace);
static node *parse_or(parser *p);

static node *fail_at(parser *p, const token *t, const char *message)
{
    jinja_parse_fail(p, JINJA_SYNTAX_ERROR, t->line, t->column, "%s", message);
    return NULL;
}

/* The current token as messages call it: names by themselves. */
static node *fail_unexpected(parser *p, const char *format)
{
    const token *t = jinja_peek(p);
    char what[80];
    if (t->kind == T_NAME) {
        snprintf(what, sizeof what, "%.*s", JINJA_TEXT(t->constant.as.s));
    } else {
        snprintf(what, sizeof what, "%s", jinja_token_name(t->kind));
    }
    jinja_parse_fail(p, JINJA_SYNTAX_ERROR, t->line, t->column, format, what);
    return NULL;
}

static node *binary(parser *p, node_kind kind, operator_kind op, node *a, node *b, const token *at)
{
    node *n = b ? jinja_node(p, kind, at) : NULL;
    uint8_t *ops = n ? arena_alloc(&p->t->memory, 1, 1) : NULL;
    if (!ops) {
        if (n) {
            jinja_no_memory(p);
        }
        return NULL;
    }
    ops[0] = (uint8_t)op;
    n->a = a, n->b = b, n->ops = ops;
    return n;
}

node *jinja_parse_expression(parser *p, bool with_condition)
{
    if (!jinja_deeper(p)) {
        return NULL;
    }
    token *at = jinja_peek(p);
    node *result = parse_or(p);
    while (result && with_condition && jinja_at_name(p, "if")) {
        jinja_take(p);
        node *n = jinja_node(p, N_COND, at);
        if (!n) {
            return NULL;
        }
        n->b = result;
        n->a = parse_or(p);
        if (n->a && jinja_skip_name(p, "else")) {
            n->c = jinja_parse_expression(p, true);
            if (!n->c) {
                return NULL;
            }
        }
        result = n->a ? n : NULL;
        at = jinja_peek(p);
    }
    p->depth--;
    return result;
}

static node *parse_not(parser *p);

static node *parse_and(parser *p)
{
    token *at = jinja_peek(p);
    node *left = parse_not(p);
    while (left && jinja_skip_name(p, "and")) {
        left = binary(p, N_AND, OP_ADD, left, parse_not(p), at);
    }
    return left;
}

static node *parse_or(parser *p)
{
    token *at = jinja_peek(p);
    node *left = parse_and(p);
    while (left && jinja_skip_name(p, "or")) {
        left = binary(p, N_OR, OP_ADD, left, parse_and(p), at);
    }
    return left;
}

static node *parse_concat(parser *p);

static node *parse_sum(parser *p)
{
    node *left = parse_concat(p);
    while (left && (jinja_at(p, T_ADD) || jinja_at(p, T_SUB))) {
        token *at = jinja_take(p);
        left = binary(p, N_BINARY, at->kind == T_ADD ? OP_ADD : OP_SUB, left, parse_concat(p), at);
    }
    return left;
}

static bool compare_operator(parser *p, uint8_t *op)
{
    static const struct {
        uint8_t token, op;
    } rows[] = {{T_EQ, OP_EQ}, {T_NE, OP_NE}, {T_LT, OP_LT}, {T_LE, OP_LE}, {T_GT, OP_GT}, {T_GE, OP_GE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (jinja_at(p, rows[i].token)) {
            jinja_take(p);
            *op = rows[i].op;
            return true;
        }
    }
    if (jinja_skip_name(p, "in")) {
        *op = OP_IN;
        return true;
    }
    token *next = jinja_peek_next(p);
    if (jinja_at_name(p, "not") && next->kind == T_NAME && str_equals(next->constant.as.s, "in")) {
        jinja_take(p);
        jinja_take(p);
        *op = OP_NOT_IN;
        return true;
    }
    return false;
}

enum { MAX_COMPARISONS = 64 };

static node *parse_compare(parser *p)
{
    token *at = jinja_peek(p);
    node *first = parse_sum(p), *n = NULL;
    uint8_t ops[MAX_COMPARISONS], op = 0;
    uint32_t capacity = 0;
    while (first && compare_operator(p, &op)) {
        if (!n && !(n = jinja_node(p, N_COMPARE, at))) {
            return NULL;
        }
        if (n->items.n == MAX_COMPARISONS) {
            return fail_at(p, at, "more than 64 comparisons in a row");
        }
        ops[n->items.n] = op;
        node *operand = parse_sum(p);
        if (!operand || !jinja_push(p, &n->items, &capacity, operand)) {
            return NULL;
        }
    }
    if (!n || !first) {
        return first;
    }
    n->a = first;
    n->ops = arena_alloc(&p->t->memory, n->items.n, 1);
    if (!n->ops) {
        jinja_no_memory(p);
        return NULL;
    }
    memcpy(n->ops, ops, n->items.n);
    return n;
}

static node *parse_not(parser *p)
{
    if (!jinja_at_name(p, "not")) {
        return parse_compare(p);
    }
    node *n = jinja_node(p, N_NOT, jinja_take(p));
    if (!n || !jinja_deeper(p)) {
        return NULL;
    }
    n->a = parse_not(p);
    p->depth--;
    return n->a ? n : NULL;
}

static node *parse_product(parser *p);

static node *parse_concat(parser *p)
{
    token *at = jinja_peek(p);
    node *first = parse_product(p), *n = NULL;
    uint32_t capacity = 0;
    while (first && jinja_skip(p, T_TILDE)) {
        if (!n && (!(n = jinja_node(p, N_CONCAT, at)) || !jinja_push(p, &n->items, &capacity, first))) {
            return NULL;
        }
        node *next = parse_product(p);
        if (!next || !jinja_push(p, &n->items, &capacity, next)) {
            return NULL;
        }
    }
    return n ? n : first;
}

static node *parse_unary(parser *p, bool with_filter);

static node *parse_power(parser *p)
{
    node *left = parse_unary(p, true);
    while (left && jinja_at(p, T_POW)) {
        token *at = jinja_take(p);
        left = binary(p, N_BINARY, OP_POW, left, parse_unary(p, true), at);
    }
    return left;
}

static node *parse_product(parser *p)
{
    node *left = parse_power(p);
    for (;;) {
        static const struct {
            uint8_t token, op;
        } rows[] = {{T_MUL, OP_MUL}, {T_DIV, OP_DIV}, {T_FLOORDIV, OP_FLOORDIV}, {T_MOD, OP_MOD}};
        size_t i = 0;
        while (i < 4 && !jinja_at(p, rows[i].token)) {
            i++;
        }
        if (!left || i == 4) {
            return left;
        }
        token *at = jinja_take(p);
        left = binary(p, N_BINARY, rows[i].op, left, parse_power(p), at);
    }
}

/* [a], [a:b:c], [a, b] (a tuple) after the bracket. */
static node *parse_subscripted(parser *p)
{
    token *at = jinja_peek(p);
    node *from = NULL;
    if (!jinja_at(p, T_COLON)) {
        from = jinja_parse_expression(p, true);
        if (!from || !jinja_at(p, T_COLON)) {
            return from;
        }
    }
    node *n = jinja_node(p, N_SLICE, at);
    jinja_take(p);
    if (!n) {
        return NULL;
    }
    n->a = from;
    if (!jinja_at(p, T_COLON) && !jinja_at(p, T_RBRACKET) && !jinja_at(p, T_COMMA) &&
        !(n->b = jinja_parse_expression(p, true))) {
        return NULL;
    }
    if (jinja_skip(p, T_COLON) && !jinja_at(p, T_RBRACKET) && !jinja_at(p, T_COMMA) &&
        !(n->c = jinja_parse_expression(p, true))) {
        return NULL;
    }
    return n;
}

static node *parse_bracket(parser *p, node *of)
{
    token *at = jinja_take(p);
    node *n = jinja_node(p, N_ITEM, at), *tuple = n ? jinja_node(p, N_TUPLE, at) : NULL;
    uint32_t capacity = 0;
    if (!tuple) {
        return NULL;
    }
    while (!jinja_at(p, T_RBRACKET)) {
        if (tuple->items.n && !jinja_expect(p, T_COMMA)) {
            return NULL;
        }
        node *item = parse_subscripted(p);
        if (!item || !jinja_push(p, &tuple->items, &capacity, item)) {
            return NULL;
        }
    }
    jinja_take(p);
    n->a = of;
    n->b = tuple->items.n == 1 ? tuple->items.v[0] : tuple;
    return n;
}

static node *parse_dot(parser *p, node *of)
{
    token *at = jinja_take(p), *name = jinja_take(p);
    if (name->kind != T_NAME && name->kind != T_INTEGER) {
        return fail_at(p, name, "expected name or number");
    }
    node *n = jinja_node(p, name->kind == T_NAME ? N_ATTR : N_ITEM, at);
    if (!n) {
        return NULL;
    }
    n->a = of;
    n->constant = name->constant;
    if (name->kind == T_INTEGER) {
        n->b = jinja_node(p, N_CONST, name);
        if (!n->b) {
            return NULL;
        }
        n->b->constant = name->constant;
    }
    return n;
}

/* One argument of a call. The order is Python's: positional, *star, keywords, **star_star. */
static bool parse_argument(parser *p, call_args *args, uint32_t *n_positional, uint32_t *n_keywords, uint32_t *n_names)
{
    static const char message[] = "invalid syntax for function call expression";
    token *t = jinja_peek(p);
    bool keyword = t->kind == T_NAME && jinja_peek_next(p)->kind == T_ASSIGN;
    bool star = t->kind == T_MUL, star_star = t->kind == T_POW;
    if (args->star_star || (!keyword && !star_star && args->star) ||
        (!keyword && !star && !star_star && args->keywords.n)) {
        fail_at(p, t, message);
        return false;
    }
    if (star || star_star) {
        jinja_take(p);
    } else if (keyword) {
        p->at += 2;
    }
    node *v = jinja_parse_expression(p, true);
    if (!v) {
        return false;
    }
    if (star || star_star) {
        *(star ? &args->star : &args->star_star) = v;
        return true;
    }
    if (!keyword) {
        return jinja_push(p, &args->positional, n_positional, v);
    }
    if (args->keywords.n == *n_names) {
        value *names = ARENA_ARRAY(&p->t->memory, value, *n_names * 2 + 4);
        if (!names) {
            return jinja_no_memory(p);
        }
        if (*n_names) {
            memcpy(names, args->names, *n_names * sizeof *names);
        }
        args->names = names;
        *n_names = *n_names * 2 + 4;
    }
    args->names[args->keywords.n] = t->constant;
    return jinja_push(p, &args->keywords, n_keywords, v);
}

static call_args *parse_call_args(parser *p)
{
    call_args *args = ARENA_NEW(&p->t->memory, call_args);
    uint32_t n_positional = 0, n_keywords = 0, n_names = 0;
    if (!args) {
        jinja_no_memory(p);
        return NULL;
    }
    if (!jinja_expect(p, T_LPAREN)) {
        return NULL;
    }
    for (bool first = true; !jinja_at(p, T_RPAREN); first = false) {
        if (!first) {
            if (!jinja_expect(p, T_COMMA)) {
                return NULL;
            }
            if (jinja_at(p, T_RPAREN)) {
                break;
            }
        }
        if (!parse_argument(p, args, &n_positional, &n_keywords, &n_names)) {
            return NULL;
        }
    }
    jinja_take(p);
    return args;
}

static node *parse_call(parser *p, node *of)
{
    node *n = jinja_node(p, N_CALL, jinja_peek(p));
    if (!n) {
        return NULL;
    }
    n->a = of;
    n->args = parse_call_args(p);
    return n->args ? n : NULL;
}

static node *parse_postfix(parser *p, node *n)
{
    while (n) {
        if (jinja_at(p, T_DOT)) {
            n = parse_dot(p, n);
        } else if (jinja_at(p, T_LBRACKET)) {
            n = parse_bracket(p, n);
        } else if (jinja_at(p, T_LPAREN)) {
            n = parse_call(p, n);
        } else {
            break;
        }
    }
    return n;
}

/* A name with dots, as filters and tests may have; *t is its first token. */
static bool parse_dotted(parser *p, token **t, value *name)
{
    *t = jinja_expect(p, T_NAME);
    if (!*t) {
        return false;
    }
    *name = (*t)->constant;
    while (jinja_skip(p, T_DOT)) {
        token *next = jinja_expect(p, T_NAME);
        if (!next) {
            return false;
        }
        const str *a = name->as.s, *b = next->constant.as.s;
        str *joined = ARENA_NEW(&p->t->memory, str);
        char *data = arena_alloc(&p->t->memory, a->size + b->size + 1, 1);
        if (!joined || !data) {
            return jinja_no_memory(p);
        }
        memcpy(data, a->data, a->size);
        data[a->size] = '.';
        memcpy(data + a->size + 1, b->data, b->size);
        *joined = (str){data, a->size + b->size + 1, a->chars + b->chars + 1};
        *name = VALUE_STR(joined);
    }
    return true;
}

node *jinja_parse_filters(parser *p, node *operand, bool start_inline)
{
    while (start_inline || jinja_at(p, T_PIPE)) {
        token *t;
        value name;
        if (!start_inline) {
            jinja_take(p);
        }
        start_inline = false;
        if (!parse_dotted(p, &t, &name)) {
            return NULL;
        }
        node *n = jinja_node(p, N_FILTER, t);
        if (!n) {
            return NULL;
        }
        n->a = operand;
        n->constant = name;
        n->fn = jinja_find_filter(name.as.s);
        if (jinja_at(p, T_LPAREN) && !(n->args = parse_call_args(p))) {
            return NULL;
        }
        operand = n;
    }
    return operand;
}

/* "is divisibleby 3": an argument without parentheses. */
static bool parse_bare_argument(parser *p, node *n)
{
    switch (jinja_peek(p)->kind) {
    case T_NAME:
        if (jinja_at_name(p, "else") || jinja_at_name(p, "or") || jinja_at_name(p, "and")) {
            return true;
        }
        if (jinja_at_name(p, "is")) {
            return fail_at(p, jinja_peek(p), "You cannot chain multiple tests with is") != NULL;
        }
        break;
    case T_STRING:
    case T_INTEGER:
    case T_FLOAT:
    case T_LBRACKET:
    case T_LBRACE:
        break;
    default:
        return true;
    }
    call_args *args = ARENA_NEW(&p->t->memory, call_args);
    uint32_t capacity = 0;
    if (!args) {
        return jinja_no_memory(p);
    }
    n->args = args;
    node *argument = parse_postfix(p, parse_primary(p, false));
    return argument && jinja_push(p, &args->positional, &capacity, argument);
}

static node *parse_test(parser *p, node *operand)
{
    token *at = jinja_take(p), *t;
    bool negated = jinja_skip_name(p, "not");
    value name;
    if (!parse_dotted(p, &t, &name)) {
        return NULL;
    }
    node *n = jinja_node(p, N_TEST, t);
    if (!n) {
        return NULL;
    }
    n->a = operand;
    n->constant = name;
    n->fn = jinja_find_test(name.as.s);
    if (jinja_at(p, T_LPAREN)) {
        if (!(n->args = parse_call_args(p))) {
            return NULL;
        }
    } else if (!parse_bare_argument(p, n)) {
        return NULL;
    }
    if (!negated) {
        return n;
    }
    node *not = jinja_node(p, N_NOT, at);
    if (not ) {
        not ->a = n;
    }
    return not ;
}

static node *parse_filter_expression(parser *p, node *n)
{
    while (n) {
        if (jinja_at(p, T_PIPE)) {
            n = jinja_parse_filters(p, n, false);
        } else if (jinja_at_name(p, "is")) {
            n = parse_test(p, n);
        } else if (jinja_at(p, T_LPAREN)) {
            n = parse_call(p, n);
        } else {
            break;
        }
    }
    return n;
}

static node *parse_unary(parser *p, bool with_filter)
{
    node *n;
    if (jinja_at(p, T_SUB) || jinja_at(p, T_ADD)) {
        token *at = jinja_take(p);
        n = jinja_node(p, at->kind == T_SUB ? N_NEG : N_POS, at);
        if (!n || !jinja_deeper(p)) {
            return NULL;
        }
        n->a = parse_unary(p, false);
        p->depth--;
        n = n->a ? n : NULL;
    } else {
        n = parse_primary(p, false);
    }
    n = parse_postfix(p, n);
    return with_filter ? parse_filter_expression(p, n) : n;
}

static node *parse_name(parser *p, bool with_namespace)
{
    static const struct {
        const char *name;
        value constant;
    } constants[] = {{"true", {.kind = V_BOOL, .as.b = true}},
                     {"True", {.kind = V_BOOL, .as.b = true}},
                     {"false", {.kind = V_BOOL}},
                     {"False", {.kind = V_BOOL}},
                     {"none", {.kind = V_NONE}},
                     {"None", {.kind = V_NONE}}};
    token *t = jinja_take(p);
    node *n = jinja_node(p, N_NAME, t);
    if (!n) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        if (str_equals(t->constant.as.s, constants[i].name)) {
            n->kind = N_CONST;
            n->constant = constants[i].constant;
            return n;
        }
    }
    n->constant = t->constant;
    if (!jinja_symbol(p, t->constant.as.s, &n->symbol)) {
        return NULL;
    }
    if (with_namespace && jinja_skip(p, T_DOT)) {
        token *attribute = jinja_expect(p, T_NAME);
        if (!attribute) {
            return NULL;
        }
        n->kind = N_NSREF;
        n->constant = attribute->constant;
    }
    return n;
}

/* Adjacent strings are one. */
static node *parse_strings(parser *p)
{
    token *first = jinja_take(p);
    node *n = jinja_node(p, N_CONST, first);
    if (!n) {
        return NULL;
    }
    n->constant = first->constant;
    while (jinja_at(p, T_STRING)) {
        const str *a = n->constant.as.s, *b = jinja_take(p)->constant.as.s;
        str *joined = ARENA_NEW(&p->t->memory, str);
        char *data = arena_alloc(&p->t->memory, a->size + b->size, 1);
        if (!joined || !data) {
            jinja_no_memory(p);
            return NULL;
        }
        memcpy(data, a->data, a->size);
        memcpy(data + a->size, b->data, b->size);
        *joined = (str){data, a->size + b->size, a->chars + b->chars};
        n->constant = VALUE_STR(joined);
    }
    return n;
}

/* [a, b] and {k: v}; a comma may end them. */
static node *parse_display(parser *p, node_kind kind, token_kind close)
{
    node *n = jinja_node(p, kind, jinja_take(p));
    uint32_t capacity = 0;
    while (n && !jinja_at(p, close)) {
        if (n->items.n && !jinja_expect(p, T_COMMA)) {
            return NULL;
        }
        if (jinja_at(p, close)) {
            break;
        }
        node *item = jinja_parse_expression(p, true);
        if (!item || !jinja_push(p, &n->items, &capacity, item)) {
            return NULL;
        }
        if (kind == N_DICT) {
            item = jinja_expect(p, T_COLON) ? jinja_parse_expression(p, true) : NULL;
            if (!item || !jinja_push(p, &n->items, &capacity, item)) {
                return NULL;
            }
        }
    }
    if (n) {
        jinja_take(p);
    }
    return n;
}

static node *parse_primary(parser *p, bool with_namespace)
{
    node *n = NULL;
    switch (jinja_peek(p)->kind) {
    case T_NAME:
        return parse_name(p, with_namespace);
    case T_STRING:
        return parse_strings(p);
    case T_INTEGER:
    case T_FLOAT:
        n = jinja_node(p, N_CONST, jinja_peek(p));
        if (n) {
            n->constant = jinja_take(p)->constant;
        }
        return n;
    case T_LPAREN:
        jinja_take(p);
        if (!jinja_deeper(p)) {
            return NULL;
        }
        n = jinja_parse_tuple(p, TUPLE_PARENTHESES, NULL);
        p->depth--;
        return n && jinja_expect(p, T_RPAREN) ? n : NULL;
    case T_LBRACKET:
        return parse_display(p, N_LIST, T_RBRACKET);
    case T_LBRACE:
        return parse_display(p, N_DICT, T_RBRACE);
    default:
        return fail_unexpected(p, "unexpected '%s'");
    }
}

static bool tuple_ends(parser *p, const char *end)
{
    return jinja_at(p, T_VARIABLE_END) || jinja_at(p, T_BLOCK_END) || jinja_at(p, T_RPAREN) ||
           (end && jinja_at_name(p, end));
}

node *jinja_parse_tuple(parser *p, unsigned mode, const char *end)
{
    token *at = jinja_peek(p);
    node *tuple = jinja_node(p, N_TUPLE, at);
    uint32_t capacity = 0;
    bool comma = false;
    while (tuple) {
        if (tuple->items.n && !jinja_expect(p, T_COMMA)) {
            return NULL;
        }
        if (tuple_ends(p, end)) {
            break;
        }
        node *item = mode & TUPLE_TARGET ? parse_primary(p, (mode & TUPLE_NAMESPACE) != 0)
                                         : jinja_parse_expression(p, !(mode & TUPLE_NO_CONDITION));
        if (!item || !jinja_push(p, &tuple->items, &capacity, item)) {
            return NULL;
        }
        if (!jinja_at(p, T_COMMA)) {
            break;
        }
        comma = true;
    }
    if (tuple && !comma) {
        if (tuple->items.n) {
            return tuple->items.v[0];
        }
        if (!(mode & TUPLE_PARENTHESES)) {
            return fail_unexpected(p, "Expected an expression, got '%s'");
        }
    }
    return tuple;
}

static bool assignable(const node *n)
{
    if (n->kind == N_TUPLE || n->kind == N_LIST) {
        for (uint32_t i = 0; i < n->items.n; i++) {
            if (!assignable(n->items.v[i])) {
                return false;
            }
        }
        return n->kind == N_TUPLE;
    }
    return n->kind == N_NAME || n->kind == N_NSREF;
}

node *jinja_parse_target(parser *p, bool name_only, const char *end, bool with_namespace)
{
    token *at = jinja_peek(p);
    node *n = NULL;
    if (!name_only) {
        n = jinja_parse_tuple(p, TUPLE_TARGET | (with_namespace ? TUPLE_NAMESPACE : 0u), end);
    } else if (jinja_expect(p, T_NAME)) {
        p->at--;
        n = parse_name(p, false);
    }
    if (n && !assignable(n)) {
        return fail_at(p, at, "can't assign to this expression");
    }
    return n;
}
