/* Recognises attention over key and value states in a graph for one token, whatever the exporter made of scaling, soft-cap, masks and head
 * groups, and replaces it by ATTENTION nodes. Structure is matched from each softmax outwards; masks are verified by evaluation
 * (attention_mask.c). What does not fit stays as it is. */
#include "graph/attention.h"

#include <math.h>
#include <string.h>

#define MAX_CHAIN  24 /* nodes between softmax and scores */
#define MAX_VIEWS  6  /* reshapes and transposes between a state and its product */
#define MAX_ROUNDS 16

/* A state as the right factor of a product. */
typedef struct kv_side {
    uint32_t state;
    uint32_t update;           /* node that writes it, GRAPH_NONE if this graph does not */
    uint32_t views[MAX_VIEWS]; /* nodes between */
    uint32_t n_views;
    uint32_t heads, dim, group;
} kv_side;

typedef struct match {
    uint32_t softmax, scores, values; /* nodes */
    uint32_t q;                       /* tensor */
    kv_side k, v;
    float scale, soft_cap;
    mask_set mask;
    bool writes; /* this node writes the states that it reads */
    bool rejected;
} match;

typedef struct finder {
    graph *g;
    mask_checker masks;
    uint8_t *deps;      /* [n_tensors] */
    uint32_t *state_of; /* [n_tensors] state that the tensor is the old or new value of, GRAPH_NONE */
    match *matches;
    uint32_t n_matches;
    uint32_t *writer; /* [n_nodes] by update node: match that claims it, + 1 */
    bool *expected;   /* [n_nodes] nodes that may read states */
    bool *bad_state;  /* [n_states] */
    char why[120];
} finder;

static bool fail(finder *f, const char *why)
{
    strncpy(f->why, why, sizeof f->why - 1);
    return false;
}

static uint32_t node_index(const graph *g, const graph_node *n)
{
    return (uint32_t)(n - g->nodes);
}

/* ---------------------------------------------------------------------------------------------- dependencies */

static void find_deps(finder *f)
{
    graph *g = f->g;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        graph_role role = g->inputs[i].role;
        bool mask = role == GRAPH_IN_MASK || role == GRAPH_IN_LOCAL_MASK;
        f->deps[g->inputs[i].tensor] = mask ? DEP_MASK : role == GRAPH_IN_POSITIONS ? DEP_POSITION : DEP_OTHER;
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const graph_node *n = &g->nodes[i];
        uint8_t bits = 0;
        for (uint32_t j = 0; j < n->n_inputs; j++) {
            bits |= n->inputs[j] == GRAPH_NONE ? 0 : f->deps[n->inputs[j]];
        }
        for (uint32_t j = 0; j < n->n_outputs; j++) {
            f->deps[n->outputs[j]] = bits;
        }
    }
}

static bool is_mask_side(const finder *f, uint32_t t)
{
    const graph_tensor *x = &f->g->tensors[t];
    return f->deps[t] != 0 && !(f->deps[t] & DEP_OTHER) && x->rank > 0 &&
           x->dims[x->rank - 1] == (int32_t)f->masks.capacity;
}

/* ---------------------------------------------------------------------------------- a state as right factor */

/* Which state axis each axis of a view is; -1 for axes of size 1. */
typedef struct axis_map {
    uint32_t rank;
    int32_t axis[GRAPH_MAX_RANK];
} axis_map;

static bool map_view(const graph *g, const graph_node *n, axis_map *m)
{
    const graph_tensor *y = &g->tensors[n->outputs[0]], *x = &g->tensors[n->inputs[0]];
    axis_map out = {.rank = y->rank};
    if (n->op == OP_TRANSPOSE) {
        for (uint32_t i = 0; i < y->rank; i++) {
            out.axis[i] = m->axis[n->a.perm[i]];
        }
        *m = out;
        return true;
    }
    uint32_t next = 0;
    for (uint32_t i = 0; i < y->rank; i++) {
        while (next < m->rank && m->axis[next] < 0) {
            next++;
        }
        if (y->dims[i] == 1) {
            out.axis[i] = -1;
        } else if (next < m->rank && x->dims[next] == y->dims[i]) {
            out.axis[i] = m->axis[next++];
        } else {
            return false;
        }
    }
    *m = out;
    return true;
}

