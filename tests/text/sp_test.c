/* SentencePiece models made by hand: the rules one by one, and files that lie. */
#include "text/support.h"

#include "base/file.h"
#include "base/protowire.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { UNKNOWN = 2, CONTROL = 3, USER = 4, UNUSED = 5, BYTE = 6 };
#define COUNT(a) (sizeof(a) / sizeof *(a))
#define SPACE    "\xe2\x96\x81"

static const piece_row letters[] = {
    {"<unk>", 0, UNKNOWN}, {"<s>", 0, CONTROL}, {"a", -5, 0},         {"b", -6, 0},  {"ab", -1, 0},
    {SPACE, -7, 0},        {SPACE "a", -2, 0},  {SPACE SPACE, -3, 0}, {"bb", -1, 0},
};

static void leftmost_of_equal_scores_first(void **state)
{
    (void)state;
    opened o = sp_open(letters, COUNT(letters), &SP_KNOBS_PLAIN);
    assert_string_equal(tokenizer_kind(o.t), "sentencepiece-bpe");
    assert_string_equal(ids_of(o.t, "abb"), "4 3");
    assert_string_equal(ids_of(o.t, "bbb"), "8 3");
    assert_string_equal(ids_of(o.t, "bbab"), "8 4");
    opened_close(&o);
}

static void zeros_of_both_signs_are_equal(void **state)
{
    (void)state;
    const piece_row rows[] = {{"<unk>", 0, UNKNOWN}, {"a", -1, 0},     {"b", -1, 0},
                              {"ab", 0.0f, 0},       {"bb", -0.0f, 0}, {"ba", NAN, 0}};
    opened o = sp_open(rows, COUNT(rows), &SP_KNOBS_PLAIN);
    assert_string_equal(ids_of(o.t, "abb"), "3 2");
    assert_string_equal(ids_of(o.t, "bbab"), "4 3");
    assert_string_equal(ids_of(o.t, "ba"), "5"); /* NaN: last of all, but it merges */
    opened_close(&o);
}

static void unknown_characters(void **state)
{
    (void)state;
    opened o = sp_open(letters, COUNT(letters), &SP_KNOBS_PLAIN);
    assert_string_equal(ids_of(o.t, "axyb"), "2 0 3"); /* a run of unknown ones is one */
    assert_string_equal(ids_of(o.t, "x"), "0");
    opened_close(&o);
    sp_knobs k = SP_KNOBS_PLAIN;
    k.byte_fallback = true;
    o = sp_open(letters, COUNT(letters), &k);
    assert_string_equal(ids_of(o.t, "a\xc3\xa9"), "2 204 178"); /* bytes C3 A9 behind nine pieces */
    assert_int_equal(tokenizer_piece_to_id(o.t, text_of("<0x41>")), 9 + 0x41);
    opened_close(&o);
}

static void spaces_by_the_normalizer(void **state)
{
    (void)state;
    sp_knobs k = SP_KNOBS_PLAIN;
    opened o = sp_open(letters, COUNT(letters), &k);
    assert_string_equal(ids_of(o.t, " a  b"), "6 7 3");
    opened_close(&o);
    k.dummy_prefix = 1;
    o = sp_open(letters, COUNT(letters), &k);
    assert_string_equal(ids_of(o.t, "a"), "6");
    assert_string_equal(ids_of(o.t, " a"), "5 6"); /* K3: the piece of higher score, not the longer run of spaces */
    assert_string_equal(ids_of(o.t, ""), "");
    opened_close(&o);
    k.remove_whitespaces = 1;
    o = sp_open(letters, COUNT(letters), &k);
    assert_string_equal(ids_of(o.t, "  a   b  "), "6 5 3");
    assert_string_equal(ids_of(o.t, "   "), "");
    opened_close(&o);
    k.suffix = true;
    o = sp_open(letters, COUNT(letters), &k);
    assert_string_equal(ids_of(o.t, "b"), "3 5");
    opened_close(&o);
    k = SP_KNOBS_PLAIN;
    k.escape_whitespaces = 0;
    o = sp_open(letters, COUNT(letters), &k);
    assert_string_equal(ids_of(o.t, "a a"), "2 0 2"); /* no piece is a plain space */
    opened_close(&o);
}

static void control_pieces_only_if_asked_for(void **state)
{
    (void)state;
    sp_knobs k = SP_KNOBS_PLAIN;
    k.dummy_prefix = 1;
    opened o = sp_open(letters, COUNT(letters), &k);
    assert_string_equal(ids_of(o.t, "<s>"), "5 0");
    assert_string_equal(ids_of_special(o.t, "<s>"), "1");
    assert_string_equal(ids_of_special(o.t, "a<s><s> a"),
                        "6 1 1 5 6"); /* what lies between is encoded as a text of its own */
    assert_true(tokenizer_is_control(o.t, 1));
    assert_false(tokenizer_is_control(o.t, 0));
    assert_false(tokenizer_is_control(o.t, 99));
    opened_close(&o);
}

