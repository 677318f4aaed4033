/* The protobuf wire format (https://protobuf.dev/programming-guides/encoding/), without any schema: bundle metadata and
 * SentencePiece models are read with it. */
#ifndef LITHE_BASE_PROTOWIRE_H
#define LITHE_BASE_PROTOWIRE_H

#include "base/buffer.h"
#include "base/bytes.h"

typedef enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 } wire_type;

typedef struct wire_field {
    uint32_t number;
    wire_type type;
    uint64_t value; /* varint or fixed */
    bytes data;     /* WIRE_BYTES: borrowed from the message */
} wire_field;

typedef struct wire_reader {
    bytes message;
    size_t at;
    const char
        *problem; /* NULL, or what is wrong at `at`: "varint cut off", "length past the end", "unknown wire type", … */
} wire_reader;

void wire_reader_init(wire_reader *r, bytes message);
/* The next field, false at the end or on a problem. Groups are skipped (depth at most 64). Field number 0 is a problem. */
bool wire_next(wire_reader *r, wire_field *f);
/* Values of a packed repeated varint field, one at a time from `data` at *at. */
bool wire_packed_varint(bytes data, size_t *at, uint64_t *value);
float wire_f32(const wire_field *f);

void wire_write_varint(buffer *b, uint32_t number, uint64_t value);
void wire_write_bytes(buffer *b, uint32_t number, const void *data, size_t size);
void wire_write_f32(buffer *b, uint32_t number, float value);

#endif
