#include "graph/passes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const graph_pass graph_passes[] = {
    {"canonicalise", "one form of ops; weights without DEQUANTIZE; no-ops and reshape chains go", pass_canonicalise,
     false, false},
    {"fold", "nodes of constants become constants", pass_fold, false, false},
    {"merge", "equal nodes become one", pass_merge, false, false},
    {"drop", "nodes that nothing uses go", pass_drop, false, false},
    {"attention", "scores, mask, softmax and values over states become ATTENTION", pass_attention, true, false},
    {"recurrent", "nodes between a recurrent state and its new value become scan groups", pass_recurrent, true, false},
    {"rope", "rotary embeddings become ROPE", pass_rope, false, true},
    {"gated", "activation(gate) * up becomes GATED_UNIT", pass_gated, false, true},
    {"any_length", "says whether the graph runs for any number of tokens, or why not", pass_any_length, true, false},
};
const uint32_t graph_n_passes = sizeof graph_passes / sizeof *graph_passes;

static lithe_status unknown_pass(const char *last, lithe_error *err)
{
    char names[160] = "";
    for (uint32_t i = 0; i < graph_n_passes; i++) {
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", graph_passes[i].name);
    }
    error_set(err, LITHE_E_ARGUMENT, "there is no pass '%.40s'; the passes are %s", last, names);
    error_expected(err, "%s", names);
    error_found(err, "%.40s", last);
    return LITHE_E_ARGUMENT;
}

/* Index of the pass, graph_n_passes if there is none. */
static uint32_t find_pass(const char *name)
{
    uint32_t i = 0;
    while (i < graph_n_passes && strcmp(graph_passes[i].name, name) != 0) {
        i++;
    }
    return i;
}

lithe_status graph_run_passes(graph *g, bool want_any_length, bool no_fusion, const char *last, lithe_error *err)
{
    return graph_run_passes_without(g, want_any_length, no_fusion, NULL, last, err);
}

lithe_status graph_run_passes_without(graph *g, bool want_any_length, bool no_fusion, const char *without,
                                      const char *last, lithe_error *err)
{
    uint32_t end = last ? find_pass(last) : graph_n_passes - 1,
             left_out = without ? find_pass(without) : graph_n_passes;
    if (end == graph_n_passes || (without && left_out == graph_n_passes)) {
        return unknown_pass(end == graph_n_passes ? last : without, err);
    }
    lithe_status status = graph_sort(g, err);
    for (uint32_t i = 0; i <= end && status == LITHE_OK; i++) {
        const graph_pass *p = &graph_passes[i];
        if ((want_any_length || !p->any_length_only) && !(no_fusion && p->is_fusion) && i != left_out) {
            status = p->run(g, err);
        }
    }
    return status;
}

void pass_why_not(graph *g, const graph_node *n, const char *fmt, ...)
{
    if (g->why_not[0]) {
        return;
    }
    size_t used = 0;
    if (n) {
        used = (size_t)snprintf(g->why_not, sizeof g->why_not, "node %d (%s) ", (int)n->source, graph_op_name(n->op));
        g->why_not_node = n->source;
    }
    va_list args;
    va_start(args, fmt);
    vsnprintf(g->why_not + used, sizeof g->why_not - used, fmt, args);
    va_end(args);
}
