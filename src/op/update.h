/* The optimizer's update, shared by the node that updates all parameters and those that update their own. */
#ifndef CLARET_OP_UPDATE_H
#define CLARET_OP_UPDATE_H

#include "op/op.h"

/* cl/common.clh has the same list. */
enum claret_optimizer_kind {
    CLARET_OPTIMIZER_SGD,
    CLARET_OPTIMIZER_ADAM,
    CLARET_OPTIMIZER_ADAMW,
    CLARET_OPTIMIZER_RMSPROP
};

/* PyTorch's arguments of these. What a kind does not take is 0. */
struct claret_optimizer {
    enum claret_optimizer_kind kind;
    double momentum, dampening, weight_decay, beta1, beta2, eps, alpha;
    bool nesterov, centered;
};

/* Floats that an optimizer keeps for each parameter, at most. */
#define CLARET_MAX_SLOTS 3

/* What a node does to its parameters. State lies in slots, each as large as all parameters and in their
 * order: Adam's averages of the squared gradient and of the gradient; RMSprop's of the squared gradient, with
 * `centered` of the gradient, then the momentum; SGD's momentum. */
struct claret_update {
    struct claret_optimizer optimizer;
    int slots;
    int64_t stride; /* elements from a slot to the next */
    struct {
        double rate, decay; /* part of the step's rate; weight decay */
    } group[2]; /* of the node's parameters, a weight and a bias; `update` has one for all of its */
    double clip_norm, clip_value; /* of the gradients at most, 0: any */
    double ema;      /* decay of the parameters' average, one more slot behind the others; 0: none */
    bool accumulate; /* not in steps with STEP_MORE */
    bool apart;      /* no other node than `update` does it: it needs all gradients */
};

bool claret_optimizer_is_adam(const struct claret_optimizer *optimizer); /* or AdamW */
int claret_optimizer_slots(const struct claret_optimizer *optimizer);
/* What the step's words say of the momentum: SGD's and RMSprop's own; of Adam's beta1, the gradient's part.
 */
float claret_optimizer_momentum(const struct claret_optimizer *optimizer);
/* What Adam's averages are multiplied with in step `number` (from 1): 1 / (1 - beta1^number), and for the
 * root of the squares' 1 / sqrt(1 - beta2^number). 1 for others. */
void claret_optimizer_corrections(const struct claret_optimizer *optimizer, uint64_t number, float *mean,
                                  float *square);

/* For a kernel that ends in the gradients of a weight and a bias or in their update (cl/common.clh,
 * GRADIENT_PARAMETERS), of a node that claret_build_gradients() made with these two: UPDATE and what the
 * update wants; the arguments. `at`: where in the node's inputs params, states and step begin; `first`:
 * where in its outputs the weight stands. */
void claret_update_defines(struct claret_kernel_call *call, const struct claret_node *node);
void claret_update_arguments(struct claret_kernel_call *call, const struct claret_node *node, int at,
                             int first);
/* Gradients or update of such a node from `parts` (chunks, weights + biases) of their sums. */
void claret_update_emit_sum(struct claret_emit *emit, const struct claret_node *node, int at, int first,
                            int parts, int64_t weights, int64_t biases, int64_t chunks);
bool claret_update_bias(const struct claret_node *node, int at, int first); /* there is a bias */
/* How many outputs such a node has for its gradients or its update, of a weight and maybe a bias. */
int claret_update_outputs(const struct claret_node *node, bool bias);

#endif
