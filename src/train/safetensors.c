#include "train/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define HEADER_LIMIT 100000000 /* the format's own */

/* ---- numbers in bytes ---------------------------------------------------------------------------------- */

uint64_t claret_safetensors_number(const unsigned char *bytes, int width)
{
    uint64_t number = 0;

    for (int i = width; i-- > 0;)
        number = number << 8 | bytes[i];
    return number;
}

void claret_safetensors_put(unsigned char *bytes, uint64_t number, int width)
{
    for (int i = 0; i < width; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
}

void claret_safetensors_floats(const unsigned char *bytes, float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)claret_safetensors_number(bytes + 4 * i, 4);
        memcpy(&values[i], &bits, 4);
    }
}

/* ---- the header ---------------------------------------------------------------------------------------- */

void claret_safetensors_shape(const json_t *shape, struct claret_text *text)
{
    for (size_t i = 0; i < json_array_size(shape); i++)
        claret_text_add(text, i ? "x%" JSON_INTEGER_FORMAT : "%" JSON_INTEGER_FORMAT,
                        json_integer_value(json_array_get(shape, i)));
    if (!json_array_size(shape))
        claret_text_add(text, "scalar");
}

unsigned claret_safetensors_size(const char *dtype)
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

static enum claret_status read_shape(const struct claret_safetensors *reader, struct claret_safetensor *entry,
                                     unsigned element)
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

static enum claret_status read_entry(const struct claret_safetensors *reader, const char *name,
                                     const json_t *value, struct claret_safetensor *entry)
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
    element = claret_safetensors_size(entry->dtype);
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
    const struct claret_safetensor *a = left, *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

/* The tensors must cover the data exactly. */
static enum claret_status check_cover(const struct claret_safetensors *reader)
{
    uint64_t at = 0;

    for (size_t i = 0; i < reader->entry_count; i++) {
        const struct claret_safetensor *entry = &reader->entries[i];
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

static enum claret_status parse_header(struct claret_safetensors *reader, const char *text, size_t size)
{
    const char *name;
    json_error_t error;
    json_t *value;

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

void claret_safetensors_close(struct claret_safetensors *reader)
{
    if (reader->stream)
        fclose(reader->stream);
    json_decref(reader->header);
    free(reader->entries);
}

enum claret_status claret_safetensors_read(const struct claret_safetensors *reader, void *bytes, size_t size)
{
    errno = 0;
    if (size && fread(bytes, 1, size, reader->stream) != size)
        return claret_fail(CLARET_IO, "%s: cannot be read: %s", reader->path,
                           errno ? strerror(errno) : "it ended while it was read");
    return CLARET_OK;
}

/* A run's, most likely. */
static enum claret_status refuse_folder(const char *path)
{
    struct stat info;
    char *weights = claret_path_join(path, "weights.safetensors");
    bool there = weights && stat(weights, &info) == 0;

    claret_fail(CLARET_IO, "%s: a folder, where a safetensors file is wanted%s%s", path,
                there ? ", such as " : "", there ? weights : "");
    free(weights);
    return CLARET_IO;
}

static enum claret_status open_stream(struct claret_safetensors *reader, uint64_t *size)
{
    struct stat info;
    /* O_NONBLOCK: so that a pipe is refused, not waited for. */
    int fd = open(reader->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return claret_fail(errno == ENOENT ? CLARET_NOT_FOUND : CLARET_IO, "%s: cannot be opened: %s",
                           reader->path, strerror(errno));
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || !(reader->stream = fdopen(fd, "rb"))) {
        bool folder = S_ISDIR(info.st_mode);
        close(fd);
        return folder ? refuse_folder(reader->path) : claret_fail(CLARET_IO, "%s: not a file", reader->path);
    }
    *size = (uint64_t)info.st_size;
    return CLARET_OK;
}

/* Whether a line of the file's beginning is a network text's first one. */
static bool looks_like_network(const struct claret_safetensors *reader)
{
    char text[4096] = "\n";

    rewind(reader->stream);
    size_t size = fread(text + 1, 1, sizeof text - 2, reader->stream) + 1;
    return !memchr(text, 0, size) && (strstr(text, "\ninput ") || strstr(text, "\nblock "));
}

static enum claret_status not_safetensors(const struct claret_safetensors *reader)
{
    return claret_fail(CLARET_FORMAT, "%s: not a safetensors file%s", reader->path,
                       looks_like_network(reader) ? ": it looks like a network text, which --model takes"
                                                  : "");
}

enum claret_status claret_safetensors_open(const char *path, struct claret_safetensors *reader)
{
    unsigned char prefix[9]; /* the header's size and its first letter */
    const size_t before = sizeof prefix - 1;
    enum claret_status status;
    uint64_t file_size, size;
    char *text;

    *reader = (struct claret_safetensors){.path = path};
    CLARET_TRY(open_stream(reader, &file_size));
    if (file_size < sizeof(prefix))
        return not_safetensors(reader);
    CLARET_TRY(claret_safetensors_read(reader, prefix, sizeof(prefix)));
    size = claret_safetensors_number(prefix, (int)before);
    /* Spaces may follow the header's object, not precede it. */
    if (size == 0 || size > HEADER_LIMIT || prefix[before] != '{')
        return not_safetensors(reader);
    if (size > file_size - before)
        return claret_fail(CLARET_FORMAT,
                           "%s: a header of %" PRIu64 " bytes in a file of %" PRIu64 ": it is truncated",
                           path, size, file_size);
    if (fseeko(reader->stream, (off_t)before, SEEK_SET) != 0)
        return claret_fail(CLARET_IO, "%s: cannot be read: %s", path, strerror(errno));
    reader->data_start = before + size;
    reader->data_size = file_size - reader->data_start;
    text = malloc((size_t)size + 1);
    if (!text)
        return claret_no_memory();
    status = claret_safetensors_read(reader, text, (size_t)size);
    if (status == CLARET_OK)
        status = parse_header(reader, text, (size_t)size);
    free(text);
    return status;
}

const struct claret_safetensor *claret_safetensors_find(const struct claret_safetensors *reader,
                                                        const char *name)
{
    for (size_t i = 0; i < reader->entry_count; i++) {
        if (strcmp(reader->entries[i].name, name) == 0)
            return &reader->entries[i];
    }
    return NULL;
}
