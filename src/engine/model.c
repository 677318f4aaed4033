/* Opening a bundle: metadata, graphs and tokenizer, the tokenizer on a second thread. */
#include "engine/model.h"

#include "base/cpuinfo.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lithe_model_options_init(lithe_model_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_bytes = sizeof *options;
}

/* Options of an older, shorter struct are completed with defaults. */
static lithe_status take_options(lithe_model_options *to, const lithe_model_options *from, lithe_error *err)
{
    lithe_model_options_init(to);
    if (!from)
        return LITHE_OK;
    if (from->struct_bytes < offsetof(lithe_model_options, plan) || from->struct_bytes > sizeof *to)
        return error_set(err, LITHE_E_ARGUMENT,
                         "lithe_model_options has %u bytes, but this library knows %zu: use lithe_model_options_init",
                         from->struct_bytes, sizeof *to);
    memcpy(to, from, from->struct_bytes);
    to->struct_bytes = sizeof *to;
    if (to->n_threads > 256)
        return error_set(err, LITHE_E_ARGUMENT, "%u threads asked for; at most 256 are possible", to->n_threads);
    if (to->plan > LITHE_PLAN_UNIFIED)
        return error_set(err, LITHE_E_ARGUMENT, "unknown plan kind %d", (int)to->plan);
    return LITHE_OK;
}

/* ------------------------------------------------------------------------------------------------ tokenizer */

typedef struct tokenizer_job {
    lithe_model *m;
    lithe_status status;
    lithe_error err;
} tokenizer_job;

static void open_tokenizer(void *user)
{
    tokenizer_job *job = user;
    const bundle *b = job->m->bundle;
    int32_t sp = bundle_find(b, SECTION_SP_TOKENIZER, NULL), hf = bundle_find(b, SECTION_HF_TOKENIZER_ZLIB, NULL);
    int32_t section = sp >= 0 ? sp : hf;
    if (section < 0) {
        error_set(&job->err, LITHE_E_TOKENIZER,
                  "the bundle has no tokenizer: neither an SP_Tokenizer nor an HF_Tokenizer_Zlib section");
        job->status = error_hint(&job->err, "add the checkpoint's tokenizer.model or tokenizer.json to the bundle");
        return;
    }
    bytes data = b->sections[section].data;
    job->status = sp >= 0 ? tokenizer_open_sentencepiece(&job->m->tokenizer, data, &job->err)
                          : tokenizer_open_hf_zlib(&job->m->tokenizer, data, &job->err);
    if (job->status)
        error_at_section(&job->err, section);
}

/* ------------------------------------------------------------------------------------------------- metadata */

static lithe_status read_metadata(lithe_model *m, lithe_error *err)
{
    const bundle *b = m->bundle;
    int32_t llm = bundle_find(b, SECTION_LLM_METADATA, NULL), exec = bundle_find(b, SECTION_EXECUTOR_METADATA, NULL);
    bytes none = {0};
    lithe_status st = llm_metadata_read(&m->meta, llm < 0 ? none : b->sections[llm].data, &m->arena, err);
    if (st) {
        if (err)
            error_at_section(err, llm);
        return st;
    }
    if (exec < 0)
        return LITHE_OK;
    m->has_states_meta = true;
    st = executor_metadata_read(&m->states_meta, b->sections[exec].data, &m->arena, err);
    if (st && err)
        error_at_section(err, exec);
    return st;
}

/* ------------------------------------------------------------------------------------------------- programs */

/* Elements of the input with the role, 0 if there is none. */
static uint64_t input_elements(const program *p, graph_role role)
{
    uint32_t i = program_input(p, role);
    return i == GRAPH_NONE ? 0 : p->g.tensors[p->g.inputs[i].tensor].elements;
}

