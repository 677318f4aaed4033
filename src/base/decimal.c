#include "base/decimal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A halfway point between two doubles has at most 767 significant digits; what follows only matters as "more than that". */
enum { MOST_DIGITS = 780 };

/* ------------------------------------------------------------------------------------------- reading */

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static size_t scan_digits(const uint8_t *s, size_t n, size_t at)
{
    while (at < n && is_digit(s[at])) {
        at++;
    }
    return at;
}

size_t decimal_scan(const uint8_t *s, size_t n, bool *integer)
{
    size_t at = n && s[0] == '-' ? 1 : 0;
    *integer = true;
    if (at >= n || !is_digit(s[at])) {
        return 0;
    }
    at = s[at] == '0' ? at + 1 : scan_digits(s, n, at);
    if (at < n && s[at] == '.') {
        size_t end = scan_digits(s, n, at + 1);
        if (end == at + 1) {
            return 0;
        }
        at = end;
        *integer = false;
    }
    if (at < n && (s[at] | 0x20) == 'e') {
        size_t start = at + 1;
        start += start < n && (s[start] == '+' || s[start] == '-') ? 1 : 0;
        at = scan_digits(s, n, start);
        if (at == start) {
            return 0;
        }
        *integer = false;
    }
    return at;
}

/* A number as 0.<digits> without leading zeros, times ten to the exponent. */
typedef struct parts {
    bool negative;
    uint64_t mantissa; /* the digits as an integer, while there are at most 19 */
    size_t n_digits;   /* significant digits in `text` */
    int64_t exponent;  /* of ten, for the digits read as an integer */
    char text[MOST_DIGITS + 32];
} parts;

static void take_digit(parts *p, uint8_t c, bool *dropped)
{
    if (p->n_digits == 0 && c == '0') {
        return;
    }
    if (p->n_digits < MOST_DIGITS) {
        p->text[p->n_digits++] = (char)c;
        p->mantissa = p->n_digits <= 19 ? p->mantissa * 10 + (uint64_t)(c - '0') : 0;
    } else {
        *dropped = *dropped || c != '0';
        p->exponent++;
    }
}

static void split(parts *p, bytes text)
{
    const uint8_t *s = text.data, *end = s + text.size;
    bool dropped = false;
    p->negative = s[0] == '-';
    p->mantissa = 0;
    p->n_digits = 0;
    p->exponent = 0;
    s += p->negative;
    for (; s < end && is_digit(*s); s++) {
        take_digit(p, *s, &dropped);
    }
    if (s < end && *s == '.') {
        for (s++; s < end && is_digit(*s); s++) {
            p->exponent--;
            take_digit(p, *s, &dropped);
        }
    }
    if (dropped) {
        p->text[p->n_digits++] = '1';
        p->exponent--;
    }
    if (s < end) { /* e or E */
        s++;
        bool minus = *s == '-';
        s += *s == '-' || *s == '+';
        int64_t e = 0;
        for (; s < end; s++) {
            e = e < INT64_MAX / 100 ? e * 10 + (*s - '0') : e;
        }
        p->exponent += minus ? -e : e;
    }
}

/* Appends the exponent, clamped to what certainly is infinite or zero whatever the number of digits. Without a decimal point
 * the text means the same to strtod in every locale. */
static const char *spell(parts *p)
{
    enum { CERTAIN = 20000 };
    int64_t e = p->exponent < -CERTAIN ? -CERTAIN : p->exponent > CERTAIN ? CERTAIN : p->exponent;
    snprintf(p->text + p->n_digits, sizeof p->text - p->n_digits, "e%d", (int)e);
    return p->text;
}

static bool is_number(bytes text)
{
    bool integer;
    return text.size > 0 && decimal_scan(text.data, text.size, &integer) == text.size;
}

bool decimal_f64(bytes text, double *out)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (!is_number(text)) {
        return false;
    }
    parts p;
    split(&p, text);
    double v = 0;
    if (p.n_digits > 0 && p.n_digits <= 15 && p.exponent >= -22 && p.exponent <= 22) {
        /* Both operands are exact, so one operation rounds once (Clinger, "How to read floating point numbers accurately"). */
        v = (double)p.mantissa;
        v = p.exponent < 0 ? v / powers[-p.exponent] : v * powers[p.exponent];
    } else if (p.n_digits > 0) {
        v = strtod(spell(&p), NULL);
    }
    if (isinf(v)) {
        return false;
    }
    *out = p.negative ? -v : v;
    return true;
}

