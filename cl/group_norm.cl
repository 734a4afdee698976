/* Normalisation of each image by itself: its channels in `groups`, each by the mean and variance of its values.
 *
 * A group's values, in the order in which they lie, are split into parts; each gives its mean and the sum of squared distances from
 * it, made in one pass from the distances to the part's first value, so that a large mean costs no digits; parts are joined by
 * their means (Chan, Golub, LeVeque 1979) in a fixed order. Sums of gradients are made in parts likewise.
 * Sizes: channels, groups; plane: pixels of an image; part_count; part i has every by-th of the values from i * from on: either
 * by is 1 and `from` a part's length, or `from` is 1 and by the number of parts.
 * Defines: LAST 1: NHWC. WEIGHT: 0: none, 1: weight and bias (C), 2: weight and bias (C, plane), of each element of an image.
 * BIAS 1: there is a bias, too. */
#ifndef LAST
#define LAST 0
#endif
#ifndef WEIGHT
#define WEIGHT 0
#endif
#ifndef BIAS
#define BIAS 0
#endif
#define SIZES int channels, int plane, int groups, int part_count, int from, int by
#define PART_END(part, count) (by == 1 ? min(((part) + 1) * from, count) : (count))
#define GROUP_SIZE (channels / groups * plane)

/* Channel and pixel of value v of group g (of all images'); where it lies. */
#if LAST
#define CHANNEL(g, v) ((g) % groups * (channels / groups) + (v) % (channels / groups))
#define PIXEL(v) ((v) / (channels / groups))
#define AT(g, v) (((ulong)((g) / groups) * plane + PIXEL(v)) * channels + CHANNEL(g, v))
#else
#define CHANNEL(g, v) ((g) % groups * (channels / groups) + (v) / plane)
#define PIXEL(v) ((v) % plane)
#define AT(g, v) ((ulong)(g) * GROUP_SIZE + (v))
#endif
/* Of element i of an image. */
#define ELEMENT_CHANNEL(i) (LAST ? (i) % channels : (i) / plane)
#define ELEMENT_PIXEL(i) (LAST ? (i) / channels : (i) % plane)

#if WEIGHT == 2
#define OF_WEIGHT(c, p) ((c) * plane + (p))
#else
#define OF_WEIGHT(c, p) (c)
#endif

/* Overwrites parts (2, part_count, images * groups): means, sums of squared distances. Items: (part_count, images * groups). */
__kernel void group_norm_parts(CONST_TENSOR(float, x), TENSOR(float, parts), int all_groups, SIZES)
{
    USE_CONST(float, x);
    USE(float, parts);
    const int part = get_global_id(0), g = get_global_id(1);
    if (part >= part_count || g >= all_groups)
        return;
    const int begin = part * from, end = PART_END(part, GROUP_SIZE);
    const float first = begin < end ? x[AT(g, begin)] : 0.0f;
    float sum = 0.0f, squares = 0.0f, count = 0.0f;
    for (int v = begin; v < end; v += by) {
        const float d = x[AT(g, v)] - first;
        sum += d;
        squares = fma(d, d, squares);
        count += 1.0f;
    }
    count = fmax(count, 1.0f);
    parts[part * all_groups + g] = first + sum / count;
    parts[(part_count + part) * all_groups + g] = fmax(fma(-sum / count, sum, squares), 0.0f);
}

/* Joins the parts: overwrites stat (2, images * groups): means, 1 / deviations (0 where there is none). Items: (images * groups). */
__kernel void group_norm_join(CONST_TENSOR(float, parts), TENSOR(float, stat), float eps, int all_groups, SIZES)
{
    USE_CONST(float, parts);
    USE(float, stat);
    const int g = get_global_id(0);
    if (g >= all_groups)
        return;
    const float first = parts[g], size = (float)GROUP_SIZE;
    float mean = 0.0f, squares = 0.0f;
    for (int i = 0; i < part_count; i++) {
        const int count = (PART_END(i, GROUP_SIZE) - i * from + by - 1) / by;
        mean = fma((float)max(count, 0), parts[i * all_groups + g] - first, mean);
    }
    mean = first + mean / size;
    for (int i = 0; i < part_count; i++) {
        const int count = (PART_END(i, GROUP_SIZE) - i * from + by - 1) / by;
        const float d = parts[i * all_groups + g] - mean;
        if (count > 0)
            squares += fma((float)count * d, d, parts[(part_count + i) * all_groups + g]);
    }
    const float spread = squares / size + eps;
    stat[g] = mean;
    stat[all_groups + g] = isgreater(spread, 0.0f) ? 1.0f / sqrt(spread) : 0.0f;
}

/* Overwrites y. Items: (an image's elements, images). */
__kernel void group_norm(CONST_TENSOR(float, x), CONST_TENSOR(float, stat), CONST_TENSOR(float, weight),
                         CONST_TENSOR(float, bias), TENSOR(float, y), int all_groups, SIZES)
{
    USE_CONST(float, x);
    USE_CONST(float, stat);
    USE_CONST(float, weight);
    USE_CONST(float, bias);
    USE(float, y);
    const int i = get_global_id(0), n = get_global_id(1), size = channels * plane;
    if (i >= size || n * groups >= all_groups)
        return;
    const int c = ELEMENT_CHANNEL(i), k = OF_WEIGHT(c, ELEMENT_PIXEL(i));
    const int g = n * groups + c / (channels / groups);
    const ulong at = (ulong)n * size + i;
    float scale = stat[all_groups + g];
#if WEIGHT
    scale *= weight[k];
#endif
#if BIAS
    y[at] = fma(x[at] - stat[g], scale, bias[k]);
#else
    y[at] = (x[at] - stat[g]) * scale;
#endif
}

