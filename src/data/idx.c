/* MNIST and Fashion-MNIST: IDX files (http://yann.lecun.com/exdb/mnist/ has the format), plain or gzip's.
 *
 * Such a file is two zero bytes, an element type, a number of dimensions, each dimension in four bytes with
 * the highest first, and the elements. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "inflate.h"
#include "source.h"

#define CLASSES 10
#define UNSIGNED_BYTE 8
#define LIMIT ((size_t)2 << 30)
#define MAX_SIDE 4096

static const char *const fashion_names[CLASSES] = {
    "T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"};

/* What the four files are called: published, and as some unpack them. */
static const char *const image_names[2][5] = {{"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz",
                                               "train-images.idx3-ubyte", "train-images.idx3-ubyte.gz"},
                                              {"t10k-images-idx3-ubyte", "t10k-images-idx3-ubyte.gz",
                                               "t10k-images.idx3-ubyte", "t10k-images.idx3-ubyte.gz"}};
static const char *const label_names[2][5] = {{"train-labels-idx1-ubyte", "train-labels-idx1-ubyte.gz",
                                               "train-labels.idx1-ubyte", "train-labels.idx1-ubyte.gz"},
                                              {"t10k-labels-idx1-ubyte", "t10k-labels-idx1-ubyte.gz",
                                               "t10k-labels.idx1-ubyte", "t10k-labels.idx1-ubyte.gz"}};

/* ---- finding ------------------------------------------------------------------------------------------- */

/* Nothing in the files tells which of the two sets they are; the folder's name or its parent's does. */
static bool is_fashion(const char *path)
{
    static const char word[] = "fashion";
    const size_t length = sizeof(word) - 1, size = strlen(path);
    size_t start = size;

    for (int parts = 0; start > 0 && parts < 2; start--)
        parts += path[start - 1] == '/' && start < size;
    for (size_t at = start; at + length <= size; at++) {
        size_t same = 0;
        while (same < length && tolower((unsigned char)path[at + same]) == word[same])
            same++;
        if (same == length)
            return true;
    }
    return false;
}

static enum claret_status find_in(const char *path, const char *const *folders, char **place)
{
    CLARET_TRY(claret_data_find(path, folders, image_names[0], place));
    return *place ? CLARET_OK : claret_data_find(path, folders, image_names[1], place);
}

static enum claret_status find_mnist(const char *path, char **place)
{
    static const char *const folders[] = {"mnist", "MNIST/raw", "", NULL};

    if (!is_fashion(path))
        return find_in(path, folders, place);
    *place = NULL;
    return CLARET_OK;
}

static enum claret_status find_fashion(const char *path, char **place)
{
    static const char *const folders[] = {"fashion-mnist", "FashionMNIST/raw", NULL};
    static const char *const itself[] = {"fashion-mnist", "FashionMNIST/raw", "raw", "", NULL};

    return find_in(path, is_fashion(path) ? itself : folders, place);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static size_t number(const unsigned char bytes[4])
{
    return (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
}

/* Checks the header against `rank` dimensions and the size; dims (rank). */
static enum claret_status check_header(const char *path, const unsigned char *data, size_t size, size_t rank,
                                       size_t *dims)
{
    size_t expected = 1, head = 4 + 4 * rank;

    if (size < head || data[0] || data[1])
        return claret_fail(CLARET_FORMAT, "%s: not an IDX file", path);
    if (data[2] != UNSIGNED_BYTE)
        return claret_fail(CLARET_FORMAT, "%s: elements of type 0x%02x, where bytes (0x08) are expected",
                           path, data[2]);
    if (data[3] != rank)
        return claret_fail(CLARET_FORMAT, "%s: %d dimensions, where %zu are expected", path, data[3], rank);
    for (size_t i = 0; i < rank; i++) {
        dims[i] = number(data + 4 + 4 * i);
        if (!dims[i] || (i > 0 && dims[i] > MAX_SIDE))
            return claret_fail(CLARET_FORMAT, "%s: dimension %zu is %zu", path, i, dims[i]);
        if (expected <= LIMIT)
            expected *= dims[i];
    }
    if (size - head != expected)
        return claret_fail(CLARET_FORMAT,
                           "%s: %zu bytes of elements, where its header says %zu: the file is %s", path,
                           size - head, expected, size - head < expected ? "truncated" : "too long");
    return CLARET_OK;
}

/* Reads the first of `names` that is there. */
static enum claret_status read_idx(const char *folder, const char *const *names, size_t rank, char **path,
                                   unsigned char **data, size_t *dims)
{
    size_t size, which = 0;
    bool there = false;

    while (!there && names[which]) {
        CLARET_TRY(claret_data_there(folder, names[which], &there));
        which += !there;
    }
    *path = claret_path_join(folder, names[there ? which : 0]);
    if (!*path)
        return claret_no_memory();
    CLARET_TRY(claret_inflate_file(*path, LIMIT, data, &size));
    return check_header(*path, *data, size, rank, dims);
}

/* images (dims), labels (dims[0]); `path` is the labels'. */
static enum claret_status fill(const unsigned char *images, const unsigned char *labels, const char *path,
                               const size_t dims[3], struct claret_dataset **dataset)
{
    struct claret_dataset *made;

    CLARET_TRY(claret_dataset_allocate(CLARET_U8, 1, (int)dims[1], (int)dims[2], CLASSES, dims[0], &made));
    memcpy(made->images, images, dims[0] * made->image_bytes);
    for (size_t i = 0; i < dims[0]; i++) {
        made->labels[i] = labels[i];
        if (labels[i] < CLASSES)
            continue;
        claret_dataset_destroy(made);
        return claret_fail(CLARET_FORMAT, "%s: image %zu (from 0) has label %d, where 0 to %d can be", path,
                           i, labels[i], CLASSES - 1);
    }
    *dataset = made;
    return CLARET_OK;
}

static enum claret_status open_idx(const char *place, const struct claret_data_request *request,
                                   struct claret_dataset **dataset)
{
    unsigned char *images = NULL, *labels = NULL;
    char *image_path = NULL, *label_path = NULL;
    size_t dims[3], count[1];
    enum claret_status status;
    int split = request->split == CLARET_TEST;

    CLARET_GOTO(done, read_idx(place, image_names[split], 3, &image_path, &images, dims));
    CLARET_GOTO(done, read_idx(place, label_names[split], 1, &label_path, &labels, count));
    if (count[0] == dims[0])
        status = fill(images + 16, labels + 8, label_path, dims, dataset);
    else
        status = claret_fail(CLARET_FORMAT, "%s has %zu images, %s %zu labels", image_path, dims[0],
                             label_path, count[0]);
done:
    free(images);
    free(labels);
    free(image_path);
    free(label_path);
    return status;
}

static enum claret_status open_fashion(const char *place, const struct claret_data_request *request,
                                       struct claret_dataset **dataset)
{
    struct claret_dataset *made;
    enum claret_status status;

    CLARET_TRY(open_idx(place, request, &made));
    status = claret_dataset_name_classes(made, fashion_names);
    if (status == CLARET_OK)
        *dataset = made;
    else
        claret_dataset_destroy(made);
    return status;
}

const struct claret_source claret_source_mnist = {
    "MNIST", "train-images-idx3-ubyte, also .gz, there or in mnist, MNIST/raw", find_mnist, open_idx};
const struct claret_source claret_source_fashion_mnist = {
    "Fashion-MNIST", "the same in fashion-mnist, FashionMNIST/raw, or a folder with fashion in its name",
    find_fashion, open_fashion};
