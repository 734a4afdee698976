/* group_norm.cl's normalisation, of channels in groups, on images in NHWC for devices whose work-items own wide vectors: lanes are
 * channels, an item has chunk pixels in a row of one image.
 * Sizes: images, channels, groups; plane: pixels of an image; part_count of an image, of chunk pixels; stride of the rows of parts and of
 * tables (images, stride), which are a channel's values of its group. Defines: LANES; WEIGHT, BIAS: 0 or 1. */
#ifndef WEIGHT
#define WEIGHT 0
#endif
#ifndef BIAS
#define BIAS 0
#endif
#define SIZES int images, int channels, int plane, int groups, int part_count, int chunk, int stride

#ifdef LANES
/* Overwrites parts (2, images, part_count, stride): means, sums of squared distances from them. Items: (part_count, images). */
__kernel void group_norm_parts(CONST_TENSOR(float, x), TENSOR(float, parts), SIZES)
{
    USE_CONST(float, x);
    USE(float, parts);
    const int part = get_global_id(0), n = get_global_id(1), begin = part * chunk, end = min(begin + chunk, plane);
    if (part >= part_count || n >= images)
        return;
    x += (ulong)n * plane * channels;
    parts += ((ulong)n * part_count + part) * stride;
    for (int c = 0; c < channels; c += LANES) {
        FLOATS mean, squares;
        moments_of(x + (ulong)begin * channels + c, end - begin, channels, &mean, &squares);
        STORE_FLOATS(mean, parts + c);
        STORE_FLOATS(squares, parts + (ulong)images * part_count * stride + c);
    }
}

/* Overwrites y. table (2, images, stride): means, 1 / deviations times weights. Items: (part_count, images). */
__kernel void group_norm(CONST_TENSOR(float, x), CONST_TENSOR(float, table), CONST_TENSOR(float, bias), TENSOR(float, y), SIZES)
{
    USE_CONST(float, x);
    USE_CONST(float, table);
    USE_CONST(float, bias);
    USE(float, y);
    const int part = get_global_id(0), n = get_global_id(1), begin = part * chunk, end = min(begin + chunk, plane);
    if (part >= part_count || n >= images)
        return;
    table += (ulong)n * stride;
    for (int p = begin; p < end; p++)
        for (int c = 0; c < channels; c += LANES) {
            const ulong at = ((ulong)n * plane + p) * channels + c;
            const FLOATS distance = LOAD(x + at) - LOAD(table + c), scale = LOAD(table + (ulong)images * stride + c);
#if BIAS
            STORE_CHANNELS(fma(distance, scale, LOAD(bias + c)), y + at);
#else
            STORE_CHANNELS(distance * scale, y + at);
#endif
        }
}

#define SLOPE(at) LOAD(dy + (at))

/* Overwrites parts (2, images, part_count, stride): sums of dy, of dy * xhat. table (2, images, stride): means, 1 / deviations. Items:
 * (part_count, images). */
__kernel void group_norm_dx_parts(CONST_TENSOR(float, dy), CONST_TENSOR(float, x), CONST_TENSOR(float, table), TENSOR(float, parts),
                                  SIZES)
{
    USE_CONST(float, dy);
    USE_CONST(float, x);
    USE_CONST(float, table);
    USE(float, parts);
    const int part = get_global_id(0), n = get_global_id(1), begin = part * chunk, end = min(begin + chunk, plane);
    if (part >= part_count || n >= images)
        return;
    const ulong first = (ulong)n * plane * channels;
    table += (ulong)n * stride;
    parts += ((ulong)n * part_count + part) * stride;
    dy += first;
    x += first;
    SUM_BY_CHANNELS(SLOPE, table, table + (ulong)images * stride, parts, parts + (ulong)images * part_count * stride)
}

/* Overwrites dx = scale * dy - base - (x - mean) * slope. table (4, images, stride): mean, scale, base, slope. Items:
 * (part_count, images). */
__kernel void group_norm_dx(CONST_TENSOR(float, dy), CONST_TENSOR(float, x), CONST_TENSOR(float, table), TENSOR(float, dx), SIZES)
{
    USE_CONST(float, dy);
    USE_CONST(float, x);
    USE_CONST(float, table);
    USE(float, dx);
    const int part = get_global_id(0), n = get_global_id(1), begin = part * chunk, end = min(begin + chunk, plane);
    if (part >= part_count || n >= images)
        return;
    table += (ulong)n * stride;
    const ulong row = (ulong)images * stride;
    for (int p = begin; p < end; p++)
        for (int c = 0; c < channels; c += LANES) {
            const ulong at = ((ulong)n * plane + p) * channels + c;
            const FLOATS distance = LOAD(x + at) - LOAD(table + c), base = LOAD(table + 2 * row + c);
            const FLOATS g = fma(LOAD(dy + at), LOAD(table + row + c), -base);
            STORE_CHANNELS(fma(-distance, LOAD(table + 3 * row + c), g), dx + at);
        }
}
#endif

