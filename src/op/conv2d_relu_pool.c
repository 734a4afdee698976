/* conv2d, relu and max_pool2d in one, where pooling windows do not overlap.
 * conv2d_relu_pool: in x (N, C, H, W), weight, bias or none; out y (N, K, OH, OW) pooled, index (uint8, like
 * y): the position in its window that won, NONE where ReLU cut the maximum, and xs (N, C, H + 2 padding, Q *
 * WQ): x with its padding, columns ordered by their remainder by Q = stride * window width, so that what
 * neighbouring outputs read lies side by side; no xs where x is loaded like that already.
 * conv2d_relu_pool_dw: in xs, index, dy and what an update takes; out the gradients of weight and bias, or
 * what the update changes. Only the winners of the windows carry gradient. */
#include "op/conv2d_relu_pool.h"

#include "op/conv2d.h"
#include "op/max_pool2d.h"
#include "op/update.h"
#include "op/vectors.h"

#include <stdio.h>

#define MAX_TERMS 256 /* of a sum: with more, vectors of channels are faster (conv2d_direct.c) */
#define MAX_WINDOW 16 /* positions: the register tile holds one vector for each */
#define CHUNK_BYTES                                                                                          \
    (1 << 18) /* of one chunk's images: they are read once per channel pair, from the nearest cache */
#define MAX_CHUNKS 64

static const struct claret_op conv2d_relu_pool, conv2d_relu_pool_dw;

bool claret_conv_pool_fits(const struct claret_attr *const *attrs, const struct claret_shape *in,
                           const struct claret_shape *other)
{
    (void)other;
    const struct claret_attr *pool = attrs[2];
    (void)in;
    if (attrs[0][CLARET_CONV_GROUPS].i[0] > 1)
        return false;
    bool apart = claret_pool_stride(pool, 0) == pool[CLARET_POOL_KERNEL].i[0] &&
                 claret_pool_stride(pool, 1) == pool[CLARET_POOL_KERNEL].i[1];
    return apart && pool[CLARET_POOL_PADDING].i[0] == 0 && pool[CLARET_POOL_PADDING].i[1] == 0 &&
           pool[CLARET_POOL_KERNEL].i[0] * pool[CLARET_POOL_KERNEL].i[1] <= MAX_WINDOW;
}

static bool fits(const struct claret_attr *const *attrs, const struct claret_shape *in,
                 const struct claret_shape *other)
{
    const int64_t *kernel = attrs[0][CLARET_CONV_KERNEL].i;
    bool many = in->rank == 4 && in->dim[1] * kernel[0] * kernel[1] > MAX_TERMS;
    return !many && claret_conv_pool_fits(attrs, in, other);
}

static int64_t split_factor(const struct claret_node *node)
{
    return node->attr[CLARET_CONV_STRIDE].i[1] * node->chain[1][CLARET_POOL_KERNEL].i[1];
}

enum claret_status claret_conv_pool_shape(struct claret_build *build, struct claret_node *node)
{
    struct claret_shape conv;
    const int64_t *window = node->chain[1][CLARET_POOL_KERNEL].i;
    CLARET_TRY(claret_conv_build(build, node, &conv));
    struct claret_shape y =
        claret_shape4(conv.dim[0], conv.dim[1], conv.dim[2] / window[0], conv.dim[3] / window[1]);
    if (y.dim[2] < 1 || y.dim[3] < 1)
        return claret_build_error(build, node, NULL,
                                  "the pooling window is larger than the convolution's output");
    claret_build_output(build, node, CLARET_DTYPE_F32, y);
    claret_build_output(build, node, CLARET_DTYPE_U8, y);
    return CLARET_OK;
}

static enum claret_status shape(struct claret_build *build, struct claret_node *node)
{
    const struct claret_shape x = claret_build_tensor(build, node->in[0])->shape;
    const int64_t *padding = node->attr[CLARET_CONV_PADDING].i;
    CLARET_TRY(claret_conv_pool_shape(build, node));
    int64_t q = split_factor(node);
    if (claret_build_split_input(build, node->in[0], q, padding) >= 0)
        return CLARET_OK;
    claret_build_output(build, node, CLARET_DTYPE_F32,
                        claret_shape4(x.dim[0], x.dim[1], x.dim[2] + 2 * padding[0],
                                      (x.dim[3] + 2 * padding[1] + q - 1) / q * q));
    return CLARET_OK;
}

