/* Opening a SentencePiece model: the protobuf read field by field, pieces left where they lie. */
#include "text/sp.h"

#include "base/protowire.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Field numbers of sentencepiece_model.proto. */
enum { MODEL_PIECES = 1, MODEL_TRAINER = 2, MODEL_NORMALIZER = 3, MODEL_DENORMALIZER = 5 };
enum { PIECE_PIECE = 1, PIECE_SCORE = 2, PIECE_TYPE = 3 };
enum {
    TRAINER_MODEL_TYPE = 3,
    TRAINER_WHITESPACE_AS_SUFFIX = 24,
    TRAINER_BYTE_FALLBACK = 35,
    TRAINER_UNK_SURFACE = 44
};
enum {
    NORMALIZER_CHARSMAP = 2,
    NORMALIZER_DUMMY_PREFIX = 3,
    NORMALIZER_REMOVE_WHITESPACES = 4,
    NORMALIZER_ESCAPE_WHITESPACES = 5
};
enum { TYPE_UNIGRAM = 1, TYPE_BPE = 2 };

static lithe_status damaged(const wire_reader *r, const char *what, lithe_error *err)
{
    return error_set(err, LITHE_E_TOKENIZER, "the SentencePiece model is damaged: %s in %s, at its byte %zu",
                     r->problem, what, r->at);
}

/* What the model says besides its pieces. */
typedef struct header {
    uint64_t model_type;
    bytes charsmap, denormalizer_charsmap;
    size_t n_pieces;
} header;

static lithe_status read_trainer(sp_model *m, header *h, bytes message, lithe_error *err)
{
    wire_reader r;
    wire_field f;
    wire_reader_init(&r, message);
    while (wire_next(&r, &f)) {
        if (f.number == TRAINER_MODEL_TYPE && f.type == WIRE_VARINT)
            h->model_type = f.value;
        if (f.number == TRAINER_WHITESPACE_AS_SUFFIX && f.type == WIRE_VARINT)
            m->spec.whitespace_as_suffix = f.value != 0;
        if (f.number == TRAINER_BYTE_FALLBACK && f.type == WIRE_VARINT)
            m->byte_fallback = f.value != 0;
        if (f.number == TRAINER_UNK_SURFACE && f.type == WIRE_BYTES)
            m->unknown_surface = f.data;
    }
    return r.problem ? damaged(&r, "trainer_spec", err) : LITHE_OK;
}

static lithe_status read_normalizer(sp_spec *spec, bytes *charsmap, bytes message, lithe_error *err)
{
    wire_reader r;
    wire_field f;
    wire_reader_init(&r, message);
    while (wire_next(&r, &f)) {
        if (f.number == NORMALIZER_CHARSMAP && f.type == WIRE_BYTES)
            *charsmap = f.data;
        if (f.type != WIRE_VARINT)
            continue;
        if (f.number == NORMALIZER_DUMMY_PREFIX)
            spec->add_dummy_prefix = f.value != 0;
        if (f.number == NORMALIZER_REMOVE_WHITESPACES)
            spec->remove_extra_whitespaces = f.value != 0;
        if (f.number == NORMALIZER_ESCAPE_WHITESPACES)
            spec->escape_whitespaces = f.value != 0;
    }
    return r.problem ? damaged(&r, "normalizer_spec", err) : LITHE_OK;
}

