/* The index that json.c builds and json_read.c walks: one node per value and per key, in document order, so that a container's
 * values follow it and a member's key stands before its value. */
#ifndef LITHE_BASE_JSON_INDEX_H
#define LITHE_BASE_JSON_INDEX_H

#include "base/json.h"

typedef struct json_node {
    uint32_t start; /* offset in the text: behind the quote of a string, else the first byte */
    uint32_t
        extent; /* scalars: length of the text from `start`; containers: index of the node behind the last inside */
    uint32_t kind : 4;
    uint32_t escaped : 1; /* a string with escapes */
    uint32_t member : 1;  /* a member's value: the node before is its key */
    uint32_t last : 1;    /* no sibling follows */
    uint32_t count : 25;  /* containers: elements, JSON_COUNT_MOST if that many or more */
} json_node;

#define JSON_COUNT_MOST ((1u << 25) - 1)

struct json_doc {
    bytes text;
    json_node *nodes;
    uint32_t n_nodes;
    size_t capacity;
};

/* One escape, at[0] being '\\': sets the code point and returns the bytes taken (2, 6, or 12 for a surrogate pair); 0 if it is
 * wrong or a lone surrogate. */
size_t json_escape(const uint8_t *at, size_t n, uint32_t *code_point);
/* Line and column from 1, the column in characters. */
void json_locate(bytes text, size_t offset, uint32_t *line, uint32_t *column);

#endif
