/* The gradients of cl/conv2d_relu_pool.cl's weight and bias with output channels as lanes: for each pooled pixel a lane picks what
 * its channel's winner saw, by one permutation of a vector that holds what the pixel's window saw. For devices whose vectors are
 * permuted by an instruction (src/op/conv2d_relu_pool.c).
 *
 * Such a vector is a table of [TABLE_ROWS][Q columns' remainders][PLACES], and serves GROUP_PIXELS pooled pixels side by side. It
 * has the PI rows of the window that one tap sees, or where that is too much, one row; then what the winner saw is chosen from PI of
 * them. SPAN pixels are done together: dy and index come with pixels as lanes, and are transposed.
 *
 * Defines: as cl/conv2d_relu_pool.cl's for the gradient; LANES 8 or 16, PI * PJ at most as many; TABLE_ROWS: PI or 1. Tunables: CT input channels,
 * ST columns of taps. */
#define Q (SW * PJ)
#define PLACES (LANES / (TABLE_ROWS * Q))
#define GROUP_PIXELS (PLACES - ((PJ - 1) * SW + (S - 1) * DW) / Q)
#define SPAN (LANES / GROUP_PIXELS * GROUP_PIXELS)
#define SPANS ((OW + SPAN - 1) / SPAN)
#define NONE 255
#define UINTS JOIN(uint, LANES)
#define AS_UINTS JOIN(as_uint, LANES)
#define AS_FLOATS JOIN(as_float, LANES)
#define TO_UINTS JOIN(convert_uint, LANES)
#define BYTES JOIN(uchar, LANES)

/* Tables of a channel, and the one for window row i and tap row r. */
#if TABLE_ROWS == 1
#define TABLES ((PI - 1) * SH + (R - 1) * DH + 1)
#define TABLE_OF(i, r) ((i)*SH + (r)*DH)
#define TABLE_AT(table) (table)
#define ROW_STEP 256 /* in a place, beside the table's */
#else
#define TABLES R
#define TABLE_OF(i, r) (r)
#define TABLE_AT(table) ((table)*DH)
#define ROW_STEP (Q * PLACES)
#endif
/* The place in a table, for its first pixel, of what position w of the window sees through tap s. */
#define COLUMN(w, s) ((w) % PJ * SW + (s)*DW)
#define PLACE(w, s) ((w) / PJ % PI * ROW_STEP + COLUMN(w, s) % Q * PLACES + COLUMN(w, s) / Q)
#define PLACES_4(w, s) PLACE(w, s), PLACE(w + 1, s), PLACE(w + 2, s), PLACE(w + 3, s)
#define PLACES_8(w, s) PLACES_4(w, s), PLACES_4(w + 4, s)

/* TURNS: the halves h (lo, hi) of two vectors, lanes in turn. permuted: v's lane i mod LANES for each i; clang's subscripts come out as one
 * instruction, shuffle() of some drivers as a store and loads. */
#if LANES == 16
#define PLACES_OF(s) ((uint16)(PLACES_8(0, s), PLACES_8(8, s)))
#define TURNS(a, b, h)                                                                                       \
    (float16)(a.h.s0, b.h.s0, a.h.s1, b.h.s1, a.h.s2, b.h.s2, a.h.s3, b.h.s3, a.h.s4, b.h.s4, a.h.s5, b.h.s5, \
              a.h.s6, b.h.s6, a.h.s7, b.h.s7)
#else
#define PLACES_OF(s) ((uint8)(PLACES_8(0, s)))
#define TURNS(a, b, h) (float8)(a.h.s0, b.h.s0, a.h.s1, b.h.s1, a.h.s2, b.h.s2, a.h.s3, b.h.s3)
#endif
FLOATS permuted(FLOATS v, UINTS i);
FLOATS permuted(FLOATS v, UINTS i)
{
    i &= LANES - 1u;
#ifndef __clang__
    return shuffle(v, i);
#elif LANES == 16
    return (float16)(v[i.s0], v[i.s1], v[i.s2], v[i.s3], v[i.s4], v[i.s5], v[i.s6], v[i.s7], v[i.s8], v[i.s9], v[i.sa],
                     v[i.sb], v[i.sc], v[i.sd], v[i.se], v[i.sf]);
#else
    return (float8)(v[i.s0], v[i.s1], v[i.s2], v[i.s3], v[i.s4], v[i.s5], v[i.s6], v[i.s7]);
#endif
}

