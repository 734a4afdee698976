/* Batch normalisation of images: every channel by the mean and variance over images and pixels.
 *
 * The true batch may be shorter than the tensors: only its first step[STEP_COUNT] images count.
 * A channel's values are split into parts; each gives its mean and the sum of squared distances from it, made in
 * one pass from the distances to the part's first value, so that a large mean costs no digits; parts are joined by
 * their means (Chan, Golub, LeVeque 1979) in a fixed order.
 * Sizes: channels; plane: pixels of an image's channel; part_count; chunk: pixels of a part in a row (of all images'
 * pixels), 0: a part has every part_count-th; stride of the parts' rows.
 * Defines: LAST 1: NHWC. TRAIN 1: by the batch's statistics `stat` (2, C: mean, 1 / sqrt(var + eps)); 0: by running mean
 * and variance. AFFINE 1: weight and bias are there. ADD 1: another tensor is added; RELU 1: and the negative cut off; 6:
 * and what is over 6.
 */
#ifndef LAST
#define LAST 0
#endif
#ifndef ADD
#define ADD 0
#endif
#ifndef RELU
#define RELU 0
#endif
#ifndef TRAIN
#define TRAIN 1
#endif
#ifndef AFFINE
#define AFFINE 1
#endif
#define SIZES int channels, int plane, int part_count, int chunk, int stride

/* Where channel c of pixel p (of all images') lies. */
#if LAST
#define AT(p, c) ((ulong)(p) * channels + (c))
#else
#define AT(p, c) (((ulong)((p) / plane) * channels + (c)) * plane + (p) % plane)
#endif

/* Overwrites parts (2, part_count, channels): means, sums of squared distances. Part i has every part_count-th pixel from i
 * on. Items: (part_count, channels), with LAST (channels, part_count): neighbours read neighbours. */
__kernel void batch_norm2d_parts(CONST_TENSOR(float, x), CONST_TENSOR(uint, step), TENSOR(float, parts), SIZES)
{
    USE_CONST(float, x);
    USE_CONST(uint, step);
    USE(float, parts);
    const int part = get_global_id(LAST), c = get_global_id(1 - LAST), pixels = (int)step[STEP_COUNT] * plane;
    if (part >= part_count || c >= channels)
        return;
    const float first = part < pixels ? x[AT(part, c)] : 0.0f;
    float sum = 0.0f, squares = 0.0f;
    for (int p = part; p < pixels; p += part_count) {
        const float d = x[AT(p, c)] - first;
        sum += d;
        squares = fma(d, d, squares);
    }
    const float count = part < pixels ? (float)((pixels - part + part_count - 1) / part_count) : 1.0f;
    parts[part * channels + c] = first + sum / count;
    parts[(part_count + part) * channels + c] = fmax(fma(-sum / count, sum, squares), 0.0f);
}

/* Pixels of a part. */
int pixels_of(int part, int pixels, int part_count, int chunk);
int pixels_of(int part, int pixels, int part_count, int chunk)
{
    if (chunk > 0)
        return clamp(pixels - part * chunk, 0, chunk);
    return part < pixels ? (pixels - part + part_count - 1) / part_count : 0;
}

/* Joins the parts: overwrites stat (2, channels); changes the running mean and variance (the unbiased one) and counts the batch.
 * Items: (channels). */
__kernel void batch_norm2d_join(CONST_TENSOR(float, parts), CONST_TENSOR(uint, step), TENSOR(float, stat),
                                TENSOR(float, running_mean), TENSOR(float, running_var), TENSOR(int, batches),
                                float eps, float momentum, SIZES)
{
    USE_CONST(float, parts);
    USE_CONST(uint, step);
    USE(float, stat);
    USE(float, running_mean);
    USE(float, running_var);
    USE(int, batches);
    const int c = get_global_id(0), pixels = (int)step[STEP_COUNT] * plane;
    if (c >= channels)
        return;
    const float first = parts[c];
    float mean = 0.0f, squares = 0.0f;
    for (int i = 0; i < part_count; i++)
        mean = fma((float)pixels_of(i, pixels, part_count, chunk), parts[i * stride + c] - first, mean);
    mean = first + mean / (float)pixels;
    for (int i = 0; i < part_count; i++) {
        const float d = parts[i * stride + c] - mean;
        const int count = pixels_of(i, pixels, part_count, chunk);
        if (count)
            squares += fma((float)count * d, d, parts[(part_count + i) * stride + c]);
    }
    stat[c] = mean;
    stat[channels + c] = 1.0f / sqrt(squares / (float)pixels + eps);
    running_mean[c] = fma(momentum, mean - running_mean[c], running_mean[c]);
    const float unbiased = squares / (float)max(pixels - 1, 1);
    running_var[c] = fma(momentum, unbiased - running_var[c], running_var[c]);
    if (c == 0)
        batches[0]++;
}

/* The mean and 1 / deviation of channel c, or of LANES from c on. */
#if TRAIN
#define SCALE(read, c) read(variance + (c))
#else
#define SCALE(read, c) (1.0f / sqrt(read(variance + (c)) + eps))
#endif
#define ONE(p) (*(p))

#define APPLY_PARAMETERS                                                                                     \
    CONST_TENSOR(float, x), CONST_TENSOR(float, other), CONST_TENSOR(float, weight), CONST_TENSOR(float, bias), \
        CONST_TENSOR(float, mean), CONST_TENSOR(float, variance), TENSOR(float, y), float eps, int count, SIZES

