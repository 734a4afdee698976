/* One file of CIFAR-10 or CIFAR-100, in the binary or the Python layout. */
#include "cifar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "pickle.h"
#include "source.h"

#define PIXELS CLARET_CIFAR_PIXELS
#define PICKLE_LIMIT ((size_t)256 << 20) /* the published files have 31 and 155 MB */
#define MAX_CLASSES 100

static enum claret_status bad_label(const char *path, const struct claret_cifar_labels *labels, size_t image,
                                    int64_t label)
{
    return claret_fail(CLARET_FORMAT, "%s: image %zu (from 0) has label %lld, where 0 to %d can be", path,
                       image, (long long)label, labels->classes - 1);
}

static enum claret_status known_names(const struct claret_cifar_labels *labels,
                                      struct claret_dataset *dataset)
{
    return labels->known_names ? claret_dataset_name_classes(dataset, labels->known_names) : CLARET_OK;
}

static bool missing(const char *path)
{
    struct stat info;

    return stat(path, &info) != 0 && errno == ENOENT;
}

/* ---- the binary layout --------------------------------------------------------------------------------- */

/* Before reading: a file of another size is not read at all. A missing one is left to the reading to report.
 */
static enum claret_status check_size(const char *path, const struct claret_cifar_labels *labels, size_t count,
                                     size_t record)
{
    struct stat info;

    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || (uint64_t)info.st_size == count * record)
        return CLARET_OK;
    bool more = (uint64_t)info.st_size > count * record;
    return claret_fail(CLARET_FORMAT,
                       "%s: %lld bytes, where %zu are expected (%zu images of %zu bytes): the file is %s%s",
                       path, (long long)info.st_size, count * record, count, record,
                       more ? "not " : "truncated", more ? labels->set : "");
}

enum claret_status claret_cifar_read_binary(const char *path, const struct claret_cifar_labels *labels,
                                            size_t count, unsigned char *images, int32_t *values)
{
    const size_t bytes = (size_t)labels->bytes, record = bytes + PIXELS;
    enum claret_status status = CLARET_OK;
    char *data;
    size_t size;

    CLARET_TRY(check_size(path, labels, count, record));
    CLARET_TRY(claret_file_read(path, count * record, &data, &size));
    if (size != count * record)
        status = claret_fail(CLARET_FORMAT, "%s: it ended after %zu of %zu bytes while it was read", path,
                             size, count * record);
    for (size_t i = 0; i < count && status == CLARET_OK; i++) {
        const char *at = data + i * record;
        values[i] = (unsigned char)at[labels->at];
        if (values[i] >= labels->classes)
            status = bad_label(path, labels, i, values[i]);
        memcpy(images + i * PIXELS, at + bytes, PIXELS);
    }
    free(data);
    return status;
}

enum claret_status claret_cifar_read_binary_names(const char *path, const struct claret_cifar_labels *labels,
                                                  struct claret_dataset *dataset)
{
    const char *names[MAX_CLASSES];
    enum claret_status status;
    char *data, *line, *next;
    size_t size;
    int count = 0;

    if (missing(path))
        return known_names(labels, dataset);
    CLARET_TRY(claret_file_read(path, 65536, &data, &size));
    for (line = data; line && count <= labels->classes; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        line[strcspn(line, "\r")] = '\0';
        if (!*line)
            continue;
        if (count < labels->classes)
            names[count] = line;
        count++;
    }
    for (int i = 0; i < count && i < labels->classes; i++) {
        if (!claret_data_good_name(names[i]))
            count = 0;
    }
    if (count == labels->classes)
        status = claret_dataset_name_classes(dataset, names);
    else
        status =
            claret_fail(CLARET_FORMAT, "%s: %d class names are expected, one a line", path, labels->classes);
    free(data);
    return status;
}

/* ---- the Python layout --------------------------------------------------------------------------------- */

