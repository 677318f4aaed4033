/* Masks are verified by evaluating them: whatever a graph computes from the mask input and the positions must come out as a causal mask,
 * perhaps with a sliding window. */
#include "graph/attention.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#define BLOCKED      (-5000.0f) /* exporters write -10000 and less; e to that power is 0 whatever the scores */
#define MAX_WORK     ((uint64_t)1 << 27)
#define MAX_CAPACITY (1u << 22)
#define MAX_KNOWN    4096

bool mask_checker_init(mask_checker *m, graph *g, uint32_t capacity)
{
    *m = (mask_checker){.g = g, .capacity = capacity};
    arena_init(&m->scratch, 256 * 1024);
    if (capacity < 2 || capacity > MAX_CAPACITY) {
        return false;
    }
    m->open = ARENA_ARRAY(&m->scratch, uint8_t, capacity);
    m->fill = arena_alloc(&m->scratch, capacity, 4);
    m->local_fill = arena_alloc(&m->scratch, capacity, 4);
    m->start_axis = ARENA_ARRAY(&m->scratch, uint8_t, g->n_tensors);
    return m->open && m->fill && m->local_fill && m->start_axis && eval_init(&m->ev, g, &m->scratch, MAX_WORK);
}

void mask_checker_fini(mask_checker *m)
{
    arena_fini(&m->scratch);
}

/* What the engine would write into a mask input for a query at p. */
static bool fill_mask(graph_type type, void *data, uint32_t n, uint32_t p, uint32_t window)
{
    uint32_t first = window && p + 1 > window ? p + 1 - window : 0;
    for (uint32_t j = 0; j < n; j++) {
        bool open = j >= first && j <= p;
        float v = open ? 0.0f : -0.7f * FLT_MAX;
        if (type == GRAPH_BOOL) {
            ((uint8_t *)data)[j] = open;
        } else {
            memcpy((uint8_t *)data + (size_t)j * 4, &v, 4);
        }
    }
    return type == GRAPH_BOOL || type == GRAPH_F32;
}

/* Binds masks and positions for a query at p. Other inputs stay unbound: what needs them cannot be evaluated. */
static bool bind_position(mask_checker *m, uint32_t p)
{
    static const graph_role masks[2] = {GRAPH_IN_MASK, GRAPH_IN_LOCAL_MASK};
    void *fills[2] = {m->fill, m->local_fill};
    int64_t *position = ARENA_NEW(&m->scratch, int64_t);
    if (!position) {
        return false;
    }
    *position = p; /* little-endian or not, i32 and i64 each read their own */
    eval_restart(&m->ev);
    for (uint32_t i = 0; i < m->g->n_inputs; i++) {
        const graph_input *in = &m->g->inputs[i];
        const graph_tensor *t = &m->g->tensors[in->tensor];
        if (in->role == GRAPH_IN_POSITIONS && t->elements == 1 && (t->type == GRAPH_I32 || t->type == GRAPH_I64)) {
            uint8_t *bytes_of = (uint8_t *)position;
            if (t->type == GRAPH_I32) {
                store_u32(bytes_of, p);
            } else {
                store_u64(bytes_of, p);
            }
            eval_bind(&m->ev, in->tensor, position);
        }
        for (int k = 0; k < 2; k++) {
            if (in->role == masks[k] && t->elements == m->capacity &&
                fill_mask(t->type, fills[k], m->capacity, p, k ? m->g->local_window : 0)) {
                eval_bind(&m->ev, in->tensor, fills[k]);
            }
        }
    }
    return true;
}

static bool term_opens(const mask_term *t, const void *data, uint64_t i, bool *open)
{
    if (t->is_condition) {
        *open = (((const uint8_t *)data)[i] != 0) == t->open_when;
        return true;
    }
    float v;
    memcpy(&v, (const uint8_t *)data + i * 4, 4);
    *open = v == 0.0f;
    return *open || (v < 0 && v * t->scale <= BLOCKED);
}

