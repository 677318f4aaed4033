#define _GNU_SOURCE 1

#include "base/cpuinfo.h"
#include "base/log.h"
#include "base/thread.h"

#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

enum { MOST = 8, ROUNDS = 200 };

/* Cells are plain memory: only the barrier orders the threads' accesses, which ThreadSanitizer checks. */
typedef struct relay {
    thread_pool *pool;
    uint32_t cells[2][MOST];
    uint32_t wrong[MOST];
    uint32_t called[MOST];
} relay;

/* Every thread passes its neighbour's number on, `ROUNDS` times. */
static void relay_job(void *user, uint32_t thread, uint32_t n)
{
    relay *r = user;
    r->called[thread]++;
    r->cells[0][thread] = thread;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        thread_pool_barrier(r->pool);
        uint32_t received = r->cells[round % 2][(thread + 1) % n];
        r->wrong[thread] += received != (thread + 1 + round) % n;
        r->cells[(round + 1) % 2][thread] = received;
    }
}

static void barriers_order_all_threads(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= MOST; n += n < 4 ? 1 : 4) {
        relay r = {0};
        assert_int_equal(thread_pool_create(&r.pool, n, NULL), LITHE_OK);
        assert_int_equal(thread_pool_size(r.pool), n);
        for (uint32_t run = 1; run <= 3; run++) {
            thread_pool_run(r.pool, relay_job, &r);
            for (uint32_t i = 0; i < MOST; i++) {
                assert_int_equal(r.wrong[i], 0);
                assert_int_equal(r.called[i], i < n ? run : 0);
            }
        }
        thread_pool_destroy(r.pool);
    }
    thread_pool_destroy(NULL);
}

static void count_job(void *user, uint32_t thread, uint32_t n)
{
    (void)n;
    ((uint32_t *)user)[thread]++;
}

static void results_are_seen_after_every_run(void **state)
{
    (void)state;
    thread_pool *p;
    uint32_t counts[3] = {0};
    assert_int_equal(thread_pool_create(&p, 3, NULL), LITHE_OK);
    for (uint32_t i = 1; i <= 2000; i++) {
        thread_pool_run(p, count_job, counts);
        assert_int_equal(counts[0], i);
        assert_int_equal(counts[1], i);
        assert_int_equal(counts[2], i);
    }
    thread_pool_destroy(p);
}

static void pools_of_impossible_sizes_are_refused(void **state)
{
    (void)state;
    thread_pool *p = NULL;
    lithe_error err;
    assert_int_equal(thread_pool_create(&p, 0, &err), LITHE_E_ARGUMENT);
    assert_int_equal(thread_pool_create(&p, UINT32_MAX, &err), LITHE_E_ARGUMENT);
    assert_null(p);
}

typedef struct callers {
    thread_pool *pool;
    uint32_t counts[2]; /* [thread of the pool], only exact if jobs exclude each other */
} callers;

static void call_often(void *user)
{
    callers *c = user;
    for (int i = 0; i < 300; i++) {
        thread_pool_run(c->pool, count_job, c->counts);
    }
}

static void concurrent_callers_wait_for_each_other(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 2; n++) {
        callers c = {0};
        thread_handle *threads[4];
        assert_int_equal(thread_pool_create(&c.pool, n, NULL), LITHE_OK);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(thread_start(&threads[i], call_often, &c, NULL), LITHE_OK);
        }
        for (int i = 0; i < 4; i++) {
            thread_join(threads[i]);
        }
        assert_int_equal(c.counts[0], 1200);
        assert_int_equal(c.counts[1], n == 2 ? 1200 : 0);
        thread_pool_destroy(c.pool);
    }
}

/* 1 + 2^-24 is halfway: 1 when rounding to nearest, more when rounding up. */
static void rounding_job(void *user, uint32_t thread, uint32_t n)
{
    volatile float one = 1.0f, half_step = 0x1p-24f, tiny = 0x1p-126f, half = 0.5f;
    (void)n;
    ((bool *)user)[thread] = one + half_step == 1.0f && tiny * half != 0.0f;
}

static void jobs_run_in_the_standard_floating_point_environment(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 2; n++) {
        thread_pool *p;
        bool standard[2] = {false};
        fesetround(FE_UPWARD);
#if defined(__SSE__)
        _mm_setcsr(_mm_getcsr() | 0x8040); /* flush to zero, denormals are zero: threads started now inherit it */
        unsigned before = _mm_getcsr();
#endif
        assert_int_equal(thread_pool_create(&p, n, NULL), LITHE_OK);
        thread_pool_run(p, rounding_job, standard);
        int round = fegetround();
#if defined(__SSE__)
        unsigned after = _mm_getcsr();
        _mm_setcsr(0x1F80);
        assert_int_equal(after & 0xFFC0, before & 0xFFC0);
#endif
        fesetenv(FE_DFL_ENV);
        assert_int_equal(round, FE_UPWARD);
        assert_true(standard[0]);
        assert_int_equal(standard[1], n == 2);
        thread_pool_destroy(p);
    }
}

typedef struct guarded {
    mutex *lock;
    uint32_t count;
} guarded;

static void count_under_lock(void *user)
{
    guarded *g = user;
    for (int i = 0; i < 1000; i++) {
        mutex_lock(g->lock);
        g->count++;
        mutex_unlock(g->lock);
    }
}

