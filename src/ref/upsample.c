#include <math.h>
#include <string.h>

#include "ref/ref.h"

/* Calls `visit` with each place of x and a place of y that comes from it, and how much of it. */
typedef void (*visit_fn)(int64_t x, int64_t y, double share, const double *in, double *out);

/* attr of upsample */
enum { SCALE, MODE, ALIGN };

/* How much place i of `out` has of place `of` of `in` by bilinear upsampling: 1 where they lie on each other,
 * less by the distance; the ends go on beyond. */
static double share(const struct claret_attr *attr, int64_t i, int64_t of, int64_t in, int64_t out, int d)
{
    double at = attr[ALIGN].i[0] ? (out > 1 ? (double)i * (double)(in - 1) / (double)(out - 1) : 0)
                                 : ((double)i + 0.5) / (double)attr[SCALE].i[d] - 0.5;
    return fmax(0, 1 - fabs(fmin(fmax(at, 0), (double)(in - 1)) - (double)of));
}

static void visit_bilinear(const struct claret_node *node, const struct claret_shape *x,
                           const struct claret_shape *y, visit_fn visit, const double *in, double *out)
{
    const int64_t *of_x = x->dim, *of_y = y->dim;
    for (int64_t plane = 0; plane < of_x[0] * of_x[1]; plane++)
        for (int64_t i = 0; i < of_x[2] * of_x[3] * of_y[2] * of_y[3]; i++) {
            int64_t ow = i % of_y[3], oh = i / of_y[3] % of_y[2], w = i / of_y[3] / of_y[2] % of_x[3],
                    h = i / of_y[3] / of_y[2] / of_x[3];
            visit((plane * of_x[2] + h) * of_x[3] + w, (plane * of_y[2] + oh) * of_y[3] + ow,
                  share(node->attr, oh, h, of_x[2], of_y[2], 0) *
                      share(node->attr, ow, w, of_x[3], of_y[3], 1),
                  in, out);
        }
}

static void visit_all(const struct claret_node *node, const struct claret_shape *x,
                      const struct claret_shape *y, bool padded, visit_fn visit, const double *in,
                      double *out)
{
    const struct claret_attr *attr = node->attr; /* pad: left, right, top, bottom */
    if (!padded && attr[MODE].i[0]) {
        visit_bilinear(node, x, y, visit, in, out);
        return;
    }
    for (int64_t plane = 0; plane < x->dim[0] * x->dim[1]; plane++)
        for (int64_t oh = 0; oh < y->dim[2]; oh++)
            for (int64_t ow = 0; ow < y->dim[3]; ow++) {
                int64_t h = padded ? oh - attr[2].i[0] : oh / attr[0].i[0];
                int64_t w = padded ? ow - attr[0].i[0] : ow / attr[0].i[1];
                if (h >= 0 && h < x->dim[2] && w >= 0 && w < x->dim[3])
                    visit((plane * x->dim[2] + h) * x->dim[3] + w, (plane * y->dim[2] + oh) * y->dim[3] + ow,
                          1, in, out);
            }
}

static void copy(int64_t x, int64_t y, double share, const double *in, double *out)
{
    out[y] += share * in[x];
}

static void add_size(int64_t x, int64_t y, double share, const double *in, double *out)
{
    out[y] += fabs(share * in[x]);
}

static void add(int64_t x, int64_t y, double share, const double *in, double *out)
{
    out[x] += share * in[y];
}

static void forward(const struct claret_node *node, const struct claret_tensor *tensors,
                    const double *const *in, double *const *out, bool padded)
{
    const struct claret_shape *x = &tensors[node->in[0]].shape, *y = &tensors[node->out[0]].shape;
    memset(out[0], 0, (size_t)claret_shape_count(y) * sizeof **out);
    visit_all(node, x, y, padded, copy, in[0], out[0]);
}

static void backward(const struct claret_node *node, const struct claret_tensor *tensors,
                     const double *const *in, double *const *out, bool padded)
{
    const struct claret_shape *x = &tensors[node->out[0]].shape, *y = &tensors[node->in[0]].shape;
    memset(out[0], 0, (size_t)claret_shape_count(x) * sizeof **out);
    visit_all(node, x, y, padded, add, in[0], out[0]);
}

#define RUN(name, pass, padded)                                                                              \
    static void name(const struct claret_node *node, const struct claret_tensor *tensors,                    \
                     const double *const *in, double *const *out)                                            \
    {                                                                                                        \
        pass(node, tensors, in, out, padded);                                                                \
    }
RUN(upsample, forward, false)
RUN(upsample_dx, backward, false)
RUN(pad, forward, true)
RUN(pad_dx, backward, true)

/* Of bilinear ones, the sum of the four's sizes. */
static void upsample_scale(const struct claret_node *node, const struct claret_tensor *tensors,
                           const double *const *in, double *const *out)
{
    const struct claret_shape *x = &tensors[node->in[0]].shape, *y = &tensors[node->out[0]].shape;
    claret_ref_exact(node, tensors, in, out);
    if (node->attr[MODE].i[0])
        visit_bilinear(node, x, y, add_size, in[0], out[0]);
}

const struct claret_ref claret_ref_upsample[] = {{.op = "upsample", .run = upsample, .scale = upsample_scale},
                                                 {.op = "upsample_dx", .run = upsample_dx},
                                                 {.op = "pad", .run = pad, .scale = claret_ref_exact},
                                                 {.op = "pad_dx", .run = pad_dx, .scale = claret_ref_exact},
                                                 {.op = NULL}};
