/* SentencePiece ids to text. Byte pieces collect until they make characters; a byte that cannot becomes U+FFFD by itself, as in the
 * original. */
#include "text/sp.h"

#include "base/utf8.h"

/* A piece's text with space symbols as spaces. */
static void append_surface(bytes piece, buffer *out)
{
    size_t plain = 0;
    for (size_t i = 0; i + 3 <= piece.size; i++) {
        if (!is_space_symbol(piece.data + i, piece.size - i))
            continue;
        buffer_append(out, piece.data + plain, i - plain);
        buffer_append(out, " ", 1);
        plain = i + 3;
        i += 2;
    }
    buffer_append(out, piece.data + plain, piece.size - plain);
}

void sp_token_text(const tokenizer *t, int32_t id, buffer *out)
{
    const sp_model *m = (const sp_model *)t;
    bytes piece = vocab_piece(&t->vocab, (uint32_t)id);
    if (m->types[id] == SP_BYTE) {
        uint8_t byte = (uint8_t)byte_of_piece(piece);
        buffer_append(out, &byte, 1);
    } else if (id == m->unknown) {
        buffer_append(out, m->unknown_surface.data, m->unknown_surface.size);
    } else {
        append_surface(piece, out);
    }
}

/* Writes what the collected bytes already decide; all of it at the end of the run. */
static void release_bytes(token_stream *s, bool end)
{
    buffer *held = &s->held;
    size_t at = 0, used;
    uint32_t c;
    while (at < held->size) {
        if (utf8_next(held->data + at, held->size - at, &c, &used)) {
            buffer_append(&s->out, held->data + at, used);
        } else if (!end && used == held->size - at && utf8_complete_prefix(held->data + at, used) == 0) {
            break; /* may still become a character */
        } else {
            buffer_append(&s->out, REPLACEMENT, 3);
            used = 1;
        }
        s->at_start = false;
        at += used;
    }
    if (at && at < held->size)
        memmove(held->data, held->data + at, held->size - at);
    held->size -= at;
}

void sp_stream_begin(const tokenizer *t, token_stream *s)
{
    const sp_model *m = (const sp_model *)t;
    if (!m->spec.add_dummy_prefix && !m->spec.remove_extra_whitespaces)
        s->at_start = false;
}

void sp_stream_push(token_stream *s, int32_t id)
{
    const sp_model *m = (const sp_model *)s->tokenizer;
    bytes piece = vocab_piece(&s->tokenizer->vocab, (uint32_t)id);
    if (m->types[id] == SP_BYTE) {
        uint8_t byte = (uint8_t)byte_of_piece(piece);
        buffer_append(&s->held, &byte, 1);
        release_bytes(s, false);
        return;
    }
    release_bytes(s, true);
    if (m->types[id] == SP_CONTROL) {
        if (s->special)
            buffer_append(&s->out, piece.data, piece.size);
        return;
    }
    size_t before = s->out.size;
    bool stripped = s->at_start && id != m->unknown && is_space_symbol(piece.data, piece.size);
    if (stripped)
        append_surface((bytes){piece.data + 3, piece.size - 3}, &s->out);
    else
        sp_token_text(s->tokenizer, id, &s->out);
    /* One leading space goes; all of them where extra spaces are removed. */
    if ((stripped && !m->spec.remove_extra_whitespaces) || s->out.size > before)
        s->at_start = false;
}

void sp_stream_end(token_stream *s)
{
    release_bytes(s, true);
}
