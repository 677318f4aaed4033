#define _GNU_SOURCE 1

#include "base/thread.h"

#include "base/file.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#endif
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

/* ------------------------------------------------------------------------- floating-point environment */

/* The control word alone: rounding, flush-to-zero, denormals-are-zero and the masks of traps. Round to nearest, nothing
 * flushed, all masked is the state that programs start in: 1F80 on x86, 0 on Arm. Sticky flags are restored with it on x86. */
#if defined(__SSE__)
typedef unsigned fp_control;
static fp_control fp_control_standard(void)
{
    fp_control saved = _mm_getcsr();
    _mm_setcsr(0x1F80);
    return saved;
}
static void fp_control_restore(fp_control saved)
{
    _mm_setcsr(saved);
}
#elif defined(__aarch64__)
typedef uint64_t fp_control;
static void fp_control_restore(fp_control saved)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(saved));
}
static fp_control fp_control_standard(void)
{
    fp_control saved;
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved));
    fp_control_restore(0);
    return saved;
}
#else
#include <fenv.h>
typedef fenv_t fp_control;
static fp_control fp_control_standard(void)
{
    fp_control saved;
    fegetenv(&saved);
    fesetenv(FE_DFL_ENV);
    return saved;
}
static void fp_control_restore(fp_control saved)
{
    fesetenv(&saved);
}
#endif

/* --------------------------------------------------------------------------------------------- events */

