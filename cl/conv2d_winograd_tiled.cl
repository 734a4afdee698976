/* Convolution with 3x3 windows, stride 1, of images in NCHW by Winograd's minimal filtering F(2x2, 3x3) (see conv2d_winograd.cl), for
 * GPUs: one product of matrices for each of the 16 positions in a transformed tile, its tiles in local memory (cl/common.clh).
 *
 * winograd_tiled_weights: panels (ceil(K / TILE_M), CP, 16, TILE_M), CP = C rounded up to TILE_K: the transform (4, 4) of each
 * window (3, 3) of a weight (K, C, 3, 3), or where `transposed` of a weight (C, K, 3, 3), turned by 180 degrees. Overwrites all of
 * the panels, zeros where there is no window. Items: (K rounded up to TILE_M, CP).
 * conv2d_winograd_tiled: x (N, C, H, W), y (N, K, OH, OW). Overwrites y. A group does TILE_M channels of TILE_N tiles of 2x2
 * pixels: TILE_K channels of x at a time, which it transforms, and in the end y from the 16 products. WM x WN of its items work
 * on each position. Groups: (ceil(N*TH*TW / TILE_N), ceil(K / TILE_M)), TH = ceil(OH / 2), TW = ceil(OW / 2).
 *
 * Defines: H, W, OH, OW; padding PH PW (may be negative); HAS_BIAS; RELU behind y; MASKED: x counts where mask (like x) is above 0;
 * the weights' kernel alone: WEIGHTS. Tunables: WM, WN, RM, RN, TILE_K, as in cl/common.clh. */
#ifndef WM
#define WM 4
#define WN 4
#define RM 4
#define RN 4
#define TILE_K 8
#endif
#ifndef WEIGHTS
#define WEIGHTS 0
#endif

#if WEIGHTS

__kernel void winograd_tiled_weights(CONST_TENSOR(float, weight), TENSOR(float, panels), int k_count, int c_count, int transposed)
{
    USE_CONST(float, weight);
    USE(float, panels);
    const int k = get_global_id(0), c = get_global_id(1), rounded = get_global_size(1);
    const bool there = k < k_count && c < c_count;
    weight += there ? (transposed ? c * k_count + k : k * c_count + c) * 9 : 0;
    panels += ((ulong)(k / TILE_M) * rounded + c) * (16 * TILE_M) + k % TILE_M;
    float g[9], t[4][3];
#pragma unroll
    for (int i = 0; i < 9; i++) {
        const float value = weight[transposed ? 8 - i : i];
        g[i] = there ? value : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < 3; i++) {
        t[0][i] = g[i];
        t[1][i] = 0.5f * (g[i] + g[3 + i] + g[6 + i]);
        t[2][i] = 0.5f * (g[i] - g[3 + i] + g[6 + i]);
        t[3][i] = g[6 + i];
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        panels[(4 * i + 0) * TILE_M] = t[i][0];
        panels[(4 * i + 1) * TILE_M] = 0.5f * (t[i][0] + t[i][1] + t[i][2]);
        panels[(4 * i + 2) * TILE_M] = 0.5f * (t[i][0] - t[i][1] + t[i][2]);
        panels[(4 * i + 3) * TILE_M] = t[i][2];
    }
}
#else

#define TH ((OH + 1) / 2)
#define TW ((OW + 1) / 2)
#define PLANE (OH * OW)
#define NOWHERE (-(1 << 30)) /* a row of images that no window reaches */
#define ITEMS (16 * GROUP)   /* of a group */
/* Floats of a position's tile in local memory; the pad puts neighbours in different banks. */
#define A_FLOATS (TILE_K * (TILE_M + TILE_PAD) + 16)
#define B_FLOATS (TILE_K * (TILE_N + TILE_PAD) + 16)
#define OPERANDS (16 * (A_FLOATS + B_FLOATS))
#define BLOCK (16 * ITEMS) /* products of 4 x 4 of each item's */

/* Row i of the transform of the tile at (top, left) of an image. */
float4 transform_row(__global const float *x, __global const float *mask, int top, int left, int i, bool there);
float4 transform_row(__global const float *x, __global const float *mask, int top, int left, int i, bool there)
{
    const int h0 = top + (i == 0 ? 0 : i == 2 ? 2 : 1), h1 = top + (i == 3 ? 3 : i == 2 ? 1 : 2);
    const bool in0 = there && (uint)h0 < H, in1 = there && (uint)h1 < H;
    float t[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const int w = left + j;
        const bool hit0 = in0 && (uint)w < W, hit1 = in1 && (uint)w < W;
        float d0 = hit0 ? x[h0 * W + w] : 0.0f, d1 = hit1 ? x[h1 * W + w] : 0.0f;
        if (MASKED) {
            d0 = hit0 && mask[h0 * W + w] <= 0.0f ? 0.0f : d0;
            d1 = hit1 && mask[h1 * W + w] <= 0.0f ? 0.0f : d1;
        }
        t[j] = i == 1 ? d0 + d1 : d0 - d1;
    }
    return (float4)(t[0] - t[2], t[1] + t[2], t[2] - t[1], t[1] - t[3]);
}

