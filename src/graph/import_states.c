/* Roles of inputs by their names, states by ExecutorMetadata's hints or by names and aliasing, and the length of the context. */
#include "graph/import.h"

#include <stdio.h>
#include <string.h>

static const struct role_name {
    const char *name;
    graph_role role;
} role_names[] = {
    {"token_ids", GRAPH_IN_TOKENS},
    {"tokens", GRAPH_IN_TOKENS},
    {"positions", GRAPH_IN_POSITIONS},
    {"input_pos", GRAPH_IN_POSITIONS},
    {"attn_mask", GRAPH_IN_MASK},
    {"mask", GRAPH_IN_MASK},
    {"local_mask", GRAPH_IN_LOCAL_MASK},
    {"attn_mask_local", GRAPH_IN_LOCAL_MASK},
    {"local_attn_mask", GRAPH_IN_LOCAL_MASK},
    {"embeddings", GRAPH_IN_EMBEDDINGS},
    {"per_layer_embeddings", GRAPH_IN_PER_LAYER_EMBEDDINGS},
    {"param_tensor", GRAPH_IN_PARAMS},
};

static const struct state_prefix {
    const char *prefix;
    graph_state_kind kind;
} state_prefixes[] = {
    {"kv_cache_k_", GRAPH_STATE_KEY},       {"kv_cache_v_", GRAPH_STATE_VALUE}, {"kv_cache_c_", GRAPH_STATE_RECURRENT},
    {"kv_cache_r_", GRAPH_STATE_RECURRENT}, {"k_cache_", GRAPH_STATE_KEY},      {"v_cache_", GRAPH_STATE_VALUE},
};

/* Names of outputs (inputs) to their indices: open addressing, since a file may have any number of them. */
typedef struct name_table {
    const graph *g;
    bool inputs;
    uint32_t mask;
    uint32_t *slots; /* index + 1 */
} name_table;

static uint32_t hash_name(const char *s)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *s; s++) {
        h = (h ^ (uint8_t)*s) * 16777619u;
    }
    return h;
}

static const char *table_name(const name_table *t, uint32_t i)
{
    return t->inputs ? t->g->inputs[i].name : t->g->outputs[i].name;
}

static uint32_t *name_slot(const name_table *t, const char *name)
{
    uint32_t i = hash_name(name) & t->mask;
    while (t->slots[i] && strcmp(table_name(t, t->slots[i] - 1), name) != 0) {
        i = (i + 1) & t->mask;
    }
    return &t->slots[i];
}

static bool name_table_init(name_table *t, const graph *g, bool inputs)
{
    uint32_t n = inputs ? g->n_inputs : g->n_outputs, slots = 16;
    while (slots < n * 2ull) {
        slots *= 2;
    }
    *t = (name_table){.g = g, .inputs = inputs, .mask = slots - 1, .slots = ARENA_ARRAY(g->arena, uint32_t, slots)};
    for (uint32_t i = 0; t->slots && i < n; i++) {
        *name_slot(t, table_name(t, i)) = i + 1;
    }
    return t->slots != NULL;
}

static void set_roles(graph *g)
{
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        for (size_t j = 0; j < sizeof role_names / sizeof *role_names; j++) {
            if (strcmp(g->inputs[i].name, role_names[j].name) == 0) {
                g->inputs[i].role = role_names[j].role;
            }
        }
    }
}

/* "a, b, c, … (40 in all)" */
static void list_inputs(const graph *g, char *buf, size_t room)
{
    size_t n = 0;
    buf[0] = 0;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        size_t need = strlen(g->inputs[i].name) + 2;
        if (n + need + 24 > room) {
            snprintf(buf + n, room - n, ", … (%u in all)", g->n_inputs);
            return;
        }
        n += (size_t)snprintf(buf + n, room - n, "%s%s", i ? ", " : "", g->inputs[i].name);
    }
}

static lithe_status fail_state(importer *im, const char *name, const char *problem)
{
    char names[240];
    list_inputs(im->g, names, sizeof names);
    import_fail(im, LITHE_E_MODEL, GRAPH_NONE, NULL, "state '%.60s' %s; inputs found: %s", name, problem, names);
    error_tensor(im->err, "%s", name);
    return LITHE_E_MODEL;
}

