#include "op_cases.h"

#include <stdlib.h>

#include "base/text.h"

#define PLAIN                                                                                                \
    {                                                                                                        \
        CLARET_LOSS_CROSS_ENTROPY, 0, false                                                                  \
    }
#define SMALL true, PLAIN
#define LARGE false, PLAIN

const struct claret_op_case claret_op_cases[] = {
    /* conv2d: sizes */
    {"conv-one", "1 1 1", "conv2d out_channels=1 kernel_size=1; flatten", 1, SMALL},
    {"conv-one-batch3", "1 1 1", "conv2d out_channels=1 kernel_size=1 bias=false; flatten", 3, SMALL},
    {"conv-3x3", "3 7 7", "conv2d out_channels=5 kernel_size=3; flatten", 1, SMALL},
    {"conv-3x3-batch3", "3 7 7", "conv2d out_channels=5 kernel_size=3; flatten", 3, SMALL},
    {"conv-3x3-nobias", "2 6 5", "conv2d out_channels=4 kernel_size=3 bias=false; flatten", 4, SMALL},
    {"conv-1x1", "13 5 5", "conv2d out_channels=7 kernel_size=1; flatten", 3, SMALL},
    {"conv-1x1-stride", "5 7 6", "conv2d out_channels=3 kernel_size=1 stride=2; flatten", 3, SMALL},
    {"conv-1x1-padding", "2 3 3", "conv2d out_channels=3 kernel_size=1 padding=1; flatten", 3, SMALL},
    {"conv-whole", "3 7 7", "conv2d out_channels=11 kernel_size=7; flatten", 4, SMALL},
    {"conv-whole-padding", "2 4 5", "conv2d out_channels=3 kernel_size=6,7 padding=1; flatten", 3, SMALL},
    {"conv-out1", "7 5 5", "conv2d out_channels=1 kernel_size=2; flatten", 3, SMALL},
    {"conv-row", "2 1 23", "conv2d out_channels=3 kernel_size=1,5; flatten", 3, SMALL},
    {"conv-column", "2 23 1", "conv2d out_channels=3 kernel_size=5,1; flatten", 3, SMALL},
    {"conv-even", "3 8 9", "conv2d out_channels=2 kernel_size=4,2; flatten", 1, SMALL},
    /* conv2d: stride, padding, dilation */
    {"conv-stride2", "3 9 9", "conv2d out_channels=5 kernel_size=3 stride=2; flatten", 3, SMALL},
    {"conv-stride2-rest", "3 10 8", "conv2d out_channels=5 kernel_size=3 stride=2; flatten", 3, SMALL},
    {"conv-stride-over", "2 11 10", "conv2d out_channels=3 kernel_size=2 stride=3,4; flatten", 3, SMALL},
    {"conv-padding1", "3 5 7", "conv2d out_channels=4 kernel_size=3 padding=1; flatten", 3, SMALL},
    {"conv-padding21", "2 4 6", "conv2d out_channels=3 kernel_size=3 padding=2,1; flatten", 4, SMALL},
    {"conv-padding-over", "2 3 3", "conv2d out_channels=2 kernel_size=3 padding=4; flatten", 1, SMALL},
    {"conv-dilation2", "2 9 8", "conv2d out_channels=3 kernel_size=3 dilation=2; flatten", 3, SMALL},
    {"conv-dilation13", "2 5 9", "conv2d out_channels=3 kernel_size=2,3 dilation=1,3 padding=1; flatten", 3,
     SMALL},
    {"conv-all", "3 11 9",
     "conv2d out_channels=5 kernel_size=3,2 stride=2,1 padding=1,2 dilation=2,3; flatten", 3, SMALL},
    {"conv-all-stride3", "2 13 12",
     "conv2d out_channels=3 kernel_size=2,3 stride=3,2 padding=2,3 dilation=3,2 bias=false; flatten", 4,
     SMALL},
    /* conv2d: primes, sizes beside those of tiles, large batches */
    {"conv-primes", "11 13 17", "conv2d out_channels=19 kernel_size=5,3; flatten", 3, LARGE},
    {"conv-out7", "7 9 9", "conv2d out_channels=7 kernel_size=3; flatten", 4, LARGE},
    {"conv-out63", "7 9 9", "conv2d out_channels=63 kernel_size=3; flatten", 3, LARGE},
    {"conv-out65", "3 10 10", "conv2d out_channels=65 kernel_size=3; flatten", 4, LARGE},
    {"conv-in63", "63 5 5", "conv2d out_channels=7 kernel_size=3 padding=1; flatten", 3, LARGE},
    {"conv-in65-out129", "65 7 7", "conv2d out_channels=129 kernel_size=3; flatten", 3, LARGE},
    {"conv-in129-1x1", "129 7 9", "conv2d out_channels=65 kernel_size=1; flatten", 3, LARGE},
    {"conv-wide", "1 7 129", "conv2d out_channels=3 kernel_size=3 padding=1; flatten", 3, LARGE},
    {"conv-tall", "2 129 7", "conv2d out_channels=3 kernel_size=3 stride=2,1; flatten", 4, LARGE},
    {"conv-kernel11", "3 23 21", "conv2d out_channels=5 kernel_size=11 stride=4 padding=2; flatten", 4,
     LARGE},
    {"conv-batch127", "3 9 9", "conv2d out_channels=7 kernel_size=3; flatten", 127, LARGE},
    {"conv-batch129", "3 9 7", "conv2d out_channels=8 kernel_size=3 padding=1 stride=2; flatten", 129, LARGE},
    {"conv-cifar", "3 32 32", "conv2d out_channels=16 kernel_size=3; flatten", 4, LARGE},
    {"conv-winograd", "16 3 5", "conv2d out_channels=17 kernel_size=3 padding=1; flatten", 1, SMALL},
    {"conv-winograd-nopad", "16 10 8", "conv2d out_channels=33 kernel_size=3 bias=false; flatten", 5, LARGE},
    {"conv-winograd-primes", "17 7 9", "conv2d out_channels=19 kernel_size=3 padding=1; flatten", 3, LARGE},
    {"conv-winograd-padding3", "33 5 4", "conv2d out_channels=16 kernel_size=3 padding=3,2; flatten", 4,
     LARGE},
    {"conv-in300", "300 4 40", "conv2d out_channels=17 kernel_size=3 padding=1; flatten", 3, LARGE},
    {"conv-in300-dilation", "300 5 40",
     "conv2d out_channels=33 kernel_size=2,3 padding=0,2 dilation=1,2 stride=1,2; flatten", 2, LARGE},
    {"conv-out48-stride2", "17 12 13", "conv2d out_channels=48 kernel_size=3 padding=1 stride=2; flatten", 5,
     LARGE},
    /* conv2d: groups */
    {"groups-one", "2 1 1", "conv2d out_channels=2 kernel_size=1 groups=2; flatten", 1, SMALL},
    {"groups-3-all", "6 9 8",
     "conv2d out_channels=9 kernel_size=3,2 stride=2,1 padding=1,2 dilation=2,1 groups=3 bias=false; flatten",
     3, SMALL},
    {"groups-2", "4 6 5", "conv2d out_channels=6 kernel_size=3 groups=2; flatten", 3, SMALL},
    {"groups-times2", "3 7 6", "conv2d out_channels=6 kernel_size=3 padding=1 groups=3; relu; flatten", 3,
     SMALL},
    {"groups-wide", "34 9 11", "conv2d out_channels=51 kernel_size=3 padding=1 groups=17; flatten", 33,
     LARGE},
    {"fused-groups", "6 8 7",
     "conv2d out_channels=4 kernel_size=3 groups=2; relu; max_pool2d kernel_size=2; flatten; linear "
     "out_features=3",
     3, SMALL},
    {"depthwise-3x3", "5 6 7", "conv2d out_channels=5 kernel_size=3 padding=1 groups=5; flatten", 3, SMALL},
    {"depthwise-stride2", "19 9 12",
     "conv2d out_channels=19 kernel_size=3 padding=1 stride=2 groups=19 bias=false; flatten", 3, SMALL},
    {"depthwise-all", "3 11 13",
     "conv2d out_channels=3 kernel_size=2,5 stride=3,2 padding=2,3 dilation=3,2 groups=3; flatten", 4, SMALL},
    {"depthwise-gaps", "4 8 9",
     "conv2d out_channels=4 kernel_size=1,2 stride=2,3 padding=0,4 groups=4; flatten", 3, SMALL},
    {"fused-depthwise", "6 7 29",
     "conv2d out_channels=18 kernel_size=1; relu; conv2d out_channels=18 kernel_size=3 padding=1 groups=18; "
     "relu; conv2d out_channels=5 kernel_size=1; flatten; linear out_features=3",
     3, LARGE},
    {"depthwise-5x5", "40 15 17", "conv2d out_channels=40 kernel_size=5 padding=2 groups=40; flatten", 9,
     LARGE},
    {"depthwise-batch65", "33 12 31",
     "conv2d out_channels=33 kernel_size=3 padding=1 stride=2,1 groups=33; flatten", 65, LARGE},
    /* relu */
    {"relu-one", "1 1 1", "relu; flatten; linear out_features=3", 1, SMALL},
    {"relu-7", "1 7 1", "relu; flatten; linear out_features=3", 1, SMALL},
    {"relu-63", "7 3 3", "relu; flatten; linear out_features=3", 1, SMALL},
    {"relu-65", "13 1 5", "relu; flatten; linear out_features=3", 3, SMALL},
    {"relu-129", "3 43 1", "relu; flatten; linear out_features=3", 4, SMALL},
    {"relu-batch129", "3 13 17", "relu; flatten; linear out_features=3", 129, LARGE},
    {"relu-flat", "2 3 3", "flatten; relu; linear out_features=3", 3, SMALL},
    /* the other activations, behind values that reach their kinks */
    {"act-leaky", "3 5 7",
     "conv2d out_channels=5 kernel_size=3; leaky_relu; leaky_relu negative_slope=0.3; flatten; linear "
     "out_features=3",
     3, SMALL},
    {"act-leaky-down", "2 3 3", "flatten; leaky_relu negative_slope=-0.5; linear out_features=3", 3, SMALL},
    {"act-relu6", "9 7 6", "conv2d out_channels=5 kernel_size=3; relu6; flatten; linear out_features=3", 4,
     SMALL},
    {"act-sigmoid", "3 5 7", "conv2d out_channels=5 kernel_size=2; sigmoid; flatten; linear out_features=3",
     3, SMALL},
    {"act-tanh", "3 5 7", "tanh; conv2d out_channels=5 kernel_size=2; tanh; flatten; linear out_features=3",
     1, SMALL},
    {"act-gelu", "3 5 7", "conv2d out_channels=5 kernel_size=3; gelu; flatten; linear out_features=3", 3,
     SMALL},
    {"act-gelu-tanh", "3 7 5",
     "conv2d out_channels=5 kernel_size=3; gelu approximate=tanh; flatten; linear out_features=3", 3, SMALL},
    {"act-silu", "3 5 7", "silu; conv2d out_channels=5 kernel_size=3; silu; flatten; linear out_features=3",
     3, SMALL},
    {"act-hardswish", "5 6 7",
     "conv2d out_channels=5 kernel_size=3; hardswish; flatten; linear out_features=3", 4, SMALL},
    {"act-one", "1 1 1",
     "leaky_relu; relu6; sigmoid; tanh; gelu; silu; hardswish; flatten; linear out_features=3", 1, SMALL},
    {"act-batch65", "16 13 13", "gelu; silu; flatten; linear out_features=3", 65, LARGE},
    /* dropout */
    {"dropout-one", "1 1 1", "dropout; flatten; linear out_features=3", 1, SMALL},
    {"dropout-flat", "3 5 3",
     "flatten; dropout p=0.2; linear out_features=7; dropout p=0.9; linear "
     "out_features=3",
     5, SMALL},
    {"dropout-images", "3 5 7",
     "conv2d out_channels=6 kernel_size=2; dropout p=0.4; flatten; linear "
     "out_features=3",
     3, SMALL},
    {"dropout-ends", "2 3 3", "dropout p=0; dropout p=1; flatten; linear out_features=3", 3, SMALL},
    {"dropout-batch65", "16 13 11", "relu; dropout; flatten; linear out_features=3", 65, LARGE},
    /* concat, mul */
    {"concat-2", "3 5 4",
     "a = conv2d out_channels=4 kernel_size=1; concat from=a,input; flatten; linear out_features=3", 3,
     SMALL},
    {"concat-flat", "2 3 3",
     "f = flatten; a = linear out_features=5; b = relu; concat from=f,b,a; linear out_features=3", 4, SMALL},
    {"concat-layouts", "5 6 7",
     "a = relu; b = conv2d out_channels=1 kernel_size=3 padding=1; c = concat from=a,b,a; d = concat "
     "from=b,c dim=1; conv2d out_channels=4 kernel_size=3; flatten; linear out_features=3",
     3, SMALL},
    {"mul-same", "3 5 4",
     "a = conv2d out_channels=3 kernel_size=1; b = sigmoid; mul from=a,b; flatten; linear out_features=3", 3,
     SMALL},
    {"mul-twice", "1 1 1", "mul from=input,input; flatten; linear out_features=3", 1, SMALL},
    {"mul-each", "3 6 5",
     "a = conv2d out_channels=6 kernel_size=3 padding=1; adaptive_avg_pool2d output_size=1; conv2d "
     "out_channels=6 kernel_size=1; s = sigmoid; mul from=a,s; relu; flatten; linear out_features=3",
     4, SMALL},
    {"mul-each-wide", "17 9 13",
     "a = relu; adaptive_avg_pool2d output_size=1; s = sigmoid; mul from=a,s; conv2d out_channels=17 "
     "kernel_size=3; flatten; linear out_features=3",
     33, LARGE},
    /* upsample, pad, softmax */
    {"upsample", "3 4 5",
     "upsample scale_factor=2,3; conv2d out_channels=4 kernel_size=3; upsample "
     "scale_factor=2; flatten; linear out_features=3",
     3, SMALL},
    {"upsample-one", "5 1 1", "upsample scale_factor=3; flatten; linear out_features=3", 3, SMALL},
    {"pad", "3 4 5",
     "pad left=1 bottom=2; conv2d out_channels=4 kernel_size=3; pad top=3 right=1 left=2; "
     "flatten; linear out_features=3",
     3, SMALL},
    {"pad-one", "5 1 1", "pad left=2 top=1; pad; flatten; linear out_features=3", 3, SMALL},
    {"softmax-flat", "3 3 5", "flatten; linear out_features=17; softmax; linear out_features=3", 4, SMALL},
    {"softmax-images", "3 4 5",
     "conv2d out_channels=7 kernel_size=2; softmax; flatten; linear out_features=3", 3, SMALL},
    {"softmax-one", "1 1 1", "softmax dim=1; flatten; linear out_features=3", 3, SMALL},
    /* max_pool2d */
    {"pool-one", "1 1 1", "max_pool2d kernel_size=1; flatten; linear out_features=3", 1, SMALL},
    {"pool-2x2", "3 8 6", "max_pool2d kernel_size=2; flatten; linear out_features=3", 3, SMALL},
    {"pool-2x2-rest", "3 7 9", "max_pool2d kernel_size=2 stride=2; flatten; linear out_features=3", 3, SMALL},
    {"pool-overlap", "2 7 6", "max_pool2d kernel_size=3 stride=1; flatten; linear out_features=3", 3, SMALL},
    {"pool-overlap-stride2", "2 9 11", "max_pool2d kernel_size=3,5 stride=2; flatten; linear out_features=3",
     1, SMALL},
    {"pool-gaps", "2 11 13", "max_pool2d kernel_size=2 stride=3,5; flatten; linear out_features=3", 4, SMALL},
    {"pool-padding", "3 7 8", "max_pool2d kernel_size=3 stride=2 padding=1; flatten; linear out_features=3",
     3, SMALL},
    {"pool-padding-2x2", "1 5 4", "max_pool2d kernel_size=2 padding=1; flatten; linear out_features=3", 3,
     SMALL},
    {"pool-padding12", "2 5 9",
     "max_pool2d kernel_size=2,5 stride=1,3 padding=1,2; flatten; linear out_features=3", 3, SMALL},
    {"pool-padding-gaps", "2 9 9",
     "max_pool2d kernel_size=3 stride=4 padding=1; flatten; linear out_features=3", 3, SMALL},
    {"pool-whole", "5 7 9", "max_pool2d kernel_size=7,9; flatten; linear out_features=3", 3, SMALL},
    {"pool-whole16", "2 16 16", "max_pool2d kernel_size=16; flatten; linear out_features=3", 3, LARGE},
    {"pool-wide-index", "1 17 19", "max_pool2d kernel_size=17 stride=1; flatten; linear out_features=3", 3,
     SMALL},
    {"pool-row", "2 1 65", "max_pool2d kernel_size=1,3 stride=1,2; flatten; linear out_features=3", 3, SMALL},
    {"pool-subsample", "2 7 7", "max_pool2d kernel_size=1 stride=2; flatten; linear out_features=3", 3,
     SMALL},
    {"pool-batch127", "7 9 9", "max_pool2d kernel_size=3 stride=2 padding=1; flatten; linear out_features=3",
     127, LARGE},
    {"pool-cifar", "16 30 30", "max_pool2d kernel_size=2; flatten; linear out_features=3", 4, LARGE},
    /* linear; the losses of 1, 2, 7, 63, 65, 129 classes too */
    {"linear-one", "1 1 1", "flatten; linear out_features=1", 1, SMALL},
    {"linear-2", "2 3 3", "flatten; linear out_features=2", 3, SMALL},
    {"linear-nobias", "3 2 2", "flatten; linear out_features=7 bias=false", 4, SMALL},
    {"linear-in1", "1 1 1", "flatten; linear out_features=13", 3, SMALL},
    {"linear-out1", "1 7 9", "flatten; linear out_features=1 bias=false", 3, SMALL},
    {"linear-63", "1 7 1", "flatten; linear out_features=63", 3, SMALL},
    {"linear-65-129", "13 5 1", "flatten; linear out_features=129", 4, LARGE},
    {"linear-129-65", "1 43 3", "flatten; linear out_features=65", 65, LARGE},
    {"linear-63-63", "7 9 1", "flatten; linear out_features=63", 63, LARGE},
    {"linear-primes", "7 11 13", "flatten; linear out_features=101 bias=false", 127, LARGE},
    {"linear-batch129", "2 5 13", "flatten; linear out_features=10", 129, LARGE},
    {"linear-cifar", "16 15 15", "flatten; linear out_features=10", 4, LARGE},
    /* chains: what autodiff makes of them */
    {"chain-linear", "1 3 4", "flatten; linear out_features=9; relu; linear out_features=5", 3, SMALL},
    {"chain-conv-conv", "2 6 6",
     "conv2d out_channels=3 kernel_size=3; conv2d out_channels=4 kernel_size=2 bias=false; flatten", 3,
     SMALL},
    {"chain-simplecnn", "3 8 8",
     "conv2d out_channels=4 kernel_size=3; relu; max_pool2d kernel_size=2 stride=2; flatten; "
     "linear out_features=10",
     4, SMALL},
    {"chain-deep", "2 13 11",
     "conv2d out_channels=3 kernel_size=3 padding=1; relu; max_pool2d kernel_size=3 stride=2 padding=1; "
     "conv2d out_channels=5 kernel_size=3,2 stride=1,2 dilation=2,1 bias=false; relu; "
     "max_pool2d kernel_size=2 stride=1; flatten; linear out_features=7; relu; "
     "linear out_features=4 bias=false",
     3, SMALL},
    {"chain-pool-first", "2 9 9",
     "max_pool2d kernel_size=2; relu; conv2d out_channels=3 kernel_size=3 padding=1; flatten", 3, SMALL},
    /* add; gradients of what several layers read */
    {"add-one", "1 1 1", "a = relu; add from=a,input; flatten; linear out_features=3", 1, SMALL},
    {"add-twice", "3 5 3", "a = relu; add from=a,a; flatten; linear out_features=3", 3, SMALL},
    {"add-flat", "2 3 7", "f = flatten; a = linear out_features=42; add from=a,f; linear out_features=3", 4,
     SMALL},
    {"add-many", "3 7 6",
     "a = conv2d out_channels=3 kernel_size=3 padding=1; b = relu; c = max_pool2d kernel_size=3 stride=1 "
     "padding=1; "
     "d = add from=a,c; e = add from=b,d; f = add from=input,e; add from=f,a; flatten; linear out_features=3",
     3, SMALL},
    {"add-layouts", "5 6 7",
     "a = relu; b = conv2d out_channels=5 kernel_size=3 padding=1; d = add from=a,b; e = add from=b,a; add "
     "from=d,e; "
     "c = conv2d out_channels=4 kernel_size=3; flatten; linear out_features=3",
     3, SMALL},
    {"add-batch129", "16 13 13", "a = relu; add from=input,a; flatten; linear out_features=3", 129, LARGE},
    /* batch_norm2d; one value a channel is none */
    {"norm-2", "1 1 2", "batch_norm2d; flatten; linear out_features=3", 3, SMALL},
    {"norm-5", "5 4 3", "batch_norm2d eps=0.01 momentum=0.3; flatten; linear out_features=3", 4, SMALL},
    {"norm-plain", "3 5 5", "batch_norm2d affine=false; relu; flatten; linear out_features=3", 3, SMALL},
    {"norm-17", "17 3 5", "relu; batch_norm2d; relu; flatten; linear out_features=3", 5, SMALL},
    {"norm-conv", "2 7 7",
     "conv2d out_channels=6 kernel_size=3 bias=false; batch_norm2d; relu; flatten; linear out_features=3", 4,
     SMALL},
    {"norm-65", "65 9 7", "batch_norm2d; flatten; linear out_features=3", 33, LARGE},
    {"norm-batch129", "16 15 17", "batch_norm2d; flatten; linear out_features=3", 129, LARGE},
    {"fused-norm", "3 6 5",
     "a = conv2d out_channels=7 kernel_size=3 padding=1 bias=false; batch_norm2d; r = relu; b = conv2d "
     "out_channels=7 "
     "kernel_size=3 padding=1 bias=false; batch_norm2d; add from=batch_norm2d2,r; s = relu; c = conv2d "
     "out_channels=7 "
     "kernel_size=1; d = batch_norm2d affine=false; add from=s,d; relu; flatten; linear out_features=3",
     5, SMALL},
    {"fused-norm-first", "19 5 6",
     "a = relu; batch_norm2d from=input; add from=batch_norm2d1,a; relu; batch_norm2d; relu; flatten; linear "
     "out_features=3",
     9, LARGE},
    {"fused-norm-relu6", "7 5 6",
     "batch_norm2d; relu6; conv2d out_channels=18 kernel_size=1 bias=false; batch_norm2d affine=false; "
     "relu6; "
     "flatten; linear out_features=3",
     5, SMALL},
    /* average pools */
    {"avg-2x2-rest", "3 7 9", "avg_pool2d kernel_size=2; flatten; linear out_features=3", 3, SMALL},
    {"avg-overlap", "2 9 11", "avg_pool2d kernel_size=3,5 stride=2; flatten; linear out_features=3", 3,
     SMALL},
    {"avg-gaps", "2 9 8", "avg_pool2d kernel_size=2 stride=3; flatten; linear out_features=3", 3, SMALL},
    {"avg-padding", "5 7 8", "avg_pool2d kernel_size=3 stride=2 padding=1; flatten; linear out_features=3", 3,
     SMALL},
    {"avg-padding-inside", "5 7 8",
     "avg_pool2d kernel_size=3,4 stride=2,1 padding=1,2 count_include_pad=false; flatten; linear "
     "out_features=3",
     3, SMALL},
    {"avg-global", "17 5 7", "relu; adaptive_avg_pool2d output_size=1; flatten; linear out_features=3", 3,
     SMALL},
    {"avg-adaptive", "3 7 10", "adaptive_avg_pool2d output_size=3,4; flatten; linear out_features=3", 3,
     SMALL},
    {"avg-adaptive-more", "3 2 3", "adaptive_avg_pool2d output_size=5,3; flatten; linear out_features=3", 3,
     SMALL},
    {"chain-avg", "3 8 8",
     "conv2d out_channels=18 kernel_size=3 padding=1; avg_pool2d kernel_size=2; adaptive_avg_pool2d "
     "output_size=1; "
     "flatten; linear out_features=3",
     4, LARGE},
    /* linear and relu, conv2d and relu in one */
    {"fused-linear-relu", "2 3 3",
     "flatten; linear out_features=7; relu; linear out_features=5 bias=false; relu; linear out_features=3", 4,
     SMALL},
    {"fused-conv-relu", "3 7 6",
     "conv2d out_channels=5 kernel_size=3 padding=1; relu; conv2d out_channels=4 kernel_size=3 stride=2 "
     "bias=false; "
     "relu; flatten; linear out_features=3",
     3, SMALL},
    {"fused-conv-relu-deep", "33 9 9",
     "conv2d out_channels=40 kernel_size=3 padding=1; relu; conv2d out_channels=65 kernel_size=1,3 "
     "dilation=1,2; "
     "relu; max_pool2d kernel_size=2; flatten; linear out_features=5",
     9, LARGE},
    /* conv2d, relu and max_pool2d in one */
    {"fused-tail", "3 9 9", "conv2d out_channels=5 kernel_size=3; relu; max_pool2d kernel_size=2; flatten", 3,
     SMALL},
    {"fused-padding", "2 6 7",
     "conv2d out_channels=4 kernel_size=3 padding=1; relu; max_pool2d kernel_size=2; flatten; "
     "linear out_features=3",
     5, SMALL},
    {"fused-pool3-nobias", "1 11 13",
     "conv2d out_channels=3 kernel_size=3 bias=false; relu; max_pool2d kernel_size=3; flatten; "
     "linear out_features=13 bias=false",
     4, SMALL},
    {"fused-all", "2 15 17",
     "conv2d out_channels=7 kernel_size=5,3 stride=1,2 padding=2,1 dilation=1,2; relu; "
     "max_pool2d kernel_size=3,2; flatten",
     3, SMALL},
    {"fused-two", "1 14 14",
     "conv2d out_channels=3 kernel_size=3; relu; max_pool2d kernel_size=2; conv2d out_channels=5 "
     "kernel_size=3 padding=1; relu; max_pool2d kernel_size=2; flatten; linear out_features=4",
     4, SMALL},
    {"fused-window1", "2 5 5", "conv2d out_channels=3 kernel_size=2; relu; max_pool2d kernel_size=1; flatten",
     3, SMALL},
    {"fused-window4x4", "1 9 10",
     "conv2d out_channels=2 kernel_size=1; relu; max_pool2d kernel_size=4; flatten", 3, SMALL},
    {"fused-linear-nobias", "3 2 2", "flatten; linear out_features=7 bias=false", 4, SMALL},
    {"fused-linear-63", "1 7 1", "flatten; linear out_features=63", 3, SMALL},
    {"fused-linear-one", "1 1 1", "flatten; linear out_features=1", 1, SMALL},
    {"fused-5x5", "1 28 28",
     "conv2d out_channels=8 kernel_size=5; relu; max_pool2d kernel_size=2; flatten; linear out_features=10",
     33, LARGE},
    {"fused-wide", "3 12 79",
     "conv2d out_channels=65 kernel_size=3 padding=1; relu; max_pool2d kernel_size=2; flatten; "
     "linear out_features=129",
     7, LARGE},
    {"fused-kernel7", "3 23 23",
     "conv2d out_channels=10 kernel_size=7 stride=2 padding=3; relu; max_pool2d kernel_size=2; flatten", 127,
     LARGE},
    {"chain-cifar", "3 32 32",
     "conv2d out_channels=16 kernel_size=3; relu; max_pool2d kernel_size=2 stride=2; flatten; "
     "linear out_features=10",
     33, LARGE},
    /* New rows stand at the end: what is drawn for a row depends on its place. */
    /* losses, of 1 and more classes; weights and smoothing apart and together */
    {"loss-smoothing",
     "3 3 3",
     "flatten; linear out_features=7",
     4,
     true,
     {CLARET_LOSS_CROSS_ENTROPY, 0.1, false}},
    {"loss-smoothing-one",
     "1 1 1",
     "flatten; linear out_features=1",
     1,
     true,
     {CLARET_LOSS_CROSS_ENTROPY, 1, false}},
    {"loss-weights",
     "3 3 3",
     "flatten; linear out_features=5",
     5,
     true,
     {CLARET_LOSS_CROSS_ENTROPY, 0, true}},
    {"loss-both", "2 3 3", "flatten; linear out_features=3", 7, true, {CLARET_LOSS_CROSS_ENTROPY, 0.3, true}},
    {"loss-both-129",
     "2 3 5",
     "flatten; linear out_features=129",
     65,
     false,
     {CLARET_LOSS_CROSS_ENTROPY, 0.05, true}},
    {"loss-mse", "2 3 3", "flatten; linear out_features=7", 3, true, {CLARET_LOSS_MSE, 0, false}},
    {"loss-mse-one", "1 1 1", "flatten; linear out_features=1", 1, true, {CLARET_LOSS_MSE, 0, false}},
    {"loss-mse-129", "2 3 5", "flatten; linear out_features=63", 129, false, {CLARET_LOSS_MSE, 0, false}},
    {"loss-bce", "2 3 3", "flatten; linear out_features=7", 3, true, {CLARET_LOSS_BCE, 0, false}},
    {"loss-bce-one", "1 1 1", "flatten; linear out_features=1", 1, true, {CLARET_LOSS_BCE, 0, false}},
    {"loss-bce-129", "2 3 5", "flatten; linear out_features=63", 129, false, {CLARET_LOSS_BCE, 0, false}},
    /* group_norm, layer_norm */
    {"group-2", "4 5 3", "group_norm num_groups=2; flatten; linear out_features=3", 3, SMALL},
    {"group-each", "3 4 5",
     "conv2d out_channels=6 kernel_size=2; group_norm num_groups=6 eps=0.01; relu; flatten; linear "
     "out_features=3",
     3, SMALL},
    {"group-plain", "6 3 5", "relu; group_norm num_groups=3 affine=false; flatten; linear out_features=3", 4,
     SMALL},
    {"group-flat", "3 3 2", "flatten; group_norm num_groups=3; linear out_features=3", 5, SMALL},
    {"group-one", "1 1 1", "relu; group_norm num_groups=1 eps=1; flatten; linear out_features=3", 3, SMALL},
    {"group-wide", "34 9 17",
     "conv2d out_channels=51 kernel_size=3 padding=1; group_norm num_groups=17; flatten; linear "
     "out_features=3",
     33, LARGE},
    {"layer", "3 5 4",
     "conv2d out_channels=5 kernel_size=2; layer_norm; relu; flatten; linear out_features=3", 3, SMALL},
    {"layer-flat", "3 3 7", "flatten; layer_norm eps=0.001; linear out_features=3", 4, SMALL},
    {"layer-nobias", "2 3 3",
     "layer_norm bias=false; relu; layer_norm elementwise_affine=false; flatten; linear out_features=3", 3,
     SMALL},
    {"layer-batch65", "17 9 7",
     "conv2d out_channels=19 kernel_size=3; layer_norm; flatten; linear out_features=3", 65, LARGE},
    /* conv_transpose2d */
    {"transpose-one", "1 1 1", "conv_transpose2d out_channels=1 kernel_size=1; flatten", 3, SMALL},
    {"transpose-3x3", "3 4 5", "conv_transpose2d out_channels=5 kernel_size=3; flatten", 3, SMALL},
    {"transpose-stride2", "3 4 3",
     "relu; conv_transpose2d out_channels=4 kernel_size=2 stride=2; relu; flatten; linear out_features=3", 4,
     SMALL},
    {"transpose-padding", "2 5 4",
     "conv_transpose2d out_channels=3 kernel_size=4,3 stride=2,3 padding=1 output_padding=1,2 bias=false; "
     "flatten",
     3, SMALL},
    {"transpose-all", "4 3 4",
     "conv_transpose2d out_channels=6 kernel_size=3,2 stride=1,2 padding=2,1 dilation=3,2 output_padding=2,0 "
     "groups=2; flatten",
     3, SMALL},
    {"transpose-depthwise", "5 4 5",
     "conv_transpose2d out_channels=5 kernel_size=3 stride=2 padding=1 output_padding=1 groups=5; flatten", 3,
     SMALL},
    {"transpose-crop", "3 5 6", "conv_transpose2d out_channels=2 kernel_size=3 padding=2; flatten", 3, SMALL},
    {"transpose-wide", "34 7 9",
     "conv_transpose2d out_channels=33 kernel_size=3 padding=1; relu; conv_transpose2d out_channels=17 "
     "kernel_size=4 "
     "stride=2 padding=1; flatten; linear out_features=3",
     5, LARGE},
    /* upsample by mode=bilinear */
    {"bilinear", "3 4 5",
     "upsample scale_factor=2,3 mode=bilinear; conv2d out_channels=4 kernel_size=3; upsample scale_factor=2 "
     "mode=bilinear align_corners=false; flatten; linear out_features=3",
     3, SMALL},
    {"bilinear-align", "3 4 5",
     "upsample scale_factor=3,2 mode=bilinear align_corners=true; conv2d out_channels=4 kernel_size=3; "
     "upsample "
     "scale_factor=2 mode=bilinear align_corners=true; flatten; linear out_features=3",
     3, SMALL},
    {"bilinear-one", "5 1 2",
     "upsample scale_factor=3 mode=bilinear; upsample scale_factor=1 mode=bilinear; flatten; linear "
     "out_features=3",
     3, SMALL},
    {"bilinear-align-one", "5 1 2",
     "upsample scale_factor=1,4 mode=bilinear align_corners=true; upsample scale_factor=3 mode=bilinear "
     "align_corners=true; flatten; linear out_features=3",
     3, SMALL},
    {"bilinear-wide", "17 13 11",
     "conv2d out_channels=19 kernel_size=3; upsample scale_factor=2 mode=bilinear; relu; upsample "
     "scale_factor=2,1 "
     "mode=bilinear align_corners=true; flatten; linear out_features=3",
     9, LARGE},
    /* kernels for GPUs: the phases of a stride, some that no tap hits, some beyond small images, tiles cut
       off */
    {"fused-tiles-phases", "5 17 14",
     "conv2d out_channels=7 kernel_size=3 stride=2 padding=1; relu; conv2d out_channels=6 kernel_size=2 "
     "stride=3 "
     "padding=2,1; conv2d out_channels=5 kernel_size=1 stride=1,2; flatten",
     3, SMALL},
    {"tiles-phases-dilation", "3 13 17",
     "conv2d out_channels=4 kernel_size=3,4 stride=4,2 padding=3,5 dilation=2,3; conv2d out_channels=3 "
     "kernel_size=2,3 stride=5,9 padding=1,3 dilation=1,3; flatten",
     3, SMALL},
    {"tiles-phases-wide", "19 20 21",
     "conv2d out_channels=33 kernel_size=3 stride=2 padding=1; relu; conv2d out_channels=18 kernel_size=5,4 "
     "stride=3,2 padding=2; flatten",
     9, LARGE},
    {"fused-tiles-winograd", "17 5 6",
     "conv2d out_channels=19 kernel_size=3 padding=1; relu; conv2d out_channels=16 kernel_size=3 padding=0,3 "
     "bias=false; flatten",
     1, SMALL},
    {"tiles-winograd-wide", "37 11 13",
     "conv2d out_channels=70 kernel_size=3; relu; conv2d out_channels=33 kernel_size=3 padding=2,1; flatten",
     5, LARGE},
    {"fused-pool3-lanes", "3 17 26",
     "conv2d out_channels=17 kernel_size=5 padding=1; relu; max_pool2d kernel_size=3; flatten; linear "
     "out_features=3",
     3, LARGE},
    {"fused-stride-lanes", "2 13 41",
     "conv2d out_channels=18 kernel_size=3 stride=2,1 dilation=1,2; relu; max_pool2d kernel_size=2; flatten; "
     "linear "
     "out_features=3",
     5, LARGE},
    {.name = NULL},
};

char *claret_op_case_text(const struct claret_op_case *row)
{
    struct claret_text text = {0};
    char *result = NULL;
    claret_text_add(&text, "input %s\n%s\n", row->input, row->layers);
    for (char *at = text.data; at && *at; at++)
        if (*at == ';')
            *at = '\n';
    return claret_text_take(&text, &result) == CLARET_OK ? result : NULL;
}

enum claret_status claret_op_case_graph(const struct claret_op_case *row,
                                        const struct claret_graph_options *options, struct claret_spec **spec,
                                        struct claret_graph **graph)
{
    struct claret_graph_options with_batch = *options;
    with_batch.batch = row->batch;
    with_batch.loss = row->loss;
    char *text = claret_op_case_text(row);
    enum claret_status status =
        text ? claret_spec_parse(text, row->name, claret_op_schemas(), spec) : claret_no_memory();
    free(text);
    if (status != CLARET_OK)
        return status;
    status = claret_graph_create(*spec, &with_batch, graph);
    if (status != CLARET_OK) {
        claret_spec_destroy(*spec);
        *spec = NULL;
    }
    return status;
}
