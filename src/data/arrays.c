/* numpy's arrays: x_train, y_train, x_test, y_test, as .npy files in a folder or together in one .npz.
 *
 * x is uint8 or float32: (N, C, H, W), (N, H, W, C) or (N, H, W). The second dimension is the channels where
 * it is at most 4, else the last where that is. y is whole numbers, (N) or (N, 1), classes from 0. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "npy.h"
#include "source.h"
#include "unzip.h"

#define LIMIT ((size_t)64 << 30)
#define MAX_CLASSES (1 << 20)
#define MAX_SIDE 65536

/* ---- finding ------------------------------------------------------------------------------------------- */

static bool is_npz(const char *name)
{
    size_t length = strlen(name);

    return length > 4 && strcmp(name + length - 4, ".npz") == 0;
}

/* The only .npz file in the folder, NULL if there is none or more than one. */
static enum claret_status find_npz(const char *folder, char **place)
{
    DIR *listing = opendir(folder);
    struct dirent *entry;
    int count = 0;

    *place = NULL;
    while (listing && (entry = readdir(listing))) {
        if (!is_npz(entry->d_name) || entry->d_name[0] == '.')
            continue;
        free(*place);
        *place = claret_path_join(folder, entry->d_name);
        count++;
    }
    if (listing)
        closedir(listing);
    if (count == 1)
        return *place ? CLARET_OK : claret_no_memory();
    free(*place);
    *place = NULL;
    return CLARET_OK;
}

static enum claret_status find(const char *path, char **place)
{
    static const char *const itself[] = {"", NULL};
    static const char *const names[] = {"x_train.npy", "x_test.npy", NULL};
    struct stat info;

    *place = NULL;
    if (is_npz(path) && stat(path, &info) == 0 && S_ISREG(info.st_mode)) {
        *place = claret_strdup(path);
        return *place ? CLARET_OK : claret_no_memory();
    }
    CLARET_TRY(claret_data_find(path, itself, names, place));
    return *place ? CLARET_OK : find_npz(path, place);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

enum { X_TRAIN, Y_TRAIN, X_TEST, Y_TEST, ARRAYS };
static const char *const file_names[ARRAYS] = {"x_train.npy", "y_train.npy", "x_test.npy", "y_test.npy"};

struct arrays {
    struct claret_zip_member file[ARRAYS]; /* data NULL: not there, or not asked for */
    char *path[ARRAYS];
    struct claret_npy array[ARRAYS];
    char *names; /* of all that the .npz holds */
};

static void finish(struct arrays *arrays)
{
    for (int i = 0; i < ARRAYS; i++) {
        free(arrays->file[i].data);
        free(arrays->path[i]);
    }
    free(arrays->names);
}

static enum claret_status read_folder(const char *place, const bool *wanted, struct arrays *arrays)
{
    for (int i = 0; i < ARRAYS; i++) {
        bool there = false;
        if (wanted[i])
            CLARET_TRY(claret_data_there(place, file_names[i], &there));
        if (there)
            CLARET_TRY(claret_file_read(arrays->path[i], LIMIT, (char **)&arrays->file[i].data,
                                        &arrays->file[i].size));
    }
    return CLARET_OK;
}

static enum claret_status read_npz(const char *place, const bool *wanted, struct arrays *arrays)
{
    struct claret_zip_member members[ARRAYS] = {0};
    enum claret_status status;
    int which[ARRAYS], count = 0;

    for (int i = 0; i < ARRAYS; i++) {
        if (!wanted[i])
            continue;
        which[count] = i;
        members[count++].name = file_names[i];
    }
    status = claret_unzip(place, LIMIT, members, count, &arrays->names);
    for (int i = 0; i < count; i++)
        arrays->file[which[i]] = members[i];
    return status;
}

/* The wanted ones; one that is not there is left out. */
static enum claret_status read_arrays(const char *place, const bool *wanted, struct arrays *arrays)
{
    struct stat info;
    bool zipped = stat(place, &info) == 0 && S_ISREG(info.st_mode);

    for (int i = 0; i < ARRAYS; i++) {
        arrays->path[i] = claret_path_join(place, file_names[i]);
        if (!arrays->path[i])
            return claret_no_memory();
    }
    CLARET_TRY(zipped ? read_npz(place, wanted, arrays) : read_folder(place, wanted, arrays));
    for (int i = 0; i < ARRAYS; i++)
        if (arrays->file[i].data)
            CLARET_TRY(claret_npy_parse(arrays->path[i], arrays->file[i].data, arrays->file[i].size,
                                        &arrays->array[i]));
    return CLARET_OK;
}

static enum claret_status missing(const char *place, const struct arrays *arrays, int which)
{
    char name[16];

    claret_print(name, sizeof(name), "%.*s", (int)(strlen(file_names[which]) - 4), file_names[which]);
    claret_fail(CLARET_NOT_FOUND, "%s has no %s", place, name);
    if (arrays->names)
        claret_error_context("It holds %s.", arrays->names);
    return CLARET_NOT_FOUND;
}

/* ---- what they have to be ------------------------------------------------------------------------------ */

struct layout {
    size_t channels, height, width;
    bool channels_last;
};

static enum claret_status find_layout(const struct claret_npy *x, struct layout *layout)
{
    bool bytes = x->kind == 'u' && x->width == 1;
    char text[160];

