/* Opening tokenizers, lists of ids and texts, for the tests of the module. */
#ifndef LITHE_TESTS_TEXT_SUPPORT_H
#define LITHE_TESTS_TEXT_SUPPORT_H

#include "base/buffer.h"
#include "base/json.h"
#include "text/tokenizer.h"

/* A tokenizer and the bytes it borrows. */
typedef struct opened {
    tokenizer *t;
    uint8_t *data;
    size_t size;
} opened;

/* By the names of the golden files: "sentencepiece", "hf", "hf_zlib". The file or bytes that cannot be opened fail the test. */
opened open_file(const char *path, const char *format);
opened open_hf_text(const char *json);
void opened_close(opened *o);
/* The error of what must not open. */
lithe_error refused(bytes data, const char *format);
lithe_error refused_hf(const char *json);

token_list encoded(const tokenizer *t, bytes text, bool special);
/* The ids of a string as "1 2 3" in a static buffer. */
const char *ids_of(const tokenizer *t, const char *text);
const char *ids_of_special(const tokenizer *t, const char *text);
/* The text of ids through a stream, whose parts must each be well-formed; a 0 follows. */
buffer decoded(const tokenizer *t, const int32_t *ids, size_t n, bool special, bool at_start);

bytes text_of(const char *s);

/* A SentencePiece model being written. */
typedef struct piece_row {
    const char *text;
    float score;
    int type; /* 0: not written (normal) */
} piece_row;
typedef struct sp_knobs {
    int model_type;                                           /* 0: not written */
    int dummy_prefix, remove_whitespaces, escape_whitespaces; /* -1: not written */
    bool byte_fallback;                                       /* also adds the 256 pieces, behind the others */
    bool suffix;
    const char *charsmap;
    size_t charsmap_bytes;
} sp_knobs;
#define SP_KNOBS_PLAIN                                                                                                 \
    ((sp_knobs){.model_type = 2, .dummy_prefix = 0, .remove_whitespaces = 0, .escape_whitespaces = -1})
buffer sp_write(const piece_row *rows, size_t n, const sp_knobs *knobs);
opened sp_open(const piece_row *rows, size_t n, const sp_knobs *knobs);

#endif
