/* softmax: in x (N, C, …); out y, which adds up to 1 over C. softmax_dx: in y, dy; out dx. */
#include "op/elementwise.h"
#include "op/vectors.h"

static const struct claret_attr_def attrs[] = {
    {"dim", CLARET_ATTR_INT, false, 1, 1, 1, NULL},
    {.key = NULL},
};
static const struct claret_schema schema = {"softmax", 1, attrs, 0};
static const struct claret_op softmax_dx;

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
        claret_build_node(build, &softmax_dx, node, "dx", in, 2, &dx, 1);
    }
    return CLARET_OK;
}

static void emit_entry(struct claret_emit *emit, const struct claret_node *node, const char *entry)
{
    const struct claret_tensor *y = claret_emit_tensor(emit, node->out[0]);
    int64_t count = claret_shape_count(&y->shape), channels = y->shape.dim[1];
    bool planes = y->shape.rank == 4 && y->layout == CLARET_NCHW;
    int64_t inner = planes ? y->shape.dim[2] * y->shape.dim[3] : 1;
    struct claret_kernel_call *call = claret_emit_kernel(emit, "softmax", "softmax", entry);
    for (int i = 0; i < node->in_count; i++)
        claret_kernel_tensor(call, node->in[i], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    claret_kernel_int(call, channels);
    claret_kernel_int(call, inner);
    claret_kernel_range3(call, inner, count / channels / inner, 1, 64);
    claret_emit_cost(emit, 4.0 * (double)count, 4.0 * (double)count * (node->in_count + 1));
}

/* Channels are neighbours. */
static void emit_channels(struct claret_emit *emit, const struct claret_node *node, const char *entry)
{
    const struct claret_shape *y = &claret_emit_tensor(emit, node->out[0])->shape;
    int64_t channels = y->dim[1], count = claret_shape_count(y) / channels;
    int64_t rows = CLARET_ELEMENTS > channels ? CLARET_ELEMENTS / channels : 1;
    struct claret_kernel_call *call = claret_emit_kernel(emit, "softmax", "softmax", entry);
    claret_kernel_define(call, "LANES", claret_vector_lanes(claret_emit_device(emit), channels));
    for (int i = 0; i < node->in_count; i++)
        claret_kernel_tensor(call, node->in[i], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    claret_kernel_int(call, channels);
    claret_kernel_int(call, count);
    claret_kernel_int(call, rows);
    claret_kernel_range(call, (count + rows - 1) / rows, 1);
    claret_emit_cost(emit, 4.0 * (double)(count * channels),
                     4.0 * (double)(count * channels) * (node->in_count + 1));
}

static void forward_plain_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_entry(emit, node, "softmax");
}

static void dx_plain_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_entry(emit, node, "softmax_dx");
}

static void forward_channels_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_channels(emit, node, "softmax_channels");
}

static void dx_channels_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_channels(emit, node, "softmax_dx_channels");
}

#define SOLVERS(name_)                                                                                       \
    static const struct claret_solver name_##_channels = {.name = "channels",                                \
                                                          .layout = CLARET_LAYOUT_NHWC,                      \
                                                          .applicable = claret_elementwise_vectors,          \
                                                          .emit = name_##_channels_emit};                    \
    static const struct claret_solver name_##_plain = {                                                      \
        .name = "plain", .layout = CLARET_LAYOUT_SAME, .emit = name_##_plain_emit};                          \
    static const struct claret_solver *const name_##_solvers[] = {&name_##_channels, &name_##_plain, NULL}
SOLVERS(forward);
SOLVERS(dx);

static const struct claret_op softmax = {.name = "softmax",
                                         .schema = &schema,
                                         .layout = CLARET_LAYOUT_SAME,
                                         .shape = shape,
                                         .backward = backward,
                                         .solvers = forward_solvers};
static const struct claret_op softmax_dx = {.name = "softmax_dx", .solvers = dx_solvers};

extern const struct claret_op *const claret_ops_softmax[];
const struct claret_op *const claret_ops_softmax[] = {&softmax, &softmax_dx, NULL};
