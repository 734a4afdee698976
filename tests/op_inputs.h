/* What a node is tried on. */
#ifndef CLARET_TESTS_OP_INPUTS_H
#define CLARET_TESTS_OP_INPUTS_H

#include "values.h"

struct op_inputs {
    struct claret_values *values;
    struct claret_rng *rng;
    int batch; /* images; fewer are in the true one */
};
/* Whether there is something to see of the node with NaN and infinities. */
bool op_inputs_special(const struct claret_node *node);
/* Draws the node's inputs, with `special` such values among them. An index is left as the forward node made
 * it. */
void op_inputs_fill(const struct op_inputs *inputs, const struct claret_node *node, bool special);

#endif
