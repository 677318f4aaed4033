/* The container: what is refused, with which words, and what is accepted though unusual. */
#define _GNU_SOURCE       1
#define _FILE_OFFSET_BITS 64

#include "bundle/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define V1                                                                                                             \
    {                                                                                                                  \
        1, 7, 0                                                                                                        \
    }

/* Opens and expects this status with these words in the message (and of `section`, -1: none). */
static void refuse_bytes(bytes file, lithe_status status, const char *words, int32_t section)
{
    lithe_error err;
    bundle *b = NULL;
    lithe_status st = bundle_open_bytes(&b, file, "some/file.litertlm", &err);
    if (st != status || !strstr(err.message, words)) {
        fail_msg("status %s, message \"%s\"; expected %s with \"%s\"", lithe_status_name(st), st ? err.message : "",
                 lithe_status_name(status), words);
    }
    assert_int_equal(err.section, section);
    assert_string_equal(err.path, "some/file.litertlm");
    assert_null(b);
}

static void refuse(const raw_bundle *r, lithe_status status, const char *words, int32_t section)
{
    buffer file = make_container(r);
    refuse_bytes((bytes){file.data, file.size}, status, words, section);
    buffer_fini(&file);
}

static void refuse_sections(const raw_section *s, size_t n, uint64_t file_bytes, lithe_status status, const char *words,
                            int32_t section)
{
    raw_bundle r = {.version = V1, .sections = s, .n_sections = n, .file_bytes = file_bytes};
    refuse(&r, status, words, section);
}

static bundle *accept(const raw_bundle *r, buffer *file)
{
    lithe_error err;
    bundle *b = NULL;
    *file = make_container(r);
    if (bundle_open_bytes(&b, (bytes){file->data, file->size}, "f", &err)) {
        fail_msg("%s", err.message);
    }
    return b;
}

static void foreign_files_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        size_t size;
        const char *words;
    } files[] = {
        {"", 0, "the file is empty"},
        {"GGUF\3\0\0\0\0\0\0\0", 12, "GGUF file of llama.cpp; its first bytes are \"GGUF\\x03\\x00\\x00\\x00\""},
        {"PK\3\4\24\0\0\0\0\0", 10, "ZIP archive, perhaps an older .task bundle"},
        {"\x40\0\0\0\0\0\0\0{\"__metadata__\"", 24, "safetensors"},
        {"<!DOCTYPE html><html>", 21, "web page"},
        {"version https://git-lfs.github.com/spec/v1\n", 43, "Git LFS pointer"},
        {"hello there, plain words\n", 25, "plain text; its first bytes are \"hello th\""},
        {"\x1f\x8b\x08\0\0\0\0\0", 8, "gzip"},
        {"LITERTLN\1\0\0\0", 12, "not a .litertlm bundle; its first bytes are \"LITERTLN\""},
        {"\0\1\2\3\4\5\6\7\10", 9, "first bytes are \"\\x00\\x01\\x02\\x03\\x04\\x05\\x06\\x07\""},
        {"TFL3", 4, "plain text"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        refuse_bytes((bytes){(const uint8_t *)files[i].data, files[i].size}, LITHE_E_FORMAT, files[i].words, -1);
    }
}

static void cut_files_are_truncated_at_every_length(void **state)
{
    (void)state;
    raw_section s[] = {{4096, 8192, SECTION_LLM_METADATA, "a", 0}, {16384, 20000, SECTION_TFLITE_MODEL, NULL, 0}};
    raw_bundle r = {.version = V1, .sections = s, .n_sections = 2, .file_bytes = 20000};
    buffer file = make_container(&r);
    for (size_t n = 1; n < file.size; n += n < 600 ? 1 : 371) {
        lithe_error err;
        bundle *b = NULL;
        uint8_t *copy = malloc(n); /* exactly n bytes: a sanitizer sees a read past them */
        assert_non_null(copy);
        memcpy(copy, file.data, n);
        assert_int_equal(bundle_open_bytes(&b, (bytes){copy, n}, "f", &err), LITHE_E_TRUNCATED);
        free(copy);
    }
    refuse_bytes((bytes){file.data, 31}, LITHE_E_TRUNCATED,
                 "the file has 31 bytes, but a bundle's header alone needs 32", -1);
    refuse_bytes((bytes){file.data, 19999}, LITHE_E_TRUNCATED,
                 "section 1 (TFLiteModel) ends at byte 20000, but the file has 19999 bytes: it is truncated", 1);
    buffer_fini(&file);
}

