/* Reading the model of a tokenizer.json: vocabulary and merges. */
#include "text/hf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* No merges that were not made for it probe this far. */
enum { MAX_PROBES = 4096 };

/* Strings of the document: as they lie there, or unescaped into the buffer. */
static bytes plain_string(bytes raw, bool escaped, buffer *b)
{
    if (!escaped)
        return raw;
    b->size = 0;
    buffer_fill(b, 0, raw.size);
    if (buffer_failed(b))
        return (bytes){NULL, 0};
    b->size = json_unescape(raw, b->data);
    return (bytes){b->data, b->size};
}

/* ---- the vocabulary */

typedef struct vocab_size {
    size_t count;
    uint32_t ids; /* largest id + 1 */
} vocab_size;

static lithe_status too_many(const hf_reader *r, const hf_path *at, long long id)
{
    return error_set(r->err, LITHE_E_UNSUPPORTED, "tokenizer.json: %s has the id %lld; ids below %u are supported",
                     at->text, id, VOCAB_MAX_PIECES / 2);
}

static lithe_status measure_vocab(const hf_reader *r, json_ref v, const hf_path *at, vocab_size *size)
{
    if (json_type(r->doc, v) != JSON_OBJECT)
        return hf_damaged(r, at, "an object of pieces and ids");
    *size = (vocab_size){0, 0};
    for (json_ref m = json_first(r->doc, v); m != JSON_NONE; m = json_next(r->doc, m)) {
        int64_t id;
        if (!json_i64(r->doc, m, &id) || id < 0) {
            bool escaped;
            bytes key = json_key(r->doc, m, &escaped);
            return error_set(r->err, LITHE_E_TOKENIZER,
                             "tokenizer.json: %s: the piece \"%.*s\" has no id that is a whole number", at->text,
                             (int)(key.size < 60 ? key.size : 60), (const char *)key.data);
        }
        if (id >= VOCAB_MAX_PIECES / 2)
            return too_many(r, at, (long long)id);
        if ((uint32_t)id >= size->ids)
            size->ids = (uint32_t)id + 1;
        size->count++;
    }
    if (size->ids / 16 > size->count + 4096)
        return hf_unsupported(r, at, "a vocabulary with few pieces and large ids");
    return LITHE_OK;
}

static lithe_status index_batch(hf_tokenizer *t, const hf_reader *r, const hf_path *at, const uint32_t *ids, size_t n)
{
    size_t done = 0, stopped = 0;
    int32_t older = -1;
    while (done < n) {
        vocab_added added = vocab_index_add_batch(&t->index, &t->base.vocab, ids + done, n - done, &stopped, &older);
        if (added == VOCAB_ADDED)
            break;
        if (added == VOCAB_NO_MEMORY)
            return error_memory(r->err, vocab_index_memory(&t->index) * 2, "the vocabulary's index");
        if (added == VOCAB_COLLIDES)
            return error_set(r->err, LITHE_E_TOKENIZER, "tokenizer.json: %s: its pieces are made to collide", at->text);
        t->base.vocab.length[older] = 0; /* of two members with one name the last counts */
        done += stopped + 1;
    }
    return LITHE_OK;
}

static lithe_status set_piece(hf_tokenizer *t, const hf_reader *r, const hf_path *at, uint32_t id, bytes raw,
                              bool escaped, buffer *b)
{
    vocab *v = &t->base.vocab;
    if (v->length[id])
        return error_set(r->err, LITHE_E_TOKENIZER, "tokenizer.json: %s: two pieces have the id %u", at->text, id);
    if (!escaped) {
        vocab_set_borrowed(v, id, raw);
        return LITHE_OK;
    }
    bytes piece = plain_string(raw, true, b);
    if (buffer_failed(b))
        return error_memory(r->err, raw.size, "the vocabulary");
    return vocab_set_copied(v, id, piece, r->err);
}

static lithe_status fill_vocab(hf_tokenizer *t, const hf_reader *r, json_ref v, const hf_path *at)
{
    uint32_t ids[VOCAB_BATCH];
    size_t n = 0;
    buffer b;
    buffer_init(&b);
    lithe_status st = LITHE_OK;
    for (json_ref m = json_first(r->doc, v); m != JSON_NONE && !st; m = json_next(r->doc, m)) {
        int64_t id;
        bool escaped;
        bytes raw = json_key(r->doc, m, &escaped);
        json_i64(r->doc, m, &id);
        if (!raw.size)
            continue; /* an empty piece is never found */
        st = set_piece(t, r, at, (uint32_t)id, raw, escaped, &b);
        ids[n++] = (uint32_t)id;
        if (!st && n == VOCAB_BATCH) {
            st = index_batch(t, r, at, ids, n);
            n = 0;
        }
    }
    if (!st && n)
        st = index_batch(t, r, at, ids, n);
    buffer_fini(&b);
    return st;
}

