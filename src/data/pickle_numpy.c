/* The names that a pickle may ask for, and what is done when it calls them: numpy's arrays of bytes. */
#include <inttypes.h>
#include <string.h>

#include "pickle_machine.h"

enum global { GLOBAL_RECONSTRUCT, GLOBAL_NDARRAY, GLOBAL_DTYPE, GLOBAL_ENCODE };

static const struct {
    const char *module, *name;
    enum global global;
} globals[] = {
    {"numpy.core.multiarray", "_reconstruct", GLOBAL_RECONSTRUCT},
    {"numpy._core.multiarray", "_reconstruct", GLOBAL_RECONSTRUCT},
    {"numpy", "ndarray", GLOBAL_NDARRAY},
    {"numpy", "dtype", GLOBAL_DTYPE},
    {"_codecs", "encode", GLOBAL_ENCODE},
};

/* ---- texts and names ----------------------------------------------------------------------------------- */

/* What of a name in the file can be shown: printable ASCII, not too much of it. */
static const char *showable(const unsigned char *bytes, size_t size, char buffer[48])
{
    size_t length = size < 47 ? size : 47;

    for (size_t i = 0; i < length; i++)
        buffer[i] = bytes[i] >= ' ' && bytes[i] < 127 ? (char)bytes[i] : '?';
    buffer[length] = '\0';
    return buffer;
}

static bool same(const unsigned char *bytes, size_t size, const char *text)
{
    return size == strlen(text) && memcmp(bytes, text, size) == 0;
}

enum claret_status claret_pickle_push_global(struct claret_pickle_reader *reader, const unsigned char *module,
                                             size_t module_size, const unsigned char *name, size_t name_size)
{
    char module_text[48], name_text[48];
    struct claret_pickle_value *value;

    for (size_t i = 0; i < sizeof(globals) / sizeof(globals[0]); i++) {
        if (!same(module, module_size, globals[i].module) || !same(name, name_size, globals[i].name))
            continue;
        CLARET_TRY(claret_pickle_push_new(reader, CLARET_PICKLE_GLOBAL, &value));
        value->integer = globals[i].global;
        return CLARET_OK;
    }
    return claret_pickle_refuse(
        reader, "asks for %s.%s, which CIFAR-10's files do not hold; nothing was executed",
        showable(module, module_size, module_text), showable(name, name_size, name_text));
}

/* ---- calls --------------------------------------------------------------------------------------------- */

/* numpy's _reconstruct(ndarray, (0,), "b"): an empty array, which BUILD fills. */
static enum claret_status call_reconstruct(struct claret_pickle_reader *reader,
                                           const struct claret_pickle_value *arguments)
{
    struct claret_pickle_value *array;

    if (arguments->count != 3 || arguments->items[0]->kind != CLARET_PICKLE_GLOBAL ||
        arguments->items[0]->integer != GLOBAL_NDARRAY)
        return claret_pickle_refuse(reader, "_reconstruct of something that is no plain numpy array");
    return claret_pickle_push_new(reader, CLARET_PICKLE_ARRAY, &array);
}

/* numpy.dtype("u1", 0, 1) */
static enum claret_status call_dtype(struct claret_pickle_reader *reader,
                                     const struct claret_pickle_value *arguments)
{
    const struct claret_pickle_value *name = arguments->count ? arguments->items[0] : NULL;
    struct claret_pickle_value *dtype;
    char text[48];

    if (!name || name->kind != CLARET_PICKLE_TEXT)
        return claret_pickle_refuse(reader, "an element type without a name");
    if (!claret_pickle_text_is(name, "u1") && !claret_pickle_text_is(name, "|u1"))
        return claret_pickle_refuse(reader, "an array of %s, where unsigned bytes (u1) are expected",
                                    showable(name->bytes, name->size, text));
    return claret_pickle_push_new(reader, CLARET_PICKLE_DTYPE, &dtype);
}

/* _codecs.encode(text, "latin1"): bytes, each written as the character of its number, in UTF-8. */
static enum claret_status call_encode(struct claret_pickle_reader *reader,
                                      const struct claret_pickle_value *arguments)
{
    const struct claret_pickle_value *text;
    struct claret_pickle_value *result;
    unsigned char *bytes;
    size_t size = 0;

    if (arguments->count != 2 || arguments->items[0]->kind != CLARET_PICKLE_TEXT ||
        !claret_pickle_text_is(arguments->items[1], "latin1"))
        return claret_pickle_refuse(reader, "an encoding other than latin1");
    text = arguments->items[0];
    bytes = claret_arena_alloc(reader->arena, text->size);
    if (!bytes)
        return claret_no_memory();
    for (size_t i = 0; i < text->size; i++) {
        unsigned byte = text->bytes[i];
        if (byte >= 0x80) {
            if ((byte != 0xC2 && byte != 0xC3) || i + 1 == text->size || (text->bytes[i + 1] & 0xC0) != 0x80)
                return claret_pickle_refuse(reader, "text that latin1 cannot hold");
            byte = (byte & 3) << 6 | (text->bytes[++i] & 0x3F);
        }
        bytes[size++] = (unsigned char)byte;
    }
    CLARET_TRY(claret_pickle_push_new(reader, CLARET_PICKLE_TEXT, &result));
    result->bytes = bytes;
    result->size = size;
    return CLARET_OK;
}

