/* dropout: in x, step; out y of the same shape, any. dropout_dx: in dy, step; out dx: drawn again, not kept.
 * Without training it is x itself. */
#include "base/rng.h"
#include "op/elementwise.h"
#include "op/vectors.h"

static const struct claret_attr_def attrs[] = {
    {"p", CLARET_ATTR_FLOAT, false, 0.5, 0, 1, NULL},
    {.key = NULL},
};
static const struct claret_schema schema = {"dropout", 1, attrs, 0};
static const struct claret_op dropout_dx;
static const struct claret_op identity = {.name = "dropout_none", .layout = CLARET_LAYOUT_SAME, .view = true};

static enum claret_status shape(struct claret_build *build, struct claret_node *node)
{
    const struct claret_shape in = claret_build_tensor(build, node->in[0])->shape;
    if (claret_build_training(build))
        claret_build_input(node, claret_build_step(build));
    else
        node->op = &identity;
    claret_build_output(build, node, CLARET_DTYPE_F32, in);
    return CLARET_OK;
}

static enum claret_status backward(struct claret_build *build, const struct claret_node *node)
{
    if (claret_build_wants(build, node->in[0])) {
        int in[2] = {claret_build_grad(build, node->out[0]), node->in[1]};
        int dx = claret_build_grad(build, node->in[0]);
        claret_build_node(build, &dropout_dx, node, "dx", in, 2, &dx, 1);
    }
    return CLARET_OK;
}

static void emit_dropout(struct claret_emit *emit, const struct claret_node *node, bool vectors)
{
    const struct claret_tensor *y = claret_emit_tensor(emit, node->out[0]);
    const struct claret_shape *shape = &y->shape;
    bool planes = shape->rank == 4 && y->layout == CLARET_NCHW;
    int64_t count = claret_shape_count(shape);
    double p = node->attr[0].f;
    struct claret_kernel_call *call =
        claret_emit_kernel(emit, "dropout", "dropout", vectors ? "dropout_vectors" : "dropout");
    if (vectors)
        claret_kernel_define(call, "LANES", claret_vector_lanes(claret_emit_device(emit), count));
    else
        claret_kernel_define(call, "PLANE", planes ? shape->dim[2] * shape->dim[3] : 1);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    claret_kernel_int(call, count);
    if (!vectors)
        claret_kernel_int(call, shape->dim[1]);
    claret_kernel_int(call, node->layer);
    claret_kernel_int(call, CLARET_STREAM_DROPOUT);
    claret_kernel_float(call, (float)p);
    claret_kernel_float(call, p < 1 ? (float)(1 / (1 - p)) : 0);
    if (vectors)
        claret_kernel_range(call, (count + CLARET_ELEMENTS - 1) / CLARET_ELEMENTS, 1);
    else
        claret_kernel_range(call, (count + 3) / 4, 64);
    claret_emit_cost(emit, (double)count, 8.0 * (double)count);
}

static void vectors_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_dropout(emit, node, true);
}

static void plain_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_dropout(emit, node, false);
}

static const struct claret_solver vectors = {.name = "vectors",
                                             .layout = CLARET_LAYOUT_NHWC,
                                             .applicable = claret_elementwise_vectors,
                                             .emit = vectors_emit};
static const struct claret_solver plain = {.name = "plain", .layout = CLARET_LAYOUT_SAME, .emit = plain_emit};
static const struct claret_solver *const solvers[] = {&vectors, &plain, NULL};

static const struct claret_op dropout = {.name = "dropout",
                                         .schema = &schema,
                                         .layout = CLARET_LAYOUT_SAME,
                                         .shape = shape,
                                         .backward = backward,
                                         .solvers = solvers};
static const struct claret_op dropout_dx = {.name = "dropout_dx", .solvers = solvers};

extern const struct claret_op *const claret_ops_dropout[];
const struct claret_op *const claret_ops_dropout[] = {&dropout, &identity, &dropout_dx, NULL};
