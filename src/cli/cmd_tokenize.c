#include "base/file.h"
#include "base/json.h"
#include "cli/common.h"
#include "text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

typedef struct tokenize_options {
    common_options common;
    bool decode, start, special, ids, json, count;
    const char *check;
} tokenize_options;

/* clang-format off */
static const option tokenize_rows[] = {
    {.name = "decode", .letter = 'd', .kind = OPTION_FLAG, .offset = offsetof(tokenize_options, decode),
     .help = "from ids to text"},
    {.name = "count", .kind = OPTION_FLAG, .offset = offsetof(tokenize_options, count),
     .help = "print the number of tokens alone"},
    {.name = "check", .kind = OPTION_TEXT, .offset = offsetof(tokenize_options, check), .value = "FILE",
     .help = "compare with this tokenizer.json, and list the strings that differ"},
    {.name = "ids", .kind = OPTION_FLAG, .offset = offsetof(tokenize_options, ids),
     .help = "print ids alone, on one line"},
    {.name = "json", .kind = OPTION_FLAG, .offset = offsetof(tokenize_options, json), .help = "print JSON"},
    {.name = "start", .kind = OPTION_FLAG, .offset = offsetof(tokenize_options, start),
     .help = "the bundle's start tokens in front"},
    {.name = "special", .letter = 's', .kind = OPTION_FLAG, .offset = offsetof(tokenize_options, special),
     .help = "special tokens' text becomes those tokens; with --decode: is shown"},
};
/* clang-format on */

typedef struct id_list {
    int32_t *ids;
    size_t n;
} id_list;

static lithe_status text_to_ids(const lithe_model *model, const char *text, size_t size, unsigned flags, id_list *list,
                                lithe_error *err)
{
    size_t n = 0;
    lithe_status status = lithe_tokenize(model, text, size, flags, NULL, 0, &n, err);
    if (status || n == 0) {
        return status;
    }
    list->ids = n <= SIZE_MAX / sizeof *list->ids ? malloc(n * sizeof *list->ids) : NULL;
    if (!list->ids) {
        return error_memory(err, (uint64_t)n * sizeof *list->ids, "token ids");
    }
    return lithe_tokenize(model, text, size, flags, list->ids, n, &list->n, err);
}

static bool is_separator(char c)
{
    return c == ' ' || c == ',' || c == '\t' || c == '\n' || c == '\r' || c == '[' || c == ']';
}

/* Ids between spaces, commas or in a JSON array. Every id has a character and a separator, so text is the upper bound of them. */
static lithe_status read_ids(const char *text, size_t size, id_list *list, lithe_error *err)
{
    list->ids = malloc((size / 2 + 1) * sizeof *list->ids);
    if (!list->ids) {
        return error_memory(err, (size / 2 + 1) * sizeof *list->ids, "token ids");
    }
    for (size_t at = 0; at < size;) {
        if (is_separator(text[at])) {
            at++;
            continue;
        }
        int64_t id = 0;
        size_t begin = at;
        while (at < size && !is_separator(text[at])) {
            int digit = text[at] - '0';
            id = digit >= 0 && digit <= 9 && id >= 0 ? id * 10 + digit : -1;
            id = id <= INT32_MAX ? id : -1;
            at++;
        }
        if (id < 0) {
            size_t shown = at - begin < 40 ? at - begin : 40;
            error_set(err, LITHE_E_ARGUMENT, "\"%.*s\" is no token id", (int)shown, text + begin);
            return error_expected(err, "whole numbers between spaces, commas or in a JSON array");
        }
        list->ids[list->n++] = (int32_t)id;
    }
    return LITHE_OK;
}

/* All bytes of a token: a full buffer may mean that there are more. */
static lithe_status token_bytes(const lithe_model *model, int32_t id, buffer *out, lithe_error *err)
{
    for (size_t capacity = 256;; capacity *= 2) {
        out->size = 0;
        buffer_fill(out, 0, capacity);
        if (buffer_failed(out)) {
            return error_memory(err, capacity, "a token's bytes");
        }
        size_t n = lithe_token_bytes(model, id, (char *)out->data, capacity);
        if (n < capacity) {
            out->size = n;
            return LITHE_OK;
        }
    }
}

/* A piece on a line of its own: control characters would break the table. */
static void put_piece(buffer *out, const char *piece, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)piece[i];
        if (c < 0x20 || c == 0x7f || c == '\\') {
            buffer_printf(out, "\\x%02x", c);
        } else {
            buffer_append(out, &c, 1);
        }
    }
}

static void put_hex(buffer *out, const buffer *spelled)
{
    for (size_t i = 0; i < spelled->size; i++) {
        buffer_printf(out, "%s%02x", i ? " " : "", spelled->data[i]);
    }
}

