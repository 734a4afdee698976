/* The launches of cl/conv2d_winograd.cl and cl/conv2d_winograd_dw.cl: 3x3 convolutions of images in NHWC by
 * transforms. */
#include <stdio.h>

#include "op/conv2d.h"
#include "op/vectors.h"

#define LOCAL_BYTES                                                                                          \
    (384 << 10)          /* transforms of an item: what a second-level cache keeps beside the weights */
#define MIN_TILES 32     /* of an item, where memory allows: each reading of the weights serves them all */
#define ITEMS_PER_UNIT 4 /* so that units end together */
#define MIN_CHANNELS 16  /* below, transforms cost more than the products that they save */

/* From x (n, h, w, c) to y (n, oh, ow, k), in either direction. */
struct winograd {
    int64_t n, c, k, h, w, oh, ow, padding[2];
    bool transposed;
    double flops; /* as a convolution has them */
    int lanes, kv, px;
    int64_t tb, th, tw;
};

static int64_t round_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b * b;
}

static int64_t local_bytes(const struct winograd *winograd, int64_t tb)
{
    int64_t tiles = round_up(tb * winograd->tw, winograd->px);
    int64_t channels = round_up(winograd->c, winograd->lanes) + (int64_t)winograd->kv * winograd->lanes;
    return 16 * tiles * channels * (int64_t)sizeof(float);
}

static const struct claret_tunable tunables[] = {
    {"KV", {1, 2, 3, 4}},                /* vectors of output channels in the register tile */
    {"PX", {4, 5, 6, 7, 8, 10, 12, 16}}, /* tiles of 2x2 pixels in it */
    {"TB", {1, 2, 4, 8, 16, 32}},        /* rows of tiles in an item */
    {.name = NULL},
};

static struct winograd winograd_problem(const struct claret_conv *conv, bool transposed,
                                        const struct claret_device_desc *device, struct claret_params *params)
{
    const struct claret_conv run = transposed ? claret_conv_turned(conv) : *conv;
    struct winograd winograd = {.n = run.n,
                                .c = run.c,
                                .k = run.k,
                                .h = run.h,
                                .w = run.w,
                                .oh = run.oh,
                                .ow = run.ow,
                                .padding = {run.padding[0], run.padding[1]},
                                .transposed = transposed,
                                .flops = claret_conv_flops(conv)};
    winograd.lanes = claret_vector_lanes(device, winograd.k);
    winograd.th = (winograd.oh + 1) / 2;
    winograd.tw = (winograd.ow + 1) / 2;
    winograd.kv = (int)claret_param(params, "KV", winograd.k > winograd.lanes ? 2 : 1);
    winograd.px = (int)claret_param(params, "PX", claret_vector_tile(device) * 2 / 3 / winograd.kv);
    int64_t tb = (MIN_TILES + winograd.tw - 1) / winograd.tw, rows = winograd.n * winograd.th;
    int64_t items = ITEMS_PER_UNIT * (int64_t)device->compute_units;
    const int64_t room = claret_vector_room(device, LOCAL_BYTES);
    while (tb > 1 && (local_bytes(&winograd, tb) > room || rows / tb < items))
        tb--;
    winograd.tb = claret_param(params, "TB", tb);
    return winograd;
}

static int64_t panel_floats(const struct winograd *winograd)
{
    return 16 * winograd->c * round_up(winograd->k, (int64_t)winograd->kv * winograd->lanes);
}

bool claret_conv_suits_winograd(const struct claret_conv *conv, char reason[128])
{
    if (!claret_conv_whole(conv, reason))
        return false;
    if (conv->r != 3 || conv->s != 3 || conv->stride[0] != 1 || conv->stride[1] != 1 ||
        conv->dilation[0] != 1 || conv->dilation[1] != 1)
        snprintf(reason, 128, "not a 3x3 window with stride 1");
    else if (conv->c < MIN_CHANNELS || conv->k < MIN_CHANNELS)
        snprintf(reason, 128, "fewer than %d channels", MIN_CHANNELS);
    else
        return true;
    return false;
}

