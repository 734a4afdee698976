#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "image.h"
#include "source.h"

#define MAX_CLASSES (1 << 20)

static size_t element_size(enum claret_element element)
{
    return element == CLARET_U8 ? 1 : sizeof(float);
}

/* ---- making -------------------------------------------------------------------------------------------- */

static enum claret_status number_classes(struct claret_dataset *dataset)
{
    char number[16];

    dataset->class_names = calloc((size_t)dataset->classes, sizeof(*dataset->class_names));
    if (!dataset->class_names)
        return claret_no_memory();
    for (int i = 0; i < dataset->classes; i++) {
        claret_print(number, sizeof(number), "%d", i);
        dataset->class_names[i] = claret_strdup(number);
        if (!dataset->class_names[i])
            return claret_no_memory();
    }
    return CLARET_OK;
}

/* a * b into *product; false: too large for an object. */
static bool multiply(size_t a, size_t b, size_t *product)
{
    if (b && a > PTRDIFF_MAX / b)
        return false;
    *product = a * b;
    return true;
}

static enum claret_status allocate(enum claret_element element, int channels, int height, int width,
                                   int classes, size_t count, bool files, struct claret_dataset **dataset)
{
    struct claret_dataset *made;
    enum claret_status status = CLARET_OK;
    size_t image = element_size(element), images, labels;

    if (!multiply(image, (size_t)channels, &image) || !multiply(image, (size_t)height, &image) ||
        !multiply(image, (size_t)width, &image) || !multiply(image, count, &images) ||
        !multiply(sizeof(int32_t), count, &labels))
        return claret_fail(CLARET_INVALID, "data set: %zu images of %dx%dx%d are more than can be addressed",
                           count, channels, height, width);
    made = calloc(1, sizeof(*made));
    if (!made)
        return claret_no_memory();
    made->element = element;
    made->channels = channels;
    made->height = height;
    made->width = width;
    made->classes = classes;
    made->count = made->total = count;
    made->image_bytes = image;
    for (int c = 0; c < 4; c++)
        made->mean[c] = made->std[c] = 0.5f;
    if (files)
        made->paths = calloc(count, sizeof(*made->paths));
    else
        made->images = malloc(images);
    made->labels = malloc(labels);
    if ((!made->images && !made->paths) || !made->labels)
        status = claret_no_memory();
    else
        status = number_classes(made);
    if (status != CLARET_OK) {
        claret_dataset_destroy(made);
        return status;
    }
    *dataset = made;
    return CLARET_OK;
}

enum claret_status claret_dataset_allocate(enum claret_element element, int channels, int height, int width,
                                           int classes, size_t count, struct claret_dataset **dataset)
{
    return allocate(element, channels, height, width, classes, count, false, dataset);
}

enum claret_status claret_dataset_allocate_files(int channels, int height, int width, int classes,
                                                 size_t count, struct claret_dataset **dataset)
{
    return allocate(CLARET_U8, channels, height, width, classes, count, true, dataset);
}

enum claret_status claret_dataset_name_classes(struct claret_dataset *dataset, const char *const *names)
{
    for (int i = 0; i < dataset->classes; i++) {
        char *name = claret_strdup(names[i]);
        if (!name)
            return claret_no_memory();
        free(dataset->class_names[i]);
        dataset->class_names[i] = name;
    }
    return CLARET_OK;
}

static enum claret_status check_arrays(enum claret_element element, const void *images, const int32_t *labels,
                                       size_t count, int channels, int height, int width, int classes)
{
    if (!images || !labels || !count)
        return claret_fail(CLARET_INVALID, "data set: needs images and labels, at least one");
    if (element != CLARET_U8 && element != CLARET_F32)
        return claret_fail(CLARET_INVALID, "data set: element type %d is neither CLARET_U8 nor CLARET_F32",
                           (int)element);
    if (channels < 1 || height < 1 || width < 1)
        return claret_fail(CLARET_INVALID, "data set: images of %dx%dx%d cannot be", channels, height, width);
    if (element == CLARET_U8 && channels > 4)
        return claret_fail(CLARET_INVALID,
                           "data set: U8 images have at most 4 channels, not %d; give them as F32", channels);
    if (classes < 1 || classes > MAX_CLASSES)
        return claret_fail(CLARET_INVALID, "data set: %d classes, where 1 to %d can be", classes,
                           MAX_CLASSES);
    for (size_t i = 0; i < count; i++) {
        if (labels[i] < 0 || labels[i] >= classes)
            return claret_fail(CLARET_INVALID, "data set: image %zu has label %d, where 0 to %d can be", i,
                               (int)labels[i], classes - 1);
    }
    return CLARET_OK;
}

enum claret_status claret_dataset_from_arrays(enum claret_element element, const void *images,
                                              const int32_t *labels, size_t count, int channels, int height,
                                              int width, int classes, struct claret_dataset **dataset)
{
    struct claret_dataset *made;

    claret_error_clear();
    CLARET_TRY(check_arrays(element, images, labels, count, channels, height, width, classes));
    CLARET_TRY(claret_dataset_allocate(element, channels, height, width, classes, count, &made));
    memcpy(made->images, images, count * made->image_bytes);
    memcpy(made->labels, labels, count * sizeof(*labels));
    *dataset = made;
    return CLARET_OK;
}

void claret_dataset_destroy(struct claret_dataset *dataset)
{
    if (!dataset)
        return;
    for (int i = 0; dataset->class_names && i < dataset->classes; i++)
        free(dataset->class_names[i]);
    free(dataset->class_names);
    free(dataset->images);
    free(dataset->paths);
    claret_arena_free(&dataset->path_memory);
    free(dataset->labels);
    free(dataset);
}