/* Follows t back through views to a state's new value (or its old one, if this graph never writes it). */
static bool trace_state(finder *f, uint32_t t, kv_side *side, axis_map *m)
{
    const graph *g = f->g;
    side->n_views = 0;
    while (f->state_of[t] == GRAPH_NONE) {
        const graph_node *n = pass_producer(g, t);
        if (!n || (n->op != OP_RESHAPE && n->op != OP_TRANSPOSE) || side->n_views == MAX_VIEWS) {
            return false;
        }
        side->views[side->n_views++] = node_index(g, n);
        t = n->inputs[0];
    }
    side->state = f->state_of[t];
    const graph_state *s = &g->states[side->state];
    const graph_node *update = pass_producer(g, t);
    side->update = update ? node_index(g, update) : GRAPH_NONE;
    if (s->kind == GRAPH_STATE_RECURRENT || g->tensors[s->input].type != GRAPH_F32 ||
        (!update && s->output != GRAPH_NONE)) {
        return false;
    }
    if (update && (update->op != OP_DYNAMIC_UPDATE_SLICE || update->inputs[0] != s->input || t != s->output)) {
        return false;
    }
    m->rank = g->tensors[t].rank;
    for (uint32_t i = 0; i < m->rank; i++) {
        m->axis[i] = g->tensors[t].dims[i] == 1 ? -1 : (int32_t)i;
    }
    for (uint32_t i = side->n_views; i-- > 0;) {
        if (!map_view(g, &g->nodes[side->views[i]], m)) {
            return false;
        }
    }
    return true;
}

/* What is written: one position, whole in the other axes, at the token's position. */
static bool check_update(finder *f, const kv_side *side)
{
    const graph *g = f->g;
    if (side->update == GRAPH_NONE) {
        return true;
    }
    const graph_node *n = &g->nodes[side->update];
    const graph_state *s = &g->states[side->state];
    const graph_tensor *whole = &g->tensors[s->input], *part = &g->tensors[n->inputs[1]];
    for (uint32_t i = 0; i < whole->rank; i++) {
        if (part->dims[i] != (i == (uint32_t)s->sequence_axis ? 1 : whole->dims[i])) {
            return fail(f, "reads a state that is not updated by one position");
        }
    }
    return mask_check_start(&f->masks, n->inputs[2], (uint32_t)s->sequence_axis) ||
           fail(f, "reads a state that is not updated at the token's position");
}

/* Head axes of the state come first and in the state's order, before `dim`: then what is written per token is [heads][dim]. */
static bool check_heads(finder *f, kv_side *side, const axis_map *m, int32_t dim_axis)
{
    const graph_tensor *whole = &f->g->tensors[f->g->states[side->state].input];
    int32_t before = -1;
    side->heads = 1;
    for (uint32_t i = 0; i + 2 < m->rank; i++) {
        if (m->axis[i] < 0) {
            continue;
        }
        if (m->axis[i] < before || m->axis[i] > dim_axis) {
            return fail(f, "reads a state whose heads do not come before its features");
        }
        before = m->axis[i];
        side->heads *= (uint32_t)whole->dims[m->axis[i]];
    }
    return true;
}

/* Batch axes of the left factor: the heads, then groups that share a head (where the state has size 1), then the rows. */
static bool count_group(finder *f, const graph_tensor *x, const graph_tensor *y, uint32_t *group)
{
    uint32_t rank = x->rank > y->rank ? x->rank : y->rank;
    uint64_t n = 1;
    for (uint32_t i = 0; i + 2 < rank; i++) {
        uint32_t from_end = rank - i; /* 1 is the last axis */
        int32_t p = from_end <= x->rank ? x->dims[x->rank - from_end] : 1,
                q = from_end <= y->rank ? y->dims[y->rank - from_end] : 1;
        if (q > 1 && (p != q || n > 1)) {
            return fail(f, "has query heads that are not in groups of a key head each");
        }
        n *= q > 1 ? 1 : (uint64_t)p;
    }
    n *= (uint64_t)x->dims[x->rank - 2];
    *group = (uint32_t)n;
    return n > 0 && n < UINT32_MAX;
}

