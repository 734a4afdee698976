#include "npy.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

#define MAGIC "\x93NUMPY"
#define MAGIC_SIZE 6

/* The header is a Python dictionary; this reads the few things that numpy writes there. */
struct header {
    const char *at, *end;
};

static void skip_space(struct header *header)
{
    while (header->at < header->end && strchr(" \t\n", *header->at) && *header->at)
        header->at++;
}

/* Takes `text` if it comes next. */
static bool take(struct header *header, const char *text)
{
    size_t size = strlen(text);

    skip_space(header);
    if ((size_t)(header->end - header->at) < size || memcmp(header->at, text, size) != 0)
        return false;
    header->at += size;
    return true;
}

/* 'text' or "text", without escapes. */
static bool take_text(struct header *header, char *text, size_t room)
{
    size_t used = 0;

    skip_space(header);
    if (header->at == header->end || (*header->at != '\'' && *header->at != '"'))
        return false;
    char quote = *header->at++;
    while (header->at < header->end && *header->at != quote && used + 1 < room)
        text[used++] = *header->at++;
    text[used] = '\0';
    return header->at < header->end && *header->at++ == quote;
}

static bool take_size(struct header *header, size_t *size)
{
    const char *start;

    skip_space(header);
    start = header->at;
    for (*size = 0; header->at < header->end && *header->at >= '0' && *header->at <= '9'; header->at++) {
        if (*size > PTRDIFF_MAX / 10 - 9)
            return false;
        *size = *size * 10 + (size_t)(*header->at - '0');
    }
    return header->at > start;
}

static bool take_shape(struct header *header, struct claret_npy *array)
{
    if (!take(header, "("))
        return false;
    for (array->rank = 0; !take(header, ")"); array->rank++) {
        if (array->rank == CLARET_NPY_MAX_RANK || !take_size(header, &array->dims[array->rank]))
            return false;
        if (take(header, ","))
            continue;
        array->rank++;
        return take(header, ")");
    }
    return true;
}

/* "<f4": order, kind, width. `fault` says what is not understood. */
static bool read_type(const char *text, struct claret_npy *array, const char **fault)
{
    static const char little[] = "\1\0";
    bool native_little = *(const uint16_t *)(const void *)little == 1;
    int64_t width;

    *fault = "arrays of that element type are not read";
    if (!text[0] || !strchr("|<>=", text[0]) || !text[1] || !strchr("uifb", text[1]) ||
        !claret_parse_int(text + 2, 1, 16, &width))
        return false;
    array->kind = text[1];
    array->width = (size_t)width;
    *fault = "its bytes are in the other order: array.astype(array.dtype.newbyteorder('='))";
    return width == 1 || text[0] != (native_little ? '>' : '<');
}

static bool read_header(struct header *header, struct claret_npy *array, const char **fault)
{
    char key[32], type[32] = "";
    bool shape = false, order = false;

    *fault = "its header is not numpy's";
    if (!take(header, "{"))
        return false;
    while (!take(header, "}")) {
        if (!take_text(header, key, sizeof(key)) || !take(header, ":"))
            return false;
        if (strcmp(key, "descr") == 0) {
            if (!take_text(header, type, sizeof(type))) {
                *fault = "arrays of that element type are not read";
                return false;
            }
        } else if (strcmp(key, "fortran_order") == 0) {
            order = take(header, "False");
            if (!order && take(header, "True"))
                *fault = "it is in Fortran's order: save numpy.ascontiguousarray(array)";
            if (!order)
                return false;
        } else if (strcmp(key, "shape") == 0) {
            shape = take_shape(header, array);
            if (!shape)
                return false;
        } else {
            return false;
        }
        if (!take(header, ",") && (header->at == header->end || *header->at != '}'))
            return false;
    }
    return type[0] && shape && order && read_type(type, array, fault);
}

/* Elements against bytes. */
static enum claret_status check_size(struct claret_npy *array, size_t size)
{
    array->count = 1;
    for (int i = 0; i < array->rank; i++) {
        if (array->dims[i] && array->count > PTRDIFF_MAX / 16 / array->dims[i])
            return claret_fail(CLARET_FORMAT, "%s: more elements than can be addressed", array->path);
        array->count *= array->dims[i];
    }
    if (array->count * array->width != size)
        return claret_fail(CLARET_FORMAT, "%s: %zu bytes of elements, where its header says %zu: it is %s",
                           array->path, size, array->count * array->width,
                           size < array->count * array->width ? "truncated" : "too long");
    return CLARET_OK;
}

enum claret_status claret_npy_parse(const char *path, const unsigned char *bytes, size_t size,
                                    struct claret_npy *array)
{
    size_t start, length;
    const char *fault;

    *array = (struct claret_npy){.path = path};
    if (size < MAGIC_SIZE + 4 || memcmp(bytes, MAGIC, MAGIC_SIZE) != 0)
        return claret_fail(CLARET_FORMAT, "%s: not a .npy file", path);
    if (bytes[6] < 1 || bytes[6] > 3)
        return claret_fail(CLARET_FORMAT, "%s: .npy of version %d, where 1 to 3 are read", path, bytes[6]);
    start = bytes[6] == 1 ? 10 : 12;
    if (size < start)
        return claret_fail(CLARET_FORMAT, "%s: truncated", path);
    length = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1)
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > size - start)
        return claret_fail(CLARET_FORMAT, "%s: its header ends too early: it is truncated", path);
    struct header header = {(const char *)bytes + start, (const char *)bytes + start + length};
    if (!read_header(&header, array, &fault))
        return claret_fail(CLARET_FORMAT, "%s: %s", path, fault);
    array->data = bytes + start + length;
    return check_size(array, size - start - length);
}

enum claret_status claret_npy_integer(const struct claret_npy *array, size_t index, int64_t *value)
{
    const unsigned char *at = array->data + index * array->width;
    uint64_t bits = 0;
    char text[160];

    if ((array->kind != 'u' && array->kind != 'i') || array->width > 8)
        return claret_fail(CLARET_FORMAT, "%s: %s, where whole numbers are expected", array->path,
                           claret_npy_describe(array, text));
    switch (array->width) {
    case 1:
        bits = array->kind == 'i' ? (uint64_t)(int64_t)(int8_t)*at : *at;
        break;
    case 2: {
        uint16_t word;
        memcpy(&word, at, sizeof(word));
        bits = array->kind == 'i' ? (uint64_t)(int64_t)(int16_t)word : word;
        break;
    }
    case 4: {
        uint32_t word;
        memcpy(&word, at, sizeof(word));
        bits = array->kind == 'i' ? (uint64_t)(int64_t)(int32_t)word : word;
        break;
    }
    default:
        memcpy(&bits, at, sizeof(bits));
        if (array->kind == 'u' && bits > INT64_MAX)
            bits = INT64_MAX;
    }
    *value = (int64_t)bits;
    return CLARET_OK;
}

const char *claret_npy_describe(const struct claret_npy *array, char text[160])
{
    const char *kind = array->kind == 'u'   ? "uint"
                       : array->kind == 'i' ? "int"
                       : array->kind == 'f' ? "float"
                                            : "bool";
    int used = claret_print(text, 160, array->kind == 'b' ? "%s (" : "%s%zu (", kind, array->width * 8);

    for (int i = 0; i < array->rank && used < 120; i++)
        used += claret_print(text + used, (size_t)(160 - used), "%s%zu", i ? ", " : "", array->dims[i]);
    claret_print(text + used, (size_t)(160 - used), array->rank == 1 ? ",)" : ")");
    return text;
}
