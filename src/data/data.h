/* Datasets and the loader that makes batches from them. Knows nothing of devices. */
#ifndef CLARET_DATA_DATA_H
#define CLARET_DATA_DATA_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"
#include "op/batch.h"

struct claret_dataset {
    enum claret_element element;
    int channels, height, width, classes;
    size_t count, total; /* in use, there */
    size_t image_bytes;
    unsigned char *images; /* count * image_bytes; NULL: they are in files … */
    const char **paths;    /* … of these names (count), in path_memory */
    struct claret_arena path_memory;
    int32_t *labels;
    char **class_names; /* classes of them; the numbers as texts where they have no names */
    float mean[4], std[4];
};

#define CLARET_CIFAR10_ADDRESS "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
#define CLARET_CIFAR10_MD5 "c32a1d4ab5d03f1284b67883e8d87530"

/* Which data set, and what of it. Zeros ask for nothing special. */
struct claret_data_request {
    const char *path; /* a folder, a .npz file, or "shapes" */
    enum claret_split split;
    bool coarse;  /* CIFAR-100: its 20 superclasses as classes */
    int input[3]; /* channels, height, width of the network's input, for images that have sizes of their own;
                     0: not known */
    bool skip_unreadable; /* leave out files that cannot be read */
    int workers;          /* threads for that */
    double val_fraction;  /* above 0: of the training images, this share of each class is the test split */
};
enum claret_status claret_data_open(const struct claret_data_request *request,
                                    struct claret_dataset **dataset);

/* Image `index` into `image` (image_bytes), out of its file where that is where it is. From any thread. */
enum claret_status claret_dataset_fetch(const struct claret_dataset *dataset, size_t index,
                                        unsigned char *image);

/* The file of image `index` of a set whose images are in files. */
struct claret_image;
enum claret_status claret_dataset_open_file(const struct claret_dataset *dataset, size_t index,
                                            struct claret_image *image);

/* The table that cl/batch.cl normalises uint8 with: table[c * 256 + v] = (v / 255 - mean[c]) / std[c],
 * rounded as PyTorch's ToTensor and Normalize round in float32. */
void claret_dataset_table(const struct claret_dataset *dataset, float *table /* (channels, 256) */);

/* Makes slots (op/batch.h: labels and images, or these' numbers or recipes; the header is the session's) in
 * the order of the epochs, ahead of their use, on `workers` threads (0: in the caller's). The order depends
 * on seed and epoch alone.
 */
struct claret_loader;
struct claret_loader_options {
    int64_t batch;
    int workers;
    bool shuffle;
    uint64_t seed;
    size_t epochs, max_steps; /* max_steps over all epochs, 0: no limit */
    size_t first;             /* batch to begin with, counted over all epochs */
    int ahead;                /* slots ready or in use at once, at least 2 */
    bool any_size;            /* the set may be smaller than a batch */
    bool resident;            /* the set lives on the device: slots have its images' numbers or recipes */
    const struct claret_augment *augment; /* done to the images (data/augment.h), copied; NULL: nothing */
};
struct claret_batch {
    unsigned char *slot; /* layout: claret_stage_layout */
    int count;           /* true batch size */
    size_t epoch, step;  /* from 0; step within the epoch */
    bool last;           /* of its epoch */
};
enum claret_status claret_loader_create(const struct claret_dataset *dataset,
                                        const struct claret_loader_options *options,
                                        struct claret_loader **loader);
void claret_loader_destroy(struct claret_loader *loader);       /* also in the middle */
size_t claret_loader_steps(const struct claret_loader *loader); /* over all epochs */
size_t claret_loader_steps_per_epoch(const struct claret_loader *loader);
/* The next batch, NULL in batch->slot at the end. An error where an image's file could not be read. It stays
 * valid until it is released; batches are released in any order. */
enum claret_status claret_loader_next(struct claret_loader *loader, struct claret_batch *batch);
void claret_loader_release(struct claret_loader *loader, struct claret_batch *batch);

#endif
