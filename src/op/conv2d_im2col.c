/* Convolution by im2col and GEMM: the columns of a chunk of images in one matrix. A group of channels has
 * some of its rows, and a product by itself. */
#include "op/conv2d.h"
#include "op/activation.h"
#include "op/vectors.h"

/* Images whose columns and rows together stay under the workspace limit; at least one. */
static int64_t chunk_images(const struct claret_emit *emit, const struct claret_conv *conv)
{
    double per_image = 4.0 * (double)(conv->c * conv->r * conv->s + conv->k) * (double)(conv->oh * conv->ow);
    double images = (double)claret_emit_workspace_limit(emit) / per_image;
    return images < 1 ? 1 : images > (double)conv->n ? conv->n : (int64_t)images;
}

static void conv_arguments(struct claret_kernel_call *call, const struct claret_conv *conv)
{
    claret_kernel_define(call, "STRIDE_H", conv->stride[0]);
    claret_kernel_define(call, "STRIDE_W", conv->stride[1]);
    claret_kernel_int(call, conv->c);
    claret_kernel_int(call, conv->h);
    claret_kernel_int(call, conv->w);
    claret_kernel_int(call, conv->r);
    claret_kernel_int(call, conv->s);
    claret_kernel_int(call, conv->oh);
    claret_kernel_int(call, conv->ow);
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
    conv_arguments(call, conv);
    if (rows)
        claret_kernel_range3(call, conv->c * conv->r * conv->s, images, 1, 1);
    else
        claret_kernel_range3(call, conv->oh * conv->ow, conv->c, images, 64);
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

/* A product for each group: `a`, `b`, `c` are the first one's, each next one's lie so much further. */
static void emit_products(struct claret_emit *emit, const struct claret_conv *conv,
                          struct claret_gemm_call gemm, int64_t a, int64_t b, int64_t c)
{
    for (int64_t group = 0; group < conv->groups; group++) {
        claret_emit_gemm(emit, "gemm", &gemm);
        gemm.a.offset += a;
        gemm.b.offset += b;
        gemm.c.offset += c;
    }
}

/* y = weight (K, CRS) * cols (CRS, images*P) per chunk, then rows to images with the bias. */
static void emit_forward(struct claret_emit *emit, const struct claret_node *node, bool rows)
{
    struct claret_conv conv = claret_conv_problem(node->attr, claret_emit_tensor(emit, node->in[0]),
                                                  claret_emit_tensor(emit, node->out[0]));
    int64_t crs = conv.c * conv.r * conv.s, p = conv.oh * conv.ow, chunk = chunk_images(emit, &conv);
    int64_t k = conv.k / conv.groups, terms = crs / conv.groups; /* of a group */
    bool has_bias = node->in_count > 2;
    int cols = claret_emit_temp(emit, CLARET_DTYPE_F32, crs * chunk * p);
    int flat = claret_emit_temp(emit, CLARET_DTYPE_F32, conv.k * chunk * p);
    for (int64_t first = 0; first < conv.n; first += chunk) {
        int64_t images = conv.n - first < chunk ? conv.n - first : chunk;
        emit_im2col(emit, &conv, rows, node->in[0], first, images, cols);
        struct claret_gemm_call gemm = {.m = k,
                                        .n = images * p,
                                        .k = terms,
                                        .alpha = 1,
                                        .beta = 0,
                                        .a = {node->in[1], 0, terms, false},
                                        .b = {cols, 0, images * p, false},
                                        .c = {flat, 0, images * p, false}};
        emit_products(emit, &conv, gemm, k * terms, terms * images * p, k * images * p);
        struct claret_kernel_call *call = claret_emit_kernel(emit, "to images", "conv2d", "rows_to_nchw");
        claret_kernel_tensor(call, flat, 0);
        claret_kernel_tensor(call, has_bias ? node->in[2] : flat, 0);
        claret_kernel_tensor(call, node->out[0], first * conv.k * p);
        claret_kernel_int(call, images);
        claret_kernel_int(call, conv.k);
        claret_kernel_int(call, p);
        claret_kernel_int(call, has_bias);
        claret_kernel_int(call, claret_conv_has_relu(node));
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
    int64_t k = conv.k / conv.groups, terms = crs / conv.groups; /* of a group */
    int dy = claret_relu_gradient(emit, claret_conv_mask(node), node->in[0]);
    int cols = claret_emit_temp(emit, CLARET_DTYPE_F32, crs * chunk * p);
    int flat = claret_emit_temp(emit, CLARET_DTYPE_F32, conv.k * chunk * p);
    for (int64_t first = 0; first < conv.n; first += chunk) {
        int64_t images = conv.n - first < chunk ? conv.n - first : chunk;
        emit_to_rows(emit, &conv, dy, first, images, flat);
        struct claret_gemm_call gemm = {.m = terms,
                                        .n = images * p,
                                        .k = k,
                                        .alpha = 1,
                                        .beta = 0,
                                        .a = {node->in[1], 0, terms, true},
                                        .b = {flat, 0, images * p, false},
                                        .c = {cols, 0, images * p, false}};
        emit_products(emit, &conv, gemm, k * terms, k * images * p, terms * images * p);
        struct claret_kernel_call *call =
            claret_emit_kernel(emit, "col2im", "im2col", rows ? "col2im_rows" : "col2im");
        claret_kernel_tensor(call, cols, 0);
        claret_kernel_tensor(call, node->out[0], first * conv.c * conv.h * conv.w);
        claret_kernel_int(call, images);
        conv_arguments(call, &conv);
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
    int64_t k = conv.k / conv.groups, terms = crs / conv.groups; /* of a group */
    int dy = claret_relu_gradient(emit, claret_conv_mask(node), node->in[1]);
    int cols = claret_emit_temp(emit, CLARET_DTYPE_F32, crs * chunk * p);
    int flat = claret_emit_temp(emit, CLARET_DTYPE_F32, conv.k * chunk * p);
    for (int64_t first = 0; first < conv.n; first += chunk) {
        int64_t images = conv.n - first < chunk ? conv.n - first : chunk;
        emit_im2col(emit, &conv, rows, node->in[0], first, images, cols);
        emit_to_rows(emit, &conv, dy, first, images, flat);
        struct claret_gemm_call gemm = {.m = k,
                                        .n = terms,
                                        .k = images * p,
                                        .alpha = 1,
                                        .beta = first ? 1 : 0,
                                        .a = {flat, 0, images * p, false},
                                        .b = {cols, 0, images * p, true},
                                        .c = {node->out[0], 0, terms, false}};
        emit_products(emit, &conv, gemm, k * images * p, terms * images * p, k * terms);
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

/* The two forms of a solver: an item for each element, or for each row of a plane. */
#define SOLVERS(pass, suffix)                                                                                \
    static void pass##_by_element(struct claret_emit *emit, const struct claret_node *node)                  \
    {                                                                                                        \
        emit_##pass(emit, node, false);                                                                      \
    }                                                                                                        \
    static void pass##_by_row(struct claret_emit *emit, const struct claret_node *node)                      \
    {                                                                                                        \
        emit_##pass(emit, node, true);                                                                       \
    }                                                                                                        \
    const struct claret_solver claret_conv_im2col##suffix = {                                                \
        .name = "im2col+gemm", .emit = pass##_by_element, .gemms = true};                                    \
    const struct claret_solver claret_conv_im2col_rows##suffix = {                                           \
        .name = "im2col-rows+gemm", .applicable = rows_applicable, .emit = pass##_by_row, .gemms = true}
SOLVERS(forward, );
SOLVERS(dx, _dx);
SOLVERS(dw, _dw);
