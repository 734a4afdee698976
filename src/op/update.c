/* update: in params, grads, the slots of state, the gradients' scale where their norm is clipped, step;
 * changes params and state of a run of parameters in one launch. PyTorch's formulas, p a parameter, g its
 * gradient (all but AdamW: + weight_decay * p), lr the rate:
 *   SGD      v = g in the first step, else momentum * v + (1 - dampening) * g
 *            p -= lr * (nesterov ? g + momentum * v : v)
 *   Adam     m += (1 - beta1) * (g - m), s = beta2 * s + (1 - beta2) * g * g, in step t
 *            p -= lr / (1 - beta1^t) * m / (sqrt(s) / sqrt(1 - beta2^t) + eps)
 *   AdamW    the same after p *= 1 - lr * weight_decay
 *   RMSprop  s = alpha * s + (1 - alpha) * g * g; centered: m += (1 - alpha) * (g - m), s - m * m for s below
 *            v = momentum * v + g / (sqrt(s) + eps), p -= lr * v */
#include "op/update.h"

#include <math.h>

#include "op/op.h"

bool claret_optimizer_is_adam(const struct claret_optimizer *optimizer)
{
    return optimizer->kind == CLARET_OPTIMIZER_ADAM || optimizer->kind == CLARET_OPTIMIZER_ADAMW;
}

int claret_optimizer_slots(const struct claret_optimizer *optimizer)
{
    bool adam = claret_optimizer_is_adam(optimizer);
    if (adam)
        return 2;
    return (optimizer->momentum != 0) + (optimizer->kind == CLARET_OPTIMIZER_RMSPROP) +
           (optimizer->kind == CLARET_OPTIMIZER_RMSPROP && optimizer->centered);
}

void claret_optimizer_corrections(const struct claret_optimizer *optimizer, uint64_t number, float *mean,
                                  float *square)
{
    bool adam = claret_optimizer_is_adam(optimizer);
    *mean = adam ? (float)(1 / (1 - pow(optimizer->beta1, (double)number))) : 1;
    *square = adam ? (float)(1 / sqrt(1 - pow(optimizer->beta2, (double)number))) : 1;
}

float claret_optimizer_momentum(const struct claret_optimizer *optimizer)
{
    bool adam = claret_optimizer_is_adam(optimizer);
    return (float)(adam ? 1 - optimizer->beta1 : optimizer->momentum);
}

static void defines(struct claret_kernel_call *call, const struct claret_update *update)
{
    claret_kernel_define(call, "OPTIMIZER", update->optimizer.kind);
    claret_kernel_define(call, "MOMENTUM", update->optimizer.momentum != 0);
    claret_kernel_define(call, "NESTEROV", update->optimizer.nesterov);
    claret_kernel_define(call, "CENTERED", update->optimizer.centered);
}

/* GROUP_PARAMETERS of so many groups, then UPDATE_PARAMETERS with the three numbers of cl/common.clh's
 * `hyper`. */
static void arguments(struct claret_kernel_call *call, const struct claret_update *update, int groups)
{
    const struct claret_optimizer *optimizer = &update->optimizer;
    double hyper[3] = {0};
    switch (optimizer->kind) {
    case CLARET_OPTIMIZER_SGD:
        hyper[0] = 1 - optimizer->dampening;
        break;
    case CLARET_OPTIMIZER_ADAM:
    case CLARET_OPTIMIZER_ADAMW:
        hyper[0] = optimizer->beta2;
        hyper[1] = 1 - optimizer->beta2;
        hyper[2] = optimizer->eps;
        break;
    case CLARET_OPTIMIZER_RMSPROP:
        hyper[0] = optimizer->alpha;
        hyper[1] = 1 - optimizer->alpha;
        hyper[2] = optimizer->eps;
        break;
    }
    for (int i = 0; i < groups; i++) {
        claret_kernel_float(call, (float)update->group[i].rate);
        claret_kernel_float(call, (float)update->group[i].decay);
    }
    claret_kernel_int(call, update->slots > 1 ? update->stride : 0);
    for (int i = 0; i < 3; i++)
        claret_kernel_float(call, (float)hyper[i]);
}

