/* tokenizer.json files made by hand: rules that real ones rarely show, what is refused and how, and files that lie. */
#include "text/support.h"

#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define SMOLLM2  "scripts/bundles/skeletons/smollm2-135m.tokenizer.json.zlib"

/* A document with these members beside a model with this vocabulary and these merges. */
static const char *document(const char *members, const char *vocab, const char *merges)
{
    static char text[8192];
    snprintf(text, sizeof text, "{%s%s\"model\":{\"type\":\"BPE\",\"vocab\":{%s},\"merges\":[%s]}}", members,
             *members ? "," : "", vocab, merges);
    return text;
}

#define ABC "\"a\":0,\"b\":1,\"c\":2,\"ab\":3,\"bc\":4,\"abc\":5,\"<unk>\":6"

static void merges_by_rank_in_both_forms(void **state)
{
    (void)state;
    opened o = open_hf_text(document("", ABC, "\"#version: 0.2\",\"b c\",\"a b\",\"a bc\""));
    assert_string_equal(tokenizer_kind(o.t), "hf-bpe");
    assert_string_equal(ids_of(o.t, "abc"), "5");
    assert_string_equal(ids_of(o.t, "ab c"),
                        "5"); /* no pre-tokenizer: the space is unknown and vanishes before anything merges */
    opened_close(&o);
    o = open_hf_text(document("", ABC, "[\"a\",\"b\"],[\"b\",\"c\"]"));
    assert_string_equal(ids_of(o.t, "abc"), "3 2");
    opened_close(&o);
    o = open_hf_text(document("", "\"\\u0061\":0,\"\\\"\":1,\"a\\\"\":2", "\"\\u0061 \\\"\""));
    assert_string_equal(ids_of(o.t, "aa\""), "0 2");
    assert_int_equal(tokenizer_piece_to_id(o.t, text_of("a\"")), 2);
    opened_close(&o);
}

static void repeated_members(void **state)
{
    (void)state;
    opened o = open_hf_text(document("", "\"a\":0,\"b\":1,\"a\":2,\"ab\":3", "\"a b\"")); /* the last counts */
    assert_string_equal(ids_of(o.t, "aab"), "2 3");
    assert_int_equal(tokenizer_piece(o.t, 0).size, 0);
    opened_close(&o);
    assert_non_null(strstr(refused_hf(document("", "\"a\":0,\"b\":0", "")).message, "two pieces have the id 0"));
}

/* K2: characters that ByteLevel also uses to write bytes. */
static void characters_that_look_like_bytes(void **state)
{
    (void)state;
    opened o = open_file(SMOLLM2, "hf_zlib");
    int32_t space = tokenizer_piece_to_id(o.t, text_of("\xc4\xa0")); /* Ġ */
    uint8_t byte;
    assert_int_equal(tokenizer_token_bytes(o.t, space, false, &byte, 1), 1);
    assert_int_equal(byte, ' ');
    token_list l = encoded(o.t, text_of("\xc4\xa0"), false);
    for (size_t i = 0; i < l.n; i++)
        assert_true(l.ids[i] != space);
    buffer b = decoded(o.t, l.ids, l.n, false, true);
    assert_string_equal((char *)b.data, "\xc4\xa0");
    buffer_fini(&b);
    token_list_fini(&l);
    opened_close(&o);
}

/* K9: the words of GPT-2's pattern, seen through a vocabulary of whole words. */
static void gpt2_words(void **state)
{
    (void)state;
    opened o = open_file("tests/data/text/hf-gpt2.json", "hf");
    token_list l = encoded(o.t, text_of("a  b\t c\n\n  d's"), false);
    buffer pieces;
    buffer_init(&pieces);
    for (size_t i = 0; i < l.n; i++) {
        bytes p = tokenizer_piece(o.t, l.ids[i]);
        buffer_printf(&pieces, "%s%.*s", i ? "|" : "", (int)p.size, (const char *)p.data);
    }
    buffer_append(&pieces, "", 1);
    assert_string_equal((char *)pieces.data, "a|Ġ|Ġb|ĉ|Ġc|Ċ|Ċ|Ġ|Ġd|'s"); /* this vocabulary lacks ĊĊĠ */
    buffer_fini(&pieces);
    token_list_fini(&l);
    opened_close(&o);
}

