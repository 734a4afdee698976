/* CIFAR-10 (https://www.cs.toronto.edu/~kriz/cifar.html) in its binary and its Python layout. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "pickle.h"
#include "source.h"

#define SIDE 32
#define PIXELS (3 * SIDE * SIDE)
#define RECORD (1 + PIXELS) /* bytes: label, then the planes red, green, blue */
#define FILE_IMAGES 10000
#define FILE_BYTES ((size_t)FILE_IMAGES * RECORD)
#define CLASSES 10
#define TRAIN_FILES 5
#define PICKLE_LIMIT ((size_t)64 << 20) /* the published files have 31 MB */

#define ADDRESS "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
#define MD5 "c32a1d4ab5d03f1284b67883e8d87530"

static const char *const known_names[CLASSES] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                                 "dog",      "frog",       "horse", "ship", "truck"};

/* One of the two layouts: what its folder and files are called and how they are read. */
struct layout {
    const char *folder, *suffix, *names;
    /* Fills images (FILE_IMAGES, 3, 32, 32) and labels (FILE_IMAGES). */
    enum claret_status (*read)(const char *path, unsigned char *images, int32_t *labels);
    enum claret_status (*read_names)(const char *path, struct claret_dataset *dataset);
};

static enum claret_status bad_label(const char *path, int image, int64_t label)
{
    return claret_fail(CLARET_FORMAT, "%s: image %d (from 0) has label %lld, where 0 to %d can be", path,
                       image, (long long)label, CLASSES - 1);
}

/* ---- the binary layout --------------------------------------------------------------------------------- */

/* Before reading: a file of another size is not read at all. A missing one is left to the reading to report.
 */
static enum claret_status check_size(const char *path)
{
    struct stat info;
    const char *fault;

    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || (uint64_t)info.st_size == FILE_BYTES)
        return CLARET_OK;
    fault = (uint64_t)info.st_size > FILE_BYTES ? "is not CIFAR-10's" : "is truncated";
    return claret_fail(CLARET_FORMAT,
                       "%s: %lld bytes, where %zu are expected (%d images of %d bytes): the file %s", path,
                       (long long)info.st_size, FILE_BYTES, FILE_IMAGES, RECORD, fault);
}

static enum claret_status read_binary(const char *path, unsigned char *images, int32_t *labels)
{
    enum claret_status status = CLARET_OK;
    char *data;
    size_t size;

    CLARET_TRY(check_size(path));
    CLARET_TRY(claret_file_read(path, FILE_BYTES, &data, &size));
    if (size != FILE_BYTES)
        status = claret_fail(CLARET_FORMAT, "%s: it ended after %zu of %zu bytes while it was read", path,
                             size, FILE_BYTES);
    for (int i = 0; i < FILE_IMAGES && status == CLARET_OK; i++) {
        const char *record = data + (size_t)i * RECORD;
        labels[i] = (unsigned char)record[0];
        if (labels[i] >= CLASSES)
            status = bad_label(path, i, labels[i]);
        memcpy(images + (size_t)i * PIXELS, record + 1, PIXELS);
    }
    free(data);
    return status;
}

/* A name goes to terminals and files: printable, and not endless. */
static bool good_name(const char *name)
{
    size_t size = strlen(name);

    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)name[i] < ' ' || name[i] == 127)
            return false;
    }
    return size > 0 && size < 64;
}

/* batches.meta.txt: a name a line. Where it is missing the names are known anyway. */
static enum claret_status read_text_names(const char *path, struct claret_dataset *dataset)
{
    const char *names[CLASSES];
    enum claret_status status;
    struct stat info;
    char *data, *line, *next;
    size_t size;
    int count = 0;

    if (stat(path, &info) != 0 && errno == ENOENT)
        return claret_dataset_name_classes(dataset, known_names);
    CLARET_TRY(claret_file_read(path, 65536, &data, &size));
    for (line = data; line && count <= CLASSES; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        line[strcspn(line, "\r")] = '\0';
        if (!*line)
            continue;
        if (count < CLASSES)
            names[count] = line;
        count++;
    }
    for (int i = 0; i < count && i < CLASSES; i++) {
        if (!good_name(names[i]))
            count = 0;
    }
    if (count == CLASSES)
        status = claret_dataset_name_classes(dataset, names);
    else
        status = claret_fail(CLARET_FORMAT, "%s: ten class names are expected, one a line", path);
    free(data);
    return status;
}

/* ---- the Python layout --------------------------------------------------------------------------------- */

