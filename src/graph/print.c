/* The graph as text, one node a line, and as JSON. */
#include "base/json.h"
#include "graph/graph.h"

#include <stdio.h>

static const char *const role_names[] = {
    [GRAPH_IN_OTHER] = "other",
    [GRAPH_IN_TOKENS] = "tokens",
    [GRAPH_IN_POSITIONS] = "positions",
    [GRAPH_IN_MASK] = "mask",
    [GRAPH_IN_LOCAL_MASK] = "local mask",
    [GRAPH_IN_EMBEDDINGS] = "embeddings",
    [GRAPH_IN_PER_LAYER_EMBEDDINGS] = "per-layer embeddings",
    [GRAPH_IN_PARAMS] = "params",
    [GRAPH_IN_STATE] = "state",
};
static const char *const state_kinds[] = {
    [GRAPH_STATE_KEY] = "key", [GRAPH_STATE_VALUE] = "value", [GRAPH_STATE_RECURRENT] = "recurrent"};
static const char *const quant_names[] = {[GRAPH_QUANT_NONE] = "",
                                          [GRAPH_QUANT_TENSOR] = "tensor",
                                          [GRAPH_QUANT_CHANNEL] = "channel",
                                          [GRAPH_QUANT_BLOCK] = "block"};

/* Attributes that are not at their default, as key and value; both printers go through it. */
typedef void (*attr_fn)(void *user, const char *key, const char *value, bool is_text);

static void emit_number(attr_fn fn, void *user, const char *key, double v)
{
    char text[32];
    snprintf(text, sizeof text, "%.9g", v);
    fn(user, key, text, false);
}

static void emit_list(attr_fn fn, void *user, const char *key, const int32_t *v, uint32_t n)
{
    char text[GRAPH_SHAPE_TEXT];
    fn(user, key, graph_shape_text(text, n, v), false);
}

static void emit_flags(const graph_attrs *a, attr_fn fn, void *user)
{
    const struct {
        const char *key;
        bool on;
    } flags[] = {
        {"keep_dims", a->keep_dims},
        {"adj_x", a->adj_x},
        {"adj_y", a->adj_y},
        {"approximate", a->approximate},
        {"dynamic_quant", a->dynamic_quant},
        {"asymmetric", a->asymmetric},
        {"exclusive", a->exclusive},
        {"reverse", a->reverse},
        {"align_corners", a->align_corners},
        {"half_pixel_centers", a->half_pixel_centers},
    };
    static const char *const activations[] = {"", "relu", "relu_n1_to_1", "relu6", "tanh"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (flags[i].on) {
            fn(user, flags[i].key, "true", false);
        }
    }
    if (a->activation != GRAPH_ACT_NONE) {
        fn(user, "activation", activations[a->activation], true);
    }
}

static void emit_window(const graph_node *n, attr_fn fn, void *user)
{
    const graph_attrs *a = &n->a;
    const int32_t strides[2] = {a->stride_h, a->stride_w}, dilations[2] = {a->dilation_h, a->dilation_w};
    const int32_t pads[2] = {a->pad_top, a->pad_left}, filter[2] = {a->filter_h, a->filter_w};
    emit_list(fn, user, "filter", filter, 2);
    emit_list(fn, user, "strides", strides, 2);
    emit_list(fn, user, "dilations", dilations, 2);
    emit_list(fn, user, "pad", pads, 2);
    if (n->op == OP_DEPTHWISE_CONV_2D) {
        emit_number(fn, user, "multiplier", a->depth_multiplier);
    }
}

static void emit_attention(const graph *g, const graph_attrs *a, attr_fn fn, void *user)
{
    fn(user, "k_state", g->states[a->k_state].name, true);
    fn(user, "v_state", g->states[a->v_state].name, true);
    emit_number(fn, user, "kv_heads", a->n_kv_heads);
    emit_number(fn, user, "group", a->group);
    emit_number(fn, user, "head_dim", a->head_dim);
    emit_number(fn, user, "value_dim", a->value_dim);
    emit_number(fn, user, "window", a->window);
    emit_number(fn, user, "scale", (double)a->scale);
    emit_number(fn, user, "soft_cap", (double)a->soft_cap);
}

