/* conv2d, relu and max_pool2d in one on images as they are, for GPUs; conv2d_relu_pool is the same for wide
 * vectors. conv2d_relu_pool_tiled: in x (N, C, H, W), weight, bias or none; out y (N, K, OH, OW) pooled,
 * index (uint8, like y): the position in its window that won, NONE where ReLU cut the maximum.
 * conv2d_relu_pool_tiled_dw: in x, index, dy and what an update takes; out the gradients of weight and bias,
 * or what the update changes. Only the winners of the windows carry gradient. */
#include "op/conv2d_relu_pool.h"
#include "op/conv2d_tiled.h"
#include "op/max_pool2d.h"
#include "op/update.h"
#include "op/tiles.h"

#include <stdio.h>

#define DIRECT_TERMS 64     /* with more taps tiles save more reading than they cost */
#define DIRECT_GROUP 64     /* items that share the weights of their channels */
#define DIRECT_REGISTERS 32 /* sums of one item, at most */

static const struct claret_op conv2d_relu_pool_tiled_dw;

static enum claret_status shape(struct claret_build *build, struct claret_node *node)
{
    return claret_conv_pool_shape(build, node);
}

static enum claret_status backward(struct claret_build *build, const struct claret_node *node)
{
    return claret_conv_pool_backward(build, node, node->in[0], &conv2d_relu_pool_tiled_dw);
}

/* y: y or dy. */
static struct claret_tiled_conv problem_of(const struct claret_node *node,
                                           const struct claret_tensor *tensors, int y, int index, int bias)
{
    struct claret_tiled_conv tiled = {.conv =
                                          claret_conv_problem(node->attr, &tensors[node->in[0]], &tensors[y]),
                                      .relu = true,
                                      .x = node->in[0],
                                      .weight = node->in[1],
                                      .bias = bias,
                                      .y = y,
                                      .index = index,
                                      .mask = -1};
    for (int d = 0; d < 2; d++)
        tiled.window[d] = node->chain[1][CLARET_POOL_KERNEL].i[d];
    return tiled;
}

static struct claret_tiled_conv forward_of(const struct claret_node *node,
                                           const struct claret_tensor *tensors)
{
    return problem_of(node, tensors, node->out[0], node->out[1], node->in_count > 2 ? node->in[2] : -1);
}

enum { DW_PARAMS = 3 }; /* where in conv2d_relu_pool_tiled_dw's inputs what an update takes begins */

static struct claret_tiled_conv dw_of(const struct claret_node *node, const struct claret_tensor *tensors)
{
    bool bias = claret_update_bias(node, DW_PARAMS, 0);
    return problem_of(node, tensors, node->in[2], node->in[1], bias ? node->out[1] : -1);
}

static bool unasked(const struct claret_problem *problem)
{
    return claret_tile_unasked(problem->device);
}

/* ---- tiles ---- */

static bool forward_applicable(const struct claret_problem *problem, char reason[128])
{
    struct claret_tiled_conv tiled = forward_of(problem->node, problem->tensors);
    return claret_tiled_conv_fits(problem, &tiled, reason);
}

static bool forward_unasked(const struct claret_problem *problem)
{
    const struct claret_shape *weight = &problem->tensors[problem->node->in[1]].shape;
    return claret_tile_unasked(problem->device) &&
           weight->dim[1] * weight->dim[2] * weight->dim[3] > DIRECT_TERMS;
}

static void forward_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_tiled_conv tiled = forward_of(node, claret_emit_tensor(emit, 0));
    claret_tiled_conv_forward(emit, "conv+relu+pool", &tiled);
}

static bool dw_applicable(const struct claret_problem *problem, char reason[128])
{
    struct claret_tiled_conv tiled = dw_of(problem->node, problem->tensors);
    return claret_tiled_conv_fits(problem, &tiled, reason);
}

static void dw_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_tiled_conv tiled = dw_of(node, claret_emit_tensor(emit, 0));
    claret_tiled_conv_dw(emit, node, DW_PARAMS, &tiled);
}

/* ---- without local memory: on every device. Their names are their own: a forced name is for all nodes of a
 * layer. ---- */

static double flops(const struct claret_tiled_conv *tiled)
{
    return claret_conv_flops(&tiled->conv) * (double)(tiled->window[0] * tiled->window[1]);
}

