/* Statements, and what the parser's files share. */
#include "lang/jinja_ast.h"
#include "lang/jinja_run.h"

#include <stdarg.h>
#include <stdlib.h>

enum { MAX_PARSE_DEPTH = 200 };

const char *jinja_error_kind_name(jinja_error_kind kind)
{
    static const char *const names[] = {
        [JINJA_NO_ERROR] = "",
        [JINJA_SYNTAX_ERROR] = "TemplateSyntaxError",
        [JINJA_ASSERTION_ERROR] = "TemplateAssertionError",
        [JINJA_RUNTIME_ERROR] = "TemplateRuntimeError",
        [JINJA_RAISED] = "TemplateError",
        [JINJA_UNDEFINED_ERROR] = "UndefinedError",
        [JINJA_SECURITY_ERROR] = "SecurityError",
        [JINJA_FILTER_ARGUMENT_ERROR] = "FilterArgumentError",
        [JINJA_TYPE_ERROR] = "TypeError",
        [JINJA_VALUE_ERROR] = "ValueError",
        [JINJA_KEY_ERROR] = "KeyError",
        [JINJA_INDEX_ERROR] = "IndexError",
        [JINJA_ATTRIBUTE_ERROR] = "AttributeError",
        [JINJA_ZERO_DIVISION_ERROR] = "ZeroDivisionError",
        [JINJA_OVERFLOW_ERROR] = "OverflowError",
        [JINJA_PYTHON_RUNTIME_ERROR] = "RuntimeError",
        [JINJA_PYTHON_SYNTAX_ERROR] = "SyntaxError",
        [JINJA_PYTHON_ASSERTION_ERROR] = "AssertionError",
        [JINJA_LIMIT] = "LimitError",
        [JINJA_UNSUPPORTED] = "UnsupportedError",
        [JINJA_NO_MEMORY] = "MemoryError",
    };
    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "";
}

bool jinja_parse_fail(parser *p, jinja_error_kind kind, uint32_t line, uint32_t column, const char *fmt, ...)
{
    if (p->fault->kind == JINJA_NO_ERROR) {
        va_list args;
        va_start(args, fmt);
        *p->fault = (jinja_fault){.kind = kind, .line = line, .column = column};
        vsnprintf(p->fault->message, sizeof p->fault->message, fmt, args);
        va_end(args);
    }
    return false;
}

bool jinja_no_memory(parser *p)
{
    return jinja_parse_fail(p, JINJA_NO_MEMORY, 1, 1, "out of memory");
}

static bool syntax(parser *p, const token *t, const char *message)
{
    return jinja_parse_fail(p, JINJA_SYNTAX_ERROR, t->line, t->column, "%s", message);
}

bool jinja_deeper(parser *p)
{
    const token *t = jinja_peek(p);
    if (p->depth >= MAX_PARSE_DEPTH) {
        return jinja_parse_fail(p, JINJA_LIMIT, t->line, t->column, "nested deeper than %d levels", MAX_PARSE_DEPTH);
    }
    p->depth++;
    return true;
}

token *jinja_peek(parser *p)
{
    return &p->tokens[p->at];
}

token *jinja_peek_next(parser *p)
{
    return &p->tokens[p->at + 1 < p->n_tokens ? p->at + 1 : p->at];
}

/* The end of the template stays the current token. */
token *jinja_take(parser *p)
{
    token *t = &p->tokens[p->at];
    p->at += p->at + 1 < p->n_tokens;
    return t;
}

bool jinja_at(parser *p, token_kind kind)
{
    return p->tokens[p->at].kind == kind;
}

bool jinja_at_name(parser *p, const char *name)
{
    const token *t = &p->tokens[p->at];
    return t->kind == T_NAME && str_equals(t->constant.as.s, name);
}

bool jinja_skip(parser *p, token_kind kind)
{
    bool found = jinja_at(p, kind);
    if (found) {
        jinja_take(p);
    }
    return found;
}

bool jinja_skip_name(parser *p, const char *name)
{
    bool found = jinja_at_name(p, name);
    if (found) {
        jinja_take(p);
    }
    return found;
}

static void describe(const token *t, char out[80])
{
    if (t->kind == T_NAME) {
        snprintf(out, 80, "%.*s", JINJA_TEXT(t->constant.as.s));
    } else {
        snprintf(out, 80, "%s", jinja_token_name(t->kind));
    }
}

