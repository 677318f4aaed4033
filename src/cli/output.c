#include "cli/output.h"

#include "base/file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The program's own state, not the library's: written by the main thread alone, before threads start or at the end. */
static int stdout_errno;
static lithe_log_level log_limit = LITHE_LOG_WARNING;

bool output_text(const char *data, size_t size)
{
    if (stdout_errno) {
        return false;
    }
    if (!size) {
        return true; /* an empty buffer has no address */
    }
    errno = 0;
    if (fwrite(data, 1, size, stdout) != size || fflush(stdout) != 0) {
        stdout_errno = errno ? errno : EIO;
    }
    return !stdout_errno;
}

bool output_buffer(const buffer *b)
{
    if (buffer_failed(b)) {
        lithe_error err;
        error_memory(&err, b->size, "the output");
        output_error(&err);
        return false;
    }
    return output_text((const char *)b->data, b->size);
}

bool output_collect(void *user, const char *data, size_t size)
{
    buffer *b = (buffer *)user;
    buffer_append(b, data, size);
    return !buffer_failed(b);
}

int output_finish(int code)
{
    if (!stdout_errno) {
        return code;
    }
    if (stdout_errno == EPIPE) {
        return EXIT_PIPE;
    }
    fprintf(stderr, "lithe: error: cannot write to standard output: %s\n", strerror(stdout_errno));
    return EXIT_FAILED;
}

static int exit_code_of(lithe_status status)
{
    static const unsigned char codes[] = {
        [LITHE_OK] = EXIT_DONE,
        [LITHE_E_ARGUMENT] = EXIT_USAGE,
        [LITHE_E_IO] = EXIT_FILE,
        [LITHE_E_MEMORY] = EXIT_TOO_LARGE,
        [LITHE_E_FORMAT] = EXIT_FILE,
        [LITHE_E_TRUNCATED] = EXIT_FILE,
        [LITHE_E_VERSION] = EXIT_FILE,
        [LITHE_E_UNSUPPORTED] = EXIT_UNSUPPORTED,
        [LITHE_E_MODEL] = EXIT_UNSUPPORTED,
        [LITHE_E_TOKENIZER] = EXIT_UNSUPPORTED,
        [LITHE_E_CONTEXT] = EXIT_TOO_LARGE,
        [LITHE_E_NUMERIC] = EXIT_FAILED,
        [LITHE_E_CANCELLED] = EXIT_INTERRUPTED,
        [LITHE_E_INTERNAL] = EXIT_FAILED,
    };
    return (size_t)status < sizeof codes ? codes[status] : EXIT_FAILED;
}

int output_error(const lithe_error *err)
{
    char text[2048];
    lithe_error_describe(err, text, sizeof text);
    fprintf(stderr, "lithe: error: %s\n", text);
    return exit_code_of(err->code);
}

int output_usage_error(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("lithe: error: ", stderr);
    vfprintf(stderr, fmt, args);
    fputs("\n", stderr);
    va_end(args);
    return EXIT_USAGE;
}

void output_warning(const char *fmt, ...)
{
    va_list args;
    if (log_limit < LITHE_LOG_WARNING) {
        return;
    }
    va_start(args, fmt);
    fputs("lithe: warning: ", stderr);
    vfprintf(stderr, fmt, args);
    fputs("\n", stderr);
    va_end(args);
}

static void print_log(void *user, lithe_log_level level, const char *message)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    (void)user;
    fprintf(stderr, "lithe: %s: %s\n", (size_t)level < 4 ? names[level] : "log", message);
}

void output_set_log(lithe_log_level max_level)
{
    log_limit = max_level;
    lithe_set_log(print_log, NULL, max_level);
}

lithe_status input_read(const char *path, char **data, size_t *size, lithe_error *err)
{
    uint8_t *text = NULL;
    lithe_status status = file_read_all(path, (uint64_t)1 << 30, &text, size, err);
    *data = (char *)text;
    return status;
}
