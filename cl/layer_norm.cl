/* group_norm.cl's normalisation of whole images with weights for each element, for devices whose work-items own wide vectors: lanes
 * are elements of an image, which has `size`, in the order in which they lie; weight and bias (size) lie alike. An item has a part: chunk of
 * them, whole vectors but for the last. The parts' rows are joined by group_norm.cl, with one group an image.
 * Defines: LANES; WEIGHT, BIAS: 0 or 1; VECTORS side by side (layer_norm_dw_parts). */
#ifndef WEIGHT
#define WEIGHT 0
#endif
#ifndef BIAS
#define BIAS 0
#endif
#ifndef VECTORS
#define VECTORS 1
#endif

#ifdef LANES
#define SIZES int images, int size, int chunk
#if WEIGHT
#define SCALED(i) (LOAD(dy + (i)) * LOAD(weight + (i)))
#else
#define SCALED(i) LOAD(dy + (i))
#endif
/* What each kernel over parts begins with. */
#define PART                                                                                                 \
    const int part = get_global_id(0), n = get_global_id(1), begin = part * chunk, end = min(begin + chunk, size); \
    if (begin >= size || n >= images)                                                                        \
        return;

/* Overwrites parts (2, part_count, images): means, sums of squared distances. Items: (part_count, images). */
__kernel void layer_norm_parts(CONST_TENSOR(float, x), TENSOR(float, parts), SIZES)
{
    USE_CONST(float, x);
    USE(float, parts);
    PART
    x += (ulong)n * size;
    const float first = x[begin], count = (float)(end - begin);
    FLOATS sums[2] = {0.0f, 0.0f}, squares[2] = {0.0f, 0.0f};
    int i = begin;
    for (; i + 2 * LANES <= end; i += 2 * LANES) {
        const FLOATS a = LOAD(x + i) - first, b = LOAD(x + i + LANES) - first;
        sums[0] += a;
        sums[1] += b;
        squares[0] = fma(a, a, squares[0]);
        squares[1] = fma(b, b, squares[1]);
    }
    for (; i < end; i += LANES) {
        const FLOATS a = UP_TO(end - i, LOAD(x + i) - first, 0.0f);
        sums[0] += a;
        squares[0] = fma(a, a, squares[0]);
    }
    const float sum = sum_lanes(sums[0] + sums[1]), square = sum_lanes(squares[0] + squares[1]);
    parts[part * images + n] = first + sum / count;
    parts[((int)get_global_size(0) + part) * images + n] = fmax(fma(-sum / count, sum, square), 0.0f);
}

/* Overwrites y. stat (2, images): means, 1 / deviations. Items: (part_count, images). */
__kernel void layer_norm(CONST_TENSOR(float, x), CONST_TENSOR(float, stat), CONST_TENSOR(float, weight),
                         CONST_TENSOR(float, bias), TENSOR(float, y), SIZES)
{
    USE_CONST(float, x);
    USE_CONST(float, stat);
    USE_CONST(float, weight);
    USE_CONST(float, bias);
    USE(float, y);
    PART
    const float mean = stat[n], inverse = stat[images + n];
    x += (ulong)n * size;
    y += (ulong)n * size;
    for (int i = begin; i < end; i += LANES) {
        FLOATS value = (LOAD(x + i) - mean) * inverse;
#if BIAS
        value = fma(value, LOAD(weight + i), LOAD(bias + i));
#elif WEIGHT
        value *= LOAD(weight + i);
#endif
        STORE_UP_TO(value, y + i, end - i);
    }
}

