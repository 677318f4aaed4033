/* Tests: "x is odd". */
#include "lang/jinja_filters.h"

#define TEST(name, condition)                                                                                          \
    static bool name(jinja_run *r, value self, const value *a, const arguments *all, value *out)                       \
    {                                                                                                                  \
        (void)r, (void)a, (void)all;                                                                                   \
        *out = VALUE_BOOL(condition);                                                                                  \
        return true;                                                                                                   \
    }

TEST(is_defined, self.kind != V_UNDEFINED)
TEST(is_undefined, self.kind == V_UNDEFINED)
TEST(is_none, self.kind == V_NONE)
TEST(is_boolean, self.kind == V_BOOL)
TEST(is_true, self.kind == V_BOOL && self.as.b)
TEST(is_false, self.kind == V_BOOL && !self.as.b)
TEST(is_integer, self.kind == V_INT)
TEST(is_float, self.kind == V_FLOAT)
TEST(is_number, value_is_number(self))
TEST(is_string, self.kind == V_STRING)
TEST(is_mapping, self.kind == V_DICT)
TEST(is_iterable, jinja_is_iterable(self))
TEST(is_sequence, self.kind == V_STRING || value_is_sequence(self) || self.kind == V_DICT || self.kind == V_RANGE ||
                      self.kind == V_UNDEFINED)
TEST(is_callable, self.kind == V_FUNCTION || self.kind == V_METHOD || self.kind == V_MACRO || self.kind == V_LOOP ||
                      self.kind == V_JOINER || self.kind == V_UNDEFINED)
TEST(is_sameas, jinja_identical(self, a[0]))
TEST(is_escaped, self.kind == V_STRING && self.markup)
TEST(is_filter, self.kind == V_STRING && jinja_find_filter(self.as.s))
TEST(is_test, self.kind == V_STRING && jinja_find_test(self.as.s))

static bool modulo_is(jinja_run *r, value self, value by, int64_t wanted, value *out)
{
    value rest;
    if (!jinja_binary(r, OP_MOD, self, by, &rest)) {
        return false;
    }
    *out = VALUE_BOOL(jinja_equals(r, rest, VALUE_INT(wanted)));
    return true;
}

static bool is_odd(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a, (void)all;
    return modulo_is(r, self, VALUE_INT(2), 1, out);
}

static bool is_even(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)a, (void)all;
    return modulo_is(r, self, VALUE_INT(2), 0, out);
}

static bool is_divisibleby(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    (void)all;
    return modulo_is(r, self, a[0], 0, out);
}

static bool is_lower(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    return jinja_to_string(r, self, &self) && jinja_str_islower(r, self, a, all, out);
}

static bool is_upper(jinja_run *r, value self, const value *a, const arguments *all, value *out)
{
    return jinja_to_string(r, self, &self) && jinja_str_isupper(r, self, a, all, out);
}

static bool relation(jinja_run *r, operator_kind op, value a, value b, value *out)
{
    bool holds;
    bool ok = jinja_relation(r, op, a, b, &holds);
    *out = VALUE_BOOL(ok && holds);
    return ok;
}

#define RELATION(name, op)                                                                                             \
    static bool name(jinja_run *r, value self, const value *a, const arguments *all, value *out)                       \
    {                                                                                                                  \
        (void)all;                                                                                                     \
        return relation(r, op, self, a[0], out);                                                                       \
    }
RELATION(is_eq, OP_EQ)
RELATION(is_ne, OP_NE)
RELATION(is_lt, OP_LT)
RELATION(is_le, OP_LE)
RELATION(is_gt, OP_GT)
RELATION(is_ge, OP_GE)
RELATION(is_in, OP_IN)

static const builtin tests[] = {
    {"!=", is_ne, "/ other", NULL},
    {"<", is_lt, "/ other", NULL},
    {"<=", is_le, "/ other", NULL},
    {"==", is_eq, "/ other", NULL},
    {">", is_gt, "/ other", NULL},
    {">=", is_ge, "/ other", NULL},
    {"boolean", is_boolean, "", NULL},
    {"callable", is_callable, "/", NULL},
    {"defined", is_defined, "", NULL},
    {"divisibleby", is_divisibleby, "num", NULL},
    {"eq", is_eq, "/ other", NULL},
    {"equalto", is_eq, "/ other", NULL},
    {"escaped", is_escaped, "", NULL},
    {"even", is_even, "", NULL},
    {"false", is_false, "", NULL},
    {"filter", is_filter, "", NULL},
    {"float", is_float, "", NULL},
    {"ge", is_ge, "/ other", NULL},
    {"greaterthan", is_gt, "/ other", NULL},
    {"gt", is_gt, "/ other", NULL},
    {"in", is_in, "seq", NULL},
    {"integer", is_integer, "", NULL},
    {"iterable", is_iterable, "", NULL},
    {"le", is_le, "/ other", NULL},
    {"lessthan", is_lt, "/ other", NULL},
    {"lower", is_lower, "", NULL},
    {"lt", is_lt, "/ other", NULL},
    {"mapping", is_mapping, "", NULL},
    {"ne", is_ne, "/ other", NULL},
    {"none", is_none, "", NULL},
    {"number", is_number, "", NULL},
    {"odd", is_odd, "", NULL},
    {"sameas", is_sameas, "other", NULL},
    {"sequence", is_sequence, "", NULL},
    {"string", is_string, "", NULL},
    {"test", is_test, "", NULL},
    {"true", is_true, "", NULL},
    {"undefined", is_undefined, "", NULL},
    {"upper", is_upper, "", NULL},
};

const builtin *jinja_find_test(const str *name)
{
    return jinja_find_builtin(tests, sizeof tests / sizeof *tests, name);
}