static void fail_expected(parser *p, const char *expected)
{
    const token *t = jinja_peek(p);
    char got[80];
    describe(t, got);
    if (t->kind == T_EOF) {
        jinja_parse_fail(p, JINJA_SYNTAX_ERROR, t->line, t->column, "unexpected end of template, expected '%s'.",
                         expected);
    } else {
        jinja_parse_fail(p, JINJA_SYNTAX_ERROR, t->line, t->column, "expected token '%s', got '%s'", expected, got);
    }
}

token *jinja_expect(parser *p, token_kind kind)
{
    if (jinja_at(p, kind)) {
        return jinja_take(p);
    }
    fail_expected(p, jinja_token_name((uint8_t)kind));
    return NULL;
}

bool jinja_expect_name(parser *p, const char *name)
{
    if (jinja_skip_name(p, name)) {
        return true;
    }
    fail_expected(p, name);
    return false;
}

node *jinja_node(parser *p, node_kind kind, const token *at)
{
    node *n = ARENA_NEW(&p->t->memory, node);
    if (!n) {
        jinja_no_memory(p);
        return NULL;
    }
    n->kind = (uint8_t)kind;
    n->line = at->line;
    n->column = at->column;
    return n;
}

bool jinja_push(parser *p, node_list *l, uint32_t *capacity, node *n)
{
    if (l->n == *capacity) {
        uint32_t wanted = *capacity ? *capacity * 2 : 4;
        node **v = wanted > *capacity ? ARENA_ARRAY(&p->t->memory, node *, wanted) : NULL;
        if (!v) {
            return jinja_no_memory(p);
        }
        if (l->n) {
            memcpy(v, l->v, l->n * sizeof *v);
        }
        l->v = v;
        *capacity = wanted;
    }
    l->v[l->n++] = n;
    return true;
}

bool jinja_symbol(parser *p, const str *name, uint32_t *out)
{
    jinja_template *t = p->t;
    for (uint32_t i = 0; i < t->n_symbols; i++) {
        const str *s = t->symbols[i].as.s;
        if (s->size == name->size && memcmp(s->data, name->data, s->size) == 0) {
            *out = i;
            return true;
        }
    }
    if (t->n_symbols == p->symbol_capacity) {
        uint32_t capacity = p->symbol_capacity ? p->symbol_capacity * 2 : 32;
        value *symbols = ARENA_ARRAY(&t->memory, value, capacity);
        if (!symbols) {
            return jinja_no_memory(p);
        }
        if (t->n_symbols) {
            memcpy(symbols, t->symbols, t->n_symbols * sizeof *symbols);
        }
        t->symbols = symbols;
        p->symbol_capacity = capacity;
    }
    *out = t->n_symbols;
    t->symbols[t->n_symbols++] = VALUE_STR(name);
    return true;
}

static bool parse_body(parser *p, node_list *out, const char *const *ends);

/* The rest of an opening tag, then the body up to one of `ends`, which stays the current token. */
static bool parse_block(parser *p, node_list *out, const char *const *ends)
{
    jinja_skip(p, T_COLON);
    return jinja_expect(p, T_BLOCK_END) && parse_body(p, out, ends);
}

/* The same with a single end, which is taken. */
static bool parse_until(parser *p, node_list *out, const char *end)
{
    const char *const ends[] = {end, NULL};
    if (!parse_block(p, out, ends)) {
        return false;
    }
    jinja_take(p);
    return true;
}

static node *parse_set(parser *p, const token *at)
{
    node *n = jinja_node(p, N_SET, at);
    if (!n || !(n->a = jinja_parse_target(p, false, NULL, true))) {
        return NULL;
    }
    if (jinja_skip(p, T_ASSIGN)) {
        n->b = jinja_parse_tuple(p, 0, NULL);
        return n->b ? n : NULL;
    }
    n->kind = N_SET_BLOCK;
    if (jinja_at(p, T_PIPE) && !(n->b = jinja_parse_filters(p, NULL, false))) {
        return NULL;
    }
    return parse_until(p, &n->body, "endset") ? n : NULL;
}

