/* What the kinds of tokenizer share, and what each must supply. */
#ifndef LITHE_TEXT_KIND_H
#define LITHE_TEXT_KIND_H

#include "text/tokenizer.h"
#include "text/vocab.h"

typedef struct tokenizer_kind_ops {
    void (*destroy)(tokenizer *t);
    size_t (*memory)(const tokenizer *t);
    /* text is well-formed UTF-8, not empty, below TEXT_MAX_BYTES */
    lithe_status (*encode)(const tokenizer *t, bytes text, bool special, token_list *out, lithe_error *err);
    int32_t (*piece_to_id)(const tokenizer *t, bytes piece);
    bool (*is_control)(const tokenizer *t, int32_t id); /* id has a piece */
    /* Appends what one token stands for in running text. */
    void (*token_text)(const tokenizer *t, int32_t id, buffer *out);
    /* Detokenising: appends to out what became complete. `last` without a token: the rest. */
    void (*stream_begin)(const tokenizer *t, token_stream *s);
    void (*stream_push)(token_stream *s, int32_t id);
    void (*stream_end)(token_stream *s);
} tokenizer_kind_ops;

struct tokenizer {
    const tokenizer_kind_ops *ops;
    const char *kind;
    vocab vocab;
    uint8_t *inflated; /* owned text of a compressed tokenizer, NULL otherwise */
    size_t inflated_bytes;
};

struct token_stream {
    const tokenizer *tokenizer;
    buffer out;      /* text that became complete */
    buffer held;     /* bytes whose text depends on what follows */
    bool special;    /* write control tokens */
    bool at_start;   /* no text yet: a leading space may go */
    bool any_token;  /* a token came (for decoders that treat the first one differently) */
    size_t stripped; /* characters stripped at the start so far */
    size_t trailing; /* characters held back that would be stripped at the end */
};

/* Positions in a text are 32-bit; normalising may grow it. */
enum { TEXT_MAX_BYTES = 1 << 29 };

lithe_status text_too_long(size_t size, lithe_error *err);

/* The part of held that can no longer change, as UTF-8, moves to out; with `end` all of it. U+FFFD per maximal ill-formed part. */
void stream_release_utf8(token_stream *s, bool end);

static inline bool is_space_symbol(const uint8_t *p, size_t n)
{
    return n >= 3 && p[0] == 0xe2 && p[1] == 0x96 && p[2] == 0x81;
}
#define SPACE_SYMBOL "\xe2\x96\x81"
#define REPLACEMENT  "\xef\xbf\xbd"

/* Byte that a piece like "<0x0A>" stands for, -1. */
int32_t byte_of_piece(bytes piece);

lithe_status hf_open(tokenizer **out, bytes json, lithe_error *err);

#endif
