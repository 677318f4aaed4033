/* JSON (RFC 8259). The reader makes an index over the text without copying it: open a 4 MB tokenizer.json in milliseconds and
 * without an allocation per value. The text must outlive the document.
 *
 * A value is a number (json_ref) into the document; 0 is the root, JSON_NONE no value. All accessors accept JSON_NONE and wrong
 * kinds and then return JSON_NONE, false or the given default, so a path can be walked before it is checked. */
#ifndef LITHE_BASE_JSON_H
#define LITHE_BASE_JSON_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/bytes.h"
#include "base/error.h"

typedef struct json_doc json_doc;
typedef uint32_t json_ref;
#define JSON_NONE UINT32_MAX

typedef enum json_kind {
    JSON_MISSING,
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
} json_kind;

/* Errors say line, column, expected and found. Nesting deeper than 512 and texts over 4 GiB are refused. Invalid UTF-8 and
 * lone surrogate escapes inside strings are refused. */
lithe_status json_parse(json_doc **out, bytes text, lithe_error *err);
void json_free(json_doc *doc);
size_t json_memory(const json_doc *doc); /* bytes allocated */

json_kind json_type(const json_doc *doc, json_ref v);
/* Elements of an array, members of an object; 0 for other kinds. */
size_t json_count(const json_doc *doc, json_ref v);
/* First element (array) or first member's value (object), and the one after v; JSON_NONE at the end. O(1). */
json_ref json_first(const json_doc *doc, json_ref v);
json_ref json_next(const json_doc *doc, json_ref v);
/* The key of a member's value, undecoded text between the quotes; `escaped` tells whether it has escapes. */
bytes json_key(const json_doc *doc, json_ref v, bool *escaped);
/* Member by (unescaped ASCII) name; linear. The last one wins when names repeat. */
json_ref json_get(const json_doc *doc, json_ref object, const char *name);

/* Raw text of a string between its quotes; and whether it has escapes (else it is the value itself). */
bytes json_raw(const json_doc *doc, json_ref v, bool *escaped);
/* Decodes raw string text with escapes into out (at most raw.size bytes, UTF-8); returns the length. */
size_t json_unescape(bytes raw, uint8_t *out);
/* The decoded string, zero-terminated, in the arena; NULL if v is no string or memory is out. */
char *json_string(const json_doc *doc, json_ref v, arena *a, size_t *n);
bool json_equals(const json_doc *doc, json_ref v, const char *s);
bool json_i64(const json_doc *doc, json_ref v, int64_t *out); /* exact integers only */
bool json_f64(const json_doc *doc, json_ref v, double *out);  /* correctly rounded; false if it overflows */
/* The number as it is written; empty for other kinds. */
bytes json_number_text(const json_doc *doc, json_ref v);
bool json_bool(const json_doc *doc, json_ref v, bool fallback);
/* Line and column (from 1) of a value, for errors of those who read documents. */
void json_position(const json_doc *doc, json_ref v, uint32_t *line, uint32_t *column);

/* Writing: appends to a buffer, puts commas by itself. */
typedef struct json_writer {
    buffer *out;
    uint32_t depth;
    bool comma, after_key, pretty;
} json_writer;
void json_writer_init(json_writer *w, buffer *out, bool pretty);
void json_begin_object(json_writer *w);
void json_end_object(json_writer *w);
void json_begin_array(json_writer *w);
void json_end_array(json_writer *w);
void json_write_key(json_writer *w, const char *key);
void json_write_string(json_writer *w, const char *s, size_t n); /* invalid UTF-8 becomes U+FFFD */
void json_write_cstring(json_writer *w, const char *s);          /* NULL: null */
void json_write_i64(json_writer *w, int64_t v);
void json_write_u64(json_writer *w, uint64_t v);
/* Shortest text that reads back as the same float (double); NaN and infinities become null. */
void json_write_f32(json_writer *w, float v);
void json_write_f64(json_writer *w, double v);
void json_write_bool(json_writer *w, bool v);
void json_write_null(json_writer *w);

#endif
