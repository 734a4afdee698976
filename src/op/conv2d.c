/* conv2d: in x (N, C, H, W), weight (K, C, R, S), bias (K) or none; out y (N, K, OH, OW).
 * conv2d_dx: in dy, weight; out dx. conv2d_dw: in x, dy; out dweight and, where there is a bias, dbias. */
#include "op/conv2d.h"

#include <math.h>

#include "op/conv2d_tiled.h"
#include "op/vectors.h"

#define LARGE (1 << 24)

static const struct claret_attr_def attrs[] = {
    [CLARET_CONV_OUT_CHANNELS] = {"out_channels", CLARET_ATTR_INT, true, 0, 1, LARGE},
    [CLARET_CONV_KERNEL] = {"kernel_size", CLARET_ATTR_PAIR, true, 0, 1, LARGE},
    [CLARET_CONV_STRIDE] = {"stride", CLARET_ATTR_PAIR, false, 1, 1, LARGE},
    [CLARET_CONV_PADDING] = {"padding", CLARET_ATTR_PAIR, false, 0, 0, LARGE},
    [CLARET_CONV_DILATION] = {"dilation", CLARET_ATTR_PAIR, false, 1, 1, LARGE},
    [CLARET_CONV_BIAS] = {"bias", CLARET_ATTR_BOOL, false, 1, 0, 1},
    [CLARET_CONV_IN_CHANNELS] = {"in_channels", CLARET_ATTR_INT, false, 0, 1, LARGE},
    {NULL, CLARET_ATTR_INT, false, 0, 0, 0},
};
static const struct claret_schema schema = {"conv2d", 1, attrs};

static const struct claret_op conv2d, conv2d_dw;

/* ---- shape and gradient ---- */

void claret_conv_extents(const struct claret_attr *attr, const struct claret_shape *x, int64_t out[2])
{
    for (int d = 0; d < 2; d++) {
        int64_t span = attr[CLARET_CONV_DILATION].i[d] * (attr[CLARET_CONV_KERNEL].i[d] - 1) + 1;
        int64_t room = x->dim[2 + d] + 2 * attr[CLARET_CONV_PADDING].i[d] - span;
        out[d] = room < 0 ? 0 : room / attr[CLARET_CONV_STRIDE].i[d] + 1;
    }
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
    if (attr[CLARET_CONV_IN_CHANNELS].given && attr[CLARET_CONV_IN_CHANNELS].i[0] != c)
        return claret_build_error(build, node, &attr[CLARET_CONV_IN_CHANNELS],
                                  "in_channels is %lld, but its input has %lld channels",
                                  (long long)attr[CLARET_CONV_IN_CHANNELS].i[0], (long long)c);
    int64_t out[2];
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
    float bound = 1.0f / sqrtf((float)((double)c * (double)r * (double)s));
    claret_build_param(build, node, "weight", claret_shape4(k, c, r, s), bound);
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
    claret_build_dx_dw(build, node, &claret_conv2d_dx, &conv2d_dw);
    return CLARET_OK;
}

/* ---- im2col and GEMM ---- */

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
                               .s = attr[CLARET_CONV_KERNEL].i[1]};
    for (int d = 0; d < 2; d++) {
        conv.stride[d] = attr[CLARET_CONV_STRIDE].i[d];
        conv.padding[d] = attr[CLARET_CONV_PADDING].i[d];
        conv.dilation[d] = attr[CLARET_CONV_DILATION].i[d];
    }
    return conv;
}

double claret_conv_flops(const struct claret_conv *conv)
{
    return 2.0 * (double)(conv->n * conv->k * conv->oh * conv->ow) * (double)(conv->c * conv->r * conv->s);
}

static double multiply_adds(const struct claret_node *node, const struct claret_tensor *tensors)
{
    struct claret_conv conv = claret_conv_problem(node->attr, &tensors[node->in[0]], &tensors[node->out[0]]);
    return claret_conv_flops(&conv) / 2;
}

/* Images whose columns and rows together stay under the workspace limit; at least one. */
static int64_t chunk_images(const struct claret_emit *emit, const struct claret_conv *conv)
{
    double per_image = 4.0 * (double)(conv->c * conv->r * conv->s + conv->k) * (double)(conv->oh * conv->ow);
    double images = (double)claret_emit_workspace_limit(emit) / per_image;
    return images < 1 ? 1 : images > (double)conv->n ? conv->n : (int64_t)images;
}

static void conv_ints(struct claret_kernel_call *call, const struct claret_conv *conv)
{
    claret_kernel_int(call, conv->c);
    claret_kernel_int(call, conv->h);
    claret_kernel_int(call, conv->w);
    claret_kernel_int(call, conv->r);
    claret_kernel_int(call, conv->s);
    claret_kernel_int(call, conv->oh);
    claret_kernel_int(call, conv->ow);
    for (int d = 0; d < 2; d++)
        claret_kernel_int(call, conv->stride[d]);
    for (int d = 0; d < 2; d++)
        claret_kernel_int(call, conv->padding[d]);
    for (int d = 0; d < 2; d++)
        claret_kernel_int(call, conv->dilation[d]);
}

