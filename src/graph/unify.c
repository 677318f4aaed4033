#include "graph/unify.h"

#include "graph/import.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Constants up to so many elements may depend on the length, larger ones up to so many bytes are compared; beyond they must be shared. */
enum { MAX_AFFINE_ELEMENTS = 64, MAX_COMPARED_BYTES = 1 << 20, MAX_SAMPLES = 32 };

/* One signature under comparison with the base. */
typedef struct sample {
    const tflite_signature *signature;
    tflite_subgraph subgraph;
    uint32_t length;
    uint32_t *map; /* [base tensors] tensor of this sample, GRAPH_NONE: not met */
} sample;

typedef struct unifier {
    graph_family *f;
    arena *arena;
    lithe_error *err;
    bool first_pair; /* numbers are being found; later samples only check them */
} unifier;

/* Says why the signatures cannot be unified (the first reason stays) and gives false. */
static bool refuse(unifier *u, const char *fmt, ...) LITHE_PRINTF(2, 3);
static bool refuse(unifier *u, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (!u->f->why_not[0])
        vsnprintf(u->f->why_not, sizeof u->f->why_not, fmt, args);
    va_end(args);
    return false;
}

static uint32_t signature_length(const tflite_signature *s, const tflite_subgraph *sg)
{
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        if (strcmp(s->input_names[i], "input_pos") && strcmp(s->input_names[i], "positions"))
            continue;
        const tflite_tensor *t = &sg->tensors[s->input_tensors[i]];
        uint64_t n = 1;
        for (uint32_t k = 0; k < t->rank; k++)
            n *= t->dims[k] > 0 ? (uint64_t)t->dims[k] : 0;
        return n <= INT32_MAX ? (uint32_t)n : 0;
    }
    return 0;
}

/* -------------------------------------------------------------------------------------------------- numbers */

static unify_number *find_number(const graph_family *f, uint32_t tensor, uint32_t index, bool constant)
{
    for (uint32_t i = 0; i < f->n_numbers; i++) {
        unify_number *n = &f->numbers[i];
        if (n->tensor == tensor && n->index == index && n->constant == constant)
            return n;
    }
    return NULL;
}

static bool add_number(unifier *u, unify_number number)
{
    graph_family *f = u->f;
    if (f->n_numbers == f->numbers_capacity) {
        uint32_t wanted = f->numbers_capacity ? 2 * f->numbers_capacity : 256;
        unify_number *more = ARENA_ARRAY(u->arena, unify_number, wanted);
        if (!more)
            return refuse(u, "out of memory");
        if (f->n_numbers)
            memcpy(more, f->numbers, f->n_numbers * sizeof *more);
        f->numbers = more;
        f->numbers_capacity = wanted;
    }
    f->numbers[f->n_numbers++] = number;
    return true;
}

/* The base has `a` where the sample has `b`: finds the affine function, or checks the one found before. */
static bool match_number(unifier *u, const sample *s, uint32_t tensor, uint32_t index, bool constant, int64_t a,
                         int64_t b)
{
    const graph_family *f = u->f;
    const char *name = f->subgraph.tensors[tensor].name;
    int64_t steps = (int64_t)s->length - f->length;
    if (u->first_pair) {
        if (a == b)
            return true;
        int64_t slope = (b - a) / steps;
        if (slope * steps != b - a)
            return refuse(u, "tensor '%.60s' has %lld for %u tokens and %lld for %u: no affine function", name,
                          (long long)a, f->length, (long long)b, s->length);
        if (!constant && a + slope * (1 - (int64_t)f->length) < 1)
            return refuse(u, "tensor '%.60s' would have no elements for one token", name);
        return add_number(u, (unify_number){tensor, index, constant, a, slope});
    }
    const unify_number *n = find_number(f, tensor, index, constant);
    if (b == a + (n ? n->slope * steps : 0))
        return true;
    return refuse(u, "tensor '%.60s' has %lld for %u tokens, where the other lengths say %lld", name, (long long)b,
                  s->length, (long long)(a + (n ? n->slope * steps : 0)));
}

/* -------------------------------------------------------------------------------------------------- tensors */

static bool match_constants(unifier *u, const sample *s, uint32_t tensor, const tflite_tensor *a,
                            const tflite_tensor *b)
{
    if (a->data.data == b->data.data && a->data.size == b->data.size)
        return true;
    if (!a->data.data || !b->data.data)
        return refuse(u, "tensor '%.60s' is constant in one signature only", a->name);
    if (a->data.size != b->data.size)
        return refuse(u, "constant '%.60s' differs in size", a->name);
    bool numbers = a->type == TFLITE_INT32 && a->data.size <= MAX_AFFINE_ELEMENTS * 4u;
    if (!numbers && a->data.size > MAX_COMPARED_BYTES)
        return refuse(u, "constant '%.60s' is stored twice", a->name);
    if (!numbers)
        return !memcmp(a->data.data, b->data.data, a->data.size) || refuse(u, "constant '%.60s' differs", a->name);
    for (uint32_t i = 0; i < a->data.size / 4; i++)
        if (!match_number(u, s, tensor, i, true, (int32_t)load_u32(a->data.data + 4 * i),
                          (int32_t)load_u32(b->data.data + 4 * i)))
            return false;
    return true;
}

