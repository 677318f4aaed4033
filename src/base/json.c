#include "base/decimal.h"
#include "base/json_index.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEEPEST = 512 };

typedef struct parser {
    json_doc *doc;
    const uint8_t *text;
    size_t at, size;
    uint32_t depth;
    uint32_t open[DEEPEST]; /* nodes of the containers around `at` */
    uint32_t last[DEEPEST]; /* and of the latest value in each, JSON_NONE in an empty one */
    lithe_error *err;
} parser;

/* ------------------------------------------------------------------------------------------- errors */

void json_locate(bytes text, size_t offset, uint32_t *line, uint32_t *column)
{
    *line = 1;
    *column = 1;
    for (size_t i = 0; i < offset && i < text.size; i++) {
        if (text.data[i] == '\n') {
            ++*line;
            *column = 1;
        } else if ((text.data[i] & 0xC0) != 0x80) {
            ++*column;
        }
    }
}

static void describe_found(const parser *p, size_t at, char out[48])
{
    if (at >= p->size) {
        snprintf(out, 48, "the end of the text");
        return;
    }
    uint32_t c;
    size_t used;
    if (!utf8_next(p->text + at, p->size - at, &c, &used)) {
        snprintf(out, 48, "the byte 0x%02X (not UTF-8)", p->text[at]);
    } else if (c < 0x20 || c == 0x7F) {
        snprintf(out, 48, "the control character U+%04X", (unsigned)c);
    } else {
        snprintf(out, 48, "\"%.*s\"", (int)used, (const char *)p->text + at);
    }
}

static bool fail(parser *p, size_t at, const char *expected)
{
    char found[48];
    uint32_t line, column;
    describe_found(p, at, found);
    json_locate((bytes){p->text, p->size}, at, &line, &column);
    error_set(p->err, LITHE_E_FORMAT, "JSON: line %u, column %u: expected %s, found %s", line, column, expected, found);
    error_expected(p->err, "%s", expected);
    error_found(p->err, "%s", found);
    return false;
}

static bool fail_memory(parser *p, size_t n_bytes)
{
    error_memory(p->err, n_bytes, "the index of a JSON text");
    return false;
}

/* -------------------------------------------------------------------------------------------- nodes */

static bool grow(parser *p)
{
    json_doc *doc = p->doc;
    size_t capacity = doc->capacity + doc->capacity / 2 + 16;
    if (capacity > JSON_NONE) {
        capacity = JSON_NONE;
    }
    json_node *nodes = capacity > doc->capacity && capacity <= SIZE_MAX / sizeof *nodes
                           ? realloc(doc->nodes, capacity * sizeof *nodes)
                           : NULL;
    if (!nodes) {
        return fail_memory(p, capacity * sizeof *nodes);
    }
    doc->nodes = nodes;
    doc->capacity = capacity;
    return true;
}

static inline json_node *add_node(parser *p, json_kind kind, size_t start)
{
    json_doc *doc = p->doc;
    if (doc->n_nodes == doc->capacity && !grow(p)) {
        return NULL;
    }
    json_node *node = &doc->nodes[doc->n_nodes++];
    *node = (json_node){.start = (uint32_t)start, .kind = (uint32_t)kind & 15};
    return node;
}

/* ------------------------------------------------------------------------------------------ strings */

/* Bytes that end the plain run of a string: quote, backslash, controls and whatever is not ASCII. */
static inline uint64_t special_bytes(uint64_t v)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = UINT64_C(0x8080808080808080);
    uint64_t quote = v ^ (ones * '"'), backslash = v ^ (ones * '\\');
    /* The classic zero-byte test; borrows can only mark bytes above a true hit, and non-ASCII bytes are marked anyway. */
    return ((quote - ones) | (backslash - ones) | (v - ones * 0x20) | v) & tops;
}

static inline size_t skip_plain(const uint8_t *s, size_t at, size_t size)
{
    while (size - at >= 8) {
        uint64_t special = special_bytes(load_u64(s + at));
        if (special) {
            return at + (size_t)__builtin_ctzll(special) / 8;
        }
        at += 8;
    }
    while (at < size && s[at] != '"' && s[at] != '\\' && s[at] >= 0x20 && s[at] < 0x80) {
        at++;
    }
    return at;
}

