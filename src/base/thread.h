/* Threads: a fixed pool that runs one job at a time, plain threads, locks and flags. */
#ifndef LITHE_BASE_THREAD_H
#define LITHE_BASE_THREAD_H

#include "base/error.h"

#include <stdatomic.h>

/* A pool of n threads, the calling thread being thread 0. */
typedef struct thread_pool thread_pool;

/* The job: called once on each thread, thread 0 .. n-1. Inside, pool_barrier synchronises all of them. */
typedef void (*pool_job)(void *user, uint32_t thread, uint32_t n_threads);

lithe_status thread_pool_create(thread_pool **out, uint32_t n_threads, lithe_error *err);
void thread_pool_destroy(thread_pool *p);
uint32_t thread_pool_size(const thread_pool *p);
/* Runs job on every thread and returns when all are done. May be called from any thread, one call at a time:
 * concurrent callers wait for each other. Saves the floating-point environment (rounding mode, flush-to-zero,
 * denormals-are-zero) of every thread, sets round-to-nearest with denormals kept, and restores it. */
void thread_pool_run(thread_pool *p, pool_job job, void *user);
/* Inside a job: all threads of the pool wait here for each other. Spins briefly, then sleeps. No-op for one thread. */
void thread_pool_barrier(thread_pool *p);

/* A plain thread, joined once. */
typedef struct thread_handle thread_handle;
lithe_status thread_start(thread_handle **out, void (*fn)(void *), void *user, lithe_error *err);
void thread_join(thread_handle *t);

typedef struct mutex mutex; /* heap-allocated: its platform type stays in thread.c */
lithe_status mutex_create(mutex **out, lithe_error *err);
void mutex_destroy(mutex *m);
void mutex_lock(mutex *m);
void mutex_unlock(mutex *m);

/* Cores that this process may run on. */
uint32_t thread_core_count(void);

#endif
