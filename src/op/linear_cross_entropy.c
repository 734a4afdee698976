/* linear and the cross-entropy loss in one.
 * linear_cross_entropy: in x (N, F), weight (O, F), bias or none, labels, step; out losses (N), dlogits (N,
 * O). linear_backward: in dy (N, O), x, and what an update takes, or weight and bias alone; out dx (N, F)
 * where it is wanted, then the gradients of weight and bias, or what the update changes. dx is made with the
 * weights as they were. */
#include "op/linear.h"
#include "op/update.h"
#include "op/vectors.h"

#include <stdio.h>

#define MANY_IMAGES 32
#define MANY_OUTPUTS 128
#define MAX_CLASSES 1024 /* logits of an image stay in private memory */
#define FORWARD_IMAGES 4 /* that share one reading of the weights … */
#define FEW_IMAGES 2     /* … or these, where a batch is small */
#define BACKWARD_OUTPUTS 32
#define BACKWARD_SUMS 1024 /* vectors of the weights' gradients that stay in a near cache */
#define PANEL_VECTORS 3    /* of features */
#define PANELS_BYTES                                                                                         \
    (1 << 19) /* of weights and state that an item changes: what a second-level cache keeps beside others */
#define BACKWARD_ITEMS 4 /* for each unit, to even out their pace */

static const struct claret_op linear_cross_entropy, linear_backward;

static bool fits(const struct claret_attr *const *attrs, const struct claret_shape *in,
                 const struct claret_shape *other)
{
    (void)other;
    (void)in;
    return attrs[0][CLARET_LINEAR_OUT_FEATURES].i[0] <= MAX_CLASSES;
}

static enum claret_status shape(struct claret_build *build, struct claret_node *node)
{
    struct claret_shape y;
    CLARET_TRY(claret_linear_build(build, node, &y));
    if (node->in_count == 2)
        claret_build_input(node, -1);
    claret_build_input(node, claret_build_labels(build));
    claret_build_input(node, claret_build_step(build));
    claret_build_output(build, node, CLARET_DTYPE_F32, claret_shape1(y.dim[0]));
    claret_build_output(build, node, CLARET_DTYPE_F32, y);
    return CLARET_OK;
}

/* linear_backward's inputs: dy, x, weight, bias, then with an update (again) params, state, step. */
enum { DY, X, WEIGHT, BIAS, PARAMS };

static enum claret_status backward(struct claret_build *build, const struct claret_node *node)
{
    int in[4] = {node->out[1], node->in[0], node->in[1], node->in[2]};
    int dx = claret_build_wants(build, node->in[0]) ? claret_build_grad(build, node->in[0]) : -1;
    struct claret_node *made =
        claret_build_node(build, &linear_backward, node, "backward", in, 4, &dx, dx >= 0 ? 1 : 0);
    claret_build_gradients(build, made, in + WEIGHT, 2);
    return CLARET_OK;
}

struct problem {
    int64_t n, f, o;
    int lanes;
    int64_t tile; /* outputs in the register tile */
};

static struct problem problem_of(struct claret_emit *emit, int x, int64_t outputs, int room)
{
    const struct claret_shape shape = claret_emit_tensor(emit, x)->shape;
    struct problem problem = {.n = shape.dim[0], .f = shape.dim[1], .o = outputs};
    problem.lanes = claret_vector_lanes(claret_emit_device(emit), problem.f);
    problem.tile = claret_emit_tunable(emit, "OT", claret_vector_split(outputs, room));
    return problem;
}

static void defines(struct claret_kernel_call *call, const struct problem *problem, bool bias, int64_t images)
{
    claret_kernel_define(call, "LANES", problem->lanes);
    claret_kernel_define(call, "O", problem->o);
    claret_kernel_define(call, "OT", problem->tile);
    claret_kernel_define(call, "HAS_BIAS", bias);
    claret_kernel_define(call, "IMAGES", images);
}

