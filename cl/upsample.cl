/* Nearest and bilinear upsampling, and constant zero padding: x (outer, H, W, inner), y (outer, OH, OW, inner), where images in NCHW have N * C
 * outer ones and 1 inner one, in NHWC N and C. */
#define SIZES int height, int width, int oh_count, int ow_count, int inner

/* y = x[h / scale_h, w / scale_w]. Overwrites y. Items: (OW * inner, OH, outer). */
__kernel void upsample_nearest(CONST_TENSOR(float, x), TENSOR(float, y), SIZES, int scale_h, int scale_w)
{
    USE_CONST(float, x);
    USE(float, y);
    const int i = get_global_id(0), oh = get_global_id(1);
    const ulong outer = get_global_id(2);
    if (i >= ow_count * inner)
        return;
    const int w = i / inner / scale_w, c = i % inner;
    y[(outer * oh_count + oh) * ow_count * inner + i] =
        x[((outer * height + oh / scale_h) * width + w) * inner + c];
}

/* dx = sums of dy over the places that x went to. Overwrites dx. Items: (W * inner, H, outer). */
__kernel void upsample_nearest_dx(CONST_TENSOR(float, dy), TENSOR(float, dx), SIZES, int scale_h, int scale_w)
{
    USE_CONST(float, dy);
    USE(float, dx);
    const int i = get_global_id(0), h = get_global_id(1);
    const ulong outer = get_global_id(2);
    if (i >= width * inner)
        return;
    const int w = i / inner, c = i % inner;
    float sum = 0.0f;
    for (int r = 0; r < scale_h; r++)
        for (int s = 0; s < scale_w; s++)
            sum += dy[((outer * oh_count + h * scale_h + r) * ow_count + w * scale_w + s) * inner + c];
    dx[(outer * height + h) * width * inner + i] = sum;
}

/* Where place i of `out` lies between those of `in`, one before the other: *first, and how far behind it, exactly. ALIGN 1: the ends
 * lie on each other; 0: they are the middles of pixels `scale` times as large. */
#ifndef ALIGN
#define ALIGN 0
#endif
float between(int i, int in, int out, int scale, int *first);
float between(int i, int in, int out, int scale, int *first)
{
    const long parts = ALIGN ? max(out - 1, 1) : 2 * scale;
    const long at = ALIGN ? (long)i * (in - 1) : max(2 * (long)i + 1 - scale, 0L);
    *first = at / parts;
    return (float)(at % parts) / (float)parts;
}

/* y, of the four around it. Overwrites y. Items: (OW * inner, OH, outer). */
__kernel void upsample_bilinear(CONST_TENSOR(float, x), TENSOR(float, y), SIZES, int scale_h, int scale_w)
{
    USE_CONST(float, x);
    USE(float, y);
    const int i = get_global_id(0), oh = get_global_id(1);
    const ulong outer = get_global_id(2);
    if (i >= ow_count * inner)
        return;
    int h, w;
    const float down = between(oh, height, oh_count, scale_h, &h);
    const float right = between(i / inner, width, ow_count, scale_w, &w);
    const int next_w = (min(w + 1, width - 1) - w) * inner;
    __global const float *a = x + ((outer * height + h) * width + w) * inner + i % inner;
    __global const float *b = a + (ulong)(min(h + 1, height - 1) - h) * width * inner;
    const float above = fma(right, a[next_w], (1.0f - right) * a[0]);
    const float below = fma(right, b[next_w], (1.0f - right) * b[0]);
    y[(outer * oh_count + oh) * ow_count * inner + i] = fma(down, below, (1.0f - down) * above);
}

/* What place i of `out` has of place `of` of `in`. */
float share(int i, int of, int in, int out, int scale);
float share(int i, int of, int in, int out, int scale)
{
    int first;
    const float behind = between(i, in, out, scale, &first);
    return (first == of ? 1.0f - behind : 0.0f) + (min(first + 1, in - 1) == of ? behind : 0.0f);
}

/* The places of `out` that may have something of place `of` lie from FIRST to before END. */
#define FIRST(of, in, out, scale)                                                                            \
    max(0, ALIGN ? (int)((long)((of)-1) * ((out)-1) / max((in)-1, 1)) : ((of)-1) * (scale))
#define END(of, in, out, scale)                                                                              \
    min(out, ALIGN && (in) > 1 ? (int)((long)((of) + 1) * ((out)-1) / ((in)-1)) + 1                          \
             : ALIGN           ? (out)                                                                       \
                               : ((of) + 2) * (scale))

/* dx = sums of dy by its share in each. Overwrites dx. Items: (W * inner, H, outer). */
__kernel void upsample_bilinear_dx(CONST_TENSOR(float, dy), TENSOR(float, dx), SIZES, int scale_h, int scale_w)
{
    USE_CONST(float, dy);
    USE(float, dx);
    const int i = get_global_id(0), h = get_global_id(1);
    const ulong outer = get_global_id(2);
    if (i >= width * inner)
        return;
    const int w = i / inner, first = FIRST(w, width, ow_count, scale_w), end = END(w, width, ow_count, scale_w);
    float sum = 0.0f;
    for (int oh = FIRST(h, height, oh_count, scale_h); oh < END(h, height, oh_count, scale_h); oh++) {
        const float by = share(oh, h, height, oh_count, scale_h);
        __global const float *row = dy + (outer * oh_count + oh) * ow_count * inner + i % inner;
        for (int ow = first; ow < end; ow++)
            sum = fma(by * share(ow, w, width, ow_count, scale_w), row[(ulong)ow * inner], sum);
    }
    dx[(outer * height + h) * width * inner + i] = sum;
}

/* y[h, w] = x[h - top, w - left], 0 where there is none. Overwrites y. Items: (OW * inner, OH, outer). */
__kernel void shift(CONST_TENSOR(float, x), TENSOR(float, y), SIZES, int top, int left)
{
    USE_CONST(float, x);
    USE(float, y);
    const int i = get_global_id(0), oh = get_global_id(1), h = oh - top, w = i / inner - left;
    const ulong outer = get_global_id(2);
    if (i >= ow_count * inner)
        return;
    const bool there = h >= 0 && h < height && w >= 0 && w < width;
    y[(outer * oh_count + oh) * ow_count * inner + i] =
        there ? x[((outer * height + h) * width + w) * inner + i % inner] : 0.0f;
}

/* dx[h, w] = dy[h + top, w + left]. Overwrites dx. Items: (W * inner, H, outer). */
__kernel void shift_back(CONST_TENSOR(float, dy), TENSOR(float, dx), SIZES, int top, int left)
{
    USE_CONST(float, dy);
    USE(float, dx);
    const int i = get_global_id(0), h = get_global_id(1);
    const ulong outer = get_global_id(2);
    if (i < width * inner)
        dx[(outer * height + h) * width * inner + i] =
            dy[((outer * oh_count + h + top) * ow_count + left) * inner + i];
}
