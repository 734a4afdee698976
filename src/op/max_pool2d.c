/* max_pool2d: in x (N, C, H, W); out y (N, C, OH, OW) and index (like y): which position of its window won,
 * r * S + s. max_pool2d_dx: in index, dy; out dx. As PyTorch: floor mode, padding is -inf, the first maximum
 * wins, a NaN wins over all. */
#include "op/max_pool2d.h"

#include <stdio.h>

#include "op/vectors.h"

#define LARGE (1 << 24)

#define KERNEL CLARET_POOL_KERNEL
#define STRIDE CLARET_POOL_STRIDE
#define PADDING CLARET_POOL_PADDING
static const struct claret_attr_def attrs[] = {
    [KERNEL] = {"kernel_size", CLARET_ATTR_PAIR, true, 0, 1, LARGE, NULL},
    [STRIDE] = {"stride", CLARET_ATTR_PAIR, false, 0, 1, LARGE, NULL}, /* default: the kernel's size */
    [PADDING] = {"padding", CLARET_ATTR_PAIR, false, 0, 0, LARGE, NULL},
    {.key = NULL},
};
static const struct claret_schema schema = {"max_pool2d", 1, attrs, 0};
static const struct claret_op max_pool2d;

int64_t claret_pool_stride(const struct claret_attr *attr, int d)
{
    return attr[STRIDE].given ? attr[STRIDE].i[d] : attr[KERNEL].i[d];
}

static enum claret_status shape(struct claret_build *build, struct claret_node *node)
{
    const struct claret_attr *attr = node->attr;
    const struct claret_shape in = claret_build_tensor(build, node->in[0])->shape;
    if (in.rank != 4)
        return claret_build_error(build, node, NULL,
                                  "max_pool2d wants images (channels, height, width), its input is flat");
    int64_t out[2];
    for (int d = 0; d < 2; d++) {
        int64_t kernel = attr[KERNEL].i[d], padding = attr[PADDING].i[d], extent = in.dim[2 + d];
        if (2 * padding > kernel)
            return claret_build_error(build, node, &attr[PADDING],
                                      "padding %lld is more than half of kernel_size %lld",
                                      (long long)padding, (long long)kernel);
        if (kernel > extent + 2 * padding)
            return claret_build_error(build, node, &attr[KERNEL],
                                      "kernel_size %lld is more than the %s of its input with padding, %lld",
                                      (long long)kernel, d ? "width" : "height",
                                      (long long)(extent + 2 * padding));
        out[d] = (extent + 2 * padding - kernel) / claret_pool_stride(attr, d) + 1;
    }
    struct claret_shape y = claret_shape4(in.dim[0], in.dim[1], out[0], out[1]);
    bool byte = attr[KERNEL].i[0] * attr[KERNEL].i[1] <= 256;
    claret_build_output(build, node, CLARET_DTYPE_F32, y);
    claret_build_output(build, node, byte ? CLARET_DTYPE_U8 : CLARET_DTYPE_I32, y);
    return CLARET_OK;
}

static enum claret_status backward(struct claret_build *build, const struct claret_node *node)
{
    if (claret_build_wants(build, node->in[0])) {
        int in[2] = {node->out[1], claret_build_grad(build, node->out[0])};
        int dx = claret_build_grad(build, node->in[0]);
        claret_build_node(build, &claret_max_pool2d_dx, node, "dx", in, 2, &dx, 1);
    }
    return CLARET_OK;
}

/* The arguments behind the tensors: extents of x and y, window. */
static void pool_arguments(struct claret_kernel_call *call, const struct claret_node *node,
                           const struct claret_tensor *x, const struct claret_tensor *y,
                           const struct claret_tensor *index)
{
    claret_kernel_define(call, "WIDE_INDEX", index->dtype == CLARET_DTYPE_I32);
    for (int d = 2; d < 4; d++)
        claret_kernel_int(call, x->shape.dim[d]);
    for (int d = 2; d < 4; d++)
        claret_kernel_int(call, y->shape.dim[d]);
    for (int d = 0; d < 2; d++)
        claret_kernel_int(call, node->attr[KERNEL].i[d]);
    for (int d = 0; d < 2; d++)
        claret_kernel_int(call, claret_pool_stride(node->attr, d));
    for (int d = 0; d < 2; d++)
        claret_kernel_int(call, node->attr[PADDING].i[d]);
}

static void forward_emit(struct claret_emit *emit, const struct claret_node *node)
{
    const struct claret_tensor *x = claret_emit_tensor(emit, node->in[0]);
    const struct claret_tensor *y = claret_emit_tensor(emit, node->out[0]);
    struct claret_kernel_call *call = claret_emit_kernel(emit, "pool", "max_pool2d", "max_pool2d");
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    claret_kernel_tensor(call, node->out[1], 0);
    pool_arguments(call, node, x, y, claret_emit_tensor(emit, node->out[1]));
    claret_kernel_range3(call, y->shape.dim[3], y->shape.dim[2], y->shape.dim[0] * y->shape.dim[1], 64);
    double count = (double)claret_shape_count(&y->shape);
    claret_emit_cost(emit, count * (double)(node->attr[KERNEL].i[0] * node->attr[KERNEL].i[1]),
                     4.0 * (double)claret_shape_count(&x->shape) + 5.0 * count);
}

