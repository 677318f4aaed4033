#include "bundle/proto_table.h"

#include "base/protowire.h"
#include "base/utf8.h"

#include <string.h>

typedef struct proto_reader {
    const uint8_t *start; /* of the outermost message: offsets in errors count from there */
    arena *arena;
    lithe_error *err;
} proto_reader;

static const proto_field *find_field(const proto_message *m, uint32_t number)
{
    for (size_t i = 0; i < m->n_fields; i++) {
        if (m->fields[i].number == number) {
            return &m->fields[i];
        }
    }
    return NULL;
}

static wire_type expected_wire(proto_kind kind)
{
    switch (kind) {
    case PROTO_I32:
    case PROTO_I32_OPT:
    case PROTO_I64:
    case PROTO_BOOL:
    case PROTO_BOOL_OPT:
        return WIRE_VARINT;
    case PROTO_F32:
        return WIRE_FIXED32;
    default:
        return WIRE_BYTES;
    }
}

static size_t elem_bytes(const proto_field *f)
{
    return f->kind == PROTO_I32_LIST ? sizeof(int32_t) : f->message->struct_bytes;
}

static void *at_offset(void *base, size_t offset)
{
    return (uint8_t *)base + offset;
}

static const void *at_offset_const(const void *base, size_t offset)
{
    return (const uint8_t *)base + offset;
}

/* Number of elements that this occurrence of a repeated field adds. */
static size_t count_of(const proto_field *f, const wire_field *w)
{
    if (f->kind == PROTO_MESSAGES || w->type == WIRE_VARINT) {
        return 1;
    }
    size_t n = 0, at = 0;
    uint64_t value;
    while (wire_packed_varint(w->data, &at, &value)) {
        n++;
    }
    return n;
}

/* Makes room for all elements that `data` holds of the repeated field, behind those that are there (a message that occurs twice is
 * merged). The count stays: elements are filled in one by one. */
static lithe_status reserve(proto_reader *r, const proto_field *f, void *out, bytes data)
{
    wire_reader wire;
    wire_field w;
    size_t *n = (size_t *)at_offset(out, f->count);
    size_t total = *n;
    wire_reader_init(&wire, data);
    while (wire_next(&wire, &w)) {
        total += w.number == f->number ? count_of(f, &w) : 0;
    }
    if (total == *n) {
        return LITHE_OK;
    }
    void *array = arena_alloc(r->arena, total, elem_bytes(f));
    if (!array) {
        return error_memory(r->err, (uint64_t)total * elem_bytes(f), f->name);
    }
    void *old;
    memcpy(&old, at_offset(out, f->at), sizeof old);
    if (*n) {
        memcpy(array, old, *n * elem_bytes(f));
    }
    memcpy(at_offset(out, f->at), &array, sizeof array);
    return LITHE_OK;
}

static lithe_status read_message(proto_reader *r, const proto_message *m, void *out, bytes data);

static lithe_status copy_text(proto_reader *r, const proto_message *m, const proto_field *f, bytes text,
                              const char **out)
{
    if (!utf8_valid(text.data, text.size) || memchr(text.data ? (const void *)text.data : "", 0, text.size)) {
        return error_set(r->err, LITHE_E_FORMAT, "field %s (%lu) of message %s at byte %zu is no valid UTF-8 text",
                         f->name, (unsigned long)f->number, m->name, (size_t)(text.data - r->start));
    }
    *out = arena_strndup(r->arena, (const char *)text.data, text.size);
    return *out ? LITHE_OK : error_memory(r->err, text.size + 1, f->name);
}

static void *next_element(const proto_field *f, void *out)
{
    size_t *n = (size_t *)at_offset(out, f->count);
    uint8_t *array;
    memcpy(&array, at_offset(out, f->at), sizeof array);
    return array + elem_bytes(f) * (*n)++;
}

static lithe_status read_list(const proto_field *f, void *out, const wire_field *w)
{
    if (w->type == WIRE_VARINT) {
        *(int32_t *)next_element(f, out) = (int32_t)(uint32_t)w->value;
        return LITHE_OK;
    }
    size_t at = 0;
    uint64_t value;
    while (wire_packed_varint(w->data, &at, &value)) {
        *(int32_t *)next_element(f, out) = (int32_t)(uint32_t)value;
    }
    return LITHE_OK;
}

