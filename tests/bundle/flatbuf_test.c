/* FlatBuffers from the builder, whole, cut, and with offsets that lead elsewhere. */
#include "bundle/flatbuf.h"
#include "bundle/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { U8, I8, U16, I32, U64, F32, F64, TEXT, NUMBERS, TABLES, TEXTS, SUB, ABSENT, LONGS };

static buffer make(void)
{
    static const int32_t numbers[] = {-1, 2, INT32_MIN};
    static const int64_t longs[] = {INT64_MIN, 7};
    fb_builder *b = NULL;
    lithe_error err;
    bytes out = {0};
    fb_ref tables[2], texts[2];
    assert_int_equal(fb_builder_create(&b, &err), LITHE_OK);
    for (int32_t i = 0; i < 2; i++) {
        texts[i] = fb_write_string(b, i ? "" : "first");
        fb_table_begin(b);
        fb_table_i32(b, 0, 10 + i);
        tables[i] = fb_table_end(b);
    }
    fb_ref text = fb_write_string(b, "hello"), n = fb_write_vector(b, numbers, 3, 4, 4),
           l = fb_write_vector(b, longs, 2, 8, 8);
    fb_ref ts = fb_write_refs(b, tables, 2), ss = fb_write_refs(b, texts, 2);
    fb_table_begin(b);
    fb_table_u8(b, U8, 200);
    fb_table_u8(b, I8, (uint8_t)-3);
    fb_table_u16(b, U16, 60000);
    fb_table_i32(b, I32, -70000);
    fb_table_u64(b, U64, UINT64_MAX - 1);
    fb_table_f32(b, F32, 1.25f);
    fb_table_f64(b, F64, -0.1);
    fb_table_ref(b, TEXT, text);
    fb_table_ref(b, NUMBERS, n);
    fb_table_ref(b, TABLES, ts);
    fb_table_ref(b, TEXTS, ss);
    fb_table_ref(b, SUB, tables[1]);
    fb_table_ref(b, LONGS, l);
    assert_int_equal(fb_finish(b, fb_table_end(b), "TEST", &out, &err), LITHE_OK);
    buffer copy;
    buffer_init(&copy);
    buffer_append(&copy, out.data, out.size);
    fb_builder_destroy(b);
    return copy;
}

static void everything_comes_back(void **state)
{
    (void)state;
    buffer f = make();
    fb_table t, sub;
    fb_vector v;
    bytes s;
    char problem[96];
    assert_memory_equal(f.data + 4, "TEST", 4);
    assert_true(fb_root((bytes){f.data, f.size}, &t, problem, sizeof problem));
    assert_int_equal(fb_u8(&t, U8, 0), 200);
    assert_int_equal(fb_i8(&t, I8, 0), -3);
    assert_int_equal(fb_u16(&t, U16, 0), 60000);
    assert_int_equal(fb_i32(&t, I32, 0), -70000);
    assert_true(fb_u64(&t, U64, 0) == UINT64_MAX - 1);
    assert_true(fb_i64(&t, U64, 0) == -2);
    assert_true(fb_f32(&t, F32, 0) == 1.25f && fb_f64(&t, F64, 0) == -0.1);
    assert_true(fb_str(&t, TEXT, &s) && s.size == 5 && strcmp((const char *)s.data, "hello") == 0);
    assert_true(fb_vec(&t, NUMBERS, 4, &v) && v.n == 3);
    assert_int_equal(fb_vec_i32(&v, 2), INT32_MIN);
    assert_int_equal(fb_vec_i32(&v, 3), 0);
    assert_true(fb_vec(&t, LONGS, 8, &v) && v.n == 2 && fb_vec_i64(&v, 0) == INT64_MIN);
    assert_int_equal((size_t)(v.buf.data + v.at - f.data) % 8, 0);
    assert_true(fb_vec(&t, TABLES, 4, &v) && fb_vec_table(&v, 1, &sub));
    assert_int_equal(fb_i32(&sub, 0, 0), 11);
    assert_false(fb_vec_table(&v, 2, &sub));
    assert_true(fb_vec(&t, TEXTS, 4, &v) && fb_vec_str(&v, 0, &s) && s.size == 5 && fb_vec_str(&v, 1, &s) &&
                s.size == 0);
    assert_true(fb_sub(&t, SUB, &sub));
    assert_int_equal(fb_i32(&sub, 0, 0), 11);
    buffer_fini(&f);
}

static void absent_fields_have_defaults(void **state)
{
    (void)state;
    buffer f = make();
    fb_table t, sub;
    fb_vector v;
    bytes s;
    char problem[96];
    assert_true(fb_root((bytes){f.data, f.size}, &t, problem, sizeof problem));
    static const unsigned slots[] = {ABSENT, 14, 60, 40000, UINT32_MAX};
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        assert_false(fb_has(&t, slots[i]));
        assert_int_equal(fb_i32(&t, slots[i], -7), -7);
        assert_true(fb_f64(&t, slots[i], 2.5) == 2.5);
        assert_true(fb_sub(&t, slots[i], &sub) && sub.at == 0);
        assert_int_equal(fb_u8(&sub, 0, 9), 9); /* and so have those of an absent table */
        assert_true(fb_str(&t, slots[i], &s) && !s.data);
        assert_true(fb_vec(&t, slots[i], 4, &v) && v.n == 0);
    }
    buffer_fini(&f);
}

