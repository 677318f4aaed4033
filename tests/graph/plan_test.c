/* plan_create: live values never share storage, tails are found, reshapes cost nothing, states are updated where they lie. */
#include "graph/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    arena arena;
    graph g;
} fixture;

static void begin(fixture *f)
{
    memset(f, 0, sizeof *f);
    arena_init(&f->arena, 0);
    f->g.arena = &f->arena;
    f->g.signature = "decode";
    f->g.inputs = ARENA_ARRAY(&f->arena, graph_input, 8);
    f->g.outputs = ARENA_ARRAY(&f->arena, graph_output, 8);
    f->g.states = ARENA_ARRAY(&f->arena, graph_state, 8);
}

static uint32_t tensor(fixture *f, int32_t elements)
{
    uint32_t t = graph_add_tensor(&f->g, "t", GRAPH_F32, 1, &elements);
    assert_int_not_equal(t, GRAPH_NONE);
    return t;
}

static uint32_t input(fixture *f, int32_t elements, graph_role role)
{
    uint32_t t = tensor(f, elements);
    f->g.inputs[f->g.n_inputs++] = (graph_input){.name = "in", .tensor = t, .role = role};
    return t;
}

static uint32_t node(fixture *f, graph_op op, uint32_t a, uint32_t b, int32_t elements)
{
    uint32_t in[2] = {a, b}, out = tensor(f, elements);
    graph_node *n = graph_add_node(&f->g, op, in, b == GRAPH_NONE ? 1 : 2, &out, 1);
    assert_non_null(n);
    n->a.state = GRAPH_NONE;
    return out;
}

static void output(fixture *f, uint32_t t)
{
    f->g.outputs[f->g.n_outputs++] = (graph_output){.name = "out", .tensor = t, .state = GRAPH_NONE};
}

static void make(fixture *f, plan *p, bool any_length)
{
    graph_index(&f->g);
    assert_int_equal(plan_create(p, &f->g, any_length, NULL), LITHE_OK);
}

/* Walks the steps and checks, step by step, that no value is written over one that a later step (or an output) still reads. */
static void check_no_overlap(const plan *p)
{
    const graph *g = p->graph;
    for (uint32_t s = 0; s < p->n_steps; s++) {
        const graph_node *n = &g->nodes[p->steps[s].node];
        for (uint32_t o = 0; o < n->n_outputs; o++) {
            const plan_value *w = &p->values[n->outputs[o]];
            if (w->place != PLAN_ARENA)
                continue;
            for (uint32_t t = 0; t < g->n_tensors; t++) {
                const plan_value *v = &p->values[t];
                if (v->place != PLAN_ARENA || v->tail != w->tail || t == n->outputs[o])
                    continue;
                /* t is live at s: written before s, read at s or later */
                bool before = false, after = false;
                for (uint32_t k = 0; k < p->n_steps; k++) {
                    const graph_node *m = &g->nodes[p->steps[k].node];
                    for (uint32_t i = 0; i < m->n_outputs; i++)
                        before |= k < s && m->outputs[i] == t;
                    for (uint32_t i = 0; i < m->n_inputs; i++)
                        after |= k >= s && m->inputs[i] == t;
                }
                for (uint32_t i = 0; i < g->n_outputs; i++)
                    after |= g->outputs[i].tensor == t;
                if (!before || !after)
                    continue;
                assert_true(w->offset + w->row_bytes <= v->offset || v->offset + v->row_bytes <= w->offset);
            }
        }
    }
}

static void live_values_never_overlap(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 40; seed++) {
        fixture f;
        plan p;
        uint32_t r = seed * 2654435761u, made[64], n = 0;
        begin(&f);
        made[n++] = input(&f, 16, GRAPH_IN_OTHER);
        for (int i = 0; i < 60; i++) {
            r = r * 1664525u + 1013904223u;
            uint32_t a = made[(r >> 8) % n], b = made[(r >> 16) % n];
            made[n++] = node(&f, OP_ADD, a, b, (int32_t)(1 + (r >> 4) % 100));
        }
        output(&f, made[n - 1]);
        output(&f, made[n / 2]);
        make(&f, &p, false);
        check_no_overlap(&p);
        uint64_t all = 0;
        for (uint32_t t = 0; t < f.g.n_tensors; t++)
            if (p.values[t].place == PLAN_ARENA)
                all += p.values[t].row_bytes;
        assert_true(p.arena_bytes < all);  /* storage is reused */
        assert_int_equal(p.tail_bytes, 0); /* as exported nothing is a tail */
        arena_fini(&f.arena);
    }
}

static void a_chain_needs_two_values(void **state)
{
    (void)state;
    fixture f;
    plan p;
    begin(&f);
    uint32_t x = input(&f, 16, GRAPH_IN_OTHER);
    for (int i = 0; i < 50; i++)
        x = node(&f, OP_EXP, x, GRAPH_NONE, 16);
    output(&f, x);
    make(&f, &p, false);
    assert_int_equal(p.arena_bytes, 2 * 64);
    arena_fini(&f.arena);
}

