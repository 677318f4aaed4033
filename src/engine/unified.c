/* The second way to any length: prefill signatures read as one function of the length (graph/unify.h). A program is made for each length that
 * comes, in a few milliseconds; a session keeps the last ones. */
#include "engine/session.h"

#include <stdlib.h>
#include <string.h>

lithe_status model_unify(lithe_model *m, lithe_error *err)
{
    const char *keys[MODEL_MAX_LADDER];
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->main.tfl.n_signatures && n < MODEL_MAX_LADDER; i++)
        if (!strncmp(m->main.tfl.signatures[i].key, "prefill", 7))
            keys[n++] = m->main.tfl.signatures[i].key;
    lithe_status st = graph_unify(&m->family, &m->main.tfl, keys, n, &m->arena, err);
    if (st || m->family.why_not[0])
        return st;
    uint32_t chunk = prefill_chunk(m->decode.g.context);
    size_t before = m->arena.total_bytes;
    lithe_error why = {0};
    st = program_create_length(&m->prefill[0], m, chunk, false, &m->arena, &why);
    if (st == LITHE_E_MEMORY) {
        if (err)
            *err = why;
        return st;
    }
    if (st) {
        size_t room = sizeof m->family.why_not - 1;
        memcpy(m->family.why_not, why.message, strlen(why.message) < room ? strlen(why.message) + 1 : room);
        return LITHE_OK;
    }
    m->unified = true;
    m->unified_bytes = m->arena.total_bytes - before;
    m->ladder[0] = &m->prefill[0];
    m->n_ladder = 1;
    return LITHE_OK;
}

struct length_program {
    program program;
    arena arena;
    uint32_t length; /* 0: empty */
    uint64_t used;   /* the session's step count when it was last wanted */
};

static void drop(length_program *p)
{
    program_fini(&p->program);
    arena_fini(&p->arena);
    p->length = 0;
}

void session_programs_destroy(lithe_session *s)
{
    for (uint32_t i = 0; s->programs && i < SESSION_PROGRAMS; i++)
        if (s->programs[i].length)
            drop(&s->programs[i]);
    free(s->programs);
}

static lithe_status make(lithe_session *s, length_program *p, uint32_t n, lithe_error *err)
{
    lithe_model *m = (lithe_model *)(uintptr_t)s->model; /* decompositions are read into its arena, under the lock */
    arena_init(&p->arena, 0);
    mutex_lock(m->lock);
    lithe_status st = program_create_length(&p->program, m, n, true, &p->arena, err);
    mutex_unlock(m->lock);
    p->length = st ? 0 : n;
    if (st)
        arena_fini(&p->arena);
    return st;
}

lithe_status session_program(lithe_session *s, uint32_t n, const program **out, lithe_error *err)
{
    if (n == s->model->ladder[0]->length) {
        *out = s->model->ladder[0];
        return LITHE_OK;
    }
    if (!s->programs)
        s->programs = calloc(SESSION_PROGRAMS, sizeof *s->programs);
    if (!s->programs)
        return error_memory(err, SESSION_PROGRAMS * sizeof *s->programs, "programs");
    length_program *oldest = &s->programs[0];
    for (uint32_t i = 0; i < SESSION_PROGRAMS; i++) {
        length_program *p = &s->programs[i];
        if (p->length == n) {
            p->used = s->work.steps;
            *out = &p->program;
            return LITHE_OK;
        }
        if (!p->length || p->used < oldest->used)
            oldest = p;
    }
    if (oldest->length)
        drop(oldest);
    oldest->used = s->work.steps;
    lithe_status st = make(s, oldest, n, err);
    if (!st)
        *out = &oldest->program;
    return st;
}
