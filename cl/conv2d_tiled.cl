/* Convolution as a product of matrices whose tiles are gathered straight from the images, for GPUs (cl/common.clh): no columns
 * in memory. x (N, C, H, W), weight (K, C, R, S), y and dy (N, K, OH, OW).
 *
 * With a pooling window of PI x PJ = 1, 2 or 4 positions y is what ReLU and max pooling leave of the convolution, and
 * index (uint8, like y) the position that won, NONE where ReLU cut the maximum; else PI = PJ = 1 and index is not touched.
 *
 * MASKED: the gradients are of what a ReLU left, whose output is mask (like dy): nothing comes through where it is 0.
 *
 * PASS names the one kernel that a program holds: 0 forward, 1 gradient of the weights. That of the images: conv2d_tiled_dx.cl.
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
