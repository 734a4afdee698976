/* The few opcodes of pickle (Python's pickletools.py describes them) that CIFAR-10's files consist of: as
 * published, written by Python 2 at protocol 2, and as Python 3 writes the same contents at protocols 2 to 4.
 *
 * A pickle is a program for a stack machine. The only calls it may make here are the three with which numpy
 * makes an array and its element type, and the one with which Python 3 writes bytes at protocol 2; they are
 * known by name and done by this file. Every read is checked against the end of the data, every pop against
 * the stack, every type before it is used. */
#include "pickle_machine.h"

#include <inttypes.h>
#include <stdlib.h>

/* The decimal number that PUT and GET carry. */
static enum claret_status take_memo_line(struct claret_pickle_reader *reader, uint64_t *index)
{
    const unsigned char *bytes;
    size_t size;

    CLARET_TRY(claret_pickle_take_line(reader, &bytes, &size));
    *index = 0;
    if (!size || size > 9)
        return claret_pickle_refuse(reader, "not a memo's number");
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] < '0' || bytes[i] > '9')
            return claret_pickle_refuse(reader, "not a memo's number");
        *index = *index * 10 + (uint64_t)(bytes[i] - '0');
    }
    return CLARET_OK;
}

/* ---- opcodes ------------------------------------------------------------------------------------------- */

static enum claret_status run_protocol(struct claret_pickle_reader *reader, size_t width)
{
    uint64_t version;

    CLARET_TRY(claret_pickle_take_number(reader, width, &version));
    if (version < 2 || version > 4)
        return claret_pickle_refuse(reader, "protocol %" PRIu64 ", where 2 to 4 are understood", version);
    return CLARET_OK;
}

static enum claret_status run_frame(struct claret_pickle_reader *reader, size_t width)
{
    uint64_t size;

    CLARET_TRY(claret_pickle_take_number(reader, width, &size));
    if (size > reader->size - reader->at)
        return claret_pickle_refuse(reader,
                                    "a frame of %" PRIu64 " bytes, the file ends after %zu: it is truncated",
                                    size, reader->size - reader->at);
    return CLARET_OK;
}

static enum claret_status run_empty(struct claret_pickle_reader *reader, size_t kind)
{
    struct claret_pickle_value *value;

    return claret_pickle_push_new(reader, (enum claret_pickle_kind)kind, &value);
}

static enum claret_status push_int(struct claret_pickle_reader *reader, int64_t integer)
{
    struct claret_pickle_value *value;

    CLARET_TRY(claret_pickle_push_new(reader, CLARET_PICKLE_INT, &value));
    value->integer = integer;
    return CLARET_OK;
}

static enum claret_status run_boolean(struct claret_pickle_reader *reader, size_t truth)
{
    return push_int(reader, (int64_t)truth);
}

/* One and two bytes are unsigned, four are signed. */
static enum claret_status run_integer(struct claret_pickle_reader *reader, size_t width)
{
    uint64_t number;

    CLARET_TRY(claret_pickle_take_number(reader, width, &number));
    if (width == 4 && number > INT32_MAX)
        return push_int(reader, (int64_t)number - (INT64_C(1) << 32));
    return push_int(reader, (int64_t)number);
}

/* A number of as many bytes as the first byte says. */
static enum claret_status run_long(struct claret_pickle_reader *reader, size_t unused)
{
    uint64_t width, number;

    (void)unused;
    CLARET_TRY(claret_pickle_take_number(reader, 1, &width));
    if (width > 7)
        return claret_pickle_refuse(reader, "a number of %" PRIu64 " bytes", width);
    CLARET_TRY(claret_pickle_take_number(reader, (size_t)width, &number));
    if (width && number >> (8 * width - 1))
        return push_int(reader, (int64_t)number - (INT64_C(1) << (8 * width)));
    return push_int(reader, (int64_t)number);
}

static enum claret_status run_text(struct claret_pickle_reader *reader, size_t width)
{
    const unsigned char *bytes;
    uint64_t size;
    struct claret_pickle_value *text;

    CLARET_TRY(claret_pickle_take_number(reader, width, &size));
    CLARET_TRY(claret_pickle_take(reader, (size_t)size, &bytes));
    CLARET_TRY(claret_pickle_push_new(reader, CLARET_PICKLE_TEXT, &text));
    text->bytes = bytes;
    text->size = (size_t)size;
    return CLARET_OK;
}

