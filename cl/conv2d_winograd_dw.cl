/* Gradient by the weight of a 3x3 convolution, stride 1, of images in NHWC, in the transforms of Winograd's F(2x2, 3x3)
 * (conv2d_winograd.cl): products of the transforms (4, 4) of x's tiles with those of dy's, added up over all tiles.
 *
 * conv2d_winograd_dw: in x (N, H, W, C), dy and mask (N, OH, OW, K); overwrites parts (CHUNKS, KGROUPS, PART): sums over a
 * chunk's rows of tiles, for KI output channels as (GROUPS, 16, CP, KI) and KI sums of dy for the bias behind them.
 * An item takes TB rows of tiles at a time and CG channels of x. Items: (KGROUPS = ceil(K / KI), CHUNKS).
 * conv2d_winograd_dw_sum: overwrites dweight (K, C, 3, 3) and, with HAS_BIAS, dbias (K). Items: (KGROUPS, C).
 *
 * Defines: LANES; N, C, K, H, W, OH, OW; padding PH PW; HAS_BIAS; MASK: dy counts where mask (like dy) is above 0;
 * KI; CG; CHUNK rows of tiles in each of CHUNKS. Tunables: MC channels of x by KV vectors in the register tile; TB. */
#ifndef MC
#define MC 8
#endif
#ifndef KV
#define KV 2
#endif
#ifndef TB
#define TB 1
#endif
#define KT (KV * LANES)
#define TH ((OH + 1) / 2)
#define TW ((OW + 1) / 2)
#define TILES (TB * TW)
#define GROUPS ((C + CG - 1) / CG)
#define STEP (MC > LANES ? MC : LANES)
#define CP ((CG + STEP - 1) / STEP * STEP)
#define KGROUPS ((K + KI - 1) / KI)
#define WEIGHTS (GROUPS * 16 * CP * KI)
#define PART (WEIGHTS + KI)

/* x's tiles of a row into vs (16, TILES, CP) from tile `at` on: `channels` channels from c on. */
void transform_x(__local float *vs, __global const float *x, int row, int at, int c, int channels);
void transform_x(__local float *vs, __global const float *x, int row, int at, int c, int channels)
{
    const int n = row / TH, top = row % TH * 2 - PH;
    for (int tile = 0; tile < TW; tile++)
        for (int i = 0; i < channels; i += LANES) {
            __local float *to = vs + (at + tile) * CP + i;
            FLOATS t[4][4];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const int w = tile * 2 - PW + j;
                FLOATS d[4];
#pragma unroll
                for (int l = 0; l < 4; l++) {
                    const int h = top + l;
                    d[l] = 0.0f;
                    if (h >= 0 && h < H && w >= 0 && w < W)
                        d[l] = LOAD(x + (((ulong)n * H + h) * W + w) * C + c + i);
                }
                t[0][j] = d[0] - d[2];
                t[1][j] = d[1] + d[2];
                t[2][j] = d[2] - d[1];
                t[3][j] = d[1] - d[3];
            }
#pragma unroll
            for (int l = 0; l < 4; l++) {
                STORE(t[l][0] - t[l][2], to + (l * 4 + 0) * TILES * CP);
                STORE(t[l][1] + t[l][2], to + (l * 4 + 1) * TILES * CP);
                STORE(t[l][2] - t[l][1], to + (l * 4 + 2) * TILES * CP);
                STORE(t[l][1] - t[l][3], to + (l * 4 + 3) * TILES * CP);
            }
        }
}

/* dy's tiles of a row into ds (16, TILES, KI) from tile `at` on, channels from k on; adds dy to sums (KI). */
void transform_dy(__local float *ds, __local float *sums, __global const float *dy, __global const float *mask, int row,
                  int at, int k);
void transform_dy(__local float *ds, __local float *sums, __global const float *dy, __global const float *mask, int row,
                  int at, int k)
{
    const int n = row / TH, top = row % TH * 2;
    for (int i = 0; i < min(KI, K - k); i += LANES) {
        FLOATS sum = 0.0f;
        for (int tile = 0; tile < TW; tile++) {
            __local float *to = ds + (at + tile) * KI + i;
            FLOATS d[2][2], t[4][2];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const int h = top + j / 2, w = tile * 2 + j % 2;
                const ulong from = (((ulong)n * OH + h) * OW + w) * K + k + i;
                FLOATS value = 0.0f;
                if (h < OH && w < OW) {
                    value = LOAD(dy + from);
#if MASK
                    value = islessequal(LOAD(mask + from), (FLOATS)0.0f) ? (FLOATS)0.0f : value;
#endif
                }
                d[j / 2][j % 2] = value;
                sum += value;
            }
#pragma unroll
            for (int j = 0; j < 2; j++) {
                t[0][j] = d[0][j];
                t[1][j] = d[0][j] + d[1][j];
                t[2][j] = d[0][j] - d[1][j];
                t[3][j] = -d[1][j];
            }
#pragma unroll
            for (int l = 0; l < 4; l++) {
                STORE(t[l][0], to + (l * 4 + 0) * TILES * KI);
                STORE(t[l][0] + t[l][1], to + (l * 4 + 1) * TILES * KI);
                STORE(t[l][0] - t[l][1], to + (l * 4 + 2) * TILES * KI);
                STORE(-t[l][1], to + (l * 4 + 3) * TILES * KI);
            }
        }
        STORE(LOAD(sums + i) + sum, sums + i);
    }
}

