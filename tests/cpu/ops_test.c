/* Op kernels called directly: against plain index arithmetic on random shapes, at the edges of integer types, with output and input in one
 * buffer; every call is repeated cut into single units, with several rows and with every instruction set, and must give the same bits. */
#include "base/cpuinfo.h"
#include "cpu/mathf.h"
#include "cpu/ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX_OPERANDS = 8, ROWS = 3, RANK = GRAPH_MAX_RANK };

static uint64_t seed = 88172645463325252u;

static uint32_t random_below(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % n;
}

static float random_float(void)
{
    return (float)((int)random_below(4001) - 2000) / 500.0f;
}

/* One call under construction: operands with ROWS rows each, padded to another stride, or one row for all. */
typedef struct bench {
    graph g;
    graph_node node;
    graph_tensor tensors[MAX_OPERANDS];
    op_operand operands[MAX_OPERANDS];
    void *blocks[MAX_OPERANDS];
    uint32_t n_in, n_out;
} bench;

static uint64_t count_of(uint32_t rank, const int32_t *dims)
{
    uint64_t n = 1;
    for (uint32_t d = 0; d < rank; d++)
        n *= (uint64_t)dims[d];
    return n;
}

static void begin(bench *b, graph_op op)
{
    memset(b, 0, sizeof *b);
    b->g.signature = "test";
    b->node.op = op;
}

static void fill(graph_type type, void *data, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        if (type == GRAPH_F32)
            ((float *)data)[i] = random_float();
        else if (type == GRAPH_I32)
            ((int32_t *)data)[i] = (int32_t)random_below(41) - 20;
        else if (type == GRAPH_I64)
            ((int64_t *)data)[i] = (int64_t)random_below(41) - 20;
        else if (type == GRAPH_I16 || type == GRAPH_F16)
            ((uint16_t *)data)[i] = (uint16_t)random_below(0x7c00);
        else
            ((uint8_t *)data)[i] = (uint8_t)random_below(type == GRAPH_BOOL ? 2 : 256);
    }
}

static void add(bench *b, graph_type type, uint32_t rank, const int32_t *dims, bool output, bool shared)
{
    const uint32_t i = b->n_in + b->n_out;
    assert_true(i < MAX_OPERANDS);
    graph_tensor *t = &b->tensors[i];
    *t = (graph_tensor){.name = "t", .type = type, .rank = rank, .elements = count_of(rank, dims)};
    memcpy(t->dims, dims, rank * sizeof *dims);
    const size_t stride = ((size_t)graph_type_bytes(type, t->elements) + 63 + 64) & ~(size_t)63;
    b->blocks[i] = calloc(ROWS, stride);
    assert_non_null(b->blocks[i]);
    b->operands[i] = (op_operand){.tensor = t, .data = b->blocks[i], .row_stride = shared ? 0 : stride};
    for (uint32_t r = 0; r < (shared ? 1 : ROWS) && !output; r++)
        fill(type, b->operands[i].data + r * stride, t->elements);
    *(output ? &b->n_out : &b->n_in) += 1;
    b->node.n_inputs = b->n_in;
    b->node.n_outputs = b->n_out;
}

#define DIMS(...)                                                                                                      \
    (uint32_t)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)), (const int32_t[])                                  \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
#define IN(type, ...)     add(&b, type, DIMS(__VA_ARGS__), false, false)
#define SHARED(type, ...) add(&b, type, DIMS(__VA_ARGS__), false, true)
#define OUT(type, ...)    add(&b, type, DIMS(__VA_ARGS__), true, false)

static void end(bench *b)
{
    for (uint32_t i = 0; i < MAX_OPERANDS; i++)
        free(b->blocks[i]);
}

static void *data_of(const bench *b, uint32_t operand, uint32_t row)
{
    return b->operands[operand].data + row * b->operands[operand].row_stride;
}
static void *out_of(const bench *b, uint32_t row)
{
    return data_of(b, b->n_in, row);
}

static op_call call_of(const bench *b, const cpu_kernels *k)
{
    return (op_call){
        .node = &b->node, .graph = &b->g, .kernels = k, .inputs = b->operands, .outputs = b->operands + b->n_in};
}

static void run_units(op_call *c, uint64_t step)
{
    lithe_error err;
    if (op_prepare(c, &err) != LITHE_OK)
        fail_msg("%s", err.message);
    assert_true(c->units_per_row >= 1 && c->unit_cost >= 0);
    void *scratch = aligned_alloc(64, c->scratch_bytes + 64);
    const uint64_t units = (uint64_t)ROWS * c->units_per_row;
    /* Backwards: no unit may lean on the one before. */
    for (uint64_t u = (units + step - 1) / step; u-- > 0;)
        op_run(c, u * step, (u + 1) * step < units ? (u + 1) * step : units, scratch);
    free(scratch);
}

