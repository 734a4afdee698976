/* The launches of cl/group_norm_channels.cl. */
#include "op/group_norm.h"

#include <stdio.h>

#include "op/vectors.h"

#define NEAR_FLOATS 16384 /* that an item goes over channel by channel: a near cache holds them */
#define FEWEST_PIXELS 16

struct problem {
    struct claret_group_norm of;
    int64_t images, channels, plane, parts, chunk, padded;
    int lanes;
};

static struct problem problem_of(struct claret_emit *emit, const struct claret_node *node, int x)
{
    const int64_t *dim = claret_emit_tensor(emit, x)->shape.dim;
    struct problem problem = {.of = claret_group_norm_of(node),
                              .images = dim[0],
                              .channels = dim[1],
                              .plane = dim[2] * dim[3],
                              .lanes = claret_vector_lanes(claret_emit_device(emit), dim[1])};
    problem.padded = (dim[1] + problem.lanes - 1) / problem.lanes * problem.lanes;
    int64_t near = NEAR_FLOATS / problem.padded;
    problem.chunk = near > FEWEST_PIXELS ? near : FEWEST_PIXELS;
    problem.parts = (problem.plane + problem.chunk - 1) / problem.chunk;
    problem.chunk = (problem.plane + problem.parts - 1) / problem.parts; /* about the same for all */
    problem.parts = (problem.plane + problem.chunk - 1) / problem.chunk;
    return problem;
}

static struct claret_kernel_call *emit_kernel(struct claret_emit *emit, const struct problem *problem,
                                              const char *what, const char *entry, bool vectors)
{
    struct claret_kernel_call *call = claret_emit_kernel(emit, what, "group_norm_channels", entry);
    if (vectors)
        claret_kernel_define(call, "LANES", problem->lanes);
    return call;
}

/* The last arguments of each kernel. */
static void sizes(struct claret_kernel_call *call, const struct problem *problem)
{
    claret_kernel_int(call, problem->images);
    claret_kernel_int(call, problem->channels);
    claret_kernel_int(call, problem->plane);
    claret_kernel_int(call, problem->of.groups);
    claret_kernel_int(call, problem->parts);
    claret_kernel_int(call, problem->chunk);
    claret_kernel_int(call, problem->padded);
}

static void over_images(struct claret_emit *emit, struct claret_kernel_call *call,
                        const struct problem *problem, int tensors)
{
    double count = (double)problem->images * (double)problem->channels * (double)problem->plane;
    sizes(call, problem);
    claret_kernel_range3(call, problem->parts, problem->images, 1, 1);
    claret_emit_cost(emit, 4 * count, 4 * count * tensors);
}

static int new_parts(struct claret_emit *emit, const struct problem *problem)
{
    return claret_emit_temp(emit, CLARET_DTYPE_F32, 2 * problem->images * problem->parts * problem->padded);
}

static int new_table(struct claret_emit *emit, const struct problem *problem, int rows)
{
    return claret_emit_temp(emit, CLARET_DTYPE_F32, rows * problem->images * problem->padded);
}

static void forward_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct problem problem = problem_of(emit, node, node->in[0]);
    int parts = new_parts(emit, &problem), table = new_table(emit, &problem, 2);
    struct claret_kernel_call *call = emit_kernel(emit, &problem, "statistics", "group_norm_parts", true);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, parts, 0);
    over_images(emit, call, &problem, 1);
    call = emit_kernel(emit, &problem, "join", "group_norm_join", false);
    claret_kernel_define(call, "WEIGHT", problem.of.weight);
    claret_kernel_tensor(call, parts, 0);
    claret_kernel_tensor(call, problem.of.weight ? node->in[1] : parts, 0);
    claret_kernel_tensor(call, node->out[1], 0);
    claret_kernel_tensor(call, table, 0);
    claret_kernel_float(call, problem.of.eps);
    sizes(call, &problem);
    claret_kernel_range(call, problem.images * problem.of.groups, 64);
    call = emit_kernel(emit, &problem, "normalise", "group_norm", true);
    claret_kernel_define(call, "BIAS", problem.of.bias);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, table, 0);
    claret_kernel_tensor(call, problem.of.bias ? node->in[2] : table, 0);
    claret_kernel_tensor(call, node->out[0], 0);
    over_images(emit, call, &problem, 2);
}

