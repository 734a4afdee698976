/* conv2d, relu and max_pool2d in one, by the reference functions of the three. */
#include <stdlib.h>
#include <string.h>

#include "op/conv2d.h"
#include "op/max_pool2d.h"
#include "ref/ref.h"
#include "ref/update.h"

#define NONE 255

/* A node of one of the three ops: its tensors are numbered 0, 1 … in `tensors`, inputs first. */
static void run_op(const char *op, const struct claret_attr *attr, const struct claret_tensor *tensors,
                   double *const *values, int in_count, int out_count)
{
    struct claret_node node = {.attr = attr, .in_count = in_count, .out_count = out_count};
    const double *in[CLARET_MAX_IN] = {NULL};
    double *out[CLARET_MAX_OUT] = {NULL};
    for (int i = 0; i < in_count; i++) {
        node.in[i] = values[i] ? i : -1;
        in[i] = values[i];
    }
    for (int i = 0; i < out_count; i++) {
        node.out[i] = in_count + i;
        out[i] = values[in_count + i];
    }
    claret_ref_find(op)->run(&node, tensors, in, out);
}

static double *make(const struct claret_shape *shape)
{
    double *values = calloc((size_t)claret_shape_count(shape) + 1, sizeof *values);
    if (!values)
        abort();
    return values;
}

/* The place in xs of padded column w, row h of plane `plane`. */
static int64_t split_index(const struct claret_shape *xs, int64_t q, int64_t plane, int64_t h, int64_t w)
{
    return (plane * xs->dim[2] + h) * xs->dim[3] + w % q * (xs->dim[3] / q) + w / q;
}

static int64_t split_factor(const struct claret_node *node)
{
    return node->attr[CLARET_CONV_STRIDE].i[1] * node->chain[1][CLARET_POOL_KERNEL].i[1];
}

static void split(const struct claret_node *node, const struct claret_shape *x, const struct claret_shape *xs,
                  const double *from, double *to)
{
    const int64_t *padding = node->attr[CLARET_CONV_PADDING].i;
    memset(to, 0, (size_t)claret_shape_count(xs) * sizeof *to);
    for (int64_t plane = 0; plane < x->dim[0] * x->dim[1]; plane++)
        for (int64_t h = 0; h < x->dim[2]; h++)
            for (int64_t w = 0; w < x->dim[3] && w + padding[1] < xs->dim[3]; w++)
                to[split_index(xs, split_factor(node), plane, h + padding[0], w + padding[1])] =
                    from[(plane * x->dim[2] + h) * x->dim[3] + w];
}

/* xs with its columns in their places: the padded images. */
static double *unsplit(const struct claret_node *node, const struct claret_shape *xs, const double *from)
{
    double *padded = make(xs);
    for (int64_t plane = 0; plane < xs->dim[0] * xs->dim[1]; plane++)
        for (int64_t h = 0; h < xs->dim[2]; h++)
            for (int64_t w = 0; w < xs->dim[3]; w++)
                padded[(plane * xs->dim[2] + h) * xs->dim[3] + w] =
                    from[split_index(xs, split_factor(node), plane, h, w)];
    return padded;
}

/* in: images, weight, bias or nothing; out: y, index. `attr`: the convolution's. */
static void pooled(const struct claret_node *node, const struct claret_attr *attr,
                   const struct claret_tensor *tensors, const struct claret_shape *x, double *const in[3],
                   double *const *out)
{
    const struct claret_tensor *weight = &tensors[node->in[1]], *y = &tensors[node->out[0]];
    struct claret_tensor conv = {.shape = claret_shape4(x->dim[0], weight->shape.dim[0], 0, 0)};
    claret_conv_extents(attr, x, conv.shape.dim + 2);
    double *dense = make(&conv.shape);
    struct claret_tensor conv_tensors[4] = {{.shape = *x}, *weight, *weight, conv};
    if (in[2])
        conv_tensors[2] = tensors[node->in[2]];
    run_op("conv2d", attr, conv_tensors, (double *[]){in[0], in[1], in[2], dense}, 3, 1);
    for (int64_t i = 0; i < claret_shape_count(&conv.shape); i++)
        dense[i] = dense[i] < 0 ? 0 : dense[i];
    struct claret_tensor pool_tensors[3] = {conv, *y, *y};
    run_op("max_pool2d", node->chain[1], pool_tensors, (double *[]){dense, out[0], out[1]}, 1, 2);
    for (int64_t i = 0; i < claret_shape_count(&y->shape); i++)
        if (out[0][i] <= 0)
            out[1][i] = NONE;
    free(dense);
}

