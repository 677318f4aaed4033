/* UTF-8: decoding that never fails, and finding complete prefixes. */
#ifndef LITHE_BASE_UTF8_H
#define LITHE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes one code point from s[0 .. n), n >= 1; *used is the bytes taken. An ill-formed sequence gives U+FFFD and takes its
 * maximal ill-formed part (Unicode 15, section 3.9, "substitution of maximal subparts"), as Python's errors="replace" does. */
uint32_t utf8_decode(const uint8_t *s, size_t n, size_t *used);
/* Like utf8_decode, but says whether the sequence was well formed. */
bool utf8_next(const uint8_t *s, size_t n, uint32_t *code_point, size_t *used);
/* Writes 1 to 4 bytes; surrogates and values over U+10FFFF become U+FFFD. Returns the length. */
size_t utf8_encode(uint32_t code_point, uint8_t out[4]);
bool utf8_valid(const uint8_t *s, size_t n);
/* Length of the longest prefix that does not end inside a character that could still become well formed. */
size_t utf8_complete_prefix(const uint8_t *s, size_t n);

#endif