static node *parse_for(parser *p, const token *at)
{
    static const char *const ends[] = {"endfor", "else", NULL};
    node *n = jinja_node(p, N_FOR, at);
    if (!n || !(n->a = jinja_parse_target(p, false, "in", false)) || !jinja_expect_name(p, "in") ||
        !(n->b = jinja_parse_tuple(p, TUPLE_NO_CONDITION, "recursive"))) {
        return NULL;
    }
    if (jinja_skip_name(p, "if") && !(n->c = jinja_parse_expression(p, true))) {
        return NULL;
    }
    n->flags = jinja_skip_name(p, "recursive");
    if (!parse_block(p, &n->body, ends)) {
        return NULL;
    }
    if (jinja_skip_name(p, "endfor")) {
        return n;
    }
    jinja_take(p);
    return parse_until(p, &n->other, "endfor") ? n : NULL;
}

/* An elif becomes the only statement of the else branch. */
static node *parse_if(parser *p, const token *at)
{
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    node *first = NULL, *previous = NULL;
    for (;;) {
        node *n = jinja_node(p, N_IF, at);
        uint32_t capacity = 0;
        if (!n || !(n->a = jinja_parse_tuple(p, TUPLE_NO_CONDITION, NULL)) || !parse_block(p, &n->body, ends) ||
            (previous && !jinja_push(p, &previous->other, &capacity, n))) {
            return NULL;
        }
        first = first ? first : n;
        previous = n;
        at = jinja_peek(p);
        if (jinja_skip_name(p, "elif")) {
            continue;
        }
        if (jinja_skip_name(p, "else")) {
            return parse_until(p, &n->other, "endif") ? first : NULL;
        }
        jinja_take(p);
        return first;
    }
}

static node *parse_with(parser *p, const token *at)
{
    node *n = jinja_node(p, N_WITH, at);
    uint32_t targets = 0, values = 0;
    while (n && !jinja_at(p, T_BLOCK_END)) {
        if (n->items.n && !jinja_expect(p, T_COMMA)) {
            return NULL;
        }
        node *target = jinja_parse_target(p, false, NULL, false), *v;
        if (!target || !jinja_expect(p, T_ASSIGN) || !(v = jinja_parse_expression(p, true)) ||
            !jinja_push(p, &n->items, &targets, target) || !jinja_push(p, &n->other, &values, v)) {
            return NULL;
        }
    }
    return n && parse_until(p, &n->body, "endwith") ? n : NULL;
}

/* (a, b=1): names into items; `other` has the last names' defaults. */
static bool parse_signature(parser *p, node *n)
{
    uint32_t names = 0, defaults = 0;
    if (!jinja_expect(p, T_LPAREN)) {
        return false;
    }
    while (!jinja_at(p, T_RPAREN)) {
        if (n->items.n && !jinja_expect(p, T_COMMA)) {
            return false;
        }
        node *name = jinja_parse_target(p, true, NULL, false), *v;
        if (!name || !jinja_push(p, &n->items, &names, name)) {
            return false;
        }
        if (jinja_skip(p, T_ASSIGN)) {
            if (!(v = jinja_parse_expression(p, true)) || !jinja_push(p, &n->other, &defaults, v)) {
                return false;
            }
        } else if (n->other.n) {
            return syntax(p, jinja_peek(p), "non-default argument follows default argument");
        }
    }
    jinja_take(p);
    return true;
}

static node *parse_macro(parser *p, const token *at)
{
    node *n = jinja_node(p, N_MACRO, at);
    node *name = n ? jinja_parse_target(p, true, NULL, false) : NULL;
    if (!name) {
        return NULL;
    }
    n->symbol = name->symbol;
    n->constant = name->constant;
    return parse_signature(p, n) && parse_until(p, &n->body, "endmacro") ? n : NULL;
}

static node *parse_call_block(parser *p, const token *at)
{
    node *n = jinja_node(p, N_CALL_BLOCK, at);
    if (!n || (jinja_at(p, T_LPAREN) && !parse_signature(p, n)) || !(n->a = jinja_parse_expression(p, true))) {
        return NULL;
    }
    if (n->a->kind != N_CALL) {
        syntax(p, at, "expected call");
        return NULL;
    }
    return parse_until(p, &n->body, "endcall") ? n : NULL;
}

