/* The normalizers that converted models and BERT bring: compiled rewriting rules, and BERT's cleaning. */
#include "text/hf.h"

#include "base/utf8.h"
#include "text/chars.h"

#include <utf8proc.h>

/* ---- Precompiled */

static int32_t base64_digit(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* In place; false if it is none. */
static bool decode_base64(uint8_t *text, size_t n, size_t *decoded)
{
    uint32_t bits = 0;
    size_t out = 0, digits = n;
    while (digits && n - digits < 2 && text[digits - 1] == '=')
        digits--;
    if (n % 4)
        return false;
    for (size_t i = 0; i < digits; i++) {
        int32_t d = base64_digit(text[i]);
        if (d < 0)
            return false;
        bits = bits << 6 | (uint32_t)d;
        if (i % 4)
            text[out++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    *decoded = out;
    return true;
}

lithe_status hf_read_charsmap(const hf_reader *r, json_ref part, const hf_path *at, sp_charsmap *out)
{
    bytes text;
    size_t n = 0;
    hf_path p = hf_path_member(at, "precompiled_charsmap");
    *out = (sp_charsmap){0};
    if (json_type(r->doc, json_get(r->doc, part, "precompiled_charsmap")) == JSON_NULL)
        return LITHE_OK;
    lithe_status st = hf_read_string(r, part, at, "precompiled_charsmap", &text);
    if (st || !text.size)
        return st;
    uint8_t *own = ARENA_ARRAY(r->arena, uint8_t, text.size);
    if (!own)
        return error_memory(r->err, text.size, "normalisation rules");
    memcpy(own, text.data, text.size);
    if (!decode_base64(own, text.size, &n))
        return hf_damaged(r, &p, "base64");
    if (sp_charsmap_open(out, (bytes){own, n}, NULL))
        return hf_damaged(r, &p, "a compiled set of rules");
    return LITHE_OK;
}

static bool rewrite(const sp_charsmap *m, bytes part, buffer *out)
{
    size_t used;
    bytes to = sp_charsmap_find(m, part, true, &used);
    if (used)
        buffer_append(out, to.data, to.size);
    return used != 0;
}

static size_t end_of_grapheme(bytes text, size_t at)
{
    size_t used;
    utf8proc_int32_t state = 0, before = (utf8proc_int32_t)utf8_decode(text.data + at, text.size - at, &used);
    for (at += used; at < text.size; at += used) {
        utf8proc_int32_t c = (utf8proc_int32_t)utf8_decode(text.data + at, text.size - at, &used);
        if (utf8proc_grapheme_break_stateful(before, c, &state))
            break;
        before = c;
    }
    return at;
}

/* The original asks for the rule of a short grapheme first, then for each character's; a rule that begins it stands for all of it. */
void hf_apply_charsmap(const sp_charsmap *m, bytes text, buffer *out)
{
    if (!m->units) {
        buffer_append(out, text.data, text.size);
        return;
    }
    size_t used;
    for (size_t at = 0, end; at < text.size; at = end) {
        end = end_of_grapheme(text, at);
        if (end - at < 6 && rewrite(m, (bytes){text.data + at, end - at}, out))
            continue;
        for (size_t i = at; i < end; i += used) {
            utf8_decode(text.data + i, end - i, &used);
            if (!rewrite(m, (bytes){text.data + i, used}, out))
                buffer_append(out, text.data + i, used);
        }
    }
}

/* ---- Bert */

static bool is_removed(uint32_t c)
{
    if (c == '\t' || c == '\n' || c == '\r')
        return false;
    if (!c || c == 0xfffd)
        return true;
    return char_is_bert_control(c);
}

static bool is_chinese(uint32_t c)
{
    static const uint32_t ranges[][2] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                         {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf},
                                         {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
    for (size_t i = 0; c >= 0x3400 && i < sizeof ranges / sizeof *ranges; i++) {
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    }
    return false;
}

void hf_bert_clean(const hf_norm_step *s, bytes text, buffer *out)
{
    size_t used;
    for (size_t i = 0; i < text.size; i += used) {
        uint32_t c = utf8_decode(text.data + i, text.size - i, &used);
        if (s->clean && is_removed(c))
            continue;
        bool apart = s->chinese && is_chinese(c);
        if (apart)
            buffer_append(out, " ", 1);
        if (s->clean && char_is_space(c))
            buffer_append(out, " ", 1);
        else
            buffer_append(out, text.data + i, used);
        if (apart)
            buffer_append(out, " ", 1);
    }
}
