/* Reading the parts of a tokenizer.json, with errors that say where. */
#include "text/hf.h"

#include "base/utf8.h"

#include <stdio.h>

enum { MAX_NESTING = 16 };

hf_path hf_path_member(const hf_path *p, const char *name)
{
    hf_path q;
    snprintf(q.text, sizeof q.text, "%.60s%s%.30s", p->text, p->text[0] ? "." : "", name);
    return q;
}

hf_path hf_path_element(const hf_path *p, size_t i)
{
    hf_path q;
    snprintf(q.text, sizeof q.text, "%.72s[%zu]", p->text, i);
    return q;
}

lithe_status hf_unsupported(const hf_reader *r, const hf_path *at, const char *what)
{
    return error_set(r->err, LITHE_E_UNSUPPORTED, "tokenizer.json: %s: %s is not supported", at->text, what);
}

lithe_status hf_damaged(const hf_reader *r, const hf_path *at, const char *expected)
{
    error_set(r->err, LITHE_E_TOKENIZER, "tokenizer.json: %s is not %s", at->text, expected);
    return error_expected(r->err, "%s", expected);
}

static lithe_status out_of_memory(const hf_reader *r)
{
    return error_memory(r->err, 4096, "a tokenizer's description");
}

lithe_status hf_read_string(const hf_reader *r, json_ref object, const hf_path *at, const char *name, bytes *out)
{
    json_ref v = json_get(r->doc, object, name);
    hf_path p = hf_path_member(at, name);
    if (json_type(r->doc, v) != JSON_STRING)
        return hf_damaged(r, &p, "a string");
    size_t n;
    const char *s = json_string(r->doc, v, r->arena, &n);
    if (!s)
        return out_of_memory(r);
    *out = (bytes){(const uint8_t *)s, n};
    return LITHE_OK;
}

lithe_status hf_read_char(const hf_reader *r, json_ref object, const hf_path *at, const char *name, bytes *out)
{
    lithe_status st = hf_read_string(r, object, at, name, out);
    uint32_t c;
    size_t used;
    if (st)
        return st;
    hf_path p = hf_path_member(at, name);
    if (!out->size || !utf8_next(out->data, out->size, &c, &used) || used != out->size)
        return hf_damaged(r, &p, "one character");
    return LITHE_OK;
}

lithe_status hf_read_bool(const hf_reader *r, json_ref object, const hf_path *at, const char *name, int fallback,
                          bool *out)
{
    json_ref v = json_get(r->doc, object, name);
    json_kind k = json_type(r->doc, v);
    hf_path p = hf_path_member(at, name);
    *out = k == JSON_TRUE || (k != JSON_FALSE && fallback > 0);
    if (k == JSON_TRUE || k == JSON_FALSE || ((k == JSON_MISSING || k == JSON_NULL) && fallback >= 0))
        return LITHE_OK;
    return hf_damaged(r, &p, "true or false");
}

lithe_status hf_read_count(const hf_reader *r, json_ref object, const hf_path *at, const char *name, size_t *out)
{
    int64_t v;
    hf_path p = hf_path_member(at, name);
    if (!json_i64(r->doc, json_get(r->doc, object, name), &v) || v < 0 || v > INT32_MAX)
        return hf_damaged(r, &p, "a count");
    *out = (size_t)v;
    return LITHE_OK;
}

static lithe_status read_regex(const hf_reader *r, bytes pattern, const hf_path *at, hf_regex **out)
{
    char problem[160];
    lithe_status st = hf_regex_compile(out, pattern, problem, r->err);
    return st == LITHE_E_UNSUPPORTED ? hf_unsupported(r, at, problem) : st;
}

lithe_status hf_read_pattern(const hf_reader *r, json_ref object, const hf_path *at, hf_pattern *out)
{
    json_ref v = json_get(r->doc, object, "pattern");
    hf_path p = hf_path_member(at, "pattern");
    *out = (hf_pattern){0};
    if (json_type(r->doc, json_get(r->doc, v, "String")) == JSON_STRING)
        return hf_read_string(r, v, &p, "String", &out->literal);
    if (json_type(r->doc, json_get(r->doc, v, "Regex")) != JSON_STRING)
        return hf_damaged(r, &p, "{\"String\": …} or {\"Regex\": …}");
    bytes pattern;
    lithe_status st = hf_read_string(r, v, &p, "Regex", &pattern);
    out->scanner = st ? NULL : hf_scanner_of(pattern);
    return st || out->scanner ? st : read_regex(r, pattern, &p, &out->regex);
}

void hf_pattern_fini(hf_pattern *p)
{
    hf_regex_free(p->regex);
    *p = (hf_pattern){0};
}

lithe_status hf_pattern_find(const hf_pattern *p, bytes text, size_t from, bool *found, size_t *start, size_t *end,
                             lithe_error *err)
{
    if (p->scanner) {
        *found = from < text.size;
        *start = from;
        *end = *found ? p->scanner(text, from) : from;
        return LITHE_OK;
    }
    if (p->regex)
        return hf_regex_find(p->regex, text, from, found, start, end, err);
    *found = false;
    size_t n = p->literal.size;
    for (size_t i = from; n && i + n <= text.size; i++) {
        const uint8_t *first = memchr(text.data + i, p->literal.data[0], text.size - n - i + 1);
        if (!first)
            break;
        i = (size_t)(first - text.data);
        if (memcmp(first, p->literal.data, n) != 0)
            continue;
        *found = true;
        *start = i;
        *end = i + n;
        break;
    }
    return LITHE_OK;
}

static lithe_status read_parts(const hf_reader *r, json_ref part, const hf_path *at, const char *list, hf_part_fn one,
                               void *user, int depth)
{
    if (json_type(r->doc, part) == JSON_NULL || json_type(r->doc, part) == JSON_MISSING)
        return LITHE_OK;
    bytes type;
    if (depth > MAX_NESTING)
        return hf_unsupported(r, at, "a Sequence nested so deep");
    lithe_status st = hf_read_string(r, part, at, "type", &type);
    if (st)
        return st;
    if (strcmp((const char *)type.data, "Sequence") != 0)
        return one(user, r, part, (const char *)type.data, at);
    json_ref members = json_get(r->doc, part, list);
    hf_path p = hf_path_member(at, list);
    if (json_type(r->doc, members) != JSON_ARRAY)
        return hf_damaged(r, &p, "an array");
    size_t i = 0;
    for (json_ref v = json_first(r->doc, members); v != JSON_NONE && !st; v = json_next(r->doc, v)) {
        hf_path q = hf_path_element(&p, i++);
        if (json_type(r->doc, v) != JSON_OBJECT)
            return hf_damaged(r, &q, "an object");
        st = read_parts(r, v, &q, list, one, user, depth + 1);
    }
    return st;
}

lithe_status hf_read_parts(const hf_reader *r, json_ref part, const hf_path *at, const char *list, hf_part_fn one,
                           void *user)
{
    return read_parts(r, part, at, list, one, user, 0);
}
