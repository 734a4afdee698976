/* safetensors: eight bytes with the header's size (little-endian), the header as JSON
 *     {"conv1.bias": {"dtype": "F32", "shape": [16], "data_offsets": [0, 64]}, …, "__metadata__": {…}}
 * and the tensors' bytes, little-endian, to which the offsets point: without gap or overlap. */
#include "weights.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"

#define HEADER_LIMIT 100000000 /* the format's own */
#define MAX_INTEGER (1 << 24)  /* up to here a float has every whole number */

struct entry {
    const char *name;    /* the header's */
    const char *dtype;   /* likewise */
    const json_t *shape; /* array of integers, checked */
    uint64_t begin, end; /* bytes from the start of the data */
    uint64_t count;      /* elements */
};

struct reader {
    const char *path;
    FILE *stream;
    json_t *header;
    struct entry *entries; /* by begin */
    size_t entry_count;
    uint64_t data_start, data_size; /* bytes in the file */
};

/* ---- numbers in bytes ---------------------------------------------------------------------------------- */

static uint64_t get_number(const unsigned char *bytes, int width)
{
    uint64_t number = 0;

    for (int i = width; i-- > 0;)
        number = number << 8 | bytes[i];
    return number;
}

static void put_number(unsigned char *bytes, uint64_t number, int width)
{
    for (int i = 0; i < width; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
}

static void get_floats(const unsigned char *bytes, float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)get_number(bytes + 4 * i, 4);
        memcpy(&values[i], &bits, 4);
    }
}

/* ---- the header ---------------------------------------------------------------------------------------- */

/* "16x3x5x5"; "scalar" where there are no dimensions. */
static void show_shape(const json_t *shape, struct claret_text *text)
{
    for (size_t i = 0; i < json_array_size(shape); i++)
        claret_text_add(text, i ? "x%" JSON_INTEGER_FORMAT : "%" JSON_INTEGER_FORMAT,
                        json_integer_value(json_array_get(shape, i)));
    if (!json_array_size(shape))
        claret_text_add(text, "scalar");
}

/* Bytes of an element; 0: not a type of the format. */
static unsigned dtype_size(const char *dtype)
{
    static const struct {
        const char *name;
        unsigned size;
    } types[] = {{"F32", 4}, {"I64", 8}, {"F64", 8},  {"F16", 2}, {"BF16", 2}, {"I32", 4}, {"I16", 2},
                 {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"U16", 2}, {"U32", 4},  {"U64", 8}};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].name, dtype) == 0)
            return types[i].size;
    }
    return 0;
}

/* A non-negative integer; jansson refuses what exceeds 63 bits. */
static bool get_size(const json_t *value, uint64_t *size)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *size = (uint64_t)json_integer_value(value);
    return true;
}

static enum claret_status read_shape(const struct reader *reader, struct entry *entry, unsigned element)
{
    uint64_t limit = INT64_MAX / element, dimension;

    entry->count = 1;
    if (!json_is_array(entry->shape))
        return claret_fail(CLARET_FORMAT, "%s: %s: it has no shape", reader->path, entry->name);
    for (size_t i = 0; i < json_array_size(entry->shape); i++) {
        if (!get_size(json_array_get(entry->shape, i), &dimension))
            return claret_fail(CLARET_FORMAT, "%s: %s: dimension %zu of its shape is no size", reader->path,
                               entry->name, i);
        if (dimension && entry->count > limit / dimension)
            return claret_fail(CLARET_FORMAT, "%s: %s: its shape has more elements than can be", reader->path,
                               entry->name);
        entry->count *= dimension;
    }
    return CLARET_OK;
}

static enum claret_status read_entry(const struct reader *reader, const char *name, const json_t *value,
                                     struct entry *entry)
{
    const json_t *dtype = json_object_get(value, "dtype"), *offsets = json_object_get(value, "data_offsets");
    unsigned element;

