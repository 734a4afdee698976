#include "arena.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define BLOCK_SIZE 16384
#define ALIGNMENT _Alignof(max_align_t)

struct claret_arena_block {
    struct claret_arena_block *next;
    size_t size, used; /* bytes of data */
    max_align_t data[];
};

void *claret_arena_alloc(struct claret_arena *arena, size_t size)
{
    struct claret_arena_block *block = arena->blocks;
    void *result;

    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!size)
        size = ALIGNMENT; /* so that every result is a pointer of its own */
    if (!block || block->size - block->used < size) {
        size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        block = calloc(1, sizeof(*block) + room);
        if (!block)
            return NULL;
        block->size = room;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    result = (char *)block->data + block->used;
    block->used += size;
    return result;
}

char *claret_arena_strdup(struct claret_arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = claret_arena_alloc(arena, size);

    return copy ? memcpy(copy, text, size) : NULL;
}

char *claret_arena_printf(struct claret_arena *arena, const char *format, ...)
{
    va_list arguments, again;
    char *text = NULL;
    int length;

    va_start(arguments, format);
    va_copy(again, arguments);
    length = claret_vprint(NULL, 0, format, again);
    va_end(again);
    if (length >= 0)
        text = claret_arena_alloc(arena, (size_t)length + 1);
    if (text)
        claret_vprint(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

void claret_arena_free(struct claret_arena *arena)
{
    struct claret_arena_block *block = arena->blocks;

    while (block) {
        struct claret_arena_block *next = block->next;
        free(block);
        block = next;
    }
    arena->blocks = NULL;
}
