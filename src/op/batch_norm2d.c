/* batch_norm2d: in x (N, C, H, W), weight and bias (C) or none, running mean, running variance (C), batches
 * (1), and in training step; out y, and in training stat (2, C: mean, 1 / deviation of the batch) and the
 * three that follow x as they become. As PyTorch's BatchNorm2d; in training by the statistics of the true
 * batch. batch_norm2d_relu, …_relu6, …_add_relu: with the layers behind it; the tensor added comes after x.
 * …_dx: in dy, x, y, stat, weight or none, step; out dx, the gradient of the tensor added where there is one,
 * those of weight and bias where they are there. */
#include "op/op.h"

#include <stdio.h>
#include <string.h>

#include "op/vectors.h"

enum { NUM_FEATURES, EPS, MOMENTUM, AFFINE };
static const struct claret_attr_def attrs[] = {
    [NUM_FEATURES] = {"num_features", CLARET_ATTR_INT, false, 0, 1, 1 << 24, NULL},
    [EPS] = {"eps", CLARET_ATTR_FLOAT, false, 1e-5, 0, 1e6, NULL},
    [MOMENTUM] = {"momentum", CLARET_ATTR_FLOAT, false, 0.1, 0, 1, NULL},
    [AFFINE] = {"affine", CLARET_ATTR_BOOL, false, 1, 0, 1, NULL},
    {.key = NULL},
};
static const struct claret_schema schema = {"batch_norm2d", 1, attrs, 0};
static const struct claret_op norm, norm_relu, norm_relu6, norm_add_relu;
static const struct claret_op norm_dx, norm_relu_dx, norm_relu6_dx, norm_add_relu_dx;

static bool adds(const struct claret_node *node)
{
    return node->op == &norm_add_relu || node->op == &norm_add_relu_dx;
}

/* The kernels' RELU. */
static int relu(const struct claret_node *node)
{
    if (node->op == &norm_relu6 || node->op == &norm_relu6_dx)
        return 6;
    return node->op != &norm && node->op != &norm_dx;
}

/* A forward node's inputs behind x and what is added. */
enum { WEIGHT, BIAS, MEAN, VAR, BATCHES, STEP };
static int input(const struct claret_node *node, int which)
{
    return node->in[1 + adds(node) + which];
}

static bool trains(const struct claret_node *node)
{
    return node->out_count > 1;
}

static bool add_fits(const struct claret_attr *const *attributes, const struct claret_shape *in,
                     const struct claret_shape *other)
{
    (void)attributes;
    return in->rank == 4 && claret_shape_equal(in, other);
}

static enum claret_status shape(struct claret_build *build, struct claret_node *node)
{
    const struct claret_attr *attr = node->attr;
    const struct claret_shape in = claret_build_tensor(build, node->in[0])->shape;
    if (in.rank != 4)
        return claret_build_error(build, node, NULL,
                                  "batch_norm2d wants images (channels, height, width), its input is flat");
    int64_t channels = in.dim[1];
    if (attr[NUM_FEATURES].given && attr[NUM_FEATURES].i[0] != channels)
        return claret_build_error(build, node, &attr[NUM_FEATURES],
                                  "num_features is %lld, but its input has %lld channels",
                                  (long long)attr[NUM_FEATURES].i[0], (long long)channels);
    bool training = claret_build_training(build);
    if (training && in.dim[0] * in.dim[2] * in.dim[3] == 1)
        return claret_build_error(build, node, NULL,
                                  "a batch of one image of 1x1 gives one value a channel: batch_norm2d needs "
                                  "more to train, use a larger batch");
    struct claret_shape each = claret_shape1(channels);
    if (attr[AFFINE].i[0]) {
        claret_build_constant_param(build, node, "weight", each, 1);
        claret_build_constant_param(build, node, "bias", each, 0);
    } else {
        claret_build_input(node, -1);
        claret_build_input(node, -1);
    }
    int mean = claret_build_buffer(build, node, "running_mean", CLARET_DTYPE_F32, each, 0);
    int var = claret_build_buffer(build, node, "running_var", CLARET_DTYPE_F32, each, 1);
    int batches = claret_build_buffer(build, node, "num_batches_tracked", CLARET_DTYPE_I32,
                                      (struct claret_shape){.rank = 0}, 0);
    claret_build_output(build, node, CLARET_DTYPE_F32, in);
    if (training) {
        claret_build_input(node, claret_build_step(build));
        claret_build_output(build, node, CLARET_DTYPE_F32, claret_shape2(2, channels));
        node->out[node->out_count++] = mean;
        node->out[node->out_count++] = var;
        node->out[node->out_count++] = batches;
    }
    return CLARET_OK;
}