static void size_defines(struct claret_kernel_call *call, const struct problem *problem)
{
    claret_kernel_define(call, "N", problem->n);
    claret_kernel_define(call, "F", problem->f);
}

/* Images' logits, and with `loss` what comes of them. */
static void emit_logits(struct claret_emit *emit, const struct claret_node *node, bool loss)
{
    const struct claret_device_desc *device = claret_emit_device(emit);
    int64_t outputs = node->attr[CLARET_LINEAR_OUT_FEATURES].i[0];
    int64_t share = claret_emit_tensor(emit, node->in[0])->shape.dim[0] / (int64_t)device->compute_units;
    /* As many as share one reading of the weights, but two items for each unit where there are so many. */
    int64_t images =
        claret_emit_tunable(emit, "IMAGES", share >= 2 * FORWARD_IMAGES ? FORWARD_IMAGES : FEW_IMAGES);
    struct problem problem = problem_of(emit, node->in[0], outputs, claret_vector_tile(device) / (int)images);
    struct claret_kernel_call *call = claret_emit_kernel(
        emit, loss ? "linear+loss" : "linear", "linear_cross_entropy", loss ? "linear_loss" : "linear_rows");
    bool bias = node->in_count > 2 && node->in[2] >= 0;
    defines(call, &problem, bias, images);
    if (loss)
        size_defines(call, &problem);
    else
        claret_kernel_define(call, "RELU", claret_linear_has_relu(node));
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, bias ? node->in[2] : node->in[1], 0);
    for (int i = 3; i < node->in_count; i++)
        claret_kernel_tensor(call, node->in[i], 0);
    for (int i = 0; i < node->out_count; i++)
        claret_kernel_tensor(call, node->out[i], 0);
    if (!loss) {
        claret_kernel_int(call, problem.n);
        claret_kernel_int(call, problem.f);
    }
    claret_kernel_range(call, (problem.n + images - 1) / images, 1);
    claret_emit_cost(emit, 2.0 * (double)problem.n * (double)problem.f * (double)problem.o,
                     4.0 * (double)(problem.n * problem.f + problem.f * problem.o));
}

static void forward_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_logits(emit, node, true);
}

static const struct claret_tunable forward_tunables[] = {
    {"OT", {1, 2, 3, 4, 5, 6, 8, 10, 12, 16}}, /* outputs of a tile */
    {"IMAGES", {1, 2, 3, 4, 6, 8}},            /* that share one reading of the weights */
    {.name = NULL},
};
static const struct claret_tunable backward_tunables[] = {
    {"OT", {4, 8, 10, 16, 25, 32, 50}},  /* outputs whose sums stay in a near cache */
    {"IMAGES", {1, 2, 4, 6, 8, 12}},     /* in registers */
    {"BLOCK", {1, 2, 4, 8, 16, 32, 64}}, /* vectors of features that one item does */
    {.name = NULL},
};

static const struct claret_tunable panels_tunables[] = {
    {"FT", {1, 2, 3, 4, 5, 6, 8}},             /* vectors of features of a panel, and of a register tile */
    {"OT", {2, 3, 4, 5, 6, 8, 10, 12}},        /* outputs of a register tile */
    {"IMAGES", {1, 2, 3, 4, 5, 6, 8, 12}},     /* images of one */
    {"BLOCK", {3, 6, 12, 18, 24, 30, 48, 60}}, /* vectors of features that one item does */
    {.name = NULL},
};

static bool forward_applicable(const struct claret_problem *problem, char reason[128])
{
    int64_t tile = claret_param(problem->params, "OT", 1),
            images = claret_param(problem->params, "IMAGES", 1),
            outputs = problem->node->attr[CLARET_LINEAR_OUT_FEATURES].i[0];
    bool fine = tile <= outputs && tile * images <= 2 * claret_vector_tile(problem->device);
    if (!fine)
        snprintf(reason, 128, "a tile of %lld outputs of %lld images is too large", (long long)tile,
                 (long long)images);
    return fine;
}

