#include <stdlib.h>

#include "ref/ref.h"

void claret_ref_cut(const struct claret_node *node, const struct claret_tensor *tensors, double *const *out)
{
    int64_t count = claret_shape_count(&tensors[node->out[0]].shape);
    for (int64_t i = 0; i < count; i++)
        out[0][i] = out[0][i] < 0 ? 0 : out[0][i];
}

double *claret_ref_masked(const struct claret_node *node, const struct claret_tensor *tensors, int dy,
                          const double *const *in)
{
    int64_t count = claret_shape_count(&tensors[node->in[dy]].shape);
    double *result = malloc(((size_t)count + 1) * sizeof *result);
    for (int64_t i = 0; result && i < count; i++)
        result[i] = node->in_count > 2 && in[2][i] <= 0 ? 0 : in[dy][i];
    return result;
}

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