/* The split input: an output of the forward node, or its input. */
static int split_of(const struct claret_node *node)
{
    return node->out_count > 2 ? node->out[2] : node->in[0];
}

enum claret_status claret_conv_pool_backward(struct claret_build *build, const struct claret_node *node,
                                             int images, const struct claret_op *dw_op)
{
    int dy = claret_build_grad(build, node->out[0]);
    if (claret_build_wants(build, node->in[0])) {
        const struct claret_shape x = claret_build_tensor(build, node->in[0])->shape;
        const struct claret_shape y = claret_build_tensor(build, node->out[0])->shape;
        int64_t conv[2];
        claret_conv_extents(node->attr, &x, conv);
        int dense = claret_build_between(build, node, "dense", CLARET_DTYPE_F32,
                                         claret_shape4(y.dim[0], y.dim[1], conv[0], conv[1]));
        int dx = claret_build_grad(build, node->in[0]);
        struct claret_node *unpool = claret_build_node(build, &claret_max_pool2d_dx, node, "unpool",
                                                       (int[]){node->out[1], dy}, 2, &dense, 1);
        unpool->attr = node->chain[1];
        claret_build_node(build, &claret_conv2d_dx, node, "dx", (int[]){dense, node->in[1]}, 2, &dx, 1);
    }
    int params[2] = {node->in[1], node->in_count > 2 ? node->in[2] : -1};
    if (!claret_build_wants_any(build, params, 2))
        return CLARET_OK;
    struct claret_node *dw =
        claret_build_node(build, dw_op, node, "dw", (int[]){images, node->out[1], dy}, 3, NULL, 0);
    claret_build_gradients(build, dw, params, 2);
    return CLARET_OK;
}

static enum claret_status backward(struct claret_build *build, const struct claret_node *node)
{
    return claret_conv_pool_backward(build, node, split_of(node), &conv2d_relu_pool_dw);
}

/* ---- rows: lanes are pooled pixels of a row, a register tile holds their windows for some channels ---- */

struct rows {
    int64_t n, c, h, w, k, r, s, oh, ow, hp, wq;
    int lanes;
    const struct claret_node *node;
};

static struct rows rows_problem(const struct claret_emit *emit, const struct claret_node *node, int xs, int y)
{
    const struct claret_shape split = claret_emit_tensor(emit, xs)->shape;
    const struct claret_shape out = claret_emit_tensor(emit, y)->shape;
    const struct claret_attr *attr = node->attr;
    struct rows rows = {.n = split.dim[0],
                        .c = split.dim[1],
                        .k = out.dim[1],
                        .oh = out.dim[2],
                        .ow = out.dim[3],
                        .r = attr[CLARET_CONV_KERNEL].i[0],
                        .s = attr[CLARET_CONV_KERNEL].i[1],
                        .hp = split.dim[2],
                        .wq = split.dim[3] / split_factor(node),
                        .node = node};
    rows.lanes = claret_vector_lanes(claret_emit_device(emit), rows.ow);
    return rows;
}

static void rows_defines(struct claret_kernel_call *call, const struct rows *rows)
{
    const struct claret_attr *attr = rows->node->attr;
    const int64_t *window = rows->node->chain[1][CLARET_POOL_KERNEL].i;
    claret_kernel_define(call, "LANES", rows->lanes);
    claret_kernel_define(call, "C", rows->c);
    claret_kernel_define(call, "K", rows->k);
    claret_kernel_define(call, "R", rows->r);
    claret_kernel_define(call, "S", rows->s);
    claret_kernel_define(call, "OH", rows->oh);
    claret_kernel_define(call, "OW", rows->ow);
    claret_kernel_define(call, "HP", rows->hp);
    claret_kernel_define(call, "WQ", rows->wq);
    claret_kernel_define(call, "SH", attr[CLARET_CONV_STRIDE].i[0]);
    claret_kernel_define(call, "SW", attr[CLARET_CONV_STRIDE].i[1]);
    claret_kernel_define(call, "DH", attr[CLARET_CONV_DILATION].i[0]);
    claret_kernel_define(call, "DW", attr[CLARET_CONV_DILATION].i[1]);
    claret_kernel_define(call, "PI", window[0]);
    claret_kernel_define(call, "PJ", window[1]);
}

