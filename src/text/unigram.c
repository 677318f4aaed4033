/* The unigram algorithm: the segmentation of highest total log probability, found from left to right (Viterbi). Sums are made in the
 * widths of the original, so that ties fall the same way. */
#include "text/sp.h"

#include <stdlib.h>

/* How much less likely than the least likely piece an unknown character is. */
static const float UNKNOWN_PENALTY = 10.0f;

/* The best path that ends at a position of the text. */
typedef struct best_end {
    int32_t id;
    float score;
    uint32_t start; /* of its last piece; NO_PATH: none ends here */
} best_end;
#define NO_PATH UINT32_MAX

static void offer(best_end *end, float score, uint32_t start, int32_t id)
{
    if (end->start != NO_PATH && !(score > end->score))
        return;
    *end = (best_end){id, score, start};
}

static float piece_score(const sp_model *m, int32_t id, size_t length)
{
    if (m->types[id] == SP_USER_DEFINED)
        return (float)((double)((float)length * m->max_score) - 0.1); /* so that it always wins */
    return m->scores[id];
}

/* Offers all pieces that begin at `start`, and the unknown one if no piece is its first character. */
static void extend(const sp_model *m, bytes text, uint32_t start, best_end *ends)
{
    const vocab *v = &m->base.vocab;
    const uint8_t *p = text.data + start;
    size_t left = text.size - start, longest = left < m->max_piece ? left : m->max_piece;
    size_t first = utf8_length(p, left), blocks = 0;
    float here = ends[start].score;
    uint64_t hash = VOCAB_HASH_SEED;
    bool single = false;
    for (size_t n = first; n <= longest; n += utf8_length(p + n, left - n)) {
        for (; n - blocks >= 8; blocks += 8)
            hash = vocab_hash_block(hash, p + blocks);
        int32_t id =
            vocab_index_find_hashed(&m->pieces, v, (bytes){p, n}, vocab_hash_end(hash, p + blocks, n - blocks, n));
        if (id >= 0 && m->types[id] != SP_UNUSED) {
            offer(&ends[start + n], piece_score(m, id, n) + here, start, id);
            single |= n == first;
        }
        if (n == left)
            break;
    }
    if (!single)
        offer(&ends[start + first], m->min_score - UNKNOWN_PENALTY + here, start, m->unknown);
}

lithe_status sp_unigram_encode(const sp_model *m, bytes text, token_list *out, lithe_error *err)
{
    best_end *ends = malloc((text.size + 1) * sizeof *ends);
    if (!ends)
        return error_memory(err, (text.size + 1) * sizeof *ends, "tokenizing");
    for (size_t i = 0; i <= text.size; i++)
        ends[i] = (best_end){-1, 0, NO_PATH};
    for (size_t at = 0; at < text.size; at += utf8_length(text.data + at, text.size - at))
        extend(m, text, (uint32_t)at, ends);
    /* Turn the links of the best path around: each position's `start` becomes where the piece that begins there ends. */
    uint32_t end = (uint32_t)text.size, next = end;
    int32_t id = ends[end].id;
    while (end) {
        uint32_t start = ends[end].start;
        int32_t id_before = ends[start].id;
        ends[end].start = next;
        next = end;
        end = start;
        ends[next].id = id;
        id = id_before;
    }
    bool after_unknown = false;
    lithe_status st = LITHE_OK;
    for (uint32_t at = 0; at < text.size && !st; at = next) {
        next = at ? ends[at].start : next;
        st = sp_emit(m, (bytes){text.data + at, next - at}, ends[next].id, &after_unknown, out, err);
    }
    free(ends);
    return st;
}
