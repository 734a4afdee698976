#include <math.h>
#include <string.h>

#include "op/batch.h"
#include "ref/ref.h"

/* in: logits (N, C), labels (N), step; out: losses (N), dlogits (N, C). Rows past the true batch size give 0.
 * `sizes`: what the errors are proportional to instead. */
static void run(const struct claret_node *node, const struct claret_tensor *tensors, const double *const *in,
                double *const *out, bool sizes)
{
    const int64_t *dim = tensors[node->in[0]].shape.dim, classes = dim[1];
    const bool bce = strcmp(node->op->name, "bce_with_logits_loss") == 0;
    double count = in[2][CLARET_STEP_COUNT];
    for (int64_t n = 0; n < dim[0]; n++) {
        bool there = (double)n < count;
        double loss = 0;
        for (int64_t c = 0; c < classes; c++) {
            double x = in[0][n * classes + c], t = c == (int64_t)in[1][n], slope;
            if (bce) {
                double p = 1 / (1 + exp(-x));
                loss += sizes ? 1 + fabs(x) : fmax(x, 0) - x * t + log1p(exp(-fabs(x)));
                loss += 0 * x; /* of infinities too there is no number */
                slope = sizes ? (p > 0 ? (2 + fabs(x)) * p : 0) + t : p - t;
            } else {
                loss += sizes ? 4 * (fabs(x) + t) * (fabs(x) + t) : (x - t) * (x - t);
                slope = 2 * (sizes ? fabs(x) + t : x - t);
            }
            out[1][n * classes + c] = there ? slope / (count * (double)classes) : 0;
        }
        out[0][n] = there ? loss / (double)classes : 0;
    }
}

static void forward(const struct claret_node *node, const struct claret_tensor *tensors,
                    const double *const *in, double *const *out)
{
    run(node, tensors, in, out, false);
}

static void scale(const struct claret_node *node, const struct claret_tensor *tensors,
                  const double *const *in, double *const *out)
{
    run(node, tensors, in, out, true);
}

const struct claret_ref claret_ref_elementwise_loss[] = {
    {.op = "mse_loss", .run = forward, .scale = scale},
    {.op = "bce_with_logits_loss", .run = forward, .scale = scale},
    {.op = NULL}};
