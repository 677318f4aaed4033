/* Any bytes as a TFLite model, its second half also as external weights: refused with a message, or every index inside its table and
 * every constant inside the file. */
#include "bundle/tflite.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok) {
        abort();
    }
}

static volatile double scales_seen; /* so that the reads are not dropped */

static void check_tensor(const tflite_tensor *t, const tflite_subgraph *g, const uint8_t *data, size_t size)
{
    require(t->rank <= TFLITE_MAX_RANK && memchr(t->name, 0, size + 1));
    if (t->data.size) {
        require(t->data.data >= data && t->data.size <= size - (size_t)(t->data.data - data));
    }
    double sum = 0;
    for (uint32_t i = 0; i < t->n_scales; i++) {
        sum += (double)t->scales[i] * (t->zero_points ? (double)t->zero_points[i] : 1.0);
    }
    scales_seen = sum;
    require(t->block_size == 0 ||
            (t->block_scales_tensor < g->n_tensors && t->block_zero_points_tensor < (int64_t)g->n_tensors));
}

static void check_op(const tflite_op *op, const tflite_subgraph *g, const tflite_model *m)
{
    for (uint32_t i = 0; i < op->n_inputs; i++) {
        require(op->inputs[i] >= -1 && op->inputs[i] < (int64_t)g->n_tensors);
    }
    for (uint32_t i = 0; i < op->n_outputs; i++) {
        require(op->outputs[i] >= 0 && op->outputs[i] < (int64_t)g->n_tensors);
    }
    require(op->composite_subgraph < (int64_t)m->n_subgraphs);
    double number;
    bytes text;
    flex_map_number(op->custom_options, "epsilon", &number);
    flex_map_string(op->custom_options, "state_dtype", &text);
    for (unsigned slot = 0; slot < 8; slot++) {
        (void)fb_u64(&op->options, slot, 0);
    }
}

static void check_subgraph(const tflite_subgraph *g, const tflite_model *m, const uint8_t *data, size_t size)
{
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        check_tensor(&g->tensors[i], g, data, size);
    }
    for (uint32_t i = 0; i < g->n_ops; i++) {
        check_op(&g->ops[i], g, m);
    }
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        require((uint32_t)g->inputs[i] < g->n_tensors);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lithe_error err = {0};
    tflite_model m;
    arena a;
    bytes weights = {data + size / 2, size - size / 2};
    arena_init(&a, 0);
    if (tflite_open(&m, (bytes){data, size}, weights, &a, &err)) {
        require(err.message[0] != 0);
    } else {
        for (uint32_t i = 0; i < m.n_subgraphs && i < 16; i++) {
            tflite_subgraph g;
            if (tflite_read_subgraph(&m, i, &g, &err)) {
                require(err.message[0] != 0);
            } else {
                check_subgraph(&g, &m, data, size);
            }
        }
        for (uint32_t i = 0; i < m.n_signatures; i++) {
            require(m.signatures[i].subgraph < m.n_subgraphs && tflite_find_signature(&m, m.signatures[i].key));
        }
    }
    arena_fini(&a);
    return 0;
}
