/* conv2d: in x (N, C, H, W), weight (K, C / groups, R, S), bias (K) or none; out y (N, K, OH, OW).
 * conv2d_relu: the same with ReLU behind it.
 * conv2d_dx: in dy, weight, and y where ReLU follows; out dx. conv2d_dw: in x, dy, and likewise y; out
 * dweight and, where there is a bias, dbias. */
#include "op/conv2d.h"

#include <math.h>
#include <stdio.h>

static const struct claret_attr_def attrs[] = {
    CLARET_CONV_ATTR_DEFS,
    {.key = NULL},
};
static const struct claret_schema schema = {"conv2d", 1, attrs, 0};

static const struct claret_op conv2d, conv2d_relu, conv2d_dw;

/* ---- shape and gradient ---- */

void claret_conv_extents(const struct claret_attr *attr, const struct claret_shape *x, int64_t out[2])
{
    for (int d = 0; d < 2; d++) {
        int64_t span = attr[CLARET_CONV_DILATION].i[d] * (attr[CLARET_CONV_KERNEL].i[d] - 1) + 1;
        int64_t room = x->dim[2 + d] + 2 * attr[CLARET_CONV_PADDING].i[d] - span;
        out[d] = room < 0 ? 0 : room / attr[CLARET_CONV_STRIDE].i[d] + 1;
    }
}

enum claret_status claret_conv_check_channels(const struct claret_build *build,
                                              const struct claret_node *node, int64_t channels)
{
    const struct claret_attr *attr = node->attr;
    int64_t k = attr[CLARET_CONV_OUT_CHANNELS].i[0], groups = attr[CLARET_CONV_GROUPS].i[0];
    if (attr[CLARET_CONV_IN_CHANNELS].given && attr[CLARET_CONV_IN_CHANNELS].i[0] != channels)
        return claret_build_error(build, node, &attr[CLARET_CONV_IN_CHANNELS],
                                  "in_channels is %lld, but its input has %lld channels",
                                  (long long)attr[CLARET_CONV_IN_CHANNELS].i[0], (long long)channels);
    if (channels % groups || k % groups)
        return claret_build_error(build, node, &attr[CLARET_CONV_GROUPS],
                                  "groups is %lld, which does not divide %s, %lld", (long long)groups,
                                  channels % groups ? "its input's channels" : "out_channels",
                                  (long long)(channels % groups ? channels : k));
    return CLARET_OK;
}

enum claret_status claret_conv_build(struct claret_build *build, struct claret_node *node,
                                     struct claret_shape *y)
{
    const struct claret_attr *attr = node->attr;
    const struct claret_shape in = claret_build_tensor(build, node->in[0])->shape;
    if (in.rank != 4)
        return claret_build_error(build, node, NULL,
                                  "conv2d wants images (channels, height, width), its input is flat");
    int64_t c = in.dim[1], k = attr[CLARET_CONV_OUT_CHANNELS].i[0];
    int64_t groups = attr[CLARET_CONV_GROUPS].i[0], out[2];
    CLARET_TRY(claret_conv_check_channels(build, node, c));
    claret_conv_extents(attr, &in, out);
    for (int d = 0; d < 2; d++) {
        int64_t kernel = attr[CLARET_CONV_KERNEL].i[d], padding = attr[CLARET_CONV_PADDING].i[d];
        int64_t dilation = attr[CLARET_CONV_DILATION].i[d];
        if (out[d] < 1)
            return claret_build_error(
                build, node, &attr[CLARET_CONV_KERNEL],
                "the kernel spans %lld (kernel_size %lld, dilation %lld), more than the %s of its input with "
                "padding, %lld",
                (long long)(dilation * (kernel - 1) + 1), (long long)kernel, (long long)dilation,
                d ? "width" : "height", (long long)(in.dim[2 + d] + 2 * padding));
    }
    int64_t r = attr[CLARET_CONV_KERNEL].i[0], s = attr[CLARET_CONV_KERNEL].i[1];
    /* PyTorch's default, kaiming_uniform with a = sqrt(5), comes to this bound for weight and bias. */
    float bound = 1.0f / sqrtf((float)((double)(c / groups) * (double)r * (double)s));
    claret_build_param(build, node, "weight", claret_shape4(k, c / groups, r, s), bound);
    if (attr[CLARET_CONV_BIAS].i[0])
        claret_build_param(build, node, "bias", claret_shape1(k), bound);
    *y = claret_shape4(in.dim[0], k, out[0], out[1]);
    return CLARET_OK;
}

static enum claret_status shape(struct claret_build *build, struct claret_node *node)
{
    struct claret_shape y;
    CLARET_TRY(claret_conv_build(build, node, &y));
    claret_build_output(build, node, CLARET_DTYPE_F32, y);
    return CLARET_OK;
}

