#include "base/decimal.h"
#include "base/json_copy.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static json_doc *parsed(const char *text)
{
    json_doc *doc = NULL;
    lithe_error err = {0};
    if (json_parse(&doc, (bytes){(const uint8_t *)text, strlen(text)}, &err)) {
        fail_msg("%s: %s", text, err.message);
    }
    return doc;
}

/* Undoes the %XX of the fixture, in place. */
static size_t unescape_percent(char *s)
{
    char *out = s, *start = s;
    for (; *s; s++) {
        if (*s == '%') {
            const char hex[3] = {s[1], s[2], 0};
            *out++ = (char)strtol(hex, NULL, 16);
            s += 2;
        } else {
            *out++ = *s;
        }
    }
    *out = 0;
    return (size_t)(out - start);
}

/* The text at its exact length in memory of its own, so that sanitizers see reads past its end. */
static void check_case(unsigned line, const char *text, size_t n, const char *expected, size_t expected_bytes)
{
    uint8_t *exact = malloc(n ? n : 1);
    json_doc *doc = NULL;
    lithe_error err;
    assert_non_null(exact);
    memcpy(exact, text, n);
    lithe_status status = json_parse(&doc, (bytes){exact, n}, &err);
    if (strcmp(expected, "!") == 0) {
        if (status != LITHE_E_FORMAT) {
            fail_msg("line %u: not refused", line);
        }
    } else if (status) {
        fail_msg("line %u: %s", line, err.message);
    } else {
        buffer out = json_copy(doc, false);
        if (out.size != expected_bytes || memcmp(out.data, expected, expected_bytes) != 0) {
            fail_msg("line %u: got %.*s", line, (int)out.size, (const char *)out.data);
        }
        buffer_fini(&out);
        json_free(doc);
    }
    free(exact);
}

static void texts_mean_what_they_mean_to_python(void **state)
{
    (void)state;
    static char line[16384];
    unsigned n = 0;
    FILE *f = fopen("tests/base/data/json_cases.txt", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        char *tab = strchr(line, '\t'), *end = strchr(line, '\n');
        assert_true(tab && end);
        *tab = *end = 0;
        size_t text_bytes = unescape_percent(line), expected_bytes = unescape_percent(tab + 1);
        check_case(++n, line, text_bytes, tab + 1, expected_bytes);
    }
    fclose(f);
    assert_true(n >= 700);
}

static void a_document_is_walked(void **state)
{
    (void)state;
    static const char text[] = "{\n \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"\\u0062\": 1}},\n"
                               " \"list\": [1, [2, 3], {}, \"x\\ty\", 2.5, true, null], \"twice\": 1, \"twice\": 2}";
    json_doc *doc = parsed(text);
    json_ref model = json_get(doc, 0, "model");
    assert_int_equal(json_type(doc, 0), JSON_OBJECT);
    assert_int_equal(json_count(doc, 0), 4);
    assert_true(json_equals(doc, json_get(doc, model, "type"), "BPE"));
    assert_false(json_equals(doc, json_get(doc, model, "type"), "BP"));
    assert_false(json_equals(doc, json_get(doc, model, "type"), "BPE "));

    json_ref vocab = json_get(doc, model, "vocab"), entry = json_first(doc, vocab);
    bool escaped;
    int64_t i;
    double d;
    assert_int_equal(json_key(doc, entry, &escaped).data[0], 'a');
    assert_false(escaped);
    entry = json_next(doc, entry);
    assert_int_equal(json_key(doc, entry, &escaped).size, 6);
    assert_true(escaped);
    assert_true(json_get(doc, vocab, "b") == entry);
    assert_true(json_i64(doc, entry, &i) && i == 1);
    assert_true(json_next(doc, entry) == JSON_NONE);

    json_ref list = json_get(doc, 0, "list"), e = json_first(doc, list);
    static const json_kind kinds[] = {JSON_NUMBER, JSON_ARRAY, JSON_OBJECT, JSON_STRING,
                                      JSON_NUMBER, JSON_TRUE,  JSON_NULL};
    assert_int_equal(json_count(doc, list), 7);
    for (size_t k = 0; k < 7; k++, e = json_next(doc, e)) {
        assert_int_equal(json_type(doc, e), kinds[k]);
        assert_int_equal(json_key(doc, e, NULL).size, 0);
    }
    assert_true(e == JSON_NONE);
    assert_true(json_i64(doc, json_get(doc, 0, "twice"), &i) && i == 2);

    e = json_next(doc, json_next(doc, json_next(doc, json_first(doc, list))));
    arena a;
    size_t n;
    uint32_t line, column;
    arena_init(&a, 0);
    assert_string_equal(json_string(doc, e, &a, &n), "x\ty");
    assert_int_equal(n, 3);
    assert_true(json_equals(doc, e, "x\ty"));
    assert_int_equal(json_raw(doc, e, &escaped).size, 4);
    assert_true(escaped);
    json_position(doc, e, &line, &column);
    assert_int_equal(line, 3);
    assert_int_equal(column, 26);
    e = json_next(doc, e);
    assert_false(json_i64(doc, e, &i));
    assert_true(json_f64(doc, e, &d) && d == 2.5);
    assert_true(json_bool(doc, json_next(doc, e), false));
    arena_fini(&a);
    json_free(doc);
}

