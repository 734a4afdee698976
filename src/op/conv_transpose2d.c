/* conv_transpose2d: in x (N, C, H, W), weight (C, K / groups, R, S); out y (N, K, OH, OW). It is the data
 * gradient of the convolution that makes x of y, and its own data gradient is that convolution: conv2d's
 * solvers run both, and the gradient of the weight. bias: in x (N, K, …), bias (K); out x + bias. bias_dw: in
 * dy; out dbias. */
#include "op/conv2d.h"

#include <math.h>

#include "op/elementwise.h"
#include "op/update.h"
#include "op/vectors.h"

/* conv2d's, in their order, and one more. */
enum { OUTPUT_PADDING = CLARET_CONV_ATTRS };
static const struct claret_attr_def attrs[] = {
    CLARET_CONV_ATTR_DEFS,
    [OUTPUT_PADDING] = {"output_padding", CLARET_ATTR_PAIR, false, 0, 0, CLARET_CONV_LARGE, NULL},
    {.key = NULL},
};
static const struct claret_schema schema = {"conv_transpose2d", 1, attrs, 0};
static const struct claret_op bias_op, bias_dx, bias_dw;

/* ---- shape and gradient ---- */

static enum claret_status extents(const struct claret_build *build, const struct claret_node *node,
                                  const struct claret_shape *in, int64_t out[2])
{
    const struct claret_attr *attr = node->attr;
    for (int d = 0; d < 2; d++) {
        int64_t stride = attr[CLARET_CONV_STRIDE].i[d], dilation = attr[CLARET_CONV_DILATION].i[d];
        int64_t more = attr[OUTPUT_PADDING].i[d], padding = attr[CLARET_CONV_PADDING].i[d];
        if (more >= stride && more >= dilation)
            return claret_build_error(build, node, &attr[OUTPUT_PADDING],
                                      "output_padding is %lld, which has to be less than stride, %lld, or "
                                      "dilation, %lld",
                                      (long long)more, (long long)stride, (long long)dilation);
        out[d] = (in->dim[2 + d] - 1) * stride + dilation * (attr[CLARET_CONV_KERNEL].i[d] - 1) + 1 + more;
        if (out[d] <= 2 * padding)
            return claret_build_error(build, node, &attr[CLARET_CONV_PADDING],
                                      "padding is %lld, which leaves nothing of the output's %s, %lld",
                                      (long long)padding, d ? "width" : "height", (long long)out[d]);
        out[d] -= 2 * padding;
    }
    return CLARET_OK;
}

/* The bias has a node of its own, behind. */
static enum claret_status shape(struct claret_build *build, struct claret_node *node)
{
    const struct claret_attr *attr = node->attr;
    const struct claret_shape in = claret_build_tensor(build, node->in[0])->shape;
    if (in.rank != 4)
        return claret_build_error(
            build, node, NULL, "conv_transpose2d wants images (channels, height, width), its input is flat");
    int64_t k = attr[CLARET_CONV_OUT_CHANNELS].i[0], groups = attr[CLARET_CONV_GROUPS].i[0], out[2];
    CLARET_TRY(claret_conv_check_channels(build, node, in.dim[1]));
    CLARET_TRY(extents(build, node, &in, out));
    int64_t r = attr[CLARET_CONV_KERNEL].i[0], s = attr[CLARET_CONV_KERNEL].i[1];
    /* PyTorch's default, which takes the weight's second dimension for the input's channels. */
    float bound = 1.0f / sqrtf((float)((double)(k / groups) * (double)r * (double)s));
    struct claret_shape y = claret_shape4(in.dim[0], k, out[0], out[1]);
    claret_build_param(build, node, "weight", claret_shape4(in.dim[1], k / groups, r, s), bound);
    int result = claret_build_output(build, node, CLARET_DTYPE_F32, y);
    if (attr[CLARET_CONV_BIAS].i[0]) {
        int bias = claret_build_param(build, node, "bias", claret_shape1(k), bound);
        node->in_count--;
        struct claret_node *more =
            claret_build_node(build, &bias_op, node, "add", (int[]){result, bias}, 2, NULL, 0);
        claret_build_output(build, more, CLARET_DTYPE_F32, y);
    }
    return CLARET_OK;
}

