/* Reads a document through the public accessors and writes it anew, for the JSON test and the fuzz target. */
#ifndef LITHE_TESTS_BASE_JSON_COPY_H
#define LITHE_TESTS_BASE_JSON_COPY_H

#include "base/json.h"

static void json_copy_value(const json_doc *doc, json_ref v, json_writer *w, arena *a);

/* Keys with a zero byte end there: the writer takes keys as C strings. */
static inline void json_copy_inside(const json_doc *doc, json_ref v, json_writer *w, arena *a)
{
    for (json_ref e = json_first(doc, v); e != JSON_NONE; e = json_next(doc, e)) {
        if (json_type(doc, v) == JSON_OBJECT) {
            bytes key = json_key(doc, e, NULL);
            char *name = arena_alloc(a, key.size + 1, 1);
            if (name) {
                json_unescape(key, (uint8_t *)name);
                json_write_key(w, name);
            }
        }
        json_copy_value(doc, e, w, a);
    }
}

static inline void json_copy_number(const json_doc *doc, json_ref v, json_writer *w)
{
    int64_t i;
    double d;
    if (json_i64(doc, v, &i)) {
        json_write_i64(w, i);
    } else if (json_f64(doc, v, &d)) {
        json_write_f64(w, d);
    } else {
        json_write_null(w);
    }
}

static void json_copy_value(const json_doc *doc, json_ref v, json_writer *w, arena *a)
{
    size_t n = 0;
    char *s;
    switch (json_type(doc, v)) {
    case JSON_OBJECT:
        json_begin_object(w);
        json_copy_inside(doc, v, w, a);
        json_end_object(w);
        break;
    case JSON_ARRAY:
        json_begin_array(w);
        json_copy_inside(doc, v, w, a);
        json_end_array(w);
        break;
    case JSON_STRING:
        s = json_string(doc, v, a, &n);
        json_write_string(w, s ? s : "", n);
        break;
    case JSON_NUMBER:
        json_copy_number(doc, v, w);
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        json_write_bool(w, json_bool(doc, v, false));
        break;
    default:
        json_write_null(w);
    }
}

/* The document's text, written anew; free with buffer_fini. */
static inline buffer json_copy(const json_doc *doc, bool pretty)
{
    buffer out;
    json_writer w;
    arena a;
    buffer_init(&out);
    arena_init(&a, 0);
    json_writer_init(&w, &out, pretty);
    json_copy_value(doc, 0, &w, &a);
    arena_fini(&a);
    return out;
}

#endif