    entry->name = name;
    entry->shape = json_object_get(value, "shape");
    if (!json_is_object(value) || json_object_size(value) != 3 || !json_is_string(dtype) || !entry->shape ||
        !offsets)
        return claret_fail(CLARET_FORMAT, "%s: %s: not a tensor with dtype, shape and data_offsets",
                           reader->path, name);
    entry->dtype = json_string_value(dtype);
    element = dtype_size(entry->dtype);
    if (!element)
        return claret_fail(CLARET_FORMAT, "%s: %s: unknown dtype \"%s\"", reader->path, name, entry->dtype);
    CLARET_TRY(read_shape(reader, entry, element));
    if (!json_is_array(offsets) || json_array_size(offsets) != 2 ||
        !get_size(json_array_get(offsets, 0), &entry->begin) ||
        !get_size(json_array_get(offsets, 1), &entry->end) || entry->begin > entry->end)
        return claret_fail(CLARET_FORMAT, "%s: %s: its data_offsets are no range", reader->path, name);
    if (entry->end > reader->data_size)
        return claret_fail(CLARET_FORMAT,
                           "%s: %s: its data ends at byte %" PRIu64 ", the file has %" PRIu64
                           " bytes of data: it is truncated",
                           reader->path, name, entry->end, reader->data_size);
    if (entry->end - entry->begin != entry->count * element)
        return claret_fail(CLARET_FORMAT, "%s: %s: %" PRIu64 " elements of %s, but %" PRIu64 " bytes of data",
                           reader->path, name, entry->count, entry->dtype, entry->end - entry->begin);
    return CLARET_OK;
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

/* The tensors must cover the data exactly. */
static enum claret_status check_cover(const struct reader *reader)
{
    uint64_t at = 0;

    for (size_t i = 0; i < reader->entry_count; i++) {
        const struct entry *entry = &reader->entries[i];
        if (entry->begin != at)
            return claret_fail(CLARET_FORMAT,
                               "%s: %s: its data begins at byte %" PRIu64
                               ", %s the end of the one before, %" PRIu64,
                               reader->path, entry->name, entry->begin,
                               entry->begin < at ? "inside, before" : "with a gap after", at);
        at = entry->end;
    }
    if (at != reader->data_size)
        return claret_fail(CLARET_FORMAT, "%s: %" PRIu64 " bytes of data belong to no tensor", reader->path,
                           reader->data_size - at);
    return CLARET_OK;
}

static enum claret_status parse_header(struct reader *reader, const char *text, size_t size)
{
    const char *name;
    json_error_t error;
    json_t *value;

    /* Spaces may follow the object, not precede it. */
    if (!size || text[0] != '{')
        return claret_fail(CLARET_FORMAT, "%s: not a safetensors file: its header is no JSON object",
                           reader->path);
    reader->header = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (!reader->header)
        return claret_fail(CLARET_FORMAT, "%s: the header is broken at byte %d: %s", reader->path,
                           8 + error.position, error.text);
    reader->entries = calloc(json_object_size(reader->header) + 1, sizeof(*reader->entries));
    if (!reader->entries)
        return claret_no_memory();
    json_object_foreach(reader->header, name, value)
    {
        if (strcmp(name, "__metadata__") == 0)
            continue;
        CLARET_TRY(read_entry(reader, name, value, &reader->entries[reader->entry_count]));
        reader->entry_count++;
    }
    qsort(reader->entries, reader->entry_count, sizeof(*reader->entries), compare_entries);
    return check_cover(reader);
}

/* ---- the file ------------------------------------------------------------------------------------------ */

static void close_reader(struct reader *reader)
{
    if (reader->stream)
        fclose(reader->stream);
    json_decref(reader->header);
    free(reader->entries);
}

static enum claret_status read_bytes(const struct reader *reader, void *bytes, size_t size)
{
    errno = 0;
    if (size && fread(bytes, 1, size, reader->stream) != size)
        return claret_fail(CLARET_IO, "%s: cannot be read: %s", reader->path,
                           errno ? strerror(errno) : "it ended while it was read");
    return CLARET_OK;
}

static enum claret_status open_stream(struct reader *reader, uint64_t *size)
{
    struct stat info;
    /* O_NONBLOCK: so that a pipe is refused, not waited for. */
    int fd = open(reader->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return claret_fail(errno == ENOENT ? CLARET_NOT_FOUND : CLARET_IO, "%s: cannot be opened: %s",
                           reader->path, strerror(errno));
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || !(reader->stream = fdopen(fd, "rb"))) {
        close(fd);
        return claret_fail(CLARET_IO, "%s: not a file", reader->path);
    }
    *size = (uint64_t)info.st_size;
    return CLARET_OK;
}

/* Opens the file and checks all but the tensors' values. `reader` is to be closed in any case. */
static enum claret_status open_reader(const char *path, struct reader *reader)
{
    unsigned char prefix[8];
    enum claret_status status;
    uint64_t file_size, size;
    char *text;