static void emit_split(struct claret_emit *emit, const struct claret_node *node, const struct rows *rows)
{
    const struct claret_shape x = claret_emit_tensor(emit, node->in[0])->shape;
    struct claret_kernel_call *call = claret_emit_kernel(emit, "split", "split_columns", "split_columns");
    claret_kernel_define(call, "H", x.dim[2]);
    claret_kernel_define(call, "W", x.dim[3]);
    claret_kernel_define(call, "HP", rows->hp);
    claret_kernel_define(call, "WQ", rows->wq);
    claret_kernel_define(call, "Q", split_factor(node));
    claret_kernel_define(call, "PH", node->attr[CLARET_CONV_PADDING].i[0]);
    claret_kernel_define(call, "PW", node->attr[CLARET_CONV_PADDING].i[1]);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->out[2], 0);
    claret_kernel_range(call, rows->n * rows->c, 1);
    claret_emit_cost(emit, 0, 8.0 * (double)claret_shape_count(&x));
}

static double flops(const struct rows *rows)
{
    const int64_t *window = rows->node->chain[1][CLARET_POOL_KERNEL].i;
    return 2.0 * (double)(rows->n * rows->k * rows->oh * rows->ow) * (double)(window[0] * window[1]) *
           (double)(rows->c * rows->r * rows->s);
}

/* Channels side by side: `limit` or fewer, so that the last tile is as full as may be. */
static int channel_tile(int64_t channels, int64_t limit)
{
    int64_t best = 1;
    limit = limit < 1 ? 1 : limit;
    for (int64_t tile = limit; tile > limit / 2; tile--)
        if (tile == limit || (channels + tile - 1) / tile * tile < (channels + best - 1) / best * best)
            best = tile;
    return (int)best;
}

static void forward_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct rows rows = rows_problem(emit, node, split_of(node), node->out[0]);
    const int64_t *window = node->chain[1][CLARET_POOL_KERNEL].i;
    bool bias = node->in_count > 2;
    int room = claret_vector_tile(claret_emit_device(emit));
    int64_t tile = claret_emit_tunable(emit, "KT", channel_tile(rows.k, room / (window[0] * window[1])));
    if (node->out_count > 2)
        emit_split(emit, node, &rows);
    struct claret_kernel_call *call =
        claret_emit_kernel(emit, "conv+relu+pool", "conv2d_relu_pool", "conv2d_relu_pool");
    rows_defines(call, &rows);
    claret_kernel_define(call, "HAS_BIAS", bias);
    claret_kernel_define(call, "KT", tile);
    claret_kernel_tensor(call, split_of(node), 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, bias ? node->in[2] : node->in[1], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    claret_kernel_tensor(call, node->out[1], 0);
    claret_kernel_range3(call, (rows.k + tile - 1) / tile, rows.n, 1, 1);
    claret_emit_cost(emit, flops(&rows), 4.0 * (double)(rows.n * rows.c * rows.hp * rows.wq));
}

/* Gradients of the weight and the bias. */
static int64_t part_of(const struct rows *rows)
{
    return rows->k * rows->c * rows->r * rows->s + rows->k;
}

enum { DW_PARAMS = 3 }; /* where in conv2d_relu_pool_dw's inputs what an update takes begins */

static void gradient_defines(struct claret_kernel_call *call, const struct claret_node *node)
{
    claret_kernel_define(call, "HAS_BIAS", claret_update_bias(node, DW_PARAMS, 0));
    claret_update_defines(call, node);
}

/* How the images are split in chunks that an item adds, and where their parts go. */
struct chunks {
    int64_t images, count, bytes; /* of a chunk; chunks; of all images */
    int parts;                    /* -1: one chunk */
};

