#ifndef CLARET_OP_ACTIVATION_H
#define CLARET_OP_ACTIVATION_H

#include "op/op.h"

/* dy where y, the output of a ReLU, let it pass, else 0: a temporary tensor like dy. y -1: dy itself. */
int claret_relu_gradient(struct claret_emit *emit, int y, int dy);

#endif