static void direct_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_tiled_conv tiled = forward_of(node, claret_emit_tensor(emit, 0));
    const struct claret_conv *conv = &tiled.conv;
    const struct claret_device_desc *device = claret_emit_device(emit);
    int64_t positions = tiled.window[0] * tiled.window[1], pixels = conv->n * conv->oh * conv->ow;
    int64_t channels = DIRECT_REGISTERS / positions < 8 ? DIRECT_REGISTERS / positions : 8;
    channels = channels > conv->k ? conv->k : channels;
    size_t group = DIRECT_GROUP;
    while (group > 1 && (group > device->max_work_group || group > device->max_item[0]))
        group /= 2;
    struct claret_kernel_call *call =
        claret_emit_kernel(emit, "conv+relu+pool", "conv2d_relu_pool_tiled", "conv2d_relu_pool_direct");
    claret_kernel_define(call, "GROUP", (int64_t)group);
    claret_kernel_define(call, "KT", channels);
    claret_kernel_define(call, "HAS_BIAS", tiled.bias >= 0);
    claret_kernel_define(call, "C", conv->c);
    claret_tiled_conv_defines(call, &tiled);
    claret_kernel_tensor(call, tiled.x, 0);
    claret_kernel_tensor(call, tiled.weight, 0);
    claret_kernel_tensor(call, tiled.bias >= 0 ? tiled.bias : tiled.weight, 0);
    claret_kernel_tensor(call, tiled.y, 0);
    claret_kernel_tensor(call, tiled.index, 0);
    claret_kernel_int(call, conv->n);
    claret_kernel_int(call, conv->k);
    claret_kernel_range3(call, (pixels + (int64_t)group - 1) / (int64_t)group * (int64_t)group,
                         (conv->k + channels - 1) / channels, 1, group);
    call->fixed = true;
    claret_emit_cost(emit, flops(&tiled), 4.0 * (double)(conv->n * conv->c * conv->h * conv->w));
}

static void direct_dw_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_tiled_conv tiled = dw_of(node, claret_emit_tensor(emit, 0));
    const struct claret_conv *conv = &tiled.conv;
    struct claret_kernel_call *call =
        claret_emit_kernel(emit, "weights", "conv2d_relu_pool_tiled", "conv2d_relu_pool_weights");
    claret_kernel_define(call, "HAS_BIAS", tiled.bias >= 0);
    claret_kernel_define(call, "C", conv->c);
    claret_tiled_conv_defines(call, &tiled);
    claret_update_defines(call, node);
    for (int i = 0; i < 3; i++)
        claret_kernel_tensor(call, node->in[i], 0);
    claret_update_arguments(call, node, DW_PARAMS, 0);
    claret_kernel_int(call, conv->n);
    claret_kernel_int(call, conv->k);
    claret_kernel_range3(call, conv->c * conv->r * conv->s + 1, conv->k, 1, 32);
    claret_emit_cost(emit, flops(&tiled), 4.0 * (double)(conv->n * conv->c * conv->h * conv->w));
}

static const struct claret_solver forward_tiled = {.name = "implicit-gemm",
                                                   .applicable = forward_applicable,
                                                   .unasked = forward_unasked,
                                                   .emit = forward_emit,
                                                   .tunables = claret_tile_tunables};
static const struct claret_solver dw_tiled = {.name = "implicit-gemm",
                                              .applicable = dw_applicable,
                                              .unasked = unasked,
                                              .emit = dw_emit,
                                              .tunables = claret_tile_split_tunables};
static const struct claret_solver direct = {.name = "per-pixel", .emit = direct_emit};
static const struct claret_solver direct_dw = {.name = "per-weight", .emit = direct_dw_emit};
static const struct claret_solver *const forward_solvers[] = {&forward_tiled, &direct, NULL};
static const struct claret_solver *const dw_solvers[] = {&dw_tiled, &direct_dw, NULL};

static const char *const chain[] = {"conv2d", "relu", "max_pool2d", NULL};
static const struct claret_op conv2d_relu_pool_tiled = {.name = "conv2d_relu_pool_tiled",
                                                        .chain = chain,
                                                        .family = CLARET_FAMILY_TILES,
                                                        .fits = claret_conv_pool_fits,
                                                        .shape = shape,
                                                        .backward = backward,
                                                        .solvers = forward_solvers,
                                                        .multiply_adds = claret_conv_pool_multiply_adds};
static const struct claret_op conv2d_relu_pool_tiled_dw = {.name = "conv2d_relu_pool_tiled_dw",
                                                           .solvers = dw_solvers};

extern const struct claret_op *const claret_ops_conv2d_relu_pool_tiled[];
const struct claret_op *const claret_ops_conv2d_relu_pool_tiled[] = {&conv2d_relu_pool_tiled,
                                                                     &conv2d_relu_pool_tiled_dw, NULL};
