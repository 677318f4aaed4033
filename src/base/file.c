#if !defined(_WIN32)
#define _GNU_SOURCE       1
#define _FILE_OFFSET_BITS 64

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8, "files over 2 GiB need a 64-bit off_t");

/* An operating system's refusal in words, with a hint for those a person can act on. */
static lithe_status io_error(lithe_error *err, const char *path, int code, const char *doing)
{
    static const struct {
        int code;
        const char *hint;
    } hints[] = {
        {ENOENT, "check the spelling of the path"},
        {EACCES, "check the permissions of the file and of the directories above it"},
        {ENOSPC, "free some space on the disk"},
        {EROFS, "choose another directory"},
        {EMFILE, "close files or raise the limit (ulimit -n)"},
    };
    if (code == ENOMEM) {
        error_set(err, LITHE_E_MEMORY, "cannot %s \"%s\": out of memory or address space", doing, path);
    } else if (code == ENOENT) {
        error_set(err, LITHE_E_IO, "cannot %s \"%s\": no such file or directory", doing, path);
    } else if (code == EACCES) {
        error_set(err, LITHE_E_IO, "cannot %s \"%s\": permission denied", doing, path);
    } else {
        char text[128] = "";
        /* The POSIX and GNU forms of strerror_r differ; strerror is not required to be thread-safe. */
#if defined(__GLIBC__)
        const char *what = strerror_r(code, text, sizeof text);
#else
        const char *what = strerror_r(code, text, sizeof text) == 0 ? text : "unknown error";
#endif
        error_set(err, LITHE_E_IO, "cannot %s \"%s\": %s (errno %d)", doing, path, what, code);
    }
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        if (hints[i].code == code) {
            error_hint(err, "%s", hints[i].hint);
        }
    }
    error_at_path(err, path);
    return code == ENOMEM ? LITHE_E_MEMORY : LITHE_E_IO;
}

static lithe_status not_a_file(lithe_error *err, const char *path, mode_t mode)
{
    const char *kind = S_ISDIR(mode)    ? "a directory"
                       : S_ISFIFO(mode) ? "a pipe"
                       : S_ISSOCK(mode) ? "a socket"
                                        : "a device";
    error_set(err, LITHE_E_IO, "\"%s\" is %s, not a file that can be mapped", path, kind);
    error_expected(err, "a regular file");
    error_found(err, "%s", kind);
    if (!S_ISDIR(mode)) {
        error_hint(err, "save the data in a file first");
    }
    error_at_path(err, path);
    return LITHE_E_IO;
}

/* O_NONBLOCK lets the open of a pipe without a writer return, so that it can be told apart; it means nothing for files. */
static lithe_status open_regular(int *fd, uint64_t *size, const char *path, lithe_error *err)
{
    int f = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (f < 0) {
        int code = errno;
        /* A socket cannot be opened at all, ENXIO; say what it is. */
        if (code == ENXIO && stat(path, &st) == 0) {
            return not_a_file(err, path, st.st_mode);
        }
        return io_error(err, path, code, "open");
    }
    if (fstat(f, &st) != 0) {
        int code = errno;
        close(f);
        return io_error(err, path, code, "examine");
    }
    if (!S_ISREG(st.st_mode)) {
        close(f);
        return not_a_file(err, path, st.st_mode);
    }
    *fd = f;
    *size = (uint64_t)st.st_size;
    return LITHE_OK;
}

lithe_status file_map_open(file_map *m, const char *path, lithe_error *err)
{
    static const uint8_t nothing[1];
    int fd = -1;
    uint64_t size = 0;
    lithe_status status = open_regular(&fd, &size, path, err);
    if (status) {
        return status;
    }
    if (size == 0) {
        *m = (file_map){.view = {nothing, 0}};
    } else if (size > PTRDIFF_MAX) {
        status = error_set(err, LITHE_E_MEMORY, "\"%s\" has %llu bytes, more than this machine can map", path,
                           (unsigned long long)size);
        error_at_path(err, path);
    } else {
        void *base = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
        if (base == MAP_FAILED) {
            status = io_error(err, path, errno, "map");
        } else {
            *m = (file_map){.view = {base, (size_t)size}, .base = base, .base_bytes = (size_t)size};
        }
    }
    close(fd); /* the map holds the file */
    return status;
}

