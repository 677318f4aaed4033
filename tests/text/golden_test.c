/* Ids and texts equal those of the original libraries (scripts/golden/make_text_goldens.py). */
#include "text/support.h"

#include "base/file.h"
#include "bundle/bundle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FOLDER "tests/data/text/"

/* A JSON document with the text it borrows. */
typedef struct document {
    uint8_t *text;
    json_doc *doc;
    arena arena;
} document;

static document load(const char *path)
{
    document d = {0};
    size_t n;
    lithe_error err;
    if (file_read_all(path, 1 << 26, &d.text, &n, &err) || json_parse(&d.doc, (bytes){d.text, n}, &err))
        fail_msg("%s: %s", path, err.message);
    arena_init(&d.arena, 0);
    return d;
}

static void unload(document *d)
{
    json_free(d->doc);
    arena_fini(&d->arena);
    free(d->text);
}

static bytes string_at(document *d, json_ref v)
{
    size_t n;
    const char *s = json_string(d->doc, v, &d->arena, &n);
    assert_non_null(s);
    return (bytes){(const uint8_t *)s, n};
}

static token_list ids_at(document *d, json_ref list)
{
    token_list l = {0};
    for (json_ref v = json_first(d->doc, list); v != JSON_NONE; v = json_next(d->doc, v)) {
        int64_t id;
        assert_true(json_i64(d->doc, v, &id));
        assert_int_equal(token_list_push(&l, (int32_t)id, NULL), LITHE_OK);
    }
    return l;
}

static void check_ids(const tokenizer *t, bytes text, const token_list *expected, const char *name)
{
    token_list l = encoded(t, text, false);
    size_t same = 0;
    while (same < l.n && same < expected->n && l.ids[same] == expected->ids[same])
        same++;
    if (l.n != expected->n || same != l.n) {
        fail_msg("%s: \"%.*s\": %zu ids instead of %zu; the first %zu are right, then %d instead of %d", name,
                 (int)text.size, (const char *)text.data, l.n, expected->n, same, same < l.n ? l.ids[same] : -1,
                 same < expected->n ? expected->ids[same] : -1);
    }
    token_list_fini(&l);
}

static void check_text(const tokenizer *t, const token_list *ids, bool special, bytes expected, const char *name)
{
    buffer b = decoded(t, ids->ids, ids->n, special, true);
    if (b.size != expected.size || memcmp(b.data, expected.data, b.size) != 0) {
        fail_msg("%s: ids from %d on: \"%s\" instead of \"%.*s\"", name, ids->ids[0], (char *)b.data,
                 (int)expected.size, (const char *)expected.data);
    }
    buffer_fini(&b);
}

static bytes unhex(document *d, json_ref v)
{
    bytes hex = string_at(d, v);
    uint8_t *out = ARENA_ARRAY(&d->arena, uint8_t, hex.size / 2);
    for (size_t i = 0; i < hex.size / 2; i++) {
        const char two[3] = {(char)hex.data[2 * i], (char)hex.data[2 * i + 1], 0};
        out[i] = (uint8_t)strtoul(two, NULL, 16);
    }
    return (bytes){out, hex.size / 2};
}

static size_t check_encoding(const tokenizer *t, document *strings, document *golden, const char *name)
{
    size_t n = 0;
    json_ref ids = json_first(golden->doc, json_get(golden->doc, 0, "ids"));
    for (int invalid = 0; invalid < 2; invalid++) {
        json_ref list = json_get(strings->doc, 0, invalid ? "invalid_hex" : "strings");
        for (json_ref v = json_first(strings->doc, list); v != JSON_NONE;
             v = json_next(strings->doc, v), ids = json_next(golden->doc, ids), n++) {
            token_list expected = ids_at(golden, ids);
            check_ids(t, invalid ? unhex(strings, v) : string_at(strings, v), &expected, name);
            token_list_fini(&expected);
        }
    }
    assert_true(ids == JSON_NONE);
    return n;
}

static size_t check_decoding(const tokenizer *t, document *golden, const char *name)
{
    size_t n = 0;
    for (json_ref v = json_first(golden->doc, json_get(golden->doc, 0, "decode")); v != JSON_NONE;
         v = json_next(golden->doc, v), n++) {
        token_list ids = ids_at(golden, json_get(golden->doc, v, "ids"));
        json_ref special = json_get(golden->doc, v, "special");
        check_text(t, &ids, false, string_at(golden, json_get(golden->doc, v, "plain")), name);
        if (json_type(golden->doc, special) == JSON_STRING)
            check_text(t, &ids, true, string_at(golden, special), name);
        token_list_fini(&ids);
    }
    return n;
}

