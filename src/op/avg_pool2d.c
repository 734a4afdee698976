/* avg_pool2d, adaptive_avg_pool2d: in x (N, C, H, W); out y (N, C, OH, OW), means of windows. …_dx: in dy;
 * out dx. As PyTorch's: windows of avg_pool2d are cut off behind the padding (floor mode) and count the
 * padding unless count_include_pad is false; those of adaptive_avg_pool2d are from floor(i * H / OH) to
 * ceil((i + 1) * H / OH). */
#include "op/op.h"

#include "op/vectors.h"

#define LARGE (1 << 24)

enum { KERNEL, STRIDE, PADDING, COUNT_PAD };
static const struct claret_attr_def attrs[] = {
    [KERNEL] = {"kernel_size", CLARET_ATTR_PAIR, true, 0, 1, LARGE, NULL},
    [STRIDE] = {"stride", CLARET_ATTR_PAIR, false, 0, 1, LARGE, NULL}, /* default: the kernel's size */
    [PADDING] = {"padding", CLARET_ATTR_PAIR, false, 0, 0, LARGE, NULL},
    [COUNT_PAD] = {"count_include_pad", CLARET_ATTR_BOOL, false, 1, 0, 1, NULL},
    {.key = NULL},
};
static const struct claret_schema schema = {"avg_pool2d", 1, attrs, 0};
static const struct claret_attr_def adaptive_attrs[] = {
    {"output_size", CLARET_ATTR_PAIR, true, 0, 1, LARGE, NULL},
    {.key = NULL},
};
static const struct claret_schema adaptive_schema = {"adaptive_avg_pool2d", 1, adaptive_attrs, 0};
static const struct claret_op pool, pool_dx, adaptive, adaptive_dx;

static int64_t stride(const struct claret_attr *attr, int d)
{
    return attr[STRIDE].given ? attr[STRIDE].i[d] : attr[KERNEL].i[d];
}

static enum claret_status check_images(struct claret_build *build, const struct claret_node *node,
                                       struct claret_shape *in)
{
    *in = claret_build_tensor(build, node->in[0])->shape;
    if (in->rank == 4)
        return CLARET_OK;
    return claret_build_error(build, node, NULL,
                              "%s wants images (channels, height, width), its input is flat", node->op->name);
}

static enum claret_status shape(struct claret_build *build, struct claret_node *node)
{
    const struct claret_attr *attr = node->attr;
    struct claret_shape in;
    int64_t out[2];
    CLARET_TRY(check_images(build, node, &in));
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
        out[d] = (extent + 2 * padding - kernel) / stride(attr, d) + 1;
    }
    claret_build_output(build, node, CLARET_DTYPE_F32, claret_shape4(in.dim[0], in.dim[1], out[0], out[1]));
    return CLARET_OK;
}

static enum claret_status adaptive_shape(struct claret_build *build, struct claret_node *node)
{
    struct claret_shape in;
    CLARET_TRY(check_images(build, node, &in));
    claret_build_output(build, node, CLARET_DTYPE_F32,
                        claret_shape4(in.dim[0], in.dim[1], node->attr[0].i[0], node->attr[0].i[1]));
    return CLARET_OK;
}

static enum claret_status backward(struct claret_build *build, const struct claret_node *node)
{
    if (claret_build_wants(build, node->in[0])) {
        int dy = claret_build_grad(build, node->out[0]), dx = claret_build_grad(build, node->in[0]);
        claret_build_node(build, node->op == &pool ? &pool_dx : &adaptive_dx, node, "dx", &dy, 1, &dx, 1);
    }
    return CLARET_OK;
}

/* A kernel for the images `x` and `y` (or their gradients): an item does an element of out[0], or with
 * `vectors` a row of its pixels in NHWC. */
