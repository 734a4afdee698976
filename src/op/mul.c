/* mul: in a, b of the same shape, or b (N, C, 1, 1) for images a (N, C, H, W); out a * b. mul_db: in dy, a;
 * out the gradient of such a b. Other gradients are products like the first. */
#include "op/vectors.h"

#include <stdio.h>

static const struct claret_attr_def attrs[] = {{.key = NULL}};
static const struct claret_schema schema = {"mul", 2, attrs, 0};
static const struct claret_op mul, mul_db;

static enum claret_status shape(struct claret_build *build, struct claret_node *node)
{
    const struct claret_shape a = claret_build_tensor(build, node->in[0])->shape;
    const struct claret_shape b = claret_build_tensor(build, node->in[1])->shape;
    const struct claret_shape each = claret_shape4(a.dim[0], a.dim[1], 1, 1);
    char first[96], second[96];
    if (!claret_shape_equal(&a, &b) && !(a.rank == 4 && claret_shape_equal(&b, &each)))
        return claret_build_error(
            build, node, NULL,
            "mul wants two inputs of the same shape, or a second one with a value for each "
            "channel, these are %s and %s",
            claret_shape_format(&a, 1, first), claret_shape_format(&b, 1, second));
    claret_build_output(build, node, CLARET_DTYPE_F32, a);
    return CLARET_OK;
}

static enum claret_status backward(struct claret_build *build, const struct claret_node *node)
{
    int a = node->in[0], b = node->in[1], dy = claret_build_grad(build, node->out[0]);
    bool same =
        claret_shape_equal(&claret_build_tensor(build, a)->shape, &claret_build_tensor(build, b)->shape);
    if (claret_build_wants(build, a)) {
        int da = claret_build_grad(build, a);
        claret_build_node(build, &mul, node, "da", (int[]){dy, b}, 2, &da, 1);
    }
    if (claret_build_wants(build, b)) {
        int db = claret_build_grad(build, b);
        claret_build_node(build, same ? &mul : &mul_db, node, "db", (int[]){dy, a}, 2, &db, 1);
    }
    return CLARET_OK;
}

/* `entry` of first and second; `images`: those of the two or the output that are whole; `each`: what has a
 * value for each of their channels. */
static void emit_products(struct claret_emit *emit, const struct claret_node *node, const char *entry,
                          int images, int each)
{
    const struct claret_tensor *of = claret_emit_tensor(emit, images);
    bool same = claret_shape_equal(&of->shape, &claret_emit_tensor(emit, each)->shape);
    int64_t count = claret_shape_count(&claret_emit_tensor(emit, node->out[0])->shape);
    double all = (double)claret_shape_count(&of->shape);
    struct claret_kernel_call *call = claret_emit_kernel(emit, "product", "mul", entry);
    claret_kernel_define(call, "EACH", same ? 0 : of->layout == CLARET_NHWC ? 2 : 1);
    claret_kernel_define(call, "PLANE", same ? 1 : of->shape.dim[2] * of->shape.dim[3]);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    claret_kernel_int(call, count);
    claret_kernel_int(call, of->shape.dim[1]);
    claret_kernel_range(call, count, 64);
    claret_emit_cost(emit, all, 12 * all);
}

static void plain_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_products(emit, node, "mul", node->out[0], node->in[1]);
}

static void db_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_products(emit, node, "mul_db", node->in[0], node->out[0]);
}

/* Images in NHWC, and what has a value for each of their channels. */
#define PIXELS 64 /* that an item has */

static void emit_channels(struct claret_emit *emit, const struct claret_node *node, const char *entry,
                          int images, bool sums)
{
    const int64_t *dim = claret_emit_tensor(emit, images)->shape.dim;
    int64_t plane = dim[2] * dim[3];
    int lanes = claret_vector_lanes(claret_emit_device(emit), dim[1]);
    double all = (double)dim[0] * (double)dim[1] * (double)plane;
    struct claret_kernel_call *call = claret_emit_kernel(emit, "product", "mul", entry);
    claret_kernel_define(call, "EACH", 2);
    claret_kernel_define(call, "PLANE", plane);
    claret_kernel_define(call, "LANES", lanes);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    claret_kernel_int(call, dim[1]);
    claret_kernel_int(call, PIXELS);
    claret_kernel_range3(call, sums ? (dim[1] + lanes - 1) / lanes : (plane + PIXELS - 1) / PIXELS, dim[0], 1,
                         1);
    claret_emit_cost(emit, all, 8 * all);
}

static void channels_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_channels(emit, node, "mul_channels", node->out[0], false);
}

static void db_channels_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_channels(emit, node, "mul_db_channels", node->in[0], true);
}

static bool channels_applicable(const struct claret_problem *problem, char reason[128])
{
    const struct claret_node *node = problem->node;
    bool sums = node->op == &mul_db;
    bool same = claret_shape_equal(&problem->tensors[node->in[0]].shape,
                                   &problem->tensors[sums ? node->out[0] : node->in[1]].shape);
    if (same)
        snprintf(reason, 128, "there is no value for each channel");
    return !same && claret_vector_device(problem->device, reason);
}

static const struct claret_solver channels = {.name = "channels",
                                              .layout = CLARET_LAYOUT_NHWC,
                                              .applicable = channels_applicable,
                                              .emit = channels_emit};
static const struct claret_solver db_channels = {.name = "channels",
                                                 .layout = CLARET_LAYOUT_NHWC,
                                                 .applicable = channels_applicable,
                                                 .emit = db_channels_emit};
static const struct claret_solver plain = {.name = "plain", .layout = CLARET_LAYOUT_SAME, .emit = plain_emit};
static const struct claret_solver db_plain = {.name = "plain", .layout = CLARET_LAYOUT_SAME, .emit = db_emit};
static const struct claret_solver *const solvers[] = {&channels, &plain, NULL};
static const struct claret_solver *const db_solvers[] = {&db_channels, &db_plain, NULL};

static const struct claret_op mul = {.name = "mul",
                                     .schema = &schema,
                                     .layout = CLARET_LAYOUT_SAME,
                                     .shape = shape,
                                     .backward = backward,
                                     .solvers = solvers};
static const struct claret_op mul_db = {.name = "mul_db", .solvers = db_solvers};

extern const struct claret_op *const claret_ops_mul[];
const struct claret_op *const claret_ops_mul[] = {&mul, &mul_db, NULL};
