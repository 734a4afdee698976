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

#ifdef LANES
/* The same with LAST for devices whose work-items own wide vectors: lanes are channels, an item has `chunk` pixels in a row of all
 * images' count. Items: (ceil(count / chunk)). */
__kernel void channel_bias_vectors(CONST_TENSOR(float, x), CONST_TENSOR(float, bias), TENSOR(float, y), int channels, int count,
                                   int chunk)
{
    USE_CONST(float, x);
    USE_CONST(float, bias);
    USE(float, y);
    const int begin = (int)get_global_id(0) * chunk, end = min(begin + chunk, count);
    for (int p = begin; p < end; p++)
        for (int c = 0; c < channels; c += LANES) {
            const ulong at = (ulong)p * channels + c;
            STORE_CHANNELS(LOAD(x + at) + LOAD(bias + c), y + at);
        }
}

/* Overwrites parts (ceil(count / chunk), C). */
__kernel void channel_sums_vectors(CONST_TENSOR(float, dy), TENSOR(float, parts), int channels, int count, int chunk)
{
    USE_CONST(float, dy);
    USE(float, parts);
    const int begin = (int)get_global_id(0) * chunk, end = min(begin + chunk, count);
    if (begin >= count)
        return;
    for (int c = 0; c < channels; c += LANES) {
        FLOATS even = 0.0f, odd = 0.0f;
        ulong at = (ulong)begin * channels + c;
        int p = begin;
        for (; p + 2 <= end; p += 2, at += 2 * channels) {
            even += LOAD(dy + at);
            odd += LOAD(dy + at + channels);
        }
        if (p < end)
            even += LOAD(dy + at);
        STORE_CHANNELS(even + odd, parts + (ulong)get_global_id(0) * channels + c);
    }
}
#endif
