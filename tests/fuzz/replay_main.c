/* Stands in for libFuzzer's main: runs the target once on every file of the directories and on the files given, and on the
 * empty input. What was ever found by fuzzing stays a test this way, with any compiler. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t n_inputs;

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) {
        perror(path);
        return 1;
    }
    long size = ftell(f);
    rewind(f);
    /* Exactly as long as the input, so that a sanitizer sees a read past its end. */
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    int status = !data || size < 0 || fread(data, 1, (size_t)size, f) != (size_t)size;
    if (status) {
        fprintf(stderr, "%s: cannot read\n", path);
    } else {
        status = LLVMFuzzerTestOneInput(data, (size_t)size);
        n_inputs++;
    }
    free(data);
    fclose(f);
    return status;
}

static int run_directory(const char *path, DIR *directory)
{
    int status = 0;
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        char name[4096];
        int n = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' && n > 0 && (size_t)n < sizeof name) {
            status |= run_file(name);
        }
    }
    return status;
}

int main(int argc, char **argv)
{
    int status = LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        DIR *directory = opendir(argv[i]);
        status |= directory ? run_directory(argv[i], directory) : run_file(argv[i]);
        if (directory) {
            closedir(directory);
        }
    }
    printf("%zu inputs\n", n_inputs);
    return status || !n_inputs;
}
