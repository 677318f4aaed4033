/* What all tokenizers do alike: dispatch, well-formed input, compressed files, pieces. */
#include "text/tokenizer.h"

#include "base/utf8.h"
#include "text/kind.h"

#include <stdlib.h>
#include <zlib.h>

lithe_status text_too_long(size_t size, lithe_error *err)
{
    return error_set(err, LITHE_E_ARGUMENT,
                     "a text of %zu bytes is too long to tokenize at once; at most %d are supported", size,
                     TEXT_MAX_BYTES - 1);
}

int32_t byte_of_piece(bytes piece)
{
    static const char digits[] = "0123456789ABCDEF";
    if (piece.size != 6 || memcmp(piece.data, "<0x", 3) != 0 || piece.data[5] != '>')
        return -1;
    const char *high = memchr(digits, piece.data[3], 16), *low = memchr(digits, piece.data[4], 16);
    return high && low ? (int32_t)((high - digits) * 16 + (low - digits)) : -1;
}

lithe_status tokenizer_open_hf(tokenizer **out, bytes json, lithe_error *err)
{
    return hf_open(out, json, err);
}

/* Inflates exactly `size` bytes. */
static lithe_status inflate_all(bytes stream, uint8_t *to, size_t size, lithe_error *err)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)stream.data, .next_out = to};
    if (inflateInit(&z) != Z_OK)
        return error_memory(err, 1 << 16, "inflating the tokenizer");
    int rc = Z_OK;
    size_t in_left = stream.size, out_left = size;
    while (rc == Z_OK) {
        uInt in = z.avail_in = (uInt)(in_left < 1u << 30 ? in_left : 1u << 30);
        uInt room = z.avail_out = (uInt)(out_left < 1u << 30 ? out_left : 1u << 30);
        rc = inflate(&z, Z_NO_FLUSH);
        in_left -= in - z.avail_in;
        out_left -= room - z.avail_out;
        if (rc == Z_OK && in == z.avail_in && room == z.avail_out)
            rc = Z_BUF_ERROR;
    }
    const char *problem = z.msg;
    inflateEnd(&z);
    if (rc == Z_STREAM_END && !out_left)
        return LITHE_OK;
    if (rc == Z_MEM_ERROR)
        return error_memory(err, 1 << 16, "inflating the tokenizer");
    if (rc == Z_STREAM_END) {
        return error_set(err, LITHE_E_TOKENIZER, "the compressed tokenizer inflates to %zu bytes, but announces %zu",
                         size - out_left, size);
    }
    if (rc == Z_BUF_ERROR && !out_left)
        return error_set(err, LITHE_E_TOKENIZER,
                         "the compressed tokenizer inflates to more than the %zu bytes that it announces", size);
    if (rc == Z_BUF_ERROR) {
        return error_set(err, LITHE_E_TRUNCATED,
                         "the compressed tokenizer ends after %zu of the %zu bytes that it announces", size - out_left,
                         size);
    }
    return error_set(err, LITHE_E_TOKENIZER, "the compressed tokenizer is no zlib stream: %s",
                     problem ? problem : "a dictionary is needed");
}

lithe_status tokenizer_open_hf_zlib(tokenizer **out, bytes section, lithe_error *err)
{
    if (section.size < 8) {
        return error_set(err, LITHE_E_TRUNCATED,
                         "a compressed tokenizer of %zu bytes is too short: it begins with its size in 8 bytes",
                         section.size);
    }
    uint64_t size = load_u64(section.data);
    bytes stream = {section.data + 8, section.size - 8};
    if (size > 1u << 30) {
        return error_set(err, LITHE_E_TOKENIZER,
                         "the compressed tokenizer announces %llu bytes; at most 1 GiB is supported",
                         (unsigned long long)size);
    }
    /* Deflate cannot shrink by more than 1032: a smaller stream is a lie, noticed before memory is taken for it. */
    if (size / 1032 > stream.size) {
        return error_set(err, LITHE_E_TOKENIZER,
                         "the compressed tokenizer announces %llu bytes, more than its %zu bytes can inflate to",
                         (unsigned long long)size, stream.size);
    }
    uint8_t *text = malloc((size_t)size + 1);
    if (!text)
        return error_memory(err, size + 1, "the inflated tokenizer");
    lithe_status st = inflate_all(stream, text, (size_t)size, err);
    tokenizer *t = NULL;
    if (!st)
        st = hf_open(&t, (bytes){text, (size_t)size}, err);
    if (st) {
        free(text);
        return st;
    }
    t->inflated = text;
    t->inflated_bytes = (size_t)size + 1;
    *out = t;
    return LITHE_OK;
}

