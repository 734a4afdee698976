/* The launches of cl/conv2d_winograd_tiled.cl. */
#include <stdio.h>

#include "op/conv2d_tiled.h"
#include "op/tiles.h"

#define POSITIONS 16
#define PAD 4      /* as in cl/common.clh */
#define PAD_ALL 16 /* as in the kernel: of a position's tile */

/* For each position, as in op/tiles.c. Where no size is asked for, the first that fits the device from FIRST
 * on: those before have more registers than some of Intel's GPUs. */
static const struct claret_tiling tilings[] = {
    {.rm = 8, .rn = 4, .wm = 4, .wn = 4, .terms = 8}, {.rm = 4, .rn = 8, .wm = 4, .wn = 4, .terms = 8},
    {.rm = 4, .rn = 4, .wm = 4, .wn = 4, .terms = 8}, {.rm = 4, .rn = 4, .wm = 4, .wn = 4, .terms = 4},
    {.rm = 4, .rn = 4, .wm = 2, .wn = 4, .terms = 4}, {.rm = 4, .rn = 4, .wm = 2, .wn = 2, .terms = 4},
};
enum { TILINGS = sizeof tilings / sizeof *tilings, FIRST = 2 };

static const struct claret_tunable tunables[] = {
    {"TILE_M", {8, 16, 32}}, /* channels of a group */
    {"TILE_N", {8, 16, 32}}, /* its tiles of 2x2 pixels */
    {.name = NULL},
};

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Half of the local memory at most: two groups at a time wait for each other's loads, and rusticl counts
 * arrays twice. */
static bool fits(const struct claret_device_desc *device, const struct claret_tiling *tiling)
{
    size_t items = (size_t)(POSITIONS * tiling->wm * tiling->wn);
    int width = tiling->wm * tiling->rm + tiling->wn * tiling->rn + 2 * PAD;
    uint64_t operands = (uint64_t)(POSITIONS * (width * tiling->terms + 2 * PAD_ALL)) * sizeof(float);
    uint64_t products = POSITIONS * items * sizeof(float);
    return items <= device->max_work_group && items <= device->max_item[0] &&
           (operands > products ? operands : products) <= device->local_mem / 2;
}

/* NULL: none fits the device, or has the size that is asked for. */
static const struct claret_tiling *choose(const struct claret_device_desc *device,
                                          const struct claret_params *params)
{
    int64_t m = claret_param_given(params, "TILE_M"), n = claret_param_given(params, "TILE_N");
    for (int i = m || n ? 0 : FIRST; i < TILINGS; i++) {
        const struct claret_tiling *tiling = &tilings[i];
        if ((!m || m == tiling->wm * tiling->rm) && (!n || n == tiling->wn * tiling->rn) &&
            fits(device, tiling))
            return tiling;
    }
    return NULL;
}

static struct claret_tiled_conv conv_of(const struct claret_node *node, const struct claret_tensor *tensors,
                                        int x, int y)
{
    return (struct claret_tiled_conv){.conv = claret_conv_problem(node->attr, &tensors[x], &tensors[y]),
                                      .window = {1, 1}};
}

static bool applicable(const struct claret_problem *problem, int x, int y, char reason[128])
{
    struct claret_tiled_conv tiled = conv_of(problem->node, problem->tensors, x, y);
    if (!claret_conv_suits_winograd(&tiled.conv, reason) || !claret_tiled_conv_small(&tiled, reason))
        return false;
    if (choose(problem->device, problem->params))
        return true;
    snprintf(reason, 128, "there are no tiles that fit the device, of the size that was asked for");
    return false;
}

/* No GPU has been timed with it: implicit-gemm is what is known to work well there. */
static bool unasked(const struct claret_problem *problem)
{
    (void)problem;
    return false;
}

static void tile_defines(struct claret_kernel_call *call, const struct claret_tiling *tiling)
{
    claret_kernel_define(call, "WM", tiling->wm);
    claret_kernel_define(call, "WN", tiling->wn);
    claret_kernel_define(call, "RM", tiling->rm);
    claret_kernel_define(call, "RN", tiling->rn);
    claret_kernel_define(call, "TILE_K", tiling->terms);
}

/* The weights' transforms, of the channels c of x and k of y. */
static int emit_weights(struct claret_emit *emit, const struct claret_tiling *tiling, int weight, int64_t c,
                        int64_t k, bool transposed)
{
    int64_t width = (int64_t)tiling->wm * tiling->rm;
    int64_t rounded_k = divide_up(k, width) * width, rounded_c = divide_up(c, tiling->terms) * tiling->terms;
    int panels = claret_emit_temp(emit, CLARET_DTYPE_F32, POSITIONS * rounded_k * rounded_c);
    struct claret_kernel_call *call =
        claret_emit_kernel(emit, "weights", "conv2d_winograd_tiled", "winograd_tiled_weights");
    tile_defines(call, tiling);
    claret_kernel_define(call, "WEIGHTS", 1);
    claret_kernel_tensor(call, weight, 0);
    claret_kernel_tensor(call, panels, 0);
    claret_kernel_int(call, k);
    claret_kernel_int(call, c);
    claret_kernel_int(call, transposed);
    claret_kernel_range3(call, rounded_k, rounded_c, 1, (size_t)width);
    claret_emit_cost(emit, 0, 4.0 * (double)(9 * k * c + POSITIONS * rounded_k * rounded_c));
    return panels;
}

