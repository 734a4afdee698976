#include <math.h>

#include "op/batch.h"
#include "op/loss.h"
#include "ref/ref.h"

/* Of one row. */
struct row {
    const double *logits, *weights; /* weights NULL: all 1 */
    int64_t classes, label;
    double smoothing;
};

static double target_of(const struct row *row, int64_t c)
{
    double each = row->smoothing / (double)row->classes + (c == row->label) * (1 - row->smoothing);
    return row->weights ? row->weights[c] * each : each;
}

/* *loss = -sum of targets * log softmax; dlogits = (sum of targets * softmax - targets) / count. */
static void row_loss(const struct row *row, double count, double *loss, double *dlogits)
{
    double largest = row->logits[0], sum = 0, all = 0;
    for (int64_t c = 0; c < row->classes; c++)
        largest = fmax(largest, row->logits[c]);
    for (int64_t c = 0; c < row->classes; c++) {
        sum += exp(row->logits[c] - largest);
        all += target_of(row, c);
    }
    *loss = 0;
    for (int64_t c = 0; c < row->classes; c++) {
        double target = target_of(row, c);
        *loss += target != 0 ? target * (log(sum) - (row->logits[c] - largest)) : 0;
        dlogits[c] = (all * exp(row->logits[c] - largest) / sum - target) / count;
    }
}

/* The sum of the weights of the batch's labels. */
static double batch_weight(const struct claret_node *node, const double *const *in)
{
    double count = in[2][CLARET_STEP_COUNT], sum = 0;
    if (node->in_count < 4)
        return count;
    for (int64_t n = 0; (double)n < count; n++)
        sum += in[3][(int64_t)in[1][n]];
    return sum;
}

static struct row row_of(const struct claret_node *node, const struct claret_tensor *tensors,
                         const double *const *in, int64_t n)
{
    int64_t classes = tensors[node->in[0]].shape.dim[1];
    return (struct row){.logits = in[0] + n * classes,
                        .weights = node->in_count > 3 ? in[3] : NULL,
                        .classes = classes,
                        .label = (int64_t)in[1][n],
                        .smoothing = node->attr ? node->attr[CLARET_LOSS_SMOOTHING].f : 0};
}

/* in: logits (N, C), labels (N), step, weights (C) where there are; out: losses (N), dlogits (N, C). Rows
 * past the true batch size give 0. */
static void cross_entropy(const struct claret_node *node, const struct claret_tensor *tensors,
                          const double *const *in, double *const *out)
{
    const int64_t *logits = tensors[node->in[0]].shape.dim;
    double count = in[2][CLARET_STEP_COUNT], weight = batch_weight(node, in);
    for (int64_t n = 0; n < logits[0]; n++) {
        double *dlogits = out[1] + n * logits[1];
        if ((double)n < count && weight != 0) {
            struct row row = row_of(node, tensors, in, n);
            row_loss(&row, weight, &out[0][n], dlogits);
            out[0][n] *= count / weight;
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
    double count = in[2][CLARET_STEP_COUNT], weight = batch_weight(node, in);
    cross_entropy(node, tensors, in, out);
    for (int64_t n = 0; n < logits[0]; n++) {
        bool there = (double)n < count && weight != 0;
        struct row row = row_of(node, tensors, in, n);
        double all = 0;
        for (int64_t c = 0; c < logits[1]; c++)
            all += target_of(&row, c);
        out[0][n] = there ? 2 * all * count / weight + 2 * fabs(out[0][n]) : 0;
        for (int64_t c = 0; c < logits[1]; c++) {
            double *dlogit = &out[1][n * logits[1] + c];
            *dlogit = there ? 8 * (*dlogit * weight + 2 * target_of(&row, c)) / weight : 0;
        }
    }
}

const struct claret_ref claret_ref_cross_entropy[] = {
    {.op = "cross_entropy", .run = cross_entropy, .scale = cross_entropy_scale}, {.op = NULL}};
