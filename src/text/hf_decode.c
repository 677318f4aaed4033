/* The decoders of tokenizer.json, run token by token. What the original does to the whole text at once is done here as soon as no later
 * token can change it. */
#include "text/hf.h"

#include "base/utf8.h"

#include <stdio.h>

/* ---- reading */

static lithe_status read_byte_level(const hf_reader *r, json_ref part, const hf_path *at, hf_dec_step *s)
{
    (void)r, (void)part, (void)at;
    s->kind = HF_DEC_BYTE_LEVEL;
    return LITHE_OK;
}

static lithe_status read_byte_fallback(const hf_reader *r, json_ref part, const hf_path *at, hf_dec_step *s)
{
    (void)r, (void)part, (void)at;
    s->kind = HF_DEC_BYTE_FALLBACK;
    return LITHE_OK;
}

static lithe_status read_fuse(const hf_reader *r, json_ref part, const hf_path *at, hf_dec_step *s)
{
    (void)r, (void)part, (void)at;
    s->kind = HF_DEC_FUSE;
    return LITHE_OK;
}

static lithe_status read_replace(const hf_reader *r, json_ref part, const hf_path *at, hf_dec_step *s)
{
    s->kind = HF_DEC_REPLACE;
    lithe_status st = hf_read_pattern(r, part, at, &s->pattern);
    if (!st && s->pattern.literal.data && !s->pattern.literal.size)
        st = hf_unsupported(r, at, "replacing an empty string");
    return st ? st : hf_read_string(r, part, at, "content", &s->content);
}

static lithe_status read_strip(const hf_reader *r, json_ref part, const hf_path *at, hf_dec_step *s)
{
    s->kind = HF_DEC_STRIP;
    lithe_status st = hf_read_char(r, part, at, "content", &s->content);
    if (!st)
        st = hf_read_count(r, part, at, "start", &s->start);
    return st ? st : hf_read_count(r, part, at, "stop", &s->stop);
}

static lithe_status read_metaspace(const hf_reader *r, json_ref part, const hf_path *at, hf_dec_step *s)
{
    s->kind = HF_DEC_METASPACE;
    json_ref scheme = json_get(r->doc, part, "prepend_scheme");
    bool old_never = json_type(r->doc, json_get(r->doc, part, "add_prefix_space")) == JSON_FALSE;
    s->strips_first = !json_equals(r->doc, scheme, "never") && !old_never;
    return hf_read_char(r, part, at, "replacement", &s->content);
}

static lithe_status read_wordpiece(const hf_reader *r, json_ref part, const hf_path *at, hf_dec_step *s)
{
    s->kind = HF_DEC_WORDPIECE;
    lithe_status st = hf_read_string(r, part, at, "prefix", &s->content);
    return st ? st : hf_read_bool(r, part, at, "cleanup", -1, &s->cleanup);
}

static lithe_status read_bpe(const hf_reader *r, json_ref part, const hf_path *at, hf_dec_step *s)
{
    s->kind = HF_DEC_BPE;
    lithe_status st = hf_read_string(r, part, at, "suffix", &s->content);
    return st || s->content.size ? st : hf_unsupported(r, at, "an empty suffix");
}

typedef struct dec_name {
    const char *type;
    lithe_status (*read)(const hf_reader *r, json_ref part, const hf_path *at, hf_dec_step *s);
} dec_name;
static const dec_name names[] = {
    {"ByteLevel", read_byte_level},
    {"ByteFallback", read_byte_fallback},
    {"Fuse", read_fuse},
    {"Replace", read_replace},
    {"Strip", read_strip},
    {"Metaspace", read_metaspace},
    {"WordPiece", read_wordpiece},
    {"BPEDecoder", read_bpe},
};

