/* The optimizer's update in double, for the nodes that apply it. */
#ifndef CLARET_REF_UPDATE_H
#define CLARET_REF_UPDATE_H

#include "op/op.h"

/* What a node with fused gradients does at its end. gradient[i] belongs to params[i] (-1: not there) of the
 * `count` parameters. Without an update out[first], out[first + 1] … get those that are there; with one, the
 * node's inputs from `at` on are params, their states slot by slot, step, and the outputs from `first` on are
 * what it changes of them. */
void claret_ref_gradients(const struct claret_node *node, const struct claret_tensor *tensors, int at,
                          int first, int count, double *const *gradient, const double *const *in,
                          double *const *out);

#endif
