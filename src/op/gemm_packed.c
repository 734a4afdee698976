/* The launches of cl/gemm_packed.cl. */
#include <stdio.h>

#include "op/gemm.h"
#include "op/vectors.h"

#define BLOCK 64       /* as in the kernel: terms that one item packs */
#define MAX_CHUNK 4096 /* terms: a column panel of so many stays in a second-level cache */
#define MIN_CHUNK 256  /* below, adding the parts costs more than the items gain */
#define MAX_CHUNKS 64
#define LARGE_ROWS 48 /* of C, and vectors of a row of it */
#define LARGE_VECTORS 16

struct tiling {
    int lanes, mr, nv;
    int64_t row_panels, column_panels, chunk, chunks;
};

static int64_t panels(int64_t extent, int64_t tile)
{
    return (extent + tile - 1) / tile;
}

/* Few kinds of tiles, so that few programs are built: 4, 8 or 12 rows (6 where registers are few), the one
 * that wastes least. */
static int choose_rows(int64_t m, bool many_registers)
{
    if (m <= 4)
        return 4;
    if (!many_registers)
        return 6;
    return m <= 8 || panels(m, 8) * 8 <= panels(m, 12) * 12 ? 8 : 12;
}

static const struct claret_tunable tunables[] = {
    {"MR", {2, 3, 4, 5, 6, 8, 10, 12}},            /* rows of a tile */
    {"NV", {1, 2, 3, 4}},                          /* vectors of a tile's row */
    {"CHUNK", {256, 512, 1024, 2048, 4096, 8192}}, /* terms that one item adds, at most */
    {.name = NULL},
};

static struct tiling choose_tiling(const struct claret_gemm_call *gemm,
                                   const struct claret_device_desc *device, struct claret_params *params)
{
    struct tiling tiling = {.lanes = claret_vector_lanes(device, gemm->n)};
    bool many = claret_vector_tile(device) >= 24;
    /* With room for it, a wide tile loads less for as many products. */
    bool large = many && gemm->m >= LARGE_ROWS && gemm->n >= LARGE_VECTORS * tiling.lanes;
    tiling.mr = (int)claret_param(params, "MR", large ? 6 : choose_rows(gemm->m, many));
    tiling.nv = (int)claret_param(params, "NV", large ? 4 : gemm->n > tiling.lanes ? 2 : 1);
    tiling.row_panels = panels(gemm->m, tiling.mr);
    tiling.column_panels = panels(gemm->n, (int64_t)tiling.nv * tiling.lanes);
    /* Enough items for all units, and panels that stay in a cache. */
    int64_t tiles = tiling.row_panels * tiling.column_panels, wanted = 4 * (int64_t)device->compute_units;
    tiling.chunks = panels(gemm->k, MAX_CHUNK);
    if (tiles * tiling.chunks < wanted)
        tiling.chunks = panels(wanted, tiles);
    int64_t most = panels(gemm->k, MIN_CHUNK);
    most = most < MAX_CHUNKS ? most : MAX_CHUNKS;
    tiling.chunks = tiling.chunks > most ? most : tiling.chunks;
    tiling.chunk = claret_param(params, "CHUNK", panels(gemm->k, tiling.chunks));
    tiling.chunk = tiling.chunk > gemm->k ? gemm->k : tiling.chunk;
    tiling.chunks = panels(gemm->k, tiling.chunk);
    return tiling;
}

static int emit_pack(struct claret_emit *emit, const char *what, const struct claret_matrix *matrix,
                     bool contiguous, int64_t extent, int64_t k, int tile)
{
    int to = claret_emit_temp(emit, CLARET_DTYPE_F32, panels(extent, tile) * tile * k);
    struct claret_kernel_call *call = claret_emit_kernel(emit, what, "gemm_packed", "pack");
    claret_kernel_define(call, "LANES", 4);
    claret_kernel_define(call, "TILE", tile);
    claret_kernel_define(call, "CONTIGUOUS", contiguous);
    claret_kernel_tensor(call, matrix->tensor, matrix->offset);
    claret_kernel_tensor(call, to, 0);
    claret_kernel_int(call, matrix->ld);
    claret_kernel_int(call, extent);
    claret_kernel_int(call, k);
    claret_kernel_range3(call, panels(extent, tile), panels(k, BLOCK), 1, 1);
    claret_emit_cost(emit, 0, 8.0 * (double)extent * (double)k);
    return to;
}

