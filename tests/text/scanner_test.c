/* The scanners of src/text/hf_words.c against the regular expressions that they stand for, on random text. */
#include "base/buffer.h"
#include "base/utf8.h"
#include "text/chars.h"
#include "text/hf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define GPT4(numbers)                                                                                                  \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" numbers                                              \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static bytes text_of(const char *s)
{
    return (bytes){(const uint8_t *)s, strlen(s)};
}

/* Mostly what the patterns name; else any character of ranges that the two libraries' versions of Unicode agree on. */
static uint32_t random_char(uint64_t *seed)
{
    static const uint32_t named[] = {' ',    ' ',    ' ',   '\n', '\r',   '\t',  '\'', '\'',    's',
                                     'S',    't',    'r',   'E',  'v',    'm',   'l',  'L',     'd',
                                     'a',    '7',    '0',   '.',  '-',    0x17f, 0x85, 0xa0,    0x3000,
                                     0x200b, 0x2028, 0x301, 0xe9, 0x4e2d, 0x663, 0xbd, 0x1f600, 0x212a};
    uint64_t r = next_random(seed);
    if (r % 4)
        return named[(r >> 8) % (sizeof named / sizeof *named)];
    static const uint32_t ranges[][2] = {{0, 0x52f},       {0x900, 0xbff},     {0x1e00, 0x2bff},  {0x3000, 0x9fff},
                                         {0xac00, 0xd7a3}, {0x10000, 0x1034f}, {0x1d400, 0x1d7ff}};
    const uint32_t *range = ranges[(r >> 8) % (sizeof ranges / sizeof *ranges)];
    return range[0] + (uint32_t)(r >> 16) % (range[1] - range[0] + 1);
}

static void same_as_pattern(void **state)
{
    const char *pattern = *state;
    hf_scanner scanner = hf_scanner_of(text_of(pattern));
    hf_regex *regex = NULL;
    char problem[160];
    lithe_error err;
    assert_non_null(scanner);
    assert_int_equal(hf_regex_compile(&regex, text_of(pattern), problem, &err), LITHE_OK);
    uint64_t seed = 88172645463325252u;
    size_t n_words = 0;
    for (int round = 0; round < 20000; round++) {
        uint8_t text[128];
        size_t size = 0, n = 1 + next_random(&seed) % 24, at = 0;
        for (size_t i = 0; i < n; i++)
            size += utf8_encode(random_char(&seed), text + size);
        for (; at < size; n_words++) {
            bool found;
            size_t start, end;
            assert_int_equal(hf_regex_find(regex, (bytes){text, size}, at, &found, &start, &end, &err), LITHE_OK);
            assert_true(found && start == at);
            size_t scanned = scanner((bytes){text, size}, at);
            if (scanned != end)
                fail_msg("round %d: the word at byte %zu of \"%.*s\" ends at %zu, not at %zu", round, at, (int)size,
                         (char *)text, end, scanned);
            at = end;
        }
    }
    assert_true(n_words > 100000);
    hf_regex_free(regex);
}

static void others_have_none(void **state)
{
    (void)state;
    assert_null(hf_scanner_of(text_of(GPT2 " ")));
    assert_null(hf_scanner_of(text_of("\\s+")));
    assert_null(hf_scanner_of(text_of(GPT4("\\p{N}{1,2}"))));
}

#define SAME(name, pattern)                                                                                            \
    {                                                                                                                  \
        name, same_as_pattern, NULL, NULL, (void *)(uintptr_t)(pattern)                                                \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        SAME("GPT-2", GPT2),
        SAME("Llama 3", GPT4("\\p{N}{1,3}")),
        SAME("Qwen", GPT4("\\p{N}")),
        cmocka_unit_test(others_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
