/* Any bytes as either metadata message: refused with a message, or read; what was read and is written reads the same again. */
#include "bundle/metadata.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok) {
        abort();
    }
}

/* Writes, reads and writes again: both writings are equal. */
static void round_trip_llm(const llm_metadata *m, arena *a)
{
    buffer one, two;
    lithe_error err;
    llm_metadata again;
    buffer_init(&one);
    buffer_init(&two);
    if (llm_metadata_write(m, &one, &err) == LITHE_OK) {
        require(llm_metadata_read(&again, (bytes){one.data, one.size}, a, &err) == LITHE_OK);
        require(llm_metadata_write(&again, &two, &err) == LITHE_OK);
        require(one.size == two.size && (one.size == 0 || memcmp(one.data, two.data, one.size) == 0));
        require(again.n_stop_tokens == m->n_stop_tokens && again.n_channels == m->n_channels);
    }
    buffer_fini(&one);
    buffer_fini(&two);
}

static void round_trip_executor(const executor_metadata *m, arena *a)
{
    buffer one, two;
    lithe_error err;
    executor_metadata again;
    buffer_init(&one);
    buffer_init(&two);
    require(executor_metadata_write(m, &one, &err) == LITHE_OK);
    require(executor_metadata_read(&again, (bytes){one.data, one.size}, a, &err) == LITHE_OK);
    require(executor_metadata_write(&again, &two, &err) == LITHE_OK);
    require(one.size == two.size && (one.size == 0 || memcmp(one.data, two.data, one.size) == 0));
    require(again.n_states == m->n_states);
    buffer_fini(&one);
    buffer_fini(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lithe_error err = {0};
    llm_metadata llm;
    executor_metadata executor;
    arena a;
    arena_init(&a, 0);
    if (llm_metadata_read(&llm, (bytes){data, size}, &a, &err)) {
        require(err.message[0] != 0);
    } else {
        round_trip_llm(&llm, &a);
    }
    if (executor_metadata_read(&executor, (bytes){data, size}, &a, &err)) {
        require(err.message[0] != 0);
    } else {
        round_trip_executor(&executor, &a);
    }
    arena_fini(&a);
    return 0;
}
