/* The launches of cl/layer_norm.cl: layer_norm by vectors of elements. Where images lie in NHWC, weight and
 * bias, which are (C, H, W), are brought into that order first, and their gradients back. */
#include "op/group_norm.h"
#include "op/reorder.h"
#include "op/update.h"
#include "op/vectors.h"

#include <stdio.h>

#define MOST_PARTS 64
#define ITEMS 4 /* for each unit */
#define VECTORS 4

struct problem {
    struct claret_group_norm of;
    int64_t images, channels, plane, size;
    int64_t parts, chunk; /* of an image */
    int lanes;
    bool last;
};

static int64_t split(const struct claret_emit *emit, int64_t others)
{
    int64_t wish = (ITEMS * (int64_t)claret_emit_device(emit)->compute_units + others - 1) / others;
    return wish < MOST_PARTS ? wish : MOST_PARTS;
}

static struct problem problem_of(struct claret_emit *emit, const struct claret_node *node, int x)
{
    const struct claret_tensor *images = claret_emit_tensor(emit, x);
    const int64_t *dim = images->shape.dim;
    struct problem problem = {.of = claret_group_norm_of(node),
                              .images = dim[0],
                              .channels = dim[1],
                              .size = claret_shape_count(&images->shape) / dim[0],
                              .last = images->layout == CLARET_NHWC};
    problem.plane = problem.size / problem.channels;
    problem.lanes = claret_vector_lanes(claret_emit_device(emit), problem.size);
    int64_t vectors = (problem.size + problem.lanes - 1) / problem.lanes, parts = split(emit, problem.images);
    problem.chunk = (vectors + parts - 1) / parts * problem.lanes;
    problem.parts = (problem.size + problem.chunk - 1) / problem.chunk;
    return problem;
}

static double count_of(const struct problem *problem)
{
    return (double)problem->images * (double)problem->size;
}

/* A parameter in the order of the images' elements. */
static int in_order(struct claret_emit *emit, const struct problem *problem, int parameter)
{
    if (!problem->last)
        return parameter;
    int to = claret_emit_temp(emit, CLARET_DTYPE_F32, problem->size);
    claret_transpose_emit(emit, parameter, to, false, 1, problem->channels, problem->plane);
    return to;
}

static struct claret_kernel_call *emit_kernel(struct claret_emit *emit, const struct problem *problem,
                                              const char *what, const char *entry)
{
    struct claret_kernel_call *call = claret_emit_kernel(emit, what, "layer_norm", entry);
    claret_kernel_define(call, "LANES", problem->lanes);
    return call;
}

/* The last arguments, and the range, of a kernel over parts of images. */
static void over_parts(struct claret_emit *emit, struct claret_kernel_call *call,
                       const struct problem *problem, double flops, double tensors)
{
    claret_kernel_int(call, problem->images);
    claret_kernel_int(call, problem->size);
    claret_kernel_int(call, problem->chunk);
    claret_kernel_range3(call, problem->parts, problem->images, 1, 1);
    claret_emit_cost(emit, flops * count_of(problem), 4 * tensors * count_of(problem));
}

/* group_norm.cl's joining of parts: its arguments after the tensors, and range. */
static void join(struct claret_kernel_call *call, const struct problem *problem)
{
    const int64_t numbers[] = {
        problem->images, problem->channels, problem->plane, 1, problem->parts, problem->chunk, 1};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        claret_kernel_int(call, numbers[i]);
    claret_kernel_range(call, problem->images, 64);
}

static void forward_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct problem problem = problem_of(emit, node, node->in[0]);
    int parts = claret_emit_temp(emit, CLARET_DTYPE_F32, 2 * problem.parts * problem.images);
    int weight = problem.of.weight ? in_order(emit, &problem, node->in[1]) : node->out[1];
    int bias = problem.of.bias ? in_order(emit, &problem, node->in[2]) : node->out[1];
    struct claret_kernel_call *call = emit_kernel(emit, &problem, "statistics", "layer_norm_parts");
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, parts, 0);
    over_parts(emit, call, &problem, 4, 1);
    call = claret_emit_kernel(emit, "join", "group_norm", "group_norm_join");
    claret_kernel_tensor(call, parts, 0);
    claret_kernel_tensor(call, node->out[1], 0);
    claret_kernel_float(call, problem.of.eps);
    join(call, &problem);
    call = emit_kernel(emit, &problem, "normalise", "layer_norm");
    claret_kernel_define(call, "WEIGHT", problem.of.weight);
    claret_kernel_define(call, "BIAS", problem.of.bias);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->out[1], 0);
    claret_kernel_tensor(call, weight, 0);
    claret_kernel_tensor(call, bias, 0);
    claret_kernel_tensor(call, node->out[0], 0);
    over_parts(emit, call, &problem, 2, 2);
}

