#include "bundle/writer.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES        16384u /* sections start at its multiples */
#define HEADER_FIXED_BYTES 32u
#define HEADER_MAX_BYTES   16384u /* what the reference maps to read the header */

static const uint32_t written_version[3] = {1, 7, 0};

static fb_ref write_item_value(fb_builder *b, const bundle_item *item)
{
    fb_ref text = item->type == ITEM_STRING ? fb_write_string(b, item->value.s) : 0;
    fb_table_begin(b);
    switch (item->type) {
    case ITEM_UINT8:
    case ITEM_INT8:
    case ITEM_BOOL:
        fb_table_u8(b, 0, (uint8_t)item->value.i);
        break;
    case ITEM_UINT16:
    case ITEM_INT16:
        fb_table_u16(b, 0, (uint16_t)item->value.i);
        break;
    case ITEM_UINT32:
    case ITEM_INT32:
        fb_table_u32(b, 0, (uint32_t)item->value.i);
        break;
    case ITEM_UINT64:
    case ITEM_INT64:
        fb_table_u64(b, 0, (uint64_t)item->value.i);
        break;
    case ITEM_FLOAT32:
        fb_table_f32(b, 0, (float)item->value.f);
        break;
    case ITEM_DOUBLE:
        fb_table_f64(b, 0, item->value.f);
        break;
    case ITEM_STRING:
        fb_table_ref(b, 0, text);
        break;
    case ITEM_NONE:
        break;
    }
    return fb_table_end(b);
}

/* The vector of pairs; 0 when memory is out (the builder then has failed, or `n` refs could not be had). */
static fb_ref write_items(fb_builder *b, const bundle_item *items, size_t n, bool *out_of_memory)
{
    fb_ref *refs = calloc(n + 1, sizeof *refs);
    if (!refs) {
        *out_of_memory = true;
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        fb_ref value = write_item_value(b, &items[i]), key = fb_write_string(b, items[i].key);
        fb_table_begin(b);
        fb_table_ref(b, 0, key);
        fb_table_ref(b, 2, value);
        fb_table_u8(b, 1, (uint8_t)items[i].type);
        refs[i] = fb_table_end(b);
    }
    fb_ref v = fb_write_refs(b, refs, (uint32_t)n);
    free(refs);
    return v;
}

static uint64_t round_up(uint64_t n)
{
    return (n + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

/* The header's FlatBuffer for sections that begin at `first`. Its size does not depend on `first`. */
static lithe_status build_header(fb_builder *b, const bundle_item *system, size_t n_system,
                                 const bundle_section_source *sections, size_t n_sections, uint64_t first, bytes *out,
                                 lithe_error *err)
{
    bool out_of_memory = false;
    uint64_t begin = first;
    fb_ref *refs = calloc(n_sections + 1, sizeof *refs);
    if (!refs) {
        return error_memory(err, (n_sections + 1) * sizeof *refs, "section references");
    }
    for (size_t i = 0; i < n_sections; i++) {
        const bundle_section_source *s = &sections[i];
        fb_ref items = write_items(b, s->items, s->n_items, &out_of_memory);
        uint64_t end = begin + s->data.size;
        fb_table_begin(b);
        fb_table_u64(b, 2, end);
        fb_table_u64(b, 1, begin);
        fb_table_ref(b, 0, items);
        fb_table_u8(b, 3, (uint8_t)s->type);
        refs[i] = fb_table_end(b);
        begin = round_up(end);
    }
    fb_ref objects = fb_write_refs(b, refs, (uint32_t)n_sections);
    free(refs);
    fb_table_begin(b);
    fb_table_ref(b, 0, objects);
    fb_ref section_metadata = fb_table_end(b);
    fb_ref entries = write_items(b, system, n_system, &out_of_memory);
    fb_table_begin(b);
    fb_table_ref(b, 0, entries);
    fb_ref system_metadata = fb_table_end(b);
    fb_table_begin(b);
    fb_table_ref(b, 0, system_metadata);
    fb_table_ref(b, 1, section_metadata);
    fb_ref root = fb_table_end(b);
    if (out_of_memory) {
        return error_memory(err, n_system * sizeof *refs, "item references");
    }
    return fb_finish(b, root, NULL, out, err);
}

static lithe_status make_header(const bundle_item *system, size_t n_system, const bundle_section_source *sections,
                                size_t n_sections, buffer *out, lithe_error *err)
{
    uint64_t first = BLOCK_BYTES;
    for (int pass = 0; pass < 2; pass++) {
        fb_builder *b;
        bytes header;
        lithe_status st = fb_builder_create(&b, err);
        if (st) {
            return st;
        }
        st = build_header(b, system, n_system, sections, n_sections, first, &header, err);
        if (!st && HEADER_FIXED_BYTES + header.size > HEADER_MAX_BYTES) {
            st =
                error_set(err, LITHE_E_UNSUPPORTED, "the bundle's header would have %zu bytes; readers take at most %u",
                          HEADER_FIXED_BYTES + header.size, HEADER_MAX_BYTES);
        }
        if (!st && pass == 1) {
            uint8_t fixed[HEADER_FIXED_BYTES] = "LITERTLM";
            for (size_t i = 0; i < 3; i++) {
                store_u32(fixed + 8 + 4 * i, written_version[i]);
            }
            store_u64(fixed + 24, HEADER_FIXED_BYTES + header.size);
            buffer_append(out, fixed, sizeof fixed);
            buffer_append(out, header.data, header.size);
            st = buffer_failed(out) ? error_memory(err, header.size, "a bundle's header") : LITHE_OK;
        }
        first = st ? first : round_up(HEADER_FIXED_BYTES + header.size);
        fb_builder_destroy(b);
        if (st) {
            return st;
        }
    }
    return LITHE_OK;
}

static lithe_status write_file(file_writer *w, const buffer *header, const bundle_section_source *sections,
                               size_t n_sections, lithe_error *err)
{
    lithe_status st = file_writer_write(w, header->data, header->size, err);
    uint64_t begin = round_up(header->size);
    for (size_t i = 0; i < n_sections && !st; i++) {
        st = file_writer_seek(w, begin, err);
        if (!st && sections[i].data.size) {
            st = file_writer_write(w, sections[i].data.data, sections[i].data.size, err);
        }
        /* An empty section at the end: without a byte behind it the file would stop before the section's begin. */
        if (!st && !sections[i].data.size && i + 1 == n_sections) {
            st = file_writer_seek(w, begin - 1, err);
            st = st ? st : file_writer_write(w, "", 1, err);
        }
        begin = round_up(begin + sections[i].data.size);
    }
    return st;
}

lithe_status bundle_write(const char *path, const bundle_item *system, size_t n_system,
                          const bundle_section_source *sections, size_t n_sections, lithe_error *err)
{
    if (n_sections > UINT16_MAX || n_system > UINT16_MAX) {
        return error_set(err, LITHE_E_UNSUPPORTED, "%zu sections and %zu system entries do not fit a bundle's header",
                         n_sections, n_system);
    }
    buffer header;
    file_writer *w;
    buffer_init(&header);
    lithe_status st = make_header(system, n_system, sections, n_sections, &header, err);
    if (!st) {
        st = file_writer_open(&w, path, err);
    }
    if (!st) {
        st = write_file(w, &header, sections, n_sections, err);
        if (st) {
            file_writer_abort(w);
        } else {
            st = file_writer_commit(w, err);
        }
    }
    if (st) {
        error_at_path(err, path);
    }
    buffer_fini(&header);
    return st;
}
