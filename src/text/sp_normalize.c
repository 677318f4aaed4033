/* SentencePiece's normaliser: rewriting rules by longest match, then the rules for spaces. */
#include "text/sp.h"

#include "base/utf8.h"

/* A unit of the double array (the darts-clone layout): value or label below, a leaf flag, and the offset to the children. */
static uint32_t unit_offset(uint32_t unit)
{
    return (unit >> 10) << ((unit & (1u << 9)) >> 6);
}
static uint32_t unit_label(uint32_t unit)
{
    return unit & ((1u << 31) | 0xff);
}
static bool unit_has_leaf(uint32_t unit)
{
    return (unit >> 8 & 1) != 0;
}
static uint32_t unit_value(uint32_t unit)
{
    return unit & ((1u << 31) - 1);
}

lithe_status sp_charsmap_open(sp_charsmap *m, bytes blob, lithe_error *err)
{
    *m = (sp_charsmap){0};
    if (!blob.size)
        return LITHE_OK;
    uint32_t trie = blob.size > 4 ? load_u32(blob.data) : 0;
    if (blob.size <= 4 || trie >= blob.size - 4 || trie % 4 || trie < 4) {
        return error_set(err, LITHE_E_TOKENIZER,
                         "the SentencePiece model's normalisation rules are damaged: %zu bytes with a trie of %u",
                         blob.size, trie);
    }
    m->units = blob.data + 4;
    m->n_units = trie / 4;
    m->replacements = (bytes){blob.data + 4 + trie, blob.size - 4 - trie};
    if (m->replacements.data[m->replacements.size - 1] != 0) {
        return error_set(err, LITHE_E_TOKENIZER,
                         "the SentencePiece model's normalisation rules are damaged: the last replacement has no end");
    }
    return LITHE_OK;
}

static bool unit_at(const sp_charsmap *m, uint32_t at, uint32_t *unit)
{
    if (at >= m->n_units)
        return false;
    *unit = load_u32(m->units + (size_t)at * 4);
    return true;
}

bytes sp_charsmap_find(const sp_charsmap *m, bytes text, bool shortest, size_t *used)
{
    bytes found = {0};
    *used = 0;
    uint32_t unit = 0, at = 0, leaf;
    if (!unit_at(m, 0, &unit))
        return found;
    at ^= unit_offset(unit);
    for (size_t i = 0; i < text.size && text.data[i]; i++) {
        at ^= text.data[i];
        if (!unit_at(m, at, &unit) || unit_label(unit) != text.data[i])
            break;
        at ^= unit_offset(unit);
        if (!unit_has_leaf(unit) || !unit_at(m, at, &leaf) || unit_value(leaf) >= m->replacements.size)
            continue;
        const uint8_t *to = m->replacements.data + unit_value(leaf);
        found = (bytes){to, strlen((const char *)to)};
        *used = i + 1;
        if (shortest)
            break;
    }
    return found;
}

/* The next part of the text as it is after the rules; *used bytes of the text. */
static bytes normalize_prefix(const sp_model *m, bytes text, size_t *used)
{
    if (prefix_set_longest(&m->user_defined, text.data, text.size, used) >= 0)
        return (bytes){text.data, *used};
    if (m->charsmap.units) {
        bytes to = sp_charsmap_find(&m->charsmap, text, false, used);
        if (*used)
            return to;
    }
    uint32_t c;
    if (utf8_next(text.data, text.size, &c, used))
        return (bytes){text.data, *used};
    *used = 1; /* a rule or a piece took part of a character */
    return (bytes){(const uint8_t *)REPLACEMENT, 3};
}

static void append_escaped(const sp_model *m, bytes part, buffer *out)
{
    size_t plain = 0;
    if (m->spec.escape_whitespaces) {
        for (size_t i = 0; i < part.size; i++) {
            if (part.data[i] != ' ')
                continue;
            buffer_append(out, part.data + plain, i - plain);
            buffer_append(out, SPACE_SYMBOL, 3);
            plain = i + 1;
        }
    }
    buffer_append(out, part.data + plain, part.size - plain);
}

static void append_space(const sp_model *m, buffer *out)
{
    if (m->spec.escape_whitespaces)
        buffer_append(out, SPACE_SYMBOL, 3);
    else
        buffer_append(out, " ", 1);
}

static void drop_trailing_spaces(const sp_model *m, buffer *out, size_t from)
{
    const char *space = m->spec.escape_whitespaces ? SPACE_SYMBOL : " ";
    size_t n = strlen(space);
    while (out->size - from >= n && memcmp(out->data + out->size - n, space, n) == 0)
        out->size -= n;
}

static bytes rest_of(bytes text, size_t at)
{
    return (bytes){text.data + at, text.size - at};
}

lithe_status sp_normalize(const sp_model *m, bytes text, buffer *out, lithe_error *err)
{
    size_t at = 0, used, from = out->size;
    bool squeeze = m->spec.remove_extra_whitespaces;
    while (squeeze && at < text.size) {
        bytes part = normalize_prefix(m, rest_of(text, at), &used);
        if (part.size != 1 || part.data[0] != ' ')
            break;
        at += used;
    }
    if (at == text.size)
        return LITHE_OK;
    if (m->spec.add_dummy_prefix && !m->spec.whitespace_as_suffix)
        append_space(m, out);
    bool after_space = squeeze;
    while (at < text.size) {
        bytes part = normalize_prefix(m, rest_of(text, at), &used);
        at += used;
        while (after_space && part.size && part.data[0] == ' ')
            part = rest_of(part, 1);
        if (part.size) {
            append_escaped(m, part, out);
            after_space = squeeze && part.data[part.size - 1] == ' ';
        }
        if (out->size >= TEXT_MAX_BYTES)
            return text_too_long(out->size, err);
    }
    if (squeeze)
        drop_trailing_spaces(m, out, from);
    if (m->spec.add_dummy_prefix && m->spec.whitespace_as_suffix)
        append_space(m, out);
    return buffer_failed(out) ? error_memory(err, text.size * 3, "normalised text") : LITHE_OK;
}
