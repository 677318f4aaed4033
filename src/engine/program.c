/* Sections to runnable programs. */
#include "engine/model.h"

#include "graph/pass.h"

#include <stdio.h>
#include <string.h>

static bool is_set(const char *name)
{
    return name && name[0];
}

uint32_t state_hints(const executor_metadata *m, const char *key, graph_state_hint *hints, uint32_t capacity)
{
    uint32_t n = 0;
    bool prefill = !strncmp(key, "prefill", 7);
    for (size_t i = 0; m && i < m->n_states && n < capacity; i++) {
        const executor_state *s = &m->states[i];
        graph_state_kind kind = GRAPH_STATE_RECURRENT;
        if (s->type == STATE_GLOBAL_KEY || s->type == STATE_LOCAL_KEY)
            kind = GRAPH_STATE_KEY;
        if (s->type == STATE_GLOBAL_VALUE || s->type == STATE_LOCAL_VALUE)
            kind = GRAPH_STATE_VALUE;
        hints[n++] = (graph_state_hint){prefill && is_set(s->prefill_input) ? s->prefill_input : s->decode_input,
                                        prefill && is_set(s->prefill_output) ? s->prefill_output : s->decode_output,
                                        kind, s->sequence_axis};
    }
    return n;
}

lithe_status section_open(engine_section *s, const bundle *b, const char *model_type, arena *a, lithe_error *err)
{
    memset(s, 0, sizeof *s);
    s->index = bundle_find(b, SECTION_TFLITE_MODEL, model_type);
    if (s->index < 0)
        return LITHE_OK;
    int32_t weights = bundle_find(b, SECTION_TFLITE_WEIGHTS, model_type);
    bytes none = {0};
    lithe_status st =
        tflite_open(&s->tfl, b->sections[s->index].data, weights < 0 ? none : b->sections[weights].data, a, err);
    if (st && err)
        error_at_section(err, s->index);
    return st;
}

uint32_t program_input(const program *p, graph_role role)
{
    for (uint32_t i = 0; i < p->g.n_inputs; i++)
        if (p->g.inputs[i].role == role)
            return i;
    return GRAPH_NONE;
}

static lithe_status refuse_any_length(const program *p, const char *key, lithe_error *err)
{
    error_set(err, LITHE_E_UNSUPPORTED, "signature %s cannot run for any length: %s", key, p->g.why_not);
    error_at_signature(err, key);
    if (p->g.why_not_node != GRAPH_NONE)
        error_at_node(err, (int32_t)p->g.why_not_node, "");
    return error_hint(err, "use the plan \"as exported\"");
}

static lithe_status refuse_tensor(const char *what, const char *name, const graph_tensor *t, const char *expected,
                                  lithe_error *err)
{
    char shape[GRAPH_SHAPE_TEXT];
    graph_shape_text(shape, t->rank, t->dims);
    error_set(err, LITHE_E_MODEL, "%s %s is %s %s, where %s is expected", what, name, graph_type_name(t->type), shape,
              expected);
    error_tensor(err, "%s", name);
    error_expected(err, "%s", expected);
    error_found(err, "%s %s", graph_type_name(t->type), shape);
    return LITHE_E_MODEL;
}

/* What the engine writes into an input of a role: ids and positions as int32, masks as float32 or bool, embeddings as float32. NULL: zeros of any
 * type. */
static const char *input_types(graph_role role)
{
    switch (role) {
    case GRAPH_IN_TOKENS:
    case GRAPH_IN_POSITIONS:
        return "i32";
    case GRAPH_IN_MASK:
    case GRAPH_IN_LOCAL_MASK:
        return "f32 or bool, of one dimension or more";
    case GRAPH_IN_EMBEDDINGS:
    case GRAPH_IN_PER_LAYER_EMBEDDINGS:
        return "f32";
    default:
        return NULL;
    }
}

static lithe_status check_inputs(const program *p, lithe_error *err)
{
    for (uint32_t i = 0; i < p->g.n_inputs; i++) {
        const graph_input *in = &p->g.inputs[i];
        const graph_tensor *t = &p->g.tensors[in->tensor];
        bool mask = in->role == GRAPH_IN_MASK || in->role == GRAPH_IN_LOCAL_MASK;
        const char *want = input_types(in->role);
        bool ok = !want || !strncmp(want, graph_type_name(t->type), 3) || (mask && t->type == GRAPH_BOOL);
        if (ok && (!mask || (t->rank > 0 && t->elements > 0)))
            continue;
        refuse_tensor("input", in->name, t, want, err);
        if (err)
            err->code = LITHE_E_UNSUPPORTED;
        return LITHE_E_UNSUPPORTED;
    }
    return LITHE_OK;
}

/* A run writes `length` ids, and as many positions. */
static lithe_status check_lengths(const program *p, lithe_error *err)
{
    for (uint32_t i = 0; i < p->g.n_inputs; i++) {
        const graph_input *in = &p->g.inputs[i];
        const graph_tensor *t = &p->g.tensors[in->tensor];
        if ((in->role != GRAPH_IN_TOKENS && in->role != GRAPH_IN_POSITIONS) ||
            (t->elements == p->length && t->elements))
            continue;
        char expected[64];
        snprintf(expected, sizeof expected, "one element for each of %u tokens", p->length);
        return refuse_tensor("input", in->name, t, expected, err);
    }
    return LITHE_OK;
}

