#include "base/utf8.h"

#include <string.h>

enum { REPLACEMENT = 0xFFFD };

/* Unicode 15, table 3-7: what the second byte may be depends on the first; all later ones are 80..BF. */
static unsigned sequence_length(uint8_t first, uint8_t *low, uint8_t *high)
{
    *low = 0x80;
    *high = 0xBF;
    if (first < 0x80) {
        return 1;
    }
    if (first < 0xC2) {
        return 0;
    }
    if (first < 0xE0) {
        return 2;
    }
    if (first < 0xF0) {
        *low = first == 0xE0 ? 0xA0 : 0x80;  /* no overlong forms */
        *high = first == 0xED ? 0x9F : 0xBF; /* no surrogates */
        return 3;
    }
    if (first < 0xF5) {
        *low = first == 0xF0 ? 0x90 : 0x80;
        *high = first == 0xF4 ? 0x8F : 0xBF; /* not over U+10FFFF */
        return 4;
    }
    return 0;
}

/* How many bytes of s are the start of a well-formed sequence, of `*length` the whole sequence has (0: no sequence starts so). */
static unsigned well_formed_bytes(const uint8_t *s, size_t n, unsigned *length)
{
    uint8_t low, high;
    *length = sequence_length(s[0], &low, &high);
    unsigned used = 1;
    while (used < *length && used < n && s[used] >= low && s[used] <= high) {
        low = 0x80;
        high = 0xBF;
        used++;
    }
    return used;
}

bool utf8_next(const uint8_t *s, size_t n, uint32_t *code_point, size_t *used)
{
    static const uint8_t first_byte_mask[5] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    unsigned length;
    unsigned good = well_formed_bytes(s, n, &length);
    *used = good;
    if (good != length) {
        *code_point = REPLACEMENT;
        return false;
    }
    uint32_t c = s[0] & first_byte_mask[length];
    for (unsigned i = 1; i < length; i++) {
        c = c << 6 | (s[i] & 0x3F);
    }
    *code_point = c;
    return true;
}

uint32_t utf8_decode(const uint8_t *s, size_t n, size_t *used)
{
    uint32_t c;
    utf8_next(s, n, &c, used);
    return c;
}

size_t utf8_encode(uint32_t c, uint8_t out[4])
{
    if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) {
        c = REPLACEMENT;
    }
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (uint8_t)(0xC0 | c >> 6);
        out[1] = (uint8_t)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (uint8_t)(0xE0 | c >> 12);
        out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | c >> 18);
    out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (c & 0x3F));
    return 4;
}

bool utf8_valid(const uint8_t *s, size_t n)
{
    size_t i = 0;
    while (i < n) {
        uint64_t eight;
        if (n - i >= sizeof eight) { /* most text is ASCII */
            memcpy(&eight, s + i, sizeof eight);
            if (!(eight & UINT64_C(0x8080808080808080))) {
                i += sizeof eight;
                continue;
            }
        }
        unsigned length;
        if (well_formed_bytes(s + i, n - i, &length) != length) {
            return false;
        }
        i += length;
    }
    return true;
}

size_t utf8_complete_prefix(const uint8_t *s, size_t n)
{
    /* Only a start within the last three bytes can be waiting for more. */
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        const uint8_t *start = s + n - back;
        if ((*start & 0xC0) == 0x80) {
            continue;
        }
        unsigned length;
        unsigned good = well_formed_bytes(start, back, &length);
        return good == back && good < length ? n - back : n;
    }
    return n;
}
