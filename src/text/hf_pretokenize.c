/* The pre-tokenizers of tokenizer.json. Each step cuts (and may rewrite) a part and hands the pieces to the next step, depth first, so
 * no list of parts is kept. */
#include "text/hf.h"

#include "base/utf8.h"
#include "text/chars.h"

#include <stdio.h>

/* ---- reading */

typedef struct behavior_name {
    const char *name;
    hf_behavior behavior;
} behavior_name;
static const behavior_name behaviors[] = {
    {"Removed", HF_REMOVED},
    {"Isolated", HF_ISOLATED},
    {"Contiguous", HF_CONTIGUOUS},
    {"MergedWithPrevious", HF_MERGED_WITH_PREVIOUS},
    {"MergedWithNext", HF_MERGED_WITH_NEXT},
};

static lithe_status read_behavior(const hf_reader *r, json_ref part, const hf_path *at, hf_behavior *out)
{
    bytes name;
    lithe_status st = hf_read_string(r, part, at, "behavior", &name);
    for (size_t i = 0; i < sizeof behaviors / sizeof *behaviors && !st; i++) {
        if (strcmp(behaviors[i].name, (const char *)name.data) != 0)
            continue;
        *out = behaviors[i].behavior;
        return LITHE_OK;
    }
    hf_path p = hf_path_member(at, "behavior");
    return st ? st
              : hf_damaged(r, &p,
                           "a known behavior (Removed, Isolated, Contiguous, MergedWithPrevious or MergedWithNext)");
}

static lithe_status read_split(const hf_reader *r, json_ref part, const hf_path *at, hf_pre_step *s)
{
    s->kind = HF_PRE_SPLIT;
    lithe_status st = hf_read_pattern(r, part, at, &s->pattern);
    if (!st)
        st = read_behavior(r, part, at, &s->behavior);
    return st ? st : hf_read_bool(r, part, at, "invert", -1, &s->invert);
}

static lithe_status read_byte_level(const hf_reader *r, json_ref part, const hf_path *at, hf_pre_step *s)
{
    s->kind = HF_PRE_BYTE_LEVEL;
    lithe_status st = hf_read_bool(r, part, at, "add_prefix_space", -1, &s->add_prefix_space);
    return st ? st : hf_read_bool(r, part, at, "use_regex", 1, &s->use_regex);
}

static lithe_status read_digits(const hf_reader *r, json_ref part, const hf_path *at, hf_pre_step *s)
{
    bool individual;
    lithe_status st = hf_read_bool(r, part, at, "individual_digits", -1, &individual);
    s->kind = HF_PRE_CLASS;
    s->in_class = char_is_numeric;
    s->behavior = individual ? HF_ISOLATED : HF_CONTIGUOUS;
    return st;
}

static lithe_status read_punctuation(const hf_reader *r, json_ref part, const hf_path *at, hf_pre_step *s)
{
    s->kind = HF_PRE_CLASS;
    s->in_class = char_is_hf_punctuation;
    s->behavior = HF_ISOLATED;
    return json_type(r->doc, json_get(r->doc, part, "behavior")) == JSON_MISSING
               ? LITHE_OK
               : read_behavior(r, part, at, &s->behavior);
}

static lithe_status read_whitespace_split(const hf_reader *r, json_ref part, const hf_path *at, hf_pre_step *s)
{
    (void)r, (void)part, (void)at;
    s->kind = HF_PRE_CLASS;
    s->in_class = char_is_space;
    s->behavior = HF_REMOVED;
    return LITHE_OK;
}

static lithe_status read_words(const hf_reader *r, json_ref part, const hf_path *at, hf_pre_step *s)
{
    (void)r, (void)part, (void)at;
    s->kind = HF_PRE_WORDS;
    return LITHE_OK;
}

static lithe_status read_delimiter(const hf_reader *r, json_ref part, const hf_path *at, hf_pre_step *s)
{
    s->kind = HF_PRE_SPLIT;
    s->behavior = HF_REMOVED;
    return hf_read_char(r, part, at, "delimiter", &s->pattern.literal);
}