static enum claret_status copy_labels(const char *path, const struct claret_cifar_labels *labels,
                                      const struct claret_pickle_value *list, size_t count, int32_t *values)
{
    if (!list || list->kind != CLARET_PICKLE_LIST || list->count != count)
        return claret_fail(CLARET_FORMAT, "%s: \"%s\" is not a list of %zu", path, labels->labels_key, count);
    for (size_t i = 0; i < count; i++) {
        const struct claret_pickle_value *label = list->items[i];
        if (label->kind != CLARET_PICKLE_INT)
            return claret_fail(CLARET_FORMAT, "%s: label %zu (from 0) is no number", path, i);
        if (label->integer < 0 || label->integer >= labels->classes)
            return bad_label(path, labels, i, label->integer);
        values[i] = (int32_t)label->integer;
    }
    return CLARET_OK;
}

static enum claret_status copy_images(const char *path, const struct claret_pickle_value *array, size_t count,
                                      unsigned char *images)
{
    if (!array || array->kind != CLARET_PICKLE_ARRAY)
        return claret_fail(CLARET_FORMAT, "%s: \"data\" is not a numpy array", path);
    if (array->rows != count || array->columns != PIXELS)
        return claret_fail(CLARET_FORMAT, "%s: \"data\" is %zux%zu, where %zux%d is expected", path,
                           array->rows, array->columns, count, PIXELS);
    if (!array->fortran) {
        memcpy(images, array->bytes, array->size);
        return CLARET_OK;
    }
    for (size_t pixel = 0; pixel < PIXELS; pixel++) {
        for (size_t i = 0; i < count; i++)
            images[i * PIXELS + pixel] = array->bytes[pixel * count + i];
    }
    return CLARET_OK;
}

enum claret_status claret_cifar_read_python(const char *path, const struct claret_cifar_labels *labels,
                                            size_t count, unsigned char *images, int32_t *values)
{
    const struct claret_pickle_value *value;
    struct claret_arena arena = {0};
    enum claret_status status;
    char *data;
    size_t size;

    CLARET_TRY(claret_file_read(path, PICKLE_LIMIT, &data, &size));
    CLARET_GOTO(done, claret_pickle_read(path, (const unsigned char *)data, size, &arena, &value));
    CLARET_GOTO(done, copy_labels(path, labels, claret_pickle_get(value, labels->labels_key), count, values));
    CLARET_GOTO(done, copy_images(path, claret_pickle_get(value, "data"), count, images));
done:
    claret_arena_free(&arena);
    free(data);
    return status;
}

static enum claret_status copy_names(const char *path, const struct claret_cifar_labels *labels,
                                     const struct claret_pickle_value *list, struct claret_arena *arena,
                                     struct claret_dataset *dataset)
{
    const char *names[MAX_CLASSES];

    if (!list || list->kind != CLARET_PICKLE_LIST || list->count != (size_t)labels->classes)
        return claret_fail(CLARET_FORMAT, "%s: \"%s\" is not a list of %d", path, labels->names_key,
                           labels->classes);
    for (int i = 0; i < labels->classes; i++) {
        const struct claret_pickle_value *text = list->items[i];
        char *name;
        if (text->kind != CLARET_PICKLE_TEXT || text->size > 64 || memchr(text->bytes, 0, text->size))
            return claret_fail(CLARET_FORMAT, "%s: class name %d (from 0) is no short text", path, i);
        name = claret_arena_alloc(arena, text->size + 1); /* zeroed, so terminated */
        if (!name)
            return claret_no_memory();
        if (text->size)
            memcpy(name, text->bytes, text->size);
        if (!claret_data_good_name(name))
            return claret_fail(CLARET_FORMAT, "%s: class name %d (from 0) cannot be shown", path, i);
        names[i] = name;
    }
    return claret_dataset_name_classes(dataset, names);
}

enum claret_status claret_cifar_read_python_names(const char *path, const struct claret_cifar_labels *labels,
                                                  struct claret_dataset *dataset)
{
    const struct claret_pickle_value *value;
    struct claret_arena arena = {0};
    enum claret_status status;
    char *data;
    size_t size;

    if (missing(path))
        return known_names(labels, dataset);
    CLARET_TRY(claret_file_read(path, 65536, &data, &size));
    CLARET_GOTO(done, claret_pickle_read(path, (const unsigned char *)data, size, &arena, &value));
    status = copy_names(path, labels, claret_pickle_get(value, labels->names_key), &arena, dataset);
done:
    claret_arena_free(&arena);
    free(data);
    return status;
}
