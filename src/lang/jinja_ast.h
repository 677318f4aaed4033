/* The parsed template. */
#ifndef LITHE_LANG_JINJA_AST_H
#define LITHE_LANG_JINJA_AST_H

#include "base/arena.h"
#include "lang/jinja_value.h"

#include <stdio.h>

typedef enum node_kind {
    /* expressions */
    N_CONST,  /* constant */
    N_NAME,   /* symbol */
    N_NSREF,  /* symbol . constant, as the target of an assignment */
    N_TUPLE,  /* items */
    N_LIST,   /* items */
    N_DICT,   /* items: keys and values in turn */
    N_ATTR,   /* a . constant */
    N_ITEM,   /* a [ b ] */
    N_SLICE,  /* a : b : c, any may be NULL; only inside N_ITEM */
    N_CALL,   /* a ( args ) */
    N_FILTER, /* a | constant ( args ); a is NULL at the head of a filter block */
    N_TEST,   /* a is constant ( args ) */
    N_NOT,
    N_NEG,
    N_POS,
    N_BINARY, /* a op b */
    N_AND,
    N_OR,
    N_COMPARE, /* a, then items with ops */
    N_CONCAT,  /* items */
    N_COND,    /* b if a else c */
    /* statements */
    N_DATA,         /* constant */
    N_OUTPUT,       /* a */
    N_SET,          /* a = b */
    N_SET_BLOCK,    /* a = body, through the filters b */
    N_FOR,          /* for a in b if c: body, else other; flag: recursive */
    N_IF,           /* if a: body, else other */
    N_WITH,         /* items = other: body */
    N_MACRO,        /* symbol ( items = other ): body */
    N_CALL_BLOCK,   /* call a with a macro of items = other: body */
    N_FILTER_BLOCK, /* body through a */
    N_BLOCK,        /* symbol: body; flag: scoped */
    N_SCOPE,        /* body: generation, autoescape false */
    N_BREAK,
    N_CONTINUE
} node_kind;

/* Operators of N_BINARY and N_COMPARE. */
typedef enum operator_kind {
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_FLOORDIV,
    OP_MOD,
    OP_POW,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_IN,
    OP_NOT_IN
} operator_kind;

/* Of N_MACRO and N_CALL_BLOCK: names that the body uses. */
enum { MACRO_VARARGS = 1, MACRO_KWARGS = 2, MACRO_CALLER = 4 };

typedef struct node node;
typedef struct node_list {
    node **v;
    uint32_t n;
} node_list;

typedef struct call_args {
    node_list positional, keywords; /* of keywords: the values */
    value *names;                   /* [keywords.n] */
    node *star, *star_star;         /* may be NULL */
} call_args;

struct node {
    uint8_t kind;  /* node_kind */
    uint8_t flags; /* recursive, scoped, MACRO_* */
    uint32_t line, column;
    uint32_t symbol;
    node *a, *b, *c;
    node_list items, body, other;
    uint8_t *ops;          /* [items.n] of N_COMPARE; ops[0] of N_BINARY */
    const call_args *args; /* NULL: none were written */
    const builtin *fn;     /* of N_FILTER and N_TEST; NULL: unknown, an error when reached */
    value constant;
};

struct jinja_template {
    arena memory;
    node_list body;
    value *symbols; /* [n_symbols]: names of variables */
    uint32_t n_symbols;
};

/* Steps of parsing. The lexer gives tokens, the parser the tree, the check what jinja2's compiler would refuse. */
typedef enum token_kind {
    T_EOF,
    T_DATA,
    T_VARIABLE_BEGIN,
    T_VARIABLE_END,
    T_BLOCK_BEGIN,
    T_BLOCK_END,
    T_NAME,
    T_STRING,
    T_INTEGER,
    T_FLOAT,
    T_ADD,
    T_SUB,
    T_MUL,
    T_DIV,
    T_FLOORDIV,
    T_MOD,
    T_POW,
    T_TILDE,
    T_LBRACKET,
    T_RBRACKET,
    T_LPAREN,
    T_RPAREN,
    T_LBRACE,
    T_RBRACE,
    T_EQ,
    T_NE,
    T_GT,
    T_GE,
    T_LT,
    T_LE,
    T_ASSIGN,
    T_DOT,
    T_COLON,
    T_PIPE,
    T_COMMA,
    T_SEMICOLON,
    N_TOKEN_KINDS
} token_kind;

typedef struct token {
    uint8_t kind;
    uint32_t line, column;
    value constant; /* text of names, data and strings; value of numbers */
} token;

typedef struct parser {
    jinja_template *t;
    token *tokens; /* ends with T_EOF */
    size_t n_tokens, at;
    uint32_t depth, symbol_capacity;
    const char *tags[64]; /* innermost open tags */
    uint32_t n_tags;
    jinja_fault *fault;
} parser;

bool jinja_lex(parser *p, bytes source);
/* How messages call a token kind: "end of print statement". */
const char *jinja_token_name(uint8_t kind);
bool jinja_parse_fail(parser *p, jinja_error_kind kind, uint32_t line, uint32_t column, const char *fmt, ...)
    LITHE_PRINTF(5, 6);

/* Expressions; NULL after an error. */
typedef enum tuple_mode {
    TUPLE_NO_CONDITION = 1,
    TUPLE_TARGET = 2,
    TUPLE_PARENTHESES = 4,
    TUPLE_NAMESPACE = 8
} tuple_mode;
node *jinja_parse_expression(parser *p, bool with_condition);
/* Several with commas make a tuple. `end` is a name that ends it, or NULL. */
node *jinja_parse_tuple(parser *p, unsigned mode, const char *end);
node *jinja_parse_filters(parser *p, node *operand, bool start_inline);
node *jinja_parse_target(parser *p, bool name_only, const char *end, bool with_namespace);

/* Shared by the parser's files. */
token *jinja_peek(parser *p);
token *jinja_peek_next(parser *p);
token *jinja_take(parser *p);
bool jinja_at(parser *p, token_kind kind);
bool jinja_at_name(parser *p, const char *name);
bool jinja_skip(parser *p, token_kind kind);
bool jinja_skip_name(parser *p, const char *name);
token *jinja_expect(parser *p, token_kind kind);
bool jinja_expect_name(parser *p, const char *name);
node *jinja_node(parser *p, node_kind kind, const token *at);
bool jinja_symbol(parser *p, const str *name, uint32_t *out);
bool jinja_push(parser *p, node_list *l, uint32_t *capacity, node *n);
bool jinja_deeper(parser *p);
bool jinja_no_memory(parser *p);
/* A C string in a message: at most 60 characters of it. */
#define JINJA_TEXT(s) (int)((s)->size < 60 ? (s)->size : 60), (s)->data

bool jinja_check(parser *p);

#endif
