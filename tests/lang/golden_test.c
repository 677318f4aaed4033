/* What jinja2 renders (tests/data/lang/golden, by scripts/golden/make_jinja_goldens.py), text by text: real templates times message
 * sets, and every filter, test, method and statement alone. */
#include "base/file.h"
#include "lang/jinja.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DATA "tests/data/lang/"

static const int64_t now = 1767225600; /* NOW of the script */

typedef struct document {
    uint8_t *text;
    json_doc *json;
} document;

static document open_document(const char *path)
{
    document d = {0};
    size_t n = 0;
    lithe_error err = {0};
    if (file_read_all(path, 1 << 26, &d.text, &n, &err) || json_parse(&d.json, (bytes){d.text, n}, &err)) {
        fail_msg("%s: %s", path, err.message);
    }
    return d;
}

static void close_document(document *d)
{
    json_free(d->json);
    free(d->text);
}

static void print_difference(const char *name, const char *want, size_t n_want, const char *got, size_t n_got)
{
    size_t at = 0;
    while (at < n_want && at < n_got && want[at] == got[at]) {
        at++;
    }
    size_t from = at > 40 ? at - 40 : 0;
    print_error("%s: differs at byte %zu\n  want: %.*s\n  got:  %.*s\n", name, at,
                (int)(n_want - from < 120 ? n_want - from : 120), want + from,
                (int)(n_got - from < 120 ? n_got - from : 120), got + from);
}

/* An answer as the golden has it; returns whether it is so. Where the message is the template's or jinja2's own, it counts too. */
static bool check_failure(const char *name, const json_doc *golden, json_ref expected, const jinja_fault *fault,
                          arena *a)
{
    const char *kind = json_string(golden, json_get(golden, expected, "error"), a, NULL);
    const char *message = json_string(golden, json_get(golden, expected, "message"), a, NULL);
    const char *got = jinja_error_kind_name(fault->kind);
    bool same = kind && strcmp(kind, got) == 0;
    if (same &&
        (fault->kind == JINJA_UNDEFINED_ERROR || fault->kind == JINJA_RAISED || fault->kind == JINJA_SECURITY_ERROR)) {
        same = strncmp(message, fault->message, sizeof fault->message - 1) == 0;
    }
    if (!same) {
        print_error("%s: want %s: %s\n  got %s: %s\n", name, kind ? kind : "text", message ? message : "", got,
                    fault->message);
    }
    if (!fault->line || !fault->column) {
        print_error("%s: the error has no place\n", name);
        same = false;
    }
    return same;
}

static bool check_answer(const char *name, bytes source, const json_doc *vars_doc, json_ref vars,
                         const json_doc *golden, json_ref expected)
{
    const jinja_options options = {.now = &now};
    jinja_template *t = NULL;
    jinja_fault fault = {0};
    buffer out;
    arena a;
    size_t n = 0;
    buffer_init(&out);
    arena_init(&a, 0);
    lithe_status status = jinja_parse(&t, source, &fault, NULL);
    status = status ? status : jinja_render(t, vars_doc, vars, &options, &out, &fault, NULL);
    const char *text = json_string(golden, json_get(golden, expected, "text"), &a, &n);
    bool same;
    if (status) {
        same = check_failure(name, golden, expected, &fault, &a);
    } else {
        const char *got = out.data ? (const char *)out.data : "";
        same = text && n == out.size && memcmp(text, got, n) == 0;
        if (!same && text) {
            print_difference(name, text, n, got, out.size);
        } else if (!same) {
            print_error("%s: want an error, got text\n", name);
        }
    }
    jinja_free(t);
    arena_fini(&a);
    buffer_fini(&out);
    return same;
}