static lithe_status read_metaspace(const hf_reader *r, json_ref part, const hf_path *at, hf_pre_step *s)
{
    s->kind = HF_PRE_METASPACE;
    s->behavior = HF_MERGED_WITH_NEXT;
    lithe_status st = hf_read_char(r, part, at, "replacement", &s->replacement);
    if (!st)
        st = hf_read_bool(r, part, at, "split", 1, &s->split);
    bytes scheme = {(const uint8_t *)"always", 6};
    if (!st && json_type(r->doc, json_get(r->doc, part, "prepend_scheme")) != JSON_MISSING)
        st = hf_read_string(r, part, at, "prepend_scheme", &scheme);
    if (st)
        return st;
    hf_path p = hf_path_member(at, "prepend_scheme");
    bool old_never = json_type(r->doc, json_get(r->doc, part, "add_prefix_space")) == JSON_FALSE;
    bool never = scheme.size == 5 && memcmp(scheme.data, "never", 5) == 0;
    s->prepend_first = scheme.size == 5 && memcmp(scheme.data, "first", 5) == 0;
    s->prepend_always = scheme.size == 6 && memcmp(scheme.data, "always", 6) == 0;
    if (!never && !s->prepend_first && !s->prepend_always)
        return hf_damaged(r, &p, "first, always or never");
    if (old_never && !never)
        return hf_damaged(r, &p, "never, as add_prefix_space: false says");
    s->pattern.literal = s->replacement;
    return LITHE_OK;
}

typedef struct pre_name {
    const char *type;
    lithe_status (*read)(const hf_reader *r, json_ref part, const hf_path *at, hf_pre_step *s);
} pre_name;
static const pre_name names[] = {
    {"Split", read_split},
    {"ByteLevel", read_byte_level},
    {"Digits", read_digits},
    {"Metaspace", read_metaspace},
    {"Punctuation", read_punctuation},
    {"WhitespaceSplit", read_whitespace_split},
    {"CharDelimiterSplit", read_delimiter},
    {"Whitespace", read_words},
};

static lithe_status read_step(void *user, const hf_reader *r, json_ref part, const char *type, const hf_path *at)
{
    hf_pretokenizer *p = user;
    if (strcmp(type, "BertPreTokenizer") == 0) { /* two steps in one */
        lithe_status st = read_step(user, r, part, "WhitespaceSplit", at);
        type = "Punctuation";
        if (st)
            return st;
    }
    size_t i = 0;
    while (i < sizeof names / sizeof *names && strcmp(names[i].type, type) != 0)
        i++;
    if (i == sizeof names / sizeof *names) {
        char what[80];
        snprintf(what, sizeof what, "the pre-tokenizer %.50s", type);
        return hf_unsupported(r, at, what);
    }
    if (p->n == HF_MAX_STEPS)
        return hf_unsupported(r, at, "a sequence of so many pre-tokenizers");
    p->steps[p->n] = (hf_pre_step){0};
    return names[i].read(r, part, at, &p->steps[p->n++]);
}

lithe_status hf_pretokenizer_read(hf_pretokenizer *p, const hf_reader *r, json_ref part)
{
    hf_path at = {"pre_tokenizer"};
    return hf_read_parts(r, part, &at, "pretokenizers", read_step, p);
}

void hf_pretokenizer_fini(hf_pretokenizer *p)
{
    for (size_t i = 0; i < p->n; i++)
        hf_pattern_fini(&p->steps[i].pattern);
    p->n = 0;
}

void hf_pre_work_fini(hf_pre_work *w)
{
    for (int i = 0; i < HF_MAX_STEPS; i++) {
        buffer_fini(&w->scratch[i]);
        buffer_fini(&w->prefixed[i]);
    }
}

/* ---- bytes as characters */

