#include <math.h>

#include "op/batch.h"
#include "ref/ref.h"

static void run(const struct claret_node *node, const struct claret_tensor *tensors, const double *const *in,
                double *const *out)
{
    double weight = in[2][CLARET_STEP_WEIGHT];
    for (int64_t i = 0; i < claret_shape_count(&tensors[node->in[0]].shape); i++)
        out[0][i] = weight == 1 ? in[0][i] : in[1][i] + weight * (in[0][i] - in[1][i]);
}

static void scale(const struct claret_node *node, const struct claret_tensor *tensors,
                  const double *const *in, double *const *out)
{
    for (int64_t i = 0; i < claret_shape_count(&tensors[node->in[0]].shape); i++)
        out[0][i] = fabs(in[0][i]) + fabs(in[1][i]);
}

const struct claret_ref claret_ref_accumulate[] = {{.op = "accumulate", .run = run, .scale = scale},
                                                   {.op = NULL}};