static void emit_dx(struct claret_emit *emit, const struct claret_node *node, bool planes)
{
    const struct claret_tensor *y = claret_emit_tensor(emit, node->in[1]);
    const struct claret_tensor *x = claret_emit_tensor(emit, node->out[0]);
    struct claret_kernel_call *call =
        claret_emit_kernel(emit, "pool", "max_pool2d", planes ? "max_pool2d_dx_planes" : "max_pool2d_dx");
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    pool_arguments(call, node, x, y, claret_emit_tensor(emit, node->in[0]));
    if (planes)
        claret_kernel_range(call, x->shape.dim[0] * x->shape.dim[1], 1);
    else
        claret_kernel_range3(call, x->shape.dim[3], x->shape.dim[2], x->shape.dim[0] * x->shape.dim[1], 64);
    claret_emit_cost(emit, (double)claret_shape_count(&x->shape),
                     4.0 * (double)claret_shape_count(&x->shape) +
                         5.0 * (double)claret_shape_count(&y->shape));
}

static void dx_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_dx(emit, node, false);
}

static void dx_planes_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_dx(emit, node, true);
}

/* In NHWC an item does a row of pixels, its vectors channels. */
static void emit_channels(struct claret_emit *emit, const struct claret_node *node, const char *entry, int x,
                          int y, int index, double flops)
{
    const struct claret_tensor *of_x = claret_emit_tensor(emit, x), *of_y = claret_emit_tensor(emit, y);
    bool forward = x == node->in[0];
    struct claret_kernel_call *call = claret_emit_kernel(emit, "pool", "max_pool2d", entry);
    claret_kernel_define(call, "LANES", claret_vector_lanes(claret_emit_device(emit), of_x->shape.dim[1]));
    for (int i = 0; i < node->in_count; i++)
        claret_kernel_tensor(call, node->in[i], 0);
    for (int i = 0; i < node->out_count; i++)
        claret_kernel_tensor(call, node->out[i], 0);
    pool_arguments(call, node, of_x, of_y, claret_emit_tensor(emit, index));
    claret_kernel_int(call, of_x->shape.dim[1]);
    claret_kernel_range3(call, (forward ? of_y : of_x)->shape.dim[2], of_x->shape.dim[0], 1, 1);
    claret_emit_cost(emit, flops,
                     4.0 * (double)claret_shape_count(&of_x->shape) +
                         5.0 * (double)claret_shape_count(&of_y->shape));
}

static void forward_channels_emit(struct claret_emit *emit, const struct claret_node *node)
{
    const struct claret_shape *y = &claret_emit_tensor(emit, node->out[0])->shape;
    emit_channels(emit, node, "max_pool2d_channels", node->in[0], node->out[0], node->out[1],
                  (double)(claret_shape_count(y) * node->attr[KERNEL].i[0] * node->attr[KERNEL].i[1]));
}

static void dx_channels_emit(struct claret_emit *emit, const struct claret_node *node)
{
    const struct claret_shape *x = &claret_emit_tensor(emit, node->out[0])->shape;
    emit_channels(emit, node, "max_pool2d_dx_channels", node->out[0], node->in[1], node->in[0],
                  (double)claret_shape_count(x));
}

/* Images in NHWC with a byte's index: the kernels' case. In NCHW reordering would cost more than it gains. */
static bool channels_applicable(const struct claret_problem *problem, char reason[128])
{
    const struct claret_node *node = problem->node;
    bool backward = problem->tensors[node->in[0]].dtype != CLARET_DTYPE_F32;
    const struct claret_tensor *index = &problem->tensors[backward ? node->in[0] : node->out[1]];
    if (index->dtype != CLARET_DTYPE_U8) {
        snprintf(reason, 128, "windows of more than 256 positions");
        return false;
    }
    if (index->layout != CLARET_NHWC) {
        snprintf(reason, 128, "the images are not in NHWC");
        return false;
    }
    return claret_vector_device(problem->device, reason);
}

static bool planes_applicable(const struct claret_problem *problem, char reason[128])
{
    const struct claret_attr *attr = problem->node->attr;
    bool apart =
        claret_pool_stride(attr, 0) >= attr[KERNEL].i[0] && claret_pool_stride(attr, 1) >= attr[KERNEL].i[1];
    if (apart)
        return claret_vector_device(problem->device, reason);
    snprintf(reason, 128, "windows overlap");
    return false;
}

static const struct claret_solver forward_channels = {.name = "channels",
                                                      .layout = CLARET_LAYOUT_NHWC,
                                                      .applicable = channels_applicable,
                                                      .emit = forward_channels_emit};
static const struct claret_solver dx_channels = {.name = "channels",
                                                 .layout = CLARET_LAYOUT_NHWC,
                                                 .applicable = channels_applicable,
                                                 .emit = dx_channels_emit};
static const struct claret_solver forward_plain = {.name = "plain", .emit = forward_emit};
static const struct claret_solver dx_planes = {
    .name = "planes", .applicable = planes_applicable, .emit = dx_planes_emit};
static const struct claret_solver dx_plain = {.name = "plain", .emit = dx_emit};
static const struct claret_solver *const forward_solvers[] = {&forward_channels, &forward_plain, NULL};
static const struct claret_solver *const dx_solvers[] = {&dx_channels, &dx_planes, &dx_plain, NULL};

static const struct claret_op max_pool2d = {.name = "max_pool2d",
                                            .schema = &schema,
                                            .layout = CLARET_LAYOUT_SAME,
                                            .shape = shape,
                                            .backward = backward,
                                            .solvers = forward_solvers};
const struct claret_op claret_max_pool2d_dx = {.name = "max_pool2d_dx", .solvers = dx_solvers};

extern const struct claret_op *const claret_ops_max_pool2d[];
const struct claret_op *const claret_ops_max_pool2d[] = {&max_pool2d, &claret_max_pool2d_dx, NULL};
