#include "cli/prompt.h"

#include "base/file.h"
#include "base/utf8.h"
#include "cli/output.h"

#include <stdlib.h>
#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Exactly `digits` hexadecimal digits at s; false if there are fewer. */
static bool hex_number(const char *s, size_t left, size_t digits, uint32_t *out)
{
    *out = 0;
    if (left < digits) {
        return false;
    }
    for (size_t i = 0; i < digits; i++) {
        int d = hex_digit(s[i]);
        if (d < 0) {
            return false;
        }
        *out = *out << 4 | (uint32_t)d;
    }
    return true;
}

/* In place: no escape is shorter than what it stands for. */
static lithe_status unescape(char *text, size_t *size, lithe_error *err)
{
    static const struct {
        char letter, value;
    } simple[] = {{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'\\', '\\'}, {'"', '"'}, {'\'', '\''}, {'0', 0}};
    static const struct {
        char letter;
        unsigned char digits;
    } numbers[] = {{'x', 2}, {'u', 4}, {'U', 8}};
    size_t to = 0, n = *size;
    for (size_t at = 0; at < n;) {
        if (text[at] != '\\') {
            text[to++] = text[at++];
            continue;
        }
        char letter = at + 1 < n ? text[at + 1] : 0;
        bool known = false;
        uint32_t value = 0;
        for (size_t i = 0; i < sizeof simple / sizeof *simple && !known && letter; i++) {
            if (simple[i].letter == letter) {
                text[to++] = simple[i].value;
                at += 2;
                known = true;
            }
        }
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !known; i++) {
            if (numbers[i].letter == letter && hex_number(text + at + 2, n - at - 2, numbers[i].digits, &value)) {
                at += 2 + (size_t)numbers[i].digits;
                if (letter == 'x') {
                    text[to++] = (char)value;
                } else {
                    to += utf8_encode(value, (uint8_t *)text + to);
                }
                known = true;
            }
        }
        if (!known) {
            error_set(err, LITHE_E_ARGUMENT, "unknown escape at byte %zu of the prompt", at);
            return error_hint(err, "-e knows \\n \\t \\r \\\\ \\\" \\' \\0 \\xHH \\uHHHH \\UHHHHHHHH");
        }
    }
    *size = to;
    return LITHE_OK;
}

static lithe_status fetch(const prompt_source *source, char **text, size_t *size, lithe_error *err)
{
    if (source->text && source->file) {
        return error_set(err, LITHE_E_ARGUMENT, "-p and -f exclude each other");
    }
    if (source->text) {
        *size = strlen(source->text);
        *text = malloc(*size + 1);
        if (!*text) {
            return error_memory(err, *size + 1, "the prompt");
        }
        memcpy(*text, source->text, *size + 1);
        return LITHE_OK;
    }
    if (!source->file && file_is_terminal(STREAM_INPUT)) {
        error_set(err, LITHE_E_ARGUMENT, "there is no prompt");
        return error_hint(err, "give -p TEXT, -f FILE, or a pipe on standard input");
    }
    lithe_status status = input_read(source->file ? source->file : "-", text, size, err);
    /* What editors and echo put at the end of a text is not part of the question. */
    if (!status && !source->exact && *size && (*text)[*size - 1] == '\n') {
        *size -= *size > 1 && (*text)[*size - 2] == '\r' ? 2 : 1;
    }
    return status;
}

lithe_status prompt_read(const prompt_source *source, char **text, size_t *size, lithe_error *err)
{
    char *read = NULL;
    size_t n = 0;
    lithe_status status = fetch(source, &read, &n, err);
    if (!status && source->escapes) {
        status = unescape(read, &n, err);
    }
    if (status) {
        free(read);
        return status;
    }
    if (!utf8_valid((const uint8_t *)read, n)) {
        output_warning("the prompt is not valid UTF-8: what is invalid is replaced by U+FFFD");
    }
    *text = read;
    *size = n;
    return LITHE_OK;
}
