/* Goldens (docs/conformance.md): what the reference computed step by step, read from JSON and held against a model. */
#ifndef LITHE_TESTS_GOLDEN_SUPPORT_H
#define LITHE_TESTS_GOLDEN_SUPPORT_H

#include "base/arena.h"
#include "base/json.h"

#include <lithe.h>

enum { GOLDEN_TOP = 5 };

typedef struct golden_step {
    int32_t id;    /* the reference's greedy choice */
    double margin; /* its logit over the second best */
    size_t n_top;
    int32_t top_ids[GOLDEN_TOP];
    double top[GOLDEN_TOP];
} golden_step;

typedef struct golden_prompt {
    const char *name;
    int32_t *ids; /* [n_ids], start tokens included */
    size_t n_ids;
    golden_step *steps; /* [n_steps]; step 0 is read after the prompt, step i after steps[i - 1].id */
    size_t n_steps;
} golden_prompt;

typedef struct golden {
    golden_prompt *prompts;
    size_t n_prompts;
    bool has_floor;
    double floor_rms, floor_agree;
    double *first_logits; /* [n_first] of the first prompt; toys only */
    size_t n_first;
    uint8_t *text;
    json_doc *doc;
    arena memory;
} golden;

/* Reads a golden of real bundles (make_golden.py) or of a toy (make_toy_goldens.py); fails the test if it is not one. */
void golden_read(golden *g, const char *path);
void golden_free(golden *g);

/* How near a model must come. */
typedef enum golden_rule {
    GOLDEN_GREEDY, /* each choice equal, but where the margin is under ten times the floor's rms; best logits within `tolerance` */
    GOLDEN_FLOOR /* rms of the best five logits at most 1.15 of the floor's, choices equal as often as the floor's less 0.03 */
} golden_rule;

typedef struct golden_limits {
    golden_rule rule;
    double tolerance; /* GOLDEN_GREEDY: largest difference of a best logit; 0: not asked */
    size_t max_ids;   /* prompts with more ids are left out; 0: none */
    lithe_plan_kind plan;
} golden_limits;

/* Feeds the golden's own tokens to the model and compares. Prints one line of figures, fails the test on a breach. */
void golden_check(const golden *g, const char *name, const char *path, const golden_limits *limits);

#endif
