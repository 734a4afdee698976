/* By PyTorch's formulas: torch.nn's pages, and for the slopes at kinks what its backward gives. */
#include <math.h>
#include <stdlib.h>

#include "ref/ref.h"

#define PI 3.14159265358979323846

/* value(x), and slope(v): of x, or of y where the node's backward reads that. */
struct function {
    double (*value)(double x, const struct claret_attr *attr);
    double (*slope)(double v, const struct claret_attr *attr);
    bool cut; /* a slope of 0 lets nothing through, NaN neither */
};

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double relu_value(double x, const struct claret_attr *attr)
{
    (void)attr;
    return x < 0 ? 0 : x;
}

static double relu_slope(double y, const struct claret_attr *attr)
{
    (void)attr;
    return y <= 0 ? 0 : 1;
}

static double leaky_value(double x, const struct claret_attr *attr)
{
    return x > 0 ? x : (double)(float)attr[0].f * x;
}

static double leaky_slope(double x, const struct claret_attr *attr)
{
    return x > 0 ? 1 : (double)(float)attr[0].f;
}

static double relu6_value(double x, const struct claret_attr *attr)
{
    (void)attr;
    return x < 0 ? 0 : x > 6 ? 6 : x;
}

static double relu6_slope(double y, const struct claret_attr *attr)
{
    (void)attr;
    return y <= 0 || y >= 6 ? 0 : 1;
}

static double sigmoid_value(double x, const struct claret_attr *attr)
{
    (void)attr;
    return sigmoid(x);
}

static double sigmoid_slope(double y, const struct claret_attr *attr)
{
    (void)attr;
    return (1 - y) * y;
}

static double tanh_value(double x, const struct claret_attr *attr)
{
    (void)attr;
    return tanh(x);
}

static double tanh_slope(double y, const struct claret_attr *attr)
{
    (void)attr;
    return 1 - y * y;
}

static double cubic(double x)
{
    return sqrt(2 / PI) * (x + 0.044715 * x * x * x);
}

static double gelu_value(double x, const struct claret_attr *attr)
{
    return attr[0].i[0] ? 0.5 * x * (1 + tanh(cubic(x))) : 0.5 * x * (1 + erf(x / sqrt(2)));
}

static double gelu_slope(double x, const struct claret_attr *attr)
{
    if (!attr[0].i[0])
        return 0.5 * (1 + erf(x / sqrt(2))) + x * exp(-x * x / 2) / sqrt(2 * PI);
    double t = tanh(cubic(x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * sqrt(2 / PI) * (1 + 3 * 0.044715 * x * x);
}

static double silu_value(double x, const struct claret_attr *attr)
{
    (void)attr;
    return x / (1 + exp(-x));
}

static double silu_slope(double x, const struct claret_attr *attr)
{
    (void)attr;
    return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
}

static double hardswish_value(double x, const struct claret_attr *attr)
{
    (void)attr;
    return x * (x < -3 ? 0 : x > 3 ? 6 : x + 3) / 6;
}

static double hardswish_slope(double x, const struct claret_attr *attr)
{
    (void)attr;
    return x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5;
}

/* out: y, or (`scale`) what its rounding errors are proportional to. */
static void forward(const struct function *function, bool scale, const struct claret_node *node,
                    const struct claret_tensor *tensors, const double *const *in, double *const *out)
{
    int64_t count = claret_shape_count(&tensors[node->out[0]].shape);
    for (int64_t i = 0; i < count; i++) {
        double y = function->value(in[0][i], node->attr);
        out[0][i] = scale ? fabs(in[0][i]) + fabs(y) : y;
    }
}

/* in: v, dy; out: dx, or likewise. */
static void dx(const struct function *function, bool scale, const struct claret_node *node,
               const struct claret_tensor *tensors, const double *const *in, double *const *out)
{
    int64_t count = claret_shape_count(&tensors[node->out[0]].shape);
    for (int64_t i = 0; i < count; i++) {
        double slope = function->slope(in[0][i], node->attr), dy = in[1][i];
        out[0][i] = scale ? fabs(dy) * (1 + fabs(in[0][i])) : function->cut && slope == 0 ? 0 : dy * slope;
    }
}

#define RUN(name, cuts)                                                                                      \
    static const struct function name##_function = {name##_value, name##_slope, cuts};                       \
    static void name##_run(const struct claret_node *node, const struct claret_tensor *tensors,              \
                           const double *const *in, double *const *out)                                      \
    {                                                                                                        \
        forward(&name##_function, false, node, tensors, in, out);                                            \
    }                                                                                                        \
    static void name##_dx(const struct claret_node *node, const struct claret_tensor *tensors,               \
                          const double *const *in, double *const *out)                                       \
    {                                                                                                        \
        dx(&name##_function, false, node, tensors, in, out);                                                 \
    }
#define FUNCTION(name, cuts)                                                                                 \
    RUN(name, cuts)                                                                                          \
    static void name##_scale(const struct claret_node *node, const struct claret_tensor *tensors,            \
                             const double *const *in, double *const *out)                                    \
    {                                                                                                        \
        forward(&name##_function, true, node, tensors, in, out);                                             \
    }                                                                                                        \
    static void name##_dx_scale(const struct claret_node *node, const struct claret_tensor *tensors,         \
                                const double *const *in, double *const *out)                                 \
    {                                                                                                        \
        dx(&name##_function, true, node, tensors, in, out);                                                  \
    }
RUN(relu, true)
FUNCTION(leaky, false)
FUNCTION(relu6, true)
FUNCTION(sigmoid, false)
FUNCTION(tanh, false)
FUNCTION(gelu, false)
FUNCTION(silu, false)
FUNCTION(hardswish, true)

#define BOTH(op, name)                                                                                       \
    {op, name##_run, name##_scale},                                                                          \
    {                                                                                                        \
        op "_dx", name##_dx, name##_dx_scale                                                                 \
    }
const struct claret_ref claret_ref_activation[] = {{"relu", relu_run, claret_ref_exact},
                                                   {"relu_dx", relu_dx, claret_ref_exact},
                                                   BOTH("leaky_relu", leaky),
                                                   BOTH("relu6", relu6),
                                                   BOTH("sigmoid", sigmoid),
                                                   BOTH("tanh", tanh),
                                                   BOTH("gelu", gelu),
                                                   BOTH("silu", silu),
                                                   BOTH("hardswish", hardswish),
                                                   {.op = NULL}};

/* ---- fused with others ---- */

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