/* Product x * y with y a state: sequence and feature axis must be where the product needs them. is_key: features are summed over. */
static bool match_side(finder *f, const graph_node *product, bool is_key, kv_side *side)
{
    const graph *g = f->g;
    axis_map m;
    if (product->op != OP_BATCH_MATMUL || product->a.adj_x || !trace_state(f, product->inputs[1], side, &m) ||
        m.rank < 2) {
        return fail(f, "has no product with a state where one is expected");
    }
    bool features_last = is_key == product->a.adj_y;
    int32_t sequence = m.axis[m.rank - (features_last ? 2 : 1)], dim = m.axis[m.rank - (features_last ? 1 : 2)];
    const graph_state *s = &g->states[side->state];
    if (sequence != s->sequence_axis || dim < 0 || s->capacity != f->masks.capacity) {
        return fail(f, "multiplies a state along other axes than attention does");
    }
    side->dim = (uint32_t)g->tensors[s->input].dims[dim];
    return check_heads(f, side, &m, dim) && check_update(f, side) &&
           count_group(f, &g->tensors[product->inputs[0]], &g->tensors[product->inputs[1]], &side->group);
}

/* -------------------------------------------------------------------------------------- from softmax to scores */

/* A mask repeated for heads: one copy says it all. */
static uint32_t unrepeated(const graph *g, uint32_t t)
{
    const graph_node *n = pass_producer(g, t);
    if (n && n->op == OP_CONCATENATION && n->a.axis + 1 < (int32_t)g->tensors[t].rank &&
        n->a.activation == GRAPH_ACT_NONE) {
        for (uint32_t i = 1; i < n->n_inputs; i++) {
            if (n->inputs[i] != n->inputs[0]) {
                return t;
            }
        }
        return n->inputs[0];
    }
    return t;
}

static bool add_term(finder *f, match *m, uint32_t t, bool is_condition, bool open_when, float scale)
{
    if (m->mask.n == MASK_MAX_TERMS || m->soft_cap != 0 || !(scale > 0)) {
        return fail(f, "combines masks and scores in an order that is not known");
    }
    m->mask.terms[m->mask.n++] = (mask_term){unrepeated(f->g, t), is_condition, open_when, scale};
    return true;
}

/* condition ? scores : very negative, or the other way round. */
static bool step_select(finder *f, match *m, const graph_node *n, float factor, uint32_t *t)
{
    for (uint32_t i = 1; i <= 2 && is_mask_side(f, n->inputs[0]); i++) {
        float v;
        if (pass_scalar(f->g, n->inputs[3 - i], &v) && v * factor <= -5000.0f) {
            *t = n->inputs[i];
            return add_term(f, m, n->inputs[0], true, i == 1, factor);
        }
    }
    return fail(f, "chooses scores by something that is not a mask");
}

