/* Depthwise convolution of images in NHWC (as many groups as channels, one channel each), for devices whose work-items own wide
 * vectors: lanes are channels, a register tile holds PX pixels of a row.
 *
 * conv2d_depthwise: x (N, H, W, C), panels (ceil(C / LANES), R * S, LANES) by conv2d_direct.cl's pack_weights, y (N, OH, OW, C).
 * With TRANSPOSED, y is the gradient by its input of a convolution whose output has the gradient x. Overwrites y.
 * Items: (OH, N).
 * conv2d_depthwise_dw: x (N, H, W, C), dy and mask (N, OH, OW, C); overwrites parts (CHUNKS, ceil(C / LANES), R * S + 1,
 * LANES): sums over a chunk's images for the weight, and of dy for the bias behind them, which conv2d_direct_dw_sum takes.
 * An item has TILES vectors of channels. Items: (ceil(ceil(C / LANES) / TILES), CHUNKS).
 *
 * Defines: LANES; C, R, S, H, W, OH, OW; stride SH SW, padding PH PW, dilation DH DW (of the convolution, in both directions).
 * MASK: x of conv2d_depthwise, dy of the other, counts where mask (like it) is above 0. Of conv2d_depthwise: TRANSPOSED, HAS_BIAS,
 * RELU behind y; of the other: HAS_BIAS, N, TILES, CHUNK images in each of CHUNKS. Tunable: PX. */
#ifndef PX
#define PX 8
#endif
/* Floor of a / b, also of a negative a. */
#define FLOOR(a, b) ((a) >= 0 ? (a) / (b) : -((-(a) + (b)-1) / (b)))

/* LANES channels of what is at `at`, of `values`, masked. */
#if MASK
#define VALUE(values, at) (islessequal(LOAD(mask + (at)), (FLOATS)0.0f) ? (FLOATS)0.0f : LOAD(values + (at)))
#else
#define VALUE(values, at) LOAD(values + (at))
#endif

#ifndef CHUNK
/* Pixel q * PHASES + phase of a row of y reads column q * STEP + SHIFT(s) of x at tap s, where TAP(s). */
#if TRANSPOSED
#define PHASES SW
#define STEP 1
#define SHIFT(s) FLOOR(phase + PW - (s)*DW, SW)
#define TAP(s) (SHIFT(s) * SW == phase + PW - (s)*DW)
#else
#define PHASES 1
#define STEP SW
#define SHIFT(s) ((s)*DW - PW)
#define TAP(s) 1
#endif

/* `count` pixels from q on; INSIDE(column): whether there is one. */
#define TILE(count, INSIDE)                                                                                  \
    {                                                                                                        \
        FLOATS acc[count];                                                                                   \
        _Pragma("unroll") for (int p = 0; p < count; p++) acc[p] = start;                                    \
        for (int r = 0; r < R; r++) {                                                                        \
            const int row = ROW(r);                                                                          \
            if (!ROW_THERE(r, row))                                                                          \
                continue;                                                                                    \
            _Pragma("unroll") for (int s = 0; s < S; s++)                                                    \
            {                                                                                                \
                if (!TAP(s))                                                                                 \
                    continue;                                                                                \
                const int column = q * STEP + SHIFT(s);                                                      \
                const FLOATS weight = LOAD(panels + (r * S + s) * LANES);                                    \
                _Pragma("unroll") for (int p = 0; p < count; p++) if (INSIDE(column + p * STEP)) acc[p] =    \
                    fma(VALUE(x, (row * W + column + p * STEP) * C + c), weight, acc[p]);                    \
            }                                                                                                \
        }                                                                                                    \
        _Pragma("unroll") for (int p = 0; p < count; p++)                                                    \
            put(acc[p], y + ((q + p) * PHASES + phase) * C + c, C - c);                                      \
    }
#if TRANSPOSED
#define ROW(r) FLOOR(oy + PH - (r)*DH, SH)
#define ROW_THERE(r, row) ((row)*SH == oy + PH - (r)*DH && (row) >= 0 && (row) < H)
#else
#define ROW(r) (oy * SH - PH + (r)*DH)
#define ROW_THERE(r, row) ((row) >= 0 && (row) < H)
#endif
#define ALWAYS(column) 1
#define IN_IMAGE(column) ((column) >= 0 && (column) < W)

void put(FLOATS value, __global float *to, int left);
void put(FLOATS value, __global float *to, int left)
{
#if RELU
    value = isless(value, (FLOATS)0.0f) ? (FLOATS)0.0f : value;
#endif
    STORE_UP_TO(value, to, left);
}

