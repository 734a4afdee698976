/* Convolution as a product of matrices whose tiles are gathered straight from the images, for GPUs (cl/common.clh): no columns
 * in memory. x (N, C, H, W), weight (K, C, R, S), y and dy (N, K, OH, OW).
 *
 * With a pooling window of PI x PJ = 1, 2 or 4 positions y is what ReLU and max pooling leave of the convolution, and
 * index (uint8, like y) the position that won, NONE where ReLU cut the maximum; else PI = PJ = 1 and index is not touched.
 *
 * MASKED: the gradients are of what a ReLU left, whose output is mask (like dy): nothing comes through where it is 0.
 *
 * PASS names the one kernel that a program holds: 0 forward, 1 gradient of the images, 2 of the weights.
 *
 * Defines: PASS, R, S, stride SH SW, padding PH PW, dilation DH DW, H, W, OH, OW, PI, PJ, POOL; HAS_BIAS; RELU (forward). */
#ifndef WM
#define WM 4
#define WN 4
#define RM 4
#define RN 4
#define TILE_K 4
#endif
#ifndef PASS
#define PASS 0
#endif
#ifndef POOL
#define POOL 0
#define PI 1
#define PJ 1
#endif
#ifndef MASKED
#define MASKED 0
#endif
#ifndef RELU
#define RELU 0
#endif
#ifndef HAS_BIAS
#define HAS_BIAS 0
#endif

#define POSITIONS (PI * PJ)
#define PLANE (OH * OW)
#define TAPS (R * S)
#define NONE 255
#define NOWHERE (-(1 << 30)) /* a row of images that no tap reaches */

/* Row and column of the convolution that position l of the pixels' windows has, all images' in order. */
#define ROW_OF(l) ((l) / POSITIONS % PLANE / OW * PI + (l) % POSITIONS / PJ)
#define COLUMN_OF(l) ((l) / POSITIONS % OW * PJ + (l) % PJ)

/* What tap l (of C, R, S) of the output whose first tap is at (top, left) reads from an image. */
float read_tap(__global const float *x, int top, int left, int l, int terms);
float read_tap(__global const float *x, int top, int left, int l, int terms)
{
    const int h = top + l % TAPS / S * DH, w = left + l % S * DW;
    return l < terms && (uint)h < H && (uint)w < W ? x[(l / TAPS * H + h) * W + w] : 0.0f;
}

#if PASS == 0
/* Overwrites y and index. Rows of the product are channels, columns the pixels' positions, terms taps.
 * Groups: (ceil(N*OH*OW*POSITIONS / TILE_N), ceil(K / TILE_M)). */
#define A(i, l) (row + (i) < k_count && (l) < terms ? weight[(row + (i)) * terms + (l)] : 0.0f)
#define B(j, l) read_tap(x, top, left, l, terms)
__kernel WORK_GROUP void conv2d_tiled(CONST_TENSOR(float, x), CONST_TENSOR(float, weight), CONST_TENSOR(float, bias),
                                      TENSOR(float, y), TENSOR(uchar, index), int n_count, int c_count, int k_count)
{
    USE_CONST(float, x);
    USE_CONST(float, weight);
    USE_CONST(float, bias);
    USE(float, y);
    USE(uchar, index);
    TILE_BEGIN
    const int column = (int)get_group_id(0) * TILE_N, row = (int)get_group_id(1) * TILE_M;
    const int columns = n_count * PLANE * POSITIONS, terms = c_count * TAPS;
    const int mine = column + TILE_PLACE(TILE_N, 0, 0); /* the column whose terms this item brings */
    const int top = mine < columns ? ROW_OF(mine) * SH - PH : NOWHERE, left = COLUMN_OF(mine) * SW - PW;
    x += (ulong)(mine / POSITIONS / PLANE) * c_count * H * W;
    TILE_MULTIPLY(A, 1, B, 0, 0, terms, )
#pragma unroll
    for (int i = 0; i < RM; i++) {
        const int k = row + TILE_ROW(i);
        if (k >= k_count)
            continue;
        const float b = HAS_BIAS ? bias[k] : 0.0f;
#pragma unroll
        for (int j = 0; j < RN / 4; j++) {
            float value[4];
            vstore4(acc[i][j] + b, 0, value);
#pragma unroll
            for (int l = 0; l < 4; l += POSITIONS) {
                const int pixel = (column + TILE_COLUMN(4 * j + l)) / POSITIONS;
                if (pixel >= n_count * PLANE)
                    continue;
                float best = value[l];
                int winner = 0;
#pragma unroll
                for (int p = 1; p < POSITIONS; p++)
                    if (isgreater(value[l + p], best) || isnan(value[l + p])) { /* a NaN wins over all */
                        best = value[l + p];
                        winner = p;
                    }
                if (RELU && islessequal(best, 0.0f)) {
                    best = 0.0f;
                    winner = NONE;
                }
                const ulong at = ((ulong)(pixel / PLANE) * k_count + k) * PLANE + pixel % PLANE;
                y[at] = best;
                if (POOL)
                    index[at] = (uchar)winner;
            }
        }
    }
}