/* The sections that make rows of embeddings from token ids. */
static lithe_status open_feeder(lithe_model *m, graph_role role, const char *model_type, lithe_error *err)
{
    feeder *f = &m->feeders[m->n_feeders];
    f->role = role;
    lithe_status st = section_open(&f->section, m->bundle, model_type, &m->arena, err);
    if (st)
        return st;
    if (f->section.index < 0 || !f->section.tfl.n_signatures) {
        error_set(err, LITHE_E_MODEL, "the model takes embeddings, but the bundle has no %s section", model_type);
        return error_hint(err, "the bundle is incomplete: pack the %s model with it", model_type);
    }
    const char *key = f->section.tfl.signatures[0].key;
    st = program_create(&f->program, &f->section, key, NULL, true, &m->options, m->shared, &m->arena, err);
    if (st)
        return st;
    m->n_feeders++;
    uint32_t tokens = program_input(&f->program, GRAPH_IN_TOKENS);
    if (f->program.g.n_outputs != 1 || tokens == GRAPH_NONE ||
        !f->program.g.tensors[f->program.g.inputs[tokens].tensor].n_uses) {
        error_set(err, LITHE_E_MODEL, "the %s section must take token ids and give one output", model_type);
        error_at_section(err, f->section.index);
        return error_at_signature(err, key), LITHE_E_MODEL;
    }
    const graph_tensor *out = &f->program.g.tensors[f->program.g.outputs[0].tensor];
    if (out->type != GRAPH_F32) {
        error_set(err, LITHE_E_UNSUPPORTED, "the %s section gives values of type %s, not f32", model_type,
                  graph_type_name(out->type));
        error_at_section(err, f->section.index);
        return error_at_signature(err, key), LITHE_E_UNSUPPORTED;
    }
    uint64_t want = input_elements(&m->decode, role), have = out->elements;
    for (uint32_t i = 0; i < m->n_ladder && want == have; i++)
        if (input_elements(&m->prefill[i], role) != have * m->prefill[i].length) {
            error_set(err, LITHE_E_MODEL, "signature %s does not take the %s section's rows for its %u tokens",
                      m->prefill[i].g.signature, model_type, m->prefill[i].length);
            error_at_section(err, m->main.index);
            return error_at_signature(err, m->prefill[i].g.signature), LITHE_E_MODEL;
        }
    if (want == have)
        return LITHE_OK;
    error_set(err, LITHE_E_MODEL, "the %s section gives %llu values a token, but the main model takes %llu", model_type,
              (unsigned long long)have, (unsigned long long)want);
    error_at_section(err, f->section.index);
    error_expected(err, "%llu", (unsigned long long)want);
    return error_found(err, "%llu", (unsigned long long)have);
}

static lithe_status open_feeders(lithe_model *m, lithe_error *err)
{
    lithe_status st = LITHE_OK;
    if (program_input(&m->decode, GRAPH_IN_TOKENS) == GRAPH_NONE &&
        program_input(&m->decode, GRAPH_IN_EMBEDDINGS) == GRAPH_NONE)
        return error_set(
            err, LITHE_E_MODEL,
            "signature decode has neither a token input (tokens, token_ids) nor an embedding input (embeddings)");
    if (program_input(&m->decode, GRAPH_IN_EMBEDDINGS) != GRAPH_NONE)
        st = open_feeder(m, GRAPH_IN_EMBEDDINGS, "tf_lite_embedder", err);
    if (!st && program_input(&m->decode, GRAPH_IN_PER_LAYER_EMBEDDINGS) != GRAPH_NONE)
        st = open_feeder(m, GRAPH_IN_PER_LAYER_EMBEDDINGS, "tf_lite_per_layer_embedder", err);
    return st;
}

static void sort_ladder(lithe_model *m)
{
    for (uint32_t i = 0; i < m->n_ladder; i++) {
        uint32_t j = i;
        for (; j > 0 && m->prefill[i].length > m->ladder[j - 1]->length; j--)
            m->ladder[j] = m->ladder[j - 1];
        m->ladder[j] = &m->prefill[i];
    }
}

static lithe_status open_ladder(lithe_model *m, const executor_metadata *states, lithe_error *err)
{
    for (uint32_t i = 0; i < m->main.tfl.n_signatures; i++) {
        const char *key = m->main.tfl.signatures[i].key;
        if (strncmp(key, "prefill", 7))
            continue;
        if (m->n_ladder == MODEL_MAX_LADDER)
            return error_set(err, LITHE_E_UNSUPPORTED, "more than %d prefill signatures", (int)MODEL_MAX_LADDER);
        lithe_status st = program_create(&m->prefill[m->n_ladder], &m->main, key, states, false, &m->options, m->shared,
                                         &m->arena, err);
        if (st)
            return st;
        m->n_ladder++;
        st = program_match_states(&m->prefill[m->n_ladder - 1], &m->decode, states && states->n_states, &m->arena, err);
        if (st)
            return st;
    }
    return LITHE_OK;
}

