#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const char *const cpu_levels[] = {"c", "avx2", "avxvnni", "avx512vnni", "neon", "dotprod", "i8mm", NULL};

static const char *join(char *buf, size_t size, const char *folder, const char *name)
{
    int n = snprintf(buf, size, "%s/%s.litertlm", folder, name);
    return n > 0 && (size_t)n < size ? buf : NULL;
}

const char *toy_path(const char *name)
{
    static char folder[1024], path[1200];
    const char *build = getenv("LITHE_BUILD_DIR");
    snprintf(folder, sizeof folder, "%s/toys", build ? build : "build/release");
    return join(path, sizeof path, folder, name);
}

const char *fixture_path(const char *name)
{
    static char path[1200];
    return join(path, sizeof path, "tests/data/bundles", name);
}

static const char *bundles_folder(char *buf, size_t size)
{
    const char *given = getenv("LITHE_BUNDLES"), *cache = getenv("LITHE_CACHE"), *home = getenv("HOME");
    if (given && *given) {
        return given;
    }
    if (cache && *cache) {
        snprintf(buf, size, "%s/bundles", cache);
    } else {
        snprintf(buf, size, "%s/.cache/lithe/bundles", home ? home : "");
    }
    return buf;
}

static const char *if_there(const char *path)
{
    FILE *f = path ? fopen(path, "rb") : NULL;
    if (f) {
        fclose(f);
    }
    return f ? path : NULL;
}

const char *real_path(const char *name)
{
    static char folder[1024], path[1200];
    return if_there(join(path, sizeof path, bundles_folder(folder, sizeof folder), name));
}

const char *bundle_path(const char *name)
{
    if (strncmp(name, "toy-", 4) == 0) {
        return if_there(toy_path(name));
    }
    return strncmp(name, "tiny-hybrid", 11) == 0 ? if_there(fixture_path(name)) : real_path(name);
}

void must(lithe_status status, const lithe_error *err, const char *what)
{
    char text[2048];
    if (status != LITHE_OK) {
        lithe_error_describe(err, text, sizeof text);
        fail_msg("%s: %s: %s", what, lithe_status_name(status), text);
    }
}

lithe_model *must_open(const char *path, const lithe_model_options *options)
{
    lithe_model *model = NULL;
    lithe_error err = {0};
    must(lithe_model_open(path, options, &model, &err), &err, path);
    return model;
}

lithe_session *must_create(const lithe_model *model, uint32_t context)
{
    lithe_session_options options;
    lithe_session *session = NULL;
    lithe_error err = {0};
    lithe_session_options_init(&options);
    options.context = context;
    must(lithe_session_create(model, &options, &session, &err), &err, "lithe_session_create");
    return session;
}

void must_prefill(lithe_session *s, const int32_t *ids, size_t n)
{
    lithe_error err = {0};
    must(lithe_session_prefill(s, ids, n, NULL, NULL, &err), &err, "lithe_session_prefill");
}

void must_decode(lithe_session *s, int32_t id)
{
    lithe_error err = {0};
    must(lithe_session_decode(s, id, &err), &err, "lithe_session_decode");
}

const float *must_logits(lithe_session *s, size_t *n)
{
    const float *logits = NULL;
    lithe_error err = {0};
    must(lithe_session_logits(s, &logits, n, &err), &err, "lithe_session_logits");
    return logits;
}

size_t best_of(const float *logits, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    return best;
}

void some_ids(int32_t *ids, size_t n, uint32_t vocab, uint32_t seed)
{
    uint32_t x = seed * 2654435761u + 12345u;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        ids[i] = (int32_t)(3 + (x >> 8) % (vocab - 3));
    }
}
