/* Batch normalisation, alone and with the layers behind it. */
#include <math.h>
#include <string.h>

#include "op/batch.h"
#include "ref/ref.h"

/* attr, in the order of batch_norm2d's schema */
enum { NUM_FEATURES, EPS, MOMENTUM, AFFINE };

struct norm {
    int64_t images, channels, plane, count; /* count: values of a channel in the true batch */
    bool add;
    double low, high; /* what is beyond is cut off */
};

static struct norm norm_of(const struct claret_node *node, const struct claret_tensor *x, const double *step)
{
    const int64_t *dim = x->shape.dim;
    struct norm norm = {.images = dim[0], .channels = dim[1], .plane = dim[2] * dim[3]};
    norm.count = (step ? (int64_t)step[CLARET_STEP_COUNT] : dim[0]) * norm.plane;
    norm.add = strstr(node->op->name, "add") != NULL;
    norm.low = strstr(node->op->name, "relu") ? 0 : -INFINITY;
    norm.high = strstr(node->op->name, "relu6") ? 6 : INFINITY;
    return norm;
}

/* Value i of channel c, images one after another. */
static int64_t at(const struct norm *norm, int64_t i, int64_t c)
{
    return (i / norm->plane * norm->channels + c) * norm->plane + i % norm->plane;
}

/* Mean, variance and the largest size of a channel's values in the true batch. */
static void moments(const struct norm *norm, const double *x, int64_t c, double *mean, double *var,
                    double *largest)
{
    *mean = *var = *largest = 0;
    for (int64_t i = 0; i < norm->count; i++) {
        *mean += x[at(norm, i, c)] / (double)norm->count;
        *largest = fmax(*largest, fabs(x[at(norm, i, c)]));
    }
    for (int64_t i = 0; i < norm->count; i++)
        *var += pow(x[at(norm, i, c)] - *mean, 2) / (double)norm->count;
}

/* in: x, what is added (a fused one alone), weight, bias or nothing, running mean and variance, batches, in
 * training step; out: y, in training stat, running mean and variance, batches. With `sizes` what their errors
 * are proportional to. */
static void forward(const struct claret_node *node, const struct claret_tensor *tensors,
                    const double *const *in, double *const *out, bool sizes)
{
    bool train = node->out_count > 1;
    bool fused = strstr(node->op->name, "add") != NULL;
    const double *const *of = in + 1 + fused;
    struct norm norm = norm_of(node, &tensors[node->in[0]], train ? of[5] : NULL);
    double eps = node->attr[EPS].f, momentum = node->attr[MOMENTUM].f;
    for (int64_t c = 0; c < norm.channels; c++) {
        double mean = of[2][c], var = of[3][c], largest = 0, lost = 1;
        if (train) {
            moments(&norm, in[0], c, &mean, &var, &largest);
            lost += 4 * largest * largest / (var + eps); /* digits of the variance */
        }
        double inverse = 1 / sqrt(var + eps), scale = of[0] ? inverse * of[0][c] : inverse,
               bias = of[1] ? of[1][c] : 0;
        for (int64_t i = 0; i < norm.images * norm.plane; i++) {
            int64_t j = at(&norm, i, c);
            double other = norm.add ? in[1][j] : 0, y = (in[0][j] - mean) * scale + bias + other;
            out[0][j] = y < norm.low ? norm.low : y > norm.high ? norm.high : y;
            if (sizes)
                out[0][j] = fabs(scale) * (fabs(in[0][j]) + fabs(mean) + largest) + fabs(bias) + fabs(other) +
                            fabs((in[0][j] - mean) * scale) * lost;
        }
        if (!train)
            continue;
        double unbiased = var * (double)norm.count / (double)(norm.count > 1 ? norm.count - 1 : 1);
        double square = 4 * largest * largest * (double)norm.count;
        out[1][c] = sizes ? largest : mean;
        out[1][norm.channels + c] = inverse * (sizes ? lost : 1);
        out[2][c] = sizes ? fabs(of[2][c]) + momentum * (largest + fabs(of[2][c]))
                          : (1 - momentum) * of[2][c] + momentum * mean;
        out[3][c] =
            sizes ? fabs(of[3][c]) +
                        momentum * (square / (double)(norm.count > 1 ? norm.count - 1 : 1) + fabs(of[3][c]))
                  : (1 - momentum) * of[3][c] + momentum * unbiased;
    }
    if (train)
        out[4][0] = sizes ? 0 : of[4][0] + 1;
}

static void run_forward(const struct claret_node *node, const struct claret_tensor *tensors,
                        const double *const *in, double *const *out)
{
    forward(node, tensors, in, out, false);
}

static void scale_forward(const struct claret_node *node, const struct claret_tensor *tensors,
                          const double *const *in, double *const *out)
{
    forward(node, tensors, in, out, true);
}

static double passed(const struct norm *norm, double dy, double y)
{
    return y <= norm->low || y >= norm->high ? 0 : dy;
}

/* in: dy, x, y, stat, weight or nothing, step; out: dx, the gradient of what was added (a fused one alone),
 * those of weight and bias where they are there. */
static void backward(const struct claret_node *node, const struct claret_tensor *tensors,
                     const double *const *in, double *const *out, bool sizes)
{
    struct norm norm = norm_of(node, &tensors[node->in[1]], in[5]);
    int first = 1 + norm.add;
    for (int64_t c = 0; c < norm.channels; c++) {
        double mean = in[3][c], inverse = in[3][norm.channels + c], sum = 0, product = 0,
               n = (double)norm.count;
        double scale = in[4] ? in[4][c] * inverse : inverse;
        for (int64_t i = 0; i < norm.images * norm.plane; i++) {
            int64_t j = at(&norm, i, c);
            double g = i < norm.count ? passed(&norm, in[0][j], in[2][j]) : 0;
            double distance = sizes ? fabs(in[1][j]) + fabs(mean) : in[1][j] - mean;
            sum += sizes ? fabs(g) : g;
            product += (sizes ? fabs(g) * fabs(inverse) : g * inverse) * distance;
            if (norm.add)
                out[1][j] = sizes ? 0 : g;
        }
        for (int64_t i = 0; i < norm.images * norm.plane; i++) {
            int64_t j = at(&norm, i, c);
            double g = passed(&norm, in[0][j], in[2][j]);
            double dx = scale * (g - sum / n - (in[1][j] - mean) * inverse * product / n);
            if (sizes)
                dx = fabs(scale) *
                     (fabs(g) + sum / n + (fabs(in[1][j]) + fabs(mean)) * fabs(inverse) * product / n);
            out[0][j] = i < norm.count ? dx : 0;
        }
        if (node->out_count > first) {
            out[first][c] = product;
            out[first + 1][c] = sum;
        }
    }
}

static void run_backward(const struct claret_node *node, const struct claret_tensor *tensors,
                         const double *const *in, double *const *out)
{
    backward(node, tensors, in, out, false);
}

static void scale_backward(const struct claret_node *node, const struct claret_tensor *tensors,
                           const double *const *in, double *const *out)
{
    backward(node, tensors, in, out, true);
}

#define BOTH(name)                                                                                           \
    {.op = name, .run = run_forward, .scale = scale_forward},                                                \
    {                                                                                                        \
        .op = name "_dx", .run = run_backward, .scale = scale_backward                                       \
    }

const struct claret_ref claret_ref_batch_norm2d[] = {BOTH("batch_norm2d"),
                                                     BOTH("batch_norm2d_relu"),
                                                     BOTH("batch_norm2d_relu6"),
                                                     BOTH("batch_norm2d_add_relu"),
                                                     {.op = NULL}};
