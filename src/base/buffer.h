/* A growing byte buffer, for writers of JSON, FlatBuffers and text. Failure sticks: after an allocation failed, further
 * appends do nothing and buffer_failed tells, so a writer checks once at the end. */
#ifndef LITHE_BASE_BUFFER_H
#define LITHE_BASE_BUFFER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct buffer {
    uint8_t *data;
    size_t size, capacity;
    bool failed;
} buffer;

void buffer_init(buffer *b);
void buffer_fini(buffer *b);
bool buffer_failed(const buffer *b);
void buffer_append(buffer *b, const void *data, size_t bytes);
void buffer_fill(buffer *b, uint8_t value, size_t bytes);
void buffer_string(buffer *b, const char *s);
void buffer_printf(buffer *b, const char *fmt, ...) LITHE_PRINTF(2, 3);

#endif
