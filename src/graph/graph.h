/* The graph IR: what a signature of a TFLite model computes, in a form that passes can change.
 *
 * A graph is built by graph_import from one subgraph (composites inlined or turned into ops), changed by passes (pass.h), and made into
 * a plan (plan.h). After import every index, shape and attribute is trusted. A graph is used by one thread at a time.
 *
 * Tensors hold values in row-major order without strides. Constants point into the bundle's map or the graph's arena. */
#ifndef LITHE_GRAPH_GRAPH_H
#define LITHE_GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "graph/ops.h"

#define GRAPH_MAX_RANK 8
#define GRAPH_NONE     UINT32_MAX

typedef enum graph_type {
    GRAPH_F32,
    GRAPH_F16,
    GRAPH_I32,
    GRAPH_I64,
    GRAPH_I16,
    GRAPH_I8,
    GRAPH_U8,
    GRAPH_I4,
    GRAPH_BOOL,
    GRAPH_TYPE_COUNT
} graph_type;
const char *graph_type_name(graph_type t); /* "f32" */
/* Bytes of n elements (I4: two to a byte, low nibble first, rounded up). */
uint64_t graph_type_bytes(graph_type t, uint64_t n);

/* Quantisation of constants: value = scale * (q - zero_point). Only symmetric weights (zero point 0) reach kernels; others are refused
 * at import by name. */
typedef enum graph_quant { GRAPH_QUANT_NONE, GRAPH_QUANT_TENSOR, GRAPH_QUANT_CHANNEL, GRAPH_QUANT_BLOCK } graph_quant;

typedef struct graph_tensor {
    const char *name;
    graph_type type;
    uint32_t rank;
    int32_t dims[GRAPH_MAX_RANK];
    uint64_t elements;
    const void *data; /* constants; possibly unaligned for its type when it lies in the map: see `aligned` */
    uint64_t data_bytes;
    bool aligned; /* data is aligned to 16 bytes */
    graph_quant quant;
    uint32_t n_scales;   /* TENSOR: 1, CHANNEL: dims[quant_axis] */
    const float *scales; /* TENSOR, CHANNEL: aligned to 4 */
    uint32_t quant_axis;
    uint32_t block;               /* BLOCK: elements per block along the last axis */
    const uint16_t *block_scales; /* BLOCK: fp16 bits [dims[0], dims[1] / block], aligned to 2 */
    uint32_t producer; /* node that writes it, GRAPH_NONE for inputs and constants (kept up to date by graph_index) */
    uint32_t n_uses;   /* by live nodes and graph outputs (kept up to date by graph_index) */
} graph_tensor;

typedef enum graph_activation {
    GRAPH_ACT_NONE,
    GRAPH_ACT_RELU,
    GRAPH_ACT_RELU_N1_TO_1,
    GRAPH_ACT_RELU6,
    GRAPH_ACT_TANH
} graph_activation;