/* Printable Latin-1 stands for itself; the other 68 bytes, in order, for the characters from U+0100 on. */
static bool stands_for_itself(uint32_t b)
{
    return (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || (b >= 0xae && b <= 0xff);
}

uint32_t hf_char_of_byte(uint8_t b)
{
    if (stands_for_itself(b))
        return b;
    return 0x100 + (b <= 0x20 ? b : b <= 0xa0 ? b - 0x7fu + 33u : 67u);
}

int32_t hf_byte_of_char(uint32_t c)
{
    if (c < 0x100)
        return stands_for_itself(c) ? (int32_t)c : -1;
    uint32_t i = c - 0x100;
    return i <= 0x20 ? (int32_t)i : i < 67 ? (int32_t)(i - 33 + 0x7f) : i == 67 ? 0xad : -1;
}

void hf_append_byte_level(bytes text, buffer *out)
{
    uint8_t chunk[256];
    size_t n = 0;
    for (size_t i = 0; i < text.size; i++) {
        n += utf8_encode(hf_char_of_byte(text.data[i]), chunk + n);
        if (n > sizeof chunk - 4) {
            buffer_append(out, chunk, n);
            n = 0;
        }
    }
    buffer_append(out, chunk, n);
}

/* ---- running */

typedef struct run {
    const hf_pretokenizer *p;
    hf_pre_work *work;
    hf_word_fn word;
    void *user;
    lithe_error *err;
} run;

static lithe_status run_step(const run *c, size_t step, bytes text, bool at_origin);

/* Cuts a part at matches, as the behavior says: collects the ranges and hands them on once they are known to be whole. */
typedef struct cutter {
    const run *run;
    size_t next_step;
    bytes text;
    bool at_origin;
    hf_behavior behavior;
    size_t start, end;    /* the range held back */
    bool held, was_match; /* … if any, and what it ended with */
} cutter;

static lithe_status hand_on(const cutter *c, size_t start, size_t end)
{
    if (start == end)
        return LITHE_OK;
    return run_step(c->run, c->next_step, (bytes){c->text.data + start, end - start}, c->at_origin && start == 0);
}

static lithe_status cut(cutter *c, size_t start, size_t end, bool match)
{
    if (c->behavior == HF_REMOVED)
        return match ? LITHE_OK : hand_on(c, start, end);
    if (c->behavior == HF_ISOLATED)
        return hand_on(c, start, end);
    bool join = c->held && (c->behavior == HF_CONTIGUOUS             ? match == c->was_match
                            : c->behavior == HF_MERGED_WITH_PREVIOUS ? match && !c->was_match
                                                                     : c->was_match && !match);
    c->was_match = match;
    if (join) {
        c->end = end;
        return LITHE_OK;
    }
    lithe_status st = c->held ? hand_on(c, c->start, c->end) : LITHE_OK;
    c->held = true;
    c->start = start;
    c->end = end;
    return st;
}

static lithe_status cut_end(cutter *c)
{
    return c->held ? hand_on(c, c->start, c->end) : LITHE_OK;
}

static lithe_status split_by_pattern(const run *r, size_t step, bytes text, bool at_origin)
{
    const hf_pre_step *s = &r->p->steps[step];
    cutter c = {.run = r, .next_step = step + 1, .text = text, .at_origin = at_origin, .behavior = s->behavior};
    size_t from = 0, done = 0, start, end;
    lithe_status st = LITHE_OK;
    while (!st && from <= text.size) {
        bool found;
        st = hf_pattern_find(&s->pattern, text, from, &found, &start, &end, r->err);
        if (st || !found)
            break;
        from = end;
        if (start == end) {
            size_t used = 1;
            if (end < text.size)
                utf8_decode(text.data + end, text.size - end, &used);
            from += used;
            if (start == done && done)
                continue; /* an empty match right behind another does not count */
        }
        if (start > done)
            st = cut(&c, done, start, s->invert);
        if (!st)
            st = cut(&c, start, end, !s->invert);
        done = end;
    }
    if (!st && done < text.size)
        st = cut(&c, done, text.size, s->invert);
    return st ? st : cut_end(&c);
}

static lithe_status split_by_class(const run *r, size_t step, bytes text, bool at_origin)
{
    const hf_pre_step *s = &r->p->steps[step];
    cutter c = {.run = r, .next_step = step + 1, .text = text, .at_origin = at_origin, .behavior = s->behavior};
    size_t done = 0, used;
    lithe_status st = LITHE_OK;
    for (size_t i = 0; i < text.size && !st; i += used) {
        if (!s->in_class(utf8_decode(text.data + i, text.size - i, &used)))
            continue;
        if (i > done)
            st = cut(&c, done, i, false);
        if (!st)
            st = cut(&c, i, i + used, true);
        done = i + used;
    }
    if (!st && done < text.size)
        st = cut(&c, done, text.size, false);
    return st ? st : cut_end(&c);
}

/* Runs of word characters, and runs of what is neither those nor space. */
static lithe_status split_words(const run *r, size_t step, bytes text, bool at_origin)
{
    size_t start = 0, used;
    int before = 0;
    lithe_status st = LITHE_OK;
    for (size_t i = 0; i < text.size && !st; i += used) {
        uint32_t c = utf8_decode(text.data + i, text.size - i, &used);
        int group = char_is_word(c) ? 1 : char_is_space(c) ? 0 : 2;
        if (group != before && before)
            st = run_step(r, step + 1, (bytes){text.data + start, i - start}, at_origin && start == 0);
        if (group != before)
            start = i;
        before = group;
    }
    return st || !before
               ? st
               : run_step(r, step + 1, (bytes){text.data + start, text.size - start}, at_origin && start == 0);
}

/* Hands on a part rewritten as byte characters. */
static lithe_status byte_level_word(const run *r, size_t step, bytes word, bool at_origin)
{
    buffer *b = &r->work->scratch[step];
    b->size = 0;
    hf_append_byte_level(word, b);
    if (buffer_failed(b))
        return error_memory(r->err, word.size * 2, "text to tokenize");
    return run_step(r, step + 1, (bytes){b->data, b->size}, at_origin);
}

static lithe_status byte_level(const run *r, size_t step, bytes text, bool at_origin)
{
    const hf_pre_step *s = &r->p->steps[step];
    buffer *b = &r->work->prefixed[step];
    if (s->add_prefix_space && text.data[0] != ' ') {
        b->size = 0;
        buffer_append(b, " ", 1);
        buffer_append(b, text.data, text.size);
        if (buffer_failed(b))
            return error_memory(r->err, text.size + 1, "text to tokenize");
        text = (bytes){b->data, b->size};
    }
    if (!s->use_regex)
        return byte_level_word(r, step, text, at_origin);
    lithe_status st = LITHE_OK;
    for (size_t at = 0, end; at < text.size && !st; at = end) {
        end = hf_gpt2_word(text, at);
        st = byte_level_word(r, step, (bytes){text.data + at, end - at}, at_origin && at == 0);
    }
    return st;
}

static lithe_status metaspace(const run *r, size_t step, bytes text, bool at_origin)
{
    const hf_pre_step *s = &r->p->steps[step];
    buffer *b = &r->work->scratch[step];
    b->size = 0;
    bool starts = text.data[0] == ' ' || (text.size >= s->replacement.size &&
                                          memcmp(text.data, s->replacement.data, s->replacement.size) == 0);
    if (!starts && (s->prepend_always || (s->prepend_first && at_origin)))
        buffer_append(b, s->replacement.data, s->replacement.size);
    size_t plain = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] != ' ')
            continue;
        buffer_append(b, text.data + plain, i - plain);
        buffer_append(b, s->replacement.data, s->replacement.size);
        plain = i + 1;
    }
    buffer_append(b, text.data + plain, text.size - plain);
    if (buffer_failed(b))
        return error_memory(r->err, text.size * 3, "text to tokenize");
    bytes rewritten = {b->data, b->size};
    return s->split ? split_by_pattern(r, step, rewritten, at_origin) : run_step(r, step + 1, rewritten, at_origin);
}

static lithe_status run_step(const run *c, size_t step, bytes text, bool at_origin)
{
    if (step == c->p->n)
        return c->word(c->user, text, c->err);
    switch (c->p->steps[step].kind) {
    case HF_PRE_SPLIT:
        return split_by_pattern(c, step, text, at_origin);
    case HF_PRE_CLASS:
        return split_by_class(c, step, text, at_origin);
    case HF_PRE_WORDS:
        return split_words(c, step, text, at_origin);
    case HF_PRE_BYTE_LEVEL:
        return byte_level(c, step, text, at_origin);
    default:
        return metaspace(c, step, text, at_origin);
    }
}

lithe_status hf_pretokenize(const hf_pretokenizer *p, bytes text, bool at_origin, hf_pre_work *w, hf_word_fn word,
                            void *user, lithe_error *err)
{
    run r = {p, w, word, user, err};
    return text.size ? run_step(&r, 0, text, at_origin) : LITHE_OK;
}