/* The first walk: counts the pieces and reads the rest. */
static lithe_status read_header(sp_model *m, header *h, bytes model, lithe_error *err)
{
    static const uint8_t surface[] = " \xe2\x81\x87 ";
    m->spec = (sp_spec){.add_dummy_prefix = true, .remove_extra_whitespaces = true, .escape_whitespaces = true};
    m->unknown_surface = (bytes){surface, sizeof surface - 1};
    *h = (header){.model_type = TYPE_UNIGRAM};
    sp_spec ignored;
    wire_reader r;
    wire_field f;
    wire_reader_init(&r, model);
    lithe_status st = LITHE_OK;
    while (!st && wire_next(&r, &f)) {
        if (f.type != WIRE_BYTES)
            continue;
        if (f.number == MODEL_PIECES)
            h->n_pieces++;
        if (f.number == MODEL_TRAINER)
            st = read_trainer(m, h, f.data, err);
        if (f.number == MODEL_NORMALIZER)
            st = read_normalizer(&m->spec, &h->charsmap, f.data, err);
        if (f.number == MODEL_DENORMALIZER)
            st = read_normalizer(&ignored, &h->denormalizer_charsmap, f.data, err);
    }
    if (st)
        return st;
    if (r.problem)
        return damaged(&r, "the model", err);
    if (!h->n_pieces)
        return error_set(err, LITHE_E_TOKENIZER, "the SentencePiece model has no pieces");
    if (h->n_pieces > VOCAB_MAX_PIECES) {
        return error_set(err, LITHE_E_UNSUPPORTED, "the SentencePiece model has %zu pieces; at most %u are supported",
                         h->n_pieces, VOCAB_MAX_PIECES);
    }
    if (h->model_type != TYPE_UNIGRAM && h->model_type != TYPE_BPE) {
        return error_set(
            err, LITHE_E_UNSUPPORTED,
            "the SentencePiece model's trainer_spec.model_type is %llu; UNIGRAM (1) and BPE (2) are supported",
            (unsigned long long)h->model_type);
    }
    if (h->denormalizer_charsmap.size)
        return error_set(err, LITHE_E_UNSUPPORTED,
                         "the SentencePiece model has denormalizer_spec.precompiled_charsmap, which is not supported");
    m->unigram = h->model_type == TYPE_UNIGRAM;
    return sp_charsmap_open(&m->charsmap, h->charsmap, err);
}

/* Unsigned numbers in the order of falling scores; equal scores (and both zeros) give equal ranks, NaN comes last. */
static uint32_t rank_of(float score)
{
    if (isnan(score))
        return UINT32_MAX;
    uint32_t u;
    score += 0.0f;
    memcpy(&u, &score, sizeof u);
    return u >> 31 ? u : ~u & 0x7fffffff;
}

typedef struct piece {
    bytes text;
    float score;
    uint64_t type;
} piece;

/* The layout that the original writes: text, score, and type if not normal. */
static bool read_usual_piece(bytes message, piece *p)
{
    const uint8_t *d = message.data;
    if (message.size < 7 || d[0] != (PIECE_PIECE << 3 | WIRE_BYTES) || d[1] > 0x7f)
        return false;
    size_t n = d[1], rest = message.size - 2;
    if ((rest != n + 5 && rest != n + 7) || d[2 + n] != (PIECE_SCORE << 3 | WIRE_FIXED32))
        return false;
    if (rest == n + 7 && (d[7 + n] != (PIECE_TYPE << 3 | WIRE_VARINT) || d[8 + n] > 0x7f))
        return false;
    *p = (piece){{d + 2, n}, load_f32(d + 3 + n), rest == n + 7 ? d[8 + n] : SP_NORMAL};
    return true;
}

static bool read_piece(bytes message, piece *p, wire_reader *r)
{
    if (read_usual_piece(message, p))
        return true;
    *p = (piece){.type = SP_NORMAL};
    wire_field f;
    wire_reader_init(r, message);
    while (wire_next(r, &f)) {
        if (f.number == PIECE_PIECE && f.type == WIRE_BYTES)
            p->text = f.data;
        if (f.number == PIECE_SCORE && f.type == WIRE_FIXED32)
            p->score = wire_f32(&f);
        if (f.number == PIECE_TYPE && f.type == WIRE_VARINT)
            p->type = f.value;
    }
    return !r->problem;
}

static bool type_is_reserved(uint64_t type)
{
    return type == SP_CONTROL || type == SP_UNKNOWN || type == SP_BYTE;
}

/* True if a space symbol comes after another character: then merges can cross the start of a word. */
static bool has_inner_space(bytes text)
{
    for (size_t i = 1; i + 3 <= text.size; i++) {
        const uint8_t *p = memchr(text.data + i, SPACE_SYMBOL[0] & 0xff, text.size - i);
        if (!p)
            return false;
        i = (size_t)(p - text.data);
        if (is_space_symbol(p, text.size - i) && (i < 3 || !is_space_symbol(p - 3, 3)))
            return true;
    }
    return false;
}

static lithe_status not_indexed(const sp_model *m, vocab_added why, uint32_t id, int32_t older, lithe_error *err)
{
    bytes text = vocab_piece(&m->base.vocab, id);
    switch (why) {
    case VOCAB_ADDED:
        return LITHE_OK;
    case VOCAB_NO_MEMORY:
        return error_memory(err, vocab_index_memory(&m->pieces) * 2, "the vocabulary's index");
    case VOCAB_REPEATED:
        return error_set(err, LITHE_E_TOKENIZER, "pieces %d and %u of the SentencePiece model are the same (\"%.*s\")",
                         older, id, (int)(text.size < 60 ? text.size : 60), (const char *)text.data);
    default:
        return error_set(err, LITHE_E_TOKENIZER,
                         "the SentencePiece model's pieces are made to collide: piece %u cannot be indexed", id);
    }
}

