#include <math.h>
#include <string.h>

#include "ref/ref.h"

/* attr, in the order of max_pool2d's schema */
enum { KERNEL_SIZE, STRIDE, PADDING };

/* The side of a window, its step (the window's size where none is given) and the padding, for rows or
 * columns. */
struct side {
    int64_t in, out, kernel, stride, padding;
};

static struct side side_of(const struct claret_node *node, const struct claret_shape *x,
                           const struct claret_shape *y, int axis)
{
    const struct claret_attr *stride = &node->attr[node->attr[STRIDE].given ? STRIDE : KERNEL_SIZE];
    return (struct side){.in = x->dim[2 + axis],
                         .out = y->dim[2 + axis],
                         .kernel = node->attr[KERNEL_SIZE].i[axis],
                         .stride = stride->i[axis],
                         .padding = node->attr[PADDING].i[axis]};
}

/* The largest value of a window of the image x (H, W) and its place in the window, row by row. Of equals the
 * first wins, of NaNs the last, and anything inside the image beats the padding, as in PyTorch. */
static double window_max(const double *x, const struct side *h, const struct side *w, int64_t p, int64_t q,
                         double *place)
{
    double best = -INFINITY;
    *place = -1;
    for (int64_t r = 0; r < h->kernel; r++)
        for (int64_t s = 0; s < w->kernel; s++) {
            int64_t i = p * h->stride + r - h->padding, j = q * w->stride + s - w->padding;
            if (i < 0 || i >= h->in || j < 0 || j >= w->in)
                continue;
            double value = x[i * w->in + j];
            if (value > best || isnan(value) || *place < 0) {
                best = value;
                *place = (double)(r * w->kernel + s);
            }
        }
    return best;
}

/* in: x (N, C, H, W); out: y (N, C, P, Q), index (N, C, P, Q): the winner's place in its window */
static void max_pool2d(const struct claret_node *node, const struct claret_tensor *tensors,
                       const double *const *in, double *const *out)
{
    const struct claret_shape *x = &tensors[node->in[0]].shape, *y = &tensors[node->out[0]].shape;
    struct side h = side_of(node, x, y, 0), w = side_of(node, x, y, 1);
    for (int64_t image = 0, i = 0; image < x->dim[0] * x->dim[1]; image++)
        for (int64_t p = 0; p < h.out; p++)
            for (int64_t q = 0; q < w.out; q++, i++) {
                double place;
                out[0][i] = window_max(in[0] + image * h.in * w.in, &h, &w, p, q, &place);
                if (node->out_count > 1 && out[1])
                    out[1][i] = place;
            }
}

/* in: index, dy (N, C, P, Q); out: dx (N, C, H, W). An index beyond the window: no place won (a fused op's
 * ReLU). */
static void max_pool2d_dx(const struct claret_node *node, const struct claret_tensor *tensors,
                          const double *const *in, double *const *out)
{
    const struct claret_shape *x = &tensors[node->out[0]].shape, *y = &tensors[node->in[1]].shape;
    struct side h = side_of(node, x, y, 0), w = side_of(node, x, y, 1);
    memset(out[0], 0, (size_t)claret_shape_count(x) * sizeof(double));
    for (int64_t image = 0, i = 0; image < x->dim[0] * x->dim[1]; image++)
        for (int64_t p = 0; p < h.out; p++)
            for (int64_t q = 0; q < w.out; q++, i++) {
                int64_t place = (int64_t)in[0][i];
                if (place >= h.kernel * w.kernel)
                    continue;
                int64_t row = p * h.stride + place / w.kernel - h.padding;
                int64_t column = q * w.stride + place % w.kernel - w.padding;
                out[0][(image * h.in + row) * w.in + column] += in[1][i];
            }
}

const struct claret_ref claret_ref_max_pool2d[] = {
    {.op = "max_pool2d", .run = max_pool2d, .scale = claret_ref_exact},
    {.op = "max_pool2d_dx", .run = max_pool2d_dx},
    {.op = NULL}};