/* One node back from *t towards the scores. */
static bool step_back(finder *f, match *m, const graph_node *n, double *factor, uint32_t *t)
{
    const graph *g = f->g;
    float v;
    if (n->a.activation != GRAPH_ACT_NONE) {
        return fail(f, "has an activation between scores and softmax");
    }
    switch (n->op) {
    case OP_RESHAPE: {
        const graph_tensor *x = &g->tensors[n->inputs[0]];
        *t = n->inputs[0];
        return (x->rank > 0 && x->dims[x->rank - 1] == (int32_t)f->masks.capacity) ||
               fail(f, "reshapes scores across positions");
    }
    case OP_MUL:
    case OP_DIV:
        for (uint32_t i = 0; i < (n->op == OP_MUL ? 2u : 1u); i++) {
            if (pass_scalar(g, n->inputs[1 - i], &v) && v > 0) {
                *factor = n->op == OP_MUL ? *factor * (double)v : *factor / (double)v;
                *t = n->inputs[i];
                return true;
            }
        }
        return fail(f, "scales scores by something that is not constant");
    case OP_TANH:
        if (m->soft_cap != 0) {
            return fail(f, "caps scores twice");
        }
        m->soft_cap = (float)*factor;
        *factor = 1;
        *t = n->inputs[0];
        return true;
    case OP_SELECT:
        return step_select(f, m, n, (float)*factor, t);
    case OP_ADD:
        for (uint32_t i = 0; i < 2; i++) {
            if (is_mask_side(f, n->inputs[i]) && !is_mask_side(f, n->inputs[1 - i])) {
                *t = n->inputs[1 - i];
                return add_term(f, m, n->inputs[i], false, false, (float)*factor);
            }
        }
        return fail(f, "adds something to scores that is not a mask");
    default:
        return fail(f, "has a node between scores and softmax that is not known");
    }
}

static bool walk_scores(finder *f, match *m)
{
    const graph *g = f->g;
    uint32_t t = g->nodes[m->softmax].inputs[0];
    double factor = 1;
    for (int steps = 0; steps < MAX_CHAIN; steps++) {
        const graph_node *n = pass_producer(g, t);
        if (!n || g->tensors[t].n_uses != 1) {
            return fail(f, "has scores that are used elsewhere too");
        }
        if (n->op == OP_BATCH_MATMUL) {
            m->scores = node_index(g, n);
            m->q = n->inputs[0];
            double scale = m->soft_cap != 0 ? factor * (double)m->soft_cap : factor;
            m->scale = fabs(scale - 1) < 1e-6 ? 1.0f : (float)scale;
            return m->mask.n > 0 || fail(f, "has no mask");
        }
        if (!step_back(f, m, n, &factor, &t)) {
            return false;
        }
    }
    return fail(f, "is too far from its scores");
}

/* ------------------------------------------------------------------------------------- from softmax to values */

/* The only node that reads t, through reshapes that keep positions together. */
static const graph_node *only_reader(const graph *g, const uint32_t *reader, uint32_t t)
{
    while (g->tensors[t].n_uses == 1 && reader[t] != GRAPH_NONE) {
        const graph_node *n = &g->nodes[reader[t]];
        if (n->op != OP_RESHAPE) {
            return n;
        }
        const graph_tensor *x = &g->tensors[t], *y = &g->tensors[n->outputs[0]];
        if (x->rank < 1 || y->rank < 1 || x->dims[x->rank - 1] != y->dims[y->rank - 1]) {
            return NULL;
        }
        t = n->outputs[0];
    }
    return NULL;
}

static bool match_attention(finder *f, const uint32_t *reader, uint32_t softmax, match *m)
{
    const graph *g = f->g;
    const graph_node *n = &g->nodes[softmax];
    *m = (match){.softmax = softmax};
    const graph_tensor *x = &g->tensors[n->inputs[0]];
    if (x->rank < 2 || x->dims[x->rank - 1] != (int32_t)f->masks.capacity || n->a.beta != 1.0f) {
        return fail(f, "is not over the positions of the context");
    }
    const graph_node *values = only_reader(g, reader, n->outputs[0]);
    if (!values) {
        return fail(f, "has probabilities that are used elsewhere too");
    }
    m->values = node_index(g, values);
    if (!walk_scores(f, m) || !match_side(f, &g->nodes[m->scores], true, &m->k) ||
        !match_side(f, values, false, &m->v)) {
        return false;
    }
    if (m->k.heads != m->v.heads || m->k.group != m->v.group || m->k.state == m->v.state) {
        return fail(f, "has other heads for keys than for values");
    }
    return mask_check(&f->masks, &m->mask, f->why);
}

/* ------------------------------------------------------------------------------------- which matches hold together */