static int hex_value(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
}

static bool hex4(const uint8_t *s, uint32_t *out)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(s[i]);
        if (digit < 0) {
            return false;
        }
        v = v << 4 | (uint32_t)digit;
    }
    *out = v;
    return true;
}

size_t json_escape(const uint8_t *at, size_t n, uint32_t *code_point)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (n < 2 || at[1] == 0) {
        return 0;
    }
    if (at[1] != 'u') {
        const char *name = strchr(names, at[1]);
        *code_point = name ? (uint8_t)values[name - names] : 0;
        return name ? 2 : 0;
    }
    uint32_t high, low;
    if (n < 6 || !hex4(at + 2, &high)) {
        return 0;
    }
    *code_point = high;
    if (high < 0xD800 || high > 0xDFFF) {
        return 6;
    }
    if (high > 0xDBFF || n < 12 || at[6] != '\\' || at[7] != 'u' || !hex4(at + 8, &low) || low < 0xDC00 ||
        low > 0xDFFF) {
        return 0;
    }
    *code_point = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    return 12;
}

/* A string whose opening quote is at p->at. */
static bool parse_string(parser *p, json_node *node)
{
    const uint8_t *s = p->text;
    size_t at = p->at + 1;
    node->start = (uint32_t)at;
    for (;;) {
        at = skip_plain(s, at, p->size);
        uint32_t c;
        size_t used;
        if (at >= p->size) {
            return fail(p, at, "the rest of a string");
        }
        if (s[at] == '"') {
            break;
        }
        if (s[at] == '\\') {
            node->escaped = 1;
            used = json_escape(s + at, p->size - at, &c);
            if (!used) {
                return fail(p, at, "a valid escape (surrogates in pairs)");
            }
        } else if (s[at] < 0x20) {
            return fail(p, at, "an escape, as control characters in strings need");
        } else if (!utf8_next(s + at, p->size - at, &c, &used)) {
            return fail(p, at, "well-formed UTF-8");
        }
        at += used;
    }
    node->extent = (uint32_t)at - node->start;
    p->at = at + 1;
    return true;
}

/* ------------------------------------------------------------------------------------------- values */

static inline void skip_space(parser *p)
{
    const uint8_t *s = p->text;
    size_t at = p->at;
    while (at < p->size && (s[at] == ' ' || s[at] == '\n' || s[at] == '\r' || s[at] == '\t')) {
        at++;
    }
    p->at = at;
}

static inline bool at_byte(const parser *p, uint8_t c)
{
    return p->at < p->size && p->text[p->at] == c;
}

static bool parse_literal(parser *p, const char *word, json_kind kind)
{
    size_t n = strlen(word);
    if (p->size - p->at < n || memcmp(p->text + p->at, word, n) != 0) {
        return fail(p, p->at, "a value");
    }
    json_node *node = add_node(p, kind, p->at);
    if (!node) {
        return false;
    }
    node->extent = (uint32_t)n;
    p->at += n;
    return true;
}

static bool parse_number(parser *p)
{
    bool integer;
    size_t n = decimal_scan(p->text + p->at, p->size - p->at, &integer);
    if (!n) {
        return fail(p, p->at, "a number as JSON writes it");
    }
    json_node *node = add_node(p, JSON_NUMBER, p->at);
    if (!node) {
        return false;
    }
    node->extent = (uint32_t)n;
    p->at += n;
    return true;
}

static bool open_container(parser *p, json_kind kind)
{
    if (p->depth == DEEPEST) {
        return fail(p, p->at, "at most 512 levels of nesting");
    }
    if (!add_node(p, kind, p->at)) {
        return false;
    }
    p->open[p->depth] = p->doc->n_nodes - 1;
    p->last[p->depth++] = JSON_NONE;
    p->at++;
    return true;
}

static void close_container(parser *p)
{
    p->depth--;
    p->at++;
    p->doc->nodes[p->open[p->depth]].extent = p->doc->n_nodes;
    if (p->last[p->depth] != JSON_NONE) {
        p->doc->nodes[p->last[p->depth]].last = 1;
    }
}

