#include "base/error.h"
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void every_status_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(lithe_status_name(LITHE_OK), "LITHE_OK");
    assert_string_equal(lithe_status_name(LITHE_E_FORMAT), "LITHE_E_FORMAT");
    for (int s = LITHE_OK; s <= LITHE_E_INTERNAL; s++) {
        assert_int_equal(strncmp(lithe_status_name((lithe_status)s), "LITHE_", 6), 0);
        assert_string_not_equal(lithe_status_name((lithe_status)s), "LITHE_E_UNKNOWN");
    }
    assert_string_equal(lithe_status_name((lithe_status)1000), "LITHE_E_UNKNOWN");
    assert_string_equal(lithe_status_name((lithe_status)-1), "LITHE_E_UNKNOWN");
}

static void the_version_is_the_headers(void **state)
{
    (void)state;
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", LITHE_VERSION_MAJOR, LITHE_VERSION_MINOR, LITHE_VERSION_PATCH);
    assert_string_equal(lithe_version(), expected);
}

static void setting_clears_and_fields_add(void **state)
{
    (void)state;
    lithe_error err;
    memset(&err, 0x55, sizeof err);
    assert_int_equal(error_set(&err, LITHE_E_MODEL, "node %d is odd", 7), LITHE_E_MODEL);
    assert_string_equal(err.message, "node 7 is odd");
    assert_int_equal(err.section, -1);
    assert_int_equal(err.node, -1);
    assert_string_equal(err.path, "");
    assert_string_equal(err.hint, "");

    assert_int_equal(error_expected(&err, "[1, %d]", 4), LITHE_E_MODEL);
    error_found(&err, "[%d]", 3);
    error_tensor(&err, "q");
    error_hint(&err, "export again");
    error_at_node(&err, 7, "ADD");
    error_at_node(&err, 8, "MUL");
    error_at_path(&err, "a.litertlm");
    error_at_path(&err, "b.litertlm");
    error_at_section(&err, 2);
    error_at_section(&err, 3);
    error_at_signature(&err, "decode");
    error_at_signature(&err, "prefill");

    char line[512];
    size_t n = lithe_error_describe(&err, line, sizeof line);
    assert_string_equal(line, "node 7 is odd [file a.litertlm, section 2, signature decode, node 7, op ADD, tensor q, "
                              "expected [1, 4], found [3]]; export again");
    assert_int_equal(n, strlen(line));
}

static void without_an_error_nothing_happens(void **state)
{
    (void)state;
    assert_int_equal(error_set(NULL, LITHE_E_IO, "x"), LITHE_E_IO);
    assert_int_equal(error_memory(NULL, 10, "x"), LITHE_E_MEMORY);
    assert_int_equal(error_hint(NULL, "x"), LITHE_E_INTERNAL);
    error_at_path(NULL, "x");
    error_at_node(NULL, 1, "x");
    assert_int_equal(lithe_error_describe(NULL, NULL, 0), 0);
}

static void long_texts_are_cut_between_characters(void **state)
{
    (void)state;
    lithe_error err;
    char text[2000];
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'a', shift);
        for (size_t i = shift; i + 3 < sizeof text; i += 3) {
            memcpy(text + i, "\xE2\x96\x81", 3);
            text[i + 3] = 0;
        }
        error_set(&err, LITHE_E_FORMAT, "%s", text);
        error_tensor(&err, "%s", text);
        assert_true(strlen(err.message) >= sizeof err.message - 3);
        assert_true(utf8_valid((const uint8_t *)err.message, strlen(err.message)));
        assert_true(utf8_valid((const uint8_t *)err.tensor, strlen(err.tensor)));
    }
}

static void a_line_is_cut_but_its_length_told(void **state)
{
    (void)state;
    lithe_error err;
    char line[512], small[8];
    error_set(&err, LITHE_E_IO, "two\nlines \xC3\xA4");
    error_hint(&err, "look");
    size_t n = lithe_error_describe(&err, line, sizeof line);
    assert_string_equal(line, "two lines \xC3\xA4; look");
    assert_int_equal(lithe_error_describe(&err, NULL, 0), n);
    for (size_t room = 1; room <= n + 1; room++) {
        char exact[64];
        memset(exact, 'x', sizeof exact);
        assert_int_equal(lithe_error_describe(&err, exact, room), n);
        assert_true(strlen(exact) < room);
        assert_int_equal(strncmp(exact, line, strlen(exact)), 0);
        assert_true(utf8_valid((const uint8_t *)exact, strlen(exact)));
    }
    assert_int_equal(lithe_error_describe(&err, small, sizeof small), n);
    assert_string_equal(small, "two lin");
}

static void an_error_may_quote_itself(void **state)
{
    (void)state;
    lithe_error err;
    error_set(&err, LITHE_E_IO, "inner");
    error_set(&err, LITHE_E_FORMAT, "outer: %s", err.message);
    assert_string_equal(err.message, "outer: inner");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_name),
        cmocka_unit_test(the_version_is_the_headers),
        cmocka_unit_test(setting_clears_and_fields_add),
        cmocka_unit_test(without_an_error_nothing_happens),
        cmocka_unit_test(long_texts_are_cut_between_characters),
        cmocka_unit_test(a_line_is_cut_but_its_length_told),
        cmocka_unit_test(an_error_may_quote_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