static bool backward_applicable(const struct claret_problem *problem, char reason[128])
{
    int64_t tile = claret_param(problem->params, "OT", 1),
            outputs = problem->tensors[problem->node->in[DY]].shape.dim[1];
    if (tile > outputs)
        snprintf(reason, 128, "a tile of %lld outputs is too large for %lld", (long long)tile,
                 (long long)outputs);
    return tile <= outputs;
}

static bool rows_applicable(const struct claret_problem *problem, char reason[128])
{
    if (problem->node->attr[CLARET_LINEAR_OUT_FEATURES].i[0] <= MAX_CLASSES)
        return claret_vector_device(problem->device, reason) && forward_applicable(problem, reason);
    snprintf(reason, 128, "more than %d outputs", MAX_CLASSES);
    return false;
}

static void rows_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_logits(emit, node, false);
}

/* A GEMM's packing pays with many images and outputs. */
static bool rows_unasked(const struct claret_problem *problem)
{
    const struct claret_shape *x = &problem->tensors[problem->node->in[0]].shape;
    return x->dim[0] < MANY_IMAGES || problem->node->attr[CLARET_LINEAR_OUT_FEATURES].i[0] < MANY_OUTPUTS;
}

const struct claret_solver claret_linear_rows = {.name = "rows",
                                                 .applicable = rows_applicable,
                                                 .unasked = rows_unasked,
                                                 .emit = rows_emit,
                                                 .tunables = forward_tunables};

struct claret_linear_backward claret_linear_backward_of(const struct claret_node *node)
{
    int first = node->out_count > claret_update_outputs(node, node->in[BIAS] >= 0);
    return (struct claret_linear_backward){.dy = node->in[DY],
                                           .x = node->in[X],
                                           .weight = node->in[WEIGHT],
                                           .bias = node->in[BIAS],
                                           .dx = first ? node->out[0] : -1,
                                           .params = PARAMS,
                                           .first = first};
}

static int64_t vectors_of(const struct problem *problem)
{
    return (problem->f + problem->lanes - 1) / problem->lanes;
}

static int64_t outputs_of(struct claret_emit *emit, const struct claret_node *node)
{
    return claret_emit_tensor(emit, node->in[DY])->shape.dim[1];
}

/* What both kernels take. block: vectors of features that an item does; ft: of these at a time. */
static void emit_backward(struct claret_emit *emit, const struct claret_node *node,
                          const struct problem *problem, int64_t images, int64_t block, int64_t ft,
                          const char *source, const char *entry)
{
    struct claret_linear_backward of = claret_linear_backward_of(node);
    bool dx = of.dx >= 0;
    struct claret_kernel_call *call = claret_emit_kernel(emit, "linear", source, entry);
    defines(call, problem, of.bias >= 0, images);
    size_defines(call, problem);
    claret_kernel_define(call, "HAS_DX", dx);
    claret_update_defines(call, node);
    claret_kernel_tensor(call, node->in[DY], 0);
    claret_kernel_tensor(call, node->in[X], 0);
    claret_kernel_tensor(call, node->in[WEIGHT], 0);
    claret_kernel_tensor(call, dx ? of.dx : node->in[X], 0);
    claret_update_arguments(call, node, PARAMS, of.first);
    claret_kernel_define(call, "BLOCK", block);
    claret_kernel_define(call, "FT", ft);
    claret_kernel_range(call, (vectors_of(problem) + block - 1) / block, 1);
    claret_emit_cost(emit, (dx ? 4.0 : 2.0) * (double)problem->n * (double)problem->f * (double)problem->o,
                     4.0 * (double)(2 * problem->n * problem->f + 4 * problem->f * problem->o));
}

/* Vectors of features an item, so that there are some items for each unit. */
static int64_t block_of(struct claret_emit *emit, const struct problem *problem)
{
    int64_t items = BACKWARD_ITEMS * (int64_t)claret_emit_device(emit)->compute_units;
    int64_t vectors = vectors_of(problem);
    return (vectors + items - 1) / items;
}