static void a_mutex_excludes(void **state)
{
    (void)state;
    guarded g = {0};
    thread_handle *threads[4];
    assert_int_equal(mutex_create(&g.lock, NULL), LITHE_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(thread_start(&threads[i], count_under_lock, &g, NULL), LITHE_OK);
    }
    for (int i = 0; i < 4; i++) {
        thread_join(threads[i]);
    }
    assert_int_equal(g.count, 4000);
    mutex_destroy(g.lock);
    assert_true(thread_core_count() >= 1);
}

/* -------------------------------------------------------------------------------- CPU features and log */

static void levels_limit_features(void **state)
{
    (void)state;
    lithe_error err;
    uint32_t seen = cpu_features_seen();
    assert_int_equal(lithe_set_cpu("auto", NULL), LITHE_OK);
    assert_int_equal(cpu_features_enabled(), seen);
    assert_int_equal(lithe_set_cpu("c", NULL), LITHE_OK);
    assert_int_equal(cpu_features_enabled(), 0);
    assert_int_equal(lithe_set_cpu("sse9", &err), LITHE_E_ARGUMENT);
    assert_non_null(strstr(err.message, "sse9"));
    assert_int_equal(lithe_set_cpu(NULL, &err), LITHE_E_ARGUMENT);
    assert_int_equal(cpu_features_enabled(), 0);
    static const struct {
        const char *name;
        uint32_t feature, below;
    } levels[] = {
        {"avx2", CPU_AVX2, 0},
        {"avxvnni", CPU_AVXVNNI, CPU_AVX2},
        {"avx512vnni", CPU_AVX512VNNI, CPU_AVX2 | CPU_AVXVNNI},
        {"neon", CPU_NEON, 0},
        {"dotprod", CPU_DOTPROD, CPU_NEON},
        {"i8mm", CPU_I8MM, CPU_NEON | CPU_DOTPROD},
    };
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        bool has = (seen & levels[i].feature) != 0;
        assert_int_equal(lithe_set_cpu("c", NULL), LITHE_OK);
        assert_int_equal(lithe_set_cpu(levels[i].name, &err), has ? LITHE_OK : LITHE_E_ARGUMENT);
        assert_int_equal(cpu_features_enabled(), has ? seen & (levels[i].feature | levels[i].below) : 0);
    }
    lithe_set_cpu("auto", NULL);
}

static void features_are_described(void **state)
{
    (void)state;
    char text[64], small[6];
    assert_int_equal(cpu_features_describe(0, text, sizeof text), 1);
    assert_string_equal(text, "c");
    assert_int_equal(cpu_features_describe(CPU_AVX2 | CPU_AVX512VNNI, text, sizeof text), 15);
    assert_string_equal(text, "avx2 avx512vnni");
    assert_int_equal(cpu_features_describe(CPU_AVX2 | CPU_AVX512VNNI, small, sizeof small), 15);
    assert_string_equal(small, "avx2 ");
    assert_int_equal(cpu_features_describe(CPU_NEON, NULL, 0), 4);
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    /* The compiler's own view; it was wrong once on Windows, not here. */
    bool expected = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    assert_int_equal((cpu_features_seen() & CPU_AVX2) != 0, expected);
    assert_int_equal((cpu_features_seen() & CPU_AVX512VNNI) != 0, __builtin_cpu_supports("avx512vnni") && expected);
#endif
}

typedef struct sink {
    int calls;
    lithe_log_level level;
    char last[2000];
} sink;

static void keep(void *user, lithe_log_level level, const char *message)
{
    sink *s = user;
    s->calls++;
    s->level = level;
    strncpy(s->last, message, sizeof s->last - 1);
}

static void the_log_is_quiet_until_asked(void **state)
{
    (void)state;
    sink s = {0};
    log_message(LITHE_LOG_ERROR, "to nobody");
    lithe_set_log(keep, &s, LITHE_LOG_WARNING);
    log_message(LITHE_LOG_INFO, "not so important");
    assert_int_equal(s.calls, 0);
    log_message(LITHE_LOG_WARNING, "%d of %s", 3, "four");
    assert_int_equal(s.calls, 1);
    assert_int_equal(s.level, LITHE_LOG_WARNING);
    assert_string_equal(s.last, "3 of four");
    log_message(LITHE_LOG_ERROR, "%1500s", "x");
    assert_int_equal(s.calls, 2);
    assert_int_equal(strlen(s.last), 1023);
    lithe_set_log(NULL, NULL, LITHE_LOG_ERROR);
    log_message(LITHE_LOG_ERROR, "to nobody");
    assert_int_equal(s.calls, 2);
}

static void an_unknown_level_in_the_environment_is_a_warning(void **state)
{
    (void)state;
    /* First in the program: the environment is read once. */
    sink s = {0};
    setenv("LITHE_CPU", "sse9", 1);
    lithe_set_log(keep, &s, LITHE_LOG_WARNING);
    assert_int_equal(cpu_features_enabled(), cpu_features_seen());
    lithe_set_log(NULL, NULL, LITHE_LOG_ERROR);
    assert_int_equal(s.calls, 1);
    assert_non_null(strstr(s.last, "sse9"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_level_in_the_environment_is_a_warning),
        cmocka_unit_test(barriers_order_all_threads),
        cmocka_unit_test(results_are_seen_after_every_run),
        cmocka_unit_test(pools_of_impossible_sizes_are_refused),
        cmocka_unit_test(concurrent_callers_wait_for_each_other),
        cmocka_unit_test(jobs_run_in_the_standard_floating_point_environment),
        cmocka_unit_test(a_mutex_excludes),
        cmocka_unit_test(levels_limit_features),
        cmocka_unit_test(features_are_described),
        cmocka_unit_test(the_log_is_quiet_until_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
