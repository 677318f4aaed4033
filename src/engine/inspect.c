/* `lithe inspect`: what is in a bundle, what would run, and how much memory it would take. One walk makes a JSON document; the text form is printed
 * from the same facts. */
#include "engine/session.h"

#include "base/buffer.h"
#include "base/json.h"
#include "graph/pass.h"

#include <stdlib.h>
#include <string.h>

typedef struct inspector {
    const lithe_inspect_options *o;
    bundle *b;
    arena arena;
    buffer out;
    json_writer j;
    lithe_write_fn write;
    void *user;
} inspector;

static bool flush_out(inspector *in)
{
    bool ok = !in->out.size || in->write(in->user, (const char *)in->out.data, in->out.size);
    in->out.size = 0;
    return ok;
}

/* --------------------------------------------------------------------------------------------------- graphs */

static lithe_status print_pass_list(inspector *in)
{
    for (uint32_t i = 0; i < graph_n_passes; i++)
        buffer_printf(&in->out, "%-14s %s\n", graph_passes[i].name, graph_passes[i].what);
    return LITHE_OK;
}

static lithe_status find_signature(inspector *in, const char *key, engine_section *s, lithe_error *err)
{
    for (size_t i = 0; i < in->b->n_sections; i++) {
        if (in->b->sections[i].type != SECTION_TFLITE_MODEL)
            continue;
        lithe_status st = section_open(s, in->b, in->b->sections[i].model_type, &in->arena, err);
        if (st)
            return st;
        if (s->index >= 0 && tflite_find_signature(&s->tfl, key))
            return LITHE_OK;
    }
    error_set(err, LITHE_E_ARGUMENT, "no model of the bundle has a signature named %s", key);
    return error_hint(err, "lithe inspect without --graph lists the signatures");
}

static lithe_status inspect_graph(inspector *in, const executor_metadata *states, lithe_error *err)
{
    const char *key = in->o->graph, *after = in->o->after_pass;
    engine_section s;
    lithe_status st = find_signature(in, key, &s, err);
    if (st)
        return st;
    graph_state_hint hints[512];
    uint32_t n_hints = state_hints(states, key, hints, 512);
    graph g;
    st = graph_import(&g, &s.tfl, key, hints, n_hints, &in->arena, err);
    bool any_length = !strncmp(key, "prefill", 7) ? false : true;
    if (!st && after)
        st = graph_run_passes(&g, any_length, false, after, err);
    if (st) {
        if (err)
            error_at_section(err, s.index), error_at_signature(err, key);
        return st;
    }
    if (in->o->json)
        graph_print_json(&g, &in->out);
    else
        graph_print(&g, &in->out);
    return LITHE_OK;
}

/* -------------------------------------------------------------------------------------------------- sections */

static void text_item(buffer *out, const bundle_item *item)
{
    switch (item->type) {
    case ITEM_STRING:
        buffer_printf(out, "%s=%s", item->key, item->value.s);
        break;
    case ITEM_FLOAT32:
    case ITEM_DOUBLE:
        buffer_printf(out, "%s=%g", item->key, item->value.f);
        break;
    case ITEM_BOOL:
        buffer_printf(out, "%s=%s", item->key, item->value.i ? "true" : "false");
        break;
    default:
        buffer_printf(out, "%s=%lld", item->key, (long long)item->value.i);
        break;
    }
}

static void json_item(json_writer *j, const bundle_item *item)
{
    json_write_key(j, item->key);
    switch (item->type) {
    case ITEM_STRING:
        json_write_cstring(j, item->value.s);
        break;
    case ITEM_FLOAT32:
    case ITEM_DOUBLE:
        json_write_f64(j, item->value.f);
        break;
    case ITEM_BOOL:
        json_write_bool(j, item->value.i != 0);
        break;
    case ITEM_UINT64:
        json_write_u64(j, (uint64_t)item->value.i);
        break;
    default:
        json_write_i64(j, item->value.i);
        break;
    }
}

static void json_items(json_writer *j, const char *key, const bundle_item *items, size_t n)
{
    json_write_key(j, key);
    json_begin_object(j);
    for (size_t i = 0; i < n; i++)
        json_item(j, &items[i]);
    json_end_object(j);
}