static void *copy_outputs(const bench *b)
{
    size_t size = 0, at = 0;
    for (uint32_t i = 0; i < b->n_out; i++)
        size += ROWS * b->operands[b->n_in + i].row_stride;
    unsigned char *copy = malloc(size);
    assert_non_null(copy);
    for (uint32_t i = 0; i < b->n_out; i++) {
        const op_operand *o = &b->operands[b->n_in + i];
        memcpy(copy + at, o->data, ROWS * o->row_stride);
        memset(o->data, 0, ROWS * o->row_stride);
        at += ROWS * o->row_stride;
    }
    return copy;
}

/* Runs in C at once, then in single units and with all instruction sets; the outputs stay filled. */
static void run(bench *b)
{
    cpu_kernels c, all;
    cpu_kernels_init(&c, 0);
    cpu_kernels_init(&all, cpu_features_seen());
    op_call calls[3] = {call_of(b, &c), call_of(b, &c), call_of(b, &all)};
    static const uint64_t steps[3] = {1u << 30, 1, 2};
    size_t size = 0;
    for (uint32_t i = 0; i < b->n_out; i++)
        size += ROWS * b->operands[b->n_in + i].row_stride;
    void *first = NULL;
    for (int i = 0; i < 3; i++) {
        run_units(&calls[i], steps[i]);
        void *copy = copy_outputs(b);
        if (i == 0) {
            first = copy;
            continue;
        }
        assert_memory_equal(first, copy, size);
        free(copy);
    }
    free(first);
    run_units(&calls[0], 1u << 30);
}

/* Flat index in a tensor of the element at `index` (aligned at the end), broadcast. */
static uint64_t broadcast_index(const graph_tensor *t, uint32_t rank, const int32_t *index)
{
    uint64_t at = 0;
    for (uint32_t d = 0; d < t->rank; d++)
        at = at * (uint64_t)t->dims[d] + (t->dims[d] == 1 ? 0 : (uint64_t)index[rank - t->rank + d]);
    return at;
}

static void unravel(uint64_t flat, const graph_tensor *t, int32_t *index)
{
    for (uint32_t d = t->rank; d-- > 0; flat /= (uint64_t)t->dims[d])
        index[d] = (int32_t)(flat % (uint64_t)t->dims[d]);
}

static void test_broadcast(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        int32_t dims[3][RANK], rank[3] = {(int32_t)random_below(RANK + 1), (int32_t)random_below(RANK + 1), 0};
        rank[2] = rank[0] > rank[1] ? rank[0] : rank[1];
        for (int32_t d = 0; d < rank[2]; d++) {
            const int32_t n = 1 + (int32_t)random_below(rank[2] > 4 ? 3 : 9);
            int32_t a = random_below(3) ? n : 1, c = random_below(3) ? n : 1;
            if (d < rank[0])
                dims[0][rank[0] - 1 - d] = a;
            if (d < rank[1])
                dims[1][rank[1] - 1 - d] = c;
            a = d < rank[0] ? a : 1;
            c = d < rank[1] ? c : 1;
            dims[2][rank[2] - 1 - d] = a > c ? a : c;
        }
        for (int kind = 0; kind < 3; kind++) {
            bench b;
            const graph_type type = kind == 1 ? GRAPH_I32 : GRAPH_F32;
            begin(&b, kind == 2 ? OP_LESS : OP_SUB);
            add(&b, type, (uint32_t)rank[0], dims[0], false, false);
            add(&b, type, (uint32_t)rank[1], dims[1], false, round % 2);
            add(&b, kind == 2 ? GRAPH_BOOL : type, (uint32_t)rank[2], dims[2], true, false);
            run(&b);
            for (uint32_t r = 0; r < ROWS; r++)
                for (uint64_t i = 0; i < b.tensors[2].elements; i++) {
                    int32_t index[RANK];
                    unravel(i, &b.tensors[2], index);
                    const uint64_t p = broadcast_index(&b.tensors[0], (uint32_t)rank[2], index);
                    const uint64_t q = broadcast_index(&b.tensors[1], (uint32_t)rank[2], index);
                    const float *x = data_of(&b, 0, r), *y = data_of(&b, 1, r);
                    const int32_t *xi = data_of(&b, 0, r), *yi = data_of(&b, 1, r);
                    if (kind == 0)
                        assert_true(((float *)out_of(&b, r))[i] == x[p] - y[q]);
                    else if (kind == 1)
                        assert_int_equal(((int32_t *)out_of(&b, r))[i], xi[p] - yi[q]);
                    else
                        assert_int_equal(((uint8_t *)out_of(&b, r))[i], x[p] < y[q]);
                }
            end(&b);
        }
    }
}

