#include "base/buffer.h"
#include "base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void overflow_is_noticed(void **state)
{
    (void)state;
    uint64_t u;
    size_t s;
    assert_true(u64_add(UINT64_MAX - 1, 1, &u));
    assert_true(u == UINT64_MAX);
    assert_false(u64_add(UINT64_MAX, 1, &u));
    assert_true(u64_mul(UINT32_MAX, UINT32_MAX, &u));
    assert_false(u64_mul(UINT64_C(1) << 32, UINT64_C(1) << 32, &u));
    assert_true(size_mul(3, 5, &s) && s == 15);
    assert_false(size_add(SIZE_MAX, 1, &s));
    assert_false(size_mul(SIZE_MAX, 2, &s));
}

static void ranges_are_checked_without_overflow(void **state)
{
    (void)state;
    uint8_t data[8] = {0};
    bytes b = {data, sizeof data};
    assert_true(bytes_has(b, 0, 8));
    assert_true(bytes_has(b, 8, 0));
    assert_false(bytes_has(b, 8, 1));
    assert_false(bytes_has(b, 9, 0));
    assert_false(bytes_has(b, 1, UINT64_MAX));
    assert_false(bytes_has(b, UINT64_MAX, 1));
}

static void loads_and_stores_are_little_endian_at_any_address(void **state)
{
    (void)state;
    uint8_t data[24];
    for (size_t shift = 0; shift < 8; shift++) {
        store_u64(data + shift, UINT64_C(0x0807060504030201));
        for (uint8_t i = 0; i < 8; i++) {
            assert_int_equal(data[shift + i], i + 1);
        }
        assert_int_equal(load_u16(data + shift), 0x0201);
        assert_int_equal(load_u32(data + shift), 0x04030201);
        assert_true(load_u64(data + shift) == UINT64_C(0x0807060504030201));
        store_u16(data + shift, 0xFEDC);
        assert_int_equal(load_u16(data + shift), 0xFEDC);
        store_u32(data + shift, 0x3FC00000);
        assert_true(load_f32(data + shift) == 1.5f);
    }
}

static void a_buffer_grows(void **state)
{
    (void)state;
    buffer b;
    buffer_init(&b);
    for (int i = 0; i < 1000; i++) {
        buffer_printf(&b, "%d,", i % 10);
    }
    buffer_fill(&b, 'x', 500);
    buffer_append(&b, NULL, 0);
    buffer_string(&b, "end");
    assert_false(buffer_failed(&b));
    assert_int_equal(b.size, 2503);
    assert_memory_equal(b.data, "0,1,2,", 6);
    assert_memory_equal(b.data + 1998, "9,xxx", 5);
    assert_memory_equal(b.data + 2500, "end", 3);
    buffer_fini(&b);
    assert_null(b.data);
}

static void a_buffer_prints_long_lines(void **state)
{
    (void)state;
    buffer b;
    buffer_init(&b);
    for (int width = 120; width < 140; width++) {
        buffer_printf(&b, "%*d", width, 7);
        assert_int_equal(b.data[b.size - 1], '7');
        assert_int_equal(b.data[b.size - (size_t)width], ' ');
    }
    buffer_fini(&b);
}

static void a_buffers_failure_sticks(void **state)
{
    (void)state;
    buffer b;
    buffer_init(&b);
    buffer_string(&b, "kept");
    buffer_fill(&b, 0, SIZE_MAX / 2);
    assert_true(buffer_failed(&b));
    buffer_string(&b, "dropped");
    assert_int_equal(b.size, 4);
    buffer_fini(&b);
    assert_false(buffer_failed(&b));
    buffer_string(&b, "x");
    buffer_fill(&b, 0, SIZE_MAX);
    assert_true(buffer_failed(&b));
    buffer_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overflow_is_noticed),
        cmocka_unit_test(ranges_are_checked_without_overflow),
        cmocka_unit_test(loads_and_stores_are_little_endian_at_any_address),
        cmocka_unit_test(a_buffer_grows),
        cmocka_unit_test(a_buffer_prints_long_lines),
        cmocka_unit_test(a_buffers_failure_sticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