static bool agree(const finder *f, const match *m)
{
    bool ok = !f->bad_state[m->k.state] && !f->bad_state[m->v.state];
    for (uint32_t i = 0; ok && i < f->n_matches; i++) { /* states shared by layers must be seen in one way */
        const match *o = &f->matches[i];
        ok = o->rejected || ((o->k.state != m->k.state || (o->k.heads == m->k.heads && o->k.dim == m->k.dim)) &&
                             (o->v.state != m->v.state || (o->v.heads == m->v.heads && o->v.dim == m->v.dim)) &&
                             o->k.state != m->v.state && o->v.state != m->k.state);
    }
    return ok;
}

static void expect_side(finder *f, const kv_side *s)
{
    for (uint32_t i = 0; i < s->n_views; i++) {
        f->expected[s->views[i]] = true;
    }
    if (s->update != GRAPH_NONE) {
        f->expected[s->update] = true;
    }
}

/* Marks states that something else than a match reads. */
static void find_bad_states(finder *f)
{
    const graph *g = f->g;
    memset(f->expected, 0, g->n_nodes * sizeof *f->expected);
    memset(f->writer, 0, g->n_nodes * sizeof *f->writer);
    for (uint32_t i = 0; i < f->n_matches; i++) {
        const match *m = &f->matches[i];
        if (m->rejected) {
            continue;
        }
        expect_side(f, &m->k);
        expect_side(f, &m->v);
        f->expected[m->scores] = f->expected[m->values] = true;
        if (m->k.update != GRAPH_NONE && !f->writer[m->k.update]) {
            f->writer[m->k.update] = i + 1;
        }
        if (m->v.update != GRAPH_NONE && !f->writer[m->v.update]) {
            f->writer[m->v.update] = i + 1;
        }
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const graph_node *n = &g->nodes[i];
        for (uint32_t j = 0; j < n->n_inputs && !f->expected[i]; j++) {
            if (n->inputs[j] != GRAPH_NONE && f->state_of[n->inputs[j]] != GRAPH_NONE) {
                f->bad_state[f->state_of[n->inputs[j]]] = true;
            }
        }
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        uint32_t t = g->outputs[i].tensor, s = t == GRAPH_NONE ? GRAPH_NONE : f->state_of[t];
        if (s != GRAPH_NONE && g->outputs[i].state != s) {
            f->bad_state[s] = true;
        }
    }
}

/* A view of a state may feed more than its product: then the state cannot be owned. */
static bool views_are_private(const graph *g, const kv_side *s)
{
    for (uint32_t i = 0; i < s->n_views; i++) {
        if (g->tensors[g->nodes[s->views[i]].outputs[0]].n_uses != 1) {
            return false;
        }
    }
    return true;
}

static void settle(finder *f)
{
    graph *g = f->g;
    bool changed = true;
    for (int round = 0; changed; round++) {
        changed = false;
        find_bad_states(f);
        for (uint32_t i = 0; i < f->n_matches; i++) {
            match *m = &f->matches[i];
            if (m->rejected) {
                continue;
            }
            bool k = m->k.update != GRAPH_NONE && f->writer[m->k.update] == i + 1;
            bool v = m->v.update != GRAPH_NONE && f->writer[m->v.update] == i + 1;
            m->writes = k;
            m->rejected = round >= MAX_ROUNDS || k != v || !views_are_private(g, &m->k) ||
                          !views_are_private(g, &m->v) || !agree(f, m);
            if (m->rejected) {
                changed = true;
                pass_why_not(g, &g->nodes[m->softmax], "reads states that other nodes use too (%s, %s)",
                             g->states[m->k.state].name, g->states[m->v.state].name);
            }
        }
    }
}

/* -------------------------------------------------------------------------------------------------------- applying */

static void own(graph *g, const kv_side *s)
{
    graph_state *state = &g->states[s->state];
    state->owned = true;
    state->n_heads = s->heads;
    state->head_dim = s->dim;
    state->output = GRAPH_NONE;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        if (g->outputs[i].state == s->state) {
            g->outputs[i].tensor = GRAPH_NONE;
        }
    }
}

