#include "bundle/flatbuf.h"

#include <stdio.h>
#include <string.h>

/* What 32-bit offsets can reach. Data behind it is named by 64-bit numbers in the schema and is not our business here. */
static bytes addressable(bytes buf)
{
    if ((uint64_t)buf.size > UINT32_MAX) {
        buf.size = (size_t)UINT32_MAX;
    }
    return buf;
}

/* Enters the table at `at`: its vtable must lie inside the buffer and the extent that it states too, and every field must start
 * inside the extent, so that field reads need only compare against table_bytes. */
static bool enter_table(bytes buf, uint64_t at, fb_table *out)
{
    memset(out, 0, sizeof *out);
    if (at == 0 || at > UINT32_MAX || !bytes_has(buf, at, 4)) {
        return false;
    }
    int64_t back = (int32_t)load_u32(buf.data + at);
    int64_t vtable = (int64_t)at - back;
    if (vtable < 0 || !bytes_has(buf, (uint64_t)vtable, 4)) {
        return false;
    }
    uint16_t vtable_bytes = load_u16(buf.data + vtable);
    uint16_t table_bytes = load_u16(buf.data + vtable + 2);
    if (vtable_bytes < 4 || vtable_bytes % 2 != 0 || table_bytes < 4 ||
        !bytes_has(buf, (uint64_t)vtable, vtable_bytes) || !bytes_has(buf, at, table_bytes)) {
        return false;
    }
    *out = (fb_table){buf, (uint32_t)at, (uint32_t)vtable, vtable_bytes, table_bytes};
    return true;
}

bool fb_root(bytes buf, fb_table *out, char *problem, size_t problem_bytes)
{
    memset(out, 0, sizeof *out);
    bytes b = addressable(buf);
    if (b.size < 8) {
        snprintf(problem, problem_bytes, "%zu bytes are too few for a FlatBuffer", b.size);
        return false;
    }
    uint32_t at = load_u32(b.data);
    if (at < 4 || !bytes_has(b, at, 4)) {
        snprintf(problem, problem_bytes, "root table offset %lu outside %zu-byte buffer", (unsigned long)at, buf.size);
        return false;
    }
    if (!enter_table(b, at, out)) {
        snprintf(problem, problem_bytes, "root table at %lu has a damaged vtable", (unsigned long)at);
        return false;
    }
    return true;
}

/* Position of the field's bytes; NULL when absent or when `size` bytes there leave the table. */
static const uint8_t *field(const fb_table *t, unsigned slot, uint32_t size)
{
    uint32_t entry = 4 + 2 * (uint32_t)slot;
    if (t->at == 0 || slot > UINT16_MAX / 2 || entry + 2 > t->vtable_bytes) {
        return NULL;
    }
    uint32_t offset = load_u16(t->buf.data + t->vtable + entry);
    if (offset < 4 || offset + size > t->table_bytes) {
        return NULL;
    }
    return t->buf.data + t->at + offset;
}

bool fb_has(const fb_table *t, unsigned slot)
{
    uint32_t entry = 4 + 2 * (uint32_t)slot;
    return t->at != 0 && slot <= UINT16_MAX / 2 && entry + 2 <= t->vtable_bytes &&
           load_u16(t->buf.data + t->vtable + entry) != 0;
}

uint64_t fb_u64(const fb_table *t, unsigned slot, uint64_t def)
{
    const uint8_t *p = field(t, slot, 8);
    return p ? load_u64(p) : def;
}

int64_t fb_i64(const fb_table *t, unsigned slot, int64_t def)
{
    return (int64_t)fb_u64(t, slot, (uint64_t)def);
}

uint32_t fb_u32(const fb_table *t, unsigned slot, uint32_t def)
{
    const uint8_t *p = field(t, slot, 4);
    return p ? load_u32(p) : def;
}

int32_t fb_i32(const fb_table *t, unsigned slot, int32_t def)
{
    return (int32_t)fb_u32(t, slot, (uint32_t)def);
}

uint16_t fb_u16(const fb_table *t, unsigned slot, uint16_t def)
{
    const uint8_t *p = field(t, slot, 2);
    return p ? load_u16(p) : def;
}

uint8_t fb_u8(const fb_table *t, unsigned slot, uint8_t def)
{
    const uint8_t *p = field(t, slot, 1);
    return p ? *p : def;
}

