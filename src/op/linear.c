/* linear: in x (N, F), weight (O, F), bias (O) or none; out y (N, O). linear_relu: the same with ReLU behind
 * it. linear_dx: in dy, weight, and y where ReLU follows; out dx. linear_dw: in x, dy, and likewise y; out
 * dweight and, where there is a bias, dbias. */
#include "op/linear.h"

#include <math.h>
#include <stdio.h>

#include "op/activation.h"

#define LARGE (1 << 30)

#define OUT_FEATURES CLARET_LINEAR_OUT_FEATURES
#define BIAS CLARET_LINEAR_BIAS
#define IN_FEATURES CLARET_LINEAR_IN_FEATURES

static const struct claret_attr_def attrs[] = {
    [OUT_FEATURES] = {"out_features", CLARET_ATTR_INT, true, 0, 1, LARGE, NULL},
    [BIAS] = {"bias", CLARET_ATTR_BOOL, false, 1, 0, 1, NULL},
    [IN_FEATURES] = {"in_features", CLARET_ATTR_INT, false, 0, 1, LARGE, NULL},
    {.key = NULL},
};
static const struct claret_schema schema = {"linear", 1, attrs, 0};
static const struct claret_op linear, linear_relu, linear_dx, linear_dw;

/* "16x15x15 = 3600" for what was flattened, else "3600" */
static const char *features_text(const struct claret_build *build, const struct claret_tensor *x,
                                 char buffer[128])
{
    char dims[96];
    if (x->base < 0)
        snprintf(buffer, 128, "%lld", (long long)x->shape.dim[1]);
    else
        snprintf(buffer, 128, "%s = %lld",
                 claret_shape_format(&claret_build_tensor(build, x->base)->shape, 1, dims),
                 (long long)x->shape.dim[1]);
    return buffer;
}

enum claret_status claret_linear_build(struct claret_build *build, struct claret_node *node,
                                       struct claret_shape *y)
{
    const struct claret_attr *attr = node->attr;
    const struct claret_tensor *x = claret_build_tensor(build, node->in[0]);
    char text[128];
    if (x->shape.rank != 2)
        return claret_build_error(build, node, NULL,
                                  "linear wants flat features, its input is %s: put flatten before it",
                                  claret_shape_format(&x->shape, 1, text));
    int64_t batch = x->shape.dim[0], features = x->shape.dim[1], out = attr[OUT_FEATURES].i[0];
    if (attr[IN_FEATURES].given && attr[IN_FEATURES].i[0] != features)
        return claret_build_error(build, node, &attr[IN_FEATURES],
                                  "in_features is %lld, but its input has %s features",
                                  (long long)attr[IN_FEATURES].i[0], features_text(build, x, text));
    float bound = 1.0f / sqrtf((float)features); /* PyTorch's default, for weight and bias */
    claret_build_param(build, node, "weight", claret_shape2(out, features), bound);
    if (attr[BIAS].i[0])
        claret_build_param(build, node, "bias", claret_shape1(out), bound);
    *y = claret_shape2(batch, out);
    return CLARET_OK;
}

static enum claret_status shape(struct claret_build *build, struct claret_node *node)
{
    struct claret_shape y;
    CLARET_TRY(claret_linear_build(build, node, &y));
    claret_build_output(build, node, CLARET_DTYPE_F32, y);
    return CLARET_OK;
}

bool claret_linear_has_relu(const struct claret_node *node)
{
    return node->op == &linear_relu;
}

static enum claret_status backward(struct claret_build *build, const struct claret_node *node)
{
    claret_build_dx_dw(build, node, &linear_dx, &linear_dw, claret_linear_has_relu(node) ? node->out[0] : -1);
    return CLARET_OK;
}

static void forward_emit(struct claret_emit *emit, const struct claret_node *node)
{
    const struct claret_shape x = claret_emit_tensor(emit, node->in[0])->shape;
    int64_t n = x.dim[0], f = x.dim[1], o = node->attr[OUT_FEATURES].i[0];
    struct claret_gemm_call gemm = {.m = n,
                                    .n = o,
                                    .k = f,
                                    .alpha = 1,
                                    .beta = 0,
                                    .a = {node->in[0], 0, f, false},
                                    .b = {node->in[1], 0, f, true},
                                    .c = {node->out[0], 0, o, false}};
    claret_emit_gemm(emit, "gemm", &gemm);
    bool bias = node->in_count > 2, relu = claret_linear_has_relu(node);
    if (bias || relu) {
        struct claret_kernel_call *call = claret_emit_kernel(emit, "bias", "linear", "add_bias");
        claret_kernel_tensor(call, bias ? node->in[2] : node->in[1], 0);
        claret_kernel_tensor(call, node->out[0], 0);
        claret_kernel_int(call, o);
        claret_kernel_int(call, bias);
        claret_kernel_int(call, relu);
        claret_kernel_range3(call, o, n, 1, 64);
        claret_emit_cost(emit, (double)(n * o), 8.0 * (double)(n * o));
    }
}

