/* group_norm: in x (N, C, …), weight and bias (C) or none; out y, stat (2, N * groups: mean, 1 / deviation of
 * each group of each image's channels). layer_norm: the same with one group, and weight and bias of the shape
 * of an image. As PyTorch's GroupNorm, and LayerNorm with normalized_shape all dimensions but the batch.
 * Values all alike give the bias where eps is 0 (PyTorch: NaN). …_dx: in dy, x, stat, weight or none; out dx.
 * …_dw: in dy, x, stat; out dweight and, where there is a bias, dbias. */
#include "op/group_norm.h"

#include "op/update.h"
#include "op/vectors.h"

enum { GROUP_GROUPS, GROUP_CHANNELS, GROUP_EPS, GROUP_AFFINE };
static const struct claret_attr_def group_attrs[] = {
    [GROUP_GROUPS] = {"num_groups", CLARET_ATTR_INT, true, 0, 1, 1 << 24, NULL},
    [GROUP_CHANNELS] = {"num_channels", CLARET_ATTR_INT, false, 0, 1, 1 << 24, NULL},
    [GROUP_EPS] = {"eps", CLARET_ATTR_FLOAT, false, 1e-5, 0, 1e6, NULL},
    [GROUP_AFFINE] = {"affine", CLARET_ATTR_BOOL, false, 1, 0, 1, NULL},
    {.key = NULL},
};
enum { LAYER_EPS, LAYER_AFFINE, LAYER_BIAS };
static const struct claret_attr_def layer_attrs[] = {
    [LAYER_EPS] = {"eps", CLARET_ATTR_FLOAT, false, 1e-5, 0, 1e6, NULL},
    [LAYER_AFFINE] = {"elementwise_affine", CLARET_ATTR_BOOL, false, 1, 0, 1, NULL},
    [LAYER_BIAS] = {"bias", CLARET_ATTR_BOOL, false, 1, 0, 1, NULL},
    {.key = NULL},
};
static const struct claret_schema group_schema = {"group_norm", 1, group_attrs, 0};
static const struct claret_schema layer_schema = {"layer_norm", 1, layer_attrs, 0};
static const struct claret_op group_norm, layer_norm, group_norm_dx, layer_norm_dx, group_norm_dw,
    layer_norm_dw;

static bool is_layer(const struct claret_node *node)
{
    return node->op == &layer_norm || node->op == &layer_norm_dx || node->op == &layer_norm_dw;
}

static bool has_weight(const struct claret_node *node)
{
    return node->attr[is_layer(node) ? LAYER_AFFINE : GROUP_AFFINE].i[0];
}

static bool has_bias(const struct claret_node *node)
{
    return has_weight(node) && (!is_layer(node) || node->attr[LAYER_BIAS].i[0]);
}

static int64_t groups_of(const struct claret_node *node)
{
    return is_layer(node) ? 1 : node->attr[GROUP_GROUPS].i[0];
}

struct claret_group_norm claret_group_norm_of(const struct claret_node *node)
{
    return (struct claret_group_norm){.groups = groups_of(node),
                                      .layer = is_layer(node),
                                      .weight = has_weight(node),
                                      .bias = has_bias(node),
                                      .eps = (float)node->attr[is_layer(node) ? LAYER_EPS : GROUP_EPS].f};
}

/* ---- shape and gradient ---- */

static enum claret_status check_channels(const struct claret_build *build, const struct claret_node *node,
                                         int64_t channels)
{
    const struct claret_attr *attr = node->attr;
    if (is_layer(node))
        return CLARET_OK;
    if (attr[GROUP_CHANNELS].given && attr[GROUP_CHANNELS].i[0] != channels)
        return claret_build_error(build, node, &attr[GROUP_CHANNELS],
                                  "num_channels is %lld, but its input has %lld channels",
                                  (long long)attr[GROUP_CHANNELS].i[0], (long long)channels);
    if (channels % attr[GROUP_GROUPS].i[0])
        return claret_build_error(build, node, &attr[GROUP_GROUPS],
                                  "num_groups is %lld, which does not divide its input's %lld channels",
                                  (long long)attr[GROUP_GROUPS].i[0], (long long)channels);
    return CLARET_OK;
}

