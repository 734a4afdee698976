/* Convolution, ReLU and max pooling in one without local memory (src/op/conv2d_relu_pool_tiled.c): for few input channels, and
 * for windows that tiles do not hold; and the gradient of its weights where a device has no room for tiles.
 * x (N, C, H, W), weight (K, C, R, S), y, dy and index (uint8; NONE where ReLU cut) (N, K, OH, OW).
 * Defines: GROUP; C, R, S, SH, SW, PH, PW, DH, DW, H, W, OH, OW, window PI x PJ; HAS_BIAS. Tunable: KT channels an item. */
#ifndef GROUP
#define GROUP 1
#endif
#ifndef KT
#define KT 1
#endif
#define POSITIONS (PI * PJ)
#define PLANE (OH * OW)
#define NONE 255

/* Overwrites y and index: an item makes KT channels of a pixel. Items: (N*OH*OW, ceil(K / KT)), the first in groups of GROUP:
 * a group shares its weights. */
__kernel GROUP_OF(GROUP) void
conv2d_relu_pool_direct(CONST_TENSOR(float, x), CONST_TENSOR(float, weight), CONST_TENSOR(float, bias), TENSOR(float, y),
                        TENSOR(uchar, index), int n_count, int k_count)
{
    USE_CONST(float, x);
    USE_CONST(float, weight);
    USE_CONST(float, bias);
    USE(float, y);
    USE(uchar, index);
    const int pixel = get_global_id(0), k = (int)get_group_id(1) * KT;
    if (pixel >= n_count * PLANE)
        return;
    const int top = pixel % PLANE / OW * PI * SH - PH, left = pixel % OW * PJ * SW - PW;
    float acc[KT][POSITIONS];
    x += (ulong)(pixel / PLANE) * (C * H * W);
#pragma unroll
    for (int t = 0; t < KT; t++)
#pragma unroll
        for (int p = 0; p < POSITIONS; p++)
            acc[t][p] = HAS_BIAS ? bias[min(k + t, k_count - 1)] : 0.0f;
    for (int c = 0; c < C; c++)
#pragma unroll 1 /* weights of a row at a time: they lie in the few registers that a group shares */
        for (int r = 0; r < R; r++)
#pragma unroll
            for (int s = 0; s < S; s++) {
                float v[POSITIONS];
#pragma unroll
                for (int p = 0; p < POSITIONS; p++) {
                    const int h = top + p / PJ * SH + r * DH, w = left + p % PJ * SW + s * DW;
                    v[p] = (uint)h < H && (uint)w < W ? x[(c * H + h) * W + w] : 0.0f;
                }
#pragma unroll
                for (int t = 0; t < KT; t++) {
                    const float w = weight[((min(k + t, k_count - 1) * C + c) * R + r) * S + s];
#pragma unroll
                    for (int p = 0; p < POSITIONS; p++)
                        acc[t][p] = fma(w, v[p], acc[t][p]);
                }
            }
#pragma unroll
    for (int t = 0; t < KT; t++) {
        float best = acc[t][0];
        int winner = 0;
#pragma unroll
        for (int p = 1; p < POSITIONS; p++)
            if (isgreater(acc[t][p], best) || isnan(acc[t][p])) { /* a NaN wins over all */
                best = acc[t][p];
                winner = p;
            }
        if (islessequal(best, 0.0f)) {
            best = 0.0f;
            winner = NONE;
        }
        if (k + t < k_count) {
            const ulong at = ((ulong)(pixel / PLANE) * k_count + k + t) * PLANE + pixel % PLANE;
            y[at] = best;
            index[at] = (uchar)winner;
        }
    }
}

/* Gradients of weight and bias, or the update (GRADIENT_PARAMETERS): an item makes one of them. Items: (C*R*S + 1, K). */
__kernel void conv2d_relu_pool_weights(CONST_TENSOR(float, x), CONST_TENSOR(uchar, index), CONST_TENSOR(float, dy),
                                       GRADIENT_PARAMETERS, int n_count, int k_count)
{
    USE_CONST(float, x);
    USE_CONST(uchar, index);
    USE_CONST(float, dy);
    const int tap = get_global_id(0), k = get_global_id(1);
    const bool is_bias = tap == C * R * S;
    if (tap > C * R * S || (is_bias && !HAS_BIAS))
        return;
    float g = 0.0f;
    for (int n = 0; n < n_count; n++) {
        float sum = 0.0f; /* of an image: shorter chains, less rounding */
        for (int p = 0; p < PLANE; p++) {
            const ulong at = ((ulong)n * k_count + k) * PLANE + p;
            const int winner = index[at];
            const int h = (p / OW * PI + winner / PJ) * SH - PH + tap % (R * S) / S * DH;
            const int w = (p % OW * PJ + winner % PJ) * SW - PW + tap % S * DW;
            if (winner == NONE)
                continue;
            if (is_bias)
                sum += dy[at];
            else if ((uint)h < H && (uint)w < W)
                sum = fma(dy[at], x[(((ulong)n * C + tap / (R * S)) * H + h) * W + w], sum);
        }
        g += sum;
    }
    if (is_bias)
        FINISH(bias, k, g);
    else
        FINISH(weight, k * (C * R * S) + tap, g);
}
