/* GEMM by CLBlast and by each of the kernels, against sums in double: transposes, sizes off every tile,
 * leading dimensions, offsets, alpha and beta, with sentinels around C. */
#include "rt_fixture.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hand_plan.h"

enum { PAD = 3, START = 5 }; /* columns beyond a matrix's own; elements before it */

struct matrix {
    int rows, columns, ld;
    size_t count; /* with its margins */
    float *values;
};

static struct matrix make_matrix(int rows, int columns, unsigned seed)
{
    struct matrix matrix = {rows, columns, columns + PAD, 0, NULL};
    matrix.count = START + (size_t)rows * (size_t)matrix.ld + START;
    matrix.values = malloc(matrix.count * sizeof(float));
    assert_non_null(matrix.values);
    for (size_t i = 0; i < matrix.count; i++)
        matrix.values[i] = (float)(((unsigned)i * 2654435761u + seed * 7919u) >> 12 & 4095) / 2048.0f - 1.0f;
    return matrix;
}

static double at(const struct matrix *matrix, bool transposed, int row, int column)
{
    size_t place = transposed ? (size_t)column * (size_t)matrix->ld + (size_t)row
                              : (size_t)row * (size_t)matrix->ld + (size_t)column;
    return (double)matrix->values[START + place];
}

struct problem {
    int m, n, k;
    bool ta, tb;
    float alpha, beta;
};

/* `stride`: only every so-many-th element of C is computed again (sentinels all). */
static void check(const struct problem *p, const struct matrix *a, const struct matrix *b,
                  const struct matrix *before, const float *after, int stride)
{
    for (size_t i = 0; i < before->count; i++) {
        size_t place = i - START;
        int row = i < START ? -1 : (int)(place / (size_t)before->ld),
            column = (int)(place % (size_t)before->ld);
        double sum = 0, size = 0, old;
        if (row < 0 || row >= p->m || column >= p->n) {
            if (memcmp(&after[i], &before->values[i], sizeof(float)))
                fail_msg("%dx%dx%d: element %zu outside C was changed", p->m, p->n, p->k, i);
            continue;
        }
        if ((row * p->n + column) % stride)
            continue;
        for (int l = 0; l < p->k; l++) {
            double product = at(a, p->ta, row, l) * at(b, p->tb, l, column);
            sum += product;
            size += fabs(product);
        }
        old = p->beta != 0.0f ? (double)p->beta * (double)before->values[i] : 0;
        if (!(fabs((double)after[i] - ((double)p->alpha * sum + old)) <=
              1.2e-7 * (4 + 2 * sqrt(p->k)) * (size + fabs(old))))
            fail_msg("%dx%dx%d %c%c beta %g: C(%d,%d) is %g, not %g", p->m, p->n, p->k, p->ta ? 'T' : 'N',
                     p->tb ? 'T' : 'N', (double)p->beta, row, column, (double)after[i],
                     (double)p->alpha * sum + old);
    }
}

/* Who multiplies: a solver's kernels as planned for `device`, or CLBlast (NULL). */
struct way {
    const struct claret_gemm_solver *solver;
    const struct claret_device_desc *device;
};

