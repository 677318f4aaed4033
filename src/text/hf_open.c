/* Opening a tokenizer.json: its members in turn. The document's index is dropped afterwards; pieces stay where they lie in the text. */
#include "text/hf.h"

#include <stdio.h>
#include <stdlib.h>

/* What is done to ids after encoding; with add_special_tokens=false nothing. */
static lithe_status check_post_processor(void *user, const hf_reader *r, json_ref part, const char *type,
                                         const hf_path *at)
{
    static const char *const known[] = {"ByteLevel", "TemplateProcessing", "BertProcessing", "RobertaProcessing"};
    (void)user, (void)part;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i], type) == 0)
            return LITHE_OK;
    }
    char what[80];
    snprintf(what, sizeof what, "the post-processor %.50s", type);
    return hf_unsupported(r, at, what);
}

static lithe_status read_truncation(hf_tokenizer *t, const hf_reader *r, json_ref v)
{
    hf_path at = {"truncation"};
    if (json_type(r->doc, v) != JSON_OBJECT)
        return LITHE_OK;
    t->truncate_left = json_equals(r->doc, json_get(r->doc, v, "direction"), "Left");
    lithe_status st = hf_read_count(r, v, &at, "max_length", &t->truncate);
    return st || t->truncate ? st : hf_unsupported(r, &at, "max_length 0");
}

/* One text is as long as the longest of its batch: only padding to more than that changes it. */
static lithe_status check_padding(const hf_reader *r, json_ref v)
{
    hf_path at = {"padding"};
    if (json_type(r->doc, v) != JSON_OBJECT)
        return LITHE_OK;
    if (!json_equals(r->doc, json_get(r->doc, v, "strategy"), "BatchLongest"))
        return hf_unsupported(r, &at, "a strategy other than BatchLongest");
    json_kind multiple = json_type(r->doc, json_get(r->doc, v, "pad_to_multiple_of"));
    return multiple == JSON_MISSING || multiple == JSON_NULL ? LITHE_OK : hf_unsupported(r, &at, "pad_to_multiple_of");
}

static lithe_status read_all(hf_tokenizer *t, const hf_reader *r)
{
    const json_doc *d = r->doc;
    hf_path post = {"post_processor"}, root = {"the document"};
    if (json_type(d, 0) != JSON_OBJECT)
        return hf_damaged(r, &root, "an object");
    lithe_status st = hf_added_read(t, r, json_get(d, 0, "added_tokens"));
    if (!st)
        st = hf_normalizer_read(&t->normalizer, r, json_get(d, 0, "normalizer"));
    if (!st)
        st = hf_pretokenizer_read(&t->pretokenizer, r, json_get(d, 0, "pre_tokenizer"));
    if (!st)
        st = hf_decoder_read(&t->decoder, r, json_get(d, 0, "decoder"));
    if (!st)
        st = hf_read_parts(r, json_get(d, 0, "post_processor"), &post, "processors", check_post_processor, NULL);
    if (!st)
        st = read_truncation(t, r, json_get(d, 0, "truncation"));
    if (!st)
        st = check_padding(r, json_get(d, 0, "padding"));
    if (!st)
        st = hf_model_read(t, r, json_get(d, 0, "model"));
    if (st)
        return st;
    t->special = calloc((size_t)t->base.vocab.n + 1, 1);
    if (!t->special)
        return error_memory(r->err, t->base.vocab.n, "the vocabulary");
    return hf_added_index(t, r->err);
}

static void destroy(tokenizer *tok)
{
    hf_tokenizer *t = (hf_tokenizer *)tok;
    arena_fini(&t->arena);
    vocab_index_fini(&t->index);
    free(t->bpe.merges);
    free(t->scores);
    free(t->special);
    prefix_set_fini(&t->added_raw);
    prefix_set_fini(&t->added_normalized);
    prefix_set_fini(&t->added_exact);
    hf_normalizer_fini(&t->normalizer);
    hf_pretokenizer_fini(&t->pretokenizer);
    hf_decoder_fini(&t->decoder);
    free(t);
}

static size_t memory(const tokenizer *tok)
{
    const hf_tokenizer *t = (const hf_tokenizer *)tok;
    size_t n = sizeof *t + t->arena.total_bytes + vocab_index_memory(&t->index) + tok->vocab.n;
    if (t->bpe.merges)
        n += (t->bpe.merge_mask + 1) * sizeof *t->bpe.merges;
    if (t->scores)
        n += t->n_model_ids * sizeof *t->scores;
    for (size_t i = 0; i < t->pretokenizer.n; i++) {
        if (t->pretokenizer.steps[i].pattern.regex)
            n += hf_regex_memory(t->pretokenizer.steps[i].pattern.regex);
    }
    return n + prefix_set_memory(&t->added_raw) + prefix_set_memory(&t->added_normalized) +
           prefix_set_memory(&t->added_exact);
}

static int32_t piece_to_id(const tokenizer *tok, bytes piece)
{
    const hf_tokenizer *t = (const hf_tokenizer *)tok;
    int32_t added = prefix_set_find(&t->added_exact, piece);
    return added >= 0 ? t->added[added].id : vocab_index_find(&t->index, &tok->vocab, piece);
}

static bool is_control(const tokenizer *t, int32_t id)
{
    return ((const hf_tokenizer *)t)->special[id] & HF_SPECIAL;
}

static const tokenizer_kind_ops ops = {
    .destroy = destroy,
    .memory = memory,
    .encode = hf_encode,
    .piece_to_id = piece_to_id,
    .is_control = is_control,
    .token_text = hf_token_text,
    .stream_begin = hf_stream_begin,
    .stream_push = hf_stream_push,
    .stream_end = hf_stream_end,
};

lithe_status hf_open(tokenizer **out, bytes json, lithe_error *err)
{
    json_doc *doc = NULL;
    lithe_status st = json_parse(&doc, json, err);
    if (st)
        return st;
    hf_tokenizer *t = calloc(1, sizeof *t);
    if (!t) {
        json_free(doc);
        return error_memory(err, sizeof *t, "a tokenizer");
    }
    arena_init(&t->arena, 0);
    t->base.ops = &ops;
    t->base.kind = "hf-bpe";
    t->base.vocab.text = json;
    hf_reader r = {doc, &t->arena, err};
    st = read_all(t, &r);
    json_free(doc);
    if (st)
        tokenizer_close(&t->base);
    else
        *out = &t->base;
    return st;
}
