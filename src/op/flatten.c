/* flatten: (N, C, H, W) seen as (N, C*H*W). A view both ways: nothing runs. */
#include "op/op.h"

static const struct claret_attr_def attrs[] = {{.key = NULL}};
static const struct claret_schema schema = {"flatten", 1, attrs, 0};
static const struct claret_op flatten, flatten_dx;

static enum claret_status shape(struct claret_build *build, struct claret_node *node)
{
    const struct claret_shape in = claret_build_tensor(build, node->in[0])->shape;
    claret_build_output(build, node, CLARET_DTYPE_F32,
                        claret_shape2(in.dim[0], claret_shape_count(&in) / in.dim[0]));
    return CLARET_OK;
}

static enum claret_status backward(struct claret_build *build, const struct claret_node *node)
{
    if (claret_build_wants(build, node->in[0])) {
        int dy = claret_build_grad(build, node->out[0]), dx = claret_build_grad(build, node->in[0]);
        claret_build_node(build, &flatten_dx, node, "dx", &dy, 1, &dx, 1);
    }
    return CLARET_OK;
}

static const struct claret_op flatten = {
    .name = "flatten", .schema = &schema, .view = true, .shape = shape, .backward = backward};
static const struct claret_op flatten_dx = {.name = "flatten_dx", .view = true};

extern const struct claret_op *const claret_ops_flatten[];
const struct claret_op *const claret_ops_flatten[] = {&flatten, &flatten_dx, NULL};
