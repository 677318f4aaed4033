/* WordPiece: from left to right the longest piece that fits; a word of which a part is no piece is one unknown token. */
#include "text/hf.h"

#include "base/utf8.h"

static size_t count_chars(bytes word)
{
    size_t n = 0;
    for (size_t i = 0; i < word.size; i++)
        n += (word.data[i] & 0xc0) != 0x80;
    return n;
}

/* The longest piece that the spelling, whose first `least` bytes are the mark of a continuation, begins with; *length its bytes. */
static int32_t longest_piece(const hf_tokenizer *t, bytes spelling, size_t least, size_t *length)
{
    size_t longest = spelling.size < t->longest_piece ? spelling.size : t->longest_piece, blocks = 0, used;
    uint64_t hash = VOCAB_HASH_SEED;
    int32_t found = -1;
    for (size_t n = least; n < longest;) {
        utf8_decode(spelling.data + n, spelling.size - n, &used);
        n += used;
        if (n > longest)
            break;
        for (; n - blocks >= 8; blocks += 8)
            hash = vocab_hash_block(hash, spelling.data + blocks);
        int32_t id = vocab_index_find_hashed(&t->index, &t->base.vocab, (bytes){spelling.data, n},
                                             vocab_hash_end(hash, spelling.data + blocks, n - blocks, n));
        if (id < 0)
            continue;
        found = id;
        *length = n;
    }
    return found;
}

static lithe_status push_unknown(const hf_word_work *w, lithe_error *err)
{
    if (w->t->bpe.unknown >= 0)
        return token_list_push(w->out, w->t->bpe.unknown, err);
    return error_set(err, LITHE_E_TOKENIZER,
                     "the text has a word that the tokenizer lacks, and its model.unk_token is not in its vocabulary");
}

lithe_status hf_wordpiece_word(void *user, bytes word, lithe_error *err)
{
    hf_word_work *w = user;
    const hf_tokenizer *t = w->t;
    if (word.size > t->longest_word && count_chars(word) > t->longest_word)
        return push_unknown(w, err);
    size_t mark = t->bpe.prefix.size, before = w->out->n, length = 0;
    lithe_status st = LITHE_OK;
    w->scratch.size = 0;
    buffer_append(&w->scratch, t->bpe.prefix.data, mark);
    buffer_append(&w->scratch, word.data, word.size);
    if (buffer_failed(&w->scratch))
        return error_memory(err, word.size + mark, "text to tokenize");
    for (size_t at = 0; at < word.size && !st;) {
        /* The mark is written before the rest of the word, over what is done already. */
        uint8_t *from = w->scratch.data + at + (at ? 0 : mark);
        size_t least = at ? mark : 0;
        if (at)
            memcpy(from, t->bpe.prefix.data, mark);
        int32_t id = longest_piece(t, (bytes){from, word.size - at + least}, least, &length);
        if (id < 0) {
            w->out->n = before;
            return push_unknown(w, err);
        }
        st = token_list_push(w->out, id, err);
        at += length - least;
    }
    return st;
}