static void test_select(void **state)
{
    (void)state;
    const graph_type types[] = {GRAPH_F32, GRAPH_I64, GRAPH_U8, GRAPH_I16};
    for (int k = 0; k < 4; k++) {
        bench b;
        begin(&b, OP_SELECT);
        IN(GRAPH_BOOL, 3, 1, 5);
        SHARED(types[k], 4, 5);
        IN(types[k], 1);
        OUT(types[k], 3, 4, 5);
        run(&b);
        const size_t size = (size_t)graph_type_bytes(types[k], 1);
        for (uint32_t r = 0; r < ROWS; r++)
            for (uint32_t i = 0; i < 60; i++) {
                const bool c = ((uint8_t *)data_of(&b, 0, r))[i / 20 * 5 + i % 5];
                const unsigned char *want = c ? (unsigned char *)data_of(&b, 1, r) + i % 20 * size : data_of(&b, 2, r);
                assert_memory_equal((unsigned char *)out_of(&b, r) + i * size, want, size);
            }
        end(&b);
    }
}

static int64_t integer_op(graph_op op, int64_t a, int64_t c, bool wide)
{
    bench b;
    begin(&b, op);
    const graph_type type = wide ? GRAPH_I64 : GRAPH_I32;
    IN(type, 1);
    IN(type, 1);
    OUT(type, 1);
    for (uint32_t r = 0; r < ROWS; r++) {
        if (wide) {
            *(int64_t *)data_of(&b, 0, r) = a;
            *(int64_t *)data_of(&b, 1, r) = c;
        } else {
            *(int32_t *)data_of(&b, 0, r) = (int32_t)a;
            *(int32_t *)data_of(&b, 1, r) = (int32_t)c;
        }
    }
    run(&b);
    const int64_t y = wide ? *(int64_t *)out_of(&b, 0) : *(int32_t *)out_of(&b, 0);
    end(&b);
    return y;
}

static void test_integers(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        const int64_t low = wide ? INT64_MIN : INT32_MIN, high = wide ? INT64_MAX : INT32_MAX;
        assert_true(integer_op(OP_ADD, high, 1, wide) == low);
        assert_true(integer_op(OP_SUB, low, 1, wide) == high);
        assert_true(integer_op(OP_MUL, high, 2, wide) == -2);
        assert_true(integer_op(OP_DIV, 7, 0, wide) == 0);
        assert_true(integer_op(OP_DIV, low, -1, wide) == low);
        assert_true(integer_op(OP_DIV, -7, 2, wide) == -3);
        assert_true(integer_op(OP_FLOOR_DIV, -7, 2, wide) == -4 && integer_op(OP_FLOOR_DIV, 7, -2, wide) == -4);
        assert_true(integer_op(OP_FLOOR_DIV, 6, -2, wide) == -3 && integer_op(OP_FLOOR_DIV, -7, -2, wide) == 3);
        assert_true(integer_op(OP_FLOOR_MOD, -7, 3, wide) == 2 && integer_op(OP_FLOOR_MOD, 7, -3, wide) == -2);
        assert_true(integer_op(OP_FLOOR_MOD, low, -1, wide) == 0 && integer_op(OP_FLOOR_MOD, 5, 0, wide) == 0);
        assert_true(integer_op(OP_MAXIMUM, -3, 2, wide) == 2 && integer_op(OP_MINIMUM, -3, 2, wide) == -3);
    }
}

static void cast_one(graph_type from, graph_type to, const void *x, void *y)
{
    bench b;
    begin(&b, OP_CAST);
    IN(from, 1);
    OUT(to, 1);
    for (uint32_t r = 0; r < ROWS; r++)
        memcpy(data_of(&b, 0, r), x, (size_t)graph_type_bytes(from, 1));
    run(&b);
    memcpy(y, out_of(&b, 0), (size_t)graph_type_bytes(to, 1));
    end(&b);
}

static int64_t cast_float(float x, graph_type to)
{
    int64_t y = 0;
    int32_t y32 = 0;
    int8_t y8 = 0;
    uint8_t u8 = 0;
    if (to == GRAPH_I64)
        cast_one(GRAPH_F32, to, &x, &y);
    else if (to == GRAPH_I32)
        cast_one(GRAPH_F32, to, &x, &y32);
    else if (to == GRAPH_I8)
        cast_one(GRAPH_F32, to, &x, &y8);
    else
        cast_one(GRAPH_F32, to, &x, &u8);
    return y + y32 + y8 + u8;
}