/* open[j]: all terms let position j through. All rows of a term (heads) must say the same. */
static bool see(mask_checker *m, const mask_set *set, uint32_t p, char why[120])
{
    if (!bind_position(m, p)) {
        return false;
    }
    memset(m->open, 1, m->capacity);
    for (uint32_t k = 0; k < set->n; k++) {
        const graph_tensor *t = &m->g->tensors[set->terms[k].tensor];
        const void *data = eval_tensor(&m->ev, set->terms[k].tensor);
        if (!data) {
            snprintf(why, 120, "has a mask that cannot be evaluated (tensor '%.50s')", t->name);
            return false;
        }
        for (uint64_t i = 0, j = 0; i < t->elements; i++, j = j + 1 < m->capacity ? j + 1 : 0) {
            bool open, first;
            bool ok = term_opens(&set->terms[k], data, i, &open);
            if (!ok || (i != j && (!term_opens(&set->terms[k], data, j, &first) || open != first))) {
                snprintf(why, 120,
                         "has a mask that is neither open nor closed, or differs by head, at position %u of %u",
                         (unsigned)j, p);
                return false;
            }
            m->open[j] = m->open[j] && open;
        }
    }
    return true;
}

static bool is_window(const mask_checker *m, uint32_t p, uint32_t window)
{
    uint32_t first = window && p + 1 > window ? p + 1 - window : 0;
    for (uint32_t j = 0; j < m->capacity; j++) {
        if (m->open[j] != (j >= first && j <= p)) {
            return false;
        }
    }
    return true;
}

static bool same_terms(const mask_set *a, const mask_set *b)
{
    bool same = a->n == b->n;
    for (uint32_t i = 0; same && i < a->n; i++) {
        const mask_term *p = &a->terms[i], *q = &b->terms[i];
        same = p->tensor == q->tensor && p->is_condition == q->is_condition && p->open_when == q->open_when &&
               p->scale == q->scale;
    }
    return same;
}

static void remember(mask_checker *m, const mask_set *set)
{
    if (m->n_known == m->known_capacity && m->known_capacity < MAX_KNOWN) {
        uint32_t wanted = m->known_capacity ? m->known_capacity * 4 : 16;
        mask_set *fresh = ARENA_ARRAY(&m->scratch, mask_set, wanted);
        if (!fresh) {
            return;
        }
        if (m->n_known) {
            memcpy(fresh, m->known, m->n_known * sizeof *fresh);
        }
        m->known = fresh;
        m->known_capacity = wanted;
    }
    if (m->n_known < m->known_capacity) {
        m->known[m->n_known++] = *set;
    }
}

bool mask_check(mask_checker *m, mask_set *set, char why[120])
{
    uint32_t last = m->capacity - 1, window = 0;
    for (uint32_t i = 0; i < m->n_known; i++) {
        if (same_terms(&m->known[i], set)) {
            set->window = m->known[i].window;
            return true;
        }
    }
    if (!see(m, set, last, why)) {
        return false;
    }
    while (window < m->capacity && m->open[last - window]) {
        window++;
    }
    set->window = window == m->capacity ? 0 : window;
    if (window == 0) {
        snprintf(why, 120, "has a mask that hides a position from itself");
        return false;
    }
    const uint32_t probes[] = {0, 1, window - 1, window, window + 1, m->capacity / 2, last - 1, last};
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        uint32_t p = probes[i] < last ? probes[i] : last;
        if (!see(m, set, p, why)) {
            return false;
        }
        if (!is_window(m, p, set->window)) {
            snprintf(why, 120, "has a mask that is not causal with a fixed window (seen at position %u, window %u)", p,
                     set->window);
            return false;
        }
    }
    remember(m, set);
    return true;
}

static bool start_is(mask_checker *m, uint32_t start, uint32_t axis)
{
    const graph_tensor *t = &m->g->tensors[start];
    const uint32_t probes[] = {0, 1, m->capacity / 2, m->capacity - 1};
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        const uint8_t *data = bind_position(m, probes[i]) ? (const uint8_t *)eval_tensor(&m->ev, start) : NULL;
        for (uint32_t k = 0; data && k < t->elements; k++) {
            uint64_t v = t->type == GRAPH_I64 ? load_u64(data + (size_t)k * 8) : load_u32(data + (size_t)k * 4);
            if (v != (k == axis ? probes[i] : 0)) {
                return false;
            }
        }
        if (!data) {
            return false;
        }
    }
    return true;
}

bool mask_check_start(mask_checker *m, uint32_t start, uint32_t axis)
{
    if (m->start_axis[start] == 0) {
        m->start_axis[start] = start_is(m, start, axis) ? (uint8_t)(axis + 1) : 255;
    }
    return m->start_axis[start] == axis + 1;
}