#elif PASS == 1
/* Overwrites dx (N, C, H, W). Rows of the product are x's channels, columns pixels, terms taps and channels of dy. With a stride
 * the pixels of one remainder by it, a phase, are hit by the same taps, each QH rows and QW columns from the one before
 * (SH / gcd(SH, DH); defined where it is not SH, and so for W): a group has pixels of one phase, and no terms but of its taps.
 * K, with a stride: dy's channels. Groups: (ceil(N*HQ*WQ / TILE_N) * PHASES, ceil(C / TILE_M)). */
#ifndef QH
#define QH SH
#endif
#ifndef QW
#define QW SW
#endif
#define EH (DH / (SH / QH)) /* from tap to tap in dy */
#define EW (DW / (SW / QW))
#define HQ ((H + SH - 1) / SH) /* rows of a phase, at most */
#define WQ ((W + SW - 1) / SW)
#define PHASES_W (SW < W ? SW : W)
#define PHASES ((SH < H ? SH : H) * PHASES_W)
#if SH == 1 && SW == 1
#define TERMS (k_count * TAPS)
#define BY_TERMS 1
#define CHANNEL_OF(l) ((l) / TAPS)
#define TAP_ROW(l) ((l) % TAPS / S)
#define TAP_COLUMN(l) ((l) % S)
#else
/* Channels inside taps, so that only constants divide. */
#define KP ((K + TILE_K - 1) / TILE_K * TILE_K)
#define TERMS (tap_rows * tap_columns * KP)
#define BY_TERMS 0
#define CHANNEL_OF(l) ((l) % KP)
#define TAP_ROW(l) (tap_columns > S / QW ? (l) / KP / (S / QW + 1) : (l) / KP / (S / QW + (S < QW)))
#define TAP_COLUMN(l) ((l) / KP - TAP_ROW(l) * tap_columns)
#endif
/* The first of `taps` that hits pixels whose remainder inside the padding is `phase`; `taps`: none does. */
int first_tap(int phase, int taps, int stride, int dilation, int step);
int first_tap(int phase, int taps, int stride, int dilation, int step)
{
    int tap = 0;
    while (tap < taps && tap < step && tap * dilation % stride != phase)
        tap++;
    return tap < step ? tap : taps;
}
float read_gradient(__global const float *dy, __global const float *mask, int h, int w, int k, bool there);
float read_gradient(__global const float *dy, __global const float *mask, int h, int w, int k, bool there)
{
    const bool hit = there && (uint)h < OH && (uint)w < OW;
    const int at = (k * OH + h) * OW + w;
    if (MASKED)
        return hit && !(mask[at] <= 0.0f) ? dy[at] : 0.0f;
    return hit ? dy[at] : 0.0f;
}
#define THERE(l) ((l) < terms && CHANNEL_OF(l) < k_count)
#define A(i, l)                                                                                              \
    (row + (i) < c_count && THERE(l) ? weight[(CHANNEL_OF(l) * c_count + row + (i)) * TAPS +                 \
                                              (tap_row + TAP_ROW(l) * QH) * S + tap_column + TAP_COLUMN(l) * QW]  \
                                     : 0.0f)
#define B(j, l)                                                                                              \
    read_gradient(dy, mask, bottom - TAP_ROW(l) * EH, right - TAP_COLUMN(l) * EW, CHANNEL_OF(l), THERE(l))
