/* Buffers, transfers, tickets and launches on a device, with plans made by hand. */
#include "rt_fixture.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hand_plan.h"

static void pool_transfers(void **state)
{
    const uint64_t bytes[] = {1000, 0, 4099};
    unsigned char out[4099], in[300];
    struct claret_rt *rt = fixture_open(NULL, NULL);
    struct claret_pool *pool;
    struct claret_ticket *ticket = NULL;
    (void)state;
    WORKS(claret_pool_create(rt, bytes, 3, &pool));
    assert_null(claret_pool_memory(pool, 0));
    memset(out, 1, sizeof out);
    WORKS(claret_pool_read(pool, 2, 0, 4099, out));
    for (int i = 0; i < 4099; i++)
        assert_int_equal(out[i], 0);
    for (int i = 0; i < 300; i++)
        in[i] = (unsigned char)(i * 7 + 1);
    WORKS(claret_pool_write(pool, 2, 4099 - 300, 300, in));
    WORKS(claret_pool_upload(pool, 0, 13, 300, in, NULL, &ticket));
    WORKS(claret_ticket_wait(ticket));
    WORKS(claret_pool_read(pool, 2, 3000, 1099, out));
    for (int i = 0; i < 1099; i++)
        assert_int_equal(out[i], i < 799 ? 0 : in[i - 799]);
    WORKS(claret_pool_read(pool, 0, 0, 1000, out));
    for (int i = 0; i < 1000; i++)
        assert_int_equal(out[i], i < 13 || i >= 313 ? 0 : in[i - 13]);
    WORKS(claret_pool_read(pool, 1, 0, 0, out));
    WORKS(claret_ticket_wait(NULL));
    claret_ticket_drop(NULL);
    WORKS(claret_pool_upload(pool, 0, 0, 300, in, NULL, &ticket));
    claret_ticket_drop(ticket);
    WORKS(claret_rt_finish(rt));
    claret_pool_destroy(pool);
    claret_rt_close(rt);
}

static void pool_refuses(void **state)
{
    const uint64_t bytes[] = {64}, huge[] = {64, UINT64_C(1) << 50};
    char data[64];
    struct claret_rt *rt = fixture_open(NULL, NULL);
    struct claret_pool *pool, *none = NULL;
    struct claret_ticket *ticket = NULL;
    (void)state;
    WORKS(claret_pool_create(rt, bytes, 1, &pool));
    assert_int_equal(claret_pool_read(pool, 0, 60, 5, data), CLARET_INTERNAL);
    assert_int_equal(claret_pool_write(pool, 1, 0, 5, data), CLARET_INTERNAL);
    assert_int_equal(claret_pool_write(pool, 0, UINT64_MAX, 2, data), CLARET_INTERNAL);
    assert_int_equal(claret_pool_upload(pool, 0, 1, 64, data, NULL, &ticket), CLARET_INTERNAL);
    assert_null(ticket);
    claret_error_clear();
    assert_int_equal(claret_pool_create(rt, huge, 2, &none), CLARET_DEVICE_MEMORY);
    assert_null(none);
    assert_non_null(strstr(claret_error(), "1125899906842624 bytes"));
    claret_pool_destroy(pool);
    claret_pool_destroy(NULL);
    claret_rt_close(rt);
    claret_rt_close(NULL);
}

/* ---- kernels ------------------------------------------------------------------------------------------- */

static const char scale_source[] =
    "__kernel void scale(CONST_TENSOR(float, x), TENSOR(float, y), int n, float factor)\n"
    "{\n"
    "    USE_CONST(float, x);\n"
    "    USE(float, y);\n"
    "    const int i = get_global_id(0);\n"
    "    if (i < n)\n"
    "        y[i] = x[i] * factor + ADD + COUNT;\n"
    "}\n";

/* y = x * factor + 0.1f + 3, x a view inside a tensor, y from an element of its tensor on. */
static struct claret_kernel_call *add_scale(struct hand_plan *hand, int x, int y, int64_t y_offset, int n)
{
    struct claret_kernel_call *call = hand_kernel(hand, "test scale", "scale", "scale");
    hand_define_float(call, "ADD", 0.1f);
    hand_define(call, "COUNT", 3);
    hand_arg_tensor(call, x, 0);
    hand_arg_tensor(call, y, y_offset);
    hand_arg_int(call, n);
    hand_arg_float(call, 2.0f);
    call->items[0] = (size_t)n;
    return call;
}