static void inspect_container(inspector *in)
{
    const bundle *b = in->b;
    char name[24];
    if (in->o->json) {
        json_writer *j = &in->j;
        json_write_key(j, "path");
        json_write_cstring(j, b->path);
        json_write_key(j, "file_bytes");
        json_write_u64(j, b->map.view.size);
        json_write_key(j, "container_version");
        json_begin_array(j);
        for (int i = 0; i < 3 && !b->is_tflite; i++)
            json_write_u64(j, b->version[i]);
        json_end_array(j);
        json_items(j, "system", b->system, b->n_system);
        json_write_key(j, "sections");
        json_begin_array(j);
        for (size_t i = 0; i < b->n_sections; i++) {
            const bundle_section *s = &b->sections[i];
            json_begin_object(j);
            json_write_key(j, "index");
            json_write_u64(j, i);
            json_write_key(j, "type");
            json_write_cstring(j, section_type_name(s->type, name));
            json_write_key(j, "begin");
            json_write_u64(j, s->begin);
            json_write_key(j, "end");
            json_write_u64(j, s->end);
            json_items(j, "items", s->items, s->n_items);
            json_end_object(j);
        }
        json_end_array(j);
        return;
    }
    if (b->is_tflite)
        buffer_printf(&in->out, "%s: TFLite model, %llu bytes\n", b->path, (unsigned long long)b->map.view.size);
    else
        buffer_printf(&in->out, "%s: .litertlm container version %u.%u.%u, %llu bytes, %zu sections\n", b->path,
                      b->version[0], b->version[1], b->version[2], (unsigned long long)b->map.view.size, b->n_sections);
    for (size_t i = 0; i < b->n_system; i++) {
        buffer_string(&in->out, "  ");
        text_item(&in->out, &b->system[i]);
        buffer_string(&in->out, "\n");
    }
    for (size_t i = 0; i < b->n_sections && !b->is_tflite; i++) {
        const bundle_section *s = &b->sections[i];
        buffer_printf(&in->out, "section %zu  %-22s [%llu, %llu)  %llu bytes", i, section_type_name(s->type, name),
                      (unsigned long long)s->begin, (unsigned long long)s->end,
                      (unsigned long long)(s->end - s->begin));
        for (size_t k = 0; k < s->n_items; k++) {
            buffer_string(&in->out, k ? ", " : "  ");
            text_item(&in->out, &s->items[k]);
        }
        buffer_string(&in->out, "\n");
    }
}

/* -------------------------------------------------------------------------------------------------- metadata */

static void json_token_union(json_writer *j, const char *key, const token_union *u)
{
    json_write_key(j, key);
    if (u->text) {
        json_write_cstring(j, u->text);
        return;
    }
    json_begin_array(j);
    for (size_t i = 0; i < u->n_ids; i++)
        json_write_i64(j, u->ids[i]);
    json_end_array(j);
}

static void text_token_union(buffer *out, const token_union *u)
{
    if (u->text) {
        json_writer j; /* quoted, with control characters escaped */
        json_writer_init(&j, out, false);
        json_write_cstring(&j, u->text);
    }
    if (!u->text && !u->n_ids)
        buffer_string(out, "none");
    for (size_t i = 0; i < u->n_ids; i++)
        buffer_printf(out, "%s%d", i ? " " : "", u->ids[i]);
}

static void json_metadata(json_writer *j, const llm_metadata *m)
{
    json_write_key(j, "metadata");
    json_begin_object(j);
    json_write_key(j, "model_type");
    json_write_cstring(j, m->model_type);
    json_write_key(j, "max_num_tokens");
    json_write_i64(j, m->max_num_tokens);
    json_token_union(j, "start_token", &m->start_token);
    json_write_key(j, "stop_tokens");
    json_begin_array(j);
    for (size_t i = 0; i < m->n_stop_tokens; i++) {
        json_begin_object(j);
        json_token_union(j, m->stop_tokens[i].text ? "text" : "ids", &m->stop_tokens[i]);
        json_end_object(j);
    }
    json_end_array(j);
    if (m->has_pad_token)
        json_token_union(j, "pad_token", &m->pad_token);
    if (m->has_sampler) {
        json_write_key(j, "sampler");
        json_begin_object(j);
        json_write_key(j, "type");
        json_write_i64(j, m->sampler_type);
        json_write_key(j, "top_k");
        json_write_i64(j, m->k);
        json_write_key(j, "top_p");
        json_write_f32(j, m->p);
        json_write_key(j, "temperature");
        json_write_f32(j, m->temperature);
        json_end_object(j);
    }
    json_write_key(j, "jinja_prompt_template");
    json_write_cstring(j, m->jinja_prompt_template);
    json_end_object(j);
}

