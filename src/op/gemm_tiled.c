/* The launches of cl/gemm_tiled.cl. */
#include <stdio.h>

#include "op/gemm.h"
#include "op/tiles.h"

#define MAX_PARTS 64
#define MAX_ROWS 65535 /* groups that every GPU allows in the second dimension */
#define LARGE 128      /* matrices that are nowhere narrower are left to CLBlast, where that works */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Elements from the first to the last. */
static int64_t span(const struct claret_matrix *matrix, int64_t rows, int64_t columns)
{
    int64_t lines = matrix->transposed ? columns : rows, width = matrix->transposed ? rows : columns;
    return (lines - 1) * matrix->ld + width;
}

static bool applicable(const struct claret_gemm_problem *problem, char reason[128])
{
    const struct claret_gemm_call *gemm = problem->gemm;
    const struct claret_device_desc *device = problem->device;
    if (!claret_tile_device(device, problem->params, reason))
        return false;
    struct claret_tiling tiling =
        claret_tile_choose(device, problem->params, gemm->m, gemm->n, gemm->k, MAX_PARTS);
    bool fine = span(&gemm->a, gemm->m, gemm->k) <= INT32_MAX &&
                span(&gemm->b, gemm->k, gemm->n) <= INT32_MAX &&
                span(&gemm->c, gemm->m, gemm->n) <= INT32_MAX && tiling.rows <= MAX_ROWS &&
                (uint64_t)(tiling.chunks * gemm->m * gemm->n) <= device->max_alloc / sizeof(float) / 2;
    if (!fine)
        snprintf(reason, 128, "its matrices are too large for 32-bit indices");
    return fine;
}

static bool unasked(const struct claret_gemm_problem *problem)
{
    const struct claret_gemm_call *gemm = problem->gemm;
    const struct claret_device_desc *device = problem->device;
    bool large = smaller(gemm->m, smaller(gemm->n, gemm->k)) >= LARGE;
    return claret_tile_unasked(device) && !(large && device->clblast);
}

static void emit(struct claret_emit *emit, const char *what, const struct claret_gemm_call *gemm)
{
    struct claret_tiling tiling = claret_tile_choose(claret_emit_device(emit), claret_emit_params(emit),
                                                     gemm->m, gemm->n, gemm->k, MAX_PARTS);
    bool split = tiling.chunks > 1;
    int parts = split ? claret_emit_temp(emit, CLARET_DTYPE_F32, tiling.chunks * gemm->m * gemm->n) : -1;
    struct claret_kernel_call *call = claret_emit_kernel(emit, what, "gemm_tiled", "gemm_tiled");
    claret_tile_launch(call, &tiling, tiling.chunks);
    claret_kernel_define(call, "TA", gemm->a.transposed);
    claret_kernel_define(call, "TB", gemm->b.transposed);
    claret_kernel_tensor(call, gemm->a.tensor, gemm->a.offset);
    claret_kernel_int(call, gemm->a.ld);
    claret_kernel_tensor(call, gemm->b.tensor, gemm->b.offset);
    claret_kernel_int(call, gemm->b.ld);
    claret_kernel_tensor(call, split ? parts : gemm->c.tensor, split ? 0 : gemm->c.offset);
    claret_kernel_int(call, split ? gemm->n : gemm->c.ld);
    claret_kernel_int(call, gemm->m);
    claret_kernel_int(call, gemm->n);
    claret_kernel_int(call, gemm->k);
    claret_kernel_int(call, tiling.chunk);
    claret_kernel_float(call, split ? 1 : gemm->alpha);
    claret_kernel_float(call, split ? 0 : gemm->beta);
    double m = (double)gemm->m, n = (double)gemm->n, k = (double)gemm->k;
    claret_emit_cost(emit, 2.0 * m * n * k, 4.0 * (m * k + k * n + m * n));
    if (split)
        claret_gemm_emit_sum(emit, gemm, tiling.chunks, parts);
}

const struct claret_gemm_solver claret_gemm_tiled = {.name = "tiled",
                                                     .applicable = applicable,
                                                     .unasked = unasked,
                                                     .emit = emit,
                                                     .tunables = claret_tile_split_tunables};
