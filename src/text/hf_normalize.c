/* The normalizers of tokenizer.json. */
#include "text/hf.h"

#include "base/utf8.h"
#include "text/chars.h"

#include <stdio.h>
#include <stdlib.h>
#include <utf8proc.h>

typedef struct norm_name {
    const char *type;
    hf_norm_kind kind;
} norm_name;
static const norm_name names[] = {
    {"NFC", HF_NORM_NFC},
    {"NFD", HF_NORM_NFD},
    {"NFKC", HF_NORM_NFKC},
    {"NFKD", HF_NORM_NFKD},
    {"Strip", HF_NORM_STRIP},
    {"Prepend", HF_NORM_PREPEND},
    {"Replace", HF_NORM_REPLACE},
    {"Lowercase", HF_NORM_LOWERCASE},
    {"ByteLevel", HF_NORM_BYTE_LEVEL},
    {"StripAccents", HF_NORM_STRIP_ACCENTS},
    {"BertNormalizer", HF_NORM_BERT},
    {"Precompiled", HF_NORM_PRECOMPILED},
};

/* Accents go with the case where the file does not say. */
static lithe_status read_bert(const hf_reader *r, json_ref part, const hf_path *at, hf_norm_step *s)
{
    lithe_status st = hf_read_bool(r, part, at, "clean_text", -1, &s->clean);
    if (!st)
        st = hf_read_bool(r, part, at, "handle_chinese_chars", -1, &s->chinese);
    if (!st)
        st = hf_read_bool(r, part, at, "lowercase", -1, &s->lower);
    return st ? st : hf_read_bool(r, part, at, "strip_accents", s->lower, &s->accents);
}

static lithe_status read_step(void *user, const hf_reader *r, json_ref part, const char *type, const hf_path *at)
{
    hf_normalizer *n = user;
    size_t i = 0;
    while (i < sizeof names / sizeof *names && strcmp(names[i].type, type) != 0)
        i++;
    if (i == sizeof names / sizeof *names) {
        char what[80];
        snprintf(what, sizeof what, "the normalizer %.50s", type);
        return hf_unsupported(r, at, what);
    }
    if (n->n == HF_MAX_STEPS)
        return hf_unsupported(r, at, "a sequence of so many normalizers");
    hf_norm_step *s = &n->steps[n->n++];
    *s = (hf_norm_step){.kind = names[i].kind};
    lithe_status st = LITHE_OK;
    if (s->kind == HF_NORM_STRIP) {
        st = hf_read_bool(r, part, at, "strip_left", -1, &s->left);
        if (!st)
            st = hf_read_bool(r, part, at, "strip_right", -1, &s->right);
    }
    if (s->kind == HF_NORM_BERT)
        st = read_bert(r, part, at, s);
    if (s->kind == HF_NORM_PRECOMPILED)
        st = hf_read_charsmap(r, part, at, &s->rules);
    if (s->kind == HF_NORM_PREPEND)
        st = hf_read_string(r, part, at, "prepend", &s->content);
    if (s->kind == HF_NORM_REPLACE) {
        st = hf_read_pattern(r, part, at, &s->pattern);
        if (!st)
            st = hf_read_string(r, part, at, "content", &s->content);
        if (!st && s->pattern.literal.data && !s->pattern.literal.size)
            st = hf_unsupported(r, at, "replacing an empty string");
    }
    return st;
}

lithe_status hf_normalizer_read(hf_normalizer *n, const hf_reader *r, json_ref part)
{
    hf_path at = {"normalizer"};
    return hf_read_parts(r, part, &at, "normalizers", read_step, n);
}

void hf_normalizer_fini(hf_normalizer *n)
{
    for (size_t i = 0; i < n->n; i++)
        hf_pattern_fini(&n->steps[i].pattern);
    n->n = 0;
}

/* ---- Unicode normal forms */

/* Code points of a text while it is decomposed. */
typedef struct points {
    utf8proc_int32_t *data;
    size_t n, capacity;
} points;

static bool points_reserve(points *p, size_t more)
{
    if (p->capacity - p->n >= more)
        return true;
    size_t capacity = p->capacity + p->capacity / 2 + more;
    utf8proc_int32_t *data = realloc(p->data, capacity * sizeof *data);
    if (!data)
        return false;
    p->data = data;
    p->capacity = capacity;
    return true;
}

