#include <math.h>

#include "ref/ref.h"

static int64_t inner_of(const struct claret_shape *shape)
{
    return claret_shape_count(shape) / shape->dim[0] / shape->dim[1];
}

/* in: x; out: y */
static void softmax(const struct claret_node *node, const struct claret_tensor *tensors,
                    const double *const *in, double *const *out)
{
    const struct claret_shape *shape = &tensors[node->out[0]].shape;
    int64_t c = shape->dim[1], inner = inner_of(shape);
    for (int64_t i = 0; i < shape->dim[0] * inner; i++) {
        const double *x = in[0] + i / inner * c * inner + i % inner;
        double *y = out[0] + i / inner * c * inner + i % inner, largest = x[0], sum = 0;
        for (int64_t k = 1; k < c; k++)
            largest = fmax(largest, x[k * inner]);
        for (int64_t k = 0; k < c; k++)
            sum += exp(x[k * inner] - largest);
        for (int64_t k = 0; k < c; k++)
            y[k * inner] = exp(x[k * inner] - largest) / sum;
    }
}

/* What y's errors are proportional to: that of the exponents. */
static void softmax_scale(const struct claret_node *node, const struct claret_tensor *tensors,
                          const double *const *in, double *const *out)
{
    int64_t count = claret_shape_count(&tensors[node->out[0]].shape);
    softmax(node, tensors, in, out);
    for (int64_t i = 0; i < count; i++)
        out[0][i] *= 1 + fabs(in[0][i]);
}

static void gradient(const struct claret_node *node, const struct claret_tensor *tensors,
                     const double *const *in, double *const *out, double sign)
{
    const struct claret_shape *shape = &tensors[node->out[0]].shape;
    int64_t c = shape->dim[1], inner = inner_of(shape);
    for (int64_t i = 0; i < shape->dim[0] * inner; i++) {
        int64_t first = i / inner * c * inner + i % inner;
        double sum = 0;
        for (int64_t k = 0; k < c; k++) {
            double term = in[0][first + k * inner] * in[1][first + k * inner];
            sum += sign < 0 ? term : fabs(term);
        }
        for (int64_t k = 0; k < c; k++) {
            double y = in[0][first + k * inner], dy = in[1][first + k * inner];
            out[0][first + k * inner] = sign < 0 ? y * (dy - sum) : fabs(y) * (fabs(dy) + sum);
        }
    }
}

/* in: y, dy; out: dx */
static void softmax_dx(const struct claret_node *node, const struct claret_tensor *tensors,
                       const double *const *in, double *const *out)
{
    gradient(node, tensors, in, out, -1);
}

static void softmax_dx_scale(const struct claret_node *node, const struct claret_tensor *tensors,
                             const double *const *in, double *const *out)
{
    gradient(node, tensors, in, out, 1);
}

const struct claret_ref claret_ref_softmax[] = {
    {"softmax", softmax, softmax_scale}, {"softmax_dx", softmax_dx, softmax_dx_scale}, {.op = NULL}};
