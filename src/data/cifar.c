/* CIFAR-10 and CIFAR-100 (https://www.cs.toronto.edu/~kriz/cifar.html) in their binary and Python layouts. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cifar.h"
#include "source.h"

#define TRAIN_IMAGES 50000
#define TEST_IMAGES 10000

static const char *const cifar10_names[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                            "dog",      "frog",       "horse", "ship", "truck"};

static const struct claret_cifar_labels cifar10_labels = {
    "CIFAR-10", 10, 1, 0, "batches.meta.txt", "labels", "label_names", cifar10_names};
static const struct claret_cifar_labels cifar100_fine = {
    "CIFAR-100", 100, 2, 1, "fine_label_names.txt", "fine_labels", "fine_label_names", NULL};
static const struct claret_cifar_labels cifar100_coarse = {
    "CIFAR-100", 20, 2, 0, "coarse_label_names.txt", "coarse_labels", "coarse_label_names", NULL};

/* One of a set's two layouts: what its folder and files are called. NULL ends the files. */
struct layout {
    const char *folder;
    const char *train[6], *test[2];
    const char *meta; /* the Python layout's file of names; NULL: the binary layout */
};

struct set {
    const char *address, *md5;
    struct layout layouts[2];
};

static const struct set cifar10 = {
    CLARET_CIFAR10_ADDRESS,
    CLARET_CIFAR10_MD5,
    {{"cifar-10-batches-bin",
      {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
      {"test_batch.bin"},
      NULL},
     {"cifar-10-batches-py",
      {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"},
      {"test_batch"},
      "batches.meta"}}};
static const struct set cifar100 = {"https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
                                    "03b5dce01913d631647c71ecec9e9cb8",
                                    {{"cifar-100-binary", {"train.bin"}, {"test.bin"}, NULL},
                                     {"cifar-100-python", {"train"}, {"test"}, "meta"}}};

/* ---- finding ------------------------------------------------------------------------------------------- */

/* Any of the files will do: with some of them missing, the folder is still the one that is meant. */
static enum claret_status find_layout(const char *path, const struct layout *layout, char **place)
{
    const char *folders[] = {layout->folder, "", NULL};

    CLARET_TRY(claret_data_find(path, folders, layout->train, place));
    return *place ? CLARET_OK : claret_data_find(path, folders, layout->test, place);
}

static enum claret_status find_cifar10(const char *path, char **place)
{
    CLARET_TRY(find_layout(path, &cifar10.layouts[0], place));
    return *place ? CLARET_OK : find_layout(path, &cifar10.layouts[1], place);
}

/* "train" and "test" are folders of images as often as they are CIFAR-100's: there the third file tells. */
static enum claret_status find_cifar100(const char *path, char **place)
{
    const char *folders[] = {cifar100.layouts[1].folder, "", NULL}, *meta[] = {"meta", NULL};

    CLARET_TRY(find_layout(path, &cifar100.layouts[0], place));
    return *place ? CLARET_OK : claret_data_find(path, folders, meta, place);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static enum claret_status read_file(const char *folder, const char *name, const struct layout *layout,
                                    const struct claret_cifar_labels *labels, size_t count,
                                    unsigned char *images, int32_t *values)
{
    char *path = claret_path_join(folder, name);
    enum claret_status status;

    if (!path)
        return claret_no_memory();
    if (layout->meta)
        status = claret_cifar_read_python(path, labels, count, images, values);
    else
        status = claret_cifar_read_binary(path, labels, count, images, values);
    free(path);
    return status;
}

static enum claret_status read_split(const struct set *set, const struct layout *layout, const char *folder,
                                     enum claret_split split, const struct claret_cifar_labels *labels,
                                     struct claret_dataset *dataset)
{
    const char *const *files = split == CLARET_TRAIN ? layout->train : layout->test;
    enum claret_status status = CLARET_OK;
    size_t number = 0, each;
    char *path;

    while (files[number])
        number++;
    each = dataset->count / number;
    for (size_t i = 0; i < number && status == CLARET_OK; i++)
        status = read_file(folder, files[i], layout, labels, each,
                           dataset->images + i * each * CLARET_CIFAR_PIXELS, dataset->labels + i * each);
    if (status == CLARET_FORMAT || status == CLARET_NOT_FOUND)
        claret_error_context("Get it again: %s (MD5 %s)", set->address, set->md5);
    if (status != CLARET_OK)
        return status;
    path = claret_path_join(folder, layout->meta ? layout->meta : labels->binary_names);
    if (!path)
        return claret_no_memory();
    if (layout->meta)
        status = claret_cifar_read_python_names(path, labels, dataset);
    else
        status = claret_cifar_read_binary_names(path, labels, dataset);
    free(path);
    return status;
}

static enum claret_status open_set(const struct set *set, const struct claret_cifar_labels *labels,
                                   const char *place, enum claret_split split,
                                   struct claret_dataset **dataset)
{
    size_t count = split == CLARET_TRAIN ? TRAIN_IMAGES : TEST_IMAGES;
    struct claret_dataset *made;
    enum claret_status status;
    char *binary;

    /* The binary layout where both are in one folder, as it was found. */
    CLARET_TRY(find_layout(place, &set->layouts[0], &binary));
    const struct layout *layout = &set->layouts[binary ? 0 : 1];
    free(binary);
    CLARET_TRY(claret_dataset_allocate(CLARET_U8, 3, CLARET_CIFAR_SIDE, CLARET_CIFAR_SIDE, labels->classes,
                                       count, &made));
    status = read_split(set, layout, place, split, labels, made);
    if (status == CLARET_OK)
        *dataset = made;
    else
        claret_dataset_destroy(made);
    return status;
}

static enum claret_status open_cifar10(const char *place, const struct claret_data_request *request,
                                       struct claret_dataset **dataset)
{
    return open_set(&cifar10, &cifar10_labels, place, request->split, dataset);
}

static enum claret_status open_cifar100(const char *place, const struct claret_data_request *request,
                                        struct claret_dataset **dataset)
{
    return open_set(&cifar100, request->coarse ? &cifar100_coarse : &cifar100_fine, place, request->split,
                    dataset);
}

const struct claret_source claret_source_cifar10 = {
    "CIFAR-10", "data_batch_1.bin or data_batch_1, there or in cifar-10-batches-bin, cifar-10-batches-py",
    find_cifar10, open_cifar10};
const struct claret_source claret_source_cifar100 = {
    "CIFAR-100", "train.bin, or train with meta, there or in cifar-100-binary, cifar-100-python",
    find_cifar100, open_cifar100};
