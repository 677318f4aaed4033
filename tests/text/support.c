#include "text/support.h"

#include "base/file.h"
#include "base/protowire.h"
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

bytes text_of(const char *s)
{
    return (bytes){(const uint8_t *)s, strlen(s)};
}

static lithe_status open_bytes(tokenizer **t, bytes data, const char *format, lithe_error *err)
{
    if (!strcmp(format, "sentencepiece"))
        return tokenizer_open_sentencepiece(t, data, err);
    return !strcmp(format, "hf_zlib") ? tokenizer_open_hf_zlib(t, data, err) : tokenizer_open_hf(t, data, err);
}

opened open_file(const char *path, const char *format)
{
    opened o = {0};
    lithe_error err;
    if (file_read_all(path, 1 << 26, &o.data, &o.size, &err))
        fail_msg("%s", err.message);
    if (open_bytes(&o.t, (bytes){o.data, o.size}, format, &err))
        fail_msg("%s: %s", path, err.message);
    return o;
}

opened open_hf_text(const char *json)
{
    opened o = {0};
    lithe_error err;
    o.size = strlen(json);
    o.data = malloc(o.size);
    memcpy(o.data, json, o.size);
    if (tokenizer_open_hf(&o.t, (bytes){o.data, o.size}, &err))
        fail_msg("%s", err.message);
    return o;
}

void opened_close(opened *o)
{
    tokenizer_close(o->t);
    free(o->data);
    *o = (opened){0};
}

lithe_error refused(bytes data, const char *format)
{
    lithe_error err = {0};
    tokenizer *t = NULL;
    if (!open_bytes(&t, data, format, &err))
        fail_msg("the tokenizer was opened");
    assert_null(t);
    assert_true(strlen(err.message) > 20);
    return err;
}

lithe_error refused_hf(const char *json)
{
    return refused(text_of(json), "hf");
}

token_list encoded(const tokenizer *t, bytes text, bool special)
{
    token_list l = {0};
    lithe_error err;
    if (tokenizer_encode(t, text, special, &l, &err))
        fail_msg("%s", err.message);
    return l;
}

static const char *spelled_ids(const tokenizer *t, const char *text, bool special)
{
    static char s[4096];
    size_t n = 0;
    token_list l = encoded(t, text_of(text), special);
    s[0] = 0;
    for (size_t i = 0; i < l.n && n < sizeof s - 16; i++)
        n += (size_t)snprintf(s + n, sizeof s - n, "%s%d", i ? " " : "", l.ids[i]);
    token_list_fini(&l);
    return s;
}

const char *ids_of(const tokenizer *t, const char *text)
{
    return spelled_ids(t, text, false);
}
const char *ids_of_special(const tokenizer *t, const char *text)
{
    return spelled_ids(t, text, true);
}

buffer decoded(const tokenizer *t, const int32_t *ids, size_t n, bool special, bool at_start)
{
    buffer b;
    buffer_init(&b);
    token_stream *s;
    lithe_error err;
    bytes part;
    if (token_stream_create(&s, t, special, at_start, &err))
        fail_msg("%s", err.message);
    for (size_t i = 0; i <= n; i++) {
        if (i < n ? token_stream_push(s, ids[i], &part, &err) : token_stream_finish(s, &part, &err))
            fail_msg("%s", err.message);
        if (part.size && !utf8_valid(part.data, part.size))
            fail_msg("ill-formed text after %zu of %zu tokens", i + 1, n);
        buffer_append(&b, part.data, part.size);
    }
    token_stream_destroy(s);
    buffer_append(&b, "", 1);
    b.size--;
    return b;
}

static void write_piece(buffer *model, const char *text, float score, int type)
{
    buffer p;
    buffer_init(&p);
    wire_write_bytes(&p, 1, text, strlen(text));
    wire_write_f32(&p, 2, score);
    if (type)
        wire_write_varint(&p, 3, (uint64_t)type);
    wire_write_bytes(model, 1, p.data, p.size);
    buffer_fini(&p);
}

buffer sp_write(const piece_row *rows, size_t n, const sp_knobs *k)
{
    buffer model, part;
    buffer_init(&model);
    buffer_init(&part);
    for (size_t i = 0; i < n; i++)
        write_piece(&model, rows[i].text, rows[i].score, rows[i].type);
    for (unsigned b = 0; b < 256 && k->byte_fallback; b++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", b);
        write_piece(&model, name, 0, 6);
    }
    if (k->model_type)
        wire_write_varint(&part, 3, (uint64_t)k->model_type);
    if (k->suffix)
        wire_write_varint(&part, 24, 1);
    if (k->byte_fallback)
        wire_write_varint(&part, 35, 1);
    wire_write_bytes(&model, 2, part.data, part.size);
    part.size = 0;
    if (k->charsmap)
        wire_write_bytes(&part, 2, k->charsmap, k->charsmap_bytes);
    if (k->dummy_prefix >= 0)
        wire_write_varint(&part, 3, (uint64_t)k->dummy_prefix);
    if (k->remove_whitespaces >= 0)
        wire_write_varint(&part, 4, (uint64_t)k->remove_whitespaces);
    if (k->escape_whitespaces >= 0)
        wire_write_varint(&part, 5, (uint64_t)k->escape_whitespaces);
    wire_write_bytes(&model, 3, part.data, part.size);
    buffer_fini(&part);
    return model;
}

opened sp_open(const piece_row *rows, size_t n, const sp_knobs *k)
{
    buffer b = sp_write(rows, n, k);
    opened o = {NULL, b.data, b.size};
    lithe_error err;
    if (tokenizer_open_sentencepiece(&o.t, (bytes){b.data, b.size}, &err))
        fail_msg("%s", err.message);
    return o;
}
