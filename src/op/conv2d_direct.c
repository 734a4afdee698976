/* The launches of cl/conv2d_direct.cl and cl/conv2d_direct_dw.cl: images in NHWC, no matrix of columns. */
#include <stdio.h>

#include "op/conv2d_direct.h"
#include "op/vectors.h"

#define PACK 16                 /* as in the kernel: channels that one item packs */
#define SUMMED 16               /* likewise: that one item sums */
#define LOCAL_BYTES (128 << 10) /* rows of x: what a second-level cache keeps beside the weights */
#define DY_BYTES (32 << 10)     /* rows of dy: what a first-level cache keeps */
#define ITEMS_PER_UNIT 4        /* so that units end together */
#define FEW_PIXELS 32           /* that sums are loaded and stored for, at least */
#define PARTS_SHARE 8           /* the images' size over that of all parts, at least */

/* A convolution as the forward kernel sees it: from x (n, h, w, c) to y (n, oh, ow, k). */
struct direct {
    struct claret_conv conv;
    bool transposed;
    int64_t c, k, h, w, oh, ow;
    int lanes, kv, px;
    int64_t ob;
};

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -ceil_div(-a, b);
}

/* Bytes of local memory for `ob` rows of y: ROWS * WL * C as in the kernel. */
static int64_t row_bytes(const struct direct *direct, int64_t ob)
{
    const struct claret_conv *conv = &direct->conv;
    const int64_t *stride = conv->stride, *dilation = conv->dilation;
    int64_t phases = direct->transposed ? stride[1] : 1;
    int64_t columns = ceil_div(ceil_div(direct->ow, phases), direct->px) * direct->px, rows;
    if (direct->transposed) {
        rows = (ob - 1 + (conv->r - 1) * dilation[0]) / stride[0] + 1 + (stride[0] > 1);
        columns += (stride[1] - 1 + conv->padding[1]) / stride[1] -
                   floor_div(conv->padding[1] - (conv->s - 1) * dilation[1], stride[1]);
    } else {
        rows = (ob - 1) * stride[0] + (conv->r - 1) * dilation[0] + 1;
        columns = (columns - 1) * stride[1] + (conv->s - 1) * dilation[1] + 1;
    }
    return (rows * columns * direct->c + direct->lanes) * (int64_t)sizeof(float);
}

/* Rows of `extent` that an item takes: as many as `fits` allows, in parts of like size. */
static int64_t even_rows(int64_t extent, int64_t rows)
{
    rows = rows < 1 ? 1 : rows > extent ? extent : rows;
    return ceil_div(extent, ceil_div(extent, rows));
}

static const struct claret_tunable direct_tunables[] = {
    {"KV", {1, 2, 3, 4}},                              /* vectors of output channels in the register tile */
    {"PX", {2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 14, 16}}, /* pixels in it */
    {"OB", {1, 2, 4, 8, 16, 32}},                      /* rows of the output in an item, at most */
    {.name = NULL},
};

static struct direct direct_problem(const struct claret_conv *conv, bool transposed,
                                    const struct claret_device_desc *device, struct claret_params *params)
{
    struct direct direct = {.conv = *conv,
                            .transposed = transposed,
                            .c = transposed ? conv->k : conv->c,
                            .k = transposed ? conv->c : conv->k,
                            .h = transposed ? conv->oh : conv->h,
                            .w = transposed ? conv->ow : conv->w,
                            .oh = transposed ? conv->h : conv->oh,
                            .ow = transposed ? conv->w : conv->ow};
    int64_t phases = transposed ? conv->stride[1] : 1, rows = direct.oh;
    direct.lanes = claret_vector_lanes(device, direct.k);
    direct.kv = (int)claret_param(params, "KV", direct.k > direct.lanes ? 2 : 1);
    int room = claret_vector_tile(device) * 2 / 3 / direct.kv;
    direct.px = (int)claret_param(params, "PX", claret_vector_split(ceil_div(direct.ow, phases), room));
    while (rows > 1 &&
           (row_bytes(&direct, rows) > claret_vector_room(device, LOCAL_BYTES) ||
            conv->n * ceil_div(direct.oh, rows) < ITEMS_PER_UNIT * (int64_t)device->compute_units))
        rows--;
    direct.ob = claret_param(params, "OB", even_rows(direct.oh, rows));
    return direct;
}