/* Where the gradient of an input goes; it is made even where nobody wants it. */
static int gradient_of(struct claret_build *build, const struct claret_node *node, int in, const char *suffix)
{
    if (claret_build_wants(build, node->in[in]))
        return claret_build_grad(build, node->in[in]);
    return claret_build_between(build, node, suffix, CLARET_DTYPE_F32,
                                claret_build_tensor(build, node->in[in])->shape);
}

static enum claret_status backward(struct claret_build *build, const struct claret_node *node)
{
    const struct claret_op *op = adds(node)        ? &norm_add_relu_dx
                                 : relu(node) == 6 ? &norm_relu6_dx
                                 : relu(node)      ? &norm_relu_dx
                                                   : &norm_dx;
    int weight = input(node, WEIGHT), count = 0, out[4];
    int in[6] = {claret_build_grad(build, node->out[0]),
                 node->in[0],
                 node->out[0],
                 node->out[1],
                 weight,
                 input(node, STEP)};
    out[count++] = gradient_of(build, node, 0, "unwanted");
    if (adds(node))
        out[count++] = gradient_of(build, node, 1, "unwanted2");
    if (weight >= 0) {
        out[count++] = claret_build_grad(build, weight);
        out[count++] = claret_build_grad(build, input(node, BIAS));
    }
    claret_build_node(build, op, node, "dx", in, 6, out, count);
    return CLARET_OK;
}

/* ---- solvers ---- */

#define PLAIN_PARTS 64    /* of a channel, at most … */
#define PLAIN_CHUNK 16    /* … with as many pixels, at least */
#define NEAR_FLOATS 16384 /* that an item's vectors go over channel by channel: a near cache holds them */
#define MOST_PARTS 256
#define FEWEST_PIXELS 32

struct problem {
    int64_t channels, plane, pixels, parts, chunk, padded;
    int lanes; /* 0: the plain kernels */
    bool last; /* NHWC */
    bool affine, add;
    int relu;
    const char *source;
};

static struct problem problem_of(struct claret_emit *emit, const struct claret_node *node, int x,
                                 bool vectors)
{
    const struct claret_tensor *of = claret_emit_tensor(emit, x);
    const int64_t *dim = of->shape.dim;
    struct problem problem = {.channels = dim[1],
                              .plane = dim[2] * dim[3],
                              .pixels = dim[0] * dim[2] * dim[3],
                              .padded = dim[1],
                              .last = of->layout == CLARET_NHWC,
                              .affine = node->attr[AFFINE].i[0] != 0,
                              .add = adds(node),
                              .relu = relu(node),
                              .source = vectors ? "batch_norm2d_channels" : "batch_norm2d"};
    if (vectors) {
        problem.lanes = claret_vector_lanes(claret_emit_device(emit), dim[1]);
        problem.padded = (dim[1] + problem.lanes - 1) / problem.lanes * problem.lanes;
        problem.chunk =
            NEAR_FLOATS / problem.padded > FEWEST_PIXELS ? NEAR_FLOATS / problem.padded : FEWEST_PIXELS;
        if (problem.chunk * MOST_PARTS < problem.pixels)
            problem.chunk = (problem.pixels + MOST_PARTS - 1) / MOST_PARTS;
        problem.parts = (problem.pixels + problem.chunk - 1) / problem.chunk;
    } else {
        problem.parts = (problem.pixels + PLAIN_CHUNK - 1) / PLAIN_CHUNK;
        problem.parts = problem.parts < PLAIN_PARTS ? problem.parts : PLAIN_PARTS;
        problem.chunk = 1;
    }
    return problem;
}

/* Only what a kernel depends on is defined: programs are few. */
enum { WITH_AFFINE = 1, WITH_ADD = 2, WITH_RELU = 4, WITH_LAYOUT = 8 };

static struct claret_kernel_call *emit_kernel(struct claret_emit *emit, const struct problem *problem,
                                              const char *what, const char *source, const char *entry,
                                              int with)
{
    struct claret_kernel_call *call = claret_emit_kernel(emit, what, source, entry);
    if (with & WITH_AFFINE)
        claret_kernel_define(call, "AFFINE", problem->affine);
    if (with & WITH_ADD)
        claret_kernel_define(call, "ADD", problem->add);
    if (with & WITH_RELU)
        claret_kernel_define(call, "RELU", problem->relu);
    if (with & WITH_LAYOUT)
        claret_kernel_define(call, problem->lanes ? "LANES" : "LAST",
                             problem->lanes ? problem->lanes : problem->last);
    return call;
}

