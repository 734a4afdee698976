/* How an image is augmented: what the loader draws, and host (data/augment.c) and device (cl/augment.cl) do.
 */
#ifndef CLARET_OP_AUGMENT_H
#define CLARET_OP_AUGMENT_H

#include <stdint.h>

/* What of a recipe there is to do; cl/augment.cl has the same as defines. */
enum claret_augment_kinds {
    CLARET_AUGMENT_RESIZE = 1,  /* the box becomes the image */
    CLARET_AUGMENT_REFLECT = 2, /* what is moved in from outside: the image mirrored; else zeros */
    CLARET_AUGMENT_TURN = 4,
    CLARET_AUGMENT_COLOUR = 8,
    CLARET_AUGMENT_CONTRAST = 16, /* one of the colours' changes: asks for the image's mean */
    CLARET_AUGMENT_ANY = 32       /* moving, mirroring and erasing cost nothing where nothing is drawn */
};

enum claret_colour { CLARET_BRIGHTNESS, CLARET_CONTRAST, CLARET_SATURATION, CLARET_HUE, CLARET_COLOURS };

#define CLARET_TURN_ONE 65536

/* Done in this order. All words have 32 bits; cl/augment.cl has their numbers. */
struct claret_recipe {
    uint32_t image;                 /* its number in the data set */
    int32_t box[4];                 /* y, x, height, width of the part that is taken */
    int32_t move[2];                /* by rows, columns: pixel (y, x) comes from (y + move[0], x + move[1]) */
    int32_t mirror;                 /* then mirrored, 0 or 1 */
    int32_t turn[2];                /* cosine and sine of the angle, times CLARET_TURN_ONE */
    int32_t colour[CLARET_COLOURS]; /* claret_colour in the order of their doing, -1: none … */
    float factor[CLARET_COLOURS];   /* … and how much: a factor; for the hue a part of a circle */
    int32_t erase[4];               /* y, x, height, width of the part that is filled; height 0: none */
    uint32_t fill;                  /* with these bytes, the first channel's lowest */
};

#define CLARET_FILL_CHANNELS 4

/* Attributes of an augment node. */
enum {
    CLARET_AUGMENT_KINDS, /* bits of claret_augment_kinds */
    CLARET_AUGMENT_CHANNELS,
    CLARET_AUGMENT_SIZE, /* height, width */
    CLARET_AUGMENT_ATTRS
};

#endif
