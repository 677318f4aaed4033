/* Values as Python sees them. All live in the arena of one rendering (constants in the template's) and never change once another
 * value can see them; only namespaces and cells of loops do. */
#ifndef LITHE_LANG_JINJA_VALUE_H
#define LITHE_LANG_JINJA_VALUE_H

#include "lang/jinja.h"

typedef enum value_kind {
    V_MISSING, /* no value: an argument not given */
    V_UNDEFINED,
    V_NONE,
    V_BOOL,
    V_INT,
    V_FLOAT,
    V_STRING,
    V_LIST,
    V_TUPLE,
    V_DICT,
    V_VIEW, /* keys, values or items of a dict */
    V_RANGE,
    V_ITERATOR, /* can be gone through once */
    V_NAMESPACE,
    V_MACRO,
    V_LOOP,
    V_FUNCTION,
    V_METHOD,
    V_CYCLER,
    V_JOINER,
    V_BLOCK,
    N_VALUE_KINDS
} value_kind;

typedef struct jinja_run jinja_run;
typedef struct value value;

typedef struct str {
    const char *data;
    size_t size, chars; /* bytes, code points */
} str;

typedef struct list {
    value *items;
    size_t n, capacity;
} list;

typedef struct dict dict;

/* What is undefined, for the message that its use gives. */
typedef struct undefined {
    jinja_error_kind error;
    const char *hint;  /* the whole message, or NULL */
    const char *owner; /* how the type of the object that lacks it is called, or NULL for a variable */
    const value *name;
} undefined;

typedef enum view_kind { VIEW_KEYS, VIEW_VALUES, VIEW_ITEMS } view_kind;
typedef struct view {
    const dict *of;
    view_kind kind;
} view;

typedef struct range {
    int64_t start, stop, step;
} range;

typedef struct builtin builtin;
typedef struct arguments arguments;

/* Items are made when the first is asked for, as a Python generator would. */
typedef struct iterator {
    const char *type;     /* "generator" */
    const builtin *maker; /* NULL: `items` are there */
    const value *self;
    const arguments *args;
    const value *bound; /* the maker's parameters */
    list items;
    size_t at;
} iterator;

typedef struct name_space {
    dict *members;
} name_space;

typedef struct method {
    const value *self;
    const builtin *fn;
} method;

typedef struct cycler {
    list items;
    size_t at;
} cycler;

typedef struct joiner {
    const str *separator;
    bool used;
} joiner;

typedef struct macro macro;
typedef struct loop_state loop_state;

struct value {
    uint8_t kind;
    bool markup; /* of strings: safe as HTML */
    union {
        bool b;
        int64_t i;
        double f;
        const str *s;
        const list *list; /* lists and tuples */
        const dict *dict;
        const undefined *undefined;
        const view *view;
        const range *range;
        iterator *iterator;
        name_space *name_space;
        macro *macro;
        loop_state *loop;
        const builtin *function;
        const method *method;
        cycler *cycler;
        joiner *joiner;
        const void *any;
    } as;
};

typedef struct dict_entry {
    value key, value;
    uint64_t hash;
} dict_entry;

struct dict {
    dict_entry *entries; /* in the order of insertion */
    size_t n, capacity;
    uint32_t *index; /* [n_index] positions + 1, 0 is free; NULL while there are few entries */
    size_t n_index;
};

#define VALUE_NONE     ((value){.kind = V_NONE})
#define VALUE_MISSING  ((value){.kind = V_MISSING})
#define VALUE_BOOL(x)  ((value){.kind = V_BOOL, .as.b = (x)})
#define VALUE_INT(x)   ((value){.kind = V_INT, .as.i = (x)})
#define VALUE_FLOAT(x) ((value){.kind = V_FLOAT, .as.f = (x)})
#define VALUE_STR(x)   ((value){.kind = V_STRING, .as.s = (x)})
#define VALUE_LIST(x)  ((value){.kind = V_LIST, .as.list = (x)})
#define VALUE_TUPLE(x) ((value){.kind = V_TUPLE, .as.list = (x)})
#define VALUE_DICT(x)  ((value){.kind = V_DICT, .as.dict = (x)})

static inline bool value_is_integer(value v)
{
    return v.kind == V_INT || v.kind == V_BOOL;
}
static inline bool value_is_number(value v)
{
    return value_is_integer(v) || v.kind == V_FLOAT;
}
static inline bool value_is_sequence(value v)
{
    return v.kind == V_LIST || v.kind == V_TUPLE;
}
static inline int64_t value_integer(value v)
{
    return v.kind == V_BOOL ? v.as.b : v.as.i;
}
static inline double value_number(value v)
{
    return v.kind == V_FLOAT ? v.as.f : (double)value_integer(v);
}

/* Python's name of the type: "str", "NoneType". */
const char *jinja_type_name(value v);

/* Making values. False when memory is out or over the limit: the run has the error then. */
void *jinja_alloc(jinja_run *r, size_t n, size_t size);
bool jinja_string(jinja_run *r, const char *data, size_t size, value *out); /* copies */
bool jinja_string_borrow(jinja_run *r, const char *data, size_t size,
                         value *out); /* data must live as long as the run */
bool jinja_string_c(jinja_run *r, const char *literal, value *out);
/* Takes what a buffer holds; the buffer can be released afterwards. */
bool jinja_string_buffer(jinja_run *r, const buffer *b, value *out);
list *jinja_list_new(jinja_run *r, size_t capacity);
bool jinja_list_push(jinja_run *r, list *l, value v);
bool jinja_pair(jinja_run *r, value a, value b, value *out); /* a tuple of two */
dict *jinja_dict_new(jinja_run *r);
/* Replaces the value of an equal key. Fails with a TypeError for a key that cannot be hashed. */
bool jinja_dict_set(jinja_run *r, dict *d, value key, value v);
/* *out is V_MISSING if the key is not there. */
bool jinja_dict_get(jinja_run *r, const dict *d, value key, value *out);
value jinja_dict_find(const dict *d, const char *key, size_t size);
bool jinja_undefined(jinja_run *r, jinja_error_kind kind, const char *hint, const char *owner, value name, value *out);
/* Undefined because `owner` has no such attribute or element. */
bool jinja_undefined_member(jinja_run *r, value owner, value name, value *out);
bool jinja_iterator(jinja_run *r, const char *type, list items, value *out);

/* Truth, equality, order, membership, hashing: Python's. Order and membership can fail. */
bool jinja_truth(value v);
bool jinja_equals(jinja_run *r, value a, value b);
bool jinja_identical(value a, value b);
/* < 0, 0, > 0; fails with a TypeError that names `op` for values without order. NaN: *order is 2, which is none of them. */
bool jinja_compare(jinja_run *r, value a, value b, const char *op, int *order);
bool jinja_contains(jinja_run *r, value container, value item, bool *out);
bool jinja_hash(jinja_run *r, value v, uint64_t *out);
int jinja_str_compare(const str *a, const str *b);

/* All items of something iterable; iterators are used up. The list may be shared: do not change it. */
bool jinja_items(jinja_run *r, value v, list *out);
bool jinja_is_iterable(value v);
/* len(): false for what has none; no error is set. */
bool jinja_length(value v, size_t *out);
size_t jinja_range_length(const range *g);
value jinja_view_item(jinja_run *r, const view *v, size_t i, bool *ok);

/* Bytes of s that hold its code points [from, to). */
bytes jinja_str_slice(const str *s, size_t from, size_t to);
static inline bool str_equals(const str *s, const char *t)
{
    size_t n = strlen(t);
    return s->size == n && memcmp(s->data, t, n) == 0;
}

#endif
