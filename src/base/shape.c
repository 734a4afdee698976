#include "shape.h"

#include <inttypes.h>
#include <stddef.h>

#include "text.h"

int64_t claret_shape_count(const struct claret_shape *shape)
{
    int64_t count = 1;

    for (int i = 0; i < shape->rank; i++)
        count *= shape->dim[i];
    return count;
}

bool claret_shape_equal(const struct claret_shape *a, const struct claret_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        if (a->dim[i] != b->dim[i])
            return false;
    }
    return true;
}

const char *claret_shape_format(const struct claret_shape *shape, int from, char buffer[96])
{
    size_t size = 0;

    buffer[0] = '\0';
    for (int i = from; i < shape->rank; i++)
        size += (size_t)claret_print(buffer + size, 96 - size, i > from ? "x%" PRId64 : "%" PRId64,
                                     shape->dim[i]);
    return buffer;
}
