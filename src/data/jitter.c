#include "jitter.h"

#include <math.h>

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

/* A value away from, or towards, what it is blended with; in float and with one rounding, as devices do it.
 */
static unsigned char blend(int with, int value, float factor)
{
    return clip((double)fmaf((float)(value - with), factor, (float)with));
}

static void contrast(float factor, int channels, size_t plane, unsigned char *image)
{
    size_t sum = 0;

    for (size_t p = 0; p < plane; p++)
        sum += (size_t)grey(channels, plane, image, p);
    int mean = (int)((2 * sum + plane) / (2 * plane));
    for (size_t i = 0; i < plane * (size_t)channels; i++)
        image[i] = blend(mean, image[i], factor);
}

static void saturate(float factor, size_t plane, unsigned char *image)
{
    for (size_t p = 0; p < plane; p++) {
        int luma = grey(3, plane, image, p);
        for (size_t c = 0; c < 3; c++)
            image[c * plane + p] = blend(luma, image[c * plane + p], factor);
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

void claret_jitter_draw(const double strength[4], struct claret_rng *rng, int channels,
                        struct claret_recipe *recipe)
{
    uint32_t order[CLARET_COLOURS];

    for (int i = 0; i < CLARET_COLOURS; i++)
        recipe->colour[i] = -1;
    if (!(strength[CLARET_BRIGHTNESS] > 0 || strength[CLARET_CONTRAST] > 0 ||
          strength[CLARET_SATURATION] > 0 || strength[CLARET_HUE] > 0))
        return;
    claret_rng_permutation(rng, order, CLARET_COLOURS);
    for (int i = 0; i < CLARET_COLOURS; i++) {
        double most = strength[order[i]];
        if (!(most > 0))
            continue;
        double draw = 2 * (double)claret_rng_float(rng) - 1;
        recipe->factor[i] = (float)(order[i] == CLARET_HUE ? most * draw : fmax(0, 1 + most * draw));
        if (channels == 3 || order[i] == CLARET_BRIGHTNESS || order[i] == CLARET_CONTRAST)
            recipe->colour[i] = (int32_t)order[i];
    }
}

void claret_jitter(const struct claret_recipe *recipe, int channels, size_t plane, unsigned char *image)
{
    for (int i = 0; i < CLARET_COLOURS; i++) {
        float factor = recipe->factor[i];
        if (recipe->colour[i] == CLARET_BRIGHTNESS)
            for (size_t k = 0; k < plane * (size_t)channels; k++)
                image[k] = blend(0, image[k], factor);
        else if (recipe->colour[i] == CLARET_CONTRAST)
            contrast(factor, channels, plane, image);
        else if (recipe->colour[i] == CLARET_SATURATION)
            saturate(factor, plane, image);
        else if (recipe->colour[i] == CLARET_HUE)
            turn_hue((double)factor, plane, image);
    }
}
