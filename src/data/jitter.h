/* Colours. */
#ifndef CLARET_DATA_JITTER_H
#define CLARET_DATA_JITTER_H

#include <stddef.h>

#include "base/rng.h"

/* torchvision's ColorJitter in place: brightness, contrast, saturation and hue by factors from around 1 (hue:
 * turns from around 0), in an order that is drawn too. image (channels, plane), 1 channel or 3; grey has
 * neither saturation nor hue. Draws nothing where all four are 0. */
void claret_jitter(const double strength[4], struct claret_rng *rng, int channels, size_t plane,
                   unsigned char *image);

#endif