/* Appends to why the model does not get a better plan. */
static lithe_status add_reason(lithe_model *m, const char *why, lithe_error *err)
{
    const char *before = m->info.plan_reason ? m->info.plan_reason : "";
    char text[1024];
    snprintf(text, sizeof text, "%s%s%s", before, before[0] ? "; " : "", why);
    m->info.plan_reason = arena_strndup(&m->arena, text, strlen(text));
    return m->info.plan_reason ? LITHE_OK : error_memory(err, sizeof text, "a reason");
}

/* The first way: decode for any length. `any_length` tells whether it can be gone. */
static lithe_status try_any_length(lithe_model *m, const executor_metadata *states, lithe_error *err)
{
    lithe_error why = {0};
    lithe_status st =
        program_create(&m->decode, &m->main, "decode", states, true, &m->options, m->shared, &m->arena, &why);
    m->any_length = !st;
    if (!st)
        return LITHE_OK;
    if (st == LITHE_E_UNSUPPORTED && m->options.plan == LITHE_PLAN_AUTO)
        return add_reason(m, why.message, err);
    if (err)
        *err = why;
    return st;
}

/* The second way, and the third: prefill signatures unified, or as they are. */
static lithe_status open_prefill(lithe_model *m, const executor_metadata *states, lithe_error *err)
{
    if (m->options.plan != LITHE_PLAN_AS_EXPORTED) {
        lithe_status st = model_unify(m, err);
        if (st || m->unified)
            return st;
        if (m->options.plan == LITHE_PLAN_UNIFIED) {
            error_set(err, LITHE_E_UNSUPPORTED,
                      "the prefill signatures cannot be read as one function of the length: %s", m->family.why_not);
            error_at_section(err, m->main.index);
            return error_hint(err, "use the plan \"as exported\"");
        }
        if ((st = add_reason(m, m->family.why_not, err)))
            return st;
    }
    lithe_status st = open_ladder(m, states, err);
    if (!st)
        sort_ladder(m);
    return st;
}

static lithe_status open_signatures(lithe_model *m, lithe_error *err)
{
    const executor_metadata *states = m->has_states_meta ? &m->states_meta : NULL;
    lithe_status st = LITHE_OK;
    if (m->options.plan == LITHE_PLAN_AUTO || m->options.plan == LITHE_PLAN_ANY_LENGTH)
        st = try_any_length(m, states, err);
    if (st || m->any_length)
        return st;
    st = program_create(&m->decode, &m->main, "decode", states, false, &m->options, m->shared, &m->arena, err);
    return st ? st : open_prefill(m, states, err);
}

/* The decode program and, unless it runs for any length, the prefill programs. */
static lithe_status open_programs(lithe_model *m, lithe_error *err)
{
    lithe_status st = section_open(&m->main, m->bundle, "tf_lite_prefill_decode", &m->arena, err);
    if (st)
        return st;
    if (m->main.index < 0) {
        error_set(err, LITHE_E_MODEL, "the bundle has no TFLiteModel section of type tf_lite_prefill_decode");
        return error_hint(err, "lithe inspect shows the sections that it has");
    }
    if (!tflite_find_signature(&m->main.tfl, "decode")) {
        error_set(err, LITHE_E_MODEL, "the model has no signature named decode");
        error_at_section(err, m->main.index);
        return LITHE_E_MODEL;
    }
    if ((st = open_signatures(m, err)))
        return st;
    if (m->decode.logits == GRAPH_NONE || !m->decode.vocab_size) {
        error_set(err, LITHE_E_MODEL,
                  "signature decode has no output named logits of shape [batch, tokens, vocabulary]");
        error_at_section(err, m->main.index);
        return LITHE_E_MODEL;
    }
    if (m->decode.length != 1) {
        error_set(err, LITHE_E_MODEL, "signature decode takes %u tokens at once, not one", m->decode.length);
        error_at_section(err, m->main.index);
        return LITHE_E_MODEL;
    }
    if (!m->decode.g.context) {
        error_set(err, LITHE_E_MODEL,
                  "the length of the context cannot be told: neither states with a sequence axis nor a mask input");
        error_at_section(err, m->main.index);
        return LITHE_E_MODEL;
    }
    return open_feeders(m, err);
}

