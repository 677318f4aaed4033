#include "base/decimal.h"
#include "base/utf8.h"
#include "lang/jinja_ast.h"
#include "lang/jinja_run.h"

#include <stdlib.h>

/* A token's start is remembered as an offset; line and column follow from a cursor that only moves forward. */
typedef struct lexer {
    parser *p;
    const char *s;
    size_t n, at;
    size_t token_capacity;
    size_t cursor;
    uint32_t line, column;
    bool line_starting;
    char open[256]; /* brackets that wait for their partner */
    uint32_t n_open;
} lexer;

static const struct {
    const char *text;
    uint8_t kind;
} operators[] = {
    {"//", T_FLOORDIV}, {"**", T_POW},      {"==", T_EQ},    {"!=", T_NE},    {">=", T_GE},    {"<=", T_LE},
    {"+", T_ADD},       {"-", T_SUB},       {"/", T_DIV},    {"*", T_MUL},    {"%", T_MOD},    {"~", T_TILDE},
    {"[", T_LBRACKET},  {"]", T_RBRACKET},  {"(", T_LPAREN}, {")", T_RPAREN}, {"{", T_LBRACE}, {"}", T_RBRACE},
    {">", T_GT},        {"<", T_LT},        {"=", T_ASSIGN}, {".", T_DOT},    {":", T_COLON},  {"|", T_PIPE},
    {",", T_COMMA},     {";", T_SEMICOLON},
};

const char *jinja_token_name(uint8_t kind)
{
    static const char *const names[N_TOKEN_KINDS] = {
        [T_EOF] = "end of template",
        [T_DATA] = "template data / text",
        [T_VARIABLE_BEGIN] = "begin of print statement",
        [T_VARIABLE_END] = "end of print statement",
        [T_BLOCK_BEGIN] = "begin of statement block",
        [T_BLOCK_END] = "end of statement block",
        [T_NAME] = "name",
        [T_STRING] = "string",
        [T_INTEGER] = "integer",
        [T_FLOAT] = "float",
    };
    if (names[kind]) {
        return names[kind];
    }
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (operators[i].kind == kind) {
            return operators[i].text;
        }
    }
    return "?";
}

/* Line and column of an offset at or after the last one asked for. */
static void locate(lexer *x, size_t offset, uint32_t *line, uint32_t *column)
{
    for (; x->cursor < offset; x->cursor++) {
        if (x->s[x->cursor] == '\n') {
            x->line++;
            x->column = 1;
        } else if (((uint8_t)x->s[x->cursor] & 0xc0) != 0x80) {
            x->column++;
        }
    }
    *line = x->line;
    *column = x->column;
}

static bool fail_at(lexer *x, size_t offset, const char *message)
{
    uint32_t line, column;
    locate(x, offset, &line, &column);
    return jinja_parse_fail(x->p, JINJA_SYNTAX_ERROR, line, column, "%s", message);
}

static token *add(lexer *x, uint8_t kind, size_t offset)
{
    parser *p = x->p;
    if (p->n_tokens == x->token_capacity) {
        size_t capacity = x->token_capacity ? x->token_capacity * 2 : 256;
        token *tokens = capacity > SIZE_MAX / sizeof *tokens ? NULL : realloc(p->tokens, capacity * sizeof *tokens);
        if (!tokens) {
            jinja_no_memory(p);
            return NULL;
        }
        p->tokens = tokens;
        x->token_capacity = capacity;
    }
    token *t = &p->tokens[p->n_tokens++];
    *t = (token){.kind = kind};
    locate(x, offset, &t->line, &t->column);
    return t;
}

static size_t count_characters(const char *s, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += ((uint8_t)s[i] & 0xc0) != 0x80;
    }
    return count;
}

static bool set_text(lexer *x, token *t, const char *s, size_t n)
{
    if (!t) {
        return false;
    }
    str *text = ARENA_NEW(&x->p->t->memory, str);
    if (!text) {
        return jinja_no_memory(x->p);
    }
    *text = (str){s, n, count_characters(s, n)};
    t->constant = VALUE_STR(text);
    return true;
}

static size_t space_at(const lexer *x, size_t at)
{
    size_t used = 0;
    return at < x->n && jinja_is_space(utf8_decode((const uint8_t *)x->s + at, x->n - at, &used)) ? used : 0;
}

static size_t skip_space(const lexer *x, size_t at)
{
    for (size_t used; (used = space_at(x, at)) != 0;) {
        at += used;
    }
    return at;
}

static bool has(const lexer *x, size_t at, const char *text)
{
    size_t n = strlen(text);
    return at <= x->n && x->n - at >= n && memcmp(x->s + at, text, n) == 0;
}

