/* Images held out of the training set, for sets without a test set or to leave that alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "source.h"

/* Of each class the same share, at least one image and not all. Which ones depends on the set alone, so that
 * train and eval mean the same with every seed. held (count). */
static enum claret_status choose(const struct claret_dataset *dataset, double fraction, bool *held)
{
    uint32_t *members = malloc(dataset->total * sizeof(*members)),
             *order = malloc(dataset->total * sizeof(*order));
    enum claret_status status = members && order ? CLARET_OK : claret_no_memory();

    for (int c = 0; c < dataset->classes && status == CLARET_OK; c++) {
        struct claret_rng rng;
        size_t count = 0;
        for (size_t i = 0; i < dataset->total; i++)
            if (dataset->labels[i] == c)
                members[count++] = (uint32_t)i;
        if (count == 1)
            status =
                claret_fail(CLARET_INVALID, "--val-fraction: class %s has one image, and it cannot be split",
                            dataset->class_names[c]);
        if (count < 2)
            continue;
        size_t part = (size_t)floor((double)count * fraction + 0.5);
        part = part < 1 ? 1 : part > count - 1 ? count - 1 : part;
        claret_rng_init(&rng, 0, CLARET_STREAM_SPLIT, (uint32_t)c);
        claret_rng_permutation(&rng, order, count);
        for (size_t i = 0; i < part; i++)
            held[members[order[i]]] = true;
    }
    free(members);
    free(order);
    return status;
}

enum claret_status claret_dataset_hold_out(struct claret_dataset *dataset, double fraction,
                                           enum claret_split split)
{
    bool *held = calloc(dataset->total, sizeof(*held));
    enum claret_status status = held ? CLARET_OK : claret_no_memory();
    size_t kept = 0;

    if (status == CLARET_OK)
        status = choose(dataset, fraction, held);
    for (size_t i = 0; i < dataset->total && status == CLARET_OK; i++) {
        if (held[i] == (split == CLARET_TRAIN))
            continue;
        dataset->labels[kept] = dataset->labels[i];
        if (dataset->paths)
            dataset->paths[kept] = dataset->paths[i];
        else
            memmove(dataset->images + kept * dataset->image_bytes, dataset->images + i * dataset->image_bytes,
                    dataset->image_bytes);
        kept++;
    }
    if (status == CLARET_OK) {
        unsigned char *smaller =
            dataset->images ? realloc(dataset->images, kept * dataset->image_bytes) : NULL;
        dataset->images = smaller ? smaller : dataset->images;
        dataset->count = dataset->total = kept;
    }
    free(held);
    return status;
}