static enum claret_status backward(struct claret_build *build, const struct claret_node *node)
{
    claret_build_dx_dw(build, node, &claret_conv2d_dx, &conv2d_dw,
                       claret_conv_has_relu(node) ? node->out[0] : -1);
    return CLARET_OK;
}

/* ---- what solvers ask ---- */

bool claret_conv_has_relu(const struct claret_node *node)
{
    return node->op == &conv2d_relu;
}

int claret_conv_mask(const struct claret_node *node)
{
    return node->in_count > 2 ? node->in[2] : -1;
}

struct claret_conv claret_conv_problem(const struct claret_attr *attr, const struct claret_tensor *x,
                                       const struct claret_tensor *y)
{
    struct claret_conv conv = {.n = x->shape.dim[0],
                               .c = x->shape.dim[1],
                               .h = x->shape.dim[2],
                               .w = x->shape.dim[3],
                               .k = y->shape.dim[1],
                               .oh = y->shape.dim[2],
                               .ow = y->shape.dim[3],
                               .r = attr[CLARET_CONV_KERNEL].i[0],
                               .s = attr[CLARET_CONV_KERNEL].i[1],
                               .groups = attr[CLARET_CONV_GROUPS].i[0]};
    for (int d = 0; d < 2; d++) {
        conv.stride[d] = attr[CLARET_CONV_STRIDE].i[d];
        conv.padding[d] = attr[CLARET_CONV_PADDING].i[d];
        conv.dilation[d] = attr[CLARET_CONV_DILATION].i[d];
    }
    return conv;
}

struct claret_conv claret_conv_turned(const struct claret_conv *conv)
{
    struct claret_conv turned = *conv;
    turned.c = conv->k;
    turned.k = conv->c;
    turned.h = conv->oh;
    turned.w = conv->ow;
    turned.oh = conv->h;
    turned.ow = conv->w;
    turned.padding[0] = conv->r - 1 - conv->padding[0];
    turned.padding[1] = conv->s - 1 - conv->padding[1];
    return turned;
}

double claret_conv_flops(const struct claret_conv *conv)
{
    return 2.0 * (double)(conv->n * conv->k * conv->oh * conv->ow) *
           (double)(conv->c / conv->groups * conv->r * conv->s);
}

bool claret_conv_whole(const struct claret_conv *conv, char reason[128])
{
    if (conv->groups > 1)
        snprintf(reason, 128, "it has %lld groups", (long long)conv->groups);
    return conv->groups == 1;
}

static double multiply_adds(const struct claret_node *node, const struct claret_tensor *tensors)
{
    struct claret_conv conv = claret_conv_problem(node->attr, &tensors[node->in[0]], &tensors[node->out[0]]);
    return claret_conv_flops(&conv) / 2;
}

static const struct claret_solver *const forward_solvers[] = {
    &claret_conv_depthwise,   &claret_conv_winograd, &claret_conv_direct,
    &claret_conv_im2col_rows, &claret_conv_tiled,    &claret_conv_winograd_tiled,
    &claret_conv_grouped,     &claret_conv_im2col,   NULL};
const struct claret_solver *const claret_conv_dx_solvers[] = {
    &claret_conv_depthwise_dx,   &claret_conv_winograd_dx, &claret_conv_direct_dx,
    &claret_conv_im2col_rows_dx, &claret_conv_tiled_dx,    &claret_conv_winograd_tiled_dx,
    &claret_conv_grouped_dx,     &claret_conv_im2col_dx,   NULL};
static const struct claret_solver *const dw_solvers[] = {
    &claret_conv_depthwise_dw, &claret_conv_winograd_dw, &claret_conv_direct_dw, &claret_conv_im2col_rows_dw,
    &claret_conv_tiled_dw,     &claret_conv_grouped_dw,  &claret_conv_im2col_dw, NULL};

static const struct claret_op conv2d = {.name = "conv2d",
                                        .schema = &schema,
                                        .layout = CLARET_LAYOUT_NHWC,
                                        .shape = shape,
                                        .backward = backward,
                                        .solvers = forward_solvers,
                                        .multiply_adds = multiply_adds};
static const char *const with_relu[] = {"conv2d", "relu", NULL};
static const struct claret_op conv2d_relu = {.name = "conv2d_relu",
                                             .layout = CLARET_LAYOUT_NHWC,
                                             .chain = with_relu,
                                             .shape = shape,
                                             .backward = backward,
                                             .solvers = forward_solvers,
                                             .multiply_adds = multiply_adds};
const struct claret_op claret_conv2d_dx = {.name = "conv2d_dx", .solvers = claret_conv_dx_solvers};
static const struct claret_op conv2d_dw = {.name = "conv2d_dw", .solvers = dw_solvers};

extern const struct claret_op *const claret_ops_conv2d[];
const struct claret_op *const claret_ops_conv2d[] = {&conv2d, &conv2d_relu, &claret_conv2d_dx, &conv2d_dw,
                                                     NULL};
