/* Tokenizers: text to ids and back, and incremental detokenising. SentencePiece models and Hugging Face tokenizer.json.
 * A tokenizer is immutable once opened: any thread. Opening makes no allocation per piece: offsets into the given bytes (or the
 * inflated text) and one hash table. What a file asks for that is not supported is refused at open, by name. */
#ifndef LITHE_TEXT_TOKENIZER_H
#define LITHE_TEXT_TOKENIZER_H

#include "base/bytes.h"
#include "base/error.h"

typedef struct tokenizer tokenizer;

/* A SentencePiece ModelProto. `model` is borrowed and must outlive the tokenizer. */
lithe_status tokenizer_open_sentencepiece(tokenizer **out, bytes model, lithe_error *err);
/* A tokenizer.json text, borrowed likewise. */
lithe_status tokenizer_open_hf(tokenizer **out, bytes json, lithe_error *err);
/* The bundle's compressed form: u64 size and a zlib stream (format.md section 2); the text is inflated and owned. Sizes over 1 GiB and
 * streams that do not match the announced size are errors. */
lithe_status tokenizer_open_hf_zlib(tokenizer **out, bytes section, lithe_error *err);
void tokenizer_close(tokenizer *t);

const char *tokenizer_kind(const tokenizer *t);    /* "sentencepiece-bpe", "sentencepiece-unigram", "hf-bpe", … */
uint32_t tokenizer_vocab_size(const tokenizer *t); /* largest id + 1 */
size_t tokenizer_memory(const tokenizer *t);       /* private bytes allocated */

typedef struct token_list {
    int32_t *ids;
    size_t n, capacity;
} token_list; /* zero-initialise; free with token_list_fini */
void token_list_fini(token_list *l);
lithe_status token_list_push(token_list *l, int32_t id, lithe_error *err);

/* Appends the ids of text, as the original's plain encode does (SentencePiece: Encode; tokenizer.json:
 * encode(add_special_tokens=False)). `special`: SentencePiece control pieces in the text become their ids too (for tokenizer.json the
 * added tokens always do, as in the original, and `special` changes nothing). Invalid UTF-8: U+FFFD per maximal ill-formed part. */
lithe_status tokenizer_encode(const tokenizer *t, bytes text, bool special, token_list *out, lithe_error *err);

/* Id of the piece spelled exactly so (control and added tokens too), -1 if none. */
int32_t tokenizer_piece_to_id(const tokenizer *t, bytes piece);
/* The piece's spelling; size 0 and data NULL for an id out of range. Borrowed. */
bytes tokenizer_piece(const tokenizer *t, int32_t id);
/* Bytes that the token stands for in running text ("▁" as space, byte pieces as their byte), at most `capacity` written; returns the
 * number needed. Control tokens give 0 unless `special`, then their spelling. */
size_t tokenizer_token_bytes(const tokenizer *t, int32_t id, bool special, uint8_t *out, size_t capacity);
bool tokenizer_is_control(const tokenizer *t, int32_t id);

/* Incremental detokenising. Emitted text is valid UTF-8: an incomplete character is held back; invalid bytes become U+FFFD per maximal
 * ill-formed part once they can no longer become valid. The concatenation of all emitted text equals decoding the whole list. */
typedef struct token_stream token_stream;
/* `special`: write control tokens' spelling. `at_start`: the text begins here, so the original's rule for a leading space (dummy
 * prefix) applies; false when continuing after a prompt. */
lithe_status token_stream_create(token_stream **out, const tokenizer *t, bool special, bool at_start, lithe_error *err);
void token_stream_destroy(token_stream *s);
/* Text that became complete: borrowed until the next call. */
lithe_status token_stream_push(token_stream *s, int32_t id, bytes *text, lithe_error *err);
/* The rest, incomplete bytes as U+FFFD; the stream is empty afterwards. */
lithe_status token_stream_finish(token_stream *s, bytes *text, lithe_error *err);

#endif
