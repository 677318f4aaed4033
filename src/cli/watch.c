#define _POSIX_C_SOURCE 200809L

#include "cli/watch.h"

#include "base/file.h"
#include "base/thread.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

enum { WATCH_PERIOD_MS = 5 };

struct watch {
    thread_handle *thread;
    mutex *lock; /* of session: it must not be destroyed while it is being cancelled */
    lithe_session *session;
    bool cancelled;
    bool sample_memory;
    atomic_bool end;
    _Atomic uint64_t peak;
};

/* A signal handler has no argument to find its state by. */
static atomic_bool interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    atomic_store(&interrupted, true);
}

static void sample(watch *w)
{
    process_memory m;
    process_memory_get(&m);
    uint64_t peak = atomic_load(&w->peak);
    while (m.anon > peak && !atomic_compare_exchange_weak(&w->peak, &peak, m.anon)) {
    }
}

static void cancel(watch *w)
{
    mutex_lock(w->lock);
    if (w->session && !w->cancelled) {
        lithe_session_cancel(w->session);
        w->cancelled = true;
    }
    mutex_unlock(w->lock);
}

static void watch_main(void *user)
{
    watch *w = (watch *)user;
    const struct timespec period = {.tv_nsec = WATCH_PERIOD_MS * 1000000L};
    while (!atomic_load(&w->end)) {
        if (w->sample_memory) {
            sample(w);
        }
        if (atomic_load(&interrupted)) {
            cancel(w);
        }
        nanosleep(&period, NULL);
    }
}

lithe_status watch_start(watch **out, bool sample_memory, lithe_error *err)
{
    /* Reset on entry: the second signal finds the default action, the end of the process. Reads and writes go on. Set even
     * where a shell had it ignored for a job in the background: kill -INT is then a way to end the answer. */
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    watch *w = calloc(1, sizeof *w);
    if (!w) {
        return error_memory(err, sizeof *w, "the watcher");
    }
    w->sample_memory = sample_memory;
    lithe_status status = mutex_create(&w->lock, err);
    if (!status) {
        status = thread_start(&w->thread, watch_main, w, err);
    }
    if (status) {
        mutex_destroy(w->lock);
        free(w);
        return status;
    }
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    *out = w;
    return LITHE_OK;
}

void watch_session(watch *w, lithe_session *session)
{
    mutex_lock(w->lock);
    w->session = session;
    w->cancelled = false;
    mutex_unlock(w->lock);
}

bool watch_interrupted(void)
{
    return atomic_load(&interrupted);
}

uint64_t watch_peak_memory(watch *w)
{
    sample(w);
    return atomic_load(&w->peak);
}

void watch_stop(watch *w)
{
    if (w) {
        atomic_store(&w->end, true);
        thread_join(w->thread);
        mutex_destroy(w->lock);
        free(w);
    }
}
