/* Convolution of images in NHWC without a matrix of columns, for devices whose work-items own wide vectors: lanes are
 * output channels, a register tile holds PX pixels of a row by KV vectors of channels. The rows of x that an item
 * needs are first copied into local memory inside their padding.
 *
 * pack_weights: panels (ceil(K / KT), R * S, C, KT), KT = KV * LANES, of a weight (K, C, R, S), or where `transposed` of a weight
 * (C, K, R, S); channels past K become 0. Overwrites the panels. Items: (ceil(K / KT), ceil(C / PACK)).
 * conv2d_direct: x (N, H, W, C), y (N, OH, OW, K). With TRANSPOSED, y is the gradient by its input of a convolution whose
 * output has the gradient x. Overwrites y. Items: (ceil(OH / OB), N).
 *
 * Defines: LANES; C, K, R, S, H, W, OH, OW; stride SH SW, padding PH PW, dilation DH DW (of the convolution, in
 * both directions); TRANSPOSED, HAS_BIAS, RELU behind y, MASK: x counts where mask (like x) is above 0.
 * Tunables: PX, KV, OB rows of y in an item. */
#ifndef PX
#define PX 8
#endif
#ifndef KV
#define KV 2
#endif
#ifndef OB
#define OB 4
#endif
#define KT (KV * LANES)
#define PACK 16

#ifndef W
__kernel void pack_weights(CONST_TENSOR(float, weight), TENSOR(float, panels), int k_count, int c_count, int taps,
                           int transposed)
{
    USE_CONST(float, weight);
    USE(float, panels);
    const int tile = get_global_id(0), first = (int)get_global_id(1) * PACK, end = min(first + PACK, c_count);
    panels += (ulong)tile * taps * c_count * KT;
    const int step = (transposed ? 1 : c_count) * taps, left = k_count - tile * KT;
    for (int c = first; c < end; c++)
        for (int i = 0; i < taps; i++) {
            __global const float *from =
                weight + (transposed ? (ulong)c * k_count + tile * KT : (ulong)tile * KT * c_count + c) * taps + i;
            __global float *to = panels + (i * c_count + c) * KT;
            for (int j = 0; j < KT; j++) {
                const float value = from[min(j, left - 1) * step];
                to[j] = j < left ? value : 0.0f;
            }
        }
}
#else

/* Floor of a / b, also of a negative a. */
#define FLOOR(a, b) ((a) >= 0 ? (a) / (b) : -((-(a) + (b)-1) / (b)))
#if TRANSPOSED
/* Pixels of y take turns: those PHASES apart read neighbours in x. */
#define PHASES SW
#define STEP 1
#define LEFT FLOOR(PW - (S - 1) * DW, SW)
#define TOP(oy) FLOOR((oy) + PH - (R - 1) * DH, SH)
#define ROWS ((OB - 1 + (R - 1) * DH) / SH + 1 + (SH > 1))
#define WL (TILES * PX + (SW - 1 + PW) / SW - LEFT)
#else
#define PHASES 1
#define STEP SW
#define LEFT (-PW)
#define TOP(oy) ((oy)*SH - PH)
#define ROWS ((OB - 1) * SH + (R - 1) * DH + 1)
#define WL ((TILES * PX - 1) * SW + (S - 1) * DW + 1)
#endif
#define TILES (((OW + PHASES - 1) / PHASES + PX - 1) / PX)
/* Columns of x that are copied, behind BEFORE zeros. */
#define FIRST_COLUMN (LEFT > 0 ? LEFT : 0)
#define COLUMNS ((W < LEFT + WL ? W : LEFT + WL) - FIRST_COLUMN)
#define BEFORE (LEFT > 0 ? 0 : -LEFT < WL ? -LEFT : WL)

/* Row `row` (W, C) of x into `to` (WL, C), zero where there is no x. Vectors run past the row's end: what they leave there is
 * overwritten. */