static void text_metadata(buffer *out, const llm_metadata *m)
{
    buffer_printf(out, "metadata   model type %s, context %d, start token ",
                  m->model_type && m->model_type[0] ? m->model_type : "not given", m->max_num_tokens);
    text_token_union(out, &m->start_token);
    buffer_string(out, ", stop tokens ");
    for (size_t i = 0; i < m->n_stop_tokens; i++) {
        if (i)
            buffer_string(out, ", ");
        text_token_union(out, &m->stop_tokens[i]);
    }
    if (!m->n_stop_tokens)
        buffer_string(out, "none");
    if (m->has_sampler)
        buffer_printf(out, "\n           sampler type %d, k %d, p %g, temperature %g", m->sampler_type, m->k,
                      (double)m->p, (double)m->temperature);
    if (m->jinja_prompt_template)
        buffer_printf(out, "\n           chat template of %zu bytes", strlen(m->jinja_prompt_template));
    buffer_string(out, "\n");
}

/* ---------------------------------------------------------------------------------------------------- models */

typedef struct op_count {
    const char *name;
    uint32_t n;
} op_count;

enum { MAX_OP_KINDS = 128 };

static uint32_t count_ops(const tflite_subgraph *g, op_count counts[MAX_OP_KINDS])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        const tflite_op *op = &g->ops[i];
        const char *name = op->composite_name[0] ? op->composite_name
                           : op->custom_code[0]  ? op->custom_code
                                                 : tflite_builtin_name(op->builtin);
        uint32_t k = 0;
        while (k < n && strcmp(counts[k].name, name))
            k++;
        if (k == n && n < MAX_OP_KINDS)
            counts[n++] = (op_count){name, 0};
        if (k < n)
            counts[k].n++;
    }
    return n;
}

static void shape_text(buffer *out, const tflite_tensor *t)
{
    buffer_printf(out, "%s[", tflite_type_name(t->type));
    for (uint32_t i = 0; i < t->rank; i++)
        buffer_printf(out, "%s%d", i ? ", " : "", t->dims[i]);
    buffer_string(out, "]");
}

static void json_ports(json_writer *j, const char *key, const tflite_subgraph *g, const char *const *names,
                       const uint32_t *tensors, uint32_t n)
{
    json_write_key(j, key);
    json_begin_array(j);
    for (uint32_t i = 0; i < n; i++) {
        const tflite_tensor *t = &g->tensors[tensors[i]];
        json_begin_object(j);
        json_write_key(j, "name");
        json_write_cstring(j, names[i]);
        json_write_key(j, "type");
        json_write_cstring(j, tflite_type_name(t->type));
        json_write_key(j, "shape");
        json_begin_array(j);
        for (uint32_t k = 0; k < t->rank; k++)
            json_write_i64(j, t->dims[k]);
        json_end_array(j);
        json_end_object(j);
    }
    json_end_array(j);
}

static void json_signature(json_writer *j, const tflite_signature *sig, const tflite_subgraph *g)
{
    op_count counts[MAX_OP_KINDS];
    uint32_t n = count_ops(g, counts);
    json_begin_object(j);
    json_write_key(j, "name");
    json_write_cstring(j, sig->key);
    json_ports(j, "inputs", g, sig->input_names, sig->input_tensors, sig->n_inputs);
    json_ports(j, "outputs", g, sig->output_names, sig->output_tensors, sig->n_outputs);
    json_write_key(j, "ops");
    json_begin_object(j);
    for (uint32_t i = 0; i < n; i++) {
        json_write_key(j, counts[i].name);
        json_write_u64(j, counts[i].n);
    }
    json_end_object(j);
    json_end_object(j);
}

static void text_signature(buffer *out, const tflite_signature *sig, const tflite_subgraph *g)
{
    op_count counts[MAX_OP_KINDS];
    uint32_t n = count_ops(g, counts);
    buffer_printf(out, "  signature %s: %u nodes:", sig->key, g->n_ops);
    for (uint32_t i = 0; i < n; i++)
        buffer_printf(out, " %s %u%s", counts[i].name, counts[i].n, i + 1 < n ? "," : "");
    buffer_string(out, "\n    in ");
    uint32_t shown = 0;
    for (uint32_t i = 0; i < sig->n_inputs; i++) {
        if (shown == 8) {
            buffer_printf(out, " and %u more", sig->n_inputs - shown);
            break;
        }
        buffer_printf(out, " %s ", sig->input_names[i]);
        shape_text(out, &g->tensors[sig->input_tensors[i]]);
        shown++;
    }
    buffer_string(out, "\n    out");
    for (uint32_t i = 0; i < sig->n_outputs && i < 8; i++) {
        buffer_printf(out, " %s ", sig->output_names[i]);
        shape_text(out, &g->tensors[sig->output_tensors[i]]);
    }
    if (sig->n_outputs > 8)
        buffer_printf(out, " and %u more", sig->n_outputs - 8);
    buffer_string(out, "\n");
}

