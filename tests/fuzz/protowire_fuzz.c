/* Any bytes as a message and, in it, as messages again: every field lies inside, and the reader always ends. */
#include "base/protowire.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(bytes message, unsigned depth)
{
    wire_reader r;
    wire_field f;
    wire_reader_init(&r, message);
    while (wire_next(&r, &f)) {
        if (f.number == 0 || r.at > message.size) {
            abort();
        }
        if (f.type == WIRE_BYTES) {
            if (f.data.data < message.data || f.data.size > (size_t)(message.data + message.size - f.data.data)) {
                abort();
            }
            uint64_t value;
            for (size_t at = 0; wire_packed_varint(f.data, &at, &value);) {
                continue;
            }
            if (depth < 32) {
                walk(f.data, depth + 1);
            }
        }
        (void)wire_f32(&f);
    }
    if (!r.problem && r.at != message.size) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    walk((bytes){data, size}, 0);
    return 0;
}
