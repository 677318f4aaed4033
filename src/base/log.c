#include "base/log.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

/* The callback in force, published as three atomics under a sequence number: writers make it odd, readers retry. A reader
 * thus never pairs one caller's function with another's data, and logging takes no lock. */
static struct {
    atomic_uint sequence;
    _Atomic(lithe_log_fn) fn;
    _Atomic(void *) user;
    atomic_int max_level;
} sink;

void lithe_set_log(lithe_log_fn fn, void *user, lithe_log_level max_level)
{
    unsigned even = atomic_load(&sink.sequence) & ~1u;
    while (!atomic_compare_exchange_weak(&sink.sequence, &even, even + 1)) {
        even &= ~1u;
    }
    atomic_store(&sink.fn, fn);
    atomic_store(&sink.user, user);
    atomic_store(&sink.max_level, (int)max_level);
    atomic_store(&sink.sequence, even + 2);
}

void log_message(lithe_log_level level, const char *fmt, ...)
{
    if (!atomic_load_explicit(&sink.fn, memory_order_relaxed)) {
        return;
    }
    lithe_log_fn fn;
    void *user;
    int max_level;
    unsigned before;
    do {
        before = atomic_load(&sink.sequence);
        fn = atomic_load(&sink.fn);
        user = atomic_load(&sink.user);
        max_level = atomic_load(&sink.max_level);
    } while ((before & 1) || before != atomic_load(&sink.sequence));
    if (!fn || (int)level > max_level) {
        return;
    }
    char message[1024];
    va_list args;
    va_start(args, fmt);
    int needed = vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    if (needed >= (int)sizeof message) {
        message[utf8_complete_prefix((const uint8_t *)message, sizeof message - 1)] = 0;
    }
    if (needed >= 0) {
        fn(user, level, message);
    }
}
