/* The .litertlm container (../../docs/format.md): sections with their items, read in place from a map. A plain .tflite is presented as a
 * bundle of one TFLiteModel section, so that everything that looks at models can look at it.
 * Immutable once open: any thread. */
#ifndef LITHE_BUNDLE_BUNDLE_H
#define LITHE_BUNDLE_BUNDLE_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"

/* AnySectionDataType of the container's schema; values above are kept as numbers and reported as "unknown (N)". */
typedef enum section_type {
    SECTION_NONE = 0,
    SECTION_GENERIC_BINARY = 1,
    SECTION_DEPRECATED = 2,
    SECTION_TFLITE_MODEL = 3,
    SECTION_SP_TOKENIZER = 4,
    SECTION_LLM_METADATA = 5,
    SECTION_HF_TOKENIZER_ZLIB = 6,
    SECTION_TFLITE_WEIGHTS = 7,
    SECTION_EMBEDDING_METADATA = 8,
    SECTION_EXECUTOR_METADATA = 9,
    SECTION_TTS_METADATA = 10,
    SECTION_ASR_METADATA = 11
} section_type;

/* VData union tags of the schema. */
typedef enum item_type {
    ITEM_NONE,
    ITEM_UINT8,
    ITEM_INT8,
    ITEM_UINT16,
    ITEM_INT16,
    ITEM_UINT32,
    ITEM_INT32,
    ITEM_FLOAT32,
    ITEM_BOOL,
    ITEM_STRING,
    ITEM_UINT64,
    ITEM_INT64,
    ITEM_DOUBLE
} item_type;

typedef struct bundle_item {
    const char *key;
    item_type type;
    union {
        int64_t i;     /* all integers and bool, UINT64 as its bits */
        double f;      /* FLOAT32, DOUBLE */
        const char *s; /* STRING */
    } value;
} bundle_item;

typedef struct bundle_section {
    uint32_t type;       /* section_type or a number not known */
    uint64_t begin, end; /* absolute file offsets */
    bytes data;          /* in the map */
    const bundle_item *items;
    size_t n_items;
    const char *model_type; /* lower case, "tf_lite_prefill_decode" when a TFLite section has none; "" otherwise */
    const char *backend_constraint; /* raw text or "" */
    const char *prefer_activation_type;
} bundle_section;

typedef struct bundle {
    char *path;
    file_map map;
    bool is_tflite; /* a plain .tflite file */
    uint32_t version[3];
    const bundle_item *system; /* SystemMetadata entries */
    size_t n_system;
    const bundle_section *sections;
    size_t n_sections;
    arena arena;
} bundle;

/* Maps and checks: magic, version (only the major number decides: 1), header range, every table of the header, section ranges against the
 * file, items. Errors carry path and section. Nothing but the header is read. */
lithe_status bundle_open(bundle **out, const char *path, lithe_error *err);
/* The same on bytes in memory, which are borrowed until bundle_close; `name` stands for the path. */
lithe_status bundle_open_bytes(bundle **out, bytes contents, const char *name, lithe_error *err);
void bundle_close(bundle *b);

/* "TFLiteModel", …, "unknown (250)" written to buf. */
const char *section_type_name(uint32_t type, char buf[24]);

/* The LAST section of the type (and model type, compared without case; NULL: any), as the reference picks; -1 if none. */
int32_t bundle_find(const bundle *b, section_type type, const char *model_type);

#endif
