/* Sessions: creation, prefill and decode by the kinds of plan. */
#include "engine/session.h"

#include <stdlib.h>
#include <string.h>

void lithe_session_options_init(lithe_session_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_bytes = sizeof *options;
}

static uint32_t most_inputs(const lithe_model *m)
{
    uint32_t n = m->decode.g.n_inputs;
    for (uint32_t i = 0; i < m->n_ladder; i++)
        if (m->ladder[i]->g.n_inputs > n)
            n = m->ladder[i]->g.n_inputs;
    return n;
}

static lithe_status fill_session(lithe_session *s, const lithe_session_options *o, lithe_error *err)
{
    const lithe_model *m = s->model;
    s->context = m->info.context;
    s->sampler = m->info.sampler;
    s->sources = m->info.sampler_sources;
    if (o && o->struct_bytes != sizeof *o)
        return error_set(
            err, LITHE_E_ARGUMENT,
            "lithe_session_options has %u bytes, but this library knows %zu: use lithe_session_options_init",
            o->struct_bytes, sizeof *o);
    if (o && o->context > m->info.context) {
        error_set(err, LITHE_E_CONTEXT, "a session of %u positions was asked for, but the model was opened for %u",
                  o->context, m->info.context);
        error_expected(err, "1 to %u", m->info.context);
        return error_found(err, "%u", o->context);
    }
    if (o && o->context)
        s->context = o->context;
    if (o)
        sampler_apply(&s->sampler, &s->sources, &o->sampler, LITHE_FROM_SESSION);
    lithe_status st = sampler_check(&s->sampler, err);
    if (st)
        return st;
    s->rng = s->seed = s->sampler.seed;
    s->chunk = prefill_chunk(s->context);
    uint64_t forecast = model_session_forecast(m, s->context);
    st = model_reserve((lithe_model *)(uintptr_t)m, forecast, s->context, err);
    if (st)
        return st;
    s->reserved = forecast;
    s->inputs = calloc(most_inputs(m) + 1, sizeof *s->inputs);
    if (!s->inputs)
        return error_memory(err, most_inputs(m) * sizeof *s->inputs, "a session");
    s->interruptible = m->any_length;
    for (uint32_t i = 0; i < m->decode.g.n_states; i++)
        s->interruptible &= m->decode.g.states[i].owned;
    return session_states_create(s, err);
}

lithe_status lithe_session_create(const lithe_model *model, const lithe_session_options *options, lithe_session **out,
                                  lithe_error *err)
{
    if (!model || !out)
        return error_set(err, LITHE_E_ARGUMENT, "lithe_session_create needs a model and a place for the session");
    lithe_session *s = calloc(1, sizeof *s);
    if (!s)
        return error_memory(err, sizeof *s, "a session");
    s->model = model;
    lithe_status st = fill_session(s, options, err);
    if (st) {
        if (err)
            error_at_path(err, model->info.path);
        lithe_session_destroy(s);
        return st;
    }
    *out = s;
    return LITHE_OK;
}

void lithe_session_destroy(lithe_session *s)
{
    if (!s)
        return;
    session_programs_destroy(s);
    session_states_destroy(s);
    session_memory_destroy(s);
    if (s->reserved)
        model_release((lithe_model *)(uintptr_t)s->model, s->reserved);
    free(s);
}

uint32_t lithe_session_position(const lithe_session *s)
{
    return s->position;
}
void lithe_session_cancel(lithe_session *s)
{
    atomic_store(&s->cancel, true);
}
void lithe_session_get_work(const lithe_session *s, lithe_work *work)
{
    *work = s->work;
}

void lithe_session_reset(lithe_session *s)
{
    session_states_reset(s);
    s->position = 0;
    s->logits = NULL;
    s->rng = s->seed;
}

lithe_status lithe_session_logits(lithe_session *s, const float **logits, size_t *n, lithe_error *err)
{
    if (!s->logits)
        return error_set(err, LITHE_E_ARGUMENT,
                         "there are no logits: no token has been processed since the session began or the last error");
    *logits = s->logits;
    *n = s->model->decode.vocab_size;
    return LITHE_OK;
}

/* -------------------------------------------------------------------------------------------------- prefill */

static lithe_status context_full(const lithe_session *s, size_t n, lithe_error *err)
{
    error_set(err, LITHE_E_CONTEXT, "context full: %u of %u positions are used, %zu more tokens do not fit",
              s->position, s->context, n);
    error_expected(err, "at most %u tokens", s->context - s->position);
    error_found(err, "%zu", n);
    return error_hint(err,
                      s->context < s->model->decode.g.context ? "open with a larger context (up to %u)"
                                                              : "shorten the prompt (the model holds %u positions)",
                      s->model->decode.g.context);
}

static lithe_status check_ids(const lithe_session *s, const int32_t *ids, size_t n, lithe_error *err)
{
    if (!ids || !n)
        return error_set(err, LITHE_E_ARGUMENT, "no tokens to process");
    if (n > s->context - s->position)
        return context_full(s, n, err);
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || (uint32_t)ids[i] > s->model->max_token_id) {
            error_set(err, LITHE_E_ARGUMENT, "token %zu has id %d, but the model knows ids 0 to %u", i, ids[i],
                      s->model->max_token_id);
            error_expected(err, "0 to %u", s->model->max_token_id);
            return error_found(err, "%d", ids[i]);
        }
    return LITHE_OK;
}

static lithe_status cancelled(lithe_session *s, lithe_error *err)
{
    if (!atomic_exchange(&s->cancel, false))
        return LITHE_OK;
    return error_set(err, LITHE_E_CANCELLED, "cancelled after %u tokens", s->position);
}

