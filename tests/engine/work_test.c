/* Work that is counted, not timed: cost follows the tokens in use, whatever the capacity, and steps are as few as they must be. */
#include "cpu/exec.h"
#include "engine/session.h"
#include "engine/support.h"
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CONTEXT = 64, VOCAB = 300, USED = 16 }; /* of the toys */

static lithe_work work_of(const lithe_session *s)
{
    lithe_work w;
    lithe_session_get_work(s, &w);
    return w;
}

static lithe_model *open_on(const char *toy, uint32_t threads)
{
    lithe_model_options options;
    lithe_model_options_init(&options);
    options.n_threads = threads;
    return must_open(toy_path(toy), &options);
}

/* Sixteen tokens cost the same with room for 16 as for 64, on one thread as on three. */
static void cost_follows_use(void **state)
{
    (void)state;
    int32_t ids[USED];
    some_ids(ids, USED, VOCAB, 1);
    static const char *const toys[] = {"toy-fp32", "toy-window", "toy-int8"};
    for (size_t i = 0; i < sizeof toys / sizeof *toys; i++) {
        lithe_work first = {0};
        for (uint32_t run = 0; run < 4; run++) {
            lithe_model *model = open_on(toys[i], run % 2 ? 3 : 1);
            lithe_session *s = must_create(model, run / 2 ? USED : CONTEXT);
            must_prefill(s, ids, USED);
            const lithe_work w = work_of(s);
            if (!run)
                first = w;
            assert_int_equal(w.tokens, USED);
            assert_int_equal(w.steps, 1);
            assert_true(w.positions_read > 0);
            assert_int_equal(w.positions_read, first.positions_read);
            assert_int_equal(w.state_bytes, first.state_bytes);
            lithe_session_destroy(s);
            lithe_model_close(model);
        }
    }
}

/* Sixteen tokens and eight decode steps read the same positions, and take the same memory, whatever the capacity of the states. */
static void capacity_costs_nothing(void **state)
{
    (void)state;
    static const char *const toys[][2] = {{"toy-512", "toy-8192"}, {"toy-window-512", "toy-window-8192"}};
    int32_t ids[USED + 8];
    some_ids(ids, USED + 8, VOCAB, 1);
    for (size_t i = 0; i < sizeof toys / sizeof *toys; i++) {
        lithe_work of[2];
        for (int large = 0; large < 2; large++) {
            lithe_model *model = open_on(toys[i][large], 2);
            assert_int_equal(lithe_model_get_info(model)->context, large ? 8192 : 512);
            assert_string_equal(lithe_model_get_info(model)->plan, "any length");
            lithe_session *s = must_create(model, 0);
            must_prefill(s, ids, USED);
            for (int k = 0; k < 8; k++)
                must_decode(s, ids[USED + k]);
            of[large] = work_of(s);
            lithe_session_destroy(s);
            lithe_model_close(model);
        }
        assert_true(of[0].positions_read > 0);
        assert_int_equal(of[0].positions_read, of[1].positions_read);
        assert_int_equal(of[0].steps, of[1].steps);
        assert_int_equal(of[0].state_bytes, of[1].state_bytes);
    }
}

/* A token at position p reads p + 1 positions of each layer and key head. In one piece it is less: the last layer attends for the token
 * whose logits are wanted, and for no other. */
static void a_token_reads_the_positions_before_it(void **state)
{
    (void)state;
    int32_t ids[USED];
    some_ids(ids, USED, VOCAB, 2);
    lithe_model *model = open_on("toy-fp32", 2);
    lithe_session *whole = must_create(model, 0), *parts = must_create(model, 0);
    must_prefill(whole, ids, USED);
    must_prefill(parts, ids, 1);
    const uint64_t per_position = work_of(parts).positions_read;
    for (uint32_t i = 1; i < USED; i++)
        must_prefill(parts, ids + i, 1);
    assert_int_equal(work_of(parts).steps, USED);
    assert_int_equal(work_of(parts).positions_read, per_position * USED * (USED + 1) / 2);
    assert_true(work_of(whole).positions_read < work_of(parts).positions_read);
    lithe_session_destroy(whole);
    lithe_session_destroy(parts);
    lithe_model_close(model);
}

/* A layer of full attention reads more at each position, one with a window no more than the window. */
static void a_window_bounds_what_is_read(void **state)
{
    (void)state;
    int32_t ids[CONTEXT];
    some_ids(ids, CONTEXT, VOCAB, 3);
    lithe_model *full = open_on("toy-fp32", 1), *window = open_on("toy-window", 1);
    lithe_session *a = must_create(full, 0), *b = must_create(window, 0);
    must_prefill(a, ids, CONTEXT);
    must_prefill(b, ids, CONTEXT);
    assert_true(work_of(b).positions_read < work_of(a).positions_read);
    lithe_session_destroy(a);
    lithe_session_destroy(b);
    lithe_model_close(full);
    lithe_model_close(window);
}

/* Threads wait for each other less often than there are steps. */
static void barriers_are_counted(void **state)
{
    (void)state;
    lithe_model *model = open_on("toy-int8", 2);
    for (int one = 0; one < 2; one++) {
        uint32_t steps, barriers;
        exec_schedule(model->decode.exec, one != 0, &steps, &barriers);
        assert_true(steps > 0);
        assert_true(barriers > 0);
        assert_true(barriers < steps);
    }
    lithe_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cost_follows_use),
        cmocka_unit_test(capacity_costs_nothing),
        cmocka_unit_test(a_token_reads_the_positions_before_it),
        cmocka_unit_test(a_window_bounds_what_is_read),
        cmocka_unit_test(barriers_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
