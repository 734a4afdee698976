/* linear and the loss in one, by the reference functions of the two. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/batch.h"
#include "ref/ref.h"
#include "op/update.h"
#include "ref/update.h"

static double *make(int64_t count)
{
    double *values = calloc((size_t)count + 1, sizeof *values);
    if (!values)
        abort();
    return values;
}

/* in: x, weight, bias or nothing, labels, step; out: losses, dlogits */
static void forward(const struct claret_node *node, const struct claret_tensor *tensors,
                    const double *const *in, double *const *out)
{
    struct claret_tensor logits = tensors[node->out[1]];
    double *values = make(claret_shape_count(&logits.shape));
    struct claret_tensor linear_tensors[4] = {tensors[node->in[0]], tensors[node->in[1]],
                                              tensors[node->in[in[2] ? 2 : 1]], logits};
    struct claret_node linear = {.attr = node->attr,
                                 .in = {0, 1, in[2] ? 2 : -1},
                                 .out = {3},
                                 .in_count = in[2] ? 3 : 2,
                                 .out_count = 1};
    claret_ref_find("linear")->run(&linear, linear_tensors, in, (double *[]){values});
    struct claret_node loss = {.in = {0}, .in_count = 3, .out_count = 2};
    const double *loss_in[3] = {values, in[3], in[4]};
    claret_ref_find("cross_entropy")->run(&loss, &logits, loss_in, out);
    free(values);
}

/* Of the loss, and of the logits before it: these by the largest sum of an image's terms. */
static void forward_scale(const struct claret_node *node, const struct claret_tensor *tensors,
                          const double *const *in, double *const *out)
{
    const int64_t *x = tensors[node->in[0]].shape.dim, *dlogits = tensors[node->out[1]].shape.dim;
    double count = in[4][CLARET_STEP_COUNT];
    forward(node, tensors, in, out);
    for (int64_t n = 0; n < dlogits[0]; n++) {
        double largest = 0;
        for (int64_t o = 0; o < dlogits[1]; o++) {
            double sum = in[2] ? fabs(in[2][o]) : 0;
            for (int64_t f = 0; f < x[1]; f++)
                sum += fabs(in[0][n * x[1] + f] * in[1][o * x[1] + f]);
            largest = fmax(largest, sum);
        }
        bool there = (double)n < count;
        out[0][n] = there ? 2 + 2 * fabs(out[0][n]) + 2 * largest : 0;
        for (int64_t o = 0; o < dlogits[1]; o++) {
            double hot = o == (int64_t)in[3][n], *dlogit = &out[1][n * dlogits[1] + o];
            *dlogit = there ? (8 + 4 * largest) * (*dlogit * count + 2 * hot) / count : 0;
        }
    }
}

/* in: dy, x, weight, bias or nothing, what an update takes; out: dx where it is wanted, then gradients or
 * what the update changes */
static void backward(const struct claret_node *node, const struct claret_tensor *tensors,
                     const double *const *in, double *const *out)
{
    const int64_t *weight = tensors[node->in[2]].shape.dim;
    bool bias = in[3] != NULL;
    int first = node->out_count > claret_update_outputs(node, bias);
    double *dweight = make(weight[0] * weight[1]), *dbias = make(weight[0]);
    struct claret_tensor local[3] = {tensors[node->in[0]], tensors[node->in[2]], tensors[node->in[1]]};
    struct claret_node dx = {.attr = node->attr, .in = {0, 1}, .out = {2}, .in_count = 2, .out_count = 1};
    if (first)
        claret_ref_find("linear_dx")->run(&dx, local, (const double *[]){in[0], in[2]}, out);
    struct claret_node dw = {
        .attr = node->attr, .in = {2, 0}, .out = {1, 1}, .in_count = 2, .out_count = 1 + bias};
    claret_ref_find("linear_dw")
        ->run(&dw, local, (const double *[]){in[1], in[0]}, (double *[]){dweight, dbias});
    claret_ref_gradients(node, tensors, 4, first, 2, (double *[]){dweight, bias ? dbias : NULL}, in, out);
    free(dweight);
    free(dbias);
}

const struct claret_ref claret_ref_linear_cross_entropy[] = {
    {.op = "linear_cross_entropy", .run = forward, .scale = forward_scale},
    {.op = "linear_backward", .run = backward},
    {.op = NULL}};