void file_map_close(file_map *m)
{
    if (m->base) {
        munmap(m->base, m->base_bytes);
    }
    *m = (file_map){0};
}

void file_map_will_need(const file_map *m, size_t offset, size_t n)
{
    if (!m->base || !bytes_has(m->view, offset, n) || n == 0) {
        return;
    }
    long page = sysconf(_SC_PAGESIZE);
    size_t inside = page > 0 ? offset % (size_t)page : 0;
    (void)posix_madvise((uint8_t *)m->base + offset - inside, n + inside, POSIX_MADV_WILLNEED);
}

/* Reads to the end of `fd` into a growing buffer; the size of a file is only a first guess, since pipes have none. */
static lithe_status read_to_end(int fd, const char *path, uint64_t max_bytes, uint8_t **data, size_t *size,
                                lithe_error *err)
{
    struct stat st;
    uint64_t guess = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    size_t used = 0, capacity = guess < max_bytes && guess < PTRDIFF_MAX - 1 ? (size_t)guess + 1 : 4096;
    uint8_t *text = malloc(capacity + 1);
    lithe_status status = text ? LITHE_OK : error_memory(err, capacity + 1, "the contents of a file");
    while (!status) {
        if (used > max_bytes) {
            status = error_set(err, LITHE_E_IO, "\"%s\" is larger than the %llu bytes allowed here", path,
                               (unsigned long long)max_bytes);
            error_at_path(err, path);
            break;
        }
        if (used == capacity) {
            size_t larger = capacity > PTRDIFF_MAX / 2 ? 0 : capacity * 2;
            uint8_t *grown = larger ? realloc(text, larger + 1) : NULL;
            if (!grown) {
                status = error_memory(err, (uint64_t)capacity * 2, "the contents of a file");
                break;
            }
            text = grown;
            capacity = larger;
        }
        ssize_t n = read(fd, text + used, capacity - used);
        if (n == 0) {
            break;
        }
        if (n < 0 && errno != EINTR) {
            status = io_error(err, path, errno, "read");
        }
        used += n > 0 ? (size_t)n : 0;
    }
    if (status) {
        free(text);
        return status;
    }
    text[used] = 0;
    *data = text;
    *size = used;
    return LITHE_OK;
}

lithe_status file_read_all(const char *path, uint64_t max_bytes, uint8_t **data, size_t *size, lithe_error *err)
{
    if (strcmp(path, "-") == 0) {
        return read_to_end(STDIN_FILENO, "standard input", max_bytes, data, size, err);
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return io_error(err, path, errno, "open");
    }
    struct stat st;
    lithe_status status;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        status = not_a_file(err, path, st.st_mode);
    } else {
        status = read_to_end(fd, path, max_bytes, data, size, err);
    }
    close(fd);
    return status;
}

struct file_writer {
    int fd;
    char *temporary; /* NULL: written in place (a pipe or a device) */
    char path[];
};

/* A pipe or a device cannot be renamed over; /dev/stdout and /dev/null are written in place. */
static bool is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* mkstemp makes files that only the owner can read; give the new file the modes that it would have had, or those of the one
 * it replaces. The umask can only be read by setting it, which other threads would see, hence the second open. */
static int create_temporary(const char *path, char *name, size_t name_bytes)
{
    struct stat st;
    mode_t mode = stat(path, &st) == 0 ? st.st_mode & 0777 : 0;
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        snprintf(name, name_bytes, "%s.%ld.%u.tmp", path, (long)getpid(), attempt);
        int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            if (mode) {
                (void)fchmod(fd, mode);
            }
            return fd;
        }
        if (errno != EEXIST) {
            return -1;
        }
    }
    return -1;
}