static void section_ranges(void **state)
{
    (void)state;
    raw_section past = {16384, 4721781, SECTION_TFLITE_MODEL, NULL, 0};
    refuse_sections(&past, 1, 1310720, LITHE_E_TRUNCATED,
                    "section 0 (TFLiteModel) ends at byte 4721781, but the file has 1310720 bytes", 0);
    raw_section huge = {16384, UINT64_MAX, SECTION_GENERIC_BINARY, NULL, 0};
    refuse_sections(&huge, 1, 20000, LITHE_E_TRUNCATED, "ends at byte 18446744073709551615", 0);
    raw_section backwards = {17000, 16384, SECTION_SP_TOKENIZER, NULL, 0};
    refuse_sections(&backwards, 1, 20000, LITHE_E_FORMAT,
                    "section 0 (SP_Tokenizer) ends at byte 16384, before its begin at byte 17000", 0);
    raw_section in_header = {40, 16384, SECTION_SP_TOKENIZER, NULL, 0};
    refuse_sections(&in_header, 1, 20000, LITHE_E_FORMAT, "begins at byte 40, inside the header", 0);
    raw_section overlap[] = {{16384, 17000, SECTION_LLM_METADATA, NULL, 0},
                             {18000, 19000, SECTION_SP_TOKENIZER, NULL, 0},
                             {16999, 18000, SECTION_TFLITE_MODEL, NULL, 0}};
    refuse_sections(
        overlap, 3, 20000, LITHE_E_FORMAT,
        "section 0 (LlmMetadataProto, bytes 16384 to 17000) and section 2 (TFLiteModel, bytes 16999 to 18000) overlap",
        2);
    overlap[2].begin = 17000; /* touching is no overlap */
    raw_bundle r = {.version = V1, .sections = overlap, .n_sections = 3, .file_bytes = 19000};
    buffer file;
    bundle_close(accept(&r, &file));
    buffer_fini(&file);
}

static void header_fields(void **state)
{
    (void)state;
    static const uint32_t majors[] = {0, 2, 3, UINT32_MAX};
    for (size_t i = 0; i < sizeof majors / sizeof *majors; i++) {
        raw_bundle r = {.version = {majors[i], 4, 2}, .file_bytes = 4096};
        char words[64];
        snprintf(words, sizeof words, "the file has version %lu.4.2", (unsigned long)majors[i]);
        refuse(&r, LITHE_E_VERSION, words, -1);
    }
    raw_bundle minor = {.version = {1, 99, 99}, .file_bytes = 4096};
    buffer file;
    bundle *b = accept(&minor, &file);
    assert_int_equal(b->version[1], 99);
    bundle_close(b);
    buffer_fini(&file);
    raw_bundle small = {.version = V1, .header_end = 31, .file_bytes = 4096};
    refuse(&small, LITHE_E_FORMAT, "its header ends at byte 31, inside the fixed part of 32 bytes", -1);
    raw_bundle large = {.version = V1, .header_end = 4097, .file_bytes = 4096};
    refuse(&large, LITHE_E_TRUNCATED, "the header ends at byte 4097, but the file has 4096 bytes", -1);
    raw_bundle largest = {.version = V1, .header_end = UINT64_MAX, .file_bytes = 4096};
    refuse(&largest, LITHE_E_TRUNCATED, "the header ends at byte 18446744073709551615", -1);
    raw_bundle none = {.version = V1, .header_end = 32, .file_bytes = 4096};
    refuse(&none, LITHE_E_FORMAT, "0 bytes are too few for a FlatBuffer", -1);
    raw_bundle padded = {.version = V1, .header_end = 4000, .file_bytes = 4096};
    bundle_close(accept(&padded, &file));
    buffer_fini(&file);
}

