/* The files of CIFAR-10 and CIFAR-100 (https://www.cs.toronto.edu/~kriz/cifar.html): one by one. */
#ifndef CLARET_DATA_CIFAR_H
#define CLARET_DATA_CIFAR_H

#include "data/data.h"

#define CLARET_CIFAR_SIDE 32
#define CLARET_CIFAR_PIXELS (3 * CLARET_CIFAR_SIDE * CLARET_CIFAR_SIDE)

/* Which of an image's labels are the classes, and how the files have them. */
struct claret_cifar_labels {
    const char *set; /* "CIFAR-10" */
    int classes;
    int bytes, at;                      /* binary: bytes before an image, and which of them it is */
    const char *binary_names;           /* file with a class name a line */
    const char *labels_key, *names_key; /* Python: in the dictionaries */
    const char *const *known_names;     /* where the file with the names is missing; NULL: numbers */
};

/* A file's `count` images (count, 3, 32, 32) and labels (count). CLARET_FORMAT: it is not such a file. */
enum claret_status claret_cifar_read_binary(const char *path, const struct claret_cifar_labels *labels,
                                            size_t count, unsigned char *images, int32_t *values);
enum claret_status claret_cifar_read_python(const char *path, const struct claret_cifar_labels *labels,
                                            size_t count, unsigned char *images, int32_t *values);
/* The class names that the file has; one that is not there is none of the errors. */
enum claret_status claret_cifar_read_binary_names(const char *path, const struct claret_cifar_labels *labels,
                                                  struct claret_dataset *dataset);
enum claret_status claret_cifar_read_python_names(const char *path, const struct claret_cifar_labels *labels,
                                                  struct claret_dataset *dataset);

#endif
