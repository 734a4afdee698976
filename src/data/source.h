/* Where datasets come from: what dataset.c opens, each source in its own file. */
#ifndef CLARET_DATA_SOURCE_H
#define CLARET_DATA_SOURCE_H

#include "data/data.h"

/* A dataset of `count` images, images and labels not yet filled in; class names are the numbers' texts. The
 * caller has checked that the sizes are positive. CLARET_INVALID: more bytes than can be addressed. */
enum claret_status claret_dataset_allocate(enum claret_element element, int channels, int height, int width,
                                           int classes, size_t count, struct claret_dataset **dataset);
/* names (classes); copied. */
enum claret_status claret_dataset_name_classes(struct claret_dataset *dataset, const char *const *names);

/* The built-in set: 10,000 training and 2,000 test images. */
enum claret_status claret_shapes_create(enum claret_split split, struct claret_dataset **dataset);

/* CIFAR-10 in `folder`, in either layout. */
enum claret_status claret_cifar_open(const char *folder, enum claret_split split,
                                     struct claret_dataset **dataset);

#endif
