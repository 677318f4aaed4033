/* Byte-pair encoding of one word with the merges of a tokenizer.json. */
#include "text/hf.h"

#include "base/utf8.h"

static const hf_merge *find_merge(const hf_bpe *m, int32_t left, int32_t right)
{
    uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    size_t at = hf_merge_hash(pair) & m->merge_mask;
    for (; m->merges[at].rank != UINT32_MAX; at = (at + 1) & m->merge_mask) {
        if (m->merges[at].pair == pair)
            return &m->merges[at];
    }
    return NULL;
}

static bool pair_of(void *user, const bpe_symbol *left, const bpe_symbol *right, uint32_t *rank, int32_t *id)
{
    const hf_word_work *w = user;
    const hf_merge *m = find_merge(&w->t->bpe, left->id, right->id);
    if (!m)
        return false;
    *rank = m->rank;
    *id = (int32_t)m->id;
    return true;
}

static int32_t piece_of(const hf_tokenizer *t, bytes piece)
{
    return vocab_index_find(&t->index, &t->base.vocab, piece);
}

/* The id of one character, with what marks its place in the word. */
static int32_t char_id(const hf_tokenizer *t, bytes word, size_t at, size_t length)
{
    const hf_bpe *m = &t->bpe;
    bool first = at == 0, last = at + length == word.size;
    bytes plain = {word.data + at, length};
    if ((first || !m->prefix.size) && (!last || !m->suffix.size)) {
        size_t used;
        uint32_t c = utf8_decode(plain.data, length, &used);
        return c < HF_CHAR_IDS ? m->char_ids[c] : piece_of(t, plain);
    }
    uint8_t marked[2 * PREFIX_SET_MAX_BYTES + 8];
    size_t n = 0;
    if (!first && m->prefix.size) {
        memcpy(marked, m->prefix.data, m->prefix.size);
        n = m->prefix.size;
    }
    memcpy(marked + n, plain.data, length);
    n += length;
    if (last && m->suffix.size) {
        memcpy(marked + n, m->suffix.data, m->suffix.size);
        n += m->suffix.size;
    }
    return piece_of(t, (bytes){marked, n});
}

/* The character as byte pieces, if all of them exist. Marks around it would have to become bytes too: not done, as no vocabulary has both. */
static bool add_bytes(hf_word_work *w, bytes word, size_t at, size_t length, lithe_status *st, lithe_error *err)
{
    const hf_bpe *m = &w->t->bpe;
    if (!m->byte_fallback)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (m->byte_ids[word.data[at + i]] < 0)
            return false;
    }
    for (size_t i = 0; i < length && !*st; i++)
        *st = bpe_add(&w->merge, (uint32_t)(at + i), 1, m->byte_ids[word.data[at + i]], err);
    return true;
}

/* A stretch of unknown characters that waits for what follows: with fuse_unk it may grow. */
typedef struct unknown_run {
    size_t start, length;
} unknown_run;

static lithe_status add_unknown(hf_word_work *w, unknown_run *u, lithe_error *err)
{
    if (!u->length)
        return LITHE_OK;
    lithe_status st = bpe_add(&w->merge, (uint32_t)u->start, (uint32_t)u->length, w->t->bpe.unknown, err);
    u->length = 0;
    return st;
}

static lithe_status add_chars(hf_word_work *w, bytes word, lithe_error *err)
{
    const hf_bpe *m = &w->t->bpe;
    unknown_run u = {0, 0};
    lithe_status st = LITHE_OK;
    size_t length;
    for (size_t at = 0; at < word.size && !st; at += length) {
        utf8_decode(word.data + at, word.size - at, &length);
        int32_t id = char_id(w->t, word, at, length);
        if (id >= 0) {
            if (m->unknown == HF_UNKNOWN_MISSING && u.length)
                break;
            st = add_unknown(w, &u, err);
            if (!st)
                st = bpe_add(&w->merge, (uint32_t)at, (uint32_t)length, id, err);
        } else if (!add_bytes(w, word, at, length, &st, err) && m->unknown != HF_NO_UNKNOWN) {
            if (!m->fuse_unknown && m->unknown >= 0)
                st = add_unknown(w, &u, err);
            if (!u.length)
                u.start = at;
            u.length += length;
        }
    }
    if (!st && u.length && m->unknown == HF_UNKNOWN_MISSING) {
        return error_set(err, LITHE_E_TOKENIZER,
                         "the text has a character (\"%.*s\") that the tokenizer lacks, and its model.unk_token is not "
                         "in its vocabulary",
                         (int)(u.length < 16 ? u.length : 16), (const char *)word.data + u.start);
    }
    return st ? st : add_unknown(w, &u, err);
}

lithe_status hf_bpe_word(void *user, bytes word, lithe_error *err)
{
    hf_word_work *w = user;
    if (w->t->bpe.ignore_merges) {
        int32_t id = piece_of(w->t, word);
        if (id >= 0)
            return token_list_push(w->out, id, err);
    }
    bpe_reset(&w->merge);
    lithe_status st = add_chars(w, word, err);
    if (!st)
        st = bpe_merge(&w->merge, pair_of, w, err);
    for (int32_t i = w->merge.n ? 0 : -1; i >= 0 && !st; i = w->merge.symbols[i].next)
        st = token_list_push(w->out, w->merge.symbols[i].id, err);
    return st;
}