/* The node that updates a state by writing a slice of it, or NULL. */
static const graph_node *slice_update(const graph *g, const graph_state *s)
{
    uint32_t node = s->output == GRAPH_NONE ? GRAPH_NONE : g->tensors[s->output].producer;
    const graph_node *n = node == GRAPH_NONE ? NULL : &g->nodes[node];
    return n && n->op == OP_DYNAMIC_UPDATE_SLICE && n->inputs[0] == s->input ? n : NULL;
}

/* The one axis that fits; -1 if none or several do. */
static int32_t only_axis(const graph_tensor *state, const graph_tensor *update, int32_t size)
{
    int32_t found = -1;
    for (uint32_t i = 0; i < state->rank; i++) {
        if (update ? update->dims[i] != state->dims[i] : state->dims[i] == size) {
            if (found >= 0) {
                return -1;
            }
            found = (int32_t)i;
        }
    }
    return found;
}

static int32_t mask_length(const graph *g)
{
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const graph_tensor *t = &g->tensors[g->inputs[i].tensor];
        if (g->inputs[i].role == GRAPH_IN_MASK && t->rank > 0) {
            return t->dims[t->rank - 1];
        }
    }
    return 0;
}

static lithe_status set_sequence_axis(importer *im, graph_state *s, int32_t hint)
{
    const graph_tensor *t = &im->g->tensors[s->input];
    const graph_node *update = slice_update(im->g, s);
    s->sequence_axis = hint;
    if (hint < 0 && update) {
        s->sequence_axis = only_axis(t, &im->g->tensors[update->inputs[1]], 0);
    }
    if (s->sequence_axis < 0 && mask_length(im->g) > 0) {
        s->sequence_axis = only_axis(t, NULL, mask_length(im->g));
    }
    if (s->sequence_axis < 0 || (uint32_t)s->sequence_axis >= t->rank) {
        return fail_state(im, s->name, "has no sequence axis that can be told");
    }
    s->capacity = (uint32_t)t->dims[s->sequence_axis];
    return LITHE_OK;
}

/* Makes input i a state. `output` is an index into outputs or GRAPH_NONE. */
static lithe_status add_state(importer *im, uint32_t i, uint32_t output, graph_state_kind kind, int32_t axis_hint)
{
    graph *g = im->g;
    graph_input *in = &g->inputs[i];
    graph_state *s = &g->states[g->n_states];
    *s = (graph_state){.name = in->name, .kind = kind, .input = in->tensor, .output = GRAPH_NONE, .sequence_axis = -1};
    if (output != GRAPH_NONE) {
        graph_output *out = &g->outputs[output];
        const graph_tensor *a = &g->tensors[in->tensor], *b = &g->tensors[out->tensor];
        if (a->type != b->type || !graph_same_shape(a, b)) {
            return fail_state(im, in->name, "comes out with another type or shape than it goes in");
        }
        if (out->state != GRAPH_NONE) {
            return fail_state(im, in->name, "is written by an output that belongs to another state");
        }
        s->output = out->tensor;
        out->state = g->n_states;
    }
    in->role = GRAPH_IN_STATE;
    in->state = g->n_states++;
    if (kind == GRAPH_STATE_RECURRENT && slice_update(g, s) && axis_hint < 0) {
        s->kind = GRAPH_STATE_KEY; /* "kv_cache_c_" may also name a joint cache of keys and values */
        lithe_status status = set_sequence_axis(im, s, -1);
        if (status == LITHE_OK) {
            return status;
        }
        s->kind = GRAPH_STATE_RECURRENT;
    }
    return s->kind == GRAPH_STATE_RECURRENT ? LITHE_OK : set_sequence_axis(im, s, axis_hint);
}

