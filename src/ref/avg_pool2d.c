#include <string.h>

#include "ref/ref.h"

/* attr, in the order of avg_pool2d's schema; adaptive_avg_pool2d has output_size alone */
enum { KERNEL_SIZE, STRIDE, PADDING, COUNT_INCLUDE_PAD };

/* A window along an axis: places from `first` to before `end`, and the number it is divided by. */
struct window {
    int64_t first, end, divisor;
};

static struct window window_of(const struct claret_node *node, const struct claret_shape *x,
                               const struct claret_shape *y, int axis, int64_t i)
{
    int64_t in = x->dim[2 + axis], out = y->dim[2 + axis];
    if (strncmp(node->op->name, "adaptive", 8) == 0) {
        struct window window = {.first = i * in / out, .end = ((i + 1) * in + out - 1) / out};
        window.divisor = window.end - window.first;
        return window;
    }
    const struct claret_attr *stride = &node->attr[node->attr[STRIDE].given ? STRIDE : KERNEL_SIZE];
    int64_t padding = node->attr[PADDING].i[axis], first = i * stride->i[axis] - padding;
    int64_t end = first + node->attr[KERNEL_SIZE].i[axis];
    end = end < in + padding ? end : in + padding;
    struct window window = {.first = first > 0 ? first : 0, .end = end < in ? end : in};
    window.divisor = node->attr[COUNT_INCLUDE_PAD].i[0] ? end - first : window.end - window.first;
    return window;
}

/* Adds to y the means of x's windows, or to x what y's gradients give. */
static void pass(const struct claret_node *node, const struct claret_shape *of_x,
                 const struct claret_shape *of_y, double *x, double *y, bool forward)
{
    for (int64_t plane = 0, i = 0; plane < of_x->dim[0] * of_x->dim[1]; plane++)
        for (int64_t p = 0; p < of_y->dim[2]; p++)
            for (int64_t q = 0; q < of_y->dim[3]; q++, i++) {
                struct window h = window_of(node, of_x, of_y, 0, p), w = window_of(node, of_x, of_y, 1, q);
                double divisor = (double)(h.divisor * w.divisor);
                for (int64_t row = h.first; row < h.end; row++)
                    for (int64_t column = w.first; column < w.end; column++) {
                        double *at = x + (plane * of_x->dim[2] + row) * of_x->dim[3] + column;
                        if (forward)
                            y[i] += *at / divisor;
                        else
                            *at += y[i] / divisor;
                    }
            }
}

/* in: x; out: y */
static void pool(const struct claret_node *node, const struct claret_tensor *tensors, const double *const *in,
                 double *const *out)
{
    const struct claret_shape *x = &tensors[node->in[0]].shape, *y = &tensors[node->out[0]].shape;
    memset(out[0], 0, (size_t)claret_shape_count(y) * sizeof(double));
    pass(node, x, y, (double *)in[0], out[0], true);
}

/* in: dy; out: dx */
static void pool_dx(const struct claret_node *node, const struct claret_tensor *tensors,
                    const double *const *in, double *const *out)
{
    const struct claret_shape *x = &tensors[node->out[0]].shape, *y = &tensors[node->in[0]].shape;
    memset(out[0], 0, (size_t)claret_shape_count(x) * sizeof(double));
    pass(node, x, y, out[0], (double *)in[0], false);
}

const struct claret_ref claret_ref_avg_pool2d[] = {{.op = "avg_pool2d", .run = pool},
                                                   {.op = "avg_pool2d_dx", .run = pool_dx},
                                                   {.op = "adaptive_avg_pool2d", .run = pool},
                                                   {.op = "adaptive_avg_pool2d_dx", .run = pool_dx},
                                                   {.op = NULL}};
