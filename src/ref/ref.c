#include "ref/ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/batch.h"

const struct claret_ref *claret_ref_find(const char *op)
{
    for (int list = 0; claret_ref_lists[list]; list++)
        for (const struct claret_ref *ref = claret_ref_lists[list]; ref->op; ref++)
            if (strcmp(ref->op, op) == 0)
                return ref;
    return NULL;
}

void claret_ref_exact(const struct claret_node *node, const struct claret_tensor *tensors,
                      const double *const *in, double *const *out)
{
    (void)in;
    for (int i = 0; i < node->out_count; i++)
        if (out[i])
            memset(out[i], 0, (size_t)claret_shape_count(&tensors[node->out[i]].shape) * sizeof *out[i]);
}

/* A sum of products of absolute values is the sum of the terms' sizes. */
enum claret_status claret_ref_scale(const struct claret_ref *ref, const struct claret_node *node,
                                    const struct claret_tensor *tensors, const double *const *in,
                                    double *const *out)
{
    double *sizes[CLARET_MAX_IN] = {NULL};
    enum claret_status status = CLARET_OK;
    if (ref->scale) {
        ref->scale(node, tensors, in, out);
        return CLARET_OK;
    }
    for (int i = 0; i < node->in_count && status == CLARET_OK; i++) {
        if (!in[i])
            continue;
        int64_t count = claret_shape_count(&tensors[node->in[i]].shape);
        sizes[i] = malloc(((size_t)count + 1) * sizeof *sizes[i]);
        if (!sizes[i])
            status = claret_no_memory();
        for (int64_t j = 0; sizes[i] && j < count; j++)
            sizes[i][j] = fabs(in[i][j]);
    }
    if (status == CLARET_OK && node->update) /* p - lr * change: the sizes add when lr is negative */
        sizes[node->in_count - 1][CLARET_STEP_LR] *= -1;
    if (status == CLARET_OK)
        ref->run(node, tensors, (const double *const *)sizes, out);
    for (int i = 0; i < node->in_count; i++)
        free(sizes[i]);
    return status;
}