/* A scalar, or the opening bracket of a container. */
static bool parse_value(parser *p)
{
    json_node *node;
    uint8_t c = p->at < p->size ? p->text[p->at] : 0;
    switch (c) {
    case '"':
        node = add_node(p, JSON_STRING, p->at);
        return node && parse_string(p, node);
    case '{':
        return open_container(p, JSON_OBJECT);
    case '[':
        return open_container(p, JSON_ARRAY);
    case 't':
        return parse_literal(p, "true", JSON_TRUE);
    case 'f':
        return parse_literal(p, "false", JSON_FALSE);
    case 'n':
        return parse_literal(p, "null", JSON_NULL);
    default:
        return c == '-' || (c >= '0' && c <= '9') ? parse_number(p) : fail(p, p->at, "a value");
    }
}

static bool parse_key(parser *p)
{
    if (!at_byte(p, '"')) {
        return fail(p, p->at, "a key in quotes");
    }
    json_node *key = add_node(p, JSON_STRING, p->at);
    if (!key || !parse_string(p, key)) {
        return false;
    }
    skip_space(p);
    if (!at_byte(p, ':')) {
        return fail(p, p->at, "\":\"");
    }
    p->at++;
    skip_space(p);
    return true;
}

/* One step inside the innermost container: its end, or the next element with the comma before it. */
static bool parse_element(parser *p)
{
    uint32_t container = p->open[p->depth - 1];
    uint32_t *last = &p->last[p->depth - 1];
    bool object = p->doc->nodes[container].kind == JSON_OBJECT;
    if (at_byte(p, object ? '}' : ']')) {
        close_container(p);
        return true;
    }
    if (*last != JSON_NONE) {
        if (!at_byte(p, ',')) {
            return fail(p, p->at, object ? "\",\" or \"}\"" : "\",\" or \"]\"");
        }
        p->at++;
        skip_space(p);
    }
    if (object && !parse_key(p)) {
        return false;
    }
    uint32_t value = p->doc->n_nodes;
    if (!parse_value(p)) {
        return false;
    }
    json_node *nodes = p->doc->nodes;
    nodes[value].member = object;
    if (nodes[container].count < JSON_COUNT_MOST) {
        nodes[container].count++;
    }
    *last = value;
    return true;
}

static bool parse_document(parser *p)
{
    skip_space(p);
    if (!parse_value(p)) {
        return false;
    }
    while (p->depth) {
        skip_space(p);
        if (!parse_element(p)) {
            return false;
        }
    }
    skip_space(p);
    return p->at == p->size || fail(p, p->at, "nothing after the value");
}

lithe_status json_parse(json_doc **out, bytes text, lithe_error *err)
{
    if (text.size >= UINT32_MAX) {
        return error_set(err, LITHE_E_UNSUPPORTED, "JSON: the text has %llu bytes; at most 4 GiB are supported",
                         (unsigned long long)text.size);
    }
    json_doc *doc = calloc(1, sizeof *doc);
    if (!doc) {
        return error_memory(err, sizeof *doc, "a JSON document");
    }
    doc->text = text;
    parser p = {.doc = doc, .text = text.data, .size = text.size};
    lithe_error local; /* to know the status when the caller wants no error */
    p.err = err ? err : &local;
    /* Vocabularies have some 15 bytes per node; the untouched rest of a generous guess costs no memory. */
    doc->capacity = text.size / 12 + 8;
    doc->nodes = malloc(doc->capacity * sizeof *doc->nodes);
    if (!doc->nodes) {
        doc->capacity = 0;
    }
    if (!parse_document(&p)) {
        json_free(doc);
        return p.err->code;
    }
    json_node *exact = realloc(doc->nodes, doc->n_nodes * sizeof *exact);
    if (exact) {
        doc->nodes = exact;
        doc->capacity = doc->n_nodes;
    }
    *out = doc;
    return LITHE_OK;
}

void json_free(json_doc *doc)
{
    if (doc) {
        free(doc->nodes);
        free(doc);
    }
}
