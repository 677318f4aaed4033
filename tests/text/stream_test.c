/* Incremental detokenising: nothing is lost, nothing shows half a character, and the start of a text is known from its middle. */
#include "text/support.h"

#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define SPACE    "\xe2\x96\x81"

enum { FIRST_BYTE = 5 };
static opened byte_model(int dummy_prefix, int remove_whitespaces)
{
    static const piece_row rows[] = {{"<unk>", 0, 2}, {"<s>", 0, 3}, {SPACE "a", -1, 0}, {SPACE, -2, 0}, {"b", -3, 0}};
    sp_knobs k = {.model_type = 2,
                  .dummy_prefix = dummy_prefix,
                  .remove_whitespaces = remove_whitespaces,
                  .escape_whitespaces = -1,
                  .byte_fallback = true};
    return sp_open(rows, COUNT(rows), &k);
}

/* The parts that a stream emits, with "|" after each token's. */
static const char *parts(const opened *o, const int32_t *ids, size_t n, bool special, bool at_start)
{
    static buffer b;
    token_stream *s;
    bytes text;
    b.size = 0;
    assert_int_equal(token_stream_create(&s, o->t, special, at_start, NULL), LITHE_OK);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(token_stream_push(s, ids[i], &text, NULL), LITHE_OK);
        buffer_append(&b, text.data, text.size);
        buffer_append(&b, "|", 1);
    }
    assert_int_equal(token_stream_finish(s, &text, NULL), LITHE_OK);
    buffer_append(&b, text.data, text.size);
    buffer_append(&b, "", 1);
    assert_int_equal(token_stream_finish(s, &text, NULL), LITHE_OK);
    assert_int_equal(text.size, 0); /* the stream is empty */
    token_stream_destroy(s);
    return (const char *)b.data;
}
#define PARTS(o, special, at_start, ...)                                                                               \
    parts(o, (const int32_t[]){__VA_ARGS__}, COUNT(((const int32_t[]){__VA_ARGS__})), special, at_start)
#define B(byte) FIRST_BYTE + (byte)

static void byte_pieces_make_characters(void **state)
{
    (void)state;
    opened o = byte_model(0, 0);
    assert_string_equal(PARTS(&o, false, true, 4, B(0xf0), B(0x9f), B(0x98), B(0x8a), 4), "b||||\xf0\x9f\x98\x8a|b|");
    assert_string_equal(PARTS(&o, false, true, B(0xe2), B(0x82), 4), "||\xef\xbf\xbd\xef\xbf\xbd"
                                                                     "b|"); /* each byte by itself */
    assert_string_equal(PARTS(&o, false, true, B(0xe2), B(0xe2), B(0x82), B(0xac)), "|\xef\xbf\xbd||\xe2\x82\xac|");
    assert_string_equal(PARTS(&o, false, true, B(0x80), B(0x41)), "\xef\xbf\xbd|A|");
    assert_string_equal(PARTS(&o, false, true, B(0xf0), B(0x9f)), "||\xef\xbf\xbd\xef\xbf\xbd");
    assert_string_equal(PARTS(&o, false, true, B(0xe0), B(0x80)),
                        "|\xef\xbf\xbd\xef\xbf\xbd|");           /* decided at once: never a character */
    assert_string_equal(PARTS(&o, false, true, 2, 2), " a| a|"); /* no dummy prefix: the space stays */
    opened_close(&o);
}

static void leading_space(void **state)
{
    (void)state;
    opened o = byte_model(1, 0);
    assert_string_equal(PARTS(&o, false, true, 2, 2), "a| a|");
    assert_string_equal(PARTS(&o, false, false, 2, 2), " a| a|");
    assert_string_equal(PARTS(&o, false, true, 3, 3, 2), "| | a|"); /* one space goes */
    assert_string_equal(PARTS(&o, false, true, 1, 2), "|a|");       /* control pieces are no text */
    assert_string_equal(PARTS(&o, true, true, 1, 2), "<s>|a|");
    assert_string_equal(PARTS(&o, false, true, B('x'), 2), "x| a|");
    assert_string_equal(PARTS(&o, false, true, 0, 2), " \xe2\x81\x87 | a|");
    opened_close(&o);
    o = byte_model(1, 1);
    assert_string_equal(PARTS(&o, false, true, 3, 3, 2, 2), "||a| a|"); /* all leading spaces go */
    opened_close(&o);
}

