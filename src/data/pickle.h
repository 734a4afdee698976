/* A reader for the pickles of CIFAR-10's Python layout: values as a tree. */
#ifndef CLARET_DATA_PICKLE_H
#define CLARET_DATA_PICKLE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"

enum claret_pickle_kind {
    CLARET_PICKLE_NONE,
    CLARET_PICKLE_INT,  /* and booleans */
    CLARET_PICKLE_TEXT, /* of either Python: str, unicode, bytes */
    CLARET_PICKLE_LIST,
    CLARET_PICKLE_TUPLE,
    CLARET_PICKLE_DICT,
    CLARET_PICKLE_ARRAY, /* numpy, uint8 */
    /* Inside the reader only; a finished pickle may hold them, but they stand for nothing. */
    CLARET_PICKLE_MARK,
    CLARET_PICKLE_GLOBAL,
    CLARET_PICKLE_DTYPE
};

struct claret_pickle_value {
    enum claret_pickle_kind kind;
    int64_t integer;                    /* INT; GLOBAL: which */
    const unsigned char *bytes;         /* TEXT, ARRAY: not terminated, in the file's bytes or the arena */
    size_t size;                        /* TEXT, ARRAY: bytes */
    struct claret_pickle_value **items; /* LIST, TUPLE; DICT: keys and values in turn */
    size_t count, capacity;             /* of items */
    size_t rows, columns;               /* ARRAY; 0: not filled in yet */
    bool fortran;                       /* ARRAY: columns lie together */
};

/* Reads `data` (`size` bytes, which must stay while the values are used); `path` is for errors. Nothing is
 * ever executed: what is not one of the few opcodes and names that such files hold is refused, CLARET_FORMAT,
 * with its offset. */
enum claret_status claret_pickle_read(const char *path, const unsigned char *data, size_t size,
                                      struct claret_arena *arena, const struct claret_pickle_value **value);
/* The value under a key; NULL: `dict` is no dictionary or has no such key. */
const struct claret_pickle_value *claret_pickle_get(const struct claret_pickle_value *dict, const char *key);
bool claret_pickle_text_is(const struct claret_pickle_value *value, const char *text);

#endif
