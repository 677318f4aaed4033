/* The input of `lithe debug logits`: {"prefill": [ids], "decode": [ids], "report": [[ids] per step]}. */
#ifndef LITHE_CLI_REQUEST_H
#define LITHE_CLI_REQUEST_H

#include "base/arena.h"
#include "base/error.h"

typedef struct request_ids {
    const int32_t *ids;
    size_t n;
    bool all; /* in a report: every logit */
} request_ids;

typedef struct request {
    request_ids prefill, decode;
    const request_ids *report; /* [decode.n + 1]: the ids whose logits are wanted after each step */
    arena memory;
} request;

/* Reads and checks `text`; ids are checked against the vocabulary by request_check. Errors name key, index, line and column. */
lithe_status request_read(request *r, const char *text, size_t n, lithe_error *err);
lithe_status request_check(const request *r, uint32_t vocab_size, lithe_error *err);
void request_fini(request *r);

#endif
