#include "op/tiles.h"

#include <stdio.h>

#define MIN_CHUNK 256      /* terms: below, adding the parts costs more than the groups gain */
#define ITEMS_PER_UNIT 256 /* that a GPU's compute unit wants at least, to hide its memory's latency */
#define LOCAL_BYTES 16384  /* of local memory: the least that a GPU may have */
#define PAD 4              /* as in cl/common.clh */

/* Powers of two throughout: what they ask of each other is in cl/common.clh. The last one is the smallest.
 * Larger blocks of registers than 4 x 4, and more terms in small groups, spill on some of Intel's GPUs: the
 * first ones are taken only where they are asked for. No two have the same rows and columns. */
static const struct claret_tiling tilings[] = {
    {.rm = 8, .rn = 8, .wm = 16, .wn = 16, .terms = 16}, {.rm = 8, .rn = 4, .wm = 16, .wn = 16, .terms = 16},
    {.rm = 4, .rn = 8, .wm = 16, .wn = 16, .terms = 16}, {.rm = 4, .rn = 4, .wm = 16, .wn = 16, .terms = 16},
    {.rm = 4, .rn = 4, .wm = 8, .wn = 16, .terms = 16},  {.rm = 4, .rn = 4, .wm = 4, .wn = 32, .terms = 8},
    {.rm = 4, .rn = 4, .wm = 16, .wn = 4, .terms = 8},   {.rm = 4, .rn = 4, .wm = 4, .wn = 16, .terms = 8},
    {.rm = 4, .rn = 4, .wm = 8, .wn = 8, .terms = 8},    {.rm = 4, .rn = 4, .wm = 4, .wn = 8, .terms = 8},
    {.rm = 4, .rn = 4, .wm = 4, .wn = 4, .terms = 4},
};
enum { TILINGS = sizeof tilings / sizeof *tilings, FIRST = 3 };

const struct claret_tunable claret_tile_split_tunables[] = {
    {"TILE_M", {16, 32, 64, 128}},
    {"TILE_N", {16, 32, 64, 128}},
    {"PARTS", {1, 2, 4, 8, 16, 32, 64}},
    {.name = NULL},
};
const struct claret_tunable claret_tile_tunables[] = {
    {"TILE_M", {16, 32, 64, 128}},
    {"TILE_N", {16, 32, 64, 128}},
    {.name = NULL},
};

static int64_t tiles(int64_t extent, int64_t tile)
{
    return (extent + tile - 1) / tile;
}

static bool fits(const struct claret_device_desc *device, const struct claret_tiling *tiling)
{
    size_t items = (size_t)(tiling->wm * tiling->wn);
    int width = tiling->wm * tiling->rm + tiling->wn * tiling->rn + 2 * PAD;
    return items <= device->max_work_group && items <= device->max_item[0] &&
           (uint64_t)(width * tiling->terms) * sizeof(float) <= device->local_mem;
}

bool claret_tile_unasked(const struct claret_device_desc *device)
{
    return device->kind == CLARET_CLASS_GPU;
}

/* Whether a tiling is one that may be taken: any, or one of those that are asked for. */
static bool asked(const struct claret_tiling *tiling, const struct claret_params *params)
{
    int64_t m = claret_param_given(params, "TILE_M"), n = claret_param_given(params, "TILE_N");
    if (tiling < tilings + FIRST && !(m && n))
        return false;
    return (!m || m == tiling->wm * tiling->rm) && (!n || n == tiling->wn * tiling->rn);
}

bool claret_tile_device(const struct claret_device_desc *device, const struct claret_params *params,
                        char reason[128])
{
    for (int i = 0; i < TILINGS; i++)
        if (asked(&tilings[i], params) && fits(device, &tilings[i]))
            return true;
    const struct claret_tiling *smallest = &tilings[TILINGS - 1];
    if (fits(device, smallest))
        snprintf(reason, 128, "there are no tiles of that size that fit the device");
    else
        snprintf(reason, 128, "needs work-groups of %d and %d KiB of local memory",
                 smallest->wm * smallest->wn, 3);
    return false;
}

static void set_parts(struct claret_tiling *tiling, int64_t k, int64_t parts)
{
    tiling->chunk = tiles(tiles(k, parts), tiling->terms) * tiling->terms;
    tiling->chunks = tiles(k, tiling->chunk);
}

/* In parts, where there would be too few groups. */
static void split(struct claret_tiling *tiling, const struct claret_device_desc *device, int64_t k,
                  int64_t most)
{
    int64_t items = tiling->rows * tiling->columns * tiling->wm * tiling->wn;
    int64_t useful = tiles(k, MIN_CHUNK);
    tiling->chunks = tiles((int64_t)device->compute_units * ITEMS_PER_UNIT, items);
    tiling->chunks = tiling->chunks > useful ? useful : tiling->chunks;
    set_parts(tiling, k, tiling->chunks > most ? most : tiling->chunks);
}

/* Of all elements that tiles make, those beyond the matrix too, times what one costs: its multiplication and
 * its share of the operands' reading; more where units stay idle. */
static double cost(const struct claret_tiling *tiling, const struct claret_device_desc *device, int64_t m,
                   int64_t n)
{
    double elements = tiling->rm * tiling->rn, each = 1 + (tiling->rm + tiling->rn) / elements;
    double made = (double)(tiling->rows * tiling->columns) * tiling->wm * tiling->wn * elements;
    double useful = (double)(tiles(m, tiling->rm) * tiles(n, tiling->rn) * tiling->chunks);
    double busy = useful / ((double)device->compute_units * ITEMS_PER_UNIT);
    return made * each / (busy < 1 ? busy : 1);
}

struct claret_tiling claret_tile_choose(const struct claret_device_desc *device, struct claret_params *params,
                                        int64_t m, int64_t n, int64_t k, int64_t most)
{
    struct claret_tiling best = {.rm = 0};
    for (int i = 0; i < TILINGS; i++) {
        struct claret_tiling tiling = tilings[i];
        if (!asked(&tilings[i], params) || !fits(device, &tiling))
            continue;
        tiling.rows = tiles(m, tiling.wm * tiling.rm);
        tiling.columns = tiles(n, tiling.wn * tiling.rn);
        split(&tiling, device, k, most);
        if (best.rm == 0 || cost(&tiling, device, m, n) < cost(&best, device, m, n))
            best = tiling;
    }
    claret_param(params, "TILE_M", best.wm * best.rm); /* so that it is known what was taken */
    claret_param(params, "TILE_N", best.wn * best.rn);
    if (most > 1)
        set_parts(&best, k, claret_param(params, "PARTS", best.chunks));
    return best;
}

void claret_tile_launch(struct claret_kernel_call *call, const struct claret_tiling *tiling, int64_t depth)
{
    int group = tiling->wm * tiling->wn;
    claret_kernel_define(call, "WM", tiling->wm);
    claret_kernel_define(call, "WN", tiling->wn);
    claret_kernel_define(call, "RM", tiling->rm);
    claret_kernel_define(call, "RN", tiling->rn);
    claret_kernel_define(call, "TILE_K", tiling->terms);
    claret_kernel_range3(call, tiling->columns * group, tiling->rows, depth, (size_t)group);
    call->fixed = true;
}
