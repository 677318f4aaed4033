/* What a file is, by its first bytes, so that a wrong file gets an answer that helps. */
#ifndef LITHE_BUNDLE_SNIFF_H
#define LITHE_BUNDLE_SNIFF_H

#include "base/bytes.h"
#include "base/error.h"

typedef enum file_kind {
    FILE_UNKNOWN,
    FILE_LITERTLM,
    FILE_TFLITE,
    FILE_ZIP,
    FILE_GGUF,
    FILE_SAFETENSORS,
    FILE_GZIP,
    FILE_HTML,
    FILE_LFS_POINTER,
    FILE_TEXT
} file_kind;

/* A file shorter than the magic that it begins with counts as FILE_LITERTLM: it was cut off. */
file_kind sniff_file(bytes file);
/* "not a .litertlm bundle" with what it seems to be, its first bytes, and what to do. */
lithe_status sniff_error(bytes file, lithe_error *err);
/* Bytes as printable ASCII in quotes, others as \xNN; cut with "..." to fit. Returns buf. */
const char *sniff_printable(bytes b, char *buf, size_t buf_bytes);

#endif