void claret_update_defines(struct claret_kernel_call *call, const struct claret_node *node)
{
    claret_kernel_define(call, "UPDATE", node->update != NULL);
    if (node->update)
        defines(call, node->update);
}

bool claret_update_bias(const struct claret_node *node, int at, int first)
{
    return node->update ? node->in[at + 1] >= 0 : node->out_count > first + 1;
}

int claret_update_outputs(const struct claret_node *node, bool bias)
{
    return (1 + bias) * (node->update ? 1 + node->update->slots : 1);
}

/* What is not there is the weight once more: the kernel does not touch it. Of state the first slot is passed.
 */
void claret_update_arguments(struct claret_kernel_call *call, const struct claret_node *node, int at,
                             int first)
{
    static const struct claret_update none = {.slots = 0};
    const struct claret_update *update = node->update ? node->update : &none;
    const int weight = node->out[first], *state = node->in + at + 2;
    claret_kernel_tensor(call, weight, 0);
    claret_kernel_tensor(call, claret_update_bias(node, at, first) ? node->out[first + 1] : weight, 0);
    for (int i = 0; i < 2; i++)
        claret_kernel_tensor(call, update->slots > 0 && state[i] >= 0 ? state[i] : weight, 0);
    claret_kernel_tensor(call, node->update ? node->in[node->in_count - 1] : weight, 0);
    arguments(call, update, 2);
}

void claret_update_emit_sum(struct claret_emit *emit, const struct claret_node *node, int at, int first,
                            int parts, int64_t weights, int64_t biases, int64_t chunks)
{
    struct claret_kernel_call *call = claret_emit_kernel(emit, "sum", "gradients", "sum_gradients");
    claret_update_defines(call, node);
    claret_kernel_tensor(call, parts, 0);
    claret_update_arguments(call, node, at, first);
    claret_kernel_int(call, weights);
    claret_kernel_int(call, biases);
    claret_kernel_int(call, chunks);
    claret_kernel_range(call, weights + biases, 64);
    claret_emit_cost(emit, (double)(chunks * (weights + biases)),
                     4.0 * (double)(chunks * (weights + biases)));
}

static void emit(struct claret_emit *emit, const struct claret_node *node)
{
    int64_t count = claret_shape_count(&claret_emit_tensor(emit, node->in[0])->shape);
    int slots = node->update->slots;
    const bool clip_norm = node->update->clip_norm > 0;
    struct claret_kernel_call *call = claret_emit_kernel(emit, "update", "update", "update");
    defines(call, node->update);
    claret_kernel_define(call, "ACCUMULATE", node->update->accumulate);
    claret_kernel_define(call, "CLIP_NORM", clip_norm);
    claret_kernel_define(call, "CLIP_VALUE", node->update->clip_value > 0);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, slots > 0 ? node->in[2] : node->in[1], 0);
    claret_kernel_tensor(call, node->in[node->in_count - (clip_norm ? 2 : 1)], 0);
    claret_kernel_tensor(call, node->in[node->in_count - 1], 0);
    claret_kernel_int(call, count);
    claret_kernel_float(call, (float)node->update->clip_value);
    arguments(call, node->update, 1);
    claret_kernel_range(call, count, 64);
    claret_emit_cost(emit, 4.0 * (1 + slots) * (double)count, (12.0 + 8.0 * slots) * (double)count);
}

static const struct claret_solver plain = {.name = "plain", .emit = emit};
static const struct claret_solver *const solvers[] = {&plain, NULL};
static const struct claret_op update = {.name = "update", .solvers = solvers};

extern const struct claret_op *const claret_ops_update[];
const struct claret_op *const claret_ops_update[] = {&update, NULL};