static lithe_status states_from_hints(importer *im, const name_table *names, const graph_state_hint *hints,
                                      uint32_t n_hints)
{
    const graph *g = im->g;
    name_table inputs;
    if (!name_table_init(&inputs, g, true)) {
        return error_memory(im->err, g->n_inputs * sizeof(uint32_t), "the names of inputs");
    }
    for (uint32_t i = 0; i < n_hints; i++) {
        const char *in_name = hints[i].input_name ? hints[i].input_name : "",
                   *out_name = hints[i].output_name && hints[i].output_name[0] ? hints[i].output_name : in_name;
        uint32_t input = *name_slot(&inputs, in_name), output = *name_slot(names, out_name);
        if (!input || g->inputs[input - 1].role == GRAPH_IN_STATE) {
            return fail_state(im, in_name,
                              input ? "is listed twice" : "of the executor metadata is no input of the signature");
        }
        if (!output && out_name != in_name) {
            char problem[120];
            snprintf(problem, sizeof problem,
                     "has output '%.60s' in the executor metadata, which the signature has not", out_name);
            return fail_state(im, in_name, problem);
        }
        lithe_status status =
            add_state(im, input - 1, output ? output - 1 : GRAPH_NONE, hints[i].kind, hints[i].sequence_axis);
        if (status != LITHE_OK) {
            return status;
        }
    }
    return LITHE_OK;
}

static lithe_status states_from_names(importer *im, const name_table *names)
{
    graph *g = im->g;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const char *name = g->inputs[i].name;
        uint32_t output = *name_slot(names, name);
        const struct state_prefix *known = NULL;
        for (size_t j = 0; j < sizeof state_prefixes / sizeof *state_prefixes; j++) {
            if (strncmp(name, state_prefixes[j].prefix, strlen(state_prefixes[j].prefix)) == 0) {
                known = &state_prefixes[j];
            }
        }
        if (g->inputs[i].role != GRAPH_IN_OTHER || (!known && !output)) {
            continue;
        }
        if (!known) { /* an input that comes out again under its name */
            const graph_tensor *a = &g->tensors[g->inputs[i].tensor], *b = &g->tensors[g->outputs[output - 1].tensor];
            if (a->type != b->type || !graph_same_shape(a, b)) {
                continue;
            }
        }
        lithe_status status =
            add_state(im, i, output ? output - 1 : GRAPH_NONE, known ? known->kind : GRAPH_STATE_RECURRENT, -1);
        if (status != LITHE_OK) {
            return status;
        }
    }
    return LITHE_OK;
}

static lithe_status require_states(importer *im, const name_table *names)
{
    const graph *g = im->g;
    bool mask = false, positions = false;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        mask |= g->inputs[i].role == GRAPH_IN_MASK;
        positions |= g->inputs[i].role == GRAPH_IN_POSITIONS;
    }
    if (g->n_states == 0 && mask && positions && *name_slot(names, "logits")) {
        char found[240];
        list_inputs(g, found, sizeof found);
        return import_fail(im, LITHE_E_MODEL, GRAPH_NONE, NULL, "no state (KV cache) can be told among the inputs: %s",
                           found);
    }
    return LITHE_OK;
}

lithe_status import_states(importer *im, const graph_state_hint *hints, uint32_t n_hints)
{
    graph *g = im->g;
    name_table names;
    g->states = ARENA_ARRAY(g->arena, graph_state, g->n_inputs);
    if (!g->states || !name_table_init(&names, g, false)) {
        return error_memory(im->err, (uint64_t)g->n_inputs * sizeof *g->states, "the graph's states");
    }
    set_roles(g);
    lithe_status status = n_hints ? states_from_hints(im, &names, hints, n_hints) : states_from_names(im, &names);
    status = status != LITHE_OK ? status : require_states(im, &names);
    if (status != LITHE_OK) {
        return status;
    }
    for (uint32_t i = 0; i < g->n_states; i++) {
        const graph_state *s = &g->states[i];
        if (s->kind != GRAPH_STATE_RECURRENT && (g->context == 0 || s->capacity < g->context)) {
            g->context = s->capacity;
        }
    }
    g->context = g->context ? g->context : (uint32_t)mask_length(g);
    return LITHE_OK;
}
