#include "base/protowire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static wire_reader reader_of(const void *data, size_t n)
{
    wire_reader r;
    wire_reader_init(&r, (bytes){data, n});
    return r;
}

static void written_fields_are_read(void **state)
{
    (void)state;
    static const uint64_t values[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, INT64_MAX, UINT64_MAX};
    buffer b;
    wire_field f;
    buffer_init(&b);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        wire_write_varint(&b, (uint32_t)i + 1, values[i]);
    }
    wire_write_bytes(&b, 536870911, "text", 4);
    wire_write_f32(&b, 16, -1.5f);
    wire_reader r = reader_of(b.data, b.size);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_true(wire_next(&r, &f));
        assert_int_equal(f.number, i + 1);
        assert_int_equal(f.type, WIRE_VARINT);
        assert_true(f.value == values[i]);
    }
    assert_true(wire_next(&r, &f));
    assert_int_equal(f.number, 536870911);
    assert_int_equal(f.data.size, 4);
    assert_memory_equal(f.data.data, "text", 4);
    assert_true(wire_next(&r, &f));
    assert_true(wire_f32(&f) == -1.5f);
    assert_false(wire_next(&r, &f));
    assert_null(r.problem);
    /* Cut anywhere, it ends in a problem or between fields, never past the end. */
    for (size_t n = 0; n < b.size; n++) {
        r = reader_of(b.data, n);
        while (wire_next(&r, &f)) {
            assert_true(r.at <= n);
        }
        assert_true(r.problem || r.at == n);
    }
    buffer_fini(&b);
}

/* From https://protobuf.dev/programming-guides/encoding/: 150 in field 1, "testing" in field 2. */
static void the_guides_examples(void **state)
{
    (void)state;
    static const uint8_t message[] = {0x08, 0x96, 0x01, 0x12, 0x07, 't', 'e', 's', 't', 'i', 'n', 'g'};
    wire_reader r = reader_of(message, sizeof message);
    wire_field f;
    assert_true(wire_next(&r, &f));
    assert_true(f.number == 1 && f.value == 150);
    assert_true(wire_next(&r, &f));
    assert_true(f.number == 2 && f.data.size == 7 && memcmp(f.data.data, "testing", 7) == 0);
    static const uint8_t packed[] = {0x03, 0x8E, 0x02, 0x9E, 0xA7, 0x05};
    static const uint64_t expected[] = {3, 270, 86942};
    size_t at = 0;
    uint64_t value;
    for (size_t i = 0; i < 3; i++) {
        assert_true(wire_packed_varint((bytes){packed, sizeof packed}, &at, &value));
        assert_true(value == expected[i]);
    }
    assert_false(wire_packed_varint((bytes){packed, sizeof packed}, &at, &value));
}

static void groups_are_skipped(void **state)
{
    (void)state;
    /* Field 1 group { field 1 group { field 2: 5 } }, then field 3: 1. */
    static const uint8_t message[] = {0x0B, 0x0B, 0x10, 0x05, 0x0C, 0x0C, 0x18, 0x01};
    wire_reader r = reader_of(message, sizeof message);
    wire_field f;
    assert_true(wire_next(&r, &f));
    assert_true(f.number == 3 && f.value == 1);
    assert_false(wire_next(&r, &f));
    assert_null(r.problem);
    uint8_t deep[130];
    memset(deep, 0x0B, 65);
    memset(deep + 65, 0x0C, 65);
    r = reader_of(deep + 1, 128);
    assert_false(wire_next(&r, &f));
    assert_null(r.problem);
    r = reader_of(deep, 130);
    assert_false(wire_next(&r, &f));
    assert_string_equal(r.problem, "groups nested too deeply");
}

static void problems_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *message;
        size_t n;
        const char *problem;
    } cases[] = {
        {"\x80", 1, "varint cut off"},
        {"\x08", 1, "varint cut off"},
        {"\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 12, "varint longer than 10 bytes"},
        {"\x00\x01", 2, "field number out of range"},
        {"\x80\x80\x80\x80\x10", 5, "field number out of range"},
        {"\x0A\x05hell", 6, "length past the end"},
        {"\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 11, "length past the end"},
        {"\x09\x01\x02\x03\x04\x05\x06\x07", 8, "64-bit value cut off"},
        {"\x0D\x01\x02\x03", 4, "32-bit value cut off"},
        {"\x0E\x01", 2, "unknown wire type"},
        {"\x0F\x01", 2, "unknown wire type"},
        {"\x0C", 1, "group end without its start"},
        {"\x0B\x14", 2, "group end without its start"},
        {"\x0B", 1, "group without an end"},
        {"\x0B\x08\x01", 3, "group without an end"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wire_field f;
        wire_reader r = reader_of(cases[i].message, cases[i].n);
        assert_false(wire_next(&r, &f));
        assert_non_null(r.problem);
        assert_string_equal(r.problem, cases[i].problem);
        assert_false(wire_next(&r, &f));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_fields_are_read),
        cmocka_unit_test(the_guides_examples),
        cmocka_unit_test(groups_are_skipped),
        cmocka_unit_test(problems_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