static void reshapes_have_no_step_and_no_storage(void **state)
{
    (void)state;
    fixture f;
    plan p;
    begin(&f);
    uint32_t x = node(&f, OP_EXP, input(&f, 16, GRAPH_IN_OTHER), GRAPH_NONE, 16);
    uint32_t y = node(&f, OP_RESHAPE, x, GRAPH_NONE, 16), z = node(&f, OP_NEG, y, GRAPH_NONE, 16);
    output(&f, z);
    make(&f, &p, false);
    assert_int_equal(p.n_steps, 2);
    assert_int_equal(p.values[y].place, PLAN_ARENA);
    assert_int_equal(p.values[y].offset, p.values[x].offset);
    assert_true(p.values[z].offset != p.values[x].offset);
    arena_fini(&f.arena);
}

/* in -> a (feeds keys and values) -> attention -> b -> out: a is needed for all rows, attention's output and b only for wanted ones. */
static void what_no_state_needs_is_tail(void **state)
{
    (void)state;
    fixture f;
    plan p;
    begin(&f);
    uint32_t x = input(&f, 16, GRAPH_IN_EMBEDDINGS);
    uint32_t q = node(&f, OP_NEG, x, GRAPH_NONE, 16), a = node(&f, OP_EXP, x, GRAPH_NONE, 16);
    uint32_t in[3] = {q, a, a}, out = tensor(&f, 16);
    f.g.n_states = 2;
    for (int i = 0; i < 2; i++)
        f.g.states[i] = (graph_state){.name = "s", .owned = true, .input = x, .output = GRAPH_NONE};
    graph_node *n = graph_add_node(&f.g, OP_ATTENTION, in, 3, &out, 1);
    n->a.v_state = 1;
    uint32_t b = node(&f, OP_SIN, out, GRAPH_NONE, 16);
    output(&f, b);
    make(&f, &p, true);
    assert_false(p.values[a].tail);
    assert_true(p.values[q].tail);
    assert_true(p.values[out].tail);
    assert_true(p.values[b].tail);
    assert_true(p.tail_bytes >= 2 * 64);
    arena_fini(&f.arena);
}

static fixture *state_fixture(fixture *f, uint32_t *state_in)
{
    begin(f);
    *state_in = input(f, 64, GRAPH_IN_STATE);
    f->g.states[0] = (graph_state){.name = "kv", .input = *state_in, .output = GRAPH_NONE};
    f->g.n_states = 1;
    return f;
}

static void a_state_slice_is_updated_in_place(void **state)
{
    (void)state;
    fixture f;
    plan p;
    uint32_t s;
    state_fixture(&f, &s);
    uint32_t x = input(&f, 16, GRAPH_IN_OTHER);
    uint32_t updated = node(&f, OP_DYNAMIC_UPDATE_SLICE, s, x, 64);
    f.g.states[0].output = updated;
    output(&f, node(&f, OP_EXP, updated, GRAPH_NONE, 64));
    make(&f, &p, false);
    assert_int_equal(p.values[updated].place, PLAN_STATE);
    assert_int_equal(p.n_commits, 0);
    arena_fini(&f.arena);
}

static void another_reader_of_the_old_state_forces_a_copy(void **state)
{
    (void)state;
    fixture f;
    plan p;
    uint32_t s;
    state_fixture(&f, &s);
    uint32_t x = input(&f, 16, GRAPH_IN_OTHER);
    uint32_t updated = node(&f, OP_DYNAMIC_UPDATE_SLICE, s, x, 64), old = node(&f, OP_EXP, s, GRAPH_NONE, 64);
    f.g.states[0].output = updated;
    output(&f, node(&f, OP_ADD, updated, old, 64));
    make(&f, &p, false);
    assert_int_equal(p.values[updated].place, PLAN_ARENA);
    assert_int_equal(p.n_commits, 1);
    assert_int_equal(p.commits[0].state, 0);
    arena_fini(&f.arena);
}

/* Within a scan group rows follow one another: nothing that the group makes or reads may share storage. */
static void a_scan_group_shares_nothing(void **state)
{
    (void)state;
    fixture f;
    plan p;
    uint32_t s;
    state_fixture(&f, &s);
    uint32_t x = node(&f, OP_EXP, input(&f, 64, GRAPH_IN_OTHER), GRAPH_NONE, 64);
    uint32_t t[5];
    t[0] = node(&f, OP_ADD, s, x, 64);
    for (int i = 1; i < 5; i++)
        t[i] = node(&f, OP_NEG, t[i - 1], GRAPH_NONE, 64);
    for (uint32_t i = 1; i < f.g.n_nodes; i++)
        f.g.nodes[i].scan = 1;
    f.g.states[0].output = t[4];
    output(&f, t[2]);
    make(&f, &p, true);
    for (int i = 0; i < 5; i++) {
        assert_false(p.values[t[i]].tail);
        assert_true(p.values[t[i]].offset != p.values[x].offset);
        for (int k = 0; k < i; k++)
            assert_true(p.values[t[i]].offset != p.values[t[k]].offset);
    }
    assert_int_equal(p.n_commits, 1);
    assert_int_equal(p.commits[0].scan, 1);
    arena_fini(&f.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(live_values_never_overlap),
        cmocka_unit_test(a_chain_needs_two_values),
        cmocka_unit_test(reshapes_have_no_step_and_no_storage),
        cmocka_unit_test(what_no_state_needs_is_tail),
        cmocka_unit_test(a_state_slice_is_updated_in_place),
        cmocka_unit_test(another_reader_of_the_old_state_forces_a_copy),
        cmocka_unit_test(a_scan_group_shares_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