/* Overwrites y. `mean`, `variance`: with TRAIN stat's two rows. Items: (count), of all elements. */
__kernel void batch_norm2d(APPLY_PARAMETERS)
{
    USE_CONST(float, x);
    USE_CONST(float, other);
    USE_CONST(float, weight);
    USE_CONST(float, bias);
    USE_CONST(float, mean);
    USE_CONST(float, variance);
    USE(float, y);
    const int i = get_global_id(0);
    if (i >= count)
        return;
    const int c = LAST ? i % channels : i / plane % channels;
    float scale = SCALE(ONE, c), value;
#if AFFINE
    scale *= weight[c];
    value = fma(x[i] - mean[c], scale, bias[c]);
#else
    value = (x[i] - mean[c]) * scale;
#endif
#if ADD
    value += other[i];
#endif
#if RELU
    value = value < 0.0f ? 0.0f : value;
#endif
#if RELU == 6
    value = value > 6.0f ? 6.0f : value;
#endif
    y[i] = value;
}

/* ---- backward ---- */

/* With g the gradient by what the channel's normalised values became, and n values:
 *     dbias = sum g; dweight = sum g * xhat; dx = weight / deviation * (g - dbias / n - xhat * dweight / n)
 * RELU: g is dy where y > 0 (6: and < 6), which is written to dother where ADD. */
#if RELU == 6
#define PASSED(at) (y[at] <= 0.0f || y[at] >= 6.0f ? 0.0f : dy[at])
#elif RELU
#define PASSED(at) (y[at] <= 0.0f ? 0.0f : dy[at])
#else
#define PASSED(at) dy[at]
#endif

/* Overwrites parts (2, part_count, channels): sums of g, of g * xhat. Items: as batch_norm2d_parts. */
__kernel void batch_norm2d_dx_parts(CONST_TENSOR(float, dy), CONST_TENSOR(float, x), CONST_TENSOR(float, y),
                                    CONST_TENSOR(float, stat), CONST_TENSOR(uint, step), TENSOR(float, parts), SIZES)
{
    USE_CONST(float, dy);
    USE_CONST(float, x);
    USE_CONST(float, y);
    USE_CONST(float, stat);
    USE_CONST(uint, step);
    USE(float, parts);
    const int part = get_global_id(LAST), c = get_global_id(1 - LAST), pixels = (int)step[STEP_COUNT] * plane;
    if (part >= part_count || c >= channels)
        return;
    const float mean = stat[c];
    float sum = 0.0f, product = 0.0f;
    for (int p = part; p < pixels; p += part_count) {
        const ulong at = AT(p, c);
        const float g = PASSED(at);
        sum += g;
        product = fma(g, x[at] - mean, product);
    }
    parts[part * channels + c] = sum;
    parts[(part_count + part) * channels + c] = product * stat[channels + c];
}

/* Overwrites means (2, channels): of g, of g * xhat; and dweight and dbias where AFFINE. Items: (channels). */
__kernel void batch_norm2d_dx_join(CONST_TENSOR(float, parts), CONST_TENSOR(uint, step), TENSOR(float, means),
                                   TENSOR(float, dweight), TENSOR(float, dbias), SIZES)
{
    USE_CONST(float, parts);
    USE_CONST(uint, step);
    USE(float, means);
    const int c = get_global_id(0);
    const float n = (float)((int)step[STEP_COUNT] * plane);
    if (c >= channels)
        return;
    float sum = 0.0f, product = 0.0f;
    for (int i = 0; i < part_count; i++) {
        sum += parts[i * stride + c];
        product += parts[(part_count + i) * stride + c];
    }
    means[c] = sum / n;
    means[channels + c] = product / n;
#if AFFINE
    USE(float, dweight);
    USE(float, dbias);
    dweight[c] = product;
    dbias[c] = sum;
#endif
}

/* Overwrites dx, and dother where ADD; both are 0 beyond the true batch. Items: (count), of all elements. */
__kernel void batch_norm2d_dx(CONST_TENSOR(float, dy), CONST_TENSOR(float, x), CONST_TENSOR(float, y),
                              CONST_TENSOR(float, stat), CONST_TENSOR(float, weight), CONST_TENSOR(float, means),
                              CONST_TENSOR(uint, step), TENSOR(float, dx), TENSOR(float, dother), int count,
                              SIZES)
{
    USE_CONST(float, dy);
    USE_CONST(float, x);
    USE_CONST(float, y);
    USE_CONST(float, stat);
    USE_CONST(float, weight);
    USE_CONST(float, means);
    USE_CONST(uint, step);
    USE(float, dx);
    const int i = get_global_id(0), pixels = (int)step[STEP_COUNT] * plane;
    if (i >= count)
        return;
    const int c = LAST ? i % channels : i / plane % channels;
    const bool there = i < pixels * channels;
    const float inverse = stat[channels + c], g = there ? PASSED(i) : 0.0f;
    float scale = inverse;
#if AFFINE
    scale *= weight[c];
#endif
    const float xhat = (x[i] - stat[c]) * inverse;
    dx[i] = there ? scale * (g - means[c] - xhat * means[channels + c]) : 0.0f;
#if ADD
    USE(float, dother);
    dother[i] = g;
#endif
}
