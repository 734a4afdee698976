#include <math.h>

#include "op/batch.h"
#include "op/sgd.h"
#include "ref/ref.h"

/* in: params, grads, state or nothing (no momentum), step; out: params, state, which may be those of `in`. */
static void sgd(const struct claret_node *node, const struct claret_tensor *tensors, const double *const *in,
                double *const *out)
{
    double momentum = node->attr[CLARET_SGD_MOMENTUM].f, dampening = node->attr[CLARET_SGD_DAMPENING].f;
    double weight_decay = node->attr[CLARET_SGD_WEIGHT_DECAY].f, lr = in[3][CLARET_STEP_LR];
    int64_t count = claret_shape_count(&tensors[node->in[0]].shape);
    for (int64_t i = 0; i < count; i++) {
        double gradient = in[1][i] + weight_decay * in[0][i], change = gradient;
        if (in[2]) {
            change =
                in[3][CLARET_STEP_FIRST] != 0 ? gradient : momentum * in[2][i] + (1 - dampening) * gradient;
            out[1][i] = change;
            if (node->attr[CLARET_SGD_NESTEROV].i[0])
                change = gradient + momentum * change;
        }
        out[0][i] = in[0][i] - lr * change;
    }
}

static void sgd_scale(const struct claret_node *node, const struct claret_tensor *tensors,
                      const double *const *in, double *const *out)
{
    double momentum = node->attr[CLARET_SGD_MOMENTUM].f, keep = fabs(1 - node->attr[CLARET_SGD_DAMPENING].f);
    double weight_decay = node->attr[CLARET_SGD_WEIGHT_DECAY].f, lr = in[3][CLARET_STEP_LR];
    int64_t count = claret_shape_count(&tensors[node->in[0]].shape);
    for (int64_t i = 0; i < count; i++) {
        double param = fabs(in[0][i]), gradient = fabs(in[1][i]) + weight_decay * param, change = gradient;
        if (in[2])
            out[1][i] = change = momentum * fabs(in[2][i]) + (1 + keep) * gradient;
        out[0][i] = param + lr * (gradient + (1 + momentum) * change);
    }
}

const struct claret_ref claret_ref_sgd[] = {{.op = "sgd", .run = sgd, .scale = sgd_scale}, {.op = NULL}};