/* SIZES, the last arguments of each kernel. */
static void sizes(struct claret_kernel_call *call, const struct problem *problem)
{
    claret_kernel_int(call, problem->channels);
    claret_kernel_int(call, problem->plane);
    claret_kernel_int(call, problem->parts);
    claret_kernel_int(call, problem->lanes ? problem->chunk : 0);
    claret_kernel_int(call, problem->padded);
}

static void parts_range(struct claret_kernel_call *call, const struct problem *problem)
{
    sizes(call, problem);
    if (problem->lanes)
        claret_kernel_range(call, problem->parts, 1);
    else if (problem->last)
        claret_kernel_range3(call, problem->channels, problem->parts, 1, 64);
    else
        claret_kernel_range3(call, problem->parts, problem->channels, 1, 64);
}

static void all_range(struct claret_emit *emit, struct claret_kernel_call *call,
                      const struct problem *problem, int tensors)
{
    int64_t count = problem->pixels * problem->channels;
    claret_kernel_int(call, count);
    sizes(call, problem);
    if (problem->lanes)
        claret_kernel_range(call, (problem->pixels + problem->chunk - 1) / problem->chunk, 1);
    else
        claret_kernel_range(call, count, 64);
    claret_emit_cost(emit, 4.0 * (double)count, 4.0 * (double)count * tensors);
}

static void emit_statistics(struct claret_emit *emit, const struct claret_node *node,
                            const struct problem *problem)
{
    double count = (double)(problem->pixels * problem->channels);
    int parts = claret_emit_temp(emit, CLARET_DTYPE_F32, 2 * problem->parts * problem->padded);
    struct claret_kernel_call *call =
        emit_kernel(emit, problem, "statistics", problem->source, "batch_norm2d_parts", WITH_LAYOUT);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, input(node, STEP), 0);
    claret_kernel_tensor(call, parts, 0);
    parts_range(call, problem);
    claret_emit_cost(emit, 4 * count, 4 * count);
    call = emit_kernel(emit, problem, "join", "batch_norm2d", "batch_norm2d_join", 0);
    claret_kernel_tensor(call, parts, 0);
    claret_kernel_tensor(call, input(node, STEP), 0);
    for (int i = 1; i < 5; i++)
        claret_kernel_tensor(call, node->out[i], 0);
    claret_kernel_float(call, (float)node->attr[EPS].f);
    claret_kernel_float(call, (float)node->attr[MOMENTUM].f);
    sizes(call, problem);
    claret_kernel_range(call, problem->channels, 64);
}

static void emit_forward(struct claret_emit *emit, const struct claret_node *node, bool vectors)
{
    struct problem problem = problem_of(emit, node, node->in[0], vectors);
    bool train = trains(node);
    if (train)
        emit_statistics(emit, node, &problem);
    struct claret_kernel_call *call = emit_kernel(emit, &problem, "normalise", problem.source, "batch_norm2d",
                                                  WITH_AFFINE | WITH_ADD | WITH_RELU | WITH_LAYOUT);
    claret_kernel_define(call, "TRAIN", train);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->in[problem.add], 0);
    claret_kernel_tensor(call, problem.affine ? input(node, WEIGHT) : node->in[0], 0);
    claret_kernel_tensor(call, problem.affine ? input(node, BIAS) : node->in[0], 0);
    claret_kernel_tensor(call, train ? node->out[1] : input(node, MEAN), 0);
    claret_kernel_tensor(call, train ? node->out[1] : input(node, VAR), train ? problem.channels : 0);
    claret_kernel_tensor(call, node->out[0], 0);
    claret_kernel_float(call, (float)node->attr[EPS].f);
    all_range(emit, call, &problem, 2 + problem.add);
}

enum { DY, X, Y, STAT, DX_WEIGHT, DX_STEP }; /* a backward node's inputs */

