#include <math.h>

#include "op/batch.h"
#include "op/sgd.h"
#include "ref/ref.h"
#include "ref/sgd.h"

void claret_ref_sgd_step(const struct claret_attr *attr, const double *step, double *param, double gradient,
                         double *state)
{
    double momentum = attr[CLARET_SGD_MOMENTUM].f, dampening = attr[CLARET_SGD_DAMPENING].f;
    gradient += attr[CLARET_SGD_WEIGHT_DECAY].f * *param;
    double change = gradient;
    if (state) {
        change = step[CLARET_STEP_FIRST] != 0 ? gradient : momentum * *state + (1 - dampening) * gradient;
        *state = change;
        if (attr[CLARET_SGD_NESTEROV].i[0])
            change = gradient + momentum * change;
    }
    *param -= step[CLARET_STEP_LR] * change;
}

void claret_ref_gradients(const struct claret_node *node, const struct claret_tensor *tensors, int at,
                          int first, int count, double *const *gradient, const double *const *in,
                          double *const *out)
{
    int next = first, state_out = first;
    for (int i = 0; i < count; i++)
        state_out += gradient[i] != NULL;
    for (int i = 0; i < count; i++) {
        if (!gradient[i])
            continue;
        const double *state = node->update ? in[at + count + i] : NULL;
        int64_t elements = claret_shape_count(&tensors[node->out[next]].shape);
        for (int64_t j = 0; j < elements; j++) {
            if (!node->update) {
                out[next][j] = gradient[i][j];
                continue;
            }
            double param = in[at + i][j], kept = state ? state[j] : 0;
            claret_ref_sgd_step(node->update, in[at + 2 * count], &param, gradient[i][j],
                                state ? &kept : NULL);
            out[next][j] = param;
            if (state)
                out[state_out][j] = kept;
        }
        next++;
        state_out += state != NULL;
    }
}

/* in: params, grads, state or nothing (no momentum), step; out: params, state, which may be those of `in`. */
static void sgd(const struct claret_node *node, const struct claret_tensor *tensors, const double *const *in,
                double *const *out)
{
    int64_t count = claret_shape_count(&tensors[node->in[0]].shape);
    for (int64_t i = 0; i < count; i++) {
        double param = in[0][i], state = in[2] ? in[2][i] : 0;
        claret_ref_sgd_step(node->attr, in[3], &param, in[1][i], in[2] ? &state : NULL);
        out[0][i] = param;
        if (in[2])
            out[1][i] = state;
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
