/* Generation: draw, match stop sequences, pass text on, process. */
#include "engine/session.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

void lithe_generate_options_init(lithe_generate_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_bytes = sizeof *options;
}

const char *lithe_finish_name(lithe_finish finish)
{
    static const char *const names[] = {"none", "stop", "length", "context", "cancelled", "callback"};
    return (unsigned)finish < sizeof names / sizeof *names ? names[finish] : "none";
}

/* An answer that ends in so many equal tokens is reported as repeating. */
enum { REPEATS = 24 };

/* One answer under way. `held` are tokens generated whose text may belong to a stop sequence. */
typedef struct answer {
    lithe_session *s;
    const lithe_generate_options *o;
    lithe_sampler sampler;
    lithe_sampler_sources sources;
    token_stream *stream;
    buffer text;   /* of the event being made */
    int32_t *held; /* longest stop sequence */
    size_t n_held;
    int32_t last;
    size_t n_same, n_tokens;
    lithe_finish finish;
} answer;

static size_t longest_stop(const lithe_model *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_stops; i++)
        if (m->stops[i].n > n)
            n = m->stops[i].n;
    return n;
}

static bool ends_with(const int32_t *ids, size_t n, const int32_t *tail, size_t m)
{
    return m <= n && !memcmp(ids + n - m, tail, m * sizeof *ids);
}

/* The stop sequence that the held tokens end with, NULL if none. */
static const stop_sequence *matched_stop(const answer *a)
{
    const lithe_model *m = a->s->model;
    for (size_t i = 0; i < m->n_stops; i++)
        if (ends_with(a->held, a->n_held, m->stops[i].ids, m->stops[i].n))
            return &m->stops[i];
    return NULL;
}

/* How many of the last held tokens begin some stop sequence. */
static size_t open_prefix(const answer *a)
{
    const lithe_model *m = a->s->model;
    size_t best = 0;
    for (size_t i = 0; i < m->n_stops; i++)
        for (size_t n = m->stops[i].n - 1; n > best; n--)
            if (ends_with(a->held, a->n_held, m->stops[i].ids, n))
                best = n;
    return best;
}

/* Turns the first n held tokens into text. */
static lithe_status release(answer *a, size_t n, lithe_error *err)
{
    lithe_status st = LITHE_OK;
    for (size_t i = 0; i < n && !st; i++) {
        bytes part;
        st = token_stream_push(a->stream, a->held[i], &part, err);
        if (!st)
            buffer_append(&a->text, part.data, part.size);
    }
    a->n_held -= n;
    memmove(a->held, a->held + n, a->n_held * sizeof *a->held);
    return st;
}

static lithe_status emit(answer *a, int32_t id, const float *logits, lithe_error *err)
{
    if (buffer_failed(&a->text))
        return error_memory(err, a->text.size, "text");
    lithe_token_event e = {id, (const char *)a->text.data, a->text.size, logits,
                           logits ? a->s->model->decode.vocab_size : 0};
    if (!e.text)
        e.text = "";
    if (a->o->on_token && !a->o->on_token(a->o->user, &e) && !a->finish)
        a->finish = LITHE_FINISH_CALLBACK;
    a->text.size = 0;
    return LITHE_OK;
}

/* Takes a drawn token: stop rules, text, event. */
static lithe_status take_token(answer *a, int32_t id, const float *logits, lithe_error *err)
{
    a->n_tokens++;
    a->n_same = a->n_tokens > 1 && id == a->last ? a->n_same + 1 : 1;
    a->last = id;
    a->held[a->n_held++] = id;
    lithe_status st;
    const stop_sequence *stop = a->o->ignore_stop ? NULL : matched_stop(a);
    if (stop) {
        st = release(a, a->n_held - stop->n, err);
        a->n_held = 0;
        a->finish = LITHE_FINISH_STOP;
    } else {
        st = release(a, a->n_held - (a->o->ignore_stop ? 0 : open_prefix(a)), err);
    }
    return st ? st : emit(a, id, logits, err);
}

static bool asked_to_stop(lithe_session *s)
{
    return atomic_exchange(&s->cancel, false);
}