static void wrong_kinds_and_nothing_are_harmless(void **state)
{
    (void)state;
    json_doc *doc = parsed("[\"s\"]");
    arena a;
    int64_t i;
    double d;
    uint32_t line, column;
    arena_init(&a, 0);
    json_ref s = json_first(doc, 0);
    json_ref refs[] = {JSON_NONE, 0, s, json_get(doc, s, "x"), json_get(doc, JSON_NONE, "x"), 12345};
    for (size_t k = 0; k < sizeof refs / sizeof *refs; k++) {
        assert_false(json_i64(doc, refs[k], &i));
        assert_false(json_f64(doc, refs[k], &d));
        assert_true(json_bool(doc, refs[k], true));
        assert_false(json_bool(doc, refs[k], false));
        assert_true(json_get(doc, refs[k], "s") == JSON_NONE);
        json_position(doc, refs[k], &line, &column);
    }
    assert_int_equal(json_type(doc, JSON_NONE), JSON_MISSING);
    assert_int_equal(json_count(doc, s), 0);
    assert_true(json_first(doc, s) == JSON_NONE && json_next(doc, 0) == JSON_NONE);
    assert_null(json_string(doc, 0, &a, NULL));
    assert_int_equal(json_raw(doc, 0, NULL).size, 0);
    assert_false(json_equals(doc, JSON_NONE, ""));
    json_free(doc);
    json_free(NULL);
}

static void errors_say_where(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"a\": 1,\n \"\xC3\xA4\": tru}", "JSON: line 2, column 7: expected a value, found \"t\""},
        {"[1, 2", "JSON: line 1, column 6: expected \",\" or \"]\", found the end of the text"},
        {"{\"a\" 1}", "JSON: line 1, column 6: expected \":\", found \"1\""},
        {"[\"a\nb\"]", "JSON: line 1, column 4: expected an escape, as control characters in strings need, "
                       "found the control character U+000A"},
        {"\"\xFF\"", "JSON: line 1, column 2: expected well-formed UTF-8, found the byte 0xFF (not UTF-8)"},
        {"1 x", "JSON: line 1, column 3: expected nothing after the value, found \"x\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_doc *doc = NULL;
        lithe_error err;
        bytes text = {(const uint8_t *)cases[i].text, strlen(cases[i].text)};
        assert_int_equal(json_parse(&doc, text, &err), LITHE_E_FORMAT);
        assert_string_equal(err.message, cases[i].message);
        assert_non_null(err.expected);
        assert_int_equal(json_parse(&doc, text, NULL), LITHE_E_FORMAT);
        assert_null(doc);
    }
}

static void nesting_is_limited(void **state)
{
    (void)state;
    for (size_t depth = 511; depth <= 513; depth++) {
        char text[1100];
        json_doc *doc = NULL;
        lithe_error err;
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        lithe_status status = json_parse(&doc, (bytes){(const uint8_t *)text, 2 * depth}, &err);
        assert_int_equal(status, depth <= 512 ? LITHE_OK : LITHE_E_FORMAT);
        json_free(status ? NULL : doc);
    }
}

