/* Gradient of the images of a convolution, as conv2d_tiled.cl's: dx (N, C, H, W) of dy (N, K, OH, OW) and weight (K, C, R, S).
 * Overwrites dx. Rows of the product are x's channels, columns pixels, terms taps and channels of dy. With a stride
 * the pixels of one remainder by it, a phase, are hit by the same taps, each QH rows and QW columns from the one before:
 * a group has pixels of one phase, and no terms but of its taps. Groups: (ceil(N*HQ*WQ / TILE_N) * PHASES, ceil(C / TILE_M)).
 *
 * Defines: as in conv2d_tiled.cl, and with a stride K, dy's channels; QH, which is SH / gcd(SH, DH), and so QW. */
#ifndef WM
#define WM 4
#define WN 4
#define RM 4
#define RN 4
#define TILE_K 4
#endif
#ifndef MASKED
#define MASKED 0
#endif
#ifndef QH
#define QH SH
#endif
#ifndef QW
#define QW SW
#endif
#define PLANE (OH * OW)
#define TAPS (R * S)
#define NOWHERE (-(1 << 30)) /* a row of images that no tap reaches */
#define EH (DH / (SH / QH)) /* from tap to tap in dy */
#define EW (DW / (SW / QW))
#define HQ ((H + SH - 1) / SH) /* rows of a phase, at most */
#define WQ ((W + SW - 1) / SW)
#define PHASES_W (SW < W ? SW : W)
#define PHASES ((SH < H ? SH : H) * PHASES_W)
#if SH == 1 && SW == 1
#define TERMS (k_count * TAPS)
#define BY_TERMS 1
#define CHANNEL_OF(l) ((l) / TAPS)
#define TAP_ROW(l) ((l) % TAPS / S)
#define TAP_COLUMN(l) ((l) % S)
#else
/* Channels inside taps, so that only constants divide. */
#define KP ((K + TILE_K - 1) / TILE_K * TILE_K)
#define TERMS (tap_rows * tap_columns * KP)
#define BY_TERMS 0
#define CHANNEL_OF(l) ((l) % KP)
#define TAP_ROW(l) (tap_columns > S / QW ? (l) / KP / (S / QW + 1) : (l) / KP / (S / QW + (S < QW)))
#define TAP_COLUMN(l) ((l) / KP - TAP_ROW(l) * tap_columns)
#endif
/* The first of `taps` that hits pixels whose remainder inside the padding is `phase`; `taps`: none does. */
int first_tap(int phase, int taps, int stride, int dilation, int step);
int first_tap(int phase, int taps, int stride, int dilation, int step)
{
    int tap = 0;
    while (tap < taps && tap < step && tap * dilation % stride != phase)
        tap++;
    return tap < step ? tap : taps;
}
float read_gradient(__global const float *dy, __global const float *mask, int h, int w, int k, bool there);
float read_gradient(__global const float *dy, __global const float *mask, int h, int w, int k, bool there)
{
    const bool hit = there && (uint)h < OH && (uint)w < OW;
    const int at = (k * OH + h) * OW + w;
    if (MASKED)
        return hit && !(mask[at] <= 0.0f) ? dy[at] : 0.0f;
    return hit ? dy[at] : 0.0f;
}
#define THERE(l) ((l) < terms && CHANNEL_OF(l) < k_count)
#define A(i, l)                                                                                              \
    (row + (i) < c_count && THERE(l) ? weight[(CHANNEL_OF(l) * c_count + row + (i)) * TAPS +                 \
                                              (tap_row + TAP_ROW(l) * QH) * S + tap_column + TAP_COLUMN(l) * QW]  \
                                     : 0.0f)
#define B(j, l)                                                                                              \
    read_gradient(dy, mask, bottom - TAP_ROW(l) * EH, right - TAP_COLUMN(l) * EW, CHANNEL_OF(l), THERE(l))
__kernel WORK_GROUP void conv2d_tiled_dx(CONST_TENSOR(float, dy), CONST_TENSOR(float, mask), CONST_TENSOR(float, weight), TENSOR(float, dx),
                                         int n_count, int c_count, int k_count)
{
    USE_CONST(float, dy);
    USE_CONST(float, mask);
    USE_CONST(float, weight);
    USE(float, dx);
    TILE_BEGIN
    const int phase = (int)get_group_id(0) % PHASES, top = phase / PHASES_W, left = phase % PHASES_W;
    const int column = (int)get_group_id(0) / PHASES * TILE_N, row = (int)get_group_id(1) * TILE_M;
    const int tap_row = first_tap((top + PH) % SH, R, SH, DH, QH), tap_rows = (R - tap_row + QH - 1) / QH;
    const int tap_column = first_tap((left + PW) % SW, S, SW, DW, QW), tap_columns = (S - tap_column + QW - 1) / QW;
    const int columns = n_count * HQ * WQ, terms = TERMS;
    const int mine = column + TILE_PLACE(TILE_N, 0, 0); /* the column whose terms this item brings */
    const int h = mine / WQ % HQ * SH + top, w = mine % WQ * SW + left;
    const int bottom = mine < columns && h < H && w < W ? (h + PH - tap_row * DH) / SH : NOWHERE;
    const int right = (w + PW - tap_column * DW) / SW;
    dy += (ulong)(mine / (HQ * WQ)) * k_count * PLANE;
    mask += (ulong)(mine / (HQ * WQ)) * k_count * PLANE;
    TILE_MULTIPLY(A, BY_TERMS, B, 0, 0, terms, )
#pragma unroll
    for (int i = 0; i < RM; i++) {
        const int c = row + TILE_ROW(i);
        if (c >= c_count)
            continue;
#pragma unroll
        for (int j = 0; j < RN / 4; j++) {
            float value[4];
            vstore4(acc[i][j], 0, value);
#pragma unroll
            for (int l = 0; l < 4; l++) {
                const int pixel = column + TILE_COLUMN(4 * j + l);
                const int at_h = pixel / WQ % HQ * SH + top, at_w = pixel % WQ * SW + left;
                if (pixel < columns && at_h < H && at_w < W)
                    dx[(((ulong)(pixel / (HQ * WQ)) * c_count + c) * H + at_h) * W + at_w] = value[l];
            }
        }
    }
}