static void check_template(const char *name, document *golden, document *messages, json_ref expected, size_t *n,
                           size_t *wrong)
{
    char path[300];
    uint8_t *source = NULL;
    size_t size = 0;
    arena a;
    lithe_error err = {0};
    snprintf(path, sizeof path, DATA "templates/%s.jinja", name);
    if (file_read_all(path, 1 << 24, &source, &size, &err)) {
        fail_msg("%s", err.message);
    }
    arena_init(&a, 0);
    for (json_ref s = json_first(messages->json, 0); s != JSON_NONE; s = json_next(messages->json, s)) {
        const char *set = json_string(messages->json, json_get(messages->json, s, "name"), &a, NULL);
        snprintf(path, sizeof path, "%s / %s", name, set);
        json_ref answer = json_get(golden->json, expected, set);
        assert_int_not_equal(answer, JSON_NONE);
        *wrong += !check_answer(path, (bytes){source, size}, messages->json, json_get(messages->json, s, "vars"),
                                golden->json, answer);
        ++*n;
    }
    arena_fini(&a);
    free(source);
}

static void real_templates_render_as_jinja2_does(void **state)
{
    document golden = open_document(DATA "golden/templates.json"), messages = open_document(DATA "messages.json");
    size_t n = 0, wrong = 0;
    (void)state;
    for (json_ref t = json_first(golden.json, 0); t != JSON_NONE; t = json_next(golden.json, t)) {
        char name[200];
        bytes key = json_key(golden.json, t, NULL);
        assert_true(key.size < sizeof name);
        memcpy(name, key.data, key.size);
        name[key.size] = 0;
        check_template(name, &golden, &messages, t, &n, &wrong);
    }
    close_document(&messages);
    close_document(&golden);
    assert_true(n >= 60 * 12);
    assert_int_equal(wrong, 0);
}

static void every_construct_answers_as_jinja2_does(void **state)
{
    document golden = open_document(DATA "golden/cases.json");
    json_ref shared = json_get(golden.json, 0, "vars"), cases = json_get(golden.json, 0, "cases");
    size_t n = 0, wrong = 0;
    arena a;
    (void)state;
    arena_init(&a, 0);
    for (json_ref c = json_first(golden.json, cases); c != JSON_NONE; c = json_next(golden.json, c)) {
        size_t size;
        char name[400];
        const char *source = json_string(golden.json, json_get(golden.json, c, "template"), &a, &size);
        json_ref vars = json_get(golden.json, c, "vars");
        snprintf(name, sizeof name, "%s %s", json_string(golden.json, json_get(golden.json, c, "name"), &a, NULL),
                 source);
        wrong += !check_answer(name, (bytes){(const uint8_t *)source, size}, golden.json,
                               vars == JSON_NONE ? shared : vars, golden.json, c);
        n++;
    }
    arena_fini(&a);
    close_document(&golden);
    assert_true(n > 700);
    assert_int_equal(wrong, 0);
}

static void what_is_not_supported_is_refused_by_name(void **state)
{
    document golden = open_document(DATA "golden/cases.json");
    json_ref refused = json_get(golden.json, 0, "refused"), shared = json_get(golden.json, 0, "vars");
    arena a;
    (void)state;
    arena_init(&a, 0);
    for (json_ref c = json_first(golden.json, refused); c != JSON_NONE; c = json_next(golden.json, c)) {
        size_t size;
        const char *source = json_string(golden.json, c, &a, &size);
        jinja_template *t = NULL;
        jinja_fault fault = {0};
        lithe_error err = {0};
        buffer out;
        buffer_init(&out);
        lithe_status status = jinja_parse(&t, (bytes){(const uint8_t *)source, size}, &fault, &err);
        status = status ? status : jinja_render(t, golden.json, shared, NULL, &out, &fault, &err);
        if (status != LITHE_E_UNSUPPORTED || fault.kind != JINJA_UNSUPPORTED ||
            !strstr(err.message, "UnsupportedError")) {
            fail_msg("%s: %d %s", source, (int)status, err.message);
        }
        jinja_free(t);
        buffer_fini(&out);
    }
    arena_fini(&a);
    close_document(&golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_templates_render_as_jinja2_does),
        cmocka_unit_test(every_construct_answers_as_jinja2_does),
        cmocka_unit_test(what_is_not_supported_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