/* Overwrites parts (2, part_count, images): sums of g = dy * weight, of g * xhat. Items: (part_count, images). */
__kernel void layer_norm_dx_parts(CONST_TENSOR(float, dy), CONST_TENSOR(float, x), CONST_TENSOR(float, stat),
                                  CONST_TENSOR(float, weight), TENSOR(float, parts), SIZES)
{
    USE_CONST(float, dy);
    USE_CONST(float, x);
    USE_CONST(float, stat);
    USE_CONST(float, weight);
    USE(float, parts);
    PART
    const float mean = stat[n];
    dy += (ulong)n * size;
    x += (ulong)n * size;
    FLOATS sums[2] = {0.0f, 0.0f}, products[2] = {0.0f, 0.0f};
    int i = begin;
    for (; i + 2 * LANES <= end; i += 2 * LANES) {
        const FLOATS a = SCALED(i), b = SCALED(i + LANES);
        sums[0] += a;
        sums[1] += b;
        products[0] = fma(a, LOAD(x + i) - mean, products[0]);
        products[1] = fma(b, LOAD(x + i + LANES) - mean, products[1]);
    }
    for (; i < end; i += LANES) {
        sums[0] += UP_TO(end - i, SCALED(i), 0.0f);
        products[0] += UP_TO(end - i, SCALED(i) * (LOAD(x + i) - mean), 0.0f);
    }
    parts[part * images + n] = sum_lanes(sums[0] + sums[1]);
    parts[((int)get_global_size(0) + part) * images + n] = sum_lanes(products[0] + products[1]) * stat[images + n];
}

/* Overwrites dx. sums (2, images): the images' means of g, of g * xhat. Items: (part_count, images). */
__kernel void layer_norm_dx(CONST_TENSOR(float, dy), CONST_TENSOR(float, x), CONST_TENSOR(float, stat),
                            CONST_TENSOR(float, weight), CONST_TENSOR(float, sums), TENSOR(float, dx), SIZES)
{
    USE_CONST(float, dy);
    USE_CONST(float, x);
    USE_CONST(float, stat);
    USE_CONST(float, weight);
    USE_CONST(float, sums);
    USE(float, dx);
    PART
    const float mean = stat[n], inverse = stat[images + n], base = sums[n], slope = sums[images + n];
    dy += (ulong)n * size;
    x += (ulong)n * size;
    dx += (ulong)n * size;
    for (int i = begin; i < end; i += LANES) {
        const FLOATS xhat = (LOAD(x + i) - mean) * inverse;
        STORE_UP_TO(inverse * (SCALED(i) - base - xhat * slope), dx + i, end - i);
    }
}

/* Overwrites parts (part_count, 1 + BIAS, size): sums over each `chunk` images of dy * xhat and, with BIAS, of dy. Items:
 * (ceil(size / (VECTORS * LANES)), part_count). */
__kernel void layer_norm_dw_parts(CONST_TENSOR(float, dy), CONST_TENSOR(float, x), CONST_TENSOR(float, stat),
                                  TENSOR(float, parts), SIZES)
{
    USE_CONST(float, dy);
    USE_CONST(float, x);
    USE_CONST(float, stat);
    USE(float, parts);
    const int first = (int)get_global_id(0) * VECTORS * LANES, begin = (int)get_global_id(1) * chunk;
    if (first >= size || begin >= images)
        return;
    FLOATS sums[VECTORS], products[VECTORS];
#pragma unroll
    for (int v = 0; v < VECTORS; v++)
        sums[v] = products[v] = 0.0f;
    for (int n = begin; n < min(begin + chunk, images); n++) {
        const float mean = stat[n], inverse = stat[images + n];
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            const ulong at = (ulong)n * size + min(first + v * LANES, size - 1);
            const FLOATS slope = LOAD(dy + at);
            sums[v] += slope;
            products[v] = fma(slope * inverse, LOAD(x + at) - mean, products[v]);
        }
    }
    parts += (ulong)get_global_id(1) * (1 + BIAS) * size;
#pragma unroll
    for (int v = 0; v < VECTORS; v++) {
        const int i = first + v * LANES;
        if (i >= size)
            break;
        STORE_UP_TO(products[v], parts + i, size - i);
#if BIAS
        STORE_UP_TO(sums[v], parts + size + i, size - i);
#endif
    }
}
#endif
