/* Convolution as a cross-correlation, straight from the definition:
 * y[n,k,p,q] = bias[k] + sum over c,r,s of weight[k,c,r,s] * x[n,c, p*stride + r*dilation - padding, …]. */
#include <stdlib.h>
#include <string.h>

#include "op/conv2d.h"
#include "ref/ref.h"

struct conv {
    int64_t n, c, h, w;    /* x */
    int64_t k, r, s, p, q; /* weight (k, in, r, s); y (n, k, p, q) */
    int64_t in, out;       /* channels of x and of y in a group */
    const int64_t *stride, *padding, *dilation;
};

static struct conv conv_of(const struct claret_node *node, const struct claret_shape *x,
                           const struct claret_shape *weight, const struct claret_shape *y)
{
    return (struct conv){.n = x->dim[0],
                         .c = x->dim[1],
                         .h = x->dim[2],
                         .w = x->dim[3],
                         .k = weight->dim[0],
                         .r = weight->dim[2],
                         .s = weight->dim[3],
                         .p = y->dim[2],
                         .q = y->dim[3],
                         .in = weight->dim[1],
                         .out = weight->dim[0] / (x->dim[1] / weight->dim[1]),
                         .stride = node->attr[CLARET_CONV_STRIDE].i,
                         .padding = node->attr[CLARET_CONV_PADDING].i,
                         .dilation = node->attr[CLARET_CONV_DILATION].i};
}

/* Calls `visit` with the indices of every product x * weight that goes into y. */
struct term {
    int64_t x, weight, y, k;
};
typedef void (*visit_fn)(const struct term *term, const double *a, const double *b, double *out);

static void visit_channel(const struct conv *v, int64_t n, int64_t k, int64_t p, int64_t q, int64_t c,
                          visit_fn visit, const double *a, const double *b, double *out)
{
    for (int64_t r = 0; r < v->r; r++) {
        int64_t i = p * v->stride[0] + r * v->dilation[0] - v->padding[0];
        if (i < 0 || i >= v->h)
            continue;
        for (int64_t s = 0; s < v->s; s++) {
            int64_t j = q * v->stride[1] + s * v->dilation[1] - v->padding[1];
            if (j < 0 || j >= v->w)
                continue;
            struct term term = {.x = ((n * v->c + c) * v->h + i) * v->w + j,
                                .weight = ((k * v->in + c % v->in) * v->r + r) * v->s + s,
                                .y = ((n * v->k + k) * v->p + p) * v->q + q,
                                .k = k};
            visit(&term, a, b, out);
        }
    }
}

static void visit_terms(const struct conv *v, visit_fn visit, const double *a, const double *b, double *out)
{
    for (int64_t n = 0; n < v->n; n++)
        for (int64_t k = 0; k < v->k; k++)
            for (int64_t p = 0; p < v->p; p++)
                for (int64_t q = 0; q < v->q; q++)
                    for (int64_t c = k / v->out * v->in; c < (k / v->out + 1) * v->in; c++)
                        visit_channel(v, n, k, p, q, c, visit, a, b, out);
}

static void add_y(const struct term *t, const double *x, const double *weight, double *y)
{
    y[t->y] += x[t->x] * weight[t->weight];
}

static void add_dx(const struct term *t, const double *dy, const double *weight, double *dx)
{
    dx[t->x] += dy[t->y] * weight[t->weight];
}

static void add_dw(const struct term *t, const double *x, const double *dy, double *dweight)
{
    dweight[t->weight] += x[t->x] * dy[t->y];
}

/* in: x, weight, bias or nothing; out: y */
static void conv2d(const struct claret_node *node, const struct claret_tensor *tensors,
                   const double *const *in, double *const *out)
{
    struct conv v =
        conv_of(node, &tensors[node->in[0]].shape, &tensors[node->in[1]].shape, &tensors[node->out[0]].shape);
    const double *bias = node->in_count > 2 ? in[2] : NULL; /* (K) */
    for (int64_t i = 0; i < v.n * v.k * v.p * v.q; i++)
        out[0][i] = bias ? bias[i / (v.p * v.q) % v.k] : 0;
    visit_terms(&v, add_y, in[0], in[1], out[0]);
}

/* in: x, weight, bias or nothing; out: y */
static void conv2d_relu(const struct claret_node *node, const struct claret_tensor *tensors,
                        const double *const *in, double *const *out)
{
    conv2d(node, tensors, in, out);
    claret_ref_cut(node, tensors, out);
}

/* in: dy, weight, y or nothing; out: dx */
static void conv2d_dx(const struct claret_node *node, const struct claret_tensor *tensors,
                      const double *const *in, double *const *out)
{
    struct conv v =
        conv_of(node, &tensors[node->out[0]].shape, &tensors[node->in[1]].shape, &tensors[node->in[0]].shape);
    memset(out[0], 0, (size_t)(v.n * v.c * v.h * v.w) * sizeof(double));
    double *dy = claret_ref_masked(node, tensors, 0, in);
    if (dy)
        visit_terms(&v, add_dx, dy, in[1], out[0]);
    free(dy);
}

/* in: x, dy, y or nothing; out: dweight, dbias or nothing */
static void conv2d_dw(const struct claret_node *node, const struct claret_tensor *tensors,
                      const double *const *in, double *const *out)
{
    struct conv v =
        conv_of(node, &tensors[node->in[0]].shape, &tensors[node->out[0]].shape, &tensors[node->in[1]].shape);
    memset(out[0], 0, (size_t)(v.k * v.in * v.r * v.s) * sizeof(double));
    double *dy = claret_ref_masked(node, tensors, 1, in);
    if (dy)
        visit_terms(&v, add_dw, in[0], dy, out[0]);
    if (node->out_count > 1)
        memset(out[1], 0, (size_t)v.k * sizeof(double));
    for (int64_t i = 0; dy && node->out_count > 1 && i < v.n * v.k * v.p * v.q; i++)
        out[1][i / (v.p * v.q) % v.k] += dy[i];
    free(dy);
}

const struct claret_ref claret_ref_conv2d[] = {{.op = "conv2d", .run = conv2d},
                                               {.op = "conv2d_relu", .run = conv2d_relu},
                                               {.op = "conv2d_dx", .run = conv2d_dx},
                                               {.op = "conv2d_dw", .run = conv2d_dw},
                                               {.op = NULL}};
