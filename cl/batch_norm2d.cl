/* Batch normalisation of images: every channel by the mean and variance over images and pixels.
 *
 * The true batch may be shorter than the tensors: only its first step[STEP_COUNT] images count.
 * A channel's values are split into parts; each gives its mean and the sum of squared distances from it, made in
 * one pass from the distances to the part's first value, so that a large mean costs no digits; parts are joined by
 * their means (Chan, Golub, LeVeque 1979) in a fixed order.
 * Defines: PLANE pixels of an image's channel; CHANNELS; PARTS; CHUNK pixels of a part (of all images' pixels);
 * LAST 1: NHWC. TRAIN 1: by the batch's statistics `stat` (2, C: mean, 1 / sqrt(var + eps)); 0: by running mean
 * and variance. AFFINE 1: weight and bias are there. ADD 1: another tensor is added; RELU 1: and the negative cut off.
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
#ifndef PLANE
#define PLANE 1
#define CHANNELS 1
#define PARTS 1
#define CHUNK 1
#endif

/* Where channel c of pixel p (of all images') lies. */
#if LAST
#define AT(p, c) ((ulong)(p) * CHANNELS + (c))
#else
#define AT(p, c) (((ulong)((p) / PLANE) * CHANNELS + (c)) * PLANE + (p) % PLANE)
#endif

/* Overwrites parts (2, PARTS, CHANNELS): means, sums of squared distances. Part i has every PARTS-th pixel from i
 * on. Items: (PARTS, CHANNELS), with LAST (CHANNELS, PARTS): neighbours read neighbours. */
__kernel void batch_norm2d_parts(CONST_TENSOR(float, x), CONST_TENSOR(uint, step), TENSOR(float, parts))
{
    USE_CONST(float, x);
    USE_CONST(uint, step);
    USE(float, parts);
    const int part = get_global_id(LAST), c = get_global_id(1 - LAST), pixels = (int)step[STEP_COUNT] * PLANE;
    if (part >= PARTS || c >= CHANNELS)
        return;
    const float first = part < pixels ? x[AT(part, c)] : 0.0f;
    float sum = 0.0f, squares = 0.0f;
    for (int p = part; p < pixels; p += PARTS) {
        const float d = x[AT(p, c)] - first;
        sum += d;
        squares = fma(d, d, squares);
    }
    const float count = part < pixels ? (float)((pixels - part + PARTS - 1) / PARTS) : 1.0f;
    parts[part * CHANNELS + c] = first + sum / count;
    parts[(PARTS + part) * CHANNELS + c] = fmax(fma(-sum / count, sum, squares), 0.0f);
}

/* Pixels of a part: of every PARTS-th pixel, or with INTERLEAVED 0 of CHUNK in a row. */
#ifndef INTERLEAVED
#define INTERLEAVED 1
#endif
#ifndef STRIDE
#define STRIDE CHANNELS /* of the parts' rows */
#endif
int part_count(int part, int pixels);
int part_count(int part, int pixels)
{
#if INTERLEAVED
    return part < pixels ? (pixels - part + PARTS - 1) / PARTS : 0;
#else
    return clamp(pixels - part * CHUNK, 0, CHUNK);
#endif
}

/* Joins the parts: overwrites stat (2, CHANNELS); changes the running mean and variance (the unbiased one) and counts the batch.
 * Items: (CHANNELS). */
__kernel void batch_norm2d_join(CONST_TENSOR(float, parts), CONST_TENSOR(uint, step), TENSOR(float, stat),
                                TENSOR(float, running_mean), TENSOR(float, running_var), TENSOR(int, batches),
                                float eps, float momentum)
{
    USE_CONST(float, parts);
    USE_CONST(uint, step);
    USE(float, stat);
    USE(float, running_mean);
    USE(float, running_var);
    USE(int, batches);
    const int c = get_global_id(0), pixels = (int)step[STEP_COUNT] * PLANE;
    if (c >= CHANNELS)
        return;
    const float first = parts[c];
    float mean = 0.0f, squares = 0.0f;
    for (int i = 0; i < PARTS; i++)
        mean = fma((float)part_count(i, pixels), parts[i * STRIDE + c] - first, mean);
    mean = first + mean / (float)pixels;
    for (int i = 0; i < PARTS; i++) {
        const float d = parts[i * STRIDE + c] - mean;
        const int count = part_count(i, pixels);
        if (count)
            squares += fma((float)count * d, d, parts[(PARTS + i) * STRIDE + c]);
    }
    stat[c] = mean;
    stat[CHANNELS + c] = 1.0f / sqrt(squares / (float)pixels + eps);
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
        CONST_TENSOR(float, mean), CONST_TENSOR(float, variance), TENSOR(float, y), float eps, int count

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
    const int c = LAST ? i % CHANNELS : i / PLANE % CHANNELS;
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
    y[i] = value;
}