static int64_t panel_floats(const struct direct *direct)
{
    int64_t kt = direct->kv * direct->lanes;
    return ceil_div(direct->k, kt) * kt * direct->c * direct->conv.r * direct->conv.s;
}

static struct claret_conv problem_of(const struct claret_problem *problem, int x, int y)
{
    return claret_conv_problem(problem->node->attr, &problem->tensors[x], &problem->tensors[y]);
}

/* Whether `rows` by `kv` vectors of `k` channels are a tile that anyone would want. */
static bool tile_fits(const struct claret_device_desc *device, int rows, int kv, int64_t k, int lanes,
                      char reason[128])
{
    if (kv == 1 || (kv - 1) * lanes < k)
        return claret_vector_tile_fits(device, rows, kv, reason);
    snprintf(reason, 128, "a tile of %d times %d vectors is too large", rows, kv);
    return false;
}

static bool direct_applicable(const struct claret_problem *problem, const struct claret_conv *conv,
                              bool transposed, char reason[128])
{
    if (!claret_vector_device(problem->device, reason) || !claret_conv_whole(conv, reason))
        return false;
    struct direct direct = direct_problem(conv, transposed, problem->device, problem->params);
    return tile_fits(problem->device, direct.px, direct.kv, direct.k, direct.lanes, reason) &&
           claret_vector_local(problem->device, row_bytes(&direct, direct.ob), reason) &&
           claret_vector_workspace(problem->device, panel_floats(&direct), reason);
}

static bool forward_applicable(const struct claret_problem *problem, char reason[128])
{
    struct claret_conv conv = problem_of(problem, problem->node->in[0], problem->node->out[0]);
    return direct_applicable(problem, &conv, false, reason);
}

static bool dx_applicable(const struct claret_problem *problem, char reason[128])
{
    struct claret_conv conv = problem_of(problem, problem->node->out[0], problem->node->in[0]);
    return direct_applicable(problem, &conv, true, reason);
}

void claret_conv_window_defines(struct claret_kernel_call *call, const struct claret_conv *conv)
{
    static const char *const names[3][2] = {{"SH", "SW"}, {"PH", "PW"}, {"DH", "DW"}};
    const int64_t *const values[3] = {conv->stride, conv->padding, conv->dilation};
    claret_kernel_define(call, "R", conv->r);
    claret_kernel_define(call, "S", conv->s);
    for (int i = 0; i < 3; i++)
        for (int d = 0; d < 2; d++)
            claret_kernel_define(call, names[i][d], values[i][d]);
}

int claret_conv_pack_weights(struct claret_emit *emit, int weight, int lanes, int kv, int64_t k, int64_t c,
                             int64_t taps, bool transposed)
{
    int64_t kt = (int64_t)kv * lanes, tiles = ceil_div(k, kt);
    int panels = claret_emit_temp(emit, CLARET_DTYPE_F32, tiles * kt * c * taps);
    struct claret_kernel_call *call = claret_emit_kernel(emit, "weights", "conv2d_direct", "pack_weights");
    claret_kernel_define(call, "LANES", lanes);
    claret_kernel_define(call, "KV", kv);
    claret_kernel_tensor(call, weight, 0);
    claret_kernel_tensor(call, panels, 0);
    claret_kernel_int(call, k);
    claret_kernel_int(call, c);
    claret_kernel_int(call, taps);
    claret_kernel_int(call, transposed);
    claret_kernel_range3(call, tiles, ceil_div(c, PACK), 1, 1);
    claret_emit_cost(emit, 0, 8.0 * (double)(k * c * taps));
    return panels;
}

