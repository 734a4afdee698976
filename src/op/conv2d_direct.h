/* What convolutions on wide vectors share: weights packed for a register tile, and sums of a weight's
 * gradient in parts (cl/conv2d_direct.cl, cl/conv2d_direct_dw.cl). */
#ifndef CLARET_OP_CONV2D_DIRECT_H
#define CLARET_OP_CONV2D_DIRECT_H

#include "op/conv2d.h"

/* Defines R, S, SH, SW, PH, PW, DH, DW. */
void claret_conv_window_defines(struct claret_kernel_call *call, const struct claret_conv *conv);
/* A temporary tensor with the panels (ceil(k / kt), taps, c, kt) of a weight (k, c, taps), or where
 * `transposed` (c, k, taps); kt = kv * lanes. */
int claret_conv_pack_weights(struct claret_emit *emit, int weight, int lanes, int kv, int64_t k, int64_t c,
                             int64_t taps, bool transposed);

/* The parts' layout, as conv2d_direct_dw_sum has it. */
struct claret_conv_parts {
    int64_t k, c, taps, row_taps; /* of the weight; taps in a row of it */
    int64_t kt, cg, row, tap;     /* tile of k, group of c; channels from row to row, from tap to tap */
    int64_t part, chunks;         /* floats of a part; how many are to be added */
};
/* The gradients of weight and bias, the outputs of `node`, from them. */
void claret_conv_sum_parts(struct claret_emit *emit, const struct claret_node *node, int parts,
                           const struct claret_conv_parts *sum);

#endif