static void check_tokenizer(const tokenizer *t, document *golden, const char *name)
{
    document strings = load(FOLDER "strings.json");
    assert_true(check_encoding(t, &strings, golden, name) > 300);
    assert_true(check_decoding(t, golden, name) > 120);
    unload(&strings);
}

static void check_named(void **state)
{
    const char *name = *state;
    char path[256];
    snprintf(path, sizeof path, FOLDER "golden/%s.json", name);
    document golden = load(path);
    bytes file = string_at(&golden, json_get(golden.doc, 0, "tokenizer")),
          format = string_at(&golden, json_get(golden.doc, 0, "format"));
    opened o = open_file((const char *)file.data, (const char *)format.data);
    check_tokenizer(o.t, &golden, name);
    opened_close(&o);
    unload(&golden);
}

/* Gemma's vocabulary is too large to commit: with the bundle only. */
static void check_gemma(void **state)
{
    (void)state;
    const char *folder = getenv("LITHE_BUNDLES");
    char path[1024];
    snprintf(path, sizeof path, "%s/gemma3-270m-int8.litertlm", folder ? folder : "");
    bundle *b = NULL;
    lithe_error err;
    if (!folder || bundle_open(&b, path, &err))
        skip();
    int32_t section = bundle_find(b, SECTION_SP_TOKENIZER, NULL);
    assert_true(section >= 0);
    bytes model = b->sections[section].data;
    tokenizer *t;
    double before = clock_seconds();
    if (tokenizer_open_sentencepiece(&t, model, &err))
        fail_msg("%s", err.message);
    print_message("opened in %.1f ms, %zu bytes of memory\n", (clock_seconds() - before) * 1e3, tokenizer_memory(t));
    assert_int_equal(tokenizer_vocab_size(t), 262144);
    assert_true(tokenizer_memory(t) < 3 * model.size);
    assert_string_equal(ids_of(t, "<end_of_turn>"), "106"); /* K7: a stop string is its token, without a start token */
    document golden = load(FOLDER "golden/gemma3.json");
    check_tokenizer(t, &golden, "gemma3");
    unload(&golden);
    tokenizer_close(t);
    bundle_close(b);
}

static void measure_smollm2(void **state)
{
    (void)state;
    double before = clock_seconds();
    opened o = open_file("scripts/bundles/skeletons/smollm2-135m.tokenizer.json.zlib", "hf_zlib");
    print_message("opened in %.1f ms, %zu bytes of memory\n", (clock_seconds() - before) * 1e3, tokenizer_memory(o.t));
    assert_int_equal(tokenizer_vocab_size(o.t), 49152);
    assert_true(tokenizer_memory(o.t) < 3 * (size_t)3523037);
    opened_close(&o);
}

#define NAMED(n)                                                                                                       \
    {                                                                                                                  \
        "golden ids and texts: " n, check_named, NULL, NULL, (void *)(uintptr_t)n                                      \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        NAMED("unigram-nfkc"),
        NAMED("unigram-bytes"),
        NAMED("unigram-unused"),
        NAMED("bpe-nfkc-cf"),
        NAMED("bpe-llama"),
        NAMED("bpe-gemma"),
        NAMED("bpe-suffix"),
        NAMED("bpe-across"),
        NAMED("bpe-unused"),
        NAMED("hf-gpt2"),
        NAMED("hf-prefix-space"),
        NAMED("hf-llama3"),
        NAMED("hf-qwen"),
        NAMED("hf-lower"),
        NAMED("hf-gemma"),
        NAMED("hf-llama"),
        NAMED("hf-metaspace-first"),
        NAMED("hf-metaspace-always"),
        NAMED("hf-metaspace-never"),
        NAMED("hf-suffix"),
        NAMED("hf-marked"),
        NAMED("hf-literal-pattern"),
        NAMED("hf-bert"),
        NAMED("hf-wordpiece"),
        NAMED("hf-word-ends"),
        NAMED("hf-unigram"),
        NAMED("hf-unigram-bytes"),
        NAMED("tiny-hybrid"),
        NAMED("smollm2"),
        cmocka_unit_test(measure_smollm2),
        cmocka_unit_test(check_gemma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