__kernel void conv2d_depthwise(CONST_TENSOR(float, x), CONST_TENSOR(float, mask), CONST_TENSOR(float, panels),
                               CONST_TENSOR(float, bias), TENSOR(float, y))
{
    USE_CONST(float, x);
    USE_CONST(float, mask);
    USE_CONST(float, panels);
    USE_CONST(float, bias);
    USE(float, y);
    const int oy = get_global_id(0), n = get_global_id(1);
    x += (ulong)n * H * W * C;
    mask += (ulong)n * H * W * C;
    y += ((ulong)n * OH + oy) * OW * C;
    for (int phase = 0; phase < PHASES; phase++) {
        /* Pixels from `first` to `end` need no look at the image's edge. */
        const int pixels = (OW - phase + PHASES - 1) / PHASES;
        int first = 0, end = pixels;
        for (int s = 0; s < S; s++)
            if (TAP(s)) {
                first = max(first, -FLOOR(SHIFT(s), STEP));
                end = min(end, FLOOR(W - 1 - SHIFT(s), STEP) + 1);
            }
        __global const float *bias_at = bias;
        __global const float *all_panels = panels;
        for (int c = 0; c < C; c += LANES, panels += R * S * LANES, bias_at += LANES) {
#if HAS_BIAS
            const FLOATS start = LOAD(bias_at);
#else
            const FLOATS start = 0.0f;
#endif
            for (int q = 0; q < pixels;) {
                if (q >= first && q < end && end - first >= PX) {
                    q = min(q, end - PX); /* some are made twice */
                    TILE(PX, ALWAYS)
                    q += PX;
                } else {
                    TILE(1, IN_IMAGE)
                    q++;
                }
            }
        }
        panels = all_panels;
    }
}

#else
#define PART ((R * S + 1) * LANES)
#define MOST_ROWS (24 / S) /* with more the sums are in no registers */
/* What the pixels from `from` to `to` of a row add to acc, of `count` rows of taps. */
#define PIXELS(count, from, to, INSIDE)                                                                      \
    for (int ox = from; ox < to; ox++) {                                                                     \
        const FLOATS d = VALUE(dy, at + ox * C);                                                             \
        _Pragma("unroll") for (int i = 0; i < count; i++) _Pragma("unroll") for (int s = 0; s < S; s++)      \
        {                                                                                                    \
            const int column = ox * SW - PW + s * DW;                                                        \
            if (INSIDE)                                                                                      \
                acc[i][s] = fma(LOAD(line + (i * DH * W + column) * C), d, acc[i][s]);                       \
        }                                                                                                    \
    }
/* The same of a whole row, for `count` rows of taps from r on, whose first reads `line`. */
#define TAPS(count, r)                                                                                       \
    {                                                                                                        \
        FLOATS acc[count][S];                                                                                \
        _Pragma("unroll") for (int i = 0; i < count; i++) _Pragma("unroll") for (int s = 0; s < S; s++)      \
            acc[i][s] = 0.0f;                                                                                \
        PIXELS(count, 0, first, column >= 0 && column < W)                                                   \
        PIXELS(count, first, end, 1)                                                                         \
        PIXELS(count, end, OW, column >= 0 && column < W)                                                    \
        _Pragma("unroll") for (int i = 0; i < count; i++) _Pragma("unroll") for (int s = 0; s < S; s++)      \
            add(sums + (((r) + i) * S + s) * LANES, acc[i][s]);                                              \
    }

void add(__global float *sum, FLOATS value);
void add(__global float *sum, FLOATS value)
{
    STORE_FLOATS(LOAD(sum) + value, sum);
}

__kernel void conv2d_depthwise_dw(CONST_TENSOR(float, x), CONST_TENSOR(float, dy), CONST_TENSOR(float, mask),
                                  TENSOR(float, parts))
{
    USE_CONST(float, x);
    USE_CONST(float, dy);
    USE_CONST(float, mask);
    USE(float, parts);
    const int from = (int)get_global_id(0) * TILES, chunk = get_global_id(1), all = (C + LANES - 1) / LANES;
    const int to = min(from + TILES, all);
    /* Pixels whose columns are all in the image. */
    const int first = min((PW + SW - 1) / SW, OW), end = max(first, min(FLOOR(W - 1 + PW - (S - 1) * DW, SW) + 1, OW));
    parts += (ulong)chunk * all * PART;
    for (int i = from * PART; i < to * PART; i += LANES)
        STORE_FLOATS((FLOATS)0.0f, parts + i);
    for (int n = chunk * CHUNK; n < min((chunk + 1) * CHUNK, N); n++)
        for (int oy = 0; oy < OH; oy++)
            for (int tile = from; tile < to; tile++) {
                const int c = tile * LANES;
                const ulong at = ((ulong)n * OH + oy) * OW * C + c;
                __global float *sums = parts + tile * PART;
            const int top = oy * SH - PH;
            __global const float *image = x + (ulong)n * H * W * C + c;
#if HAS_BIAS
            FLOATS whole = 0.0f;
            for (int ox = 0; ox < OW; ox++)
                whole += VALUE(dy, at + ox * C);
            add(sums + R * S * LANES, whole);
#endif
            if (R <= MOST_ROWS && top >= 0 && top + (R - 1) * DH < H) {
                __global const float *line = image + top * W * C;
                TAPS(R, 0)
            } else {
                for (int r = 0; r < R; r++) {
                    __global const float *line = image + (top + r * DH) * W * C;
                    if (top + r * DH >= 0 && top + r * DH < H)
                        TAPS(1, r)
                }
            }
        }
}
#endif