static lithe_status apply(graph *g, const match *m, lithe_error *err)
{
    uint32_t in[3] = {m->q, GRAPH_NONE, GRAPH_NONE}, out = g->nodes[m->values].outputs[0],
             source = g->nodes[m->softmax].source;
    if (m->writes) {
        in[1] = g->nodes[m->k.update].inputs[1];
        in[2] = g->nodes[m->v.update].inputs[1];
    }
    g->nodes[m->values].dead = true;
    graph_node *n = graph_add_node(g, OP_ATTENTION, in, 3, &out, 1);
    if (!n) {
        return error_memory(err, sizeof *n, "an attention node");
    }
    n->source = source;
    n->a.k_state = m->k.state;
    n->a.v_state = m->v.state;
    n->a.n_kv_heads = m->k.heads;
    n->a.group = m->k.group;
    n->a.head_dim = m->k.dim;
    n->a.value_dim = m->v.dim;
    n->a.window = m->mask.window;
    n->a.scale = m->scale;
    n->a.soft_cap = m->soft_cap;
    return LITHE_OK;
}

static bool finder_init(finder *f, graph *g)
{
    arena *a = g->arena;
    uint32_t n_softmax = 0;
    *f = (finder){.g = g};
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        n_softmax += g->nodes[i].op == OP_SOFTMAX;
    }
    f->deps = ARENA_ARRAY(a, uint8_t, g->n_tensors);
    f->state_of = ARENA_ARRAY(a, uint32_t, g->n_tensors);
    f->matches = ARENA_ARRAY(a, match, n_softmax);
    f->writer = ARENA_ARRAY(a, uint32_t, g->n_nodes);
    f->expected = ARENA_ARRAY(a, bool, g->n_nodes);
    f->bad_state = ARENA_ARRAY(a, bool, g->n_states);
    if (!f->deps || !f->state_of || !f->matches || !f->writer || !f->expected || !f->bad_state) {
        return false;
    }
    memset(f->state_of, 0xff, g->n_tensors * sizeof *f->state_of);
    for (uint32_t i = 0; i < g->n_states; i++) {
        f->state_of[g->states[i].input] = i;
        if (g->states[i].output != GRAPH_NONE) {
            f->state_of[g->states[i].output] = i;
        }
    }
    return true;
}

static void find_matches(finder *f, uint32_t *reader)
{
    graph *g = f->g;
    memset(reader, 0xff, g->n_tensors * sizeof *reader);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        for (uint32_t j = 0; j < g->nodes[i].n_inputs; j++) {
            if (g->nodes[i].inputs[j] != GRAPH_NONE) {
                reader[g->nodes[i].inputs[j]] = i;
            }
        }
    }
    find_deps(f);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op != OP_SOFTMAX) {
            continue;
        }
        if (match_attention(f, reader, i, &f->matches[f->n_matches])) {
            f->n_matches++;
        } else if (f->deps[g->nodes[i].inputs[0]] & DEP_MASK) {
            pass_why_not(g, &g->nodes[i], "%s", f->why);
        }
    }
    settle(f);
}

lithe_status pass_attention(graph *g, lithe_error *err)
{
    finder f;
    uint32_t *reader = ARENA_ARRAY(g->arena, uint32_t, g->n_tensors);
    if (!reader || !finder_init(&f, g)) {
        return error_memory(err, (uint64_t)g->n_tensors * sizeof *reader, "recognising attention");
    }
    lithe_status status = LITHE_OK;
    if (g->n_states > 0 && mask_checker_init(&f.masks, g, g->context)) {
        find_matches(&f, reader);
    }
    mask_checker_fini(&f.masks);
    for (uint32_t i = 0; i < f.n_matches && status == LITHE_OK; i++) {
        if (!f.matches[i].rejected) {
            status = apply(g, &f.matches[i], err);
        }
    }
    for (uint32_t i = 0; i < f.n_matches && status == LITHE_OK; i++) {
        if (!f.matches[i].rejected) {
            own(g, &f.matches[i].k);
            own(g, &f.matches[i].v);
        }
    }
    return status != LITHE_OK ? status : pass_drop(g, err);
}