static bool match_tensors(unifier *u, sample *s, int32_t base, int32_t other)
{
    if (base < 0 || other < 0)
        return base == other || refuse(u, "an optional input is given in one signature only");
    uint32_t t = (uint32_t)base;
    if (s->map[t] != GRAPH_NONE)
        return s->map[t] == (uint32_t)other || refuse(u, "the signatures are wired differently");
    s->map[t] = (uint32_t)other;
    const tflite_tensor *a = &u->f->subgraph.tensors[t], *b = &s->subgraph.tensors[other];
    if (a->type != b->type || a->rank != b->rank || a->has_dynamic_dims || b->has_dynamic_dims ||
        a->n_scales != b->n_scales || a->quantized_dimension != b->quantized_dimension ||
        a->block_size != b->block_size)
        return refuse(u, "tensor '%.60s' differs in type, rank or quantisation", a->name);
    for (uint32_t i = 0; i < a->rank; i++)
        if (!match_number(u, s, t, i, false, a->dims[i], b->dims[i]))
            return false;
    return match_constants(u, s, t, a, b);
}

/* Offset of a field in its table, 0 if absent. The table has been checked. */
static uint16_t field_at(const fb_table *t, uint32_t slot)
{
    uint32_t entry = 4 + 2 * slot;
    return entry + 2 <= t->vtable_bytes ? load_u16(t->buf.data + t->vtable + entry) : 0;
}

/* Bytes from a field to whatever follows it in the table, padding included. */
static uint16_t field_room(const fb_table *t, uint16_t at)
{
    uint16_t end = t->table_bytes;
    for (uint32_t slot = 0; 4 + 2 * slot < t->vtable_bytes; slot++) {
        uint16_t other = field_at(t, slot);
        if (other > at && other < end)
            end = other;
    }
    return (uint16_t)(end > at ? end - at : 0);
}

/* Scalars of two options tables, field by field; vectors (new shapes) are checked by import against the tensors' shapes. */
static bool same_options(const tflite_op *a, const tflite_op *b)
{
    const fb_table *x = &a->options, *y = &b->options;
    if (a->options_type != b->options_type || !x->at != !y->at)
        return false;
    const char *name = tflite_builtin_name(a->builtin);
    if (!x->at || !strcmp(name, "RESHAPE") || !strcmp(name, "SQUEEZE") || !strcmp(name, "STABLEHLO_COMPOSITE"))
        return true;
    for (uint32_t slot = 0; 4 + 2 * slot < x->vtable_bytes || 4 + 2 * slot < y->vtable_bytes; slot++) {
        uint16_t i = field_at(x, slot), j = field_at(y, slot);
        if (!i != !j)
            return false;
        uint16_t m = field_room(x, i), n = field_room(y, j);
        if (i && memcmp(x->buf.data + x->at + i, y->buf.data + y->at + j, m < n ? m : n))
            return false;
    }
    return true;
}

static bool match_ops(unifier *u, sample *s)
{
    const tflite_subgraph *base = &u->f->subgraph;
    if (base->n_ops != s->subgraph.n_ops)
        return refuse(u, "signature %.40s has %u nodes, %.40s has %u", u->f->base->key, base->n_ops, s->signature->key,
                      s->subgraph.n_ops);
    for (uint32_t i = 0; i < base->n_ops; i++) {
        const tflite_op *a = &base->ops[i], *b = &s->subgraph.ops[i];
        if (a->builtin != b->builtin || strcmp(a->custom_code, b->custom_code) ||
            strcmp(a->composite_name, b->composite_name) || a->n_inputs != b->n_inputs ||
            a->n_outputs != b->n_outputs || a->custom_options.size != b->custom_options.size || !same_options(a, b))
            return refuse(u, "node %u (%s) differs between %.40s and %.40s", i, tflite_builtin_name(a->builtin),
                          u->f->base->key, s->signature->key);
        if (a->custom_options.size && memcmp(a->custom_options.data, b->custom_options.data, a->custom_options.size))
            return refuse(u, "node %u (%s) has other attributes in %.40s", i, tflite_builtin_name(a->builtin),
                          s->signature->key);
        for (uint32_t k = 0; k < a->n_inputs; k++)
            if (!match_tensors(u, s, a->inputs[k], b->inputs[k]))
                return false;
        for (uint32_t k = 0; k < a->n_outputs; k++)
            if (!match_tensors(u, s, a->outputs[k], b->outputs[k]))
                return false;
    }
    return true;
}

/* Inputs and outputs by name. */
static bool match_ports(unifier *u, sample *s, const char *const *names, const uint32_t *tensors, uint32_t n,
                        const char *const *other_names, const uint32_t *others, uint32_t n_others)
{
    if (n != n_others)
        return refuse(u, "signature %.40s has other inputs or outputs", s->signature->key);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;
        while (k < n && strcmp(names[i], other_names[k]))
            k++;
        if (k == n)
            return refuse(u, "signature %.40s has no '%.60s'", s->signature->key, names[i]);
        if (!match_tensors(u, s, (int32_t)tensors[i], (int32_t)others[k]))
            return false;
    }
    return true;
}

