/* The unigram algorithm as tokenizer.json means it: sums in double, and characters that no piece covers are fused. */
#include "text/hf.h"

#include "base/utf8.h"

#include <stdlib.h>

static const double UNKNOWN_PENALTY = 10;

#define NO_PATH UINT32_MAX

static void offer(hf_path_end *end, double score, uint32_t start, int32_t id)
{
    if (end->start != NO_PATH && !(score > end->score))
        return;
    *end = (hf_path_end){score, start, id};
}

static lithe_status no_unknown(lithe_error *err)
{
    return error_set(err, LITHE_E_TOKENIZER,
                     "the text has a character that the tokenizer lacks, and its model.unk_id is not set");
}

/* Offers all pieces that begin at `start`; false if a character is unknown and the model has no unknown piece. */
static bool extend(const hf_tokenizer *t, bytes text, size_t start, size_t first, hf_path_end *ends)
{
    const uint8_t *p = text.data + start;
    size_t left = text.size - start, longest = left < t->longest_piece ? left : t->longest_piece, blocks = 0, used;
    uint64_t hash = VOCAB_HASH_SEED;
    double here = ends[start].score;
    bool single = false;
    for (size_t n = first; n <= longest; n += used) {
        for (; n - blocks >= 8; blocks += 8)
            hash = vocab_hash_block(hash, p + blocks);
        int32_t id = vocab_index_find_hashed(&t->index, &t->base.vocab, (bytes){p, n},
                                             vocab_hash_end(hash, p + blocks, n - blocks, n));
        if (id >= 0) {
            offer(&ends[start + n], t->scores[id] + here, (uint32_t)start, id);
            single |= n == first;
        }
        if (n == left)
            break;
        utf8_decode(p + n, left - n, &used);
    }
    if (single)
        return true;
    hf_path_end *end = &ends[start + first];
    double score = t->min_score - UNKNOWN_PENALTY + here;
    if (t->bpe.unknown < 0)
        return end->start != NO_PATH && !(score > end->score);
    offer(end, score, (uint32_t)start, t->bpe.unknown);
    return true;
}

/* One stretch of the text: its piece, else bytes, else the unknown token. */
static lithe_status emit(const hf_word_work *w, bytes part, lithe_error *err)
{
    const hf_bpe *m = &w->t->bpe;
    int32_t id = vocab_index_find(&w->t->index, &w->t->base.vocab, part);
    bool as_bytes = id < 0 && m->byte_fallback;
    for (size_t i = 0; i < part.size && as_bytes; i++)
        as_bytes = m->byte_ids[part.data[i]] >= 0;
    lithe_status st = LITHE_OK;
    for (size_t i = 0; i < part.size && as_bytes && !st; i++)
        st = token_list_push(w->out, m->byte_ids[part.data[i]], err);
    if (as_bytes)
        return st;
    if (id < 0)
        id = m->unknown;
    return id < 0 ? no_unknown(err) : token_list_push(w->out, id, err);
}

/* Turns the links of the best path around: ends[i].start becomes where the piece that begins at i ends, ends[i].id that piece. */
static void turn_around(hf_path_end *ends, size_t size)
{
    uint32_t end = (uint32_t)size, next = NO_PATH;
    int32_t id = -1;
    for (;;) {
        hf_path_end here = ends[end];
        ends[end].start = next;
        ends[end].id = id;
        if (!end)
            return;
        next = end;
        id = here.id;
        end = here.start;
    }
}

lithe_status hf_unigram_word(void *user, bytes word, lithe_error *err)
{
    hf_word_work *w = user;
    size_t used;
    w->scratch.size = 0;
    buffer_fill(&w->scratch, 0, (word.size + 1) * sizeof(hf_path_end));
    if (buffer_failed(&w->scratch))
        return error_memory(err, (word.size + 1) * sizeof(hf_path_end), "tokenizing");
    hf_path_end *ends = (hf_path_end *)(void *)w->scratch.data;
    for (size_t i = 0; i <= word.size; i++)
        ends[i] = (hf_path_end){0, NO_PATH, -1};
    for (size_t at = 0; at < word.size; at += used) {
        utf8_decode(word.data + at, word.size - at, &used);
        if (!extend(w->t, word, at, used, ends))
            return no_unknown(err);
    }
    turn_around(ends, word.size);
    lithe_status st = LITHE_OK;
    int32_t unknown = w->t->bpe.unknown;
    for (size_t at = 0, end; at < word.size && !st; at = end) {
        end = ends[at].start;
        bool is_unknown = unknown >= 0 && ends[at].id == unknown;
        while (is_unknown && end < word.size && ends[end].id == unknown)
            end = ends[end].start;
        st = emit(w, (bytes){word.data + at, end - at}, err);
    }
    return st;
}
