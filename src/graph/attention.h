/* Between the files of the attention pass. Private to the module. */
#ifndef LITHE_GRAPH_ATTENTION_H
#define LITHE_GRAPH_ATTENTION_H

#include "graph/eval.h"
#include "graph/passes.h"

/* What a tensor depends on. */
enum { DEP_MASK = 1, DEP_POSITION = 2, DEP_OTHER = 4 };

#define MASK_MAX_TERMS 4

/* One thing that says which positions a query sees: an addend of the scores (0 or very negative), or a condition that chooses them. */
typedef struct mask_term {
    uint32_t tensor;
    bool is_condition;
    bool open_when; /* condition: the value that lets the score through */
    float scale;    /* addend: what the sum is multiplied by before softmax */
} mask_term;

typedef struct mask_set {
    mask_term terms[MASK_MAX_TERMS];
    uint32_t n;
    uint32_t window; /* result */
} mask_set;

typedef struct mask_checker {
    graph *g;
    arena scratch;
    eval ev;
    uint32_t capacity;       /* last dimension of the masks */
    uint8_t *open;           /* [capacity] */
    void *fill, *local_fill; /* mask inputs' contents, at most 4 bytes an element */
    mask_set *known;         /* masks are shared by layers: verified once */
    uint32_t n_known, known_capacity;
    uint8_t *start_axis; /* [n_tensors] 0: not checked; axis + 1; 255: no start of a state update */
} mask_checker;

bool mask_checker_init(mask_checker *m, graph *g, uint32_t capacity);
void mask_checker_fini(mask_checker *m);
/* Evaluates the terms with a causal mask for positions across the context. True: a query at p sees exactly max(0, p - window + 1) .. p,
 * or 0 .. p if window is 0. False: *why says what was seen. */
bool mask_check(mask_checker *m, mask_set *set, char why[120]);
/* True if start indices (of a DYNAMIC_UPDATE_SLICE) are 0 but for `axis`, where they are the position. */
bool mask_check_start(mask_checker *m, uint32_t start, uint32_t axis);

#endif