static enum claret_status shape(struct claret_build *build, struct claret_node *node)
{
    const struct claret_shape in = claret_build_tensor(build, node->in[0])->shape;
    CLARET_TRY(check_channels(build, node, in.dim[1]));
    /* as PyTorch, which lets one value an image pass where there are several images */
    if (!is_layer(node) && claret_shape_count(&in) == groups_of(node) && claret_build_training(build))
        return claret_build_error(build, node, NULL,
                                  "a batch of one image gives one value a group: group_norm needs more to "
                                  "train, use fewer groups");
    struct claret_shape each = claret_shape1(in.dim[1]);
    if (is_layer(node)) {
        each.rank = in.rank - 1;
        for (int i = 1; i < in.rank; i++)
            each.dim[i - 1] = in.dim[i];
    }
    if (has_weight(node))
        claret_build_constant_param(build, node, "weight", each, 1);
    else
        claret_build_input(node, -1);
    if (has_bias(node))
        claret_build_constant_param(build, node, "bias", each, 0);
    claret_build_output(build, node, CLARET_DTYPE_F32, in);
    claret_build_output(build, node, CLARET_DTYPE_F32, claret_shape2(2, in.dim[0] * groups_of(node)));
    return CLARET_OK;
}

enum { DY = CLARET_GROUP_DY, X = CLARET_GROUP_X, STAT = CLARET_GROUP_STAT, WEIGHT = CLARET_GROUP_WEIGHT };

static enum claret_status backward(struct claret_build *build, const struct claret_node *node)
{
    bool layer = is_layer(node);
    int weight = node->in[1], bias = has_bias(node) ? node->in[2] : -1;
    int in[4] = {claret_build_grad(build, node->out[0]), node->in[0], node->out[1], weight};
    if (claret_build_wants(build, node->in[0])) {
        int dx = claret_build_grad(build, node->in[0]);
        claret_build_node(build, layer ? &layer_norm_dx : &group_norm_dx, node, "dx", in, 4, &dx, 1);
    }
    if (claret_build_wants_any(build, (int[]){weight, bias}, 2)) {
        int out[2] = {claret_build_grad(build, weight), bias >= 0 ? claret_build_grad(build, bias) : -1};
        claret_build_node(build, layer ? &layer_norm_dw : &group_norm_dw, node, "dw", in, WEIGHT, out,
                          1 + (bias >= 0));
    }
    return CLARET_OK;
}

/* ---- solvers ---- */

#define MOST_PARTS 64
#define LEAST_PART 16
#define ITEMS 4 /* for each unit of a CPU */

struct problem {
    int64_t images, channels, plane, groups, weights; /* weights: elements, 0: there are none */
    int64_t parts, from, by;                          /* as in the kernels */
    bool layer, last, bias;
};

static struct problem problem_of(struct claret_emit *emit, const struct claret_node *node, int x)
{
    const struct claret_tensor *of = claret_emit_tensor(emit, x);
    const int64_t *dim = of->shape.dim;
    int64_t values = claret_shape_count(&of->shape) / dim[0];
    return (struct problem){.images = dim[0],
                            .channels = dim[1],
                            .plane = values / dim[1],
                            .groups = groups_of(node),
                            .weights = !has_weight(node) ? 0
                                       : is_layer(node)  ? values
                                                         : dim[1],
                            .layer = is_layer(node),
                            .last = of->layout == CLARET_NHWC,
                            .bias = has_bias(node)};
}

/* Sums over `terms` for each of `sums`: in pieces that lie together where an item goes over memory by itself
 * (CPUs), else with neighbours beside each other. */
static void split(struct claret_emit *emit, struct problem *problem, int64_t terms, int64_t sums, bool rows)
{
    if (rows) {
        int64_t wish = (ITEMS * (int64_t)claret_emit_device(emit)->compute_units + sums - 1) / sums;
        problem->parts = wish < MOST_PARTS ? wish : MOST_PARTS;
        problem->from = (terms + problem->parts - 1) / problem->parts;
        problem->parts = (terms + problem->from - 1) / problem->from;
        problem->by = 1;
    } else {
        problem->parts = (terms + LEAST_PART - 1) / LEAST_PART;
        problem->parts = problem->parts < MOST_PARTS ? problem->parts : MOST_PARTS;
        problem->from = 1;
        problem->by = problem->parts;
        /* A part of its own would be taken for one that lies together. */
        if (problem->parts == 1)
            problem->from = terms;
    }
}

enum { WITH_WEIGHT = 1, WITH_BIAS = 2, WITH_LAYOUT = 4 };

