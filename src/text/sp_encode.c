/* SentencePiece text to ids: control pieces if asked for, normalising, and the byte-pair algorithm. */
#include "text/sp.h"

#include <stdlib.h>

static lithe_status emit_bytes(const sp_model *m, bytes piece, token_list *out, lithe_error *err)
{
    lithe_status st = LITHE_OK;
    for (size_t i = 0; i < piece.size && !st; i++)
        st = token_list_push(out, m->byte_ids[piece.data[i]], err);
    return st;
}

lithe_status sp_emit(const sp_model *m, bytes piece, int32_t id, bool *after_unknown, token_list *out, lithe_error *err)
{
    bool unknown = id < 0 || id == m->unknown, again = unknown && *after_unknown;
    *after_unknown = unknown;
    if (!unknown)
        return token_list_push(out, id, err);
    if (m->byte_fallback)
        return emit_bytes(m, piece, out, err);
    return again ? LITHE_OK : token_list_push(out, m->unknown, err);
}

typedef struct merge_context {
    const sp_model *model;
    bytes text;
    uint32_t *
        left_length; /* [n pieces] of unused pieces: how the last candidate for one was split; NULL if there are none */
} merge_context;

static bool pair_of(void *user, const bpe_symbol *left, const bpe_symbol *right, uint32_t *rank, int32_t *id)
{
    const merge_context *c = user;
    const sp_model *m = c->model;
    if (left->id == BPE_FROZEN || right->id == BPE_FROZEN)
        return false;
    size_t n = (size_t)left->length + right->length;
    if (n > m->max_piece)
        return false;
    *id = vocab_index_find(&m->pieces, &m->base.vocab, (bytes){c->text.data + left->start, n});
    if (*id < 0)
        return false;
    *rank = m->ranks[*id];
    if (c->left_length && m->types[*id] == SP_UNUSED)
        c->left_length[*id] = left->length;
    return true;
}

static int32_t piece_id(const sp_model *m, bytes piece)
{
    int32_t id = vocab_index_find(&m->reserved, &m->base.vocab, piece);
    return id >= 0 ? id : vocab_index_find(&m->pieces, &m->base.vocab, piece);
}

/* An unused piece only helps merging: what it was merged from is written instead, to any depth. */
static lithe_status emit_parts(const merge_context *c, bytes piece, bool *after_unknown, token_list *out,
                               lithe_error *err)
{
    const sp_model *m = c->model;
    size_t n_open = 0, capacity = 16;
    uint32_t *ends = malloc(capacity * sizeof *ends); /* a stack: parts still to write, the leftmost on top */
    if (!ends)
        return error_memory(err, capacity * sizeof *ends, "tokenizing");
    ends[n_open++] = (uint32_t)piece.size;
    uint32_t at = 0;
    lithe_status st = LITHE_OK;
    while (n_open && !st) {
        bytes part = {piece.data + at, ends[n_open - 1] - at};
        int32_t id = piece_id(m, part);
        uint32_t left = id >= 0 && m->types[id] == SP_UNUSED ? c->left_length[id] : 0;
        if (!left) {
            st = sp_emit(m, part, id, after_unknown, out, err);
            at = ends[--n_open];
            continue;
        }
        if (n_open == capacity) {
            uint32_t *more = realloc(ends, capacity * 2 * sizeof *ends);
            if (!more) {
                st = error_memory(err, capacity * 2 * sizeof *ends, "tokenizing");
                break;
            }
            ends = more;
            capacity *= 2;
        }
        ends[n_open++] = at + left;
    }
    free(ends);
    return st;
}

static lithe_status merge_and_emit(merge_context *c, bpe_work *w, bool *after_unknown, token_list *out,
                                   lithe_error *err)
{
    lithe_status st = bpe_merge(w, pair_of, c, err);
    for (int32_t i = w->n ? 0 : -1; i >= 0 && !st; i = w->symbols[i].next) {
        bytes piece = {c->text.data + w->symbols[i].start, w->symbols[i].length};
        int32_t id = piece_id(c->model, piece);
        if (c->left_length && id >= 0 && c->model->types[id] == SP_UNUSED)
            st = emit_parts(c, piece, after_unknown, out, err);
        else
            st = sp_emit(c->model, piece, id, after_unknown, out, err);
    }
    return st;
}

