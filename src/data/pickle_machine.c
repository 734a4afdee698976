/* Stack, memo and input of the pickle reader. */
#include "pickle_machine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* The published files have 20,000 values, 10,000 labels and 10,000 names. */
#define MAX_VALUES 1000000
#define MAX_DEPTH 1000000
#define MAX_MEMO 1000000

void claret_pickle_complain(const struct claret_pickle_reader *reader, const char *format, ...)
{
    struct claret_text text = {0};
    unsigned opcode = reader->opcode_at < reader->size ? reader->data[reader->opcode_at] : 0;
    va_list arguments;
    char name[8] = "";

    va_start(arguments, format);
    claret_text_vadd(&text, format, arguments);
    va_end(arguments);
    if (opcode > ' ' && opcode < 127)
        claret_print(name, sizeof(name), " '%c'", (int)opcode);
    claret_fail(CLARET_FORMAT, "%s: byte %zu: opcode 0x%02x%s: %s", reader->path, reader->opcode_at, opcode,
                name, text.failed ? "refused" : text.data);
    claret_text_drop(&text);
}

/* ---- the input ----------------------------------------------------------------------------------------- */

enum claret_status claret_pickle_take(struct claret_pickle_reader *reader, size_t size,
                                      const unsigned char **bytes)
{
    if (size > reader->size - reader->at)
        return claret_pickle_refuse(reader, "needs %zu more bytes, the file ends after %zu: it is truncated",
                                    size, reader->size - reader->at);
    *bytes = reader->data + reader->at;
    reader->at += size;
    return CLARET_OK;
}

enum claret_status claret_pickle_take_number(struct claret_pickle_reader *reader, size_t width,
                                             uint64_t *number)
{
    const unsigned char *bytes;

    CLARET_TRY(claret_pickle_take(reader, width, &bytes));
    *number = 0;
    for (size_t i = width; i-- > 0;)
        *number = *number << 8 | bytes[i];
    return CLARET_OK;
}

enum claret_status claret_pickle_take_line(struct claret_pickle_reader *reader, const unsigned char **bytes,
                                           size_t *size)
{
    const unsigned char *end = memchr(reader->data + reader->at, '\n', reader->size - reader->at);

    if (!end)
        return claret_pickle_refuse(reader, "a line has no end: the file is truncated");
    *size = (size_t)(end - (reader->data + reader->at));
    CLARET_TRY(claret_pickle_take(reader, *size + 1, bytes));
    return CLARET_OK;
}

/* ---- the stack ----------------------------------------------------------------------------------------- */

/* Room for one more pointer in a growing array of at most `limit`. */
static enum claret_status grow(struct claret_pickle_reader *reader, struct claret_pickle_value ***items,
                               size_t count, size_t *capacity, size_t limit)
{
    size_t larger = *capacity ? *capacity * 2 : 64;
    struct claret_pickle_value **moved;

    if (count < *capacity)
        return CLARET_OK;
    if (count >= limit)
        return claret_pickle_refuse(reader, "more than %zu values", limit);
    moved = realloc(*items, larger * sizeof(**items));
    if (!moved)
        return claret_no_memory();
    *items = moved;
    *capacity = larger;
    return CLARET_OK;
}

enum claret_status claret_pickle_push(struct claret_pickle_reader *reader, struct claret_pickle_value *value)
{
    CLARET_TRY(grow(reader, &reader->stack, reader->depth, &reader->stack_capacity, MAX_DEPTH));
    reader->stack[reader->depth++] = value;
    return CLARET_OK;
}

enum claret_status claret_pickle_push_new(struct claret_pickle_reader *reader, enum claret_pickle_kind kind,
                                          struct claret_pickle_value **made)
{
    struct claret_pickle_value *value;

