/* Any bytes as a SentencePiece model: refused with a reason, or it encodes and decodes without harm. What was read of the model serves
 * as text too. */
#include "text/tokenizer.h"

#include "base/utf8.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_stream(const tokenizer *t, const token_list *ids)
{
    token_stream *s;
    bytes text;
    if (token_stream_create(&s, t, ids->n % 2, true, NULL))
        abort();
    for (size_t i = 0; i <= ids->n; i++) {
        if (i < ids->n ? token_stream_push(s, ids->ids[i], &text, NULL) : token_stream_finish(s, &text, NULL))
            abort();
    }
    token_stream_destroy(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tokenizer *t = NULL;
    lithe_error err = {0};
    if (tokenizer_open_sentencepiece(&t, (bytes){data, size}, &err)) {
        if (!err.code || !err.message[0] || t)
            abort();
        return 0;
    }
    for (int special = 0; special < 2; special++) {
        token_list ids = {0};
        if (!tokenizer_encode(t, (bytes){data, size < 2000 ? size : 2000}, special, &ids, &err)) {
            for (size_t i = 0; i < ids.n; i++) {
                if (!tokenizer_piece(t, ids.ids[i]).size)
                    abort();
            }
            check_stream(t, &ids);
        }
        token_list_fini(&ids);
    }
    tokenizer_close(t);
    return 0;
}