static void emit_backward(struct claret_emit *emit, const struct claret_node *node, bool vectors)
{
    struct problem problem = problem_of(emit, node, node->in[X], vectors);
    int parts = claret_emit_temp(emit, CLARET_DTYPE_F32, 2 * problem.parts * problem.padded);
    int means = claret_emit_temp(emit, CLARET_DTYPE_F32, 2 * problem.channels), first = 1 + problem.add;
    double count = (double)(problem.pixels * problem.channels);
    struct claret_kernel_call *call =
        emit_kernel(emit, &problem, "sums", problem.source, "batch_norm2d_dx_parts", WITH_RELU | WITH_LAYOUT);
    for (int i = DY; i <= STAT; i++)
        claret_kernel_tensor(call, node->in[i], 0);
    claret_kernel_tensor(call, node->in[DX_STEP], 0);
    claret_kernel_tensor(call, parts, 0);
    parts_range(call, &problem);
    claret_emit_cost(emit, 4 * count, 4 * count * (2 + !!problem.relu));
    call = emit_kernel(emit, &problem, "join", "batch_norm2d", "batch_norm2d_dx_join", WITH_AFFINE);
    claret_kernel_tensor(call, parts, 0);
    claret_kernel_tensor(call, node->in[DX_STEP], 0);
    claret_kernel_tensor(call, means, 0);
    for (int i = 0; i < 2; i++)
        claret_kernel_tensor(call, problem.affine ? node->out[first + i] : means, 0);
    sizes(call, &problem);
    claret_kernel_range(call, problem.channels, 64);
    call = emit_kernel(emit, &problem, "gradient", problem.source, "batch_norm2d_dx",
                       WITH_AFFINE | WITH_ADD | WITH_RELU | WITH_LAYOUT);
    for (int i = DY; i <= STAT; i++)
        claret_kernel_tensor(call, node->in[i], 0);
    claret_kernel_tensor(call, problem.affine ? node->in[DX_WEIGHT] : node->in[STAT], 0);
    claret_kernel_tensor(call, means, 0);
    claret_kernel_tensor(call, node->in[DX_STEP], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    claret_kernel_tensor(call, node->out[problem.add], 0);
    all_range(emit, call, &problem, 3 + !!problem.relu + problem.add);
}

static void forward_channels_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_forward(emit, node, true);
}

static void forward_plain_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_forward(emit, node, false);
}

static void dx_channels_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_backward(emit, node, true);
}

static void dx_plain_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_backward(emit, node, false);
}

static bool channels_applicable(const struct claret_problem *problem, char reason[128])
{
    return claret_vector_device(problem->device, reason);
}

static const struct claret_solver forward_channels = {.name = "channels",
                                                      .layout = CLARET_LAYOUT_NHWC,
                                                      .applicable = channels_applicable,
                                                      .emit = forward_channels_emit};
static const struct claret_solver forward_plain = {
    .name = "plain", .layout = CLARET_LAYOUT_SAME, .emit = forward_plain_emit};
static const struct claret_solver dx_channels = {.name = "channels",
                                                 .layout = CLARET_LAYOUT_NHWC,
                                                 .applicable = channels_applicable,
                                                 .emit = dx_channels_emit};
static const struct claret_solver dx_plain = {
    .name = "plain", .layout = CLARET_LAYOUT_SAME, .emit = dx_plain_emit};
static const struct claret_solver *const forward_solvers[] = {&forward_channels, &forward_plain, NULL};
static const struct claret_solver *const dx_solvers[] = {&dx_channels, &dx_plain, NULL};

static const struct claret_op norm = {.name = "batch_norm2d",
                                      .schema = &schema,
                                      .layout = CLARET_LAYOUT_SAME,
                                      .shape = shape,
                                      .backward = backward,
                                      .solvers = forward_solvers};
static const char *const with_relu[] = {"batch_norm2d", "relu", NULL};
static const struct claret_op norm_relu = {.name = "batch_norm2d_relu",
                                           .layout = CLARET_LAYOUT_SAME,
                                           .chain = with_relu,
                                           .shape = shape,
                                           .backward = backward,
                                           .solvers = forward_solvers};
static const char *const with_relu6[] = {"batch_norm2d", "relu6", NULL};
static const struct claret_op norm_relu6 = {.name = "batch_norm2d_relu6",
                                            .layout = CLARET_LAYOUT_SAME,
                                            .chain = with_relu6,
                                            .shape = shape,
                                            .backward = backward,
                                            .solvers = forward_solvers};
static const char *const with_add_relu[] = {"batch_norm2d", "add", "relu", NULL};
static const struct claret_op norm_add_relu = {.name = "batch_norm2d_add_relu",
                                               .layout = CLARET_LAYOUT_SAME,
                                               .chain = with_add_relu,
                                               .fits = add_fits,
                                               .shape = shape,
                                               .backward = backward,
                                               .solvers = forward_solvers};
static const struct claret_op norm_dx = {.name = "batch_norm2d_dx", .solvers = dx_solvers};
static const struct claret_op norm_relu_dx = {.name = "batch_norm2d_relu_dx", .solvers = dx_solvers};
static const struct claret_op norm_relu6_dx = {.name = "batch_norm2d_relu6_dx", .solvers = dx_solvers};
static const struct claret_op norm_add_relu_dx = {.name = "batch_norm2d_add_relu_dx", .solvers = dx_solvers};

extern const struct claret_op *const claret_ops_batch_norm2d[];
const struct claret_op *const claret_ops_batch_norm2d[] = {&norm,          &norm_relu,        &norm_relu6,
                                                           &norm_add_relu, &norm_dx,          &norm_relu_dx,
                                                           &norm_relu6_dx, &norm_add_relu_dx, NULL};
