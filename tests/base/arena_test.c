#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void objects_are_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, 64);
    uint8_t *objects[200];
    for (size_t i = 0; i < 200; i++) {
        size_t size = 1 + i * 7 % 300;
        objects[i] = arena_alloc(&a, size, 1);
        assert_non_null(objects[i]);
        assert_int_equal((uintptr_t)objects[i] % 16, 0);
        for (size_t k = 0; k < size; k++) {
            assert_int_equal(objects[i][k], 0);
        }
        memset(objects[i], (int)i + 1, size);
    }
    for (size_t i = 0; i < 200; i++) {
        size_t size = 1 + i * 7 % 300;
        for (size_t k = 0; k < size; k++) {
            assert_int_equal(objects[i][k], (uint8_t)(i + 1));
        }
    }
    assert_true(a.total_bytes >= 200 * 150);
    arena_fini(&a);
    assert_null(a.blocks);
    assert_int_equal(a.total_bytes, 0);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, 0);
    assert_null(arena_alloc(&a, SIZE_MAX / 2 + 1, 2));
    assert_null(arena_alloc(&a, SIZE_MAX, SIZE_MAX));
    assert_null(arena_alloc(&a, SIZE_MAX, 1));
    assert_null(arena_alloc(&a, SIZE_MAX - 15, 1));
    assert_null(arena_strndup(&a, "", SIZE_MAX));
    assert_int_equal(a.total_bytes, 0);
    assert_non_null(ARENA_NEW(&a, uint64_t));
    arena_fini(&a);
}

static void memory_that_cannot_be_had_is_null(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, 0);
    assert_null(arena_alloc(&a, SIZE_MAX / 2, 1));
    assert_non_null(ARENA_ARRAY(&a, uint32_t, 100));
    arena_fini(&a);
}

static void nothing_is_not_null(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, 0);
    assert_non_null(arena_alloc(&a, 0, 8));
    assert_non_null(arena_alloc(&a, 8, 0));
    assert_string_equal(arena_strndup(&a, "abcdef", 3), "abc");
    assert_string_equal(arena_strndup(&a, NULL, 0), "");
    arena_fini(&a);
}

static void a_large_object_leaves_the_block_in_use(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, 1024);
    uint8_t *before = arena_alloc(&a, 16, 1);
    assert_non_null(arena_alloc(&a, 1000000, 1));
    uint8_t *after = arena_alloc(&a, 16, 1);
    assert_ptr_equal(after, before + 16);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_zeroed_aligned_and_apart),   cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(memory_that_cannot_be_had_is_null),      cmocka_unit_test(nothing_is_not_null),
        cmocka_unit_test(a_large_object_leaves_the_block_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
