/* Convolution with 3x3 windows, stride 1, of images in NHWC by Winograd's minimal filtering F(2x2, 3x3) (Lavin and Gray,
 * "Fast Algorithms for Convolutional Neural Networks", 2016): 16 multiplications make 4 outputs, not 36. For devices
 * whose work-items own wide vectors: lanes are channels.
 *
 * winograd_weights: panels (ceil(K / KT), 16, C, KT), KT = KV * LANES: each window (3, 3) of a weight (K, C, 3, 3), or where
 * `transposed` of a weight (C, K, 3, 3), turned by 180 degrees, as its transform (4, 4). Overwrites the panels.
 * Items: (ceil(K / KT), C).
 * conv2d_winograd: x (N, H, W, C), y (N, OH, OW, K). Overwrites y. An item does TB rows of tiles, of 2 rows of y each,
 * also of successive images: their input's transforms V (16, TILES, CP), then for KT channels at a time the
 * products M (16, TILES, KT) and from these y. Items: (ceil(N * TH / TB)), TH = ceil(OH / 2).
 *
 * Defines: LANES; N, C, K, H, W, OH, OW; padding PH PW (may be negative); HAS_BIAS; RELU behind y; MASK: x counts where mask
 * (like x) is above 0. Tunables: PX tiles by KV vectors in the register tile; TB. */
#ifndef PX
#define PX 8
#endif
#ifndef KV
#define KV 2
#endif
#ifndef TB
#define TB 1
#endif
#define KT (KV * LANES)

#ifndef W
__kernel void winograd_weights(CONST_TENSOR(float, weight), TENSOR(float, panels), int k_count, int c_count,
                               int transposed)
{
    USE_CONST(float, weight);
    USE(float, panels);
    const int tile = get_global_id(0), c = get_global_id(1);
    if (c >= c_count)
        return;
    panels += ((ulong)tile * 16 * c_count + c) * KT;
    for (int j = 0; j < KT; j += LANES) {
        float windows[9][LANES];
        FLOATS g[9], t[4][3];
        for (int l = 0; l < LANES; l++) {
            const int k = tile * KT + j + l;
            __global const float *window = weight + (transposed ? (ulong)c * k_count + k : (ulong)k * c_count + c) * 9;
            for (int i = 0; i < 9; i++)
                windows[transposed ? 8 - i : i][l] = k < k_count ? window[i] : 0.0f;
        }
#pragma unroll
        for (int i = 0; i < 9; i++)
            g[i] = LOAD(windows[i]);
#pragma unroll
        for (int i = 0; i < 3; i++) {
            t[0][i] = g[i];
            t[1][i] = 0.5f * (g[i] + g[3 + i] + g[6 + i]);
            t[2][i] = 0.5f * (g[i] - g[3 + i] + g[6 + i]);
            t[3][i] = g[6 + i];
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            __global float *to = panels + (ulong)(i * 4) * c_count * KT + j;
            STORE(t[i][0], to);
            STORE(0.5f * (t[i][0] + t[i][1] + t[i][2]), to + (ulong)c_count * KT);
            STORE(0.5f * (t[i][0] - t[i][1] + t[i][2]), to + (ulong)2 * c_count * KT);
            STORE(t[i][2], to + (ulong)3 * c_count * KT);
        }
    }
}
#else

#define TH ((OH + 1) / 2)
#define TW ((OW + 1) / 2)
#define TILES ((TB * TW + PX - 1) / PX * PX)
#define CP ((C + LANES - 1) / LANES * LANES)

/* The transforms of the tiles of row `row` (of all images' tile rows) into vs (16, TILES, CP) from tile `at` on. */
void transform_input(__local float *vs, __global const float *x, __global const float *mask, int row, int at);
void transform_input(__local float *vs, __global const float *x, __global const float *mask, int row, int at)
{
    const int n = row / TH, top = row % TH * 2 - PH;
    for (int tile = 0; tile < TW; tile++)
        for (int c = 0; c < C; c += LANES) {
            const int left = tile * 2 - PW;
            FLOATS d[4][4], t[4][4];
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    const int h = top + i, w = left + j;
                    const bool there = h >= 0 && h < H && w >= 0 && w < W;
                    const ulong from = (((ulong)n * H + h) * W + w) * C + c;
                    d[i][j] = 0.0f;
                    if (there) {
                        d[i][j] = LOAD(x + from);
#if MASK
                        d[i][j] = islessequal(LOAD(mask + from), (FLOATS)0.0f) ? (FLOATS)0.0f : d[i][j];
#endif
                    }
                }
#pragma unroll
            for (int j = 0; j < 4; j++) {
                t[0][j] = d[0][j] - d[2][j];
                t[1][j] = d[1][j] + d[2][j];
                t[2][j] = d[2][j] - d[1][j];
                t[3][j] = d[1][j] - d[3][j];
            }
            __local float *to = vs + (at + tile) * CP + c;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                STORE(t[i][0] - t[i][2], to + (i * 4 + 0) * TILES * CP);
                STORE(t[i][1] + t[i][2], to + (i * 4 + 1) * TILES * CP);
                STORE(t[i][2] - t[i][1], to + (i * 4 + 2) * TILES * CP);
                STORE(t[i][1] - t[i][3], to + (i * 4 + 3) * TILES * CP);
            }
        }
}

