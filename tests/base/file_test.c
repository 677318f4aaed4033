#define _GNU_SOURCE 1

#include "base/file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/lithe-file-test-XXXXXX";
static char name[256];

static const char *path_of(const char *file)
{
    snprintf(name, sizeof name, "%s/%s", folder, file);
    return name;
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    fclose(f);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static unsigned files_in_folder(void)
{
    char command[300], text[32] = "";
    snprintf(command, sizeof command, "ls '%s' | wc -l", folder);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof text, f));
    pclose(f);
    return (unsigned)atoi(text);
}

static void a_file_is_mapped(void **state)
{
    (void)state;
    file_map m;
    put(path_of("a"), "hello");
    assert_int_equal(file_map_open(&m, path_of("a"), NULL), LITHE_OK);
    assert_int_equal(m.view.size, 5);
    assert_memory_equal(m.view.data, "hello", 5);
    file_map_will_need(&m, 1, 3);
    file_map_will_need(&m, 1, SIZE_MAX);
    file_map_close(&m);
    assert_null(m.base);
    file_map_close(&m);
}

static void an_empty_file_is_an_empty_map(void **state)
{
    (void)state;
    file_map m;
    put(path_of("empty"), "");
    assert_int_equal(file_map_open(&m, path_of("empty"), NULL), LITHE_OK);
    assert_int_equal(m.view.size, 0);
    assert_non_null(m.view.data);
    file_map_will_need(&m, 0, 0);
    file_map_close(&m);
}

static void expect_refusal(const char *path, lithe_status status, const char *part)
{
    lithe_error err;
    file_map m = {.base_bytes = 77};
    assert_int_equal(file_map_open(&m, path, &err), status);
    assert_int_equal(err.code, status);
    assert_string_equal(err.path, path);
    if (!strstr(err.message, part) || !strstr(err.message, path)) {
        fail_msg("\"%s\" does not say \"%s\" and the path", err.message, part);
    }
    assert_int_equal(m.base_bytes, 77);
}

static void what_is_no_file_is_told_apart(void **state)
{
    (void)state;
    expect_refusal(path_of("missing"), LITHE_E_IO, "no such file");
    expect_refusal(folder, LITHE_E_IO, "a directory");
    expect_refusal("/dev/null", LITHE_E_IO, "a device");
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    expect_refusal(path_of("pipe"), LITHE_E_IO, "a pipe"); /* and does not wait for a writer */
    put(path_of("a"), "hello");
    expect_refusal(path_of("a/b"), LITHE_E_IO, "ot a directory");
    unlink(path_of("pipe"));
}

