/* Average pooling. Defines: ADAPTIVE 1: windows share the extents out; 0: r_count x s_count, `stride` apart, inside padding,
 * which counts with COUNT_PAD 1. */
#ifndef ADAPTIVE
#define ADAPTIVE 0
#endif
#ifndef COUNT_PAD
#define COUNT_PAD 1
#endif
#define POOL_PARAMETERS                                                                                      \
    int channels, int height, int width, int oh_count, int ow_count, int r_count, int s_count, int stride_h, \
        int stride_w, int padding_h, int padding_w

/* Window o of `outputs` along an extent: first place, one past the last, and how many count. */
int3 window(int o, int outputs, int extent, int kernel_size, int stride, int padding);
int3 window(int o, int outputs, int extent, int kernel_size, int stride, int padding)
{
#if ADAPTIVE
    const int first = (int)((long)o * extent / outputs);
    const int end = (int)(((long)(o + 1) * extent + outputs - 1) / outputs);
    return (int3)(first, end, end - first);
#else
    const int first = o * stride - padding, end = min(first + kernel_size, extent + padding);
    const int from = max(first, 0), to = min(end, extent);
    return (int3)(from, to, COUNT_PAD ? end - first : to - from);
#endif
}
#define ROWS(oh) window(oh, oh_count, height, r_count, stride_h, padding_h)
#define COLUMNS(ow) window(ow, ow_count, width, s_count, stride_w, padding_w)

/* The outputs whose windows may hold place i: first, one past the last. */
int2 windows_of(int i, int outputs, int extent, int kernel_size, int stride, int padding);
int2 windows_of(int i, int outputs, int extent, int kernel_size, int stride, int padding)
{
#if ADAPTIVE
    const int first = (int)((long)i * outputs / extent);
    const int end = (int)(((long)(i + 1) * outputs + extent - 1) / extent);
#else
    const int low = i + padding - kernel_size + 1;
    const int first = low > 0 ? (low + stride - 1) / stride : 0, end = (i + padding) / stride + 1;
#endif
    return (int2)(first, min(end, outputs));
}

/* x (N, C, H, W); overwrites y. Items: (OW, OH, N * C). */
__kernel void avg_pool2d(CONST_TENSOR(float, x), TENSOR(float, y), POOL_PARAMETERS)
{
    USE_CONST(float, x);
    USE(float, y);
    const int ow = get_global_id(0), oh = get_global_id(1), plane = get_global_id(2);
    if (ow >= ow_count)
        return;
    x += (ulong)plane * height * width;
    const int3 rows = ROWS(oh), columns = COLUMNS(ow);
    float sum = 0.0f;
    for (int h = rows.x; h < rows.y; h++)
        for (int w = columns.x; w < columns.y; w++)
            sum += x[h * width + w];
    y[((ulong)plane * oh_count + oh) * ow_count + ow] = sum / (float)(rows.z * columns.z);
}

/* Overwrites dx: each place gathers from the windows that hold it. Items: (W, H, N * C). */
__kernel void avg_pool2d_dx(CONST_TENSOR(float, dy), TENSOR(float, dx), POOL_PARAMETERS)
{
    USE_CONST(float, dy);
    USE(float, dx);
    const int w = get_global_id(0), h = get_global_id(1), plane = get_global_id(2);
    if (w >= width)
        return;
    dy += (ulong)plane * oh_count * ow_count;
    const int2 down = windows_of(h, oh_count, height, r_count, stride_h, padding_h);
    const int2 across = windows_of(w, ow_count, width, s_count, stride_w, padding_w);
    float sum = 0.0f;
    for (int oh = down.x; oh < down.y; oh++)
        for (int ow = across.x; ow < across.y; ow++)
            sum += dy[oh * ow_count + ow] / (float)(ROWS(oh).z * COLUMNS(ow).z);
    dx[((ulong)plane * height + h) * width + w] = sum;
}

#ifdef LANES
/* The same on images in NHWC, lanes are channels. Items: (OH, N). */
__kernel void avg_pool2d_channels(CONST_TENSOR(float, x), TENSOR(float, y), POOL_PARAMETERS)
{
    USE_CONST(float, x);
    USE(float, y);
    const int oh = get_global_id(0), n = get_global_id(1);
    const int3 rows = ROWS(oh);
    x += (ulong)n * height * width * channels;
    for (int ow = 0; ow < ow_count; ow++) {
        const int3 columns = COLUMNS(ow);
        for (int c = 0; c < channels; c += LANES) {
            FLOATS sum = 0.0f;
            for (int h = rows.x; h < rows.y; h++)
                for (int w = columns.x; w < columns.y; w++)
                    sum += LOAD(x + (h * width + w) * channels + c);
            STORE_CHANNELS(sum / (float)(rows.z * columns.z),
                        y + (((ulong)n * oh_count + oh) * ow_count + ow) * channels + c);
        }
    }
}

/* Items: (H, N). */
__kernel void avg_pool2d_dx_channels(CONST_TENSOR(float, dy), TENSOR(float, dx), POOL_PARAMETERS)
{
    USE_CONST(float, dy);
    USE(float, dx);
    const int h = get_global_id(0), n = get_global_id(1);
    const int2 down = windows_of(h, oh_count, height, r_count, stride_h, padding_h);
    dy += (ulong)n * oh_count * ow_count * channels;
    for (int w = 0; w < width; w++) {
        const int2 across = windows_of(w, ow_count, width, s_count, stride_w, padding_w);
        for (int c = 0; c < channels; c += LANES) {
            FLOATS sum = 0.0f;
            for (int oh = down.x; oh < down.y; oh++)
                for (int ow = across.x; ow < across.y; ow++)
                    sum += LOAD(dy + (oh * ow_count + ow) * channels + c) / (float)(ROWS(oh).z * COLUMNS(ow).z);
            STORE_CHANNELS(sum, dx + (((ulong)n * height + h) * width + w) * channels + c);
        }
    }
}
#endif
