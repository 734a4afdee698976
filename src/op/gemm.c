#include "op/gemm.h"

#include <stdio.h>

bool claret_gemm_on_device(const struct claret_gemm_solver *solver, const struct claret_device_desc *device)
{
    const struct claret_gemm_call smallest = {.m = 1, .n = 1, .k = 1, .a.ld = 1, .b.ld = 1, .c.ld = 1};
    char reason[128];
    return !solver->applicable ||
           solver->applicable(&(struct claret_gemm_problem){&smallest, device, NULL}, reason);
}

/* Of the launch that does the arithmetic. */
static void emit_cost(struct claret_emit *emit, const struct claret_gemm_call *gemm)
{
    double m = (double)gemm->m, n = (double)gemm->n, k = (double)gemm->k;
    claret_emit_cost(emit, 2.0 * m * n * k, 4.0 * (m * k + k * n + m * n));
}

static bool clblast_applicable(const struct claret_gemm_problem *problem, char reason[128])
{
    const struct claret_device_desc *device = problem->device;
    if (!device->clblast)
        snprintf(reason, 128, "%s", device->clblast_reason ? device->clblast_reason : "not probed");
    return device->clblast;
}

static void clblast_emit(struct claret_emit *emit, const char *what, const struct claret_gemm_call *gemm)
{
    claret_emit_gemm_record(emit, what, gemm);
    emit_cost(emit, gemm);
}

static const struct claret_gemm_solver clblast = {
    .name = "clblast", .applicable = clblast_applicable, .emit = clblast_emit};

static void plain_emit(struct claret_emit *emit, const char *what, const struct claret_gemm_call *gemm)
{
    struct claret_kernel_call *call = claret_emit_kernel(emit, what, "gemm", "gemm_plain");
    claret_kernel_define(call, "TA", gemm->a.transposed);
    claret_kernel_define(call, "TB", gemm->b.transposed);
    claret_kernel_tensor(call, gemm->a.tensor, gemm->a.offset);
    claret_kernel_int(call, gemm->a.ld);
    claret_kernel_tensor(call, gemm->b.tensor, gemm->b.offset);
    claret_kernel_int(call, gemm->b.ld);
    claret_kernel_tensor(call, gemm->c.tensor, gemm->c.offset);
    claret_kernel_int(call, gemm->c.ld);
    claret_kernel_int(call, gemm->m);
    claret_kernel_int(call, gemm->n);
    claret_kernel_int(call, gemm->k);
    claret_kernel_float(call, gemm->alpha);
    claret_kernel_float(call, gemm->beta);
    claret_kernel_range3(call, gemm->n, gemm->m, 1, 64);
    emit_cost(emit, gemm);
}

static const struct claret_gemm_solver plain = {.name = "plain", .emit = plain_emit};

void claret_gemm_emit_sum(struct claret_emit *emit, const struct claret_gemm_call *gemm, int64_t count,
                          int parts)
{
    struct claret_kernel_call *call = claret_emit_kernel(emit, "sum", "gemm", "gemm_sum");
    claret_kernel_tensor(call, parts, 0);
    claret_kernel_tensor(call, gemm->c.tensor, gemm->c.offset);
    claret_kernel_int(call, gemm->c.ld);
    claret_kernel_int(call, gemm->m);
    claret_kernel_int(call, gemm->n);
    claret_kernel_int(call, count);
    claret_kernel_float(call, gemm->alpha);
    claret_kernel_float(call, gemm->beta);
    claret_kernel_range3(call, gemm->n, gemm->m, 1, 64);
    claret_emit_cost(emit, (double)(gemm->m * gemm->n * count),
                     4.0 * (double)(gemm->m * gemm->n * (count + 1)));
}

const struct claret_gemm_solver *const claret_gemm_solvers[] = {&claret_gemm_packed, &claret_gemm_tiled,
                                                                &clblast, &plain, NULL};