/* ---- settings ------------------------------------------------------------------------------------------ */

enum claret_status claret_dataset_set_normalisation(struct claret_dataset *dataset, const float *mean,
                                                    const float *std)
{
    claret_error_clear();
    if (dataset->element != CLARET_U8)
        return claret_fail(CLARET_INVALID, "normalisation: F32 images are taken as they are");
    for (int c = 0; c < dataset->channels; c++) {
        if (!isfinite(mean[c]) || !isfinite(std[c]) || !(std[c] > 0))
            return claret_fail(
                CLARET_INVALID,
                "normalisation: channel %d has mean %g and std %g; both must be finite, std above 0", c,
                (double)mean[c], (double)std[c]);
    }
    memcpy(dataset->mean, mean, (size_t)dataset->channels * sizeof(*mean));
    memcpy(dataset->std, std, (size_t)dataset->channels * sizeof(*std));
    return CLARET_OK;
}

enum claret_status claret_dataset_measure(const struct claret_dataset *dataset, float *mean, float *std)
{
    const size_t plane = (size_t)dataset->height * (size_t)dataset->width;
    uint64_t sums[4] = {0}, squares[4] = {0};

    claret_error_clear();
    if (dataset->element != CLARET_U8)
        return claret_fail(CLARET_INVALID, "normalisation: F32 images are taken as they are");
    unsigned char *image = malloc(dataset->image_bytes);
    if (!image)
        return claret_no_memory();
    for (size_t i = 0; i < dataset->count; i++) {
        enum claret_status status = claret_dataset_fetch(dataset, i, image);
        if (status != CLARET_OK) {
            free(image);
            return status;
        }
        for (int c = 0; c < dataset->channels; c++)
            for (size_t p = 0; p < plane; p++) {
                uint64_t value = image[(size_t)c * plane + p];
                sums[c] += value;
                squares[c] += value * value;
            }
    }
    free(image);
    for (int c = 0; c < dataset->channels; c++) {
        double count = (double)dataset->count * (double)plane, average = (double)sums[c] / count;
        mean[c] = (float)(average / 255);
        double variance = (double)squares[c] / count - average * average;
        std[c] = (float)(sqrt(variance > 0 ? variance : 0) / 255); /* rounding may leave it below 0 */
    }
    return CLARET_OK;
}

enum claret_status claret_dataset_limit(struct claret_dataset *dataset, size_t count)
{
    claret_error_clear();
    dataset->count = count && count < dataset->total ? count : dataset->total;
    return CLARET_OK;
}

void claret_dataset_table(const struct claret_dataset *dataset, float *table)
{
    for (int c = 0; c < dataset->channels; c++) {
        for (int v = 0; v < 256; v++) {
            /* One operation a statement: each result is rounded to float32, as PyTorch rounds it. */
            float scaled = (float)v / 255.0f;
            float centred = scaled - dataset->mean[c];
            table[c * 256 + v] = centred / dataset->std[c];
        }
    }
}

/* ---- looking ------------------------------------------------------------------------------------------- */

size_t claret_dataset_count(const struct claret_dataset *dataset)
{
    return dataset->count;
}

int claret_dataset_classes(const struct claret_dataset *dataset)
{
    return dataset->classes;
}

const char *claret_dataset_class_name(const struct claret_dataset *dataset, int label)
{
    if (label < 0 || label >= dataset->classes)
        return "";
    return dataset->class_names[label];
}

void claret_dataset_shape(const struct claret_dataset *dataset, int shape[3])
{
    shape[0] = dataset->channels;
    shape[1] = dataset->height;
    shape[2] = dataset->width;
}

const void *claret_dataset_image(const struct claret_dataset *dataset, size_t index, int32_t *label)
{
    if (index >= dataset->count || !dataset->images)
        return NULL;
    if (label)
        *label = dataset->labels[index];
    return dataset->images + index * dataset->image_bytes;
}

enum claret_status claret_dataset_open_file(const struct claret_dataset *dataset, size_t index,
                                            struct claret_image *image)
{
    enum claret_status status = claret_image_open(dataset->paths[index], image);

    if (status == CLARET_FORMAT)
        claret_error_context("Mend or remove it, or leave all such files out: --skip-unreadable");
    return status;
}

enum claret_status claret_dataset_fetch(const struct claret_dataset *dataset, size_t index,
                                        unsigned char *image)
{
    struct claret_image file;

    if (dataset->images) {
        memcpy(image, dataset->images + index * dataset->image_bytes, dataset->image_bytes);
        return CLARET_OK;
    }
    CLARET_TRY(claret_dataset_open_file(dataset, index, &file));
    enum claret_status status =
        claret_image_fit(&file, NULL, dataset->channels, dataset->height, dataset->width, image);
    free(file.pixels);
    return status;
}

enum claret_element claret_dataset_element(const struct claret_dataset *dataset)
{
    return dataset->element;
}

enum claret_status claret_dataset_read(const struct claret_dataset *dataset, size_t index, void *image,
                                       int32_t *label)
{
    claret_error_clear();
    if (index >= dataset->count)
        return claret_fail(CLARET_INVALID, "image %zu (from 0) of a data set of %zu", index, dataset->count);
    if (label)
        *label = dataset->labels[index];
    return image ? claret_dataset_fetch(dataset, index, image) : CLARET_OK;
}