static enum claret_status backward(struct claret_build *build, const struct claret_node *node)
{
    int dy = claret_build_grad(build, node->out[0]);
    if (claret_build_wants(build, node->in[0])) {
        int dx = claret_build_grad(build, node->in[0]);
        claret_build_node(build, claret_op_find("conv2d"), node, "dx", (int[]){dy, node->in[1]}, 2, &dx, 1);
    }
    if (claret_build_wants(build, node->in[1])) {
        int dw = claret_build_grad(build, node->in[1]);
        claret_build_node(build, claret_op_find("conv2d_dw"), node, "dw", (int[]){dy, node->in[0]}, 2, &dw,
                          1);
    }
    return CLARET_OK;
}

static double multiply_adds(const struct claret_node *node, const struct claret_tensor *tensors)
{
    struct claret_conv conv = claret_conv_problem(node->attr, &tensors[node->out[0]], &tensors[node->in[0]]);
    return claret_conv_flops(&conv) / 2;
}

static enum claret_status bias_backward(struct claret_build *build, const struct claret_node *node)
{
    int dy = claret_build_grad(build, node->out[0]);
    if (claret_build_wants(build, node->in[0]))
        claret_build_pass(build, &bias_dx, node, "dx", dy, claret_build_grad(build, node->in[0]));
    if (claret_build_wants(build, node->in[1])) {
        int dbias = claret_build_grad(build, node->in[1]);
        claret_build_node(build, &bias_dw, node, "dw", &dy, 1, &dbias, 1);
    }
    return CLARET_OK;
}

/* ---- the bias' solvers ---- */

#define PARTS 64
#define LEAST_PART 16
#define NEAR_FLOATS 16384

/* The last arguments of each kernel: images, channels, pixels of an image. */
static void sizes(struct claret_kernel_call *call, const struct claret_tensor *images)
{
    const int64_t *dim = images->shape.dim;
    claret_kernel_define(call, "LAST", images->layout == CLARET_NHWC);
    claret_kernel_int(call, dim[0]);
    claret_kernel_int(call, dim[1]);
    claret_kernel_int(call, dim[2] * dim[3]);
}

static void bias_emit(struct claret_emit *emit, const struct claret_node *node)
{
    const struct claret_tensor *y = claret_emit_tensor(emit, node->out[0]);
    int64_t image = claret_shape_count(&y->shape) / y->shape.dim[0];
    struct claret_kernel_call *call = claret_emit_kernel(emit, "bias", "conv_transpose2d", "channel_bias");
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    sizes(call, y);
    claret_kernel_range3(call, image, y->shape.dim[0], 1, 64);
    claret_emit_cost(emit, (double)(image * y->shape.dim[0]), 8.0 * (double)(image * y->shape.dim[0]));
}

static void bias_dw_emit(struct claret_emit *emit, const struct claret_node *node)
{
    const struct claret_tensor *dy = claret_emit_tensor(emit, node->in[0]);
    int64_t channels = dy->shape.dim[1], pixels = claret_shape_count(&dy->shape) / channels;
    int64_t parts = (pixels + LEAST_PART - 1) / LEAST_PART;
    bool last = dy->layout == CLARET_NHWC;
    parts = parts < PARTS ? parts : PARTS;
    int sums = claret_emit_temp(emit, CLARET_DTYPE_F32, parts * channels);
    struct claret_kernel_call *call = claret_emit_kernel(emit, "sums", "conv_transpose2d", "channel_sums");
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, sums, 0);
    sizes(call, dy);
    claret_kernel_int(call, parts);
    claret_kernel_range3(call, last ? channels : parts, last ? parts : channels, 1, 64);
    claret_emit_cost(emit, (double)(pixels * channels), 4.0 * (double)(pixels * channels));
    claret_update_emit_sum(emit, node, 1, 0, sums, channels, 0, parts);
}

/* How the pixels of images are split: in chunks that a near cache holds, for an item goes over them channel
 * by channel. */
struct chunks {
    int64_t channels, count, pixels, chunks; /* count: of all images' pixels; pixels: of a chunk */
};

