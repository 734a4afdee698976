/* ema: in params, average, step; out average, changed: after each update it moves by 1 - decay of the way to
 * the parameters, and is them after the first (torch.optim.swa_utils.AveragedModel by get_ema_multi_avg_fn).
 */
#include "op/op.h"
#include "op/update.h"

static void emit(struct claret_emit *emit, const struct claret_node *node)
{
    int64_t count = claret_shape_count(&claret_emit_tensor(emit, node->in[0])->shape);
    struct claret_kernel_call *call = claret_emit_kernel(emit, "ema", "ema", "ema");
    claret_kernel_define(call, "ACCUMULATE", node->update->accumulate);
    for (int i = 0; i < 3; i++)
        claret_kernel_tensor(call, node->in[i], 0);
    claret_kernel_int(call, count);
    claret_kernel_float(call, (float)(1 - node->update->ema));
    claret_kernel_range(call, count, 64);
    claret_emit_cost(emit, 3.0 * (double)count, 12.0 * (double)count);
}

static const struct claret_solver plain = {.name = "plain", .emit = emit};
static const struct claret_solver *const solvers[] = {&plain, NULL};
static const struct claret_op ema = {.name = "ema", .solvers = solvers};

extern const struct claret_op *const claret_ops_ema[];
const struct claret_op *const claret_ops_ema[] = {&ema, NULL};