static lithe_status print_table(const lithe_model *model, const id_list *list, buffer *out, lithe_error *err)
{
    buffer spelled;
    lithe_status status = LITHE_OK;
    buffer_init(&spelled);
    for (size_t i = 0; i < list->n && !status; i++) {
        size_t piece_bytes = 0;
        const char *piece = lithe_token_piece(model, list->ids[i], &piece_bytes);
        status = token_bytes(model, list->ids[i], &spelled, err);
        buffer_printf(out, "%d\t", (int)list->ids[i]);
        put_piece(out, piece ? piece : "", piece ? piece_bytes : 0);
        buffer_string(out, "\t");
        put_hex(out, &spelled);
        buffer_string(out, "\n");
    }
    buffer_fini(&spelled);
    return status;
}

static lithe_status print_json(const lithe_model *model, const id_list *list, buffer *out, lithe_error *err)
{
    buffer spelled;
    json_writer w;
    lithe_status status = LITHE_OK;
    buffer_init(&spelled);
    json_writer_init(&w, out, false);
    json_begin_array(&w);
    for (size_t i = 0; i < list->n && !status; i++) {
        size_t piece_bytes = 0;
        const char *piece = lithe_token_piece(model, list->ids[i], &piece_bytes);
        status = token_bytes(model, list->ids[i], &spelled, err);
        json_begin_object(&w);
        json_write_key(&w, "id");
        json_write_i64(&w, list->ids[i]);
        json_write_key(&w, "piece");
        json_write_string(&w, piece ? piece : "", piece ? piece_bytes : 0);
        json_write_key(&w, "bytes");
        json_begin_array(&w);
        for (size_t b = 0; b < spelled.size; b++) {
            json_write_u64(&w, spelled.data[b]);
        }
        json_end_array(&w);
        json_end_object(&w);
    }
    json_end_array(&w);
    buffer_string(out, "\n");
    buffer_fini(&spelled);
    return status;
}

static void print_ids(const id_list *list, bool json, buffer *out)
{
    buffer_string(out, json ? "[" : "");
    for (size_t i = 0; i < list->n; i++) {
        buffer_printf(out, "%s%d", i == 0 ? "" : json ? "," : " ", (int)list->ids[i]);
    }
    buffer_string(out, json ? "]\n" : "\n");
}

static lithe_status encode(const lithe_model *model, const tokenize_options *o, const char *text, size_t size,
                           buffer *out, lithe_error *err)
{
    id_list list = {0};
    unsigned flags = (o->start ? LITHE_TOKENIZE_START : 0u) | (o->special ? LITHE_TOKENIZE_SPECIAL : 0u);
    lithe_status status = text_to_ids(model, text, size, flags, &list, err);
    if (!status && o->count) {
        buffer_printf(out, "%zu\n", list.n);
    } else if (!status && o->ids) {
        print_ids(&list, o->json, out);
    } else if (!status) {
        status = o->json ? print_json(model, &list, out, err) : print_table(model, &list, out, err);
    }
    free(list.ids);
    return status;
}

/* The library leaves out what it does not know; here an id that does not exist is a mistake to be told. */
static lithe_status check_ids(const lithe_model *model, const id_list *list, lithe_error *err)
{
    for (size_t i = 0; i < list->n; i++) {
        size_t size = 0;
        if (!lithe_token_piece(model, list->ids[i], &size)) {
            return error_set(err, LITHE_E_ARGUMENT, "the tokenizer has no token with id %d", (int)list->ids[i]);
        }
    }
    return LITHE_OK;
}

/* The text and nothing else, so that it can be compared; a terminal gets a newline to stay readable. */
static lithe_status decode(const lithe_model *model, const tokenize_options *o, const char *text, size_t size,
                           buffer *out, lithe_error *err)
{
    id_list list = {0};
    size_t need = 0;
    buffer decoded;
    buffer_init(&decoded);
    lithe_status status = read_ids(text, size, &list, err);
    if (!status) {
        status = check_ids(model, &list, err);
    }
    if (!status) {
        status = lithe_detokenize(model, list.ids, list.n, o->special, NULL, 0, &need, err);
    }
    if (!status && need) {
        buffer_fill(&decoded, 0, need);
        status = buffer_failed(&decoded)
                     ? error_memory(err, need, "the text")
                     : lithe_detokenize(model, list.ids, list.n, o->special, (char *)decoded.data, need, &need, err);
    }
    if (!status && o->json) {
        json_writer w;
        json_writer_init(&w, out, false);
        json_write_string(&w, need ? (const char *)decoded.data : "", need);
        buffer_string(out, "\n");
    } else if (!status) {
        buffer_append(out, need ? (const char *)decoded.data : "", need);
        buffer_string(out, file_is_terminal(STREAM_OUTPUT) ? "\n" : "");
    }
    free(list.ids);
    buffer_fini(&decoded);
    return status;
}