/* y = convolution of x; bias and mask -1: none. */
static void emit_direct(struct claret_emit *emit, const char *what, const struct direct *direct, int x,
                        int mask, int weight, int bias, bool relu, int y)
{
    int panels = claret_conv_pack_weights(emit, weight, direct->lanes, direct->kv, direct->k, direct->c,
                                          direct->conv.r * direct->conv.s, direct->transposed);
    struct claret_kernel_call *call = claret_emit_kernel(emit, what, "conv2d_direct", "conv2d_direct");
    claret_kernel_define(call, "LANES", direct->lanes);
    claret_kernel_define(call, "C", direct->c);
    claret_kernel_define(call, "K", direct->k);
    claret_kernel_define(call, "H", direct->h);
    claret_kernel_define(call, "W", direct->w);
    claret_kernel_define(call, "OH", direct->oh);
    claret_kernel_define(call, "OW", direct->ow);
    claret_conv_window_defines(call, &direct->conv);
    claret_kernel_define(call, "TRANSPOSED", direct->transposed);
    claret_kernel_define(call, "HAS_BIAS", bias >= 0);
    claret_kernel_define(call, "RELU", relu);
    claret_kernel_define(call, "MASK", mask >= 0);
    claret_kernel_define(call, "PX", direct->px);
    claret_kernel_define(call, "KV", direct->kv);
    claret_kernel_define(call, "OB", direct->ob);
    claret_kernel_tensor(call, x, 0);
    claret_kernel_tensor(call, mask >= 0 ? mask : x, 0);
    claret_kernel_tensor(call, panels, 0);
    claret_kernel_tensor(call, bias >= 0 ? bias : panels, 0);
    claret_kernel_tensor(call, y, 0);
    claret_kernel_range3(call, ceil_div(direct->oh, direct->ob), direct->conv.n, 1, 1);
    int64_t images = direct->conv.n;
    claret_emit_cost(emit, claret_conv_flops(&direct->conv),
                     4.0 * (double)images *
                         (double)(direct->c * direct->h * direct->w * (mask >= 0 ? 2 : 1) +
                                  direct->k * direct->oh * direct->ow));
}

static void forward_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_conv conv = claret_conv_problem(node->attr, claret_emit_tensor(emit, node->in[0]),
                                                  claret_emit_tensor(emit, node->out[0]));
    struct direct direct = direct_problem(&conv, false, claret_emit_device(emit), claret_emit_params(emit));
    emit_direct(emit, "convolution", &direct, node->in[0], -1, node->in[1],
                node->in_count > 2 ? node->in[2] : -1, claret_conv_has_relu(node), node->out[0]);
}

static void dx_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_conv conv = claret_conv_problem(node->attr, claret_emit_tensor(emit, node->out[0]),
                                                  claret_emit_tensor(emit, node->in[0]));
    struct direct direct = direct_problem(&conv, true, claret_emit_device(emit), claret_emit_params(emit));
    emit_direct(emit, "convolution", &direct, node->in[0], claret_conv_mask(node), node->in[1], -1, false,
                node->out[0]);
}

/* ---- by the weight ---- */

struct gradient {
    struct claret_conv conv;
    int lanes, kv, mc;
    int64_t ob, cg, groups, tiles, ti, chunk, chunks;
    int64_t segments, row, part; /* of a row of taps; its sums for one output channel; floats of a part */
};

static int64_t x_bytes(const struct claret_conv *conv, int64_t ob, int64_t cg)
{
    int64_t rows = (ob - 1) * conv->stride[0] + (conv->r - 1) * conv->dilation[0] + 1;
    int64_t columns = (conv->ow - 1) * conv->stride[1] + (conv->s - 1) * conv->dilation[1] + 1;
    return rows * columns * cg * (int64_t)sizeof(float);
}

static int64_t gradient_bytes(const struct gradient *gradient)
{
    const struct claret_conv *conv = &gradient->conv;
    int64_t dy = gradient->ti * gradient->ob * conv->ow * gradient->kv * gradient->lanes;
    return x_bytes(conv, gradient->ob, gradient->cg) +
           (dy + gradient->mc + gradient->lanes) * (int64_t)sizeof(float);
}

static const struct claret_tunable gradient_tunables[] = {
    {"KV", {1, 2}},                             /* vectors of output channels in the register tile */
    {"MC", {2, 3, 4, 6, 8, 9, 10, 12, 16, 24}}, /* values of x in it */
    {"OB", {1, 2, 4, 8, 16, 32}},               /* rows of dy at a time, at most */
    {"CHUNK", {1, 2, 4, 8, 16, 32, 64}},        /* images that one item adds */
    {"TI", {1, 2, 3, 4, 6, 8, 12, 16}},         /* tiles of output channels in it */
    {.name = NULL},
};

/* Tiles that an item takes together: dy is read in its order then and x once; as many as leave work for all
 * units and few enough parts that adding these up costs little beside reading the images. */