static bool applicable(const struct claret_gemm_problem *problem, char reason[128])
{
    const struct claret_gemm_call *gemm = problem->gemm;
    const struct claret_device_desc *device = problem->device;
    if (!claret_vector_device(device, reason))
        return false;
    struct tiling tiling = choose_tiling(gemm, device, problem->params);
    if (tiling.mr * tiling.nv > 2 * claret_vector_tile(device)) {
        snprintf(reason, 128, "a tile of %d times %d vectors is beyond the registers", tiling.mr, tiling.nv);
        return false;
    }
    if (claret_param(problem->params, "CHUNK", 1) > gemm->k) {
        snprintf(reason, 128, "there are only %lld terms", (long long)gemm->k);
        return false;
    }
    if (tiling.chunks > MAX_CHUNKS && tiling.chunks > panels(gemm->k, MAX_CHUNK)) {
        snprintf(reason, 128, "more than %d chunks", MAX_CHUNKS);
        return false;
    }
    int64_t row_panels = tiling.row_panels * tiling.mr * gemm->k;
    int64_t column_panels = tiling.column_panels * tiling.nv * tiling.lanes * gemm->k;
    int64_t parts = tiling.chunks * gemm->m * gemm->n;
    return claret_vector_workspace(device, row_panels, reason) &&
           claret_vector_workspace(device, column_panels, reason) &&
           claret_vector_workspace(device, parts, reason);
}

static void emit(struct claret_emit *emit, const char *what, const struct claret_gemm_call *gemm)
{
    struct tiling tiling = choose_tiling(gemm, claret_emit_device(emit), claret_emit_params(emit));
    int a = emit_pack(emit, "pack", &gemm->a, gemm->a.transposed, gemm->m, gemm->k, tiling.mr);
    int b =
        emit_pack(emit, "pack", &gemm->b, !gemm->b.transposed, gemm->n, gemm->k, tiling.nv * tiling.lanes);
    int parts = -1;
    if (tiling.chunks > 1)
        parts = claret_emit_temp(emit, CLARET_DTYPE_F32, tiling.chunks * gemm->m * gemm->n);
    struct claret_kernel_call *call = claret_emit_kernel(emit, what, "gemm_packed", "gemm_packed");
    claret_kernel_define(call, "LANES", tiling.lanes);
    claret_kernel_define(call, "MR", tiling.mr);
    claret_kernel_define(call, "NV", tiling.nv);
    claret_kernel_define(call, "PARTS", tiling.chunks > 1);
    claret_kernel_tensor(call, a, 0);
    claret_kernel_tensor(call, b, 0);
    claret_kernel_tensor(call, parts >= 0 ? parts : gemm->c.tensor, parts >= 0 ? 0 : gemm->c.offset);
    claret_kernel_int(call, parts >= 0 ? gemm->n : gemm->c.ld);
    claret_kernel_int(call, gemm->m);
    claret_kernel_int(call, gemm->n);
    claret_kernel_int(call, gemm->k);
    claret_kernel_int(call, tiling.chunk);
    claret_kernel_float(call, gemm->alpha);
    claret_kernel_float(call, gemm->beta);
    claret_kernel_range3(call, tiling.row_panels, tiling.column_panels, tiling.chunks, 1);
    claret_emit_cost(emit, 2.0 * (double)gemm->m * (double)gemm->n * (double)gemm->k,
                     4.0 * ((double)gemm->m * (double)gemm->k + (double)gemm->k * (double)gemm->n +
                            (double)gemm->m * (double)gemm->n));
    if (parts >= 0)
        claret_gemm_emit_sum(emit, gemm, tiling.chunks, parts);
}

const struct claret_gemm_solver claret_gemm_packed = {
    .name = "packed", .applicable = applicable, .emit = emit, .tunables = tunables};
