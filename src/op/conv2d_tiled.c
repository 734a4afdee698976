/* The launches of cl/conv2d_tiled.cl and cl/conv2d_tiled_dx.cl. */
#include "op/conv2d_tiled.h"

#include <stdio.h>

#include "op/update.h"
#include "op/tiles.h"

#define MAX_PARTS 64
#define FOUR 4 /* columns that an item has side by side: windows must lie within */

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

bool claret_tiled_conv_small(const struct claret_tiled_conv *tiled, char reason[128])
{
    const struct claret_conv *conv = &tiled->conv;
    const int64_t *window = tiled->window;
    int64_t positions = window[0] * window[1], outputs = conv->oh * conv->ow * positions;
    int64_t most = conv->n * largest(conv->c * conv->h * conv->w, largest(conv->k, 4) * outputs);
    int64_t reach = largest(conv->h, conv->w) + largest(conv->padding[0] + conv->dilation[0] * conv->r,
                                                        conv->padding[1] + conv->dilation[1] * conv->s);
    bool small =
        most <= INT32_MAX / 2 && conv->k * conv->c * conv->r * conv->s <= INT32_MAX / 2 && reach <= 1 << 28;
    if (!small)
        snprintf(reason, 128, "its images are too large for 32-bit indices");
    return small;
}

bool claret_tiled_conv_fits(const struct claret_problem *problem, const struct claret_tiled_conv *tiled,
                            char reason[128])
{
    int64_t positions = tiled->window[0] * tiled->window[1];
    if (!claret_tile_device(problem->device, problem->params, reason) ||
        !claret_conv_whole(&tiled->conv, reason) || !claret_tiled_conv_small(tiled, reason))
        return false;
    if (FOUR % positions != 0)
        snprintf(reason, 128, "pools over windows of %lld positions, not of 1, 2 or 4", (long long)positions);
    return FOUR % positions == 0;
}

void claret_tiled_conv_defines(struct claret_kernel_call *call, const struct claret_tiled_conv *tiled)
{
    const struct claret_conv *conv = &tiled->conv;
    claret_kernel_define(call, "R", conv->r);
    claret_kernel_define(call, "S", conv->s);
    claret_kernel_define(call, "SH", conv->stride[0]);
    claret_kernel_define(call, "SW", conv->stride[1]);
    claret_kernel_define(call, "PH", conv->padding[0]);
    claret_kernel_define(call, "PW", conv->padding[1]);
    claret_kernel_define(call, "DH", conv->dilation[0]);
    claret_kernel_define(call, "DW", conv->dilation[1]);
    claret_kernel_define(call, "H", conv->h);
    claret_kernel_define(call, "W", conv->w);
    claret_kernel_define(call, "OH", conv->oh);
    claret_kernel_define(call, "OW", conv->ow);
    claret_kernel_define(call, "PI", tiled->window[0]);
    claret_kernel_define(call, "PJ", tiled->window[1]);
}

/* `pass` as in the kernel's file. */
static void defines(struct claret_kernel_call *call, int pass, const struct claret_tiled_conv *tiled)
{
    claret_kernel_define(call, "PASS", pass);
    claret_kernel_define(call, "POOL", tiled->index >= 0);
    claret_kernel_define(call, "MASKED", tiled->mask >= 0);
    claret_tiled_conv_defines(call, tiled);
}

static void counts(struct claret_kernel_call *call, const struct claret_conv *conv)
{
    claret_kernel_int(call, conv->n);
    claret_kernel_int(call, conv->c);
    claret_kernel_int(call, conv->k);
}

static double flops(const struct claret_tiled_conv *tiled)
{
    return claret_conv_flops(&tiled->conv) * (double)(tiled->window[0] * tiled->window[1]);
}

/* Images in, images out, weights. */
static double bytes(const struct claret_conv *conv)
{
    return 4.0 * (double)(conv->n * (conv->c * conv->h * conv->w + conv->k * conv->oh * conv->ow) +
                          conv->k * conv->c * conv->r * conv->s);
}