/* What runs: from x to y, where a gradient does from dy to dx. */
struct run {
    struct claret_conv conv;
    int x, weight, bias, mask, y; /* tensors; -1: not there */
    bool relu, transposed;
    double flops; /* as a convolution has them */
};

static void emit_run(struct claret_emit *emit, const struct run *run)
{
    const struct claret_conv *conv = &run->conv;
    struct claret_params *params = claret_emit_params(emit);
    const struct claret_tiling *tiling = choose(claret_emit_device(emit), params);
    const int64_t rows = (int64_t)tiling->wm * tiling->rm, columns = (int64_t)tiling->wn * tiling->rn;
    const int64_t tiles = conv->n * ((conv->oh + 1) / 2) * ((conv->ow + 1) / 2);
    const int group = POSITIONS * tiling->wm * tiling->wn;
    const struct {
        const char *name;
        int64_t value;
    } defines[] = {{"H", conv->h},
                   {"W", conv->w},
                   {"OH", conv->oh},
                   {"OW", conv->ow},
                   {"PH", conv->padding[0]},
                   {"PW", conv->padding[1]},
                   {"HAS_BIAS", run->bias >= 0},
                   {"RELU", run->relu},
                   {"MASKED", run->mask >= 0}};
    claret_param(params, "TILE_M", rows); /* so that it is known what was taken */
    claret_param(params, "TILE_N", columns);
    int panels = emit_weights(emit, tiling, run->weight, conv->c, conv->k, run->transposed);
    struct claret_kernel_call *call =
        claret_emit_kernel(emit, "convolution", "conv2d_winograd_tiled", "conv2d_winograd_tiled");
    tile_defines(call, tiling);
    for (size_t i = 0; i < sizeof defines / sizeof *defines; i++)
        claret_kernel_define(call, defines[i].name, defines[i].value);
    claret_kernel_tensor(call, run->x, 0);
    claret_kernel_tensor(call, run->mask >= 0 ? run->mask : run->x, 0);
    claret_kernel_tensor(call, panels, 0);
    claret_kernel_tensor(call, run->bias >= 0 ? run->bias : panels, 0);
    claret_kernel_tensor(call, run->y, 0);
    claret_kernel_int(call, conv->n);
    claret_kernel_int(call, conv->c);
    claret_kernel_int(call, conv->k);
    claret_kernel_range3(call, divide_up(tiles, columns) * group, divide_up(conv->k, rows), 1, (size_t)group);
    call->fixed = true;
    claret_emit_cost(
        emit, run->flops,
        4.0 * (double)conv->n *
            (double)(conv->c * conv->h * conv->w * (run->mask >= 0 ? 2 : 1) + conv->k * conv->oh * conv->ow));
}

static bool forward_applicable(const struct claret_problem *problem, char reason[128])
{
    return applicable(problem, problem->node->in[0], problem->node->out[0], reason);
}

static void forward_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_conv conv = conv_of(node, claret_emit_tensor(emit, 0), node->in[0], node->out[0]).conv;
    emit_run(emit, &(struct run){.conv = conv,
                                 .x = node->in[0],
                                 .weight = node->in[1],
                                 .bias = node->in_count > 2 ? node->in[2] : -1,
                                 .mask = -1,
                                 .y = node->out[0],
                                 .relu = claret_conv_has_relu(node),
                                 .flops = claret_conv_flops(&conv)});
}

static bool dx_applicable(const struct claret_problem *problem, char reason[128])
{
    return applicable(problem, problem->node->out[0], problem->node->in[0], reason);
}

static void dx_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_conv conv = conv_of(node, claret_emit_tensor(emit, 0), node->out[0], node->in[0]).conv;
    emit_run(emit, &(struct run){.conv = claret_conv_turned(&conv),
                                 .x = node->in[0],
                                 .weight = node->in[1],
                                 .bias = -1,
                                 .mask = claret_conv_mask(node),
                                 .y = node->out[0],
                                 .transposed = true,
                                 .flops = claret_conv_flops(&conv)});
}

const struct claret_solver claret_conv_winograd_tiled = {.name = "winograd-tiled",
                                                         .applicable = forward_applicable,
                                                         .unasked = unasked,
                                                         .emit = forward_emit,
                                                         .tunables = tunables};
const struct claret_solver claret_conv_winograd_tiled_dx = {.name = "winograd-tiled",
                                                            .applicable = dx_applicable,
                                                            .unasked = unasked,
                                                            .emit = dx_emit,
                                                            .tunables = tunables};