static struct claret_kernel_call *emit_kernel(struct claret_emit *emit, const struct problem *problem,
                                              const char *what, const char *entry, int with)
{
    struct claret_kernel_call *call = claret_emit_kernel(emit, what, "group_norm", entry);
    if (with & WITH_WEIGHT)
        claret_kernel_define(call, "WEIGHT", problem->weights == 0 ? 0 : 1 + problem->layer);
    if (with & WITH_BIAS)
        claret_kernel_define(call, "BIAS", problem->bias);
    if (with & WITH_LAYOUT)
        claret_kernel_define(call, "LAST", problem->last);
    return call;
}

/* The last arguments of each kernel. */
static void sizes(struct claret_kernel_call *call, const struct problem *problem)
{
    claret_kernel_int(call, problem->images * problem->groups);
    claret_kernel_int(call, problem->channels);
    claret_kernel_int(call, problem->plane);
    claret_kernel_int(call, problem->groups);
    claret_kernel_int(call, problem->parts);
    claret_kernel_int(call, problem->from);
    claret_kernel_int(call, problem->by);
}

static double count_of(const struct problem *problem)
{
    return (double)problem->images * (double)problem->channels * (double)problem->plane;
}

static void emit_forward(struct claret_emit *emit, const struct claret_node *node, bool rows)
{
    struct problem problem = problem_of(emit, node, node->in[0]);
    int64_t groups = problem.images * problem.groups, image = problem.channels * problem.plane;
    split(emit, &problem, image / problem.groups, groups, rows);
    int parts = claret_emit_temp(emit, CLARET_DTYPE_F32, 2 * problem.parts * groups);
    struct claret_kernel_call *call =
        emit_kernel(emit, &problem, "statistics", "group_norm_parts", WITH_LAYOUT);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, parts, 0);
    sizes(call, &problem);
    claret_kernel_range3(call, problem.parts, groups, 1, rows ? 1 : 64);
    claret_emit_cost(emit, 4 * count_of(&problem), 4 * count_of(&problem));
    call = emit_kernel(emit, &problem, "join", "group_norm_join", 0);
    claret_kernel_tensor(call, parts, 0);
    claret_kernel_tensor(call, node->out[1], 0);
    claret_kernel_float(call, claret_group_norm_of(node).eps);
    sizes(call, &problem);
    claret_kernel_range(call, groups, 64);
    call = emit_kernel(emit, &problem, "normalise", "group_norm", WITH_WEIGHT | WITH_BIAS | WITH_LAYOUT);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->out[1], 0);
    claret_kernel_tensor(call, problem.weights ? node->in[1] : node->out[1], 0);
    claret_kernel_tensor(call, problem.bias ? node->in[2] : node->out[1], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    sizes(call, &problem);
    claret_kernel_range3(call, image, problem.images, 1, 64);
    claret_emit_cost(emit, 2 * count_of(&problem), 8 * count_of(&problem));
}

/* dy, x, stat, weight: what the kernels of dx begin with. */
static void dx_arguments(struct claret_kernel_call *call, const struct claret_node *node,
                         const struct problem *problem)
{
    for (int i = DY; i <= STAT; i++)
        claret_kernel_tensor(call, node->in[i], 0);
    claret_kernel_tensor(call, node->in[problem->weights ? WEIGHT : STAT], 0);
}

static void emit_dx(struct claret_emit *emit, const struct claret_node *node, bool rows)
{
    struct problem problem = problem_of(emit, node, node->in[X]);
    int64_t groups = problem.images * problem.groups, image = problem.channels * problem.plane;
    split(emit, &problem, image / problem.groups, groups, rows);
    int parts = claret_emit_temp(emit, CLARET_DTYPE_F32, 2 * problem.parts * groups);
    int sums = claret_emit_temp(emit, CLARET_DTYPE_F32, 2 * groups);
    struct claret_kernel_call *call =
        emit_kernel(emit, &problem, "sums", "group_norm_dx_parts", WITH_WEIGHT | WITH_LAYOUT);
    dx_arguments(call, node, &problem);
    claret_kernel_tensor(call, parts, 0);
    sizes(call, &problem);
    claret_kernel_range3(call, problem.parts, groups, 1, rows ? 1 : 64);
    claret_emit_cost(emit, 4 * count_of(&problem), 8 * count_of(&problem));
    call = emit_kernel(emit, &problem, "join", "group_norm_dx_join", 0);
    claret_kernel_tensor(call, parts, 0);
    claret_kernel_tensor(call, sums, 0);
    sizes(call, &problem);
    claret_kernel_range(call, groups, 64);
    call = emit_kernel(emit, &problem, "gradient", "group_norm_dx", WITH_WEIGHT | WITH_LAYOUT);
    dx_arguments(call, node, &problem);
    claret_kernel_tensor(call, sums, 0);
    claret_kernel_tensor(call, node->out[0], 0);
    sizes(call, &problem);
    claret_kernel_range3(call, image, problem.images, 1, 64);
    claret_emit_cost(emit, 6 * count_of(&problem), 12 * count_of(&problem));
}

