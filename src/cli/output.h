/* What the command writes and how it ends: text on standard output with failures noticed, messages on standard error, exit codes. */
#ifndef LITHE_CLI_OUTPUT_H
#define LITHE_CLI_OUTPUT_H

#include "base/buffer.h"
#include "base/error.h"

/* docs/cli.md lists them for users. */
typedef enum exit_code {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,        /* something went wrong while running */
    EXIT_USAGE = 2,         /* the command line, or an input file written for it, is wrong */
    EXIT_FILE = 3,          /* a file cannot be opened, or is damaged or no bundle */
    EXIT_UNSUPPORTED = 4,   /* the bundle is well formed but cannot be run */
    EXIT_TOO_LARGE = 5,     /* memory or context do not suffice */
    EXIT_INTERRUPTED = 130, /* Ctrl-C; what was there has been printed */
    EXIT_PIPE = 141         /* the reader of standard output went away */
} exit_code;

/* Writes to standard output and flushes. False once standard output has failed; output_finish then says so. */
bool output_text(const char *data, size_t size);
/* The whole buffer; a failed buffer (memory) is reported and false. */
bool output_buffer(const buffer *b);
/* A lithe_write_fn that appends to the buffer `user`, so that nothing is printed before success is certain. */
bool output_collect(void *user, const char *data, size_t size);

/* The exit code for a command that would end with `code`: another one if standard output has failed, with a message unless its
 * reader merely went away. */
int output_finish(int code);

/* "lithe: error: …" from lithe_error_describe; returns the exit code for err->code. */
int output_error(const lithe_error *err);
/* For mistakes in the command line; returns EXIT_USAGE. */
int output_usage_error(const char *fmt, ...) LITHE_PRINTF(1, 2);
/* "lithe: warning: …", unless messages of that level are not wanted. */
void output_warning(const char *fmt, ...) LITHE_PRINTF(1, 2);

/* Which messages reach standard error: the library's and our own. Call before other threads run. */
void output_set_log(lithe_log_level max_level);

/* Reads all of standard input ("-") or a file, for prompts and requests: at most 1 GiB. Free *data with free(). */
lithe_status input_read(const char *path, char **data, size_t *size, lithe_error *err);

#endif
