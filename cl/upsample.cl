/* Nearest upsampling and constant zero padding: x (outer, H, W, inner), y (outer, OH, OW, inner), where images in NCHW have N * C
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