/* Outputs of the tiles of a row from ms (16, TILES, KT), channels k to k + KT. */
void transform_output(__local const float *ms, __global const float *bias, __global float *y, int row, int at, int k);
void transform_output(__local const float *ms, __global const float *bias, __global float *y, int row, int at, int k)
{
    const int n = row / TH, top = row % TH * 2;
    for (int tile = 0; tile < TW; tile++)
#pragma unroll
        for (int v = 0; v < KV; v++) {
            const int left = K - k - v * LANES;
            __local const float *from = ms + (at + tile) * KT + v * LANES;
            FLOATS t[2][4];
            if (left <= 0)
                break;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const FLOATS m0 = LOAD(from + (0 + j) * TILES * KT), m1 = LOAD(from + (4 + j) * TILES * KT);
                const FLOATS m2 = LOAD(from + (8 + j) * TILES * KT), m3 = LOAD(from + (12 + j) * TILES * KT);
                t[0][j] = m0 + m1 + m2;
                t[1][j] = m1 - m2 - m3;
            }
#if HAS_BIAS
            const FLOATS start = LOAD(bias + k + v * LANES);
#else
            const FLOATS start = 0.0f;
#endif
#pragma unroll
            for (int i = 0; i < 2; i++) {
                FLOATS out[2] = {start + t[i][0] + t[i][1] + t[i][2], start + t[i][1] - t[i][2] - t[i][3]};
#pragma unroll
                for (int j = 0; j < 2; j++) {
                    if (top + i >= OH || tile * 2 + j >= OW)
                        continue;
#if RELU
                    out[j] = isless(out[j], (FLOATS)0.0f) ? (FLOATS)0.0f : out[j];
#endif
                    __global float *to =
                        y + (((ulong)n * OH + top + i) * OW + tile * 2 + j) * K + k + v * LANES;
                    if (left >= LANES)
                        STORE(out[j], to);
                    else
                        STORE_SOME(float, out[j], to, left);
                }
            }
        }
}

__kernel void conv2d_winograd(CONST_TENSOR(float, x), CONST_TENSOR(float, mask), CONST_TENSOR(float, panels),
                              CONST_TENSOR(float, bias), TENSOR(float, y))
{
    USE_CONST(float, x);
    USE_CONST(float, mask);
    USE_CONST(float, panels);
    USE_CONST(float, bias);
    USE(float, y);
    __local float vs[16 * TILES * CP], ms[16 * TILES * KT];
    const int first = (int)get_global_id(0) * TB, rows = min(TB, N * TH - first);
    for (int row = 0; row < rows; row++)
        transform_input(vs, x, mask, first + row, row * TW);
    for (int k = 0; k < K; k += KT) {
        for (int e = 0; e < 16; e++, panels += C * KT)
            for (int tile = 0; tile < TILES; tile += PX) {
                __local const float *from = vs + (e * TILES + tile) * CP;
                __local float *to = ms + (e * TILES + tile) * KT;
                __global const float *u = panels;
                FLOATS acc[PX][KV];
#pragma unroll
                for (int p = 0; p < PX; p++)
#pragma unroll
                    for (int v = 0; v < KV; v++)
                        acc[p][v] = 0.0f;
                for (int c = 0; c < C; c++, u += KT) {
                    FLOATS weights[KV];
#pragma unroll
                    for (int v = 0; v < KV; v++)
                        weights[v] = LOAD(u + v * LANES);
#pragma unroll
                    for (int p = 0; p < PX; p++) {
                        const FLOATS value = from[p * CP + c];
#pragma unroll
                        for (int v = 0; v < KV; v++)
                            acc[p][v] = fma(value, weights[v], acc[p][v]);
                    }
                }
#pragma unroll
                for (int p = 0; p < PX; p++)
#pragma unroll
                    for (int v = 0; v < KV; v++)
                        STORE(acc[p][v], to + p * KT + v * LANES);
            }
        for (int row = 0; row < rows; row++)
            transform_output(ms, bias, y, first + row, row * TW, k);
    }
}
#endif