static void dx_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct problem problem = problem_of(emit, node, node->in[CLARET_GROUP_X]);
    int parts = claret_emit_temp(emit, CLARET_DTYPE_F32, 2 * problem.parts * problem.images);
    int sums = claret_emit_temp(emit, CLARET_DTYPE_F32, 2 * problem.images);
    int stat = node->in[CLARET_GROUP_STAT];
    int weight = problem.of.weight ? in_order(emit, &problem, node->in[CLARET_GROUP_WEIGHT]) : stat;
    const int in[] = {node->in[CLARET_GROUP_DY], node->in[CLARET_GROUP_X], stat, weight};
    struct claret_kernel_call *call = emit_kernel(emit, &problem, "sums", "layer_norm_dx_parts");
    claret_kernel_define(call, "WEIGHT", problem.of.weight);
    for (int i = 0; i < 4; i++)
        claret_kernel_tensor(call, in[i], 0);
    claret_kernel_tensor(call, parts, 0);
    over_parts(emit, call, &problem, 4, 2);
    call = claret_emit_kernel(emit, "join", "group_norm", "group_norm_dx_join");
    claret_kernel_tensor(call, parts, 0);
    claret_kernel_tensor(call, sums, 0);
    join(call, &problem);
    call = emit_kernel(emit, &problem, "gradient", "layer_norm_dx");
    claret_kernel_define(call, "WEIGHT", problem.of.weight);
    for (int i = 0; i < 4; i++)
        claret_kernel_tensor(call, in[i], 0);
    claret_kernel_tensor(call, sums, 0);
    claret_kernel_tensor(call, node->out[0], 0);
    over_parts(emit, call, &problem, 6, 3);
}

static void dw_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct problem problem = problem_of(emit, node, node->in[CLARET_GROUP_X]);
    int64_t blocks = (problem.size + VECTORS * problem.lanes - 1) / (VECTORS * problem.lanes);
    int64_t each = split(emit, blocks), kinds = 1 + problem.of.bias;
    each = (problem.images + each - 1) / each; /* images of a part */
    int64_t parts = (problem.images + each - 1) / each;
    int sums = claret_emit_temp(emit, CLARET_DTYPE_F32, parts * kinds * problem.size);
    struct claret_kernel_call *call = emit_kernel(emit, &problem, "sums", "layer_norm_dw_parts");
    claret_kernel_define(call, "BIAS", problem.of.bias);
    claret_kernel_define(call, "VECTORS", VECTORS);
    for (int i = CLARET_GROUP_DY; i <= CLARET_GROUP_STAT; i++)
        claret_kernel_tensor(call, node->in[i], 0);
    claret_kernel_tensor(call, sums, 0);
    claret_kernel_int(call, problem.images);
    claret_kernel_int(call, problem.size);
    claret_kernel_int(call, each);
    claret_kernel_range3(call, blocks, parts, 1, 1);
    claret_emit_cost(emit, 4 * count_of(&problem), 8 * count_of(&problem));
    if (problem.last) {
        int ordered = claret_emit_temp(emit, CLARET_DTYPE_F32, parts * kinds * problem.size);
        claret_transpose_emit(emit, sums, ordered, false, parts * kinds, problem.plane, problem.channels);
        sums = ordered;
    }
    claret_update_emit_sum(emit, node, CLARET_GROUP_WEIGHT, 0, sums, problem.size,
                           problem.of.bias ? problem.size : 0, parts);
}

static bool applicable(const struct claret_problem *problem, char reason[128])
{
    bool layer = claret_group_norm_of(problem->node).layer;
    if (!layer)
        snprintf(reason, 128, "its weights are the channels'");
    return layer && claret_vector_device(problem->device, reason);
}

#define SOLVER(suffix, emit_)                                                                                \
    const struct claret_solver claret_layer_norm_vectors##suffix = {                                         \
        .name = "vectors", .layout = CLARET_LAYOUT_SAME, .applicable = applicable, .emit = emit_}
SOLVER(, forward_emit);
SOLVER(_dx, dx_emit);
SOLVER(_dw, dw_emit);
