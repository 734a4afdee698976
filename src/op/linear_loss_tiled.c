/* The last, fully connected layer with the loss, on GPUs: forward by cl/linear_loss_tiled.cl, backward by
 * GEMMs. */
#include "op/linear.h"
#include "op/update.h"
#include "op/tiles.h"

#include <stdio.h>

#define OUTPUTS 8      /* that an item adds side by side */
#define MAX_GROUP 128  /* items that share an image: with the outputs, 4 KiB of sums */
#define SMALL_GROUP 64 /* with fewer features an item would have too little to add */

static bool unasked(const struct claret_problem *problem)
{
    return claret_tile_unasked(problem->device);
}

/* 1 at least. */
static int64_t group_of(const struct claret_device_desc *device, int64_t features)
{
    int64_t group = features > 8 * SMALL_GROUP ? MAX_GROUP : SMALL_GROUP;
    while (group > 1 && ((size_t)group > device->max_work_group || (size_t)group > device->max_item[0]))
        group /= 2;
    return group;
}

static bool forward_applicable(const struct claret_problem *problem, char reason[128])
{
    const struct claret_node *node = problem->node;
    int64_t outputs = problem->tensors[node->out[1]].shape.dim[1];
    int64_t features = problem->tensors[node->in[0]].shape.dim[1];
    uint64_t bytes = (uint64_t)(OUTPUTS * group_of(problem->device, features) + outputs) * sizeof(float);
    bool fine = bytes <= problem->device->local_mem && outputs * features <= INT32_MAX;
    if (!fine)
        snprintf(reason, 128, "its logits or weights are too large");
    return fine;
}

static void forward_emit(struct claret_emit *emit, const struct claret_node *node)
{
    const struct claret_shape x = claret_emit_tensor(emit, node->in[0])->shape;
    int64_t n = x.dim[0], f = x.dim[1], o = claret_emit_tensor(emit, node->out[1])->shape.dim[1];
    int64_t group = group_of(claret_emit_device(emit), f);
    struct claret_kernel_call *call =
        claret_emit_kernel(emit, "linear+loss", "linear_loss_tiled", "linear_loss_tiled");
    claret_kernel_define(call, "GROUP", group);
    claret_kernel_define(call, "F", f);
    claret_kernel_define(call, "O", o);
    claret_kernel_define(call, "OT", o < OUTPUTS ? o : OUTPUTS);
    claret_kernel_define(call, "HAS_BIAS", node->in[2] >= 0);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, node->in[2] >= 0 ? node->in[2] : node->in[1], 0);
    claret_kernel_tensor(call, node->in[3], 0);
    claret_kernel_tensor(call, node->in[4], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    claret_kernel_tensor(call, node->out[1], 0);
    claret_kernel_range3(call, n * group, 1, 1, (size_t)group);
    call->fixed = true;
    claret_emit_cost(emit, 2.0 * (double)n * (double)f * (double)o, 4.0 * (double)(n * f + f * o));
}

/* dx first: it is made with the weights as they were. */
static void backward_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_linear_backward in = claret_linear_backward_of(node);
    const struct claret_shape x = claret_emit_tensor(emit, in.x)->shape;
    int64_t n = x.dim[0], f = x.dim[1], o = claret_emit_tensor(emit, in.dy)->shape.dim[1];
    int64_t weights = o * f, biases = in.bias >= 0 ? o : 0;
    int sums = claret_emit_temp(emit, CLARET_DTYPE_F32, weights + biases);
    const struct claret_gemm_call by_x = {.m = n,
                                          .n = f,
                                          .k = o,
                                          .alpha = 1,
                                          .a = {in.dy, 0, o, false},
                                          .b = {in.weight, 0, f, false},
                                          .c = {in.dx, 0, f, false}};
    const struct claret_gemm_call by_weight = {.m = o,
                                               .n = f,
                                               .k = n,
                                               .alpha = 1,
                                               .a = {in.dy, 0, o, true},
                                               .b = {in.x, 0, f, false},
                                               .c = {sums, 0, f, false}};
    if (in.dx >= 0)
        claret_emit_gemm(emit, "gemm", &by_x);
    claret_emit_gemm(emit, "gemm", &by_weight);
    if (biases) {
        struct claret_kernel_call *call = claret_emit_kernel(emit, "bias", "linear", "column_sums");
        claret_kernel_tensor(call, in.dy, 0);
        claret_kernel_tensor(call, sums, weights);
        claret_kernel_int(call, n);
        claret_kernel_int(call, o);
        claret_kernel_range(call, o, 64);
        claret_emit_cost(emit, (double)(n * o), 4.0 * (double)(n * o));
    }
    claret_update_emit_sum(emit, node, in.params, in.first, sums, weights, biases, 1);
}

const struct claret_solver claret_linear_loss_tiled = {
    .name = "groups", .applicable = forward_applicable, .unasked = unasked, .emit = forward_emit};
const struct claret_solver claret_linear_backward_gemm = {
    .name = "gemm", .unasked = unasked, .emit = backward_emit, .gemms = true};
