/* Beside a run: Ctrl-C becomes a cancelled answer, and the peak of private memory is seen. Linux keeps a peak for the resident set as
 * a whole only, not for its anonymous part, so a thread of its own looks every few milliseconds. */
#ifndef LITHE_CLI_WATCH_H
#define LITHE_CLI_WATCH_H

#include "base/error.h"

typedef struct watch watch;

/* From now on the first Ctrl-C sets a flag; a second one ends the process. sample_memory: watch memory too. */
lithe_status watch_start(watch **out, bool sample_memory, lithe_error *err);
/* The session to cancel on Ctrl-C; NULL before it is destroyed. */
void watch_session(watch *w, lithe_session *session);
bool watch_interrupted(void);
/* Looks at memory now; returns the peak so far in bytes, 0 where unknown. */
uint64_t watch_peak_memory(watch *w);
void watch_stop(watch *w);

#endif
