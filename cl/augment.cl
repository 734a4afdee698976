/* The images of a batch out of the data set on the device, changed as their recipes say (src/op/augment.h), in the order of the
 * recipe's fields. src/data/augment.c does the same on the host: the same bytes but for resizing and hues, where the device's
 * floats may round a value otherwise. A pixel is asked for from the end: where it comes from before it was turned, moved,
 * resized. Images that the batch does not have are left alone.
 *
 * Defines: C, H, W; RESIZE, REFLECT, TURN, COLOUR: 0 or 1. */
/* 32-bit words of a recipe. */
#define RECIPE_IMAGE 0
#define RECIPE_BOX 1
#define RECIPE_MOVE 5
#define RECIPE_MIRROR 7
#define RECIPE_TURN 8
#define RECIPE_COLOUR 10
#define RECIPE_FACTOR 14
#define RECIPE_ERASE 18
#define RECIPE_FILL 22
#define RECIPE_WORDS 23

#define BRIGHTNESS 0
#define CONTRAST 1
#define SATURATION 2
#define HUE 3
#define COLOURS 4

#ifdef C
#define PLANE (H * W)
/* The recipe of image n; 0: the batch has no such image. */
__global const int *recipe_of(__global const uchar *stage, int slot_bytes, int images_at, __global const uint *step, int n);
__global const int *recipe_of(__global const uchar *stage, int slot_bytes, int images_at, __global const uint *step, int n)
{
    __global const uchar *slot = stage + (ulong)step[STEP_SLOT] * slot_bytes;
    if (n >= (int)((__global const uint *)slot)[HEADER_COUNT])
        return 0;
    return (__global const int *)(slot + images_at) + n * RECIPE_WORDS;
}

/* Where position `at` of a line of `size` lies that is continued on both sides; -1: outside. */
int source(int at, int size);
int source(int at, int size)
{
    if (at >= 0 && at < size)
        return at;
#if REFLECT
    return at < 0 ? -at : 2 * (size - 1) - at;
#else
    return -1;
#endif
}

/* Pixel (*y, *x) of the image as it was before it was turned and moved; false: outside. */
bool trace(__global const int *recipe, int *y, int *x);
bool trace(__global const int *recipe, int *y, int *x)
{
#if TURN
    const long u = 2 * *x - (W - 1), v = 2 * *y - (H - 1); /* halves of pixels from the middle */
    const long cosine = recipe[RECIPE_TURN], sine = recipe[RECIPE_TURN + 1];
    *x = (int)((cosine * u - sine * v + ((long)W << 16)) >> 17);
    *y = (int)((sine * u + cosine * v + ((long)H << 16)) >> 17);
    if (*x < 0 || *x >= W || *y < 0 || *y >= H)
        return false;
#endif
    if (recipe[RECIPE_MIRROR])
        *x = W - 1 - *x;
    *y = source(*y + recipe[RECIPE_MOVE], H);
    *x = source(*x + recipe[RECIPE_MOVE + 1], W);
    return *y >= 0 && *x >= 0;
}

#if RESIZE
#define FRACTION 22 /* bits of a weight */
#define TAPS 3      /* a box is never larger than the image that it becomes */

/* Value i of `out` is the sum of the weights times the values from *first on of `in`. */
void weigh(int in, int out, int i, int *first, int *weights);
void weigh(int in, int out, int i, int *first, int *weights)
{
    const float centre = (i + 0.5f) * ((float)in / out);
    float weight[TAPS], sum = 0.0f;
    *first = max(0, (int)(centre - 0.5f));
    const int end = min(in, (int)(centre + 1.5f));
    for (int k = 0; k < TAPS; k++) {
        weight[k] = *first + k < end ? fmax(0.0f, 1.0f - fabs(k + *first - centre + 0.5f)) : 0.0f;
        sum += weight[k];
    }
    for (int k = 0; k < TAPS; k++)
        weights[k] = (int)(0.5f + weight[k] / sum * (1 << FRACTION));
}

/* Along rows first, each result rounded to a byte, then along columns. */
int resized(__global const uchar *plane, __global const int *recipe, int y, int x);
int resized(__global const uchar *plane, __global const int *recipe, int y, int x)
{
    const int height = recipe[RECIPE_BOX + 2], width = recipe[RECIPE_BOX + 3];
    int row, column, down[TAPS], along[TAPS], value = 1 << (FRACTION - 1);
    weigh(height, H, y, &row, down);
    weigh(width, W, x, &column, along);
    plane += recipe[RECIPE_BOX] * W + recipe[RECIPE_BOX + 1];
    for (int i = 0; i < TAPS; i++) {
        if (down[i] == 0)
            continue;
        __global const uchar *line = plane + (row + i) * W + column;
        int sum = 1 << (FRACTION - 1);
        for (int k = 0; k < TAPS; k++)
            if (along[k] != 0)
                sum += line[k] * along[k];
        value += clamp(sum >> FRACTION, 0, 255) * down[i];
    }
    return clamp(value >> FRACTION, 0, 255);
}
#endif

/* What pixel (y, x) is before its colours change. */
void take(__global const uchar *data, __global const int *recipe, int y, int x, int *value);
void take(__global const uchar *data, __global const int *recipe, int y, int x, int *value)
{
    const bool inside = trace(recipe, &y, &x);
    __global const uchar *image = data + (ulong)(uint)recipe[RECIPE_IMAGE] * (C * PLANE);
    for (int c = 0; c < C; c++)
#if RESIZE
        value[c] = inside ? resized(image + c * PLANE, recipe, y, x) : 0;
#else
        value[c] = inside ? image[c * PLANE + y * W + x] : 0;
#endif
}