__kernel WORK_GROUP void conv2d_tiled_dx(CONST_TENSOR(float, dy), CONST_TENSOR(float, mask), CONST_TENSOR(float, weight), TENSOR(float, dx),
                                         int n_count, int c_count, int k_count)
{
    USE_CONST(float, dy);
    USE_CONST(float, mask);
    USE_CONST(float, weight);
    USE(float, dx);
    TILE_BEGIN
    const int phase = (int)get_group_id(0) % PHASES, top = phase / PHASES_W, left = phase % PHASES_W;
    const int column = (int)get_group_id(0) / PHASES * TILE_N, row = (int)get_group_id(1) * TILE_M;
    const int tap_row = first_tap((top + PH) % SH, R, SH, DH, QH), tap_rows = (R - tap_row + QH - 1) / QH;
    const int tap_column = first_tap((left + PW) % SW, S, SW, DW, QW), tap_columns = (S - tap_column + QW - 1) / QW;
    const int columns = n_count * HQ * WQ, terms = TERMS;
    const int mine = column + TILE_PLACE(TILE_N, 0, 0); /* the column whose terms this item brings */
    const int h = mine / WQ % HQ * SH + top, w = mine % WQ * SW + left;
    const int bottom = mine < columns && h < H && w < W ? (h + PH - tap_row * DH) / SH : NOWHERE;
    const int right = (w + PW - tap_column * DW) / SW;
    dy += (ulong)(mine / (HQ * WQ)) * k_count * PLANE;
    mask += (ulong)(mine / (HQ * WQ)) * k_count * PLANE;
    TILE_MULTIPLY(A, BY_TERMS, B, 0, 0, terms, )
#pragma unroll
    for (int i = 0; i < RM; i++) {
        const int c = row + TILE_ROW(i);
        if (c >= c_count)
            continue;
#pragma unroll
        for (int j = 0; j < RN / 4; j++) {
            float value[4];
            vstore4(acc[i][j], 0, value);
#pragma unroll
            for (int l = 0; l < 4; l++) {
                const int pixel = column + TILE_COLUMN(4 * j + l);
                const int at_h = pixel / WQ % HQ * SH + top, at_w = pixel % WQ * SW + left;
                if (pixel < columns && at_h < H && at_w < W)
                    dx[(((ulong)(pixel / (HQ * WQ)) * c_count + c) * H + at_h) * W + at_w] = value[l];
            }
        }
    }
}

#else
/* The sums over `chunk` of the pixels' positions: gradients of weight, at `weights` (K, C, R, S), and of bias, at `biases` (K), of
 * group z in the third dimension z * part further. Overwrites them. Only the position that won in its window carries dy.
 * Rows of the product are channels, columns (C, R, S). Groups: (ceil(C*R*S / TILE_N), ceil(K / TILE_M), parts). */
#define A(i, l) (row + (i) < k_count && (l) < end ? read_winner(dy, index, mask, row + (i), l, k_count) : 0.0f)
#define B(j, l)                                                                                              \
    (column + (j) < columns && (l) < end                                                                     \
         ? read_tap(x + (l) / POSITIONS / PLANE * c_count * (H * W), ROW_OF(l) * SH - PH,                    \
                    COLUMN_OF(l) * SW - PW, column + (j), columns)                                           \
         : 0.0f)
float read_winner(__global const float *dy, __global const uchar *index, __global const float *mask, int k, int l,
                  int k_count);
float read_winner(__global const float *dy, __global const uchar *index, __global const float *mask, int k, int l,
                  int k_count)
{
    const int pixel = l / POSITIONS, at = (pixel / PLANE * k_count + k) * PLANE + pixel % PLANE;
    bool cut = false;
    if (POOL)
        cut = index[at] != l % POSITIONS;
    if (MASKED)
        cut = mask[at] <= 0.0f;
    return cut ? 0.0f : dy[at];
}
__kernel WORK_GROUP void conv2d_tiled_dw(CONST_TENSOR(float, x), CONST_TENSOR(uchar, index), CONST_TENSOR(float, dy),
                                         CONST_TENSOR(float, mask), TENSOR(float, weights), TENSOR(float, biases), int part, int n_count,
                                         int c_count, int k_count, int chunk)
{
    USE_CONST(float, x);
    USE_CONST(uchar, index);
    USE_CONST(float, dy);
    USE_CONST(float, mask);
    USE(float, weights);
    USE(float, biases);
    TILE_BEGIN
    const int column = (int)get_group_id(0) * TILE_N, row = (int)get_group_id(1) * TILE_M, z = get_group_id(2);
    const int columns = c_count * TAPS, first = z * chunk, end = min(first + chunk, n_count * PLANE * POSITIONS);
    float sum = 0.0f; /* of row `item`, where the group has the first columns */
    TILE_MULTIPLY(A, 1, B, 1, first, end,
                  if (HAS_BIAS && column == 0 && item < TILE_M) for (int t = 0; t < TILE_K; t++) sum +=
                      ((__local const float *)a_tile)[t * (TILE_M + TILE_PAD) + item])
    weights += (ulong)z * part;
    biases += (ulong)z * part;
    if (HAS_BIAS && column == 0 && item < TILE_M && row + item < k_count)
        biases[row + item] = sum;
#pragma unroll
    for (int i = 0; i < RM; i++) {
        const int k = row + TILE_ROW(i);
        if (k >= k_count)
            continue;
#pragma unroll
        for (int j = 0; j < RN / 4; j++) {
            float value[4];
            vstore4(acc[i][j], 0, value);
#pragma unroll
            for (int l = 0; l < 4; l++)
                if (column + TILE_COLUMN(4 * j + l) < columns)
                    weights[k * columns + column + TILE_COLUMN(4 * j + l)] = value[l];
        }
    }
}
#endif
