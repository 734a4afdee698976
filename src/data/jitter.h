/* Colours. */
#ifndef CLARET_DATA_JITTER_H
#define CLARET_DATA_JITTER_H

#include <stddef.h>

#include "base/rng.h"
#include "op/augment.h"

/* torchvision's ColorJitter: brightness, contrast, saturation and hue by factors from around 1 (hue: turns
 * from around 0), in an order that is drawn too. Draws nothing where all four strengths are 0. What a grey
 * image has none of is not in the recipe. */
void claret_jitter_draw(const double strength[4], struct claret_rng *rng, int channels,
                        struct claret_recipe *recipe);
/* In place. image (channels, plane), 1 channel or 3, or nothing is to be done. */
void claret_jitter(const struct claret_recipe *recipe, int channels, size_t plane, unsigned char *image);

#endif
