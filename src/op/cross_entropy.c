/* cross_entropy: in logits (N, C), labels (N), step; out losses (N), dlogits (N, C).
 * PyTorch's CrossEntropyLoss with mean over the true batch size: losses[n] = -log softmax(logits[n])[label],
 * dlogits = (softmax - one hot) / count; rows from the true batch size on give 0. */
#include "op/op.h"

static void emit(struct claret_emit *emit, const struct claret_node *node)
{
    const struct claret_shape logits = claret_emit_tensor(emit, node->in[0])->shape;
    struct claret_kernel_call *call = claret_emit_kernel(emit, "loss", "cross_entropy", "cross_entropy");
    for (int i = 0; i < 3; i++)
        claret_kernel_tensor(call, node->in[i], 0);
    for (int i = 0; i < 2; i++)
        claret_kernel_tensor(call, node->out[i], 0);
    claret_kernel_int(call, logits.dim[0]);
    claret_kernel_int(call, logits.dim[1]);
    claret_kernel_range(call, logits.dim[0], 64);
    claret_emit_cost(emit, 5.0 * (double)(logits.dim[0] * logits.dim[1]),
                     8.0 * (double)(logits.dim[0] * logits.dim[1]));
}

static const struct claret_solver plain = {.name = "plain", .emit = emit};
static const struct claret_solver *const solvers[] = {&plain, NULL};
static const struct claret_op cross_entropy = {.name = "cross_entropy", .solvers = solvers};

extern const struct claret_op *const claret_ops_cross_entropy[];
const struct claret_op *const claret_ops_cross_entropy[] = {&cross_entropy, NULL};
