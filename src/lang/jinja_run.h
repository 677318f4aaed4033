/* One rendering. */
#ifndef LITHE_LANG_JINJA_RUN_H
#define LITHE_LANG_JINJA_RUN_H

#include "lang/jinja_ast.h"

/* Variables of one block, innermost first in the chain. */
typedef struct variable {
    uint32_t symbol;
    value value;
} variable;

typedef struct scope {
    struct scope *parent;
    variable *v;
    uint32_t n, capacity;
} scope;

struct macro {
    const node *definition;
    scope *scope;    /* where it was defined */
    const str *name; /* NULL: the body of a call block */
};

/* A loop that runs, as the template's `loop` sees it. Items that a filter refuses are passed over when the next is asked for. */
struct loop_state {
    const node *definition;
    scope *scope; /* around the loop */
    list source;
    size_t next; /* in source */
    list passed; /* filtered ahead, for loop.length */
    size_t passed_next;
    bool drained;
    int64_t index0, length; /* length < 0: not known */
    int64_t depth0;
    value current, before, ahead, changed;
    bool has_ahead, completed; /* an iteration came to its end */
    iterator *feed;            /* the source is an iterator that others may use too */
};

/* Arguments of a call as written. */
struct arguments {
    value *v;
    size_t n;
    value *names, *named; /* [n_named] */
    size_t n_named;
};

/* A filter, test, method or function. `params` lists parameter names separated by spaces: "?x" may be left out, a leading "/"
 * says that keywords are not taken, "*" leaves all arguments to the function. */
typedef bool builtin_fn(jinja_run *r, value self, const value *a, const arguments *all, value *out);
struct builtin {
    const char *name;
    builtin_fn *fn;
    const char *params;
    const char *lazy; /* the type of iterator that stands for the result until it is needed, or NULL */
};
enum { MAX_PARAMS = 8 };

enum { SPECIAL_LOOP, SPECIAL_CALLER, SPECIAL_VARARGS, SPECIAL_KWARGS, N_SPECIAL };

struct jinja_run {
    const jinja_template *t;
    arena memory;
    jinja_options options;
    uint64_t steps;
    uint32_t depth;
    uint64_t written;
    const node *at; /* for errors */
    value *context; /* [n_symbols]: the variables given */
    scope *scope, *root;
    uint32_t special[N_SPECIAL]; /* symbols of names that blocks define; UINT32_MAX: not used */
    buffer *out;
    jinja_fault fault;
};

/* Sets the run's error at the current node; returns false, so that it can end a function. */
bool jinja_raise(jinja_run *r, jinja_error_kind kind, const char *fmt, ...) LITHE_PRINTF(3, 4);
bool jinja_raise_undefined(jinja_run *r, const undefined *u);
bool jinja_step(jinja_run *r, uint64_t n);
/* Around recursion over values or nodes: enter may fail; leave after success. */
bool jinja_enter(jinja_run *r);
void jinja_leave(jinja_run *r);

/* Evaluation. */
bool jinja_eval(jinja_run *r, const node *n, value *out);
typedef enum flow { FLOW_FAIL, FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE } flow;
flow jinja_exec(jinja_run *r, const node_list *body);
bool jinja_assign(jinja_run *r, const node *target, value v);
bool jinja_bind(jinja_run *r, scope *s, uint32_t symbol, value v);
bool jinja_lookup(jinja_run *r, uint32_t symbol, value *out); /* V_MISSING if there is none */
scope *jinja_scope(jinja_run *r, scope *parent);
/* The text of a body; what it wrote before an error is dropped. */
flow jinja_capture(jinja_run *r, const node_list *body, value *out);
bool jinja_write(jinja_run *r, const char *data, size_t size);

/* Loops. */
flow jinja_exec_for(jinja_run *r, const node *n);
bool jinja_loop_attr(jinja_run *r, loop_state *l, const str *name, value *out);
bool jinja_loop_call(jinja_run *r, loop_state *l, const arguments *args, value *out);

