#include "values.h"

#include <stdlib.h>
#include <string.h>

#include "op/batch.h"
#include "ref/ref.h"

static const struct claret_tensor *tensor_of(const struct claret_values *values, int tensor)
{
    return &values->graph->tensors[tensor];
}

struct claret_values *claret_values_create(const struct claret_graph *graph)
{
    struct claret_values *values = calloc(1, sizeof *values);
    size_t tensors = (size_t)graph->tensor_count + 1;
    if (!values)
        return NULL;
    values->graph = graph;
    values->at = calloc(tensors, sizeof *values->at);
    values->count = calloc(tensors, sizeof *values->count);
    if (!values->at || !values->count)
        goto fail;
    for (int i = 0; i < graph->tensor_count; i++) {
        values->count[i] = claret_shape_count(&graph->tensors[i].shape);
        if (graph->tensors[i].base >= 0)
            continue;
        values->at[i] = calloc((size_t)values->count[i] + 1, sizeof(double));
        if (!values->at[i])
            goto fail;
    }
    for (int i = 0; i < graph->tensor_count; i++) {
        int64_t offset = 0;
        int base = i;
        for (; graph->tensors[base].base >= 0; base = graph->tensors[base].base)
            offset += graph->tensors[base].base_offset;
        values->at[i] = values->at[base] + offset;
    }
    return values;
fail:
    claret_values_destroy(values);
    return NULL;
}

void claret_values_destroy(struct claret_values *values)
{
    if (!values)
        return;
    for (int i = 0; values->at && i < values->graph->tensor_count; i++)
        if (values->graph->tensors[i].base < 0)
            free(values->at[i]);
    free(values->at);
    free(values->count);
    free(values);
}

static void point_at_inputs(const struct claret_values *values, const struct claret_node *node,
                            const double *in[CLARET_MAX_IN])
{
    for (int i = 0; i < node->in_count; i++)
        in[i] = node->in[i] >= 0 ? values->at[node->in[i]] : NULL;
}

bool claret_values_run(struct claret_values *values, const struct claret_node *node)
{
    const struct claret_ref *ref = claret_ref_find(node->op->name);
    const double *in[CLARET_MAX_IN] = {NULL};
    double *out[CLARET_MAX_OUT] = {NULL};
    if (node->op->view)
        return true;
    if (!ref)
        return false;
    point_at_inputs(values, node, in);
    for (int i = 0; i < node->out_count; i++)
        out[i] = values->at[node->out[i]];
    ref->run(node, values->graph->tensors, in, out);
    return true;
}

bool claret_values_scale(const struct claret_values *values, const struct claret_node *node,
                         double *const *scale)
{
    const struct claret_ref *ref = claret_ref_find(node->op->name);
    const double *in[CLARET_MAX_IN] = {NULL};
    point_at_inputs(values, node, in);
    return ref && claret_ref_scale(ref, node, values->graph->tensors, in, scale) == CLARET_OK;
}

void claret_values_random(struct claret_values *values, int tensor, struct claret_rng *rng, int grid)
{
    for (int64_t i = 0; i < values->count[tensor]; i++)
        if (grid > 0)
            values->at[tensor][i] = (double)claret_rng_below(rng, 2 * (uint32_t)grid) / grid - 1;
        else
            values->at[tensor][i] = (double)(2 * claret_rng_float(rng) - 1);
}

void claret_values_class_weights(struct claret_values *values, struct claret_rng *rng)
{
    int tensor = values->graph->class_weights;
    for (int64_t i = 0; tensor >= 0 && i < values->count[tensor]; i++)
        values->at[tensor][i] = (double)(0.25f + claret_rng_float(rng));
}

void claret_values_bytes(double *values, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        values[i] = ((const unsigned char *)data)[i];
}

void claret_values_labels(struct claret_values *values, struct claret_rng *rng)
{
    uint32_t classes = (uint32_t)values->graph->classes;
    for (int64_t i = 0; i < values->count[values->graph->labels]; i++)
        values->at[values->graph->labels][i] = claret_rng_below(rng, classes);
}

size_t claret_dtype_size(enum claret_dtype dtype)
{
    return dtype == CLARET_DTYPE_U8 ? 1 : 4;
}

static bool is_float(const struct claret_values *values, int tensor, int64_t index)
{
    if (tensor != values->graph->step)
        return tensor_of(values, tensor)->dtype == CLARET_DTYPE_F32;
    return index == CLARET_STEP_LR || index == CLARET_STEP_LOSS_SUM || index == CLARET_STEP_LOSS_LOW ||
           index == CLARET_STEP_LOSS || index == CLARET_STEP_MEAN_SCALE ||
           index == CLARET_STEP_SQUARE_SCALE || index == CLARET_STEP_WEIGHT || index == CLARET_STEP_MOMENTUM;
}

/* Where element `index` of (N, C, H, W) lies in memory. */
static int64_t place_of(const struct claret_tensor *tensor, int64_t index)
{
    if (tensor->layout == CLARET_NCHW)
        return index;
    const int64_t *dim = tensor->shape.dim;
    int64_t plane = dim[2] * dim[3], image = index / (dim[1] * plane), c = index / plane % dim[1];
    return (image * plane + index % plane) * dim[1] + c;
}

void claret_values_pack(const struct claret_values *values, int tensor, void *memory)
{
    size_t size = claret_dtype_size(tensor_of(values, tensor)->dtype);
    for (int64_t i = 0; i < values->count[tensor]; i++) {
        char *to = (char *)memory + (size_t)place_of(tensor_of(values, tensor), i) * size;
        double value = values->at[tensor][i];
        if (size == 1) {
            *(unsigned char *)to = (unsigned char)value;
        } else if (is_float(values, tensor, i)) {
            float as_float = (float)value;
            memcpy(to, &as_float, 4);
        } else {
            int32_t as_int = (int32_t)value;
            memcpy(to, &as_int, 4);
        }
    }
}

void claret_values_unpack(const struct claret_values *values, int tensor, const void *memory, double *value)
{
    size_t size = claret_dtype_size(tensor_of(values, tensor)->dtype);
    for (int64_t i = 0; i < values->count[tensor]; i++) {
        const char *from = (const char *)memory + (size_t)place_of(tensor_of(values, tensor), i) * size;
        float as_float;
        int32_t as_int;
        if (size == 1) {
            value[i] = *(const unsigned char *)from;
        } else if (is_float(values, tensor, i)) {
            memcpy(&as_float, from, 4);
            value[i] = (double)as_float;
        } else {
            memcpy(&as_int, from, 4);
            value[i] = as_int;
        }
    }
}
