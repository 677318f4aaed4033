#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Decodes all of it; replacement characters are written as '?'. */
static void decoded(const char *text, size_t n, char *out)
{
    size_t used;
    for (size_t i = 0; i < n; i += used) {
        uint32_t c = utf8_decode((const uint8_t *)text + i, n - i, &used);
        assert_true(used >= 1 && used <= n - i);
        *out++ = c == 0xFFFD ? '?' : (char)c;
    }
    *out = 0;
}

/* Tables 3-8 to 3-11 of the Unicode standard, section 3.9, and the example before them. */
static void ill_formed_parts_are_maximal(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *expected;
    } cases[] = {
        {"a\xF1\x80\x80\xE1\x80\xC2"
         "b\x80"
         "c\x80\xBF"
         "d",
         "a???b?c??d"},
        {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82"
         "A",
         "????????A"},
        {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF"
         "A",
         "????????A"},
        {"\xF4\x91\x92\x93\xFF"
         "A\x80\xBF"
         "B",
         "?????A??B"},
        {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF"
         "A",
         "????A"},
        {"\xE2\x96", "?"},
        {"\xF0\x9F\x98", "?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[32];
        decoded(cases[i].bytes, strlen(cases[i].bytes), out);
        assert_string_equal(out, cases[i].expected);
        assert_false(utf8_valid((const uint8_t *)cases[i].bytes, strlen(cases[i].bytes)));
    }
}

static void every_code_point_returns(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        uint8_t text[4];
        size_t n = utf8_encode(c, text), used;
        uint32_t back;
        bool surrogate = c >= 0xD800 && c <= 0xDFFF;
        if (!utf8_next(text, n, &back, &used) || used != n || back != (surrogate ? 0xFFFD : c) ||
            !utf8_valid(text, n)) {
            fail_msg("U+%04X", (unsigned)c);
        }
        for (size_t part = 1; part < n; part++) {
            if (utf8_next(text, part, &back, &used) || used != part || utf8_valid(text, part) ||
                utf8_complete_prefix(text, part) != 0) {
                fail_msg("U+%04X, %zu bytes", (unsigned)c, part);
            }
        }
        if (utf8_complete_prefix(text, n) != n) {
            fail_msg("U+%04X is complete", (unsigned)c);
        }
    }
    uint8_t text[4];
    assert_int_equal(utf8_encode(0x110000, text), 3);
    assert_memory_equal(text, "\xEF\xBF\xBD", 3);
}

/* All pairs and triples of bytes that begin a sequence, against the ranges of table 3-7 spelled out. */
static void first_bytes_decide_the_second(void **state)
{
    (void)state;
    for (unsigned a = 0; a < 256; a++) {
        for (unsigned b = 0; b < 256; b++) {
            const uint8_t text[4] = {(uint8_t)a, (uint8_t)b, 0x80, 0x80};
            bool two = a >= 0xC2 && a <= 0xDF && b >= 0x80 && b <= 0xBF;
            bool three = (a == 0xE0 && b >= 0xA0 && b <= 0xBF) || (a == 0xED && b >= 0x80 && b <= 0x9F) ||
                         (a >= 0xE1 && a <= 0xEF && a != 0xED && b >= 0x80 && b <= 0xBF);
            bool four = (a == 0xF0 && b >= 0x90 && b <= 0xBF) || (a == 0xF4 && b >= 0x80 && b <= 0x8F) ||
                        (a >= 0xF1 && a <= 0xF3 && b >= 0x80 && b <= 0xBF);
            size_t length = a < 0x80 ? 1 : two ? 2 : three ? 3 : four ? 4 : 0, used;
            uint32_t c;
            assert_int_equal(utf8_next(text, 4, &c, &used), length > 0);
            assert_int_equal(used, length ? length : 1);
        }
    }
}

static void validity_holds_across_words(void **state)
{
    (void)state;
    for (size_t at = 0; at < 40; at++) {
        uint8_t text[44];
        memset(text, 'a', sizeof text);
        assert_true(utf8_valid(text, sizeof text));
        memcpy(text + at, "\xF0\x9F\x98\x80", 4);
        assert_true(utf8_valid(text, sizeof text));
        assert_false(utf8_valid(text, at + 3));
        text[at + 3] = 'a';
        assert_false(utf8_valid(text, sizeof text));
    }
    assert_true(utf8_valid((const uint8_t *)"", 0));
}

static void only_what_can_still_become_well_formed_is_held_back(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t complete;
    } cases[] = {
        {"", 0},         {"ab", 2},           {"ab\xC3", 2},           {"ab\xE2\x96", 2}, {"ab\xF0\x9F\x98", 2},
        {"ab\x80", 3},   {"ab\xC0", 3},       {"ab\xE0\x80", 4},       {"ab\xED\xA0", 4}, {"ab\xF4\x90", 4},
        {"\x80\x80", 2}, {"\xE2\x96\x81", 3}, {"\xF0\x9F\x98\x80", 4}, {"\xF5\x80", 2},   {"\xF0\x90", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(utf8_complete_prefix((const uint8_t *)cases[i].text, strlen(cases[i].text)),
                         cases[i].complete);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ill_formed_parts_are_maximal),
        cmocka_unit_test(every_code_point_returns),
        cmocka_unit_test(first_bytes_decide_the_second),
        cmocka_unit_test(validity_holds_across_words),
        cmocka_unit_test(only_what_can_still_become_well_formed_is_held_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