/* Ids as the original gives them: the piece's if the model has it, else the next one behind all others. */
static lithe_status number_added(hf_tokenizer *t, const hf_reader *r, vocab_size size)
{
    vocab *v = &t->base.vocab;
    uint32_t largest = 0, ids = size.ids;
    bool any = false;
    lithe_status st = LITHE_OK;
    for (size_t i = 0; i < t->n_added && !st; i++) {
        hf_added *a = &t->added[i];
        a->id = vocab_index_find(&t->index, v, a->content);
        for (size_t k = 0; k < i && a->id < 0 && i < 4096; k++) {
            if (t->added[k].content.size == a->content.size &&
                !memcmp(t->added[k].content.data, a->content.data, a->content.size))
                a->id = t->added[k].id;
        }
        if (a->id < 0) {
            a->id = (int32_t)(any && largest >= size.count ? largest + 1 : (uint32_t)size.count);
            if (v->length[a->id]) {
                return error_set(r->err, LITHE_E_TOKENIZER,
                                 "tokenizer.json: added_tokens[%zu] would take the id %d, which another piece has", i,
                                 a->id);
            }
            st = vocab_set_copied(v, (uint32_t)a->id, a->content, r->err);
        }
        if (!any || (uint32_t)a->id > largest)
            largest = (uint32_t)a->id;
        any = true;
        if (largest >= ids)
            ids = largest + 1;
    }
    v->n = ids;
    return st;
}

/* ---- merges */

typedef struct merge_pair {
    bytes left, right;
} merge_pair;

typedef struct merge_work {
    buffer left, right, joined;
    int32_t last; /* piece that the merge before made */
} merge_work;

static bool read_pair(const hf_reader *r, json_ref v, merge_work *w, merge_pair *p)
{
    bool escaped;
    if (json_type(r->doc, v) == JSON_ARRAY) {
        json_ref a = json_first(r->doc, v), b = json_next(r->doc, a);
        if (json_count(r->doc, v) != 2 || json_type(r->doc, a) != JSON_STRING || json_type(r->doc, b) != JSON_STRING)
            return false;
        bytes raw = json_raw(r->doc, a, &escaped);
        p->left = plain_string(raw, escaped, &w->left);
        raw = json_raw(r->doc, b, &escaped);
        p->right = plain_string(raw, escaped, &w->right);
        return true;
    }
    if (json_type(r->doc, v) != JSON_STRING)
        return false;
    bytes raw = json_raw(r->doc, v, &escaped), line = plain_string(raw, escaped, &w->left);
    const uint8_t *space = line.size ? memchr(line.data, ' ', line.size) : NULL;
    if (!space)
        return false;
    p->left = (bytes){line.data, (size_t)(space - line.data)};
    p->right = (bytes){space + 1, line.size - p->left.size - 1};
    return !p->right.size || !memchr(p->right.data, ' ', p->right.size);
}

static lithe_status unknown_piece(const hf_reader *r, size_t i, bytes piece)
{
    return error_set(r->err, LITHE_E_TOKENIZER,
                     "tokenizer.json: model.merges[%zu] names \"%.*s\", which is not in model.vocab", i,
                     (int)(piece.size < 60 ? piece.size : 60), (const char *)piece.data);
}

/* The piece that two make, -1. Trained vocabularies list pieces in the order of their merges: the one behind the last is tried first. */
static int32_t joined_piece(const hf_tokenizer *t, bytes left, bytes right, merge_work *w)
{
    const vocab *v = &t->base.vocab;
    if ((uint32_t)w->last + 1 < v->n) {
        bytes next = vocab_piece(v, (uint32_t)w->last + 1);
        if (next.size && next.size == left.size + right.size && !memcmp(next.data, left.data, left.size) &&
            !memcmp(next.data + left.size, right.data, right.size) && (size_t)w->last + 1 < t->n_model_ids) {
            return w->last + 1;
        }
    }
    w->joined.size = 0;
    buffer_append(&w->joined, left.data, left.size);
    buffer_append(&w->joined, right.data, right.size);
    return buffer_failed(&w->joined) ? -1 : vocab_index_find(&t->index, v, (bytes){w->joined.data, w->joined.size});
}

