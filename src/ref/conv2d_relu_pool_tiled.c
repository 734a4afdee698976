#include "ref/ref.h"

/* conv2d_relu_pool.c has them: the op of the same meaning. */
const struct claret_ref claret_ref_conv2d_relu_pool_tiled[] = {{.op = NULL}};
