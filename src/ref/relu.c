#include "ref/ref.h"

/* in: x; out: y. A NaN stays one, as PyTorch's. */
static void relu(const struct claret_node *node, const struct claret_tensor *tensors, const double *const *in,
                 double *const *out)
{
    int64_t count = claret_shape_count(&tensors[node->out[0]].shape);
    for (int64_t i = 0; i < count; i++)
        out[0][i] = in[0][i] < 0 ? 0 : in[0][i];
}

/* in: y, dy; out: dx. Where y is NaN the gradient passes, as PyTorch's. */
static void relu_dx(const struct claret_node *node, const struct claret_tensor *tensors,
                    const double *const *in, double *const *out)
{
    int64_t count = claret_shape_count(&tensors[node->out[0]].shape);
    for (int64_t i = 0; i < count; i++)
        out[0][i] = in[0][i] <= 0 ? 0 : in[1][i];
}

const struct claret_ref claret_ref_relu[] = {{.op = "relu", .run = relu, .scale = claret_ref_exact},
                                             {.op = "relu_dx", .run = relu_dx, .scale = claret_ref_exact},
                                             {.op = NULL}};
