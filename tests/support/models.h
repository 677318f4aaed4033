/* What tests that run models share: where bundles lie, and opening them or failing the test with the error's own words. */
#ifndef LITHE_TESTS_SUPPORT_MODELS_H
#define LITHE_TESTS_SUPPORT_MODELS_H

#include <lithe.h>

/* Paths in static storage, valid until the next call of the same function. */
const char *toy_path(const char *name);     /* "toy-int8": in the build's toys/ */
const char *fixture_path(const char *name); /* "tiny-hybrid-int8": in tests/data/bundles/ */
/* A real bundle in $LITHE_BUNDLES, or ${LITHE_CACHE:-$HOME/.cache/lithe}/bundles; NULL if it is not there. */
const char *real_path(const char *name);
/* Any of the three, by the name's beginning; NULL if it is not there. */
const char *bundle_path(const char *name);

/* These fail the running test when they do not succeed. */
lithe_model *must_open(const char *path, const lithe_model_options *options);
lithe_session *must_create(const lithe_model *model, uint32_t context);
void must_prefill(lithe_session *s, const int32_t *ids, size_t n);
void must_decode(lithe_session *s, int32_t id);
/* Logits of the last token, borrowed; the model's whole vocabulary. */
const float *must_logits(lithe_session *s, size_t *n);
/* Fails with the error's description unless status is LITHE_OK. */
void must(lithe_status status, const lithe_error *err, const char *what);

size_t best_of(const float *logits, size_t n);

/* Ids that no model minds: a fixed walk through its first `vocab` ids, away from 0. */
void some_ids(int32_t *ids, size_t n, uint32_t vocab, uint32_t seed);

/* Every instruction-set level of include/lithe.h, "c" first, NULL at the end. lithe_set_cpu refuses what this machine lacks. */
extern const char *const cpu_levels[];

#endif
