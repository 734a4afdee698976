/* Properties of plans, over all op cases and several devices that do not exist. Host only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "op_cases.h"
#include "plan/plan.h"
#include "rt/rt.h"

/* A graph and a plan of it. */
struct planned {
    struct claret_device_desc device;
    struct claret_plan_options options;
    struct claret_spec *spec;
    struct claret_graph *graph;
    struct claret_plan *plan;
};

static void begin(struct planned *planned, const struct claret_op_case *row, bool training)
{
    const struct claret_graph_options options = {
        .training = training, .optimizer.momentum = 0.9, .input_grad = training};
    *planned = (struct planned){.plan = NULL};
    claret_device_desc_default(&planned->device);
    planned->options.device = &planned->device;
    claret_error_clear();
    if (claret_op_case_graph(row, &options, &planned->spec, &planned->graph) != CLARET_OK)
        fail_msg("%s: %s", row->name, claret_error());
}

static void make(struct planned *planned)
{
    claret_error_clear();
    if (claret_plan_create(planned->graph, &planned->options, &planned->plan) != CLARET_OK)
        fail_msg("%s: %s", planned->spec->file, claret_error());
}

static void end(struct planned *planned)
{
    claret_plan_destroy(planned->plan);
    claret_graph_destroy(planned->graph);
    claret_spec_destroy(planned->spec);
}

static const struct claret_op_case *case_named(const char *name)
{
    for (int i = 0; claret_op_cases[i].name; i++)
        if (strcmp(claret_op_cases[i].name, name) == 0)
            return &claret_op_cases[i];
    fail_msg("no case %s", name);
    return NULL;
}

static char *dump(const struct claret_plan *plan)
{
    struct claret_text text = {0};
    char *result = NULL;
    claret_plan_dump(plan, &text);
    assert_int_equal(claret_text_take(&text, &result), CLARET_OK);
    return result;
}

/* ---- memory ---- */

static int root_of(const struct claret_plan *plan, int tensor)
{
    while (plan->tensors[tensor].base >= 0)
        tensor = plan->tensors[tensor].base;
    return tensor;
}

static void check_use(const struct claret_plan *plan, int launch, int tensor)
{
    if (tensor < 0)
        return;
    const struct claret_place *place = &plan->places[root_of(plan, tensor)];
    if (place->buffer < 0 || launch < place->first || launch > place->last)
        fail_msg("%s: launch %d uses %s, which lives in launches %d to %d of buffer %d",
                 plan->graph->spec->file, launch, plan->tensors[tensor].name, place->first, place->last,
                 place->buffer);
}

/* Whatever a launch uses is alive then; what the host reads lives to the end. */
static void check_lifetimes(const struct claret_plan *plan)
{
    for (int i = 0; i < plan->launch_count; i++) {
        const struct claret_launch *launch = &plan->launches[i];
        assert_true(launch->node >= 0 && launch->node < plan->graph->node_count);
        if (launch->type == CLARET_LAUNCH_GEMM) {
            check_use(plan, i, launch->gemm.a.tensor);
            check_use(plan, i, launch->gemm.b.tensor);
            check_use(plan, i, launch->gemm.c.tensor);
            check_use(plan, i, launch->gemm.workspace);
        }
        for (int j = 0; launch->type == CLARET_LAUNCH_KERNEL && j < launch->kernel.arg_count; j++)
            if (launch->kernel.arg[j].type == CLARET_ARG_TENSOR)
                check_use(plan, i, launch->kernel.arg[j].tensor);
    }
    check_use(plan, plan->launch_count, plan->graph->logits);
    check_use(plan, plan->launch_count, plan->graph->losses);
    check_use(plan, plan->launch_count, plan->graph->input_grad);
}

/* Places are aligned, inside their buffers, with the guard around them, and apart from all that is alive with
 * them. */
static void check_places(const struct claret_plan *plan, const struct claret_plan_options *options)
{
    for (int i = 0; i < plan->tensor_count; i++) {
        const struct claret_place *a = &plan->places[i];
        bool shared = plan->tensors[i].home == CLARET_HOME_GEMM;
        uint64_t guard = shared ? 0 : options->guard;
        if (a->buffer < 0 || plan->tensors[i].base >= 0)
            continue;
        if (a->buffer >= plan->buffer_count || a->offset % 128 || a->offset < guard ||
            a->offset + a->bytes + guard > plan->buffer_bytes[a->buffer])
            fail_msg("%s: %s is at %d:%d of %d bytes", plan->graph->spec->file, plan->tensors[i].name,
                     a->buffer, (int)a->offset, (int)plan->buffer_bytes[a->buffer]);
        for (int j = 0; j < i; j++) {
            const struct claret_place *b = &plan->places[j];
            if (b->buffer != a->buffer || plan->tensors[j].base >= 0 || a->last < b->first ||
                b->last < a->first)
                continue;
            if (a->offset < b->offset + b->bytes + guard && b->offset < a->offset + a->bytes + guard)
                fail_msg("%s: %s and %s overlap", plan->graph->spec->file, plan->tensors[i].name,
                         plan->tensors[j].name);
        }
    }
    for (int i = 0; i < plan->buffer_count; i++)
        assert_true(plan->buffer_bytes[i] <= options->device->max_alloc);
}

