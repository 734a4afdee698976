/* What group_norm's solvers share. */
#ifndef CLARET_OP_GROUP_NORM_H
#define CLARET_OP_GROUP_NORM_H

#include "op/op.h"

struct claret_group_norm {
    int64_t groups;
    bool layer; /* one group, weights for each element */
    bool weight, bias;
    float eps;
};
/* Of a forward or backward node. */
struct claret_group_norm claret_group_norm_of(const struct claret_node *node);

/* A backward node's inputs. */
enum { CLARET_GROUP_DY, CLARET_GROUP_X, CLARET_GROUP_STAT, CLARET_GROUP_WEIGHT };

/* group_norm_channels.c */
extern const struct claret_solver claret_group_norm_channels, claret_group_norm_channels_dx,
    claret_group_norm_channels_dw;
/* layer_norm.c */
extern const struct claret_solver claret_layer_norm_vectors, claret_layer_norm_vectors_dx,
    claret_layer_norm_vectors_dw;

#endif
