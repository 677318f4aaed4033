/* Any bytes as a bundle: refused with a message, or opened with every section and item inside the file. */
#include "bundle/bundle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t touch(const bundle_item *items, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += strlen(items[i].key) + (items[i].type == ITEM_STRING ? strlen(items[i].value.s) : 0);
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lithe_error err = {0};
    bundle *b = NULL;
    if (bundle_open_bytes(&b, (bytes){data, size}, "fuzz", &err)) {
        if (b || !err.message[0] || !err.path[0]) {
            abort();
        }
        return 0;
    }
    size_t sum = touch(b->system, b->n_system);
    for (size_t i = 0; i < b->n_sections; i++) {
        const bundle_section *s = &b->sections[i];
        char name[24];
        if (s->end > size || s->begin > s->end || s->data.size != s->end - s->begin ||
            (s->data.size && s->data.data != data + s->begin)) {
            abort();
        }
        sum += touch(s->items, s->n_items) + strlen(s->model_type) + strlen(section_type_name(s->type, name));
        sum += s->data.size ? s->data.data[s->data.size - 1] : 0;
        if (s->type <= SECTION_ASR_METADATA && bundle_find(b, (section_type)s->type, s->model_type) < (int32_t)i) {
            abort();
        }
    }
    bundle_close(b);
    return sum == SIZE_MAX ? 1 : 0; /* the sum is used: what was summed was read */
}