/* The convolution's attributes on images that hold their padding. */
static void without_padding(const struct claret_node *node, struct claret_attr attr[CLARET_CONV_ATTRS])
{
    memcpy(attr, node->attr, CLARET_CONV_ATTRS * sizeof *attr);
    attr[CLARET_CONV_PADDING].i[0] = attr[CLARET_CONV_PADDING].i[1] = 0;
}

/* in: x (split already where there is no xs), weight, bias or nothing; out: y, index, xs */
static void forward(const struct claret_node *node, const struct claret_tensor *tensors,
                    const double *const *in, double *const *out)
{
    const struct claret_shape *x = &tensors[node->in[0]].shape;
    bool is_split = node->out_count < 3;
    double *padded = is_split ? unsplit(node, x, in[0]) : (double *)in[0];
    struct claret_attr attr[CLARET_CONV_ATTRS];
    without_padding(node, attr);
    pooled(node, is_split ? attr : node->attr, tensors, x,
           (double *[]){padded, (double *)in[1], node->in_count > 2 ? (double *)in[2] : NULL}, out);
    if (is_split)
        free(padded);
    else
        split(node, x, &tensors[node->out[2]].shape, in[0], out[2]);
}

static void tiled_forward(const struct claret_node *node, const struct claret_tensor *tensors,
                          const double *const *in, double *const *out)
{
    pooled(node, node->attr, tensors, &tensors[node->in[0]].shape,
           (double *[]){(double *)in[0], (double *)in[1], node->in_count > 2 ? (double *)in[2] : NULL}, out);
}

/* in: images, index, dy, what an update takes; out: gradients of weight and bias, or what the update changes
 */
static void gradients(const struct claret_node *node, const struct claret_attr *attr,
                      const struct claret_tensor *tensors, double *images, const double *const *in,
                      double *const *out)
{
    const struct claret_tensor *dy = &tensors[node->in[2]];
    const int64_t *window = node->chain[1][CLARET_POOL_KERNEL].i;
    bool bias = node->update ? node->in[4] >= 0 : node->out_count > 1;
    struct claret_tensor x = tensors[node->in[0]], weight = tensors[node->out[0]], dense = *dy;
    for (int d = 0; d < 2; d++)
        dense.shape.dim[2 + d] *= window[d];
    double *wide = make(&dense.shape), *dweight = make(&weight.shape), *dbias = make(&weight.shape);
    struct claret_tensor pool_tensors[3] = {*dy, *dy, dense};
    run_op("max_pool2d_dx", node->chain[1], pool_tensors,
           (double *[]){(double *)in[1], (double *)in[2], wide}, 2, 1);
    struct claret_tensor conv_tensors[4] = {x, dense, weight, weight};
    run_op("conv2d_dw", attr, conv_tensors, (double *[]){images, wide, dweight, dbias}, 2, bias ? 2 : 1);
    claret_ref_gradients(node, tensors, 3, 0, 2, (double *[]){dweight, bias ? dbias : NULL}, in, out);
    free(wide);
    free(dweight);
    free(dbias);
}

/* The images are xs. */
static void dw(const struct claret_node *node, const struct claret_tensor *tensors, const double *const *in,
               double *const *out)
{
    struct claret_attr attr[CLARET_CONV_ATTRS];
    double *padded = unsplit(node, &tensors[node->in[0]].shape, in[0]);
    without_padding(node, attr);
    gradients(node, attr, tensors, padded, in, out);
    free(padded);
}

static void tiled_dw(const struct claret_node *node, const struct claret_tensor *tensors,
                     const double *const *in, double *const *out)
{
    gradients(node, node->attr, tensors, (double *)in[0], in, out);
}

const struct claret_ref claret_ref_conv2d_relu_pool[] = {
    {.op = "conv2d_relu_pool", .run = forward, .scale = claret_ref_exact},
    {.op = "conv2d_relu_pool_dw", .run = dw},
    {.op = "conv2d_relu_pool_tiled", .run = tiled_forward, .scale = claret_ref_exact},
    {.op = "conv2d_relu_pool_tiled_dw", .run = tiled_dw},
    {.op = NULL}};
