#include "ref/ref.h"

static int64_t channel_size(const struct claret_shape *shape)
{
    return claret_shape_count(shape) / shape->dim[0] / shape->dim[1];
}

/* in: parts; out: the whole */
static void concat(const struct claret_node *node, const struct claret_tensor *tensors,
                   const double *const *in, double *const *out)
{
    const struct claret_shape *all = &tensors[node->out[0]].shape;
    int64_t size = channel_size(all);
    for (int64_t n = 0; n < all->dim[0]; n++)
        for (int64_t i = 0, c = 0; i < node->in_count; i++)
            for (int64_t k = 0, of = tensors[node->in[i]].shape.dim[1]; k < of; k++, c++)
                for (int64_t p = 0; p < size; p++)
                    out[0][(n * all->dim[1] + c) * size + p] = in[i][(n * of + k) * size + p];
}

/* in: the whole; out: parts */
static void concat_dx(const struct claret_node *node, const struct claret_tensor *tensors,
                      const double *const *in, double *const *out)
{
    const struct claret_shape *all = &tensors[node->in[0]].shape;
    int64_t size = channel_size(all);
    for (int64_t n = 0; n < all->dim[0]; n++)
        for (int64_t i = 0, c = 0; i < node->out_count; i++)
            for (int64_t k = 0, of = tensors[node->out[i]].shape.dim[1]; k < of; k++, c++)
                for (int64_t p = 0; p < size; p++)
                    out[i][(n * of + k) * size + p] = in[0][(n * all->dim[1] + c) * size + p];
}

const struct claret_ref claret_ref_concat[] = {
    {.op = "concat", .run = concat, .scale = claret_ref_exact},
    {.op = "concat_dx", .run = concat_dx, .scale = claret_ref_exact},
    {.op = NULL}};
