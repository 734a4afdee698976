/* Convolution, ReLU and max pooling in one (src/op/conv2d_relu_pool.c), for devices whose work-items own wide
 * vectors. Lanes are pooled pixels of one row; a register tile holds all positions of their windows for KT
 * channels, so that pooling is a maximum of registers. xs (N, C, HP, Q, WQ) comes from split_columns.
 *
 * Vector loads may run past a row's end: what the extra lanes hold is never kept.
 *
 * Defines: LANES; C, K, R, S, stride SH SW, dilation DH DW; pooled rows and columns OH, OW; window PI x PJ; HP, WQ;
 * HAS_BIAS; for the gradient N, CHUNK images in each of CHUNKS, UPDATE. Tunables: KT channels, RT rows of taps. */
#ifndef KT
#define KT 1
#endif
#ifndef RT
#define RT R
#endif
#ifndef N
#define N 1
#define CHUNK 1
#endif
#ifndef CHUNKS
#define CHUNKS 1
#endif

#define Q (SW * PJ)
#define SEGMENTS ((OW + LANES - 1) / LANES)
#define TAIL (OW % LANES)
#define NONE 255
/* A register tile's channel, or the last one where it reaches beyond. */
#define CHANNEL(k) (K % KT ? min(k, K - 1) : (k))
/* Where in a split row the column lies that position j of a window and tap s read. */
#define COLUMN(j, s) (((j)*SW + (s)*DW) % Q * WQ + ((j)*SW + (s)*DW) / Q)

/* Overwrites y and index (N, K, OH, OW). An item makes KT channels of an image, rows from top to bottom: what a row's last
 * vector writes beyond its end is put right by the next row. Items: (ceil(K / KT), N). */
__kernel void conv2d_relu_pool(CONST_TENSOR(float, xs), CONST_TENSOR(float, weight), CONST_TENSOR(float, bias),
                               TENSOR(float, y), TENSOR(uchar, index))
{
    USE_CONST(float, xs);
    USE_CONST(float, weight);
    USE_CONST(float, bias);
    USE(float, y);
    USE(uchar, index);
    const int k = (int)get_global_id(0) * KT, n = get_global_id(1);
    xs += (ulong)n * C * HP * Q * WQ;
    for (int oy = 0; oy < OH; oy++)
        for (int segment = 0; segment < SEGMENTS; segment++) {
            FLOATS acc[KT][PI * PJ];
#pragma unroll
            for (int t = 0; t < KT; t++)
#pragma unroll
                for (int p = 0; p < PI * PJ; p++)
                    acc[t][p] = HAS_BIAS ? bias[CHANNEL(k + t)] : 0.0f;
            __global const float *row = xs + oy * PI * SH * Q * WQ + segment * LANES;
            __global const float *w[KT]; /* the taps of each channel: what the compiler cannot get wrong */
#pragma unroll
            for (int t = 0; t < KT; t++)
                w[t] = weight + (ulong)CHANNEL(k + t) * C * R * S;
            for (int c = 0; c < C; c++, row += HP * Q * WQ) {
#pragma unroll
                for (int r = 0; r < R; r++)
#pragma unroll
                    for (int s = 0; s < S; s++)
#pragma unroll
                        for (int p = 0; p < PI * PJ; p++) {
                            const FLOATS v = LOAD(row + (p / PJ * SH + r * DH) * Q * WQ + COLUMN(p % PJ, s));
#pragma unroll
                            for (int t = 0; t < KT; t++)
                                acc[t][p] = fma((FLOATS)w[t][r * S + s], v, acc[t][p]);
                        }
#pragma unroll
                for (int t = 0; t < KT; t++)
                    w[t] += R * S;
            }
#pragma unroll
            for (int t = 0; t < KT; t++) {
                FLOATS best = 0.0f; /* ReLU's: who does not win over it is cut */
                INTS winner = NONE;
#pragma unroll
                for (int p = 0; p < PI * PJ; p++) {
                    const INTS better = isgreater(acc[t][p], best) | isnan(acc[t][p]); /* a NaN wins over all */
                    best = better ? acc[t][p] : best;
                    winner = better ? (INTS)p : winner;
                }
                if (K % KT && k + t >= K)
                    break;
                const ulong at = (((ulong)n * K + k + t) * OH + oy) * OW + segment * LANES;
                if (TAIL && segment == SEGMENTS - 1 && oy == OH - 1) {
                    STORE_SOME(float, best, y + at, TAIL);
                    STORE_SOME(uchar, TO_UCHARS(winner), index + at, TAIL);
                } else {
                    STORE_FLOATS(best, y + at);
                    STORE_UCHARS(TO_UCHARS(winner), index + at);
                }
            }
        }
}

/* Gradients of weight (K, C, R, S) and bias (K) from dy and index (N, K, OH, OW), over the images of a chunk. One
 * chunk: the gradients (overwritten) or the update of the parameters; several: parts (CHUNKS, K*C*R*S + K), to be added by
 * sum_parts. Items: (ceil(K / KT), C * ceil(R / RT), CHUNKS). */
