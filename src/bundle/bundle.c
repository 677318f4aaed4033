#include "bundle/bundle.h"

#include "bundle/flatbuf.h"
#include "bundle/sniff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_FIXED_BYTES 32 /* magic, version, padding, header_end; the FlatBuffer follows */
#define VERSION_MAJOR      1  /* the only one there is; minor and patch numbers never break readers */

/* Slots of the container's tables (litertlm_header_schema.fbs). */
enum { METADATA_SYSTEM, METADATA_SECTIONS };
enum { SYSTEM_ENTRIES };
enum { SECTIONS_OBJECTS };
enum { SECTION_ITEMS, SECTION_BEGIN, SECTION_END, SECTION_TYPE };
enum { PAIR_KEY, PAIR_VALUE_TYPE, PAIR_VALUE };

static const char *const section_names[] = {
    "None",
    "GenericBinaryData",
    "Deprecated",
    "TFLiteModel",
    "SP_Tokenizer",
    "LlmMetadataProto",
    "HF_Tokenizer_Zlib",
    "TFLiteWeights",
    "EmbeddingMetadataProto",
    "ExecutorMetadataProto",
    "TtsMetadataProto",
    "AsrMetadataProto",
};

const char *section_type_name(uint32_t type, char buf[24])
{
    if (type < sizeof section_names / sizeof *section_names) {
        snprintf(buf, 24, "%s", section_names[type]);
    } else {
        snprintf(buf, 24, "unknown (%lu)", (unsigned long)type);
    }
    return buf;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool equal_nocase(const char *a, const char *b)
{
    while (*a && lower(*a) == lower(*b)) {
        a++, b++;
    }
    return lower(*a) == lower(*b);
}

int32_t bundle_find(const bundle *b, section_type type, const char *model_type)
{
    for (size_t i = b->n_sections; i-- > 0;) {
        const bundle_section *s = &b->sections[i];
        if (s->type == (uint32_t)type && (!model_type || equal_nocase(s->model_type, model_type))) {
            return (int32_t)i;
        }
    }
    return -1;
}

/* The boxed value of a key-value pair: every box is a table with its value in slot 0. */
static bool read_value(const fb_table *pair, bundle_item *item)
{
    fb_table box;
    if (!fb_sub(pair, PAIR_VALUE, &box) || box.at == 0) {
        return false;
    }
    bytes s;
    switch (item->type) {
    case ITEM_UINT8:
    case ITEM_BOOL:
        item->value.i = fb_u8(&box, 0, 0);
        return true;
    case ITEM_INT8:
        item->value.i = fb_i8(&box, 0, 0);
        return true;
    case ITEM_UINT16:
        item->value.i = fb_u16(&box, 0, 0);
        return true;
    case ITEM_INT16:
        item->value.i = (int16_t)fb_u16(&box, 0, 0);
        return true;
    case ITEM_UINT32:
        item->value.i = fb_u32(&box, 0, 0);
        return true;
    case ITEM_INT32:
        item->value.i = fb_i32(&box, 0, 0);
        return true;
    case ITEM_UINT64:
    case ITEM_INT64:
        item->value.i = fb_i64(&box, 0, 0);
        return true;
    case ITEM_FLOAT32:
        item->value.f = (double)fb_f32(&box, 0, 0.0f);
        return true;
    case ITEM_DOUBLE:
        item->value.f = fb_f64(&box, 0, 0.0);
        return true;
    case ITEM_STRING:
        if (!fb_str(&box, 0, &s)) {
            return false;
        }
        item->value.s = s.data ? (const char *)s.data : "";
        return true;
    case ITEM_NONE:
        break;
    }
    return true;
}

/* Reads a vector of KeyValuePair. `left` bounds the pairs of all vectors together: a crafted header can make many sections share
 * one vector, and then cost memory out of proportion to its size. `where` names the owner for messages. */
static lithe_status read_items(bundle *b, const fb_table *owner, unsigned slot, const char *where, uint64_t *left,
                               const bundle_item **out, size_t *n_out, lithe_error *err)
{
    fb_vector pairs;
    if (!fb_vec(owner, slot, 4, &pairs)) {
        return error_set(err, LITHE_E_FORMAT, "the bundle's header is damaged: the items of %s lie outside of it",
                         where);
    }
    if (pairs.n > *left) {
        return error_set(err, LITHE_E_FORMAT,
                         "the bundle's header is damaged: %s has %lu items, more than the header can hold", where,
                         (unsigned long)pairs.n);
    }
    *left -= pairs.n;
    bundle_item *items = ARENA_ARRAY(&b->arena, bundle_item, pairs.n);
    if (!items) {
        return error_memory(err, (uint64_t)pairs.n * sizeof *items, "section items");
    }
    for (uint32_t i = 0; i < pairs.n; i++) {
        fb_table pair;
        bytes key;
        if (!fb_vec_table(&pairs, i, &pair) || !fb_str(&pair, PAIR_KEY, &key)) {
            return error_set(err, LITHE_E_FORMAT, "the bundle's header is damaged: item %lu of %s", (unsigned long)i,
                             where);
        }
        if (!key.data) {
            return error_set(err, LITHE_E_FORMAT, "item %lu of %s has no key", (unsigned long)i, where);
        }
        uint8_t type = fb_u8(&pair, PAIR_VALUE_TYPE, 0);
        items[i].key = (const char *)key.data;
        /* kinds that a later minor version may add are kept by name only */
        items[i].type = type <= ITEM_DOUBLE ? (item_type)type : ITEM_NONE;
        if (!read_value(&pair, &items[i])) {
            char name[64];
            return error_set(err, LITHE_E_FORMAT, "the value of item %s of %s is missing or damaged",
                             sniff_printable(key, name, sizeof name), where);
        }
    }
    *out = items;
    *n_out = pairs.n;
    return LITHE_OK;
}

/* Text of the item, "" if there is none; the last one wins. */
static lithe_status text_item(const bundle_section *s, const char *key, const char **out, lithe_error *err)
{
    *out = "";
    for (size_t i = 0; i < s->n_items; i++) {
        if (strcmp(s->items[i].key, key) != 0) {
            continue;
        }
        if (s->items[i].type != ITEM_STRING) {
            error_set(err, LITHE_E_FORMAT, "item %s of the section is no string", key);
            error_expected(err, "value type %d (string)", ITEM_STRING);
            error_found(err, "value type %d", (int)s->items[i].type);
            return LITHE_E_FORMAT;
        }
        *out = s->items[i].value.s;
    }
    return LITHE_OK;
}

static lithe_status read_known_items(bundle *b, bundle_section *s, lithe_error *err)
{
    lithe_status st;
    if ((st = text_item(s, "model_type", &s->model_type, err)) ||
        (st = text_item(s, "backend_constraint", &s->backend_constraint, err)) ||
        (st = text_item(s, "prefer_activation_type", &s->prefer_activation_type, err))) {
        return st;
    }
    bool is_model = s->type == SECTION_TFLITE_MODEL || s->type == SECTION_TFLITE_WEIGHTS;
    if (is_model && !*s->model_type) {
        s->model_type = "tf_lite_prefill_decode";
    }
    char *copy = arena_strndup(&b->arena, s->model_type, strlen(s->model_type));
    if (!copy) {
        return error_memory(err, strlen(s->model_type) + 1, "a model type");
    }
    for (char *c = copy; *c; c++) {
        *c = lower(*c);
    }
    s->model_type = copy;
    return LITHE_OK;
}

/* Checks [begin, end) against the file and the header in front of it. */
static lithe_status check_range(const bundle *b, bundle_section *s, unsigned long i, uint64_t header_end,
                                lithe_error *err)
{
    char name[24];
    section_type_name(s->type, name);
    unsigned long long begin = s->begin, end = s->end, size = b->map.view.size;
    if (end < begin) {
        return error_set(err, LITHE_E_FORMAT, "section %lu (%s) ends at byte %llu, before its begin at byte %llu", i,
                         name, end, begin);
    }
    if (end > size) {
        error_set(err, LITHE_E_TRUNCATED,
                  "section %lu (%s) ends at byte %llu, but the file has %llu bytes: it is truncated", i, name, end,
                  size);
        error_expected(err, "at least %llu bytes", end);
        error_found(err, "%llu bytes", size);
        error_hint(err, "download or copy the file again");
        return LITHE_E_TRUNCATED;
    }
    if (begin < header_end && end > begin) {
        return error_set(err, LITHE_E_FORMAT,
                         "section %lu (%s) begins at byte %llu, inside the header that ends at byte %llu", i, name,
                         begin, (unsigned long long)header_end);
    }
    s->data = (bytes){b->map.view.data + begin, (size_t)(end - begin)};
    return LITHE_OK;
}

static lithe_status read_section(bundle *b, bundle_section *s, const fb_table *t, unsigned long i, uint64_t header_end,
                                 uint64_t *left, lithe_error *err)
{
    char where[32];
    snprintf(where, sizeof where, "section %lu", i);
    s->type = fb_u8(t, SECTION_TYPE, 0);
    s->begin = fb_u64(t, SECTION_BEGIN, 0);
    s->end = fb_u64(t, SECTION_END, 0);
    lithe_status st = check_range(b, s, i, header_end, err);
    if (!st) {
        st = read_items(b, t, SECTION_ITEMS, where, left, &s->items, &s->n_items, err);
    }
    return st ? st : read_known_items(b, s, err);
}

/* A range with the index of its section, for finding overlaps by sorting. */
typedef struct range {
    uint64_t begin, end;
    size_t section;
} range;

static int compare_ranges(const void *a, const void *b)
{
    const range *x = (const range *)a, *y = (const range *)b;
    if (x->begin != y->begin) {
        return x->begin < y->begin ? -1 : 1;
    }
    return x->section < y->section ? -1 : x->section > y->section;
}

static lithe_status check_overlaps(const bundle *b, lithe_error *err)
{
    range *r = calloc(b->n_sections + 1, sizeof *r);
    if (!r) {
        return error_memory(err, (b->n_sections + 1) * sizeof *r, "section ranges");
    }
    size_t n = 0;
    for (size_t i = 0; i < b->n_sections; i++) {
        if (b->sections[i].end > b->sections[i].begin) {
            r[n++] = (range){b->sections[i].begin, b->sections[i].end, i};
        }
    }
    qsort(r, n, sizeof *r, compare_ranges);
    lithe_status st = LITHE_OK;
    for (size_t i = 1; i < n && !st; i++) {
        if (r[i].begin < r[i - 1].end) {
            char a[24], c[24];
            const range *x = &r[i - 1], *y = &r[i];
            st = error_set(err, LITHE_E_FORMAT,
                           "section %zu (%s, bytes %llu to %llu) and section %zu (%s, bytes %llu to %llu) overlap",
                           x->section, section_type_name(b->sections[x->section].type, a), (unsigned long long)x->begin,
                           (unsigned long long)x->end, y->section, section_type_name(b->sections[y->section].type, c),
                           (unsigned long long)y->begin, (unsigned long long)y->end);
            error_at_section(err, (int32_t)y->section);
        }
    }
    free(r);
    return st;
}

static lithe_status read_sections(bundle *b, const fb_table *root, uint64_t header_end, uint64_t *left,
                                  lithe_error *err)
{
    fb_table table;
    fb_vector objects;
    if (!fb_sub(root, METADATA_SECTIONS, &table) || !fb_vec(&table, SECTIONS_OBJECTS, 4, &objects)) {
        return error_set(err, LITHE_E_FORMAT,
                         "the bundle's header is damaged: the list of sections lies outside of it");
    }
    if (!fb_has(&table, SECTIONS_OBJECTS)) {
        return error_set(err, LITHE_E_FORMAT, "the bundle's header has no list of sections");
    }
    bundle_section *sections = ARENA_ARRAY(&b->arena, bundle_section, objects.n);
    if (!sections) {
        return error_memory(err, (uint64_t)objects.n * sizeof *sections, "sections");
    }
    b->sections = sections;
    b->n_sections = objects.n;
    for (uint32_t i = 0; i < objects.n; i++) {
        fb_table t;
        lithe_status st;
        if (!fb_vec_table(&objects, i, &t)) {
            st = error_set(err, LITHE_E_FORMAT,
                           "the bundle's header is damaged: the entry of section %lu lies outside of it",
                           (unsigned long)i);
        } else {
            st = read_section(b, &sections[i], &t, i, header_end, left, err);
        }
        if (st) {
            error_at_section(err, (int32_t)i);
            return st;
        }
    }
    return check_overlaps(b, err);
}

static lithe_status read_header(bundle *b, uint64_t header_end, lithe_error *err)
{
    bytes header = {b->map.view.data + HEADER_FIXED_BYTES, (size_t)(header_end - HEADER_FIXED_BYTES)};
    char problem[96];
    fb_table root, system;
    if (!fb_root(header, &root, problem, sizeof problem)) {
        return error_set(err, LITHE_E_FORMAT, "the bundle's header is damaged: %s", problem);
    }
    uint64_t left = header.size / 4; /* every pair takes an offset of four bytes */
    if (!fb_sub(&root, METADATA_SYSTEM, &system)) {
        return error_set(err, LITHE_E_FORMAT, "the bundle's header is damaged: the system metadata lie outside of it");
    }
    lithe_status st =
        read_items(b, &system, SYSTEM_ENTRIES, "the system metadata", &left, &b->system, &b->n_system, err);
    return st ? st : read_sections(b, &root, header_end, &left, err);
}

static lithe_status open_container(bundle *b, lithe_error *err)
{
    bytes f = b->map.view;
    if (f.size < HEADER_FIXED_BYTES) {
        error_set(err, LITHE_E_TRUNCATED,
                  "the file has %zu bytes, but a bundle's header alone needs %d: it is truncated", f.size,
                  HEADER_FIXED_BYTES);
        error_hint(err, "download or copy the file again");
        return LITHE_E_TRUNCATED;
    }
    for (size_t i = 0; i < 3; i++) {
        b->version[i] = load_u32(f.data + 8 + 4 * i);
    }
    if (b->version[0] != VERSION_MAJOR) {
        error_set(err, LITHE_E_VERSION,
                  "this build reads bundles of major version %d, but the file has version %lu.%lu.%lu", VERSION_MAJOR,
                  (unsigned long)b->version[0], (unsigned long)b->version[1], (unsigned long)b->version[2]);
        error_expected(err, "%d", VERSION_MAJOR);
        error_found(err, "%lu", (unsigned long)b->version[0]);
        error_hint(err, "update lithe, or export the model for container version 1");
        return LITHE_E_VERSION;
    }
    uint64_t header_end = load_u64(f.data + 24);
    if (header_end < HEADER_FIXED_BYTES) {
        return error_set(err, LITHE_E_FORMAT,
                         "the bundle says that its header ends at byte %llu, inside the fixed part of %d bytes",
                         (unsigned long long)header_end, HEADER_FIXED_BYTES);
    }
    if (header_end > f.size) {
        error_set(err, LITHE_E_TRUNCATED, "the header ends at byte %llu, but the file has %zu bytes: it is truncated",
                  (unsigned long long)header_end, f.size);
        error_hint(err, "download or copy the file again");
        return LITHE_E_TRUNCATED;
    }
    return read_header(b, header_end, err);
}

/* A plain .tflite seen as a bundle of one section. */
static lithe_status open_tflite(bundle *b, lithe_error *err)
{
    bundle_section *s = ARENA_NEW(&b->arena, bundle_section);
    if (!s) {
        return error_memory(err, sizeof *s, "sections");
    }
    *s = (bundle_section){.type = SECTION_TFLITE_MODEL,
                          .end = b->map.view.size,
                          .data = b->map.view,
                          .model_type = "tf_lite_prefill_decode",
                          .backend_constraint = "",
                          .prefer_activation_type = ""};
    b->is_tflite = true;
    b->sections = s;
    b->n_sections = 1;
    return LITHE_OK;
}

static lithe_status open_contents(bundle *b, lithe_error *err)
{
    bytes f = b->map.view;
    if (f.size == 0) {
        return error_set(err, LITHE_E_FORMAT, "the file is empty");
    }
    switch (sniff_file(f)) {
    case FILE_LITERTLM:
        return open_container(b, err);
    case FILE_TFLITE:
        return open_tflite(b, err);
    default:
        return sniff_error(f, err);
    }
}

/* Takes over the map, also on failure. */
static lithe_status open_map(bundle **out, file_map map, const char *path, lithe_error *err)
{
    bundle *b = calloc(1, sizeof *b);
    if (!b) {
        file_map_close(&map);
        return error_memory(err, sizeof *b, "a bundle");
    }
    b->map = map;
    arena_init(&b->arena, 0);
    b->path = arena_strndup(&b->arena, path, strlen(path));
    lithe_status st = b->path ? open_contents(b, err) : error_memory(err, strlen(path) + 1, "a path");
    if (st) {
        error_at_path(err, path);
        bundle_close(b);
        return st;
    }
    *out = b;
    return LITHE_OK;
}

lithe_status bundle_open(bundle **out, const char *path, lithe_error *err)
{
    file_map map = {0};
    lithe_status st = file_map_open(&map, path, err);
    if (st) {
        error_at_path(err, path);
        return st;
    }
    return open_map(out, map, path, err);
}

lithe_status bundle_open_bytes(bundle **out, bytes contents, const char *name, lithe_error *err)
{
    return open_map(out, (file_map){.view = contents}, name, err);
}

void bundle_close(bundle *b)
{
    if (!b) {
        return;
    }
    file_map_close(&b->map);
    arena_fini(&b->arena);
    free(b);
}
