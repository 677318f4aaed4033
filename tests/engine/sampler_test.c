/* session_draw: the right candidates, the right frequencies, the same draws for a seed. */
#include "engine/session.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 1000, DRAWS = 40000 };

static int32_t draw(lithe_session *s, const lithe_sampler *sampler, const float *logits, size_t n)
{
    int32_t id = -1;
    assert_int_equal(session_draw(s, sampler, logits, n, &id, NULL), LITHE_OK);
    return id;
}

/* Draws DRAWS tokens of the first n logits and compares frequencies with `want`, within five standard deviations. */
static void check_frequencies(const lithe_sampler *sampler, const float *logits, const double *want, size_t n)
{
    lithe_session s = {.rng = 12345};
    size_t *seen = calloc(n, sizeof *seen);
    for (int i = 0; i < DRAWS; i++)
        seen[draw(&s, sampler, logits, n)]++;
    for (size_t i = 0; i < n; i++) {
        double deviation = sqrt(want[i] * (1 - want[i]) * DRAWS);
        if (fabs((double)seen[i] - want[i] * DRAWS) > 5 * deviation + 1e-9)
            fail_msg("token %zu: %zu of %d draws, expected %.1f", i, seen[i], DRAWS, want[i] * DRAWS);
    }
    free(seen);
    free(s.candidates);
}

static void temperature_shapes_frequencies(void **state)
{
    (void)state;
    const float logits[4] = {0, 1, 2, -1};
    for (int k = 0; k < 3; k++) {
        lithe_sampler sampler = {.temperature = k == 0 ? 1 : k == 1 ? 0.5F : 2, .top_p = 1};
        double want[4], sum = 0;
        for (int i = 0; i < 4; i++)
            sum += want[i] = exp((double)(logits[i] / sampler.temperature));
        for (int i = 0; i < 4; i++)
            want[i] /= sum;
        check_frequencies(&sampler, logits, want, 4);
    }
}

static void top_k_keeps_the_k_best(void **state)
{
    (void)state;
    const float logits[5] = {1, 3, 2, 3, 0}; /* a tie for the best; k = 3 keeps 1, 3 and 2 */
    lithe_sampler sampler = {.temperature = 1, .top_k = 3, .top_p = 1};
    double e = exp(-1.0), want[5] = {0, 1 / (2 + e), e / (2 + e), 1 / (2 + e), 0};
    check_frequencies(&sampler, logits, want, 5);
}

static void top_p_keeps_the_smallest_set_that_reaches_p(void **state)
{
    (void)state;
    const float logits[4] = {logf(0.5F), logf(0.3F), logf(0.15F), logf(0.05F)};
    lithe_sampler sampler = {.temperature = 1, .top_p = 0.7F};
    const double two[4] = {0.5 / 0.8, 0.3 / 0.8, 0, 0}, one[4] = {1, 0, 0, 0};
    check_frequencies(&sampler, logits, two, 4);
    sampler.top_p = 0.4F;
    check_frequencies(&sampler, logits, one, 4);
}

/* Against sorting: for random logits the drawn token is always among the k best, and every one of them comes up. */
static void candidates_equal_those_of_sorting(void **state)
{
    (void)state;
    float logits[N];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < N; i++)
            logits[i] = (float)((i * 7919 + round * 104729) % 997) / 500;
        lithe_sampler sampler = {.temperature = 100, .top_k = 1 + round * 3, .top_p = 1};
        bool seen[N] = {false};
        lithe_session s = {.rng = (uint64_t)round};
        for (int i = 0; i < 4000; i++)
            seen[draw(&s, &sampler, logits, N)] = true;
        for (int i = 0; i < N; i++) {
            int ahead = 0;
            for (int j = 0; j < N; j++)
                ahead += logits[j] > logits[i] || (logits[j] == logits[i] && j < i);
            if (sampler.top_k > 1)
                assert_int_equal(seen[i], ahead < sampler.top_k);
        }
        free(s.candidates);
    }
}

static void greedy_takes_the_first_of_equals_and_no_random_number(void **state)
{
    (void)state;
    const float logits[4] = {1, 5, 5, 2};
    lithe_session s = {.rng = 99};
    lithe_sampler zero = {.temperature = 0, .top_p = 1}, one = {.temperature = 2, .top_k = 1, .top_p = 1};
    assert_int_equal(draw(&s, &zero, logits, 4), 1);
    assert_int_equal(draw(&s, &one, logits, 4), 1);
    assert_true(s.rng == 99);
}

static void a_seed_repeats_its_draws(void **state)
{
    (void)state;
    float logits[N];
    for (int i = 0; i < N; i++)
        logits[i] = (float)(i % 37) / 10;
    lithe_sampler sampler = {.temperature = 1, .top_p = 0.95F};
    lithe_session a = {.rng = 7}, b = {.rng = 7}, c = {.rng = 8};
    int different = 0;
    for (int i = 0; i < 100; i++) {
        int32_t x = draw(&a, &sampler, logits, N);
        assert_int_equal(x, draw(&b, &sampler, logits, N));
        different += x != draw(&c, &sampler, logits, N);
    }
    assert_true(different > 50);
    free(a.candidates);
    free(b.candidates);
    free(c.candidates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(temperature_shapes_frequencies),
        cmocka_unit_test(top_k_keeps_the_k_best),
        cmocka_unit_test(top_p_keeps_the_smallest_set_that_reaches_p),
        cmocka_unit_test(candidates_equal_those_of_sorting),
        cmocka_unit_test(greedy_takes_the_first_of_equals_and_no_random_number),
        cmocka_unit_test(a_seed_repeats_its_draws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