static lithe_status add_merge(hf_tokenizer *t, const hf_reader *r, size_t i, const merge_pair *p, merge_work *w)
{
    hf_bpe *m = &t->bpe;
    int32_t left = vocab_index_find(&t->index, &t->base.vocab, p->left),
            right = vocab_index_find(&t->index, &t->base.vocab, p->right);
    if (left < 0)
        return unknown_piece(r, i, p->left);
    if (right < 0)
        return unknown_piece(r, i, p->right);
    if (p->right.size < m->prefix.size)
        return unknown_piece(r, i, p->right);
    bytes tail = {p->right.data + m->prefix.size, p->right.size - m->prefix.size};
    int32_t id = joined_piece(t, p->left, tail, w);
    if (buffer_failed(&w->joined))
        return error_memory(r->err, p->left.size + p->right.size, "merges");
    if (id < 0)
        return unknown_piece(r, i, (bytes){w->joined.data, w->joined.size});
    w->last = id;
    uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    size_t at = hf_merge_hash(pair) & m->merge_mask;
    for (int probes = 0; m->merges[at].rank != UINT32_MAX && m->merges[at].pair != pair;
         at = (at + 1) & m->merge_mask) {
        if (++probes > MAX_PROBES)
            return error_set(r->err, LITHE_E_TOKENIZER, "tokenizer.json: model.merges: its pairs are made to collide");
    }
    m->merges[at] = (hf_merge){pair, (uint32_t)i, (uint32_t)id}; /* of two that are the same the last counts */
    return LITHE_OK;
}

static bool is_version_line(const hf_reader *r, json_ref v)
{
    bool escaped;
    bytes raw = json_type(r->doc, v) == JSON_STRING ? json_raw(r->doc, v, &escaped) : (bytes){NULL, 0};
    return raw.size >= 8 && memcmp(raw.data, "#version", 8) == 0;
}

static lithe_status read_merges(hf_tokenizer *t, const hf_reader *r, json_ref list)
{
    hf_path at = {"model.merges"};
    if (json_type(r->doc, list) != JSON_ARRAY)
        return hf_damaged(r, &at, "an array");
    size_t n = json_count(r->doc, list), n_slots = 16, i = 0, line = 0;
    while (n_slots / 2 <= n)
        n_slots *= 2;
    t->bpe.merges = malloc(n_slots * sizeof *t->bpe.merges);
    t->bpe.merge_mask = n_slots - 1;
    if (!t->bpe.merges)
        return error_memory(r->err, n_slots * sizeof *t->bpe.merges, "merges");
    memset(t->bpe.merges, 0xff, n_slots * sizeof *t->bpe.merges);
    merge_work w = {.last = -1};
    lithe_status st = LITHE_OK;
    for (json_ref v = json_first(r->doc, list); v != JSON_NONE && !st; v = json_next(r->doc, v), line++) {
        merge_pair p;
        if (is_version_line(r, v))
            continue;
        if (read_pair(r, v, &w, &p)) {
            st = add_merge(t, r, i++, &p, &w);
        } else {
            hf_path q = hf_path_element(&at, line);
            st = hf_damaged(r, &q, "two pieces (\"a b\" or [\"a\", \"b\"])");
        }
    }
    if (buffer_failed(&w.left) || buffer_failed(&w.right))
        st = error_memory(r->err, 4096, "merges");
    buffer_fini(&w.left);
    buffer_fini(&w.right);
    buffer_fini(&w.joined);
    return st;
}

/* ---- the rest */

static void fill_tables(hf_tokenizer *t)
{
    for (uint32_t c = 0; c < HF_CHAR_IDS; c++) {
        uint8_t encoded[2] = {(uint8_t)(c < 0x80 ? c : 0xc0 | c >> 6), (uint8_t)(0x80 | (c & 63))};
        t->bpe.char_ids[c] = vocab_index_find(&t->index, &t->base.vocab, (bytes){encoded, c < 0x80 ? 1 : 2});
    }
    for (unsigned b = 0; b < 256; b++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", b);
        t->bpe.byte_ids[b] = vocab_index_find(&t->index, &t->base.vocab, (bytes){(const uint8_t *)name, 6});
    }
}

static bool is_set(const hf_reader *r, json_ref v)
{
    return json_type(r->doc, v) != JSON_MISSING && json_type(r->doc, v) != JSON_NULL;
}

/* A string that may be missing or null: then its size is 0. */
static lithe_status read_optional(const hf_reader *r, json_ref model, const char *name, bytes *out)
{
    hf_path at = {"model"}, p = hf_path_member(&at, name);
    *out = (bytes){NULL, 0};
    if (!is_set(r, json_get(r->doc, model, name)))
        return LITHE_OK;
    lithe_status st = hf_read_string(r, model, &at, name, out);
    return !st && out->size > PREFIX_SET_MAX_BYTES ? hf_unsupported(r, &p, "so long a string") : st;
}

