#include "bundle/writer.h"

#include <stdlib.h>
#include <string.h>

#define MAX_FIELDS 64
#define MAX_BYTES  ((size_t)1 << 31) /* signed 32-bit offsets reach no further */

typedef struct pending_field {
    unsigned slot;
    fb_ref at;
} pending_field;

/* The bytes lie at the end of `buf`, growing towards its start. A reference is the distance of an object's start from the end, which
 * does not change as more is put in front. */
struct fb_builder {
    uint8_t *buf;
    size_t capacity, used;
    size_t alignment; /* of the whole buffer */
    bool failed, in_table;
    pending_field fields[MAX_FIELDS];
    unsigned n_fields;
    size_t table_start; /* `used` when the table was begun */
    fb_ref *vtables;    /* written ones, to be shared */
    size_t n_vtables, vtable_capacity;
};

lithe_status fb_builder_create(fb_builder **out, lithe_error *err)
{
    fb_builder *b = calloc(1, sizeof *b);
    if (!b) {
        return error_memory(err, sizeof *b, "a FlatBuffer");
    }
    b->alignment = 4;
    *out = b;
    return LITHE_OK;
}

void fb_builder_destroy(fb_builder *b)
{
    if (b) {
        free(b->buf);
        free(b->vtables);
        free(b);
    }
}

/* Room for n more bytes in front; NULL when there is none. */
static uint8_t *push(fb_builder *b, size_t n)
{
    if (b->failed || n > MAX_BYTES - b->used) {
        b->failed = true;
        return NULL;
    }
    if (b->used + n > b->capacity) {
        size_t capacity = b->capacity ? b->capacity : 1024;
        while (capacity < b->used + n) {
            capacity *= 2;
        }
        uint8_t *buf = malloc(capacity);
        if (!buf) {
            b->failed = true;
            return NULL;
        }
        if (b->used) {
            memcpy(buf + capacity - b->used, b->buf + b->capacity - b->used, b->used);
        }
        free(b->buf);
        b->buf = buf;
        b->capacity = capacity;
    }
    b->used += n;
    return b->buf + b->capacity - b->used;
}

/* Pads so that an object of `size` bytes put in front next starts at a multiple of `alignment`, counted from the end. */
static void align(fb_builder *b, size_t alignment, size_t size)
{
    size_t over = (b->used + size) % alignment;
    if (alignment > b->alignment) {
        b->alignment = alignment;
    }
    if (over) {
        uint8_t *p = push(b, alignment - over);
        if (p) {
            memset(p, 0, alignment - over);
        }
    }
}

static void push_u32(fb_builder *b, uint32_t v)
{
    uint8_t *p = push(b, 4);
    if (p) {
        store_u32(p, v);
    }
}

static void push_ref(fb_builder *b, fb_ref to)
{
    push_u32(b, (uint32_t)(b->used + 4 - to));
}

fb_ref fb_write_string(fb_builder *b, const char *s)
{
    size_t n = strlen(s);
    if (n >= MAX_BYTES) {
        b->failed = true;
        return 0;
    }
    align(b, 4, n + 1);
    uint8_t *p = push(b, n + 1);
    if (p) {
        memcpy(p, s, n + 1);
    }
    push_u32(b, (uint32_t)n);
    return (fb_ref)b->used;
}

fb_ref fb_write_vector(fb_builder *b, const void *elems, uint32_t n, uint32_t elem_bytes, uint32_t alignment)
{
    uint64_t size = (uint64_t)n * elem_bytes;
    if (size >= MAX_BYTES || b->in_table) {
        b->failed = true;
        return 0;
    }
    align(b, 4, (size_t)size);
    align(b, alignment < 4 ? 4 : alignment, (size_t)size);
    uint8_t *p = push(b, (size_t)size);
    if (p && size) {
        memcpy(p, elems, (size_t)size);
    }
    push_u32(b, n);
    return (fb_ref)b->used;
}

fb_ref fb_write_refs(fb_builder *b, const fb_ref *refs, uint32_t n)
{
    if (b->in_table) {
        b->failed = true;
        return 0;
    }
    align(b, 4, 0);
    for (uint32_t i = n; i-- > 0;) {
        push_ref(b, refs[i]);
    }
    push_u32(b, n);
    return (fb_ref)b->used;
}

void fb_table_begin(fb_builder *b)
{
    b->failed |= b->in_table;
    b->in_table = true;
    b->n_fields = 0;
    b->table_start = b->used;
}

/* Room for a field's value of `size` bytes. */
static uint8_t *field(fb_builder *b, unsigned slot, size_t size)
{
    if (!b->in_table || b->n_fields == MAX_FIELDS) {
        b->failed = true;
        return NULL;
    }
    align(b, size, size);
    uint8_t *p = push(b, size);
    b->fields[b->n_fields++] = (pending_field){slot, (fb_ref)b->used};
    return p;
}

