/* Max pooling of x (N*C planes of height x width) with a window of r_count x s_count.
 * Defines: WIDE_INDEX 1: windows of more than 256 positions, whose index is an int. */
#ifndef WIDE_INDEX
#define WIDE_INDEX 0
#endif
#if WIDE_INDEX
#define INDEX int
#else
#define INDEX uchar
#endif

#define POOL_PARAMETERS                                                                                      \
    int height, int width, int oh_count, int ow_count, int r_count, int s_count, int stride_h, int stride_w,  \
        int padding_h, int padding_w

/* Overwrites y and index (N, C, OH, OW). The first maximum wins; a NaN wins over all. Items: (OW, OH, N*C). */
__kernel void max_pool2d(CONST_TENSOR(float, x), TENSOR(float, y), TENSOR(INDEX, index), POOL_PARAMETERS)
{
    USE_CONST(float, x);
    USE(float, y);
    USE(INDEX, index);
    const int ow = get_global_id(0), oh = get_global_id(1), plane = get_global_id(2);
    if (ow >= ow_count)
        return;
    x += (ulong)plane * height * width;
    const int top = oh * stride_h - padding_h, left = ow * stride_w - padding_w;
    float best = -INFINITY;
    int winner = max(-top, 0) * s_count + max(-left, 0);
    for (int r = max(-top, 0); r < r_count && top + r < height; r++)
        for (int s = max(-left, 0); s < s_count && left + s < width; s++) {
            const float value = x[(top + r) * width + left + s];
            if (value > best || isnan(value)) {
                best = value;
                winner = r * s_count + s;
            }
        }
    const ulong at = ((ulong)plane * oh_count + oh) * ow_count + ow;
    y[at] = best;
    index[at] = (INDEX)winner;
}

/* Overwrites dx (N, C, H, W): each place gathers dy of the windows it won, in a fixed order.
 * Items: (W, H, N*C). */
__kernel void max_pool2d_dx(CONST_TENSOR(INDEX, index), CONST_TENSOR(float, dy), TENSOR(float, dx),
                            POOL_PARAMETERS)
{
    USE_CONST(INDEX, index);
    USE_CONST(float, dy);
    USE(float, dx);
    const int w = get_global_id(0), h = get_global_id(1), plane = get_global_id(2);
    if (w >= width)
        return;
    index += (ulong)plane * oh_count * ow_count;
    dy += (ulong)plane * oh_count * ow_count;
    float sum = 0.0f;
    for (int r = 0; r < r_count; r++) {
        const int top = h + padding_h - r;
        if (top < 0 || top % stride_h || top / stride_h >= oh_count)
            continue;
        for (int s = 0; s < s_count; s++) {
            const int left = w + padding_w - s;
            if (left < 0 || left % stride_w || left / stride_w >= ow_count)
                continue;
            const int at = top / stride_h * ow_count + left / stride_w;
            if (index[at] == r * s_count + s)
                sum += dy[at];
        }
    }
    dx[((ulong)plane * height + h) * width + w] = sum;
}

/* max_pool2d_dx where windows do not overlap, for devices whose work-items do planes (CPUs): each window writes its own places,
 * those that lie in none are 0. Items: (N*C). */
__kernel void max_pool2d_dx_planes(CONST_TENSOR(INDEX, index), CONST_TENSOR(float, dy), TENSOR(float, dx),
                                   POOL_PARAMETERS)
{
    USE_CONST(INDEX, index);
    USE_CONST(float, dy);
    USE(float, dx);
    const ulong plane = get_global_id(0);
    index += plane * oh_count * ow_count;
    dy += plane * oh_count * ow_count;
    dx += plane * height * width;
    for (int i = 0; i < height * width; i++)
        dx[i] = 0.0f;
    for (int oh = 0; oh < oh_count; oh++)
        for (int ow = 0; ow < ow_count; ow++) {
            const int at = oh * ow_count + ow, winner = index[at];
            if (winner < r_count * s_count)
                dx[(oh * stride_h - padding_h + winner / s_count) * width + ow * stride_w - padding_w +
                   winner % s_count] = dy[at];
        }
}

#if defined(LANES) && !WIDE_INDEX
#define STORE_PIXEL(type, v, p)                                                                              \
    do {                                                                                                     \
        if (c + LANES <= channels)                                                                           \
            STORE(v, p);                                                                                     \
        else                                                                                                 \
            STORE_SOME(type, v, p, channels - c);                                                            \
    } while (0)

/* max_pool2d on images in NHWC, lanes are channels. Items: (OH, N). */
__kernel void max_pool2d_channels(CONST_TENSOR(float, x), TENSOR(float, y), TENSOR(uchar, index), POOL_PARAMETERS,
                                  int channels)
{
    USE_CONST(float, x);
    USE(float, y);
    USE(uchar, index);
    const int oh = get_global_id(0), n = get_global_id(1), top = oh * stride_h - padding_h;
    x += (ulong)n * height * width * channels;
    for (int ow = 0; ow < ow_count; ow++) {
        const int left = ow * stride_w - padding_w;
        const ulong at = (((ulong)n * oh_count + oh) * ow_count + ow) * channels;
        for (int c = 0; c < channels; c += LANES) {
            FLOATS best = -INFINITY;
            INTS winner = max(-top, 0) * s_count + max(-left, 0);
            for (int r = max(-top, 0); r < r_count && top + r < height; r++)
                for (int s = max(-left, 0); s < s_count && left + s < width; s++) {
                    const FLOATS value = LOAD(x + ((top + r) * width + left + s) * channels + c);
                    const INTS better = isgreater(value, best) | isnan(value);
                    best = better ? value : best;
                    winner = better ? (INTS)(r * s_count + s) : winner;
                }
            STORE_PIXEL(float, best, y + at + c);
            STORE_PIXEL(uchar, TO_UCHARS(winner), index + at + c);
        }
    }
}

/* max_pool2d_dx on images in NHWC. Items: (H, N). */
__kernel void max_pool2d_dx_channels(CONST_TENSOR(uchar, index), CONST_TENSOR(float, dy), TENSOR(float, dx),
                                     POOL_PARAMETERS, int channels)
{
    USE_CONST(uchar, index);
    USE_CONST(float, dy);
    USE(float, dx);
    const int h = get_global_id(0), n = get_global_id(1);
    for (int w = 0; w < width; w++)
        for (int c = 0; c < channels; c += LANES) {
            FLOATS sum = 0.0f;
            for (int r = 0; r < r_count; r++) {
                const int top = h + padding_h - r;
                if (top < 0 || top % stride_h || top / stride_h >= oh_count)
                    continue;
                for (int s = 0; s < s_count; s++) {
                    const int left = w + padding_w - s;
                    if (left < 0 || left % stride_w || left / stride_w >= ow_count)
                        continue;
                    const ulong at =
                        (((ulong)n * oh_count + top / stride_h) * ow_count + left / stride_w) * channels + c;
                    const INTS won = TO_INTS(LOAD(index + at)) == r * s_count + s;
                    sum += won ? LOAD(dy + at) : (FLOATS)0.0f;
                }
            }
            STORE_PIXEL(float, sum, dx + (((ulong)n * height + h) * width + w) * channels + c);
        }
}
#endif
