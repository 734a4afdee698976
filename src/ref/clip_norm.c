#include <math.h>

#include "op/update.h"
#include "ref/ref.h"

static void run(const struct claret_node *node, const struct claret_tensor *tensors, const double *const *in,
                double *const *out)
{
    double sum = 0;
    for (int64_t i = 0; i < claret_shape_count(&tensors[node->in[0]].shape); i++)
        sum += in[0][i] * in[0][i];
    double by = node->update->clip_norm / (sqrt(sum) + 1e-6);
    out[0][0] = by > 1 ? 1 : by;
}

/* As large as it is, whatever the signs: the relative error is that of the sum. */
const struct claret_ref claret_ref_clip_norm[] = {{.op = "clip_norm", .run = run}, {.op = NULL}};
