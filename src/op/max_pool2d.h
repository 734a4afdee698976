/* What max_pool2d shares with the fused ops that pool. */
#ifndef CLARET_OP_MAX_POOL2D_H
#define CLARET_OP_MAX_POOL2D_H

#include "op/op.h"

/* In the order of max_pool2d's attributes. */
enum { CLARET_POOL_KERNEL, CLARET_POOL_STRIDE, CLARET_POOL_PADDING };

/* Stride in direction d: the kernel's size where none is given. */
int64_t claret_pool_stride(const struct claret_attr *attr, int d);
extern const struct claret_op claret_max_pool2d_dx; /* in index, dy; out dx */

#endif