/* Collects the symbols of one word, or of the whole text where words cannot be told apart; returns where it ends. */
static lithe_status collect(const sp_model *m, bytes text, size_t *at, bpe_work *w, lithe_error *err)
{
    bool after_other = false;
    lithe_status st = LITHE_OK;
    bpe_reset(w);
    while (*at < text.size && !st) {
        const uint8_t *p = text.data + *at;
        size_t left = text.size - *at, length;
        bool space = is_space_symbol(p, left);
        if (space && after_other && m->words_apart)
            break;
        bool frozen = prefix_set_longest(&m->user_defined, p, left, &length) >= 0;
        if (!frozen)
            length = utf8_length(p, left);
        st = bpe_add(w, (uint32_t)*at, (uint32_t)length, frozen ? BPE_FROZEN : BPE_NO_PIECE, err);
        *at += length;
        after_other = !space || frozen;
    }
    return st;
}

/* Words come again: where one was met before in this text, and its ids in the output. */
typedef struct seen_word {
    uint32_t start, length, id, n_ids; /* length 0: an empty slot */
} seen_word;
enum { N_SEEN = 512, LONGEST_SEEN = 64 };

static seen_word *slot_of(seen_word *seen, bytes text, size_t start, size_t end)
{
    return &seen[vocab_hash((bytes){text.data + start, end - start}) % N_SEEN];
}

static bool is_seen(const seen_word *s, bytes text, size_t start, size_t end)
{
    return s->length == end - start && memcmp(text.data + s->start, text.data + start, end - start) == 0;
}

static lithe_status repeat_ids(const seen_word *s, size_t first, token_list *out, lithe_error *err)
{
    lithe_status st = LITHE_OK;
    for (size_t i = 0; i < s->n_ids && !st; i++)
        st = token_list_push(out, out->ids[first + s->id + i], err);
    return st;
}

/* A word's ids depend on what came before it only where that was unknown. */
static lithe_status encode_words(merge_context *c, bpe_work *w, token_list *out, lithe_error *err)
{
    bytes text = c->text;
    seen_word seen[N_SEEN] = {0};
    bool after_unknown = false;
    size_t first = out->n;
    lithe_status st = LITHE_OK;
    for (size_t at = 0, start = 0; at < text.size && !st; start = at) {
        st = collect(c->model, text, &at, w, err);
        if (st)
            break;
        seen_word *s = at - start <= LONGEST_SEEN && !after_unknown ? slot_of(seen, text, start, at) : NULL;
        if (s && is_seen(s, text, start, at)) {
            st = repeat_ids(s, first, out, err);
            continue;
        }
        size_t before = out->n;
        st = merge_and_emit(c, w, &after_unknown, out, err);
        if (s && !after_unknown)
            *s = (seen_word){(uint32_t)start, (uint32_t)(at - start), (uint32_t)(before - first),
                             (uint32_t)(out->n - before)};
    }
    return st;
}

lithe_status sp_bpe_encode(const sp_model *m, bytes normalized, token_list *out, lithe_error *err)
{
    merge_context c = {m, normalized, NULL};
    if (m->has_unused) {
        c.left_length = calloc(m->base.vocab.n, sizeof *c.left_length);
        if (!c.left_length)
            return error_memory(err, m->base.vocab.n * sizeof *c.left_length, "tokenizing");
    }
    bpe_work w = {0};
    lithe_status st = encode_words(&c, &w, out, err);
    bpe_work_fini(&w);
    free(c.left_length);
    return st;
}

static lithe_status encode_plain(const sp_model *m, bytes text, buffer *scratch, token_list *out, lithe_error *err)
{
    if (!text.size)
        return LITHE_OK;
    scratch->size = 0;
    lithe_status st = sp_normalize(m, text, scratch, err);
    bytes normalized = {scratch->data, scratch->size};
    if (st || !normalized.size)
        return st;
    return m->unigram ? sp_unigram_encode(m, normalized, out, err) : sp_bpe_encode(m, normalized, out, err);
}

lithe_status sp_encode(const tokenizer *t, bytes text, bool special, token_list *out, lithe_error *err)
{
    const sp_model *m = (const sp_model *)t;
    buffer scratch;
    buffer_init(&scratch);
    lithe_status st = LITHE_OK;
    size_t at = 0;
    while (special && !st) {
        int32_t id;
        size_t length, found = prefix_set_search(&m->controls, text, at, &id, &length);
        if (found == text.size)
            break;
        st = encode_plain(m, (bytes){text.data + at, found - at}, &scratch, out, err);
        if (!st)
            st = token_list_push(out, id, err);
        at = found + length;
    }
    if (!st)
        st = encode_plain(m, (bytes){text.data + at, text.size - at}, &scratch, out, err);
    buffer_fini(&scratch);
    return st;
}