    *reader = (struct reader){.path = path};
    CLARET_TRY(open_stream(reader, &file_size));
    if (file_size < sizeof(prefix))
        return claret_fail(CLARET_FORMAT, "%s: not a safetensors file: it has %" PRIu64 " bytes", path,
                           file_size);
    CLARET_TRY(read_bytes(reader, prefix, sizeof(prefix)));
    size = get_number(prefix, 8);
    if (size > HEADER_LIMIT)
        return claret_fail(CLARET_FORMAT, "%s: not a safetensors file: a header of %" PRIu64 " bytes", path,
                           size);
    if (size > file_size - sizeof(prefix))
        return claret_fail(CLARET_FORMAT,
                           "%s: a header of %" PRIu64 " bytes in a file of %" PRIu64
                           ": it is truncated or not a safetensors file",
                           path, size, file_size);
    reader->data_start = sizeof(prefix) + size;
    reader->data_size = file_size - reader->data_start;
    text = malloc((size_t)size + 1);
    if (!text)
        return claret_no_memory();
    status = read_bytes(reader, text, (size_t)size);
    if (status == CLARET_OK)
        status = parse_header(reader, text, (size_t)size);
    free(text);
    return status;
}

static const struct entry *find_entry(const struct reader *reader, const char *name)
{
    for (size_t i = 0; i < reader->entry_count; i++) {
        if (strcmp(reader->entries[i].name, name) == 0)
            return &reader->entries[i];
    }
    return NULL;
}

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
static bool optimizers(const struct reader *reader, const struct entry *entry)
{
    const json_t *metadata = json_object_get(reader->header, "__metadata__");

    return json_object_get(metadata, "claret.checkpoint") &&
           strncmp(entry->name, CLARET_WEIGHTS_OPTIMIZER, sizeof CLARET_WEIGHTS_OPTIMIZER - 1) == 0;
}

/* Both sides' tensors must be the same, but for a checkpoint's of the optimizer: the error names the first
 * that one side has alone, of each side. */
static enum claret_status check_names(const struct reader *reader, const struct claret_weight *weights,
                                      int count)
{
    const char *missing = NULL, *unexpected = NULL;

    for (int i = 0; i < count && !missing; i++) {
        if (!find_entry(reader, weights[i].name))
            missing = weights[i].name;
    }
    for (size_t i = 0; i < reader->entry_count && !unexpected; i++) {
        if (!wanted(weights, count, reader->entries[i].name) && !optimizers(reader, &reader->entries[i]))
            unexpected = reader->entries[i].name;
    }
    if (missing && unexpected)
        return claret_fail(CLARET_FORMAT,
                           "%s: these are another network's weights: %s is missing, %s is not the network's",
                           reader->path, missing, unexpected);
    if (missing)
        return claret_fail(CLARET_FORMAT, "%s: %s is missing", reader->path, missing);
    if (unexpected)
        return claret_fail(CLARET_FORMAT, "%s: the network has no %s", reader->path, unexpected);
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
static enum claret_status check_integers(const struct reader *reader, const struct claret_weight *weight,
                                         const unsigned char *bytes)
{
    for (int64_t i = 0; i < claret_shape_count(&weight->shape); i++) {
        int64_t number = (int64_t)get_number(bytes + 8 * i, 8);
        if (number < 0 || number > MAX_INTEGER)
            return claret_fail(CLARET_FORMAT, "%s: %s: %" PRId64 " is not from 0 to %d", reader->path,
                               weight->name, number, MAX_INTEGER);
    }
    return CLARET_OK;
}

static enum claret_status check_weight(const struct reader *reader, const struct claret_weight *weight)
{
    const struct entry *entry = find_entry(reader, weight->name);
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
    show_shape(entry->shape, &text);
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
        get_floats(bytes, weight->values, count);
    for (size_t i = 0; weight->integer && i < count; i++)
        weight->values[i] = (float)get_number(bytes + 8 * i, 8);
}

enum claret_status claret_weights_load(const char *path, const struct claret_weight *weights, int count)
{
    struct reader reader;
    enum claret_status status;
    unsigned char *data = NULL;

    CLARET_GOTO(done, open_reader(path, &reader));
    CLARET_GOTO(done, check_names(&reader, weights, count));
    for (int i = 0; i < count; i++)
        CLARET_GOTO(done, check_weight(&reader, &weights[i]));
    /* Everything is read before anything is changed. What is read fits the network, so it fits into memory.
     */
    data = malloc((size_t)reader.data_size + 1);
    if (!data) {
        status = claret_no_memory();
        goto done;
    }
    CLARET_GOTO(done, read_bytes(&reader, data, (size_t)reader.data_size));
    for (int i = 0; i < count; i++)
        if (weights[i].integer)
            CLARET_GOTO(done, check_integers(&reader, &weights[i],
                                             data + find_entry(&reader, weights[i].name)->begin));
    for (int i = 0; i < count; i++)
        get_values(&weights[i], data + find_entry(&reader, weights[i].name)->begin);
done:
    free(data);
    close_reader(&reader);
    return status;
}

enum claret_status claret_weights_read(const char *path, const char *name, float **values, size_t *count)
{
    const struct entry *entry;
    struct reader reader;
    enum claret_status status;
    unsigned char *data = NULL;
    float *numbers = NULL;
    int width;

    CLARET_GOTO(done, open_reader(path, &reader));
    entry = find_entry(&reader, name);
    if (!entry) {
        status = claret_fail(CLARET_NOT_FOUND, "%s: it has no %s", path, name);
        goto done;
    }
    width = (int)dtype_size(entry->dtype);
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
    CLARET_GOTO(done, read_bytes(&reader, data, (size_t)(entry->end - entry->begin)));
    if (entry->dtype[0] == 'F')
        get_floats(data, numbers, (size_t)entry->count);
    for (uint64_t i = 0; entry->dtype[0] != 'F' && i < entry->count; i++) {
        uint64_t number = get_number(data + (size_t)i * (size_t)width, width);
        numbers[i] = width == 4 ? (float)(int32_t)(uint32_t)number : (float)(int64_t)number;
    }
    *values = numbers;
    *count = (size_t)entry->count;
    numbers = NULL;
done:
    free(numbers);
    free(data);
    close_reader(&reader);
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
    put_number(file, padded, 8);
    memset(file + 8, ' ', padded);
    memcpy(file + 8, header, header_size);
    free(header);
    data = file + 8 + padded;
    for (int i = 0; i < count; i++) {
        for (int64_t j = 0; j < claret_shape_count(&weights[i].shape); j++, data += size_of(&weights[i])) {
            uint32_t bits;
            memcpy(&bits, &weights[i].values[j], 4);
            if (weights[i].integer)
                put_number(data, (uint64_t)weights[i].values[j], 8);
            else
                put_number(data, bits, 4);
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

static enum claret_status load_entry(const struct reader *reader, const struct entry *entry,
                                     const unsigned char *data, struct claret_weights_list *list)
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

static enum claret_status load_notes(const struct reader *reader, const struct claret_weights_note *notes)
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
    struct reader reader;
    unsigned char *data = NULL;
    enum claret_status status;
    CLARET_GOTO(done, open_reader(path, &reader));
    CLARET_GOTO(done, load_notes(&reader, notes));
    data = malloc((size_t)reader.data_size + 1);
    if (!data) {
        status = claret_no_memory();
        goto done;
    }
    CLARET_GOTO(done, read_bytes(&reader, data, (size_t)reader.data_size));
    for (size_t i = 0; i < reader.entry_count; i++)
        CLARET_GOTO(done, load_entry(&reader, &reader.entries[i], data, list));
    claret_weights_sort(list);
done:
    free(data);
    close_reader(&reader);
    return status;
}