static void kernel_places(void **state)
{
    enum { ELEMENTS = 400, N = 77 };
    static const size_t wishes[] = {0, 1, 7, 64, 100000};
    const uint64_t bytes[] = {ELEMENTS * sizeof(float), 16};
    float before[ELEMENTS], after[ELEMENTS];
    struct claret_rt *rt = fixture_open(NULL, fixture_kernels);
    struct claret_pool *pool;
    (void)state;
    fixture_kernel("scale.cl", scale_source);
    WORKS(claret_pool_create(rt, bytes, 2, &pool));
    for (int i = 0; i < ELEMENTS; i++)
        before[i] = (float)i - 50.0f;
    for (size_t w = 0; w < sizeof wishes / sizeof *wishes; w++) {
        struct hand_plan hand;
        struct claret_exec *exec;
        int x, y;
        hand_init(&hand);
        x = hand_view(&hand, hand_view(&hand, hand_tensor(&hand, CLARET_DTYPE_F32, 120, 0, 128), 10, 110), 7,
                      N);
        y = hand_tensor(&hand, CLARET_DTYPE_F32, 100, 0, 1024);
        add_scale(&hand, x, y, 11, N)->local[0] = wishes[w];
        WORKS(claret_exec_create(pool, &hand.plan, &exec));
        assert_int_equal(claret_exec_runs(exec), -1);
        WORKS(claret_pool_write(pool, 0, 0, sizeof before, before));
        WORKS(claret_exec_run(exec, NULL, NULL));
        WORKS(claret_pool_read(pool, 0, 0, sizeof after, after));
        for (int i = 0; i < ELEMENTS; i++) {
            int at = i - (1024 / 4 + 11);
            float wanted = at < 0 || at >= N ? before[i] : before[32 + 10 + 7 + at] * 2.0f + 0.1f + 3.0f;
            assert_true(after[i] == wanted);
        }
        claret_exec_destroy(exec);
    }
    claret_pool_destroy(pool);
    claret_rt_close(rt);
}

static void kernel_bad_places(void **state)
{
    const uint64_t bytes[] = {1024};
    struct claret_rt *rt = fixture_open(NULL, fixture_kernels);
    struct claret_pool *pool;
    (void)state;
    fixture_kernel("scale.cl", scale_source);
    WORKS(claret_pool_create(rt, bytes, 1, &pool));
    for (int fault = 0; fault < 4; fault++) {
        struct hand_plan hand;
        struct claret_exec *exec = NULL;
        int x, y;
        hand_init(&hand);
        x = hand_tensor(&hand, CLARET_DTYPE_F32, 16, 0, fault == 0 ? 1000 : 0);
        y = hand_tensor(&hand, CLARET_DTYPE_F32, 16, fault == 1 ? 3 : 0, fault == 2 ? 130 : 128);
        add_scale(&hand, x, y, fault == 3 ? 17 : 0, 1);
        claret_error_clear();
        assert_int_equal(claret_exec_create(pool, &hand.plan, &exec), CLARET_INTERNAL);
        assert_non_null(strstr(claret_error(), "test scale"));
        assert_null(exec);
    }
    claret_pool_destroy(pool);
    claret_rt_close(rt);
}

static void fixed_groups(void **state)
{
    const uint64_t bytes[] = {1 << 16};
    struct claret_rt *rt = fixture_open(NULL, fixture_kernels);
    struct claret_pool *pool;
    struct claret_exec *exec = NULL;
    struct hand_plan hand;
    struct claret_kernel_call *call;
    (void)state;
    fixture_kernel("scale.cl", scale_source);
    WORKS(claret_pool_create(rt, bytes, 1, &pool));
    hand_init(&hand);
    hand_tensor(&hand, CLARET_DTYPE_F32, 16, 0, 0);
    hand_tensor(&hand, CLARET_DTYPE_F32, 16, 0, 64);
    call = add_scale(&hand, 0, 1, 0, 16);
    call->fixed = true;
    call->local[0] = 1 << 20;
    assert_int_equal(claret_exec_create(pool, &hand.plan, &exec), CLARET_OPENCL);
    assert_null(exec);
    assert_non_null(strstr(claret_error(), "test scale"));
    assert_non_null(strstr(claret_error(), "1048576x1x1"));
    claret_error_clear();
    call->local[0] = 1;
    WORKS(claret_exec_create(pool, &hand.plan, &exec));
    WORKS(claret_exec_run(exec, NULL, NULL));
    WORKS(claret_rt_finish(rt));
    claret_exec_destroy(exec);
    claret_exec_destroy(NULL);
    claret_pool_destroy(pool);
    claret_rt_close(rt);
}