/* Attributes. One struct for all ops (the op table in ops.h says which fields an op uses); unused ones are 0. */
typedef struct graph_attrs {
    graph_activation
        activation; /* fused: ADD, SUB, MUL, DIV, FULLY_CONNECTED, CONV_2D, DEPTHWISE_CONV_2D, CONCATENATION, pools */
    int32_t axis;   /* CONCATENATION, PACK, UNPACK, SPLIT, GATHER, CUMSUM, SOFTMAX(-1), reductions use axes */
    int32_t axes[GRAPH_MAX_RANK]; /* reductions, SQUEEZE: sorted, not negative */
    uint32_t n_axes;
    int32_t perm[GRAPH_MAX_RANK]; /* TRANSPOSE */
    int32_t begin
        [GRAPH_MAX_RANK]; /* SLICE: first index of each axis (output and input have one rank; a RESHAPE drops axes) */
    int32_t stride[GRAPH_MAX_RANK];  /* SLICE: step of each axis, not 0, may be negative */
    int32_t pads[GRAPH_MAX_RANK][2]; /* PAD: before and after */
    bool keep_dims;
    bool adj_x, adj_y;       /* BATCH_MATMUL */
    bool approximate;        /* GELU: tanh form */
    bool dynamic_quant;      /* FULLY_CONNECTED: activations quantised per row (int8/int4 weights stored as such) */
    bool asymmetric;         /* asymmetricQuantizeInputs as stored (information) */
    bool exclusive, reverse; /* CUMSUM */
    int32_t batch_dims;      /* GATHER */
    float beta;              /* SOFTMAX: 1 usually */
    float epsilon;           /* RMS_NORM, L2_NORM */
    float alpha;             /* LEAKY_RELU */
    float value;             /* PAD: fill */
    /* convolutions and pools */
    int32_t stride_h, stride_w, dilation_h, dilation_w, filter_h, filter_w, depth_multiplier;
    int32_t pad_top, pad_left;              /* resolved from SAME / VALID at import */
    bool align_corners, half_pixel_centers; /* RESIZE_BILINEAR */
    /* ATTENTION (recognised): inputs q, k_new, v_new (the last two GRAPH_NONE when another node updates the states) */
    uint32_t k_state, v_state;                       /* indices into graph.states */
    uint32_t n_kv_heads, group, head_dim, value_dim; /* q: [n_kv_heads][group][head_dim] per token */
    uint32_t window; /* a query at position p sees positions max(0, p - window + 1) .. p; 0: all from 0 */
    float scale;     /* multiplies the scores after q . k (1 when a MUL node did it before) */
    float soft_cap;  /* 0: none; else scores = cap * tanh(scores / cap) */
    /* GATED_DELTA, GATED_UNIT, scans */
    uint32_t state; /* GATED_DELTA: index into graph.states (or GRAPH_NONE: state is an ordinary input and output) */
    uint32_t kind;  /* GATED_UNIT: 0 gelu tanh, 1 silu, 2 gelu erf */
} graph_attrs;

typedef struct graph_node {
    graph_op op;
    bool dead;
    uint32_t source; /* index of the node in the file's subgraph, for errors; GRAPH_NONE for made ones */
    uint32_t n_inputs, n_outputs;
    uint32_t *
        inputs; /* tensor indices; GRAPH_NONE: absent optional input (FULLY_CONNECTED and convolutions always have 3 inputs, RMS_NORM 2) */
    uint32_t *outputs;
    graph_attrs a;
    uint32_t
        scan; /* > 0: this node belongs to scan group `scan`: such nodes run token by token, in order (recurrences) */
} graph_node;

/* What an input of the signature is for. */
typedef enum graph_role {
    GRAPH_IN_OTHER, /* any other input: zero-filled, named in inspect */
    GRAPH_IN_TOKENS,
    GRAPH_IN_POSITIONS,
    GRAPH_IN_MASK,
    GRAPH_IN_LOCAL_MASK,
    GRAPH_IN_EMBEDDINGS,
    GRAPH_IN_PER_LAYER_EMBEDDINGS,
    GRAPH_IN_PARAMS,
    GRAPH_IN_STATE
} graph_role;

typedef struct graph_input {
    const char *name; /* the signature's name */
    uint32_t tensor;
    graph_role role;
    uint32_t state; /* GRAPH_IN_STATE: index into states */
} graph_input;

typedef struct graph_output {
    const char *name;
    uint32_t tensor;
    uint32_t state; /* index into states when it is a state's new value, else GRAPH_NONE */
} graph_output;

typedef enum graph_state_kind {
    GRAPH_STATE_KEY,
    GRAPH_STATE_VALUE,    /* grows with the tokens: has a sequence axis */
    GRAPH_STATE_RECURRENT /* fixed size */
} graph_state_kind;

typedef struct graph_state {
    const char *name;
    graph_state_kind kind;
    uint32_t input, output; /* tensors; output GRAPH_NONE if the signature does not write it */
    int32_t sequence_axis;  /* KEY, VALUE */
    uint32_t capacity;      /* dims[sequence_axis] */
    bool owned; /* set by recognition: attention nodes alone use it, the engine chooses the layout; `output` is then
                                 * GRAPH_NONE, as is the tensor of the graph output with its name, and no node reads `input` */
    uint32_t n_heads, head_dim; /* owned: rows of [n_heads][head_dim] floats per token */
} graph_state;