static int64_t tiles_together(const struct gradient *gradient, int64_t wanted, int64_t room)
{
    const struct claret_conv *conv = &gradient->conv;
    const int64_t weights = conv->k * conv->c * conv->r * conv->s;
    const int64_t images = conv->n * (conv->c * conv->h * conv->w + conv->k * conv->oh * conv->ow);
    for (int64_t items = 1;; items++) {
        int64_t ti = ceil_div(gradient->tiles, items), chunks = ceil_div(wanted, items);
        if (ti == 1 || (chunks <= conv->n && PARTS_SHARE * chunks * weights <= images &&
                        ti * gradient->kv * gradient->lanes * conv->ow * (int64_t)sizeof(float) <= room))
            return ti;
    }
}

static struct gradient gradient_problem(const struct claret_conv *conv,
                                        const struct claret_device_desc *device, struct claret_params *params)
{
    struct gradient gradient = {.conv = *conv, .lanes = claret_vector_lanes(device, conv->k)};
    int room = claret_vector_tile(device);
    gradient.kv = (int)claret_param(params, "KV", conv->k > gradient.lanes ? 2 : 1);
    int64_t kt = gradient.kv * gradient.lanes;
    int64_t dy_room = claret_vector_room(device, 4 * DY_BYTES) / 4;
    int64_t x_room = claret_vector_room(device, LOCAL_BYTES + dy_room) - dy_room;
    const int64_t units = ITEMS_PER_UNIT * (int64_t)device->compute_units;
    gradient.tiles = ceil_div(conv->k, kt);
    gradient.ti = claret_param(params, "TI", tiles_together(&gradient, units, dy_room));
    gradient.ob = even_rows(conv->oh, dy_room / (gradient.ti * conv->ow * kt * (int64_t)sizeof(float)));
    gradient.cg = conv->c;
    /* Without taps in rows a row is read once in any case: a near cache may keep it. */
    while (gradient.ob > 1 && (x_bytes(conv, gradient.ob, 16) > x_room ||
                               (conv->r == 1 && (gradient.ob - 1) * conv->ow >= FEW_PIXELS &&
                                x_bytes(conv, gradient.ob, conv->c) > dy_room)))
        gradient.ob--;
    gradient.ob = claret_param(params, "OB", gradient.ob);
    while (gradient.cg > 16 && x_bytes(conv, gradient.ob, gradient.cg) > x_room)
        gradient.cg = ceil_div(gradient.cg / 2, 16) * 16;
    gradient.groups = ceil_div(conv->c, gradient.cg);
    gradient.segments = conv->dilation[1] == 1 ? 1 : conv->s;
    int64_t length = conv->s * gradient.cg / gradient.segments;
    int mc =
        length * gradient.kv <= room ? (int)length : claret_vector_split(length, room * 2 / 3 / gradient.kv);
    gradient.mc = (int)claret_param(params, "MC", mc);
    int64_t wanted = ceil_div(units, ceil_div(gradient.tiles, gradient.ti) * gradient.groups);
    gradient.chunk = claret_param(params, "CHUNK", ceil_div(conv->n, wanted < conv->n ? wanted : conv->n));
    gradient.chunk = gradient.chunk < conv->n ? gradient.chunk : conv->n;
    gradient.chunks = ceil_div(conv->n, gradient.chunk);
    gradient.row = gradient.segments * ceil_div(length, gradient.mc) * gradient.mc;
    gradient.part = (conv->r * gradient.row + 1) * kt;
    return gradient;
}

static int64_t part_floats(const struct gradient *gradient)
{
    return gradient->chunks * gradient->tiles * gradient->groups * gradient->part;
}

static bool dw_applicable(const struct claret_problem *problem, char reason[128])
{
    struct claret_conv conv = problem_of(problem, problem->node->in[0], problem->node->in[1]);
    if (!claret_vector_device(problem->device, reason) || !claret_conv_whole(&conv, reason))
        return false;
    struct gradient gradient = gradient_problem(&conv, problem->device, problem->params);
    return tile_fits(problem->device, gradient.mc, gradient.kv, conv.k, gradient.lanes, reason) &&
           claret_vector_local(problem->device, gradient_bytes(&gradient), reason) &&
           claret_vector_workspace(problem->device, part_floats(&gradient), reason);
}