static void run_problem(struct claret_rt *rt, const struct problem *p, const struct way *way, int stride)
{
    struct matrix a = make_matrix(p->ta ? p->k : p->m, p->ta ? p->m : p->k, 1);
    struct matrix b = make_matrix(p->tb ? p->n : p->k, p->tb ? p->k : p->n, 2);
    struct matrix c = make_matrix(p->m, p->n, 3);
    struct matrix *matrices[3] = {&a, &b, &c};
    float *after = malloc(c.count * sizeof(float));
    struct claret_gemm_call call = {.m = p->m, .n = p->n, .k = p->k, .alpha = p->alpha, .beta = p->beta};
    struct claret_matrix *parts[3] = {&call.a, &call.b, &call.c};
    uint64_t bytes[2] = {0, 0};
    struct hand_plan hand;
    struct claret_pool *pool;
    struct claret_exec *exec;
    assert_non_null(after);
    for (int row = 0; p->beta == 0.0f && row < p->m; row++) /* then C must not be read */
        for (int column = 0; column < p->n; column++)
            c.values[START + row * c.ld + column] = NAN;
    hand_init(&hand);
    for (int i = 0; i < 3; i++) {
        *parts[i] = (struct claret_matrix){
            .tensor = hand_tensor(&hand, CLARET_DTYPE_F32, (int64_t)matrices[i]->count, 0, bytes[0]),
            .offset = START,
            .ld = matrices[i]->ld,
            .transposed = i == 0 ? p->ta : i == 1 && p->tb};
        bytes[0] += matrices[i]->count * sizeof(float);
    }
    bytes[1] = way->solver ? 0 : claret_rt_gemm_workspace(rt, &call);
    call.workspace = bytes[1] ? hand_tensor(&hand, CLARET_DTYPE_U8, (int64_t)bytes[1], 1, 0) : -1;
    if (way->solver)
        WORKS(hand_gemm_by(&hand, &call, way->solver, way->device, 1, &bytes[1]));
    else
        hand_gemm(&hand, &call);
    WORKS(claret_pool_create(rt, bytes, 2, &pool));
    WORKS(claret_exec_create(pool, &hand.plan, &exec));
    for (int i = 0; i < 3; i++)
        WORKS(claret_pool_write(pool, 0, hand.places[i].offset, hand.places[i].bytes, matrices[i]->values));
    WORKS(claret_exec_run(exec, NULL, NULL));
    WORKS(claret_pool_read(pool, 0, hand.places[2].offset, hand.places[2].bytes, after));
    check(p, &a, &b, &c, after, stride);
    claret_exec_destroy(exec);
    claret_pool_destroy(pool);
    hand_finish(&hand);
    free(a.values);
    free(b.values);
    free(c.values);
    free(after);
}

static void run_sizes(struct claret_rt *rt, const struct way *way)
{
    static const int sizes[][3] = {{1, 1, 1},   {1, 65, 3},  {7, 10, 33},  {63, 1, 5},
                                   {64, 32, 2}, {65, 63, 7}, {16, 129, 27}};
    static const float scales[][2] = {{1, 0}, {1, 1}, {-0.5f, 0.25f}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int t = 0; t < 4; t++)
            run_problem(rt,
                        &(struct problem){sizes[s][0], sizes[s][1], sizes[s][2], t & 1, t & 2,
                                          scales[(s + (size_t)t) % 3][0], scales[(s + (size_t)t) % 3][1]},
                        way, 1);
}

static const struct claret_gemm_solver *solver_named(const char *name)
{
    for (int i = 0; claret_gemm_solvers[i]; i++)
        if (strcmp(claret_gemm_solvers[i]->name, name) == 0)
            return claret_gemm_solvers[i];
    fail_msg("no GEMM solver %s", name);
    return NULL;
}

static void plain_gemm(void **state)
{
    struct claret_rt *rt = fixture_open(NULL, NULL);
    (void)state;
    run_sizes(rt, &(struct way){solver_named("plain"), claret_rt_device(rt)});
    claret_rt_close(rt);
}

/* As for devices of other sizes, within what this one can run: other tiles, other numbers of parts. */
static void tiled_gemm(void **state)
{
    static const struct {
        size_t group;
        uint32_t units;
    } kinds[] = {{16, 1}, {64, 2}, {256, 1}, {256, 128}};
    static const int sizes[][3] = {
        {129, 131, 40}, {65, 10, 1500}, {10, 300, 700}, {257, 200, 9}, {1, 1, 3000}};
    struct claret_rt *rt = fixture_open(NULL, NULL);
    struct claret_device_desc device = *claret_rt_device(rt);
    const struct way way = {solver_named("tiled"), &device};
    bool slow = strstr(device.platform, "Oclgrind") != NULL;
    (void)state;
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        if (kinds[kind].group > claret_rt_device(rt)->max_work_group)
            continue;
        device.max_work_group = kinds[kind].group;
        device.compute_units = kinds[kind].units;
        run_sizes(rt, &way);
        for (size_t s = 0; !slow && s < sizeof sizes / sizeof *sizes; s++)
            run_problem(rt,
                        &(struct problem){sizes[s][0], sizes[s][1], sizes[s][2], (s + kind) & 1,
                                          (s + kind) & 2, -0.5f, kind & 1 ? 0.0f : 0.25f},
                        &way, 1);
    }
    device.max_work_group = 1;
    struct claret_gemm_call call = {.m = 9, .n = 9, .k = 9, .a.ld = 9, .b.ld = 9, .c.ld = 9};
    char reason[128] = "";
    assert_false(way.solver->applicable(&(struct claret_gemm_problem){&call, &device, NULL}, reason));
    assert_non_null(strstr(reason, "work-groups of 16"));
    device.max_work_group = 256;
    call.a.ld = INT32_MAX;
    assert_false(way.solver->applicable(&(struct claret_gemm_problem){&call, &device, NULL}, reason));
    assert_non_null(strstr(reason, "too large"));
    claret_rt_close(rt);
}

