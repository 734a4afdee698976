/* Gradient by the weight of a convolution of images in NHWC, for devices whose work-items own wide vectors: lanes are output
 * channels, a register tile holds MC values of x at one tap by KV vectors of dy's channels, and adds up over pixels.
 * Rows of x and of dy are first copied into local memory: x inside its padding, dy with ReLU's gradient applied.
 *
 * conv2d_direct_dw: in x (N, H, W, C), dy and mask (N, OH, OW, K); overwrites parts (CHUNKS, ceil(K / KT), GROUPS, PART),
 * KT = KV * LANES: sums over a chunk's images, for KT output channels and CG input channels as (R, SEGMENTS, RUN, KT),
 * and KT sums of dy for the bias behind them. Without dilation the taps of a row and their channels lie side by side
 * in x: one segment of S * CG; else S segments of CG. Items: (ceil(ceil(K / KT) / TI), GROUPS, CHUNKS).
 * conv2d_direct_dw_sum: overwrites dweight (outputs, channels, R, S), rs = R * S, and with HAS_BIAS dbias (outputs), of
 * groups of cg channels; a tap's sums lie `tap` channels apart, those of a row of taps `row`. Knows no other define: one
 * program is enough for all. Items: (ceil(outputs / kt), ceil(channels / SUMMED)).
 *
 * Defines: LANES; N, C, K, R, S, H, W, OH, OW; SH SW PH PW DH DW; HAS_BIAS, MASK; CG, CHUNK images in each of CHUNKS.
 * Tunables: MC, KV, OB rows of dy at a time, TI tiles of KT channels in an item, which share what is read. */
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
#ifndef TI
#define TI 1
#endif
#define KT (KV * LANES)
#define TILES ((K + KT - 1) / KT)
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

/* Adds what `rows` rows of dy in ds (OB, OW, KT) give to one tile's part. */
void add_tile(__local const float *xs, __local const float *ds, __global float *part, int rows, int top, bool begun);
void add_tile(__local const float *xs, __local const float *ds, __global float *part, int rows, int top, bool begun)
{
#if HAS_BIAS
#pragma unroll
    for (int v = 0; v < KV; v++) {
        FLOATS sum = 0.0f;
        for (int p = 0; p < rows * OW; p++)
            sum += LOAD(ds + p * KT + v * LANES);
        __global float *to = part + WEIGHTS + v * LANES;
        STORE(begun ? LOAD(to) + sum : sum, to);
    }
#endif
    for (int r = 0; r < R; r++)
        for (int segment = 0; segment < SEGMENTS; segment++)
            for (int j = 0; j < RUN; j += MC) {
                __global float *to = part + ((r * SEGMENTS + segment) * RUN + j) * KT;
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
}

__kernel void conv2d_direct_dw(CONST_TENSOR(float, x), CONST_TENSOR(float, dy), CONST_TENSOR(float, mask),
                               TENSOR(float, parts))
{
    USE_CONST(float, x);
    USE_CONST(float, dy);
    USE_CONST(float, mask);
    USE(float, parts);
    __local float xs[ROWS * WL * CG + MC + LANES], ds[TI * OB * OW * KT]; /* (TI, OB, OW, KT) */
    const int first_tile = (int)get_global_id(0) * TI, tiles = min(TI, TILES - first_tile), k = first_tile * KT;
    const int group = get_global_id(1), c = group * CG, chunk = get_global_id(2);
    parts += (((ulong)chunk * TILES + first_tile) * GROUPS + group) * PART;
    bool begun = false;
    for (int n = chunk * CHUNK; n < min((chunk + 1) * CHUNK, N); n++)
        for (int first = 0; first < OH; first += OB) {
            const int rows = min(OB, OH - first), top = first * SH - PH;
            const ulong from = ((ulong)n * OH + first) * OW * K + k;
            for (int p = 0; p < rows * OW; p++)
                for (int t = 0; t < tiles; t++)
#pragma unroll
                    for (int v = 0; v < KV; v++) {
                        const ulong at = from + p * K + t * KT + v * LANES;
                        FLOATS value = LOAD(dy + at);
#if MASK
                        value = islessequal(LOAD(mask + at), (FLOATS)0.0f) ? (FLOATS)0.0f : value;
#endif
                        STORE(value, ds + (t * OB * OW + p) * KT + v * LANES);
                    }
            for (int i = 0; i < (rows - 1) * SH + (R - 1) * DH + 1; i++)
                if (top + i >= 0 && top + i < H)
                    copy_x(xs + i * WL * CG, x + ((ulong)n * H + top + i) * W * C + c, min(CG, C - c));
            for (int t = 0; t < tiles; t++)
                add_tile(xs, ds + t * OB * OW * KT, parts + t * GROUPS * PART, rows, top, begun);
            begun = true;
        }
}

#else
#define SUMMED 16 /* channels of an item, all of one group */
__kernel void conv2d_direct_dw_sum(CONST_TENSOR(float, parts), TENSOR(float, dweight), TENSOR(float, dbias),
                                   int outputs, int channels, int rs, int s_count, int kt, int cg, int row,
                                   int tap, int part, int chunks)
{
    USE_CONST(float, parts);
    USE(float, dweight);
    USE(float, dbias);
    const int tile = get_global_id(0), first = (int)get_global_id(1) * SUMMED, group = first / cg, k = tile * kt;
    const int end = min(first + SUMMED, channels);
    const int tiles = (outputs + kt - 1) / kt, groups = (channels + cg - 1) / cg;
    const ulong step = (ulong)tiles * groups * part;
    parts += ((ulong)tile * groups + group) * part;
    for (int j = 0; j < min(kt, outputs - k); j++)
        for (int c = first; c < end; c++) {
            __global float *to = dweight + ((ulong)(k + j) * channels + c) * rs;
            for (int r = 0; r * s_count < rs; r++)
                for (int s = 0; s < s_count; s++) {
                    __global const float *from = parts + (r * row + s * tap + c - group * cg) * kt + j;
                    float sum = from[0];
                    for (int chunk = 1; chunk < chunks; chunk++)
                        sum += from[chunk * step];
                    *to++ = sum;
                }
        }
#if HAS_BIAS
    if (first == 0)
        for (int j = 0; j < min(kt, outputs - k); j++) {
            float sum = 0.0f;
            for (int chunk = 0; chunk < chunks; chunk++)
                sum += parts[chunk * step + part - kt + j];
            dbias[k + j] = sum;
        }
#endif
}
#endif
