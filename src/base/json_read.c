#include "base/decimal.h"
#include "base/json_index.h"
#include "base/utf8.h"

/* The node of a value, NULL for JSON_NONE. */
static const json_node *node_at(const json_doc *doc, json_ref v)
{
    return doc && v < doc->n_nodes ? &doc->nodes[v] : NULL;
}

static const json_node *node_of_kind(const json_doc *doc, json_ref v, json_kind kind)
{
    const json_node *n = node_at(doc, v);
    return n && n->kind == (uint32_t)kind ? n : NULL;
}

static bool is_container(const json_node *n)
{
    return n->kind == JSON_ARRAY || n->kind == JSON_OBJECT;
}

static bytes text_of(const json_doc *doc, const json_node *n)
{
    return (bytes){doc->text.data + n->start, n->extent};
}

size_t json_memory(const json_doc *doc)
{
    return doc ? sizeof *doc + doc->capacity * sizeof *doc->nodes : 0;
}

json_kind json_type(const json_doc *doc, json_ref v)
{
    const json_node *n = node_at(doc, v);
    return n ? (json_kind)n->kind : JSON_MISSING;
}

size_t json_count(const json_doc *doc, json_ref v)
{
    const json_node *n = node_at(doc, v);
    if (!n || !is_container(n)) {
        return 0;
    }
    if (n->count < JSON_COUNT_MOST) {
        return n->count;
    }
    size_t count = 0;
    for (json_ref e = json_first(doc, v); e != JSON_NONE; e = json_next(doc, e)) {
        count++;
    }
    return count;
}

json_ref json_first(const json_doc *doc, json_ref v)
{
    const json_node *n = node_at(doc, v);
    if (!n || !is_container(n) || n->count == 0) {
        return JSON_NONE;
    }
    return v + (n->kind == JSON_OBJECT ? 2 : 1);
}

json_ref json_next(const json_doc *doc, json_ref v)
{
    const json_node *n = node_at(doc, v);
    if (!n || n->last || v == 0) {
        return JSON_NONE;
    }
    uint32_t behind = is_container(n) ? n->extent : v + 1;
    return behind + n->member;
}

bytes json_key(const json_doc *doc, json_ref v, bool *escaped)
{
    const json_node *n = node_at(doc, v);
    bool found = n && n->member;
    if (escaped) {
        *escaped = found && n[-1].escaped;
    }
    return found ? text_of(doc, n - 1) : (bytes){(const uint8_t *)"", 0};
}

bytes json_raw(const json_doc *doc, json_ref v, bool *escaped)
{
    const json_node *n = node_of_kind(doc, v, JSON_STRING);
    if (escaped) {
        *escaped = n && n->escaped;
    }
    return n ? text_of(doc, n) : (bytes){(const uint8_t *)"", 0};
}

/* Decodes the next piece of a string: an escape, or the plain text before the next one. Returns what it stands for. */
static bytes next_piece(bytes *raw, uint8_t small[4])
{
    bytes piece = *raw;
    if (raw->data[0] == '\\') {
        uint32_t c;
        size_t used = json_escape(raw->data, raw->size, &c);
        if (used) {
            piece = (bytes){small, utf8_encode(c, small)};
        } else {
            /* The parser accepts no wrong escape; in text from elsewhere the backslash stands for itself. */
            piece.size = used = 1;
        }
        raw->data += used;
        raw->size -= used;
        return piece;
    }
    const uint8_t *end = memchr(raw->data, '\\', raw->size);
    piece.size = end ? (size_t)(end - raw->data) : raw->size;
    raw->data += piece.size;
    raw->size -= piece.size;
    return piece;
}

size_t json_unescape(bytes raw, uint8_t *out)
{
    size_t n = 0;
    uint8_t small[4];
    while (raw.size) {
        bytes piece = next_piece(&raw, small);
        memcpy(out + n, piece.data, piece.size);
        n += piece.size;
    }
    return n;
}

static bool equals(bytes raw, bool escaped, const char *s)
{
    size_t left = strlen(s);
    uint8_t small[4];
    if (!escaped) {
        return left == raw.size && memcmp(raw.data, s, left) == 0;
    }
    while (raw.size) {
        bytes piece = next_piece(&raw, small);
        if (piece.size > left || memcmp(piece.data, s, piece.size) != 0) {
            return false;
        }
        s += piece.size;
        left -= piece.size;
    }
    return left == 0;
}

json_ref json_get(const json_doc *doc, json_ref object, const char *name)
{
    json_ref found = JSON_NONE;
    if (!node_of_kind(doc, object, JSON_OBJECT)) {
        return JSON_NONE;
    }
    for (json_ref v = json_first(doc, object); v != JSON_NONE; v = json_next(doc, v)) {
        const json_node *key = &doc->nodes[v - 1];
        if (equals(text_of(doc, key), key->escaped, name)) {
            found = v;
        }
    }
    return found;
}

char *json_string(const json_doc *doc, json_ref v, arena *a, size_t *n)
{
    if (!node_of_kind(doc, v, JSON_STRING)) {
        return NULL;
    }
    bool escaped;
    bytes raw = json_raw(doc, v, &escaped);
    char *copy = arena_alloc(a, raw.size + 1, 1);
    if (copy) {
        size_t length = raw.size;
        if (escaped) {
            length = json_unescape(raw, (uint8_t *)copy);
        } else {
            memcpy(copy, raw.data, raw.size);
        }
        copy[length] = 0;
        if (n) {
            *n = length;
        }
    }
    return copy;
}

bool json_equals(const json_doc *doc, json_ref v, const char *s)
{
    const json_node *n = node_of_kind(doc, v, JSON_STRING);
    return n && equals(text_of(doc, n), n->escaped, s);
}

bool json_i64(const json_doc *doc, json_ref v, int64_t *out)
{
    const json_node *n = node_of_kind(doc, v, JSON_NUMBER);
    return n && decimal_i64(text_of(doc, n), out);
}

bool json_f64(const json_doc *doc, json_ref v, double *out)
{
    const json_node *n = node_of_kind(doc, v, JSON_NUMBER);
    return n && decimal_f64(text_of(doc, n), out);
}

bytes json_number_text(const json_doc *doc, json_ref v)
{
    const json_node *n = node_of_kind(doc, v, JSON_NUMBER);
    return n ? text_of(doc, n) : (bytes){(const uint8_t *)"", 0};
}

bool json_bool(const json_doc *doc, json_ref v, bool fallback)
{
    json_kind kind = json_type(doc, v);
    return kind == JSON_TRUE || (kind != JSON_FALSE && fallback);
}

void json_position(const json_doc *doc, json_ref v, uint32_t *line, uint32_t *column)
{
    const json_node *n = node_at(doc, v);
    if (n) {
        json_locate(doc->text, n->start - (n->kind == JSON_STRING), line, column);
    } else {
        *line = 0;
        *column = 0;
    }
}