static enum claret_status copy_labels(const char *path, const struct claret_pickle_value *list,
                                      int32_t *labels)
{
    if (!list || list->kind != CLARET_PICKLE_LIST || list->count != FILE_IMAGES)
        return claret_fail(CLARET_FORMAT, "%s: \"labels\" is not a list of %d", path, FILE_IMAGES);
    for (int i = 0; i < FILE_IMAGES; i++) {
        const struct claret_pickle_value *label = list->items[i];
        if (label->kind != CLARET_PICKLE_INT)
            return claret_fail(CLARET_FORMAT, "%s: label %d (from 0) is no number", path, i);
        if (label->integer < 0 || label->integer >= CLASSES)
            return bad_label(path, i, label->integer);
        labels[i] = (int32_t)label->integer;
    }
    return CLARET_OK;
}

static enum claret_status copy_images(const char *path, const struct claret_pickle_value *array,
                                      unsigned char *images)
{
    if (!array || array->kind != CLARET_PICKLE_ARRAY)
        return claret_fail(CLARET_FORMAT, "%s: \"data\" is not a numpy array", path);
    if (array->rows != FILE_IMAGES || array->columns != PIXELS)
        return claret_fail(CLARET_FORMAT, "%s: \"data\" is %zux%zu, where %dx%d is expected", path,
                           array->rows, array->columns, FILE_IMAGES, PIXELS);
    if (!array->fortran) {
        memcpy(images, array->bytes, array->size);
        return CLARET_OK;
    }
    for (size_t pixel = 0; pixel < PIXELS; pixel++) {
        for (size_t i = 0; i < FILE_IMAGES; i++)
            images[i * PIXELS + pixel] = array->bytes[pixel * FILE_IMAGES + i];
    }
    return CLARET_OK;
}

static enum claret_status read_python(const char *path, unsigned char *images, int32_t *labels)
{
    const struct claret_pickle_value *value;
    struct claret_arena arena = {0};
    enum claret_status status;
    char *data;
    size_t size;

    CLARET_TRY(claret_file_read(path, PICKLE_LIMIT, &data, &size));
    CLARET_GOTO(done, claret_pickle_read(path, (const unsigned char *)data, size, &arena, &value));
    CLARET_GOTO(done, copy_labels(path, claret_pickle_get(value, "labels"), labels));
    CLARET_GOTO(done, copy_images(path, claret_pickle_get(value, "data"), images));
done:
    claret_arena_free(&arena);
    free(data);
    return status;
}

static enum claret_status copy_names(const char *path, const struct claret_pickle_value *list,
                                     struct claret_arena *arena, struct claret_dataset *dataset)
{
    const char *names[CLASSES];

    if (!list || list->kind != CLARET_PICKLE_LIST || list->count != CLASSES)
        return claret_fail(CLARET_FORMAT, "%s: \"label_names\" is not a list of %d", path, CLASSES);
    for (int i = 0; i < CLASSES; i++) {
        const struct claret_pickle_value *text = list->items[i];
        char *name;
        if (text->kind != CLARET_PICKLE_TEXT || text->size > 64 || memchr(text->bytes, 0, text->size))
            return claret_fail(CLARET_FORMAT, "%s: class name %d (from 0) is no short text", path, i);
        name = claret_arena_alloc(arena, text->size + 1); /* zeroed, so terminated */
        if (!name)
            return claret_no_memory();
        if (text->size)
            memcpy(name, text->bytes, text->size);
        if (!good_name(name))
            return claret_fail(CLARET_FORMAT, "%s: class name %d (from 0) cannot be shown", path, i);
        names[i] = name;
    }
    return claret_dataset_name_classes(dataset, names);
}

static enum claret_status read_python_names(const char *path, struct claret_dataset *dataset)
{
    const struct claret_pickle_value *value;
    struct claret_arena arena = {0};
    enum claret_status status;
    struct stat info;
    char *data;
    size_t size;

    if (stat(path, &info) != 0 && errno == ENOENT)
        return claret_dataset_name_classes(dataset, known_names);
    CLARET_TRY(claret_file_read(path, 65536, &data, &size));
    CLARET_GOTO(done, claret_pickle_read(path, (const unsigned char *)data, size, &arena, &value));
    status = copy_names(path, claret_pickle_get(value, "label_names"), &arena, dataset);
done:
    claret_arena_free(&arena);
    free(data);
    return status;
}

/* ---- finding and opening ------------------------------------------------------------------------------- */

static const struct layout layouts[] = {
    {"cifar-10-batches-bin", ".bin", "batches.meta.txt", read_binary, read_text_names},
    {"cifar-10-batches-py", "", "batches.meta", read_python, read_python_names},
};
#define LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

/* "data_batch_1.bin" and so on; `file` TRAIN_FILES is the test file. */
static void file_name(const struct layout *layout, int file, char name[32])
{
    if (file < TRAIN_FILES)
        claret_print(name, 32, "data_batch_%d%s", file + 1, layout->suffix);
    else
        claret_print(name, 32, "test_batch%s", layout->suffix);
}