void tokenizer_close(tokenizer *t)
{
    if (!t)
        return;
    free(t->inflated);
    vocab_fini(&t->vocab);
    t->ops->destroy(t);
}

const char *tokenizer_kind(const tokenizer *t)
{
    return t->kind;
}
uint32_t tokenizer_vocab_size(const tokenizer *t)
{
    return t->vocab.n;
}
size_t tokenizer_memory(const tokenizer *t)
{
    return t->ops->memory(t) + vocab_memory(&t->vocab) + t->inflated_bytes;
}

void token_list_fini(token_list *l)
{
    free(l->ids);
    *l = (token_list){0};
}

lithe_status token_list_push(token_list *l, int32_t id, lithe_error *err)
{
    if (l->n == l->capacity) {
        size_t capacity = l->capacity ? l->capacity * 2 : 64;
        int32_t *ids = capacity > SIZE_MAX / 2 / sizeof *ids ? NULL : realloc(l->ids, capacity * sizeof *ids);
        if (!ids)
            return error_memory(err, (uint64_t)capacity * sizeof *ids, "token ids");
        l->ids = ids;
        l->capacity = capacity;
    }
    l->ids[l->n++] = id;
    return LITHE_OK;
}

static void append_well_formed(buffer *b, bytes text)
{
    size_t used, plain = 0;
    uint32_t c;
    for (size_t i = 0; i < text.size; i += used) {
        if (utf8_next(text.data + i, text.size - i, &c, &used))
            continue;
        buffer_append(b, text.data + plain, i - plain);
        buffer_append(b, REPLACEMENT, 3);
        plain = i + used;
    }
    buffer_append(b, text.data + plain, text.size - plain);
}

lithe_status tokenizer_encode(const tokenizer *t, bytes text, bool special, token_list *out, lithe_error *err)
{
    if (!text.size)
        return LITHE_OK;
    if (text.size >= TEXT_MAX_BYTES)
        return text_too_long(text.size, err);
    if (utf8_valid(text.data, text.size))
        return t->ops->encode(t, text, special, out, err);
    buffer b;
    buffer_init(&b);
    append_well_formed(&b, text);
    lithe_status st = LITHE_OK;
    if (buffer_failed(&b))
        st = error_memory(err, text.size * 3, "text to tokenize");
    else if (b.size >= TEXT_MAX_BYTES)
        st = text_too_long(b.size, err);
    else
        st = t->ops->encode(t, (bytes){b.data, b.size}, special, out, err);
    buffer_fini(&b);
    return st;
}

int32_t tokenizer_piece_to_id(const tokenizer *t, bytes piece)
{
    return piece.size ? t->ops->piece_to_id(t, piece) : -1;
}

bytes tokenizer_piece(const tokenizer *t, int32_t id)
{
    return id >= 0 && (uint32_t)id < t->vocab.n ? vocab_piece(&t->vocab, (uint32_t)id) : (bytes){NULL, 0};
}

bool tokenizer_is_control(const tokenizer *t, int32_t id)
{
    return tokenizer_piece(t, id).size && t->ops->is_control(t, id);
}

size_t tokenizer_token_bytes(const tokenizer *t, int32_t id, bool special, uint8_t *out, size_t capacity)
{
    bytes piece = tokenizer_piece(t, id);
    if (!piece.size)
        return 0;
    if (t->ops->is_control(t, id)) {
        if (!special)
            return 0;
        if (out)
            memcpy(out, piece.data, piece.size < capacity ? piece.size : capacity);
        return piece.size;
    }
    buffer b;
    buffer_init(&b);
    t->ops->token_text(t, id, &b);
    size_t n = b.size;
    if (n && out)
        memcpy(out, b.data, n < capacity ? n : capacity);
    buffer_fini(&b);
    return n;
}
