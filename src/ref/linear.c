#include <stdlib.h>
#include <string.h>

#include "ref/ref.h"

/* in: x (N, F), weight (O, F), bias (O) or nothing; out: y (N, O) */
static void linear(const struct claret_node *node, const struct claret_tensor *tensors,
                   const double *const *in, double *const *out)
{
    const int64_t *x = tensors[node->in[0]].shape.dim, *weight = tensors[node->in[1]].shape.dim;
    const double *bias = node->in_count > 2 ? in[2] : NULL;
    for (int64_t n = 0; n < x[0]; n++)
        for (int64_t o = 0; o < weight[0]; o++) {
            double sum = bias ? bias[o] : 0;
            for (int64_t f = 0; f < x[1]; f++)
                sum += in[0][n * x[1] + f] * in[1][o * x[1] + f];
            out[0][n * weight[0] + o] = sum;
        }
}

static void linear_relu(const struct claret_node *node, const struct claret_tensor *tensors,
                        const double *const *in, double *const *out)
{
    linear(node, tensors, in, out);
    claret_ref_cut(node, tensors, out);
}

/* in: dy (N, O), weight (O, F), y or nothing; out: dx (N, F) */
static void linear_dx(const struct claret_node *node, const struct claret_tensor *tensors,
                      const double *const *in, double *const *out)
{
    const int64_t *dy = tensors[node->in[0]].shape.dim, *weight = tensors[node->in[1]].shape.dim;
    double *gradient = claret_ref_masked(node, tensors, 0, in);
    memset(out[0], 0, (size_t)(dy[0] * weight[1]) * sizeof(double));
    for (int64_t n = 0; n < dy[0]; n++)
        for (int64_t f = 0; f < weight[1]; f++)
            for (int64_t o = 0; gradient && o < weight[0]; o++)
                out[0][n * weight[1] + f] += gradient[n * weight[0] + o] * in[1][o * weight[1] + f];
    free(gradient);
}

/* in: x (N, F), dy (N, O), y or nothing; out: dweight (O, F), dbias (O) or nothing */
static void linear_dw(const struct claret_node *node, const struct claret_tensor *tensors,
                      const double *const *in, double *const *out)
{
    const int64_t *x = tensors[node->in[0]].shape.dim, *dy = tensors[node->in[1]].shape.dim;
    double *dbias = node->out_count > 1 ? out[1] : NULL, *gradient = claret_ref_masked(node, tensors, 1, in);
    memset(out[0], 0, (size_t)(dy[1] * x[1]) * sizeof(double));
    if (dbias)
        memset(dbias, 0, (size_t)dy[1] * sizeof(double));
    for (int64_t n = 0; gradient && n < dy[0]; n++)
        for (int64_t o = 0; o < dy[1]; o++) {
            double g = gradient[n * dy[1] + o];
            for (int64_t f = 0; f < x[1]; f++)
                out[0][o * x[1] + f] += in[0][n * x[1] + f] * g;
            if (dbias)
                dbias[o] += g;
        }
    free(gradient);
}

const struct claret_ref claret_ref_linear[] = {{.op = "linear", .run = linear},
                                               {.op = "linear_relu", .run = linear_relu},
                                               {.op = "linear_dx", .run = linear_dx},
                                               {.op = "linear_dw", .run = linear_dw},
                                               {.op = NULL}};