/* Offset after the end of a tag at `at` ("%}", "-%}" and the white space after, "+%}"), or 0. `trim`: a newline after "%}" goes. */
static size_t tag_end(const lexer *x, size_t at, const char *close, bool plus, bool trim)
{
    if (has(x, at, close)) {
        at += 2;
        return trim && at < x->n && x->s[at] == '\n' ? at + 1 : at;
    }
    if (at < x->n && x->s[at] == '-' && has(x, at + 1, close)) {
        return skip_space(x, at + 3);
    }
    return plus && at < x->n && x->s[at] == '+' && has(x, at + 1, close) ? at + 3 : 0;
}

/* "raw" or "endraw" with white space around and the end of the tag: the offset after it, or 0. */
static size_t raw_tag(const lexer *x, size_t at, const char *word, bool begin)
{
    at = skip_space(x, at);
    if (!has(x, at, word)) {
        return 0;
    }
    at = skip_space(x, at + strlen(word));
    return tag_end(x, at, "%}", !begin, !begin);
}

/* Text before a tag, without what its sign or lstrip_blocks takes away. */
static bool add_data(lexer *x, size_t from, size_t to, char sign, bool output)
{
    size_t end = to;
    if (sign == '-') {
        while (end > from) {
            size_t start = end - 1;
            while (start > from && ((uint8_t)x->s[start] & 0xc0) == 0x80) {
                start--;
            }
            if (!space_at(x, start)) {
                break;
            }
            end = start;
        }
    } else if (sign != '+' && !output) {
        size_t line = end;
        while (line > from && x->s[line - 1] != '\n') {
            line--;
        }
        if ((line > from || x->line_starting) && line < end && skip_space(x, line) >= end) {
            end = line;
        }
    }
    return end == from || set_text(x, add(x, T_DATA, from), x->s + from, end - from);
}

static bool lex_comment(lexer *x, size_t start)
{
    size_t from = x->at;
    for (; x->at < x->n; x->at++) {
        size_t end = tag_end(x, x->at, "#}", true, true);
        if (end) {
            x->at = end;
            x->line_starting = x->s[end - 1] == '\n';
            return true;
        }
    }
    return from == x->n || fail_at(x, start, "Missing end of comment tag");
}

static bool lex_raw(lexer *x, size_t start)
{
    size_t from = x->at;
    x->line_starting = from && x->s[from - 1] == '\n';
    for (size_t i = from; i + 1 < x->n; i++) {
        if (!has(x, i, "{%")) {
            continue;
        }
        char sign = i + 2 < x->n ? x->s[i + 2] : 0;
        bool has_sign = sign == '-' || sign == '+';
        size_t end = raw_tag(x, i + 2 + has_sign, "endraw", false);
        if (end) {
            x->at = end;
            bool ok = add_data(x, from, i, sign, false);
            x->line_starting = x->s[end - 1] == '\n';
            return ok;
        }
    }
    x->at = x->n;
    return from == x->n || fail_at(x, start, "Missing end of raw directive");
}

static unsigned digit_value(char c)
{
    return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
           : c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10
           : c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 10
                                  : 99;
}

/* Digits of a base with single underscores between them; `lead`: an underscore may come first. The offset after them. */
static size_t digits(const lexer *x, size_t at, unsigned base, bool lead)
{
    size_t i = at;
    while (i < x->n) {
        size_t skip = x->s[i] == '_' && (i > at || lead);
        if (i + skip >= x->n || digit_value(x->s[i + skip]) >= base) {
            break;
        }
        i += skip + 1;
    }
    return i;
}

static size_t scan_float(const lexer *x, size_t at)
{
    if (at && x->s[at - 1] == '.') {
        return 0;
    }
    size_t end = digits(x, at, 10, false), whole = end;
    if (end == at) {
        return 0;
    }
    if (end < x->n && x->s[end] == '.') {
        size_t fraction = digits(x, end + 1, 10, false);
        whole = end = fraction > end + 1 ? fraction : end;
    }
    bool fraction = x->s[at] && whole > digits(x, at, 10, false);
    if (end < x->n && (x->s[end] == 'e' || x->s[end] == 'E')) {
        size_t sign = end + 1 < x->n && (x->s[end + 1] == '+' || x->s[end + 1] == '-');
        size_t exponent = digits(x, end + 1 + sign, 10, false);
        if (exponent > end + 1 + sign) {
            return exponent;
        }
    }
    return fraction ? end : 0;
}

static bool number_text(const lexer *x, size_t from, size_t to, char text[400], size_t *n)
{
    *n = 0;
    for (size_t i = from; i < to; i++) {
        if (x->s[i] != '_') {
            if (*n == 399) {
                return false;
            }
            text[(*n)++] = x->s[i];
        }
    }
    return true;
}

