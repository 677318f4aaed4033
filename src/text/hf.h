/* A Hugging Face tokenizer.json as opened: the module's own view of it. The order of the work: added tokens are found in the text, what
 * lies between is normalised, split by the pre-tokenizers, and each part merged by the model. */
#ifndef LITHE_TEXT_HF_H
#define LITHE_TEXT_HF_H

#include "base/arena.h"
#include "base/json.h"
#include "text/bpe.h"
#include "text/hf_regex.h"
#include "text/kind.h"
#include "text/prefix_set.h"
#include "text/sp.h"

/* ---- reading the description */

/* Where in the document a part stands, for errors: "pre_tokenizer.pretokenizers[1]". */
typedef struct hf_path {
    char text[96];
} hf_path;
hf_path hf_path_member(const hf_path *p, const char *name);
hf_path hf_path_element(const hf_path *p, size_t i);

typedef struct hf_reader {
    const json_doc *doc;
    arena *arena; /* of the tokenizer */
    lithe_error *err;
} hf_reader;

/* Errors: LITHE_E_UNSUPPORTED for a part of this name; LITHE_E_TOKENIZER for a member that is not what it must be. */
lithe_status hf_unsupported(const hf_reader *r, const hf_path *at, const char *what);
lithe_status hf_damaged(const hf_reader *r, const hf_path *at, const char *expected);
/* Members. The string is copied into the arena. */
lithe_status hf_read_string(const hf_reader *r, json_ref object, const hf_path *at, const char *name, bytes *out);
lithe_status hf_read_char(const hf_reader *r, json_ref object, const hf_path *at, const char *name, bytes *out);
lithe_status hf_read_bool(const hf_reader *r, json_ref object, const hf_path *at, const char *name, int fallback,
                          bool *out);
lithe_status hf_read_count(const hf_reader *r, json_ref object, const hf_path *at, const char *name, size_t *out);
/* Where the match ends that begins at `at`, below text.size. */
typedef size_t (*hf_scanner)(bytes text, size_t at);
/* For a pattern that is known to the letter; NULL otherwise. */
hf_scanner hf_scanner_of(bytes pattern);
/* {"String": …} or {"Regex": …} */
typedef struct hf_pattern {
    bytes literal;      /* data NULL: a regular expression */
    hf_scanner scanner; /* in place of the regular expression */
    hf_regex *regex;
} hf_pattern;
lithe_status hf_read_pattern(const hf_reader *r, json_ref object, const hf_path *at, hf_pattern *out);
void hf_pattern_fini(hf_pattern *p);
/* The next match at or after `from`: true and its range. Literals that are empty never match. */
lithe_status hf_pattern_find(const hf_pattern *p, bytes text, size_t from, bool *found, size_t *start, size_t *end,
                             lithe_error *err);

/* Calls `one` for a part, or for the members of its Sequence (named `list`), to any depth of at most 16. null: nothing. */
typedef lithe_status (*hf_part_fn)(void *user, const hf_reader *r, json_ref part, const char *type, const hf_path *at);
lithe_status hf_read_parts(const hf_reader *r, json_ref part, const hf_path *at, const char *list, hf_part_fn one,
                           void *user);

/* ---- normalising */

typedef enum hf_norm_kind {
    HF_NORM_NFC,
    HF_NORM_NFD,
    HF_NORM_NFKC,
    HF_NORM_NFKD,
    HF_NORM_LOWERCASE,
    HF_NORM_STRIP,
    HF_NORM_STRIP_ACCENTS,
    HF_NORM_PREPEND,
    HF_NORM_REPLACE,
    HF_NORM_BYTE_LEVEL,
    HF_NORM_BERT,
    HF_NORM_PRECOMPILED
} hf_norm_kind;
typedef struct hf_norm_step {
    hf_norm_kind kind;
    bool left, right;                    /* Strip */
    hf_pattern pattern;                  /* Replace */
    bytes content;                       /* Replace, Prepend */
    bool clean, chinese, accents, lower; /* Bert: each a thing it does */
    sp_charsmap rules;                   /* Precompiled */
} hf_norm_step;
enum { HF_MAX_STEPS = 16 };
typedef struct hf_normalizer {
    hf_norm_step steps[HF_MAX_STEPS];
    size_t n;
} hf_normalizer;
lithe_status hf_normalizer_read(hf_normalizer *n, const hf_reader *r, json_ref part);
void hf_normalizer_fini(hf_normalizer *n);
/* Precompiled: the rules are decoded into the arena. */
lithe_status hf_read_charsmap(const hf_reader *r, json_ref part, const hf_path *at, sp_charsmap *out);
void hf_apply_charsmap(const sp_charsmap *m, bytes text, buffer *out);
/* Bert's normalizer but for accents: control characters, spaces, room around Chinese characters. */
void hf_bert_clean(const hf_norm_step *s, bytes text, buffer *out);
/* *out is `text` itself if nothing applies, else a buffer's contents; a and b are scratch. */
lithe_status hf_normalize(const hf_normalizer *n, bytes text, buffer *a, buffer *b, bytes *out, lithe_error *err);

