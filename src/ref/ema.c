#include <math.h>

#include "op/batch.h"
#include "op/update.h"
#include "ref/ref.h"

/* size: of the terms, not the value. */
static void average(const struct claret_node *node, const struct claret_tensor *tensors,
                    const double *const *in, double *const *out, bool size)
{
    const double *params = in[0], *kept = in[1], *step = in[2];
    bool stays = node->update->accumulate && step[CLARET_STEP_MORE] != 0;
    double part = stays ? 0 : step[CLARET_STEP_FIRST] != 0 ? 1 : 1 - node->update->ema;
    for (int64_t i = 0; i < claret_shape_count(&tensors[node->in[0]].shape); i++)
        out[0][i] = size ? fabs(params[i]) + fabs(kept[i]) : part * params[i] + (1 - part) * kept[i];
}

static void run(const struct claret_node *node, const struct claret_tensor *tensors, const double *const *in,
                double *const *out)
{
    average(node, tensors, in, out, false);
}

static void scale(const struct claret_node *node, const struct claret_tensor *tensors,
                  const double *const *in, double *const *out)
{
    average(node, tensors, in, out, true);
}

const struct claret_ref claret_ref_ema[] = {{.op = "ema", .run = run, .scale = scale}, {.op = NULL}};