static void emit_pool(struct claret_emit *emit, const struct claret_node *node, const char *entry, int x,
                      int y, bool vectors)
{
    const struct claret_tensor *of_x = claret_emit_tensor(emit, x), *of_y = claret_emit_tensor(emit, y);
    const int64_t *out = claret_emit_tensor(emit, node->out[0])->shape.dim;
    bool windows = node->op == &pool || node->op == &pool_dx;
    struct claret_kernel_call *call = claret_emit_kernel(emit, "pool", "avg_pool2d", entry);
    claret_kernel_define(call, "ADAPTIVE", !windows);
    claret_kernel_define(call, "COUNT_PAD", windows ? node->attr[COUNT_PAD].i[0] : 0);
    if (vectors)
        claret_kernel_define(call, "LANES", claret_vector_lanes(claret_emit_device(emit), out[1]));
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    claret_kernel_int(call, of_x->shape.dim[1]);
    for (int d = 2; d < 4; d++)
        claret_kernel_int(call, of_x->shape.dim[d]);
    for (int d = 2; d < 4; d++)
        claret_kernel_int(call, of_y->shape.dim[d]);
    for (int d = 0; d < 2; d++)
        claret_kernel_int(call, windows ? node->attr[KERNEL].i[d] : 1);
    for (int d = 0; d < 2; d++)
        claret_kernel_int(call, windows ? stride(node->attr, d) : 1);
    for (int d = 0; d < 2; d++)
        claret_kernel_int(call, windows ? node->attr[PADDING].i[d] : 0);
    if (vectors)
        claret_kernel_range3(call, out[2], out[0], 1, 1);
    else
        claret_kernel_range3(call, out[3], out[2], out[0] * out[1], 64);
    double count = (double)(claret_shape_count(&of_x->shape) + claret_shape_count(&of_y->shape));
    claret_emit_cost(emit, count, 4 * count);
}

static void forward_channels_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_pool(emit, node, "avg_pool2d_channels", node->in[0], node->out[0], true);
}

static void forward_plain_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_pool(emit, node, "avg_pool2d", node->in[0], node->out[0], false);
}

static void dx_channels_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_pool(emit, node, "avg_pool2d_dx_channels", node->out[0], node->in[0], true);
}

static void dx_plain_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_pool(emit, node, "avg_pool2d_dx", node->out[0], node->in[0], false);
}

static bool channels_applicable(const struct claret_problem *problem, char reason[128])
{
    return claret_vector_device(problem->device, reason);
}

static const struct claret_solver forward_channels = {.name = "channels",
                                                      .layout = CLARET_LAYOUT_NHWC,
                                                      .applicable = channels_applicable,
                                                      .emit = forward_channels_emit};
static const struct claret_solver dx_channels = {.name = "channels",
                                                 .layout = CLARET_LAYOUT_NHWC,
                                                 .applicable = channels_applicable,
                                                 .emit = dx_channels_emit};
static const struct claret_solver forward_plain = {.name = "plain", .emit = forward_plain_emit};
static const struct claret_solver dx_plain = {.name = "plain", .emit = dx_plain_emit};
static const struct claret_solver *const forward_solvers[] = {&forward_channels, &forward_plain, NULL};
static const struct claret_solver *const dx_solvers[] = {&dx_channels, &dx_plain, NULL};

static const struct claret_op pool = {.name = "avg_pool2d",
                                      .schema = &schema,
                                      .layout = CLARET_LAYOUT_SAME,
                                      .shape = shape,
                                      .backward = backward,
                                      .solvers = forward_solvers};
static const struct claret_op adaptive = {.name = "adaptive_avg_pool2d",
                                          .schema = &adaptive_schema,
                                          .layout = CLARET_LAYOUT_SAME,
                                          .shape = adaptive_shape,
                                          .backward = backward,
                                          .solvers = forward_solvers};
static const struct claret_op pool_dx = {.name = "avg_pool2d_dx", .solvers = dx_solvers};
static const struct claret_op adaptive_dx = {.name = "adaptive_avg_pool2d_dx", .solvers = dx_solvers};

extern const struct claret_op *const claret_ops_avg_pool2d[];
const struct claret_op *const claret_ops_avg_pool2d[] = {&pool, &adaptive, &pool_dx, &adaptive_dx, NULL};
