#include "op_inputs.h"

#include <math.h>
#include <string.h>

#include "op/batch.h"
#include "op/update.h"
#include "ref/ref.h"

static bool is_op(const struct claret_node *node, const char *op)
{
    return strcmp(node->op->name, op) == 0;
}

/* Nothing is computed: outputs are inputs. */
static bool only_chooses(const struct claret_node *node)
{
    const struct claret_ref *ref = claret_ref_find(node->op->name);
    return ref && ref->scale == claret_ref_exact;
}

static void fill_step(const struct op_inputs *inputs, const struct claret_node *node)
{
    double *step = inputs->values->at[inputs->values->graph->step];
    memset(step, 0, CLARET_STEP_WORDS * sizeof *step);
    step[CLARET_STEP_COUNT] = inputs->batch - inputs->batch / 4;
    step[CLARET_STEP_LR] = (double)0.05f;
    step[CLARET_STEP_NUMBER] = claret_rng_below(inputs->rng, 1000);
    step[CLARET_STEP_SEED] = claret_rng_below(inputs->rng, INT32_MAX);
    step[CLARET_STEP_SEED + 1] = claret_rng_below(inputs->rng, INT32_MAX);
    step[CLARET_STEP_FIRST] = node->update && claret_rng_below(inputs->rng, 3) == 0;
    step[CLARET_STEP_MEAN_SCALE] = 1.5;
    step[CLARET_STEP_SQUARE_SCALE] = 1.25;
    step[CLARET_STEP_MORE] = claret_rng_below(inputs->rng, 3) == 0;
    step[CLARET_STEP_MOMENTUM] = 0.75;
    step[CLARET_STEP_WEIGHT] = claret_rng_below(inputs->rng, 2) ? 1 : 0.375;
}

/* Ops that have kinks, or what else there is to see, beyond -1 and 1. */
static bool is_wide(const struct claret_node *node)
{
    static const char *const names[] = {"relu6",
                                        "relu6_dx",
                                        "batch_norm2d_relu6",
                                        "batch_norm2d_relu6_dx",
                                        "hardswish",
                                        "hardswish_dx",
                                        "sigmoid",
                                        "tanh",
                                        "gelu",
                                        "gelu_dx",
                                        "silu",
                                        "silu_dx"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_op(node, names[i]))
            return true;
    return false;
}

static bool is_loss(const struct claret_node *node)
{
    return is_op(node, "cross_entropy") || is_op(node, "mse_loss") || is_op(node, "bce_with_logits_loss");
}

/* Values with equals among them where an op compares. `special`: NaN and infinities too. */
static void fill_floats(const struct op_inputs *inputs, const struct claret_node *node, int input,
                        bool special)
{
    int tensor = node->in[input];
    double *value = inputs->values->at[tensor];
    int64_t count = inputs->values->count[tensor];
    /* gelu of -infinity is infinity times 0, where a driver's tanh and erf reach -1. */
    const bool is_gelu = is_op(node, "gelu") || is_op(node, "gelu_dx");
    claret_values_random(inputs->values, tensor, inputs->rng,
                         is_wide(node)        ? 64
                         : only_chooses(node) ? 8
                                              : 0);
    for (int64_t i = 0; i < count; i++) {
        if (is_loss(node) || is_wide(node))
            value[i] *= special && !is_wide(node) ? 64 : 8;
        if (is_op(node, "relu_dx") && input == 0)
            value[i] = fmax(value[i], 0);                                       /* relu's y */
        if (inputs->values->graph->tensors[tensor].home == CLARET_HOME_BUFFERS) /* a variance */
            value[i] = fabs(value[i]) + 0.25;
        if (inputs->values->graph->tensors[tensor].home ==
            CLARET_HOME_STATE) /* averages of squares, and of others */
            value[i] = inputs->values->graph->tensors[tensor].base_offset < node->update->stride
                           ? fabs(value[i]) + 0.5
                           : value[i] / 4;
        if (special && input == 0 && claret_rng_below(inputs->rng, 5) == 0)
            value[i] = claret_rng_below(inputs->rng, 2) || is_gelu ? NAN
                       : is_op(node, "relu_dx")                    ? INFINITY
                                                                   : -INFINITY;
    }
}

bool op_inputs_special(const struct claret_node *node)
{
    return only_chooses(node) || is_wide(node) || is_loss(node);
}

void op_inputs_fill(const struct op_inputs *inputs, const struct claret_node *node, bool special)
{
    for (int i = 0; i < node->in_count; i++) {
        int tensor = node->in[i];
        if (tensor < 0)
            continue;
        if (tensor == inputs->values->graph->step)
            fill_step(inputs, node);
        else if (tensor == inputs->values->graph->labels)
            claret_values_labels(inputs->values, inputs->rng);
        else if (tensor == inputs->values->graph->class_weights)
            claret_values_class_weights(inputs->values, inputs->rng);
        else if (inputs->values->graph->tensors[tensor].dtype == CLARET_DTYPE_F32)
            fill_floats(inputs, node, i, special);
    }
}
