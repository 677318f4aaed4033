/* Any bytes as a .tflite: every signature is refused with a reason or imported; what is imported goes through all passes, both ways, and
 * stays a graph: nodes in order, tensors that exist, text and JSON that can be written. */
#include "base/json.h"
#include "bundle/tflite.h"
#include "graph/pass.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok) {
        abort();
    }
}

static void check_refusal(lithe_status status, const lithe_error *err)
{
    require(status == err->code && err->message[0]);
    require(status != LITHE_E_INTERNAL && status != LITHE_E_ARGUMENT);
}

static void check_graph(const graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const graph_node *n = &g->nodes[i];
        for (uint32_t j = 0; j < n->n_inputs; j++) {
            uint32_t t = n->inputs[j];
            require(t == GRAPH_NONE || t < g->n_tensors);
            require(t == GRAPH_NONE || g->tensors[t].producer == GRAPH_NONE || g->tensors[t].producer < i);
        }
        for (uint32_t j = 0; j < n->n_outputs; j++) {
            require(n->outputs[j] < g->n_tensors && g->tensors[n->outputs[j]].producer == i &&
                    !g->tensors[n->outputs[j]].data);
        }
    }
    for (uint32_t i = 0; i < g->n_states; i++) {
        require(g->states[i].input < g->n_tensors);
        require(g->states[i].kind == GRAPH_STATE_RECURRENT ||
                (uint32_t)g->states[i].sequence_axis < g->tensors[g->states[i].input].rank);
    }
    buffer out;
    json_doc *doc;
    lithe_error err;
    buffer_init(&out);
    graph_print(g, &out);
    out.size = 0;
    graph_print_json(g, &out);
    require(buffer_failed(&out) || json_parse(&doc, (bytes){out.data, out.size}, &err) == LITHE_OK);
    if (!buffer_failed(&out)) {
        json_free(doc);
    }
    buffer_fini(&out);
}

static void run(tflite_model *m, const char *key, bool any_length, bool no_fusion)
{
    arena a;
    graph g;
    lithe_error err;
    arena_init(&a, 0);
    lithe_status status = graph_import(&g, m, key, NULL, 0, &a, &err);
    status = status != LITHE_OK ? status : graph_run_passes(&g, any_length, no_fusion, NULL, &err);
    if (status != LITHE_OK) {
        check_refusal(status, &err);
    } else {
        check_graph(&g);
    }
    arena_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arena a;
    tflite_model m;
    lithe_error err;
    arena_init(&a, 0);
    lithe_status status = tflite_open(&m, (bytes){data, size}, (bytes){NULL, 0}, &a, &err);
    if (status != LITHE_OK) {
        check_refusal(status, &err);
    }
    for (uint32_t i = 0; status == LITHE_OK && i < m.n_signatures && i < 4; i++) {
        run(&m, m.signatures[i].key, true, false);
        run(&m, m.signatures[i].key, false, i % 2 == 0);
    }
    arena_fini(&a);
    return 0;
}
