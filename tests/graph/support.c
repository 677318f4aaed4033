#include "graph/support.h"

#include <stdlib.h>
#include <string.h>

void ir_begin(ir *f)
{
    memset(f, 0, sizeof *f);
    arena_init(&f->arena, 0);
    f->g.arena = &f->arena;
    f->g.signature = "decode";
    f->g.why_not_node = GRAPH_NONE;
    f->g.inputs = ARENA_ARRAY(&f->arena, graph_input, 32);
    f->g.outputs = ARENA_ARRAY(&f->arena, graph_output, 32);
    f->g.states = ARENA_ARRAY(&f->arena, graph_state, 32);
}

void ir_end(ir *f)
{
    arena_fini(&f->arena);
}

uint32_t ir_tensor(ir *f, graph_type type, uint32_t rank, const int32_t *dims)
{
    return graph_add_tensor(&f->g, "t", type, rank, dims);
}

uint32_t ir_constant(ir *f, graph_type type, uint32_t rank, const int32_t *dims, const void *data)
{
    return graph_add_constant(&f->g, "c", type, rank, dims, data);
}

uint32_t ir_f32(ir *f, float v)
{
    return ir_constant(f, GRAPH_F32, SCALAR, &v);
}
uint32_t ir_i32(ir *f, int32_t v)
{
    return ir_constant(f, GRAPH_I32, SCALAR, &v);
}

uint32_t ir_input(ir *f, const char *name, graph_role role, graph_type type, uint32_t rank, const int32_t *dims)
{
    uint32_t t = ir_tensor(f, type, rank, dims);
    f->g.inputs[f->g.n_inputs++] = (graph_input){.name = name, .tensor = t, .role = role, .state = GRAPH_NONE};
    return t;
}

void ir_output(ir *f, const char *name, uint32_t tensor)
{
    f->g.outputs[f->g.n_outputs++] = (graph_output){.name = name, .tensor = tensor, .state = GRAPH_NONE};
}

uint32_t ir_state(ir *f, const char *name, graph_state_kind kind, int32_t sequence_axis, uint32_t rank,
                  const int32_t *dims)
{
    uint32_t t = ir_input(f, name, GRAPH_IN_STATE, GRAPH_F32, rank, dims), s = f->g.n_states++;
    f->g.inputs[f->g.n_inputs - 1].state = s;
    f->g.states[s] =
        (graph_state){.name = name, .kind = kind, .input = t, .output = GRAPH_NONE, .sequence_axis = sequence_axis};
    if (sequence_axis >= 0) {
        f->g.states[s].capacity = f->g.context = (uint32_t)dims[sequence_axis];
    }
    return s;
}

void ir_state_output(ir *f, uint32_t state, uint32_t tensor)
{
    ir_output(f, f->g.states[state].name, tensor);
    f->g.outputs[f->g.n_outputs - 1].state = state;
    f->g.states[state].output = tensor;
}

uint32_t ir_node(ir *f, graph_op op, graph_type type, uint32_t rank, const int32_t *dims, uint32_t n_in,
                 const uint32_t *in)
{
    uint32_t out = ir_tensor(f, type, rank, dims);
    graph_node *n = graph_add_node(&f->g, op, in, n_in, &out, 1);
    n->source = f->g.n_nodes - 1;
    n->a.beta = op == OP_SOFTMAX ? 1.0f : 0.0f;
    for (uint32_t i = 0; op == OP_SLICE && i < rank; i++) {
        n->a.stride[i] = 1;
    }
    return out;
}

graph_node *ir_last(ir *f)
{
    return &f->g.nodes[f->g.n_nodes - 1];
}

uint32_t ir_count(const ir *f, graph_op op)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->g.n_nodes; i++) {
        n += !f->g.nodes[i].dead && f->g.nodes[i].op == op;
    }
    return n;
}

const graph_node *ir_find(const ir *f, graph_op op)
{
    for (uint32_t i = 0; i < f->g.n_nodes; i++) {
        if (!f->g.nodes[i].dead && f->g.nodes[i].op == op) {
            return &f->g.nodes[i];
        }
    }
    return NULL;
}

void tf_begin(tf *m)
{
    memset(m, 0, sizeof *m);
    m->n_subgraphs = 1;
    arena_init(&m->arena, 0);
    buffer_init(&m->file);
}

void tf_end(tf *m)
{
    arena_fini(&m->arena);
    buffer_fini(&m->file);
}

int32_t tf_tensor(tf *m, const char *name, uint32_t type, uint32_t rank, const int32_t *dims)
{
    tflite_tensor *t = &m->tensors[m->at][m->n_tensors[m->at]];
    *t = (tflite_tensor){.name = name, .type = type, .rank = rank, .block_zero_points_tensor = -1};
    memcpy(t->dims, dims, rank * sizeof *dims);
    return (int32_t)m->n_tensors[m->at]++;
}

