/* States: blocks of 64 positions for what attention owns, flat buffers for the rest. */
#include "engine/session.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static size_t block_bytes(const graph_state *st)
{
    return (size_t)st->n_heads * ATTENTION_BLOCK * st->head_dim * sizeof(float);
}

static uint64_t flat_bytes(const graph *g, const graph_state *st)
{
    const graph_tensor *t = &g->tensors[st->input];
    return graph_type_bytes(t->type, t->elements);
}

static uint32_t blocks_for(uint32_t positions)
{
    return (positions + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK;
}

uint64_t states_forecast(const program *p, uint32_t positions)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < p->g.n_states; i++) {
        const graph_state *st = &p->g.states[i];
        n += st->owned ? (uint64_t)blocks_for(positions) * (block_bytes(st) + sizeof(float *)) : flat_bytes(&p->g, st);
    }
    return n;
}

lithe_status session_states_create(lithe_session *s, lithe_error *err)
{
    const graph *g = &s->model->decode.g;
    s->states = calloc(g->n_states ? g->n_states : 1, sizeof *s->states);
    s->bindings = calloc(g->n_states ? g->n_states : 1, sizeof *s->bindings);
    s->prefill_bindings = calloc(g->n_states ? g->n_states : 1, sizeof *s->prefill_bindings);
    if (!s->states || !s->bindings || !s->prefill_bindings)
        return error_memory(err, g->n_states * sizeof *s->states, "states");
    for (uint32_t i = 0; i < g->n_states; i++) {
        const graph_state *st = &g->states[i];
        if (st->owned) {
            s->states[i].blocks = calloc(blocks_for(s->context), sizeof(float *));
            s->bindings[i] = s->states[i].blocks;
        } else {
            s->states[i].flat = memory_alloc_zeroed((size_t)flat_bytes(g, st));
            s->bindings[i] = s->states[i].flat;
            s->work.state_bytes += flat_bytes(g, st);
        }
        if (!s->bindings[i])
            return error_memory(err, st->owned ? block_bytes(st) : flat_bytes(g, st), st->name);
    }
    return LITHE_OK;
}

void session_states_destroy(lithe_session *s)
{
    for (uint32_t i = 0; s->states && i < s->model->decode.g.n_states; i++) {
        for (uint32_t b = 0; b < s->states[i].n_blocks; b++)
            memory_free(s->states[i].blocks[b]);
        free(s->states[i].blocks);
        memory_free(s->states[i].flat);
    }
    free(s->states);
    free(s->bindings);
    free(s->prefill_bindings);
}

/* Blocks need no clearing: attention reads what was stored and nothing else. */
void session_states_reset(lithe_session *s)
{
    const graph *g = &s->model->decode.g;
    for (uint32_t i = 0; i < g->n_states; i++)
        if (s->states[i].flat)
            memset(s->states[i].flat, 0, (size_t)flat_bytes(g, &g->states[i]));
}

lithe_status session_states_grow(lithe_session *s, uint32_t end, lithe_error *err)
{
    const graph *g = &s->model->decode.g;
    for (uint32_t i = 0; i < g->n_states; i++) {
        session_state *st = &s->states[i];
        while (st->blocks && st->n_blocks < blocks_for(end)) {
            float *block = memory_alloc(block_bytes(&g->states[i]));
            if (!block)
                return error_memory(err, block_bytes(&g->states[i]), g->states[i].name);
            st->blocks[st->n_blocks++] = block;
            s->work.state_bytes += block_bytes(&g->states[i]);
        }
    }
    return LITHE_OK;
}
