#include "bundle/tflite.h"

#include <string.h>

/* FlexBuffers (https://flatbuffers.dev/internals/#flexbuffers). A buffer ends with the root's value, its packed type and its width;
 * references are distances back from where they are stored; a packed type is type * 4 + log2 of the width of what it refers to. */

enum {
    FLEX_INT = 1,
    FLEX_UINT = 2,
    FLEX_FLOAT = 3,
    FLEX_KEY = 4,
    FLEX_STRING = 5,
    FLEX_INDIRECT_INT = 6,
    FLEX_INDIRECT_UINT = 7,
    FLEX_INDIRECT_FLOAT = 8,
    FLEX_MAP = 9,
    FLEX_BOOL = 26
};

typedef struct flex_value {
    size_t at;     /* where the value is stored */
    uint8_t width; /* bytes it takes there */
    uint8_t type;
    uint8_t child_width; /* bytes of what it refers to */
} flex_value;

static bool read_uint(bytes b, size_t at, uint8_t width, uint64_t *out)
{
    if (!bytes_has(b, at, width)) {
        return false;
    }
    const uint8_t *p = b.data + at;
    switch (width) {
    case 1:
        *out = *p;
        return true;
    case 2:
        *out = load_u16(p);
        return true;
    case 4:
        *out = load_u32(p);
        return true;
    case 8:
        *out = load_u64(p);
        return true;
    default:
        return false;
    }
}

static bool read_int(bytes b, size_t at, uint8_t width, int64_t *out)
{
    uint64_t u;
    if (!read_uint(b, at, width, &u)) {
        return false;
    }
    switch (width) {
    case 1:
        *out = (int8_t)(uint8_t)u;
        return true;
    case 2:
        *out = (int16_t)(uint16_t)u;
        return true;
    case 4:
        *out = (int32_t)(uint32_t)u;
        return true;
    default:
        *out = (int64_t)u;
        return true;
    }
}

static double half_to_double(uint16_t h)
{
    double m = (double)(h & 1023) / 1024.0;
    int e = (h >> 10) & 31;
    double v = e == 0 ? m / 16384.0 : 1.0 + m;
    for (; e > 15; e--) {
        v *= 2.0;
    }
    for (; e > 0 && e < 15; e++) {
        v /= 2.0;
    }
    return h >> 15 ? -v : v;
}

static bool read_float(bytes b, size_t at, uint8_t width, double *out)
{
    uint64_t u;
    if (!read_uint(b, at, width, &u)) {
        return false;
    }
    switch (width) {
    case 2:
        *out = half_to_double((uint16_t)u);
        return true;
    case 4:
        *out = (double)load_f32(b.data + at);
        return true;
    case 8:
        memcpy(out, &u, sizeof *out);
        return true;
    default:
        return false;
    }
}

static bool follow(bytes b, size_t at, uint8_t width, size_t *to)
{
    uint64_t back;
    if (!read_uint(b, at, width, &back) || back > at) {
        return false;
    }
    *to = at - (size_t)back;
    return true;
}

static void set_packed(flex_value *v, uint8_t packed)
{
    v->type = packed >> 2;
    v->child_width = (uint8_t)(1u << (packed & 3));
}

static bool root_value(bytes b, flex_value *out)
{
    if (b.size < 3) {
        return false;
    }
    uint8_t width = b.data[b.size - 1];
    if (width == 0 || width > 8 || (width & (width - 1)) != 0 || b.size < 2u + width) {
        return false;
    }
    out->at = b.size - 2 - width;
    out->width = width;
    set_packed(out, b.data[b.size - 2]);
    return true;
}

/* Zero-terminated key that the reference at `at` leads to, compared with `key`. */
static bool key_equals(bytes b, size_t at, uint8_t width, const char *key)
{
    size_t n = strlen(key) + 1, to;
    return follow(b, at, width, &to) && bytes_has(b, to, n) && memcmp(b.data + to, key, n) == 0;
}

/* The value at `key` of the root map. In front of a map's values stand its size, the width of its keys, and the way to the keys, each as
 * wide as a value; behind them one packed type for each value. */
static bool find(bytes b, const char *key, flex_value *out)
{
    flex_value root;
    size_t values, keys;
    uint64_t n, key_width;
    if (!root_value(b, &root) || root.type != FLEX_MAP || !follow(b, root.at, root.width, &values)) {
        return false;
    }
    uint8_t w = root.child_width;
    if (values < 3u * w || !read_uint(b, values - w, w, &n) || !read_uint(b, values - 2u * w, w, &key_width) ||
        !follow(b, values - 3u * w, w, &keys)) {
        return false;
    }
    if (key_width == 0 || key_width > 8 || n > b.size || !bytes_has(b, values, n * (w + 1u)) ||
        !bytes_has(b, keys, n * key_width)) {
        return false;
    }
    for (uint64_t i = 0; i < n; i++) {
        if (key_equals(b, keys + (size_t)(i * key_width), (uint8_t)key_width, key)) {
            out->at = values + (size_t)(i * w);
            out->width = w;
            set_packed(out, b.data[values + (size_t)(n * w + i)]);
            return true;
        }
    }
    return false;
}

bool flex_map_number(bytes flex, const char *key, double *out)
{
    flex_value v;
    if (!find(flex, key, &v)) {
        return false;
    }
    bool indirect = v.type == FLEX_INDIRECT_INT || v.type == FLEX_INDIRECT_UINT || v.type == FLEX_INDIRECT_FLOAT;
    if (indirect) {
        if (!follow(flex, v.at, v.width, &v.at)) {
            return false;
        }
        v.width = v.child_width;
        v.type = (uint8_t)(v.type - FLEX_INDIRECT_INT + FLEX_INT);
    }
    int64_t i;
    uint64_t u;
    switch (v.type) {
    case FLEX_INT:
        if (!read_int(flex, v.at, v.width, &i)) {
            return false;
        }
        *out = (double)i;
        return true;
    case FLEX_UINT:
    case FLEX_BOOL:
        if (!read_uint(flex, v.at, v.width, &u)) {
            return false;
        }
        *out = (double)u;
        return true;
    case FLEX_FLOAT:
        return read_float(flex, v.at, v.width, out);
    default:
        return false;
    }
}

bool flex_map_string(bytes flex, const char *key, bytes *out)
{
    flex_value v;
    size_t at;
    if (!find(flex, key, &v) || (v.type != FLEX_STRING && v.type != FLEX_KEY) || !follow(flex, v.at, v.width, &at)) {
        return false;
    }
    if (v.type == FLEX_KEY) {
        const uint8_t *end = memchr(flex.data + at, 0, flex.size - at);
        if (!end) {
            return false;
        }
        *out = (bytes){flex.data + at, (size_t)(end - (flex.data + at))};
        return true;
    }
    uint64_t n;
    if (at < v.child_width || !read_uint(flex, at - v.child_width, v.child_width, &n) || !bytes_has(flex, at, n)) {
        return false;
    }
    *out = (bytes){flex.data + at, (size_t)n};
    return true;
}