static struct chunks split_chunks(struct claret_emit *emit, const struct rows *rows)
{
    int64_t per_image =
        rows->c * rows->hp * rows->wq * split_factor(rows->node) * 4 + rows->k * rows->oh * rows->ow * 5;
    int64_t images = CHUNK_BYTES / per_image, count;
    images = images < 4 ? 4 : images;
    count = (rows->n + images - 1) / images;
    count = count > MAX_CHUNKS ? MAX_CHUNKS : count;
    struct chunks chunks = {.bytes = rows->n * per_image, .parts = -1};
    chunks.images = claret_emit_tunable(emit, "CHUNK", (rows->n + count - 1) / count);
    chunks.count = (rows->n + chunks.images - 1) / chunks.images;
    if (chunks.count > 1)
        chunks.parts = claret_emit_temp(emit, CLARET_DTYPE_F32, chunks.count * part_of(rows));
    return chunks;
}

/* The launch that makes the parts, or where there is but one chunk the gradients: over tiles of output
 * channels and of something else. The kernel's own tunables are defined by the caller. */
static struct claret_kernel_call *emit_weights(struct claret_emit *emit, const struct claret_node *node,
                                               const struct rows *rows, const struct chunks *chunks,
                                               const char *source, const char *entry)
{
    struct claret_kernel_call *call = claret_emit_kernel(emit, "weights", source, entry);
    rows_defines(call, rows);
    gradient_defines(call, node);
    claret_kernel_define(call, "N", rows->n);
    claret_kernel_define(call, "CHUNK", chunks->images);
    claret_kernel_define(call, "CHUNKS", chunks->count);
    for (int i = 0; i < 3; i++)
        claret_kernel_tensor(call, node->in[i], 0);
    claret_kernel_tensor(call, chunks->count > 1 ? chunks->parts : node->in[0], 0);
    claret_update_arguments(call, node, DW_PARAMS, 0);
    claret_emit_cost(emit, flops(rows), (double)chunks->bytes);
    return call;
}

static void emit_sum(struct claret_emit *emit, const struct claret_node *node, const struct rows *rows,
                     const struct chunks *chunks)
{
    if (chunks->count == 1)
        return;
    struct claret_kernel_call *call = claret_emit_kernel(emit, "sum", "conv2d_relu_pool", "sum_parts");
    rows_defines(call, rows);
    gradient_defines(call, node);
    claret_kernel_define(call, "CHUNKS", chunks->count);
    claret_kernel_tensor(call, chunks->parts, 0);
    claret_update_arguments(call, node, DW_PARAMS, 0);
    claret_kernel_range(call, part_of(rows), 16);
    double count = (double)(chunks->count * part_of(rows));
    claret_emit_cost(emit, count, 4.0 * count);
}

static void dw_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct rows rows = rows_problem(emit, node, node->in[0], node->in[2]);
    /* The sums of a tile's taps are to stay in registers. Rows of taps share what the winners saw: to have
     * them all together is worth some spilling. */
    int room = claret_vector_tile(claret_emit_device(emit)), taps = (int)rows.s;
    int64_t tap_rows = claret_emit_tunable(emit, "RT", claret_vector_split(rows.r, room * 4 / 3 / taps));
    int64_t tile =
        claret_emit_tunable(emit, "KT", claret_vector_split(rows.k, room * 2 / 3 / (int)(taps * tap_rows)));
    struct chunks chunks = split_chunks(emit, &rows);
    struct claret_kernel_call *call =
        emit_weights(emit, node, &rows, &chunks, "conv2d_relu_pool", "conv2d_relu_pool_dw");
    claret_kernel_define(call, "KT", tile);
    claret_kernel_define(call, "RT", tap_rows);
    claret_kernel_range3(call, (rows.k + tile - 1) / tile, rows.c * ((rows.r + tap_rows - 1) / tap_rows),
                         chunks.count, 1);
    emit_sum(emit, node, &rows, &chunks);
}

/* ---- channels: lanes are output channels, which pick what their winners saw ---- */

/* Rows of a pooled pixel's window that a vector holds, as cl/conv2d_relu_pool_channels.cl has it: all or one;
 * 0: none. */
static int64_t table_rows(const struct claret_node *node, int64_t lanes)
{
    const int64_t *window = node->chain[1][CLARET_POOL_KERNEL].i, *kernel = node->attr[CLARET_CONV_KERNEL].i;
    int64_t q = split_factor(node);
    int64_t columns = (window[1] - 1) * node->attr[CLARET_CONV_STRIDE].i[1] +
                      (kernel[1] - 1) * node->attr[CLARET_CONV_DILATION].i[1];
    return lanes / (window[0] * q) > columns / q ? window[0] : lanes / q > columns / q ? 1 : 0;
}

