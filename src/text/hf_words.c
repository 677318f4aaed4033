/* Scanners for the patterns by which most byte-level tokenizers cut words: each finds what the regular expression would match at a
 * position, in one pass. All three match at every position, and look only ahead. */
#include "text/hf.h"

#include "base/utf8.h"
#include "text/chars.h"

/* GPT-2's pattern: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */

typedef enum char_group { GROUP_SPACE, GROUP_LETTER, GROUP_NUMBER, GROUP_OTHER } char_group;

static char_group group_at(bytes text, size_t at, size_t *used)
{
    uint32_t c = utf8_decode(text.data + at, text.size - at, used);
    return char_is_letter(c)   ? GROUP_LETTER
           : char_is_space(c)  ? GROUP_SPACE
           : char_is_number(c) ? GROUP_NUMBER
                               : GROUP_OTHER;
}

static size_t contraction(bytes text, size_t at)
{
    static const char *const endings[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t n = strlen(endings[i]);
        if (text.size - at >= n && memcmp(text.data + at, endings[i], n) == 0)
            return n;
    }
    return 0;
}

static size_t end_of_group(bytes text, size_t at, char_group group, size_t *last)
{
    size_t used;
    while (at < text.size && group_at(text, at, &used) == group) {
        *last = at;
        at += used;
    }
    return at;
}

size_t hf_gpt2_word(bytes text, size_t at)
{
    size_t used, last = at;
    if (text.data[at] == '\'') {
        size_t n = contraction(text, at);
        if (n)
            return at + n;
    }
    char_group group = group_at(text, at, &used);
    if (group == GROUP_SPACE) {
        size_t behind = at + 1, unused;
        if (text.data[at] == ' ' && behind < text.size) {
            char_group next = group_at(text, behind, &unused);
            if (next != GROUP_SPACE)
                return end_of_group(text, behind, next, &last);
        }
        size_t end = end_of_group(text, at, GROUP_SPACE, &last);
        /* The last space before other text is left to it, unless it is the only one. */
        return end == text.size || last == at ? end : last;
    }
    return end_of_group(text, at, group, &last);
}

/* ---- tiktoken's pattern for GPT-4, which Llama 3 took over, and Qwen's that has numbers one by one */

/* In either case; U+017F is an s to a pattern that ignores case. */
static size_t contraction_any_case(bytes text, size_t at)
{
    uint8_t lower[3] = {'\''};
    if (text.size - at >= 3 && text.data[at + 1] == 0xc5 && text.data[at + 2] == 0xbf)
        return 3;
    size_t n = text.size - at < 3 ? text.size - at : 3;
    for (size_t i = 1; i < n; i++) {
        uint8_t c = text.data[at + i];
        lower[i] = c >= 'A' && c <= 'Z' ? c | 32 : c;
    }
    return contraction((bytes){lower, n}, 0);
}

/* [^\r\n\p{L}\p{N}]?\p{L}+, where no letter begins: where the letters begin, or at. */
static size_t letters_behind(bytes text, size_t at, size_t used)
{
    size_t unused;
    bool may = text.data[at] != '\r' && text.data[at] != '\n' && at + used < text.size;
    return may && group_at(text, at + used, &unused) == GROUP_LETTER ? at + used : at;
}

/* \s*[\r\n]+|\s+(?!\S)|\s+ */
static size_t spaces(bytes text, size_t at)
{
    size_t last = at, end = end_of_group(text, at, GROUP_SPACE, &last), line = end;
    while (line > at && text.data[line - 1] != '\n' && text.data[line - 1] != '\r')
        line--;
    if (line > at)
        return line;
    return end == text.size || last == at ? end : last;
}

static size_t gpt4_word(bytes text, size_t at, size_t most_digits)
{
    size_t used, unused, last, n = text.data[at] == '\'' ? contraction_any_case(text, at) : 0;
    if (n)
        return at + n;
    char_group group = group_at(text, at, &used);
    if (group == GROUP_LETTER)
        return end_of_group(text, at, group, &last);
    if (group == GROUP_NUMBER) {
        for (size_t i = 0; i < most_digits && at < text.size && group_at(text, at, &used) == group; i++)
            at += used;
        return at;
    }
    size_t letters = letters_behind(text, at, used);
    if (letters > at)
        return end_of_group(text, letters, GROUP_LETTER, &last);
    if (group == GROUP_SPACE) {
        if (text.data[at] != ' ' || at + 1 == text.size || group_at(text, at + 1, &unused) != GROUP_OTHER)
            return spaces(text, at);
        at++;
    }
    at = end_of_group(text, at, GROUP_OTHER, &last);
    while (at < text.size && (text.data[at] == '\r' || text.data[at] == '\n'))
        at++;
    return at;
}

static size_t llama3_word(bytes text, size_t at)
{
    return gpt4_word(text, at, 3);
}
static size_t qwen_word(bytes text, size_t at)
{
    return gpt4_word(text, at, 1);
}

/* ---- which pattern is which */

#define GPT4_PATTERN(numbers)                                                                                          \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" numbers                                              \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

typedef struct known_pattern {
    const char *pattern;
    hf_scanner scanner;
} known_pattern;
static const known_pattern known[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", hf_gpt2_word},
    {GPT4_PATTERN("\\p{N}{1,3}"), llama3_word},
    {GPT4_PATTERN("\\p{N}"), qwen_word},
};

hf_scanner hf_scanner_of(bytes pattern)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].pattern) == pattern.size && memcmp(known[i].pattern, pattern.data, pattern.size) == 0)
            return known[i].scanner;
    }
    return NULL;
}