__kernel void conv2d_relu_pool_dw(CONST_TENSOR(float, xs), CONST_TENSOR(uchar, index), CONST_TENSOR(float, dy),
                                  TENSOR(float, parts), GRADIENT_PARAMETERS)
{
    USE_CONST(float, xs);
    USE_CONST(uchar, index);
    USE_CONST(float, dy);
    USE(float, parts);
    const int k = (int)get_global_id(0) * KT, chunk = get_global_id(2);
    const int c = get_global_id(1) % C, r0 = get_global_id(1) / C * RT;
    FLOATS acc[KT][RT * S], sum[KT];
#pragma unroll
    for (int t = 0; t < KT; t++) {
        sum[t] = 0.0f;
#pragma unroll
        for (int p = 0; p < RT * S; p++)
            acc[t][p] = 0.0f;
    }
    for (int n = chunk * CHUNK; n < min((chunk + 1) * CHUNK, N); n++)
        for (int oy = 0; oy < OH; oy++)
            for (int segment = 0; segment < SEGMENTS; segment++) {
                __global const float *row =
                    xs + (((ulong)n * C + c) * HP + oy * PI * SH + r0 * DH) * Q * WQ + segment * LANES;
                FLOATS d[KT];
                INTS winner[KT], column[KT], kept[KT]; /* winner: its place in the window; column: that alone */
#pragma unroll
                for (int t = 0; t < KT; t++) {
                    const ulong at = (((ulong)n * K + CHANNEL(k + t)) * OH + oy) * OW + segment * LANES;
                    winner[t] = TO_INTS(LOAD_UCHARS(index + at));
                    column[t] = winner[t];
#pragma unroll
                    for (int i = 1; i < PI; i++)
                        column[t] = winner[t] >= i * PJ ? winner[t] - i * PJ : column[t];
                    kept[t] = winner[t] != NONE;
                    if (TAIL && segment == SEGMENTS - 1)
                        kept[t] = kept[t] & (LANE_NUMBERS < TAIL);
                    d[t] = kept[t] ? LOAD(dy + at) : (FLOATS)0.0f;
                    if (HAS_BIAS && c == 0 && r0 == 0)
                        sum[t] += d[t];
                }
#pragma unroll
                for (int r = 0; r < RT; r++)
#pragma unroll
                    for (int s = 0; s < S; s++) {
                        if (R % RT && r0 + r >= R)
                            continue;
#pragma unroll
                        for (int t = 0; t < KT; t++) {
                            /* What the winner saw: by its column in each row of the window, then by its row. The
                             * rows' choices are those of other taps too. */
                            FLOATS seen;
#pragma unroll
                            for (int i = 0; i < PI; i++) {
                                __global const float *from = row + (i * SH + r * DH) * Q * WQ;
                                FLOATS v = LOAD(from + COLUMN(0, s));
#pragma unroll
                                for (int j = 1; j < PJ; j++)
                                    v = column[t] == j ? LOAD(from + COLUMN(j, s)) : v;
                                seen = i == 0 ? v : winner[t] >= i * PJ ? v : seen;
                            }
#if TAIL != 0 && SEGMENTS > 1
                            seen = kept[t] ? seen : (FLOATS)0.0f;
#endif
                            acc[t][r * S + s] = fma(d[t], seen, acc[t][r * S + s]);
                        }
                    }
            }
    parts += (ulong)chunk * (K * C * R * S + K);
#pragma unroll
    for (int t = 0; t < KT; t++) {
        if (k + t >= K)
            break;
#pragma unroll
        for (int p = 0; p < RT * S; p++) {
            if (r0 + p / S >= R)
                break;
            const int i = ((k + t) * C + c) * R * S + r0 * S + p;
#if TAIL != 0 && SEGMENTS == 1 /* the others hold what lies past the rows' ends, be it NaN */
            acc[t][p] = LANE_NUMBERS < TAIL ? acc[t][p] : (FLOATS)0.0f;
#endif
            const float g = sum_lanes(acc[t][p]);
            if (CHUNKS > 1)
                parts[i] = g;
            else
                FINISH(weight, i, g);
        }
        if (HAS_BIAS && c == 0 && r0 == 0) {
            const float g = sum_lanes(sum[t]);
            if (CHUNKS > 1)
                parts[K * C * R * S + k + t] = g;
            else
                FINISH(bias, k + t, g);
        }
    }
}

/* The sums over the chunks: gradients, or the update. Items: (K*C*R*S + K). */
__kernel void sum_parts(CONST_TENSOR(float, parts), GRADIENT_PARAMETERS)
{
    USE_CONST(float, parts);
    const int i = get_global_id(0), weights = K * C * R * S;
    if (i >= weights + (HAS_BIAS ? K : 0))
        return;
    float g = 0.0f;
    for (int chunk = 0; chunk < CHUNKS; chunk++)
        g += parts[(ulong)chunk * (weights + K) + i];
    if (i < weights)
        FINISH(weight, i, g);
    else
        FINISH(bias, i - weights, g);
}