static bool winograd_applicable(const struct claret_problem *problem, int x, int y, bool transposed,
                                char reason[128])
{
    struct claret_conv conv =
        claret_conv_problem(problem->node->attr, &problem->tensors[x], &problem->tensors[y]);
    if (!claret_vector_device(problem->device, reason))
        return false;
    if (!claret_conv_suits_winograd(&conv, reason))
        return false;
    struct winograd winograd = winograd_problem(&conv, transposed, problem->device, problem->params);
    if (!claret_vector_tile_fits(problem->device, winograd.px, winograd.kv, reason))
        return false;
    return claret_vector_local(problem->device, local_bytes(&winograd, winograd.tb), reason) &&
           claret_vector_workspace(problem->device, panel_floats(&winograd), reason);
}

static bool forward_applicable(const struct claret_problem *problem, char reason[128])
{
    return winograd_applicable(problem, problem->node->in[0], problem->node->out[0], false, reason);
}

static bool dx_applicable(const struct claret_problem *problem, char reason[128])
{
    return winograd_applicable(problem, problem->node->out[0], problem->node->in[0], true, reason);
}

static int emit_weights(struct claret_emit *emit, const struct winograd *winograd, int weight)
{
    int64_t kt = (int64_t)winograd->kv * winograd->lanes;
    int panels = claret_emit_temp(emit, CLARET_DTYPE_F32, panel_floats(winograd));
    struct claret_kernel_call *call =
        claret_emit_kernel(emit, "weights", "conv2d_winograd", "winograd_weights");
    claret_kernel_define(call, "LANES", winograd->lanes);
    claret_kernel_define(call, "KV", winograd->kv);
    claret_kernel_tensor(call, weight, 0);
    claret_kernel_tensor(call, panels, 0);
    claret_kernel_int(call, winograd->k);
    claret_kernel_int(call, winograd->c);
    claret_kernel_int(call, winograd->transposed);
    claret_kernel_range3(call, (winograd->k + kt - 1) / kt, winograd->c, 1, 1);
    claret_emit_cost(emit, 0, 4.0 * (double)(winograd->k * winograd->c * (9 + 16)));
    return panels;
}

/* bias and mask -1: none */
static void emit_winograd(struct claret_emit *emit, const struct winograd *winograd, int x, int mask,
                          int weight, int bias, bool relu, int y)
{
    const struct {
        const char *name;
        int64_t value;
    } defines[] = {{"LANES", winograd->lanes},   {"N", winograd->n},      {"C", winograd->c},
                   {"K", winograd->k},           {"H", winograd->h},      {"W", winograd->w},
                   {"OH", winograd->oh},         {"OW", winograd->ow},    {"PH", winograd->padding[0]},
                   {"PW", winograd->padding[1]}, {"HAS_BIAS", bias >= 0}, {"RELU", relu},
                   {"MASK", mask >= 0},          {"PX", winograd->px},    {"KV", winograd->kv},
                   {"TB", winograd->tb}};
    int panels = emit_weights(emit, winograd, weight);
    struct claret_kernel_call *call =
        claret_emit_kernel(emit, "convolution", "conv2d_winograd", "conv2d_winograd");
    for (size_t i = 0; i < sizeof defines / sizeof *defines; i++)
        claret_kernel_define(call, defines[i].name, defines[i].value);
    claret_kernel_tensor(call, x, 0);
    claret_kernel_tensor(call, mask >= 0 ? mask : x, 0);
    claret_kernel_tensor(call, panels, 0);
    claret_kernel_tensor(call, bias >= 0 ? bias : panels, 0);
    claret_kernel_tensor(call, y, 0);
    claret_kernel_range(call, (winograd->n * winograd->th + winograd->tb - 1) / winograd->tb, 1);
    claret_emit_cost(emit, winograd->flops,
                     4.0 * (double)winograd->n *
                         (double)(winograd->c * winograd->h * winograd->w * (mask >= 0 ? 2 : 1) +
                                  winograd->k * winograd->oh * winograd->ow));
}

static void forward_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_conv conv = claret_conv_problem(node->attr, claret_emit_tensor(emit, node->in[0]),
                                                  claret_emit_tensor(emit, node->out[0]));
    struct winograd winograd =
        winograd_problem(&conv, false, claret_emit_device(emit), claret_emit_params(emit));
    emit_winograd(emit, &winograd, node->in[0], -1, node->in[1], node->in_count > 2 ? node->in[2] : -1,
                  claret_conv_has_relu(node), node->out[0]);
}