/* A section count of 2^31 needs no memory to be refused: the vector is checked against the header first. */
static void a_huge_section_count_is_refused(void **state)
{
    (void)state;
    raw_section s = {4096, 4100, SECTION_GENERIC_BINARY, NULL, 0};
    raw_bundle r = {.version = V1, .sections = &s, .n_sections = 1, .file_bytes = 4100};
    buffer file = make_container(&r);
    size_t header = load_u64(file.data + 24);
    unsigned tried = 0;
    for (size_t at = 32; at + 4 <= header; at += 4) {
        if (load_u32(file.data + at) == 1) {
            lithe_error err;
            bundle *b = NULL;
            store_u32(file.data + at, UINT32_C(1) << 31);
            if (bundle_open_bytes(&b, (bytes){file.data, file.size}, "f", &err) == LITHE_E_FORMAT) {
                tried += strstr(err.message, "list of sections lies outside") != NULL;
            }
            bundle_close(b);
            store_u32(file.data + at, 1);
        }
    }
    assert_int_equal(tried, 1);
    buffer_fini(&file);
}

static void unusual_sections_are_kept(void **state)
{
    (void)state;
    raw_section s[] = {{4096, 4100, 250, NULL, 0},
                       {4200, 4200, SECTION_GENERIC_BINARY, NULL, 0},
                       {4300, 4310, SECTION_TFLITE_MODEL, NULL, 0},
                       {4400, 4410, SECTION_TFLITE_MODEL, "TF_LITE_Vision_Encoder", 0},
                       {4500, 4510, SECTION_TFLITE_MODEL, "tf_lite_PREFILL_decode", 0},
                       {4600, 4610, SECTION_LLM_METADATA, NULL, 0}};
    raw_bundle r = {.version = V1, .sections = s, .n_sections = 6, .file_bytes = 4700};
    buffer file;
    bundle *b = accept(&r, &file);
    char name[24];
    assert_int_equal(b->n_sections, 6);
    assert_string_equal(section_type_name(b->sections[0].type, name), "unknown (250)");
    assert_int_equal(b->sections[0].data.size, 4);
    assert_ptr_equal(b->sections[0].data.data, file.data + 4096);
    assert_int_equal(b->sections[1].data.size, 0);
    assert_string_equal(b->sections[2].model_type, "tf_lite_prefill_decode");
    assert_string_equal(b->sections[3].model_type, "tf_lite_vision_encoder");
    assert_string_equal(b->sections[5].model_type, "");
    /* the last of its kind wins, without case */
    assert_int_equal(bundle_find(b, SECTION_TFLITE_MODEL, "tf_lite_prefill_decode"), 4);
    assert_int_equal(bundle_find(b, SECTION_TFLITE_MODEL, "TF_LITE_VISION_ENCODER"), 3);
    assert_int_equal(bundle_find(b, SECTION_TFLITE_MODEL, NULL), 4);
    assert_int_equal(bundle_find(b, SECTION_TFLITE_MODEL, "tf_lite_vision"), -1);
    assert_int_equal(bundle_find(b, SECTION_SP_TOKENIZER, NULL), -1);
    bundle_close(b);
    buffer_fini(&file);
}

static void an_item_of_another_type_is_no_string(void **state)
{
    (void)state;
    raw_section s = {4096, 4100, SECTION_TFLITE_MODEL, "x", ITEM_UINT64};
    refuse_sections(&s, 1, 4100, LITHE_E_FORMAT, "item model_type of the section is no string", 0);
}

