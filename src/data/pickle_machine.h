/* The pickle reader's parts, shared by its three files: pickle.c runs the opcodes, pickle_machine.c keeps
 * stack and memo, pickle_numpy.c knows the names. Everything here returns CLARET_FORMAT with the error
 * recorded where the pickle is not as it should be. */
#ifndef CLARET_DATA_PICKLE_MACHINE_H
#define CLARET_DATA_PICKLE_MACHINE_H

#include "pickle.h"

struct claret_pickle_reader {
    const char *path;
    const unsigned char *data;
    size_t size, at;
    size_t opcode_at; /* offset of the opcode under way */
    struct claret_arena *arena;
    size_t values; /* made so far */
    struct claret_pickle_value **stack;
    size_t depth, stack_capacity;
    struct claret_pickle_value **memo; /* NULL: not set */
    size_t memo_count, memo_capacity;
    bool stopped;
};

/* The error at the opcode under way. */
void claret_pickle_complain(const struct claret_pickle_reader *reader, const char *format, ...)
    CLARET_PRINTF(2, 3);
#define claret_pickle_refuse(reader, ...) (claret_pickle_complain(reader, __VA_ARGS__), CLARET_FORMAT)

enum claret_status claret_pickle_take(struct claret_pickle_reader *reader, size_t size,
                                      const unsigned char **bytes);
/* A little-endian number of `width` bytes, at most 8. */
enum claret_status claret_pickle_take_number(struct claret_pickle_reader *reader, size_t width,
                                             uint64_t *number);
/* Up to the next newline, which is taken too. */
enum claret_status claret_pickle_take_line(struct claret_pickle_reader *reader, const unsigned char **bytes,
                                           size_t *size);

enum claret_status claret_pickle_push(struct claret_pickle_reader *reader, struct claret_pickle_value *value);
enum claret_status claret_pickle_push_new(struct claret_pickle_reader *reader, enum claret_pickle_kind kind,
                                          struct claret_pickle_value **made);
enum claret_status claret_pickle_pop(struct claret_pickle_reader *reader, struct claret_pickle_value **value);
/* The value that stays on top of the stack; `kind` is what it must be. */
enum claret_status claret_pickle_top(struct claret_pickle_reader *reader, enum claret_pickle_kind kind,
                                     struct claret_pickle_value **value);
/* Pops down to the topmost mark. *items, valid until the next push, are the values above it. */
enum claret_status claret_pickle_pop_to_mark(struct claret_pickle_reader *reader,
                                             struct claret_pickle_value ***items, size_t *count);
/* To a list's, tuple's or dictionary's items. */
enum claret_status claret_pickle_append(struct claret_pickle_reader *reader, struct claret_pickle_value *list,
                                        struct claret_pickle_value *const *items, size_t count);

enum claret_status claret_pickle_memo_put(struct claret_pickle_reader *reader, uint64_t index);
enum claret_status claret_pickle_memo_get(struct claret_pickle_reader *reader, uint64_t index);

/* module.name, if it is one of the few that are known. */
enum claret_status claret_pickle_push_global(struct claret_pickle_reader *reader, const unsigned char *module,
                                             size_t module_size, const unsigned char *name, size_t name_size);
/* The opcodes REDUCE and BUILD. */
enum claret_status claret_pickle_reduce(struct claret_pickle_reader *reader, size_t unused);
enum claret_status claret_pickle_build(struct claret_pickle_reader *reader, size_t unused);

#endif
