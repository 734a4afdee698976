/* reorder: in x; out y, the same images in another layout (src/graph puts it where a view wants them in
 * order). */
#include "op/reorder.h"

#include "op/vectors.h"

static const struct claret_op reorder;

bool claret_layout_trivial(const struct claret_shape *shape)
{
    return shape->rank != 4 || shape->dim[1] == 1 || shape->dim[2] * shape->dim[3] == 1;
}

void claret_transpose_emit(struct claret_emit *emit, int from, int to, bool bytes, int64_t n, int64_t rows,
                           int64_t columns)
{
    struct claret_kernel_call *call = claret_emit_kernel(emit, "reorder", "reorder", "transpose");
    claret_kernel_define(call, "BYTES", bytes);
    claret_kernel_tensor(call, from, 0);
    claret_kernel_tensor(call, to, 0);
    claret_kernel_int(call, rows);
    claret_kernel_int(call, columns);
    claret_kernel_range3(call, (columns + 15) / 16, n, 1, 1);
    claret_emit_cost(emit, 0, (double)n * (double)rows * (double)columns * (bytes ? 2 : 8));
}

void claret_reorder_emit(struct claret_emit *emit, int from, int to)
{
    const struct claret_tensor *x = claret_emit_tensor(emit, from), *y = claret_emit_tensor(emit, to);
    int64_t n = x->shape.dim[0], channels = x->shape.dim[1], plane = x->shape.dim[2] * x->shape.dim[3];
    bool to_last = y->layout == CLARET_NHWC;
    claret_transpose_emit(emit, from, to, x->dtype == CLARET_DTYPE_U8, n, to_last ? channels : plane,
                          to_last ? plane : channels);
}

static enum claret_status backward(struct claret_build *build, const struct claret_node *node)
{
    if (claret_build_wants(build, node->in[0])) {
        int dy = claret_build_grad(build, node->out[0]), dx = claret_build_grad(build, node->in[0]);
        claret_build_node(build, &reorder, node, "dx", &dy, 1, &dx, 1);
    }
    return CLARET_OK;
}

static void emit(struct claret_emit *emit, const struct claret_node *node)
{
    claret_reorder_emit(emit, node->in[0], node->out[0]);
}

static const struct claret_solver plain = {.name = "plain", .layout = CLARET_LAYOUT_EACH, .emit = emit};
static const struct claret_solver *const solvers[] = {&plain, NULL};
static const struct claret_op reorder = {.name = "reorder", .backward = backward, .solvers = solvers};

extern const struct claret_op *const claret_ops_reorder[];
const struct claret_op *const claret_ops_reorder[] = {&reorder, NULL};