/* ---- pre-tokenizing */

typedef enum hf_behavior {
    HF_REMOVED,
    HF_ISOLATED,
    HF_MERGED_WITH_PREVIOUS,
    HF_MERGED_WITH_NEXT,
    HF_CONTIGUOUS
} hf_behavior;
typedef enum hf_pre_kind { HF_PRE_SPLIT, HF_PRE_CLASS, HF_PRE_BYTE_LEVEL, HF_PRE_METASPACE, HF_PRE_WORDS } hf_pre_kind;
typedef struct hf_pre_step {
    hf_pre_kind kind;
    hf_pattern pattern;           /* Split */
    bool (*in_class)(uint32_t c); /* Digits, Punctuation, WhitespaceSplit */
    hf_behavior behavior;
    bool invert;
    bool add_prefix_space, use_regex; /* ByteLevel */
    bytes replacement;                /* Metaspace; for splits by one character too */
    bool prepend_first, prepend_always, split;
} hf_pre_step;
typedef struct hf_pretokenizer {
    hf_pre_step steps[HF_MAX_STEPS];
    size_t n;
} hf_pretokenizer;
lithe_status hf_pretokenizer_read(hf_pretokenizer *p, const hf_reader *r, json_ref part);
void hf_pretokenizer_fini(hf_pretokenizer *p);

/* Receives the words from left to right. */
typedef lithe_status (*hf_word_fn)(void *user, bytes word, lithe_error *err);
/* Scratch of each step; zero-initialise. */
typedef struct hf_pre_work {
    buffer scratch[HF_MAX_STEPS], prefixed[HF_MAX_STEPS];
} hf_pre_work;
void hf_pre_work_fini(hf_pre_work *w);
/* at_origin: the text is the beginning of what was to be encoded. */
lithe_status hf_pretokenize(const hf_pretokenizer *p, bytes text, bool at_origin, hf_pre_work *w, hf_word_fn word,
                            void *user, lithe_error *err);

/* The characters by which ByteLevel writes bytes. */
uint32_t hf_char_of_byte(uint8_t byte);
int32_t hf_byte_of_char(uint32_t c); /* -1: none */
void hf_append_byte_level(bytes text, buffer *out);
/* End of the first word of text from `at` by GPT-2's pattern; at < text.size. */
size_t hf_gpt2_word(bytes text, size_t at);

/* ---- decoding */

typedef enum hf_dec_kind {
    HF_DEC_BYTE_LEVEL,
    HF_DEC_BYTE_FALLBACK,
    HF_DEC_FUSE,
    HF_DEC_REPLACE,
    HF_DEC_STRIP,
    HF_DEC_METASPACE,
    HF_DEC_WORDPIECE,
    HF_DEC_BPE
} hf_dec_kind;
typedef struct hf_dec_step {
    hf_dec_kind kind;
    hf_pattern pattern; /* Replace */
    bytes content;      /* Replace; Strip and Metaspace: one character */
    size_t start, stop; /* Strip */
    bool strips_first;  /* Metaspace */
    bool cleanup;       /* WordPiece; content: its mark of continuations */
} hf_dec_step;
/* Steps on single tokens; then bytes of byte pieces collect; then (after Fuse) spaces are stripped off the whole. */
typedef struct hf_decoder {
    hf_dec_step steps[HF_MAX_STEPS];
    size_t n;
    bool present;            /* without a decoder tokens are joined by spaces */
    bool byte_level;         /* the last step */
    bytes word_end;          /* BPEDecoder, the only step: its suffix, a space but at the very end */
    size_t byte_fallback_at; /* index of that step; n: none */
    bool fused;
    bytes strip; /* character stripped from the whole text, at most strip_start times at its start … */
    size_t strip_start, strip_stop; /* … and strip_stop times at its end */
} hf_decoder;
lithe_status hf_decoder_read(hf_decoder *d, const hf_reader *r, json_ref part);
void hf_decoder_fini(hf_decoder *d);

