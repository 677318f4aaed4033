/* Reading FlatBuffers (https://flatbuffers.dev/internals/) from untrusted bytes. Every accessor checks what it touches; a table is
 * checked once when it is entered (vtable, its size, the table's extent), then reading its fields cannot leave the buffer.
 * No alignment is assumed. */
#ifndef LITHE_BUNDLE_FLATBUF_H
#define LITHE_BUNDLE_FLATBUF_H

#include "base/bytes.h"

typedef struct fb_table {
    bytes buf;
    uint32_t at; /* position of the table; 0 means absent: all fields then read as their defaults */
    uint32_t vtable;
    uint16_t vtable_bytes, table_bytes;
} fb_table;

typedef struct fb_vector {
    bytes buf;
    uint32_t at; /* position of the first element */
    uint32_t n;
} fb_vector;

/* FlatBuffers offsets are 32-bit: only the first 4 GiB - 1 of `buf` are addressed; data beyond is reached by 64-bit offsets in the schema. */
/* The root table. *problem names what is wrong ("root table offset 24 outside 8-byte buffer", written into text of at least 96 bytes). */
bool fb_root(bytes buf, fb_table *out, char *problem, size_t problem_bytes);

/* Field `slot` (0-based id). Absent, or reaching beyond the table: the default. */
uint64_t fb_u64(const fb_table *t, unsigned slot, uint64_t def);
int64_t fb_i64(const fb_table *t, unsigned slot, int64_t def);
uint32_t fb_u32(const fb_table *t, unsigned slot, uint32_t def);
int32_t fb_i32(const fb_table *t, unsigned slot, int32_t def);
uint16_t fb_u16(const fb_table *t, unsigned slot, uint16_t def);
uint8_t fb_u8(const fb_table *t, unsigned slot, uint8_t def);
int8_t fb_i8(const fb_table *t, unsigned slot, int8_t def);
float fb_f32(const fb_table *t, unsigned slot, float def);
double fb_f64(const fb_table *t, unsigned slot, double def);
bool fb_has(const fb_table *t, unsigned slot);
/* Sub-table; absent gives at == 0. False only when present and damaged. */
bool fb_sub(const fb_table *t, unsigned slot, fb_table *out);
/* String without its terminator, which is checked to be there: data can be used as a C string in place. Absent: size 0 and NULL. */
bool fb_str(const fb_table *t, unsigned slot, bytes *out);
/* Vector of elements of `elem_bytes`; absent gives n == 0. The whole extent is checked. */
bool fb_vec(const fb_table *t, unsigned slot, uint32_t elem_bytes, fb_vector *out);
/* Element i of a vector of tables / strings (elem_bytes 4). */
bool fb_vec_table(const fb_vector *v, uint32_t i, fb_table *out);
bool fb_vec_str(const fb_vector *v, uint32_t i, bytes *out);
/* Elements of scalar vectors; i is checked (0 outside). */
int32_t fb_vec_i32(const fb_vector *v, uint32_t i);
uint32_t fb_vec_u32(const fb_vector *v, uint32_t i);
int64_t fb_vec_i64(const fb_vector *v, uint32_t i);
float fb_vec_f32(const fb_vector *v, uint32_t i);
uint8_t fb_vec_u8(const fb_vector *v, uint32_t i);

#endif