/* to (CP, KI) = or, after the first block, += the products of x's transforms vs (tiles, CP) and dy's ds (tiles, KI). */
void add_products(__global float *to, __local const float *vs, __local const float *ds, int tiles, bool begun);
void add_products(__global float *to, __local const float *vs, __local const float *ds, int tiles, bool begun)
{
    for (int k = 0; k < KI; k += KT)
        for (int c = 0; c < CP; c += MC) {
            FLOATS acc[MC][KV];
#pragma unroll
            for (int i = 0; i < MC; i++)
#pragma unroll
                for (int v = 0; v < KV; v++)
                    acc[i][v] = begun ? LOAD(to + (c + i) * KI + k + v * LANES) : (FLOATS)0.0f;
            for (int tile = 0; tile < tiles; tile++) {
                FLOATS d[KV];
#pragma unroll
                for (int v = 0; v < KV; v++)
                    d[v] = LOAD(ds + tile * KI + k + v * LANES);
#pragma unroll
                for (int i = 0; i < MC; i++) {
                    const FLOATS value = vs[tile * CP + c + i];
#pragma unroll
                    for (int v = 0; v < KV; v++)
                        acc[i][v] = fma(value, d[v], acc[i][v]);
                }
            }
#pragma unroll
            for (int i = 0; i < MC; i++)
#pragma unroll
                for (int v = 0; v < KV; v++)
                    STORE(acc[i][v], to + (c + i) * KI + k + v * LANES);
        }
}

__kernel void conv2d_winograd_dw(CONST_TENSOR(float, x), CONST_TENSOR(float, dy), CONST_TENSOR(float, mask),
                                 TENSOR(float, parts))
{
    USE_CONST(float, x);
    USE_CONST(float, dy);
    USE_CONST(float, mask);
    USE(float, parts);
    __local float vs[16 * TILES * CP], ds[16 * TILES * KI], sums[KI];
    const int k = (int)get_global_id(0) * KI, chunk = get_global_id(1);
    const int begin = chunk * CHUNK, end = min(begin + CHUNK, N * TH);
    parts += ((ulong)chunk * KGROUPS + get_global_id(0)) * PART;
    for (int i = 0; i < KI; i++)
        sums[i] = 0.0f;
    for (int first = begin; first < end; first += TB) {
        const int rows = min(TB, end - first);
        for (int row = 0; row < rows; row++)
            transform_dy(ds, sums, dy, mask, first + row, row * TW, k);
        for (int group = 0; group < GROUPS; group++) {
            for (int row = 0; row < rows; row++)
                transform_x(vs, x, first + row, row * TW, group * CG, min(CG, C - group * CG));
            for (int e = 0; e < 16; e++)
                add_products(parts + (group * 16 + e) * CP * KI, vs + e * TILES * CP, ds + e * TILES * KI, rows * TW,
                             first > begin);
        }
    }
    for (int i = 0; i < KI; i += LANES)
        STORE(LOAD(sums + i), parts + WEIGHTS + i);
}

__kernel void conv2d_winograd_dw_sum(CONST_TENSOR(float, parts), TENSOR(float, dweight), TENSOR(float, dbias))
{
    USE_CONST(float, parts);
    USE(float, dweight);
    USE(float, dbias);
    const int k = (int)get_global_id(0) * KI, c = get_global_id(1);
    if (c >= C)
        return;
    parts += (ulong)get_global_id(0) * PART;
    for (int i = 0; i < min(KI, K - k); i += LANES) {
        FLOATS u[16], t[3][4];
        float w[9][LANES];
#pragma unroll
        for (int e = 0; e < 16; e++) {
            __global const float *from = parts + ((c / CG * 16 + e) * CP + c % CG) * KI + i;
            u[e] = 0.0f;
            for (int chunk = 0; chunk < CHUNKS; chunk++)
                u[e] += LOAD(from + (ulong)chunk * KGROUPS * PART);
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            t[0][j] = u[j] + 0.5f * (u[4 + j] + u[8 + j]);
            t[1][j] = 0.5f * (u[4 + j] - u[8 + j]);
            t[2][j] = 0.5f * (u[4 + j] + u[8 + j]) + u[12 + j];
        }
#pragma unroll
        for (int r = 0; r < 3; r++) {
            STORE(t[r][0] + 0.5f * (t[r][1] + t[r][2]), w[r * 3]);
            STORE(0.5f * (t[r][1] - t[r][2]), w[r * 3 + 1]);
            STORE(0.5f * (t[r][1] + t[r][2]) + t[r][3], w[r * 3 + 2]);
        }
        for (int l = 0; l < min(LANES, K - k - i); l++)
            for (int j = 0; j < 9; j++)
                dweight[((ulong)(k + i + l) * C + c) * 9 + j] = w[j][l];
    }
#if HAS_BIAS
    for (int i = 0; c == 0 && i < min(KI, K - k); i++) {
        float sum = 0.0f;
        for (int chunk = 0; chunk < CHUNKS; chunk++)
            sum += parts[(ulong)chunk * KGROUPS * PART + WEIGHTS + i];
        dbias[k + i] = sum;
    }
#endif
}
