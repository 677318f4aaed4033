/* A SentencePiece model as opened: the module's own view of it. */
#ifndef LITHE_TEXT_SP_H
#define LITHE_TEXT_SP_H

#include "text/bpe.h"
#include "text/kind.h"
#include "text/prefix_set.h"

/* The wire values of ModelProto.SentencePiece.Type. */
enum sp_type { SP_NORMAL = 1, SP_UNKNOWN = 2, SP_CONTROL = 3, SP_USER_DEFINED = 4, SP_UNUSED = 5, SP_BYTE = 6 };

/* The normaliser's rules: a double-array trie from strings to offsets of zero-terminated replacements. */
typedef struct sp_charsmap {
    const uint8_t *units; /* 4 bytes each, not aligned; NULL: no rules */
    uint32_t n_units;
    bytes replacements; /* ends in a 0 */
} sp_charsmap;

typedef struct sp_spec {
    bool add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces;
    bool whitespace_as_suffix;
} sp_spec;

typedef struct sp_model {
    tokenizer base;
    bool unigram;
    vocab_index pieces;      /* normal, user-defined and unused ones: what text is made of */
    vocab_index reserved;    /* control, unknown and byte pieces */
    prefix_set user_defined; /* kept whole wherever they appear */
    prefix_set controls;
    uint8_t *types; /* [n] enum sp_type */
    union {
        uint32_t *ranks; /* [n] BPE: smaller merges first */
        float *scores;   /* [n] unigram: log probabilities */
    };
    float min_score, max_score; /* over normal pieces */
    size_t max_piece;           /* bytes of the longest piece that text is made of */
    int32_t unknown;
    int32_t byte_ids[256]; /* used if byte_fallback */
    bool byte_fallback;
    bool has_unused;
    bool words_apart; /* no piece has a space symbol behind another character: words can be merged one by one */
    bytes unknown_surface;
    sp_spec spec;
    sp_charsmap charsmap;
} sp_model;

/* Reads and checks precompiled_charsmap. */
lithe_status sp_charsmap_open(sp_charsmap *m, bytes blob, lithe_error *err);
/* The longest rule that the text begins with (or the shortest): *used its length, the replacement returned; *used 0: none. */
bytes sp_charsmap_find(const sp_charsmap *m, bytes text, bool shortest, size_t *used);
/* Appends the normalised text. */
lithe_status sp_normalize(const sp_model *m, bytes text, buffer *out, lithe_error *err);

/* A segmentation's pieces in order, for both algorithms. */
lithe_status sp_bpe_encode(const sp_model *m, bytes normalized, token_list *out, lithe_error *err);
lithe_status sp_unigram_encode(const sp_model *m, bytes normalized, token_list *out, lithe_error *err);
/* Appends the ids of one piece; an unknown one becomes bytes, or one unknown token for a run of them. */
lithe_status sp_emit(const sp_model *m, bytes piece, int32_t id, bool *after_unknown, token_list *out,
                     lithe_error *err);

/* Bytes of the character at the start of text[0 .. n), n > 0, by its first byte: pieces and rules may hold ill-formed text. */
static inline size_t utf8_length(const uint8_t *text, size_t n)
{
    size_t length = *text < 0xc0 ? 1 : *text < 0xe0 ? 2 : *text < 0xf0 ? 3 : 4;
    return length < n ? length : n;
}

lithe_status sp_encode(const tokenizer *t, bytes text, bool special, token_list *out, lithe_error *err);
void sp_token_text(const tokenizer *t, int32_t id, buffer *out);
void sp_stream_begin(const tokenizer *t, token_stream *s);
void sp_stream_push(token_stream *s, int32_t id);
void sp_stream_end(token_stream *s);

#endif
