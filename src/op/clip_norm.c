/* clip_norm: in grads, all of them; out scale (1), what they are to be multiplied with so that their norm is
 * at most update->clip_norm: torch.nn.utils.clip_grad_norm_'s min(1, clip_norm / (norm + 1e-6)). */
#include "op/op.h"
#include "op/update.h"

#define PARTS 1024 /* sums that are made at once, on every device as many: the same bits on each */

static void emit(struct claret_emit *emit, const struct claret_node *node)
{
    int64_t count = claret_shape_count(&claret_emit_tensor(emit, node->in[0])->shape);
    int parts = claret_emit_temp(emit, CLARET_DTYPE_F32, PARTS);
    struct claret_kernel_call *call = claret_emit_kernel(emit, "squares", "clip_norm", "clip_norm_squares");
    claret_kernel_define(call, "PARTS", PARTS);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, parts, 0);
    claret_kernel_int(call, count);
    claret_kernel_range(call, PARTS, 64);
    claret_emit_cost(emit, 2.0 * (double)count, 4.0 * (double)count);
    call = claret_emit_kernel(emit, "scale", "clip_norm", "clip_norm_scale");
    claret_kernel_define(call, "PARTS", PARTS);
    claret_kernel_tensor(call, parts, 0);
    claret_kernel_tensor(call, node->out[0], 0);
    claret_kernel_float(call, (float)node->update->clip_norm);
    claret_kernel_range(call, 1, 1);
}

static const struct claret_solver plain = {.name = "plain", .emit = emit};
static const struct claret_solver *const solvers[] = {&plain, NULL};
static const struct claret_op clip_norm = {.name = "clip_norm", .solvers = solvers};

extern const struct claret_op *const claret_ops_clip_norm[];
const struct claret_op *const claret_ops_clip_norm[] = {&clip_norm, NULL};
