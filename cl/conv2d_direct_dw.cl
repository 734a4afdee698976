/* Gradient by the weight of a convolution of images in NHWC, for devices whose work-items own wide vectors: lanes are output
 * channels, a register tile holds MC values of x at one tap by KV vectors of dy's channels, and adds up over pixels.
 * Rows of x and of dy are first copied into local memory: x inside its padding, dy with ReLU's gradient applied.
 *
 * conv2d_direct_dw: in x (N, H, W, C), dy and mask (N, OH, OW, K); overwrites parts (CHUNKS, ceil(K / KT), GROUPS, PART),
 * KT = KV * LANES: sums over a chunk's images, for KT output channels and CG input channels as (R, SEGMENTS, RUN, KT),
 * and KT sums of dy for the bias behind them. Without dilation the taps of a row and their channels lie side by side
 * in x: one segment of S * CG; else S segments of CG. Items: (ceil(K / KT), GROUPS, CHUNKS).
 * conv2d_direct_dw_sum: overwrites dweight (outputs, channels, R, S), rs = R * S, and with HAS_BIAS dbias (outputs), of
 * groups of cg channels; a tap's sums lie `tap` channels apart, those of a row of taps `row`. Knows no other define: one
 * program is enough for all. Items: (ceil(outputs / kt), channels).
 *
 * Defines: LANES; N, C, K, R, S, H, W, OH, OW; SH SW PH PW DH DW; HAS_BIAS, MASK; CG, CHUNK images in each of CHUNKS.
 * Tunables: MC, KV, OB rows of dy at a time. */
#ifdef LANES
#ifndef MC
#define MC 8
#endif
#ifndef KV
#define KV 2
#endif
#ifndef OB
#define OB 1
#endif
#define KT (KV * LANES)
#define GROUPS ((C + CG - 1) / CG)
#if DW == 1
#define SEGMENTS 1
#define LENGTH (S * CG)
#else
#define SEGMENTS S
#define LENGTH CG
#endif
#define RUN ((LENGTH + MC - 1) / MC * MC)
#define WEIGHTS (R * SEGMENTS * RUN * KT)
#define PART (WEIGHTS + KT)
#define ROWS ((OB - 1) * SH + (R - 1) * DH + 1)
#define WL ((OW - 1) * SW + (S - 1) * DW + 1)

/* CG channels of row `row` (W, C) of x into `to` (WL, CG), zero where there is no x. */
void copy_x(__local float *to, __global const float *row, int channels);
void copy_x(__local float *to, __global const float *row, int channels)
{
    const int before = min(PW, WL) * CG, columns = max(min(W, WL - PW), 0);
    for (int i = 0; i < before; i++)
        to[i] = 0.0f;
    to += before;
#if CG == C
    for (int i = 0; i < columns * C; i += LANES)
        STORE(LOAD(row + i), to + i);
#else
    for (int w = 0; w < columns; w++) {
        for (int i = 0; i < channels; i += LANES)
            STORE(LOAD(row + w * C + i), to + w * CG + i);
        for (int i = channels; i < CG; i++) /* the last group may be narrower */
            to[w * CG + i] = 0.0f;
    }
#endif
    for (int i = columns * CG; i < WL * CG - before; i++)
        to[i] = 0.0f;
}

