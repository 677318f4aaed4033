/* Incremental detokenising: what is alike for all kinds. */
#include "text/kind.h"

#include "base/utf8.h"

#include <stdlib.h>

lithe_status token_stream_create(token_stream **out, const tokenizer *t, bool special, bool at_start, lithe_error *err)
{
    token_stream *s = calloc(1, sizeof *s);
    if (!s)
        return error_memory(err, sizeof *s, "a token stream");
    s->tokenizer = t;
    s->special = special;
    s->at_start = at_start;
    s->any_token = !at_start;
    buffer_init(&s->out);
    buffer_init(&s->held);
    t->ops->stream_begin(t, s);
    *out = s;
    return LITHE_OK;
}

void token_stream_destroy(token_stream *s)
{
    if (!s)
        return;
    buffer_fini(&s->out);
    buffer_fini(&s->held);
    free(s);
}

static lithe_status finish_call(token_stream *s, bytes *text, lithe_error *err)
{
    if (buffer_failed(&s->out) || buffer_failed(&s->held))
        return error_memory(err, s->out.size + s->held.size, "text of tokens");
    *text = (bytes){s->out.data, s->out.size};
    return LITHE_OK;
}

lithe_status token_stream_push(token_stream *s, int32_t id, bytes *text, lithe_error *err)
{
    s->out.size = 0;
    if (tokenizer_piece(s->tokenizer, id).size)
        s->tokenizer->ops->stream_push(s, id);
    return finish_call(s, text, err);
}

lithe_status token_stream_finish(token_stream *s, bytes *text, lithe_error *err)
{
    s->out.size = 0;
    s->tokenizer->ops->stream_end(s);
    return finish_call(s, text, err);
}

void stream_release_utf8(token_stream *s, bool end)
{
    if (buffer_failed(&s->held) || !s->held.size)
        return;
    size_t ready = end ? s->held.size : utf8_complete_prefix(s->held.data, s->held.size);
    size_t used, plain = 0;
    uint32_t c;
    for (size_t i = 0; i < ready; i += used) {
        if (utf8_next(s->held.data + i, ready - i, &c, &used))
            continue;
        buffer_append(&s->out, s->held.data + plain, i - plain);
        buffer_append(&s->out, REPLACEMENT, 3);
        plain = i + used;
    }
    buffer_append(&s->out, s->held.data + plain, ready - plain);
    size_t left = s->held.size - ready;
    if (left)
        memmove(s->held.data, s->held.data + ready, left);
    s->held.size = left;
}