    if (reader->values++ == MAX_VALUES)
        return claret_pickle_refuse(reader, "more than %d values", MAX_VALUES);
    value = claret_arena_alloc(reader->arena, sizeof(*value));
    if (!value)
        return claret_no_memory();
    value->kind = kind;
    CLARET_TRY(claret_pickle_push(reader, value));
    *made = value;
    return CLARET_OK;
}

enum claret_status claret_pickle_pop(struct claret_pickle_reader *reader, struct claret_pickle_value **value)
{
    if (!reader->depth)
        return claret_pickle_refuse(reader, "the stack is empty");
    *value = reader->stack[--reader->depth];
    if ((*value)->kind == CLARET_PICKLE_MARK)
        return claret_pickle_refuse(reader, "a mark where a value should be");
    return CLARET_OK;
}

enum claret_status claret_pickle_top(struct claret_pickle_reader *reader, enum claret_pickle_kind kind,
                                     struct claret_pickle_value **value)
{
    if (!reader->depth || reader->stack[reader->depth - 1]->kind != kind)
        return claret_pickle_refuse(reader, "not on top of what it works on");
    *value = reader->stack[reader->depth - 1];
    return CLARET_OK;
}

enum claret_status claret_pickle_pop_to_mark(struct claret_pickle_reader *reader,
                                             struct claret_pickle_value ***items, size_t *count)
{
    size_t mark = reader->depth;

    while (mark > 0 && reader->stack[mark - 1]->kind != CLARET_PICKLE_MARK)
        mark--;
    if (!mark)
        return claret_pickle_refuse(reader, "there is no mark on the stack");
    *items = reader->stack + mark;
    *count = reader->depth - mark;
    reader->depth = mark - 1;
    return CLARET_OK;
}

enum claret_status claret_pickle_append(struct claret_pickle_reader *reader, struct claret_pickle_value *list,
                                        struct claret_pickle_value *const *items, size_t count)
{
    if (count > MAX_VALUES - list->count)
        return claret_pickle_refuse(reader, "more than %d values", MAX_VALUES);
    if (count > list->capacity - list->count) {
        size_t capacity = list->count + count > 2 * list->capacity ? list->count + count : 2 * list->capacity;
        struct claret_pickle_value **larger = claret_arena_alloc(reader->arena, capacity * sizeof(*larger));
        if (!larger)
            return claret_no_memory();
        if (list->count)
            memcpy(larger, list->items, list->count * sizeof(*larger));
        list->items = larger;
        list->capacity = capacity;
    }
    if (count)
        memcpy(list->items + list->count, items, count * sizeof(*items));
    list->count += count;
    return CLARET_OK;
}

/* ---- the memo ------------------------------------------------------------------------------------------ */

enum claret_status claret_pickle_memo_put(struct claret_pickle_reader *reader, uint64_t index)
{
    if (!reader->depth || reader->stack[reader->depth - 1]->kind == CLARET_PICKLE_MARK)
        return claret_pickle_refuse(reader, "nothing to remember");
    if (index >= MAX_MEMO)
        return claret_pickle_refuse(reader, "memo %" PRIu64 " is over %d", index, MAX_MEMO - 1);
    while (reader->memo_count <= index) {
        CLARET_TRY(grow(reader, &reader->memo, reader->memo_count, &reader->memo_capacity, MAX_MEMO));
        reader->memo[reader->memo_count++] = NULL;
    }
    reader->memo[index] = reader->stack[reader->depth - 1];
    return CLARET_OK;
}

enum claret_status claret_pickle_memo_get(struct claret_pickle_reader *reader, uint64_t index)
{
    if (index >= reader->memo_count || !reader->memo[index])
        return claret_pickle_refuse(reader, "memo %" PRIu64 " was never set", index);
    return claret_pickle_push(reader, reader->memo[index]);
}

bool claret_pickle_text_is(const struct claret_pickle_value *value, const char *text)
{
    size_t size = strlen(text);

    return value->kind == CLARET_PICKLE_TEXT && value->size == size && memcmp(value->bytes, text, size) == 0;
}