__kernel void conv2d_direct_dw(CONST_TENSOR(float, x), CONST_TENSOR(float, dy), CONST_TENSOR(float, mask),
                               TENSOR(float, parts))
{
    USE_CONST(float, x);
    USE_CONST(float, dy);
    USE_CONST(float, mask);
    USE(float, parts);
    __local float xs[ROWS * WL * CG + MC + LANES], ds[OB * OW * KT];
    const int k = (int)get_global_id(0) * KT, group = get_global_id(1), c = group * CG, chunk = get_global_id(2);
    parts += (((ulong)chunk * ((K + KT - 1) / KT) + get_global_id(0)) * GROUPS + group) * PART;
    FLOATS sums[KV];
#pragma unroll
    for (int v = 0; v < KV; v++)
        sums[v] = 0.0f;
    bool begun = false;
    for (int n = chunk * CHUNK; n < min((chunk + 1) * CHUNK, N); n++)
        for (int first = 0; first < OH; first += OB) {
            const int rows = min(OB, OH - first), top = first * SH - PH;
            __global const float *from = dy + ((ulong)n * OH + first) * OW * K + k;
            __global const float *gate = mask + ((ulong)n * OH + first) * OW * K + k;
            FLOATS block[KV]; /* sums of sums: fewer roundings in each */
#pragma unroll
            for (int v = 0; v < KV; v++)
                block[v] = 0.0f;
            for (int p = 0; p < rows * OW; p++)
#pragma unroll
                for (int v = 0; v < KV; v++) {
                    FLOATS value = LOAD(from + p * K + v * LANES);
#if MASK
                    value = islessequal(LOAD(gate + p * K + v * LANES), (FLOATS)0.0f) ? (FLOATS)0.0f : value;
#endif
                    STORE(value, ds + p * KT + v * LANES);
                    block[v] += value;
                }
#pragma unroll
            for (int v = 0; v < KV; v++)
                sums[v] += block[v];
            for (int i = 0; i < (rows - 1) * SH + (R - 1) * DH + 1; i++)
                if (top + i >= 0 && top + i < H)
                    copy_x(xs + i * WL * CG, x + ((ulong)n * H + top + i) * W * C + c, min(CG, C - c));
            for (int r = 0; r < R; r++)
                for (int segment = 0; segment < SEGMENTS; segment++)
                    for (int j = 0; j < RUN; j += MC) {
                        __global float *to = parts + ((r * SEGMENTS + segment) * RUN + j) * KT;
                        FLOATS acc[MC][KV];
#pragma unroll
                        for (int i = 0; i < MC; i++)
#pragma unroll
                            for (int v = 0; v < KV; v++)
                                acc[i][v] = begun ? LOAD(to + i * KT + v * LANES) : (FLOATS)0.0f;
                        for (int oy = 0; oy < rows; oy++) {
                            const int row = oy * SH + r * DH;
                            if (top + row < 0 || top + row >= H)
                                continue;
                            __local const float *xr = xs + (row * WL + segment * DW) * CG + j;
                            __local const float *dr = ds + oy * OW * KT;
                            for (int ox = 0; ox < OW; ox++, xr += SW * CG, dr += KT) {
                                FLOATS d[KV];
#pragma unroll
                                for (int v = 0; v < KV; v++)
                                    d[v] = LOAD(dr + v * LANES);
#pragma unroll
                                for (int i = 0; i < MC; i++) {
                                    const FLOATS value = xr[i];
#pragma unroll
                                    for (int v = 0; v < KV; v++)
                                        acc[i][v] = fma(value, d[v], acc[i][v]);
                                }
                            }
                        }
#pragma unroll
                        for (int i = 0; i < MC; i++)
#pragma unroll
                            for (int v = 0; v < KV; v++)
                                STORE(acc[i][v], to + i * KT + v * LANES);
                    }
            begun = true;
        }
#pragma unroll
    for (int v = 0; v < KV; v++)
        STORE(sums[v], parts + WEIGHTS + v * LANES);
}

#else
__kernel void conv2d_direct_dw_sum(CONST_TENSOR(float, parts), TENSOR(float, dweight), TENSOR(float, dbias),
                                   int outputs, int channels, int rs, int s_count, int kt, int cg, int row,
                                   int tap, int part, int chunks)
{
    USE_CONST(float, parts);
    USE(float, dweight);
    USE(float, dbias);
    const int tile = get_global_id(0), c = get_global_id(1), group = c / cg, k = tile * kt;
    const int tiles = (outputs + kt - 1) / kt, groups = (channels + cg - 1) / cg;
    const ulong step = (ulong)tiles * groups * part;
    parts += ((ulong)tile * groups + group) * part;
    for (int i = 0; i < rs; i++) {
        const int at = (i / s_count * row + i % s_count * tap + c % cg) * kt;
        for (int j = 0; j < min(kt, outputs - k); j++) {
            float sum = 0.0f;
            for (int chunk = 0; chunk < chunks; chunk++)
                sum += parts[chunk * step + at + j];
            dweight[((ulong)(k + j) * channels + c) * rs + i] = sum;
        }
    }
#if HAS_BIAS
    if (c == 0)
        for (int j = 0; j < min(kt, outputs - k); j++) {
            float sum = 0.0f;
            for (int chunk = 0; chunk < chunks; chunk++)
                sum += parts[chunk * step + part - kt + j];
            dbias[k + j] = sum;
        }
#endif
}
#endif