void copy_row(__local float *to, __global const float *row, __global const float *mask);
void copy_row(__local float *to, __global const float *row, __global const float *mask)
{
    const int before = BEFORE * C, count = max(COLUMNS, 0) * C;
    row += FIRST_COLUMN * C;
    mask += FIRST_COLUMN * C;
    for (int i = 0; i < before; i++)
        to[i] = 0.0f;
    to += before;
    for (int i = 0; i < count; i += LANES) {
        FLOATS v = LOAD(row + i);
#if MASK
        v = islessequal(LOAD(mask + i), (FLOATS)0.0f) ? (FLOATS)0.0f : v;
#endif
        STORE(v, to + i);
    }
    for (int i = count; i < WL * C - before; i++)
        to[i] = 0.0f;
}

__kernel void conv2d_direct(CONST_TENSOR(float, x), CONST_TENSOR(float, mask), CONST_TENSOR(float, panels),
                            CONST_TENSOR(float, bias), TENSOR(float, y))
{
    USE_CONST(float, x);
    USE_CONST(float, mask);
    USE_CONST(float, panels);
    USE_CONST(float, bias);
    USE(float, y);
    __local float xs[ROWS * WL * C + LANES];
    const int first = (int)get_global_id(0) * OB, n = get_global_id(1), top = TOP(first);
    for (int i = 0; i < ROWS; i++)
        if (top + i >= 0 && top + i < H) {
            const ulong at = ((ulong)n * H + top + i) * W * C;
            copy_row(xs + i * WL * C, x + at, mask + at);
        }
    for (int k = 0; k < K; k += KT, panels += R * S * C * KT)
        for (int oy = first; oy < min(first + OB, OH); oy++)
            for (int phase = 0; phase < PHASES; phase++)
                for (int tile = 0; tile < TILES; tile++) {
                    FLOATS acc[PX][KV];
#pragma unroll
                    for (int v = 0; v < KV; v++) {
#if HAS_BIAS
                        const FLOATS start = LOAD(bias + k + v * LANES);
#else
                        const FLOATS start = 0.0f;
#endif
#pragma unroll
                        for (int p = 0; p < PX; p++)
                            acc[p][v] = start;
                    }
                    for (int r = 0; r < R; r++) {
#if TRANSPOSED
                        const int row = FLOOR(oy + PH - r * DH, SH);
                        if (row * SH != oy + PH - r * DH)
                            continue;
#else
                        const int row = oy * SH - PH + r * DH;
#endif
                        if (row < 0 || row >= H)
                            continue;
                        for (int s = 0; s < S; s++) {
#if TRANSPOSED
                            const int left = FLOOR(phase + PW - s * DW, SW);
                            if (left * SW != phase + PW - s * DW)
                                continue;
                            const int column = left + tile * PX - LEFT;
#else
                            const int column = tile * PX * SW + s * DW;
#endif
                            __local const float *from = xs + ((row - top) * WL + column) * C;
                            __global const float *w = panels + (r * S + s) * C * KT;
                            for (int c = 0; c < C; c++, w += KT) {
                                FLOATS weights[KV];
#pragma unroll
                                for (int v = 0; v < KV; v++)
                                    weights[v] = LOAD(w + v * LANES);
#pragma unroll
                                for (int p = 0; p < PX; p++) {
                                    const FLOATS value = from[p * STEP * C + c];
#pragma unroll
                                    for (int v = 0; v < KV; v++)
                                        acc[p][v] = fma(value, weights[v], acc[p][v]);
                                }
                            }
                        }
                    }
#pragma unroll
                    for (int p = 0; p < PX; p++) {
                        const int ox = (tile * PX + p) * PHASES + phase;
                        if (ox >= OW)
                            break;
                        __global float *to = y + (((ulong)n * OH + oy) * OW + ox) * K + k;
#pragma unroll
                        for (int v = 0; v < KV; v++) {
                            FLOATS value = acc[p][v];
                            const int left = K - k - v * LANES;
#if RELU
                            value = isless(value, (FLOATS)0.0f) ? (FLOATS)0.0f : value;
#endif
                            if (left >= LANES)
                                STORE(value, to + v * LANES);
                            else if (left > 0)
                                STORE_SOME(float, value, to + v * LANES, left);
                        }
                    }
                }
}
#endif
