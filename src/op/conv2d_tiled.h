/* The convolutions of cl/conv2d_tiled.cl, shared by the ops that convolve. */
#ifndef CLARET_OP_CONV2D_TILED_H
#define CLARET_OP_CONV2D_TILED_H

#include "op/conv2d.h"

/* A convolution with what follows it: window {1, 1} where nothing pools. Tensors; -1: not there. */
struct claret_tiled_conv {
    struct claret_conv conv; /* oh, ow: of y, the pooled images */
    int64_t window[2];
    bool relu;
    int x, weight, bias, y, index; /* gradients: y is dy */
    int mask;                      /* gradients: ReLU's output, where it follows */
};
/* Whether the device has room for tiles and the numbers fit; else `reason` says why not. */
bool claret_tiled_conv_fits(const struct claret_problem *problem, const struct claret_tiled_conv *tiled,
                            char reason[128]);
/* Whether its numbers fit the kernels' 32 bits; likewise. */
bool claret_tiled_conv_small(const struct claret_tiled_conv *tiled, char reason[128]);
/* Defines of the shapes: R, S, SH, SW, PH, PW, DH, DW, H, W, OH, OW, PI, PJ. */
void claret_tiled_conv_defines(struct claret_kernel_call *call, const struct claret_tiled_conv *tiled);
void claret_tiled_conv_forward(struct claret_emit *emit, const char *what,
                               const struct claret_tiled_conv *tiled);
/* The gradients of weight and bias (`bias` there: wanted), or the update, of a node as
 * claret_update_emit_sum() takes it. */
void claret_tiled_conv_dw(struct claret_emit *emit, const struct claret_node *node, int at,
                          const struct claret_tiled_conv *tiled);

#endif
