/* Operators. Integers have 64 bits: what does not fit is an error, never another number. */
#include "lang/jinja_run.h"

#include <math.h>

static const char *const symbols[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};

static bool unsupported(jinja_run *r, operator_kind op, value a, value b)
{
    return jinja_raise(r, JINJA_TYPE_ERROR, "unsupported operand type(s) for %s: '%s' and '%s'", symbols[op],
                       jinja_type_name(a), jinja_type_name(b));
}

static bool too_big(jinja_run *r)
{
    return jinja_raise(r, JINJA_UNSUPPORTED, "an integer of more than 64 bits");
}

static bool divided_by_zero(jinja_run *r, const char *what)
{
    return jinja_raise(r, JINJA_ZERO_DIVISION_ERROR, "%s", what);
}

static bool power(jinja_run *r, int64_t base, int64_t exponent, value *out)
{
    int64_t result = 1;
    if (exponent < 0) {
        if (base == 0) {
            return divided_by_zero(r, "0.0 cannot be raised to a negative power");
        }
        *out = VALUE_FLOAT(pow((double)base, (double)exponent));
        return true;
    }
    if (base == 0 || base == 1 || base == -1) {
        result = exponent == 0 ? 1 : base == -1 && exponent % 2 == 0 ? 1 : base;
        *out = VALUE_INT(result);
        return true;
    }
    if (exponent > 63) {
        return too_big(r);
    }
    for (int64_t i = 0; i < exponent; i++) {
        if (__builtin_mul_overflow(result, base, &result)) {
            return too_big(r);
        }
    }
    *out = VALUE_INT(result);
    return true;
}

static bool divide_integers(jinja_run *r, operator_kind op, int64_t a, int64_t b, value *out)
{
    if (b == 0) {
        return divided_by_zero(r, op == OP_DIV   ? "division by zero"
                                  : op == OP_MOD ? "integer modulo by zero"
                                                 : "integer division or modulo by zero");
    }
    if (op == OP_DIV) {
        *out = VALUE_FLOAT((double)((long double)a / (long double)b));
        return true;
    }
    if (b == -1) {
        *out = VALUE_INT(0);
        int64_t zero = 0;
        return op == OP_MOD || !__builtin_sub_overflow(zero, a, &out->as.i) || too_big(r);
    }
    int64_t quotient = a / b, rest = a % b;
    if (rest && (rest < 0) != (b < 0)) {
        quotient--;
        rest += b;
    }
    *out = VALUE_INT(op == OP_MOD ? rest : quotient);
    return true;
}

static bool integers(jinja_run *r, operator_kind op, int64_t a, int64_t b, value *out)
{
    int64_t result = 0;
    bool overflow = false;
    switch (op) {
    case OP_ADD:
        overflow = __builtin_add_overflow(a, b, &result);
        break;
    case OP_SUB:
        overflow = __builtin_sub_overflow(a, b, &result);
        break;
    case OP_MUL:
        overflow = __builtin_mul_overflow(a, b, &result);
        break;
    case OP_POW:
        return power(r, a, b, out);
    default:
        return divide_integers(r, op, a, b, out);
    }
    *out = VALUE_INT(result);
    return !overflow || too_big(r);
}

/* The remainder has the divisor's sign; the quotient goes with it. */
static double float_mod(double a, double b)
{
    double m = fmod(a, b);
    if (m != 0) {
        return (m < 0) != (b < 0) ? m + b : m;
    }
    return copysign(0.0, b);
}

static double float_floordiv(double a, double b)
{
    double m = fmod(a, b), q = (a - m) / b;
    if (m != 0 && (m < 0) != (b < 0)) {
        q -= 1;
    }
    if (q == 0) {
        return copysign(0.0, a / b);
    }
    double whole = floor(q);
    return q - whole > 0.5 ? whole + 1 : whole;
}

static bool float_power(jinja_run *r, double a, double b, value *out)
{
    if (a == 0 && b < 0) {
        return divided_by_zero(r, "0.0 cannot be raised to a negative power");
    }
    if (a < 0 && isfinite(a) && isfinite(b) && b != floor(b)) {
        return jinja_raise(r, JINJA_UNSUPPORTED, "complex numbers are not supported");
    }
    double result = pow(a, b);
    if (isinf(result) && isfinite(a) && isfinite(b)) {
        return jinja_raise(r, JINJA_OVERFLOW_ERROR, "(34, 'Numerical result out of range')");
    }
    *out = VALUE_FLOAT(result);
    return true;
}

static bool floats(jinja_run *r, operator_kind op, double a, double b, value *out)
{
    if (b == 0 && (op == OP_DIV || op == OP_FLOORDIV || op == OP_MOD)) {
        return divided_by_zero(r, op == OP_DIV   ? "float division by zero"
                                  : op == OP_MOD ? "float modulo"
                                                 : "float floor division by zero");
    }
    switch (op) {
    case OP_ADD:
        *out = VALUE_FLOAT(a + b);
        return true;
    case OP_SUB:
        *out = VALUE_FLOAT(a - b);
        return true;
    case OP_MUL:
        *out = VALUE_FLOAT(a * b);
        return true;
    case OP_DIV:
        *out = VALUE_FLOAT(a / b);
        return true;
    case OP_FLOORDIV:
        *out = VALUE_FLOAT(float_floordiv(a, b));
        return true;
    case OP_MOD:
        *out = VALUE_FLOAT(float_mod(a, b));
        return true;
    default:
        return float_power(r, a, b, out);
    }
}

