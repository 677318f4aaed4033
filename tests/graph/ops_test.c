/* The op table: complete, without doubles, and docs/ops.md says what it says. */
#include "graph/op_table.h"

#include "graph/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void every_op_has_a_name(void **state)
{
    (void)state;
    for (int op = OP_NONE + 1; op < OP_COUNT; op++) {
        assert_string_not_equal(graph_op_name((graph_op)op), "NONE");
        for (int other = OP_NONE + 1; other < op; other++) {
            assert_string_not_equal(graph_op_name((graph_op)op), graph_op_name((graph_op)other));
        }
    }
    assert_string_equal(graph_op_name(OP_NONE), "NONE");
    assert_string_equal(graph_op_name(OP_COUNT), "NONE");
}

/* Numbers are the file format's: the reader's table of names must agree. */
static void builtins_are_the_formats(void **state)
{
    (void)state;
    bool seen[256] = {false};
    for (uint32_t i = 0; i < op_n_rows; i++) {
        const op_row *r = &op_rows[i];
        assert_true(r->min_in <= r->max_in && r->min_out <= r->max_out);
        if (r->builtin < 0) {
            continue;
        }
        assert_in_range(r->builtin, 0, 255);
        assert_string_equal(tflite_builtin_name((uint32_t)r->builtin), r->name);
        assert_false(seen[r->builtin]);
        seen[r->builtin] = true;
        assert_non_null(r->shape);
    }
    assert_true(op_n_rows < 255); /* import keeps row + 1 in a byte */
}

static void the_document_is_current(void **state)
{
    (void)state;
    static char text[65536];
    buffer want;
    buffer_init(&want);
    graph_ops_markdown(&want);
    FILE *in = fopen("docs/ops.md", "rb");
    assert_non_null(in);
    size_t n = fread(text, 1, sizeof text, in);
    fclose(in);
    if (n != want.size || memcmp(text, want.data, n) != 0) {
        fail_msg("docs/ops.md differs from the op table: run tools/ops_md > docs/ops.md");
    }
    buffer_fini(&want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_a_name),
        cmocka_unit_test(builtins_are_the_formats),
        cmocka_unit_test(the_document_is_current),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
