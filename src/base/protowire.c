#include "base/protowire.h"

enum { WIRE_GROUP_START = 3, WIRE_GROUP_END = 4, DEEPEST_GROUP = 64 };

void wire_reader_init(wire_reader *r, bytes message)
{
    *r = (wire_reader){.message = message};
}

/* A varint has at most ten bytes; bits over the 64th are dropped, as protobuf's own readers do. */
static const char *read_varint(bytes b, size_t *at, uint64_t *value)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < 10; i++) {
        if (*at + i >= b.size) {
            return "varint cut off";
        }
        uint8_t byte = b.data[*at + i];
        v |= (uint64_t)(byte & 0x7F) << (7 * i);
        if (!(byte & 0x80)) {
            *at += i + 1;
            *value = v;
            return NULL;
        }
    }
    return "varint longer than 10 bytes";
}

static const char *read_payload(bytes b, size_t *at, wire_field *f)
{
    switch (f->type) {
    case WIRE_VARINT:
        return read_varint(b, at, &f->value);
    case WIRE_FIXED64:
        if (!bytes_has(b, *at, 8)) {
            return "64-bit value cut off";
        }
        f->value = load_u64(b.data + *at);
        *at += 8;
        return NULL;
    case WIRE_FIXED32:
        if (!bytes_has(b, *at, 4)) {
            return "32-bit value cut off";
        }
        f->value = load_u32(b.data + *at);
        *at += 4;
        return NULL;
    case WIRE_BYTES: {
        uint64_t length = 0;
        const char *problem = read_varint(b, at, &length);
        if (problem) {
            return problem;
        }
        if (!bytes_has(b, *at, length)) {
            return "length past the end";
        }
        f->data = (bytes){b.data + *at, (size_t)length};
        *at += (size_t)length;
        return NULL;
    }
    }
    return "unknown wire type";
}

bool wire_next(wire_reader *r, wire_field *f)
{
    uint32_t open_groups[DEEPEST_GROUP];
    unsigned depth = 0;
    while (!r->problem && (depth || r->at < r->message.size)) {
        size_t at = r->at;
        uint64_t tag = 0;
        r->problem = r->at < r->message.size ? read_varint(r->message, &at, &tag) : "group without an end";
        if (r->problem) {
            break;
        }
        if (tag > UINT32_MAX || tag >> 3 == 0) {
            r->problem = "field number out of range";
            break;
        }
        *f = (wire_field){.number = (uint32_t)(tag >> 3), .type = (wire_type)(tag & 7)};
        if ((tag & 7) == WIRE_GROUP_START) {
            if (depth == DEEPEST_GROUP) {
                r->problem = "groups nested too deeply";
                break;
            }
            open_groups[depth++] = f->number;
        } else if ((tag & 7) == WIRE_GROUP_END) {
            if (!depth || open_groups[depth - 1] != f->number) {
                r->problem = "group end without its start";
                break;
            }
            depth--;
        } else {
            r->problem = read_payload(r->message, &at, f);
            if (!r->problem && !depth) {
                r->at = at;
                return true;
            }
        }
        if (!r->problem) {
            r->at = at;
        }
    }
    return false;
}

bool wire_packed_varint(bytes data, size_t *at, uint64_t *value)
{
    return *at < data.size && !read_varint(data, at, value);
}

float wire_f32(const wire_field *f)
{
    uint8_t raw[4];
    store_u32(raw, (uint32_t)f->value);
    return load_f32(raw);
}

static void put_varint(buffer *b, uint64_t value)
{
    uint8_t raw[10];
    size_t n = 0;
    while (value >= 0x80) {
        raw[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    raw[n++] = (uint8_t)value;
    buffer_append(b, raw, n);
}

static void put_tag(buffer *b, uint32_t number, wire_type type)
{
    put_varint(b, (uint64_t)number << 3 | (uint64_t)type);
}

void wire_write_varint(buffer *b, uint32_t number, uint64_t value)
{
    put_tag(b, number, WIRE_VARINT);
    put_varint(b, value);
}

void wire_write_bytes(buffer *b, uint32_t number, const void *data, size_t size)
{
    put_tag(b, number, WIRE_BYTES);
    put_varint(b, size);
    buffer_append(b, data, size);
}

void wire_write_f32(buffer *b, uint32_t number, float value)
{
    uint8_t raw[4];
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    store_u32(raw, bits);
    put_tag(b, number, WIRE_FIXED32);
    buffer_append(b, raw, sizeof raw);
}
