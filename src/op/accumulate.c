/* accumulate: in grads, mean, step; out mean, changed: the gradients of the batches since the last update,
 * averaged by the weights of their images, 1 each without class weights. STEP_WEIGHT is this batch's share of
 * all so far: the mean moves by that part of the way to its gradients, and is them where it is 1. */
#include "op/op.h"
#include "op/update.h"

static void emit(struct claret_emit *emit, const struct claret_node *node)
{
    int64_t count = claret_shape_count(&claret_emit_tensor(emit, node->in[0])->shape);
    struct claret_kernel_call *call = claret_emit_kernel(emit, "accumulate", "accumulate", "accumulate");
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, node->in[2], 0);
    claret_kernel_int(call, count);
    claret_kernel_range(call, count, 64);
    claret_emit_cost(emit, 3.0 * (double)count, 12.0 * (double)count);
}

static const struct claret_solver plain = {.name = "plain", .emit = emit};
static const struct claret_solver *const solvers[] = {&plain, NULL};
static const struct claret_op accumulate = {.name = "accumulate", .solvers = solvers};

extern const struct claret_op *const claret_ops_accumulate[];
const struct claret_op *const claret_ops_accumulate[] = {&accumulate, NULL};