/* Draws and processes until something ends the answer. Times: first token drawn, and the steps after it. */
static lithe_status loop(answer *a, double start, lithe_generate_result *r, lithe_error *err)
{
    lithe_session *s = a->s;
    double first = 0;
    lithe_status st = LITHE_OK;
    while (!st) {
        const float *logits = NULL;
        size_t n = 0;
        int32_t id = 0;
        if (asked_to_stop(s)) {
            a->finish = LITHE_FINISH_CANCELLED;
            break;
        }
        st = lithe_session_logits(s, &logits, &n, err);
        if (!st)
            st = session_draw(s, &a->sampler, logits, n, &id, err);
        if (st)
            break;
        if (!a->n_tokens)
            first = clock_seconds();
        st = take_token(a, id, logits, err);
        if (st || a->finish)
            break;
        if (a->o->max_tokens && a->n_tokens >= a->o->max_tokens)
            a->finish = LITHE_FINISH_LENGTH;
        else if (s->position >= s->context)
            a->finish = LITHE_FINISH_CONTEXT;
        if (a->finish)
            break;
        st = lithe_session_decode(s, id, err);
        if (st != LITHE_E_CANCELLED)
            continue;
        st = LITHE_OK;
        a->finish = LITHE_FINISH_CANCELLED;
        break;
    }
    if (r && a->n_tokens) {
        r->first_token_ms = (first - start) * 1e3;
        r->decode_ms = (clock_seconds() - first) * 1e3;
    }
    return st;
}

/* The text still held back when the answer is over. */
static lithe_status flush(answer *a, lithe_error *err)
{
    bytes rest = {0};
    lithe_status st = release(a, a->n_held, err);
    if (!st)
        st = token_stream_finish(a->stream, &rest, err);
    if (st)
        return st;
    buffer_append(&a->text, rest.data, rest.size);
    return a->text.size && a->finish != LITHE_FINISH_CALLBACK ? emit(a, -1, NULL, err) : LITHE_OK;
}

static lithe_status start(answer *a, lithe_error *err)
{
    lithe_session *s = a->s;
    if (a->o->struct_bytes != sizeof *a->o)
        return error_set(
            err, LITHE_E_ARGUMENT,
            "lithe_generate_options has %u bytes, but this library knows %zu: use lithe_generate_options_init",
            a->o->struct_bytes, sizeof *a->o);
    a->sampler = s->sampler;
    a->sources = s->sources;
    sampler_apply(&a->sampler, &a->sources, &a->o->sampler, LITHE_FROM_REQUEST);
    lithe_status st = sampler_check(&a->sampler, err);
    if (st)
        return st;
    if (a->o->sampler.set & LITHE_SET_SEED)
        s->rng = a->sampler.seed;
    size_t most_held = longest_stop(s->model) + 1;
    a->held = calloc(most_held, sizeof *a->held);
    if (!a->held)
        return error_memory(err, most_held * sizeof *a->held, "an answer");
    return token_stream_create(&a->stream, s->model->tokenizer, true, false,
                               err); /* special tokens as text, as the reference does */
}

lithe_status lithe_session_generate(lithe_session *session, const lithe_generate_options *options,
                                    lithe_generate_result *result, lithe_error *err)
{
    lithe_generate_options defaults;
    lithe_generate_options_init(&defaults);
    if (!session)
        return error_set(err, LITHE_E_ARGUMENT, "no session");
    double began = clock_seconds();
    answer a = {.s = session, .o = options ? options : &defaults};
    lithe_generate_result r = {0};
    buffer_init(&a.text);
    lithe_status st = start(&a, err);
    if (!st)
        st = loop(&a, began, &r, err);
    if (!st)
        st = flush(&a, err);
    r.n_tokens = a.n_tokens;
    r.finish = a.finish;
    r.sampler = a.sampler;
    r.sources = a.sources;
    r.repeats = a.n_same >= REPEATS ||
                (a.n_same > 2 && a.last == session->model->info.pad_token && a.finish != LITHE_FINISH_STOP);
    if (result)
        *result = r;
    if (st && err)
        error_at_path(err, session->model->info.path);
    token_stream_destroy(a.stream);
    buffer_fini(&a.text);
    free(a.held);
    return st;
}