static void ids_out_of_range_are_no_text(void **state)
{
    (void)state;
    opened o = byte_model(0, 0);
    assert_string_equal(PARTS(&o, true, true, -1, 4, 9999, INT32_MAX, INT32_MIN), "|b||||");
    assert_null(tokenizer_piece(o.t, -1).data);
    assert_null(tokenizer_piece(o.t, 9999).data);
    assert_int_equal(tokenizer_token_bytes(o.t, 9999, true, NULL, 0), 0);
    opened_close(&o);
}

/* K1: "Ġ" and an emoji in two pieces: the space comes first, the emoji when it is whole. */
static void byte_level_pieces_cut_characters(void **state)
{
    (void)state;
    opened o = open_hf_text(
        "{\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true},"
        "\"model\":{\"type\":\"BPE\",\"vocab\":{\"Hello\":0,\"!\":1,\"\xc4\xa0\xc3\xb0\xc5\x81\":2,"
        "\"\xc4\xba\xc4\xac\":3},\"merges\":[]}}");
    bytes piece = tokenizer_piece(o.t, 2);
    assert_int_equal(piece.size, 6);
    uint8_t out[8];
    assert_int_equal(tokenizer_token_bytes(o.t, 2, false, out, sizeof out), 3);
    assert_memory_equal(out, " \xf0\x9f", 3);
    assert_string_equal(PARTS(&o, false, true, 0, 1, 2, 3), "Hello|!| |\xf0\x9f\x98\x8a|");
    assert_string_equal(PARTS(&o, false, true, 2, 0), " |\xef\xbf\xbdHello|");
    assert_string_equal(PARTS(&o, false, true, 2), " |\xef\xbf\xbd");
    opened_close(&o);
}

#define SPACED_VOCAB                                                                                                   \
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"\xe2\x96\x81\":0,\"\xe2\x96\x81"                                         \
    "a\":1,\"b\":2,\"<0xE2>\":3,\"<0x82>\":4,\"<0xAC>\":5,\"<0x20>\":6},\"merges\":[]}}"

static void fused_decoders(void **state)
{
    (void)state;
    opened o = open_hf_text("{\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{"
                            "\"String\":\"\xe2\x96\x81\"},\"content\":\" \"},"
                            "{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"},{\"type\":\"Strip\",\"content\":\" "
                            "\",\"start\":1,\"stop\":1}]}," SPACED_VOCAB);
    assert_string_equal(PARTS(&o, false, true, 1, 1), "a| a|");
    assert_string_equal(PARTS(&o, false, false, 1, 1), " a| a|");
    assert_string_equal(PARTS(&o, false, true, 0, 0, 1), "|| "
                                                         " a|");   /* spaces may be the last: held back */
    assert_string_equal(PARTS(&o, false, true, 2, 0, 0), "b||| "); /* of the last two one goes */
    assert_string_equal(PARTS(&o, false, true, 3, 4, 5, 2), "|||\xe2\x82\xac"
                                                            "b|");
    assert_string_equal(PARTS(&o, false, true, 3, 4, 2), "||\xef\xbf\xbd\xef\xbf\xbd"
                                                         "b|");
    assert_string_equal(PARTS(&o, false, true, 3, 4, 5, 4, 2), "||||\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                                                               "b|"); /* the run as a whole */
    assert_int_equal(tokenizer_token_bytes(o.t, 1, false, NULL, 0), 2);
    opened_close(&o);
    o = open_hf_text("{" SPACED_VOCAB); /* no decoder */
    assert_string_equal(PARTS(&o, false, true, 2, 2), "b| b|");
    opened_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(byte_pieces_make_characters),
        cmocka_unit_test(leading_space),
        cmocka_unit_test(ids_out_of_range_are_no_text),
        cmocka_unit_test(byte_level_pieces_cut_characters),
        cmocka_unit_test(fused_decoders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