/* One of the steps that transpose LANES rows, all of them alike. */
#define TURN_ROWS(from, to)                                                                                  \
    _Pragma("unroll") for (int i_ = 0; i_ < LANES / 2; i_++)                                                 \
    {                                                                                                        \
        to[2 * i_] = TURNS(from[i_], from[i_ + LANES / 2], lo);                                              \
        to[2 * i_ + 1] = TURNS(from[i_], from[i_ + LANES / 2], hi);                                          \
    }

/* Of d: the pixels of each channel to the channels of each pixel. */
void transpose(FLOATS d[LANES]);
void transpose(FLOATS d[LANES])
{
    FLOATS t[LANES];
    TURN_ROWS(d, t)
    TURN_ROWS(t, d)
    TURN_ROWS(d, t)
#if LANES == 16
    TURN_ROWS(t, d)
#else
#pragma unroll
    for (int i = 0; i < LANES; i++)
        d[i] = t[i];
#endif
}

/* Bytes of four channels each lie in a lane of u: to the bytes of all channels, pixel by pixel. */
void transpose_bytes(const FLOATS u[LANES / 4], FLOATS bytes[LANES / 4]);
void transpose_bytes(const FLOATS u[LANES / 4], FLOATS bytes[LANES / 4])
{
#if LANES == 16
    const FLOATS a = TURNS(u[0], u[2], lo), b = TURNS(u[0], u[2], hi), c = TURNS(u[1], u[3], lo), d = TURNS(u[1], u[3], hi);
    bytes[0] = TURNS(a, c, lo);
    bytes[1] = TURNS(a, c, hi);
    bytes[2] = TURNS(b, d, lo);
    bytes[3] = TURNS(b, d, hi);
#else
    bytes[0] = TURNS(u[0], u[1], lo);
    bytes[1] = TURNS(u[0], u[1], hi);
#endif
}
#ifdef __ENDIAN_LITTLE__
#define BYTE_SHIFT(i) ((i)*8u)
#else
#define BYTE_SHIFT(i) (24u - (i)*8u)
#endif

/* PLACES floats of a row into a table. */
#if PLACES == 8
#define COPY(from, to) vstore8(vload8(0, from), 0, to)
#elif PLACES == 4
#define COPY(from, to) vstore4(vload4(0, from), 0, to)
#elif PLACES == 5
#define COPY(from, to)                                                                                       \
    vstore4(vload4(0, from), 0, to);                                                                         \
    (to)[4] = (from)[4]
#elif PLACES == 2
#define COPY(from, to) vstore2(vload2(0, from), 0, to)
#else
#define COPY(from, to)                                                                                       \
    for (int e_ = 0; e_ < PLACES; e_++)                                                                      \
    (to)[e_] = (from)[e_]
#endif