/* Calls. */
bool jinja_eval_args(jinja_run *r, const call_args *written, arguments *out);
bool jinja_call(jinja_run *r, value fn, const arguments *args, value *out);
bool jinja_call_builtin(jinja_run *r, const builtin *fn, value self, const arguments *args, value *out);
bool jinja_call_macro(jinja_run *r, const macro *m, const arguments *args, value *out);
bool jinja_exec_call_block(jinja_run *r, const node *n);
bool jinja_apply_filters(jinja_run *r, const node *filters, value operand, value *out);
/* Items of an iterator that are not made yet. */
bool jinja_iterator_fill(jinja_run *r, iterator *it);

/* Operators and subscripts. */
bool jinja_binary(jinja_run *r, operator_kind op, value a, value b, value *out);
bool jinja_relation(jinja_run *r, operator_kind op, value a, value b, bool *out);
bool jinja_getattr(jinja_run *r, value object, value name, value *out);
bool jinja_getitem(jinja_run *r, value object, value key, value *out);
/* A bound method, if the type has one of this name; else V_MISSING. */
bool jinja_find_method(jinja_run *r, value self, const str *name, value *out);
bool jinja_slice(jinja_run *r, value object, value from, value to, value step, value *out);

/* Text. */
bool jinja_to_string(jinja_run *r, value v, value *out);
bool jinja_print(jinja_run *r, value v, buffer *out); /* str() */
bool jinja_repr(jinja_run *r, value v, buffer *out);
void jinja_repr_string(const char *s, size_t n, buffer *out);
void jinja_print_float(double f, buffer *out); /* as Python's repr */
/* repr cut to what fits a message. */
const char *jinja_brief(jinja_run *r, value v, char out[80]);
bool jinja_to_json(jinja_run *r, value v, const value *a,
                   value *out); /* a: ensure_ascii, indent, separators, sort_keys */
bool jinja_percent(jinja_run *r, const str *format, value args, value *out);
bool jinja_format(jinja_run *r, const str *format, const arguments *args, value *out);
bool jinja_strftime(jinja_run *r, const str *format, value *out);
bool jinja_escape(jinja_run *r, const str *s, value *out);
/* Ends a function that wrote to a buffer: takes the text if `ok`, and releases the buffer. */
bool jinja_finish(jinja_run *r, bool ok, buffer *b, value *out);

/* Numbers. int(text) in a base (0: as written) and float(text), as Python reads them; false without an error if it is none. */
bool jinja_parse_int(const char *s, size_t n, int base, int64_t *out, bool *overflow);
bool jinja_parse_float(const char *s, size_t n, double *out);
double jinja_round(double v, int64_t digits);
void jinja_fixed(double v, char conversion, int precision, bool alternate,
                 buffer *out);                            /* printf's %e %f %g, with a point */
bool jinja_to_index(jinja_run *r, value v, int64_t *out); /* an int, else a TypeError */

/* Characters (utf8proc's tables). */
bool jinja_is_space(uint32_t c);
bool jinja_is_word(uint32_t c); /* \w */
bool jinja_is_identifier(const char *s, size_t n);
bool jinja_is_printable(uint32_t c);
void jinja_upper(const char *s, size_t n, buffer *out);
void jinja_lower(const char *s, size_t n, buffer *out);
void jinja_capitalize(const char *s, size_t n, buffer *out);
void jinja_title(const char *s, size_t n, buffer *out);
void jinja_swapcase(const char *s, size_t n, buffer *out);
void jinja_casefold(const char *s, size_t n, buffer *out);
typedef enum char_class {
    IS_ALPHA,
    IS_ALNUM,
    IS_DECIMAL,
    IS_DIGIT,
    IS_NUMERIC,
    IS_LOWER,
    IS_UPPER,
    IS_TITLE
} char_class;
bool jinja_char_is(char_class c, uint32_t code_point);

/* Tables. */
const builtin *jinja_find_filter(const str *name);
const builtin *jinja_find_test(const str *name);
const builtin *jinja_find_global(const str *name);
const builtin *jinja_find_str_method(const str *name);

/* An attribute by a path like "function.name" or 0, as the filters with attribute= take it. */
bool jinja_attribute_path(jinja_run *r, value item, value path, value fallback, value *out);
/* Stable; `keys[i]` orders items[i]. */
bool jinja_sort(jinja_run *r, value *items, value *keys, size_t n, bool reverse);

#endif