#define ADDED(content, flags) "{\"id\":9,\"content\":\"" content "\"," flags "}"
#define FLAGS(special, word, left, right, norm)                                                                        \
    "\"special\":" #special ",\"single_word\":" #word ",\"lstrip\":" #left ",\"rstrip\":" #right                       \
    ",\"normalized\":" #norm

static void added_tokens(void **state)
{
    (void)state;
    opened o =
        open_hf_text(document("\"added_tokens\":[" ADDED("<x>", FLAGS(true, false, false, false, false)) "," ADDED(
                                  "<x>y", FLAGS(false, true, false, true, false)) "]",
                              ABC, "\"a b\""));
    assert_string_equal(ids_of(o.t, "a<x>b"), "0 7 1");     /* ids are given in order behind the model's */
    assert_string_equal(ids_of(o.t, "a <x>y  b"), "0 8 1"); /* the longest; the spaces behind are its own */
    assert_string_equal(ids_of(o.t, "<x>yb"), "1");         /* no single word: discarded, not tried shorter */
    assert_int_equal(tokenizer_vocab_size(o.t), 9);
    assert_int_equal(tokenizer_piece_to_id(o.t, text_of("<x>y")), 8);
    assert_true(tokenizer_is_control(o.t, 7));
    assert_false(tokenizer_is_control(o.t, 8));
    assert_int_equal(tokenizer_token_bytes(o.t, 7, false, NULL, 0), 0);
    assert_int_equal(tokenizer_token_bytes(o.t, 7, true, NULL, 0), 3);
    opened_close(&o);
}

static void truncation_is_kept(void **state)
{
    (void)state;
    opened o = open_hf_text(
        document("\"truncation\":{\"direction\":\"Left\",\"max_length\":2,\"strategy\":\"LongestFirst\",\"stride\":0}",
                 ABC, ""));
    assert_string_equal(ids_of(o.t, "abcab"), "0 1");
    opened_close(&o);
}

typedef struct refusal {
    const char *members, *says;
    lithe_status code;
} refusal;

static void refused_by_name(void **state)
{
    (void)state;
    static const refusal cases[] = {
        {"\"normalizer\":{\"type\":\"BertNormalizer\"}", "normalizer.clean_text is not true or false",
         LITHE_E_TOKENIZER},
        {"\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":\"Nmt\"}]}",
         "normalizer.normalizers[1]: the normalizer Nmt", LITHE_E_UNSUPPORTED},
        {"\"pre_tokenizer\":{\"type\":\"UnicodeScripts\"}", "pre_tokenizer: the pre-tokenizer UnicodeScripts",
         LITHE_E_UNSUPPORTED},
        {"\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a(\"},\"behavior\":\"Isolated\",\"invert\":"
         "false}",
         "pre_tokenizer.pattern: missing closing parenthesis", LITHE_E_UNSUPPORTED},
        {"\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[a&&b]\"},\"behavior\":\"Isolated\","
         "\"invert\":false}",
         "an intersection of brackets", LITHE_E_UNSUPPORTED},
        {"\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(a)\\\\1\"},\"behavior\":\"Isolated\","
         "\"invert\":false}",
         "the escape \\1", LITHE_E_UNSUPPORTED},
        {"\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\"},\"behavior\":\"Sideways\",\"invert\":"
         "false}",
         "pre_tokenizer.behavior is not a known behavior", LITHE_E_TOKENIZER},
        {"\"pre_tokenizer\":{\"type\":\"Split\"}", "pre_tokenizer.pattern is not", LITHE_E_TOKENIZER},
        {"\"decoder\":{\"type\":\"CTC\"}", "decoder: the decoder CTC", LITHE_E_UNSUPPORTED},
        {"\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Fuse\"},{\"type\":\"ByteFallback\"}]}",
         "decoder.decoders[1]: this decoder behind Fuse", LITHE_E_UNSUPPORTED},
        {"\"post_processor\":{\"type\":\"Mystery\"}", "post_processor: the post-processor Mystery",
         LITHE_E_UNSUPPORTED},
        {"\"padding\":{\"strategy\":{\"Fixed\":8}}", "padding: a strategy other than BatchLongest",
         LITHE_E_UNSUPPORTED},
        {"\"added_tokens\":[{\"content\":\"x\"}]", "added_tokens[0].special is not true or false", LITHE_E_TOKENIZER},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        lithe_error err = refused_hf(document(cases[i].members, ABC, ""));
        if (err.code != cases[i].code || !strstr(err.message, cases[i].says))
            fail_msg("%s: %s", lithe_status_name(err.code), err.message);
    }
}

