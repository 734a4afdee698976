#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/batch.h"
#include "op/update.h"
#include "ref/ref.h"
#include "ref/update.h"

/* Of sizes (claret_ref_scale(), where lr is negative): the denominator is the least that the squares so far
 * allow. */
static double root(double kept, double square, double lr)
{
    return sqrt(lr < 0 ? kept / 2 : square);
}

static double sgd(const struct claret_optimizer *of, const double *step, double gradient,
                  double *const *state)
{
    double momentum = step[CLARET_STEP_MOMENTUM];
    if (of->momentum == 0)
        return gradient;
    double change =
        step[CLARET_STEP_FIRST] != 0 ? gradient : momentum * *state[0] + (1 - of->dampening) * gradient;
    *state[0] = change;
    return of->nesterov ? gradient + momentum * change : change;
}

static double adam(const struct claret_optimizer *of, const double *step, double gradient,
                   double *const *state)
{
    double square = of->beta2 * *state[0] + (1 - of->beta2) * gradient * gradient;
    double down = root(*state[0], square, step[CLARET_STEP_LR]) * step[CLARET_STEP_SQUARE_SCALE] + of->eps;
    *state[0] = square;
    *state[1] = (1 - step[CLARET_STEP_MOMENTUM]) * *state[1] + step[CLARET_STEP_MOMENTUM] * gradient;
    return step[CLARET_STEP_MEAN_SCALE] * *state[1] / down;
}

static double rmsprop(const struct claret_optimizer *of, const double *step, double gradient,
                      double *const *state)
{
    double square = of->alpha * *state[0] + (1 - of->alpha) * gradient * gradient, inside = square;
    if (of->centered) {
        *state[1] = of->alpha * *state[1] + (1 - of->alpha) * gradient;
        inside = fmax(square - *state[1] * *state[1], 0);
    }
    double change = gradient / (root(*state[0], inside, step[CLARET_STEP_LR]) + of->eps);
    *state[0] = square;
    if (of->momentum == 0)
        return change;
    double *velocity = state[1 + of->centered];
    return *velocity = step[CLARET_STEP_MOMENTUM] * *velocity + change;
}

/* Changes *param and the slots of its state, *state[0] ... step: op/batch.h's words; group: of update's. */
static void update_one(const struct claret_update *update, int group, const double *step, double *param,
                       double gradient, double *const *state)
{
    const struct claret_optimizer *of = &update->optimizer;
    double lr = step[CLARET_STEP_LR] * update->group[group].rate, change = 0;
    if (of->kind == CLARET_OPTIMIZER_ADAMW)
        *param *= 1 - lr * update->group[group].decay;
    else
        gradient += update->group[group].decay * *param;
    switch (of->kind) {
    case CLARET_OPTIMIZER_SGD:
        change = sgd(of, step, gradient, state);
        break;
    case CLARET_OPTIMIZER_ADAM:
    case CLARET_OPTIMIZER_ADAMW:
        change = adam(of, step, gradient, state);
        break;
    case CLARET_OPTIMIZER_RMSPROP:
        change = rmsprop(of, step, gradient, state);
        break;
    }
    *param -= lr * change;
}

/* Element by element. state_in, state_out: `slots` each, every `apart`-th. */
static void update_all(const struct claret_update *update, int group, const double *step, int64_t count,
                       const double *param_in, const double *gradient, const double *const *state_in,
                       int apart_in, double *param_out, double *const *state_out, int apart_out)
{
    for (int64_t i = 0; i < count; i++) {
        double param = param_in[i], kept[CLARET_MAX_SLOTS], *state[CLARET_MAX_SLOTS];
        for (int slot = 0; slot < update->slots; slot++) {
            kept[slot] = state_in[slot * apart_in][i];
            state[slot] = &kept[slot];
        }
        update_one(update, group, step, &param, gradient[i], state);
        param_out[i] = param;
        for (int slot = 0; slot < update->slots; slot++)
            state_out[slot * apart_out][i] = kept[slot];
    }
}

void claret_ref_gradients(const struct claret_node *node, const struct claret_tensor *tensors, int at,
                          int first, int count, double *const *gradient, const double *const *in,
                          double *const *out)
{
    int there = 0;
    for (int i = 0; i < count; i++)
        there += gradient[i] != NULL;
    for (int i = 0, next = first; i < count; i++) {
        if (!gradient[i])
            continue;
        int64_t elements = claret_shape_count(&tensors[node->out[next]].shape);
        if (node->update)
            update_all(node->update, i, in[node->in_count - 1], elements, in[at + i], gradient[i],
                       in + at + count + i, count, out[next], out + next + there, there);
        for (int64_t j = 0; !node->update && j < elements; j++)
            out[next][j] = gradient[i][j];
        next++;
    }
}

/* in: params, grads, the slots of state, maybe the gradients' scale, step; out: params, the slots, which may
 * be those of `in`. */
static void run(const struct claret_node *node, const struct claret_tensor *tensors, const double *const *in,
                double *const *out)
{
    const struct claret_update *update = node->update;
    int64_t count = claret_shape_count(&tensors[node->in[0]].shape);
    double *clipped = malloc(((size_t)count + 1) * sizeof *clipped);
    if (!clipped)
        abort();
    for (int64_t i = 0; i < count; i++) {
        clipped[i] = in[1][i] * (update->clip_norm > 0 ? in[node->in_count - 2][0] : 1);
        if (update->clip_value > 0 && fabs(clipped[i]) > update->clip_value)
            clipped[i] = copysign(update->clip_value, clipped[i]);
    }
    if (update->accumulate && in[node->in_count - 1][CLARET_STEP_MORE] != 0) {
        memmove(out[0], in[0], (size_t)count * sizeof *out[0]);
        for (int slot = 0; slot < update->slots; slot++)
            memmove(out[1 + slot], in[2 + slot], (size_t)count * sizeof *out[0]);
    } else {
        update_all(update, 0, in[node->in_count - 1], count, in[0], clipped, in + 2, 1, out[0], out + 1, 1);
    }
    free(clipped);
}

const struct claret_ref claret_ref_update[] = {{.op = "update", .run = run}, {.op = NULL}};