static lithe_status read_flags(hf_tokenizer *t, const hf_reader *r, json_ref model)
{
    hf_path at = {"model"}, dropout = {"model.dropout"};
    double rate = 0;
    if (is_set(r, json_get(r->doc, model, "dropout")) &&
        (!json_f64(r->doc, json_get(r->doc, model, "dropout"), &rate) || rate != 0)) {
        return hf_unsupported(r, &dropout, "dropout (encoding at random)");
    }
    lithe_status st = hf_read_bool(r, model, &at, "fuse_unk", 0, &t->bpe.fuse_unknown);
    if (!st)
        st = hf_read_bool(r, model, &at, "byte_fallback", 0, &t->bpe.byte_fallback);
    if (!st)
        st = hf_read_bool(r, model, &at, "ignore_merges", 0, &t->bpe.ignore_merges);
    if (!st)
        st = read_optional(r, model, "continuing_subword_prefix", &t->bpe.prefix);
    if (!st)
        st = read_optional(r, model, "end_of_word_suffix", &t->bpe.suffix);
    return st;
}

static lithe_status read_unknown(hf_tokenizer *t, const hf_reader *r, json_ref model)
{
    bytes unknown;
    lithe_status st = read_optional(r, model, "unk_token", &unknown);
    t->bpe.unknown = HF_NO_UNKNOWN;
    if (st || !is_set(r, json_get(r->doc, model, "unk_token")))
        return st;
    t->bpe.unknown = vocab_index_find(&t->index, &t->base.vocab, unknown);
    if (t->bpe.unknown < 0)
        t->bpe.unknown = HF_UNKNOWN_MISSING;
    return LITHE_OK;
}

/* Long pieces would make every position of a text slow. */
static lithe_status measure_pieces(hf_tokenizer *t, const hf_reader *r)
{
    hf_path at = {"model.vocab"};
    for (size_t id = 0; id < t->n_model_ids; id++) {
        if (t->base.vocab.length[id] > t->longest_piece)
            t->longest_piece = t->base.vocab.length[id];
    }
    return t->longest_piece > PREFIX_SET_MAX_BYTES ? hf_unsupported(r, &at, "a piece of more than 1024 bytes")
                                                   : LITHE_OK;
}

/* ---- the kinds of model */

static lithe_status init_vocab(hf_tokenizer *t, const hf_reader *r, vocab_size size)
{
    t->n_model_ids = size.ids;
    lithe_status st = vocab_init(&t->base.vocab, t->base.vocab.text, size.ids + (uint32_t)t->n_added, r->err);
    return st ? st : vocab_index_init(&t->index, size.count, r->err);
}

static lithe_status read_vocab(hf_tokenizer *t, const hf_reader *r, json_ref model)
{
    hf_path at = {"model.vocab"};
    json_ref pieces = json_get(r->doc, model, "vocab");
    vocab_size size = {0, 0};
    lithe_status st = measure_vocab(r, pieces, &at, &size);
    if (!st)
        st = init_vocab(t, r, size);
    if (!st)
        st = fill_vocab(t, r, pieces, &at);
    if (!st)
        st = number_added(t, r, size);
    if (!st)
        st = read_flags(t, r, model);
    if (!st)
        st = read_unknown(t, r, model);
    return st;
}

static lithe_status read_bpe(hf_tokenizer *t, const hf_reader *r, json_ref model)
{
    t->word = hf_bpe_word;
    t->base.kind = "hf-bpe";
    lithe_status st = read_vocab(t, r, model);
    if (!st)
        st = read_merges(t, r, json_get(r->doc, model, "merges"));
    if (!st)
        fill_tables(t);
    return st;
}

static lithe_status read_wordpiece(hf_tokenizer *t, const hf_reader *r, json_ref model)
{
    hf_path at = {"model"};
    t->word = hf_wordpiece_word;
    t->base.kind = "hf-wordpiece";
    lithe_status st = read_vocab(t, r, model);
    t->longest_word = 100;
    if (!st && is_set(r, json_get(r->doc, model, "max_input_chars_per_word"))) {
        st = hf_read_count(r, model, &at, "max_input_chars_per_word", &t->longest_word);
    }
    return st ? st : measure_pieces(t, r);
}

/* One of Unigram's pieces: ["▁the", -3.2]. */
static bool read_scored(const hf_reader *r, json_ref v, json_ref *piece, double *score)
{
    if (json_type(r->doc, v) != JSON_ARRAY || json_count(r->doc, v) != 2)
        return false;
    *piece = json_first(r->doc, v);
    return json_type(r->doc, *piece) == JSON_STRING && json_f64(r->doc, json_next(r->doc, *piece), score);
}

