/* The optimizer's update, shared by the node that updates all parameters and those that update their own. */
#ifndef CLARET_OP_SGD_H
#define CLARET_OP_SGD_H

#include "op/op.h"

/* The attributes of a sgd node, in this order. */
enum {
    CLARET_SGD_MOMENTUM,
    CLARET_SGD_DAMPENING,
    CLARET_SGD_WEIGHT_DECAY,
    CLARET_SGD_NESTEROV,
    CLARET_SGD_ATTRS
};

/* Defines MOMENTUM and NESTEROV of cl/common.clh's sgd_step(). */
void claret_sgd_defines(struct claret_kernel_call *call, const struct claret_attr *attr);
/* Its arguments behind the step: momentum, keep, weight_decay. */
void claret_sgd_arguments(struct claret_kernel_call *call, const struct claret_attr *attr);

/* For a kernel that ends in the gradients of a weight and a bias or in their update (cl/common.clh,
 * GRADIENT_PARAMETERS), of a node that claret_build_gradients() made with these two: UPDATE and what
 * sgd_step() wants; the arguments. `at`: where in the node's inputs params, states and step begin; `first`:
 * where in its outputs the weight stands. */
void claret_sgd_gradient_defines(struct claret_kernel_call *call, const struct claret_node *node);
void claret_sgd_gradient_arguments(struct claret_kernel_call *call, const struct claret_node *node, int at,
                                   int first);
/* Gradients or update of such a node from `parts` (chunks, weights + biases) of their sums. */
void claret_sgd_emit_sum(struct claret_emit *emit, const struct claret_node *node, int at, int first,
                         int parts, int64_t weights, int64_t biases, int64_t chunks);
bool claret_sgd_gradient_bias(const struct claret_node *node, int at, int first); /* there is a bias */

#endif
