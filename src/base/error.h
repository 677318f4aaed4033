/* Filling lithe_error. Every function that can fail returns a lithe_status and takes a lithe_error * last (may be NULL).
 *
 *     return error_set(err, LITHE_E_TRUNCATED, "section %u (%s) ends at byte %llu, but the file has %llu bytes", …);
 *
 * sets code and message, clears the other fields and returns the code, so that it can end a function. Add fields after it
 * with error_field_*, which do nothing when err is NULL, and give the status back:
 *
 *     error_set(err, LITHE_E_MODEL, …);
 *     error_expected(err, "[1, %d]", n);
 *     return error_found(err, "%s", shape);
 */
#ifndef LITHE_BASE_ERROR_H
#define LITHE_BASE_ERROR_H

#include <lithe.h>

#if defined(__GNUC__)
#define LITHE_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define LITHE_PRINTF(fmt, args)
#endif

/* Sets code and message (cut at a UTF-8 boundary if too long), clears all other fields. Returns `code`. */
lithe_status error_set(lithe_error *err, lithe_status code, const char *fmt, ...) LITHE_PRINTF(3, 4);

/* LITHE_E_MEMORY with the size that could not be had: "out of memory: cannot allocate N bytes for <what>". */
lithe_status error_memory(lithe_error *err, uint64_t bytes, const char *what);

/* Field setters: each returns err->code (LITHE_E_INTERNAL if err is NULL is never relied on: they return `LITHE_OK`-free
 * status only for convenience at the end of a function that got a non-NULL err; with NULL they return LITHE_E_INTERNAL). */
lithe_status error_expected(lithe_error *err, const char *fmt, ...) LITHE_PRINTF(2, 3);
lithe_status error_found(lithe_error *err, const char *fmt, ...) LITHE_PRINTF(2, 3);
lithe_status error_hint(lithe_error *err, const char *fmt, ...) LITHE_PRINTF(2, 3);
lithe_status error_tensor(lithe_error *err, const char *fmt, ...) LITHE_PRINTF(2, 3);
/* Set only if not yet set (lower layers know the node, upper ones the path): */
void error_at_path(lithe_error *err, const char *path);
void error_at_section(lithe_error *err, int32_t section);
void error_at_signature(lithe_error *err, const char *signature);
void error_at_node(lithe_error *err, int32_t node, const char *op);

#endif