#if WEIGHT
#define SCALE_OF(c) weight[c]
#else
#define SCALE_OF(c) 1.0f
#endif

/* Joins a group's parts by their means (Chan, Golub, LeVeque 1979): overwrites stat (2, images * groups): means, 1 / deviations (0 where
 * there is none), and table (2, images, stride), with weights. Items: (images * groups). */
__kernel void group_norm_join(CONST_TENSOR(float, parts), CONST_TENSOR(float, weight), TENSOR(float, stat), TENSOR(float, table),
                              float eps, SIZES)
{
    USE_CONST(float, parts);
    USE_CONST(float, weight);
    USE(float, stat);
    USE(float, table);
    const int g = get_global_id(0), size = channels / groups, n = g / groups, first_c = g % groups * size;
    if (g >= images * groups)
        return;
    const ulong squares_at = (ulong)images * part_count * stride, row = (ulong)images * stride;
    parts += (ulong)n * part_count * stride + first_c;
    table += (ulong)n * stride + first_c;
    const float first = parts[0], values = (float)size * (float)plane;
    float mean = 0.0f, squares = 0.0f;
    for (int i = 0; i < part_count; i++)
        for (int c = 0; c < size; c++)
            mean = fma((float)min(chunk, plane - i * chunk), parts[i * stride + c] - first, mean);
    mean = first + mean / values;
    for (int i = 0; i < part_count; i++)
        for (int c = 0; c < size; c++) {
            const float d = parts[i * stride + c] - mean;
            squares += fma((float)min(chunk, plane - i * chunk) * d, d, parts[squares_at + i * stride + c]);
        }
    const float spread = squares / values + eps, inverse = isgreater(spread, 0.0f) ? 1.0f / sqrt(spread) : 0.0f;
    stat[g] = mean;
    stat[images * groups + g] = inverse;
    for (int c = 0; c < size; c++) {
        table[c] = mean;
        table[row + c] = inverse * SCALE_OF(first_c + c);
    }
}

/* Overwrites table (2, images, stride): means, 1 / deviations. Items: (channels, images). */
__kernel void group_norm_table(CONST_TENSOR(float, stat), TENSOR(float, table), SIZES)
{
    USE_CONST(float, stat);
    USE(float, table);
    const int c = get_global_id(0), n = get_global_id(1);
    if (c >= channels || n >= images)
        return;
    const int g = n * groups + c / (channels / groups);
    table[(ulong)n * stride + c] = stat[g];
    table[((ulong)images + n) * stride + c] = stat[images * groups + g];
}

/* Overwrites table (4, images, stride), as group_norm_dx wants it. Items: (images * groups). */
__kernel void group_norm_dx_join(CONST_TENSOR(float, parts), CONST_TENSOR(float, stat), CONST_TENSOR(float, weight), TENSOR(float, table),
                                 SIZES)
{
    USE_CONST(float, parts);
    USE_CONST(float, stat);
    USE_CONST(float, weight);
    USE(float, table);
    const int g = get_global_id(0), size = channels / groups, n = g / groups, first_c = g % groups * size;
    if (g >= images * groups)
        return;
    const ulong products_at = (ulong)images * part_count * stride, row = (ulong)images * stride;
    parts += (ulong)n * part_count * stride + first_c;
    table += (ulong)n * stride + first_c;
    float sum = 0.0f, product = 0.0f;
    for (int i = 0; i < part_count; i++)
        for (int c = 0; c < size; c++) {
            sum = fma(SCALE_OF(first_c + c), parts[i * stride + c], sum);
            product = fma(SCALE_OF(first_c + c), parts[products_at + i * stride + c], product);
        }
    const float values = (float)size * (float)plane, inverse = stat[images * groups + g];
    for (int c = 0; c < size; c++) {
        table[c] = stat[g];
        table[row + c] = inverse * SCALE_OF(first_c + c);
        table[2 * row + c] = inverse * (sum / values);
        table[3 * row + c] = inverse * inverse * (product / values);
    }
}

/* Overwrites dweight and dbias (C) with the sums over images and their parts. Items: (C). */
__kernel void group_norm_dw_join(CONST_TENSOR(float, parts), TENSOR(float, dweight), TENSOR(float, dbias), SIZES)
{
    USE_CONST(float, parts);
    USE(float, dweight);
    USE(float, dbias);
    const int c = get_global_id(0), rows = images * part_count;
    if (c >= channels)
        return;
    float sum = 0.0f, product = 0.0f;
    for (int i = 0; i < rows; i++) {
        sum += parts[(ulong)i * stride + c];
        product += parts[((ulong)rows + i) * stride + c];
    }
    dweight[c] = product;
    dbias[c] = sum;
}