static bool decompose(bytes text, utf8proc_option_t options, points *p)
{
    enum { LONGEST = 32 }; /* no character decomposes into more than 18 */
    size_t used;
    int boundclass = 0;
    for (size_t i = 0; i < text.size; i += used) {
        uint32_t c = utf8_decode(text.data + i, text.size - i, &used);
        if (!points_reserve(p, LONGEST))
            return false;
        utf8proc_ssize_t n =
            utf8proc_decompose_char((utf8proc_int32_t)c, p->data + p->n, LONGEST, options, &boundclass);
        if (n < 0 || n > LONGEST)
            return false;
        p->n += (size_t)n;
    }
    return true;
}

static unsigned combining_class(utf8proc_int32_t c)
{
    return c < 0x300 ? 0 : (unsigned)utf8proc_get_property(c)->combining_class;
}

/* Stable, in linear time: long runs of marks must not cost the square of their length. */
static void sort_run(utf8proc_int32_t *run, size_t n, utf8proc_int32_t *scratch)
{
    size_t at[257] = {0};
    for (size_t i = 0; i < n; i++)
        at[(combining_class(run[i]) & 255) + 1]++;
    for (int k = 0; k < 256; k++)
        at[k + 1] += at[k];
    for (size_t i = 0; i < n; i++)
        scratch[at[combining_class(run[i]) & 255]++] = run[i];
    memcpy(run, scratch, n * sizeof *run);
}

static bool sort_marks(points *p)
{
    utf8proc_int32_t *scratch = NULL;
    for (size_t i = 0; i < p->n; i++) {
        if (!combining_class(p->data[i]))
            continue;
        size_t end = i + 1;
        while (end < p->n && combining_class(p->data[end]))
            end++;
        if (end - i > 1) {
            if (!scratch)
                scratch = malloc(p->n * sizeof *scratch);
            if (!scratch)
                return false;
            sort_run(p->data + i, end - i, scratch);
        }
        i = end;
    }
    free(scratch);
    return true;
}

/* True if the text is in every normal form of the kind already: all its characters lie below the first that any form changes. */
static bool is_plain(bytes text, hf_norm_kind kind)
{
    uint8_t limit = kind == HF_NORM_NFC ? 0xcc : 0x80; /* U+0300 begins with 0xCC */
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] >= limit)
            return false;
    }
    return true;
}