/* The next run as exported: tokens taken, and the program that takes them. All but the last id go through prefill programs, the largest first that
 * is filled, a remainder padded into the smallest that fits the free positions; what nothing fits goes token by token through decode, as
 * the last id does, which is the one that gives logits. Padding never touches a recurrence: such models run whole programs or single tokens. */
static const program *next_exported(const lithe_session *s, uint32_t left, uint32_t *take)
{
    const lithe_model *m = s->model;
    uint32_t room = m->decode.g.context - s->position, rest = left - 1;
    const program *padded = NULL;
    for (uint32_t i = 0; i < m->n_ladder; i++) {
        const program *p = m->ladder[i];
        if (p->length > room || (p->length > s->context && i + 1 < m->n_ladder))
            continue;
        if (p->length <= rest) {
            *take = p->length;
            return p;
        }
        if (rest > 1 && !m->recurrent)
            padded = p;
    }
    *take = padded ? rest : 1;
    return padded ? padded : &m->decode;
}

/* The next run with unified prefill signatures: all but the last id in chunks of any length. */
static lithe_status next_unified(lithe_session *s, uint32_t left, uint32_t *take, const program **p, lithe_error *err)
{
    uint32_t chunk = s->model->ladder[0]->length;
    *take = left - 1 < chunk ? left - 1 : chunk;
    if (*take > 1)
        return session_program(s, *take, p, err);
    *take = 1;
    return LITHE_OK;
}

/* What a call wants of the tokens that it processes. */
typedef struct session_wish {
    lithe_logits_fn on_logits; /* of every token; NULL: of the last only */
    lithe_progress_fn progress;
    void *user;
    size_t done; /* tokens of the runs before */
} session_wish;

static bool pass_logits(void *user, size_t index, const float *logits, size_t n)
{
    const session_wish *w = user;
    return w->on_logits(w->user, w->done + index, logits, n);
}

/* Rows of logits take memory beyond the forecast made for the session: it is asked for when it is first needed. */
static lithe_status reserve_logits(lithe_session *s, uint32_t rows, lithe_error *err)
{
    const lithe_model *m = s->model;
    if (!m->any_length || rows <= s->logits_rows || rows <= 1)
        return LITHE_OK;
    uint32_t before = s->logits_rows > 1 ? s->logits_rows : 1;
    uint64_t more = session_memory_forecast(m, s->chunk, rows, s->context) -
                    session_memory_forecast(m, s->chunk, before, s->context);
    lithe_status st = model_reserve((lithe_model *)(uintptr_t)m, more, s->context, err);
    if (!st)
        s->reserved += more;
    return st;
}

static lithe_status run_next(lithe_session *s, const int32_t *ids, size_t left, session_wish *w, uint32_t *take,
                             lithe_error *err)
{
    const program *p = &s->model->decode;
    lithe_status st = LITHE_OK;
    uint32_t chunk = w->on_logits && SCORE_CHUNK < s->chunk ? SCORE_CHUNK : s->chunk;
    if (s->model->any_length)
        *take = left < chunk ? (uint32_t)left : chunk;
    else if (w->on_logits)
        *take = 1;
    else if (s->model->unified)
        st = next_unified(s, (uint32_t)left, take, &p, err);
    else
        p = next_exported(s, (uint32_t)left, take);
    uint32_t n_logits = w->on_logits ? *take : *take == left;
    if (!st)
        st = session_states_grow(s, s->position + *take, err);
    if (!st)
        st = reserve_logits(s, n_logits, err);
    if (!st)
        st = session_memory_grow(s, *take, n_logits ? n_logits : 1, err);
    return st ? st : session_run(s, p, ids, *take, n_logits, w->on_logits ? pass_logits : NULL, w, err);
}

static lithe_status process(lithe_session *s, const int32_t *ids, size_t n, session_wish *w, lithe_error *err)
{
    if (!s)
        return error_set(err, LITHE_E_ARGUMENT, "no session");
    lithe_status st = check_ids(s, ids, n, err);
    while (!st && w->done < n) {
        uint32_t take = 0;
        st = cancelled(s, err);
        if (!st)
            st = run_next(s, ids + w->done, n - w->done, w, &take, err);
        if (st == LITHE_E_CANCELLED)
            atomic_store(&s->cancel, false);
        w->done += take;
        if (!st && w->progress && !w->progress(w->user, w->done, n) && w->done < n)
            st = error_set(err, LITHE_E_CANCELLED, "stopped after %u tokens", s->position);
    }
    if (st && err)
        error_at_path(err, s->model->info.path);
    return st;
}

lithe_status lithe_session_prefill(lithe_session *session, const int32_t *ids, size_t n, lithe_progress_fn progress,
                                   void *user, lithe_error *err)
{
    session_wish w = {.progress = progress, .user = user};
    return process(session, ids, n, &w, err);
}

lithe_status lithe_session_score(lithe_session *session, const int32_t *ids, size_t n, lithe_logits_fn on_logits,
                                 void *user, lithe_error *err)
{
    if (!on_logits)
        return error_set(err, LITHE_E_ARGUMENT, "lithe_session_score needs a function that takes the logits");
    session_wish w = {.on_logits = on_logits, .user = user};
    return process(session, ids, n, &w, err);
}

lithe_status lithe_session_decode(lithe_session *s, int32_t id, lithe_error *err)
{
    return lithe_session_prefill(s, &id, 1, NULL, NULL, err);
}

lithe_status lithe_session_sample(lithe_session *s, int32_t *id, lithe_error *err)
{
    const float *logits = NULL;
    size_t n = 0;
    lithe_status st = lithe_session_logits(s, &logits, &n, err);
    return st ? st : session_draw(s, &s->sampler, logits, n, id, err);
}
