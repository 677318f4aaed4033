/* The log callback: quiet until one is set. */
#ifndef LITHE_BASE_LOG_H
#define LITHE_BASE_LOG_H

#include "base/error.h"

void log_message(lithe_log_level level, const char *fmt, ...) LITHE_PRINTF(2, 3);

#endif
