/* Any bytes: refused with a reason or indexed; what is indexed survives being written and read again. */
#include "base/json_copy.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_doc *doc, *again;
    lithe_error err;
    if (json_parse(&doc, (bytes){data, size}, &err)) {
        if (err.code != LITHE_E_FORMAT || !err.message[0]) {
            abort();
        }
        return 0;
    }
    buffer first = json_copy(doc, size % 2);
    if (json_parse(&again, (bytes){first.data, first.size}, &err)) {
        abort();
    }
    buffer second = json_copy(again, size % 2);
    if (first.size != second.size || memcmp(first.data, second.data, first.size) != 0) {
        abort();
    }
    uint32_t line, column;
    json_position(doc, 0, &line, &column);
    buffer_fini(&first);
    buffer_fini(&second);
    json_free(again);
    json_free(doc);
    return 0;
}
