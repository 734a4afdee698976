/* Transposed convolution, by the reference functions of the convolution whose gradient it is; its bias. */
#include <string.h>

#include "ref/ref.h"

/* in: x, weight; out: y */
static void conv_transpose2d(const struct claret_node *node, const struct claret_tensor *tensors,
                             const double *const *in, double *const *out)
{
    claret_ref_find("conv2d_dx")->run(node, tensors, in, out);
}

static int64_t channel_of(const struct claret_shape *shape, int64_t at)
{
    return at / (shape->dim[2] * shape->dim[3]) % shape->dim[1];
}

/* in: x, bias; out: y */
static void bias(const struct claret_node *node, const struct claret_tensor *tensors, const double *const *in,
                 double *const *out)
{
    const struct claret_shape *shape = &tensors[node->out[0]].shape;
    for (int64_t i = 0; i < claret_shape_count(shape); i++)
        out[0][i] = in[0][i] + in[1][channel_of(shape, i)];
}

/* in: dy; out: dbias */
static void bias_dw(const struct claret_node *node, const struct claret_tensor *tensors,
                    const double *const *in, double *const *out)
{
    const struct claret_shape *shape = &tensors[node->in[0]].shape;
    memset(out[0], 0, (size_t)shape->dim[1] * sizeof **out);
    for (int64_t i = 0; i < claret_shape_count(shape); i++)
        out[0][channel_of(shape, i)] += in[0][i];
}

const struct claret_ref claret_ref_conv_transpose2d[] = {{.op = "conv_transpose2d", .run = conv_transpose2d},
                                                         {.op = "channel_bias", .run = bias},
                                                         {.op = "channel_bias_dw", .run = bias_dw},
                                                         {.op = NULL}};
