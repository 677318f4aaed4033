/* Decimal text to floating point and back, correctly rounded and independent of the locale (strtod and printf take the decimal
 * point from it). */
#ifndef LITHE_BASE_DECIMAL_H
#define LITHE_BASE_DECIMAL_H

#include "base/bytes.h"

/* Length of the JSON number at the start of s[0 .. n), 0 if there is none; *integer: it has neither fraction nor exponent. */
size_t decimal_scan(const uint8_t *s, size_t n, bool *integer);

/* The value of a whole text that is a JSON number; false for other texts and for values that overflow. */
bool decimal_f64(bytes text, double *out);
bool decimal_f32(bytes text, float *out);
/* The same for integers, exact; false for fractions, exponents and values out of range. */
bool decimal_i64(bytes text, int64_t *out);

/* Shortest text that reads back as the same value, zero-terminated; returns its length. The value is finite. */
enum { DECIMAL_BYTES = 40 };
size_t decimal_from_f64(double v, char out[DECIMAL_BYTES]);
size_t decimal_from_f32(float v, char out[DECIMAL_BYTES]);

#endif