/* ----------------------------------------------------------------------------------------------------- info */

static lithe_status choose_context(lithe_model *m, lithe_error *err)
{
    uint32_t capacity = m->decode.g.context;
    m->info.context = capacity;
    if (m->meta.max_num_tokens > 0 && (uint32_t)m->meta.max_num_tokens < capacity)
        m->info.context = (uint32_t)m->meta.max_num_tokens;
    if (!m->options.context)
        return LITHE_OK;
    if (m->options.context > capacity) {
        error_set(err, LITHE_E_CONTEXT, "a context of %u positions was asked for, but the model's states hold %u",
                  m->options.context, capacity);
        error_expected(err, "1 to %u", capacity);
        return error_found(err, "%u", m->options.context);
    }
    m->info.context = m->options.context;
    return LITHE_OK;
}

static void fill_sampler(lithe_model *m)
{
    lithe_sampler_request r = {0};
    const llm_metadata *meta = &m->meta;
    if (meta->has_sampler) {
        r.values = (lithe_sampler){meta->temperature, meta->k, meta->p, (uint64_t)(uint32_t)meta->seed};
        /* proto3 scalars without presence: 0 is "not set" (docs/format.md) */
        r.set = (meta->temperature > 0 ? LITHE_SET_TEMPERATURE : 0u) | (meta->k > 0 ? LITHE_SET_TOP_K : 0u) |
                (meta->p > 0 && meta->p <= 1 ? LITHE_SET_TOP_P : 0u) | (meta->has_seed ? LITHE_SET_SEED : 0u);
        if (meta->sampler_type == SAMPLER_GREEDY) {
            r.values.temperature = 0;
            r.set |= LITHE_SET_TEMPERATURE;
        }
        if (meta->temperature <= 0 && (r.set & (LITHE_SET_TOP_K | LITHE_SET_TOP_P)) &&
            meta->sampler_type != SAMPLER_GREEDY) {
            r.values.temperature = 1; /* a top-k or top-p sampler without a temperature draws at 1 */
            r.set |= LITHE_SET_TEMPERATURE;
        }
    }
    m->info.sampler = (lithe_sampler){0, 0, 1, 0};
    sampler_apply(&m->info.sampler, &m->info.sampler_sources, &r, LITHE_FROM_BUNDLE);
}

static void fill_info(lithe_model *m)
{
    lithe_model_info *i = &m->info;
    i->path = m->bundle->path;
    i->model_type = m->meta.model_type ? m->meta.model_type : "";
    i->plan = m->any_length ? "any length" : m->unified ? "unified" : "as exported";
    if (!i->plan_reason)
        i->plan_reason = "";
    memcpy(i->container_version, m->bundle->version, sizeof i->container_version);
    i->n_sections = (uint32_t)m->bundle->n_sections;
    i->vocab_size = m->decode.vocab_size;
    for (uint32_t n = 0; n < m->decode.g.n_nodes; n++)
        i->n_layers_attention += !m->decode.g.nodes[n].dead && m->decode.g.nodes[n].op == OP_ATTENTION;
    for (uint32_t n = 0; n < m->decode.g.n_states; n++)
        m->recurrent |= m->decode.g.states[n].kind == GRAPH_STATE_RECURRENT;
    i->n_states = m->decode.g.n_states;
    i->n_threads = thread_pool_size(m->pool);
    i->tokenizer_kind = tokenizer_kind(m->tokenizer);
    i->jinja_template = m->meta.jinja_prompt_template;
    i->file_bytes = m->bundle->map.view.size;
    i->mapped_bytes = m->bundle->map.view.size;
    fill_sampler(m);
}

