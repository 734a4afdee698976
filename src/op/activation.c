/* relu, leaky_relu, relu6, sigmoid, tanh, gelu, silu, hardswish: in x; out y of the same shape, any. …_dx: in
 * y where that is enough to tell the slope, else x, and dy; out dx. All by cl/activation.cl. */
#include <float.h>

#include "op/activation.h"
#include "op/elementwise.h"
#include "op/vectors.h"

/* As in the kernel. */
enum { LEAKY_RELU, RELU6, SIGMOID, TANH, GELU, GELU_TANH, SILU, HARDSWISH, RELU, KINDS };

static const struct claret_attr_def no_attrs[] = {{.key = NULL}};
static const struct claret_attr_def leaky_attrs[] = {
    {"negative_slope", CLARET_ATTR_FLOAT, false, 0.01, -FLT_MAX, FLT_MAX, NULL},
    {.key = NULL},
};
static const char *const approximations[] = {"none", "tanh", NULL};
static const struct claret_attr_def gelu_attrs[] = {
    {.key = "approximate", .type = CLARET_ATTR_WORD, .words = approximations},
    {.key = NULL},
};
static const struct claret_op forward_ops[KINDS], dx_ops[KINDS];

static bool reads_output(int kind)
{
    return kind == RELU || kind == RELU6 || kind == SIGMOID || kind == TANH;
}

static enum claret_status shape(struct claret_build *build, struct claret_node *node)
{
    claret_build_output(build, node, CLARET_DTYPE_F32, claret_build_tensor(build, node->in[0])->shape);
    return CLARET_OK;
}

static enum claret_status backward(struct claret_build *build, const struct claret_node *node)
{
    int kind = (int)(node->op - forward_ops);
    if (claret_build_wants(build, node->in[0])) {
        int in[2] = {reads_output(kind) ? node->out[0] : node->in[0], claret_build_grad(build, node->out[0])};
        int dx = claret_build_grad(build, node->in[0]);
        claret_build_node(build, &dx_ops[kind], node, "dx", in, 2, &dx, 1);
    }
    return CLARET_OK;
}

static void emit_kind(struct claret_emit *emit, const struct claret_node *node, int kind, const char *entry,
                      bool vectors)
{
    struct claret_kernel_call *call = claret_elementwise_emit(
        emit, "activation", entry, vectors, node->in, node->in_count, node->out[0], kind == RELU ? 1 : 8);
    bool by_tanh = kind == GELU && node->attr[0].i[0] == 1;
    claret_kernel_define(call, "ACTIVATION", by_tanh ? GELU_TANH : kind);
    if (kind == LEAKY_RELU)
        claret_kernel_define_float(call, "SLOPE", (float)node->attr[0].f);
}

int claret_relu_gradient(struct claret_emit *emit, int y, int dy)
{
    char reason[128];
    if (y < 0)
        return dy;
    bool vectors = claret_vector_device(claret_emit_device(emit), reason);
    int dx = claret_emit_temp_like(emit, dy, claret_emit_tensor(emit, dy)->layout);
    struct claret_node node = {
        .op = &dx_ops[RELU], .in = {y, dy}, .in_count = 2, .out = {dx}, .out_count = 1};
    emit_kind(emit, &node, RELU, "activation_dx", vectors);
    return dx;
}

#define EMIT(pass, ops, entry, vectors)                                                                      \
    static void pass(struct claret_emit *emit, const struct claret_node *node)                               \
    {                                                                                                        \
        emit_kind(emit, node, (int)(node->op - ops), entry, vectors);                                        \
    }
EMIT(forward_vectors_emit, forward_ops, "activation", true)
EMIT(forward_plain_emit, forward_ops, "activation", false)
EMIT(dx_vectors_emit, dx_ops, "activation_dx", true)
EMIT(dx_plain_emit, dx_ops, "activation_dx", false)

static const struct claret_solver forward_vectors = {.name = "vectors",
                                                     .layout = CLARET_LAYOUT_SAME,
                                                     .applicable = claret_elementwise_vectors,
                                                     .emit = forward_vectors_emit};
static const struct claret_solver dx_vectors = {.name = "vectors",
                                                .layout = CLARET_LAYOUT_SAME,
                                                .applicable = claret_elementwise_vectors,
                                                .emit = dx_vectors_emit};
static const struct claret_solver forward_plain = {
    .name = "plain", .layout = CLARET_LAYOUT_SAME, .emit = forward_plain_emit};
static const struct claret_solver dx_plain = {
    .name = "plain", .layout = CLARET_LAYOUT_SAME, .emit = dx_plain_emit};
static const struct claret_solver *const forward_solvers[] = {&forward_vectors, &forward_plain, NULL};
static const struct claret_solver *const dx_solvers[] = {&dx_vectors, &dx_plain, NULL};

#define FORWARD(NAME, attrs)                                                                                 \
    {                                                                                                        \
        .name = NAME, .schema = &(const struct claret_schema){NAME, 1, attrs, 0},                            \
        .layout = CLARET_LAYOUT_SAME, .shape = shape, .backward = backward, .solvers = forward_solvers       \
    }
static const struct claret_op forward_ops[KINDS] = {
    [RELU] = FORWARD("relu", no_attrs),   [LEAKY_RELU] = FORWARD("leaky_relu", leaky_attrs),
    [RELU6] = FORWARD("relu6", no_attrs), [SIGMOID] = FORWARD("sigmoid", no_attrs),
    [TANH] = FORWARD("tanh", no_attrs),   [GELU] = FORWARD("gelu", gelu_attrs),
    [SILU] = FORWARD("silu", no_attrs),   [HARDSWISH] = FORWARD("hardswish", no_attrs),
};
#define DX(NAME)                                                                                             \
    {                                                                                                        \
        .name = NAME, .solvers = dx_solvers                                                                  \
    }
static const struct claret_op dx_ops[KINDS] = {
    [RELU] = DX("relu_dx"),   [LEAKY_RELU] = DX("leaky_relu_dx"),
    [RELU6] = DX("relu6_dx"), [SIGMOID] = DX("sigmoid_dx"),
    [TANH] = DX("tanh_dx"),   [GELU] = DX("gelu_dx"),
    [SILU] = DX("silu_dx"),   [HARDSWISH] = DX("hardswish_dx"),
};

#define BOTH(kind) &forward_ops[kind], &dx_ops[kind]
extern const struct claret_op *const claret_ops_activation[];
const struct claret_op *const claret_ops_activation[] = {BOTH(RELU),    BOTH(LEAKY_RELU), BOTH(RELU6),
                                                         BOTH(SIGMOID), BOTH(TANH),       BOTH(GELU),
                                                         BOTH(SILU),    BOTH(HARDSWISH),  NULL};