static void emit_attrs(const graph *g, const graph_node *n, attr_fn fn, void *user)
{
    static const char *const kinds[] = {"gelu_tanh", "silu", "gelu"};
    const graph_attrs *a = &n->a;
    uint32_t rank = n->n_inputs && n->inputs[0] != GRAPH_NONE ? g->tensors[n->inputs[0]].rank : 0;
    int32_t before[GRAPH_MAX_RANK], after[GRAPH_MAX_RANK];
    switch (n->op) {
    case OP_CONCATENATION:
    case OP_PACK:
    case OP_UNPACK:
    case OP_SPLIT:
    case OP_CUMSUM:
    case OP_ARG_MAX:
    case OP_ONE_HOT:
        emit_number(fn, user, "axis", a->axis);
        break;
    case OP_GATHER:
        emit_number(fn, user, "axis", a->axis);
        emit_number(fn, user, "batch_dims", a->batch_dims);
        break;
    case OP_SUM:
    case OP_MEAN:
    case OP_REDUCE_MAX:
    case OP_REDUCE_MIN:
    case OP_REDUCE_PROD:
    case OP_REDUCE_ANY:
        emit_list(fn, user, "axes", a->axes, a->n_axes);
        break;
    case OP_TRANSPOSE:
        emit_list(fn, user, "perm", a->perm, rank);
        break;
    case OP_SLICE:
        emit_list(fn, user, "begin", a->begin, rank);
        emit_list(fn, user, "stride", a->stride, rank);
        break;
    case OP_PAD:
        for (uint32_t i = 0; i < rank; i++) {
            before[i] = a->pads[i][0];
            after[i] = a->pads[i][1];
        }
        emit_list(fn, user, "before", before, rank);
        emit_list(fn, user, "after", after, rank);
        emit_number(fn, user, "value", (double)a->value);
        break;
    case OP_CONV_2D:
    case OP_DEPTHWISE_CONV_2D:
    case OP_AVERAGE_POOL_2D:
    case OP_MAX_POOL_2D:
        emit_window(n, fn, user);
        break;
    case OP_SOFTMAX:
        emit_number(fn, user, "beta", (double)a->beta);
        break;
    case OP_RMS_NORM:
        emit_number(fn, user, "epsilon", (double)a->epsilon);
        break;
    case OP_LEAKY_RELU:
        emit_number(fn, user, "alpha", (double)a->alpha);
        break;
    case OP_ATTENTION:
        emit_attention(g, a, fn, user);
        break;
    case OP_GATED_UNIT:
        fn(user, "kind", kinds[a->kind < 3 ? a->kind : 0], true);
        break;
    case OP_GATED_DELTA:
        if (a->state != GRAPH_NONE) {
            fn(user, "state", g->states[a->state].name, true);
        }
        break;
    default:
        break;
    }
    emit_flags(a, fn, user);
}

static void print_tensor(const graph *g, uint32_t i, buffer *out)
{
    if (i == GRAPH_NONE) {
        buffer_string(out, "-");
        return;
    }
    const graph_tensor *t = &g->tensors[i];
    char shape[GRAPH_SHAPE_TEXT];
    buffer_printf(out, "%%%u:%s%s", i, graph_type_name(t->type), graph_shape_text(shape, t->rank, t->dims));
    if (t->quant != GRAPH_QUANT_NONE) {
        buffer_printf(out, "/%s", quant_names[t->quant]);
        if (t->quant == GRAPH_QUANT_BLOCK) {
            buffer_printf(out, "%u", t->block);
        }
    }
    float v;
    if (t->data && t->elements == 1 && graph_const_f32(g, i, 0, &v)) {
        buffer_printf(out, "=%.9g", (double)v);
    } else if (t->data) {
        buffer_string(out, "=const");
    }
}

