#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void allocations_are_aligned_and_usable(void **state)
{
    (void)state;
    for (size_t n = 0; n < 5000; n += 97) {
        unsigned char *p = memory_alloc(n), *z = memory_alloc_zeroed(n);
        assert_non_null(p);
        assert_non_null(z);
        assert_int_equal((uintptr_t)p % 64, 0);
        assert_int_equal((uintptr_t)z % 64, 0);
        memset(p, 0xa5, n);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(z[i], 0);
        memory_free(p);
        memory_free(z);
    }
    memory_free(NULL);
}

static void sizes_that_cannot_be_had_give_null(void **state)
{
    (void)state;
    assert_null(memory_alloc(SIZE_MAX));
    assert_null(memory_alloc(SIZE_MAX - 10));
    assert_null(memory_alloc_zeroed(SIZE_MAX / 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_aligned_and_usable),
        cmocka_unit_test(sizes_that_cannot_be_had_give_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
