/* The built-in set: drawn shapes, for a first training with nothing to fetch and for tests.
 *
 * Everything is integer arithmetic on numbers of Philox (base/rng.h), so every machine draws the same bytes.
 * An image takes its numbers from a stream of its own: training and test images have nothing in common, and
 * none depends on how many others are drawn. A linear model gets about 37% of the test images right, for
 * colour, contrast's sign, place, size and angle vary; models/simplecnn.net gets 91% after two epochs and 95%
 * after five (batch 4). */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "source.h"

#define SHAPES_SEED 0x73686170 /* the set's own: no option changes it */
#define SIDE 32
#define CLASSES 10
#define FIRST_TEST_IMAGE 0x40000000 /* stream index of the first test image; training images count from 0 */
#define LABELS_INDEX 0x7FFFFFFE     /* and of the splits' label orders */

#define UNIT 64    /* of places and lengths: 1/64 of a pixel */
#define RADIUS 256 /* a shape's circumscribed circle, in its own coordinates */
#define TURN 64    /* angle steps in a full turn */

static const char *const names[CLASSES] = {"disc",  "ring", "square",   "frame",   "triangle",
                                           "cross", "star", "crescent", "stripes", "bar"};

/* 4096 * sin(2 pi i / TURN) over a quarter. */
static const int quarter_sine[TURN / 4 + 1] = {0,    401,  799,  1189, 1567, 1931, 2276, 2598, 2896,
                                               3166, 3406, 3612, 3784, 3920, 4017, 4076, 4096};

static int sine(int angle)
{
    int part;

    angle &= TURN - 1;
    part = angle % (TURN / 2);
    part = quarter_sine[part > TURN / 4 ? TURN / 2 - part : part];
    return angle < TURN / 2 ? part : -part;
}

/* The pentagram is where at most one of its five lines is crossed; normals times 256, distance cos(72
 * degrees). */
static bool in_star(int u, int v)
{
    static const int normal[5][2] = {{0, 256}, {243, 79}, {150, -207}, {-150, -207}, {-243, 79}};
    int crossed = 0;

    for (int i = 0; i < 5; i++)
        crossed += normal[i][0] * u + normal[i][1] * v > 79 * 256;
    return crossed <= 1;
}

/* Whether the point is inside the shape; RADIUS is its size. */
static bool inside(int shape, int u, int v)
{
    int a = abs(u), b = abs(v), square = u * u + v * v;

    switch (shape) {
    case 0: /* disc */
        return square <= 235 * 235;
    case 1: /* ring */
        return square <= 245 * 245 && square >= 150 * 150;
    case 2: /* square */
        return a <= 200 && b <= 200;
    case 3: /* frame */
        return a <= 210 && b <= 210 && (a >= 125 || b >= 125);
    case 4: /* triangle */
        return v <= 128 && 222 * a - 128 * v <= 128 * 256;
    case 5: /* cross */
        return (a <= 75 && b <= 240) || (b <= 75 && a <= 240);
    case 6: /* star */
        return in_star(u, v);
    case 7: /* crescent */
        return square <= 250 * 250 && (u - 120) * (u - 120) + v * v >= 200 * 200;
    case 8: /* stripes: three in a square */
        return a <= 225 && b <= 225 && (b <= 45 || b >= 135);
    default: /* bar */
        return a <= 250 && b <= 80;
    }
}

struct drawing {
    int shape;
    int x, y, radius;                /* UNIT */
    int cosine, sine;                /* times 4096 */
    int ground[3], slope[3], ink[3]; /* colours 0 .. 255; the ground's change across the image */
    int down;                        /* the ground changes from top to bottom, else from left to right */
    int noise;                       /* most that is added to or taken from a value */
};

static int between(struct claret_rng *rng, int low, int high)
{
    return low + (int)claret_rng_below(rng, (uint32_t)(high - low + 1));
}

static int brightness(const int colour[3])
{
    return colour[0] + colour[1] + colour[2];
}

