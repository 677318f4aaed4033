/* Text and tokens for a model: the public calls, and the special tokens of the metadata. */
#include "engine/model.h"

#include <stdlib.h>
#include <string.h>

/* Ids of a TokenUnion: given ones, the piece of that spelling, or the text's encoding (the reference's rule). Copied into the arena. */
static lithe_status resolve(lithe_model *m, const token_union *u, const int32_t **ids, size_t *n, lithe_error *err)
{
    *ids = u->ids;
    *n = u->n_ids;
    if (u->n_ids || !u->text || !u->text[0])
        return LITHE_OK;
    bytes text = {(const uint8_t *)u->text, strlen(u->text)};
    token_list list = {0};
    int32_t id = tokenizer_piece_to_id(m->tokenizer, text);
    lithe_status st =
        id >= 0 ? token_list_push(&list, id, err) : tokenizer_encode(m->tokenizer, text, false, &list, err);
    int32_t *copy = st ? NULL : ARENA_ARRAY(&m->arena, int32_t, list.n);
    if (!st && !copy)
        st = error_memory(err, list.n * sizeof *copy, "special tokens");
    if (!st) {
        if (list.n)
            memcpy(copy, list.ids, list.n * sizeof *copy); /* a text may have no tokens */
        *ids = copy;
        *n = list.n;
    }
    token_list_fini(&list);
    return st;
}

lithe_status model_resolve_tokens(lithe_model *m, lithe_error *err)
{
    const llm_metadata *meta = &m->meta;
    lithe_status st = resolve(m, &meta->start_token, &m->info.start_tokens, &m->info.n_start_tokens, err);
    m->stops = ARENA_ARRAY(&m->arena, stop_sequence, meta->n_stop_tokens + 1);
    if (!st && !m->stops)
        st = error_memory(err, meta->n_stop_tokens * sizeof *m->stops, "stop sequences");
    for (size_t i = 0; i < meta->n_stop_tokens && !st; i++) {
        stop_sequence *s = &m->stops[m->n_stops];
        st = resolve(m, &meta->stop_tokens[i], &s->ids, &s->n, err);
        m->n_stops += s->n > 0;
    }
    m->info.pad_token = -1;
    if (!st && meta->has_pad_token) {
        const int32_t *ids;
        size_t n;
        st = resolve(m, &meta->pad_token, &ids, &n, err);
        if (!st && n == 1)
            m->info.pad_token = ids[0];
    }
    return st;
}

lithe_status lithe_tokenize(const lithe_model *m, const char *text, size_t n_bytes, unsigned flags, int32_t *ids,
                            size_t capacity, size_t *n, lithe_error *err)
{
    if (!m || (!text && n_bytes) || !n || (!ids && capacity))
        return error_set(err, LITHE_E_ARGUMENT, "lithe_tokenize: a pointer is NULL");
    token_list list = {0};
    lithe_status st = LITHE_OK;
    for (size_t i = 0; i < m->info.n_start_tokens && (flags & LITHE_TOKENIZE_START) && !st; i++)
        st = token_list_push(&list, m->info.start_tokens[i], err);
    bytes b = {(const uint8_t *)text, n_bytes};
    if (!st && n_bytes)
        st = tokenizer_encode(m->tokenizer, b, (flags & LITHE_TOKENIZE_SPECIAL) != 0, &list, err);
    if (!st) {
        size_t copied = list.n < capacity ? list.n : capacity;
        if (copied)
            memcpy(ids, list.ids, copied * sizeof *ids);
        *n = list.n;
    }
    token_list_fini(&list);
    return st;
}

typedef struct text_sink {
    char *text;
    size_t capacity, size;
} text_sink;

static void sink_add(text_sink *s, bytes b)
{
    if (s->size < s->capacity) {
        size_t n = b.size < s->capacity - s->size ? b.size : s->capacity - s->size;
        if (n)
            memcpy(s->text + s->size, b.data, n);
    }
    s->size += b.size;
}

lithe_status lithe_detokenize(const lithe_model *m, const int32_t *ids, size_t n, bool special, char *text,
                              size_t capacity, size_t *n_bytes, lithe_error *err)
{
    if (!m || (!ids && n) || !n_bytes || (!text && capacity))
        return error_set(err, LITHE_E_ARGUMENT, "lithe_detokenize: a pointer is NULL");
    token_stream *stream;
    lithe_status st = token_stream_create(&stream, m->tokenizer, special, true, err);
    if (st)
        return st;
    text_sink sink = {text, capacity, 0};
    for (size_t i = 0; i <= n && !st; i++) {
        bytes part = {0};
        st = i < n ? token_stream_push(stream, ids[i], &part, err) : token_stream_finish(stream, &part, err);
        if (!st)
            sink_add(&sink, part);
    }
    if (!st)
        *n_bytes = sink.size;
    token_stream_destroy(stream);
    return st;
}

const char *lithe_token_piece(const lithe_model *m, int32_t id, size_t *n_bytes)
{
    bytes piece = tokenizer_piece(m->tokenizer, id);
    if (n_bytes)
        *n_bytes = piece.size;
    return (const char *)piece.data;
}

size_t lithe_token_bytes(const lithe_model *m, int32_t id, char *buf, size_t capacity)
{
    return tokenizer_token_bytes(m->tokenizer, id, true, (uint8_t *)buf, capacity);
}
