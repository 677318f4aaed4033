/* Characters as Python's str sees them. */
#include "base/utf8.h"
#include "lang/jinja_casing.h"
#include "lang/jinja_run.h"

#include <stdlib.h>
#include <utf8proc.h>

bool jinja_is_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

static utf8proc_category_t category(uint32_t c)
{
    return utf8proc_category((utf8proc_int32_t)c);
}

static bool is_alpha(utf8proc_category_t k)
{
    return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO;
}

/* Superscripts, subscripts and circled digits have a digit's value but are no decimals. */
static bool is_other_digit(uint32_t c)
{
    return c == 0xb2 || c == 0xb3 || c == 0xb9 || c == 0x2070 || (c >= 0x2074 && c <= 0x2079) ||
           (c >= 0x2080 && c <= 0x2089) || (c >= 0x2460 && c <= 0x2468) || (c >= 0x2474 && c <= 0x247c) ||
           (c >= 0x2488 && c <= 0x2490);
}

/* Ideographs with a numeric value. */
static bool is_han_number(uint32_t c)
{
    static const uint16_t values[] = {0x3007, 0x4e00, 0x4e03, 0x4e07, 0x4e09, 0x4e5d, 0x4e8c, 0x4e94,
                                      0x4ebf, 0x5146, 0x516b, 0x516d, 0x5341, 0x5343, 0x56db, 0x767e};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (values[i] == c) {
            return true;
        }
    }
    return false;
}

static bool is_numeric(uint32_t c, utf8proc_category_t k)
{
    return (k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO) || is_han_number(c);
}

bool jinja_char_is(char_class class, uint32_t c)
{
    utf8proc_category_t k = category(c);
    switch (class) {
    case IS_ALPHA:
        return is_alpha(k);
    case IS_ALNUM:
        return is_alpha(k) || is_numeric(c, k);
    case IS_DECIMAL:
        return k == UTF8PROC_CATEGORY_ND;
    case IS_DIGIT:
        return k == UTF8PROC_CATEGORY_ND || is_other_digit(c);
    case IS_NUMERIC:
        return is_numeric(c, k);
    case IS_LOWER:
        return utf8proc_islower((utf8proc_int32_t)c);
    case IS_UPPER:
        return utf8proc_isupper((utf8proc_int32_t)c);
    default:
        return k == UTF8PROC_CATEGORY_LT;
    }
}

bool jinja_is_word(uint32_t c)
{
    return c < 128 ? c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')
                   : jinja_char_is(IS_ALNUM, c);
}

bool jinja_is_identifier(const char *s, size_t n)
{
    for (size_t at = 0, used; at < n; at += used) {
        uint32_t c = utf8_decode((const uint8_t *)s + at, n - at, &used);
        utf8proc_category_t k = category(c);
        bool first = c == '_' || is_alpha(k) || k == UTF8PROC_CATEGORY_NL;
        bool later = k == UTF8PROC_CATEGORY_ND || k == UTF8PROC_CATEGORY_MN || k == UTF8PROC_CATEGORY_MC ||
                     k == UTF8PROC_CATEGORY_PC;
        if (!first && !(at && later)) {
            return false;
        }
    }
    return n > 0;
}

bool jinja_is_printable(uint32_t c)
{
    utf8proc_category_t k = category(c);
    return c == ' ' || (k != UTF8PROC_CATEGORY_CN && k != UTF8PROC_CATEGORY_ZS && k != UTF8PROC_CATEGORY_ZL &&
                        k != UTF8PROC_CATEGORY_ZP && k != UTF8PROC_CATEGORY_CC && k != UTF8PROC_CATEGORY_CF &&
                        k != UTF8PROC_CATEGORY_CS && k != UTF8PROC_CATEGORY_CO);
}

static void append(uint32_t c, buffer *out)
{
    uint8_t encoded[4];
    buffer_append(out, encoded, utf8_encode(c, encoded));
}

static void append_lower(uint32_t c, buffer *out)
{
    if (c == 0x130) { /* I with a dot keeps it */
        append('i', out);
        append(0x307, out);
    } else {
        append((uint32_t)utf8proc_tolower((utf8proc_int32_t)c), out);
    }
}

static const uint16_t *several_upper(uint32_t c)
{
    for (size_t i = 0; c >= 0xdf && i < sizeof full_upper / sizeof *full_upper; i++) {
        if (full_upper[i].from == c) {
            return full_upper[i].to;
        }
    }
    return NULL;
}