static struct chunks split_pixels(const struct claret_tensor *images)
{
    struct chunks split = {.channels = images->shape.dim[1]};
    int64_t most = NEAR_FLOATS / split.channels;
    split.count = claret_shape_count(&images->shape) / split.channels;
    split.pixels = most > LEAST_PART ? most : LEAST_PART;
    split.chunks = (split.count + split.pixels - 1) / split.pixels;
    return split;
}

/* The launch over images in NHWC, chunk by chunk. */
static void emit_vectors(struct claret_emit *emit, const char *what, const char *entry, const int tensors[3],
                         const struct chunks *split)
{
    struct claret_kernel_call *call = claret_emit_kernel(emit, what, "conv_transpose2d", entry);
    claret_kernel_define(call, "LANES", claret_vector_lanes(claret_emit_device(emit), split->channels));
    for (int i = 0; i < 3; i++)
        if (tensors[i] >= 0)
            claret_kernel_tensor(call, tensors[i], 0);
    claret_kernel_int(call, split->channels);
    claret_kernel_int(call, split->count);
    claret_kernel_int(call, split->pixels);
    claret_kernel_range(call, split->chunks, 1);
    double count = (double)(split->count * split->channels);
    claret_emit_cost(emit, count, (tensors[2] < 0 ? 4.0 : 8.0) * count);
}

static void bias_channels_emit(struct claret_emit *emit, const struct claret_node *node)
{
    const int tensors[3] = {node->in[0], node->in[1], node->out[0]};
    struct chunks split = split_pixels(claret_emit_tensor(emit, node->out[0]));
    emit_vectors(emit, "bias", "channel_bias_vectors", tensors, &split);
}

static void bias_dw_channels_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct chunks split = split_pixels(claret_emit_tensor(emit, node->in[0]));
    int sums = claret_emit_temp(emit, CLARET_DTYPE_F32, split.chunks * split.channels);
    emit_vectors(emit, "sums", "channel_sums_vectors", (int[]){node->in[0], sums, -1}, &split);
    claret_update_emit_sum(emit, node, 1, 0, sums, split.channels, 0, split.chunks);
}

static const struct claret_solver bias_channels = {.name = "channels",
                                                   .layout = CLARET_LAYOUT_NHWC,
                                                   .applicable = claret_elementwise_vectors,
                                                   .emit = bias_channels_emit};
static const struct claret_solver bias_dw_channels = {.name = "channels",
                                                      .layout = CLARET_LAYOUT_NHWC,
                                                      .applicable = claret_elementwise_vectors,
                                                      .emit = bias_dw_channels_emit};
static const struct claret_solver bias_plain = {
    .name = "plain", .layout = CLARET_LAYOUT_SAME, .emit = bias_emit};
static const struct claret_solver bias_dw_plain = {
    .name = "plain", .layout = CLARET_LAYOUT_SAME, .emit = bias_dw_emit};
static const struct claret_solver *const bias_solvers[] = {&bias_channels, &bias_plain, NULL};
static const struct claret_solver *const bias_dw_solvers[] = {&bias_dw_channels, &bias_dw_plain, NULL};

static const struct claret_op conv_transpose2d = {.name = "conv_transpose2d",
                                                  .schema = &schema,
                                                  .layout = CLARET_LAYOUT_NHWC,
                                                  .shape = shape,
                                                  .backward = backward,
                                                  .solvers = claret_conv_dx_solvers,
                                                  .multiply_adds = multiply_adds};
static const struct claret_op bias_op = {
    .name = "channel_bias", .layout = CLARET_LAYOUT_SAME, .backward = bias_backward, .solvers = bias_solvers};
static const struct claret_op bias_dx = {.name = "channel_bias_dx", .view = true};
static const struct claret_op bias_dw = {.name = "channel_bias_dw", .solvers = bias_dw_solvers};

extern const struct claret_op *const claret_ops_conv_transpose2d[];
const struct claret_op *const claret_ops_conv_transpose2d[] = {&conv_transpose2d, &bias_op, &bias_dx,
                                                               &bias_dw, NULL};