/* Touches everything that can be reached. */
static unsigned walk(bytes b)
{
    fb_table t, sub;
    fb_vector v;
    bytes s;
    char problem[96];
    unsigned sum = 0;
    if (!fb_root(b, &t, problem, sizeof problem)) {
        return 0;
    }
    for (unsigned slot = 0; slot < 16; slot++) {
        sum += (unsigned)fb_u64(&t, slot, 0) + fb_u8(&t, slot, 0);
        if (fb_str(&t, slot, &s) && s.data) {
            sum += (unsigned)strlen((const char *)s.data);
        }
        if (fb_sub(&t, slot, &sub)) {
            sum += fb_u32(&sub, 0, 0);
        }
        if (fb_vec(&t, slot, 8, &v) && v.n) {
            sum += (unsigned)fb_vec_i64(&v, v.n - 1);
        }
        if (fb_vec(&t, slot, 4, &v)) {
            for (uint32_t i = 0; i < v.n; i++) {
                sum += fb_vec_u32(&v, i) + (fb_vec_table(&v, i, &sub) ? fb_u8(&sub, 0, 0) : 0u) +
                       (fb_vec_str(&v, i, &s) ? 1u : 0u);
            }
        }
    }
    return sum;
}

/* On exact allocations, so that a sanitizer sees any read outside; also at odd addresses. */
static void damage_never_leads_outside(void **state)
{
    (void)state;
    buffer f = make();
    unsigned sum = 0;
    static const uint8_t changes[] = {1, 0x10, 0x80, 0xFF};
    for (size_t at = 0; at < f.size; at++) {
        for (size_t c = 0; c <= sizeof changes; c++) {
            size_t n = c < sizeof changes ? f.size : at;
            uint8_t *copy = malloc(n + 1);
            assert_non_null(copy);
            memcpy(copy + 1, f.data, n);
            if (c < sizeof changes) {
                copy[1 + at] ^= changes[c];
            }
            sum += walk((bytes){copy + 1, n});
            free(copy);
        }
    }
    assert_true(sum != 0);
    buffer_fini(&f);
}

static void a_string_needs_its_terminator(void **state)
{
    (void)state;
    buffer f = make();
    fb_table t;
    bytes s;
    char problem[96];
    assert_true(fb_root((bytes){f.data, f.size}, &t, problem, sizeof problem));
    assert_true(fb_str(&t, TEXT, &s));
    f.data[(size_t)(s.data - f.data) + 5] = '!';
    assert_false(fb_str(&t, TEXT, &s));
    assert_null(s.data);
    buffer_fini(&f);
}

/* Whatever stands around them, 16-byte vectors lie at multiples of 16 and doubles of 8, counted from the start of the buffer. */
static void objects_are_aligned(void **state)
{
    (void)state;
    static const char text[] = "0123456789abcdef";
    for (size_t n = 0; n < 17; n++) {
        for (int named = 0; named < 2; named++) {
            fb_builder *b = NULL;
            lithe_error err;
            bytes out;
            fb_table t;
            fb_vector v;
            char problem[96];
            assert_int_equal(fb_builder_create(&b, &err), LITHE_OK);
            fb_ref vector = fb_write_vector(b, text, 5, 1, 16), s = fb_write_string(b, text + n);
            fb_table_begin(b);
            fb_table_ref(b, 0, vector);
            fb_table_ref(b, 1, s);
            fb_table_f64(b, 2, 1.0);
            assert_int_equal(fb_finish(b, fb_table_end(b), named ? "TEST" : NULL, &out, &err), LITHE_OK);
            assert_true(fb_root(out, &t, problem, sizeof problem) && fb_vec(&t, 0, 1, &v));
            assert_int_equal(v.at % 16, 0);
            assert_int_equal(t.at % 4, 0);
            uint16_t f64 = load_u16(out.data + t.vtable + 8);
            assert_int_equal((t.at + f64) % 8, 0);
            fb_builder_destroy(b);
        }
    }
}

static void misuse_of_the_builder_is_an_error(void **state)
{
    (void)state;
    lithe_error err;
    bytes out;
    for (int kind = 0; kind < 4; kind++) {
        fb_builder *b = NULL;
        assert_int_equal(fb_builder_create(&b, &err), LITHE_OK);
        fb_ref root = 0;
        fb_table_begin(b);
        if (kind == 0) {
            fb_table_begin(b); /* tables do not nest */
        } else if (kind == 1) {
            fb_write_vector(b, "", 0, 1, 1);
        } else if (kind == 2) {
            fb_table_u8(b, 64, 1);
        }
        root = fb_table_end(b);
        if (kind == 3) {
            root = 0;
        }
        assert_int_equal(fb_finish(b, root, NULL, &out, &err), LITHE_E_MEMORY);
        fb_builder_destroy(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back),      cmocka_unit_test(absent_fields_have_defaults),
        cmocka_unit_test(damage_never_leads_outside), cmocka_unit_test(a_string_needs_its_terminator),
        cmocka_unit_test(objects_are_aligned),        cmocka_unit_test(misuse_of_the_builder_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
