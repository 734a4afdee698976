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

/* The same as `shift`, and with top and left negative as shift_back, for devices whose work-items do rows (CPUs): an item has `rows` of
 * the count, OH for each of outer. Items: (ceil(count / rows)). */
__kernel void shift_rows(CONST_TENSOR(float, x), TENSOR(float, y), SIZES, int top, int left, int count, int rows)
{
    USE_CONST(float, x);
    USE(float, y);
    const int begin = (int)get_global_id(0) * rows, end = min(begin + rows, count);
    const int first = max(left, 0) * inner, behind = max(min(left + width, ow_count) * inner, first);
    y += (ulong)begin * ow_count * inner;
    for (int row = begin; row < end; row++, y += ow_count * inner) {
        const int h = row % oh_count - top;
        const bool there = h >= 0 && h < height;
        const int from = there ? first : ow_count * inner, to = there ? behind : ow_count * inner;
        __global const float *of = x + (((ulong)(row / oh_count) * height + (there ? h : 0)) * width + max(-left, 0)) * inner;
        for (int i = 0; i < from; i++)
            y[i] = 0.0f;
        for (int i = from; i < to; i++)
            y[i] = of[i - first];
        for (int i = to; i < ow_count * inner; i++)
            y[i] = 0.0f;
    }
}

#ifdef LANES
#define STORE_INNER(v, p) STORE_UP_TO(v, p, inner - c)

/* The same of images in NHWC for devices whose work-items own wide vectors: lanes are channels, an item has a row. Define: BILINEAR.
 * Items: (OH, N). */
__kernel void upsample_channels(CONST_TENSOR(float, x), TENSOR(float, y), SIZES, int scale_h, int scale_w)
{
    USE_CONST(float, x);
    USE(float, y);
    const int oh = get_global_id(0);
    const ulong n = get_global_id(1);
    int h = oh / scale_h, w;
    float down = 0.0f, right = 0.0f;
    if (oh >= oh_count)
        return;
    if (BILINEAR)
        down = between(oh, height, oh_count, scale_h, &h);
    x += (n * height + h) * width * inner;
    y += (n * oh_count + oh) * ow_count * inner;
    const int next_h = h + 1 < height ? width * inner : 0;
    for (int ow = 0; ow < ow_count; ow++) {
        w = ow / scale_w;
        if (BILINEAR)
            right = between(ow, width, ow_count, scale_w, &w);
        const int next_w = w + 1 < width ? inner : 0;
        for (int c = 0; c < inner; c += LANES) {
            __global const float *at = x + w * inner + c;
            FLOATS value = LOAD(at);
            if (BILINEAR) {
                const FLOATS above = fma((FLOATS)right, LOAD(at + next_w), (1.0f - right) * value);
                const FLOATS below =
                    fma((FLOATS)right, LOAD(at + next_h + next_w), (1.0f - right) * LOAD(at + next_h));
                value = fma((FLOATS)down, below, (1.0f - down) * above);
            }
            STORE_INNER(value, y + ow * inner + c);
        }
    }
}

/* Items: (H, N). */
__kernel void upsample_channels_dx(CONST_TENSOR(float, dy), TENSOR(float, dx), SIZES, int scale_h, int scale_w)
{
    USE_CONST(float, dy);
    USE(float, dx);
    const int h = get_global_id(0);
    const ulong n = get_global_id(1);
    if (h >= height)
        return;
    const int top = BILINEAR ? FIRST(h, height, oh_count, scale_h) : h * scale_h;
    const int bottom = BILINEAR ? END(h, height, oh_count, scale_h) : top + scale_h;
    dy += n * oh_count * ow_count * inner;
    dx += (n * height + h) * width * inner;
    for (int w = 0; w < width; w++) {
        const int left = BILINEAR ? FIRST(w, width, ow_count, scale_w) : w * scale_w;
        const int end = BILINEAR ? END(w, width, ow_count, scale_w) : left + scale_w;
        for (int c = 0; c < inner; c += LANES)
            STORE_INNER((FLOATS)0.0f, dx + w * inner + c);
        for (int oh = top; oh < bottom; oh++) {
            const float by = BILINEAR ? share(oh, h, height, oh_count, scale_h) : 1.0f;
            for (int ow = left; ow < end; ow++) {
                const float all = BILINEAR ? by * share(ow, w, width, ow_count, scale_w) : 1.0f;
                __global const float *at = dy + ((ulong)oh * ow_count + ow) * inner;
                for (int c = 0; c < inner; c += LANES)
                    STORE_INNER(fma((FLOATS)all, LOAD(at + c), LOAD(dx + w * inner + c)), dx + w * inner + c);
            }
        }
    }
}
#endif