/* Puts a step where it acts. Behind the point where all text is one string only stripping its ends can be done piece by piece. */
static lithe_status place(hf_decoder *d, const hf_reader *r, const hf_path *at, const hf_dec_step *s)
{
    if (d->word_end.size)
        return hf_unsupported(r, at, "a decoder behind BPEDecoder");
    if (s->kind == HF_DEC_BPE) {
        if (d->n || d->fused || d->byte_level)
            return hf_unsupported(r, at, "BPEDecoder behind another");
        d->word_end = s->content;
        return LITHE_OK;
    }
    if (s->kind == HF_DEC_FUSE) {
        d->fused = true;
        return LITHE_OK;
    }
    if (d->byte_level || (d->fused && (s->kind != HF_DEC_STRIP || d->strip.size)))
        return hf_unsupported(r, at, "this decoder behind Fuse or ByteLevel");
    if (d->fused) {
        d->strip = s->content;
        d->strip_start = s->start;
        d->strip_stop = s->stop;
        return LITHE_OK;
    }
    if (s->kind == HF_DEC_BYTE_LEVEL) {
        if (d->byte_fallback_at < d->n)
            return hf_unsupported(r, at, "ByteLevel behind ByteFallback");
        d->byte_level = true;
        return LITHE_OK;
    }
    if (s->kind == HF_DEC_BYTE_FALLBACK && d->byte_fallback_at < d->n)
        return hf_unsupported(r, at, "a second ByteFallback");
    if (d->n == HF_MAX_STEPS)
        return hf_unsupported(r, at, "a sequence of so many decoders");
    size_t none = d->byte_fallback_at == d->n;
    d->steps[d->n++] = *s;
    if (none && s->kind != HF_DEC_BYTE_FALLBACK)
        d->byte_fallback_at = d->n;
    return LITHE_OK;
}

static lithe_status read_step(void *user, const hf_reader *r, json_ref part, const char *type, const hf_path *at)
{
    hf_decoder *d = user;
    hf_dec_step s = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].type, type) != 0)
            continue;
        lithe_status st = names[i].read(r, part, at, &s);
        size_t before = d->n;
        if (!st)
            st = place(d, r, at, &s);
        if (d->n == before)
            hf_pattern_fini(&s.pattern);
        return st;
    }
    char what[80];
    snprintf(what, sizeof what, "the decoder %.50s", type);
    return hf_unsupported(r, at, what);
}

lithe_status hf_decoder_read(hf_decoder *d, const hf_reader *r, json_ref part)
{
    hf_path at = {"decoder"};
    d->present = json_type(r->doc, part) == JSON_OBJECT;
    return hf_read_parts(r, part, &at, "decoders", read_step, d);
}

void hf_decoder_fini(hf_decoder *d)
{
    for (size_t i = 0; i < d->n; i++)
        hf_pattern_fini(&d->steps[i].pattern);
    d->n = 0;
}

/* ---- steps on one token */

static bool starts_with(bytes text, size_t at, bytes what)
{
    return text.size - at >= what.size && memcmp(text.data + at, what.data, what.size) == 0;
}

static void replace_token(const hf_dec_step *s, bytes token, buffer *out)
{
    size_t at = 0, plain = 0, start, end;
    bool found = true;
    /* A pattern that exceeds its limits on one token leaves the rest of it as it is. */
    while (at <= token.size && hf_pattern_find(&s->pattern, token, at, &found, &start, &end, NULL) == LITHE_OK &&
           found) {
        buffer_append(out, token.data + plain, start - plain);
        buffer_append(out, s->content.data, s->content.size);
        plain = end;
        at = end + (end == start);
        while (at < token.size && (token.data[at] & 0xc0) == 0x80)
            at++;
    }
    buffer_append(out, token.data + plain, token.size - plain);
}

static bytes strip_token(const hf_dec_step *s, bytes token)
{
    size_t from = 0, to = token.size;
    for (size_t i = 0; i < s->start && starts_with(token, from, s->content); i++)
        from += s->content.size;
    for (size_t i = 0;
         i < s->stop && to - from >= s->content.size && starts_with(token, to - s->content.size, s->content); i++)
        to -= s->content.size;
    return (bytes){token.data + from, to - from};
}

static void metaspace_token(const hf_dec_step *s, bytes token, bool first, buffer *out)
{
    size_t plain = 0;
    for (size_t i = 0; i < token.size;) {
        if (!starts_with(token, i, s->content)) {
            i++;
            continue;
        }
        buffer_append(out, token.data + plain, i - plain);
        if (!first || !s->strips_first)
            buffer_append(out, " ", 1);
        i += s->content.size;
        plain = i;
    }
    buffer_append(out, token.data + plain, token.size - plain);
}

/* All of `from` in the text becomes `to`. */
static void replace_all(bytes text, bytes from, bytes to, buffer *out)
{
    size_t plain = 0;
    for (size_t i = 0; i < text.size;) {
        if (!starts_with(text, i, from)) {
            i++;
            continue;
        }
        buffer_append(out, text.data + plain, i - plain);
        buffer_append(out, to.data, to.size);
        plain = i += from.size;
    }
    buffer_append(out, text.data + plain, text.size - plain);
}

