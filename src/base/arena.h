/* Memory that is freed all at once. */
#ifndef CLARET_BASE_ARENA_H
#define CLARET_BASE_ARENA_H

#include <stddef.h>

struct claret_arena {
    struct claret_arena_block *blocks;
};
/* Zeroed, aligned for any type; NULL: out of memory. */
void *claret_arena_alloc(struct claret_arena *arena, size_t size);
char *claret_arena_strdup(struct claret_arena *arena, const char *text);
char *claret_arena_printf(struct claret_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void claret_arena_free(struct claret_arena *arena);

#endif