void fb_table_u8(fb_builder *b, unsigned slot, uint8_t v)
{
    uint8_t *p = field(b, slot, 1);
    if (p) {
        *p = v;
    }
}

void fb_table_u16(fb_builder *b, unsigned slot, uint16_t v)
{
    uint8_t *p = field(b, slot, 2);
    if (p) {
        store_u16(p, v);
    }
}

void fb_table_i32(fb_builder *b, unsigned slot, int32_t v)
{
    fb_table_u32(b, slot, (uint32_t)v);
}

void fb_table_u32(fb_builder *b, unsigned slot, uint32_t v)
{
    uint8_t *p = field(b, slot, 4);
    if (p) {
        store_u32(p, v);
    }
}

void fb_table_u64(fb_builder *b, unsigned slot, uint64_t v)
{
    uint8_t *p = field(b, slot, 8);
    if (p) {
        store_u64(p, v);
    }
}

void fb_table_f32(fb_builder *b, unsigned slot, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    fb_table_u32(b, slot, bits);
}

void fb_table_f64(fb_builder *b, unsigned slot, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    fb_table_u64(b, slot, bits);
}

void fb_table_ref(fb_builder *b, unsigned slot, fb_ref v)
{
    if (v == 0) {
        return;
    }
    align(b, 4, 4);
    uint8_t *p = field(b, slot, 4);
    if (p) {
        store_u32(p, (uint32_t)(b->used - v));
    }
}

/* An equal vtable written before; 0 if there is none. */
static fb_ref find_vtable(const fb_builder *b, const uint8_t *vtable, size_t n)
{
    const uint8_t *end = b->buf + b->capacity;
    for (size_t i = 0; i < b->n_vtables; i++) {
        const uint8_t *other = end - b->vtables[i];
        if (load_u16(other) == n && memcmp(other, vtable, n) == 0) {
            return b->vtables[i];
        }
    }
    return 0;
}

static void remember_vtable(fb_builder *b, fb_ref at)
{
    if (b->n_vtables == b->vtable_capacity) {
        size_t capacity = b->vtable_capacity ? 2 * b->vtable_capacity : 16;
        fb_ref *grown = realloc(b->vtables, capacity * sizeof *grown);
        if (!grown) {
            b->failed = true;
            return;
        }
        b->vtables = grown;
        b->vtable_capacity = capacity;
    }
    b->vtables[b->n_vtables++] = at;
}

fb_ref fb_table_end(fb_builder *b)
{
    if (!b->in_table) {
        b->failed = true;
        return 0;
    }
    b->in_table = false;
    align(b, 4, 4);
    push_u32(b, 0); /* way to the vtable, set below */
    size_t table = b->used, extent = table - b->table_start;
    unsigned n_slots = 0;
    uint8_t vtable[4 + 2 * MAX_FIELDS] = {0};
    for (unsigned i = 0; i < b->n_fields; i++) {
        unsigned slot = b->fields[i].slot;
        if (slot >= MAX_FIELDS || extent > UINT16_MAX) {
            b->failed = true;
            return 0;
        }
        n_slots = slot + 1 > n_slots ? slot + 1 : n_slots;
        store_u16(vtable + 4 + 2 * slot, (uint16_t)(table - b->fields[i].at));
    }
    size_t n = 4 + 2 * (size_t)n_slots;
    store_u16(vtable, (uint16_t)n);
    store_u16(vtable + 2, (uint16_t)extent);
    fb_ref shared = b->failed ? 0 : find_vtable(b, vtable, n);
    if (!shared) {
        uint8_t *p = push(b, n);
        if (p) {
            memcpy(p, vtable, n);
        }
        shared = (fb_ref)b->used;
        remember_vtable(b, shared);
    }
    if (b->failed) {
        return 0;
    }
    store_u32(b->buf + b->capacity - table, (uint32_t)(int32_t)((int64_t)shared - (int64_t)table));
    return (fb_ref)table;
}

lithe_status fb_finish(fb_builder *b, fb_ref root, const char *identifier, bytes *out, lithe_error *err)
{
    align(b, b->alignment, identifier ? 8 : 4);
    if (identifier) {
        uint8_t *p = push(b, 4);
        if (p) {
            memcpy(p, identifier, 4);
        }
    }
    push_ref(b, root);
    if (b->failed || b->in_table || root == 0) {
        return error_memory(err, b->used, "a FlatBuffer");
    }
    *out = (bytes){b->buf + b->capacity - b->used, b->used};
    return LITHE_OK;
}
