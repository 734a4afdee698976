/* What the two ops for conv2d, relu and max_pool2d in one share. */
#ifndef CLARET_OP_CONV2D_RELU_POOL_H
#define CLARET_OP_CONV2D_RELU_POOL_H

#include "op/op.h"

/* By the attributes of the three: windows do not overlap and are small. */
bool claret_conv_pool_fits(const struct claret_attr *const *attrs, const struct claret_shape *in,
                           const struct claret_shape *other);
/* Parameters, and y and index as outputs. */
enum claret_status claret_conv_pool_shape(struct claret_build *build, struct claret_node *node);
/* Nodes for the gradient of x, where it is wanted, and by `dw` (in `images`, index, dy) of the parameters. */
enum claret_status claret_conv_pool_backward(struct claret_build *build, const struct claret_node *node,
                                             int images, const struct claret_op *dw);
double claret_conv_pool_multiply_adds(const struct claret_node *node, const struct claret_tensor *tensors);

#endif