static bool match_sample(unifier *u, sample *s)
{
    const tflite_signature *a = u->f->base, *b = s->signature;
    return match_ports(u, s, a->input_names, a->input_tensors, a->n_inputs, b->input_names, b->input_tensors,
                       b->n_inputs) &&
           match_ops(u, s) &&
           match_ports(u, s, a->output_names, a->output_tensors, a->n_outputs, b->output_names, b->output_tensors,
                       b->n_outputs);
}

/* --------------------------------------------------------------------------------------------------- public */

static lithe_status read_sample(sample *s, tflite_model *m, const char *key, lithe_error *err)
{
    *s = (sample){.signature = tflite_find_signature(m, key)};
    if (!s->signature) {
        error_set(err, LITHE_E_MODEL, "the model has no signature '%s'", key);
        error_at_signature(err, key);
        return LITHE_E_MODEL;
    }
    lithe_status st = tflite_read_subgraph(m, s->signature->subgraph, &s->subgraph, err);
    if (!st)
        s->length = signature_length(s->signature, &s->subgraph);
    return st;
}

static lithe_status compare_with(unifier *u, sample *s)
{
    uint32_t n = u->f->subgraph.n_tensors;
    s->map = ARENA_ARRAY(u->arena, uint32_t, n);
    if (!s->map)
        return error_memory(u->err, n * sizeof *s->map, "the comparison of signatures");
    memset(s->map, 0xff, n * sizeof *s->map);
    match_sample(u, s);
    return LITHE_OK;
}

lithe_status graph_unify(graph_family *f, tflite_model *m, const char *const *keys, uint32_t n_keys, arena *a,
                         lithe_error *err)
{
    *f = (graph_family){.model = m};
    unifier u = {.f = f, .arena = a, .err = err, .first_pair = true};
    sample s;
    lithe_status st = LITHE_OK;
    for (uint32_t i = 0; i < n_keys && i < MAX_SAMPLES && !f->why_not[0]; i++) {
        if ((st = read_sample(&s, m, keys[i], err)))
            return st;
        if (!s.length) {
            refuse(&u, "signature %.40s has no positions input that tells its length", keys[i]);
        } else if (!i) {
            f->base = s.signature;
            f->subgraph = s.subgraph;
            f->length = s.length;
        } else if (s.length == f->length) {
            refuse(&u, "signatures %.40s and %.40s have one length", f->base->key, keys[i]);
        } else {
            if ((st = compare_with(&u, &s)))
                return st;
            u.first_pair = false;
        }
    }
    if (u.first_pair)
        refuse(&u, "there are not two prefill signatures to compare");
    return LITHE_OK;
}

/* The base's tensors with the numbers for n tokens; constants that change are copied. */
static lithe_status tensors_for(const graph_family *f, uint32_t n, tflite_tensor *tensors, arena *a, lithe_error *err)
{
    for (uint32_t i = 0; i < f->n_numbers; i++) {
        const unify_number *x = &f->numbers[i];
        int64_t value = x->value + x->slope * ((int64_t)n - f->length);
        if (value < INT32_MIN || value > INT32_MAX || (!x->constant && value < 1))
            return error_set(err, LITHE_E_MODEL, "tensor '%s' would have dimension %lld for %u tokens",
                             tensors[x->tensor].name, (long long)value, n);
        tflite_tensor *t = &tensors[x->tensor];
        if (!x->constant) {
            t->dims[x->index] = (int32_t)value;
            continue;
        }
        if (t->data.data == f->subgraph.tensors[x->tensor].data.data) {
            uint8_t *copy = arena_alloc(a, 1, t->data.size);
            if (!copy)
                return error_memory(err, t->data.size, "a constant");
            memcpy(copy, t->data.data, t->data.size);
            t->data.data = copy;
        }
        store_u32((uint8_t *)(uintptr_t)t->data.data + 4 * x->index, (uint32_t)(int32_t)value);
    }
    return LITHE_OK;
}

lithe_status graph_import_length(graph *g, const graph_family *f, uint32_t n, const graph_state_hint *hints,
                                 uint32_t n_hints, arena *a, lithe_error *err)
{
    if (f->why_not[0])
        return error_set(err, LITHE_E_UNSUPPORTED, "the prefill signatures cannot be unified: %s", f->why_not);
    tflite_subgraph sg = f->subgraph;
    tflite_tensor *tensors = ARENA_ARRAY(a, tflite_tensor, sg.n_tensors);
    if (!tensors)
        return error_memory(err, sg.n_tensors * sizeof *tensors, "tensors");
    memcpy(tensors, f->subgraph.tensors, sg.n_tensors * sizeof *tensors);
    sg.tensors = tensors;
    lithe_status st = tensors_for(f, n, tensors, a, err);
    return st ? st : graph_import_subgraph(g, f->model, f->base, &sg, hints, n_hints, a, err);
}