typedef struct tidying {
    const char *from, *to;
} tidying;
/* Done one behind the other to each token, as the original does. */
static const tidying tidyings[] = {
    {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},    {" n't", "n't"},
    {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
};

static bytes literal(const char *s)
{
    return (bytes){(const uint8_t *)s, strlen(s)};
}

static void wordpiece_token(const hf_dec_step *s, bytes token, bool first, buffer *out)
{
    buffer work[2] = {0};
    bool marked = !first && starts_with(token, 0, s->content);
    if (!first && !marked)
        buffer_append(&work[0], " ", 1);
    size_t mark = marked ? s->content.size : 0;
    buffer_append(&work[0], token.data + mark, token.size - mark);
    int at = 0;
    for (size_t i = 0; s->cleanup && i < sizeof tidyings / sizeof *tidyings; i++) {
        bytes from = literal(tidyings[i].from);
        if (work[at].size < from.size)
            continue;
        work[!at].size = 0;
        replace_all((bytes){work[at].data, work[at].size}, from, literal(tidyings[i].to), &work[!at]);
        at = !at;
    }
    buffer_append(out, work[at].data, work[at].size);
    out->failed |= buffer_failed(&work[0]) || buffer_failed(&work[1]);
    buffer_fini(&work[0]);
    buffer_fini(&work[1]);
}

/* Two buffers taken in turn. */
typedef struct token_work {
    buffer a, b;
} token_work;

/* Steps from .. to on one token; the result lies in the token itself or in w. *any_token: a token came before. */
static bytes run_steps(const hf_decoder *d, size_t from, size_t to, bytes token, bool *any_token, token_work *w)
{
    buffer *next = token.data == w->a.data && token.size ? &w->b : &w->a;
    for (size_t i = from; i < to; i++) {
        const hf_dec_step *s = &d->steps[i];
        if (s->kind == HF_DEC_STRIP) {
            token = strip_token(s, token);
            continue;
        }
        next->size = 0;
        if (s->kind == HF_DEC_REPLACE)
            replace_token(s, token, next);
        if (s->kind == HF_DEC_METASPACE) {
            metaspace_token(s, token, !*any_token, next);
            *any_token = true;
        }
        if (s->kind == HF_DEC_WORDPIECE) {
            wordpiece_token(s, token, !*any_token, next);
            *any_token = true;
        }
        token = (bytes){next->data, next->size};
        next = next == &w->a ? &w->b : &w->a;
    }
    return token;
}

static int hex_digit(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* The byte of "<0x0A>", as the original reads it: either case, and a sign before one digit. */
static int fallback_byte(bytes t)
{
    if (t.size != 6 || memcmp(t.data, "<0x", 3) != 0 || t.data[5] != '>')
        return -1;
    int high = t.data[3] == '+' ? 0 : hex_digit(t.data[3]), low = hex_digit(t.data[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* A token of byte characters as bytes; one with any other character as it is. */
static void append_bytes_of(bytes token, buffer *out)
{
    size_t used, before = out->size;
    for (size_t i = 0; i < token.size; i += used) {
        int32_t byte = hf_byte_of_char(utf8_decode(token.data + i, token.size - i, &used));
        if (byte < 0) {
            out->size = before;
            buffer_append(out, token.data, token.size);
            return;
        }
        uint8_t b = (uint8_t)byte;
        buffer_append(out, &b, 1);
    }
}

/* What the decoder is given for an id. */
static bytes spelling(const hf_tokenizer *t, int32_t id)
{
    bytes piece = vocab_piece(&t->base.vocab, (uint32_t)id);
    if (!(t->special[id] & HF_RESPELLED))
        return piece;
    int32_t added = prefix_set_find(&t->added_exact, piece);
    return added >= 0 ? t->added[added].spelled : piece;
}

void hf_token_text(const tokenizer *t, int32_t id, buffer *out)
{
    const hf_decoder *d = &((const hf_tokenizer *)t)->decoder;
    bytes token = spelling((const hf_tokenizer *)t, id);
    token_work w = {0};
    bool any = true;
    token = run_steps(d, 0, d->byte_fallback_at, token, &any, &w);
    int byte = d->byte_fallback_at < d->n ? fallback_byte(token) : -1;
    if (byte >= 0) {
        uint8_t b = (uint8_t)byte;
        buffer_append(out, &b, 1);
    } else {
        if (d->byte_fallback_at < d->n)
            token = run_steps(d, d->byte_fallback_at + 1, d->n, token, &any, &w);
        if (d->byte_level)
            append_bytes_of(token, out);
        else if (d->word_end.size)
            replace_all(token, d->word_end, literal(" "), out);
        else
            buffer_append(out, token.data, token.size);
    }
    buffer_fini(&w.a);
    buffer_fini(&w.b);
}

/* ---- the stream */

/* Text of the one string that all tokens make: strips its ends. */
static void append_fused(token_stream *s, const hf_decoder *d, bytes text)
{
    size_t at = 0;
    while (d->strip.size && s->at_start && s->stripped < d->strip_start && starts_with(text, at, d->strip) &&
           text.size > at) {
        at += d->strip.size;
        s->stripped++;
    }
    if (at == text.size)
        return;
    s->at_start = false;
    size_t end = text.size, trailing = 0;
    while (d->strip_stop && end - at >= d->strip.size && starts_with(text, end - d->strip.size, d->strip)) {
        end -= d->strip.size;
        trailing++;
    }
    if (end > at) {
        for (; s->trailing; s->trailing--)
            buffer_append(&s->out, d->strip.data, d->strip.size);
        buffer_append(&s->out, text.data + at, end - at);
    }
    s->trailing += trailing;
}

static void append_token(token_stream *s, const hf_decoder *d, bytes token, token_work *w)
{
    if (d->byte_fallback_at < d->n)
        token = run_steps(d, d->byte_fallback_at + 1, d->n, token, &s->any_token, w);
    if (!d->present && s->any_token)
        buffer_append(&s->out, " ", 1);
    s->any_token = true;
    if (d->byte_level) {
        append_bytes_of(token, &s->held);
        stream_release_utf8(s, false);
    } else {
        append_fused(s, d, token);
    }
}

/* A run of byte tokens is text if all of it is well formed; else each byte is a U+FFFD, as in the original. */
static void release_run(token_stream *s, const hf_decoder *d, token_work *w)
{
    buffer run = s->held;
    if (!run.size || d->byte_level)
        return;
    if (utf8_valid(run.data, run.size))
        append_token(s, d, (bytes){run.data, run.size}, w);
    else
        for (size_t i = 0; i < run.size; i++)
            append_token(s, d, (bytes){(const uint8_t *)REPLACEMENT, 3}, w);
    s->held.size = 0;
}

void hf_stream_begin(const tokenizer *t, token_stream *s)
{
    (void)t, (void)s;
}

void hf_stream_push(token_stream *s, int32_t id)
{
    const hf_tokenizer *t = (const hf_tokenizer *)s->tokenizer;
    const hf_decoder *d = &t->decoder;
    if (!s->special && t->special[id] == HF_SPECIAL)
        return;             /* the original compares spellings, so a respelled one stays */
    if (d->word_end.size) { /* what a word's end becomes depends on whether another token follows */
        replace_all((bytes){s->held.data, s->held.size}, d->word_end, literal(" "), &s->out);
        bytes piece = spelling(t, id);
        s->held.size = 0;
        buffer_append(&s->held, piece.data, piece.size);
        return;
    }
    token_work w = {0};
    bytes token = run_steps(d, 0, d->byte_fallback_at, spelling(t, id), &s->any_token, &w);
    int byte = d->byte_fallback_at < d->n ? fallback_byte(token) : -1;
    if (byte >= 0) {
        uint8_t b = (uint8_t)byte;
        buffer_append(&s->held, &b, 1);
    } else {
        token_work run = {0};
        release_run(s, d, &run);
        buffer_fini(&run.a);
        buffer_fini(&run.b);
        append_token(s, d, token, &w);
    }
    if (buffer_failed(&w.a) || buffer_failed(&w.b))
        s->out.failed = true;
    buffer_fini(&w.a);
    buffer_fini(&w.b);
}

void hf_stream_end(token_stream *s)
{
    const hf_decoder *d = &((const hf_tokenizer *)s->tokenizer)->decoder;
    token_work w = {0};
    if (d->word_end.size) {
        replace_all((bytes){s->held.data, s->held.size}, d->word_end, literal(""), &s->out);
        s->held.size = 0;
    }
    release_run(s, d, &w);
    if (d->byte_level)
        stream_release_utf8(s, true);
    for (size_t i = d->strip_stop; i < s->trailing; i++)
        buffer_append(&s->out, d->strip.data, d->strip.size);
    s->trailing = 0;
    buffer_fini(&w.a);
    buffer_fini(&w.b);
}
