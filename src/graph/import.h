/* Between the files of import. Private to the module. */
#ifndef LITHE_GRAPH_IMPORT_H
#define LITHE_GRAPH_IMPORT_H

#include "bundle/tflite.h"
#include "graph/graph.h"
#include "graph/op_table.h"

#define IMPORT_MAX_DEPTH 8       /* composites in decompositions of composites */
#define IMPORT_MAX_WORK  4000000 /* tensors and ops of all decompositions together: they may multiply */

/* During import a tensor's producer tells whether it has a value yet. */
#define IMPORT_UNWRITTEN GRAPH_NONE
#define IMPORT_WRITTEN   (GRAPH_NONE - 1)

typedef struct importer {
    graph *g;
    tflite_model *m;
    lithe_error *err;
    uint32_t work;
    uint8_t row_of[256]; /* row of op_rows by builtin, + 1 */
} importer;

/* A subgraph on its way into the graph: the signature's own, or a decomposition. */
typedef struct import_frame {
    const tflite_subgraph *sg;
    uint32_t *map;   /* [sg->n_tensors] graph tensors, GRAPH_NONE until met */
    uint32_t source; /* decompositions: index of the composite in the signature's subgraph; else GRAPH_NONE */
    uint32_t depth;
} import_frame;

/* Fails at a node of the signature's subgraph (GRAPH_NONE: none). `op` names what the file has there. */
lithe_status import_fail(importer *im, lithe_status code, uint32_t node, const char *op, const char *fmt, ...)
    LITHE_PRINTF(5, 6);

/* graph_import for a subgraph that has been read (or made: unify.c). */
lithe_status graph_import_subgraph(graph *g, tflite_model *m, const tflite_signature *s, const tflite_subgraph *sg,
                                   const graph_state_hint *hints, uint32_t n_hints, arena *a, lithe_error *err);

/* The graph's tensor for tensor i of the frame, made when first met. */
lithe_status import_tensor(importer *im, import_frame *f, uint32_t i, uint32_t *out);
lithe_status import_ops(importer *im, import_frame *f);

/* import_quant.c: quantisation of file tensor ft for graph tensor t. */
lithe_status import_quant(importer *im, import_frame *f, const tflite_tensor *ft, uint32_t t);
/* import_composite.c: op i of the frame, a STABLEHLO_COMPOSITE. */
lithe_status import_composite(importer *im, import_frame *f, uint32_t i);
/* Adds the op as row says, with attributes preset in `a` (NULL: none). */
lithe_status import_as(importer *im, import_frame *f, uint32_t i, const op_row *row, const graph_attrs *a);
const op_row *import_custom_row(const char *name);
/* import_states.c: roles of inputs, states, context. */
lithe_status import_states(importer *im, const graph_state_hint *hints, uint32_t n_hints);

#endif
