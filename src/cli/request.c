#include "cli/request.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

/* What is being read, for errors. */
typedef struct request_reader {
    const json_doc *doc;
    arena *memory;
    lithe_error *err;
} request_reader;

static const char *kind_name(json_kind kind)
{
    static const char *const names[] = {"nothing",  "null",     "false",    "true",
                                        "a number", "a string", "an array", "an object"};
    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "nothing";
}

static lithe_status wrong(const request_reader *r, json_ref v, const char *what, const char *expected)
{
    uint32_t row = 1, column = 1;
    json_position(r->doc, v, &row, &column);
    error_set(r->err, LITHE_E_ARGUMENT, "line %u, column %u: %s must be %s, not %s", row, column, what, expected,
              kind_name(json_type(r->doc, v)));
    error_expected(r->err, "%s", expected);
    return error_found(r->err, "%s", kind_name(json_type(r->doc, v)));
}

static lithe_status read_ids(const request_reader *r, json_ref array, const char *what, request_ids *out)
{
    if (json_type(r->doc, array) != JSON_ARRAY) {
        return wrong(r, array, what, "an array of token ids");
    }
    size_t n = json_count(r->doc, array), i = 0;
    int32_t *ids = ARENA_ARRAY(r->memory, int32_t, n);
    if (!ids) {
        return error_memory(r->err, (uint64_t)n * sizeof *ids, "token ids");
    }
    for (json_ref v = json_first(r->doc, array); v != JSON_NONE; v = json_next(r->doc, v), i++) {
        int64_t id;
        if (!json_i64(r->doc, v, &id) || id < 0 || id > INT32_MAX) {
            char name[80];
            snprintf(name, sizeof name, "%s[%zu]", what, i);
            return wrong(r, v, name, "a token id (a whole number from 0)");
        }
        ids[i] = (int32_t)id;
    }
    *out = (request_ids){.ids = ids, .n = n};
    return LITHE_OK;
}

static lithe_status read_report(const request_reader *r, json_ref report, request *out)
{
    size_t n_steps = out->decode.n + 1, i = 0;
    request_ids *lists = ARENA_ARRAY(r->memory, request_ids, n_steps);
    if (!lists) {
        return error_memory(r->err, (uint64_t)n_steps * sizeof *lists, "the report's lists");
    }
    out->report = lists;
    if (report == JSON_NONE) {
        for (; i < n_steps; i++) {
            lists[i].all = true;
        }
        return LITHE_OK;
    }
    if (json_type(r->doc, report) != JSON_ARRAY) {
        return wrong(r, report, "\"report\"", "an array of arrays of token ids");
    }
    if (json_count(r->doc, report) != n_steps) {
        error_set(r->err, LITHE_E_ARGUMENT,
                  "\"report\" has %zu lists, but there are %zu steps: one after the prefill, one per decoded id",
                  json_count(r->doc, report), n_steps);
        error_expected(r->err, "%zu lists", n_steps);
        return error_found(r->err, "%zu", json_count(r->doc, report));
    }
    for (json_ref v = json_first(r->doc, report); v != JSON_NONE; v = json_next(r->doc, v), i++) {
        char name[64];
        lithe_status status = LITHE_OK;
        snprintf(name, sizeof name, "\"report\"[%zu]", i);
        if (json_type(r->doc, v) == JSON_NULL) {
            lists[i].all = true;
        } else {
            status = read_ids(r, v, name, &lists[i]);
        }
        if (status) {
            return status;
        }
    }
    return LITHE_OK;
}

/* A misspelt key would otherwise be a wish that is silently not granted. */
static lithe_status check_keys(const request_reader *r)
{
    static const char *const known[] = {"prefill", "decode", "report"};
    if (json_type(r->doc, 0) != JSON_OBJECT) {
        return wrong(r, 0, "the request", "an object");
    }
    for (json_ref v = json_first(r->doc, 0); v != JSON_NONE; v = json_next(r->doc, v)) {
        bool escaped, found = false;
        bytes key = json_key(r->doc, v, &escaped);
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            found = found || (strlen(known[i]) == key.size && memcmp(known[i], key.data, key.size) == 0);
        }
        if (!found) {
            error_set(r->err, LITHE_E_ARGUMENT, "unknown key \"%.*s\"", (int)(key.size < 60 ? key.size : 60),
                      (const char *)key.data);
            return error_expected(r->err, "prefill, decode, report");
        }
    }
    return LITHE_OK;
}

static lithe_status read_document(const request_reader *r, request *out)
{
    json_ref prefill = json_get(r->doc, 0, "prefill"), decode = json_get(r->doc, 0, "decode");
    lithe_status status = check_keys(r);
    if (!status && prefill == JSON_NONE) {
        status = error_set(r->err, LITHE_E_ARGUMENT, "\"prefill\" is missing");
        error_expected(r->err, "{\"prefill\": [ids], \"decode\": [ids], \"report\": [[ids] per step]}");
    }
    if (!status) {
        status = read_ids(r, prefill, "\"prefill\"", &out->prefill);
    }
    if (!status && out->prefill.n == 0) {
        status = error_set(r->err, LITHE_E_ARGUMENT, "\"prefill\" is empty: it needs at least one id");
    }
    if (!status && decode != JSON_NONE) {
        status = read_ids(r, decode, "\"decode\"", &out->decode);
    }
    return status ? status : read_report(r, json_get(r->doc, 0, "report"), out);
}

lithe_status request_read(request *r, const char *text, size_t n, lithe_error *err)
{
    json_doc *doc = NULL;
    *r = (request){0};
    arena_init(&r->memory, 0);
    lithe_status status = json_parse(&doc, (bytes){(const uint8_t *)text, n}, err);
    if (!status) {
        const request_reader reader = {doc, &r->memory, err};
        status = read_document(&reader, r);
    }
    json_free(doc);
    return status;
}

static lithe_status check_ids(const request_ids *list, uint32_t vocab_size, const char *what, lithe_error *err)
{
    for (size_t i = 0; i < list->n; i++) {
        if ((uint32_t)list->ids[i] >= vocab_size) {
            error_set(err, LITHE_E_ARGUMENT, "%s[%zu] is %d, but the vocabulary has %u ids", what, i, (int)list->ids[i],
                      vocab_size);
            error_expected(err, "0 to %u", vocab_size - 1);
            return error_found(err, "%d", (int)list->ids[i]);
        }
    }
    return LITHE_OK;
}

lithe_status request_check(const request *r, uint32_t vocab_size, lithe_error *err)
{
    lithe_status status = check_ids(&r->prefill, vocab_size, "\"prefill\"", err);
    if (!status) {
        status = check_ids(&r->decode, vocab_size, "\"decode\"", err);
    }
    for (size_t i = 0; i <= r->decode.n && !status; i++) {
        char name[64];
        snprintf(name, sizeof name, "\"report\"[%zu]", i);
        status = check_ids(&r->report[i], vocab_size, name, err);
    }
    return status;
}

void request_fini(request *r)
{
    arena_fini(&r->memory);
}