/* Tokens per run, from the positions or else the ids; and where the logits are. */
static lithe_status read_facts(program *p, lithe_error *err)
{
    uint32_t counted = program_input(p, GRAPH_IN_POSITIONS);
    if (counted == GRAPH_NONE)
        counted = program_input(p, GRAPH_IN_TOKENS);
    if (counted != GRAPH_NONE)
        p->length = (uint32_t)p->g.tensors[p->g.inputs[counted].tensor].elements;
    for (uint32_t i = 0; i < p->g.n_outputs; i++)
        if (!strcmp(p->g.outputs[i].name, "logits"))
            p->logits = i;
    if (p->logits != GRAPH_NONE) {
        const graph_tensor *t = &p->g.tensors[p->g.outputs[p->logits].tensor];
        p->vocab_size = t->rank ? (uint32_t)t->dims[t->rank - 1] : 0;
        if (t->type != GRAPH_F32)
            return refuse_tensor("output", "logits", t, "f32", err);
    }
    return check_lengths(p, err);
}

lithe_status program_match_states(program *p, const program *decode, bool in_order, arena *a, lithe_error *err)
{
    p->state_of = ARENA_ARRAY(a, uint32_t, p->g.n_states + 1);
    if (!p->state_of)
        return error_memory(err, p->g.n_states * sizeof *p->state_of, "the order of states");
    for (uint32_t i = 0; i < p->g.n_states; i++) {
        const char *name = p->g.states[i].name;
        uint32_t j = in_order ? i : 0;
        while (!in_order && j < decode->g.n_states && strcmp(decode->g.states[j].name, name))
            j++;
        const graph_tensor *t = &p->g.tensors[p->g.states[i].input];
        const graph_tensor *d = j < decode->g.n_states ? &decode->g.tensors[decode->g.states[j].input] : NULL;
        if (!d || d->type != t->type || !graph_same_shape(d, t)) {
            refuse_tensor("state", name, t,
                          d ? "the type and shape that it has in signature decode" : "a state of signature decode",
                          err);
            return error_at_signature(err, p->g.signature), LITHE_E_MODEL;
        }
        p->state_of[i] = j;
    }
    return LITHE_OK;
}

/* What is asked of a program: a signature, or (family) the prefill signatures read as one function, for `length` tokens. */
typedef struct program_source {
    engine_section *section;
    const char *key;
    const graph_family *family;
    uint32_t length;
    const executor_metadata *states;
    bool want_any_length;
    bool transient; /* may be dropped while others of the model live */
} program_source;

static lithe_status import(program *p, const program_source *src, arena *a, lithe_error *err)
{
    uint32_t n_hints = src->states ? (uint32_t)src->states->n_states : 0;
    graph_state_hint *hints = ARENA_ARRAY(a, graph_state_hint, n_hints + 1);
    if (!hints)
        return error_memory(err, n_hints * sizeof *hints, "state names");
    n_hints = state_hints(src->states, src->key, hints, n_hints);
    lithe_status st = src->family ? graph_import_length(&p->g, src->family, src->length, hints, n_hints, a, err)
                                  : graph_import(&p->g, &src->section->tfl, src->key, hints, n_hints, a, err);
    if (!st && src->states && src->states->sliding_window_size > 0)
        p->g.local_window = (uint32_t)src->states->sliding_window_size;
    return st;
}

static lithe_status compile(program *p, const program_source *src, const lithe_model_options *options,
                            exec_shared *shared, arena *a, lithe_error *err)
{
    lithe_status st = import(p, src, a, err);
    if (!st)
        st =
            graph_run_passes_without(&p->g, src->want_any_length, options->no_fusion, options->without_pass, NULL, err);
    if (st)
        return st;
    if (src->want_any_length && !p->g.any_length)
        return refuse_any_length(p, src->key, err);
    if ((st = check_inputs(p, err)))
        return st;
    st = plan_create(&p->p, &p->g, src->want_any_length, err);
    if (!st)
        st = exec_plan_create(&p->exec, &p->p, shared, src->transient, err);
    return st ? st : read_facts(p, err);
}

static lithe_status create(program *p, const program_source *src, const lithe_model_options *options,
                           exec_shared *shared, arena *a, lithe_error *err)
{
    memset(p, 0, sizeof *p);
    p->logits = GRAPH_NONE;
    p->length = 1;
    lithe_status st = compile(p, src, options, shared, a, err);
    if (st) {
        if (err)
            error_at_section(err, src->section->index), error_at_signature(err, src->key);
        program_fini(p);
    }
    return st;
}

lithe_status program_create(program *p, engine_section *s, const char *key, const executor_metadata *states,
                            bool want_any_length, const lithe_model_options *options, exec_shared *shared, arena *a,
                            lithe_error *err)
{
    program_source src = {.section = s, .key = key, .states = states, .want_any_length = want_any_length};
    return create(p, &src, options, shared, a, err);
}

lithe_status program_create_length(program *p, lithe_model *m, uint32_t n, bool transient, arena *a, lithe_error *err)
{
    const executor_metadata *states = m->has_states_meta ? &m->states_meta : NULL;
    program_source src = {.section = &m->main,
                          .key = m->family.base->key,
                          .family = &m->family,
                          .length = n,
                          .states = states,
                          .transient = transient};
    lithe_status st = create(p, &src, &m->options, m->shared, a, err);
    if (!st && p->length != n)
        st = error_set(err, LITHE_E_MODEL, "the prefill signatures read for %u tokens give a graph for %u", n,
                       p->length);
    if (!st)
        st = program_match_states(p, &m->decode, states && states->n_states, a, err);
    if (st)
        program_fini(p);
    return st;
}

void program_fini(program *p)
{
    exec_plan_destroy(p->exec);
    p->exec = NULL;
}