static void backward_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct problem problem = problem_of(emit, node->in[X], outputs_of(emit, node), BACKWARD_OUTPUTS);
    int room = claret_vector_tile(claret_emit_device(emit));
    int64_t images = claret_emit_tunable(emit, "IMAGES", claret_vector_split(problem.n, room / 3));
    int64_t block = claret_emit_tunable(emit, "BLOCK", block_of(emit, &problem));
    emit_backward(emit, node, &problem, images, block,
                  claret_vector_split(block, BACKWARD_SUMS / (int)problem.tile), "linear_cross_entropy",
                  "linear_backward");
}

/* ---- panels: with many outputs ---- */

static void panels_emit(struct claret_emit *emit, const struct claret_node *node)
{
    int room = claret_vector_tile(claret_emit_device(emit));
    int64_t ft = claret_emit_tunable(emit, "FT", PANEL_VECTORS);
    struct problem problem = problem_of(emit, node->in[X], outputs_of(emit, node), room / (int)ft);
    int64_t images = claret_emit_tunable(emit, "IMAGES", claret_vector_split(problem.n, room / (int)ft));
    int64_t block = block_of(emit, &problem), most = PANELS_BYTES / (8 * problem.lanes * problem.o);
    block = ((block < most ? block : most) + ft - 1) / ft * ft;
    block = block > 0 ? block : ft;
    emit_backward(emit, node, &problem, images, claret_emit_tunable(emit, "BLOCK", block), ft,
                  "linear_backward_panels", "linear_backward_panels");
}

static bool panels_applicable(const struct claret_problem *problem, char reason[128])
{
    int64_t ft = claret_param(problem->params, "FT", PANEL_VECTORS);
    int64_t tile = claret_param(problem->params, "OT", 1),
            images = claret_param(problem->params, "IMAGES", 1);
    return backward_applicable(problem, reason) &&
           claret_vector_tile_fits(problem->device, (int)(tile > images ? tile : images), (int)ft, reason);
}

/* With few outputs one reading of the images for both gradients is worth more. */
static bool panels_unasked(const struct claret_problem *problem)
{
    return problem->tensors[problem->node->in[DY]].shape.dim[1] > BACKWARD_OUTPUTS;
}

static double multiply_adds(const struct claret_node *node, const struct claret_tensor *tensors)
{
    return (double)claret_shape_count(&tensors[node->in[0]].shape) *
           (double)tensors[node->out[1]].shape.dim[1];
}

static const struct claret_solver forward_rows = {
    .name = "rows", .applicable = forward_applicable, .emit = forward_emit, .tunables = forward_tunables};
static const struct claret_solver backward_rows = {
    .name = "rows", .applicable = backward_applicable, .emit = backward_emit, .tunables = backward_tunables};
static const struct claret_solver backward_panels = {.name = "panels",
                                                     .applicable = panels_applicable,
                                                     .unasked = panels_unasked,
                                                     .emit = panels_emit,
                                                     .tunables = panels_tunables};
static const struct claret_solver *const forward_solvers[] = {&claret_linear_loss_tiled, &forward_rows, NULL};
static const struct claret_solver *const backward_solvers[] = {&claret_linear_backward_gemm, &backward_panels,
                                                               &backward_rows, NULL};

static const char *const chain[] = {"linear", "cross_entropy", NULL};
static const struct claret_op linear_cross_entropy = {.name = "linear_cross_entropy",
                                                      .chain = chain,
                                                      .fits = fits,
                                                      .shape = shape,
                                                      .backward = backward,
                                                      .solvers = forward_solvers,
                                                      .multiply_adds = multiply_adds};
static const struct claret_op linear_backward = {.name = "linear_backward", .solvers = backward_solvers};

extern const struct claret_op *const claret_ops_linear_cross_entropy[];
const struct claret_op *const claret_ops_linear_cross_entropy[] = {&linear_cross_entropy, &linear_backward,
                                                                   NULL};