/* Ordinary pieces wait here until there are enough to index at once. */
typedef struct waiting {
    uint32_t ids[VOCAB_BATCH];
    size_t n;
} waiting;

static lithe_status index_waiting(sp_model *m, waiting *w, lithe_error *err)
{
    size_t at = 0;
    int32_t older = -1;
    vocab_added added = vocab_index_add_batch(&m->pieces, &m->base.vocab, w->ids, w->n, &at, &older);
    w->n = 0;
    return not_indexed(m, added, w->ids[at], older, err);
}

static lithe_status index_piece(sp_model *m, waiting *w, uint32_t id, bool reserved, lithe_error *err)
{
    if (reserved) {
        int32_t older = -1;
        return not_indexed(m, vocab_index_add(&m->reserved, &m->base.vocab, id, &older), id, older, err);
    }
    w->ids[w->n++] = id;
    return w->n == VOCAB_BATCH ? index_waiting(m, w, err) : LITHE_OK;
}

static lithe_status add_reserved(sp_model *m, uint32_t id, const piece *p, lithe_error *err)
{
    if (p->type == SP_CONTROL)
        return prefix_set_add(&m->controls, p->text, (int32_t)id, err);
    if (p->type == SP_UNKNOWN) {
        if (m->unknown >= 0)
            return error_set(err, LITHE_E_TOKENIZER,
                             "pieces %d and %u of the SentencePiece model are both of type UNKNOWN", m->unknown, id);
        m->unknown = (int32_t)id;
        return LITHE_OK;
    }
    int32_t byte = byte_of_piece(p->text);
    if (byte < 0 || !m->byte_fallback) {
        return error_set(err, LITHE_E_TOKENIZER, "piece %u (\"%.*s\") of the SentencePiece model has type BYTE, but %s",
                         id, (int)(p->text.size < 60 ? p->text.size : 60), (const char *)p->text.data,
                         byte < 0 ? "is not of the form <0xNN>" : "trainer_spec.byte_fallback is false");
    }
    m->byte_ids[byte] = (int32_t)id;
    return LITHE_OK;
}

static lithe_status add_ordinary(sp_model *m, uint32_t id, const piece *p, lithe_error *err)
{
    if (m->unigram)
        m->scores[id] = isnan(p->score) ? -INFINITY : p->score;
    else
        m->ranks[id] = rank_of(p->score);
    if (p->type == SP_NORMAL && p->score < m->min_score)
        m->min_score = p->score;
    if (p->type == SP_NORMAL && p->score > m->max_score)
        m->max_score = p->score;
    if (p->text.size > m->max_piece)
        m->max_piece = p->text.size;
    if (p->type == SP_UNUSED)
        m->has_unused = true;
    if (m->words_apart && has_inner_space(p->text))
        m->words_apart = false;
    if (m->unigram && p->text.size > PREFIX_SET_MAX_BYTES) {
        return error_set(
            err, LITHE_E_UNSUPPORTED,
            "piece %u of the SentencePiece model has %zu bytes; at most %d are supported in a unigram model", id,
            p->text.size, PREFIX_SET_MAX_BYTES);
    }
    return p->type == SP_USER_DEFINED ? prefix_set_add(&m->user_defined, p->text, (int32_t)id, err) : LITHE_OK;
}

static lithe_status add_piece(sp_model *m, waiting *w, uint32_t id, const piece *p, lithe_error *err)
{
    if (!p->text.size)
        return error_set(err, LITHE_E_TOKENIZER, "piece %u of the SentencePiece model is empty", id);
    if (p->type < SP_NORMAL || p->type > SP_BYTE) {
        return error_set(err, LITHE_E_UNSUPPORTED, "piece %u of the SentencePiece model has the unknown type %llu", id,
                         (unsigned long long)p->type);
    }
    bool reserved = type_is_reserved(p->type);
    m->types[id] = (uint8_t)p->type;
    vocab_set_borrowed(&m->base.vocab, id, p->text);
    lithe_status st = index_piece(m, w, id, reserved, err);
    if (st)
        return st;
    return reserved ? add_reserved(m, id, p, err) : add_ordinary(m, id, p, err);
}