static enum claret_status run_global(struct claret_pickle_reader *reader, size_t unused)
{
    const unsigned char *module, *name;
    size_t module_size, name_size;

    (void)unused;
    CLARET_TRY(claret_pickle_take_line(reader, &module, &module_size));
    CLARET_TRY(claret_pickle_take_line(reader, &name, &name_size));
    return claret_pickle_push_global(reader, module, module_size, name, name_size);
}

static enum claret_status run_stack_global(struct claret_pickle_reader *reader, size_t unused)
{
    struct claret_pickle_value *module, *name;

    (void)unused;
    CLARET_TRY(claret_pickle_pop(reader, &name));
    CLARET_TRY(claret_pickle_pop(reader, &module));
    if (module->kind != CLARET_PICKLE_TEXT || name->kind != CLARET_PICKLE_TEXT)
        return claret_pickle_refuse(reader, "a name that is no text");
    return claret_pickle_push_global(reader, module->bytes, module->size, name->bytes, name->size);
}

static enum claret_status set_items(struct claret_pickle_reader *reader,
                                    struct claret_pickle_value *const *items, size_t count)
{
    struct claret_pickle_value *dict;

    CLARET_TRY(claret_pickle_top(reader, CLARET_PICKLE_DICT, &dict));
    if (count % 2)
        return claret_pickle_refuse(reader, "a key without a value");
    return claret_pickle_append(reader, dict, items, count);
}

/* The topmost `count` values become a tuple. */
static enum claret_status make_tuple(struct claret_pickle_reader *reader, size_t count)
{
    struct claret_pickle_value *items[3], *tuple;

    for (size_t i = count; i-- > 0;)
        CLARET_TRY(claret_pickle_pop(reader, &items[i]));
    CLARET_TRY(claret_pickle_push_new(reader, CLARET_PICKLE_TUPLE, &tuple));
    return claret_pickle_append(reader, tuple, items, count);
}

static enum claret_status make_tuple_to_mark(struct claret_pickle_reader *reader)
{
    struct claret_pickle_value made = {.kind = CLARET_PICKLE_TUPLE}, **items, *tuple;
    size_t count;

    CLARET_TRY(claret_pickle_pop_to_mark(reader, &items, &count));
    CLARET_TRY(claret_pickle_append(reader, &made, items, count));
    CLARET_TRY(claret_pickle_push_new(reader, CLARET_PICKLE_TUPLE, &tuple));
    *tuple = made;
    return CLARET_OK;
}

/* `count` 0: as many as there are above the mark. */
static enum claret_status run_tuple(struct claret_pickle_reader *reader, size_t count)
{
    return count ? make_tuple(reader, count) : make_tuple_to_mark(reader);
}

static enum claret_status run_append(struct claret_pickle_reader *reader, size_t count)
{
    struct claret_pickle_value *single, **items = &single, *list;

    if (count)
        CLARET_TRY(claret_pickle_pop(reader, &single));
    else
        CLARET_TRY(claret_pickle_pop_to_mark(reader, &items, &count));
    CLARET_TRY(claret_pickle_top(reader, CLARET_PICKLE_LIST, &list));
    return claret_pickle_append(reader, list, items, count);
}

static enum claret_status run_set(struct claret_pickle_reader *reader, size_t count)
{
    struct claret_pickle_value *pair[2], **items = pair;

    if (count) {
        CLARET_TRY(claret_pickle_pop(reader, &pair[1]));
        CLARET_TRY(claret_pickle_pop(reader, &pair[0]));
    } else {
        CLARET_TRY(claret_pickle_pop_to_mark(reader, &items, &count));
    }
    return set_items(reader, items, count);
}

/* `width` 0: a line. */
static enum claret_status run_put(struct claret_pickle_reader *reader, size_t width)
{
    uint64_t index;

    CLARET_TRY(width ? claret_pickle_take_number(reader, width, &index) : take_memo_line(reader, &index));
    return claret_pickle_memo_put(reader, index);
}

static enum claret_status run_get(struct claret_pickle_reader *reader, size_t width)
{
    uint64_t index;