/* y's 2x2 pixels of one tile in one channel, from its 16 products, `stride` apart. */
void transform_output(__local const float *m, int stride, float start, __global float *y, int top, int left);
void transform_output(__local const float *m, int stride, float start, __global float *y, int top, int left)
{
    float t[2][4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const float m0 = m[j * stride], m1 = m[(4 + j) * stride], m2 = m[(8 + j) * stride], m3 = m[(12 + j) * stride];
        t[0][j] = m0 + m1 + m2;
        t[1][j] = m1 - m2 - m3;
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float out[2] = {start + t[i][0] + t[i][1] + t[i][2], start + t[i][1] - t[i][2] - t[i][3]};
#pragma unroll
        for (int j = 0; j < 2; j++) {
            if (RELU && islessequal(out[j], 0.0f))
                out[j] = 0.0f;
            if (top + i < OH && left + j < OW)
                y[(top + i) * OW + left + j] = out[j];
        }
    }
}

__kernel GROUP_OF(ITEMS) void conv2d_winograd_tiled(CONST_TENSOR(float, x), CONST_TENSOR(float, mask), CONST_TENSOR(float, panels),
                                                    CONST_TENSOR(float, bias), TENSOR(float, y), int n_count, int c_count,
                                                    int k_count)
{
    USE_CONST(float, x);
    USE_CONST(float, mask);
    USE_CONST(float, panels);
    USE_CONST(float, bias);
    USE(float, y);
    __local float4 memory[(OPERANDS > BLOCK ? OPERANDS : BLOCK) / 4]; /* operands, in the end products */
    __local float *a_tile = (__local float *)memory, *b_tile = a_tile + 16 * A_FLOATS;
    const int id = get_local_id(0), position = id / GROUP, item = id % GROUP;
    const int column = (int)get_group_id(0) * TILE_N, row = (int)get_group_id(1) * TILE_M;
    const int tiles = n_count * TH * TW, rounded = (c_count + TILE_K - 1) / TILE_K * TILE_K;
    const int mine = column + id % TILE_N; /* the tile of x that this item transforms */
    const int top = mine < tiles ? mine / TW % TH * 2 - PH : NOWHERE, left = mine % TW * 2 - PW;
    const int place = id / TILE_N;
    x += (ulong)(mine / (TH * TW)) * c_count * (H * W);
    mask += (ulong)(mine / (TH * TW)) * c_count * (H * W);
    panels += (ulong)get_group_id(1) * rounded * (16 * TILE_M);
    float4 acc[RM][RN / 4];
#pragma unroll
    for (int i = 0; i < RM; i++)
#pragma unroll
        for (int j = 0; j < RN / 4; j++)
            acc[i][j] = 0.0f;
    for (int first = 0; first < c_count; first += TILE_K, panels += TILE_K * 16 * TILE_M) {
#pragma unroll
        for (int i = 0; i < TILE_K * TILE_M / GROUP; i++) {
            const int at = i * ITEMS + id;
            a_tile[at / TILE_M % 16 * A_FLOATS + at / (16 * TILE_M) * (TILE_M + TILE_PAD) + at % TILE_M] = panels[at];
        }
#pragma unroll
        for (int i = 0; i < 4 * TILE_K * TILE_N / ITEMS; i++) {
            const int at = i * (ITEMS / TILE_N) + place, c = at % TILE_K, r = at / TILE_K;
            const ulong from = (ulong)(first + c) * (H * W);
            const float4 v = transform_row(x + from, mask + from, top, left, r, first + c < c_count);
            __local float *to = b_tile + 4 * r * B_FLOATS + c * (TILE_N + TILE_PAD) + id % TILE_N;
            to[0] = v.x;
            to[B_FLOATS] = v.y;
            to[2 * B_FLOATS] = v.z;
            to[3 * B_FLOATS] = v.w;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        tile_multiply(acc, (__local const float4 *)(a_tile + position * A_FLOATS),
                      (__local const float4 *)(b_tile + position * B_FLOATS), item);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    /* Of every block of 4 x 4 products that items have, each item does one channel of one tile. */
#pragma unroll
    for (int i = 0; i < RM / 4; i++)
#pragma unroll
        for (int j = 0; j < RN / 4; j++) {
            const int channel = id / (4 * WN), k = row + i * WM * 4 + channel, tile = column + j * WN * 4 + id % (4 * WN);
#pragma unroll
            for (int l = 0; l < 4; l++)
                memory[(position * 4 * WM + item / WN * 4 + l) * WN + item % WN] = acc[4 * i + l][j];
            barrier(CLK_LOCAL_MEM_FENCE);
            if (k < k_count && tile < tiles)
                transform_output((__local const float *)memory + id, ITEMS, HAS_BIAS ? bias[k] : 0.0f,
                                 y + ((ulong)(tile / (TH * TW)) * k_count + k) * PLANE, tile / TW % TH * 2, tile % TW * 2);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
}
#endif
