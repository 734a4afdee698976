/* Runs that time each launch: a time for each, and the same bits as runs that do not. */
#include "rt_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "op/batch.h"
#include "op/gemm.h"
#include "op_cases.h"

#define RUNS 4

static struct claret_rt *device_rt;

/* A case's training graph on the device, by one GEMM. */
struct subject {
    struct claret_spec *spec;
    struct claret_graph *graph;
    struct claret_plan *plan;
    struct claret_pool *pool;
    struct claret_exec *exec;
};

static void begin(struct subject *subject, const struct claret_op_case *row, bool fuse, const char *gemm)
{
    const struct claret_plan_force force = {NULL, gemm};
    const struct claret_graph_options options = {
        .training = true, .fuse = fuse, .fuse_update = fuse, .optimizer.momentum = 0.9};
    const struct claret_plan_options plan_options = {.device = claret_rt_device(device_rt),
                                                     .force = &force,
                                                     .force_count = 1,
                                                     .gemm_workspace = claret_rt_gemm_workspace,
                                                     .user = device_rt};
    WORKS(claret_op_case_graph(row, &options, &subject->spec, &subject->graph));
    WORKS(claret_plan_create(subject->graph, &plan_options, &subject->plan));
    WORKS(claret_pool_create(device_rt, subject->plan->buffer_bytes, subject->plan->buffer_count,
                             &subject->pool));
    WORKS(claret_exec_create(subject->pool, subject->plan, &subject->exec));
}

static void end(struct subject *subject)
{
    claret_exec_destroy(subject->exec);
    claret_pool_destroy(subject->pool);
    claret_plan_destroy(subject->plan);
    claret_graph_destroy(subject->graph);
    claret_spec_destroy(subject->spec);
}

static void write_random(const struct subject *subject, int tensor)
{
    const struct claret_place *place = &subject->plan->places[tensor];
    size_t count = (size_t)place->bytes / sizeof(float);
    float *values = malloc(place->bytes);
    struct claret_rng rng;
    assert_non_null(values);
    claret_rng_init(&rng, 5, CLARET_STREAM_INIT, (uint32_t)tensor);
    for (size_t i = 0; i < count; i++)
        values[i] = claret_rng_float(&rng) - 0.5f;
    WORKS(claret_pool_write(subject->pool, place->buffer, place->offset, count * sizeof *values, values));
    free(values);
}

/* Parameters, batches in all stage slots, and nothing else. */
static void fill(const struct subject *subject)
{
    const struct claret_place *stage = &subject->plan->places[subject->graph->stage];
    const struct claret_stage_header header = {
        .count = (uint32_t)subject->graph->batch, .lr = 0.01f, .first = 1};
    unsigned char *bytes = calloc(1, stage->bytes);
    assert_non_null(bytes);
    for (int i = 0; i < subject->plan->buffer_count; i++) {
        void *zeros = calloc(1, subject->plan->buffer_bytes[i] + 1);
        assert_non_null(zeros);
        WORKS(claret_pool_write(subject->pool, i, 0, subject->plan->buffer_bytes[i], zeros));
        free(zeros);
    }
    for (uint64_t i = 0; i < stage->bytes; i++)
        bytes[i] = (unsigned char)(i % 3);
    const struct claret_shape *input = &subject->graph->tensors[subject->graph->input].shape;
    struct claret_stage_layout layout;
    claret_stage_layout(subject->graph->batch, input->dim[1] * input->dim[2] * input->dim[3], 1, &layout);
    for (int slot = 0; slot < layout.slots; slot++) {
        unsigned char *at = bytes + (size_t)slot * layout.slot;
        memcpy(at, &header, sizeof header);
        for (int64_t n = 0; n < subject->graph->batch; n++)
            ((int32_t *)(void *)(at + layout.labels))[n] = (int32_t)(n % subject->graph->classes);
    }
    WORKS(claret_pool_write(subject->pool, stage->buffer, stage->offset, stage->bytes, bytes));
    free(bytes);
    write_random(subject, subject->graph->all_params);
    write_random(subject, subject->graph->table);
}

static unsigned char *read_all(const struct subject *subject, size_t *size)
{
    unsigned char *bytes;
    size_t at = 0;
    for (int i = 0; i < subject->plan->buffer_count; i++)
        at += (size_t)subject->plan->buffer_bytes[i];
    bytes = malloc(at + 1);
    assert_non_null(bytes);
    *size = at;
    at = 0;
    for (int i = 0; i < subject->plan->buffer_count; i++) {
        WORKS(claret_pool_read(subject->pool, i, 0, subject->plan->buffer_bytes[i], bytes + at));
        at += (size_t)subject->plan->buffer_bytes[i];
    }
    return bytes;
}

static void check_times(const struct subject *subject, const double *seconds, const bool *wall)
{
    for (int i = 0; i < subject->plan->launch_count; i++) {
        assert_true(isfinite(seconds[i]) && seconds[i] > 0);
        if (subject->plan->launches[i].type == CLARET_LAUNCH_GEMM)
            assert_true(wall[i]);
    }
}

static void run_case(const struct claret_op_case *row, bool fuse, const char *gemm)
{
    struct subject subject = {.spec = NULL};
    unsigned char *plain, *profiled;
    size_t size;
    begin(&subject, row, fuse, gemm);
    double *seconds = calloc((size_t)subject.plan->launch_count, sizeof *seconds);
    bool *wall = calloc((size_t)subject.plan->launch_count, sizeof *wall);
    assert_true(seconds && wall);
    fill(&subject);
    for (int r = 0; r < RUNS; r++)
        WORKS(claret_exec_run(subject.exec, NULL, NULL));
    plain = read_all(&subject, &size);
    fill(&subject);
    for (int r = 0; r < RUNS; r++) { /* both kinds by turns */
        if (r == 1)
            WORKS(claret_exec_run(subject.exec, NULL, NULL));
        else
            WORKS(claret_exec_run_profiled(subject.exec, seconds, wall));
        if (r != 1)
            check_times(&subject, seconds, wall);
    }
    profiled = read_all(&subject, &size);
    assert_memory_equal(plain, profiled, size);
    free(plain);
    free(profiled);
    free(seconds);
    free(wall);
    end(&subject);
}

static void same_bits(void **state)
{
    static const char *const names[] = {"chain-simplecnn", "chain-deep"};
    char gemm[40];
    (void)state;
    for (const struct claret_op_case *row = claret_op_cases; row->name; row++)
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            for (int g = 0; strcmp(row->name, names[n]) == 0 && claret_gemm_solvers[g]; g++) {
                const struct claret_gemm_solver *solver = claret_gemm_solvers[g];
                if (!claret_gemm_on_device(solver, claret_rt_device(device_rt)))
                    continue;
                snprintf(gemm, sizeof gemm, "gemm:%s", solver->name);
                run_case(row, false, gemm);
                run_case(row, true, gemm);
            }
}

static int open_rt(void **state)
{
    (void)state;
    device_rt = fixture_open(NULL, NULL);
    return claret_rt_probe_gemm(device_rt) != CLARET_OK;
}

static int close_rt(void **state)
{
    claret_rt_close(device_rt);
    return fixture_no_objects(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits)};
    int status = fixture_begin();
    if (status)
        return status;
    status = cmocka_run_group_tests_name("profile", tests, open_rt, close_rt);
    fixture_end();
    return status;
}