static lithe_status read_value(proto_reader *r, const proto_message *m, const proto_field *f, void *out,
                               const wire_field *w)
{
    void *to = at_offset(out, f->at);
    switch (f->kind) {
    case PROTO_TEXT:
    case PROTO_TEXT_OPT:
        return copy_text(r, m, f, w->data, (const char **)to);
    case PROTO_I32:
    case PROTO_I32_OPT:
        *(int32_t *)to = (int32_t)(uint32_t)w->value;
        return LITHE_OK;
    case PROTO_I64:
        *(int64_t *)to = (int64_t)w->value;
        return LITHE_OK;
    case PROTO_F32:
        *(float *)to = wire_f32(w);
        return LITHE_OK;
    case PROTO_BOOL:
        *(bool *)to = w->value != 0;
        return LITHE_OK;
    case PROTO_BOOL_OPT:
        *(int *)to = w->value != 0;
        return LITHE_OK;
    case PROTO_I32_LIST:
        return read_list(f, out, w);
    case PROTO_RAW: {
        char *copy = arena_strndup(r->arena, (const char *)w->data.data, w->data.size);
        *(bytes *)to = (bytes){(const uint8_t *)copy, w->data.size};
        return copy ? LITHE_OK : error_memory(r->err, w->data.size, f->name);
    }
    case PROTO_MESSAGE:
        return read_message(r, f->message, to, w->data);
    case PROTO_MESSAGES: {
        void *element = next_element(f, out);
        if (f->message->defaults) {
            memcpy(element, f->message->defaults, f->message->struct_bytes);
        }
        return read_message(r, f->message, element, w->data);
    }
    }
    return LITHE_OK;
}

static lithe_status read_message(proto_reader *r, const proto_message *m, void *out, bytes data)
{
    for (size_t i = 0; i < m->n_fields; i++) {
        const proto_field *f = &m->fields[i];
        if (f->kind == PROTO_I32_LIST || f->kind == PROTO_MESSAGES) {
            lithe_status st = reserve(r, f, out, data);
            if (st) {
                return st;
            }
        }
    }
    wire_reader wire;
    wire_field w;
    wire_reader_init(&wire, data);
    while (wire_next(&wire, &w)) {
        const proto_field *f = find_field(m, w.number);
        if (!f) {
            continue;
        }
        if (w.type != expected_wire(f->kind) && !(f->kind == PROTO_I32_LIST && w.type == WIRE_VARINT)) {
            error_set(r->err, LITHE_E_FORMAT, "field %s (%lu) of message %s has wire type %d; expected %d", f->name,
                      (unsigned long)f->number, m->name, (int)w.type, (int)expected_wire(f->kind));
            return LITHE_E_FORMAT;
        }
        if (m->oneof) {
            memset(out, 0, m->struct_bytes);
        }
        if (f->has != PROTO_NO_OFFSET) {
            *(bool *)at_offset(out, f->has) = true;
        }
        lithe_status st = read_value(r, m, f, out, &w);
        if (st) {
            return st;
        }
    }
    if (wire.problem) {
        return error_set(r->err, LITHE_E_FORMAT, "message %s is damaged at byte %zu: %s", m->name,
                         (size_t)(data.data - r->start) + wire.at, wire.problem);
    }
    return LITHE_OK;
}

lithe_status proto_read(const proto_message *m, void *out, bytes data, arena *a, lithe_error *err)
{
    if (!data.data) {
        data = (bytes){(const uint8_t *)"", 0};
    }
    proto_reader r = {data.data, a, err};
    return read_message(&r, m, out, data);
}

static void write_message(const proto_message *m, const void *in, buffer *out);

static void write_bytes(buffer *out, uint32_t number, const buffer *part)
{
    wire_write_bytes(out, number, part->data ? (const void *)part->data : "", part->size);
    out->failed |= buffer_failed(part);
}

