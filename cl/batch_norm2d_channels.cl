/* batch_norm2d.cl's kernels on images in NHWC for devices whose work-items own wide vectors: lanes are channels, an
 * item has chunk pixels in a row (of all images'). Sizes and defines as there, and LANES. */
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

#ifdef LANES
/* Overwrites parts (2, part_count, stride). Items: (part_count). */
__kernel void batch_norm2d_parts(CONST_TENSOR(float, x), CONST_TENSOR(uint, step), TENSOR(float, parts), SIZES)
{
    USE_CONST(float, x);
    USE_CONST(uint, step);
    USE(float, parts);
    const int part = get_global_id(0), begin = part * chunk;
    const int end = min(begin + chunk, (int)step[STEP_COUNT] * plane);
    if (part >= part_count)
        return;
    for (int c = 0; c < channels; c += LANES) {
        FLOATS mean, squares;
        moments_of(x + (ulong)begin * channels + c, end - begin, channels, &mean, &squares);
        STORE_FLOATS(mean, parts + (ulong)part * stride + c);
        STORE_FLOATS(squares, parts + ((ulong)part_count + part) * stride + c);
    }
}

/* Items: (ceil(pixels / chunk)). */
__kernel void batch_norm2d(CONST_TENSOR(float, x), CONST_TENSOR(float, other), CONST_TENSOR(float, weight),
                           CONST_TENSOR(float, bias), CONST_TENSOR(float, mean), CONST_TENSOR(float, variance),
                           TENSOR(float, y), float eps, int count, SIZES)
{
    USE_CONST(float, x);
    USE_CONST(float, other);
    USE_CONST(float, weight);
    USE_CONST(float, bias);
    USE_CONST(float, mean);
    USE_CONST(float, variance);
    USE(float, y);
    const int begin = (int)get_global_id(0) * chunk, end = min(begin + chunk, count / channels);
    for (int p = begin; p < end; p++)
        for (int c = 0; c < channels; c += LANES) {
            const ulong at = (ulong)p * channels + c;
#if TRAIN
            FLOATS scale = LOAD(variance + c);
#else
            FLOATS scale = 1.0f / sqrt(LOAD(variance + c) + eps);
#endif
#if AFFINE
            scale *= LOAD(weight + c);
            FLOATS value = fma(LOAD(x + at) - LOAD(mean + c), scale, LOAD(bias + c));
#else
            FLOATS value = (LOAD(x + at) - LOAD(mean + c)) * scale;
#endif
#if ADD
            value += LOAD(other + at);
#endif
#if RELU
            value = isless(value, (FLOATS)0.0f) ? (FLOATS)0.0f : value;
#endif
#if RELU == 6
            value = isgreater(value, (FLOATS)6.0f) ? (FLOATS)6.0f : value;
#endif
            STORE_CHANNELS(value, y + at);
        }
}

#if RELU
#if RELU == 6
#define CUT(v) (islessequal(v, (FLOATS)0.0f) | isgreaterequal(v, (FLOATS)6.0f))
#else
#define CUT(v) islessequal(v, (FLOATS)0.0f)
#endif
#define PASSED(at) (CUT(LOAD(y + (at))) ? (FLOATS)0.0f : LOAD(dy + (at)))
#else
#define PASSED(at) LOAD(dy + (at))
#endif

/* Overwrites parts (2, part_count, stride): sums of g, of g * xhat. Items: (part_count). */
__kernel void batch_norm2d_dx_parts(CONST_TENSOR(float, dy), CONST_TENSOR(float, x), CONST_TENSOR(float, y),
                                    CONST_TENSOR(float, stat), CONST_TENSOR(uint, step), TENSOR(float, parts), SIZES)
{
    USE_CONST(float, dy);
    USE_CONST(float, x);
    USE_CONST(float, y);
    USE_CONST(float, stat);
    USE_CONST(uint, step);
    USE(float, parts);
    const int part = get_global_id(0), begin = part * chunk;
    const int end = min(begin + chunk, (int)step[STEP_COUNT] * plane);
    if (part >= part_count)
        return;
    __global float *sums = parts + (ulong)part * stride, *products = parts + ((ulong)part_count + part) * stride;
    SUM_BY_CHANNELS(PASSED, stat, stat + channels, sums, products)
}

/* Overwrites dx, and dother where ADD. Items: (ceil(pixels / chunk)). */
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
    const int begin = (int)get_global_id(0) * chunk, pixels = (int)step[STEP_COUNT] * plane;
    const int end = min(begin + chunk, count / channels), there = clamp(pixels, begin, max(begin, end));
    for (int p = begin; p < there; p++)
        for (int c = 0; c < channels; c += LANES) {
            const ulong at = (ulong)p * channels + c;
            const FLOATS inverse = LOAD(stat + channels + c), g = PASSED(at);
            const FLOATS xhat = (LOAD(x + at) - LOAD(stat + c)) * inverse;
            FLOATS scale = inverse;
#if AFFINE
            scale *= LOAD(weight + c);
#endif
            STORE_CHANNELS(scale * (g - LOAD(means + c) - xhat * LOAD(means + channels + c)), dx + at);
#if ADD
            STORE_CHANNELS(g, dother_base + dother_offset + at);
#endif
        }
    for (int p = there; p < end; p++)
        for (int c = 0; c < channels; c += LANES) {
            const ulong at = (ulong)p * channels + c;
            STORE_CHANNELS((FLOATS)0.0f, dx + at);
#if ADD
            STORE_CHANNELS((FLOATS)0.0f, dother_base + dother_offset + at);
#endif
        }
}
#endif