/* Of the input's in a tile: with 20, which a kernel of one row has room for, Intel's compiler for GPUs
 * aborts. */
#define CHANNELS_MAX 12

/* Tiles of the input's channels and of columns of taps: their sums stay in registers. */
static void channel_tiles(const struct claret_device_desc *device, int64_t channels, const int64_t *kernel,
                          struct claret_params *params, int64_t *tile, int64_t *columns)
{
    int room = claret_vector_tile(device), most = room / (int)kernel[0];
    *tile =
        claret_param(params, "CT", claret_vector_split(channels, most < CHANNELS_MAX ? most : CHANNELS_MAX));
    *columns = claret_param(params, "ST", *tile * kernel[0] * kernel[1] <= room ? kernel[1] : 1);
}

static void dw_channels_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct rows rows = rows_problem(emit, node, node->in[0], node->in[2]);
    const struct claret_device_desc *device = claret_emit_device(emit);
    int64_t tile, columns;
    rows.lanes = claret_vector_lanes(device, rows.k);
    channel_tiles(device, rows.c, node->attr[CLARET_CONV_KERNEL].i, claret_emit_params(emit), &tile,
                  &columns);
    struct chunks chunks = split_chunks(emit, &rows);
    struct claret_kernel_call *call =
        emit_weights(emit, node, &rows, &chunks, "conv2d_relu_pool_channels", "conv2d_relu_pool_dw_channels");
    claret_kernel_define(call, "TABLE_ROWS", table_rows(node, rows.lanes));
    claret_kernel_define(call, "CT", tile);
    claret_kernel_define(call, "ST", columns);
    claret_kernel_range3(call, (rows.k + rows.lanes - 1) / rows.lanes, (rows.c + tile - 1) / tile,
                         chunks.count, 1);
    emit_sum(emit, node, &rows, &chunks);
}

double claret_conv_pool_multiply_adds(const struct claret_node *node, const struct claret_tensor *tensors)
{
    const struct claret_shape *y = &tensors[node->out[0]].shape, *weight = &tensors[node->in[1]].shape;
    const int64_t *window = node->chain[1][CLARET_POOL_KERNEL].i;
    return (double)(claret_shape_count(y) * window[0] * window[1]) *
           (double)(weight->dim[1] * weight->dim[2] * weight->dim[3]);
}

/* Tiles that nobody would want: larger than what there is, or than twice the registers. */
static bool tile_fits(const struct claret_problem *problem, int64_t tile, int64_t channels, int64_t vectors,
                      char reason[128])
{
    bool fine = tile <= channels && tile * vectors <= 2 * claret_vector_tile(problem->device);
    if (!fine)
        snprintf(reason, 128, "a tile of %lld channels is too large", (long long)tile);
    return fine;
}

static bool forward_applicable(const struct claret_problem *problem, char reason[128])
{
    const int64_t *window = problem->node->chain[1][CLARET_POOL_KERNEL].i;
    int64_t channels = problem->tensors[problem->node->out[0]].shape.dim[1];
    return tile_fits(problem, claret_param(problem->params, "KT", 1), channels, window[0] * window[1],
                     reason);
}

static bool chunk_fits(const struct claret_problem *problem, char reason[128])
{
    int64_t images = claret_param(problem->params, "CHUNK", 1);
    bool fine = images == 1 || images <= problem->tensors[problem->node->in[2]].shape.dim[0];
    if (!fine)
        snprintf(reason, 128, "there are fewer than %lld images", (long long)images);
    return fine;
}

static bool dw_applicable(const struct claret_problem *problem, char reason[128])
{
    const int64_t *kernel = problem->node->attr[CLARET_CONV_KERNEL].i;
    const struct claret_shape *dy = &problem->tensors[problem->node->in[2]].shape;
    int64_t tap_rows = claret_param(problem->params, "RT", 1);
    if (tap_rows > kernel[0]) {
        snprintf(reason, 128, "a tile of %lld rows of taps is too large", (long long)tap_rows);
        return false;
    }
    return chunk_fits(problem, reason) && tile_fits(problem, claret_param(problem->params, "KT", 1),
                                                    dy->dim[1], tap_rows * kernel[1], reason);
}

