/* numpy's .npy files (numpy.lib.format describes them). */
#ifndef CLARET_DATA_NPY_H
#define CLARET_DATA_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define CLARET_NPY_MAX_RANK 8

/* An array in the bytes of its file, which must stay. Elements are in C's order and this machine's. */
struct claret_npy {
    const char *path;
    char kind;    /* 'u', 'i', 'f', 'b' (booleans) */
    size_t width; /* bytes of an element */
    int rank;
    size_t dims[CLARET_NPY_MAX_RANK];
    size_t count;              /* elements */
    const unsigned char *data; /* count * width bytes, not aligned */
};

/* `path` is for errors and is kept. CLARET_FORMAT: not such a file, of another order, or cut. */
enum claret_status claret_npy_parse(const char *path, const unsigned char *bytes, size_t size,
                                    struct claret_npy *array);
/* Element `index` of an array of whole numbers. CLARET_FORMAT: it has others. */
enum claret_status claret_npy_integer(const struct claret_npy *array, size_t index, int64_t *value);
/* "uint8 (60000, 28, 28)" into `text`, which is returned. */
const char *claret_npy_describe(const struct claret_npy *array, char text[160]);

#endif
