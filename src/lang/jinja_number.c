/* Numbers from text and to text, as Python's int(), float(), round() and printf-like formats have them. */
#include "base/decimal.h"
#include "base/utf8.h"
#include "lang/jinja_run.h"

#include <math.h>
#include <stdlib.h>

static void strip(const char **s, size_t *n)
{
    size_t used;
    while (*n && jinja_is_space(utf8_decode((const uint8_t *)*s, *n, &used))) {
        *s += used;
        *n -= used;
    }
    while (*n) {
        size_t start = *n - 1;
        while (start && ((uint8_t)(*s)[start] & 0xc0) == 0x80) {
            start--;
        }
        if (!jinja_is_space(utf8_decode((const uint8_t *)*s + start, *n - start, &used))) {
            break;
        }
        *n = start;
    }
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'z' ? c - 'a' + 10
           : c >= 'A' && c <= 'Z' ? c - 'A' + 10
                                  : 99;
}

/* 0x, 0o, 0b where the base allows it. */
static bool prefix(const char *s, size_t n, int *base)
{
    int other = n > 2 && s[0] == '0' ? (s[1] | 32) == 'x'   ? 16
                                       : (s[1] | 32) == 'o' ? 8
                                       : (s[1] | 32) == 'b' ? 2
                                                            : 0
                                     : 0;
    if (other && (*base == 0 || *base == other)) {
        *base = other;
        return true;
    }
    return false;
}

bool jinja_parse_int(const char *s, size_t n, int base, int64_t *out, bool *overflow)
{
    bool negative = false, zero_base = base == 0, nonzero = false, leading_zero;
    int64_t result = 0;
    *overflow = false;
    strip(&s, &n);
    if (n && (*s == '-' || *s == '+')) {
        negative = *s == '-';
        s++, n--;
    }
    bool prefixed = prefix(s, n, &base);
    s += prefixed ? 2 : 0;
    n -= prefixed ? 2 : 0;
    base = base ? base : 10;
    leading_zero = n > 1 && s[0] == '0';
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '_' && (i || prefixed) && i + 1 < n && s[i + 1] != '_') {
            continue;
        }
        int d = digit(s[i]);
        if (d >= base) {
            return false;
        }
        nonzero = nonzero || d;
        *overflow = *overflow || __builtin_mul_overflow(result, (int64_t)base, &result) ||
                    (negative ? __builtin_sub_overflow(result, (int64_t)d, &result)
                              : __builtin_add_overflow(result, (int64_t)d, &result));
    }
    *out = result;
    return n && !*overflow && !(zero_base && !prefixed && leading_zero && nonzero);
}

static bool named_float(const char *s, size_t n, double *out)
{
    static const struct {
        const char *name;
        double v;
    } names[] = {{"inf", INFINITY}, {"infinity", INFINITY}, {"nan", NAN}};
    for (size_t i = 0; i < 3; i++) {
        size_t k = 0;
        while (k < n && names[i].name[k] && (s[k] | 32) == names[i].name[k]) {
            k++;
        }
        if (k == n && !names[i].name[k]) {
            *out = names[i].v;
            return true;
        }
    }
    return false;
}

/* Digits with single underscores between them into b; false if there are none where some must be. */
static bool take_digits(const char *s, size_t n, size_t *at, buffer *b)
{
    size_t from = *at;
    while (*at < n) {
        if (s[*at] >= '0' && s[*at] <= '9') {
            buffer_append(b, s + *at, 1);
        } else if (s[*at] != '_' || *at == from || *at + 1 >= n || digit(s[*at + 1]) > 9) {
            break;
        }
        ++*at;
    }
    return *at > from;
}

/* The text as JSON would write the number: a digit before and after the point, no zeros in front. */
static bool as_json(const char *s, size_t n, buffer *b)
{
    buffer whole;
    size_t at = 0, zeros = 0;
    buffer_init(&whole);
    bool digits = take_digits(s, n, &at, &whole);
    while (zeros + 1 < whole.size && whole.data[zeros] == '0') {
        zeros++;
    }
    if (digits) {
        buffer_append(b, whole.data + zeros, whole.size - zeros);
    } else {
        buffer_string(b, "0");
    }
    buffer_fini(&whole);
    if (at < n && s[at] == '.') {
        at++;
        buffer_string(b, ".");
        bool fraction = take_digits(s, n, &at, b);
        buffer_string(b, fraction ? "" : "0");
        digits = digits || fraction;
    }
    if (digits && at < n && (s[at] | 32) == 'e') {
        at++;
        buffer_string(b, "e");
        if (at < n && (s[at] == '-' || s[at] == '+')) {
            buffer_append(b, s + at++, 1);
        }
        digits = take_digits(s, n, &at, b);
    }
    return digits && at == n && !buffer_failed(b);
}

bool jinja_parse_float(const char *s, size_t n, double *out)
{
    strip(&s, &n);
    bool negative = n && *s == '-';
    if (n && (*s == '-' || *s == '+')) {
        s++, n--;
    }
    buffer b;
    buffer_init(&b);
    bool ok = named_float(s, n, out);
    if (!ok && as_json(s, n, &b)) {
        ok = true;
        if (!decimal_f64((bytes){b.data, b.size}, out)) {
            *out = INFINITY;
        }
    }
    buffer_fini(&b);
    *out = ok && negative ? -*out : *out;
    return ok;
}

void jinja_fixed(double v, char conversion, int precision, bool alternate, buffer *out)
{
    const char format[] = {
        '%', alternate ? '#' : '.', alternate ? '.' : '*', alternate ? '*' : conversion, alternate ? conversion : 0, 0};
    size_t from = out->size;
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#endif
    buffer_printf(out, format, precision, v);
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
    /* printf takes the point from the locale */
    for (size_t i = from; i < out->size; i++) {
        uint8_t c = out->data[i];
        if (!(c >= '0' && c <= '9') && c != '-' && c != '+' && !((c | 32) >= 'a' && (c | 32) <= 'z')) {
            out->data[i] = '.';
        }
    }
}

double jinja_round(double v, int64_t digits)
{
    double result = v;
    if (!isfinite(v) || digits > 330) {
        return v;
    }
    if (digits < 0) {
        double scale = digits < -308 ? INFINITY : pow(10, (double)-digits);
        return isinf(scale) ? copysign(0, v) : nearbyint(v / scale) * scale;
    }
    buffer b;
    buffer_init(&b);
    jinja_fixed(v, 'f', (int)digits, false, &b);
    if (!buffer_failed(&b)) {
        jinja_parse_float((const char *)b.data, b.size, &result);
    }
    buffer_fini(&b);
    return result;
}

bool jinja_to_index(jinja_run *r, value v, int64_t *out)
{
    if (value_is_integer(v)) {
        *out = value_integer(v);
        return true;
    }
    if (v.kind == V_UNDEFINED) {
        return jinja_raise_undefined(r, v.as.undefined);
    }
    return jinja_raise(r, JINJA_TYPE_ERROR, "'%s' object cannot be interpreted as an integer", jinja_type_name(v));
}