enum claret_status claret_pickle_reduce(struct claret_pickle_reader *reader, size_t unused)
{
    struct claret_pickle_value *arguments, *callee;

    (void)unused;
    CLARET_TRY(claret_pickle_pop(reader, &arguments));
    CLARET_TRY(claret_pickle_pop(reader, &callee));
    if (arguments->kind != CLARET_PICKLE_TUPLE || callee->kind != CLARET_PICKLE_GLOBAL)
        return claret_pickle_refuse(reader, "calls something that is no function");
    switch (callee->integer) {
    case GLOBAL_RECONSTRUCT:
        return call_reconstruct(reader, arguments);
    case GLOBAL_DTYPE:
        return call_dtype(reader, arguments);
    case GLOBAL_ENCODE:
        return call_encode(reader, arguments);
    default:
        return claret_pickle_refuse(reader, "calls numpy.ndarray itself");
    }
}

/* State of an array: (1, (rows, columns), dtype, fortran, bytes). */
static enum claret_status build_array(struct claret_pickle_reader *reader, struct claret_pickle_value *array,
                                      const struct claret_pickle_value *state)
{
    const struct claret_pickle_value *shape, *bytes;

    if (state->count != 5 || state->items[1]->kind != CLARET_PICKLE_TUPLE ||
        state->items[2]->kind != CLARET_PICKLE_DTYPE || state->items[3]->kind != CLARET_PICKLE_INT ||
        state->items[4]->kind != CLARET_PICKLE_TEXT)
        return claret_pickle_refuse(reader, "not the state of a numpy array");
    shape = state->items[1];
    bytes = state->items[4];
    if (shape->count != 2 || shape->items[0]->kind != CLARET_PICKLE_INT ||
        shape->items[1]->kind != CLARET_PICKLE_INT || shape->items[0]->integer < 1 ||
        shape->items[1]->integer < 1)
        return claret_pickle_refuse(reader, "an array that is not of two dimensions");
    if ((uint64_t)shape->items[0]->integer > bytes->size ||
        (uint64_t)shape->items[1]->integer != bytes->size / (uint64_t)shape->items[0]->integer ||
        bytes->size % (uint64_t)shape->items[0]->integer)
        return claret_pickle_refuse(reader, "an array of %" PRId64 "x%" PRId64 " with %zu bytes",
                                    shape->items[0]->integer, shape->items[1]->integer, bytes->size);
    array->rows = (size_t)shape->items[0]->integer;
    array->columns = (size_t)shape->items[1]->integer;
    array->fortran = state->items[3]->integer != 0;
    array->bytes = bytes->bytes;
    array->size = bytes->size;
    return CLARET_OK;
}

/* State of an element type: (3, "|", None, None, None, -1, -1, 0). */
static enum claret_status build_dtype(struct claret_pickle_reader *reader,
                                      const struct claret_pickle_value *state)
{
    if (state->count < 5 || !claret_pickle_text_is(state->items[1], "|") ||
        state->items[2]->kind != CLARET_PICKLE_NONE || state->items[3]->kind != CLARET_PICKLE_NONE ||
        state->items[4]->kind != CLARET_PICKLE_NONE)
        return claret_pickle_refuse(reader, "not the state of a plain element type");
    return CLARET_OK;
}

enum claret_status claret_pickle_build(struct claret_pickle_reader *reader, size_t unused)
{
    struct claret_pickle_value *state, *object;

    (void)unused;
    CLARET_TRY(claret_pickle_pop(reader, &state));
    if (state->kind != CLARET_PICKLE_TUPLE)
        return claret_pickle_refuse(reader, "a state that is no tuple");
    if (!reader->depth)
        return claret_pickle_refuse(reader, "the stack is empty");
    object = reader->stack[reader->depth - 1];
    if (object->kind == CLARET_PICKLE_ARRAY)
        return build_array(reader, object, state);
    if (object->kind == CLARET_PICKLE_DTYPE)
        return build_dtype(reader, state);
    return claret_pickle_refuse(reader, "fills in something that is neither array nor element type");
}