static bool join_strings(jinja_run *r, value a, value b, value *out)
{
    bool markup = a.markup || b.markup;
    if ((markup && !a.markup && !jinja_escape(r, a.as.s, &a)) ||
        (markup && !b.markup && !jinja_escape(r, b.as.s, &b))) {
        return false;
    }
    size_t n = a.as.s->size + b.as.s->size;
    char *data = jinja_alloc(r, n, 1);
    str *s = data ? jinja_alloc(r, 1, sizeof *s) : NULL;
    if (!s) {
        return false;
    }
    if (a.as.s->size) {
        memcpy(data, a.as.s->data, a.as.s->size);
    }
    if (b.as.s->size) {
        memcpy(data + a.as.s->size, b.as.s->data, b.as.s->size);
    }
    *s = (str){data, n, a.as.s->chars + b.as.s->chars};
    *out = VALUE_STR(s);
    out->markup = markup;
    return jinja_step(r, n / 256);
}

static bool join_lists(jinja_run *r, value a, value b, value *out)
{
    list *l = jinja_list_new(r, a.as.list->n + b.as.list->n);
    if (!l || !jinja_step(r, l->capacity)) {
        return false;
    }
    for (size_t i = 0; i < a.as.list->n; i++) {
        l->items[l->n++] = a.as.list->items[i];
    }
    for (size_t i = 0; i < b.as.list->n; i++) {
        l->items[l->n++] = b.as.list->items[i];
    }
    *out = a.kind == V_LIST ? VALUE_LIST(l) : VALUE_TUPLE(l);
    return true;
}

static bool repeat_string(jinja_run *r, value v, size_t times, value *out)
{
    const str *s = v.as.s;
    size_t n;
    if (!size_mul(s->size, times, &n)) {
        n = SIZE_MAX;
    }
    char *data = jinja_alloc(r, n, 1);
    if (!data || !jinja_step(r, n / 64)) {
        return false;
    }
    for (size_t i = 0; i < times && s->size; i++) {
        memcpy(data + i * s->size, s->data, s->size);
    }
    bool ok = jinja_string_borrow(r, data, n, out);
    out->markup = v.markup;
    return ok;
}

static bool repeat(jinja_run *r, value v, int64_t times, value *out)
{
    size_t n = times > 0 ? (size_t)times : 0, total;
    if (v.kind == V_STRING) {
        return repeat_string(r, v, n, out);
    }
    if (!size_mul(v.as.list->n, n, &total)) {
        total = SIZE_MAX;
    }
    list *l = jinja_step(r, total) ? jinja_list_new(r, total) : NULL;
    if (!l) {
        return false;
    }
    for (size_t i = 0; i < total; i++) {
        l->items[l->n++] = v.as.list->items[i % v.as.list->n];
    }
    *out = v.kind == V_LIST ? VALUE_LIST(l) : VALUE_TUPLE(l);
    return true;
}

static bool add(jinja_run *r, value a, value b, value *out)
{
    if (a.kind == V_STRING && b.kind == V_STRING) {
        return join_strings(r, a, b, out);
    }
    if (value_is_sequence(a) && a.kind == b.kind) {
        return join_lists(r, a, b, out);
    }
    if (a.kind == V_STRING || value_is_sequence(a)) {
        const char *type = jinja_type_name(a);
        return jinja_raise(r, JINJA_TYPE_ERROR, "can only concatenate %s (not \"%s\") to %s", type, jinja_type_name(b),
                           type);
    }
    return unsupported(r, OP_ADD, a, b);
}

bool jinja_binary(jinja_run *r, operator_kind op, value a, value b, value *out)
{
    if (op == OP_MOD && a.kind == V_STRING) {
        return jinja_percent(r, a.as.s, b, out);
    }
    if (a.kind == V_UNDEFINED || b.kind == V_UNDEFINED) {
        return jinja_raise_undefined(r, a.kind == V_UNDEFINED ? a.as.undefined : b.as.undefined);
    }
    if (value_is_number(a) && value_is_number(b)) {
        return a.kind == V_FLOAT || b.kind == V_FLOAT ? floats(r, op, value_number(a), value_number(b), out)
                                                      : integers(r, op, value_integer(a), value_integer(b), out);
    }
    if (op == OP_ADD) {
        return add(r, a, b, out);
    }
    if (op == OP_MUL && value_is_integer(b) && (a.kind == V_STRING || value_is_sequence(a))) {
        return repeat(r, a, value_integer(b), out);
    }
    if (op == OP_MUL && value_is_integer(a) && (b.kind == V_STRING || value_is_sequence(b))) {
        return repeat(r, b, value_integer(a), out);
    }
    return unsupported(r, op, a, b);
}

bool jinja_relation(jinja_run *r, operator_kind op, value a, value b, bool *out)
{
    static const char *const names[] = {[OP_LT] = "<", [OP_LE] = "<=", [OP_GT] = ">", [OP_GE] = ">="};
    int order = 0;
    switch (op) {
    case OP_EQ:
    case OP_NE:
        *out = jinja_equals(r, a, b) == (op == OP_EQ);
        return r->fault.kind == JINJA_NO_ERROR;
    case OP_IN:
    case OP_NOT_IN:
        if (!jinja_contains(r, b, a, out)) {
            return false;
        }
        *out = *out == (op == OP_IN);
        return true;
    default:
        if (!jinja_compare(r, a, b, names[op], &order)) {
            return false;
        }
        *out = order != 2 && (op == OP_LT   ? order < 0
                              : op == OP_LE ? order <= 0
                              : op == OP_GT ? order > 0
                                            : order >= 0);
        return true;
    }
}