static void permission_is_needed(void **state)
{
    (void)state;
    /* Root may read everything: become nobody for the moment. */
    put(path_of("secret"), "x");
    assert_int_equal(chmod(path_of("secret"), 0), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    bool root = geteuid() == 0;
    if (root) {
        assert_int_equal(seteuid(65534), 0);
    }
    lithe_error err;
    file_map m;
    lithe_status status = file_map_open(&m, path_of("secret"), &err);
    if (root) {
        assert_int_equal(seteuid(0), 0);
    }
    assert_int_equal(status, LITHE_E_IO);
    assert_non_null(strstr(err.message, "permission denied"));
    assert_non_null(strstr(err.hint, "permissions"));
}

static void files_over_4_gib_are_mapped_whole(void **state)
{
    (void)state;
    const uint64_t size = (UINT64_C(5) << 30) + 3;
    const char *path = path_of("large");
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    if (ftruncate(fd, (off_t)size) != 0) {
        close(fd);
        skip(); /* a file system without sparse files */
    }
    assert_int_equal(pwrite(fd, "end", 3, (off_t)size - 3), 3);
    close(fd);
    file_map m;
    assert_int_equal(file_map_open(&m, path, NULL), LITHE_OK);
    assert_true(m.view.size == size);
    assert_memory_equal(m.view.data + size - 3, "end", 3);
    file_map_will_need(&m, (size_t)size - 3, 3);
    file_map_close(&m);

    /* Under a limit of address space the map is refused, with the memory status. */
    struct rlimit before, limited;
    getrlimit(RLIMIT_AS, &before);
    if (!getenv("LITHE_SANITIZED")) {
        limited = before;
        limited.rlim_cur = (rlim_t)4 << 30;
        assert_int_equal(setrlimit(RLIMIT_AS, &limited), 0);
        lithe_error err;
        struct rlimit in_force;
        getrlimit(RLIMIT_AS, &in_force); /* qemu's user mode ignores the request */
        lithe_status status = file_map_open(&m, path, &err);
        setrlimit(RLIMIT_AS, &before);
        if (in_force.rlim_cur == limited.rlim_cur) {
            assert_int_equal(status, LITHE_E_MEMORY);
            assert_int_equal(err.code, LITHE_E_MEMORY);
        } else {
            file_map_close(&m);
        }
    }
    unlink(path_of("large"));
}

static void contents_are_read_whole(void **state)
{
    (void)state;
    uint8_t *data;
    size_t size;
    lithe_error err;
    put(path_of("a"), "hello");
    assert_int_equal(file_read_all(path_of("a"), 5, &data, &size, NULL), LITHE_OK);
    assert_int_equal(size, 5);
    assert_string_equal((const char *)data, "hello");
    free(data);
    assert_int_equal(file_read_all(path_of("a"), 4, &data, &size, &err), LITHE_E_IO);
    assert_non_null(strstr(err.message, "larger than the 4 bytes"));
    assert_int_equal(file_read_all(path_of("missing"), 4, &data, &size, &err), LITHE_E_IO);
    assert_int_equal(file_read_all(folder, 4, &data, &size, &err), LITHE_E_IO);
    assert_non_null(strstr(err.message, "a directory"));
    put(path_of("empty"), "");
    assert_int_equal(file_read_all(path_of("empty"), 0, &data, &size, NULL), LITHE_OK);
    assert_int_equal(size, 0);
    assert_string_equal((const char *)data, "");
    free(data);
}

static void pipes_are_read_whole(void **state)
{
    (void)state;
    uint8_t *data;
    size_t size;
    char path[64];
    FILE *f = popen("seq 1 20000", "r");
    assert_non_null(f);
    snprintf(path, sizeof path, "/dev/fd/%d", fileno(f));
    assert_int_equal(file_read_all(path, 1 << 20, &data, &size, NULL), LITHE_OK);
    assert_int_equal(size, 108894);
    assert_memory_equal(data, "1\n2\n3\n", 6);
    assert_string_equal((const char *)data + size - 6, "20000\n");
    free(data);
    pclose(f);
}

static void a_file_appears_when_it_is_complete(void **state)
{
    (void)state;
    file_writer *w;
    file_map m;
    put(path_of("target"), "old");
    assert_int_equal(chmod(path_of("target"), 0640), 0);
    unsigned before = files_in_folder();
    assert_int_equal(file_writer_open(&w, path_of("target"), NULL), LITHE_OK);
    assert_int_equal(file_writer_write(w, "neXt contents", 13, NULL), LITHE_OK);
    assert_int_equal(file_writer_seek(w, 2, NULL), LITHE_OK);
    assert_int_equal(file_writer_write(w, "x", 1, NULL), LITHE_OK);
    assert_int_equal(file_map_open(&m, path_of("target"), NULL), LITHE_OK);
    assert_int_equal(m.view.size, 3);
    file_map_close(&m);
    assert_int_equal(file_writer_commit(w, NULL), LITHE_OK);
    assert_int_equal(file_map_open(&m, path_of("target"), NULL), LITHE_OK);
    assert_int_equal(m.view.size, 13);
    assert_memory_equal(m.view.data, "next contents", 13);
    file_map_close(&m);
    struct stat st;
    assert_int_equal(stat(path_of("target"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(files_in_folder(), before);
}

static void an_aborted_file_leaves_nothing(void **state)
{
    (void)state;
    file_writer *w;
    put(path_of("target"), "old");
    unsigned before = files_in_folder();
    assert_int_equal(file_writer_open(&w, path_of("target"), NULL), LITHE_OK);
    assert_int_equal(files_in_folder(), before + 1);
    assert_int_equal(file_writer_write(w, "new", 3, NULL), LITHE_OK);
    file_writer_abort(w);
    assert_int_equal(files_in_folder(), before);
    file_map m;
    assert_int_equal(file_map_open(&m, path_of("target"), NULL), LITHE_OK);
    assert_memory_equal(m.view.data, "old", 3);
    file_map_close(&m);
    file_writer_abort(NULL);
}

static void failures_to_write_are_reported(void **state)
{
    (void)state;
    lithe_error err;
    file_writer *w = NULL;
    assert_int_equal(file_writer_open(&w, path_of("no/such/folder"), &err), LITHE_E_IO);
    assert_non_null(strstr(err.message, "no such file or directory"));
    assert_int_equal(file_writer_open(&w, folder, &err), LITHE_E_IO);
    assert_non_null(strstr(err.message, "directory"));
    assert_null(w);

    /* /dev/full refuses every byte, as a full disk does. */
    assert_int_equal(file_writer_open(&w, "/dev/full", NULL), LITHE_OK);
    assert_int_equal(file_writer_write(w, "x", 1, &err), LITHE_E_IO);
    assert_non_null(strstr(err.hint, "space"));
    file_writer_abort(w);

    /* The target becomes a directory meanwhile: the commit fails and cleans up. */
    unsigned before = files_in_folder();
    assert_int_equal(file_writer_open(&w, path_of("becomes"), NULL), LITHE_OK);
    assert_int_equal(mkdir(path_of("becomes"), 0700), 0);
    assert_int_equal(file_writer_commit(w, &err), LITHE_E_IO);
    assert_int_equal(files_in_folder(), before + 1);
    rmdir(path_of("becomes"));
}

static void devices_are_written_in_place(void **state)
{
    (void)state;
    file_writer *w;
    assert_int_equal(file_writer_open(&w, "/dev/null", NULL), LITHE_OK);
    assert_int_equal(file_writer_write(w, "x", 1, NULL), LITHE_OK);
    assert_int_equal(file_writer_commit(w, NULL), LITHE_OK);
    struct stat st;
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
}

static void memory_and_time_go_up(void **state)
{
    (void)state;
    process_memory before, after;
    enum { BYTES = 32 << 20 };
    process_memory_get(&before);
    assert_true(before.anon > 0 && before.peak_rss >= before.anon);
    uint8_t *block = malloc(BYTES);
    assert_non_null(block);
    for (size_t i = 0; i < BYTES; i += 4096) {
        ((volatile uint8_t *)block)[i] = 1;
    }
    process_memory_get(&after);
    free(block);
    assert_true(after.anon >= before.anon + BYTES / 10 * 9);
    assert_true(after.peak_rss >= after.anon);

    double start = clock_seconds();
    usleep(2000);
    double passed = clock_seconds() - start;
    assert_true(passed >= 0.002 && passed < 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_mapped),
        cmocka_unit_test(an_empty_file_is_an_empty_map),
        cmocka_unit_test(what_is_no_file_is_told_apart),
        cmocka_unit_test(permission_is_needed),
        cmocka_unit_test(files_over_4_gib_are_mapped_whole),
        cmocka_unit_test(contents_are_read_whole),
        cmocka_unit_test(pipes_are_read_whole),
        cmocka_unit_test(a_file_appears_when_it_is_complete),
        cmocka_unit_test(an_aborted_file_leaves_nothing),
        cmocka_unit_test(failures_to_write_are_reported),
        cmocka_unit_test(devices_are_written_in_place),
        cmocka_unit_test(memory_and_time_go_up),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
