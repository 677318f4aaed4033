/* The regular expressions of tokenizer.json: Oniguruma's dialect, run by PCRE2 with limits. What means something else in the two is
 * translated; what cannot be is refused at open. */
#ifndef LITHE_TEXT_HF_REGEX_H
#define LITHE_TEXT_HF_REGEX_H

#include "base/bytes.h"
#include "base/error.h"

typedef struct hf_regex hf_regex;

/* *problem names what is not supported if the result is LITHE_E_UNSUPPORTED; err is then not filled. */
lithe_status hf_regex_compile(hf_regex **out, bytes pattern, char problem[160], lithe_error *err);
void hf_regex_free(hf_regex *re);
size_t hf_regex_memory(const hf_regex *re);
/* The next match at or after `from` in well-formed text. Any thread. LITHE_E_TOKENIZER if the limits are exceeded. */
lithe_status hf_regex_find(const hf_regex *re, bytes text, size_t from, bool *found, size_t *start, size_t *end,
                           lithe_error *err);

#endif
