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

/* in: dy (N, O), weight (O, F); out: dx (N, F) */
static void linear_dx(const struct claret_node *node, const struct claret_tensor *tensors,
                      const double *const *in, double *const *out)
{
    const int64_t *dy = tensors[node->in[0]].shape.dim, *weight = tensors[node->in[1]].shape.dim;
    for (int64_t n = 0; n < dy[0]; n++)
        for (int64_t f = 0; f < weight[1]; f++) {
            double sum = 0;
            for (int64_t o = 0; o < weight[0]; o++)
                sum += in[0][n * weight[0] + o] * in[1][o * weight[1] + f];
            out[0][n * weight[1] + f] = sum;
        }
}

/* in: x (N, F), dy (N, O); out: dweight (O, F), dbias (O) or nothing */
static void linear_dw(const struct claret_node *node, const struct claret_tensor *tensors,
                      const double *const *in, double *const *out)
{
    const int64_t *x = tensors[node->in[0]].shape.dim, *dy = tensors[node->in[1]].shape.dim;
    double *dbias = node->out_count > 1 ? out[1] : NULL;
    for (int64_t o = 0; o < dy[1]; o++) {
        for (int64_t f = 0; f < x[1]; f++) {
            double sum = 0;
            for (int64_t n = 0; n < x[0]; n++)
                sum += in[0][n * x[1] + f] * in[1][n * dy[1] + o];
            out[0][o * x[1] + f] = sum;
        }
        if (!dbias)
            continue;
        dbias[o] = 0;
        for (int64_t n = 0; n < dy[0]; n++)
            dbias[o] += in[1][n * dy[1] + o];
    }
}

const struct claret_ref claret_ref_linear[] = {{.op = "linear", .run = linear},
                                               {.op = "linear_dx", .run = linear_dx},
                                               {.op = "linear_dw", .run = linear_dw},
                                               {.op = NULL}};