static void test_cast(void **state)
{
    (void)state;
    assert_int_equal(cast_float(-2.7f, GRAPH_I32), -2);
    assert_int_equal(cast_float(3e9f, GRAPH_I32), INT32_MAX);
    assert_int_equal(cast_float(-INFINITY, GRAPH_I32), INT32_MIN);
    assert_int_equal(cast_float(NAN, GRAPH_I32), 0);
    assert_true(cast_float(1e19f, GRAPH_I64) == INT64_MAX && cast_float(-1e19f, GRAPH_I64) == INT64_MIN);
    assert_int_equal(cast_float(200.0f, GRAPH_I8), 127);
    assert_int_equal(cast_float(-5.0f, GRAPH_U8), 0);
    assert_int_equal(cast_float(0.25f, GRAPH_BOOL), 1);
    const int64_t big = (1LL << 62) + 1;
    float f = 0;
    int32_t i = 0;
    uint16_t h = 0;
    cast_one(GRAPH_I64, GRAPH_F32, &big, &f);
    assert_true(f == 0x1p+62f);
    cast_one(GRAPH_I64, GRAPH_I32, &(int64_t){(1LL << 32) + 5}, &i);
    assert_int_equal(i, 5);
    cast_one(GRAPH_F32, GRAPH_F16, &(float){1.5f}, &h);
    assert_int_equal(h, 0x3e00);
    cast_one(GRAPH_F16, GRAPH_F32, &h, &f);
    assert_true(f == 1.5f);
    cast_one(GRAPH_BOOL, GRAPH_F32, &(uint8_t){1}, &f);
    assert_true(f == 1.0f);
}

static void test_transpose(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        bench b;
        const graph_type types[] = {GRAPH_F32, GRAPH_I64, GRAPH_U8, GRAPH_F16};
        const graph_type type = types[round % 4];
        const uint32_t rank = random_below(RANK + 1);
        int32_t dims[RANK], out[RANK];
        begin(&b, OP_TRANSPOSE);
        for (uint32_t d = 0; d < rank; d++) {
            const uint32_t j = random_below(d + 1);
            dims[d] = 1 + (int32_t)random_below(rank > 4 ? 3 : 8);
            b.node.a.perm[d] = b.node.a.perm[j];
            b.node.a.perm[j] = (int32_t)d;
        }
        for (uint32_t d = 0; d < rank; d++)
            out[d] = dims[b.node.a.perm[d]];
        add(&b, type, rank, dims, false, false);
        add(&b, type, rank, out, true, false);
        run(&b);
        const size_t size = (size_t)graph_type_bytes(type, 1);
        for (uint64_t i = 0; i < b.tensors[1].elements; i++) {
            int32_t index[RANK] = {0}, from[RANK] = {0};
            unravel(i, &b.tensors[1], index);
            for (uint32_t d = 0; d < rank; d++)
                from[b.node.a.perm[d]] = index[d];
            const uint64_t at = broadcast_index(&b.tensors[0], rank, from);
            assert_memory_equal((char *)out_of(&b, 2) + i * size, (char *)data_of(&b, 0, 2) + at * size, size);
        }
        end(&b);
    }
}

static void test_slice(void **state)
{
    (void)state;
    bench b;
    begin(&b, OP_SLICE);
    IN(GRAPH_I32, 4, 5, 6);
    OUT(GRAPH_I32, 2, 5, 3);
    memcpy(b.node.a.begin, (int32_t[]){3, 4, 0}, 12);
    memcpy(b.node.a.stride, (int32_t[]){-2, -1, 2}, 12);
    run(&b);
    for (int32_t i = 0; i < 30; i++) {
        const int32_t at = ((3 - i / 15 * 2) * 5 + (4 - i / 3 % 5)) * 6 + i % 3 * 2;
        assert_int_equal(((int32_t *)out_of(&b, 1))[i], ((int32_t *)data_of(&b, 0, 1))[at]);
    }
    end(&b);
}

static void test_pad_and_tile(void **state)
{
    (void)state;
    bench b;
    begin(&b, OP_PAD);
    IN(GRAPH_I32, 2, 3);
    OUT(GRAPH_I32, 5, 7);
    b.node.a.value = 9;
    memcpy(b.node.a.pads, (int32_t[2][2]){{1, 2}, {3, 1}}, 16);
    run(&b);
    for (int32_t y = 0; y < 5; y++)
        for (int32_t x = 0; x < 7; x++) {
            const bool inside = y >= 1 && y < 3 && x >= 3 && x < 6;
            assert_int_equal(((int32_t *)out_of(&b, 2))[y * 7 + x],
                             inside ? ((int32_t *)data_of(&b, 0, 2))[(y - 1) * 3 + x - 3] : 9);
        }
    end(&b);
    begin(&b, OP_TILE);
    IN(GRAPH_U8, 3, 1, 2);
    OUT(GRAPH_U8, 6, 4, 6);
    run(&b);
    for (int32_t i = 0; i < 144; i++)
        assert_int_equal(((uint8_t *)out_of(&b, 1))[i], ((uint8_t *)data_of(&b, 0, 1))[i / 24 % 3 * 2 + i % 2]);
    end(&b);
}