/* cols (C*R*S, images*OH*OW) of images `first` … of x */
static void emit_im2col(struct claret_emit *emit, const struct claret_conv *conv, bool rows, int x,
                        int64_t first, int64_t images, int cols)
{
    struct claret_kernel_call *call =
        claret_emit_kernel(emit, "im2col", "im2col", rows ? "im2col_rows" : "im2col");
    claret_kernel_tensor(call, x, first * conv->c * conv->h * conv->w);
    claret_kernel_tensor(call, cols, 0);
    claret_kernel_int(call, images);
    conv_ints(call, conv);
    if (rows)
        claret_kernel_range3(call, conv->c * conv->r * conv->s, images, 1, 1);
    else
        claret_kernel_range3(call, conv->oh * conv->ow, conv->c * conv->r * conv->s, images, 64);
    claret_emit_cost(
        emit, 0,
        4.0 * (double)images *
            (double)(conv->c * conv->h * conv->w + conv->c * conv->r * conv->s * conv->oh * conv->ow));
}

/* rows (K, images*P) from images `first` … of y (N, K, P) */
static void emit_to_rows(struct claret_emit *emit, const struct claret_conv *conv, int y, int64_t first,
                         int64_t images, int rows)
{
    int64_t p = conv->oh * conv->ow;
    struct claret_kernel_call *call = claret_emit_kernel(emit, "to rows", "conv2d", "nchw_to_rows");
    claret_kernel_tensor(call, y, first * conv->k * p);
    claret_kernel_tensor(call, rows, 0);
    claret_kernel_int(call, images);
    claret_kernel_int(call, conv->k);
    claret_kernel_int(call, p);
    claret_kernel_range3(call, p, conv->k, images, 64);
    claret_emit_cost(emit, 0, 8.0 * (double)(images * conv->k * p));
}

/* y = weight (K, CRS) * cols (CRS, images*P) per chunk, then rows to images with the bias. */
static void emit_forward(struct claret_emit *emit, const struct claret_node *node, bool rows)
{
    struct claret_conv conv = claret_conv_problem(node->attr, claret_emit_tensor(emit, node->in[0]),
                                                  claret_emit_tensor(emit, node->out[0]));
    int64_t crs = conv.c * conv.r * conv.s, p = conv.oh * conv.ow, chunk = chunk_images(emit, &conv);
    bool has_bias = node->in_count > 2;
    int cols = claret_emit_temp(emit, CLARET_DTYPE_F32, crs * chunk * p);
    int flat = claret_emit_temp(emit, CLARET_DTYPE_F32, conv.k * chunk * p);
    for (int64_t first = 0; first < conv.n; first += chunk) {
        int64_t images = conv.n - first < chunk ? conv.n - first : chunk;
        emit_im2col(emit, &conv, rows, node->in[0], first, images, cols);
        struct claret_gemm_call gemm = {.m = conv.k,
                                        .n = images * p,
                                        .k = crs,
                                        .alpha = 1,
                                        .beta = 0,
                                        .a = {node->in[1], 0, crs, false},
                                        .b = {cols, 0, images * p, false},
                                        .c = {flat, 0, images * p, false}};
        claret_emit_gemm(emit, "gemm", &gemm);
        struct claret_kernel_call *call = claret_emit_kernel(emit, "to images", "conv2d", "rows_to_nchw");
        claret_kernel_tensor(call, flat, 0);
        claret_kernel_tensor(call, has_bias ? node->in[2] : flat, 0);
        claret_kernel_tensor(call, node->out[0], first * conv.k * p);
        claret_kernel_int(call, images);
        claret_kernel_int(call, conv.k);
        claret_kernel_int(call, p);
        claret_kernel_int(call, has_bias);
        claret_kernel_range3(call, p, conv.k, images, 64);
        claret_emit_cost(emit, 0, 8.0 * (double)(images * conv.k * p));
    }
}

/* dx = col2im(weight^T (CRS, K) * rows of dy (K, images*P)) */
static void emit_dx(struct claret_emit *emit, const struct claret_node *node, bool rows)
{
    struct claret_conv conv = claret_conv_problem(node->attr, claret_emit_tensor(emit, node->out[0]),
                                                  claret_emit_tensor(emit, node->in[0]));
    int64_t crs = conv.c * conv.r * conv.s, p = conv.oh * conv.ow, chunk = chunk_images(emit, &conv);
    int cols = claret_emit_temp(emit, CLARET_DTYPE_F32, crs * chunk * p);
    int flat = claret_emit_temp(emit, CLARET_DTYPE_F32, conv.k * chunk * p);
    for (int64_t first = 0; first < conv.n; first += chunk) {
        int64_t images = conv.n - first < chunk ? conv.n - first : chunk;
        emit_to_rows(emit, &conv, node->in[0], first, images, flat);
        struct claret_gemm_call gemm = {.m = crs,
                                        .n = images * p,
                                        .k = conv.k,
                                        .alpha = 1,
                                        .beta = 0,
                                        .a = {node->in[1], 0, crs, true},
                                        .b = {flat, 0, images * p, false},
                                        .c = {cols, 0, images * p, false}};
        claret_emit_gemm(emit, "gemm", &gemm);
        struct claret_kernel_call *call =
            claret_emit_kernel(emit, "col2im", "im2col", rows ? "col2im_rows" : "col2im");
        claret_kernel_tensor(call, cols, 0);
        claret_kernel_tensor(call, node->out[0], first * conv.c * conv.h * conv.w);
        claret_kernel_int(call, images);
        conv_ints(call, &conv);
        if (rows)
            claret_kernel_range3(call, conv.c, images, 1, 1);
        else
            claret_kernel_range3(call, conv.w, conv.h, images * conv.c, 64);
        claret_emit_cost(emit, 0, 4.0 * (double)images * (double)(crs * p + conv.c * conv.h * conv.w));
    }
}

