/* Reading and writing protobuf messages into plain structs from tables: one row a field, one table a message. */
#ifndef LITHE_BUNDLE_PROTO_TABLE_H
#define LITHE_BUNDLE_PROTO_TABLE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/bytes.h"

#include <stddef.h>

typedef enum proto_kind {
    PROTO_TEXT,     /* const char *, "" when absent */
    PROTO_TEXT_OPT, /* const char *, NULL when absent */
    PROTO_I32,      /* int32_t; also enums. With a `has` flag, or 0 (what the defaults say) when absent */
    PROTO_I32_OPT,  /* int32_t, -1 when absent */
    PROTO_I64,      /* int64_t with a `has` flag */
    PROTO_F32,      /* float */
    PROTO_BOOL,     /* bool */
    PROTO_BOOL_OPT, /* int, -1 when absent */
    PROTO_I32_LIST, /* const int32_t * with a count; packed or not */
    PROTO_RAW,      /* bytes: a message kept as it is */
    PROTO_MESSAGE,  /* a struct at the offset */
    PROTO_MESSAGES  /* a pointer to an array of structs, with a count */
} proto_kind;

#define PROTO_NO_OFFSET SIZE_MAX

typedef struct proto_field {
    uint32_t number;
    const char *name;
    proto_kind kind;
    size_t at;    /* offset of the value */
    size_t has;   /* offset of a bool that tells presence, or PROTO_NO_OFFSET */
    size_t count; /* offset of the size_t count of a list */
    const struct proto_message *message;
} proto_field;

typedef struct proto_message {
    const char *name;
    const proto_field *fields;
    size_t n_fields;
    size_t struct_bytes;
    const void *defaults; /* a struct with the values of absent fields; NULL: zeros */
    bool oneof;           /* all fields exclude each other: the last one read counts */
} proto_message;

/* Reads into `out`, which holds the defaults. Unknown fields are skipped. Texts must be UTF-8 without zero bytes. */
lithe_status proto_read(const proto_message *m, void *out, bytes data, arena *a, lithe_error *err);
/* Appends the message. Absent fields are left out. LITHE_E_MEMORY if the buffer failed. */
lithe_status proto_write(const proto_message *m, const void *in, buffer *out, lithe_error *err);

#endif
