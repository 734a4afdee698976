/* sgd: in params, grads, state or -1 (no momentum), step; changes params and state, all parameters in one
 * launch. PyTorch's torch.optim.SGD: g = grad + weight_decay * p state = g in the first step, else momentum *
 * state + (1 - dampening) * g p -= lr * (nesterov ? g + momentum * state : state) */
#include "op/sgd.h"

#include "op/op.h"

void claret_sgd_defines(struct claret_kernel_call *call, const struct claret_attr *attr)
{
    claret_kernel_define(call, "MOMENTUM", attr[CLARET_SGD_MOMENTUM].f != 0);
    claret_kernel_define(call, "NESTEROV", attr[CLARET_SGD_NESTEROV].i[0]);
}

void claret_sgd_arguments(struct claret_kernel_call *call, const struct claret_attr *attr)
{
    claret_kernel_float(call, (float)attr[CLARET_SGD_MOMENTUM].f);
    claret_kernel_float(call, (float)(1.0 - attr[CLARET_SGD_DAMPENING].f));
    claret_kernel_float(call, (float)attr[CLARET_SGD_WEIGHT_DECAY].f);
}

void claret_sgd_gradient_defines(struct claret_kernel_call *call, const struct claret_node *node)
{
    claret_kernel_define(call, "UPDATE", node->update != NULL);
    if (node->update)
        claret_sgd_defines(call, node->update);
}

bool claret_sgd_gradient_bias(const struct claret_node *node, int at, int first)
{
    return node->update ? node->in[at + 1] >= 0 : node->out_count > first + 1;
}

/* What is not there is the weight once more: the kernel does not touch it. */
void claret_sgd_gradient_arguments(struct claret_kernel_call *call, const struct claret_node *node, int at,
                                   int first)
{
    const int weight = node->out[first], *state = node->in + at + 2;
    claret_kernel_tensor(call, weight, 0);
    claret_kernel_tensor(call, claret_sgd_gradient_bias(node, at, first) ? node->out[first + 1] : weight, 0);
    for (int i = 0; i < 2; i++)
        claret_kernel_tensor(call, node->update && state[i] >= 0 ? state[i] : weight, 0);
    claret_kernel_tensor(call, node->update ? state[2] : weight, 0);
    if (node->update)
        claret_sgd_arguments(call, node->update);
    else
        for (int i = 0; i < 3; i++)
            claret_kernel_float(call, 0);
}

void claret_sgd_emit_sum(struct claret_emit *emit, const struct claret_node *node, int at, int first,
                         int parts, int64_t weights, int64_t biases, int64_t chunks)
{
    struct claret_kernel_call *call = claret_emit_kernel(emit, "sum", "gradients", "sum_gradients");
    claret_sgd_gradient_defines(call, node);
    claret_kernel_tensor(call, parts, 0);
    claret_sgd_gradient_arguments(call, node, at, first);
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
    bool momentum = node->in[2] >= 0;
    struct claret_kernel_call *call = claret_emit_kernel(emit, "update", "sgd", "sgd");
    claret_sgd_defines(call, node->attr);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, momentum ? node->in[2] : node->in[1], 0);
    claret_kernel_tensor(call, node->in[3], 0);
    claret_kernel_int(call, count);
    claret_sgd_arguments(call, node->attr);
    claret_kernel_range(call, count, 64);
    claret_emit_cost(emit, 4.0 * (double)count, 20.0 * (double)count);
}

static const struct claret_solver plain = {.name = "plain", .emit = emit};
static const struct claret_solver *const solvers[] = {&plain, NULL};
static const struct claret_op sgd = {.name = "sgd", .solvers = solvers};

extern const struct claret_op *const claret_ops_sgd[];
const struct claret_op *const claret_ops_sgd[] = {&sgd, NULL};