static lithe_status fill_scored(hf_tokenizer *t, const hf_reader *r, json_ref list, const hf_path *at)
{
    buffer b;
    buffer_init(&b);
    uint32_t id = 0;
    lithe_status st = LITHE_OK;
    t->min_score = INFINITY;
    for (json_ref v = json_first(r->doc, list); v != JSON_NONE && !st; v = json_next(r->doc, v), id++) {
        json_ref piece;
        bool escaped;
        int32_t older = -1;
        if (!read_scored(r, v, &piece, &t->scores[id])) {
            hf_path p = hf_path_element(at, id);
            st = hf_damaged(r, &p, "a piece and its score ([\"a\", -1.5])");
            break;
        }
        if (t->scores[id] < t->min_score)
            t->min_score = t->scores[id];
        bytes raw = json_raw(r->doc, piece, &escaped);
        if (!raw.size)
            continue;
        st = set_piece(t, r, at, id, raw, escaped, &b);
        vocab_added added = st ? VOCAB_ADDED : vocab_index_add(&t->index, &t->base.vocab, id, &older);
        if (added == VOCAB_NO_MEMORY)
            st = error_memory(r->err, vocab_index_memory(&t->index) * 2, "the vocabulary's index");
        if (added == VOCAB_COLLIDES)
            st = error_set(r->err, LITHE_E_TOKENIZER, "tokenizer.json: %s: its pieces are made to collide", at->text);
    }
    buffer_fini(&b);
    return st;
}

static lithe_status read_unigram(hf_tokenizer *t, const hf_reader *r, json_ref model)
{
    hf_path at = {"model"}, vocab_at = {"model.vocab"}, unknown_at = {"model.unk_id"};
    json_ref list = json_get(r->doc, model, "vocab");
    t->word = hf_unigram_word;
    t->base.kind = "hf-unigram";
    if (json_type(r->doc, list) != JSON_ARRAY)
        return hf_damaged(r, &vocab_at, "an array of pieces and scores");
    size_t n = json_count(r->doc, list), unknown = 0;
    if (n >= VOCAB_MAX_PIECES / 2)
        return too_many(r, &vocab_at, (long long)n);
    vocab_size size = {n, (uint32_t)n};
    lithe_status st = init_vocab(t, r, size);
    if (st)
        return st;
    t->scores = malloc((n + 1) * sizeof *t->scores);
    if (!t->scores)
        return error_memory(r->err, (n + 1) * sizeof *t->scores, "the vocabulary's scores");
    st = fill_scored(t, r, list, &vocab_at);
    t->bpe.unknown = HF_NO_UNKNOWN;
    if (!st && is_set(r, json_get(r->doc, model, "unk_id"))) {
        st = hf_read_count(r, model, &at, "unk_id", &unknown);
        if (!st && unknown >= n)
            st = hf_damaged(r, &unknown_at, "the place of a piece");
        t->bpe.unknown = (int32_t)unknown;
    }
    if (!st)
        st = hf_read_bool(r, model, &at, "byte_fallback", 0, &t->bpe.byte_fallback);
    if (!st)
        st = number_added(t, r, size);
    if (!st)
        st = measure_pieces(t, r);
    if (!st)
        fill_tables(t);
    return st;
}

typedef struct model_kind {
    const char *type;
    lithe_status (*read)(hf_tokenizer *t, const hf_reader *r, json_ref model);
} model_kind;
static const model_kind model_kinds[] = {{"BPE", read_bpe}, {"WordPiece", read_wordpiece}, {"Unigram", read_unigram}};

lithe_status hf_model_read(hf_tokenizer *t, const hf_reader *r, json_ref model)
{
    hf_path at = {"model"};
    if (json_type(r->doc, model) != JSON_OBJECT)
        return hf_damaged(r, &at, "an object");
    json_ref type = json_get(r->doc, model, "type");
    if (json_type(r->doc, type) == JSON_MISSING)
        return read_bpe(t, r, model);
    for (size_t i = 0; i < sizeof model_kinds / sizeof *model_kinds; i++) {
        if (json_equals(r->doc, type, model_kinds[i].type))
            return model_kinds[i].read(t, r, model);
    }
    bytes name;
    char what[80];
    lithe_status st = hf_read_string(r, model, &at, "type", &name);
    if (st)
        return st;
    snprintf(what, sizeof what, "the model type %.50s", (const char *)name.data);
    return hf_unsupported(r, &at, what);
}
