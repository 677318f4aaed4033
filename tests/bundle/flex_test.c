/* FlexBuffer maps as the flatbuffers package writes them (tests/data/bundle/flex.txt), and damaged ones. */
#include "base/file.h"
#include "bundle/tflite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static unsigned digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);
}

static size_t unhex(const char *hex, uint8_t *out)
{
    size_t n = strlen(hex) / 2;
    for (size_t i = 0; i < n; i++) {
        out[i] = (uint8_t)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    }
    return n;
}

static void check(const char *hex, const char *key, char kind, const char *value)
{
    uint8_t *data = malloc(strlen(hex) / 2 + 1), text[1024];
    assert_non_null(data);
    bytes flex = {data, unhex(hex, data)}, s = {0};
    double number = 0;
    bool is_number = flex_map_number(flex, key, &number), is_string = flex_map_string(flex, key, &s);
    assert_int_equal(is_number, kind == 'n');
    assert_int_equal(is_string, kind == 's');
    if (kind == 'n') {
        double expected = strtod(value, NULL), error = number - expected;
        /* floats are stored in 32 bits when the writer finds that enough */
        double limit = (expected < 0 ? -expected : expected) * 1e-7;
        assert_true(error <= limit && error >= -limit);
    } else if (kind == 's') {
        assert_int_equal(s.size, unhex(value, text));
        assert_memory_equal(s.data, text, s.size);
    }
    free(data);
}

typedef void (*line_fn)(const char *hex, const char *key, char kind, const char *value);

static unsigned each_line(line_fn fn)
{
    uint8_t *data = NULL;
    size_t size;
    lithe_error err;
    unsigned n = 0;
    if (file_read_all("tests/data/bundle/flex.txt", 1 << 20, &data, &size, &err)) {
        fail_msg("%s", err.message);
    }
    for (char *line = strtok((char *)data, "\n"); line; line = strtok(NULL, "\n"), n++) {
        static char hex[4096], key[64], value[2048];
        char kind;
        assert_int_equal(sscanf(line, "%4095s %63s %c %2047s", hex, key, &kind, value), 4);
        fn(hex, key, kind, value);
    }
    free(data);
    return n;
}

static void golden_maps(void **state)
{
    (void)state;
    assert_true(each_line(check) >= 17);
}

/* Each byte changed and each cut, on exact allocations. */
static void damage(const char *hex, const char *key, char kind, const char *value)
{
    (void)kind;
    (void)value;
    uint8_t whole[2048];
    size_t n = unhex(hex, whole);
    static const uint8_t changes[] = {1, 0x40, 0xFF};
    for (size_t at = 0; at < n; at++) {
        for (size_t c = 0; c <= sizeof changes; c++) {
            size_t size = c < sizeof changes ? n : at;
            uint8_t *data = malloc(size + 1);
            bytes flex = {data, size}, s = {0};
            double number;
            assert_non_null(data);
            memcpy(data, whole, size);
            if (c < sizeof changes) {
                data[at] ^= changes[c];
            }
            flex_map_number(flex, key, &number);
            if (flex_map_string(flex, key, &s)) {
                assert_true(s.data >= data && s.size <= size - (size_t)(s.data - data));
            }
            free(data);
        }
    }
}

static void damaged_maps(void **state)
{
    (void)state;
    assert_true(each_line(damage) > 0);
    double number;
    assert_false(flex_map_number((bytes){NULL, 0}, "a", &number));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_maps),
        cmocka_unit_test(damaged_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