static inline void pause_briefly(void)
{
#if defined(__SSE__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* A word that threads wait on until it changes. A waiter spins for about as long as a sleep and a wake-up cost, so that
 * short waits stay in user space, and then sleeps, so that on shared cores the thread it waits for gets to run. */
typedef struct event {
    _Atomic uint32_t word;
    _Atomic uint32_t sleepers;
#if !defined(__linux__)
    pthread_mutex_t lock;
    pthread_cond_t changed;
#endif
} event;

#if defined(__linux__)
static void event_init(event *e)
{
    (void)e;
}

static void event_fini(event *e)
{
    (void)e;
}

static void event_sleep(event *e, uint32_t old)
{
    while (atomic_load(&e->word) == old) {
        syscall(SYS_futex, &e->word, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
    }
}

static void event_set(event *e, uint32_t value)
{
    /* Both operations and the waiter's are sequentially consistent: either the waiter sees the new word, or we see it. */
    atomic_store(&e->word, value);
    if (atomic_load(&e->sleepers)) {
        syscall(SYS_futex, &e->word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
    }
}
#else
static void event_init(event *e)
{
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->changed, NULL);
}

static void event_fini(event *e)
{
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
}

static void event_sleep(event *e, uint32_t old)
{
    pthread_mutex_lock(&e->lock);
    while (atomic_load(&e->word) == old) {
        pthread_cond_wait(&e->changed, &e->lock);
    }
    pthread_mutex_unlock(&e->lock);
}

static void event_set(event *e, uint32_t value)
{
    atomic_store(&e->word, value);
    if (atomic_load(&e->sleepers)) {
        pthread_mutex_lock(&e->lock);
        pthread_cond_broadcast(&e->changed);
        pthread_mutex_unlock(&e->lock);
    }
}
#endif

static void event_wait(event *e, uint32_t old, double spin_seconds)
{
    if (spin_seconds > 0) {
        double end = clock_seconds() + spin_seconds;
        do {
            for (unsigned i = 0; i < 64; i++) {
                if (atomic_load_explicit(&e->word, memory_order_acquire) != old) {
                    return;
                }
                pause_briefly();
            }
        } while (clock_seconds() < end);
    }
    atomic_fetch_add(&e->sleepers, 1);
    event_sleep(e, old);
    atomic_fetch_sub(&e->sleepers, 1);
}

/* ----------------------------------------------------------------------------------------------- pool */

enum { MOST_THREADS = 1024, CACHE_LINE = 64 };

typedef struct worker {
    thread_pool *pool;
    pthread_t thread;
    uint32_t index;
} worker;

struct thread_pool {
    pthread_mutex_t callers; /* held by the thread that runs a job */
    uint32_t n_threads;
    uint32_t n_started; /* workers that run, for a creation that fails halfway */
    double spin_seconds;
    worker *workers; /* [n_threads - 1] */

    /* The job; written before `generation` changes, read after. NULL asks workers to end. */
    pool_job job;
    void *user;

    /* On lines of their own: each is written by one side while the other side spins on it. */
    char apart0[CACHE_LINE];
    event generation; /* counts jobs */
    char apart1[CACHE_LINE];
    _Atomic uint32_t working; /* workers that have not finished the job */
    char apart2[CACHE_LINE];
    event finished; /* the generation that all workers have finished */
    char apart3[CACHE_LINE];
    _Atomic uint32_t arrived; /* threads that are in the barrier */
    char apart4[CACHE_LINE];
    event phase; /* counts barriers passed */
};

static void run_job(pool_job job, void *user, uint32_t index, uint32_t n_threads)
{
    fp_control saved = fp_control_standard();
    job(user, index, n_threads);
    fp_control_restore(saved);
}

static void *worker_main(void *arg)
{
    worker *w = arg;
    thread_pool *p = w->pool;
    uint32_t generation = 0;
    for (;;) {
        event_wait(&p->generation, generation, p->spin_seconds);
        generation = atomic_load_explicit(&p->generation.word, memory_order_acquire);
        if (!p->job) {
            return NULL;
        }
        run_job(p->job, p->user, w->index, p->n_threads);
        if (atomic_fetch_sub(&p->working, 1) == 1) {
            event_set(&p->finished, generation);
        }
    }
}

/* Starts a thread that receives no signals: those are for the program's own threads. */
static int start_quiet_thread(pthread_t *thread, void *(*fn)(void *), void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(thread, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

static lithe_status thread_error(lithe_error *err, int code)
{
    error_set(err, code == EAGAIN || code == ENOMEM ? LITHE_E_MEMORY : LITHE_E_IO, "cannot start a thread (errno %d)",
              code);
    error_hint(err, "use fewer threads, or raise the limit of processes (ulimit -u)");
    return code == EAGAIN || code == ENOMEM ? LITHE_E_MEMORY : LITHE_E_IO;
}

lithe_status thread_pool_create(thread_pool **out, uint32_t n_threads, lithe_error *err)
{
    if (n_threads < 1 || n_threads > MOST_THREADS) {
        return error_set(err, LITHE_E_ARGUMENT, "%u threads asked for, possible are 1 to %d", n_threads,
                         (int)MOST_THREADS);
    }
    thread_pool *p = calloc(1, sizeof *p);
    worker *workers = calloc(n_threads, sizeof *workers);
    if (!p || !workers) {
        free(p);
        free(workers);
        return error_memory(err, sizeof *p + n_threads * sizeof *workers, "a thread pool");
    }
    p->n_threads = n_threads;
    p->workers = workers;
    /* With more threads than cores, spinning only takes time from the thread that is waited for. */
    p->spin_seconds = n_threads > thread_core_count() ? 0 : 50e-6;
    pthread_mutex_init(&p->callers, NULL);
    event_init(&p->generation);
    event_init(&p->finished);
    event_init(&p->phase);
    for (; p->n_started + 1 < n_threads; p->n_started++) {
        worker *w = &workers[p->n_started];
        *w = (worker){.pool = p, .index = p->n_started + 1};
        int code = start_quiet_thread(&w->thread, worker_main, w);
        if (code) {
            thread_pool_destroy(p);
            return thread_error(err, code);
        }
    }
    *out = p;
    return LITHE_OK;
}

void thread_pool_destroy(thread_pool *p)
{
    if (!p) {
        return;
    }
    p->job = NULL;
    event_set(&p->generation, atomic_load(&p->generation.word) + 1);
    for (uint32_t i = 0; i < p->n_started; i++) {
        pthread_join(p->workers[i].thread, NULL);
    }
    event_fini(&p->phase);
    event_fini(&p->finished);
    event_fini(&p->generation);
    pthread_mutex_destroy(&p->callers);
    free(p->workers);
    free(p);
}

uint32_t thread_pool_size(const thread_pool *p)
{
    return p->n_threads;
}

void thread_pool_run(thread_pool *p, pool_job job, void *user)
{
    pthread_mutex_lock(&p->callers);
    if (p->n_threads == 1) {
        run_job(job, user, 0, 1);
    } else {
        uint32_t before = atomic_load(&p->generation.word);
        p->job = job;
        p->user = user;
        atomic_store(&p->working, p->n_threads - 1);
        event_set(&p->generation, before + 1);
        run_job(job, user, 0, p->n_threads);
        event_wait(&p->finished, before, p->spin_seconds);
    }
    pthread_mutex_unlock(&p->callers);
}

void thread_pool_barrier(thread_pool *p)
{
    if (p->n_threads == 1) {
        return;
    }
    uint32_t phase = atomic_load_explicit(&p->phase.word, memory_order_acquire);
    if (atomic_fetch_add(&p->arrived, 1) == p->n_threads - 1) {
        atomic_store(&p->arrived, 0);
        event_set(&p->phase, phase + 1);
    } else {
        event_wait(&p->phase, phase, p->spin_seconds);
    }
}

/* ------------------------------------------------------------------------------ plain threads and locks */

struct thread_handle {
    pthread_t thread;
    void (*fn)(void *);
    void *user;
};

static void *plain_main(void *arg)
{
    thread_handle *t = arg;
    t->fn(t->user);
    return NULL;
}

lithe_status thread_start(thread_handle **out, void (*fn)(void *), void *user, lithe_error *err)
{
    thread_handle *t = malloc(sizeof *t);
    if (!t) {
        return error_memory(err, sizeof *t, "a thread");
    }
    *t = (thread_handle){.fn = fn, .user = user};
    int code = start_quiet_thread(&t->thread, plain_main, t);
    if (code) {
        free(t);
        return thread_error(err, code);
    }
    *out = t;
    return LITHE_OK;
}

void thread_join(thread_handle *t)
{
    if (t) {
        pthread_join(t->thread, NULL);
        free(t);
    }
}

struct mutex {
    pthread_mutex_t lock;
};

lithe_status mutex_create(mutex **out, lithe_error *err)
{
    mutex *m = malloc(sizeof *m);
    if (!m || pthread_mutex_init(&m->lock, NULL) != 0) {
        free(m);
        return error_memory(err, sizeof *m, "a lock");
    }
    *out = m;
    return LITHE_OK;
}

void mutex_destroy(mutex *m)
{
    if (m) {
        pthread_mutex_destroy(&m->lock);
        free(m);
    }
}

void mutex_lock(mutex *m)
{
    pthread_mutex_lock(&m->lock);
}

void mutex_unlock(mutex *m)
{
    pthread_mutex_unlock(&m->lock);
}

uint32_t thread_core_count(void)
{
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        int n = CPU_COUNT(&set);
        return n > 0 ? (uint32_t)n : 1;
    }
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN); /* also for more cores than a cpu_set_t has */
    return n > 0 ? (uint32_t)n : 1;
}
