#include "base/buffer.h"

#include "base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void buffer_init(buffer *b)
{
    *b = (buffer){0};
}

void buffer_fini(buffer *b)
{
    free(b->data);
    buffer_init(b);
}

bool buffer_failed(const buffer *b)
{
    return b->failed;
}

/* Room for `bytes` more; grows by half again, so that appending is linear in total. */
static bool reserve(buffer *b, size_t n_bytes)
{
    size_t needed;
    if (b->failed || !size_add(b->size, n_bytes, &needed)) {
        b->failed = true;
        return false;
    }
    if (needed <= b->capacity) {
        return true;
    }
    size_t capacity = b->capacity + b->capacity / 2;
    capacity = capacity < 64 ? 64 : capacity;
    capacity = capacity < needed ? needed : capacity;
    uint8_t *data = realloc(b->data, capacity);
    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->capacity = capacity;
    return true;
}

void buffer_append(buffer *b, const void *data, size_t n_bytes)
{
    if (n_bytes && reserve(b, n_bytes)) {
        memcpy(b->data + b->size, data, n_bytes);
        b->size += n_bytes;
    }
}

void buffer_fill(buffer *b, uint8_t value, size_t n_bytes)
{
    if (n_bytes && reserve(b, n_bytes)) {
        memset(b->data + b->size, value, n_bytes);
        b->size += n_bytes;
    }
}

void buffer_string(buffer *b, const char *s)
{
    buffer_append(b, s, strlen(s));
}

void buffer_printf(buffer *b, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    char small[128];
    int needed = vsnprintf(small, sizeof small, fmt, args);
    if (needed < 0) {
        b->failed = true;
    } else if ((size_t)needed < sizeof small) {
        buffer_append(b, small, (size_t)needed);
    } else if (reserve(b, (size_t)needed + 1)) {
        vsnprintf((char *)b->data + b->size, (size_t)needed + 1, fmt, again);
        b->size += (size_t)needed;
    }
    va_end(again);
    va_end(args);
}
