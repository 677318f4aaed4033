/* The kernel table: every entry is filled under every mask, the mask decides whose it is, and describe says so. */
#include "kernels_check.h"

#include "cpu/kernels.h"

static void check_filled(const cpu_kernels *k)
{
    for (int i = 0; i < LINEAR_KIND_COUNT; i++) {
        assert_non_null(k->linear.run[i]);
        assert_non_null(k->linear.name[i]);
    }
    assert_non_null(k->linear.quantize_row);
    assert_non_null(k->linear.embedding_row);
    assert_true(k->attention.name && k->attention.rows && k->attention.block && k->attention.join);
    for (int i = 0; i < VEC_BINARY_COUNT; i++)
        assert_non_null(k->vec.binary[i]);
    for (int i = 0; i < VEC_UNARY_COUNT; i++)
        assert_non_null(k->vec.unary[i]);
    assert_true(k->vec.name && k->vec.gated && k->vec.rms_norm && k->vec.rope && k->vec.softmax);
    assert_true(k->vec.sum && k->vec.dot && k->vec.max && k->vec.f16_to_f32);
}

static void test_table(void **state)
{
    (void)state;
    uint32_t isas[8];
    const size_t n_isas = check_isas(isas);
    cpu_kernels k;
    cpu_kernels_init(&k, 0);
    check_filled(&k);
    assert_string_equal(k.linear.name[LINEAR_QC8], "c");
    assert_string_equal(k.attention.name, "c");
    for (size_t i = 0; i < n_isas; i++) {
        cpu_kernels_init(&k, isas[i]);
        check_filled(&k);
        assert_int_equal(k.features, isas[i]);
        if (isas[i] & CPU_AVX512VNNI)
            assert_string_equal(k.linear.name[LINEAR_QC8], "avx512");
        else if (isas[i] & CPU_AVXVNNI)
            assert_string_equal(k.linear.name[LINEAR_QC8], "avxvnni");
        else if (isas[i] & CPU_AVX2)
            assert_string_equal(k.linear.name[LINEAR_QC8], "avx2");
        else if (isas[i] & CPU_I8MM)
            assert_string_equal(k.linear.name[LINEAR_QC8], "i8mm");
        else if (isas[i] & CPU_DOTPROD)
            assert_string_equal(k.linear.name[LINEAR_QC8], "dotprod");
        else
            assert_string_equal(k.linear.name[LINEAR_QC8], "neon");
    }
    /* a higher level without the one below it is no reason to use either */
    cpu_kernels_init(&k, CPU_AVXVNNI | CPU_AVX512VNNI);
    assert_string_equal(k.linear.name[LINEAR_QC8], "c");
    assert_string_equal(k.attention.name, "c");
}

static void test_describe(void **state)
{
    (void)state;
    cpu_kernels k;
    char text[512], small[12];
    cpu_kernels_init(&k, 0);
    const size_t length = cpu_kernels_describe(&k, text, sizeof text);
    assert_string_equal(
        text,
        "linear f32: c\nlinear f16: c\nlinear wo8: c\nlinear wo4: c\nlinear qc8: c\nlinear qc4: c\nlinear qb4: c\n"
        "attention: c\nvec: c\n");
    assert_int_equal(length, strlen(text));
    assert_int_equal(cpu_kernels_describe(&k, small, sizeof small), length);
    assert_string_equal(small, "linear f32:");
    assert_int_equal(cpu_kernels_describe(&k, NULL, 0), length);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_describe)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