    CLARET_TRY(width ? claret_pickle_take_number(reader, width, &index) : take_memo_line(reader, &index));
    return claret_pickle_memo_get(reader, index);
}

static enum claret_status run_memoize(struct claret_pickle_reader *reader, size_t unused)
{
    (void)unused;
    return claret_pickle_memo_put(reader, reader->memo_count);
}

static enum claret_status run_stop(struct claret_pickle_reader *reader, size_t unused)
{
    (void)unused;
    if (reader->depth != 1 || reader->stack[0]->kind == CLARET_PICKLE_MARK)
        return claret_pickle_refuse(reader, "%zu values are left, where there should be one", reader->depth);
    if (reader->at != reader->size)
        return claret_pickle_refuse(reader, "%zu bytes follow the end", reader->size - reader->at);
    reader->stopped = true;
    return CLARET_OK;
}

static const struct {
    unsigned char code;
    enum claret_status (*run)(struct claret_pickle_reader *reader, size_t argument);
    size_t argument;
} opcodes[] = {
    {0x80, run_protocol, 1},
    {0x95, run_frame, 8},
    {'(', run_empty, CLARET_PICKLE_MARK},
    {'N', run_empty, CLARET_PICKLE_NONE},
    {'}', run_empty, CLARET_PICKLE_DICT},
    {']', run_empty, CLARET_PICKLE_LIST},
    {')', run_empty, CLARET_PICKLE_TUPLE},
    {0x88, run_boolean, 1},
    {0x89, run_boolean, 0},
    {'K', run_integer, 1},
    {'M', run_integer, 2},
    {'J', run_integer, 4},
    {0x8a, run_long, 0},
    {'U', run_text, 1},
    {'T', run_text, 4},
    {0x8c, run_text, 1},
    {'X', run_text, 4},
    {'C', run_text, 1},
    {'B', run_text, 4},
    {'t', run_tuple, 0},
    {0x85, run_tuple, 1},
    {0x86, run_tuple, 2},
    {0x87, run_tuple, 3},
    {'a', run_append, 1},
    {'e', run_append, 0},
    {'s', run_set, 2},
    {'u', run_set, 0},
    {'p', run_put, 0},
    {'q', run_put, 1},
    {'r', run_put, 4},
    {0x94, run_memoize, 0},
    {'g', run_get, 0},
    {'h', run_get, 1},
    {'j', run_get, 4},
    {'c', run_global, 0},
    {0x93, run_stack_global, 0},
    {'R', claret_pickle_reduce, 0},
    {'b', claret_pickle_build, 0},
    {'.', run_stop, 0},
};

static enum claret_status run_opcode(struct claret_pickle_reader *reader)
{
    const unsigned char *code;

    reader->opcode_at = reader->at;
    if (reader->at == reader->size)
        return claret_fail(CLARET_FORMAT,
                           "%s: byte %zu: the file ends before the pickle does: it is truncated",
                           reader->path, reader->at);
    CLARET_TRY(claret_pickle_take(reader, 1, &code));
    for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
        if (opcodes[i].code == *code)
            return opcodes[i].run(reader, opcodes[i].argument);
    }
    return claret_pickle_refuse(reader, "not among those that CIFAR-10's files consist of");
}

enum claret_status claret_pickle_read(const char *path, const unsigned char *data, size_t size,
                                      struct claret_arena *arena, const struct claret_pickle_value **value)
{
    struct claret_pickle_reader reader = {.path = path, .data = data, .size = size, .arena = arena};
    enum claret_status status = CLARET_OK;

    while (status == CLARET_OK && !reader.stopped)
        status = run_opcode(&reader);
    if (status == CLARET_OK)
        *value = reader.stack[0];
    free(reader.stack);
    free(reader.memo);
    return status;
}

const struct claret_pickle_value *claret_pickle_get(const struct claret_pickle_value *dict, const char *key)
{
    if (dict->kind != CLARET_PICKLE_DICT)
        return NULL;
    /* The last one counts where a key was set twice. */
    for (size_t i = dict->count; i > 0; i -= 2) {
        if (claret_pickle_text_is(dict->items[i - 2], key))
            return dict->items[i - 1];
    }
    return NULL;
}