static bool lex_number(lexer *x)
{
    char text[400];
    size_t n, from = x->at, end = scan_float(x, from);
    if (end) {
        token *t = add(x, T_FLOAT, from);
        double f = 0;
        if (!t || !number_text(x, from, end, text, &n) || !jinja_parse_float(text, n, &f)) {
            return t ? fail_at(x, from, "this number is too long") : false;
        }
        t->constant = VALUE_FLOAT(f);
        x->at = end;
        return true;
    }
    int base = 10;
    if (x->s[from] == '0') {
        char c = from + 1 < x->n ? x->s[from + 1] : 0;
        int other = c == 'x' || c == 'X' ? 16 : c == 'o' || c == 'O' ? 8 : c == 'b' || c == 'B' ? 2 : 0;
        end = other ? digits(x, from + 2, (unsigned)other, true) : 0;
        base = other && end > from + 2 ? other : 10;
        end = base == 10 ? digits(x, from, 1, false) : end;
    } else {
        end = digits(x, from, 10, false);
    }
    token *t = add(x, T_INTEGER, from);
    int64_t i = 0;
    bool overflow = false;
    size_t skip = base == 10 ? 0 : 2;
    if (!t) {
        return false;
    }
    if (!number_text(x, from + skip, end, text, &n) || !jinja_parse_int(text, n, base, &i, &overflow)) {
        return jinja_parse_fail(x->p, JINJA_UNSUPPORTED, t->line, t->column, "integers over 64 bits are not supported");
    }
    t->constant = VALUE_INT(i);
    x->at = end;
    return true;
}

/* \ooo, \xhh, \uhhhh, \Uhhhhhhhh: how many digits follow, 0 for other letters. */
static size_t escape_digits(char c)
{
    return c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
}

static bool decode_escape(lexer *x, size_t *i, size_t end, char *out, size_t *n)
{
    static const char from[] = "\n\\'\"abfnrtv", to[] = "\0\\'\"\a\b\f\n\r\t\v";
    char c = x->s[*i];
    const char *simple = c ? strchr(from, c) : NULL;
    if (simple) {
        if (c != '\n') {
            out[(*n)++] = to[simple - from];
        }
        ++*i;
        return true;
    }
    size_t wanted = escape_digits(c);
    uint32_t code = 0;
    if (wanted) {
        ++*i;
        for (size_t k = 0; k < wanted; k++, ++*i) {
            if (*i >= end || digit_value(x->s[*i]) >= 16) {
                return fail_at(x, *i, "truncated escape in a string");
            }
            code = code << 4 | digit_value(x->s[*i]);
        }
    } else if (c >= '0' && c <= '7') {
        for (size_t k = 0; k < 3 && *i < end && digit_value(x->s[*i]) < 8; k++, ++*i) {
            code = code << 3 | digit_value(x->s[*i]);
        }
    } else if (c == 'N') {
        return fail_at(x, *i, "\\N{...} in a string is not supported");
    } else {
        out[(*n)++] = '\\';
        return true;
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
        return fail_at(x, *i, "illegal Unicode character in a string");
    }
    *n += utf8_encode(code, (uint8_t *)out + *n);
    return true;
}

static bool lex_string(lexer *x)
{
    size_t from = x->at, end = from + 1;
    char quote = x->s[from];
    while (end < x->n && x->s[end] != quote) {
        end += x->s[end] == '\\' ? 2 : 1;
    }
    if (end >= x->n) {
        return fail_at(x, from, quote == '"' ? "unexpected char '\"'" : "unexpected char \"'\"");
    }
    char *out = arena_alloc(&x->p->t->memory, end - from + 4, 1);
    token *t = out ? add(x, T_STRING, from) : NULL;
    size_t n = 0;
    if (!t) {
        return out ? false : jinja_no_memory(x->p);
    }
    for (size_t i = from + 1; i < end;) {
        if (x->s[i] != '\\') {
            out[n++] = x->s[i++];
            continue;
        }
        i++;
        if (!decode_escape(x, &i, end, out, &n)) {
            return false;
        }
    }
    x->at = end + 1;
    return set_text(x, t, out, n);
}

static bool lex_name(lexer *x)
{
    size_t from = x->at, end = from;
    while (end < x->n) {
        size_t used = 1;
        uint32_t c = utf8_decode((const uint8_t *)x->s + end, x->n - end, &used);
        if (!jinja_is_word(c)) {
            break;
        }
        end += used;
    }
    if (!jinja_is_identifier(x->s + from, end - from)) {
        return fail_at(x, from, "Invalid character in identifier");
    }
    x->at = end;
    return set_text(x, add(x, T_NAME, from), x->s + from, end - from);
}