/* Joining parts and taking them apart again gives them back. */
static void test_join_and_part(void **state)
{
    (void)state;
    bench b;
    begin(&b, OP_CONCATENATION);
    b.node.a.axis = 1;
    IN(GRAPH_I16, 3, 2, 5);
    IN(GRAPH_I16, 3, 1, 5);
    IN(GRAPH_I16, 3, 4, 5);
    OUT(GRAPH_I16, 3, 7, 5);
    run(&b);
    for (int32_t i = 0; i < 105; i++) {
        const int32_t o = i / 35, j = i / 5 % 7, c = i % 5;
        const int k = j < 2 ? 0 : j < 3 ? 1 : 2;
        static const int32_t first[] = {0, 2, 3}, size[] = {2, 1, 4};
        assert_int_equal(((int16_t *)out_of(&b, 0))[i],
                         ((int16_t *)data_of(&b, (uint32_t)k, 0))[(o * size[k] + j - first[k]) * 5 + c]);
    }
    end(&b);
    begin(&b, OP_UNPACK);
    b.node.a.axis = 1;
    IN(GRAPH_I32, 3, 2, 5);
    OUT(GRAPH_I32, 3, 5);
    OUT(GRAPH_I32, 3, 5);
    run(&b);
    for (int32_t i = 0; i < 30; i++)
        assert_int_equal(((int32_t *)data_of(&b, 1 + (uint32_t)i / 5 % 2, 2))[i / 10 * 5 + i % 5],
                         ((int32_t *)data_of(&b, 0, 2))[i]);
    end(&b);
}

static void test_update_slice(void **state)
{
    (void)state;
    for (int round = 0; round < 12; round++) {
        bench b;
        const int32_t start[4] = {0, (int32_t)random_below(4) - 1, (int32_t)random_below(300),
                                  (int32_t)random_below(8) - 2};
        begin(&b, OP_DYNAMIC_UPDATE_SLICE);
        IN(GRAPH_F32, 1, 2, 200, 6);
        IN(GRAPH_F32, 1, 1, 3, 4);
        SHARED(GRAPH_I32, 4);
        OUT(GRAPH_F32, 1, 2, 200, 6);
        memcpy(data_of(&b, 2, 0), start, sizeof start);
        run(&b);
        int32_t at[4];
        const int32_t most[4] = {0, 1, 197, 2};
        for (int d = 0; d < 4; d++)
            at[d] = start[d] < 0 ? 0 : start[d] > most[d] ? most[d] : start[d];
        for (uint32_t r = 0; r < ROWS; r++)
            for (int32_t i = 0; i < 2400; i++) {
                const int32_t h = i / 1200 - at[1], y = i / 6 % 200 - at[2], x = i % 6 - at[3];
                const bool inside = h == 0 && y >= 0 && y < 3 && x >= 0 && x < 4;
                const float want = inside ? ((float *)data_of(&b, 1, r))[y * 4 + x] : ((float *)data_of(&b, 0, r))[i];
                assert_true(((float *)out_of(&b, r))[i] == want);
            }
        /* The same in place. */
        float *copy = malloc(ROWS * b.operands[3].row_stride);
        assert_non_null(copy);
        memcpy(copy, b.operands[3].data, ROWS * b.operands[3].row_stride);
        b.operands[3].data = b.operands[0].data;
        cpu_kernels k;
        cpu_kernels_init(&k, 0);
        op_call c = call_of(&b, &k);
        run_units(&c, 1);
        for (uint32_t r = 0; r < ROWS; r++)
            assert_memory_equal((char *)copy + r * b.operands[3].row_stride, data_of(&b, 0, r), 2400 * sizeof(float));
        free(copy);
        end(&b);
    }
}

static void test_gather(void **state)
{
    (void)state;
    bench b;
    begin(&b, OP_GATHER);
    b.node.a.axis = 2;
    b.node.a.batch_dims = 1;
    IN(GRAPH_F32, 2, 3, 5, 4);
    SHARED(GRAPH_I64, 2, 3);
    OUT(GRAPH_F32, 2, 3, 3, 4);
    const int64_t index[6] = {0, 4, -7, 2, 99, 3}, cut[6] = {0, 4, 0, 2, 4, 3};
    memcpy(data_of(&b, 1, 0), index, sizeof index);
    run(&b);
    for (int32_t i = 0; i < 72; i++) {
        const int32_t batch = i / 36, o = i / 12 % 3, n = i / 4 % 3, c = i % 4;
        const float want = ((float *)data_of(&b, 0, 1))[((batch * 3 + o) * 5 + (int32_t)cut[batch * 3 + n]) * 4 + c];
        assert_true(((float *)out_of(&b, 1))[i] == want);
    }
    end(&b);
    begin(&b, OP_GATHER_ND);
    IN(GRAPH_I32, 3, 4, 2);
    SHARED(GRAPH_I32, 2, 2);
    OUT(GRAPH_I32, 2, 2);
    memcpy(data_of(&b, 1, 0), (int32_t[]){2, 1, -1, 9}, 16);
    run(&b);
    assert_memory_equal(out_of(&b, 1), (int32_t *)data_of(&b, 0, 1) + 18, 8);
    assert_memory_equal((int32_t *)out_of(&b, 1) + 2, (int32_t *)data_of(&b, 0, 1) + 6, 8);
    end(&b);
}

