/* What memory a model and its sessions take, said before it is taken. */
#include "engine/session.h"

/* Threads' stacks, the allocator's own memory and what a program around the library touches. Measured; docs/performance.md. */
enum { PER_THREAD_BYTES = 24 * 1024, PROGRAM_BYTES = 128 * 1024, SLACK_PER_MILLE = 15 };

uint32_t prefill_chunk(uint32_t context)
{
    return context < PREFILL_CHUNK ? context : PREFILL_CHUNK;
}

static uint64_t model_bytes(const lithe_model *m)
{
    return m->base_bytes + m->arena.total_bytes + m->bundle->arena.total_bytes + tokenizer_memory(m->tokenizer) +
           exec_shared_memory(m->shared) + (uint64_t)m->info.n_threads * PER_THREAD_BYTES + PROGRAM_BYTES;
}

uint64_t model_session_forecast(const lithe_model *m, uint32_t context)
{
    uint64_t exact =
        states_forecast(&m->decode, context) + session_memory_forecast(m, prefill_chunk(context), 1, context);
    if (m->unified)
        exact += SESSION_PROGRAMS * m->unified_bytes;
    return exact + exact * SLACK_PER_MILLE / 1000;
}

uint64_t lithe_model_memory_forecast(const lithe_model *m, uint32_t context)
{
    if (!context || context > m->info.context)
        context = m->info.context;
    return model_bytes(m) + model_session_forecast(m, context);
}

/* The largest context whose forecast fits `limit` bytes, 0 if none. */
static uint32_t fitting_context(const lithe_model *m, uint64_t limit)
{
    uint32_t low = 0, high = m->info.context;
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (model_session_forecast(m, middle) <= limit)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

lithe_status model_reserve(lithe_model *m, uint64_t session_bytes, uint32_t context, lithe_error *err)
{
    lithe_status st = LITHE_OK;
    mutex_lock(m->lock);
    uint64_t limit = m->options.memory_limit, have = model_bytes(m) + m->reserved_bytes;
    if (limit && have + session_bytes > limit) {
        const double mb = 1 / 1048576.0;
        st = error_set(err, LITHE_E_MEMORY,
                       "a context of %u positions needs up to %.1f MB of private memory, but the limit is %.1f MB",
                       context, (double)(have + session_bytes) * mb, (double)limit * mb);
        error_expected(err, "at most %.1f MB", (double)limit * mb);
        error_found(err, "%.1f MB (%.1f MB of them for the model and other sessions)",
                    (double)(have + session_bytes) * mb, (double)have * mb);
        uint32_t fits = limit > have ? fitting_context(m, limit - have) : 0;
        if (fits)
            error_hint(err, "a context of %u positions would fit", fits);
        else
            error_hint(err, "raise the limit: not even the model itself fits");
    } else {
        m->reserved_bytes += session_bytes;
    }
    mutex_unlock(m->lock);
    return st;
}

void model_release(lithe_model *m, uint64_t session_bytes)
{
    mutex_lock(m->lock);
    m->reserved_bytes -= session_bytes;
    mutex_unlock(m->lock);
}