static void user_defined_pieces_stay_whole(void **state)
{
    (void)state;
    const piece_row rows[] = {{"<unk>", 0, UNKNOWN}, {"a", -1, 0}, {"ab", -1, USER}, {"abc", -1, USER},
                              {"aab", -1, 0},        {"b", -1, 0}, {"c", -1, 0},     {"aa", -1, 0}};
    opened o = sp_open(rows, COUNT(rows), &SP_KNOBS_PLAIN);
    assert_string_equal(ids_of(o.t, "aab"), "1 2");
    assert_string_equal(ids_of(o.t, "abcab"), "3 2");
    assert_string_equal(ids_of(o.t, "aaac"), "7 1 6");
    opened_close(&o);
}

static void unused_pieces_fall_apart(void **state)
{
    (void)state;
    const piece_row rows[] = {{"<unk>", 0, UNKNOWN}, {"a", -9, 0},         {"b", -9, 0},
                              {"ab", -1, UNUSED},    {"abab", -2, UNUSED}, {"aba", -3, 0}};
    opened o = sp_open(rows, COUNT(rows), &SP_KNOBS_PLAIN);
    assert_string_equal(ids_of(o.t, "ab"), "1 2");
    assert_string_equal(ids_of(o.t, "abab"), "1 2 1 2");
    assert_string_equal(ids_of(o.t, "ababa"), "1 2 1 2 1");
    opened_close(&o);
}

static void same_spelling_reserved_and_ordinary(void **state)
{
    (void)state;
    const piece_row rows[] = {{"<unk>", 0, UNKNOWN}, {"<0x41>", -1, 0}, {"A", -2, 0}};
    sp_knobs k = SP_KNOBS_PLAIN;
    k.byte_fallback = true;
    opened o = sp_open(rows, COUNT(rows), &k);
    assert_int_equal(tokenizer_piece_to_id(o.t, text_of("<0x41>")), 3 + 0x41); /* the byte, as in the original */
    assert_string_equal(ids_of(o.t, "AB"), "2 69");
    opened_close(&o);
}

static void unigram_takes_the_likeliest(void **state)
{
    (void)state;
    const piece_row rows[] = {{"<unk>", 0, UNKNOWN}, {"a", -3, 0},    {"b", -3, 0},    {"ab", -5, 0},
                              {"abb", -9.5f, 0},     {"x", -1, USER}, {"xa", -0.5f, 0}};
    sp_knobs k = SP_KNOBS_PLAIN;
    k.model_type = 1;
    opened o = sp_open(rows, COUNT(rows), &k);
    assert_string_equal(tokenizer_kind(o.t), "sentencepiece-unigram");
    assert_string_equal(ids_of(o.t, "abb"), "3 2");
    assert_string_equal(ids_of(o.t, "\xc3\xa9q"
                                    "a"),
                        "0 1");
    opened_close(&o);
}

/* Texts that would take minutes if anything were quadratic. */
static void long_runs(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    char *text = malloc(N + 1);
    const char *fills[] = {"a", "b", " ", "ab", " a", "x"};
    sp_knobs k = SP_KNOBS_PLAIN;
    for (int unigram = 0; unigram < 2; unigram++) {
        k.model_type = unigram ? 1 : 2;
        opened o = sp_open(letters, COUNT(letters), &k);
        for (size_t f = 0; f < COUNT(fills); f++) {
            size_t n = strlen(fills[f]);
            for (size_t i = 0; i < N; i++)
                text[i] = fills[f][i % n];
            double before = clock_seconds();
            token_list l = encoded(o.t, (bytes){(const uint8_t *)text, N}, false);
            assert_true(l.n >= 1 && l.n <= N);
            assert_true(clock_seconds() - before < 30);
            token_list_fini(&l);
        }
        opened_close(&o);
    }
    free(text);
}

static void check_refused(const piece_row *rows, size_t n, const sp_knobs *k, lithe_status code, const char *says)
{
    buffer b = sp_write(rows, n, k);
    lithe_error err = refused((bytes){b.data, b.size}, "sentencepiece");
    if (err.code != code || !strstr(err.message, says))
        fail_msg("%s: %s", lithe_status_name(err.code), err.message);
    buffer_fini(&b);
}

