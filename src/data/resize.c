/* Resizing as Pillow's Image.resize(size, BILINEAR) does it, to the bit: a triangle filter as wide as the
 * image is made smaller, its weights rounded to 22 bits of fraction, first along rows, then along columns,
 * each result rounded to a byte. Pillow's documentation has the method, its src/libImaging/Resample.c the
 * rounding. (Since version 13 it goes along columns first where that is less work, and a value may differ by
 * one.) */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"

#define FRACTION 22 /* bits */

/* What makes one line of `out` values from one of `in`: value i is the sum of weights[i * most + k] times
 * value first[i] + k, for k below count[i]. */
struct filter {
    int most;
    int *first, *count;
    int32_t *weights;
};

static void filter_finish(struct filter *filter)
{
    free(filter->first);
    free(filter->count);
    free(filter->weights);
}

/* Filter value i's weights. */
static void weigh(struct filter *filter, int in, int i, double scale, double support, double *weights)
{
    double centre = (i + 0.5) * scale, step = 1.0 / (support), sum = 0;
    int first = (int)(centre - support + 0.5), end = (int)(centre + support + 0.5);

    first = first < 0 ? 0 : first;
    end = end > in ? in : end;
    for (int k = 0; k < end - first; k++) {
        double distance = fabs((k + first - centre + 0.5) * step);
        weights[k] = distance < 1.0 ? 1.0 - distance : 0.0;
        sum += weights[k];
    }
    for (int k = 0; k < end - first; k++) {
        double weight = sum != 0.0 ? weights[k] / sum : weights[k];
        filter->weights[(size_t)i * (size_t)filter->most + (size_t)k] =
            (int32_t)(0.5 + weight * (1 << FRACTION));
    }
    filter->first[i] = first;
    filter->count[i] = end - first;
}

static enum claret_status filter_make(int in, int out, struct filter *filter)
{
    double scale = (double)in / out, support = scale < 1.0 ? 1.0 : scale;
    double *weights;

    *filter = (struct filter){.most = (int)ceil(support) * 2 + 1};
    filter->first = malloc((size_t)out * sizeof(int));
    filter->count = malloc((size_t)out * sizeof(int));
    filter->weights = malloc((size_t)out * (size_t)filter->most * sizeof(int32_t));
    weights = malloc((size_t)filter->most * sizeof(double));
    if (!filter->first || !filter->count || !filter->weights || !weights) {
        free(weights);
        filter_finish(filter);
        return claret_no_memory();
    }
    for (int i = 0; i < out; i++)
        weigh(filter, in, i, scale, support, weights);
    free(weights);
    return CLARET_OK;
}

/* One value: `count` bytes that lie `stride` apart. */
static unsigned char weighted(const unsigned char *from, size_t stride, const int32_t *weights, int count)
{
    int32_t sum = 1 << (FRACTION - 1);

    for (int k = 0; k < count; k++)
        sum += from[(size_t)k * stride] * weights[k];
    sum >>= FRACTION;
    return (unsigned char)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/* from (rows, in) to (rows, out), or where `down` from (in, columns) to (out, columns). */
static enum claret_status resize_rows(const unsigned char *from, int rows, int in, int out, unsigned char *to)
{
    struct filter filter;

    CLARET_TRY(filter_make(in, out, &filter));
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < out; x++)
            to[(size_t)y * (size_t)out + (size_t)x] =
                weighted(from + (size_t)y * (size_t)in + (size_t)filter.first[x], 1,
                         filter.weights + (size_t)x * (size_t)filter.most, filter.count[x]);
    filter_finish(&filter);
    return CLARET_OK;
}

static enum claret_status resize_columns(const unsigned char *from, int columns, int in, int out,
                                         unsigned char *to)
{
    const size_t width = (size_t)columns;
    struct filter filter;

    CLARET_TRY(filter_make(in, out, &filter));
    for (int y = 0; y < out; y++)
        for (size_t x = 0; x < width; x++)
            to[(size_t)y * width + x] =
                weighted(from + (size_t)filter.first[y] * width + x, width,
                         filter.weights + (size_t)y * (size_t)filter.most, filter.count[y]);
    filter_finish(&filter);
    return CLARET_OK;
}

/* One plane (from_height, from_width) to (height, width); an axis whose size stays is left alone. `between`
 * (from_height, width) is scratch. */
static enum claret_status resize_plane(const unsigned char *from, int from_height, int from_width, int height,
                                       int width, unsigned char *between, unsigned char *to)
{
    if (from_width == width && from_height == height) {
        memcpy(to, from, (size_t)height * (size_t)width);
        return CLARET_OK;
    }
    if (from_height == height)
        return resize_rows(from, from_height, from_width, width, to);
    if (from_width != width) {
        CLARET_TRY(resize_rows(from, from_height, from_width, width, between));
        from = between;
    }
    return resize_columns(from, width, from_height, height, to);
}

/* Plane `c` of the box, converted: plane (box->height, box->width). */
static void take_plane(const struct claret_image *image, const struct claret_box *box, int channels, int c,
                       unsigned char *plane)
{
    for (int y = 0; y < box->height; y++) {
        const unsigned char *row =
            image->pixels +
            ((size_t)(box->y + y) * (size_t)image->width + (size_t)box->x) * (size_t)image->channels;
        for (int x = 0; x < box->width; x++, row += image->channels, plane++) {
            if (image->channels == 1)
                *plane = *row;
            else if (channels == 3)
                *plane = row[c];
            else /* ITU-R 601's luma, as Pillow rounds it */
                *plane = (unsigned char)((row[0] * 19595 + row[1] * 38470 + row[2] * 7471 + 0x8000) >> 16);
        }
    }
}

enum claret_status claret_image_fit(const struct claret_image *image, const struct claret_box *box,
                                    int channels, int height, int width, unsigned char *planes)
{
    const struct claret_box whole = {0, 0, image->width, image->height};
    const size_t size = (size_t)height * (size_t)width;
    enum claret_status status = CLARET_OK;
    int different = image->channels == 1 ? 1 : channels; /* planes that are not copies */

    box = box ? box : &whole;
    unsigned char *plane = malloc((size_t)box->height * (size_t)box->width);
    unsigned char *between = malloc((size_t)box->height * (size_t)width);
    if (!plane || !between)
        status = claret_no_memory();
    for (int c = 0; c < channels && status == CLARET_OK; c++) {
        if (c >= different) {
            memcpy(planes + (size_t)c * size, planes, size);
            continue;
        }
        take_plane(image, box, channels, c, plane);
        status =
            resize_plane(plane, box->height, box->width, height, width, between, planes + (size_t)c * size);
    }
    free(plane);
    free(between);
    return status;
}
