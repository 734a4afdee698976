/* Normalisation of each image by itself: group_norm, layer_norm. */
#include <math.h>
#include <string.h>

#include "ref/ref.h"

/* attr, in the order of the schemas */
enum { GROUPS = 0, GROUP_EPS = 2, LAYER_EPS = 0 };

struct norm {
    int64_t images, channels, plane, groups, size; /* size: values of a group */
    bool layer;                                    /* weights for each element */
    double eps;
};

static struct norm norm_of(const struct claret_node *node, const struct claret_tensor *x)
{
    bool layer = strncmp(node->op->name, "layer", 5) == 0;
    struct norm norm = {.images = x->shape.dim[0], .channels = x->shape.dim[1], .layer = layer};
    norm.groups = layer ? 1 : node->attr[GROUPS].i[0];
    norm.plane = claret_shape_count(&x->shape) / norm.images / norm.channels;
    norm.size = norm.channels * norm.plane / norm.groups;
    norm.eps = node->attr[layer ? LAYER_EPS : GROUP_EPS].f;
    return norm;
}

/* The weight of value `at` of x. */
static int64_t weight_of(const struct norm *norm, int64_t at)
{
    int64_t element = at % (norm->channels * norm->plane);
    return norm->layer ? element : element / norm->plane;
}

/* in: x, weight and bias or nothing; out: y, stat. With `sizes` what their errors are proportional to. */
static void forward(const struct claret_node *node, const struct claret_tensor *tensors,
                    const double *const *in, double *const *out, bool sizes)
{
    struct norm norm = norm_of(node, &tensors[node->in[0]]);
    const double *weight = node->in_count > 1 ? in[1] : NULL, *bias = node->in_count > 2 ? in[2] : NULL;
    int64_t all = norm.images * norm.groups;
    for (int64_t g = 0; g < all; g++) {
        const double *x = in[0] + g * norm.size;
        double mean = 0, var = 0, largest = 0;
        for (int64_t i = 0; i < norm.size; i++) {
            mean += x[i] / (double)norm.size;
            largest = fmax(largest, fabs(x[i]));
        }
        for (int64_t i = 0; i < norm.size; i++)
            var += pow(x[i] - mean, 2) / (double)norm.size;
        double inverse = var + norm.eps > 0 ? 1 / sqrt(var + norm.eps) : 0;
        double lost = 1 + 4 * largest * largest * inverse * inverse; /* digits of the variance */
        out[1][g] = sizes ? largest : mean;
        out[1][all + g] = inverse * (sizes ? lost : 1);
        for (int64_t i = 0; i < norm.size; i++) {
            int64_t at = g * norm.size + i, k = weight_of(&norm, at);
            double scale = weight ? inverse * weight[k] : inverse, shift = bias ? bias[k] : 0;
            double y = (x[i] - mean) * scale;
            out[0][at] =
                sizes ? fabs(scale) * (fabs(x[i]) + largest) + fabs(shift) + fabs(y) * lost : y + shift;
        }
    }
}

/* in: dy, x, stat, weight or nothing; out: dx */
static void dx(const struct claret_node *node, const struct claret_tensor *tensors, const double *const *in,
               double *const *out, bool sizes)
{
    struct norm norm = norm_of(node, &tensors[node->in[1]]);
    int64_t all = norm.images * norm.groups;
    for (int64_t g = 0; g < all; g++) {
        double mean = in[2][g], inverse = in[2][all + g], sum = 0, product = 0, n = (double)norm.size;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t i = 0; i < norm.size; i++) {
                int64_t at = g * norm.size + i;
                double slope = in[0][at] * (in[3] ? in[3][weight_of(&norm, at)] : 1);
                double xhat = (in[1][at] - mean) * inverse;
                if (sizes) {
                    slope = fabs(slope);
                    xhat = (fabs(in[1][at]) + fabs(mean)) * fabs(inverse);
                }
                if (pass == 0) {
                    sum += slope / n;
                    product += slope * xhat / n;
                } else {
                    out[0][at] = sizes ? fabs(inverse) * (slope + sum + xhat * product)
                                       : inverse * (slope - sum - xhat * product);
                }
            }
    }
}

/* in: dy, x, stat; out: dweight, and dbias where there is a bias */
static void dw(const struct claret_node *node, const struct claret_tensor *tensors, const double *const *in,
               double *const *out, bool sizes)
{
    struct norm norm = norm_of(node, &tensors[node->in[1]]);
    int64_t all = norm.images * norm.groups, count = norm.images * norm.channels * norm.plane;
    int64_t weights = norm.layer ? norm.channels * norm.plane : norm.channels;
    for (int i = 0; i < node->out_count; i++)
        memset(out[i], 0, (size_t)weights * sizeof **out);
    for (int64_t at = 0; at < count; at++) {
        int64_t k = weight_of(&norm, at), g = at / norm.size;
        double distance = sizes ? fabs(in[1][at]) + fabs(in[2][g]) : in[1][at] - in[2][g];
        double slope = sizes ? fabs(in[0][at]) : in[0][at];
        out[0][k] += slope * distance * (sizes ? fabs(in[2][all + g]) : in[2][all + g]);
        if (node->out_count > 1)
            out[1][k] += slope;
    }
}

#define RUN(name, pass)                                                                                      \
    static void run_##name(const struct claret_node *node, const struct claret_tensor *tensors,              \
                           const double *const *in, double *const *out)                                      \
    {                                                                                                        \
        pass(node, tensors, in, out, false);                                                                 \
    }                                                                                                        \
    static void scale_##name(const struct claret_node *node, const struct claret_tensor *tensors,            \
                             const double *const *in, double *const *out)                                    \
    {                                                                                                        \
        pass(node, tensors, in, out, true);                                                                  \
    }
RUN(forward, forward)
RUN(dx, dx)
RUN(dw, dw)

const struct claret_ref claret_ref_group_norm[] = {
    {.op = "group_norm", .run = run_forward, .scale = scale_forward},
    {.op = "layer_norm", .run = run_forward, .scale = scale_forward},
    {.op = "group_norm_dx", .run = run_dx, .scale = scale_dx},
    {.op = "layer_norm_dx", .run = run_dx, .scale = scale_dx},
    {.op = "group_norm_dw", .run = run_dw, .scale = scale_dw},
    {.op = "layer_norm_dw", .run = run_dw, .scale = scale_dw},
    {.op = NULL}};