static lithe_status inspect_model(inspector *in, size_t section, lithe_error *err)
{
    const bundle_section *bs = &in->b->sections[section];
    tflite_model m;
    int32_t weights = bundle_find(in->b, SECTION_TFLITE_WEIGHTS, bs->model_type);
    bytes none = {0};
    lithe_status st = tflite_open(&m, bs->data, weights < 0 ? none : in->b->sections[weights].data, &in->arena, err);
    if (in->o->json && !st) {
        json_begin_object(&in->j);
        json_write_key(&in->j, "section");
        json_write_u64(&in->j, section);
        json_write_key(&in->j, "model_type");
        json_write_cstring(&in->j, bs->model_type);
        json_write_key(&in->j, "subgraphs");
        json_write_u64(&in->j, m.n_subgraphs);
        json_write_key(&in->j, "signatures");
        json_begin_array(&in->j);
    } else if (!st) {
        buffer_printf(&in->out, "model      section %zu, %s, %u subgraphs, %u buffers\n", section,
                      bs->model_type[0] ? bs->model_type : "no model type", m.n_subgraphs, m.n_buffers);
    }
    for (uint32_t i = 0; i < m.n_signatures && !st; i++) {
        tflite_subgraph g;
        st = tflite_read_subgraph(&m, m.signatures[i].subgraph, &g, err);
        if (st)
            break;
        if (in->o->json)
            json_signature(&in->j, &m.signatures[i], &g);
        else
            text_signature(&in->out, &m.signatures[i], &g);
    }
    if (st && err)
        error_at_section(err, (int32_t)section);
    if (in->o->json && !st) {
        json_end_array(&in->j);
        json_end_object(&in->j);
    }
    return st;
}

/* ------------------------------------------------------------------------------------------- plan and memory */

static void memory_json(json_writer *j, const lithe_model *m, uint32_t context)
{
    json_write_key(j, "memory");
    json_begin_object(j);
    json_write_key(j, "context");
    json_write_u64(j, context);
    json_write_key(j, "forecast_bytes");
    json_write_u64(j, lithe_model_memory_forecast(m, context));
    json_write_key(j, "state_bytes");
    json_write_u64(j, states_forecast(&m->decode, context));
    json_write_key(j, "activation_bytes");
    json_write_u64(j, session_memory_forecast(m, prefill_chunk(context), 1, context));
    json_write_key(j, "model_bytes");
    json_write_u64(j, lithe_model_memory_forecast(m, context) - model_session_forecast(m, context));
    json_write_key(j, "mapped_bytes");
    json_write_u64(j, m->info.mapped_bytes);
    json_end_object(j);
}

static void memory_text(buffer *out, const lithe_model *m, uint32_t context)
{
    const double mb = 1 / 1048576.0;
    buffer_printf(out,
                  "memory     at %u positions: %.1f MB private at most (states %.1f, activations %.1f, model %.1f), "
                  "%.1f MB mapped\n",
                  context, (double)lithe_model_memory_forecast(m, context) * mb,
                  (double)states_forecast(&m->decode, context) * mb,
                  (double)session_memory_forecast(m, prefill_chunk(context), 1, context) * mb,
                  (double)(lithe_model_memory_forecast(m, context) - model_session_forecast(m, context)) * mb,
                  (double)m->info.mapped_bytes * mb);
}

static void json_plan(inspector *in, const lithe_model *m, const lithe_error *why)
{
    json_writer *j = &in->j;
    json_write_key(j, "plan");
    json_begin_object(j);
    json_write_key(j, "runnable");
    json_write_bool(j, m != NULL);
    json_write_key(j, "kind");
    json_write_cstring(j, m ? m->info.plan : NULL);
    json_write_key(j, "reason");
    json_write_cstring(j, m ? m->info.plan_reason : why->message);
    if (m) {
        json_write_key(j, "context");
        json_write_u64(j, m->info.context);
        json_write_key(j, "vocab_size");
        json_write_u64(j, m->info.vocab_size);
        json_write_key(j, "attention_nodes");
        json_write_u64(j, m->info.n_layers_attention);
        json_write_key(j, "states");
        json_write_u64(j, m->info.n_states);
        json_write_key(j, "tokenizer");
        json_write_cstring(j, m->info.tokenizer_kind);
    }
    json_end_object(j);
}

