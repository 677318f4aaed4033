#include "text/prefix_set.h"

#include <stdlib.h>

enum { MAX_NODES = 1 << 24 }; /* so that node and byte fit 32 bits */

void prefix_set_fini(prefix_set *s)
{
    free(s->edges);
    free(s->values);
    *s = (prefix_set){0};
}

size_t prefix_set_memory(const prefix_set *s)
{
    return (s->edges ? (s->edge_mask + 1) * sizeof *s->edges : 0) + s->capacity * sizeof *s->values;
}

static size_t edge_slot(const prefix_set *s, uint32_t key)
{
    uint64_t h = (uint64_t)key * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(h >> 32) & s->edge_mask;
    while (s->edges[at] && s->edges[at] >> 32 != key)
        at = (at + 1) & s->edge_mask;
    return at;
}

static uint32_t next_node(const prefix_set *s, uint32_t node, uint8_t byte)
{
    return s->edges ? (uint32_t)s->edges[edge_slot(s, node << 8 | byte)] : 0;
}

static lithe_status grow_edges(prefix_set *s, lithe_error *err)
{
    size_t n_slots = s->edges ? (s->edge_mask + 1) * 2 : 64;
    prefix_set bigger = {.edges = calloc(n_slots, sizeof *s->edges), .edge_mask = n_slots - 1};
    if (!bigger.edges)
        return error_memory(err, n_slots * sizeof *s->edges, "special tokens");
    for (size_t i = 0; s->edges && i <= s->edge_mask; i++) {
        if (s->edges[i])
            bigger.edges[edge_slot(&bigger, (uint32_t)(s->edges[i] >> 32))] = s->edges[i];
    }
    free(s->edges);
    s->edges = bigger.edges;
    s->edge_mask = bigger.edge_mask;
    return LITHE_OK;
}

static lithe_status new_node(prefix_set *s, uint32_t *node, lithe_error *err)
{
    if (s->n_nodes == s->capacity) {
        uint32_t capacity = s->capacity ? s->capacity * 2 : 64;
        if (capacity > MAX_NODES)
            return error_set(err, LITHE_E_UNSUPPORTED, "the special tokens are too many or too long");
        int32_t *values = realloc(s->values, capacity * sizeof *values);
        if (!values)
            return error_memory(err, capacity * sizeof *values, "special tokens");
        s->values = values;
        s->capacity = capacity;
    }
    if (!s->n_nodes)
        s->values[s->n_nodes++] = -1; /* node 0 is the root */
    *node = s->n_nodes++;
    s->values[*node] = -1;
    return LITHE_OK;
}

/* The node after `node` by `byte`, made if there is none. */
static lithe_status step(prefix_set *s, uint32_t *node, uint8_t byte, lithe_error *err)
{
    uint32_t next = *node ? next_node(s, *node, byte) : s->root[byte];
    lithe_status st = LITHE_OK;
    if (!next) {
        if (!s->edges || s->n_edges * 2 > s->edge_mask)
            st = grow_edges(s, err);
        if (!st)
            st = new_node(s, &next, err);
        if (st)
            return st;
        if (*node) {
            uint32_t key = *node << 8 | byte;
            s->edges[edge_slot(s, key)] = (uint64_t)key << 32 | next;
            s->n_edges++;
        } else {
            s->root[byte] = next;
        }
    }
    *node = next;
    return LITHE_OK;
}

lithe_status prefix_set_add(prefix_set *s, bytes member, int32_t value, lithe_error *err)
{
    if (!member.size)
        return error_set(err, LITHE_E_TOKENIZER, "the tokenizer has an empty special token");
    if (member.size > PREFIX_SET_MAX_BYTES) {
        return error_set(err, LITHE_E_UNSUPPORTED,
                         "the tokenizer has a special token of %zu bytes (\"%.24s…\"); at most %d are supported",
                         member.size, (const char *)member.data, PREFIX_SET_MAX_BYTES);
    }
    uint32_t node = 0;
    for (size_t i = 0; i < member.size; i++) {
        lithe_status st = step(s, &node, member.data[i], err);
        if (st)
            return st;
    }
    s->n_members += s->values[node] < 0;
    s->values[node] = value;
    return LITHE_OK;
}

int32_t prefix_set_longest(const prefix_set *s, const uint8_t *text, size_t n, size_t *length)
{
    int32_t found = -1;
    if (!n)
        return -1;
    uint32_t node = s->root[text[0]];
    for (size_t i = 1; node; i++) {
        if (s->values[node] >= 0) {
            found = s->values[node];
            *length = i;
        }
        if (i == n)
            break;
        node = next_node(s, node, text[i]);
    }
    return found;
}

int32_t prefix_set_find(const prefix_set *s, bytes member)
{
    uint32_t node = member.size ? s->root[member.data[0]] : 0;
    for (size_t i = 1; node && i < member.size; i++)
        node = next_node(s, node, member.data[i]);
    return node ? s->values[node] : -1;
}

size_t prefix_set_search(const prefix_set *s, bytes text, size_t from, int32_t *value, size_t *length)
{
    if (!s->n_members)
        return text.size;
    for (size_t i = from; i < text.size; i++) {
        if (!s->root[text.data[i]])
            continue;
        *value = prefix_set_longest(s, text.data + i, text.size - i, length);
        if (*value >= 0)
            return i;
    }
    return text.size;
}