/* ---- backward ---- */

/* With g the gradient by what the channel's normalised values became, and n values:
 *     dbias = sum g; dweight = sum g * xhat; dx = weight / deviation * (g - dbias / n - xhat * dweight / n)
 * RELU: g is dy where y > 0, which is written to dother where ADD. */
#if RELU
#define PASSED(at) (y[at] <= 0.0f ? 0.0f : dy[at])
#else
#define PASSED(at) dy[at]
#endif

/* Overwrites parts (2, PARTS, CHANNELS): sums of g, of g * xhat. Items: as batch_norm2d_parts. */
__kernel void batch_norm2d_dx_parts(CONST_TENSOR(float, dy), CONST_TENSOR(float, x), CONST_TENSOR(float, y),
                                    CONST_TENSOR(float, stat), CONST_TENSOR(uint, step), TENSOR(float, parts))
{
    USE_CONST(float, dy);
    USE_CONST(float, x);
    USE_CONST(float, y);
    USE_CONST(float, stat);
    USE_CONST(uint, step);
    USE(float, parts);
    const int part = get_global_id(LAST), c = get_global_id(1 - LAST), pixels = (int)step[STEP_COUNT] * PLANE;
    if (part >= PARTS || c >= CHANNELS)
        return;
    const float mean = stat[c];
    float sum = 0.0f, product = 0.0f;
    for (int p = part; p < pixels; p += PARTS) {
        const ulong at = AT(p, c);
        const float g = PASSED(at);
        sum += g;
        product = fma(g, x[at] - mean, product);
    }
    parts[part * CHANNELS + c] = sum;
    parts[(PARTS + part) * CHANNELS + c] = product * stat[CHANNELS + c];
}

/* Overwrites sums (2, CHANNELS), and dweight and dbias where AFFINE. Items: (CHANNELS). */
__kernel void batch_norm2d_dx_join(CONST_TENSOR(float, parts), TENSOR(float, sums), TENSOR(float, dweight),
                                   TENSOR(float, dbias))
{
    USE_CONST(float, parts);
    USE(float, sums);
    const int c = get_global_id(0);
    if (c >= CHANNELS)
        return;
    float sum = 0.0f, product = 0.0f;
    for (int i = 0; i < PARTS; i++) {
        sum += parts[i * STRIDE + c];
        product += parts[(PARTS + i) * STRIDE + c];
    }
    sums[c] = sum;
    sums[CHANNELS + c] = product;
#if AFFINE
    USE(float, dweight);
    USE(float, dbias);
    dweight[c] = product;
    dbias[c] = sum;
#endif
}

/* Overwrites dx, and dother where ADD; both are 0 beyond the true batch. Items: (count), of all elements. */
__kernel void batch_norm2d_dx(CONST_TENSOR(float, dy), CONST_TENSOR(float, x), CONST_TENSOR(float, y),
                              CONST_TENSOR(float, stat), CONST_TENSOR(float, weight), CONST_TENSOR(float, sums),
                              CONST_TENSOR(uint, step), TENSOR(float, dx), TENSOR(float, dother), int count)
{
    USE_CONST(float, dy);
    USE_CONST(float, x);
    USE_CONST(float, y);
    USE_CONST(float, stat);
    USE_CONST(float, weight);
    USE_CONST(float, sums);
    USE_CONST(uint, step);
    USE(float, dx);
    const int i = get_global_id(0), pixels = (int)step[STEP_COUNT] * PLANE;
    if (i >= count)
        return;
    const int c = LAST ? i % CHANNELS : i / PLANE % CHANNELS;
    const bool there = i < pixels * CHANNELS;
    const float inverse = stat[CHANNELS + c], n = (float)pixels, g = there ? PASSED(i) : 0.0f;
    float scale = inverse;
#if AFFINE
    scale *= weight[c];
#endif
    const float xhat = (x[i] - stat[c]) * inverse;
    dx[i] = there ? scale * (g - sums[c] / n - xhat * (sums[CHANNELS + c] / n)) : 0.0f;
#if ADD
    USE(float, dother);
    dother[i] = g;
#endif
}