static node *parse_filter_block(parser *p, const token *at)
{
    node *n = jinja_node(p, N_FILTER_BLOCK, at);
    return n && (n->a = jinja_parse_filters(p, NULL, true)) && parse_until(p, &n->body, "endfilter") ? n : NULL;
}

static node *parse_named_block(parser *p, const token *at)
{
    node *n = jinja_node(p, N_BLOCK, at);
    token *name = n ? jinja_expect(p, T_NAME) : NULL;
    if (!name || !jinja_symbol(p, name->constant.as.s, &n->symbol)) {
        return NULL;
    }
    n->constant = name->constant;
    n->flags = jinja_skip_name(p, "scoped");
    if (jinja_skip_name(p, "required")) {
        jinja_parse_fail(p, JINJA_UNSUPPORTED, at->line, at->column, "a required block needs template inheritance");
        return NULL;
    }
    if (!parse_until(p, &n->body, "endblock")) {
        return NULL;
    }
    if (jinja_at(p, T_NAME) && jinja_peek(p)->constant.as.s->size == name->constant.as.s->size &&
        memcmp(jinja_peek(p)->constant.as.s->data, name->constant.as.s->data, name->constant.as.s->size) == 0) {
        jinja_take(p);
    }
    return n;
}

static node *parse_generation(parser *p, const token *at)
{
    node *n = jinja_node(p, N_SCOPE, at);
    if (n) {
        n->flags = 1; /* a function of its own in jinja2: no break or continue out of it */
    }
    return n && parse_until(p, &n->body, "endgeneration") ? n : NULL;
}

static node *parse_autoescape(parser *p, const token *at)
{
    node *n = jinja_node(p, N_SCOPE, at), *on = n ? jinja_parse_expression(p, true) : NULL;
    if (!on) {
        return NULL;
    }
    if (on->kind != N_CONST || on->constant.kind != V_BOOL || on->constant.as.b) {
        jinja_parse_fail(p, JINJA_UNSUPPORTED, at->line, at->column, "autoescape is only supported as 'false'");
        return NULL;
    }
    return parse_until(p, &n->body, "endautoescape") ? n : NULL;
}

static node *parse_print(parser *p, const token *at)
{
    node *n = jinja_node(p, N_SCOPE, at);
    uint32_t capacity = 0;
    if (n) {
        n->flags = 2; /* no scope */
    }
    while (n && !jinja_at(p, T_BLOCK_END)) {
        if (n->body.n && !jinja_expect(p, T_COMMA)) {
            return NULL;
        }
        node *output = jinja_node(p, N_OUTPUT, jinja_peek(p));
        if (!output || !(output->a = jinja_parse_expression(p, true)) || !jinja_push(p, &n->body, &capacity, output)) {
            return NULL;
        }
    }
    return n;
}

static node *parse_break(parser *p, const token *at)
{
    return jinja_node(p, N_BREAK, at);
}

static node *parse_continue(parser *p, const token *at)
{
    return jinja_node(p, N_CONTINUE, at);
}

static node *refuse(parser *p, const token *at)
{
    jinja_parse_fail(p, JINJA_UNSUPPORTED, at->line, at->column,
                     "'%.*s' is not supported: a chat template is one text without other templates",
                     JINJA_TEXT(at->constant.as.s));
    return NULL;
}

static const struct {
    const char *name;
    node *(*parse)(parser *p, const token *at);
} statements[] = {
    {"set", parse_set},
    {"for", parse_for},
    {"if", parse_if},
    {"with", parse_with},
    {"macro", parse_macro},
    {"call", parse_call_block},
    {"filter", parse_filter_block},
    {"block", parse_named_block},
    {"generation", parse_generation},
    {"autoescape", parse_autoescape},
    {"print", parse_print},
    {"break", parse_break},
    {"continue", parse_continue},
    {"include", refuse},
    {"import", refuse},
    {"from", refuse},
    {"extends", refuse},
};