/* Large GEMMs are CLBlast's where that works; no CPU device is given tiles unasked. */
static void tiled_unasked(void **state)
{
    const struct claret_gemm_solver *tiled = solver_named("tiled");
    struct claret_device_desc device;
    const struct claret_gemm_call large = {.m = 512, .n = 512, .k = 512},
                                  thin = {.m = 512, .n = 10, .k = 3600};
    (void)state;
    claret_device_desc_default(&device);
    device.kind = CLARET_CLASS_CPU;
    assert_false(tiled->unasked(&(struct claret_gemm_problem){&thin, &device, NULL}));
    device.kind = CLARET_CLASS_GPU;
    assert_true(tiled->unasked(&(struct claret_gemm_problem){&thin, &device, NULL}));
    assert_false(tiled->unasked(&(struct claret_gemm_problem){&large, &device, NULL}));
    device.clblast = false;
    assert_true(tiled->unasked(&(struct claret_gemm_problem){&large, &device, NULL}));
}

static void clblast_gemm(void **state)
{
    struct claret_rt *rt = fixture_open(NULL, NULL);
    struct claret_text report = {0};
    (void)state;
    assert_false(claret_rt_device(rt)->clblast);
    WORKS(claret_rt_probe_gemm(rt));
    if (!claret_rt_device(rt)->clblast)
        fprintf(stderr, "CLBlast is not applicable: %s\n", claret_rt_device(rt)->clblast_reason);
    else
        run_sizes(rt, &(struct way){NULL, NULL});
    claret_rt_report(rt, &report);
    assert_non_null(report.data);
    assert_non_null(strstr(report.data, "programs: 0 used, 0 from cache, 0 built"));
    assert_non_null(strstr(report.data, "\nclblast: 4 gemm kinds compiled, "));
    claret_text_drop(&report);
    claret_rt_close(rt);
}

/* Large enough for CLBlast's other kernel, which needs a workspace. */
static void clblast_large(void **state)
{
    struct claret_rt *rt = fixture_open(NULL, NULL);
    struct problem p = {64, 65, 63, false, true, 1.0f, 0.5f};
    struct claret_gemm_call call;
    (void)state;
    WORKS(claret_rt_probe_gemm(rt));
    do {
        p.m += 32;
        p.k += 32;
        p.n += 32;
        call = (struct claret_gemm_call){.m = p.m, .n = p.n, .k = p.k, .a.ld = p.k, .b.ld = p.k, .c.ld = p.n};
        call.b.transposed = true;
    } while (claret_rt_device(rt)->clblast && !claret_rt_gemm_workspace(rt, &call) && p.m < 2048);
    if (!claret_rt_device(rt)->clblast || p.m >= 1200 || strstr(claret_rt_device(rt)->platform, "Oclgrind"))
        fprintf(stderr, "%d is too large to be tried here\n", p.m);
    else
        run_problem(rt, &p, &(struct way){NULL, NULL}, 1009);
    claret_rt_close(rt);
}

static void clblast_refused(void **state)
{
    struct claret_rt_options options = {.no_clblast = true};
    struct claret_rt *rt;
    struct claret_pool *pool;
    struct claret_exec *exec = NULL;
    struct hand_plan hand;
    struct claret_gemm_call call = {.m = 1, .n = 1, .k = 1, .alpha = 1, .workspace = -1};
    const uint64_t bytes[] = {64};
    (void)state;
    WORKS(claret_rt_open(&options, &rt));
    WORKS(claret_rt_probe_gemm(rt));
    assert_false(claret_rt_device(rt)->clblast);
    assert_string_equal(claret_rt_device(rt)->clblast_reason, "switched off");
    hand_init(&hand);
    hand_tensor(&hand, CLARET_DTYPE_F32, 16, 0, 0);
    call.a.ld = call.b.ld = call.c.ld = 1;
    hand_gemm(&hand, &call);
    WORKS(claret_pool_create(rt, bytes, 1, &pool));
    assert_int_equal(claret_exec_create(pool, &hand.plan, &exec), CLARET_INTERNAL);
    assert_non_null(strstr(claret_error(), "switched off"));
    claret_pool_destroy(pool);
    claret_rt_close(rt);
}