/* A view lies inside its base, at its offset. */
static void check_views(const struct claret_plan *plan)
{
    for (int i = 0; i < plan->tensor_count; i++) {
        const struct claret_place *view = &plan->places[i];
        if (plan->tensors[i].base < 0 || view->buffer < 0)
            continue;
        const struct claret_place *base = &plan->places[plan->tensors[i].base];
        assert_int_equal(view->buffer, base->buffer);
        assert_true(view->offset == base->offset + (uint64_t)plan->tensors[i].base_offset * 4);
        assert_true(view->offset + view->bytes <= base->offset + base->bytes);
    }
}

static uint64_t largest_place(const struct claret_plan *plan)
{
    uint64_t largest = 0;
    for (int i = 0; i < plan->tensor_count; i++)
        if (plan->tensors[i].base < 0 && plan->places[i].bytes > largest)
            largest = plan->places[i].bytes;
    return largest;
}

static void test_memory(void **state)
{
    (void)state;
    int several = 0;
    for (int i = 0; claret_op_cases[i].name; i++)
        for (int kind = 0; kind < 4; kind++) {
            struct planned planned;
            begin(&planned, &claret_op_cases[i], kind != 3);
            planned.options.guard = kind % 2 ? 200 : 0;
            make(&planned);
            if (kind == 2) {
                /* as little as can be allocated at once */
                planned.device.max_alloc =
                    (largest_place(planned.plan) + 127) / 128 * 128 + CLARET_PLAN_SLACK;
                planned.options.workspace_limit = CLARET_PLAN_WORKSPACE;
                claret_plan_destroy(planned.plan);
                make(&planned);
                several += planned.plan->buffer_count > CLARET_HOME_ARENA + 1;
            }
            check_lifetimes(planned.plan);
            check_places(planned.plan, &planned.options);
            check_views(planned.plan);
            end(&planned);
        }
    assert_true(several > 20);
}

/* Memory is shared: a training plan needs far less than the sum of its tensors, an evaluation less still. */
static void test_reuse(void **state)
{
    (void)state;
    struct planned training, evaluation;
    begin(&training, case_named("chain-deep"), true);
    begin(&evaluation, case_named("chain-deep"), false);
    make(&training);
    make(&evaluation);
    uint64_t sum = 0, bytes = 0;
    for (int i = 0; i < training.plan->tensor_count; i++)
        if (training.plan->places[i].buffer >= CLARET_HOME_ARENA && training.plan->tensors[i].base < 0)
            sum += training.plan->places[i].bytes;
    for (int i = CLARET_HOME_ARENA; i < training.plan->buffer_count; i++)
        bytes += training.plan->buffer_bytes[i];
    assert_true(bytes * 3 < sum * 2);
    assert_true(claret_plan_bytes(evaluation.plan) < claret_plan_bytes(training.plan));
    for (int i = 0; i < CLARET_HOME_ARENA; i++)
        bytes += training.plan->buffer_bytes[i];
    assert_true(claret_plan_bytes(training.plan) == bytes);
    assert_true(evaluation.plan->buffer_bytes[CLARET_HOME_GRADS] == 0);
    end(&training);
    end(&evaluation);
}

static void test_too_large(void **state)
{
    (void)state;
    struct planned planned;
    begin(&planned, case_named("chain-cifar"), true);
    planned.device.max_alloc = 1 << 20; /* conv1's output is 33 * 16 * 900 floats */
    assert_int_equal(claret_plan_create(planned.graph, &planned.options, &planned.plan),
                     CLARET_DEVICE_MEMORY);
    assert_non_null(strstr(claret_error(), "conv2d1 needs 1.8 MiB at batch size 33"));
    assert_non_null(strstr(claret_error(), "1.0 MiB"));
    end(&planned);
}

/* ---- launches ---- */

static void test_same_dump(void **state)
{
    (void)state;
    for (int i = 0; claret_op_cases[i].name; i++) {
        struct planned a, b;
        begin(&a, &claret_op_cases[i], true);
        begin(&b, &claret_op_cases[i], true);
        make(&a);
        make(&b);
        char *text_a = dump(a.plan), *text_b = dump(b.plan);
        assert_string_equal(text_a, text_b);
        free(text_a);
        free(text_b);
        end(&a);
        end(&b);
    }
}

/* Little workspace cuts im2col into chunks of images: more launches, less memory, the same costs in total. */
static void test_chunks(void **state)
{
    (void)state;
    struct planned whole, chunked;
    begin(&whole, case_named("conv-batch129"), true);
    begin(&chunked, case_named("conv-batch129"), true);
    chunked.options.workspace_limit = 20000;
    make(&whole);
    make(&chunked);
    assert_true(chunked.plan->launch_count > 10 * whole.plan->launch_count);
    assert_true(claret_plan_bytes(chunked.plan) < claret_plan_bytes(whole.plan));
    check_lifetimes(chunked.plan);
    check_places(chunked.plan, &chunked.options);
    double flops[2] = {0, 0};
    for (int i = 0; i < whole.plan->launch_count; i++)
        flops[0] += whole.plan->launches[i].flops;
    for (int i = 0; i < chunked.plan->launch_count; i++)
        flops[1] += chunked.plan->launches[i].flops;
    assert_true(flops[0] > 0 && flops[0] == flops[1]);
    end(&whole);
    end(&chunked);
}