/* Luma by ITU-R 601. */
int grey(const int *value);
int grey(const int *value)
{
#if C == 3
    return (value[0] * 19595 + value[1] * 38470 + value[2] * 7471 + 0x8000) >> 16;
#else
    return value[0];
#endif
}

int blend(int with, int value, float factor);
int blend(int with, int value, float factor)
{
    return clamp((int)fma((float)(value - with), factor, (float)with), 0, 255);
}

/* The hue of HSV, turned by `turn` of a circle. */
void turn_hue(float turn, int *value);
void turn_hue(float turn, int *value)
{
#if C == 3
    const int high = max(value[0], max(value[1], value[2])), low = min(value[0], min(value[1], value[2]));
    const float r = value[0], g = value[1], b = value[2], chroma = high - low;
    float hue;
    if (high == low)
        return;
    if (high == value[0])
        hue = (g - b) / chroma;
    else if (high == value[1])
        hue = 2.0f + (b - r) / chroma;
    else
        hue = 4.0f + (r - g) / chroma;
    hue += 6.0f * turn;
    hue -= 6.0f * floor(hue / 6.0f);
    for (int c = 0; c < 3; c++) {
        const float k = fmod(5 - 2 * c + hue, 6.0f), fall = clamp(fmin(k, 4.0f - k), 0.0f, 1.0f);
        value[c] = clamp((int)(high - chroma * fall + 0.5f), 0, 255);
    }
#endif
}

/* Changes the colours in the recipe's order; without `mean` only as far as the contrast, which needs it. */
void colour(__global const int *recipe, __global const int *mean, int *value);
void colour(__global const int *recipe, __global const int *mean, int *value)
{
    for (int i = 0; i < COLOURS; i++) {
        const int kind = recipe[RECIPE_COLOUR + i];
        const float factor = as_float(recipe[RECIPE_FACTOR + i]);
        if (kind == CONTRAST && !mean)
            return;
        if (kind == HUE) {
            turn_hue(factor, value);
        } else if (kind >= 0) {
            const int with = kind == CONTRAST ? *mean : kind == SATURATION ? grey(value) : 0;
            for (int c = 0; c < C; c++)
                value[c] = blend(with, value[c], factor);
        }
    }
}

/* Overwrites rows (N, H): the sum of a row's greys as contrast finds them. Items: (H, 1, N). */
__kernel void augment_rows(CONST_TENSOR(uchar, stage), int slot_bytes, int images_at, CONST_TENSOR(uint, step),
                           CONST_TENSOR(uchar, data), TENSOR(int, rows))
{
    USE_CONST(uchar, stage);
    USE_CONST(uint, step);
    USE_CONST(uchar, data);
    USE(int, rows);
    const int y = get_global_id(0), n = get_global_id(2);
    __global const int *recipe = recipe_of(stage, slot_bytes, images_at, step, n);
    int sum = 0, value[C];
    if (y >= H)
        return;
    for (int x = 0; recipe && x < W; x++) {
        take(data, recipe, y, x, value);
        colour(recipe, 0, value);
        sum += grey(value);
    }
    rows[n * H + y] = sum;
}

/* Overwrites images (N, C, H, W) of those that the batch has. means (N): for recipes with contrast. Items: (H * W, 1, N). */
__kernel void augment(CONST_TENSOR(uchar, stage), int slot_bytes, int images_at, CONST_TENSOR(uint, step),
                      CONST_TENSOR(uchar, data), CONST_TENSOR(int, means), TENSOR(uchar, images))
{
    USE_CONST(uchar, stage);
    USE_CONST(uint, step);
    USE_CONST(uchar, data);
    USE_CONST(int, means);
    USE(uchar, images);
    const int p = get_global_id(0), y = p / W, x = p % W, n = get_global_id(2);
    __global const int *recipe = recipe_of(stage, slot_bytes, images_at, step, n);
    int value[C];
    if (p >= PLANE || !recipe)
        return;
    const int top = recipe[RECIPE_ERASE], left = recipe[RECIPE_ERASE + 1];
    if (y >= top && y < top + recipe[RECIPE_ERASE + 2] && x >= left && x < left + recipe[RECIPE_ERASE + 3]) {
        for (int c = 0; c < C; c++)
            value[c] = ((uint)recipe[RECIPE_FILL] >> (8 * c)) & 255;
    } else {
        take(data, recipe, y, x, value);
#if COLOUR
        colour(recipe, means + n, value);
#endif
    }
    for (int c = 0; c < C; c++)
        images[((ulong)n * C + c) * PLANE + p] = value[c];
}
#endif

/* means (N) from rows (N, height): rounded to a whole number. Items: (N). */
__kernel void augment_means(CONST_TENSOR(int, rows), TENSOR(int, means), int batch, int height, int plane)
{
    USE_CONST(int, rows);
    USE(int, means);
    const int n = get_global_id(0);
    ulong sum = 0;
    if (n >= batch)
        return;
    for (int y = 0; y < height; y++)
        sum += (uint)rows[n * height + y];
    means[n] = (int)((2 * sum + plane) / (2 * (ulong)plane));
}
