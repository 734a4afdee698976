#include <string.h>

#include "ref/ref.h"

/* Calls `visit` with each place of x and a place of y that comes from it. */
typedef void (*visit_fn)(int64_t x, int64_t y, const double *in, double *out);

static void visit_all(const struct claret_node *node, const struct claret_shape *x,
                      const struct claret_shape *y, bool padded, visit_fn visit, const double *in,
                      double *out)
{
    const struct claret_attr *attr = node->attr; /* pad: left, right, top, bottom */
    for (int64_t plane = 0; plane < x->dim[0] * x->dim[1]; plane++)
        for (int64_t oh = 0; oh < y->dim[2]; oh++)
            for (int64_t ow = 0; ow < y->dim[3]; ow++) {
                int64_t h = padded ? oh - attr[2].i[0] : oh / attr[0].i[0];
                int64_t w = padded ? ow - attr[0].i[0] : ow / attr[0].i[1];
                if (h >= 0 && h < x->dim[2] && w >= 0 && w < x->dim[3])
                    visit((plane * x->dim[2] + h) * x->dim[3] + w, (plane * y->dim[2] + oh) * y->dim[3] + ow,
                          in, out);
            }
}

static void copy(int64_t x, int64_t y, const double *in, double *out)
{
    out[y] = in[x];
}

static void add(int64_t x, int64_t y, const double *in, double *out)
{
    out[x] += in[y];
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

const struct claret_ref claret_ref_upsample[] = {
    {.op = "upsample", .run = upsample, .scale = claret_ref_exact},
    {.op = "upsample_dx", .run = upsample_dx},
    {.op = "pad", .run = pad, .scale = claret_ref_exact},
    {.op = "pad_dx", .run = pad_dx, .scale = claret_ref_exact},
    {.op = NULL}};
