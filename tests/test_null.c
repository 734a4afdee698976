/* The null run time: memory that is the host's, runs that are counted, places checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "hand_plan.h"
#include "rt/rt.h"

static void memory(void **state)
{
    const uint64_t bytes[] = {100, 0};
    const struct claret_device_desc *desc;
    struct claret_rt *rt;
    struct claret_pool *pool;
    struct claret_ticket *ticket;
    char data[100], *at;
    (void)state;
    assert_int_equal(claret_rt_open_null(NULL, &rt), CLARET_OK);
    desc = claret_rt_device(rt);
    assert_true(desc->clblast && desc->max_alloc > 0);
    assert_int_equal(claret_rt_probe_gemm(rt), CLARET_OK);
    assert_true(desc->clblast);
    assert_int_equal(claret_pool_create(rt, bytes, 2, &pool), CLARET_OK);
    at = claret_pool_memory(pool, 0);
    assert_non_null(at);
    assert_null(claret_pool_memory(pool, 1));
    assert_null(claret_pool_memory(pool, 2));
    for (int i = 0; i < 100; i++)
        assert_int_equal(at[i], 0);
    assert_int_equal(claret_pool_write(pool, 0, 10, 3, "abc"), CLARET_OK);
    assert_int_equal(claret_pool_upload(pool, 0, 13, 3, "def", NULL, &ticket), CLARET_OK);
    assert_int_equal(claret_ticket_wait(ticket), CLARET_OK);
    assert_memory_equal(at + 10, "abcdef", 6);
    assert_int_equal(claret_pool_read(pool, 0, 12, 2, data), CLARET_OK);
    assert_memory_equal(data, "cd", 2);
    assert_int_equal(claret_pool_read(pool, 0, 99, 2, data), CLARET_INTERNAL);
    claret_pool_destroy(pool);
    claret_rt_close(rt);
}

static void runs(void **state)
{
    struct claret_device_desc desc;
    const uint64_t bytes[] = {4096, 64};
    struct claret_gemm_call gemm = {.m = 2, .n = 2, .k = 2, .alpha = 1, .workspace = -1};
    struct claret_rt *rt;
    struct claret_pool *pool;
    struct claret_exec *exec;
    struct claret_ticket *first, *second;
    struct claret_text report = {0};
    struct hand_plan hand;
    double seconds[2] = {1, 1};
    bool wall[2] = {false, false};
    (void)state;
    claret_device_desc_default(&desc);
    desc.clblast = false;
    desc.name = "of the test";
    assert_int_equal(claret_rt_open_null(&desc, &rt), CLARET_OK);
    assert_string_equal(claret_rt_device(rt)->name, "of the test");
    assert_false(claret_rt_device(rt)->clblast);
    assert_int_equal(claret_rt_gemm_workspace(rt, &gemm), 0);
    hand_init(&hand);
    hand_tensor(&hand, CLARET_DTYPE_F32, 16, 0, 0);
    hand_arg_tensor(hand_kernel(&hand, "kernel", "none", "none"), 0, 4);
    gemm.a.ld = gemm.b.ld = gemm.c.ld = 2;
    hand_gemm(&hand, &gemm);
    assert_int_equal(claret_pool_create(rt, bytes, 2, &pool), CLARET_OK);
    assert_int_equal(claret_exec_create(pool, &hand.plan, &exec), CLARET_OK);
    assert_int_equal(claret_exec_runs(exec), 0);
    assert_int_equal(claret_exec_run(exec, NULL, &first), CLARET_OK);
    assert_int_equal(claret_exec_run(exec, first, &second), CLARET_OK);
    assert_int_equal(claret_exec_run(exec, second, NULL), CLARET_OK);
    assert_int_equal(claret_exec_runs(exec), 3);
    claret_ticket_drop(first);
    assert_int_equal(claret_ticket_wait(second), CLARET_OK);
    assert_int_equal(claret_exec_run_profiled(exec, seconds, wall), CLARET_OK);
    assert_int_equal(claret_exec_runs(exec), 4);
    assert_true(seconds[0] == 0 && seconds[1] == 0 && wall[0] && wall[1]);
    assert_int_equal(claret_rt_finish(rt), CLARET_OK);
    claret_rt_report(rt, &report);
    assert_string_equal(report.data, "programs: 0 used, 0 from cache, 0 built");
    claret_text_drop(&report);
    claret_exec_destroy(exec);
    claret_pool_destroy(pool);
    claret_rt_close(rt);
    assert_int_equal(claret_live_objects(), 0);
}

static void bad_places(void **state)
{
    const uint64_t bytes[] = {4096, 64};
    struct claret_rt *rt;
    struct claret_pool *pool;
    (void)state;
    assert_int_equal(claret_rt_open_null(NULL, &rt), CLARET_OK);
    assert_int_equal(claret_pool_create(rt, bytes, 2, &pool), CLARET_OK);
    for (int fault = 0; fault < 5; fault++) {
        struct claret_gemm_call gemm = {.m = 2, .n = 2, .k = 2, .alpha = 1, .a.ld = 2, .b.ld = 2, .c.ld = 2};
        struct claret_exec *exec = NULL;
        struct hand_plan hand;
        int view;
        hand_init(&hand);
        hand_tensor(&hand, CLARET_DTYPE_F32, 16, 0, 0);
        view = hand_view(&hand, 0, fault == 0 ? 17 : 4, 4);
        hand_arg_tensor(hand_kernel(&hand, "the kernel", "none", "none"), fault == 1 ? 99 : view, 0);
        gemm.a.tensor = gemm.b.tensor = gemm.c.tensor = view;
        gemm.workspace = hand_tensor(&hand, CLARET_DTYPE_U8, 16, fault == 2 ? 2 : 1,
                                     fault == 3   ? 60
                                     : fault == 4 ? 16
                                                  : 0);
        hand_gemm(&hand, &gemm);
        claret_error_clear();
        assert_int_equal(claret_exec_create(pool, &hand.plan, &exec), CLARET_INTERNAL);
        assert_non_null(strstr(claret_error(), fault < 2 ? "the kernel" : "clblast gemm"));
        assert_null(exec);
    }
    claret_pool_destroy(pool);
    claret_rt_close(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory),
        cmocka_unit_test(runs),
        cmocka_unit_test(bad_places),
    };
    return cmocka_run_group_tests_name("null", tests, NULL, NULL);
}
