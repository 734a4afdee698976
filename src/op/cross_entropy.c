/* cross_entropy: PyTorch's CrossEntropyLoss with the mean over the true batch size. Image n, of class y, has
 * the targets t[c] = w[y] * (1 - smoothing) * (c == y) + w[c] * smoothing / C, where w[c] is the class's
 * weight, else 1. losses[n] = -sum of t[c] * log softmax(logits[n])[c], times count / (the sum of w[y] over
 * the batch) where there are weights; dlogits accordingly. A batch whose weights are all 0 gives 0, where
 * PyTorch has NaN. */
#include "op/op.h"

#include "op/loss.h"

const char *claret_loss_op(enum claret_loss_kind kind)
{
    static const char *const names[] = {"cross_entropy", "mse_loss", "bce_with_logits_loss"};
    return names[kind];
}

bool claret_loss_plain(const struct claret_loss *loss)
{
    return loss->kind == CLARET_LOSS_CROSS_ENTROPY && loss->label_smoothing == 0 && !loss->weighted;
}

enum { LOGITS, LABELS, STEP, WEIGHTS };

static void emit(struct claret_emit *emit, const struct claret_node *node)
{
    const struct claret_shape logits = claret_emit_tensor(emit, node->in[LOGITS])->shape;
    const bool weighted = node->in_count > WEIGHTS;
    const double smoothing = node->attr ? node->attr[CLARET_LOSS_SMOOTHING].f : 0;
    struct claret_kernel_call *call = claret_emit_kernel(emit, "loss", "cross_entropy", "cross_entropy");
    claret_kernel_define(call, "SMOOTHED", smoothing != 0);
    claret_kernel_define(call, "WEIGHTED", weighted);
    for (int i = LOGITS; i <= STEP; i++)
        claret_kernel_tensor(call, node->in[i], 0);
    claret_kernel_tensor(call, node->in[weighted ? WEIGHTS : LOGITS], 0);
    for (int i = 0; i < 2; i++)
        claret_kernel_tensor(call, node->out[i], 0);
    claret_kernel_float(call, (float)smoothing);
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