static void test_range(void **state)
{
    (void)state;
    bench b;
    begin(&b, OP_RANGE);
    SHARED(GRAPH_I32, 1);
    SHARED(GRAPH_I32, 1);
    SHARED(GRAPH_I32, 1);
    OUT(GRAPH_I32, 5);
    *(int32_t *)data_of(&b, 0, 0) = 7;
    *(int32_t *)data_of(&b, 2, 0) = -3;
    run(&b);
    assert_memory_equal(out_of(&b, 2), ((int32_t[]){7, 4, 1, -2, -5}), 20);
    end(&b);
}

static void test_reduce(void **state)
{
    (void)state;
    for (int round = 0; round < 40; round++) {
        bench b;
        const graph_op ops[] = {OP_SUM, OP_MEAN, OP_REDUCE_MAX, OP_REDUCE_MIN};
        const uint32_t rank = 1 + random_below(5);
        int32_t dims[RANK], out[RANK];
        begin(&b, ops[round % 4]);
        uint64_t count = 1;
        for (uint32_t d = 0; d < rank; d++) {
            out[d] = dims[d] = 1 + (int32_t)random_below(7);
            if (random_below(2)) {
                b.node.a.axes[b.node.a.n_axes++] = (int32_t)d;
                count *= (uint64_t)dims[d];
                out[d] = 1;
            }
        }
        add(&b, GRAPH_F32, rank, dims, false, false);
        add(&b, GRAPH_F32, rank, out, true, false);
        run(&b);
        const float *x = data_of(&b, 0, 1), *y = out_of(&b, 1);
        float *lanes = calloc(b.tensors[1].elements * 16, sizeof *lanes),
              *best = calloc(b.tensors[1].elements, sizeof *best);
        uint64_t *seen = calloc(b.tensors[1].elements, sizeof *seen);
        assert_true(lanes && best && seen);
        for (uint64_t i = 0; i < b.tensors[0].elements; i++) {
            int32_t index[RANK];
            unravel(i, &b.tensors[0], index);
            const uint64_t to = broadcast_index(&b.tensors[1], rank, index);
            lanes[to * 16 + seen[to] % 16] += x[i];
            best[to] = seen[to] == 0                ? x[i]
                       : b.node.op == OP_REDUCE_MAX ? fmaxf(best[to], x[i])
                                                    : fminf(best[to], x[i]);
            seen[to]++;
        }
        for (uint64_t i = 0; i < b.tensors[1].elements; i++) {
            assert_true(seen[i] == count);
            for (uint32_t step = 8; step; step /= 2)
                for (uint32_t j = 0; j < step; j++)
                    lanes[i * 16 + j] += lanes[i * 16 + j + step];
            const float sum = b.node.op == OP_MEAN ? lanes[i * 16] / (float)count : lanes[i * 16];
            assert_true(y[i] == (b.node.op == OP_SUM || b.node.op == OP_MEAN ? sum : best[i]));
        }
        free(lanes);
        free(best);
        free(seen);
        end(&b);
    }
}

/* A row of a product does not depend on how many rows there are, and is what numerics.md says. */
static void test_batch_matmul(void **state)
{
    (void)state;
    enum { M = 5, K = 37, N = 70 };
    for (int kind = 0; kind < 4; kind++) {
        bench b;
        const bool adj_x = kind & 1, adj_y = kind & 2;
        begin(&b, OP_BATCH_MATMUL);
        b.node.a.adj_x = adj_x;
        b.node.a.adj_y = adj_y;
        IN(GRAPH_F32, 2, adj_x ? K : M, adj_x ? M : K);
        IN(GRAPH_F32, 3, 1, adj_y ? N : K, adj_y ? K : N);
        OUT(GRAPH_F32, 3, 2, M, N);
        run(&b);
        const float *x = data_of(&b, 0, 1), *y = data_of(&b, 1, 1), *out = out_of(&b, 1);
        for (int i = 0; i < 3 * 2 * M * N; i++) {
            const int p = i / (2 * M * N), q = i / (M * N) % 2, m = i / N % M, n = i % N;
            float lanes[16] = {0}, sum = 0;
            for (int k = 0; k < K; k++) {
                const float u = x[q * M * K + (adj_x ? k * M + m : m * K + k)],
                            v = y[p * K * N + (adj_y ? n * K + k : k * N + n)];
                sum = fmaf(u, v, sum);
                lanes[k % 16] = fmaf(u, v, lanes[k % 16]);
            }
            for (int step = 8; step; step /= 2)
                for (int j = 0; j < step; j++)
                    lanes[j] += lanes[j + step];
            assert_true(out[i] == (adj_y ? lanes[0] : sum));
        }
        end(&b);
    }
}