/* The next input is uploaded to one slot while a step reads the other, as training does it. */
static void uploads_and_steps(void **state)
{
    enum { N = 1000, STEPS = 60 };
    static const char source[] =
        "__kernel void add(CONST_TENSOR(float, x), TENSOR(float, sum), TENSOR(int, step), int n)\n"
        "{\n"
        "    USE_CONST(float, x);\n"
        "    USE(float, sum);\n"
        "    USE(int, step);\n"
        "    const int i = get_global_id(0);\n"
        "    if (i < n)\n"
        "        sum[i] = sum[i] * 0.5f + x[(step[0] & 1) * n + i];\n"
        "}\n"
        "__kernel void advance(TENSOR(int, step))\n"
        "{\n"
        "    USE(int, step);\n"
        "    step[0]++;\n"
        "}\n";
    const uint64_t bytes[] = {2 * N * sizeof(float), N * sizeof(float), 64};
    static float input[2][N], sums[N], wanted[N];
    struct claret_ticket *uploaded = NULL, *done[2] = {NULL, NULL};
    struct claret_rt *rt = fixture_open(NULL, fixture_kernels);
    struct claret_pool *pool;
    struct claret_exec *exec;
    struct claret_kernel_call *call;
    struct hand_plan hand;
    (void)state;
    fixture_kernel("add.cl", source);
    WORKS(claret_pool_create(rt, bytes, 3, &pool));
    hand_init(&hand);
    hand_tensor(&hand, CLARET_DTYPE_F32, 2 * N, 0, 0);
    hand_tensor(&hand, CLARET_DTYPE_F32, N, 1, 0);
    hand_tensor(&hand, CLARET_DTYPE_I32, 1, 2, 0);
    call = hand_kernel(&hand, "test add", "add", "add");
    hand_arg_tensor(call, 0, 0);
    hand_arg_tensor(call, 1, 0);
    hand_arg_tensor(call, 2, 0);
    hand_arg_int(call, N);
    call->items[0] = N;
    call->local[0] = 64;
    hand_arg_tensor(hand_kernel(&hand, "test advance", "add", "advance"), 2, 0);
    WORKS(claret_exec_create(pool, &hand.plan, &exec));
    for (int s = 0; s < STEPS; s++) {
        int slot = s & 1;
        if (s >= 2) { /* the slot's last step is over, so is its upload: the host may write there */
            WORKS(claret_ticket_wait(done[slot]));
            done[slot] = NULL;
        }
        for (int i = 0; i < N; i++) {
            input[slot][i] = (float)((s * 31 + i * 7) % 17) - 8.0f;
            wanted[i] = wanted[i] * 0.5f + input[slot][i];
        }
        WORKS(claret_pool_upload(pool, 0, (uint64_t)slot * N * sizeof(float), sizeof input[slot], input[slot],
                                 done[slot], &uploaded));
        WORKS(claret_exec_run(exec, uploaded, &done[slot]));
        claret_ticket_drop(uploaded);
    }
    WORKS(claret_ticket_wait(done[0]));
    claret_ticket_drop(done[1]);
    WORKS(claret_pool_read(pool, 1, 0, sizeof sums, sums));
    for (int i = 0; i < N; i++)
        assert_true(sums[i] == wanted[i]);
    claret_exec_destroy(exec);
    claret_pool_destroy(pool);
    claret_rt_close(rt);
}

static void nothing_to_run(void **state)
{
    const uint64_t bytes[] = {64};
    char data[64] = {5};
    struct claret_rt *rt = fixture_open(NULL, NULL);
    struct claret_pool *pool;
    struct claret_exec *exec;
    struct claret_ticket *uploaded, *done;
    struct hand_plan hand;
    (void)state;
    hand_init(&hand);
    WORKS(claret_pool_create(rt, bytes, 1, &pool));
    WORKS(claret_exec_create(pool, &hand.plan, &exec));
    WORKS(claret_pool_upload(pool, 0, 0, 64, data, NULL, &uploaded));
    WORKS(claret_exec_run(exec, uploaded, &done));
    WORKS(claret_ticket_wait(done));
    WORKS(claret_ticket_wait(uploaded));
    claret_exec_destroy(exec);
    claret_pool_destroy(pool);
    claret_rt_close(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(pool_transfers, fixture_no_objects),
        cmocka_unit_test_teardown(pool_refuses, fixture_no_objects),
        cmocka_unit_test_teardown(kernel_places, fixture_no_objects),
        cmocka_unit_test_teardown(kernel_bad_places, fixture_no_objects),
        cmocka_unit_test_teardown(fixed_groups, fixture_no_objects),
        cmocka_unit_test_teardown(uploads_and_steps, fixture_no_objects),
        cmocka_unit_test_teardown(nothing_to_run, fixture_no_objects),
    };
    int failed = fixture_begin();
    if (failed)
        return failed;
    failed = cmocka_run_group_tests_name("rt", tests, NULL, NULL);
    fixture_end();
    return failed;
}