/* ---- the tokenizer */

typedef struct hf_merge {
    uint64_t pair;     /* left id << 32 | right id */
    uint32_t rank, id; /* rank UINT32_MAX: an empty slot */
} hf_merge;

static inline size_t hf_merge_hash(uint64_t pair)
{
    uint64_t h = (pair ^ pair >> 32) * 0x9e3779b97f4a7c15u;
    return (size_t)((h ^ h >> 29) * 0xbf58476d1ce4e5b9u >> 20);
}

enum { HF_NO_UNKNOWN = -1, HF_UNKNOWN_MISSING = -2 };
enum { HF_CHAR_IDS = 512 }; /* ByteLevel's characters are all below */
typedef struct hf_bpe {
    hf_merge *merges; /* open addressing */
    size_t merge_mask;
    int32_t char_ids[HF_CHAR_IDS];
    int32_t byte_ids[256]; /* of <0xNN>, -1 */
    int32_t unknown;       /* HF_NO_UNKNOWN: unknown characters vanish; HF_UNKNOWN_MISSING: they are an error */
    bytes prefix, suffix;  /* continuing_subword_prefix, end_of_word_suffix */
    bool fuse_unknown, byte_fallback, ignore_merges;
} hf_bpe;

typedef struct hf_added {
    bytes content, spelled; /* as given; as the normalizer makes it, if it is looked for so */
    int32_t id;
    bool special, single_word, lstrip, rstrip, normalized;
} hf_added;

/* Of an added token's id: it is special; its text in running text is not its content but what the normalizer makes of it. */
enum { HF_SPECIAL = 1, HF_RESPELLED = 2 };

typedef struct hf_tokenizer {
    tokenizer base;
    arena arena;
    vocab_index index;  /* the model's pieces */
    size_t n_model_ids; /* their largest id + 1; ids behind are added tokens' */
    hf_word_fn word;    /* the model: bytes of its vocabulary and flags are in bpe, whatever it is */
    hf_bpe bpe;
    double *scores; /* Unigram: [n_model_ids] log probabilities */
    double min_score;
    size_t longest_piece; /* bytes */
    size_t longest_word;  /* WordPiece: characters; longer words are unknown */
    hf_added *added;      /* [n_added] */
    size_t n_added;
    prefix_set added_raw, added_normalized; /* values: indexes into added */
    prefix_set added_exact;                 /* by their contents */
    uint8_t *special;                       /* [n ids] HF_SPECIAL, HF_RESPELLED */
    hf_normalizer normalizer;
    hf_pretokenizer pretokenizer;
    hf_decoder decoder;
    size_t truncate; /* most ids of one text; 0: no limit */
    bool truncate_left;
} hf_tokenizer;

/* The model; the added tokens have been read and get their ids. */
lithe_status hf_model_read(hf_tokenizer *t, const hf_reader *r, json_ref model);
/* Puts what is found in texts into the sets; after the model and the normalizer. */
lithe_status hf_added_index(hf_tokenizer *t, lithe_error *err);
lithe_status hf_added_read(hf_tokenizer *t, const hf_reader *r, json_ref added);
/* What turns words into ids; scratch of the models. */
typedef struct hf_word_work {
    const hf_tokenizer *t;
    bpe_work merge;
    buffer scratch;
    token_list *out;
} hf_word_work;
/* Of unigram: the best path that ends at a position of the text, and its last piece. */
typedef struct hf_path_end {
    double score;
    uint32_t start;
    int32_t id;
} hf_path_end;
/* Each an hf_word_fn; user: hf_word_work. */
lithe_status hf_bpe_word(void *user, bytes word, lithe_error *err);
lithe_status hf_wordpiece_word(void *user, bytes word, lithe_error *err);
lithe_status hf_unigram_word(void *user, bytes word, lithe_error *err);

lithe_status hf_encode(const tokenizer *t, bytes text, bool special, token_list *out, lithe_error *err);
void hf_token_text(const tokenizer *t, int32_t id, buffer *out);
void hf_stream_begin(const tokenizer *t, token_stream *s);
void hf_stream_push(token_stream *s, int32_t id);
void hf_stream_end(token_stream *s);

#endif
