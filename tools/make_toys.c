/* make_toys OUTDIR: writes the toy bundles that tests run on. Deterministic: every machine makes the same bytes. */
#include "base/protowire.h"
#include "bundle/metadata.h"
#include "toys/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const toy_config configs[] = {
    {.name = "toy-fp32", .kind = KIND_FP32},
    {.name = "toy-fp16", .kind = KIND_FP16},
    {.name = "toy-wo8", .kind = KIND_WO8},
    {.name = "toy-int8", .kind = KIND_INT8},
    {.name = "toy-int4c", .kind = KIND_INT4C},
    {.name = "toy-int4b32", .kind = KIND_INT4B32},
    {.name = "toy-window", .kind = KIND_FP32, .gemma = true},
    {.name = "toy-window-int8", .kind = KIND_INT8, .gemma = true},
    {.name = "toy-recurrent", .kind = KIND_FP32, .recurrent = true},
    {.name = "toy-layouts", .kind = KIND_INT8, .layouts = true},
    {.name = "toy-512", .kind = KIND_INT8, .context = 512},
    {.name = "toy-8192", .kind = KIND_INT8, .context = 8192},
    {.name = "toy-window-512", .kind = KIND_INT8, .gemma = true, .context = 512},
    {.name = "toy-window-8192", .kind = KIND_INT8, .gemma = true, .context = 8192},
};

enum { PIECE_NORMAL = 1, PIECE_UNKNOWN = 2, PIECE_CONTROL = 3, PIECE_BYTE = 6 };

/* Merges in order of rank, then single letters. U+2581 stands for a space. */
#define SP "\xe2\x96\x81"
static const char *const pieces[] = {
    SP "t", "he", "in",     "er",   SP "a", SP "the", "on", "re", "an", "at", "ing", "nd", SP "s", "en",
    SP "w", "ou", SP "and", SP "o", "it",   "is",     "or", SP,   "e",  "t",  "a",   "o",  "i",    "n",
    "s",    "h",  "r",      "d",    "l",    "u",      "c",  "m",  "w",  "g",  "y",   "p",  ".",
};
_Static_assert(3 + 256 + sizeof pieces / sizeof *pieces == TOY_VOCAB, "the vocabulary has TOY_VOCAB pieces");

static void add_piece(buffer *model, const char *text, float score, uint32_t type)
{
    buffer piece;
    buffer_init(&piece);
    wire_write_bytes(&piece, 1, text, strlen(text));
    wire_write_f32(&piece, 2, score);
    wire_write_varint(&piece, 3, type);
    wire_write_bytes(model, 1, piece.data, piece.size);
    model->failed |= buffer_failed(&piece);
    buffer_fini(&piece);
}

/* A SentencePiece ModelProto (sentencepiece_model.proto): BPE with byte fallback. */
static void write_tokenizer(buffer *out)
{
    add_piece(out, "<unk>", 0, PIECE_UNKNOWN);
    add_piece(out, "<s>", 0, PIECE_CONTROL);
    add_piece(out, "</s>", 0, PIECE_CONTROL);
    for (unsigned i = 0; i < 256; i++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", i);
        add_piece(out, text, 0, PIECE_BYTE);
    }
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        add_piece(out, pieces[i], -(float)i, PIECE_NORMAL);
    }
    buffer trainer, normalizer;
    buffer_init(&trainer);
    buffer_init(&normalizer);
    wire_write_varint(&trainer, 3, 2); /* model_type: BPE */
    wire_write_varint(&trainer, 4, TOY_VOCAB);
    wire_write_varint(&trainer, 35, 1); /* byte_fallback */
    for (uint32_t i = 0; i < 3; i++) {
        wire_write_varint(&trainer, 40 + i, i); /* unk_id, bos_id, eos_id */
    }
    wire_write_varint(&trainer, 43, UINT64_MAX); /* pad_id: -1 */
    wire_write_bytes(&normalizer, 1, "identity", 8);
    wire_write_varint(&normalizer, 3, 1); /* add_dummy_prefix */
    wire_write_varint(&normalizer, 4, 0); /* remove_extra_whitespaces */
    wire_write_varint(&normalizer, 5, 1); /* escape_whitespaces */
    wire_write_bytes(out, 2, trainer.data, trainer.size);
    wire_write_bytes(out, 3, normalizer.data, normalizer.size);
    out->failed |= buffer_failed(&trainer) || buffer_failed(&normalizer);
    buffer_fini(&trainer);
    buffer_fini(&normalizer);
}