bool decimal_f32(bytes text, float *out)
{
    if (!is_number(text)) {
        return false;
    }
    parts p;
    split(&p, text);
    float v = p.n_digits ? strtof(spell(&p), NULL) : 0;
    if (isinf(v)) {
        return false;
    }
    *out = p.negative ? -v : v;
    return true;
}

bool decimal_i64(bytes text, int64_t *out)
{
    bool integer;
    if (text.size == 0 || decimal_scan(text.data, text.size, &integer) != text.size || !integer) {
        return false;
    }
    bool negative = text.data[0] == '-';
    uint64_t v = 0, limit = (uint64_t)INT64_MAX + negative;
    for (size_t i = negative; i < text.size; i++) {
        if (!u64_mul(v, 10, &v) || !u64_add(v, (uint64_t)(text.data[i] - '0'), &v) || v > limit) {
            return false;
        }
    }
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

/* ------------------------------------------------------------------------------------------- writing */

/* The digits (of ten, the first not 0 unless the value is) and exponent of |v| rounded to `precision` digits. Whatever printf
 * takes for the decimal point is skipped. */
static size_t round_digits(double v, int precision, char digits[24], int *exponent)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", precision - 1, fabs(v));
    size_t n = 0;
    const char *s = text;
    for (; *s && *s != 'e'; s++) {
        if (*s >= '0' && *s <= '9' && n < 23) {
            digits[n++] = *s;
        }
    }
    *exponent = *s ? atoi(s + 1) : 0;
    while (n > 1 && digits[n - 1] == '0') {
        n--;
    }
    digits[n] = 0;
    return n;
}

/* Plain notation for exponents that people read easily, else d.ddde±n. */
static size_t lay_out(bool negative, const char *digits, size_t n, int exponent, char out[DECIMAL_BYTES])
{
    const char *sign = negative ? "-" : "";
    int length;
    if (exponent >= 0 && exponent < 16 && n <= (size_t)exponent + 1) {
        length = snprintf(out, DECIMAL_BYTES, "%s%s%.*s", sign, digits, exponent + 1 - (int)n, "000000000000000");
    } else if (exponent >= 0 && exponent < 16) {
        length = snprintf(out, DECIMAL_BYTES, "%s%.*s.%s", sign, exponent + 1, digits, digits + exponent + 1);
    } else if (exponent < 0 && exponent >= -5) {
        length = snprintf(out, DECIMAL_BYTES, "%s0.%.*s%s", sign, -exponent - 1, "0000", digits);
    } else {
        length = snprintf(out, DECIMAL_BYTES, "%s%c%s%se%d", sign, digits[0], n > 1 ? "." : "", digits + 1, exponent);
    }
    return length > 0 ? (size_t)length : 0;
}

/* Where a value has all its bits, every text of `sure` digits survives the way to it and back, so fewer need not be tried. */
static size_t shortest(double v, int sure, int most, bool single, double smallest_normal, char out[DECIMAL_BYTES])
{
    char digits[24];
    int exponent;
    size_t length = 0;
    if (v == 0 && signbit(v)) {
        /* "-0" would be the integer 0 to a reader that tells integers apart. */
        memcpy(out, "-0.0", 5);
        return 4;
    }
    for (int precision = fabs(v) < smallest_normal ? 1 : sure; precision <= most; precision++) {
        size_t n = round_digits(v, precision, digits, &exponent);
        length = lay_out(signbit(v), digits, n, exponent, out);
        bytes text = {(const uint8_t *)out, length};
        double d = 0;
        float f = 0;
        bool same = single ? decimal_f32(text, &f) && (double)f == v : decimal_f64(text, &d) && d == v;
        if (same) {
            break;
        }
    }
    return length;
}

size_t decimal_from_f64(double v, char out[DECIMAL_BYTES])
{
    return shortest(v, DBL_DIG, 17, false, DBL_MIN, out);
}

size_t decimal_from_f32(float v, char out[DECIMAL_BYTES])
{
    return shortest((double)v, FLT_DIG, 9, true, (double)FLT_MIN, out);
}