/* A pool's filter is only a number in a file: one as large as numbers go must not take longer than the image. */
static void test_pool_with_a_huge_filter(void **state)
{
    (void)state;
    const int32_t filter = INT32_MAX;
    const graph_op ops[] = {OP_AVERAGE_POOL_2D, OP_MAX_POOL_2D};
    for (uint32_t k = 0; k < 2; k++) {
        bench b;
        begin(&b, ops[k]);
        add(&b, GRAPH_F32, 4, (const int32_t[]){1, 2, 3, 4}, false, false);
        add(&b, GRAPH_F32, 4, (const int32_t[]){1, 2, 3, 4}, true, false);
        b.node.a.filter_h = b.node.a.filter_w = filter;
        b.node.a.stride_h = b.node.a.stride_w = b.node.a.dilation_h = b.node.a.dilation_w = 1;
        b.node.a.pad_top = b.node.a.pad_left = (filter - 1) / 2;
        run(&b);
        for (uint32_t row = 0; row < ROWS; row++) {
            const float *x = data_of(&b, 0, row), *y = out_of(&b, row);
            for (uint32_t c = 0; c < 4; c++) { /* the filter lies over all of the image wherever it is put */
                float sum = x[c], max = x[c];
                for (uint32_t i = 1; i < 6; i++) {
                    sum += x[i * 4 + c];
                    max = x[i * 4 + c] > max ? x[i * 4 + c] : max;
                }
                for (uint32_t i = 0; i < 6; i++)
                    assert_true(y[i * 4 + c] == (k == 0 ? sum / 6.0f : max));
            }
        }
        end(&b);
    }
}

static void test_rows(void **state)
{
    (void)state;
    bench b;
    cpu_kernels k;
    cpu_kernels_init(&k, 0);
    begin(&b, OP_ROPE); /* [tokens, heads, d], cos and sin [tokens, 1, d] */
    IN(GRAPH_F32, 3, 2, 8);
    IN(GRAPH_F32, 3, 1, 8);
    SHARED(GRAPH_F32, 8);
    OUT(GRAPH_F32, 3, 2, 8);
    run(&b);
    for (int i = 0; i < 48; i++) {
        const float *x = data_of(&b, 0, 2), *c = data_of(&b, 1, 2), *s = data_of(&b, 2, 2);
        const int row = i / 8 * 8, d = i % 8;
        const float other = d < 4 ? -x[row + d + 4] : x[row + d - 4];
        assert_true(((float *)out_of(&b, 2))[i] == x[i] * c[i / 16 * 8 + d] + other * s[d]);
    }
    end(&b);
    begin(&b, OP_GATED_UNIT);
    b.node.a.kind = 1;
    IN(GRAPH_F32, 50);
    IN(GRAPH_F32, 50);
    OUT(GRAPH_F32, 50);
    run(&b);
    for (int i = 0; i < 50; i++) {
        const float g = ((float *)data_of(&b, 0, 0))[i], l = mathf_logistic(g), silu = g * l;
        assert_true(((float *)out_of(&b, 0))[i] == silu * ((float *)data_of(&b, 1, 0))[i]);
    }
    end(&b);
    begin(&b, OP_RMS_NORM);
    b.node.a.epsilon = 1e-6f;
    IN(GRAPH_F32, 3, 40);
    SHARED(GRAPH_F32, 40);
    OUT(GRAPH_F32, 3, 40);
    run(&b);
    float want[40];
    k.vec.rms_norm((float *)data_of(&b, 0, 2) + 80, data_of(&b, 1, 0), 1e-6f, want, 40);
    assert_memory_equal((float *)out_of(&b, 2) + 80, want, sizeof want);
    end(&b);
}

/* The recurrence in double precision. */
static void delta_reference(int t, int hk, int hv, int dk, int dv, const float *const in[6], double *o, double *s)
{
    for (int h = 0; h < hv; h++)
        for (int i = 0; i < t; i++) {
            const int key = h / (hv / hk) * t + i;
            const float *q = in[0] + key * dk, *k = in[1] + key * dk, *v = in[2] + (h * t + i) * dv;
            double *state = s + h * dk * dv;
            for (int j = 0; j < dk * dv; j++)
                state[j] *= exp((double)in[4][h * t + i]);
            for (int j = 0; j < dv; j++) {
                double m = 0, out = 0;
                for (int r = 0; r < dk; r++)
                    m += (double)k[r] * state[r * dv + j];
                const double d = ((double)v[j] - m) * (double)in[3][h * t + i];
                for (int r = 0; r < dk; r++) {
                    state[r * dv + j] += (double)k[r] * d;
                    out += (double)q[r] * state[r * dv + j];
                }
                o[(h * t + i) * dv + j] = out;
            }
        }
}