static void models_that_are_refused(void **state)
{
    (void)state;
    assert_non_null(strstr(refused_hf("{\"model\":{\"type\":\"WordLevel\"}}").message, "the model type WordLevel"));
    assert_non_null(strstr(refused_hf("{\"model\":{\"type\":\"WordPiece\"}}").message, "model.vocab is not an object"));
    assert_non_null(strstr(refused_hf("{\"model\":{\"type\":\"Unigram\"}}").message, "model.vocab is not an array"));
    assert_non_null(strstr(refused_hf("{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\"]]}}").message,
                           "model.vocab[0] is not a piece"));
    assert_non_null(strstr(refused_hf("{\"model\":{\"type\":\"Unigram\",\"unk_id\":1,\"vocab\":[[\"a\",0]]}}").message,
                           "model.unk_id is not the place"));
    assert_non_null(strstr(refused_hf("[]").message, "not an object"));
    assert_non_null(strstr(refused_hf("{}").message, "model is not an object"));
    assert_non_null(strstr(refused_hf(document("", ABC, "\"a z\"")).message, "model.merges[0] names \"z\""));
    assert_non_null(strstr(refused_hf(document("", ABC, "\"a c\"")).message, "model.merges[0] names \"ac\""));
    assert_non_null(strstr(refused_hf(document("", ABC, "\"a b c\"")).message, "model.merges[0] is not two pieces"));
    assert_non_null(strstr(refused_hf(document("", ABC, "7")).message, "model.merges[0] is not two pieces"));
    assert_non_null(strstr(refused_hf(document("", "\"a\":-1", "")).message, "no id that is a whole number"));
    assert_non_null(strstr(refused_hf(document("", "\"a\":1e99", "")).message, "no id that is a whole number"));
    assert_non_null(strstr(refused_hf(document("", "\"a\":4294967296", "")).message, "has the id 4294967296"));
    assert_non_null(strstr(refused_hf(document("", "\"a\":8000000", "")).message, "few pieces and large ids"));
}

static void deep_nesting(void **state)
{
    (void)state;
    char *text = malloc(600000), *p = text;
    p += sprintf(p, "{\"normalizer\":");
    for (int i = 0; i < 40; i++)
        p += sprintf(p, "{\"type\":\"Sequence\",\"normalizers\":[");
    for (int i = 0; i < 40; i++)
        p += sprintf(p, "]}");
    sprintf(p, "}");
    lithe_error err = refused_hf(text);
    assert_int_equal(err.code, LITHE_E_UNSUPPORTED);
    memset(text, '[', 599999);
    text[599999] = 0;
    err = refused_hf(text);
    assert_int_equal(err.code, LITHE_E_FORMAT);
    free(text);
}

/* A pattern that takes exponential time fails by its limit, in bounded time. */
static void exploding_pattern(void **state)
{
    (void)state;
    opened o = open_hf_text(document("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(a|a|aa)+[bc]\"},"
                                     "\"behavior\":\"Isolated\",\"invert\":false}",
                                     ABC, ""));
    char text[200];
    memset(text, 'a', sizeof text);
    token_list l = {0};
    lithe_error err = {0};
    double before = clock_seconds();
    assert_int_equal(tokenizer_encode(o.t, (bytes){(const uint8_t *)text, sizeof text}, false, &l, &err),
                     LITHE_E_TOKENIZER);
    assert_non_null(strstr(err.message, "match limit"));
    assert_true(clock_seconds() - before < 20);
    token_list_fini(&l);
    opened_close(&o);
}