int8_t fb_i8(const fb_table *t, unsigned slot, int8_t def)
{
    return (int8_t)fb_u8(t, slot, (uint8_t)def);
}

float fb_f32(const fb_table *t, unsigned slot, float def)
{
    const uint8_t *p = field(t, slot, 4);
    return p ? load_f32(p) : def;
}

double fb_f64(const fb_table *t, unsigned slot, double def)
{
    const uint8_t *p = field(t, slot, 8);
    if (!p) {
        return def;
    }
    uint64_t u = load_u64(p);
    double d;
    memcpy(&d, &u, sizeof d);
    return d;
}

/* Follows the offset stored at `p`, which lies inside the buffer. */
static uint64_t follow(bytes buf, const uint8_t *p)
{
    return (uint64_t)(p - buf.data) + load_u32(p);
}

bool fb_sub(const fb_table *t, unsigned slot, fb_table *out)
{
    memset(out, 0, sizeof *out);
    if (!fb_has(t, slot)) {
        return true;
    }
    const uint8_t *p = field(t, slot, 4);
    return p && enter_table(t->buf, follow(t->buf, p), out);
}

/* A vector's count and first element, with room for count * elem_bytes + tail bytes. */
static bool enter_vector(bytes buf, uint64_t at, uint64_t elem_bytes, uint32_t tail, uint64_t *first, uint32_t *n)
{
    if (!bytes_has(buf, at, 4)) {
        return false;
    }
    *n = load_u32(buf.data + at);
    *first = at + 4;
    return bytes_has(buf, *first, *n * elem_bytes + tail);
}

static bool enter_string(bytes buf, uint64_t at, bytes *out)
{
    uint64_t first;
    uint32_t n;
    *out = (bytes){NULL, 0};
    /* The terminator is part of the format; names are used as C strings in place, so it must be there. */
    if (!enter_vector(buf, at, 1, 1, &first, &n) || buf.data[first + n] != 0) {
        return false;
    }
    *out = (bytes){buf.data + first, n};
    return true;
}

bool fb_str(const fb_table *t, unsigned slot, bytes *out)
{
    *out = (bytes){NULL, 0};
    if (!fb_has(t, slot)) {
        return true;
    }
    const uint8_t *p = field(t, slot, 4);
    return p && enter_string(t->buf, follow(t->buf, p), out);
}

bool fb_vec(const fb_table *t, unsigned slot, uint32_t elem_bytes, fb_vector *out)
{
    memset(out, 0, sizeof *out);
    if (!fb_has(t, slot)) {
        return true;
    }
    const uint8_t *p = field(t, slot, 4);
    uint64_t first;
    uint32_t n;
    if (!p || !enter_vector(t->buf, follow(t->buf, p), elem_bytes, 0, &first, &n)) {
        return false;
    }
    /* first may equal 4 GiB - 1 only for an empty vector at the very end */
    *out = (fb_vector){t->buf, (uint32_t)first, n};
    return true;
}

bool fb_vec_table(const fb_vector *v, uint32_t i, fb_table *out)
{
    memset(out, 0, sizeof *out);
    if (i >= v->n) {
        return false;
    }
    return enter_table(v->buf, follow(v->buf, v->buf.data + v->at + (size_t)i * 4), out);
}

bool fb_vec_str(const fb_vector *v, uint32_t i, bytes *out)
{
    *out = (bytes){NULL, 0};
    if (i >= v->n) {
        return false;
    }
    return enter_string(v->buf, follow(v->buf, v->buf.data + v->at + (size_t)i * 4), out);
}

int32_t fb_vec_i32(const fb_vector *v, uint32_t i)
{
    return (int32_t)fb_vec_u32(v, i);
}

uint32_t fb_vec_u32(const fb_vector *v, uint32_t i)
{
    return i < v->n ? load_u32(v->buf.data + v->at + (size_t)i * 4) : 0;
}

int64_t fb_vec_i64(const fb_vector *v, uint32_t i)
{
    return i < v->n ? (int64_t)load_u64(v->buf.data + v->at + (size_t)i * 8) : 0;
}

float fb_vec_f32(const fb_vector *v, uint32_t i)
{
    return i < v->n ? load_f32(v->buf.data + v->at + (size_t)i * 4) : 0.0f;
}

uint8_t fb_vec_u8(const fb_vector *v, uint32_t i)
{
    return i < v->n ? v->buf.data[v->at + (size_t)i] : 0;
}