/* Sums of dy and of dy * xhat, by image, part and channel. */
static int emit_sums(struct claret_emit *emit, const struct claret_node *node, const struct problem *problem)
{
    int parts = new_parts(emit, problem), table = new_table(emit, problem, 2);
    struct claret_kernel_call *call = emit_kernel(emit, problem, "table", "group_norm_table", false);
    claret_kernel_tensor(call, node->in[CLARET_GROUP_STAT], 0);
    claret_kernel_tensor(call, table, 0);
    sizes(call, problem);
    claret_kernel_range3(call, problem->channels, problem->images, 1, 64);
    call = emit_kernel(emit, problem, "sums", "group_norm_dx_parts", true);
    claret_kernel_tensor(call, node->in[CLARET_GROUP_DY], 0);
    claret_kernel_tensor(call, node->in[CLARET_GROUP_X], 0);
    claret_kernel_tensor(call, table, 0);
    claret_kernel_tensor(call, parts, 0);
    over_images(emit, call, problem, 2);
    return parts;
}

static void dx_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct problem problem = problem_of(emit, node, node->in[CLARET_GROUP_X]);
    int parts = emit_sums(emit, node, &problem), table = new_table(emit, &problem, 4);
    struct claret_kernel_call *call = emit_kernel(emit, &problem, "join", "group_norm_dx_join", false);
    claret_kernel_define(call, "WEIGHT", problem.of.weight);
    claret_kernel_tensor(call, parts, 0);
    claret_kernel_tensor(call, node->in[CLARET_GROUP_STAT], 0);
    claret_kernel_tensor(call, problem.of.weight ? node->in[CLARET_GROUP_WEIGHT] : parts, 0);
    claret_kernel_tensor(call, table, 0);
    sizes(call, &problem);
    claret_kernel_range(call, problem.images * problem.of.groups, 64);
    call = emit_kernel(emit, &problem, "gradient", "group_norm_dx", true);
    claret_kernel_tensor(call, node->in[CLARET_GROUP_DY], 0);
    claret_kernel_tensor(call, node->in[CLARET_GROUP_X], 0);
    claret_kernel_tensor(call, table, 0);
    claret_kernel_tensor(call, node->out[0], 0);
    over_images(emit, call, &problem, 3);
}

static void dw_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct problem problem = problem_of(emit, node, node->in[CLARET_GROUP_X]);
    int parts = emit_sums(emit, node, &problem);
    struct claret_kernel_call *call = emit_kernel(emit, &problem, "join", "group_norm_dw_join", false);
    claret_kernel_tensor(call, parts, 0);
    claret_kernel_tensor(call, node->out[0], 0);
    claret_kernel_tensor(call, node->out[1], 0);
    sizes(call, &problem);
    claret_kernel_range(call, problem.channels, 64);
}

/* `x`: the tensor of images. */
static bool fits(const struct claret_problem *problem, int x, char reason[128])
{
    bool layer = claret_group_norm_of(problem->node).layer, flat = problem->tensors[x].shape.rank != 4;
    if (layer || flat)
        snprintf(reason, 128, "%s", layer ? "each element has weights" : "its input is flat");
    return !layer && !flat && claret_vector_device(problem->device, reason);
}

static bool forward_applicable(const struct claret_problem *problem, char reason[128])
{
    return fits(problem, problem->node->in[0], reason);
}

static bool backward_applicable(const struct claret_problem *problem, char reason[128])
{
    return fits(problem, problem->node->in[CLARET_GROUP_X], reason);
}

const struct claret_solver claret_group_norm_channels = {
    .name = "channels", .layout = CLARET_LAYOUT_NHWC, .applicable = forward_applicable, .emit = forward_emit};
const struct claret_solver claret_group_norm_channels_dx = {
    .name = "channels", .layout = CLARET_LAYOUT_NHWC, .applicable = backward_applicable, .emit = dx_emit};
const struct claret_solver claret_group_norm_channels_dw = {
    .name = "channels", .layout = CLARET_LAYOUT_NHWC, .applicable = backward_applicable, .emit = dw_emit};
