/* The launches of cl/conv2d_depthwise.cl: images in NHWC whose channels are convolved each by itself. */
#include <stdio.h>

#include "op/conv2d.h"
#include "op/conv2d_direct.h"
#include "op/vectors.h"

#define ITEMS_PER_UNIT 4 /* so that units end together */

static const struct claret_tunable tunables[] = {
    {"PX", {1, 2, 4, 6, 8, 10, 12, 16}}, /* pixels in the register tile */
    {.name = NULL},
};

static const struct claret_tunable gradient_tunables[] = {
    {"CHUNK", {1, 2, 4, 8, 16, 32, 64}}, /* images that one item adds */
    {.name = NULL},
};

static bool applicable(const struct claret_problem *problem, int x, int y, char reason[128])
{
    struct claret_conv conv =
        claret_conv_problem(problem->node->attr, &problem->tensors[x], &problem->tensors[y]);
    if (!claret_vector_device(problem->device, reason))
        return false;
    if (conv.groups == 1 || conv.groups != conv.c || conv.groups != conv.k)
        snprintf(reason, 128, "not each channel has a group of its own");
    return conv.groups > 1 && conv.groups == conv.c && conv.groups == conv.k;
}

static bool forward_applicable(const struct claret_problem *problem, char reason[128])
{
    return applicable(problem, problem->node->in[0], problem->node->out[0], reason);
}

static bool dx_applicable(const struct claret_problem *problem, char reason[128])
{
    return applicable(problem, problem->node->out[0], problem->node->in[0], reason);
}

static bool dw_applicable(const struct claret_problem *problem, char reason[128])
{
    return applicable(problem, problem->node->in[0], problem->node->in[1], reason);
}

/* y = convolution of x, or where `transposed` its gradient; bias and mask -1: none. */
static void emit_depthwise(struct claret_emit *emit, const struct claret_node *node, bool transposed,
                           int bias, int mask)
{
    int x = node->in[0], y = node->out[0];
    struct claret_conv conv = claret_conv_problem(node->attr, claret_emit_tensor(emit, transposed ? y : x),
                                                  claret_emit_tensor(emit, transposed ? x : y));
    int lanes = claret_vector_lanes(claret_emit_device(emit), conv.c);
    int panels = claret_conv_pack_weights(emit, node->in[1], lanes, 1, conv.c, 1, conv.r * conv.s, false);
    struct claret_kernel_call *call =
        claret_emit_kernel(emit, "convolution", "conv2d_depthwise", "conv2d_depthwise");
    claret_kernel_define(call, "LANES", lanes);
    claret_kernel_define(call, "C", conv.c);
    claret_kernel_define(call, "H", transposed ? conv.oh : conv.h);
    claret_kernel_define(call, "W", transposed ? conv.ow : conv.w);
    claret_kernel_define(call, "OH", transposed ? conv.h : conv.oh);
    claret_kernel_define(call, "OW", transposed ? conv.w : conv.ow);
    claret_conv_window_defines(call, &conv);
    claret_kernel_define(call, "TRANSPOSED", transposed);
    claret_kernel_define(call, "HAS_BIAS", bias >= 0);
    claret_kernel_define(call, "RELU", claret_conv_has_relu(node));
    claret_kernel_define(call, "MASK", mask >= 0);
    claret_kernel_define(call, "PX",
                         claret_emit_tunable(emit, "PX", claret_vector_tile(claret_emit_device(emit)) / 3));
    claret_kernel_tensor(call, x, 0);
    claret_kernel_tensor(call, mask >= 0 ? mask : x, 0);
    claret_kernel_tensor(call, panels, 0);
    claret_kernel_tensor(call, bias >= 0 ? bias : panels, 0);
    claret_kernel_tensor(call, y, 0);
    claret_kernel_range3(call, transposed ? conv.h : conv.oh, conv.n, 1, 1);
    claret_emit_cost(emit, claret_conv_flops(&conv),
                     4.0 * (double)(conv.n * conv.c) * (double)(conv.h * conv.w + conv.oh * conv.ow));
}

static void forward_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_depthwise(emit, node, false, node->in_count > 2 ? node->in[2] : -1, -1);
}

static void dx_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_depthwise(emit, node, true, -1, claret_conv_mask(node));
}

static void dw_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_conv conv = claret_conv_problem(node->attr, claret_emit_tensor(emit, node->in[0]),
                                                  claret_emit_tensor(emit, node->in[1]));
    const struct claret_device_desc *device = claret_emit_device(emit);
    int mask = claret_conv_mask(node), lanes = claret_vector_lanes(device, conv.c);
    int64_t tiles = (conv.c + lanes - 1) / lanes, part = (conv.r * conv.s + 1) * lanes;
    /* Images are shared out first: an item that has all channels reads what lies side by side. */
    int64_t items = ITEMS_PER_UNIT * (int64_t)device->compute_units;
    int64_t chunk = claret_emit_tunable(emit, "CHUNK", items < conv.n ? conv.n / items : 1);
    int64_t chunks = (conv.n + chunk - 1) / chunk;
    int64_t shares = (items + chunks - 1) / chunks, width = (tiles + shares - 1) / shares;
    int parts = claret_emit_temp(emit, CLARET_DTYPE_F32, chunks * tiles * part);
    struct claret_kernel_call *call =
        claret_emit_kernel(emit, "weights", "conv2d_depthwise", "conv2d_depthwise_dw");
    claret_kernel_define(call, "LANES", lanes);
    claret_kernel_define(call, "N", conv.n);
    claret_kernel_define(call, "C", conv.c);
    claret_kernel_define(call, "H", conv.h);
    claret_kernel_define(call, "W", conv.w);
    claret_kernel_define(call, "OH", conv.oh);
    claret_kernel_define(call, "OW", conv.ow);
    claret_conv_window_defines(call, &conv);
    claret_kernel_define(call, "MASK", mask >= 0);
    claret_kernel_define(call, "HAS_BIAS", node->out_count > 1);
    claret_kernel_define(call, "TILES", width);
    claret_kernel_define(call, "CHUNK", chunk);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, mask >= 0 ? mask : node->in[1], 0);
    claret_kernel_tensor(call, parts, 0);
    claret_kernel_range3(call, (tiles + width - 1) / width, chunks, 1, 1);
    claret_emit_cost(emit, claret_conv_flops(&conv),
                     4.0 * (double)(conv.n * conv.c) * (double)(conv.h * conv.w + conv.oh * conv.ow));
    const struct claret_conv_parts sum = {.k = conv.k,
                                          .c = 1,
                                          .taps = conv.r * conv.s,
                                          .row_taps = conv.s,
                                          .kt = lanes,
                                          .cg = 1,
                                          .row = conv.s,
                                          .tap = 1,
                                          .part = part,
                                          .chunks = chunks};
    claret_conv_sum_parts(emit, node, parts, &sum);
}

const struct claret_solver claret_conv_depthwise = {.name = "depthwise",
                                                    .layout = CLARET_LAYOUT_NHWC,
                                                    .applicable = forward_applicable,
                                                    .emit = forward_emit,
                                                    .tunables = tunables};
const struct claret_solver claret_conv_depthwise_dx = {.name = "depthwise",
                                                       .layout = CLARET_LAYOUT_NHWC,
                                                       .applicable = dx_applicable,
                                                       .emit = dx_emit,
                                                       .tunables = tunables};
const struct claret_solver claret_conv_depthwise_dw = {.name = "depthwise",
                                                       .layout = CLARET_LAYOUT_NHWC,
                                                       .applicable = dw_applicable,
                                                       .emit = dw_emit,
                                                       .tunables = gradient_tunables};