/* Whether any of the six files is there: with some of them missing, the folder is still the one that is
 * meant. */
static enum claret_status look(const char *folder, const struct layout *layout, bool *found)
{
    struct stat info;
    char name[32], *path;

    *found = false;
    for (int file = 0; file <= TRAIN_FILES && !*found; file++) {
        file_name(layout, file, name);
        path = claret_path_join(folder, name);
        if (!path)
            return claret_no_memory();
        *found = stat(path, &info) == 0;
        bool locked = !*found && errno == EACCES;
        if (locked)
            claret_fail(CLARET_IO, "%s: cannot be looked for: %s", path, strerror(EACCES));
        free(path);
        if (locked)
            return CLARET_IO;
    }
    return CLARET_OK;
}

static enum claret_status not_found(const char *folder)
{
    static const char *const archives[] = {"cifar-10-binary.tar.gz", "cifar-10-python.tar.gz"};
    struct stat info;
    const char *there = "";

    if (stat(folder, &info) != 0)
        there = errno == ENOENT ? ": there is no such folder" : ": it cannot be looked into";
    else if (!S_ISDIR(info.st_mode))
        there = ": it is not a folder";
    claret_fail(CLARET_NOT_FOUND,
                "no CIFAR-10 in %s%s\n"
                "Looked for data_batch_1.bin in %s/%s and %s, for data_batch_1 in %s/%s and %s.",
                folder, there, folder, layouts[0].folder, folder, folder, layouts[1].folder, folder);
    for (int i = 0; i < 2; i++) {
        char *path = claret_path_join(folder, archives[i]);
        bool packed = path && stat(path, &info) == 0;
        if (packed)
            claret_error_context("The archive is there, but not unpacked: tar -xzf %s -C %s", path, folder);
        free(path);
        if (packed)
            return CLARET_NOT_FOUND;
    }
    claret_error_context("To get CIFAR-10 (170 MB): fetch " ADDRESS "\n"
                         "(MD5 " MD5 ") and unpack it: mkdir -p %s && tar -xzf cifar-10-binary.tar.gz -C %s",
                         folder, folder);
    claret_error_context("To train without it, on the built-in set: --data shapes");
    return CLARET_NOT_FOUND;
}

static enum claret_status read_split(const struct layout *layout, const char *folder, enum claret_split split,
                                     struct claret_dataset *dataset)
{
    int first = split == CLARET_TRAIN ? 0 : TRAIN_FILES, files = split == CLARET_TRAIN ? TRAIN_FILES : 1;
    enum claret_status status = CLARET_OK;
    char name[32], *path;

    for (int i = 0; i < files && status == CLARET_OK; i++) {
        file_name(layout, first + i, name);
        path = claret_path_join(folder, name);
        if (!path)
            return claret_no_memory();
        status = layout->read(path, dataset->images + (size_t)i * FILE_IMAGES * PIXELS,
                              dataset->labels + (size_t)i * FILE_IMAGES);
        free(path);
    }
    if (status == CLARET_FORMAT || status == CLARET_NOT_FOUND)
        claret_error_context("Get it again: " ADDRESS " (MD5 " MD5 ")");
    if (status != CLARET_OK)
        return status;
    path = claret_path_join(folder, layout->names);
    if (!path)
        return claret_no_memory();
    status = layout->read_names(path, dataset);
    free(path);
    return status;
}

static enum claret_status open_in(const struct layout *layout, const char *folder, enum claret_split split,
                                  struct claret_dataset **dataset)
{
    size_t count = split == CLARET_TRAIN ? TRAIN_FILES * FILE_IMAGES : FILE_IMAGES;
    struct claret_dataset *made;
    enum claret_status status;

    CLARET_TRY(claret_dataset_allocate(CLARET_U8, 3, SIDE, SIDE, CLASSES, count, &made));
    status = read_split(layout, folder, split, made);
    if (status == CLARET_OK)
        *dataset = made;
    else
        claret_dataset_destroy(made);
    return status;
}

enum claret_status claret_cifar_open(const char *folder, enum claret_split split,
                                     struct claret_dataset **dataset)
{
    for (size_t i = 0; i < LAYOUTS; i++) {
        char *inner = claret_path_join(folder, layouts[i].folder);
        const char *places[] = {inner, folder};
        enum claret_status status = inner ? CLARET_OK : claret_no_memory();
        bool found = false;

        for (int place = 0; place < 2 && status == CLARET_OK && !found; place++) {
            status = look(places[place], &layouts[i], &found);
            if (status == CLARET_OK && found)
                status = open_in(&layouts[i], places[place], split, dataset);
        }
        free(inner);
        if (found || status != CLARET_OK)
            return status;
    }
    return not_found(folder);
}
