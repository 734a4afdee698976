#include "jitter.h"

#include <math.h>

enum { BRIGHTNESS, CONTRAST, SATURATION, HUE, KINDS };

static unsigned char clip(double value)
{
    return (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* Luma as Pillow's convert('L') rounds it. */
static int grey(int channels, size_t plane, const unsigned char *image, size_t p)
{
    if (channels == 1)
        return image[p];
    return (image[p] * 19595 + image[plane + p] * 38470 + image[2 * plane + p] * 7471 + 0x8000) >> 16;
}

/* Each value away from, or towards, what it is blended with. */
static double blend(double with, double value, double factor)
{
    return with + (value - with) * factor;
}

static void contrast(double factor, int channels, size_t plane, unsigned char *image)
{
    double sum = 0;

    for (size_t p = 0; p < plane; p++)
        sum += grey(channels, plane, image, p);
    double mean = floor(sum / (double)plane + 0.5);
    for (size_t i = 0; i < plane * (size_t)channels; i++)
        image[i] = clip(blend(mean, image[i], factor));
}

static void saturate(double factor, size_t plane, unsigned char *image)
{
    for (size_t p = 0; p < plane; p++) {
        int luma = grey(3, plane, image, p);
        for (int c = 0; c < 3; c++)
            image[(size_t)c * plane + p] = clip(blend(luma, image[(size_t)c * plane + p], factor));
    }
}

/* The hue of HSV, turned by `turn` of a circle. */
static void turn_hue(double turn, size_t plane, unsigned char *image)
{
    for (size_t p = 0; p < plane; p++) {
        double r = image[p], g = image[plane + p], b = image[2 * plane + p];
        double high = fmax(r, fmax(g, b)), low = fmin(r, fmin(g, b)), chroma = high - low, hue;
        if (!(chroma > 0))
            continue;
        if (high == r)
            hue = (g - b) / chroma;
        else if (high == g)
            hue = 2 + (b - r) / chroma;
        else
            hue = 4 + (r - g) / chroma;
        hue += 6 * turn;
        hue -= 6 * floor(hue / 6);
        for (int c = 0; c < 3; c++) {
            /* How far the channel is below the highest: a trapezium over the circle. */
            double k = fmod(5 - 2 * c + hue, 6), fall = fmax(0, fmin(1, fmin(k, 4 - k)));
            image[(size_t)c * plane + p] = clip(high - chroma * fall + 0.5);
        }
    }
}

void claret_jitter(const double strength[4], struct claret_rng *rng, int channels, size_t plane,
                   unsigned char *image)
{
    uint32_t order[KINDS];

    if (!(strength[BRIGHTNESS] > 0 || strength[CONTRAST] > 0 || strength[SATURATION] > 0 ||
          strength[HUE] > 0))
        return;
    claret_rng_permutation(rng, order, KINDS);
    for (int i = 0; i < KINDS; i++) {
        double most = strength[order[i]];
        if (!(most > 0))
            continue;
        double draw = 2 * (double)claret_rng_float(rng) - 1, factor = fmax(0, 1 + most * draw);
        if (order[i] == BRIGHTNESS)
            for (size_t k = 0; k < plane * (size_t)channels; k++)
                image[k] = clip(image[k] * factor);
        else if (order[i] == CONTRAST)
            contrast(factor, channels, plane, image);
        else if (order[i] == SATURATION && channels == 3)
            saturate(factor, plane, image);
        else if (order[i] == HUE && channels == 3)
            turn_hue(most * draw, plane, image);
    }
}