    claret_npy_describe(x, text);
    if (!bytes && !(x->kind == 'f' && x->width == 4))
        return claret_fail(CLARET_FORMAT, "%s: %s, where uint8 or float32 is expected: x.astype('float32')",
                           x->path, text);
    if (x->rank != 3 && x->rank != 4)
        return claret_fail(CLARET_FORMAT,
                           "%s: %s, where (N, C, H, W), (N, H, W, C) or (N, H, W) is expected: x.reshape()",
                           x->path, text);
    if (x->rank == 3)
        *layout = (struct layout){1, x->dims[1], x->dims[2], false};
    else if (x->dims[1] > 4 && x->dims[3] <= 4)
        *layout = (struct layout){x->dims[3], x->dims[1], x->dims[2], true};
    else
        *layout = (struct layout){x->dims[1], x->dims[2], x->dims[3], false};
    if (bytes && layout->channels > 4)
        return claret_fail(CLARET_FORMAT,
                           "%s: %s: bytes have at most 4 channels, as second or last dimension", x->path,
                           text);
    if (!x->count || layout->channels > MAX_SIDE || layout->height > MAX_SIDE || layout->width > MAX_SIDE)
        return claret_fail(CLARET_FORMAT, "%s: %s: no images", x->path, text);
    return CLARET_OK;
}

/* The labels of x's images, all of them checked; *classes grows to hold them, *least gets the least of all.
 */
static enum claret_status check_labels(const struct claret_npy *y, const struct claret_npy *x, int *classes,
                                       int64_t *least)
{
    char text[160];
    int64_t value;

    claret_npy_describe(y, text);
    if (y->rank < 1 || y->rank > 2 || (y->rank == 2 && y->dims[1] != 1))
        return claret_fail(CLARET_FORMAT,
                           "%s: %s, where (N,) or (N, 1) is expected: y.argmax(1) where rows are "
                           "ones and zeros",
                           y->path, text);
    if (x && x->dims[0] != y->dims[0])
        return claret_fail(CLARET_FORMAT, "%s: %zu images, but %s has %zu labels", x->path, x->dims[0],
                           y->path, y->dims[0]);
    for (size_t i = 0; i < y->count; i++) {
        CLARET_TRY(claret_npy_integer(y, i, &value));
        if (value < 0 || value >= MAX_CLASSES)
            return claret_fail(CLARET_FORMAT, "%s: image %zu (from 0) has label %lld, where 0 to %d can be",
                               y->path, i, (long long)value, MAX_CLASSES - 1);
        if (value < *least)
            *least = value;
        if (value >= *classes)
            *classes = (int)value + 1;
    }
    return CLARET_OK;
}

static void copy_images(const struct claret_npy *x, const struct layout *layout,
                        struct claret_dataset *dataset)
{
    const size_t plane = layout->height * layout->width, width = x->width, channels = layout->channels;

    if (!layout->channels_last) {
        memcpy(dataset->images, x->data, dataset->count * dataset->image_bytes);
        return;
    }
    for (size_t i = 0; i < dataset->count; i++) {
        const unsigned char *from = x->data + i * dataset->image_bytes;
        unsigned char *to = dataset->images + i * dataset->image_bytes;
        for (size_t c = 0; c < channels; c++)
            for (size_t p = 0; p < plane; p++)
                memcpy(to + (c * plane + p) * width, from + (p * channels + c) * width, width);
    }
}

static enum claret_status make(const struct claret_npy *x, const struct claret_npy *y, int classes,
                               struct claret_dataset **dataset)
{
    struct claret_dataset *made;
    struct layout layout;

    CLARET_TRY(find_layout(x, &layout));
    CLARET_TRY(claret_dataset_allocate(x->kind == 'u' ? CLARET_U8 : CLARET_F32, (int)layout.channels,
                                       (int)layout.height, (int)layout.width, classes, x->dims[0], &made));
    copy_images(x, &layout, made);
    for (size_t i = 0; i < made->count; i++) {
        int64_t value = 0;
        claret_npy_integer(y, i, &value); /* checked before */
        made->labels[i] = (int32_t)value;
    }
    *dataset = made;
    return CLARET_OK;
}

/* The other split's labels are read too: a class that only they have is one. */
static enum claret_status open(const char *place, const struct claret_data_request *request,
                               struct claret_dataset **dataset)
{
    int x = request->split == CLARET_TRAIN ? X_TRAIN : X_TEST, y = x + 1,
        other = x == X_TRAIN ? Y_TEST : Y_TRAIN;
    bool wanted[ARRAYS] = {
        [X_TRAIN] = x == X_TRAIN, [X_TEST] = x == X_TEST, [Y_TRAIN] = true, [Y_TEST] = true};
    struct arrays arrays = {0};
    enum claret_status status;
    int64_t least = MAX_CLASSES;
    int classes = 1;

    CLARET_GOTO(done, read_arrays(place, wanted, &arrays));
    if (!arrays.file[x].data || !arrays.file[y].data) {
        status = missing(place, &arrays, arrays.file[x].data ? y : x);
        if (status == CLARET_NOT_FOUND && x == X_TEST && !arrays.file[x].data)
            claret_error_context("To test on a part of the training images: --val-fraction 0.1");
        goto done;
    }
    CLARET_GOTO(done, check_labels(&arrays.array[y], &arrays.array[x], &classes, &least));
    if (arrays.file[other].data)
        CLARET_GOTO(done, check_labels(&arrays.array[other], NULL, &classes, &least));
    if (least == 1 && x == X_TRAIN)
        claret_warn("%s: the labels are 1 to %d, but begin at 0: these are %d classes, one of them without "
                    "images. Where they are counted from 1, save y - 1",
                    place, classes - 1, classes);
    status = make(&arrays.array[x], &arrays.array[y], classes, dataset);
done:
    finish(&arrays);
    return status;
}

const struct claret_source claret_source_arrays = {
    "numpy's arrays",
    "x_train.npy, y_train.npy, x_test.npy, y_test.npy there, or one .npz file with all of them", find, open};
