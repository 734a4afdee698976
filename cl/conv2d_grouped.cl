/* Convolution in groups straight from its definition, for any device: an item makes one value. Of C channels of x (N, C, H, W)
 * each group has group_in, of K channels of y and dy (N, K, OH, OW) group_out; weight (K, group_in, R, S).
 *
 * Defines: R, S, stride SH SW, padding PH PW, dilation DH DW; HAS_BIAS, RELU behind y; MASK: the gradients are of what a
 * ReLU left, whose output is mask (like dy): nothing comes through where it is not above 0. */
#ifndef R
#define R 3
#define S 3
#define SH 1
#define SW 1
#define PH 1
#define PW 1
#define DH 1
#define DW 1
#endif
#ifndef HAS_BIAS
#define HAS_BIAS 0
#endif
#ifndef RELU
#define RELU 0
#endif
#ifndef MASK
#define MASK 0
#endif
#define TAPS (R * S)
#define SIZES                                                                                                \
    int c_count, int k_count, int group_in, int group_out, int height, int width, int oh_count, int ow_count
#if MASK
#define DY(at) (mask[at] <= 0.0f ? 0.0f : dy[at])
#else
#define DY(at) dy[at]
#endif

/* Overwrites y. Items: (OH*OW, K, N). */
__kernel void conv2d_grouped(CONST_TENSOR(float, x), CONST_TENSOR(float, weight), CONST_TENSOR(float, bias),
                             TENSOR(float, y), SIZES)
{
    USE_CONST(float, x);
    USE_CONST(float, weight);
    USE_CONST(float, bias);
    USE(float, y);
    const int p = get_global_id(0), k = get_global_id(1), n = get_global_id(2);
    if (p >= oh_count * ow_count)
        return;
    const int top = p / ow_count * SH - PH, left = p % ow_count * SW - PW;
    x += ((ulong)n * c_count + k / group_out * group_in) * height * width;
    weight += (ulong)k * group_in * TAPS;
    float sum = HAS_BIAS ? bias[k] : 0.0f;
    for (int c = 0; c < group_in; c++, x += height * width, weight += TAPS)
        for (int r = 0; r < R; r++)
            for (int s = 0; s < S; s++) {
                const int h = top + r * DH, w = left + s * DW;
                if (h >= 0 && h < height && w >= 0 && w < width)
                    sum = fma(x[h * width + w], weight[r * S + s], sum);
            }
    y[((ulong)n * k_count + k) * oh_count * ow_count + p] = RELU && isless(sum, 0.0f) ? 0.0f : sum;
}

/* Overwrites dx (N, C, H, W). Items: (H*W, C, N). */
__kernel void conv2d_grouped_dx(CONST_TENSOR(float, dy), CONST_TENSOR(float, mask), CONST_TENSOR(float, weight),
                                TENSOR(float, dx), SIZES)
{
    USE_CONST(float, dy);
    USE_CONST(float, mask);
    USE_CONST(float, weight);
    USE(float, dx);
    const int p = get_global_id(0), c = get_global_id(1), n = get_global_id(2);
    if (p >= height * width)
        return;
    const int bottom = p / width + PH, right = p % width + PW, plane = oh_count * ow_count;
    const int first = c / group_in * group_out;
    dy += ((ulong)n * k_count + first) * plane;
    mask += ((ulong)n * k_count + first) * plane;
    weight += ((ulong)first * group_in + c % group_in) * TAPS;
    float sum = 0.0f;
    for (int k = 0; k < group_out; k++, dy += plane, mask += plane, weight += group_in * TAPS)
        for (int r = 0; r < R; r++)
            for (int s = 0; s < S; s++) {
                const int h = bottom - r * DH, w = right - s * DW;
                if (h < 0 || w < 0 || h % SH || w % SW || h / SH >= oh_count || w / SW >= ow_count)
                    continue;
                const int at = h / SH * ow_count + w / SW;
                sum = fma(DY(at), weight[r * S + s], sum);
            }
    dx[((ulong)n * c_count + c) * height * width + p] = sum;
}

/* The sums over images z * chunk on, `chunk` of them: gradients of weight, at `weights`, and, behind their number, of bias, at
 * `biases`, of group z `part` further. Overwrites them. Rows are added first. Items: (weights and biases, parts). */
__kernel void conv2d_grouped_dw(CONST_TENSOR(float, x), CONST_TENSOR(float, dy), CONST_TENSOR(float, mask),
                                TENSOR(float, weights), TENSOR(float, biases), SIZES, int n_count, int chunk,
                                int part)
{
    USE_CONST(float, x);
    USE_CONST(float, dy);
    USE_CONST(float, mask);
    USE(float, weights);
    USE(float, biases);
    const int i = get_global_id(0), z = get_global_id(1), count = k_count * group_in * TAPS;
    if (i >= count + HAS_BIAS * k_count)
        return;
    const bool of_weight = i < count;
    const int k = of_weight ? i / (group_in * TAPS) : i - count;
    const int c = k / group_out * group_in + i / TAPS % group_in, top = i / S % R * DH - PH, left = i % S * DW - PW;
    float sum = 0.0f;
    for (int n = z * chunk; n < min((z + 1) * chunk, n_count); n++) {
        __global const float *image = x + ((ulong)n * c_count + (of_weight ? c : 0)) * height * width;
        for (int oh = 0; oh < oh_count; oh++) {
            const ulong row = (((ulong)n * k_count + k) * oh_count + oh) * ow_count;
            const int h = oh * SH + top;
            float row_sum = 0.0f;
            if (!of_weight)
                for (int ow = 0; ow < ow_count; ow++)
                    row_sum += DY(row + ow);
            else if (h >= 0 && h < height)
                for (int ow = 0; ow < ow_count; ow++) {
                    const int w = ow * SW + left;
                    if (w >= 0 && w < width)
                        row_sum = fma(DY(row + ow), image[h * width + w], row_sum);
                }
            sum += row_sum;
        }
    }
    if (of_weight)
        weights[(ulong)z * part + i] = sum;
    else
        biases[(ulong)z * part + k] = sum;
}
