/* A set of strings, each with a number, searched for the longest that begins a text: a trie whose edges lie in one hash table.
 * A zeroed set is empty and may be searched. */
#ifndef LITHE_TEXT_PREFIX_SET_H
#define LITHE_TEXT_PREFIX_SET_H

#include "base/bytes.h"
#include "base/error.h"

/* Longer members would make a search at every position of a text slow. */
enum { PREFIX_SET_MAX_BYTES = 1024 };

typedef struct prefix_set {
    uint32_t root[256]; /* node after the first byte, 0: none */
    uint64_t *edges;    /* (node << 8 | byte) << 32 | next node; 0: empty */
    size_t edge_mask, n_edges;
    int32_t *values; /* [n_nodes] number of the member that ends here, -1 */
    uint32_t n_nodes, capacity;
    uint32_t n_members;
} prefix_set;

void prefix_set_fini(prefix_set *s);
size_t prefix_set_memory(const prefix_set *s);
/* A member again gets the newer number. value >= 0; empty and over-long members are refused. */
lithe_status prefix_set_add(prefix_set *s, bytes member, int32_t value, lithe_error *err);
/* Number of the longest member that text[0 .. n) begins with, -1 if none; *length its bytes. */
int32_t prefix_set_longest(const prefix_set *s, const uint8_t *text, size_t n, size_t *length);
/* Number of this member, -1 if it is none. */
int32_t prefix_set_find(const prefix_set *s, bytes member);
/* First position at or after `from` where a member begins; text.size if none. */
size_t prefix_set_search(const prefix_set *s, bytes text, size_t from, int32_t *value, size_t *length);

#endif
