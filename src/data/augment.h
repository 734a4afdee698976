/* Augmentation of training images, by torchvision's names and meaning. */
#ifndef CLARET_DATA_AUGMENT_H
#define CLARET_DATA_AUGMENT_H

#include "data/data.h"
#include "op/augment.h"

/* Done in the order of the fields; zero: not done. */
struct claret_augment {
    double resized_crop; /* RandomResizedCrop: the least share of the area; ratio 3/4 to 4/3 */
    int crop;            /* RandomCrop of the image's own size: padding on each side, pixels */
    bool reflect;        /* padding_mode: 'reflect', else zeros */
    double flip;         /* RandomHorizontalFlip: probability */
    double rotation;     /* RandomRotation: most degrees either way; nearest, zeros outside */
    double jitter[4];    /* ColorJitter: brightness, contrast, saturation, hue */
    double erasing; /* RandomErasing: probability; share 0.02 to 0.33, ratio 0.3 to 3.3, the mean inside */
};

bool claret_augment_any(const struct claret_augment *augment);
/* What of claret_augment_kinds there is to do; 0: nothing. */
int claret_augment_kinds(const struct claret_augment *augment);
/* CLARET_INVALID: what cannot be done to such images. */
enum claret_status claret_augment_check(const struct claret_augment *augment,
                                        const struct claret_dataset *dataset);
/* What is to be done to image `index` of a set; its file or what is in memory is of height x width. Depends
 * on seed, epoch and index alone. From any thread. */
void claret_augment_draw(const struct claret_augment *augment, const struct claret_dataset *dataset,
                         uint64_t seed, uint32_t epoch, size_t index, int height, int width,
                         struct claret_recipe *recipe);
/* Draws it and does it: into `image` (image_bytes). From any thread. */
enum claret_status claret_augment_fetch(const struct claret_augment *augment,
                                        const struct claret_dataset *dataset, uint64_t seed, uint32_t epoch,
                                        size_t index, unsigned char *image);
/* Writes a PNG to look at: the first images, and beside each what the first epochs make of it. */
enum claret_status claret_augment_preview(const struct claret_augment *augment,
                                          const struct claret_dataset *dataset, uint64_t seed,
                                          const char *path);

#endif
