/* Images to columns and back. x (N, C, H, W); cols (C*R*S, N*OH*OW), row (c, r, s), column (n, oh, ow).
 * Padded positions are 0. Defines: STRIDE_H, STRIDE_W: constants, for the divisions by them and for loads in a row. */
#ifndef STRIDE_H
#define STRIDE_H 1
#define STRIDE_W 1
#endif
#define CONV_PARAMETERS                                                                                      \
    int images, int c_count, int height, int width, int r_count, int s_count, int oh_count, int ow_count,     \
        int padding_h, int padding_w, int dilation_h, int dilation_w

/* Overwrites cols. An item makes a column's rows of one channel: neighbours write neighbours, and where the window lies is found once
 * for all of its places. Items: (OH*OW, C, images). */
__kernel void im2col(CONST_TENSOR(float, x), TENSOR(float, cols), CONV_PARAMETERS)
{
    USE_CONST(float, x);
    USE(float, cols);
    const int p = get_global_id(0), c = get_global_id(1), n = get_global_id(2);
    const int plane = oh_count * ow_count;
    if (p >= plane)
        return;
    const int top = p / ow_count * STRIDE_H - padding_h, left = p % ow_count * STRIDE_W - padding_w;
    x += ((ulong)n * c_count + c) * height * width;
    cols += ((ulong)c * r_count * s_count * images + n) * plane + p;
    for (int r = 0; r < r_count; r++)
        for (int s = 0; s < s_count; s++, cols += (ulong)images * plane) {
            const int h = top + r * dilation_h, w = left + s * dilation_w;
            *cols = h >= 0 && h < height && w >= 0 && w < width ? x[h * width + w] : 0.0f;
        }
}

/* Overwrites x with the sum of the columns' values that came from each place: gathered, so that the order of
 * addition is fixed and no atomics are needed. Items: (W, H, images*C). */
__kernel void col2im(CONST_TENSOR(float, cols), TENSOR(float, x), CONV_PARAMETERS)
{
    USE_CONST(float, cols);
    USE(float, x);
    const int w = get_global_id(0), h = get_global_id(1);
    const int n = get_global_id(2) / c_count, c = get_global_id(2) % c_count;
    if (w >= width)
        return;
    const int plane = oh_count * ow_count;
    float sum = 0.0f;
    for (int r = 0; r < r_count; r++) {
        const int top = h + padding_h - r * dilation_h;
        if (top < 0 || top % STRIDE_H || top / STRIDE_H >= oh_count)
            continue;
        for (int s = 0; s < s_count; s++) {
            const int left = w + padding_w - s * dilation_w;
            if (left < 0 || left % STRIDE_W || left / STRIDE_W >= ow_count)
                continue;
            const ulong row = ((ulong)c * r_count + r) * s_count + s;
            sum += cols[(row * images + n) * plane + top / STRIDE_H * ow_count + left / STRIDE_W];
        }
    }
    x[(((ulong)n * c_count + c) * height + h) * width + w] = sum;
}

/* ---- the same for devices whose work-items do rows of a plane (CPUs) ---- */

/* Overwrites cols. An item makes a row of the columns' matrix for one image. Items: (C*R*S, images). */
__kernel void im2col_rows(CONST_TENSOR(float, x), TENSOR(float, cols), CONV_PARAMETERS)
{
    USE_CONST(float, x);
    USE(float, cols);
    const int row = get_global_id(0), n = get_global_id(1);
    const int c = row / (r_count * s_count), r = row / s_count % r_count, s = row % s_count;
    const int shift = s * dilation_w - padding_w;
    /* Output columns from first to end read inside the image. */
    const int first = min(shift < 0 ? (-shift + STRIDE_W - 1) / STRIDE_W : 0, ow_count);
    const int end = max(min((width - shift + STRIDE_W - 1) / STRIDE_W, ow_count), first);
    x += ((ulong)n * c_count + c) * height * width;
    cols += ((ulong)row * images + n) * oh_count * ow_count;
    for (int oh = 0; oh < oh_count; oh++, cols += ow_count) {
        const int h = oh * STRIDE_H - padding_h + r * dilation_h;
        const bool inside = h >= 0 && h < height;
        const int from = inside ? first : ow_count, to = inside ? end : ow_count;
        for (int ow = 0; ow < from; ow++)
            cols[ow] = 0.0f;
        for (int ow = from; ow < to; ow++)
            cols[ow] = x[h * width + ow * STRIDE_W + shift];
        for (int ow = to; ow < ow_count; ow++)
            cols[ow] = 0.0f;
    }
}

/* Overwrites x. An item adds up a plane, tap by tap: a fixed order. Items: (C, images). */
__kernel void col2im_rows(CONST_TENSOR(float, cols), TENSOR(float, x), CONV_PARAMETERS)
{
    USE_CONST(float, cols);
    USE(float, x);
    const int c = get_global_id(0), n = get_global_id(1);
    x += ((ulong)n * c_count + c) * height * width;
    for (int i = 0; i < height * width; i++)
        x[i] = 0.0f;
    for (int r = 0; r < r_count; r++)
        for (int s = 0; s < s_count; s++) {
            const int shift = s * dilation_w - padding_w;
            const int first = min(shift < 0 ? (-shift + STRIDE_W - 1) / STRIDE_W : 0, ow_count);
            const int end = max(min((width - shift + STRIDE_W - 1) / STRIDE_W, ow_count), first);
            const ulong row = ((ulong)c * r_count + r) * s_count + s;
            __global const float *from = cols + (row * images + n) * oh_count * ow_count;
            for (int oh = 0; oh < oh_count; oh++, from += ow_count) {
                const int h = oh * STRIDE_H - padding_h + r * dilation_h;
                if (h < 0 || h >= height)
                    continue;
                for (int ow = first; ow < end; ow++)
                    x[h * width + ow * STRIDE_W + shift] += from[ow];
            }
        }
}
