#include <math.h>

#include "op/batch.h"
#include "ref/ref.h"

/* Softmax cross-entropy of one row of `classes` logits; *loss and dlogits = (softmax - one hot) / count. */
static void row_loss(const double *logits, int64_t classes, int64_t label, double count, double *loss,
                     double *dlogits)
{
    double largest = logits[0], sum = 0;
    for (int64_t c = 0; c < classes; c++)
        largest = fmax(largest, logits[c]);
    for (int64_t c = 0; c < classes; c++)
        sum += exp(logits[c] - largest);
    *loss = log(sum) - (logits[label] - largest);
    for (int64_t c = 0; c < classes; c++)
        dlogits[c] = (exp(logits[c] - largest) / sum - (c == label)) / count;
}

/* in: logits (N, C), labels (N), step; out: losses (N), dlogits (N, C). Rows past the true batch size give 0.
 */
static void cross_entropy(const struct claret_node *node, const struct claret_tensor *tensors,
                          const double *const *in, double *const *out)
{
    const int64_t *logits = tensors[node->in[0]].shape.dim;
    double count = in[2][CLARET_STEP_COUNT];
    for (int64_t n = 0; n < logits[0]; n++) {
        double *dlogits = out[1] + n * logits[1];
        if ((double)n < count) {
            row_loss(in[0] + n * logits[1], logits[1], (int64_t)in[1][n], count, &out[0][n], dlogits);
            continue;
        }
        out[0][n] = 0;
        for (int64_t c = 0; c < logits[1]; c++)
            dlogits[c] = 0;
    }
}

/* The errors are those of exp and log, and of the differences of logits that exp takes: relative to p, not to
 * p - 1. */
static void cross_entropy_scale(const struct claret_node *node, const struct claret_tensor *tensors,
                                const double *const *in, double *const *out)
{
    const int64_t *logits = tensors[node->in[0]].shape.dim;
    double count = in[2][CLARET_STEP_COUNT];
    cross_entropy(node, tensors, in, out);
    for (int64_t n = 0; n < logits[0]; n++) {
        bool there = (double)n < count;
        out[0][n] = there ? 2 + 2 * fabs(out[0][n]) : 0;
        for (int64_t c = 0; c < logits[1]; c++) {
            double hot = c == (int64_t)in[1][n], *dlogit = &out[1][n * logits[1] + c];
            *dlogit = there ? 8 * (*dlogit * count + 2 * hot) / count : 0;
        }
    }
}

const struct claret_ref claret_ref_cross_entropy[] = {
    {.op = "cross_entropy", .run = cross_entropy, .scale = cross_entropy_scale}, {.op = NULL}};
