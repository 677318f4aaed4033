/* Places of errors, limits, shared templates, memory that runs out. */
#include "lang/jinja.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct answer {
    lithe_status status;
    jinja_fault fault;
    lithe_error err;
    char text[2000];
} answer;

static answer render_size(const char *source, size_t size, const char *vars, jinja_limits limits)
{
    answer a = {0};
    jinja_template *t = NULL;
    json_doc *doc = NULL;
    jinja_options options = {.limits = limits};
    buffer out;
    buffer_init(&out);
    buffer_string(&out, "before:");
    if (vars) {
        assert_int_equal(json_parse(&doc, (bytes){(const uint8_t *)vars, strlen(vars)}, &a.err), LITHE_OK);
    }
    a.status = jinja_parse(&t, (bytes){(const uint8_t *)source, size}, &a.fault, &a.err);
    if (!a.status) {
        a.status = jinja_render(t, doc, 0, &options, &out, &a.fault, &a.err);
    }
    if (a.status) {
        assert_int_equal(out.size, strlen("before:")); /* nothing half done */
    }
    memcpy(a.text, out.data, out.size < sizeof a.text - 1 ? out.size : sizeof a.text - 1);
    jinja_free(t);
    json_free(doc);
    buffer_fini(&out);
    return a;
}

static answer render(const char *source, const char *vars, jinja_limits limits)
{
    return render_size(source, strlen(source), vars, limits);
}

static void errors_say_where(void **state)
{
    static const struct {
        const char *source;
        jinja_error_kind kind;
        uint32_t line, column;
    } rows[] = {
        {"{{- if .System }}{{ .System }}{{ end }}", JINJA_SYNTAX_ERROR, 1, 21},
        {"a\nb {{ x.y }}", JINJA_UNDEFINED_ERROR, 2, 7},
        {"é {{ 1 / 0 }}", JINJA_ZERO_DIVISION_ERROR, 1, 8},
        {"{% for x in [1] %}\n  {{ raise_exception('no') }}{% endfor %}", JINJA_RAISED, 2, 21},
        {"{{ 'a' | nope }}", JINJA_ASSERTION_ERROR, 1, 10},
        {"\n\n{% if x %}", JINJA_SYNTAX_ERROR, 3, 11},
        {"{% include 'x' %}", JINJA_UNSUPPORTED, 1, 4},
        {"x\r\ny\r{{ 'a", JINJA_SYNTAX_ERROR, 3, 4},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        answer a = render(rows[i].source, NULL, (jinja_limits){0});
        char place[60];
        snprintf(place, sizeof place, "template line %u, column %u: %s: ", rows[i].line, rows[i].column,
                 jinja_error_kind_name(rows[i].kind));
        if (a.fault.kind != rows[i].kind || strncmp(a.err.message, place, strlen(place)) != 0) {
            fail_msg("%s: want %s got %s", rows[i].source, place, a.err.message);
        }
    }
}

static void a_raised_message_is_the_message(void **state)
{
    (void)state;
    answer a = render("x{{ raise_exception('roles must alternate') }}", NULL, (jinja_limits){0});
    assert_int_equal(a.status, LITHE_E_FORMAT);
    assert_string_equal(a.fault.message, "roles must alternate");
}