static void print_attr(void *user, const char *key, const char *value, bool is_text)
{
    (void)is_text;
    buffer_printf((buffer *)user, " %s=%s", key, value);
}

static void print_node(const graph *g, uint32_t i, buffer *out)
{
    const graph_node *n = &g->nodes[i];
    buffer_printf(out, "%u %s(", i, graph_op_name(n->op));
    for (uint32_t j = 0; j < n->n_inputs; j++) {
        buffer_string(out, j ? ", " : "");
        print_tensor(g, n->inputs[j], out);
    }
    buffer_string(out, ") -> ");
    for (uint32_t j = 0; j < n->n_outputs; j++) {
        buffer_string(out, j ? ", " : "");
        print_tensor(g, n->outputs[j], out);
    }
    emit_attrs(g, n, print_attr, out);
    if (n->scan) {
        buffer_printf(out, " scan=%u", n->scan);
    }
    if (n->source != GRAPH_NONE) {
        buffer_printf(out, " from=%u", n->source);
    }
    buffer_string(out, "\n");
}

static uint32_t count_live(const graph *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        n += !g->nodes[i].dead;
    }
    return n;
}

static void print_state(const graph *g, uint32_t i, buffer *out)
{
    const graph_state *s = &g->states[i];
    buffer_printf(out, "state %s: %s ", s->name, state_kinds[s->kind]);
    print_tensor(g, s->input, out);
    if (s->output != GRAPH_NONE) {
        buffer_string(out, " -> ");
        print_tensor(g, s->output, out);
    }
    if (s->sequence_axis >= 0) {
        buffer_printf(out, " sequence_axis=%d capacity=%u", s->sequence_axis, s->capacity);
    }
    if (s->owned) {
        buffer_printf(out, " owned heads=%u head_dim=%u", s->n_heads, s->head_dim);
    }
    buffer_string(out, "\n");
}

void graph_print(const graph *g, buffer *out)
{
    buffer_printf(out, "graph %s: %u nodes, context %u, ", g->signature, count_live(g), g->context);
    if (g->any_length) {
        buffer_string(out, "any length\n");
    } else {
        buffer_printf(out, "%s\n", g->why_not[0] ? g->why_not : "as exported");
    }
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        if (g->inputs[i].role != GRAPH_IN_STATE) {
            buffer_printf(out, "input %s: %s ", g->inputs[i].name, role_names[g->inputs[i].role]);
            print_tensor(g, g->inputs[i].tensor, out);
            buffer_string(out, "\n");
        }
    }
    for (uint32_t i = 0; i < g->n_states; i++) {
        print_state(g, i, out);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        if (g->outputs[i].state == GRAPH_NONE) {
            buffer_printf(out, "output %s: ", g->outputs[i].name);
            print_tensor(g, g->outputs[i].tensor, out);
            buffer_string(out, "\n");
        }
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (!g->nodes[i].dead) {
            print_node(g, i, out);
        }
    }
}

static void write_tensor(const graph *g, uint32_t i, json_writer *w)
{
    if (i == GRAPH_NONE) {
        json_write_null(w);
        return;
    }
    const graph_tensor *t = &g->tensors[i];
    json_begin_object(w);
    json_write_key(w, "tensor");
    json_write_u64(w, i);
    json_write_key(w, "name");
    json_write_cstring(w, t->name);
    json_write_key(w, "type");
    json_write_cstring(w, graph_type_name(t->type));
    json_write_key(w, "shape");
    json_begin_array(w);
    for (uint32_t d = 0; d < t->rank; d++) {
        json_write_i64(w, t->dims[d]);
    }
    json_end_array(w);
    if (t->data) {
        json_write_key(w, "constant");
        json_write_bool(w, true);
    }
    if (t->quant != GRAPH_QUANT_NONE) {
        json_write_key(w, "quant");
        json_write_cstring(w, quant_names[t->quant]);
    }
    json_end_object(w);
}