/* Every byte of the header changed in several ways: an answer, never a crash, and what opens has sections inside the file. */
static void damaged_headers_are_answered(void **state)
{
    (void)state;
    raw_section s[] = {{4096, 4100, SECTION_LLM_METADATA, NULL, 0},
                       {4200, 4300, SECTION_TFLITE_MODEL, "tf_lite_embedder", 0}};
    raw_bundle r = {.version = V1, .sections = s, .n_sections = 2, .file_bytes = 4300};
    buffer file = make_container(&r);
    size_t header = load_u64(file.data + 24);
    static const uint8_t changes[] = {1, 0x80, 0xFF, 0x7F, 4};
    for (size_t at = 8; at < header; at++) {
        for (size_t c = 0; c < sizeof changes; c++) {
            lithe_error err;
            bundle *b = NULL;
            file.data[at] ^= changes[c];
            if (bundle_open_bytes(&b, (bytes){file.data, file.size}, "f", &err) == LITHE_OK) {
                for (size_t i = 0; i < b->n_sections; i++) {
                    assert_true(b->sections[i].begin <= b->sections[i].end && b->sections[i].end <= file.size);
                }
                bundle_close(b);
            } else {
                assert_true(err.message[0] != 0);
            }
            file.data[at] ^= changes[c];
        }
    }
    buffer_fini(&file);
}

static void a_section_beyond_4_gib_is_reached(void **state)
{
    (void)state;
    const uint64_t begin = UINT64_C(4831838208), end = UINT64_C(5368709120); /* 4.5 GiB, 5 GiB */
    raw_section s = {begin, end, SECTION_GENERIC_BINARY, NULL, 0};
    raw_bundle r = {.version = V1, .sections = &s, .n_sections = 1};
    buffer file = make_container(&r);
    const char *path = temporary_path("sparse.litertlm");
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(file.data, 1, file.size, f), file.size);
    assert_int_equal(fclose(f), 0);
    buffer_fini(&file);
    if (truncate(path, (off_t)end)) {
        unlink(path);
        skip(); /* a file system without sparse files */
    }
    f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseeko(f, (off_t)begin, SEEK_SET), 0);
    assert_int_equal(fwrite("far away", 1, 8, f), 8);
    assert_int_equal(fclose(f), 0);
    lithe_error err;
    bundle *b = NULL;
    lithe_status st = bundle_open(&b, path, &err);
    unlink(path);
    assert_int_equal(st, LITHE_OK);
    assert_true(b->sections[0].begin == begin && b->sections[0].data.size == end - begin);
    assert_memory_equal(b->sections[0].data.data, "far away", 8);
    bundle_close(b);
}

static void a_plain_tflite_is_a_bundle_of_one_section(void **state)
{
    (void)state;
    model_knobs k = good_model();
    buffer model = make_model(&k);
    lithe_error err;
    bundle *b = NULL;
    assert_int_equal(bundle_open_bytes(&b, (bytes){model.data, model.size}, "m.litertlm", &err), LITHE_OK);
    assert_true(b->is_tflite);
    assert_int_equal(b->n_sections, 1);
    assert_int_equal(bundle_find(b, SECTION_TFLITE_MODEL, "tf_lite_prefill_decode"), 0);
    assert_int_equal(b->sections[0].data.size, model.size);
    bundle_close(b);
    buffer_fini(&model);
}

static void a_missing_file_says_so(void **state)
{
    (void)state;
    lithe_error err;
    bundle *b = NULL;
    assert_int_equal(bundle_open(&b, "tests/no such file.litertlm", &err), LITHE_E_IO);
    assert_string_equal(err.path, "tests/no such file.litertlm");
    assert_int_equal(bundle_open(&b, "tests", &err), LITHE_E_IO);
    assert_int_equal(bundle_open(&b, "tests/no such file.litertlm", NULL), LITHE_E_IO);
    assert_null(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foreign_files_are_named),
        cmocka_unit_test(cut_files_are_truncated_at_every_length),
        cmocka_unit_test(section_ranges),
        cmocka_unit_test(header_fields),
        cmocka_unit_test(a_huge_section_count_is_refused),
        cmocka_unit_test(unusual_sections_are_kept),
        cmocka_unit_test(an_item_of_another_type_is_no_string),
        cmocka_unit_test(damaged_headers_are_answered),
        cmocka_unit_test(a_section_beyond_4_gib_is_reached),
        cmocka_unit_test(a_plain_tflite_is_a_bundle_of_one_section),
        cmocka_unit_test(a_missing_file_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
