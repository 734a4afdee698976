/* relu: in x; out y. relu_dx: in y, dy; out dx. Any shape. */
#include "op/op.h"

static const struct claret_attr_def attrs[] = {{NULL, CLARET_ATTR_INT, false, 0, 0, 0}};
static const struct claret_schema schema = {"relu", 1, attrs};
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

/* Both kernels: their inputs, the output, the number of elements. */
static void emit_elementwise(struct claret_emit *emit, const struct claret_node *node, const char *entry)
{
    int64_t count = claret_shape_count(&claret_emit_tensor(emit, node->out[0])->shape);
    struct claret_kernel_call *call = claret_emit_kernel(emit, "relu", "relu", entry);
    for (int i = 0; i < node->in_count; i++)
        claret_kernel_tensor(call, node->in[i], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    claret_kernel_int(call, count);
    claret_kernel_range(call, count, 64);
    claret_emit_cost(emit, (double)count, 4.0 * (double)count * (node->in_count + 1));
}

static void forward_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_elementwise(emit, node, "relu");
}

static void dx_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_elementwise(emit, node, "relu_dx");
}

static const struct claret_solver forward_plain = {.name = "plain", .emit = forward_emit};
static const struct claret_solver dx_plain = {.name = "plain", .emit = dx_emit};
static const struct claret_solver *const forward_solvers[] = {&forward_plain, NULL};
static const struct claret_solver *const dx_solvers[] = {&dx_plain, NULL};

static const struct claret_op relu = {
    .name = "relu", .schema = &schema, .shape = shape, .backward = backward, .solvers = forward_solvers};
static const struct claret_op relu_dx = {.name = "relu_dx", .solvers = dx_solvers};

extern const struct claret_op *const claret_ops_relu[];
const struct claret_op *const claret_ops_relu[] = {&relu, &relu_dx, NULL};
