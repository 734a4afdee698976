/* What linear shares with the fused ops that begin with it. */
#ifndef CLARET_OP_LINEAR_H
#define CLARET_OP_LINEAR_H

#include "op/op.h"

/* In the order of linear's attributes. */
enum { CLARET_LINEAR_OUT_FEATURES, CLARET_LINEAR_BIAS, CLARET_LINEAR_IN_FEATURES };

/* Checks the node's input (in[0]) against its attributes, adds weight and bias, gives the output's shape. */
enum claret_status claret_linear_build(struct claret_build *build, struct claret_node *node,
                                       struct claret_shape *y);
/* Whether ReLU follows a forward node as part of it. */
bool claret_linear_has_relu(const struct claret_node *node);
/* linear's forward on devices with wide vectors (linear_cross_entropy.c). */
extern const struct claret_solver claret_linear_rows;

/* linear_loss_tiled.c: of linear_cross_entropy and linear_backward */
extern const struct claret_solver claret_linear_loss_tiled, claret_linear_backward_gemm;

/* The tensors of a linear_backward node; -1: not there. `params` and `first` as
 * claret_update_arguments() takes them. */
struct claret_linear_backward {
    int dy, x, weight, bias, dx, params, first;
};
struct claret_linear_backward claret_linear_backward_of(const struct claret_node *node);

#endif
