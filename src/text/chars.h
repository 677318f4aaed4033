/* Classes of characters, as the tokenizers' own libraries see them. */
#ifndef LITHE_TEXT_CHARS_H
#define LITHE_TEXT_CHARS_H

#include <stdbool.h>
#include <stdint.h>

bool char_is_space(uint32_t c);       /* White_Space */
bool char_is_letter(uint32_t c);      /* category L */
bool char_is_number(uint32_t c);      /* category N */
bool char_is_numeric(uint32_t c);     /* category N of Unicode 17, as Rust's char::is_numeric */
bool char_is_mark(uint32_t c);        /* category M */
bool char_is_punctuation(uint32_t c); /* category P, and the ASCII symbols */
bool char_is_word(uint32_t c);        /* letters, marks, numbers that are digits or letters, connectors, joiners */

/* As the tables of tokenizer.json's own libraries have them, some of which are old (chars_hf.c). */
bool char_is_hf_punctuation(uint32_t c);
bool char_is_hf_mark(uint32_t c);      /* what StripAccents removes */
bool char_is_bert_accent(uint32_t c);  /* what BertNormalizer removes as an accent */
bool char_is_bert_control(uint32_t c); /* … and as a control character, but for tabs and line ends */

#endif