/* Opens the bundle as `run` would: says which plan it gets, or why none. */
static lithe_status inspect_plan(inspector *in, lithe_error *err)
{
    lithe_model *m = NULL;
    lithe_model_options options;
    lithe_error why = {0};
    lithe_model_options_init(&options);
    options.context = in->o->context;
    lithe_status st = lithe_model_open(in->b->path, &options, &m, &why);
    if (in->o->json)
        json_plan(in, m, &why);
    else if (m)
        buffer_printf(
            &in->out, "plan       %s%s%s: %u attention nodes, %u states, context %u, vocabulary %u, tokenizer %s\n",
            m->info.plan, m->info.plan_reason[0] ? ", since " : "", m->info.plan_reason, m->info.n_layers_attention,
            m->info.n_states, m->info.context, m->info.vocab_size, m->info.tokenizer_kind);
    else
        buffer_printf(&in->out, "plan       none: %s\n", why.message);
    if (m && in->o->memory) {
        uint32_t context = in->o->context ? in->o->context : m->info.context;
        if (in->o->json)
            memory_json(&in->j, m, context);
        else
            memory_text(&in->out, m, context);
    }
    lithe_model_close(m);
    if (!st || !in->o->memory)
        return LITHE_OK;
    if (err)
        *err = why;
    return st;
}

/* ------------------------------------------------------------------------------------------------------ all */

static lithe_status inspect_all(inspector *in, const llm_metadata *meta, bool has_meta, lithe_error *err)
{
    lithe_status st = LITHE_OK;
    if (in->o->json)
        json_begin_object(&in->j);
    inspect_container(in);
    if (has_meta && in->o->json)
        json_metadata(&in->j, meta);
    if (has_meta && !in->o->json)
        text_metadata(&in->out, meta);
    if (in->o->json) {
        json_write_key(&in->j, "models");
        json_begin_array(&in->j);
    }
    for (size_t i = 0; i < in->b->n_sections && !st; i++)
        if (in->b->sections[i].type == SECTION_TFLITE_MODEL)
            st = inspect_model(in, i, err);
    if (in->o->json)
        json_end_array(&in->j);
    if (!st && !in->b->is_tflite)
        st = inspect_plan(in, err);
    if (in->o->json) {
        json_end_object(&in->j);
        buffer_string(&in->out, "\n");
    }
    return st;
}

static lithe_status inspect_bundle(inspector *in, lithe_error *err)
{
    llm_metadata meta;
    executor_metadata states;
    int32_t llm = bundle_find(in->b, SECTION_LLM_METADATA, NULL),
            exec = bundle_find(in->b, SECTION_EXECUTOR_METADATA, NULL);
    lithe_status st = LITHE_OK;
    if (in->o->after_pass && !strcmp(in->o->after_pass, "list"))
        return print_pass_list(in);
    if (llm >= 0)
        st = llm_metadata_read(&meta, in->b->sections[llm].data, &in->arena, err);
    if (st && err)
        error_at_section(err, llm);
    if (!st && exec >= 0) {
        st = executor_metadata_read(&states, in->b->sections[exec].data, &in->arena, err);
        if (st && err)
            error_at_section(err, exec);
    }
    if (st)
        return st;
    return in->o->graph ? inspect_graph(in, exec >= 0 ? &states : NULL, err) : inspect_all(in, &meta, llm >= 0, err);
}

lithe_status lithe_inspect(const char *path, const lithe_inspect_options *options, lithe_write_fn write, void *user,
                           lithe_error *err)
{
    static const lithe_inspect_options none;
    if (!path || !write)
        return error_set(err, LITHE_E_ARGUMENT, "lithe_inspect needs a path and a function to write to");
    inspector in = {.o = options ? options : &none, .write = write, .user = user};
    lithe_status st = bundle_open(&in.b, path, err);
    if (st)
        return st;
    arena_init(&in.arena, 64 * 1024);
    buffer_init(&in.out);
    json_writer_init(&in.j, &in.out, true);
    st = inspect_bundle(&in, err);
    if (!st && buffer_failed(&in.out))
        st = error_memory(err, in.out.size, "the report");
    if (!st && !flush_out(&in))
        st = error_set(err, LITHE_E_IO, "the report could not be written");
    if (st && err)
        error_at_path(err, path);
    buffer_fini(&in.out);
    arena_fini(&in.arena);
    bundle_close(in.b);
    return st;
}