/* dweight (+)= rows of dy (K, images*P) * cols^T (images*P, CRS); dbias (+)= sums of the rows.
 * The first chunk overwrites, the others add. */
static void emit_dw(struct claret_emit *emit, const struct claret_node *node, bool rows)
{
    struct claret_conv conv = claret_conv_problem(node->attr, claret_emit_tensor(emit, node->in[0]),
                                                  claret_emit_tensor(emit, node->in[1]));
    int64_t crs = conv.c * conv.r * conv.s, p = conv.oh * conv.ow, chunk = chunk_images(emit, &conv);
    int cols = claret_emit_temp(emit, CLARET_DTYPE_F32, crs * chunk * p);
    int flat = claret_emit_temp(emit, CLARET_DTYPE_F32, conv.k * chunk * p);
    for (int64_t first = 0; first < conv.n; first += chunk) {
        int64_t images = conv.n - first < chunk ? conv.n - first : chunk;
        emit_im2col(emit, &conv, rows, node->in[0], first, images, cols);
        emit_to_rows(emit, &conv, node->in[1], first, images, flat);
        struct claret_gemm_call gemm = {.m = conv.k,
                                        .n = crs,
                                        .k = images * p,
                                        .alpha = 1,
                                        .beta = first ? 1 : 0,
                                        .a = {flat, 0, images * p, false},
                                        .b = {cols, 0, images * p, true},
                                        .c = {node->out[0], 0, crs, false}};
        claret_emit_gemm(emit, "gemm", &gemm);
        if (node->out_count > 1) {
            struct claret_kernel_call *call = claret_emit_kernel(emit, "bias", "conv2d", "row_sums");
            claret_kernel_tensor(call, flat, 0);
            claret_kernel_tensor(call, node->out[1], 0);
            claret_kernel_int(call, conv.k);
            claret_kernel_int(call, images * p);
            claret_kernel_int(call, first > 0);
            claret_kernel_range(call, conv.k, 1);
            claret_emit_cost(emit, (double)(conv.k * images * p), 4.0 * (double)(conv.k * images * p));
        }
    }
}

static bool rows_applicable(const struct claret_problem *problem, char reason[128])
{
    return claret_vector_device(problem->device, reason);
}

/* im2col in its two forms, an item for each element, or for each row of a plane; and the tiles. */
#define SOLVERS(kind, tiled)                                                                                 \
    static void kind##_by_element(struct claret_emit *emit, const struct claret_node *node)                  \
    {                                                                                                        \
        emit_##kind(emit, node, false);                                                                      \
    }                                                                                                        \
    static void kind##_by_row(struct claret_emit *emit, const struct claret_node *node)                      \
    {                                                                                                        \
        emit_##kind(emit, node, true);                                                                       \
    }                                                                                                        \
    static const struct claret_solver kind##_gemm = {.name = "im2col+gemm", .emit = kind##_by_element};      \
    static const struct claret_solver kind##_rows = {                                                        \
        .name = "im2col-rows+gemm", .applicable = rows_applicable, .emit = kind##_by_row};                   \
    static const struct claret_solver *const kind##_solvers[] = {&kind##_rows, &tiled, &kind##_gemm, NULL}
SOLVERS(forward, claret_conv2d_tiled);
SOLVERS(dx, claret_conv2d_dx_tiled);
SOLVERS(dw, claret_conv2d_dw_tiled);

static const struct claret_op conv2d = {.name = "conv2d",
                                        .schema = &schema,
                                        .shape = shape,
                                        .backward = backward,
                                        .solvers = forward_solvers,
                                        .multiply_adds = multiply_adds};
const struct claret_op claret_conv2d_dx = {.name = "conv2d_dx", .solvers = dx_solvers};
static const struct claret_op conv2d_dw = {.name = "conv2d_dw", .solvers = dw_solvers};

extern const struct claret_op *const claret_ops_conv2d[];
const struct claret_op *const claret_ops_conv2d[] = {&conv2d, &claret_conv2d_dx, &conv2d_dw, NULL};
