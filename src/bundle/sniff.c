#include "bundle/sniff.h"

#include <stdio.h>
#include <string.h>

static const char magic[8] = {'L', 'I', 'T', 'E', 'R', 'T', 'L', 'M'};

static bool begins(bytes b, const char *text)
{
    size_t n = strlen(text);
    return b.size >= n && memcmp(b.data, text, n) == 0;
}

static bool looks_like_text(bytes b)
{
    size_t n = b.size < 256 ? b.size : 256;
    for (size_t i = 0; i < n; i++) {
        uint8_t c = b.data[i];
        if (c == 127 || (c < 32 && c != '\t' && c != '\n' && c != '\r')) {
            return false;
        }
    }
    return n > 0;
}

/* A safetensors file starts with the length of its JSON header and that header. */
static bool looks_like_safetensors(bytes b)
{
    return b.size > 9 && load_u64(b.data) < (uint64_t)1 << 32 && b.data[8] == '{' && b.data[9] == '"';
}

file_kind sniff_file(bytes b)
{
    size_t n = b.size < sizeof magic ? b.size : sizeof magic;
    if (n > 0 && memcmp(b.data, magic, n) == 0) {
        return FILE_LITERTLM;
    }
    if (b.size >= 8 && memcmp(b.data + 4, "TFL3", 4) == 0) {
        return FILE_TFLITE;
    }
    static const struct {
        const char *start;
        file_kind kind;
    } starts[] = {
        {"PK", FILE_ZIP},
        {"GGUF", FILE_GGUF},
        {"\x1f\x8b", FILE_GZIP},
        {"<!DOCTYPE", FILE_HTML},
        {"<!doctype", FILE_HTML},
        {"<html", FILE_HTML},
        {"version https://git-lfs", FILE_LFS_POINTER},
    };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (begins(b, starts[i].start)) {
            return starts[i].kind;
        }
    }
    if (looks_like_safetensors(b)) {
        return FILE_SAFETENSORS;
    }
    return looks_like_text(b) ? FILE_TEXT : FILE_UNKNOWN;
}

const char *sniff_printable(bytes b, char *buf, size_t buf_bytes)
{
    size_t at = 0;
    if (buf_bytes < 12) {
        return "";
    }
    buf[at++] = '"';
    for (size_t i = 0; i < b.size; i++) {
        if (at + 4 + 5 > buf_bytes) { /* room for \xNN, then "..." with quote and terminator */
            memcpy(buf + at, "...", 3);
            at += 3;
            break;
        }
        uint8_t c = b.data[i];
        if (c >= 32 && c < 127 && c != '"' && c != '\\') {
            buf[at++] = (char)c;
        } else {
            at += (size_t)snprintf(buf + at, 5, "\\x%02x", c);
        }
    }
    buf[at++] = '"';
    buf[at] = 0;
    return buf;
}

lithe_status sniff_error(bytes b, lithe_error *err)
{
    static const struct {
        const char *what, *hint;
    } kinds[] = {
        [FILE_UNKNOWN] = {"", "a bundle begins with \"LITERTLM\", a TFLite model has \"TFL3\" at byte 4"},
        [FILE_LITERTLM] = {"", ""},
        [FILE_TFLITE] = {"", ""},
        [FILE_ZIP] = {": it is a ZIP archive, perhaps an older .task bundle", "get the model's .litertlm file"},
        [FILE_GGUF] = {": it is a GGUF file of llama.cpp", "get the model's .litertlm file, or convert it"},
        [FILE_SAFETENSORS] = {": it looks like a safetensors file",
                              "get the model's .litertlm file, or export the checkpoint"},
        [FILE_GZIP] = {": it is compressed with gzip", "decompress it first"},
        [FILE_HTML] = {": it is a web page", "the download gave a page (perhaps a login) and not the file"},
        [FILE_LFS_POINTER] = {": it is a Git LFS pointer, not the file itself", "run git lfs pull"},
        [FILE_TEXT] = {": it is plain text", "a bundle begins with \"LITERTLM\""},
    };
    char start[48];
    bytes first = {b.data, b.size < 8 ? b.size : 8};
    file_kind kind = sniff_file(b);
    sniff_printable(first, start, sizeof start);
    error_set(err, LITHE_E_FORMAT, "not a .litertlm bundle%s; its first bytes are %s", kinds[kind].what, start);
    error_expected(err, "\"LITERTLM\"");
    error_found(err, "%s", start);
    error_hint(err, "%s", kinds[kind].hint);
    return LITHE_E_FORMAT;
}