/* ---- backward ----
 * With g = dy * weight, the gradient by what the normalised values xhat became, and n values in the group:
 *     dx = (g - sum g / n - xhat * sum(g * xhat) / n) / deviation; dweight = sum dy * xhat; dbias = sum dy */
#if WEIGHT
#define SCALED(at, c, p) (dy[at] * weight[OF_WEIGHT(c, p)])
#else
#define SCALED(at, c, p) dy[at]
#endif

/* Overwrites parts (2, part_count, images * groups): sums of g, of g * xhat. Items: (part_count, images * groups). */
__kernel void group_norm_dx_parts(CONST_TENSOR(float, dy), CONST_TENSOR(float, x), CONST_TENSOR(float, stat),
                                  CONST_TENSOR(float, weight), TENSOR(float, parts), int all_groups, SIZES)
{
    USE_CONST(float, dy);
    USE_CONST(float, x);
    USE_CONST(float, stat);
    USE_CONST(float, weight);
    USE(float, parts);
    const int part = get_global_id(0), g = get_global_id(1);
    if (part >= part_count || g >= all_groups)
        return;
    const int end = PART_END(part, GROUP_SIZE);
    const float mean = stat[g];
    float sum = 0.0f, product = 0.0f;
    for (int v = part * from; v < end; v += by) {
        const ulong at = AT(g, v);
        const float slope = SCALED(at, CHANNEL(g, v), PIXEL(v));
        sum += slope;
        product = fma(slope, x[at] - mean, product);
    }
    parts[part * all_groups + g] = sum;
    parts[(part_count + part) * all_groups + g] = product * stat[all_groups + g];
}

/* Overwrites sums (2, images * groups), as means of the group. Items: (images * groups). */
__kernel void group_norm_dx_join(CONST_TENSOR(float, parts), TENSOR(float, sums), int all_groups, SIZES)
{
    USE_CONST(float, parts);
    USE(float, sums);
    const int g = get_global_id(0);
    if (g >= all_groups)
        return;
    float sum = 0.0f, product = 0.0f;
    for (int i = 0; i < part_count; i++) {
        sum += parts[i * all_groups + g];
        product += parts[(part_count + i) * all_groups + g];
    }
    sums[g] = sum / (float)GROUP_SIZE;
    sums[all_groups + g] = product / (float)GROUP_SIZE;
}

/* Overwrites dx. Items: (an image's elements, images). */
__kernel void group_norm_dx(CONST_TENSOR(float, dy), CONST_TENSOR(float, x), CONST_TENSOR(float, stat),
                            CONST_TENSOR(float, weight), CONST_TENSOR(float, sums), TENSOR(float, dx), int all_groups, SIZES)
{
    USE_CONST(float, dy);
    USE_CONST(float, x);
    USE_CONST(float, stat);
    USE_CONST(float, weight);
    USE_CONST(float, sums);
    USE(float, dx);
    const int i = get_global_id(0), n = get_global_id(1), size = channels * plane;
    if (i >= size || n * groups >= all_groups)
        return;
    const int c = ELEMENT_CHANNEL(i), g = n * groups + c / (channels / groups);
    const ulong at = (ulong)n * size + i;
    const float inverse = stat[all_groups + g], xhat = (x[at] - stat[g]) * inverse;
    dx[at] = inverse * (SCALED(at, c, ELEMENT_PIXEL(i)) - sums[g] - xhat * sums[all_groups + g]);
}

/* Overwrites parts (part_count, weights + biases): sums of dy * xhat and, with BIAS, of dy; over images, with WEIGHT 1 over images
 * and pixels. Items: (weights, part_count); with WEIGHT 1 in NCHW the other way, so that neighbours read neighbours. */
#define PARTS_FIRST (WEIGHT == 1 && !LAST)
__kernel void group_norm_dw_parts(CONST_TENSOR(float, dy), CONST_TENSOR(float, x), CONST_TENSOR(float, stat),
                                  TENSOR(float, parts), int all_groups, SIZES)
{
    USE_CONST(float, dy);
    USE_CONST(float, x);
    USE_CONST(float, stat);
    USE(float, parts);
    const int i = get_global_id(PARTS_FIRST), part = get_global_id(1 - PARTS_FIRST);
    const int weights = WEIGHT == 2 ? channels * plane : channels, terms = WEIGHT == 2 ? 1 : plane;
    if (i >= weights || part >= part_count)
        return;
    const int c = WEIGHT == 2 ? ELEMENT_CHANNEL(i) : i, end = PART_END(part, all_groups / groups * terms);
    float sum = 0.0f, product = 0.0f;
    for (int term = part * from; term < end; term += by) {
        const int n = term / terms, p = WEIGHT == 2 ? ELEMENT_PIXEL(i) : term % terms;
        const int g = n * groups + c / (channels / groups);
        const ulong at = LAST ? ((ulong)n * plane + p) * channels + c : ((ulong)n * channels + c) * plane + p;
        const float slope = dy[at];
        sum += slope;
        product = fma(slope * stat[all_groups + g], x[at] - stat[g], product);
    }
    const int k = OF_WEIGHT(c, ELEMENT_PIXEL(i));
    parts += (ulong)part * weights * (1 + BIAS);
    parts[k] = product;
    if (BIAS)
        parts[weights + k] = sum;
}
