/* Added tokens: those a tokenizer.json lists beside its model. They are found in the text before anything else happens to it. */
#include "text/hf.h"

#include "base/utf8.h"
#include "text/chars.h"

lithe_status hf_added_read(hf_tokenizer *t, const hf_reader *r, json_ref added)
{
    hf_path list = {"added_tokens"};
    size_t n = json_count(r->doc, added), i = 0;
    t->added = ARENA_ARRAY(&t->arena, hf_added, n + 1);
    if (!t->added)
        return error_memory(r->err, n * sizeof *t->added, "added tokens");
    lithe_status st = LITHE_OK;
    for (json_ref v = json_first(r->doc, added); v != JSON_NONE && !st; v = json_next(r->doc, v)) {
        hf_path at = hf_path_element(&list, i++);
        hf_added *a = &t->added[t->n_added];
        if (json_type(r->doc, v) != JSON_OBJECT)
            return hf_damaged(r, &at, "an object");
        st = hf_read_string(r, v, &at, "content", &a->content);
        if (!st)
            st = hf_read_bool(r, v, &at, "special", -1, &a->special);
        if (!st)
            st = hf_read_bool(r, v, &at, "single_word", -1, &a->single_word);
        if (!st)
            st = hf_read_bool(r, v, &at, "lstrip", -1, &a->lstrip);
        if (!st)
            st = hf_read_bool(r, v, &at, "rstrip", -1, &a->rstrip);
        if (!st)
            st = hf_read_bool(r, v, &at, "normalized", -1, &a->normalized);
        t->n_added += !st && a->content.size != 0;
    }
    return st;
}

static lithe_status index_one(hf_tokenizer *t, hf_added *a, int32_t index, buffer *x, buffer *y, lithe_error *err)
{
    bytes spelled = a->content;
    lithe_status st = a->normalized ? hf_normalize(&t->normalizer, a->content, x, y, &spelled, err) : LITHE_OK;
    if (!st && spelled.size)
        st = prefix_set_add(a->normalized ? &t->added_normalized : &t->added_raw, spelled, index, err);
    if (!st)
        st = prefix_set_add(&t->added_exact, a->content, index, err);
    if (st)
        return st;
    if (a->special)
        t->special[a->id] |= HF_SPECIAL;
    a->spelled = a->content;
    if (spelled.size == a->content.size && !memcmp(spelled.data, a->content.data, spelled.size))
        return LITHE_OK;
    const char *copy = arena_strndup(&t->arena, spelled.size ? (const char *)spelled.data : "", spelled.size);
    if (!copy)
        return error_memory(err, spelled.size, "added tokens");
    a->spelled = (bytes){(const uint8_t *)copy, spelled.size};
    t->special[a->id] |= HF_RESPELLED;
    return LITHE_OK;
}

lithe_status hf_added_index(hf_tokenizer *t, lithe_error *err)
{
    buffer x, y;
    buffer_init(&x);
    buffer_init(&y);
    lithe_status st = LITHE_OK;
    for (size_t i = 0; i < t->n_added && !st; i++)
        st = index_one(t, &t->added[i], (int32_t)i, &x, &y, err);
    buffer_fini(&x);
    buffer_fini(&y);
    return st;
}

/* ---- finding them */

static bool word_ends(bytes text, size_t at)
{
    if (!at)
        return false;
    size_t used, start = at - 1;
    while (start && (text.data[start] & 0xc0) == 0x80)
        start--;
    return char_is_word(utf8_decode(text.data + start, at - start, &used));
}

static bool word_starts(bytes text, size_t at)
{
    size_t used;
    return at < text.size && char_is_word(utf8_decode(text.data + at, text.size - at, &used));
}

static size_t spaces_before(bytes text, size_t at, size_t least)
{
    while (at > least) {
        size_t used, start = at - 1;
        while (start && (text.data[start] & 0xc0) == 0x80)
            start--;
        if (!char_is_space(utf8_decode(text.data + start, at - start, &used)))
            break;
        at = start;
    }
    return at < least ? least : at;
}

static size_t spaces_after(bytes text, size_t at)
{
    size_t used;
    while (at < text.size && char_is_space(utf8_decode(text.data + at, text.size - at, &used)))
        at += used;
    return at;
}

typedef struct encoding {
    const hf_tokenizer *t;
    hf_pre_work pre;
    hf_word_work bpe;
    buffer a, b; /* of the normalizer */
    lithe_error *err;
} encoding;

typedef lithe_status (*part_fn)(encoding *e, bytes part, bool at_origin);

/* Calls `between` for what lies between added tokens, and writes their ids. */
static lithe_status split_at_added(encoding *e, const prefix_set *set, bytes text, bool at_origin, part_fn between)
{
    size_t done = 0, at = 0, length = 0;
    int32_t index = -1;
    lithe_status st = LITHE_OK;
    while (!st) {
        size_t start = prefix_set_search(set, text, at, &index, &length);
        if (start == text.size)
            break;
        const hf_added *a = &e->t->added[index];
        size_t stop = at = start + length;
        if (a->single_word && (word_ends(text, start) || word_starts(text, stop)))
            continue;
        if (a->lstrip)
            start = spaces_before(text, start, done < start ? done : start);
        if (a->rstrip)
            stop = spaces_after(text, stop);
        if (done < start)
            st = between(e, (bytes){text.data + done, start - done}, at_origin && done == 0);
        if (!st)
            st = token_list_push(e->bpe.out, a->id, e->err);
        done = stop;
    }
    if (!st && done < text.size)
        st = between(e, (bytes){text.data + done, text.size - done}, at_origin && done == 0);
    return st;
}

static lithe_status encode_words(encoding *e, bytes part, bool at_origin)
{
    return hf_pretokenize(&e->t->pretokenizer, part, at_origin, &e->pre, e->t->word, &e->bpe, e->err);
}

static lithe_status encode_normalized(encoding *e, bytes part, bool at_origin)
{
    bytes normalized;
    lithe_status st = hf_normalize(&e->t->normalizer, part, &e->a, &e->b, &normalized, e->err);
    return st ? st : split_at_added(e, &e->t->added_normalized, normalized, at_origin, encode_words);
}

static void truncate_ids(const hf_tokenizer *t, token_list *out, size_t before)
{
    size_t n = out->n - before;
    if (!t->truncate || n <= t->truncate)
        return;
    if (t->truncate_left)
        memmove(out->ids + before, out->ids + out->n - t->truncate, t->truncate * sizeof *out->ids);
    out->n = before + t->truncate;
}

lithe_status hf_encode(const tokenizer *tok, bytes text, bool special, token_list *out, lithe_error *err)
{
    (void)special; /* added tokens are always found */
    const hf_tokenizer *t = (const hf_tokenizer *)tok;
    size_t before = out->n;
    encoding e = {.t = t, .bpe = {.t = t, .out = out}, .err = err};
    lithe_status st = split_at_added(&e, &t->added_raw, text, true, encode_normalized);
    hf_pre_work_fini(&e.pre);
    bpe_work_fini(&e.bpe.merge);
    buffer_fini(&e.bpe.scratch);
    buffer_fini(&e.a);
    buffer_fini(&e.b);
    if (!st)
        truncate_ids(t, out, before);
    return st;
}
