/* A network's tensors in safetensors files. */
#include "weights.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/pattern.h"
#include "base/text.h"
#include "train/safetensors.h"

#define MAX_INTEGER (1 << 24) /* up to here a float has every whole number */

/* ---- loading ------------------------------------------------------------------------------------------- */

static bool wanted(const struct claret_weight *weights, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(weights[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Whether the file is a checkpoint, and the tensor the optimizer's in it. */
static bool optimizers(const struct claret_safetensors *reader, const struct claret_safetensor *entry)
{
    const json_t *metadata = json_object_get(reader->header, "__metadata__");

    return json_object_get(metadata, "claret.checkpoint") &&
           strncmp(entry->name, CLARET_WEIGHTS_OPTIMIZER, sizeof CLARET_WEIGHTS_OPTIMIZER - 1) == 0;
}

/* Both sides' tensors must be the same, but for a checkpoint's of the optimizer and those that the patterns
 * match: the error names the first that one side has alone, of each side. */
static enum claret_status check_names(const struct claret_safetensors *reader,
                                      const struct claret_weight *weights, int count, const char *patterns)
{
    const char *missing = NULL, *unexpected = NULL;

    for (int i = 0; i < count && !missing; i++) {
        if (!claret_safetensors_find(reader, weights[i].name))
            missing = weights[i].name;
    }
    for (size_t i = 0; i < reader->entry_count && !unexpected; i++) {
        if (!wanted(weights, count, reader->entries[i].name) && !optimizers(reader, &reader->entries[i]) &&
            !claret_pattern_match(patterns, reader->entries[i].name))
            unexpected = reader->entries[i].name;
    }
    if (missing && unexpected)
        return claret_fail(CLARET_SHAPE,
                           "%s: these are another network's weights: %s is missing, %s is not the network's",
                           reader->path, missing, unexpected);
    if (missing)
        return claret_fail(CLARET_SHAPE, "%s: %s is missing", reader->path, missing);
    if (unexpected)
        return claret_fail(CLARET_SHAPE, "%s: the network has no %s", reader->path, unexpected);
    return CLARET_OK;
}

static const char *dtype_of(const struct claret_weight *weight)
{
    return weight->integer ? "I64" : "F32";
}

static size_t size_of(const struct claret_weight *weight)
{
    return weight->integer ? 8 : 4;
}

/* Whole numbers that a float has exactly. */
static enum claret_status check_integers(const struct claret_safetensors *reader,
                                         const struct claret_weight *weight, const unsigned char *bytes)
{
    for (int64_t i = 0; i < claret_shape_count(&weight->shape); i++) {
        int64_t number = (int64_t)claret_safetensors_number(bytes + 8 * i, 8);
        if (number < 0 || number > MAX_INTEGER)
            return claret_fail(CLARET_FORMAT, "%s: %s: %" PRId64 " is not from 0 to %d", reader->path,
                               weight->name, number, MAX_INTEGER);
    }
    return CLARET_OK;
}

static enum claret_status check_weight(const struct claret_safetensors *reader,
                                       const struct claret_weight *weight)
{
    const struct claret_safetensor *entry = claret_safetensors_find(reader, weight->name);
    struct claret_text text = {0};
    size_t rank = json_array_size(entry->shape);
    bool same = rank == (size_t)weight->shape.rank;
    char wants[96];

    if (strcmp(entry->dtype, dtype_of(weight)) != 0)
        return claret_fail(CLARET_FORMAT, "%s: %s: dtype %s, where %s is expected", reader->path,
                           weight->name, entry->dtype, dtype_of(weight));
    for (size_t i = 0; same && i < rank; i++)
        same = json_integer_value(json_array_get(entry->shape, i)) == weight->shape.dim[i];
    if (same)
        return CLARET_OK;
    claret_safetensors_shape(entry->shape, &text);
    claret_fail(CLARET_SHAPE, "%s: %s: file has %s, network wants %s", reader->path, weight->name,
                text.failed ? "another shape" : text.data, claret_shape_format(&weight->shape, 0, wants));
    claret_text_drop(&text);
    return CLARET_SHAPE;
}

/* Fills the weight's values. */
static void get_values(const struct claret_weight *weight, const unsigned char *bytes)
{
    size_t count = (size_t)claret_shape_count(&weight->shape);
    if (!weight->integer)
        claret_safetensors_floats(bytes, weight->values, count);
    for (size_t i = 0; weight->integer && i < count; i++)
        weight->values[i] = (float)claret_safetensors_number(bytes + 8 * i, 8);
}

enum claret_status claret_weights_load(const char *path, const struct claret_weight *weights, int count)
{
    return claret_weights_load_part(path, weights, count, "");
}

enum claret_status claret_weights_load_part(const char *path, const struct claret_weight *all, int all_count,
                                            const char *patterns)
{
    struct claret_safetensors reader;
    enum claret_status status;
    unsigned char *data = NULL;
    struct claret_weight *weights = calloc((size_t)all_count + 1, sizeof *weights);
    int count = 0;

    CLARET_GOTO(done, claret_safetensors_open(path, &reader));
    if (!weights) {
        status = claret_no_memory();
        goto done;
    }
    for (int i = 0; i < all_count; i++)
        if (!claret_pattern_match(patterns, all[i].name))
            weights[count++] = all[i];
    CLARET_GOTO(done, check_names(&reader, weights, count, patterns));
    for (int i = 0; i < count; i++)
        CLARET_GOTO(done, check_weight(&reader, &weights[i]));
    /* Everything is read before anything is changed. What is read fits the network, so it fits into memory.
     */
    data = malloc((size_t)reader.data_size + 1);
    if (!data) {
        status = claret_no_memory();
        goto done;
    }
    CLARET_GOTO(done, claret_safetensors_read(&reader, data, (size_t)reader.data_size));
    for (int i = 0; i < count; i++)
        if (weights[i].integer)
            CLARET_GOTO(done,
                        check_integers(&reader, &weights[i],
                                       data + claret_safetensors_find(&reader, weights[i].name)->begin));
    for (int i = 0; i < count; i++)
        get_values(&weights[i], data + claret_safetensors_find(&reader, weights[i].name)->begin);
done:
    free(weights);
    free(data);
    claret_safetensors_close(&reader);
    return status;
}

enum claret_status claret_weights_read(const char *path, const char *name, float **values, size_t *count)
{
    const struct claret_safetensor *entry;
    struct claret_safetensors reader;
    enum claret_status status;
    unsigned char *data = NULL;
    float *numbers = NULL;
    int width;

    CLARET_GOTO(done, claret_safetensors_open(path, &reader));
    entry = claret_safetensors_find(&reader, name);
    if (!entry) {
        status = claret_fail(CLARET_NOT_FOUND, "%s: it has no %s", path, name);
        goto done;
    }
    width = (int)claret_safetensors_size(entry->dtype);
    if (strcmp(entry->dtype, "F32") != 0 && strcmp(entry->dtype, "I32") != 0 &&
        strcmp(entry->dtype, "I64") != 0 && strcmp(entry->dtype, "U8") != 0) {
        status = claret_fail(CLARET_FORMAT, "%s: %s: dtype %s", path, name, entry->dtype);
        goto done;
    }
    data = malloc((size_t)(entry->end - entry->begin) + 1);
    numbers = malloc((size_t)entry->count * sizeof(*numbers) + 1);
    if (!data || !numbers) {
        status = claret_no_memory();
        goto done;
    }
    if (fseeko(reader.stream, (off_t)(reader.data_start + entry->begin), SEEK_SET) != 0) {
        status = claret_fail(CLARET_IO, "%s: cannot be read: %s", path, strerror(errno));
        goto done;
    }
    CLARET_GOTO(done, claret_safetensors_read(&reader, data, (size_t)(entry->end - entry->begin)));
    if (entry->dtype[0] == 'F')
        claret_safetensors_floats(data, numbers, (size_t)entry->count);
    for (uint64_t i = 0; entry->dtype[0] != 'F' && i < entry->count; i++) {
        uint64_t number = claret_safetensors_number(data + (size_t)i * (size_t)width, width);
        numbers[i] = width == 4 ? (float)(int32_t)(uint32_t)number : (float)(int64_t)number;
    }
    *values = numbers;
    *count = (size_t)entry->count;
    numbers = NULL;
done:
    free(numbers);
    free(data);
    claret_safetensors_close(&reader);
    return status;
}

/* ---- saving -------------------------------------------------------------------------------------------- */

static int compare_names(const void *left, const void *right)
{
    const struct claret_weight *a = left, *b = right;

    return strcmp(a->name, b->name);
}

/* The header of `weights`, which are sorted, with `notes` (NULL: none); malloc'ed by jansson, NULL: out of
 * memory or no UTF-8 in a name.
 */
static char *make_header(const struct claret_weight *weights, int count, const char *const *notes)
{
    json_t *header = json_object(), *metadata = notes ? json_object() : NULL;
    json_int_t offset = 0;
    char *text;
    int failed = !header;

    for (int i = 0; notes && notes[i]; i += 2)
        failed |= json_object_set_new(metadata, notes[i], json_string(notes[i + 1]));
    if (notes)
        failed |= json_object_set_new(header, "__metadata__", metadata);
    for (int i = 0; i < count && !failed; i++) {
        json_int_t end =
            offset + (json_int_t)size_of(&weights[i]) * (json_int_t)claret_shape_count(&weights[i].shape);
        json_t *shape = json_array();
        for (int d = 0; d < weights[i].shape.rank; d++)
            failed |= json_array_append_new(shape, json_integer(weights[i].shape.dim[d]));
        failed |= json_object_set_new(header, weights[i].name,
                                      json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype_of(&weights[i]),
                                                "shape", shape, "data_offsets", offset, end));
        offset = end;
    }
    text = failed ? NULL : json_dumps(header, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(header);
    return text;
}

/* The whole file in memory, *bytes malloc'ed. */
static enum claret_status make_file(const struct claret_weight *weights, int count, const char *const *notes,
                                    unsigned char **bytes, size_t *size)
{
    char *header = make_header(weights, count, notes);
    size_t header_size, padded, data_size = 0;
    unsigned char *file, *data;

    if (!header)
        return claret_no_memory();
    header_size = strlen(header);
    padded = (header_size + 7) / 8 * 8;
    for (int i = 0; i < count; i++)
        data_size += size_of(&weights[i]) * (size_t)claret_shape_count(&weights[i].shape);
    file = malloc(8 + padded + data_size);
    if (!file) {
        free(header);
        return claret_no_memory();
    }
    claret_safetensors_put(file, padded, 8);
    memset(file + 8, ' ', padded);
    memcpy(file + 8, header, header_size);
    free(header);
    data = file + 8 + padded;
    for (int i = 0; i < count; i++) {
        for (int64_t j = 0; j < claret_shape_count(&weights[i].shape); j++, data += size_of(&weights[i])) {
            uint32_t bits;
            memcpy(&bits, &weights[i].values[j], 4);
            if (weights[i].integer)
                claret_safetensors_put(data, (uint64_t)weights[i].values[j], 8);
            else
                claret_safetensors_put(data, bits, 4);
        }
    }
    *bytes = file;
    *size = 8 + padded + data_size;
    return CLARET_OK;
}

enum claret_status claret_weights_save(const char *path, const struct claret_weight *weights, int count,
                                       char sha256[65])
{
    return claret_weights_save_noted(path, weights, count, NULL, sha256);
}

enum claret_status claret_weights_save_noted(const char *path, const struct claret_weight *weights, int count,
                                             const char *const *notes, char sha256[65])
{
    struct claret_weight *sorted = malloc(((size_t)count + 1) * sizeof(*sorted));
    unsigned char *bytes = NULL;
    enum claret_status status;
    size_t size;

    if (!sorted)
        return claret_no_memory();
    if (count)
        memcpy(sorted, weights, (size_t)count * sizeof(*sorted));
    qsort(sorted, (size_t)count, sizeof(*sorted), compare_names);
    CLARET_GOTO(done, make_file(sorted, count, notes, &bytes, &size));
    CLARET_GOTO(done, claret_file_write(path, bytes, size));
    if (sha256)
        claret_sha256(bytes, size, sha256);
done:
    free(bytes);
    free(sorted);
    return status;
}

/* ---- whole files --------------------------------------------------------------------------------------- */

void claret_weights_list_free(struct claret_weights_list *list)
{
    for (int i = 0; i < list->count; i++) {
        free((char *)list->list[i].name);
        free(list->list[i].values);
    }
    free(list->list);
    *list = (struct claret_weights_list){0};
}

enum claret_status claret_weights_list_add(struct claret_weights_list *list, const char *name,
                                           const struct claret_shape *shape, bool integer)
{
    struct claret_weight *larger = realloc(list->list, ((size_t)list->count + 1) * sizeof *larger);
    if (!larger)
        return claret_no_memory();
    list->list = larger;
    struct claret_weight *made = &larger[list->count++];
    *made = (struct claret_weight){.name = claret_strdup(name),
                                   .shape = *shape,
                                   .values = malloc((size_t)claret_shape_count(shape) * sizeof(float) + 1),
                                   .integer = integer};
    return made->name && made->values ? CLARET_OK : claret_no_memory();
}

const struct claret_weight *claret_weights_list_find(const struct claret_weights_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->list[i].name, name) == 0)
            return &list->list[i];
    return NULL;
}

void claret_weights_sort(struct claret_weights_list *list)
{
    if (list->count)
        qsort(list->list, (size_t)list->count, sizeof *list->list, compare_names);
}

static enum claret_status load_entry(const struct claret_safetensors *reader,
                                     const struct claret_safetensor *entry, const unsigned char *data,
                                     struct claret_weights_list *list)
{
    struct claret_shape shape = {.rank = (int)json_array_size(entry->shape)};
    bool integer = strcmp(entry->dtype, "I64") == 0;
    if (!integer && strcmp(entry->dtype, "F32") != 0)
        return claret_fail(CLARET_FORMAT, "%s: %s: dtype %s", reader->path, entry->name, entry->dtype);
    if (shape.rank > CLARET_MAX_RANK)
        return claret_fail(CLARET_FORMAT, "%s: %s: %d dimensions", reader->path, entry->name, shape.rank);
    for (int i = 0; i < shape.rank; i++)
        shape.dim[i] = json_integer_value(json_array_get(entry->shape, (size_t)i));
    CLARET_TRY(claret_weights_list_add(list, entry->name, &shape, integer));
    struct claret_weight *made = &list->list[list->count - 1];
    if (integer)
        CLARET_TRY(check_integers(reader, made, data + entry->begin));
    get_values(made, data + entry->begin);
    return CLARET_OK;
}

static enum claret_status load_notes(const struct claret_safetensors *reader,
                                     const struct claret_weights_note *notes)
{
    const json_t *metadata = json_object_get(reader->header, "__metadata__");
    for (; notes->key; notes++) {
        const char *text = json_string_value(json_object_get(metadata, notes->key));
        *notes->text = text ? claret_strdup(text) : NULL;
        if (text && !*notes->text)
            return claret_no_memory();
    }
    return CLARET_OK;
}

enum claret_status claret_weights_load_all(const char *path, const struct claret_weights_note *notes,
                                           struct claret_weights_list *list)
{
    struct claret_safetensors reader;
    unsigned char *data = NULL;
    enum claret_status status;
    CLARET_GOTO(done, claret_safetensors_open(path, &reader));
    CLARET_GOTO(done, load_notes(&reader, notes));
    data = malloc((size_t)reader.data_size + 1);
    if (!data) {
        status = claret_no_memory();
        goto done;
    }
    CLARET_GOTO(done, claret_safetensors_read(&reader, data, (size_t)reader.data_size));
    for (size_t i = 0; i < reader.entry_count; i++)
        CLARET_GOTO(done, load_entry(&reader, &reader.entries[i], data, list));
    claret_weights_sort(list);
done:
    free(data);
    claret_safetensors_close(&reader);
    return status;
}
