/* Tensor shapes: up to four dimensions, PyTorch's order. */
#ifndef CLARET_BASE_SHAPE_H
#define CLARET_BASE_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#define CLARET_MAX_RANK 4

struct claret_shape {
    int rank;
    int64_t dim[CLARET_MAX_RANK];
};
static inline struct claret_shape claret_shape4(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return (struct claret_shape){4, {a, b, c, d}};
}
static inline struct claret_shape claret_shape2(int64_t a, int64_t b)
{
    return (struct claret_shape){2, {a, b}};
}
static inline struct claret_shape claret_shape1(int64_t a)
{
    return (struct claret_shape){1, {a}};
}
int64_t claret_shape_count(const struct claret_shape *shape); /* elements; 1 for rank 0 */
bool claret_shape_equal(const struct claret_shape *a, const struct claret_shape *b);
/* "16x15x15" into `buffer`, which is returned. `from`: the first dimension to show. */
const char *claret_shape_format(const struct claret_shape *shape, int from, char buffer[96]);

#endif
