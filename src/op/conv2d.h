/* The problem of a 2-d convolution, shared by its solvers. Cross-correlation, as PyTorch's Conv2d. */
#ifndef CLARET_OP_CONV2D_H
#define CLARET_OP_CONV2D_H

#include "op/op.h"

/* In the order of conv2d's attributes. */
enum {
    CLARET_CONV_OUT_CHANNELS,
    CLARET_CONV_KERNEL,
    CLARET_CONV_STRIDE,
    CLARET_CONV_PADDING,
    CLARET_CONV_DILATION,
    CLARET_CONV_BIAS,
    CLARET_CONV_IN_CHANNELS,
    CLARET_CONV_GROUPS,
    CLARET_CONV_ATTRS
};

/* Their definitions. */
#define CLARET_CONV_LARGE (1 << 24)
#define CLARET_CONV_ATTR_DEFS                                                                                \
    [CLARET_CONV_OUT_CHANNELS] = {"out_channels", CLARET_ATTR_INT, true, 0, 1, CLARET_CONV_LARGE, NULL},     \
    [CLARET_CONV_KERNEL] = {"kernel_size", CLARET_ATTR_PAIR, true, 0, 1, CLARET_CONV_LARGE, NULL},           \
    [CLARET_CONV_STRIDE] = {"stride", CLARET_ATTR_PAIR, false, 1, 1, CLARET_CONV_LARGE, NULL},               \
    [CLARET_CONV_PADDING] = {"padding", CLARET_ATTR_PAIR, false, 0, 0, CLARET_CONV_LARGE, NULL},             \
    [CLARET_CONV_DILATION] = {"dilation", CLARET_ATTR_PAIR, false, 1, 1, CLARET_CONV_LARGE, NULL},           \
    [CLARET_CONV_BIAS] = {"bias", CLARET_ATTR_BOOL, false, 1, 0, 1, NULL},                                   \
    [CLARET_CONV_IN_CHANNELS] = {"in_channels", CLARET_ATTR_INT, false, 0, 1, CLARET_CONV_LARGE, NULL},      \
    [CLARET_CONV_GROUPS] = {"groups", CLARET_ATTR_INT, false, 1, 1, CLARET_CONV_LARGE, NULL}

/* x (n, c, h, w), weight (k, c / groups, r, s), y (n, k, oh, ow) */
struct claret_conv {
    int64_t n, c, h, w, k, r, s, oh, ow, groups;
    int64_t stride[2], padding[2], dilation[2];
};
/* `x` or dx, and `y` or dy, of the node with those attributes. */
struct claret_conv claret_conv_problem(const struct claret_attr *attr, const struct claret_tensor *x,
                                       const struct claret_tensor *y);
/* Height and width of the output on images x (N, C, H, W); less than 1: the kernel does not fit. */
void claret_conv_extents(const struct claret_attr *attr, const struct claret_shape *x, int64_t out[2]);
/* CLARET_INVALID: in_channels is not the input's number of them, or groups does not divide both sides'. */
enum claret_status claret_conv_check_channels(const struct claret_build *build,
                                              const struct claret_node *node, int64_t channels);
/* Checks the node's input (in[0]) against its attributes, adds weight and bias, gives the output's shape. */
enum claret_status claret_conv_build(struct claret_build *build, struct claret_node *node,
                                     struct claret_shape *y);
extern const struct claret_op claret_conv2d_dx; /* in dy, weight, y or none; out dx */
extern const struct claret_solver *const claret_conv_dx_solvers[];
/* With stride and dilation 1: the convolution from dy (n, k, oh, ow) to dx that has the window turned by 180
 * degrees. Its padding may be negative. */
struct claret_conv claret_conv_turned(const struct claret_conv *conv);
/* Whether it has no groups: of a solver's `applicable`; else `reason` says so. */
bool claret_conv_whole(const struct claret_conv *conv, char reason[128]);
/* Whether it is one of 3x3 with stride 1, and enough channels for Winograd's transforms; likewise. */
bool claret_conv_suits_winograd(const struct claret_conv *conv, char reason[128]);
/* Multiply-adds count two. */
double claret_conv_flops(const struct claret_conv *conv);
/* Of a forward node: ReLU follows. Of a backward node: the output of the ReLU that followed, -1: none did. */
bool claret_conv_has_relu(const struct claret_node *node);
int claret_conv_mask(const struct claret_node *node);

/* conv2d_depthwise.c, conv2d_grouped.c, conv2d_winograd.c, conv2d_direct.c, conv2d_im2col.c, conv2d_tiled.c,
 * conv2d_winograd_tiled.c */
extern const struct claret_solver claret_conv_depthwise, claret_conv_depthwise_dx, claret_conv_depthwise_dw;
extern const struct claret_solver claret_conv_grouped, claret_conv_grouped_dx, claret_conv_grouped_dw;
extern const struct claret_solver claret_conv_winograd, claret_conv_winograd_dx, claret_conv_winograd_dw;
extern const struct claret_solver claret_conv_im2col, claret_conv_im2col_dx, claret_conv_im2col_dw;
extern const struct claret_solver claret_conv_im2col_rows, claret_conv_im2col_rows_dx,
    claret_conv_im2col_rows_dw;
extern const struct claret_solver claret_conv_tiled, claret_conv_tiled_dx, claret_conv_tiled_dw;
extern const struct claret_solver claret_conv_winograd_tiled, claret_conv_winograd_tiled_dx;
extern const struct claret_solver claret_conv_direct, claret_conv_direct_dx, claret_conv_direct_dw;

#endif