static void models_that_are_refused(void **state)
{
    (void)state;
    sp_knobs plain = SP_KNOBS_PLAIN, k = plain;
    const piece_row twice[] = {{"<unk>", 0, UNKNOWN}, {"a", 0, 0}, {"b", 0, 0}, {"a", 0, 0}};
    check_refused(twice, 4, &plain, LITHE_E_TOKENIZER,
                  "pieces 1 and 3 of the SentencePiece model are the same (\"a\")");
    const piece_row no_unknown[] = {{"a", 0, 0}};
    check_refused(no_unknown, 1, &plain, LITHE_E_TOKENIZER, "no piece of type UNKNOWN");
    const piece_row two_unknown[] = {{"a", 0, UNKNOWN}, {"b", 0, UNKNOWN}};
    check_refused(two_unknown, 2, &plain, LITHE_E_TOKENIZER, "both of type UNKNOWN");
    const piece_row byte_alone[] = {{"<unk>", 0, UNKNOWN}, {"<0x41>", 0, BYTE}};
    check_refused(byte_alone, 2, &plain, LITHE_E_TOKENIZER, "byte_fallback is false");
    const piece_row empty[] = {{"<unk>", 0, UNKNOWN}, {"", 0, 0}};
    check_refused(empty, 2, &plain, LITHE_E_TOKENIZER, "piece 1 of the SentencePiece model is empty");
    const piece_row odd[] = {{"<unk>", 0, UNKNOWN}, {"a", 0, 17}};
    check_refused(odd, 2, &plain, LITHE_E_UNSUPPORTED, "unknown type 17");
    check_refused(letters, 0, &plain, LITHE_E_TOKENIZER, "no pieces");
    k.model_type = 3;
    check_refused(letters, COUNT(letters), &k, LITHE_E_UNSUPPORTED, "model_type is 3");
    k = plain;
    k.charsmap = "\xff\xff\xff\xff...";
    k.charsmap_bytes = 7;
    check_refused(letters, COUNT(letters), &k, LITHE_E_TOKENIZER, "normalisation rules are damaged");
    const char cut[] = "\x0a\x20<unk>";
    lithe_error err = refused((bytes){(const uint8_t *)cut, sizeof cut - 1}, "sentencepiece");
    assert_int_equal(err.code, LITHE_E_TOKENIZER);
    char *long_piece = calloc(1, 3000);
    memset(long_piece, 'a', 2999);
    const piece_row too_long[] = {{"<unk>", 0, UNKNOWN}, {long_piece, 0, USER}};
    check_refused(too_long, 2, &plain, LITHE_E_UNSUPPORTED, "2999 bytes");
    free(long_piece);
}

/* Byte pieces missing: byte_fallback without them. */
static void byte_fallback_without_bytes(void **state)
{
    (void)state;
    buffer b = sp_write(letters, COUNT(letters), &SP_KNOBS_PLAIN), trainer;
    buffer_init(&trainer);
    wire_write_varint(&trainer, 35, 1);
    wire_write_bytes(&b, 2, trainer.data, trainer.size);
    lithe_error err = refused((bytes){b.data, b.size}, "sentencepiece");
    assert_non_null(strstr(err.message, "no piece <0x00>"));
    buffer_fini(&b);
    buffer_fini(&trainer);
}

/* A double array whose every unit points somewhere else must not be followed out of its bounds. */
static void wild_normalization_rules(void **state)
{
    (void)state;
    char map[4 + 64 + 2];
    for (unsigned seed = 1; seed < 300; seed++) {
        unsigned x = seed * 2654435761u;
        for (size_t i = 4; i < sizeof map; i++)
            map[i] = (char)((x = x * 1664525u + 1013904223u) >> 24);
        memcpy(map, "\x40\0\0\0", 4);
        map[sizeof map - 1] = 0;
        sp_knobs k = SP_KNOBS_PLAIN;
        k.charsmap = map;
        k.charsmap_bytes = sizeof map;
        opened o = sp_open(letters, COUNT(letters), &k);
        for (unsigned c = 1; c < 128; c++) {
            const char text[4] = {(char)c, (char)(c ^ seed % 100), 'a', 0};
            ids_of(o.t, text);
        }
        opened_close(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leftmost_of_equal_scores_first),
        cmocka_unit_test(zeros_of_both_signs_are_equal),
        cmocka_unit_test(unknown_characters),
        cmocka_unit_test(spaces_by_the_normalizer),
        cmocka_unit_test(control_pieces_only_if_asked_for),
        cmocka_unit_test(user_defined_pieces_stay_whole),
        cmocka_unit_test(unused_pieces_fall_apart),
        cmocka_unit_test(same_spelling_reserved_and_ordinary),
        cmocka_unit_test(unigram_takes_the_likeliest),
        cmocka_unit_test(long_runs),
        cmocka_unit_test(models_that_are_refused),
        cmocka_unit_test(byte_fallback_without_bytes),
        cmocka_unit_test(wild_normalization_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
