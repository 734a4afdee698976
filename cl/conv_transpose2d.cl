/* The bias of a transposed convolution; the rest of it is conv2d's kernels. Sizes: images, channels, pixels of an image.
 * Defines: LAST 1: NHWC. */
#ifndef LAST
#define LAST 0
#endif

/* Overwrites y = x + bias (C). Items: (an image's elements, images). */
__kernel void channel_bias(CONST_TENSOR(float, x), CONST_TENSOR(float, bias), TENSOR(float, y), int images, int channels,
                           int plane)
{
    USE_CONST(float, x);
    USE_CONST(float, bias);
    USE(float, y);
    const int i = get_global_id(0), n = get_global_id(1);
    if (i >= channels * plane || n >= images)
        return;
    const ulong at = (ulong)n * channels * plane + i;
    y[at] = x[at] + bias[LAST ? i % channels : i / plane];
}

/* Overwrites parts (part_count, C): sums of dy over every part_count-th pixel of all images'. Items: (part_count, C), with LAST
 * (C, part_count): neighbours read neighbours. */
__kernel void channel_sums(CONST_TENSOR(float, dy), TENSOR(float, parts), int images, int channels, int plane,
                           int part_count)
{
    USE_CONST(float, dy);
    USE(float, parts);
    const int part = get_global_id(LAST), c = get_global_id(1 - LAST);
    if (part >= part_count || c >= channels)
        return;
    float sum = 0.0f;
    for (int p = part; p < images * plane; p += part_count)
        sum += dy[LAST ? (ulong)p * channels + c : ((ulong)(p / plane) * channels + c) * plane + p % plane];
    parts[part * channels + c] = sum;
}
