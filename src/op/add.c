/* add: in a, b of the same shape; out a + b. The gradient of both is that of the sum. */
#include "op/elementwise.h"

static const struct claret_attr_def attrs[] = {{.key = NULL}};
static const struct claret_schema schema = {"add", 2, attrs, 0};
static const struct claret_op add, add_dx;

static enum claret_status shape(struct claret_build *build, struct claret_node *node)
{
    const struct claret_shape a = claret_build_tensor(build, node->in[0])->shape;
    const struct claret_shape b = claret_build_tensor(build, node->in[1])->shape;
    char first[96], second[96];
    if (!claret_shape_equal(&a, &b))
        return claret_build_error(build, node, NULL,
                                  "add wants two inputs of the same shape, these are %s and %s",
                                  claret_shape_format(&a, 1, first), claret_shape_format(&b, 1, second));
    claret_build_output(build, node, CLARET_DTYPE_F32, a);
    return CLARET_OK;
}

static enum claret_status backward(struct claret_build *build, const struct claret_node *node)
{
    static const char *const names[2] = {"da", "db"};
    int dy = claret_build_grad(build, node->out[0]);
    for (int i = 0; i < 2; i++)
        if (claret_build_wants(build, node->in[i]))
            claret_build_pass(build, &add_dx, node, names[i], dy, claret_build_grad(build, node->in[i]));
    return CLARET_OK;
}

static void vectors_emit(struct claret_emit *emit, const struct claret_node *node)
{
    claret_elementwise_emit(emit, "add", "add_vectors", true, node->in, 2, node->out[0], 1);
}

static void plain_emit(struct claret_emit *emit, const struct claret_node *node)
{
    claret_elementwise_emit(emit, "add", "add", false, node->in, 2, node->out[0], 1);
}

static const struct claret_solver vectors = {.name = "vectors",
                                             .layout = CLARET_LAYOUT_SAME,
                                             .applicable = claret_elementwise_vectors,
                                             .emit = vectors_emit};
static const struct claret_solver plain = {.name = "plain", .layout = CLARET_LAYOUT_SAME, .emit = plain_emit};
static const struct claret_solver *const solvers[] = {&vectors, &plain, NULL};

static const struct claret_op add = {.name = "add",
                                     .schema = &schema,
                                     .layout = CLARET_LAYOUT_SAME,
                                     .shape = shape,
                                     .backward = backward,
                                     .solvers = solvers};
static const struct claret_op add_dx = {.name = "add_dx", .view = true};

extern const struct claret_op *const claret_ops_add[];
const struct claret_op *const claret_ops_add[] = {&add, &add_dx, NULL};
