/* concat: in tensors that are alike but for their channels (or features); out these side by side.
 * concat_dx: in dy; out the gradients of all of them, of what needs none too. */
#include "op/op.h"

static const struct claret_attr_def attrs[] = {
    {"dim", CLARET_ATTR_INT, false, 1, 1, 1, NULL},
    {.key = NULL},
};
static const struct claret_schema schema = {"concat", 2, attrs, CLARET_MAX_OUT};
static const struct claret_op concat_dx;

static enum claret_status shape(struct claret_build *build, struct claret_node *node)
{
    struct claret_shape all = claret_build_tensor(build, node->in[0])->shape;
    char first[96], second[96];
    for (int i = 1; i < node->in_count; i++) {
        const struct claret_shape in = claret_build_tensor(build, node->in[i])->shape;
        struct claret_shape like = in;
        like.dim[1] = all.dim[1];
        if (!claret_shape_equal(&like, &all))
            return claret_build_error(build, node, NULL,
                                      "concat wants inputs that are alike but for their channels, these are "
                                      "%s and %s",
                                      claret_shape_format(&all, 1, first),
                                      claret_shape_format(&in, 1, second));
        all.dim[1] += in.dim[1];
    }
    claret_build_output(build, node, CLARET_DTYPE_F32, all);
    return CLARET_OK;
}

static enum claret_status backward(struct claret_build *build, const struct claret_node *node)
{
    int out[CLARET_MAX_OUT], dy = claret_build_grad(build, node->out[0]);
    bool wanted = false;
    for (int i = 0; i < node->in_count; i++) {
        const struct claret_tensor *in = claret_build_tensor(build, node->in[i]);
        wanted |= claret_build_wants(build, node->in[i]);
        out[i] = claret_build_wants(build, node->in[i])
                     ? claret_build_grad(build, node->in[i])
                     : claret_build_between(build, node, "nobody", CLARET_DTYPE_F32, in->shape);
    }
    if (wanted)
        claret_build_node(build, &concat_dx, node, "dx", &dy, 1, out, node->in_count);
    return CLARET_OK;
}

/* Between the parts and the whole of them. */
static void emit_rows(struct claret_emit *emit, const int *parts, int count, int whole, bool back)
{
    const struct claret_tensor *all = claret_emit_tensor(emit, whole);
    const struct claret_shape *of = &all->shape;
    int64_t plane = of->rank == 4 ? of->dim[2] * of->dim[3] : 1, at = 0;
    int64_t rows = all->layout == CLARET_NHWC ? of->dim[0] * plane : of->dim[0];
    int64_t stride = claret_shape_count(of) / rows;
    for (int i = 0; i < count; i++) {
        int64_t length = claret_shape_count(&claret_emit_tensor(emit, parts[i])->shape) / rows;
        struct claret_kernel_call *call = claret_emit_kernel(emit, "copy", "concat", "copy_rows");
        claret_kernel_tensor(call, back ? whole : parts[i], back ? at : 0);
        claret_kernel_tensor(call, back ? parts[i] : whole, back ? 0 : at);
        claret_kernel_int(call, length);
        claret_kernel_int(call, back ? stride : length);
        claret_kernel_int(call, back ? length : stride);
        claret_kernel_range3(call, length, rows, 1, 64);
        claret_emit_cost(emit, 0, 8.0 * (double)(rows * length));
        at += length;
    }
}

static void forward_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_rows(emit, node->in, node->in_count, node->out[0], false);
}

static void dx_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_rows(emit, node->out, node->out_count, node->in[0], true);
}

static const struct claret_solver forward_plain = {
    .name = "plain", .layout = CLARET_LAYOUT_SAME, .emit = forward_emit};
static const struct claret_solver dx_plain = {.name = "plain", .layout = CLARET_LAYOUT_SAME, .emit = dx_emit};
static const struct claret_solver *const forward_solvers[] = {&forward_plain, NULL};
static const struct claret_solver *const dx_solvers[] = {&dx_plain, NULL};

static const struct claret_op concat = {.name = "concat",
                                        .schema = &schema,
                                        .layout = CLARET_LAYOUT_SAME,
                                        .shape = shape,
                                        .backward = backward,
                                        .solvers = forward_solvers};
static const struct claret_op concat_dx = {.name = "concat_dx", .solvers = dx_solvers};

extern const struct claret_op *const claret_ops_concat[];
const struct claret_op *const claret_ops_concat[] = {&concat, &concat_dx, NULL};
