/* The safetensors format: eight bytes with the header's size (little-endian), the header as JSON
 *     {"conv1.bias": {"dtype": "F32", "shape": [16], "data_offsets": [0, 64]}, …, "__metadata__": {…}}
 * and the tensors' bytes, little-endian, to which the offsets point: without gap or overlap
 * (https://huggingface.co/docs/safetensors). */
#ifndef CLARET_TRAIN_SAFETENSORS_H
#define CLARET_TRAIN_SAFETENSORS_H

#include <stdio.h>

#include <jansson.h>

#include "base/status.h"
#include "base/text.h"

struct claret_safetensor {
    const char *name;    /* the header's */
    const char *dtype;   /* likewise */
    const json_t *shape; /* array of integers, checked */
    uint64_t begin, end; /* bytes from the start of the data */
    uint64_t count;      /* elements */
};

/* A file being read. */
struct claret_safetensors {
    const char *path;
    FILE *stream;
    json_t *header;
    struct claret_safetensor *entries; /* by begin */
    size_t entry_count;
    uint64_t data_start, data_size; /* bytes in the file */
};

/* Opens the file and checks all but the tensors' values. CLARET_FORMAT, CLARET_NOT_FOUND, CLARET_IO. `reader`
 * is to be closed in any case. */
enum claret_status claret_safetensors_open(const char *path, struct claret_safetensors *reader);
void claret_safetensors_close(struct claret_safetensors *reader);
/* NULL: there is none. */
const struct claret_safetensor *claret_safetensors_find(const struct claret_safetensors *reader,
                                                        const char *name);
/* The next bytes, those of the data at first. */
enum claret_status claret_safetensors_read(const struct claret_safetensors *reader, void *bytes, size_t size);

/* Bytes of an element; 0: not a type of the format. */
unsigned claret_safetensors_size(const char *dtype);
/* "16x3x5x5"; "scalar" where there are no dimensions. */
void claret_safetensors_shape(const json_t *shape, struct claret_text *text);

/* Little-endian numbers of `width` bytes. */
uint64_t claret_safetensors_number(const unsigned char *bytes, int width);
void claret_safetensors_put(unsigned char *bytes, uint64_t number, int width);
void claret_safetensors_floats(const unsigned char *bytes, float *values, size_t count);

#endif