/* The gradient of the product, where ReLU follows of what it let pass; `dy` is the node's input of that
 * number. */
static int gradient_of(struct claret_emit *emit, const struct claret_node *node, int dy)
{
    return claret_relu_gradient(emit, node->in_count > 2 ? node->in[2] : -1, node->in[dy]);
}

static void dx_emit(struct claret_emit *emit, const struct claret_node *node)
{
    int dy = gradient_of(emit, node, 0);
    const struct claret_shape dx = claret_emit_tensor(emit, node->out[0])->shape;
    int64_t n = dx.dim[0], f = dx.dim[1], o = node->attr[OUT_FEATURES].i[0];
    struct claret_gemm_call gemm = {.m = n,
                                    .n = f,
                                    .k = o,
                                    .alpha = 1,
                                    .beta = 0,
                                    .a = {dy, 0, o, false},
                                    .b = {node->in[1], 0, f, false},
                                    .c = {node->out[0], 0, f, false}};
    claret_emit_gemm(emit, "gemm", &gemm);
}

static void dw_emit(struct claret_emit *emit, const struct claret_node *node)
{
    int dy = gradient_of(emit, node, 1);
    const struct claret_shape x = claret_emit_tensor(emit, node->in[0])->shape;
    int64_t n = x.dim[0], f = x.dim[1], o = node->attr[OUT_FEATURES].i[0];
    struct claret_gemm_call gemm = {.m = o,
                                    .n = f,
                                    .k = n,
                                    .alpha = 1,
                                    .beta = 0,
                                    .a = {dy, 0, o, true},
                                    .b = {node->in[0], 0, f, false},
                                    .c = {node->out[0], 0, f, false}};
    claret_emit_gemm(emit, "gemm", &gemm);
    if (node->out_count > 1) {
        struct claret_kernel_call *call = claret_emit_kernel(emit, "bias", "linear", "column_sums");
        claret_kernel_tensor(call, dy, 0);
        claret_kernel_tensor(call, node->out[1], 0);
        claret_kernel_int(call, n);
        claret_kernel_int(call, o);
        claret_kernel_range(call, o, 64);
        claret_emit_cost(emit, (double)(n * o), 4.0 * (double)(n * o));
    }
}

static double multiply_adds(const struct claret_node *node, const struct claret_tensor *tensors)
{
    const struct claret_shape *x = &tensors[node->in[0]].shape, *y = &tensors[node->out[0]].shape;
    return (double)x->dim[0] * (double)x->dim[1] * (double)y->dim[1];
}

static const struct claret_solver forward_gemm = {.name = "gemm", .emit = forward_emit, .gemms = true};
static const struct claret_solver dx_gemm = {.name = "gemm", .emit = dx_emit, .gemms = true};
static const struct claret_solver dw_gemm = {.name = "gemm", .emit = dw_emit, .gemms = true};
static const struct claret_solver *const forward_solvers[] = {&claret_linear_rows, &forward_gemm, NULL};
static const struct claret_solver *const dx_solvers[] = {&dx_gemm, NULL};
static const struct claret_solver *const dw_solvers[] = {&dw_gemm, NULL};

static const struct claret_op linear = {.name = "linear",
                                        .schema = &schema,
                                        .shape = shape,
                                        .backward = backward,
                                        .solvers = forward_solvers,
                                        .multiply_adds = multiply_adds};
static const char *const with_relu[] = {"linear", "relu", NULL};
static const struct claret_op linear_relu = {.name = "linear_relu",
                                             .chain = with_relu,
                                             .shape = shape,
                                             .backward = backward,
                                             .solvers = forward_solvers,
                                             .multiply_adds = multiply_adds};
static const struct claret_op linear_dx = {.name = "linear_dx", .solvers = dx_solvers};
static const struct claret_op linear_dw = {.name = "linear_dw", .solvers = dw_solvers};

extern const struct claret_op *const claret_ops_linear[];
const struct claret_op *const claret_ops_linear[] = {&linear, &linear_relu, &linear_dx, &linear_dw, NULL};
