/* A real model every day: the prompts of ordinary length of SmolLM2's golden. Skipped (exit code 77) where the bundle is not there, unless
 * LITHE_REQUIRE_BUNDLES is set; the test golden_bundle makes it where there is a network. */
#include "golden/support.h"
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SKIPPED = 77 };

static void smollm2_answers_as_the_reference(void **state)
{
    (void)state;
    golden g;
    golden_limits limits = {.rule = GOLDEN_FLOOR, .max_ids = 64, .plan = LITHE_PLAN_ANY_LENGTH};
    golden_read(&g, "tests/data/golden/smollm2-135m-int8.json");
    const char *path = real_path("smollm2-135m-int8");
    assert_non_null(path);
    golden_check(&g, "smollm2-135m-int8", path, &limits);
    golden_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(smollm2_answers_as_the_reference)};
    if (!real_path("smollm2-135m-int8") && !getenv("LITHE_REQUIRE_BUNDLES")) {
        printf("smollm2-135m-int8 is not there: skipped\n");
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