static void dx_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_conv conv = claret_conv_problem(node->attr, claret_emit_tensor(emit, node->out[0]),
                                                  claret_emit_tensor(emit, node->in[0]));
    struct winograd winograd =
        winograd_problem(&conv, true, claret_emit_device(emit), claret_emit_params(emit));
    emit_winograd(emit, &winograd, node->in[0], claret_conv_mask(node), node->in[1], -1, false, node->out[0]);
}

/* ---- by the weight ---- */

#define GROUP_CHANNELS 64 /* of x and of y that an item transforms at a time */
#define GRADIENT_TILES 64 /* in an item, where memory allows: each reading of the sums serves them all */

struct gradient {
    struct claret_conv conv;
    int lanes, kv, mc;
    int64_t ki, cg, cp, kgroups, tb, tw, chunk, chunks, part;
};

static const struct claret_tunable gradient_tunables[] = {
    {"KV", {1, 2}},                 /* vectors of output channels in the register tile */
    {"MC", {4, 8, 16}},             /* input channels in it */
    {"TB", {1, 2, 4, 8, 16, 32}},   /* rows of tiles at a time */
    {"KI", {32, 64, 96, 128, 256}}, /* output channels of an item */
    {"CG", {16, 32, 64, 128}},      /* input channels at a time */
    {.name = NULL},
};

static int64_t gradient_bytes(const struct gradient *gradient, int64_t tb)
{
    return (16 * tb * gradient->tw * (gradient->cp + gradient->ki) + gradient->ki) * (int64_t)sizeof(float);
}

static struct gradient gradient_problem(const struct claret_conv *conv,
                                        const struct claret_device_desc *device, struct claret_params *params)
{
    struct gradient gradient = {.conv = *conv, .lanes = claret_vector_lanes(device, conv->k)};
    int64_t rows = conv->n * ((conv->oh + 1) / 2), units = device->compute_units;
    gradient.tw = (conv->ow + 1) / 2;
    gradient.kv = (int)claret_param(params, "KV", conv->k > gradient.lanes ? 2 : 1);
    gradient.mc = (int)claret_param(params, "MC",
                                    gradient.kv == 1 && claret_vector_tile(device) >= 24 ? 16
                                    : claret_vector_tile(device) >= 24                   ? 8
                                                                                         : 4);
    int64_t channels = conv->k < GROUP_CHANNELS ? conv->k : GROUP_CHANNELS;
    gradient.ki = round_up(claret_param(params, "KI", channels), (int64_t)gradient.kv * gradient.lanes);
    gradient.cg = claret_param(params, "CG", conv->c < GROUP_CHANNELS ? conv->c : GROUP_CHANNELS);
    gradient.cg = gradient.cg < conv->c ? gradient.cg : conv->c;
    gradient.cp = round_up(gradient.cg, gradient.mc > gradient.lanes ? gradient.mc : gradient.lanes);
    int64_t tb = (GRADIENT_TILES + gradient.tw - 1) / gradient.tw;
    while (tb > 1 && (gradient_bytes(&gradient, tb) > claret_vector_room(device, LOCAL_BYTES) || tb > rows))
        tb--;
    gradient.tb = claret_param(params, "TB", tb);
    gradient.kgroups = (conv->k + gradient.ki - 1) / gradient.ki;
    int64_t chunks = (ITEMS_PER_UNIT * units + gradient.kgroups - 1) / gradient.kgroups;
    gradient.chunk = round_up((rows + chunks - 1) / chunks, gradient.tb);
    gradient.chunks = (rows + gradient.chunk - 1) / gradient.chunk;
    int64_t groups = (conv->c + gradient.cg - 1) / gradient.cg;
    gradient.part = groups * 16 * gradient.cp * gradient.ki + gradient.ki;
    return gradient;
}

static int64_t part_floats(const struct gradient *gradient)
{
    return gradient->chunks * gradient->kgroups * gradient->part;
}