static void test_gated_delta(void **state)
{
    (void)state;
    enum { T = 7, HK = 2, HV = 4, DK = 16, DV = 43 };
    bench b;
    begin(&b, OP_GATED_DELTA);
    b.node.a.state = GRAPH_NONE;
    IN(GRAPH_F32, 1, HK, T, DK);
    IN(GRAPH_F32, 1, HK, T, DK);
    IN(GRAPH_F32, 1, HV, T, DV);
    IN(GRAPH_F32, 1, HV, T);
    IN(GRAPH_F32, 1, HV, T);
    IN(GRAPH_F32, 1, HV, DK, DV);
    OUT(GRAPH_F32, 1, HV, T, DV);
    OUT(GRAPH_F32, 1, HV, DK, DV);
    for (uint32_t r = 0; r < ROWS; r++) {
        for (int i = 0; i < HK * T * DK; i++)
            ((float *)data_of(&b, 1, r))[i] *= 0.1f;
        for (int i = 0; i < HV * T; i++) {
            ((float *)data_of(&b, 3, r))[i] = 0.5f + 0.1f * ((float *)data_of(&b, 3, r))[i];
            ((float *)data_of(&b, 4, r))[i] = -0.3f * fabsf(((float *)data_of(&b, 4, r))[i]);
        }
    }
    run(&b);
    static double o[HV * T * DV], s[HV * DK * DV];
    const float *in[6];
    for (uint32_t i = 0; i < 6; i++)
        in[i] = data_of(&b, i, 2);
    for (int i = 0; i < HV * DK * DV; i++)
        s[i] = in[5][i];
    delta_reference(T, HK, HV, DK, DV, in, o, s);
    for (int i = 0; i < HV * T * DV; i++)
        assert_true(fabs(((float *)out_of(&b, 2))[i] - o[i]) < 2e-4);
    for (int i = 0; i < HV * DK * DV; i++)
        assert_true(fabs(((float *)data_of(&b, 7, 2))[i] - s[i]) < 2e-5);
    end(&b);
}

/* The inverse of 1 - A: times 1 - A it is 1. */
static void test_tril_inv(void **state)
{
    (void)state;
    enum { N = 11 };
    bench b;
    begin(&b, OP_GDN_TRIL_INV);
    IN(GRAPH_F32, 2, N, N);
    OUT(GRAPH_F32, 2, N, N);
    for (uint32_t r = 0; r < ROWS; r++)
        for (int i = 0; i < 2 * N * N; i++)
            ((float *)data_of(&b, 0, r))[i] *= i / N % N > i % N ? 0.2f : 0.0f;
    run(&b);
    const float *a = (float *)data_of(&b, 0, 1) + N * N, *y = (float *)out_of(&b, 1) + N * N;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < N; k++)
                sum += (double)y[i * N + k] * ((k == j ? 1.0 : 0.0) - (double)a[k * N + j]);
            assert_true(fabs(sum - (i == j)) < 1e-5);
        }
    end(&b);
}

static void test_refusals(void **state)
{
    (void)state;
    cpu_kernels k;
    lithe_error err;
    bench b;
    cpu_kernels_init(&k, 0);
    begin(&b, OP_ADD);
    IN(GRAPH_F32, 2);
    IN(GRAPH_I32, 2);
    OUT(GRAPH_F32, 2);
    b.node.source = 17;
    op_call c = call_of(&b, &k);
    assert_int_equal(op_prepare(&c, &err), LITHE_E_UNSUPPORTED);
    assert_string_equal(err.message,
                        "signature 'test', node 17 (ADD): no CPU kernel for f32, i32 -> f32: types differ");
    assert_int_equal(err.node, 17);
    b.node.op = OP_ATTENTION;
    assert_int_equal(op_prepare(&c, &err), LITHE_E_UNSUPPORTED);
    b.node.op = OP_EXP;
    b.tensors[0].type = GRAPH_I32;
    b.tensors[2].type = GRAPH_I32;
    assert_int_equal(op_prepare(&c, &err), LITHE_E_UNSUPPORTED);
    b.node.op = OP_TRANSPOSE;
    b.tensors[0].type = GRAPH_I4;
    b.tensors[2].type = GRAPH_I4;
    assert_int_equal(op_prepare(&c, &err), LITHE_E_UNSUPPORTED);
    b.node.op = OP_ADD;
    b.tensors[0].type = b.tensors[1].type = b.tensors[2].type = GRAPH_F32;
    b.tensors[1].data = (const char *)data_of(&b, 1, 0) + 1;
    assert_int_equal(op_prepare(&c, &err), LITHE_E_UNSUPPORTED);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_select),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_cast),
        cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_slice),
        cmocka_unit_test(test_pad_and_tile),
        cmocka_unit_test(test_join_and_part),
        cmocka_unit_test(test_update_slice),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_batch_matmul),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_pool_with_a_huge_filter),
        cmocka_unit_test(test_gated_delta),
        cmocka_unit_test(test_tril_inv),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
