#include "text/chars.h"

#include <stddef.h>
#include <utf8proc.h>

static utf8proc_category_t category(uint32_t c)
{
    return utf8proc_category((utf8proc_int32_t)c);
}

bool char_is_space(uint32_t c)
{
    if (c < 0x80)
        return c == ' ' || (c >= 9 && c <= 13);
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

bool char_is_letter(uint32_t c)
{
    if (c < 0x80)
        return (c | 32) >= 'a' && (c | 32) <= 'z';
    utf8proc_category_t k = category(c);
    return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO;
}

bool char_is_number(uint32_t c)
{
    if (c < 0x80)
        return c >= '0' && c <= '9';
    utf8proc_category_t k = category(c);
    return k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO;
}

bool char_is_numeric(uint32_t c)
{
    /* Numbers younger than utf8proc's tables. */
    static const uint32_t later[][2] = {{0x10d40, 0x10d49}, {0x116d0, 0x116e3}, {0x11bf0, 0x11bf9},
                                        {0x11de0, 0x11de9}, {0x16130, 0x16139}, {0x16d70, 0x16d79},
                                        {0x16ff4, 0x16ff6}, {0x1ccf0, 0x1ccf9}, {0x1e5f1, 0x1e5fa}};
    for (size_t i = 0; c >= later[0][0] && i < sizeof later / sizeof *later; i++) {
        if (c >= later[i][0] && c <= later[i][1])
            return true;
    }
    return char_is_number(c);
}

bool char_is_mark(uint32_t c)
{
    utf8proc_category_t k = category(c);
    return k >= UTF8PROC_CATEGORY_MN && k <= UTF8PROC_CATEGORY_ME;
}

bool char_is_punctuation(uint32_t c)
{
    if (c < 0x80)
        return (c > 32 && c < 48) || (c > 57 && c < 65) || (c > 90 && c < 97) || (c > 122 && c < 127);
    utf8proc_category_t k = category(c);
    return k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO;
}

bool char_is_word(uint32_t c)
{
    if (c < 0x80)
        return char_is_letter(c) || char_is_number(c) || c == '_';
    utf8proc_category_t k = category(c);
    return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_NL) || k == UTF8PROC_CATEGORY_PC || c == 0x200c ||
           c == 0x200d || (c >= 0x24b6 && c <= 0x24e9); /* circled letters are Alphabetic */
}
