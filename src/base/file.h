/* Files and maps, the one place (with thread.c and cpuinfo.c) that calls the operating system. Sizes are 64-bit everywhere. */
#ifndef LITHE_BASE_FILE_H
#define LITHE_BASE_FILE_H

#include "base/bytes.h"
#include "base/error.h"

/* A whole file mapped read-only. Pages are read when touched. */
typedef struct file_map {
    bytes view; /* the file's contents; size 0 for an empty file (data then not NULL) */
    void *base; /* what to unmap; NULL if nothing */
    size_t base_bytes;
} file_map;

/* Errors say the path, and tell a missing file, a directory, a file without permission and a pipe apart. */
lithe_status file_map_open(file_map *m, const char *path, lithe_error *err);
void file_map_close(file_map *m);
/* Hints for the page cache; never fail. */
void file_map_will_need(const file_map *m, size_t offset, size_t n);

/* The whole contents of a file or pipe ("-": standard input), at most `max_bytes`; free with free(). A 0 follows the contents. */
lithe_status file_read_all(const char *path, uint64_t max_bytes, uint8_t **data, size_t *size, lithe_error *err);

/* Writes through a temporary file beside `path`, synced and renamed over it: the name never shows half a file. */
typedef struct file_writer file_writer;
lithe_status file_writer_open(file_writer **w, const char *path, lithe_error *err);
lithe_status file_writer_write(file_writer *w, const void *data, size_t bytes, lithe_error *err);
lithe_status file_writer_seek(file_writer *w, uint64_t offset, lithe_error *err);
/* Finishes and renames; on failure, and with abort, the temporary file is removed. Both free `w`. */
lithe_status file_writer_commit(file_writer *w, lithe_error *err);
void file_writer_abort(file_writer *w);

/* Whether a standard stream is a person's terminal. */
typedef enum standard_stream { STREAM_INPUT, STREAM_OUTPUT, STREAM_MESSAGES } standard_stream;
bool file_is_terminal(standard_stream stream);

/* Memory of this process in bytes, from the operating system: anonymous now and its peak since start; 0 where unknown. */
typedef struct process_memory {
    uint64_t anon, file, peak_rss;
} process_memory;
void process_memory_get(process_memory *m);

/* Monotonic time in seconds. */
double clock_seconds(void);

#endif
