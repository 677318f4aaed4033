/* Any bytes as a tokenizer.json: refused with a reason, or it encodes and decodes without harm. The file serves as text too. An input
 * that begins with a 0 is a compressed section behind it. */
#include "text/tokenizer.h"

#include "base/utf8.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tokenizer *t = NULL;
    lithe_error err = {0};
    bool compressed = size && !data[0];
    if (compressed && size >= 9 && load_u64(data + 1) > 1 << 20)
        return 0; /* inflating much is slow, not interesting */
    lithe_status st = compressed ? tokenizer_open_hf_zlib(&t, (bytes){data + 1, size - 1}, &err)
                                 : tokenizer_open_hf(&t, (bytes){data, size}, &err);
    if (st) {
        if (!err.message[0] || t)
            abort();
        return 0;
    }
    token_list ids = {0};
    token_stream *s;
    bytes text;
    if (token_stream_create(&s, t, size % 2, size % 3, NULL))
        abort();
    if (!tokenizer_encode(t, (bytes){data, size < 500 ? size : 500}, false, &ids, &err)) {
        for (size_t i = 0; i <= ids.n; i++) {
            if (i < ids.n ? token_stream_push(s, ids.ids[i], &text, NULL) : token_stream_finish(s, &text, NULL))
                abort();
            if (text.size && !utf8_valid(text.data, text.size))
                abort();
        }
    }
    token_stream_destroy(s);
    token_list_fini(&ids);
    tokenizer_close(t);
    return 0;
}