static bool dw_applicable(const struct claret_problem *problem, char reason[128])
{
    const int *in = problem->node->in;
    struct claret_conv conv =
        claret_conv_problem(problem->node->attr, &problem->tensors[in[0]], &problem->tensors[in[1]]);
    if (!claret_vector_device(problem->device, reason) || !claret_conv_suits_winograd(&conv, reason))
        return false;
    struct gradient gradient = gradient_problem(&conv, problem->device, problem->params);
    return claret_vector_tile_fits(problem->device, gradient.mc, gradient.kv, reason) &&
           claret_vector_local(problem->device, gradient_bytes(&gradient, gradient.tb), reason) &&
           claret_vector_workspace(problem->device, part_floats(&gradient), reason);
}

static void gradient_defines(struct claret_kernel_call *call, const struct gradient *gradient, bool bias,
                             bool mask)
{
    const struct claret_conv *conv = &gradient->conv;
    const struct {
        const char *name;
        int64_t value;
    } defines[] = {{"LANES", gradient->lanes},
                   {"N", conv->n},
                   {"C", conv->c},
                   {"K", conv->k},
                   {"H", conv->h},
                   {"W", conv->w},
                   {"OH", conv->oh},
                   {"OW", conv->ow},
                   {"PH", conv->padding[0]},
                   {"PW", conv->padding[1]},
                   {"HAS_BIAS", bias},
                   {"MASK", mask},
                   {"KI", gradient->ki},
                   {"CG", gradient->cg},
                   {"CHUNK", gradient->chunk},
                   {"CHUNKS", gradient->chunks},
                   {"MC", gradient->mc},
                   {"KV", gradient->kv},
                   {"TB", gradient->tb}};
    for (size_t i = 0; i < sizeof defines / sizeof *defines; i++)
        claret_kernel_define(call, defines[i].name, defines[i].value);
}

static void dw_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_conv conv = claret_conv_problem(node->attr, claret_emit_tensor(emit, node->in[0]),
                                                  claret_emit_tensor(emit, node->in[1]));
    struct gradient gradient = gradient_problem(&conv, claret_emit_device(emit), claret_emit_params(emit));
    int mask = claret_conv_mask(node);
    bool bias = node->out_count > 1;
    int parts = claret_emit_temp(emit, CLARET_DTYPE_F32, part_floats(&gradient));
    struct claret_kernel_call *call =
        claret_emit_kernel(emit, "products", "conv2d_winograd_dw", "conv2d_winograd_dw");
    gradient_defines(call, &gradient, bias, mask >= 0);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, mask >= 0 ? mask : node->in[1], 0);
    claret_kernel_tensor(call, parts, 0);
    claret_kernel_range3(call, gradient.kgroups, gradient.chunks, 1, 1);
    claret_emit_cost(emit, claret_conv_flops(&conv),
                     4.0 * (double)(conv.n * (conv.c * conv.h * conv.w +
                                              conv.k * conv.oh * conv.ow * (mask >= 0 ? 2 : 1))));
    call = claret_emit_kernel(emit, "sum", "conv2d_winograd_dw", "conv2d_winograd_dw_sum");
    gradient_defines(call, &gradient, bias, mask >= 0);
    claret_kernel_tensor(call, parts, 0);
    claret_kernel_tensor(call, node->out[0], 0);
    claret_kernel_tensor(call, node->out[bias], 0);
    claret_kernel_range3(call, gradient.kgroups, conv.c, 1, 1);
    claret_emit_cost(emit, (double)part_floats(&gradient), 4.0 * (double)part_floats(&gradient));
}

const struct claret_solver claret_conv_winograd = {.name = "winograd",
                                                   .layout = CLARET_LAYOUT_NHWC,
                                                   .applicable = forward_applicable,
                                                   .emit = forward_emit,
                                                   .tunables = tunables};
const struct claret_solver claret_conv_winograd_dx = {.name = "winograd",
                                                      .layout = CLARET_LAYOUT_NHWC,
                                                      .applicable = dx_applicable,
                                                      .emit = dx_emit,
                                                      .tunables = tunables};
const struct claret_solver claret_conv_winograd_dw = {.name = "winograd",
                                                      .layout = CLARET_LAYOUT_NHWC,
                                                      .applicable = dw_applicable,
                                                      .emit = dw_emit,
                                                      .tunables = gradient_tunables};