/* Names of the states as ExecutorMetadata gives them; n == 0: derive them from names (format.md, runtime_semantics.md 2 and 3). */
typedef struct graph_state_hint {
    const char *input_name, *output_name;
    graph_state_kind kind;
    int32_t sequence_axis; /* -1: not given */
} graph_state_hint;

typedef struct graph {
    const char *signature;
    graph_tensor *tensors;
    uint32_t n_tensors, tensors_capacity;
    graph_node *nodes; /* topological order; dead ones are skipped */
    uint32_t n_nodes, nodes_capacity;
    graph_input *inputs;
    uint32_t n_inputs;
    graph_output *outputs;
    uint32_t n_outputs;
    graph_state *states;
    uint32_t n_states;
    uint32_t context; /* capacity of the states (or of the mask), 0 if none */
    /* Set by the caller between import and passes, for graphs with a local mask input: the sliding window with which the engine
     * would fill it (ExecutorMetadata); 0: none. */
    uint32_t local_window;
    /* Set by recognition: */
    bool any_length;       /* every live node acts on each token alone, or is attention or a scan over states */
    char why_not[200];     /* else: the node that stood in the way */
    uint32_t why_not_node; /* its source index, or GRAPH_NONE */
    arena *arena;          /* borrowed */
} graph;

/* Imports signature `key` of the model. hints may be NULL. Errors name signature, node, op, tensor, expected and found. */
struct tflite_model;
lithe_status graph_import(graph *g, struct tflite_model *m, const char *key, const graph_state_hint *hints,
                          uint32_t n_hints, arena *a, lithe_error *err);

/* For passes: all grow the graph's arrays in its arena; GRAPH_NONE when memory is out. */
uint32_t graph_add_tensor(graph *g, const char *name, graph_type type, uint32_t rank, const int32_t *dims);
uint32_t graph_add_constant(graph *g, const char *name, graph_type type, uint32_t rank, const int32_t *dims,
                            const void *data);
/* Appends a node (use graph_sort afterwards to restore topological order). */
graph_node *graph_add_node(graph *g, graph_op op, const uint32_t *inputs, uint32_t n_inputs, const uint32_t *outputs,
                           uint32_t n_outputs);
/* All uses of tensor i (by nodes and by graph outputs) become uses of instead[i]; chains are followed. instead[i] == i: unchanged. */
void graph_replace(graph *g, uint32_t *instead);
/* Recomputes producer and n_uses. */
void graph_index(graph *g);
/* Restores topological order (stable), dropping dead nodes; scan groups stay contiguous. LITHE_E_MODEL names a node on a cycle. */
lithe_status graph_sort(graph *g, lithe_error *err);
static inline bool graph_is_constant(const graph *g, uint32_t t)
{
    return t != GRAPH_NONE && g->tensors[t].data != NULL;
}
/* The element count of a shape; false if a dimension is negative or the count does not fit in 2^40. */
bool graph_count(uint32_t rank, const int32_t *dims, uint64_t *elements);
static inline bool graph_same_shape(const graph_tensor *a, const graph_tensor *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}
/* "[1, 4, 256]"; returns buf. */
#define GRAPH_SHAPE_TEXT 128
const char *graph_shape_text(char buf[GRAPH_SHAPE_TEXT], uint32_t rank, const int32_t *dims);
/* Value of a constant of integer or float type with one element (or element i); false if t is not such a constant. */
bool graph_const_f32(const graph *g, uint32_t t, uint64_t i, float *out);
bool graph_const_i64(const graph *g, uint32_t t, uint64_t i, int64_t *out);

/* Prints the graph, one node a line, as `lithe inspect --graph` shows it. */
void graph_print(const graph *g, buffer *out);
/* The same as a JSON object appended to out. */
void graph_print_json(const graph *g, buffer *out);

#endif