/* A sub-message; left out when it is empty and its presence says nothing. */
static void write_sub(const proto_field *f, const void *in, bool always, buffer *out)
{
    buffer part;
    buffer_init(&part);
    write_message(f->message, in, &part);
    if (always || part.size || buffer_failed(&part)) {
        write_bytes(out, f->number, &part);
    }
    buffer_fini(&part);
}

static void write_varint_raw(buffer *out, uint64_t v)
{
    do {
        uint8_t byte = (uint8_t)((v & 0x7F) | (v > 0x7F ? 0x80 : 0));
        buffer_append(out, &byte, 1);
        v >>= 7;
    } while (v);
}

static void write_list(const proto_field *f, const void *in, buffer *out)
{
    const int32_t *values;
    memcpy(&values, at_offset_const(in, f->at), sizeof values);
    size_t n = *(const size_t *)at_offset_const(in, f->count);
    buffer part;
    buffer_init(&part);
    for (size_t i = 0; i < n; i++) {
        write_varint_raw(&part, (uint64_t)(int64_t)values[i]);
    }
    if (n) {
        write_bytes(out, f->number, &part);
    }
    buffer_fini(&part);
}

static void write_repeated(const proto_field *f, const void *in, buffer *out)
{
    const uint8_t *array;
    memcpy(&array, at_offset_const(in, f->at), sizeof array);
    size_t n = *(const size_t *)at_offset_const(in, f->count);
    for (size_t i = 0; i < n; i++) {
        write_sub(f, array + i * f->message->struct_bytes, true, out);
    }
}

static void write_text(const proto_field *f, const void *from, buffer *out)
{
    const char *s;
    memcpy(&s, from, sizeof s);
    if (s && (*s || f->kind == PROTO_TEXT_OPT)) {
        wire_write_bytes(out, f->number, s, strlen(s));
    }
}

static void write_field(const proto_field *f, const void *in, buffer *out)
{
    const void *from = at_offset_const(in, f->at);
    bool flagged = f->has != PROTO_NO_OFFSET;
    if (flagged && !*(const bool *)at_offset_const(in, f->has)) {
        return;
    }
    switch (f->kind) {
    case PROTO_TEXT:
    case PROTO_TEXT_OPT:
        write_text(f, from, out);
        return;
    case PROTO_I32:
    case PROTO_I32_OPT: {
        int32_t v = *(const int32_t *)from;
        if (flagged || v != (f->kind == PROTO_I32 ? 0 : -1)) {
            wire_write_varint(out, f->number, (uint64_t)(int64_t)v);
        }
        return;
    }
    case PROTO_I64:
        wire_write_varint(out, f->number, (uint64_t) * (const int64_t *)from);
        return;
    case PROTO_F32: {
        float v = *(const float *)from;
        uint32_t bits;
        memcpy(&bits, &v, sizeof bits);
        if (bits) {
            wire_write_f32(out, f->number, v);
        }
        return;
    }
    case PROTO_BOOL:
        if (*(const bool *)from) {
            wire_write_varint(out, f->number, 1);
        }
        return;
    case PROTO_BOOL_OPT:
        if (*(const int *)from >= 0) {
            wire_write_varint(out, f->number, *(const int *)from != 0);
        }
        return;
    case PROTO_I32_LIST:
        write_list(f, in, out);
        return;
    case PROTO_RAW: {
        const bytes *b = (const bytes *)from;
        if (b->data) {
            wire_write_bytes(out, f->number, b->data, b->size);
        }
        return;
    }
    case PROTO_MESSAGE:
        write_sub(f, from, flagged, out);
        return;
    case PROTO_MESSAGES:
        write_repeated(f, in, out);
        return;
    }
}

static void write_message(const proto_message *m, const void *in, buffer *out)
{
    for (size_t i = 0; i < m->n_fields; i++) {
        write_field(&m->fields[i], in, out);
    }
}

lithe_status proto_write(const proto_message *m, const void *in, buffer *out, lithe_error *err)
{
    write_message(m, in, out);
    return buffer_failed(out) ? error_memory(err, out->size, m->name) : LITHE_OK;
}
