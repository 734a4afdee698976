/* relu: in x; out y. relu_dx: in y, dy; out dx. Any shape. */
#include "op/relu.h"

#include "op/elementwise.h"
#include "op/vectors.h"

static const struct claret_attr_def attrs[] = {{.key = NULL}};
static const struct claret_schema schema = {"relu", 1, attrs, 0};
static const struct claret_op relu, relu_dx;

static enum claret_status shape(struct claret_build *build, struct claret_node *node)
{
    claret_build_output(build, node, CLARET_DTYPE_F32, claret_build_tensor(build, node->in[0])->shape);
    return CLARET_OK;
}

static enum claret_status backward(struct claret_build *build, const struct claret_node *node)
{
    if (claret_build_wants(build, node->in[0])) {
        int in[2] = {node->out[0], claret_build_grad(build, node->out[0])};
        int dx = claret_build_grad(build, node->in[0]);
        claret_build_node(build, &relu_dx, node, "dx", in, 2, &dx, 1);
    }
    return CLARET_OK;
}

/* out = kernel `entry` of first, and of `second` where it is not -1. */
static void emit_elementwise(struct claret_emit *emit, const char *entry, bool vectors, int first, int second,
                             int out)
{
    claret_elementwise_emit(emit, "relu", entry, vectors, (int[]){first, second}, second >= 0 ? 2 : 1, out,
                            1);
}

int claret_relu_gradient(struct claret_emit *emit, int y, int dy)
{
    char reason[128];
    if (y < 0)
        return dy;
    bool vectors = claret_vector_device(claret_emit_device(emit), reason);
    int dx = claret_emit_temp_like(emit, dy, claret_emit_tensor(emit, dy)->layout);
    emit_elementwise(emit, vectors ? "relu_dx_vectors" : "relu_dx", vectors, y, dy, dx);
    return dx;
}

static void forward_vectors_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_elementwise(emit, "relu_vectors", true, node->in[0], -1, node->out[0]);
}

static void dx_vectors_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_elementwise(emit, "relu_dx_vectors", true, node->in[0], node->in[1], node->out[0]);
}

static void forward_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_elementwise(emit, "relu", false, node->in[0], -1, node->out[0]);
}

static void dx_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_elementwise(emit, "relu_dx", false, node->in[0], node->in[1], node->out[0]);
}

static const struct claret_solver forward_vectors = {.name = "vectors",
                                                     .layout = CLARET_LAYOUT_SAME,
                                                     .applicable = claret_elementwise_vectors,
                                                     .emit = forward_vectors_emit};
static const struct claret_solver dx_vectors = {.name = "vectors",
                                                .layout = CLARET_LAYOUT_SAME,
                                                .applicable = claret_elementwise_vectors,
                                                .emit = dx_vectors_emit};
static const struct claret_solver forward_plain = {
    .name = "plain", .layout = CLARET_LAYOUT_SAME, .emit = forward_emit};
static const struct claret_solver dx_plain = {.name = "plain", .layout = CLARET_LAYOUT_SAME, .emit = dx_emit};
static const struct claret_solver *const forward_solvers[] = {&forward_vectors, &forward_plain, NULL};
static const struct claret_solver *const dx_solvers[] = {&dx_vectors, &dx_plain, NULL};

static const struct claret_op relu = {.name = "relu",
                                      .layout = CLARET_LAYOUT_SAME,
                                      .schema = &schema,
                                      .shape = shape,
                                      .backward = backward,
                                      .solvers = forward_solvers};
static const struct claret_op relu_dx = {.name = "relu_dx", .solvers = dx_solvers};

extern const struct claret_op *const claret_ops_relu[];
const struct claret_op *const claret_ops_relu[] = {&relu, &relu_dx, NULL};