static bool dw_channels_applicable(const struct claret_problem *problem, char reason[128])
{
    const struct claret_node *node = problem->node;
    const int64_t *window = node->chain[1][CLARET_POOL_KERNEL].i, *kernel = node->attr[CLARET_CONV_KERNEL].i;
    int64_t lanes = claret_vector_lanes(problem->device, problem->tensors[node->in[2]].shape.dim[1]);
    if (lanes < 8 || window[0] * window[1] > lanes || table_rows(node, lanes) == 0) {
        snprintf(reason, 128, "what a window sees does not fit a vector of %lld", (long long)lanes);
        return false;
    }
    int64_t channels = problem->tensors[node->in[0]].shape.dim[1], tile, tap_columns;
    channel_tiles(problem->device, channels, kernel, problem->params, &tile, &tap_columns);
    if (tile > channels || kernel[1] % tap_columns != 0 ||
        tile * kernel[0] * tap_columns > 2 * claret_vector_tile(problem->device)) {
        snprintf(reason, 128, "a tile of %lld channels and %lld columns of taps does not fit",
                 (long long)tile, (long long)tap_columns);
        return false;
    }
    return chunk_fits(problem, reason);
}

/* With half of AVX-512's lanes idle, or with AVX's, the other is as fast or faster. */
static bool dw_channels_unasked(const struct claret_problem *problem)
{
    int64_t channels = problem->tensors[problem->node->in[2]].shape.dim[1];
    int64_t lanes = claret_vector_lanes(problem->device, channels);
    return lanes == 16 && channels * 4 >= (channels + lanes - 1) / lanes * lanes * 3;
}

static const struct claret_tunable forward_tunables[] = {
    {"KT", {1, 2, 3, 4, 5, 6, 8, 12}}, /* channels of a tile */
    {.name = NULL},
};
static const struct claret_tunable dw_tunables[] = {
    {"KT", {1, 2, 3, 4, 5, 6, 8}},            /* channels of a tile */
    {"RT", {1, 2, 3, 5, 7}},                  /* rows of taps of a tile */
    {"CHUNK", {1, 2, 4, 8, 16, 32, 64, 128}}, /* images that one item adds */
    {.name = NULL},
};
static const struct claret_tunable dw_channels_tunables[] = {
    {"CT", {1, 2, 3, 4, 5, 6, 8, 12, 16}},    /* input channels of a tile */
    {"ST", {1, 2, 3, 5, 7}},                  /* columns of taps of a tile */
    {"CHUNK", {1, 2, 4, 8, 16, 32, 64, 128}}, /* images that one item adds */
    {.name = NULL},
};
static const struct claret_solver forward_rows = {
    .name = "rows", .applicable = forward_applicable, .emit = forward_emit, .tunables = forward_tunables};
static const struct claret_solver dw_rows = {
    .name = "rows", .applicable = dw_applicable, .emit = dw_emit, .tunables = dw_tunables};
static const struct claret_solver dw_channels = {.name = "channels",
                                                 .applicable = dw_channels_applicable,
                                                 .unasked = dw_channels_unasked,
                                                 .emit = dw_channels_emit,
                                                 .tunables = dw_channels_tunables};
static const struct claret_solver *const forward_solvers[] = {&forward_rows, NULL};
static const struct claret_solver *const dw_solvers[] = {&dw_channels, &dw_rows, NULL};

static const char *const chain[] = {"conv2d", "relu", "max_pool2d", NULL};
static const struct claret_op conv2d_relu_pool = {.name = "conv2d_relu_pool",
                                                  .chain = chain,
                                                  .family = CLARET_FAMILY_VECTORS,
                                                  .fits = fits,
                                                  .shape = shape,
                                                  .backward = backward,
                                                  .solvers = forward_solvers,
                                                  .multiply_adds = claret_conv_pool_multiply_adds};
static const struct claret_op conv2d_relu_pool_dw = {.name = "conv2d_relu_pool_dw", .solvers = dw_solvers};

extern const struct claret_op *const claret_ops_conv2d_relu_pool[];
const struct claret_op *const claret_ops_conv2d_relu_pool[] = {&conv2d_relu_pool, &conv2d_relu_pool_dw, NULL};