/* Ids that the program can look up: the smaller of the embedding table and the vocabulary. */
static void find_max_token(lithe_model *m)
{
    const program *p = m->n_feeders ? &m->feeders[0].program : &m->decode;
    m->max_token_id = m->decode.vocab_size - 1;
    for (uint32_t i = 0; i < p->g.n_nodes; i++) {
        const graph_node *n = &p->g.nodes[i];
        if (n->dead || n->op != OP_EMBEDDING_LOOKUP || n->inputs[1] == GRAPH_NONE)
            continue;
        uint32_t rows = (uint32_t)p->g.tensors[n->inputs[1]].dims[0];
        if (rows && rows - 1 < m->max_token_id)
            m->max_token_id = rows - 1;
    }
}

/* ----------------------------------------------------------------------------------------------------- open */

static lithe_status open_all(lithe_model *m, const char *path, lithe_error *err)
{
    lithe_status st = bundle_open(&m->bundle, path, err);
    if (st)
        return st;
    if (m->bundle->is_tflite) {
        error_set(err, LITHE_E_UNSUPPORTED,
                  "%s is a plain .tflite model, without tokenizer and metadata: it can be inspected, not run", path);
        return error_hint(err, "run a .litertlm bundle");
    }
    tokenizer_job job = {.m = m};
    thread_handle *thread = NULL;
    if (thread_start(&thread, open_tokenizer, &job, NULL))
        open_tokenizer(&job);
    st = read_metadata(m, err);
    if (!st)
        st = exec_shared_create(&m->shared, cpu_features_enabled(), err);
    if (!st)
        st = open_programs(m, err);
    if (!st) {
        uint32_t n = m->options.n_threads;
        if (!n)
            n = thread_core_count() < 8 ? thread_core_count() : 8;
        st = thread_pool_create(&m->pool, n, err);
    }
    if (thread)
        thread_join(thread);
    if (!st && job.status) {
        st = job.status;
        if (err)
            *err = job.err;
    }
    if (!st)
        st = mutex_create(&m->lock, err);
    if (!st)
        st = choose_context(m, err);
    if (st)
        return st;
    fill_info(m);
    find_max_token(m);
    return model_resolve_tokens(m, err);
}

/* A limit that not even one position fits is refused at once. */
static lithe_status check_limit(lithe_model *m, lithe_error *err)
{
    uint64_t least = model_session_forecast(m, 1);
    lithe_status st = model_reserve(m, least, 1, err);
    if (!st)
        model_release(m, least);
    return st;
}

lithe_status lithe_model_open(const char *path, const lithe_model_options *options, lithe_model **out, lithe_error *err)
{
    double start = clock_seconds();
    if (!path || !out)
        return error_set(err, LITHE_E_ARGUMENT, "lithe_model_open needs a path and a place for the model");
    lithe_model *m = calloc(1, sizeof *m);
    if (!m)
        return error_memory(err, sizeof *m, "a model");
    arena_init(&m->arena, 64 * 1024);
    process_memory before;
    process_memory_get(&before);
    m->base_bytes = before.anon;
    lithe_status st = take_options(&m->options, options, err);
    if (!st)
        st = open_all(m, path, err);
    if (!st)
        st = check_limit(m, err);
    if (st) {
        if (err)
            error_at_path(err, path);
        lithe_model_close(m);
        return st;
    }
    m->info.open_ms = (clock_seconds() - start) * 1e3;
    log_message(LITHE_LOG_INFO, "%s: opened in %.1f ms, plan %s", path, m->info.open_ms, m->info.plan);
    *out = m;
    return LITHE_OK;
}

void lithe_model_close(lithe_model *m)
{
    if (!m)
        return;
    program_fini(&m->decode);
    for (uint32_t i = 0; i < m->n_ladder; i++)
        program_fini(&m->prefill[i]);
    for (uint32_t i = 0; i < m->n_feeders; i++)
        program_fini(&m->feeders[i].program);
    exec_shared_destroy(m->shared);
    if (m->pool)
        thread_pool_destroy(m->pool);
    if (m->lock)
        mutex_destroy(m->lock);
    if (m->tokenizer)
        tokenizer_close(m->tokenizer);
    bundle_close(m->bundle);
    arena_fini(&m->arena);
    free(m);
}

const lithe_model_info *lithe_model_get_info(const lithe_model *model)
{
    return &model->info;
}