static void write_llm_metadata(const toy_config *c, buffer *out, lithe_error *err)
{
    static const int32_t start[] = {1}, stop[] = {2}, pad[] = {0};
    static const token_union stops[] = {{stop, 1, NULL}, {NULL, 0, "</s>"}};
    llm_metadata m = {
        .start_token = {start, 1, NULL},
        .stop_tokens = stops,
        .n_stop_tokens = 2,
        .has_prompt_templates = true,
        .user = {true, "user: ", "\n"},
        .model = {true, "model: ", "\n"},
        .system = {.prefix = "", .suffix = ""},
        .has_sampler = true,
        .sampler_type = SAMPLER_TOP_P,
        .k = 1,
        .p = 0.95f,
        .temperature = 1.0f,
        .has_seed = true,
        .max_num_tokens = toy_context(c),
        .model_type = c->gemma ? "gemma3" : "generic_model",
        .supports_thinking = -1,
        .supports_function_calling = -1,
    };
    if (c->recurrent) {
        m.has_pad_token = true;
        m.pad_token = (token_union){pad, 1, NULL};
    }
    if (llm_metadata_write(&m, out, err)) {
        toy_fail("%s", err->message);
    }
}

static void write_executor_metadata(const toy_config *c, arena *a, buffer *out, lithe_error *err)
{
    executor_state states[2 * TOY_LAYERS];
    for (uint32_t i = 0; i < 2 * TOY_LAYERS; i++) {
        const char *name = toy_state_name(c, a, i);
        bool linear = c->recurrent && i < 2;
        states[i] = (executor_state){
            .prefill_input = name, .prefill_output = name, .decode_input = name, .decode_output = name};
        states[i].type = linear ? STATE_LINEAR_ATTENTION : i % 2 ? STATE_GLOBAL_VALUE : STATE_GLOBAL_KEY;
        states[i].sequence_axis = linear ? -1 : i % 2 ? 3 : 2;
        states[i].min_length = -1;
        states[i].max_length = linear ? -1 : toy_context(c);
    }
    executor_metadata m = {
        .max_history_size = toy_context(c), .states = states, .n_states = 2 * TOY_LAYERS, .sliding_window_size = -1};
    if (executor_metadata_write(&m, out, err)) {
        toy_fail("%s", err->message);
    }
}

static int32_t *moved(arena *a, const int32_t *indices, uint32_t n, const uint32_t *to)
{
    int32_t *out = toy_alloc(a, n + 1, sizeof *out);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = indices[i] < 0 ? -1 : (int32_t)to[indices[i]];
    }
    return out;
}

/* Renumbers the tensors of a subgraph: legal, and nothing may depend on their order. */
static void shuffle(toy_model *m, uint32_t index, toy_random *r)
{
    tflite_source_subgraph *s = &m->subgraphs[index];
    uint32_t *to = toy_alloc(m->arena, s->n_tensors, sizeof *to);
    for (uint32_t i = 0; i < s->n_tensors; i++) {
        to[i] = i;
    }
    for (uint32_t i = s->n_tensors; i-- > 1;) {
        float f = toy_normal(r, 1.0f);
        uint32_t k = (uint32_t)(f * f * 7919.0f) % (i + 1), t = to[i];
        to[i] = to[k];
        to[k] = t;
    }
    tflite_tensor *tensors = toy_alloc(m->arena, s->n_tensors, sizeof *tensors);
    for (uint32_t i = 0; i < s->n_tensors; i++) {
        tensors[to[i]] = s->tensors[i];
        tensors[to[i]].block_scales_tensor = s->tensors[i].block_size ? to[s->tensors[i].block_scales_tensor] : 0;
    }
    s->tensors = tensors;
    s->inputs = moved(m->arena, s->inputs, s->n_inputs, to);
    s->outputs = moved(m->arena, s->outputs, s->n_outputs, to);
    tflite_source_op *ops = toy_alloc(m->arena, s->n_ops, sizeof *ops);
    for (uint32_t i = 0; i < s->n_ops; i++) {
        ops[i] = s->ops[i];
        ops[i].inputs = moved(m->arena, ops[i].inputs, ops[i].n_inputs, to);
        ops[i].outputs = moved(m->arena, ops[i].outputs, ops[i].n_outputs, to);
    }
    s->ops = ops;
    for (uint32_t g = 0; g < m->n_signatures; g++) {
        tflite_signature *sig = &m->signatures[g];
        if (sig->subgraph == index) {
            sig->input_tensors =
                (const uint32_t *)moved(m->arena, (const int32_t *)sig->input_tensors, sig->n_inputs, to);
            sig->output_tensors =
                (const uint32_t *)moved(m->arena, (const int32_t *)sig->output_tensors, sig->n_outputs, to);
        }
    }
}

