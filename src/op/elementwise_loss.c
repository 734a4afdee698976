/* mse_loss, bce_with_logits_loss: losses that add each logit's own; PyTorch's MSELoss and BCEWithLogitsLoss,
 * with the mean over images and classes. The target of a logit is 1 for its image's class, else 0 (one_hot).
 */
#include "op/op.h"

#include "op/loss.h"

static const struct claret_op mse_loss, bce_with_logits_loss;

static void emit(struct claret_emit *emit, const struct claret_node *node)
{
    const struct claret_shape logits = claret_emit_tensor(emit, node->in[0])->shape;
    struct claret_kernel_call *call =
        claret_emit_kernel(emit, "loss", "elementwise_loss", "elementwise_loss");
    claret_kernel_define(call, "BCE", node->op == &bce_with_logits_loss);
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
static const struct claret_op mse_loss = {.name = "mse_loss", .solvers = solvers};
static const struct claret_op bce_with_logits_loss = {.name = "bce_with_logits_loss", .solvers = solvers};

extern const struct claret_op *const claret_ops_elementwise_loss[];
const struct claret_op *const claret_ops_elementwise_loss[] = {&mse_loss, &bce_with_logits_loss, NULL};