static void unknown_token_missing(void **state)
{
    (void)state;
    opened o = open_hf_text("{\"model\":{\"vocab\":{\"a\":0},\"merges\":[],\"unk_token\":\"<unk>\"}}");
    assert_string_equal(ids_of(o.t, "aa"), "0 0");
    token_list l = {0};
    lithe_error err = {0};
    assert_int_equal(tokenizer_encode(o.t, text_of("axa"), false, &l, &err), LITHE_E_TOKENIZER);
    assert_non_null(strstr(err.message, "\"x\""));
    token_list_fini(&l);
    opened_close(&o);
}

static void long_runs(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    opened o = open_file(SMOLLM2, "hf_zlib");
    char *text = malloc(N);
    const char *fills[] = {"a", " ", "\n", "1", "-", "ab ", "\xcc\x81"};
    for (size_t f = 0; f < COUNT(fills); f++) {
        size_t n = strlen(fills[f]);
        for (size_t i = 0; i < N; i++)
            text[i] = fills[f][i % n];
        double before = clock_seconds();
        token_list l = encoded(o.t, (bytes){(const uint8_t *)text, N}, false);
        assert_true(l.n > 0);
        assert_true(clock_seconds() - before < 30);
        token_list_fini(&l);
    }
    opened_close(&o);
    /* Combining marks out of order: their sorting is linear too. */
    o = open_file("tests/data/text/hf-qwen.json", "hf");
    for (size_t i = 0; i + 4 <= N; i += 4)
        memcpy(text + i, i % 8 ? "\xcc\x81\xcc\xa3" : "\xcc\xa3\xcd\x9c", 4);
    token_list l = encoded(o.t, (bytes){(const uint8_t *)text, N}, false);
    assert_true(l.n > 0);
    token_list_fini(&l);
    opened_close(&o);
    free(text);
}

static lithe_error refused_zlib(uint64_t size, const uint8_t *stream, size_t n)
{
    static uint8_t section[4096];
    store_u64(section, size);
    memcpy(section + 8, stream, n);
    return refused((bytes){section, n + 8}, "hf_zlib");
}

static void compressed_files_that_lie(void **state)
{
    (void)state;
    const char *json = document("", ABC, "\"a b\"");
    uint8_t stream[1024];
    uLongf n = sizeof stream;
    size_t size = strlen(json);
    assert_int_equal(compress(stream, &n, (const Bytef *)json, size), Z_OK);
    assert_non_null(strstr(refused_zlib(size + 1, stream, n).message, "but announces"));
    assert_non_null(strstr(refused_zlib(size - 1, stream, n).message, "more than the"));
    assert_int_equal(refused_zlib(size, stream, n - 9).code, LITHE_E_TRUNCATED);
    assert_non_null(strstr(refused_zlib((uint64_t)1 << 40, stream, n).message, "at most 1 GiB"));
    assert_non_null(strstr(refused_zlib(1 << 29, stream, n).message, "can inflate to"));
    stream[0] ^= 0xff;
    assert_non_null(strstr(refused_zlib(size, stream, n).message, "no zlib stream"));
    assert_int_equal(refused((bytes){stream, 5}, "hf_zlib").code, LITHE_E_TRUNCATED);
    refused_zlib(0, stream, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_by_rank_in_both_forms),
        cmocka_unit_test(repeated_members),
        cmocka_unit_test(characters_that_look_like_bytes),
        cmocka_unit_test(gpt2_words),
        cmocka_unit_test(added_tokens),
        cmocka_unit_test(truncation_is_kept),
        cmocka_unit_test(refused_by_name),
        cmocka_unit_test(models_that_are_refused),
        cmocka_unit_test(deep_nesting),
        cmocka_unit_test(exploding_pattern),
        cmocka_unit_test(unknown_token_missing),
        cmocka_unit_test(long_runs),
        cmocka_unit_test(compressed_files_that_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