int32_t tf_constant(tf *m, const char *name, uint32_t type, uint32_t rank, const int32_t *dims, const void *data,
                    size_t bytes_of_data)
{
    int32_t i = tf_tensor(m, name, type, rank, dims);
    void *copy = arena_alloc(&m->arena, 1, bytes_of_data);
    memcpy(copy, data, bytes_of_data);
    m->tensors[m->at][i].data = (bytes){(const uint8_t *)copy, bytes_of_data};
    return i;
}

int32_t tf_ints(tf *m, const char *name, uint32_t n, const int32_t *v)
{
    int32_t dims[1] = {(int32_t)n};
    return tf_constant(m, name, TFLITE_INT32, 1, dims, v, n * sizeof *v);
}

static void add_io(tf *m, int side, const char *name, int32_t tensor)
{
    if (m->at == 0) {
        m->names[side][m->n_io[0][side]] = name;
    }
    m->io[m->at][side][m->n_io[m->at][side]++] = tensor;
}

void tf_input(tf *m, const char *name, int32_t tensor)
{
    add_io(m, 0, name, tensor);
}
void tf_output(tf *m, const char *name, int32_t tensor)
{
    add_io(m, 1, name, tensor);
}

static const int32_t *keep(tf *m, uint32_t n, const int32_t *v)
{
    int32_t *at = &m->lists[m->n_lists];
    memcpy(at, v, n * sizeof *v);
    m->n_lists += n;
    return at;
}

tflite_source_op *tf_op(tf *m, uint32_t builtin, uint32_t n_in, const int32_t *in, uint32_t n_out, const int32_t *out)
{
    tflite_source_op *op = &m->ops[m->at][m->n_ops[m->at]++];
    *op = (tflite_source_op){.builtin = builtin, .n_inputs = n_in, .n_outputs = n_out, .options_type = 1};
    op->inputs = keep(m, n_in, in);
    op->outputs = keep(m, n_out, out);
    op->fields = &m->fields[m->n_fields];
    return op;
}

void tf_option(tf *m, tflite_source_op *op, uint8_t slot, char kind, double value)
{
    m->fields[m->n_fields++] = (tflite_source_field){.slot = slot, .kind = kind, .value = value};
    op->n_fields++;
}

lithe_status tf_import(tf *m, const graph_state_hint *hints, uint32_t n_hints)
{
    tflite_source_subgraph subgraphs[4];
    uint32_t ids[2][16];
    for (uint32_t i = 0; i < m->n_subgraphs; i++) {
        subgraphs[i] = (tflite_source_subgraph){.name = "g",
                                                .tensors = m->tensors[i],
                                                .n_tensors = m->n_tensors[i],
                                                .inputs = m->io[i][0],
                                                .outputs = m->io[i][1],
                                                .n_inputs = m->n_io[i][0],
                                                .n_outputs = m->n_io[i][1],
                                                .ops = m->ops[i],
                                                .n_ops = m->n_ops[i]};
    }
    for (uint32_t s = 0; s < 2; s++) {
        for (uint32_t i = 0; i < m->n_io[0][s]; i++) {
            ids[s][i] = (uint32_t)m->io[0][s][i];
        }
    }
    tflite_signature signature = {.key = "decode",
                                  .input_names = m->names[0],
                                  .output_names = m->names[1],
                                  .input_tensors = ids[0],
                                  .output_tensors = ids[1],
                                  .n_inputs = m->n_io[0][0],
                                  .n_outputs = m->n_io[0][1]};
    tflite_source source = {.description = "test",
                            .subgraphs = subgraphs,
                            .n_subgraphs = m->n_subgraphs,
                            .signatures = &signature,
                            .n_signatures = 1};
    lithe_status status = tflite_write(&source, &m->file, NULL, &m->err);
    status = status ? status
                    : tflite_open(&m->model, (bytes){m->file.data, m->file.size}, (bytes){NULL, 0}, &m->arena, &m->err);
    return status ? status : graph_import(&m->g, &m->model, "decode", hints, n_hints, &m->arena, &m->err);
}

bool open_signature(opened *o, const char *path, uint32_t nth, const char *key)
{
    memset(o, 0, sizeof *o);
    arena_init(&o->model_arena, 0);
    arena_init(&o->graph_arena, 0);
    if (bundle_open(&o->b, path, &o->err) != LITHE_OK) {
        return false;
    }
    for (size_t i = 0; i < o->b->n_sections; i++) {
        if (o->b->sections[i].type == SECTION_TFLITE_MODEL && nth-- == 0) {
            return tflite_open(&o->model, o->b->sections[i].data, (bytes){NULL, 0}, &o->model_arena, &o->err) ==
                       LITHE_OK &&
                   graph_import(&o->g, &o->model, key, NULL, 0, &o->graph_arena, &o->err) == LITHE_OK;
        }
    }
    return false;
}

void close_signature(opened *o)
{
    arena_fini(&o->graph_arena);
    arena_fini(&o->model_arena);
    bundle_close(o->b);
}
