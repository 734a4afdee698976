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

#endif