/* ---- --check */

/* What tokenizers that went wrong on the way to a bundle do differently: spaces, digits, bytes, normal forms, scripts. */
static const char *const probes[] = {
    "Hello world!",
    " Hello",
    "  two  spaces ",
    "\n\n  x",
    "a\tb\r\nc",
    "don't WE'LL I've",
    "1234567 3.14 12,345",
    "for (int i = 0; i < n; i++) {\n\t}",
    "https://example.com/a?b=c&d=%20",
    "Caf\xc3\xa9 na\xc3\xafve",
    "e\xcc\x81 o\xcc\xa3\xcc\x81",
    "\xef\xac\x81 \xef\xbc\xa1 \xe2\x91\xa0 \xc2\xbd",
    "stra\xc3\x9f \xc4\xb0",
    "\xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82, \xd0\xbc\xd0\xb8\xd1\x80",
    "\xe4\xbd\xa0\xe5\xa5\xbd\xef\xbc\x8c\xe4\xb8\x96\xe7\x95\x8c\xef\xbc\x81",
    "\xe3\x81\x93\xe3\x82\x93\xe3\x81\xab\xe3\x81\xa1\xe3\x81\xaf",
    "\xec\x95\x88\xeb\x85\x95",
    "\xd8\xb3\xd9\x84\xd8\xa7\xd9\x85",
    "\xe0\xa4\xa8\xe0\xa4\xae\xe0\xa4\xb8\xe0\xa5\x8d\xe0\xa4\xa4\xe0\xa5\x87",
    "\xf0\x9f\x98\x8a\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd",
    "\xc4\xa0 \xc4\x8a",
    "\xe2\x96\x81 \xe2\x96\x81\xe2\x96\x81",
    "<0x0A>",
    "<s></s><unk><pad>",
    "<|im_start|>user\nhi<|im_end|>",
    "<start_of_turn>user\nhi<end_of_turn>\n",
    "<|endoftext|>",
    "\xc2\xa0\xe2\x80\x8b\xef\xbb\xbf",
    "\x01\x7f",
    "================",
    "aaaaaaaaaaaaaaaaaaaaaaaa",
};

typedef struct comparison {
    const lithe_model *model;
    const tokenizer *other;
    json_writer *json; /* NULL: lines of text */
    buffer *out;
    size_t n, differ;
} comparison;

static void put_ids(const comparison *c, const char *name, const int32_t *ids, size_t n)
{
    if (c->json) {
        json_write_key(c->json, name);
        json_begin_array(c->json);
    } else {
        buffer_printf(c->out, "\t%s", name);
    }
    for (size_t i = 0; i < n; i++) {
        if (c->json) {
            json_write_i64(c->json, ids[i]);
        } else {
            buffer_printf(c->out, " %d", (int)ids[i]);
        }
    }
    if (c->json) {
        json_end_array(c->json);
    }
}

static void put_difference(const comparison *c, bytes text, const id_list *ours, const token_list *theirs)
{
    if (c->json) {
        json_begin_object(c->json);
        json_write_key(c->json, "text");
        json_write_string(c->json, (const char *)text.data, text.size);
    } else {
        put_piece(c->out, (const char *)text.data, text.size);
    }
    put_ids(c, "bundle", ours->ids, ours->n);
    put_ids(c, "checkpoint", theirs->ids, theirs->n);
    if (c->json) {
        json_end_object(c->json);
    } else {
        buffer_string(c->out, "\n");
    }
}

static lithe_status compare_text(comparison *c, bytes text, lithe_error *err)
{
    id_list ours = {0};
    token_list theirs = {0};
    lithe_status status = text_to_ids(c->model, (const char *)text.data, text.size, LITHE_TOKENIZE_SPECIAL, &ours, err);
    if (!status) {
        status = tokenizer_encode(c->other, text, true, &theirs, err);
    }
    c->n++;
    if (!status && (ours.n != theirs.n || (ours.n && memcmp(ours.ids, theirs.ids, ours.n * sizeof *ours.ids) != 0))) {
        c->differ++;
        put_difference(c, text, &ours, &theirs);
    }
    free(ours.ids);
    token_list_fini(&theirs);
    return status;
}

static lithe_status compare_all(comparison *c, const char *lines, size_t size, lithe_error *err)
{
    lithe_status status = LITHE_OK;
    for (size_t i = 0; i < sizeof probes / sizeof *probes && !status; i++) {
        status = compare_text(c, (bytes){(const uint8_t *)probes[i], strlen(probes[i])}, err);
    }
    for (size_t at = 0, end; at < size && !status; at = end + 1) {
        const char *newline = memchr(lines + at, '\n', size - at);
        end = newline ? (size_t)(newline - lines) : size;
        if (end > at) {
            status = compare_text(c, (bytes){(const uint8_t *)lines + at, end - at}, err);
        }
    }
    return status;
}