static void append_upper(uint32_t c, buffer *out)
{
    const uint16_t *several = several_upper(c);
    for (size_t i = 0; several && i < 3 && several[i]; i++) {
        append(several[i], out);
    }
    if (!several) {
        append((uint32_t)utf8proc_toupper((utf8proc_int32_t)c), out);
    }
}

static void append_title(uint32_t c, buffer *out)
{
    uint32_t title = (uint32_t)utf8proc_totitle((utf8proc_int32_t)c);
    const uint16_t *several = title == c ? several_upper(c) : NULL;
    append(several ? several[0] : title, out);
    for (size_t i = 1; several && i < 3 && several[i]; i++) {
        append_lower(several[i], out);
    }
}

/* Sigma at the end of a word has its own lower case: a cased letter before, none after, marks aside. */
static bool is_cased(uint32_t c)
{
    return jinja_char_is(IS_LOWER, c) || jinja_char_is(IS_UPPER, c) || jinja_char_is(IS_TITLE, c);
}

static bool is_ignorable(uint32_t c)
{
    utf8proc_category_t k = category(c);
    return k == UTF8PROC_CATEGORY_MN || k == UTF8PROC_CATEGORY_ME || k == UTF8PROC_CATEGORY_CF ||
           k == UTF8PROC_CATEGORY_LM || k == UTF8PROC_CATEGORY_SK || c == '\'' || c == '.' || c == ':' || c == 0xb7 ||
           c == 0x2019;
}

static bool is_final_sigma(const char *s, size_t n, size_t at)
{
    size_t before = at, used;
    bool cased = false;
    while (before > 0) {
        do {
            before--;
        } while (before > 0 && ((uint8_t)s[before] & 0xc0) == 0x80);
        uint32_t c = utf8_decode((const uint8_t *)s + before, n - before, &used);
        if (!is_ignorable(c)) {
            cased = is_cased(c);
            break;
        }
    }
    for (size_t after = at + 2; cased && after < n; after += used) {
        uint32_t c = utf8_decode((const uint8_t *)s + after, n - after, &used);
        if (!is_ignorable(c)) {
            return !is_cased(c);
        }
    }
    return cased;
}

static void lower_at(const char *s, size_t n, size_t at, uint32_t c, buffer *out)
{
    if (c == 0x3a3) {
        append(is_final_sigma(s, n, at) ? 0x3c2 : 0x3c3, out);
    } else {
        append_lower(c, out);
    }
}

void jinja_upper(const char *s, size_t n, buffer *out)
{
    for (size_t at = 0, used; at < n; at += used) {
        append_upper(utf8_decode((const uint8_t *)s + at, n - at, &used), out);
    }
}

void jinja_lower(const char *s, size_t n, buffer *out)
{
    for (size_t at = 0, used; at < n; at += used) {
        lower_at(s, n, at, utf8_decode((const uint8_t *)s + at, n - at, &used), out);
    }
}

void jinja_capitalize(const char *s, size_t n, buffer *out)
{
    for (size_t at = 0, used; at < n; at += used) {
        uint32_t c = utf8_decode((const uint8_t *)s + at, n - at, &used);
        if (at) {
            lower_at(s, n, at, c, out);
        } else {
            append_title(c, out);
        }
    }
}

void jinja_title(const char *s, size_t n, buffer *out)
{
    bool inside = false;
    for (size_t at = 0, used; at < n; at += used) {
        uint32_t c = utf8_decode((const uint8_t *)s + at, n - at, &used);
        if (inside) {
            lower_at(s, n, at, c, out);
        } else {
            append_title(c, out);
        }
        inside = is_cased(c);
    }
}

void jinja_swapcase(const char *s, size_t n, buffer *out)
{
    for (size_t at = 0, used; at < n; at += used) {
        uint32_t c = utf8_decode((const uint8_t *)s + at, n - at, &used);
        if (jinja_char_is(IS_UPPER, c)) {
            lower_at(s, n, at, c, out);
        } else if (jinja_char_is(IS_LOWER, c)) {
            append_upper(c, out);
        } else {
            append(c, out);
        }
    }
}

void jinja_casefold(const char *s, size_t n, buffer *out)
{
    utf8proc_uint8_t *folded = NULL;
    utf8proc_ssize_t size = utf8proc_map((const utf8proc_uint8_t *)s, (utf8proc_ssize_t)n, &folded, UTF8PROC_CASEFOLD);
    if (size < 0) {
        out->failed = true;
    } else {
        buffer_append(out, folded, (size_t)size);
    }
    free(folded);
}