static void emit_dw(struct claret_emit *emit, const struct claret_node *node, bool rows)
{
    struct problem problem = problem_of(emit, node, node->in[X]);
    split(emit, &problem, problem.images * (problem.layer ? 1 : problem.plane), problem.weights, rows);
    int64_t biases = problem.bias ? problem.weights : 0;
    int parts = claret_emit_temp(emit, CLARET_DTYPE_F32, problem.parts * (problem.weights + biases));
    struct claret_kernel_call *call =
        emit_kernel(emit, &problem, "sums", "group_norm_dw_parts", WITH_WEIGHT | WITH_BIAS | WITH_LAYOUT);
    bool parts_first = !problem.layer && !problem.last;
    for (int i = DY; i <= STAT; i++)
        claret_kernel_tensor(call, node->in[i], 0);
    claret_kernel_tensor(call, parts, 0);
    sizes(call, &problem);
    claret_kernel_range3(call, parts_first ? problem.parts : problem.weights,
                         parts_first ? problem.weights : problem.parts, 1, rows && parts_first ? 1 : 64);
    claret_emit_cost(emit, 4 * count_of(&problem), 8 * count_of(&problem));
    claret_update_emit_sum(emit, node, WEIGHT, 0, parts, problem.weights, biases, problem.parts);
}

#define SOLVERS(name_, suffix)                                                                               \
    static void name_##_rows_emit(struct claret_emit *emit, const struct claret_node *node)                  \
    {                                                                                                        \
        emit_##name_(emit, node, true);                                                                      \
    }                                                                                                        \
    static void name_##_plain_emit(struct claret_emit *emit, const struct claret_node *node)                 \
    {                                                                                                        \
        emit_##name_(emit, node, false);                                                                     \
    }                                                                                                        \
    static const struct claret_solver name_##_rows = {.name = "rows",                                        \
                                                      .layout = CLARET_LAYOUT_SAME,                          \
                                                      .applicable = rows_applicable,                         \
                                                      .emit = name_##_rows_emit};                            \
    static const struct claret_solver name_##_plain = {                                                      \
        .name = "plain", .layout = CLARET_LAYOUT_SAME, .emit = name_##_plain_emit};                          \
    static const struct claret_solver *const name_##_solvers[] = {&claret_group_norm_channels##suffix,       \
                                                                  &claret_layer_norm_vectors##suffix,        \
                                                                  &name_##_rows, &name_##_plain, NULL}

static bool rows_applicable(const struct claret_problem *problem, char reason[128])
{
    return claret_vector_device(problem->device, reason);
}
SOLVERS(forward, );
SOLVERS(dx, _dx);
SOLVERS(dw, _dw);

#define FORWARD(name_, schema_)                                                                              \
    {                                                                                                        \
        .name = name_, .schema = &schema_, .layout = CLARET_LAYOUT_SAME, .shape = shape,                     \
        .backward = backward, .solvers = forward_solvers                                                     \
    }
static const struct claret_op group_norm = FORWARD("group_norm", group_schema);
static const struct claret_op layer_norm = FORWARD("layer_norm", layer_schema);
static const struct claret_op group_norm_dx = {.name = "group_norm_dx", .solvers = dx_solvers};
static const struct claret_op layer_norm_dx = {.name = "layer_norm_dx", .solvers = dx_solvers};
static const struct claret_op group_norm_dw = {.name = "group_norm_dw", .solvers = dw_solvers};
static const struct claret_op layer_norm_dw = {.name = "layer_norm_dw", .solvers = dw_solvers};

extern const struct claret_op *const claret_ops_group_norm[];
const struct claret_op *const claret_ops_group_norm[] = {
    &group_norm, &layer_norm, &group_norm_dx, &layer_norm_dx, &group_norm_dw, &layer_norm_dw, NULL};