/* Ink and ground apart enough to be seen through the noise; the ink is the lighter one in seven of ten. */
static void choose_colours(struct claret_rng *rng, struct drawing *drawing)
{
    bool light = between(rng, 0, 9) < 4;
    int contrast;

    do {
        contrast = 0;
        for (int c = 0; c < 3; c++) {
            drawing->ground[c] = between(rng, 0, 255);
            drawing->ink[c] = between(rng, 0, 255);
            contrast += abs(drawing->ink[c] - drawing->ground[c]);
        }
    } while (contrast < 200);
    if (light && brightness(drawing->ink) < brightness(drawing->ground)) {
        for (int c = 0; c < 3; c++) {
            int ink = drawing->ink[c];
            drawing->ink[c] = drawing->ground[c];
            drawing->ground[c] = ink;
        }
    }
    for (int c = 0; c < 3; c++)
        drawing->slope[c] = between(rng, -40, 40);
}

/* The ranges are what makes the set as hard as it is: see the top of this file. */
static void choose(struct claret_rng *rng, struct drawing *drawing)
{
    int angle = between(rng, -4, 4);

    drawing->cosine = sine(angle + TURN / 4);
    drawing->sine = sine(angle);
    drawing->radius = between(rng, 35 * UNIT / 4, 12 * UNIT);
    drawing->x = SIDE * UNIT / 2 + between(rng, -11 * UNIT / 4, 11 * UNIT / 4);
    drawing->y = SIDE * UNIT / 2 + between(rng, -11 * UNIT / 4, 11 * UNIT / 4);
    drawing->down = between(rng, 0, 1);
    drawing->noise = between(rng, 8, 48);
    choose_colours(rng, drawing);
}

/* How many of a pixel's four points are inside. */
static int coverage(const struct drawing *drawing, int x, int y)
{
    int covered = 0;

    for (int point = 0; point < 4; point++) {
        int dx = x * UNIT + UNIT / 4 + (point & 1) * UNIT / 2 - drawing->x;
        int dy = y * UNIT + UNIT / 4 + (point >> 1) * UNIT / 2 - drawing->y;
        int u = (dx * drawing->cosine + dy * drawing->sine) / 4096 * RADIUS / drawing->radius;
        int v = (dy * drawing->cosine - dx * drawing->sine) / 4096 * RADIUS / drawing->radius;
        covered += inside(drawing->shape, u, v);
    }
    return covered;
}

static void draw(uint32_t index, int shape, unsigned char *image /* (3, SIDE, SIDE) */)
{
    struct claret_rng rng;
    struct drawing drawing = {.shape = shape};

    claret_rng_init(&rng, SHAPES_SEED, CLARET_STREAM_SHAPES, index);
    choose(&rng, &drawing);
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            int covered = coverage(&drawing, x, y);
            int along = 2 * (drawing.down ? y : x) - SIDE + 1; /* -31 .. 31 */
            uint32_t random = claret_rng_u32(&rng);
            for (int c = 0; c < 3; c++) {
                int ground = drawing.ground[c] + drawing.slope[c] * along / SIDE;
                int value = (ground * (4 - covered) + drawing.ink[c] * covered) / 4;
                /* ten random bits a channel, as -512 .. 511 */
                value += ((int)(random >> (10 * c) & 1023) - 512) * drawing.noise / 512;
                image[(c * SIDE + y) * SIDE + x] = (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
            }
        }
    }
}

enum claret_status claret_shapes_create(enum claret_split split, struct claret_dataset **dataset)
{
    uint32_t count = split == CLARET_TRAIN ? 10000 : 2000;
    uint32_t first = split == CLARET_TRAIN ? 0 : FIRST_TEST_IMAGE;
    struct claret_dataset *made = NULL;
    struct claret_rng rng;
    enum claret_status status;
    uint32_t *order = malloc(count * sizeof(*order));

    if (!order)
        return claret_no_memory();
    CLARET_GOTO(done, claret_dataset_allocate(CLARET_U8, 3, SIDE, SIDE, CLASSES, count, &made));
    CLARET_GOTO(done, claret_dataset_name_classes(made, names));
    /* Every class equally often, in mixed order. */
    claret_rng_init(&rng, SHAPES_SEED, CLARET_STREAM_SHAPES, LABELS_INDEX + (split == CLARET_TEST));
    claret_rng_permutation(&rng, order, count);
    for (uint32_t i = 0; i < count; i++) {
        made->labels[i] = (int32_t)(order[i] % CLASSES);
        draw(first + i, made->labels[i], made->images + i * made->image_bytes);
    }
    *dataset = made;
    made = NULL;
done:
    claret_dataset_destroy(made);
    free(order);
    return status;
}