static void write_tensors(const graph *g, const char *key, const uint32_t *ids, uint32_t n, json_writer *w)
{
    json_write_key(w, key);
    json_begin_array(w);
    for (uint32_t i = 0; i < n; i++) {
        write_tensor(g, ids[i], w);
    }
    json_end_array(w);
}

static void write_attr(void *user, const char *key, const char *value, bool is_text)
{
    json_writer *w = (json_writer *)user;
    (void)is_text;
    json_write_key(w, key);
    json_write_cstring(w, value);
}

static void write_node(const graph *g, uint32_t i, json_writer *w)
{
    const graph_node *n = &g->nodes[i];
    json_begin_object(w);
    json_write_key(w, "node");
    json_write_u64(w, i);
    json_write_key(w, "op");
    json_write_cstring(w, graph_op_name(n->op));
    write_tensors(g, "inputs", n->inputs, n->n_inputs, w);
    write_tensors(g, "outputs", n->outputs, n->n_outputs, w);
    json_write_key(w, "attributes");
    json_begin_object(w);
    emit_attrs(g, n, write_attr, w);
    json_end_object(w);
    json_write_key(w, "scan");
    json_write_u64(w, n->scan);
    json_write_key(w, "source");
    if (n->source == GRAPH_NONE) {
        json_write_null(w);
    } else {
        json_write_u64(w, n->source);
    }
    json_end_object(w);
}

static void write_io(const graph *g, json_writer *w)
{
    json_write_key(w, "inputs");
    json_begin_array(w);
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        json_begin_object(w);
        json_write_key(w, "name");
        json_write_cstring(w, g->inputs[i].name);
        json_write_key(w, "role");
        json_write_cstring(w, role_names[g->inputs[i].role]);
        write_tensors(g, "value", &g->inputs[i].tensor, 1, w);
        json_end_object(w);
    }
    json_end_array(w);
    json_write_key(w, "outputs");
    json_begin_array(w);
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        json_begin_object(w);
        json_write_key(w, "name");
        json_write_cstring(w, g->outputs[i].name);
        write_tensors(g, "value", &g->outputs[i].tensor, 1, w);
        json_end_object(w);
    }
    json_end_array(w);
}

static void write_states(const graph *g, json_writer *w)
{
    json_write_key(w, "states");
    json_begin_array(w);
    for (uint32_t i = 0; i < g->n_states; i++) {
        const graph_state *s = &g->states[i];
        json_begin_object(w);
        json_write_key(w, "name");
        json_write_cstring(w, s->name);
        json_write_key(w, "kind");
        json_write_cstring(w, state_kinds[s->kind]);
        json_write_key(w, "sequence_axis");
        json_write_i64(w, s->sequence_axis);
        json_write_key(w, "capacity");
        json_write_u64(w, s->capacity);
        json_write_key(w, "owned");
        json_write_bool(w, s->owned);
        json_end_object(w);
    }
    json_end_array(w);
}

void graph_print_json(const graph *g, buffer *out)
{
    json_writer w;
    json_writer_init(&w, out, false);
    json_begin_object(&w);
    json_write_key(&w, "signature");
    json_write_cstring(&w, g->signature);
    json_write_key(&w, "context");
    json_write_u64(&w, g->context);
    json_write_key(&w, "any_length");
    json_write_bool(&w, g->any_length);
    json_write_key(&w, "why_not");
    json_write_cstring(&w, g->why_not);
    write_io(g, &w);
    write_states(g, &w);
    json_write_key(&w, "nodes");
    json_begin_array(&w);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (!g->nodes[i].dead) {
            write_node(g, i, &w);
        }
    }
    json_end_array(&w);
    json_end_object(&w);
}