static int64_t columns(const struct claret_tiled_conv *tiled)
{
    return tiled->conv.n * tiled->conv.oh * tiled->conv.ow * tiled->window[0] * tiled->window[1];
}

void claret_tiled_conv_forward(struct claret_emit *emit, const char *what,
                               const struct claret_tiled_conv *tiled)
{
    const struct claret_conv *conv = &tiled->conv;
    struct claret_tiling tiling = claret_tile_choose(claret_emit_device(emit), claret_emit_params(emit),
                                                     conv->k, columns(tiled), conv->c * conv->r * conv->s, 1);
    struct claret_kernel_call *call = claret_emit_kernel(emit, what, "conv2d_tiled", "conv2d_tiled");
    claret_tile_launch(call, &tiling, 1);
    defines(call, 0, tiled);
    claret_kernel_define(call, "HAS_BIAS", tiled->bias >= 0);
    claret_kernel_define(call, "RELU", tiled->relu);
    claret_kernel_tensor(call, tiled->x, 0);
    claret_kernel_tensor(call, tiled->weight, 0);
    claret_kernel_tensor(call, tiled->bias >= 0 ? tiled->bias : tiled->weight, 0);
    claret_kernel_tensor(call, tiled->y, 0);
    claret_kernel_tensor(call, tiled->index >= 0 ? tiled->index : tiled->y, 0);
    counts(call, conv);
    claret_emit_cost(emit, flops(tiled), bytes(conv));
}

void claret_tiled_conv_dw(struct claret_emit *emit, const struct claret_node *node, int at,
                          const struct claret_tiled_conv *tiled)
{
    const struct claret_conv *conv = &tiled->conv;
    int64_t weights = conv->k * conv->c * conv->r * conv->s, biases = tiled->bias >= 0 ? conv->k : 0;
    struct claret_tiling tiling =
        claret_tile_choose(claret_emit_device(emit), claret_emit_params(emit), conv->k,
                           conv->c * conv->r * conv->s, columns(tiled), MAX_PARTS);
    bool direct = tiling.chunks == 1 && !node->update;
    int to =
        direct ? node->out[0] : claret_emit_temp(emit, CLARET_DTYPE_F32, tiling.chunks * (weights + biases));
    struct claret_kernel_call *call = claret_emit_kernel(emit, "weights", "conv2d_tiled", "conv2d_tiled_dw");
    claret_tile_launch(call, &tiling, tiling.chunks);
    defines(call, 1, tiled);
    claret_kernel_define(call, "HAS_BIAS", biases > 0);
    claret_kernel_tensor(call, tiled->x, 0);
    claret_kernel_tensor(call, tiled->index >= 0 ? tiled->index : tiled->y, 0);
    claret_kernel_tensor(call, tiled->y, 0);
    claret_kernel_tensor(call, tiled->mask >= 0 ? tiled->mask : tiled->y, 0);
    claret_kernel_tensor(call, to, 0);
    claret_kernel_tensor(call, direct && biases ? node->out[1] : to, direct || !biases ? 0 : weights);
    claret_kernel_int(call, weights + biases);
    counts(call, conv);
    claret_kernel_int(call, tiling.chunk);
    claret_emit_cost(emit, flops(tiled), bytes(conv));
    if (!direct)
        claret_update_emit_sum(emit, node, at, 0, to, weights, biases, tiling.chunks);
}

/* ---- conv2d's own nodes ---- */

static struct claret_tiled_conv conv_of(const struct claret_node *node, const struct claret_tensor *tensors,
                                        int x, int y)
{
    return (struct claret_tiled_conv){.conv = claret_conv_problem(node->attr, &tensors[x], &tensors[y]),
                                      .window = {1, 1},
                                      .x = x,
                                      .weight = node->in[1],
                                      .bias = -1,
                                      .y = y,
                                      .index = -1,
                                      .mask = -1};
}

static bool fits(const struct claret_problem *problem, int x, int y, char reason[128])
{
    struct claret_tiled_conv tiled = conv_of(problem->node, problem->tensors, x, y);
    return claret_tiled_conv_fits(problem, &tiled, reason);
}

static bool unasked(const struct claret_problem *problem)
{
    return claret_tile_unasked(problem->device);
}