/* A device that runs one work-item a group and no CLBlast: every case has a plan, and no launch insists on
 * more. */
static void test_least_device(void **state)
{
    (void)state;
    for (int i = 0; claret_op_cases[i].name; i++) {
        struct planned planned;
        begin(&planned, &claret_op_cases[i], true);
        planned.device.max_work_group = 1;
        planned.device.max_item[0] = planned.device.max_item[1] = planned.device.max_item[2] = 1;
        planned.device.local_mem = 16384;
        planned.device.clblast = false;
        planned.device.clblast_reason = "groups of 1";
        make(&planned);
        for (int j = 0; j < planned.plan->launch_count; j++) {
            const struct claret_launch *launch = &planned.plan->launches[j];
            const size_t *local = launch->kernel.local;
            assert_int_equal(launch->type, CLARET_LAUNCH_KERNEL);
            assert_true(!launch->kernel.fixed || local[0] * local[1] * local[2] == 1);
        }
        end(&planned);
    }
}

static size_t workspace_of_1000(void *user, const struct claret_gemm_call *gemm)
{
    (void)gemm;
    ++*(int *)user;
    return 1000;
}

static void test_gemm_workspace(void **state)
{
    (void)state;
    struct planned planned;
    int asked = 0, gemms = 0;
    begin(&planned, case_named("chain-simplecnn"), true);
    planned.options.gemm_workspace = workspace_of_1000;
    planned.options.user = &asked;
    make(&planned);
    for (int i = 0; i < planned.plan->launch_count; i++) {
        const struct claret_launch *launch = &planned.plan->launches[i];
        if (launch->type != CLARET_LAUNCH_GEMM)
            continue;
        gemms++;
        assert_true(launch->gemm.workspace >= 0);
        assert_int_equal(planned.plan->places[launch->gemm.workspace].buffer, CLARET_HOME_GEMM);
    }
    assert_true(gemms >= 6 && asked == gemms);
    assert_true(planned.plan->buffer_bytes[CLARET_HOME_GEMM] >= 1000 &&
                planned.plan->buffer_bytes[CLARET_HOME_GEMM] < 2000);
    end(&planned);
}

/* Where the driver ends long loops, what may need them is refused with the layer's name; small work is not.
 */
static void test_short_loops(void **state)
{
    struct planned planned;
    (void)state;
    begin(&planned, case_named("linear-2"), true);
    planned.device.short_loops = true;
    make(&planned);
    end(&planned);
    begin(&planned, case_named("linear-primes"), true);
    planned.device.kind = CLARET_CLASS_CPU; /* whose work-items are the large ones */
    make(&planned);
    claret_plan_destroy(planned.plan);
    planned.plan = NULL;
    planned.device.short_loops = true;
    assert_int_equal(claret_plan_create(planned.graph, &planned.options, &planned.plan), CLARET_OPENCL);
    assert_non_null(strstr(claret_error(), "linear1"));
    assert_non_null(strstr(claret_error(), "ends them too early"));
    end(&planned);
}

/* ---- the runtime that only records ---- */

static void test_null_runtime(void **state)
{
    (void)state;
    for (int i = 0; claret_op_cases[i].name; i++) {
        struct planned planned;
        struct claret_rt *rt = NULL;
        struct claret_pool *pool = NULL;
        struct claret_exec *exec = NULL;
        struct claret_ticket *done = NULL;
        begin(&planned, &claret_op_cases[i], true);
        make(&planned);
        assert_int_equal(claret_rt_open_null(&planned.device, &rt), CLARET_OK);
        assert_int_equal(
            claret_pool_create(rt, planned.plan->buffer_bytes, planned.plan->buffer_count, &pool), CLARET_OK);
        if (claret_exec_create(pool, planned.plan, &exec) != CLARET_OK)
            fail_msg("%s: %s", claret_op_cases[i].name, claret_error());
        assert_int_equal(claret_exec_runs(exec), 0);
        for (int run = 0; run < 3; run++) {
            assert_int_equal(claret_exec_run(exec, NULL, &done), CLARET_OK);
            assert_int_equal(claret_ticket_wait(done), CLARET_OK);
        }
        assert_int_equal(claret_rt_finish(rt), CLARET_OK);
        assert_int_equal(claret_exec_runs(exec), 3);
        claret_exec_destroy(exec);
        claret_pool_destroy(pool);
        claret_rt_close(rt);
        end(&planned);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),         cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_too_large),      cmocka_unit_test(test_same_dump),
        cmocka_unit_test(test_chunks),         cmocka_unit_test(test_least_device),
        cmocka_unit_test(test_gemm_workspace), cmocka_unit_test(test_short_loops),
        cmocka_unit_test(test_null_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
