/* What a run was like: filled while it goes, then written as JSON or as the lines of --stats. */
#ifndef LITHE_CLI_REPORT_H
#define LITHE_CLI_REPORT_H

#include "base/buffer.h"
#include "base/json.h"

typedef struct run_report {
    const lithe_model *model;
    const int32_t *prompt; /* [n_prompt] ids, start tokens included */
    size_t n_prompt;
    buffer ids;           /* int32_t, as generated */
    buffer text;          /* only kept for JSON */
    buffer steps;         /* JSON of the steps so far, comma-separated; only with --top */
    uint32_t top;         /* N of --top; 0: no steps */
    double prefill_s;     /* seconds; 0 if it did not end */
    double first_token_s; /* from prompt given to first token drawn; 0 if there was none */
    lithe_generate_result result;
    lithe_finish finish;
    uint64_t private_bytes, predicted_bytes;
} run_report;

void run_report_init(run_report *r, const lithe_model *model, uint32_t top);
void run_report_fini(run_report *r);
/* Takes note of a token. `keep_text`: for JSON. False if memory is out. */
bool run_report_token(run_report *r, const lithe_token_event *event, bool keep_text);
size_t run_report_tokens(const run_report *r);

/* The JSON object and a newline, appended to `out`. */
void run_report_json(const run_report *r, buffer *out);
/* The lines of --stats. */
void run_report_stats(const run_report *r, buffer *out);

#endif
