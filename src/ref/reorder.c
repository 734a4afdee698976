#include <string.h>

#include "ref/ref.h"

/* in: x; out: y. The same values: the order in memory is not seen here. */
static void reorder(const struct claret_node *node, const struct claret_tensor *tensors,
                    const double *const *in, double *const *out)
{
    memcpy(out[0], in[0], (size_t)claret_shape_count(&tensors[node->out[0]].shape) * sizeof *out[0]);
}

const struct claret_ref claret_ref_reorder[] = {{.op = "reorder", .run = reorder, .scale = claret_ref_exact},
                                                {.op = NULL}};