/* The bundle's tokenizer beside a checkpoint's, on the probes and on the lines of a text. */
static lithe_status check(const lithe_model *model, const tokenize_options *o, const char *lines, size_t size,
                          buffer *out, size_t *differ, lithe_error *err)
{
    uint8_t *file = NULL;
    size_t n = 0;
    tokenizer *other = NULL;
    json_writer w;
    comparison c = {.model = model, .out = out, .json = o->json ? &w : NULL};
    lithe_status status = file_read_all(o->check, (size_t)1 << 30, &file, &n, err);
    if (!status) {
        status = tokenizer_open_hf(&other, (bytes){file, n}, err);
    }
    c.other = other;
    json_writer_init(&w, out, false);
    if (o->json) {
        json_begin_array(&w);
    }
    if (!status) {
        status = compare_all(&c, lines, size, err);
    }
    if (o->json) {
        json_end_array(&w);
        buffer_string(out, "\n");
    } else {
        buffer_printf(out, "%zu of %zu strings differ\n", c.differ, c.n);
    }
    tokenizer_close(other);
    free(file);
    *differ = c.differ;
    return status;
}

/* The arguments behind the model, with a space between (ids to decode may be several); standard input if there are none. */
static lithe_status read_input(const command_line *line, char **text, size_t *size, lithe_error *err)
{
    if (line->n_arguments == 1 || (line->n_arguments == 2 && strcmp(line->arguments[1], "-") == 0)) {
        return input_read("-", text, size, err);
    }
    buffer joined;
    buffer_init(&joined);
    for (size_t i = 1; i < line->n_arguments; i++) {
        buffer_string(&joined, i > 1 ? " " : "");
        buffer_string(&joined, line->arguments[i]);
    }
    *size = joined.size;
    buffer_fill(&joined, 0, 1);
    if (buffer_failed(&joined)) {
        buffer_fini(&joined);
        return error_memory(err, *size, "the text");
    }
    *text = (char *)joined.data;
    return LITHE_OK;
}

static int tokenize(const command_line *line, const tokenize_options *options)
{
    lithe_error err = {0};
    lithe_model *model = NULL;
    char *text = NULL;
    size_t size = 0;
    buffer out;
    buffer_init(&out);
    size_t differ = 0;
    lithe_status status = LITHE_OK;
    if (!options->check) {
        status = read_input(line, &text, &size, &err);
    } else if (line->n_arguments > 1) { /* a file of strings */
        status = input_read(line->arguments[1], &text, &size, &err);
    }
    if (!status) {
        status = common_open(&options->common, line->arguments[0], &model, &err);
    }
    if (!status && options->check) {
        status = check(model, options, text, size, &out, &differ, &err);
    } else if (!status) {
        status = options->decode ? decode(model, options, text, size, &out, &err)
                                 : encode(model, options, text, size, &out, &err);
    }
    int code = EXIT_DONE;
    if (status) {
        code = output_error(&err);
    } else if (!output_buffer(&out)) {
        code = buffer_failed(&out) ? EXIT_TOO_LARGE : EXIT_FAILED;
    } else if (differ) {
        code = EXIT_FAILED;
    }
    lithe_model_close(model);
    buffer_fini(&out);
    free(text);
    return code;
}

int cmd_tokenize(int argc, char **argv)
{
    tokenize_options options = {0};
    common_options_init(&options.common);
    options.common.threads = 1; /* nothing is computed */
    command_line line = {
        .usage = "lithe tokenize MODEL.litertlm [TEXT | --decode ID...] [options]",
        .about = "Prints a line for each token of a text: id, piece as the vocabulary spells it, and bytes in running "
                 "text,\n"
                 "separated by tabs. Without TEXT it reads standard input, every byte of it. With --check, TEXT is a "
                 "file of\n"
                 "strings, a line each, compared beside the built-in ones.",
        .min_arguments = 1,
        .max_arguments = SIZE_MAX,
        .groups = {OPTION_GROUP("tokens", tokenize_rows, &options, NULL), common_message_group(&options.common)},
        .n_groups = 2,
    };
    options_result parsed = options_parse(&line, argc, argv);
    if (parsed != OPTIONS_OK) {
        return parsed == OPTIONS_HELP ? EXIT_DONE : EXIT_USAGE;
    }
    if (!options.decode && line.n_arguments > 2) {
        return output_usage_error("too many arguments: put the text in quotes");
    }
    if (options.decode && (options.start || options.ids || options.count || options.check)) {
        return output_usage_error("--decode does not go with --start, --ids, --count and --check");
    }
    if (options.check && (options.start || options.ids || options.count)) {
        return output_usage_error("--check does not go with --start, --ids and --count");
    }
    common_apply_log(&options.common);
    return tokenize(&line, &options);
}