static void memory_is_about_the_texts(void **state)
{
    (void)state;
    buffer b;
    json_writer w;
    buffer_init(&b);
    json_writer_init(&w, &b, true);
    json_begin_object(&w);
    for (int i = 0; i < 20000; i++) {
        char key[32];
        snprintf(key, sizeof key, "token%d", i);
        json_write_key(&w, key);
        json_write_i64(&w, i);
    }
    json_end_object(&w);
    json_doc *doc;
    assert_int_equal(json_parse(&doc, (bytes){b.data, b.size}, NULL), LITHE_OK);
    assert_int_equal(json_count(doc, 0), 20000);
    assert_true(json_memory(doc) <= 2 * b.size);
    json_free(doc);
    buffer_fini(&b);
}

static void the_writer_lays_out(void **state)
{
    (void)state;
    static const char pretty[] = "{\n  \"a\": [\n    1,\n    {},\n    []\n  ],\n  \"b\": null\n}";
    json_doc *doc = parsed(pretty);
    buffer out = json_copy(doc, true);
    assert_int_equal(out.size, strlen(pretty));
    assert_memory_equal(out.data, pretty, out.size);
    buffer_fini(&out);
    out = json_copy(doc, false);
    assert_memory_equal(out.data, "{\"a\":[1,{},[]],\"b\":null}", out.size);
    buffer_fini(&out);
    json_free(doc);

    json_writer w;
    json_writer_init(&w, &out, false);
    json_begin_array(&w);
    json_write_string(&w, "a\0\xE2\x96\xFF", 5);
    json_write_cstring(&w, NULL);
    json_write_u64(&w, UINT64_MAX);
    json_write_i64(&w, INT64_MIN);
    json_write_f64(&w, (double)NAN);
    json_write_f32(&w, -INFINITY);
    json_end_array(&w);
    buffer_fill(&out, 0, 1);
    assert_string_equal((const char *)out.data, "[\"a\\u0000\xEF\xBF\xBD\xEF\xBF\xBD\",null,18446744073709551615,"
                                                "-9223372036854775808,null,null]");
    buffer_fini(&out);
}

/* All floats with a few mantissas: the text reads back, has at most nine digits, and one digit fewer does not. */
static void floats_return(void **state)
{
    (void)state;
    static const uint32_t mantissas[] = {0, 1, 2, 0x2AAAAA, 0x400000, 0x7FFFFE, 0x7FFFFF};
    for (uint32_t exponent = 0; exponent < 255; exponent++) {
        for (size_t m = 0; m < sizeof mantissas / sizeof *mantissas; m++) {
            uint32_t bits = exponent << 23 | mantissas[m];
            char text[DECIMAL_BYTES];
            float v, back;
            memcpy(&v, &bits, sizeof v);
            size_t n = decimal_from_f32(v, text);
            assert_int_equal(n, strlen(text));
            assert_true(decimal_f32((bytes){(const uint8_t *)text, n}, &back));
            if (memcmp(&v, &back, sizeof v) != 0) {
                fail_msg("%s", text);
            }
        }
    }
    static const struct {
        float v;
        const char *text;
    } cases[] = {
        {0.1f, "0.1"},      {-0.0f, "-0.0"},     {1.0f, "1"},          {16777216.0f, "16777216"},      {1e20f, "1e20"},
        {1e-5f, "0.00001"}, {1.5e-6f, "1.5e-6"}, {0x1p-149f, "1e-45"}, {3.4028235e38f, "3.4028235e38"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[DECIMAL_BYTES];
        decimal_from_f32(cases[i].v, text);
        assert_string_equal(text, cases[i].text);
    }
}

/* A locale with a decimal comma changes neither direction; skipped on machines without one. */
static void the_locale_does_not_matter(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    const char *set = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !set; i++) {
        set = setlocale(LC_NUMERIC, names[i]);
    }
    if (!set) {
        skip();
    }
    char text[DECIMAL_BYTES];
    double d = 0;
    decimal_from_f64(1.0 / 3, text);
    bool read = decimal_f64((bytes){(const uint8_t *)"0.12345678901234567", 19}, &d);
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(text, "0.3333333333333333");
    assert_true(read && d == 0.12345678901234567);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_mean_what_they_mean_to_python),
        cmocka_unit_test(a_document_is_walked),
        cmocka_unit_test(wrong_kinds_and_nothing_are_harmless),
        cmocka_unit_test(errors_say_where),
        cmocka_unit_test(nesting_is_limited),
        cmocka_unit_test(memory_is_about_the_texts),
        cmocka_unit_test(the_writer_lays_out),
        cmocka_unit_test(floats_return),
        cmocka_unit_test(the_locale_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