static bool normal_form(hf_norm_kind kind, bytes text, buffer *out)
{
    bool compat = kind == HF_NORM_NFKC || kind == HF_NORM_NFKD, compose = kind == HF_NORM_NFC || kind == HF_NORM_NFKC;
    points p = {0};
    utf8proc_option_t options = UTF8PROC_DECOMPOSE | (compat ? UTF8PROC_COMPAT : 0);
    bool fine = decompose(text, options, &p) && sort_marks(&p);
    if (fine && compose) {
        utf8proc_ssize_t n =
            utf8proc_normalize_utf32(p.data, (utf8proc_ssize_t)p.n, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
        fine = n >= 0;
        if (fine)
            p.n = (size_t)n;
    }
    for (size_t i = 0; fine && i < p.n; i++) {
        uint8_t c[4];
        buffer_append(out, c, utf8_encode((uint32_t)p.data[i], c));
    }
    free(p.data);
    return fine;
}

/* ---- the other steps */

static void lowercase(bytes text, buffer *out)
{
    size_t used;
    uint8_t encoded[4];
    for (size_t i = 0; i < text.size; i += used) {
        uint32_t c = utf8_decode(text.data + i, text.size - i, &used);
        if (c == 0x130)
            buffer_append(out, "i\xcc\x87", 3); /* the only one that becomes two */
        else
            buffer_append(out, encoded, utf8_encode((uint32_t)utf8proc_tolower((utf8proc_int32_t)c), encoded));
    }
}

static void strip_accents(bytes text, buffer *out)
{
    size_t used;
    for (size_t i = 0; i < text.size; i += used) {
        uint32_t c = utf8_decode(text.data + i, text.size - i, &used);
        if (!char_is_hf_mark(c))
            buffer_append(out, text.data + i, used);
    }
}

static bytes strip(bytes text, bool left, bool right)
{
    size_t used, end = 0;
    bool leading = left;
    bytes t = text;
    for (size_t i = 0; i < text.size; i += used) {
        bool space = char_is_space(utf8_decode(text.data + i, text.size - i, &used));
        if (leading && space)
            t = (bytes){text.data + i + used, text.size - i - used};
        if (!space) {
            leading = false;
            end = i + used;
        }
    }
    size_t begin = (size_t)(t.data - text.data);
    if (right)
        t.size = end > begin ? end - begin : 0;
    return t;
}

static lithe_status replace(const hf_norm_step *s, bytes text, buffer *out, lithe_error *err)
{
    size_t at = 0, start, end, plain = 0;
    bool found;
    while (at <= text.size) {
        lithe_status st = hf_pattern_find(&s->pattern, text, at, &found, &start, &end, err);
        if (st)
            return st;
        if (!found)
            break;
        buffer_append(out, text.data + plain, start - plain);
        buffer_append(out, s->content.data, s->content.size);
        plain = end;
        at = end;
        if (end == start) { /* an empty match: go on behind the next character */
            size_t used = 1;
            if (at < text.size)
                utf8_decode(text.data + at, text.size - at, &used);
            at += used;
        }
        if (out->size >= TEXT_MAX_BYTES)
            return text_too_long(out->size, err);
    }
    buffer_append(out, text.data + plain, text.size - plain);
    return LITHE_OK;
}

/* Only what has no width of its own: Bert keeps the other marks. */
static void strip_nonspacing(bytes text, buffer *out)
{
    size_t used;
    for (size_t i = 0; i < text.size; i += used) {
        uint32_t c = utf8_decode(text.data + i, text.size - i, &used);
        if (!char_is_bert_accent(c))
            buffer_append(out, text.data + i, used);
    }
}

static bytes contents(const buffer *b)
{
    return (bytes){b->data, b->size};
}

static lithe_status bert(const hf_norm_step *s, bytes text, buffer *out, lithe_error *err)
{
    buffer cleaned, decomposed, bare;
    buffer_init(&cleaned);
    buffer_init(&decomposed);
    buffer_init(&bare);
    hf_bert_clean(s, text, &cleaned);
    text = contents(&cleaned);
    bool fine = true;
    if (s->accents && text.size) {
        fine = normal_form(HF_NORM_NFD, text, &decomposed);
        strip_nonspacing(contents(&decomposed), &bare);
        text = contents(&bare);
    }
    if (s->lower)
        lowercase(text, out);
    else
        buffer_append(out, text.data, text.size);
    fine &= !buffer_failed(&cleaned) && !buffer_failed(&decomposed) && !buffer_failed(&bare);
    buffer_fini(&cleaned);
    buffer_fini(&decomposed);
    buffer_fini(&bare);
    return fine ? LITHE_OK : error_memory(err, text.size * 3, "normalised text");
}

static lithe_status apply(const hf_norm_step *s, bytes text, buffer *out, lithe_error *err)
{
    switch (s->kind) {
    case HF_NORM_LOWERCASE:
        lowercase(text, out);
        return LITHE_OK;
    case HF_NORM_STRIP_ACCENTS:
        strip_accents(text, out);
        return LITHE_OK;
    case HF_NORM_BYTE_LEVEL:
        hf_append_byte_level(text, out);
        return LITHE_OK;
    case HF_NORM_PRECOMPILED:
        hf_apply_charsmap(&s->rules, text, out);
        return LITHE_OK;
    case HF_NORM_REPLACE:
        return replace(s, text, out, err);
    case HF_NORM_BERT:
        return bert(s, text, out, err);
    case HF_NORM_PREPEND:
        buffer_append(out, s->content.data, s->content.size);
        buffer_append(out, text.data, text.size);
        return LITHE_OK;
    default:
        return normal_form(s->kind, text, out) ? LITHE_OK : error_memory(err, text.size * 8, "normalised text");
    }
}

lithe_status hf_normalize(const hf_normalizer *n, bytes text, buffer *a, buffer *b, bytes *out, lithe_error *err)
{
    for (size_t i = 0; i < n->n && text.size; i++) {
        const hf_norm_step *s = &n->steps[i];
        if (s->kind == HF_NORM_STRIP) {
            text = strip(text, s->left, s->right);
            continue;
        }
        if (s->kind <= HF_NORM_NFKD && is_plain(text, s->kind))
            continue;
        b->size = 0;
        lithe_status st = apply(s, text, b, err);
        if (st)
            return st;
        if (buffer_failed(b))
            return error_memory(err, text.size * 3, "normalised text");
        if (b->size >= TEXT_MAX_BYTES)
            return text_too_long(b->size, err);
        text = (bytes){b->data, b->size};
        buffer *swap = a; /* the text lies in b now: the next step writes to the other */
        a = b;
        b = swap;
    }
    *out = text;
    return LITHE_OK;
}