struct worker {
    struct claret_rt *rt;
    struct claret_exec *exec;
    enum claret_status status;
};

static void *run_many(void *user)
{
    struct worker *worker = user;
    for (int i = 0; i < 40 && worker->status == CLARET_OK; i++)
        worker->status = claret_exec_run(worker->exec, NULL, NULL);
    if (worker->status == CLARET_OK)
        worker->status = claret_rt_finish(worker->rt);
    return NULL;
}

/* Two sessions in two threads share CLBlast. C += A * B, 40 times: all numbers are whole. */
static void two_threads(void **state)
{
    enum { SIZE = 33, COUNT = SIZE * SIZE };
    const uint64_t bytes[] = {3 * COUNT * sizeof(float)};
    static float values[3 * COUNT];
    struct claret_gemm_call call = {.m = SIZE, .n = SIZE, .k = SIZE, .alpha = 1, .beta = 1, .workspace = -1};
    struct hand_plan hand;
    struct worker workers[2] = {{0}};
    uint64_t none = 0;
    struct claret_pool *pools[2];
    pthread_t threads[2];
    (void)state;
    if (strstr(fixture_device, "Oclgrind")) /* runs kernels of one thread only */
        skip();
    hand_init(&hand);
    call.a = (struct claret_matrix){.tensor = hand_tensor(&hand, CLARET_DTYPE_F32, COUNT, 0, 0), .ld = SIZE};
    call.b = (struct claret_matrix){.tensor = hand_tensor(&hand, CLARET_DTYPE_F32, COUNT, 0, COUNT * 4),
                                    .ld = SIZE};
    call.c = (struct claret_matrix){.tensor = hand_tensor(&hand, CLARET_DTYPE_F32, COUNT, 0, COUNT * 8),
                                    .ld = SIZE};
    for (int i = 0; i < 2; i++) {
        workers[i].rt = fixture_open(NULL, NULL);
        WORKS(claret_rt_probe_gemm(workers[i].rt));
    }
    if (claret_rt_device(workers[0].rt)->clblast)
        hand_gemm(&hand, &call);
    else
        WORKS(hand_gemm_by(&hand, &call, solver_named("plain"), claret_rt_device(workers[0].rt), 0, &none));
    for (int i = 0; i < 2 * COUNT; i++)
        values[i] = (float)(i % 3);
    for (int i = 0; i < 2; i++) {
        WORKS(claret_pool_create(workers[i].rt, bytes, 1, &pools[i]));
        WORKS(claret_exec_create(pools[i], &hand.plan, &workers[i].exec));
        WORKS(claret_pool_write(pools[i], 0, 0, 2 * COUNT * sizeof(float), values));
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_many, &workers[i]), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 2; i++) {
        static float got[COUNT];
        assert_int_equal(workers[i].status, CLARET_OK);
        WORKS(claret_pool_read(pools[i], 0, 2 * COUNT * sizeof(float), sizeof got, got));
        for (int e = 0; e < COUNT; e++) {
            float sum = 0;
            for (int l = 0; l < SIZE; l++)
                sum += values[e / SIZE * SIZE + l] * values[COUNT + l * SIZE + e % SIZE];
            assert_true(got[e] == 40 * sum);
        }
        claret_exec_destroy(workers[i].exec);
        claret_pool_destroy(pools[i]);
        claret_rt_close(workers[i].rt);
    }
    hand_finish(&hand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(plain_gemm, fixture_no_objects),
        cmocka_unit_test_teardown(tiled_gemm, fixture_no_objects),
        cmocka_unit_test(tiled_unasked),
        cmocka_unit_test_teardown(clblast_gemm, fixture_no_objects),
        cmocka_unit_test_teardown(clblast_large, fixture_no_objects),
        cmocka_unit_test_teardown(clblast_refused, fixture_no_objects),
        cmocka_unit_test_teardown(two_threads, fixture_no_objects),
    };
    int failed = fixture_begin();
    if (failed)
        return failed;
    failed = cmocka_run_group_tests_name("gemm", tests, NULL, NULL);
    fixture_end();
    return failed;
}