/* The second walk: the pieces. */
static lithe_status read_pieces(sp_model *m, bytes model, size_t n, lithe_error *err)
{
    m->types = malloc(n);
    m->ranks = calloc(n, sizeof *m->ranks);
    if (!m->types || !m->ranks)
        return error_memory(err, n * 5, "the vocabulary");
    m->unknown = -1;
    m->min_score = FLT_MAX; /* where the original starts */
    m->max_score = FLT_MIN;
    m->words_apart = true;
    for (int i = 0; i < 256; i++)
        m->byte_ids[i] = -1;
    wire_reader r, inner;
    wire_field f;
    piece p;
    waiting w = {.n = 0};
    uint32_t id = 0;
    lithe_status st = LITHE_OK;
    wire_reader_init(&r, model);
    while (!st && wire_next(&r, &f)) {
        if (f.number != MODEL_PIECES || f.type != WIRE_BYTES)
            continue;
        st = read_piece(f.data, &p, &inner) ? add_piece(m, &w, id++, &p, err) : damaged(&inner, "a piece", err);
    }
    if (!st && w.n)
        st = index_waiting(m, &w, err);
    if (m->has_unused)
        m->words_apart = false; /* what an unused piece falls apart into depends on the whole text */
    return st;
}

static lithe_status check_complete(const sp_model *m, lithe_error *err)
{
    if (m->unknown < 0)
        return error_set(err, LITHE_E_TOKENIZER, "the SentencePiece model has no piece of type UNKNOWN");
    for (int i = 0; i < 256 && m->byte_fallback; i++) {
        if (m->byte_ids[i] < 0)
            return error_set(err, LITHE_E_TOKENIZER, "the SentencePiece model has byte_fallback, but no piece <0x%02X>",
                             (unsigned)i);
    }
    return LITHE_OK;
}

static void destroy(tokenizer *t)
{
    sp_model *m = (sp_model *)t;
    vocab_index_fini(&m->pieces);
    vocab_index_fini(&m->reserved);
    prefix_set_fini(&m->user_defined);
    prefix_set_fini(&m->controls);
    free(m->types);
    free(m->ranks);
    free(m);
}

static size_t memory(const tokenizer *t)
{
    const sp_model *m = (const sp_model *)t;
    return sizeof *m + vocab_index_memory(&m->pieces) + vocab_index_memory(&m->reserved) +
           prefix_set_memory(&m->user_defined) + prefix_set_memory(&m->controls) +
           (size_t)t->vocab.n * (sizeof *m->types + sizeof *m->ranks);
}

static int32_t piece_to_id(const tokenizer *t, bytes text)
{
    const sp_model *m = (const sp_model *)t;
    int32_t id = vocab_index_find(&m->reserved, &t->vocab, text);
    return id >= 0 ? id : vocab_index_find(&m->pieces, &t->vocab, text);
}

static bool is_control(const tokenizer *t, int32_t id)
{
    return ((const sp_model *)t)->types[id] == SP_CONTROL;
}

static const tokenizer_kind_ops ops = {
    .destroy = destroy,
    .memory = memory,
    .encode = sp_encode,
    .piece_to_id = piece_to_id,
    .is_control = is_control,
    .token_text = sp_token_text,
    .stream_begin = sp_stream_begin,
    .stream_push = sp_stream_push,
    .stream_end = sp_stream_end,
};

lithe_status tokenizer_open_sentencepiece(tokenizer **out, bytes model, lithe_error *err)
{
    sp_model *m = calloc(1, sizeof *m);
    if (!m)
        return error_memory(err, sizeof *m, "a tokenizer");
    m->base.ops = &ops;
    header h;
    lithe_status st = read_header(m, &h, model, err);
    m->base.kind = m->unigram ? "sentencepiece-unigram" : "sentencepiece-bpe";
    if (!st)
        st = vocab_init(&m->base.vocab, model, (uint32_t)h.n_pieces, err);
    if (!st)
        st = vocab_index_init(&m->pieces, h.n_pieces, err);
    if (!st)
        st = vocab_index_init(&m->reserved, 512, err);
    if (!st)
        st = read_pieces(m, model, h.n_pieces, err);
    if (!st)
        st = check_complete(m, err);
    if (st)
        tokenizer_close(&m->base);
    else
        *out = &m->base;
    return st;
}