lithe_status file_writer_open(file_writer **out, const char *path, lithe_error *err)
{
    size_t path_bytes = strlen(path) + 1, name_bytes = path_bytes + 40;
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        error_set(err, LITHE_E_IO, "cannot write \"%s\": it is a directory", path);
        error_at_path(err, path);
        return LITHE_E_IO;
    }
    file_writer *w = malloc(sizeof *w + path_bytes);
    if (!w) {
        return error_memory(err, sizeof *w + path_bytes, "a file writer");
    }
    *w = (file_writer){.fd = -1};
    memcpy(w->path, path, path_bytes);
    if (is_special(path)) {
        w->fd = open(path, O_WRONLY | O_CLOEXEC);
    } else {
        w->temporary = malloc(name_bytes);
        if (!w->temporary) {
            free(w);
            return error_memory(err, name_bytes, "a file name");
        }
        w->fd = create_temporary(path, w->temporary, name_bytes);
    }
    if (w->fd < 0) {
        lithe_status status = io_error(err, path, errno, "create");
        free(w->temporary);
        free(w);
        return status;
    }
    *out = w;
    return LITHE_OK;
}

lithe_status file_writer_write(file_writer *w, const void *data, size_t n, lithe_error *err)
{
    const uint8_t *at = data;
    while (n) {
        /* Linux writes at most 2 GiB in one call. */
        ssize_t written = write(w->fd, at, n < ((size_t)1 << 30) ? n : (size_t)1 << 30);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return io_error(err, w->path, errno, "write");
        }
        at += written;
        n -= (size_t)written;
    }
    return LITHE_OK;
}

lithe_status file_writer_seek(file_writer *w, uint64_t offset, lithe_error *err)
{
    if (offset > INT64_MAX || lseek(w->fd, (off_t)offset, SEEK_SET) < 0) {
        return io_error(err, w->path, offset > INT64_MAX ? EFBIG : errno, "seek in");
    }
    return LITHE_OK;
}

static void writer_free(file_writer *w)
{
    if (w->fd >= 0) {
        close(w->fd);
    }
    free(w->temporary);
    free(w);
}

void file_writer_abort(file_writer *w)
{
    if (w) {
        if (w->temporary) {
            unlink(w->temporary);
        }
        writer_free(w);
    }
}

/* The rename itself is only durable once the directory is synced. A file system that cannot do so is no reason to fail:
 * the file is complete. */
static void sync_directory_of(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash) {
        slash[slash == path] = 0;
    }
    int fd = open(slash ? path : ".", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

lithe_status file_writer_commit(file_writer *w, lithe_error *err)
{
    lithe_status status = LITHE_OK;
    if (w->temporary) {
        if (fsync(w->fd) != 0) {
            status = io_error(err, w->path, errno, "write");
        } else if (close(w->fd) != 0) {
            status = io_error(err, w->path, errno, "write");
            w->fd = -1;
        } else {
            w->fd = -1;
            if (rename(w->temporary, w->path) != 0) {
                status = io_error(err, w->path, errno, "replace");
            }
        }
    }
    if (status) {
        file_writer_abort(w);
        return status;
    }
    if (w->temporary) {
        sync_directory_of(w->path);
    }
    writer_free(w);
    return LITHE_OK;
}

bool file_is_terminal(standard_stream stream)
{
    static const int descriptors[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    return isatty(descriptors[stream]) == 1;
}

#if defined(__linux__)
void process_memory_get(process_memory *m)
{
    static const struct {
        const char *key;
        size_t field;
    } keys[] = {
        {"RssAnon:", offsetof(process_memory, anon)},
        {"RssFile:", offsetof(process_memory, file)},
        {"VmHWM:", offsetof(process_memory, peak_rss)},
    };
    *m = (process_memory){0};
    FILE *f = fopen("/proc/self/status", "re");
    char line[256];
    while (f && fgets(line, sizeof line, f)) {
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            size_t key_bytes = strlen(keys[i].key);
            if (strncmp(line, keys[i].key, key_bytes) == 0) {
                uint64_t value = (uint64_t)strtoull(line + key_bytes, NULL, 10) * 1024;
                memcpy((uint8_t *)m + keys[i].field, &value, sizeof value);
            }
        }
    }
    if (f) {
        fclose(f);
    }
}
#else
void process_memory_get(process_memory *m)
{
    struct rusage usage;
    *m = (process_memory){0};
    if (getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_maxrss > 0) {
#if defined(__APPLE__)
        m->peak_rss = (uint64_t)usage.ru_maxrss;
#else
        m->peak_rss = (uint64_t)usage.ru_maxrss * 1024;
#endif
    }
}
#endif

double clock_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#else
/* ISO C forbids an empty translation unit. */
typedef int file_is_for_posix_only;
#endif
