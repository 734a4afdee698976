/* safetensors files (https://huggingface.co/docs/safetensors: 8 bytes little-endian header size, JSON header,
 * data). */
#ifndef CLARET_TRAIN_WEIGHTS_H
#define CLARET_TRAIN_WEIGHTS_H

#include "base/shape.h"
#include "base/status.h"

/* One tensor to write, or to fill from a file. */
struct claret_weight {
    const char *name;
    struct claret_shape shape;
    float *values;
    bool integer; /* I64 in a file, whole numbers in `values` */
};

/* Same weights, same bytes: keys sorted, header padded with spaces to a multiple of 8, no metadata.
 * Atomic. `sha256` (may be NULL) gets the file's digest. */
enum claret_status claret_weights_save(const char *path, const struct claret_weight *weights, int count,
                                       char sha256[65]);
/* Fills every `values`, or changes none: CLARET_FORMAT (broken, truncated, overlapping, foreign),
 * CLARET_SHAPE; names the tensor. The file must hold exactly these tensors (F32 or I64, any order,
 * "__metadata__" ignored). */
enum claret_status claret_weights_load(const char *path, const struct claret_weight *weights, int count);

/* Likewise, without the tensors that `patterns` match (base/pattern.h): these are left alone, and may be
 * missing or of any shape in the file. */
enum claret_status claret_weights_load_part(const char *path, const struct claret_weight *weights, int count,
                                            const char *patterns);
/* Before the names of a checkpoint's tensors that are the optimizer's. */
#define CLARET_WEIGHTS_OPTIMIZER "optimizer."

/* Tensors with their names and values, malloc'ed. */
struct claret_weights_list {
    struct claret_weight *list;
    int count;
};
void claret_weights_list_free(struct claret_weights_list *list);
/* Appends a tensor with `name`, its values not set. */
enum claret_status claret_weights_list_add(struct claret_weights_list *list, const char *name,
                                           const struct claret_shape *shape, bool integer);
const struct claret_weight *claret_weights_list_find(const struct claret_weights_list *list,
                                                     const char *name);
/* By name, as a file has them. */
void claret_weights_sort(struct claret_weights_list *list);

/* A text in a file's "__metadata__". */
struct claret_weights_note {
    const char *key; /* NULL: the end of an array */
    char **text;     /* reading: malloc'ed, NULL where there is none */
};
/* As claret_weights_save(), with notes: key, text, key, text, …, NULL. */
enum claret_status claret_weights_save_noted(const char *path, const struct claret_weight *weights, int count,
                                             const char *const *notes, char sha256[65]);
/* All tensors of a file (F32, I64; at most 4 dimensions), by name, and the notes asked for. */
enum claret_status claret_weights_load_all(const char *path, const struct claret_weights_note *notes,
                                           struct claret_weights_list *list);

/* For tests: any tensor of a file (F32, I32, I64 or U8, as float). *values is malloc'ed. CLARET_NOT_FOUND. */
enum claret_status claret_weights_read(const char *path, const char *name, float **values, size_t *count);

#endif