static bool fail_unknown_tag(parser *p, const token *t, const char *const *ends)
{
    char looking[120] = "";
    for (size_t i = 0; ends && ends[i]; i++) {
        size_t n = strlen(looking);
        snprintf(looking + n, sizeof looking - n, "%s'%s'", i ? " or " : "", ends[i]);
    }
    const char *open = p->n_tags ? p->tags[p->n_tags - 1 < 63 ? p->n_tags - 1 : 63] : NULL;
    char what[100] = "Unexpected end of template.";
    if (t->kind != T_EOF) {
        snprintf(what, sizeof what, "Encountered unknown tag '%.*s'.", JINJA_TEXT(t->constant.as.s));
    }
    return jinja_parse_fail(p, JINJA_SYNTAX_ERROR, t->line, t->column, "%s%s%s%s%s%s%s", what,
                            looking[0] ? " Jinja was looking for the following tags: " : "", looking,
                            looking[0] ? "." : "", open ? " The innermost block that needs to be closed is '" : "",
                            open ? open : "", open ? "'." : "");
}

static node *parse_statement(parser *p, const char *const *ends)
{
    token *t = jinja_peek(p);
    if (t->kind != T_NAME) {
        syntax(p, t, "tag name expected");
        return NULL;
    }
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        if (str_equals(t->constant.as.s, statements[i].name)) {
            jinja_take(p);
            if (p->n_tags < 64) {
                p->tags[p->n_tags] = statements[i].name;
            }
            p->n_tags++;
            node *n = jinja_deeper(p) ? statements[i].parse(p, t) : NULL;
            p->depth--;
            p->n_tags--;
            return n;
        }
    }
    fail_unknown_tag(p, t, ends);
    return NULL;
}

static bool at_end(parser *p, const char *const *ends)
{
    for (size_t i = 0; ends && ends[i]; i++) {
        if (jinja_at_name(p, ends[i])) {
            return true;
        }
    }
    return false;
}

/* Statements and text up to a tag of `ends`, or to the end of the template if that is NULL. */
static bool parse_body(parser *p, node_list *out, const char *const *ends)
{
    uint32_t capacity = 0;
    for (;;) {
        token *t = jinja_take(p);
        node *n = NULL;
        switch (t->kind) {
        case T_EOF:
            return !ends || fail_unknown_tag(p, t, ends);
        case T_DATA:
            n = jinja_node(p, N_DATA, t);
            if (n) {
                n->constant = t->constant;
            }
            break;
        case T_VARIABLE_BEGIN:
            n = jinja_node(p, N_OUTPUT, t);
            if (n && (!(n->a = jinja_parse_tuple(p, 0, NULL)) || !jinja_expect(p, T_VARIABLE_END))) {
                return false;
            }
            break;
        default: /* the lexer leaves only T_BLOCK_BEGIN here */
            if (at_end(p, ends)) {
                return true;
            }
            n = parse_statement(p, ends);
            if (n && !jinja_expect(p, T_BLOCK_END)) {
                return false;
            }
        }
        if (!n || !jinja_push(p, out, &capacity, n)) {
            return false;
        }
    }
}

static lithe_status report(const jinja_fault *fault, lithe_error *err)
{
    lithe_status status = fault->kind == JINJA_NO_MEMORY     ? LITHE_E_MEMORY
                          : fault->kind == JINJA_UNSUPPORTED ? LITHE_E_UNSUPPORTED
                                                             : LITHE_E_FORMAT;
    return error_set(err, status, "template line %u, column %u: %s: %s", fault->line, fault->column,
                     jinja_error_kind_name(fault->kind), fault->message);
}

lithe_status jinja_parse(jinja_template **out, bytes source, jinja_fault *fault, lithe_error *err)
{
    jinja_fault own = {0};
    jinja_template *t = calloc(1, sizeof *t);
    *out = NULL;
    if (fault) {
        *fault = own;
    }
    if (!t) {
        return error_memory(err, sizeof *t, "a template");
    }
    arena_init(&t->memory, 0);
    parser p = {.t = t, .fault = &own};
    bool ok = jinja_lex(&p, source) && parse_body(&p, &t->body, NULL) && jinja_check(&p);
    free(p.tokens);
    if (ok) {
        *out = t;
        return LITHE_OK;
    }
    jinja_free(t);
    if (fault) {
        *fault = own;
    }
    return report(&own, err);
}

void jinja_free(jinja_template *t)
{
    if (t) {
        arena_fini(&t->memory);
        free(t);
    }
}

bool jinja_mentions(const jinja_template *t, const char *name)
{
    for (uint32_t i = 0; i < t->n_symbols; i++) {
        if (str_equals(t->symbols[i].as.s, name)) {
            return true;
        }
    }
    return false;
}
