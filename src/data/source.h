/* Where datasets come from: what open.c finds and opens, each source in its own file. */
#ifndef CLARET_DATA_SOURCE_H
#define CLARET_DATA_SOURCE_H

#include "data/data.h"

/* A kind of data set that a folder can hold. */
struct claret_source {
    const char *name;       /* "CIFAR-10" */
    const char *looked_for; /* what a folder is known by, for the message where nothing is found */
    /* *place gets the folder or file that holds it, malloc'ed; NULL where `path` is and holds none. An error
     * only where that cannot be found out. */
    enum claret_status (*find)(const char *path, char **place);
    enum claret_status (*open)(const char *place, const struct claret_data_request *request,
                               struct claret_dataset **dataset);
};

extern const struct claret_source claret_source_cifar10, claret_source_cifar100, claret_source_mnist,
    claret_source_fashion_mnist, claret_source_arrays, claret_source_folder;

/* Whether `folder` has an entry `name`. CLARET_IO: it is closed to us. */
enum claret_status claret_data_there(const char *folder, const char *name, bool *there);
/* The first of `folders` (relative to `path`, "" for itself; NULL ends them) that has any of the entries
 * `names` (NULL ends them): *place, malloc'ed, NULL where none has. */
enum claret_status claret_data_find(const char *path, const char *const *folders, const char *const *names,
                                    char **place);
/* Whether a class name can go to terminals and files: printable, and not endless. */
bool claret_data_good_name(const char *name);

/* A dataset of `count` images, images and labels not yet filled in; class names are the numbers' texts. The
 * caller has checked that the sizes are positive. CLARET_INVALID: more bytes than can be addressed. */
enum claret_status claret_dataset_allocate(enum claret_element element, int channels, int height, int width,
                                           int classes, size_t count, struct claret_dataset **dataset);
/* The same for bytes whose images are in files: paths are not filled in, there is no memory for images. */
enum claret_status claret_dataset_allocate_files(int channels, int height, int width, int classes,
                                                 size_t count, struct claret_dataset **dataset);
/* names (classes); copied. */
enum claret_status claret_dataset_name_classes(struct claret_dataset *dataset, const char *const *names);

/* Keeps what a share `fraction` (0 to 1) of each class leaves (CLARET_TRAIN), or that share (CLARET_TEST). */
enum claret_status claret_dataset_hold_out(struct claret_dataset *dataset, double fraction,
                                           enum claret_split split);

/* The built-in set: 10,000 training and 2,000 test images. */
enum claret_status claret_shapes_create(enum claret_split split, struct claret_dataset **dataset);

#endif