static void limits_end_a_rendering(void **state)
{
    static const struct {
        const char *source;
        jinja_limits limits;
    } rows[] = {
        {"{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}", {0}},
        {"{% for a in range(1000) %}{% for b in range(1000) %}x{% endfor %}{% endfor %}", {.steps = 1000}},
        {"{% for a in range(1000) %}{{ 'x' * 1000 }}{% endfor %}", {.output_bytes = 10000}},
        {"{{ 'x' * 9000000000000000000 }}", {0}},
        {"{{ [0] * 900000000000 }}", {0}},
        {"{% set ns = namespace(s='x') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}", {0}},
        {"{% set ns = namespace(l=[]) %}{% for i in range(5000) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l }}", {0}},
        {"{% set ns = namespace(l=[]) %}{% for i in range(5000) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l|tojson }}",
         {0}},
        {"{% set ns = namespace(l=[], m=[]) %}{% for i in range(5000) %}{% set ns.l = [ns.l] %}{% set ns.m = [ns.m] "
         "%}{% endfor %}{{ ns.l == ns.m }}",
         {0}},
        {"{% set ns = namespace(l=()) %}{% for i in range(5000) %}{% set ns.l = (ns.l,) %}{% endfor %}{{ {ns.l: 1} }}",
         {0}},
        {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", {0}},
        {"{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", {0}},
        {"{{ '%1000000000d' % 1 }}", {0}},
        {"{{ '{:1000000000}'.format(1) }}", {0}},
        {"{{ 'a'.center(9000000000000) }}", {0}},
        {"{{ 'a'|indent(9000000000000, true) }}", {0}},
        {"{{ ('x' * 100000)|replace('', 'y' * 100000) }}", {0}},
        {"{{ ('x' * 1000000).replace('x', 'y' * 10000) }}", {0}},
        {"{% for x in range(100) %}{% set q %}{{ 'x' * 1000 }}{% endset %}{% endfor %}", {.output_bytes = 10000}},
        {"{{ [1]|batch(90000000000, 0)|list }}", {0}},
        {"{{ [1]|slice(90000000000)|list }}", {0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        answer a = render(rows[i].source, NULL, rows[i].limits);
        if (a.status != LITHE_E_CONTEXT || a.fault.kind != JINJA_LIMIT) {
            fail_msg("%s: %d %s", rows[i].source, (int)a.status, a.err.message);
        }
    }
}

/* Deep or long sources: an answer or an error, never the end of the stack. */
static void deep_sources_are_refused(void **state)
{
    static const struct {
        const char *open, *middle, *close;
    } rows[] = {{"{{ ", "(", "1"},
                {"{{ ", "[", ""},
                {"{{ ", "not ", "x }}"},
                {"{{ ", "-", "1 }}"},
                {"", "{% if x %}", ""},
                {"{{ 1", "+1", " }}"},
                {"{{ x", ".a", " }}"},
                {"{{ x", "|upper", " }}"},
                {"{{ x", "[0]", " }}"},
                {"{{ ", "{1:", ""},
                {"{{ x", "()", " }}"},
                {"{{ ", "x if y else ", "z }}"},
                {"{{ 1", " is odd", " }}"},
                {"{{ x", "**2", " }}"},
                {"{{ x", " and x", " }}"},
                {"{% set ", "(", ""},
                {"{% filter upper", "|upper", "%}{% endfilter %}"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        buffer b;
        buffer_init(&b);
        buffer_string(&b, rows[i].open);
        for (int k = 0; k < 100000; k++) {
            buffer_string(&b, rows[i].middle);
        }
        buffer_string(&b, rows[i].close);
        answer a = render_size((const char *)b.data, b.size, NULL, (jinja_limits){0});
        assert_int_not_equal(a.status, LITHE_OK);
        buffer_fini(&b);
    }
}

static const char busy[] =
    "{% macro m(a, b=2, c='x') %}{{ a }}{{ varargs }}{{ kwargs }}{{ caller() if caller else '' }}{% endmacro %}"
    "{% set ns = namespace(n=0, d={'a': [1, 2.5]}) %}{% for k, v in d.items() if v recursive %}"
    "{{ loop.length }}{{ loop.nextitem }}{{ k|upper ~ v }}{% set ns.n = ns.n + 1 %}{% endfor %}"
    "{{ d|tojson(indent=2) }}{{ users|map(attribute='name')|list|sort|join(', ') }}"
    "{% call m(1, 2, 3, 4, x=5) %}body{% endcall %}{{ '%s %05.1f' % ('a', 2.5) }}{{ '{x}'.format(x=1) }}"
    "{% set t %}{{ users|groupby('name') }}{% endset %}{{ t[::-1][:40] }}{{ [1]*20 }}{{ d|dictsort }}";
static const char busy_vars[] =
    "{\"d\": {\"a\": 1, \"b\": \"q\\u00e9\"}, \"users\": [{\"name\": \"B\"}, {\"name\": \"a\"}]}";

/* Each memory limit up to the one that suffices ends in a clean error: no allocation's failure is overlooked. */
static void every_allocation_may_fail(void **state)
{
    answer whole = render(busy, busy_vars, (jinja_limits){0});
    (void)state;
    assert_int_equal(whole.status, LITHE_OK);
    size_t failures = 0;
    for (uint64_t memory = 1;; memory += 97) {
        answer a = render(busy, busy_vars, (jinja_limits){.memory_bytes = memory});
        if (a.status == LITHE_OK) {
            assert_string_equal(a.text, whole.text);
            break;
        }
        assert_int_equal(a.fault.kind, JINJA_LIMIT);
        failures++;
        assert_true(failures < 100000);
    }
    assert_true(failures > 10);
}

static void every_step_may_be_the_last(void **state)
{
    answer whole = render(busy, busy_vars, (jinja_limits){0});
    uint64_t steps = 1;
    (void)state;
    for (;; steps++) {
        answer a = render(busy, busy_vars, (jinja_limits){.steps = steps});
        if (a.status == LITHE_OK) {
            assert_string_equal(a.text, whole.text);
            break;
        }
        assert_int_equal(a.fault.kind, JINJA_LIMIT);
    }
    assert_true(steps > 100);
}

typedef struct job {
    const jinja_template *t;
    const json_doc *doc;
    bool same;
    const char *expected;
} job;

static void *render_often(void *argument)
{
    job *j = argument;
    j->same = true;
    for (int i = 0; i < 50; i++) {
        buffer out;
        buffer_init(&out);
        j->same = j->same && !jinja_render(j->t, j->doc, 0, NULL, &out, NULL, NULL) &&
                  out.size + strlen("before:") == strlen(j->expected) &&
                  memcmp(out.data, j->expected + strlen("before:"), out.size) == 0;
        buffer_fini(&out);
    }
    return NULL;
}

static void threads_share_a_template(void **state)
{
    enum { N = 4 };
    answer whole = render(busy, busy_vars, (jinja_limits){0});
    jinja_template *t = NULL;
    json_doc *doc = NULL;
    pthread_t threads[N];
    job jobs[N];
    (void)state;
    assert_int_equal(jinja_parse(&t, (bytes){(const uint8_t *)busy, strlen(busy)}, NULL, NULL), LITHE_OK);
    assert_int_equal(json_parse(&doc, (bytes){(const uint8_t *)busy_vars, strlen(busy_vars)}, NULL), LITHE_OK);
    for (size_t i = 0; i < N; i++) {
        jobs[i] = (job){t, doc, false, whole.text};
        assert_int_equal(pthread_create(&threads[i], NULL, render_often, &jobs[i]), 0);
    }
    for (size_t i = 0; i < N; i++) {
        pthread_join(threads[i], NULL);
        assert_true(jobs[i].same);
    }
    jinja_free(t);
    json_free(doc);
}

static void sources_and_variables_are_checked(void **state)
{
    (void)state;
    assert_int_equal(render("\xff", NULL, (jinja_limits){0}).fault.kind, JINJA_SYNTAX_ERROR);
    assert_int_equal(render("x", "[1]", (jinja_limits){0}).fault.kind, JINJA_TYPE_ERROR);
    assert_int_equal(render("{{ x }}", "{\"x\": 99999999999999999999}", (jinja_limits){0}).fault.kind,
                     JINJA_UNSUPPORTED);
    assert_string_equal(render("{{ x }}|{{ y }}", "{\"x\": 1, \"x\": 2, \"y\": 1e5}", (jinja_limits){0}).text,
                        "before:2|100000.0");
    assert_string_equal(render_size("a\0b{{ 'c\0' }}", 13, NULL, (jinja_limits){0}).text, "before:a");
    assert_string_equal(render("{{ x }}", NULL, (jinja_limits){0}).text, "before:");
}

static void a_template_knows_what_it_mentions(void **state)
{
    static const char source[] = "{% if tools %}{{ messages }}{% endif %}{# enable_thinking #}{{ 'documents' }}";
    jinja_template *t = NULL;
    (void)state;
    assert_int_equal(jinja_parse(&t, (bytes){(const uint8_t *)source, sizeof source - 1}, NULL, NULL), LITHE_OK);
    assert_true(jinja_mentions(t, "tools"));
    assert_true(jinja_mentions(t, "messages"));
    assert_false(jinja_mentions(t, "enable_thinking"));
    assert_false(jinja_mentions(t, "documents"));
    jinja_free(t);
}

static void time_is_the_callers(void **state)
{
    static const char source[] = "{{ strftime_now('%Y-%m-%d %H:%M:%S %j %a') }}";
    static const struct {
        int64_t now;
        int32_t offset;
        const char *text;
    } rows[] = {{0, 0, "1970-01-01 00:00:00 001 Thu"},         {951782399, 0, "2000-02-28 23:59:59 059 Mon"},
                {951782400, 0, "2000-02-29 00:00:00 060 Tue"}, {951782399, 3600, "2000-02-29 00:59:59 060 Tue"},
                {-1, 0, "1969-12-31 23:59:59 365 Wed"},        {4107542399, 0, "2100-02-28 23:59:59 059 Sun"},
                {4107542400, 0, "2100-03-01 00:00:00 060 Mon"}};
    jinja_template *t = NULL;
    (void)state;
    assert_int_equal(jinja_parse(&t, (bytes){(const uint8_t *)source, sizeof source - 1}, NULL, NULL), LITHE_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const jinja_options options = {.now = &rows[i].now, .utc_offset = rows[i].offset};
        buffer out;
        buffer_init(&out);
        assert_int_equal(jinja_render(t, NULL, 0, &options, &out, NULL, NULL), LITHE_OK);
        buffer_append(&out, "", 1);
        assert_string_equal((const char *)out.data, rows[i].text);
        buffer_fini(&out);
    }
    jinja_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_say_where),
        cmocka_unit_test(a_raised_message_is_the_message),
        cmocka_unit_test(limits_end_a_rendering),
        cmocka_unit_test(deep_sources_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_step_may_be_the_last),
        cmocka_unit_test(threads_share_a_template),
        cmocka_unit_test(sources_and_variables_are_checked),
        cmocka_unit_test(a_template_knows_what_it_mentions),
        cmocka_unit_test(time_is_the_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