static void write_model(const toy_config *c, arena *a, buffer *out, buffer *external, lithe_error *err)
{
    toy_weights *w = toy_alloc(a, 1, sizeof *w);
    toy_model *m = toy_alloc(a, 1, sizeof *m);
    toy_model_init(m, a);
    toy_weights_make(w, c, a);
    toy_model_make(m, c, w);
    if (c->layouts) {
        toy_random r = {9};
        for (uint32_t i = 0; i < m->n_subgraphs; i++) {
            shuffle(m, i, &r);
        }
    }
    tflite_source src = {.description = "lithe toy",
                         .subgraphs = m->subgraphs,
                         .n_subgraphs = m->n_subgraphs,
                         .signatures = m->signatures,
                         .n_signatures = m->n_signatures,
                         .external_group = c->layouts ? "tflite_weights" : NULL};
    if (tflite_write(&src, out, external, err)) {
        toy_fail("%s", err->message);
    }
}

/* Moves the header's announced end into the zeros behind it: trailing bytes are legal there. */
static void pad_header(const char *path)
{
    FILE *f = fopen(path, "r+b");
    uint8_t end[8];
    if (!f || fseek(f, 24, SEEK_SET) || fread(end, 1, 8, f) != 8) {
        toy_fail("cannot read %s back", path);
    }
    store_u64(end, load_u64(end) + 1000);
    if (fseek(f, 24, SEEK_SET) || fwrite(end, 1, 8, f) != 8 || fclose(f)) {
        toy_fail("cannot write %s", path);
    }
}

static bytes view(const buffer *b)
{
    return (bytes){b->data, b->size};
}

static void write_bundle(const toy_config *c, const char *path, lithe_error *err)
{
    static const bundle_item model_items[] = {{"model_type", ITEM_STRING, {.s = "tf_lite_prefill_decode"}},
                                              {"backend_constraint", ITEM_STRING, {.s = "cpu"}}};
    static const bundle_item odd_items[] = {{"model_type", ITEM_STRING, {.s = "TF_LITE_Prefill_Decode"}}};
    static const bundle_item system[] = {{"Authors", ITEM_STRING, {.s = "lithe"}},
                                         {"made_with", ITEM_STRING, {.s = "make_toys"}}};
    static const uint8_t blob[] = "bytes of the user's own";
    enum { LLM, EXECUTOR, TOKENIZER, MODEL, WEIGHTS, PARTS };
    arena a;
    buffer parts[PARTS];
    arena_init(&a, 1 << 20);
    for (int i = 0; i < PARTS; i++) {
        buffer_init(&parts[i]);
    }
    write_llm_metadata(c, &parts[LLM], err);
    write_executor_metadata(c, &a, &parts[EXECUTOR], err);
    write_tokenizer(&parts[TOKENIZER]);
    write_model(c, &a, &parts[MODEL], &parts[WEIGHTS], err);
    bundle_section_source usual[] = {{SECTION_LLM_METADATA, view(&parts[LLM]), NULL, 0},
                                     {SECTION_EXECUTOR_METADATA, view(&parts[EXECUTOR]), NULL, 0},
                                     {SECTION_SP_TOKENIZER, view(&parts[TOKENIZER]), NULL, 0},
                                     {SECTION_TFLITE_MODEL, view(&parts[MODEL]), model_items, 2}};
    bundle_section_source odd[] = {{SECTION_GENERIC_BINARY, {blob, sizeof blob}, NULL, 0},
                                   {SECTION_TFLITE_MODEL, view(&parts[MODEL]), odd_items, 1},
                                   {(section_type)250, {blob, 5}, NULL, 0},
                                   {SECTION_TFLITE_WEIGHTS, view(&parts[WEIGHTS]), odd_items, 1},
                                   {SECTION_SP_TOKENIZER, view(&parts[TOKENIZER]), NULL, 0},
                                   {SECTION_DEPRECATED, {blob, 0}, NULL, 0},
                                   {SECTION_LLM_METADATA, view(&parts[LLM]), NULL, 0}};
    for (int i = 0; i < PARTS; i++) {
        if (buffer_failed(&parts[i])) {
            toy_fail("out of memory");
        }
    }
    if (c->layouts ? bundle_write(path, NULL, 0, odd, 7, err) : bundle_write(path, system, 2, usual, 4, err)) {
        toy_fail("%s", err->message);
    }
    if (c->layouts) {
        pad_header(path);
    }
    for (int i = 0; i < PARTS; i++) {
        buffer_fini(&parts[i]);
    }
    arena_fini(&a);
}

int main(int argc, char **argv)
{
    lithe_error err;
    if (argc != 2) {
        toy_fail("usage: make_toys OUTDIR");
    }
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        char path[1024];
        if (snprintf(path, sizeof path, "%s/%s.litertlm", argv[1], configs[i].name) >= (int)sizeof path) {
            toy_fail("the path is too long");
        }
        write_bundle(&configs[i], path, &err);
    }
    return 0;
}