/* As conv2d_relu_pool_dw. Items: (ceil(K / LANES), ceil(C / CT), CHUNKS). */
__kernel void conv2d_relu_pool_dw_channels(CONST_TENSOR(float, xs), CONST_TENSOR(uchar, index), CONST_TENSOR(float, dy),
                                           TENSOR(float, parts), GRADIENT_PARAMETERS)
{
    USE_CONST(float, xs);
    USE_CONST(uchar, index);
    USE_CONST(float, dy);
    USE(float, parts);
    const int k = (int)get_global_id(0) * LANES, c0 = (int)get_global_id(1) * CT, chunk = get_global_id(2);
    FLOATS total[S][R][CT], bias_total = 0.0f; /* each row's sums are added here: long sums lose digits */
#pragma unroll
    for (int i = 0; i < S * R * CT; i++)
        total[i / (R * CT)][i / CT % R][i % CT] = 0.0f;
    for (int n = chunk * CHUNK; n < min((chunk + 1) * CHUNK, N); n++) {
        /* Two short rows of each channel are more streams than a CPU foresees: they are asked for an image before. */
        const ulong ahead = n + 1 < N ? (ulong)K * OH * OW : 0;
        for (int oy = 0; oy < OH; oy++)
            for (int span = 0; span < SPANS; span++) {
                const int count = min(SPAN, OW - span * SPAN);
                FLOATS d[LANES], packed[LANES / 4], bytes[LANES / 4];
                UINTS place[S][LANES];
#pragma unroll
                for (int t = 0; t < LANES; t++) {
                    const ulong at = (((ulong)n * K + min(k + t, K - 1)) * OH + oy) * OW + span * SPAN;
                    const UINTS winner = TO_UINTS(LOAD_UCHARS(index + at));
                    const UINTS moved = winner << BYTE_SHIFT(t % 4);
                    d[t] = winner != NONE ? LOAD(dy + at) : (FLOATS)0.0f;
                    PREFETCH(index + at + ahead);
                    PREFETCH(dy + at + ahead);
                    packed[t / 4] = t % 4 == 0 ? AS_FLOATS(moved) : AS_FLOATS(AS_UINTS(packed[t / 4]) | moved);
                }
                transpose(d);
                transpose_bytes(packed, bytes);
#pragma unroll
                for (int j = 0; j < SPAN; j++) {
                    const UINTS winner = TO_UINTS(((const BYTES *)bytes)[j]);
#pragma unroll
                    for (int s = 0; s < S; s++)
                        place[s][j] = AS_UINTS(permuted(AS_FLOATS(PLACES_OF(s) + (uint)(j % GROUP_PIXELS)), winner));
                    if (HAS_BIAS && c0 == 0 && j < count)
                        bias_total += d[j];
                }
                FLOATS table[CT][TABLES][SPAN / GROUP_PIXELS];
                for (int c = 0; c < CT; c++) {
                    __global const float *row = xs + (((ulong)n * C + min(c0 + c, C - 1)) * HP + oy * PI * SH) * Q * WQ +
                                                span * SPAN;
#pragma unroll
                    for (int i = 0; i < PI * SH * Q; i++)
                        PREFETCH(row + i * WQ + (ahead ? (ulong)C * HP * Q * WQ : 0));
#pragma unroll
                    for (int a = 0; a < TABLES; a++)
#pragma unroll
                        for (int m = 0; m < SPAN / GROUP_PIXELS; m++)
#pragma unroll
                            for (int i = 0; i < TABLE_ROWS * Q; i++) {
                                COPY(row + ((i / Q * SH + TABLE_AT(a)) * Q + i % Q) * WQ + m * GROUP_PIXELS,
                                     (float *)&table[c][a][m] + i * PLACES);
                            }
                }
                for (int s0 = 0; s0 < S; s0 += ST) {
                    FLOATS acc[ST][R][CT];
#pragma unroll
                    for (int i = 0; i < ST * R * CT; i++)
                        acc[i / (R * CT)][i / CT % R][i % CT] = 0.0f;
                    for (int m = 0; m * GROUP_PIXELS < count; m++)
#pragma unroll
                        for (int t = 0; t < GROUP_PIXELS; t++) {
                            const int j = m * GROUP_PIXELS + t;
                            if (OW % SPAN % GROUP_PIXELS != 0 && j >= count)
                                break;
#pragma unroll
                            for (int s = 0; s < ST; s++)
#pragma unroll
                                for (int c = 0; c < CT; c++) {
                                    const UINTS at = place[s0 + s][j];
                                    FLOATS seen[TABLES];
#pragma unroll
                                    for (int a = 0; a < TABLES; a++)
                                        seen[a] = permuted(table[c][a][m], at);
#pragma unroll
                                    for (int r = 0; r < R; r++) {
                                        FLOATS v = seen[TABLE_OF(0, r)];
#pragma unroll
                                        for (int i = 1; i < PI / TABLE_ROWS; i++)
                                            v = at >= i * ROW_STEP ? seen[TABLE_OF(i, r)] : v;
                                        acc[s][r][c] = fma(d[j], v, acc[s][r][c]);
                                    }
                                }
                        }
#pragma unroll
                    for (int i = 0; i < ST * R * CT; i++)
                        total[s0 + i / (R * CT)][i / CT % R][i % CT] += acc[i / (R * CT)][i / CT % R][i % CT];
                }
            }
    }
    parts += (ulong)chunk * (K * C * R * S + K);
    for (int lane = 0; lane < min(LANES, K - k); lane++) {
        for (int i = 0; i < CT * R * S; i++) {
            const int c = i / (R * S), at = ((k + lane) * C + c0) * R * S + i;
            if (c0 + c >= C)
                break;
            const float g = ((const float *)&total[i % S][i / S % R][c])[lane];
            if (CHUNKS > 1)
                parts[at] = g;
            else
                FINISH(weight, at, g);
        }
        if (HAS_BIAS && c0 == 0) {
            const float g = ((const float *)&bias_total)[lane];
            if (CHUNKS > 1)
                parts[K * C * R * S + k + lane] = g;
            else
                FINISH(bias, k + lane, g);
        }
    }
}
