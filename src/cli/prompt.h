/* Where a prompt comes from, and what is done to its bytes before the tokenizer sees them. */
#ifndef LITHE_CLI_PROMPT_H
#define LITHE_CLI_PROMPT_H

#include "base/error.h"

typedef struct prompt_source {
    const char *text; /* -p, or NULL */
    const char *file; /* -f ("-": standard input), or NULL; both NULL: standard input unless it is a terminal */
    bool escapes;     /* -e: backslash escapes mean what they do in JSON and C */
    bool exact;       /* --raw: a final newline of a file stays */
} prompt_source;

/* Free *text with free(). LITHE_E_ARGUMENT if there is no prompt or two. Invalid UTF-8 is warned of: the tokenizer replaces it. */
lithe_status prompt_read(const prompt_source *source, char **text, size_t *size, lithe_error *err);

#endif