void claret_conv_sum_parts(struct claret_emit *emit, const struct claret_node *node, int parts,
                           const struct claret_conv_parts *sum)
{
    bool bias = node->out_count > 1;
    int64_t tiles = ceil_div(sum->k, sum->kt);
    double elements = (double)(sum->chunks * tiles * ceil_div(sum->c, sum->cg) * sum->part);
    struct claret_kernel_call *call =
        claret_emit_kernel(emit, "sum", "conv2d_direct_dw", "conv2d_direct_dw_sum");
    claret_kernel_define(call, "HAS_BIAS", bias);
    claret_kernel_tensor(call, parts, 0);
    claret_kernel_tensor(call, node->out[0], 0);
    claret_kernel_tensor(call, node->out[bias], 0);
    const int64_t numbers[] = {sum->k,  sum->c,   sum->taps, sum->row_taps, sum->kt,
                               sum->cg, sum->row, sum->tap,  sum->part,     sum->chunks};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        claret_kernel_int(call, numbers[i]);
    claret_kernel_range3(call, tiles, ceil_div(sum->c, SUMMED), 1, 1);
    claret_emit_cost(emit, elements, 4.0 * elements);
}

static void dw_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_conv conv = claret_conv_problem(node->attr, claret_emit_tensor(emit, node->in[0]),
                                                  claret_emit_tensor(emit, node->in[1]));
    struct gradient gradient = gradient_problem(&conv, claret_emit_device(emit), claret_emit_params(emit));
    int mask = claret_conv_mask(node);
    int parts = claret_emit_temp(emit, CLARET_DTYPE_F32, part_floats(&gradient));
    struct claret_kernel_call *call =
        claret_emit_kernel(emit, "weights", "conv2d_direct_dw", "conv2d_direct_dw");
    claret_kernel_define(call, "LANES", gradient.lanes);
    claret_kernel_define(call, "N", conv.n);
    claret_kernel_define(call, "C", conv.c);
    claret_kernel_define(call, "K", conv.k);
    claret_kernel_define(call, "H", conv.h);
    claret_kernel_define(call, "W", conv.w);
    claret_kernel_define(call, "OH", conv.oh);
    claret_kernel_define(call, "OW", conv.ow);
    claret_conv_window_defines(call, &conv);
    claret_kernel_define(call, "MASK", mask >= 0);
    claret_kernel_define(call, "HAS_BIAS", node->out_count > 1);
    claret_kernel_define(call, "TI", gradient.ti);
    claret_kernel_define(call, "CG", gradient.cg);
    claret_kernel_define(call, "CHUNK", gradient.chunk);
    claret_kernel_define(call, "MC", gradient.mc);
    claret_kernel_define(call, "KV", gradient.kv);
    claret_kernel_define(call, "OB", gradient.ob);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, mask >= 0 ? mask : node->in[1], 0);
    claret_kernel_tensor(call, parts, 0);
    claret_kernel_range3(call, ceil_div(gradient.tiles, gradient.ti), gradient.groups, gradient.chunks, 1);
    claret_emit_cost(emit, claret_conv_flops(&conv),
                     4.0 * (double)(conv.n * (conv.c * conv.h * conv.w +
                                              conv.k * conv.oh * conv.ow * (mask >= 0 ? 2 : 1))));
    const struct claret_conv_parts sum = {.k = conv.k,
                                          .c = conv.c,
                                          .taps = conv.r * conv.s,
                                          .row_taps = conv.s,
                                          .kt = gradient.kv * gradient.lanes,
                                          .cg = gradient.cg,
                                          .row = gradient.row,
                                          .tap = gradient.segments == 1 ? gradient.cg
                                                                        : gradient.row / gradient.segments,
                                          .part = gradient.part,
                                          .chunks = gradient.chunks};
    claret_conv_sum_parts(emit, node, parts, &sum);
}

const struct claret_solver claret_conv_direct = {.name = "direct",
                                                 .layout = CLARET_LAYOUT_NHWC,
                                                 .applicable = forward_applicable,
                                                 .emit = forward_emit,
                                                 .tunables = direct_tunables};
const struct claret_solver claret_conv_direct_dx = {.name = "direct",
                                                    .layout = CLARET_LAYOUT_NHWC,
                                                    .applicable = dx_applicable,
                                                    .emit = dx_emit,
                                                    .tunables = direct_tunables};
const struct claret_solver claret_conv_direct_dw = {.name = "direct",
                                                    .layout = CLARET_LAYOUT_NHWC,
                                                    .applicable = dw_applicable,
                                                    .emit = dw_emit,
                                                    .tunables = gradient_tunables};