static bool forward_applicable(const struct claret_problem *problem, char reason[128])
{
    return fits(problem, problem->node->in[0], problem->node->out[0], reason);
}

static void forward_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_tiled_conv tiled = conv_of(node, claret_emit_tensor(emit, 0), node->in[0], node->out[0]);
    tiled.bias = node->in_count > 2 ? node->in[2] : -1;
    tiled.relu = claret_conv_has_relu(node);
    claret_tiled_conv_forward(emit, "conv", &tiled);
}

static bool dx_applicable(const struct claret_problem *problem, char reason[128])
{
    return fits(problem, problem->node->out[0], problem->node->in[0], reason);
}

static int64_t gcd(int64_t a, int64_t b)
{
    return b ? gcd(b, a % b) : a;
}

/* Pixels with the same remainders by the stride, a phase, are hit by the same taps: each phase is a product
 * of its own in the same launch, over the taps that hit it alone. */
static void dx_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_tiled_conv tiled = conv_of(node, claret_emit_tensor(emit, 0), node->out[0], node->in[0]);
    const struct claret_conv *conv = &tiled.conv;
    int64_t phases[2], pixels = conv->n, extent[2] = {conv->h, conv->w};
    for (int d = 0; d < 2; d++) {
        phases[d] = conv->stride[d] < extent[d] ? conv->stride[d] : extent[d];
        pixels *= (extent[d] + conv->stride[d] - 1) / conv->stride[d];
    }
    tiled.mask = claret_conv_mask(node);
    struct claret_tiling tiling = claret_tile_choose(
        claret_emit_device(emit), claret_emit_params(emit), conv->c, pixels * phases[0] * phases[1],
        (conv->k * conv->r * conv->s + phases[0] * phases[1] - 1) / (phases[0] * phases[1]), 1);
    int64_t tile = (int64_t)tiling.wn * tiling.rn;
    tiling.columns = (pixels + tile - 1) / tile * phases[0] * phases[1];
    struct claret_kernel_call *call =
        claret_emit_kernel(emit, "images", "conv2d_tiled_dx", "conv2d_tiled_dx");
    claret_tile_launch(call, &tiling, 1);
    claret_kernel_define(call, "MASKED", tiled.mask >= 0);
    claret_tiled_conv_defines(call, &tiled);
    if (conv->stride[0] > 1 || conv->stride[1] > 1) {
        claret_kernel_define(call, "K", conv->k);
        claret_kernel_define(call, "QH", conv->stride[0] / gcd(conv->stride[0], conv->dilation[0]));
        claret_kernel_define(call, "QW", conv->stride[1] / gcd(conv->stride[1], conv->dilation[1]));
    }
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, tiled.mask >= 0 ? tiled.mask : node->in[0], 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    counts(call, conv);
    claret_emit_cost(emit, flops(&tiled), bytes(conv));
}

static bool dw_applicable(const struct claret_problem *problem, char reason[128])
{
    return fits(problem, problem->node->in[0], problem->node->in[1], reason);
}

static void dw_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_tiled_conv tiled = conv_of(node, claret_emit_tensor(emit, 0), node->in[0], node->in[1]);
    tiled.bias = node->out_count > 1 ? node->out[1] : -1;
    tiled.mask = claret_conv_mask(node);
    claret_tiled_conv_dw(emit, node, 0, &tiled);
}

const struct claret_solver claret_conv_tiled = {.name = "implicit-gemm",
                                                .applicable = forward_applicable,
                                                .unasked = unasked,
                                                .emit = forward_emit,
                                                .tunables = claret_tile_tunables};
const struct claret_solver claret_conv_tiled_dx = {.name = "implicit-gemm",
                                                   .applicable = dx_applicable,
                                                   .unasked = unasked,
                                                   .emit = dx_emit,
                                                   .tunables = claret_tile_tunables};
const struct claret_solver claret_conv_tiled_dw = {.name = "implicit-gemm",
                                                   .applicable = dw_applicable,
                                                   .unasked = unasked,
                                                   .emit = dw_emit,
                                                   .tunables = claret_tile_split_tunables};