static bool balance(lexer *x, char c)
{
    static const char opening[] = "({[", closing[] = ")}]";
    const char *o = strchr(opening, c), *close = strchr(closing, c);
    char message[64];
    if (o) {
        if (x->n_open == sizeof x->open) {
            return fail_at(x, x->at, "too many nested brackets");
        }
        x->open[x->n_open++] = closing[o - opening];
    } else if (close && !x->n_open) {
        snprintf(message, sizeof message, "unexpected '%c'", c);
        return fail_at(x, x->at, message);
    } else if (close && x->open[--x->n_open] != c) {
        snprintf(message, sizeof message, "unexpected '%c', expected '%c'", c, x->open[x->n_open]);
        return fail_at(x, x->at, message);
    }
    return true;
}

static bool lex_operator(lexer *x)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (has(x, x->at, operators[i].text)) {
            if (!operators[i].text[1] && !balance(x, operators[i].text[0])) {
                return false;
            }
            if (!add(x, operators[i].kind, x->at)) {
                return false;
            }
            x->at += strlen(operators[i].text);
            return true;
        }
    }
    size_t used;
    utf8_decode((const uint8_t *)x->s + x->at, x->n - x->at, &used);
    char message[48];
    snprintf(message, sizeof message, "unexpected char '%.*s'", (int)used, x->s + x->at);
    return fail_at(x, x->at, message);
}

/* The inside of {{ }} or {% %} up to its end. A template that ends inside is left to the parser to report. */
static bool lex_code(lexer *x, bool block)
{
    x->n_open = 0;
    while (x->at < x->n) {
        size_t end = x->n_open ? 0 : tag_end(x, x->at, block ? "%}" : "}}", block, block);
        if (end) {
            bool ok = add(x, block ? T_BLOCK_END : T_VARIABLE_END, x->at) != NULL;
            x->at = end;
            x->line_starting = x->s[end - 1] == '\n';
            return ok;
        }
        char c = x->s[x->at];
        size_t space = space_at(x, x->at), used;
        bool ok = true;
        if (space) {
            x->at += space;
        } else if (c >= '0' && c <= '9') {
            ok = lex_number(x);
        } else if (c == '"' || c == '\'') {
            ok = lex_string(x);
        } else if (jinja_is_word(utf8_decode((const uint8_t *)x->s + x->at, x->n - x->at, &used))) {
            ok = lex_name(x);
        } else {
            ok = lex_operator(x);
        }
        if (!ok) {
            return false;
        }
    }
    return true;
}

static bool lex_tag(lexer *x, size_t start)
{
    char kind = x->s[start + 1];
    char sign = start + 2 < x->n ? x->s[start + 2] : 0;
    size_t inside = start + 2 + (sign == '-' || sign == '+');
    size_t raw = kind == '%' ? raw_tag(x, inside, "raw", true) : 0;
    if (!add_data(x, x->at, start, sign, kind == '{')) {
        return false;
    }
    x->at = raw ? raw : inside;
    if (raw) {
        return lex_raw(x, start);
    }
    if (kind == '#') {
        return lex_comment(x, start);
    }
    return add(x, kind == '%' ? T_BLOCK_BEGIN : T_VARIABLE_BEGIN, start) && lex_code(x, kind == '%');
}

/* One kind of line end; a single one at the end of the source goes. */
static bool normalise(lexer *x, bytes source)
{
    char *copy = arena_alloc(&x->p->t->memory, source.size + 1, 1);
    size_t n = 0;
    if (!copy) {
        return jinja_no_memory(x->p);
    }
    for (size_t i = 0; i < source.size; i++) {
        char c = (char)source.data[i];
        if (c == '\r') {
            i += i + 1 < source.size && source.data[i + 1] == '\n';
            c = '\n';
        }
        copy[n++] = c;
    }
    x->s = copy;
    x->n = n && copy[n - 1] == '\n' ? n - 1 : n;
    return true;
}

bool jinja_lex(parser *p, bytes source)
{
    lexer x = {.p = p, .line = 1, .column = 1, .line_starting = true};
    if (source.size && !utf8_valid(source.data, source.size)) {
        return jinja_parse_fail(p, JINJA_SYNTAX_ERROR, 1, 1, "the template is not valid UTF-8");
    }
    if (source.size > UINT32_MAX / 2) {
        return jinja_parse_fail(p, JINJA_LIMIT, 1, 1, "the template has more than 2 GiB");
    }
    if (!normalise(&x, source)) {
        return false;
    }
    while (x.at < x.n) {
        size_t start = x.at;
        while (start + 1 < x.n &&
               !(x.s[start] == '{' && (x.s[start + 1] == '{' || x.s[start + 1] == '%' || x.s[start + 1] == '#'))) {
            start++;
        }
        if (start + 1 >= x.n) {
            if (!set_text(&x, add(&x, T_DATA, x.at), x.s + x.at, x.n - x.at)) {
                return false;
            }
            break;
        }
        if (!lex_tag(&x, start)) {
            return false;
        }
    }
    return add(&x, T_EOF, x.n) != NULL;
}
