/* Any ids through a stream: all parts are well-formed, and the whole is what the ids give one by one in one go and what is left when
 * they end early. The first byte chooses the tokenizer; the others, by twos, are ids. */
#include "text/tokenizer.h"

#include "base/buffer.h"
#include "base/protowire.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char byte_level[] = "{\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,"
                                 "\"\xc4\xa0\":1,\"\xc3\xb0\":2,\"\xc5\x81\":3,\"\xc4\xba\xc4\xac\":4,"
                                 "\"\xc3\xa2\xc4\xa4\":5,\"\xc2\xac\":6,\"\xe2\x96\x81\":7},\"merges\":[]}}";
static const char fused[] =
    "{\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":\"\xe2\x96\x81\"},"
    "\"content\":\" \"},"
    "{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"},{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":1}]},"
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"\xe2\x96\x81\":0,\"\xe2\x96\x81"
    "a\":1,\"b\":2,\"<0xE2>\":3,\"<0x82>\":4,\"<0xAC>\":5,\"<0x20>\":6},\"merges\":[]}}";

static void add_piece(buffer *model, const char *text, int type)
{
    buffer p;
    buffer_init(&p);
    wire_write_bytes(&p, 1, text, strlen(text));
    wire_write_varint(&p, 3, (uint64_t)type);
    wire_write_bytes(model, 1, p.data, p.size);
    buffer_fini(&p);
}

/* Byte pieces and a few others. */
static void write_model(buffer *model)
{
    static const uint8_t trainer[] = {3 << 3, 2, (35 << 3 & 0x7f) | 0x80, 35 << 3 >> 7, 1};
    buffer_init(model);
    add_piece(model, "<unk>", 2);
    add_piece(model, "<s>", 3);
    add_piece(model,
              "\xe2\x96\x81"
              "a",
              1);
    for (unsigned b = 0; b < 256; b++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", b);
        add_piece(model, name, 6);
    }
    wire_write_bytes(model, 2, trainer, sizeof trainer);
}

static size_t run(const tokenizer *t, const uint8_t *data, size_t n, bool special, bool at_start)
{
    token_stream *s;
    bytes text;
    size_t total = 0;
    if (token_stream_create(&s, t, special, at_start, NULL))
        abort();
    for (size_t i = 0; i <= n; i++) {
        int32_t id = i < n ? (int32_t)load_u16(data + 2 * i) - 4 : 0;
        if (i < n ? token_stream_push(s, id, &text, NULL) : token_stream_finish(s, &text, NULL))
            abort();
        if (text.size && !utf8_valid(text.data, text.size))
            abort();
        total += text.size;
    }
    if (token_stream_finish(s, &text, NULL) || text.size)
        abort();
    token_stream_destroy(s);
    return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    tokenizer *t = NULL;
    lithe_error err;
    buffer model;
    buffer_init(&model);
    lithe_status st;
    if (data[0] % 3 == 0) {
        write_model(&model);
        st = tokenizer_open_sentencepiece(&t, (bytes){model.data, model.size}, &err);
    } else {
        const char *json = data[0] % 3 == 1 ? byte_level : fused;
        st = tokenizer_open_hf(&t, (bytes){(const uint8_t *)json, strlen(json)}, &err);
    }
    if (st)
        abort();
    bool special = data[0] & 64, at_start = data[0] & 128;
    size_t n = (size - 1) / 2, whole = run(t, data + 1, n, special, at_start);
    size_t middle = run(t, data + 1, n, special, false);
    if (!at_start && whole != middle)
        abort();
    tokenizer_close(t);
    buffer_fini(&model);
    return 0;
}
