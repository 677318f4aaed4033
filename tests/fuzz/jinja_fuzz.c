/* Any template over any variables: text or an error that says where, within the limits; the same twice. The input is the template,
 * then, after a zero byte, the variables as JSON. */
#include "lang/jinja.h"

#include <stdlib.h>
#include <string.h>

static const char fallback[] =
    "{\"messages\": [{\"role\": \"user\", \"content\": \"h\\u00e9\", \"tool_calls\": [{\"function\": {\"name\": \"f\", "
    "\"arguments\": {\"a\": 1.5, \"b\": [null, true]}}}]}], \"tools\": null, \"s\": \"a,b c\", \"n\": 7, "
    "\"f\": 2.5, \"l\": [3, 1, 2], \"d\": {\"k\": \"v\", \"x\": {}}}";

static lithe_status render(const jinja_template *t, const json_doc *vars, buffer *out, jinja_fault *fault)
{
    static const int64_t now = 1767225600;
    const jinja_options options = {
        .limits = {.steps = 20000, .depth = 200, .output_bytes = 1 << 18, .memory_bytes = 1 << 22}, .now = &now};
    buffer_init(out);
    lithe_error err = {0};
    lithe_status status = jinja_render(t, vars, 0, &options, out, fault, &err);
    if (status && (!fault->line || !fault->column || fault->kind == JINJA_NO_ERROR || !err.message[0])) {
        abort();
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t n = zero ? (size_t)(zero - data) : size;
    json_doc *vars = NULL;
    jinja_template *t = NULL;
    jinja_fault fault = {0}, again = {0};
    if (!zero || json_parse(&vars, (bytes){zero + 1, size - n - 1}, NULL)) {
        json_parse(&vars, (bytes){(const uint8_t *)fallback, sizeof fallback - 1}, NULL);
    }
    if (!jinja_parse(&t, (bytes){data, n}, &fault, NULL)) {
        buffer first, second;
        lithe_status a = render(t, vars, &first, &fault), b = render(t, vars, &second, &again);
        if (a != b || fault.kind != again.kind || first.size != second.size ||
            (first.size && memcmp(first.data, second.data, first.size) != 0)) {
            abort();
        }
        buffer_fini(&first);
        buffer_fini(&second);
    } else if (!fault.line || !fault.column || fault.kind == JINJA_NO_ERROR) {
        abort();
    }
    jinja_free(t);
    json_free(vars);
    return 0;
}
